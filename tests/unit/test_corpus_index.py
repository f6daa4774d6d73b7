"""The index on disk against looking at every document; damaged files; builds that break off."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.relatedness import plain_counts, plain_pair_counts

from setveil.core.errors import InputError
from setveil.relatedness import CorpusIndex, build_index
from setveil.relatedness import index as corpus_index
from setveil.relatedness.index import words_of

NOTES = [
    "High blood pressure, and a headache.",
    "Blood tests were normal. Pressure at work!",
    "",
    "The patient's X-ray: two X-rays, no fracture.",
    "Café au lait spots; low BLOOD\nPRESSURE",
]
WORDS = ["blood", "pressure", "high", "x", "ray", "naïve", "été", "12"]
TEXT = st.lists(st.sampled_from([*WORDS, "Blood", "x-ray", "ray.", "the_x"]), max_size=8)
TERM = st.lists(st.sampled_from([*WORDS, "unheard"]), min_size=1, max_size=3).map(" ".join)


@pytest.fixture
def index(tmp_path):
    return build_index(NOTES, tmp_path / "notes.index")


def test_words_phrases_and_spellings(index):
    terms = ["blood", "blood pressure", "pressure blood", "x-ray", "X ray", "headaches", "two x"]
    assert index.counts(terms).tolist() == [3, 2, 0, 1, 1, 1, 1]
    assert index.counts(["café", "CAFE\u0301", "flu", "", "!", "blood flu"]).tolist() == [
        1, 1, 0, 0, 0, 0,
    ]  # fmt: skip
    assert index.counts(["patient", "patient's", "patients"]).tolist() == [1, 1, 1]
    assert index.pair_counts(["blood", "flu"], ["low", "test", "blood"]).tolist() == [
        [1, 1, 3],
        [0, 0, 0],
    ]
    assert (index.total, index.n_tokens) == (5, sum(len(words_of(note)) for note in NOTES))


def test_a_phrase_does_not_go_on_in_the_next_document(tmp_path):
    index = build_index(["high blood", "pressure", "", "a"], tmp_path / "x.index")
    assert index.counts(["blood pressure", "pressure a", "high blood"]).tolist() == [0, 0, 1]


def test_plural_and_singular_meet(tmp_path):
    built = build_index(["Two diagnoses.", "One diagnosis, many women"], tmp_path / "a.index")
    assert built.counts(["diagnosis", "diagnoses", "woman", "Women"]).tolist() == [2, 2, 1, 1]
    apart = build_index(["Two cats", "one cat"], tmp_path / "b.index", singulars=False)
    assert apart.counts(["cat", "cats", "cates"]).tolist() == [1, 1, 0]
    assert built.words() == sorted(built.words())
    assert "woman" in built.words()
    assert "women" not in built.words()


@settings(max_examples=60)
@given(
    documents=st.lists(TEXT.map(" ".join), min_size=1, max_size=10),
    rows=st.lists(TERM, max_size=4),
    columns=st.lists(TERM, max_size=4),
    limits=st.tuples(st.sampled_from([1, 3, 1 << 22]), st.sampled_from([0, corpus_index.NARROW])),
)
def test_counts_against_every_document(tmp_path_factory, documents, rows, columns, limits):
    path = tmp_path_factory.mktemp("index") / "x.index"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus_index, "BATCH", limits[0])
        patch.setattr(corpus_index, "NARROW", limits[1])
        if not any(words_of(document) for document in documents):
            with pytest.raises(InputError, match="no words in the corpus"):
                build_index(documents, path, singulars=False)
            assert not any(path.parent.iterdir())
            return
        index = build_index(documents, path, singulars=False)
    assert index.total == len(documents)
    assert index.counts(rows).tolist() == plain_counts(documents, rows)
    pairs = index.pair_counts(rows, columns)
    assert pairs.shape == (len(rows), len(columns))
    assert pairs.tolist() == plain_pair_counts(documents, rows, columns)


def test_the_same_corpus_gives_the_same_file(tmp_path):
    first = build_index(NOTES, tmp_path / "a.index")
    again = build_index(NOTES, tmp_path / "b.index")
    other = build_index(NOTES[:-1], tmp_path / "c.index")
    assert (tmp_path / "a.index").read_bytes() == (tmp_path / "b.index").read_bytes()
    assert first.fingerprint() == again.fingerprint() != other.fingerprint()


def test_no_text_and_no_names_are_kept(tmp_path):
    from setveil.text.documents import Document

    build_index([Document(name="patient-17.txt", text="zebra apple")], tmp_path / "x.index")
    content = (tmp_path / "x.index").read_bytes()
    assert b"patient" not in content
    assert b"zebra apple" not in content


def test_a_build_that_breaks_off_leaves_what_was_there(tmp_path):
    def notes():
        yield "one"
        raise InputError("a bad line")

    path = tmp_path / "x.index"
    build_index(["old words"], path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="a bad line"):
        build_index(notes(), path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["x.index"]


def test_an_index_can_be_replaced_while_it_is_open(tmp_path):
    path = tmp_path / "x.index"
    old = build_index(["one two"], path)
    new = build_index(["three"], path)
    assert old.counts(["one", "three"]).tolist() == [1, 0]
    assert new.counts(["one", "three"]).tolist() == [0, 1]


def test_where_it_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        build_index(["one"], tmp_path / "nowhere" / "x.index")


@pytest.mark.parametrize("content", [b"", b"text", b"x" * 500])
def test_what_is_no_index(tmp_path, content):
    path = tmp_path / "x.index"
    path.write_bytes(content)
    with pytest.raises(InputError, match="this is no index") as caught:
        CorpusIndex.open(path)
    assert "setveil index" in str(caught.value)


@pytest.mark.usefixtures("index")
def test_another_version_a_part_and_a_directory(tmp_path):
    path = tmp_path / "y.index"
    path.write_bytes((tmp_path / "notes.index").read_bytes()[:16])
    with pytest.raises(InputError, match="ends too early"):
        CorpusIndex.open(path)
    path.write_bytes((tmp_path / "notes.index").read_bytes().replace(b"index 1", b"index 7"))
    with pytest.raises(InputError, match="another version"):
        CorpusIndex.open(path)
    with pytest.raises(InputError, match="cannot be read"):
        CorpusIndex.open(tmp_path)


@settings(max_examples=150)
@given(data=st.data())
def test_a_damaged_index_is_refused_or_answers(tmp_path_factory, data):
    """Whatever bytes are changed or cut off: an InputError, or the answers of the whole file."""
    folder = tmp_path_factory.mktemp("damaged")
    path = folder / "x.index"
    build_index(NOTES, path, singulars=False)
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        for _ in range(data.draw(st.integers(1, 5))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        index = CorpusIndex.open(path)
    except InputError:
        return
    terms = ["blood", "blood pressure", "x ray", "high"]
    assert index.counts(terms).tolist() == plain_counts(NOTES, terms)
    assert index.pair_counts(terms, terms).tolist() == plain_pair_counts(NOTES, terms, terms)
    assert index.n_words == len(index.words())


def test_a_larger_file_is_opened_without_reading_it(tmp_path, monkeypatch):
    path = tmp_path / "x.index"
    index = build_index(NOTES, path, singulars=False)
    content = bytearray(path.read_bytes())
    place = content.index(index.arrays["places"].tobytes())
    content[place] += 1  # a place in the corpus: no check but the hash can see it
    path.write_bytes(content)
    with pytest.raises(InputError, match="does not match its hash"):
        CorpusIndex.open(path)
    monkeypatch.setattr("setveil.relatedness.index.CHECKED", len(content) - 1)
    assert CorpusIndex.open(path).total == len(NOTES)


def test_many_terms_go_in_blocks(tmp_path):
    rng = np.random.default_rng(3)
    words = [f"w{i}" for i in range(300)]
    documents = [" ".join(rng.choice(words, size=20)) for _ in range(50)]
    index = build_index(documents, tmp_path / "x.index", singulars=False)
    held = np.array([[word in set(d.split()) for d in documents] for word in words]).astype(int)
    assert np.array_equal(index.pair_counts(words, words), held @ held.T)
    assert np.array_equal(index.pair_counts(["w1", "w1"], ["w2"]), [[held[1] @ held[2]]] * 2)


def test_progress_is_told(tmp_path):
    stages = []
    build_index(["one"], tmp_path / "x.index", progress=lambda stage, *_: stages.append(stage))
    assert stages == ["reading", "sorting words", "counting", "placing", "writing"]
    index = CorpusIndex.open(tmp_path / "x.index")
    assert repr(index) == "<CorpusIndex: 1 documents, 1 words>"


def test_wikipedia(data_dir, tmp_path):
    from setveil.text.documents import Documents

    path = data_dir / "wikipedia_squad2_dev_35topics.jsonl.gz"
    texts = [document.text for document in Documents(path=path)]
    index = build_index(texts, tmp_path / "x.index", singulars=False)
    terms = ["oxygen", "steam engine", "pressure", "yuan dynasty", "x ray", "university of"]
    assert index.counts(terms).tolist() == plain_counts(texts, terms)
    assert index.pair_counts(terms, terms).tolist() == plain_pair_counts(texts, terms, terms)
