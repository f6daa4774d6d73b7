"""WordNet's nouns: against a plain reader, against NLTK, and from every place they may lie in."""

import io
import tarfile
import warnings
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import wordnet as reference

from setveil.core.errors import InputError, ParameterError
from setveil.io import wordnet_files
from setveil.io.wordnet import WordNet

DATA = """\
  1 a licence stands here
00000100 03 n 01 entity 0 001 ~ 00000200 n 0000 | all there is
00000200 05 n 01 animal 0 001 @ 00000100 n 0000 | it lives
00000300 05 n 02 dog 0 domestic_dog 0 003 ~ 00000400 n 0000 @ 00000200 n 0000 @ 00000100 n 0000 | x
00000400 05 n 01 Fido 0 001 @i 00000300 n 0000 | a certain | dog
00000500 06 n 02 andiron 0 dog 0 001 @ 00000100 n 0000 | it holds logs
"""
INDEX = """\
  1 a licence stands here
andiron n 1 1 @ 1 0 00000500  \n\
animal n 1 2 @ ~ 1 1 00000200  \n\
dog n 2 2 @ ~ 2 1 00000300 00000500  \n\
domestic_dog n 1 1 @ 1 0 00000300  \n\
entity n 1 1 ~ 1 1 00000100  \n\
fido n 1 1 @i 1 0 00000400  \n\
"""
EXCEPTIONS = "doggen dog\n"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "dict"
    place.mkdir()
    (place / "data.noun").write_text(DATA)
    (place / "index.noun").write_text(INDEX)
    (place / "noun.exc").write_text(EXCEPTIONS)
    return place


@pytest.fixture(scope="session")
def real(data_dir, tmp_path_factory):
    """Unpack WordNet 3.0 as NLTK lays it out and return the folder."""
    place = tmp_path_factory.mktemp("nltk_data") / "corpora"
    with tarfile.open(data_dir / "wordnet-3.0-dict.tar.gz") as archive:
        archive.extractall(place, filter="data")
    return (place / "wordnet-3.0").rename(place / "wordnet")


def test_tiny(folder):
    wordnet = WordNet.find(folder)
    assert wordnet.tree.ids == (
        "entity.n.01", "andiron.n.01", "animal.n.01", "dog.n.01", "fido.n.01",
    )  # fmt: skip
    assert wordnet.tree.names == ("entity", "andiron", "animal", "dog", "Fido")
    assert wordnet.tree.parents.tolist() == [-1, 0, 0, 2, 3]
    assert [wordnet.tree.ids[v] for v in wordnet.senses_of("dog")] == ["dog.n.01", "andiron.n.01"]
    assert repr(wordnet) == "<WordNet: 5 synsets, 6 lemmas>"


@pytest.mark.parametrize(
    ("word", "lemma"),
    [
        ("dog", "dog"),
        ("Dogs", "dog"),
        ("doggen", "dog"),
        ("domestic dogs", "domestic_dog"),
        ("domestic-dog", "domestic_dog"),
        (" domestic  dog ", "domestic_dog"),
        ("FIDO", "fido"),
        ("ani-mal", "animal"),
        ("doges", None),
        ("s", None),
        ("", None),
        ("-", None),
    ],
)
def test_forms(folder, word, lemma):
    wordnet = WordNet.find(folder)
    assert wordnet.lemma(word) == lemma
    assert (word in wordnet) == (lemma is not None)
    assert bool(len(wordnet.senses_of(word))) == (lemma is not None)


# --- the whole of WordNet 3.0 -------------------------------------------------------------------


def test_all_nouns_agree_with_a_plain_reader(real):
    wordnet = WordNet.find(real)
    synsets = reference.synsets(real)
    senses = reference.senses(real)
    assert len(wordnet.tree) == len(synsets) == 82115
    assert wordnet.lemmas == tuple(sorted(senses))
    assert wordnet.exceptions == {k: tuple(v) for k, v in reference.exceptions(real).items()}
    id_of = {}
    for offset, (words, _) in synsets.items():
        first = words[0].lower()
        id_of[offset] = f"{first}.n.{senses[first].index(offset) + 1:02}"
    tree = wordnet.tree
    above = {tree.ids[v]: tree.ids[up] if v else None for v, up in enumerate(tree.parents)}
    assert above == {id_of[o]: id_of.get(up) for o, (_, up) in synsets.items()}
    shown = dict(zip(tree.ids, tree.names, strict=True))
    assert shown == {id_of[o]: words[0].replace("_", " ") for o, (words, _) in synsets.items()}
    for number, lemma in enumerate(wordnet.lemmas):
        nodes = wordnet.senses[wordnet.starts[number] : wordnet.starts[number + 1]]
        assert [tree.ids[v] for v in nodes] == [id_of[o] for o in senses[lemma]]
    assert tree.height == 19
    depths = {offset: len(reference.way({o: up for o, (_, up) in synsets.items()}, offset))
              for offset in list(synsets)[::997]}  # fmt: skip
    assert all(tree.depths[tree.node(id_of[o])] == depth for o, depth in depths.items())


def test_agrees_with_nltk(real, monkeypatch):
    nltk = pytest.importorskip("nltk")
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    monkeypatch.setattr(nltk.data, "path", [*nltk.data.path, str(real.parents[1])])
    monkeypatch.setattr(WordNetCorpusReader, "map_wn", lambda *_: None)  # slow, not for one version
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no other languages here
        theirs = WordNetCorpusReader(str(real), None)
    ours = WordNet.find(real)
    rng = np.random.default_rng(7)
    words = [ours.lemmas[i] for i in rng.choice(len(ours.lemmas), 1500, replace=False)]
    forms = [*words, *(f"{w}s" for w in words), *(f"{w[:-1]}ies" for w in words if w[-1] == "y")]
    twice = {"sudatoria", "aurar", "involucra", "diastemata"}  # NLTK keeps their last line only
    irregular = rng.choice(sorted(set(ours.exceptions) - twice), 200)
    for form in [*forms, *irregular, "axes", "women", "buses"]:
        assert ours.bases(form) == theirs._morphy(form, "n"), form
    for word in words:
        names = [synset.name() for synset in theirs.synsets(word, "n")]
        first = ours.bases(word)[0]
        mine = [ours.tree.ids[v] for v in ours.senses_of(first)]
        assert mine == names[: len(mine)], word  # NLTK adds the senses of further base forms
    nodes = [v for v in rng.choice(len(ours.tree), 700) if _is_chain(theirs, ours.tree.ids[v])]
    assert len(nodes) > 250
    synset_of = {v: theirs.synset(ours.tree.ids[v]) for v in nodes}
    for a, b in zip(nodes, rng.permutation(nodes).tolist(), strict=True):
        assert ours.tree.depths[a] == synset_of[a].max_depth() + 1
        assert ours.wu_palmer(a, b) == pytest.approx(synset_of[a].wup_similarity(synset_of[b]))
        wanted = synset_of[a].path_similarity(synset_of[b])
        assert ours.path_similarity(a, b) == pytest.approx(wanted)


def _is_chain(theirs, name):
    """Tell whether a synset has one way to the root, so that NLTK's graph is a tree there."""
    return len(theirs.synset(name).hypernym_paths()) == 1


def test_likeness_of_words_is_the_best_of_their_senses(real):
    wordnet = WordNet.find(real)
    rows, columns = ["bank", "doctor", "qwxz"], ["river", "nurses", "money", "xzzz", "bank"]
    parents = {v: int(up) if v else None for v, up in enumerate(wordnet.tree.parents)}
    for measure, plain in (
        ("wu-palmer", reference.wu_palmer),
        ("path", reference.path_similarity),
    ):
        found = wordnet.likeness(rows, columns, measure=measure)
        assert np.isnan(found[2]).all()
        assert np.isnan(found[:, 3]).all()
        for i, row in enumerate(rows[:2]):
            for j in (0, 1, 2, 4):
                a, b = wordnet.senses_of(row).tolist(), wordnet.senses_of(columns[j]).tolist()
                assert found[i, j] == pytest.approx(max(plain(parents, x, y) for x in a for y in b))
    with pytest.raises(ParameterError, match="measure='lin' is not known"):
        wordnet.likeness(rows, columns, measure="lin")
    assert wordnet.likeness([], ["dog"]).shape == (0, 1)
    assert np.isnan(wordnet.likeness(["dog"], ["qwxz"])).all()


@given(ups=st.lists(st.integers(0, 30), min_size=1, max_size=30), data=st.data())
def test_likeness_of_nodes(ups, data):
    parents = {f"s{i}.n.01": f"s{up % i}.n.01" for i, up in enumerate(ups, 1)}
    wordnet = WordNet.from_senses({}, parents=parents)
    above = {**parents, "s0.n.01": None}
    nodes = data.draw(st.lists(st.integers(0, len(ups)), min_size=1, max_size=6))
    ids = [wordnet.tree.ids[v] for v in nodes]
    a, b = np.array(nodes)[:, None], np.array(nodes)[None, :]
    for ours, plain in (
        (wordnet.wu_palmer, reference.wu_palmer),
        (wordnet.path_similarity, reference.path_similarity),
    ):
        wanted = [[plain(above, x, y) for y in ids] for x in ids]
        np.testing.assert_allclose(ours(a, b), wanted, rtol=1e-12)


# --- where it lies ------------------------------------------------------------------------------


def packed(folder, kind):
    if kind == "zip":
        raw = io.BytesIO()
        with zipfile.ZipFile(raw, "w") as archive:
            for file in folder.iterdir():
                archive.write(file, f"wordnet/{file.name}")
        return raw.getvalue()
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as archive:
        archive.add(folder, "WordNet-3.0/dict")
    return raw.getvalue()


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_archives(folder, kind):
    archive = folder.parent / f"wordnet.{kind}"
    archive.write_bytes(packed(folder, kind))
    assert WordNet.find(archive).tree.ids == WordNet.find(folder).tree.ids
    archive.write_bytes(archive.read_bytes()[:100])
    with pytest.raises(InputError, match="no archive that can be read") as caught:
        WordNet.find(archive)
    assert "copy it again" in str(caught.value)


def test_usual_places(folder, tmp_path, monkeypatch):
    for name in ("WNSEARCHDIR", "WNHOME", "NLTK_DATA", "HOME"):
        monkeypatch.delenv(name, raising=False)
    debian = [p for p in wordnet_files.places({}) if not p.is_relative_to("/usr/share/wordnet")]
    monkeypatch.setattr(wordnet_files, "places", lambda: iter(debian[:0]))
    with pytest.raises(InputError, match="WordNet was not found") as caught:
        WordNet.find()
    assert "wordnet-base" in caught.value.fix
    assert "nltk.downloader" in caught.value.fix
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    corpora = tmp_path / "nltk_data" / "corpora"
    corpora.mkdir(parents=True)
    (corpora / "wordnet.zip").write_bytes(packed(folder, "zip"))
    found = list(wordnet_files.places({"NLTK_DATA": str(tmp_path / "nltk_data")}))
    assert next(p for p in found if p.exists()) == corpora / "wordnet.zip"
    monkeypatch.setenv("WNSEARCHDIR", str(folder))
    assert wordnet_files.find_place() == folder
    assert next(wordnet_files.places({"WNHOME": str(tmp_path)})) == folder
    assert wordnet_files.find_place(tmp_path) == folder  # the folder above dict


def test_cache(folder, cache, monkeypatch):
    first = WordNet.find(folder)
    [kept] = (cache / "setveil").iterdir()
    monkeypatch.setattr("setveil.io.wordnet.parse", lambda _: pytest.fail("parsed again"))
    again = WordNet.find(folder)
    assert (again.tree.ids, again.lemmas, again.exceptions) == (
        first.tree.ids, first.lemmas, first.exceptions,
    )  # fmt: skip
    assert again.senses.tolist() == first.senses.tolist()
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    for damaged in (b"", b"PK\x03\x04", kept.read_bytes()[:-50]):
        kept.write_bytes(damaged)
        assert WordNet.find(folder).tree.ids == first.tree.ids
    wrong = {"ids": np.frombuffer(b"a\nb", dtype=np.uint8), "names": np.zeros(1, dtype=np.uint8)}
    np.savez(kept, **wrong)
    assert WordNet.find(folder).tree.ids == first.tree.ids
    (folder / "noun.exc").write_text("doggies dog\n")
    assert "doggies" in WordNet.find(folder)  # new content, new key
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "data.noun" / "no folder"))
    assert WordNet.find(folder).tree.ids == first.tree.ids  # no cache can be written


# --- what is wrong with it ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("data.noun", "", "data.noun cannot be found in it"),
        ("data.noun", "  only a licence\n", "there is no noun in it"),
        ("data.noun", DATA + "0000060 05 n broken\n", "data.noun, line 7: this is no line"),
        ("data.noun", DATA.replace("00000400 05", "00000401 05"), "synset 00000400 is named"),
        ("data.noun", DATA.replace("@ 00000100 n", "@ 00000900 n"), "synset 00000900 is named"),
        ("data.noun", DATA.replace("00000200 n 0000 | all", "00000200 n 0000 @ 00000300 n 0000 |"),
         "the taxonomy has a cycle"),
        ("index.noun", INDEX + "cat n one\n", "index.noun, line 8: this is no line"),
    ],
)  # fmt: skip
def test_damaged(folder, file, content, message):
    (folder / file).write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        WordNet.find(folder)
    assert caught.value.fix


def test_several_tops_and_no_exceptions(folder):
    (folder / "noun.exc").unlink()
    (folder / "data.noun").write_text(DATA.replace("001 @ 00000100 n 0000 | it lives", "000 | x"))
    wordnet = WordNet.find(folder)
    assert wordnet.tree.names[0] == "*"
    assert wordnet.lemma("doggen") is None


def test_own_lexicon():
    with pytest.raises(InputError, match=r"'cat.n.01' has no place"):
        WordNet.from_senses({"cat": ["cat.n.01"]}, parents={"dog.n.01": None})
    with pytest.raises(ParameterError, match="run of senses"):
        WordNet(tree=WordNet.from_senses({}, parents={"a.n.01": None}).tree, lemmas=("a",),
                starts=np.array([0]), senses=np.array([0]), exceptions={})  # fmt: skip
