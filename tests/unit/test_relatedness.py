"""Distances of every source: their edges, their names, and what they report."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.relatedness import plain_cosine_distance, plain_ngd, plain_pmi

from setveil import TransactionTable
from setveil.core.errors import InfeasibleError, InputError, ParameterError
from setveil.core.params import params_of
from setveil.core.registry import entries
from setveil.io.embeddings import Vectors
from setveil.io.wordnet import WordNet
from setveil.relatedness import (
    NGD,
    PMI,
    Combined,
    Coverage,
    Embedding,
    RecordCounts,
    Relatedness,
    Trained,
    Training,
    WithinRelease,
    WuPalmer,
    build_index,
    coverage,
    ngd,
    parse_relatedness,
    pmi,
)
from setveil.relatedness.base import _split
from setveil.release import publish_suppressed
from setveil.release.set_generalized import publish_sets

ITEMS = ["flu", "cough", "gout", "high fever"]
ROWS = st.lists(st.sets(st.sampled_from(ITEMS)), min_size=1, max_size=12)


@pytest.fixture
def notes(tmp_path):
    """Return the path of a small index."""
    texts = ["flu and cough", "flu, cough", "gout", "flu", "high fever", "pain"]
    build_index(texts, tmp_path / "notes.index", singulars=False)
    return tmp_path / "notes.index"


@pytest.fixture
def glove(tmp_path):
    path = tmp_path / "glove.txt"
    path.write_text("flu 1 0\ncough 1 1\ngout 0 2\nzero 0 0\n")
    return path


@pytest.fixture
def release():
    table = TransactionTable.from_rows([["flu", "cough"], ["gout"], ["flu", "gout"]])
    return publish_sets(table, [0, 1, 1])[0]  # cough in clear; flu and gout are one


# --- distances from counts ---


@given(ROWS)
def test_ngd_and_pmi_against_every_record(rows):
    counts = RecordCounts.from_rows(rows)
    texts = ["|".join(row) for row in rows]
    terms = [*ITEMS, "unheard"]
    for source, plain in ((NGD(counts), plain_ngd), (PMI(counts), plain_pmi)):
        found = source.distances(terms, terms)
        sign = 1 if plain is plain_ngd else -1
        expected = [[sign * plain(texts, a, b) for b in terms] for a in terms]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        assert source.known(terms).tolist() == [any(t in row for row in rows) for t in terms]


def test_the_edges_of_ngd():
    assert math.isnan(ngd(0, 3, 0, 10))
    assert math.isnan(ngd(0, 0, 0, 10))
    assert ngd(3, 4, 0, 10) == 1  # never together: as far as chance
    assert ngd(3, 3, 3, 10) == 0  # always together
    assert ngd(1, 1, 1, 1) == 0  # a corpus of one document
    assert ngd(10, 10, 10, 10) == 0  # everywhere: N is taken to be one more
    assert ngd(10, 2, 2, 10) == pytest.approx(math.log(5) / math.log(5.5))
    assert ngd(3, 4, 9, 10) == ngd(3, 4, 3, 10)  # no pair is more frequent than its terms
    assert ngd(100, 50, 1, 110) > 1  # avoiding each other is more than chance
    # Independent terms: f(x,y) = f(x)·f(y)/N.
    assert ngd(20, 50, 10, 100) == pytest.approx(1)
    assert ngd([], [], [], 5).shape == (0,)


def test_the_edges_of_pmi():
    assert math.isnan(pmi(0, 3, 0, 10))
    assert pmi(20, 50, 10, 100) == 0
    assert pmi(20, 50, 0, 100) == pytest.approx(math.log(0.5 / 10.5))
    assert pmi(3, 4, 9, 10) == pmi(3, 4, 3, 10)
    assert np.isfinite(pmi(1, 1, 1, 1))


@given(st.integers(1, 1000), st.integers(1, 1000), st.integers(0, 1000), st.integers(1, 2000))
def test_ngd_is_symmetric_and_never_negative(x, y, both, total):
    total = max(total, x, y)
    assert ngd(x, y, both, total) == ngd(y, x, both, total)
    assert ngd(x, y, both, total) >= 0
    if 0 < both < min(x, y):
        assert ngd(x, y, both, total) > ngd(x, y, both + 1, total)


def test_what_is_reported():
    counts = RecordCounts.from_rows([["a", "b"], ["a", "c"], ["a"]])
    found = coverage(NGD(counts), ["a", "b", "x"], ["c", "b", "y"])
    assert found == Coverage(
        terms=5, unknown=("x", "y"), everywhere=("a",), pairs=3, never_together=1, documents=3
    )
    assert found.sentences() == [
        "2 of 5 terms are unknown: x, y",
        "1 of 5 terms occur in every document and tell nothing: a",
        "1 of 3 pairs never occur together",
    ]
    one = coverage(PMI(RecordCounts.from_rows([["a", "b"]])), ["a"], ["b"])
    assert one.sentences() == ["there is one document only: it cannot tell near from far"]
    many = coverage(NGD(counts), [f"x{i}" for i in range(9)], ["a"])
    assert many.sentences()[0].endswith("x0, x1, x2, x3, x4 and 4 more")
    vectors = Vectors(words=("a",), vectors=[[1.0]])
    assert coverage(Embedding(vectors), ["a"], ["b"]).never_together is None
    assert coverage(NGD(counts), [], []).sentences() == []


# --- the release itself ---


def test_only_what_is_in_clear_is_counted(release):
    source = WithinRelease.from_spec("", release=release)
    assert source.known(["cough", "flu", "gout", "(flu, gout)"]).tolist() == [
        True, False, False, False,
    ]  # fmt: skip
    assert np.isnan(source.distances(["cough"], ["flu", "gout"])).all()


def test_a_suppressed_release_counts_as_its_table():
    table = TransactionTable.from_rows([["a", "b"], ["a"], ["b", "c"], []])
    release, _ = publish_suppressed(table, [True, True, False])
    counts = RecordCounts.of(release)
    assert (counts.total, counts.counts(["a", "b", "c"]).tolist()) == (4, [2, 2, 0])
    assert counts.pair_counts(["a", "c"], ["b"]).tolist() == [[1], [0]]
    assert RecordCounts.of(table).fingerprint() != counts.fingerprint()


def test_no_release_to_count_in():
    with pytest.raises(ParameterError, match="needs one"):
        parse_relatedness("release")


# --- word vectors ---


@given(st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=1, max_size=5))
def test_cosines_against_sums(rows):
    words = tuple(f"w{i}" for i in range(len(rows)))
    source = Embedding(Vectors(words=words, vectors=rows))
    found = source.distances(words, words)
    assert source.known(words).tolist() == [any(row) for row in rows]
    for i, a in enumerate(rows):
        for j, b in enumerate(rows):
            if any(a) and any(b):
                assert found[i, j] == pytest.approx(plain_cosine_distance(a, b), abs=1e-6)
                assert 0 <= found[i, j] <= 2
            else:
                assert math.isnan(found[i, j])
        assert found[i, i] == 0 or math.isnan(found[i, i])


def test_phrases_unknown_terms_and_no_terms(glove):
    source = parse_relatedness(f"glove:{glove}")
    assert source.known(["flu", "flu gout", "flu xyz", "zero", "xyz"]).tolist() == [
        True, True, True, False, False,
    ]  # fmt: skip
    assert source.distances(["flu xyz"], ["flu"]).tolist() == [[0.0]]
    assert source.distances([], ["flu"]).shape == (0, 1)
    assert source.distances(["flu"], []).shape == (1, 0)


def test_of_a_text_only_what_a_release_shows_is_read(glove, release):
    source = parse_relatedness(f"glove:{glove}", release=release)
    assert source.vectors.words == ("flu", "cough", "gout")
    everything = parse_relatedness(f"glove:{glove}")
    assert source.fingerprint() != everything.fingerprint()
    table = TransactionTable.from_rows([["flu"], ["gout"]])
    suppressed, _ = publish_suppressed(table, [True, True])
    assert parse_relatedness(f"glove:{glove}", release=suppressed).vectors.words == ("flu", "gout")


# --- vectors from a corpus ---


def topical(rng, topics, documents):
    """Return documents of five words that each stay within one topic of ten words."""
    return [
        " ".join(f"{topic}{i}" for i in rng.choice(10, size=5, replace=False))
        for topic in rng.choice(topics, size=documents)
    ]


def test_trained_vectors_tell_topics_apart(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    documents = topical(np.random.default_rng(2), ["a", "b", "c"], 120)
    index = build_index(documents, tmp_path / "x.index", singulars=False)
    source = Trained.of(index, Training(dimensions=3))
    terms = [f"{topic}{i}" for topic in "abc" for i in range(10)]
    assert source.known(terms).all()
    found = source.distances(terms, terms)
    same = np.array([[a[0] == b[0] for b in terms] for a in terms])
    assert found[same].max() < found[~same].min()
    usual = parse_relatedness(f"trained:{tmp_path / 'x.index'}")
    assert usual.vectors.vectors.shape == (30, 7)  # 100 directions would be one for each word
    assert usual.distances(["a1"], ["a2", "b1"]).shape == (1, 2)
    monkeypatch.setattr(Training, "train", None)
    again = parse_relatedness(f"trained:{tmp_path / 'x.index'}")  # from the cache
    assert again.fingerprint() == usual.fingerprint() != source.fingerprint()


def test_a_damaged_cache_is_not_believed(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    index = build_index(["a b", "a b", "a b", "c d"] * 3, tmp_path / "x.index", singulars=False)
    how = Training(dimensions=2, common=1.0)
    first = Trained.of(index, how)
    (kept,) = (tmp_path / "cache" / "setveil").glob("vectors-*")
    np.savez(kept, words=np.array([1], dtype=np.uint8), vectors=np.array([[np.nan]]))
    assert Trained.of(index, how).fingerprint() == first.fingerprint()
    kept.write_bytes(b"nothing")
    assert Trained.of(index, how).fingerprint() == first.fingerprint()


def test_trained_vectors_span_what_an_exact_svd_spans(tmp_path):
    rng = np.random.default_rng(4)
    documents = topical(rng, ["a", "b", "c", "d"], 200)
    index = build_index(documents, tmp_path / "x.index", singulars=False)
    vectors = Training(dimensions=3).train(index).vectors.astype(float)
    words = index.words()
    held = np.array([[word in document.split() for document in documents] for word in words]) * 1.0
    both, alone = held @ held.T, held.sum(axis=1)
    with np.errstate(divide="ignore"):
        information = np.maximum(np.log(both * len(documents) / np.outer(alone, alone)), 0)
    np.fill_diagonal(information, 0)
    exact = np.linalg.svd(information)[0][:, :3]
    np.testing.assert_allclose(vectors @ vectors.T, exact @ exact.T, atol=1e-4)


def test_a_corpus_that_is_too_small_to_train_on(tmp_path):
    index = build_index(["one two", "three"], tmp_path / "x.index")
    with pytest.raises(InfeasibleError, match="larger corpus"):
        Training().train(index)
    for wrong in ({"dimensions": 0}, {"words": 0}, {"common": 0.0}, {"common": 2.0}):
        with pytest.raises(ParameterError):
            Training(**wrong)


# --- WordNet ---


@pytest.fixture
def lexicon():
    return WordNet.from_senses(
        {"bank": ["bank.n.01", "depot.n.01"], "slope": ["slope.n.01"], "ice cream": ["ice.n.01"]},
        parents={
            "bank.n.01": "slope.n.01",
            "slope.n.01": "entity.n.01",
            "depot.n.01": "entity.n.01",
            "ice.n.01": "entity.n.01",
        },
    )


def test_the_best_senses_count(lexicon):
    source = WuPalmer(lexicon)
    found = source.distances(["bank", "steep slope"], ["slope", "bank", "mug"])
    assert found[0, :2].tolist() == [pytest.approx(0.2), 0]
    assert found[1, :2].tolist() == [0, pytest.approx(0.2)]
    assert np.isnan(found[:, 2]).all()
    assert source.known(["Ice creams", "steep slope", "slope steep", "", "mug"]).tolist() == [
        True, True, False, False, False,
    ]  # fmt: skip
    strict = WuPalmer(lexicon, heads=False)
    assert strict.known(["steep slope", "slope"]).tolist() == [False, True]
    assert strict.fingerprint() != source.fingerprint()


def test_the_real_wordnet(data_dir):
    source = parse_relatedness(f"wordnet:{data_dir / 'wordnet-3.0-dict.tar.gz'}")
    found = source.distances(["dog"], ["wolf", "cat", "automobile", "blood pressure"])[0]
    assert found[0] < found[1] < found[2]
    assert 0 <= found.min() <= found.max() <= 1


# --- several sources, and their names ---


def test_a_weighted_mean_over_those_who_know(notes, glove):
    corpus, vectors = parse_relatedness(f"corpus:{notes}"), parse_relatedness(f"glove:{glove}")
    both = parse_relatedness(f"3*corpus:{notes} + 1*glove:{glove}")
    rows, columns = ["flu", "high fever"], ["cough", "pain", "gout", "unheard"]
    a, b = corpus.distances(rows, columns), vectors.distances(rows, columns)
    found = both.distances(rows, columns)
    np.testing.assert_allclose(found[0, 0], (3 * a[0, 0] + b[0, 0]) / 4)
    assert found[0, 1] == a[0, 1]  # the vectors do not know pain
    assert np.isnan(found[:, 3]).all()
    assert both.known([*rows, "unheard"]).tolist() == [True, True, False]
    assert both.fingerprint() == f"3.0*{corpus.fingerprint()} + 1.0*{vectors.fingerprint()}"
    plain = parse_relatedness(f"corpus:{notes}+glove:{glove}")
    np.testing.assert_allclose(plain.distances(["flu"], ["cough"]), (a[0, 0] + b[0, 0]) / 2)


@pytest.mark.parametrize("weight", [0, -1, math.nan, math.inf])
def test_weights_are_above_zero(weight):
    source = NGD(RecordCounts.from_rows([["a"]]))
    with pytest.raises(ParameterError, match="not a number above 0"):
        Combined(parts=((weight, source),))
    with pytest.raises(ParameterError, match="nothing to combine"):
        Combined(parts=())


def test_a_plus_sign_in_a_path(tmp_path):
    path = tmp_path / "a+b*c.index"
    build_index(["flu"], path)
    assert parse_relatedness(f"corpus:{path}").known(["flu"]).all()
    both = parse_relatedness(f"2*corpus:{path}+0.5*pmi:{path}")
    assert [weight for weight, _ in both.parts] == [2, 0.5]
    both = parse_relatedness(f"1e+3*corpus:{path}+ 2.5E+1 *pmi:{path}+1e-1*corpus:{path}")
    assert [weight for weight, _ in both.parts] == [1000, 25, 0.1]
    assert _split("corpus:a+corpus+glove:b+release") == ["corpus:a", "corpus", "glove:b", "release"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "no source of relatedness is named"),
        ("corpus", "corpus needs to know where"),
        ("pmi: ", "pmi needs to know where"),
        ("glove:", "glove needs to know where"),
        ("web:", "web needs to know where"),
        ("release:x", "nothing follows release"),
        ("corpsu:x", "no relatedness called 'corpsu'"),
        ("x*release", "the weight 'x'"),
        ("0*wordnet:nowhere+release", "nowhere"),
        ("+release", "left or right of a plus"),
        ("?!", "names no source"),
        ("corpus:nowhere.index", "nowhere.index: cannot be read"),
        ("wordnet:nowhere", "no WordNet here"),
    ],
)
def test_names_that_name_nothing(spec, message):
    with pytest.raises((ParameterError, InputError), match=message.replace("?", r"\?")):
        parse_relatedness(spec)


def test_a_text_is_no_index(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("plain text")
    with pytest.raises(InputError, match="setveil index"):
        parse_relatedness(f"corpus:{path}")


def test_everything_registered_can_be_named():
    names = [entry.name for entry in entries("relatedness")]
    assert names == ["corpus", "glove", "pmi", "release", "trained", "web", "wordnet"]
    for entry in entries("relatedness"):
        assert hasattr(entry.target, "from_spec")
        assert entry.summary
        assert entry.paper
        params_of(entry.target)


@settings(max_examples=20)
@given(ROWS)
def test_every_source_keeps_the_contract(rows):
    """Shapes, symmetry, and NaN exactly where a term is unknown."""
    vectors = Vectors(words=("flu", "gout"), vectors=[[1, 2], [2, 1]])
    counts = RecordCounts.from_rows(rows)
    tree = {"flu.n.01": "ill.n.01", "gout.n.01": "ill.n.01"}
    wordnet = WordNet.from_senses({"flu": ["flu.n.01"], "gout": ["gout.n.01"]}, parents=tree)
    sources = [NGD(counts), PMI(counts), Embedding(vectors), WuPalmer(wordnet)]
    sources.append(Combined(parts=((1.0, sources[0]),)))
    terms = ["flu", "gout", "cough", "unheard"]
    for source in sources:
        assert isinstance(source, Relatedness)
        found = source.distances(terms, terms)
        known = source.known(terms)
        assert (found.dtype, found.shape, known.dtype) == (np.float64, (4, 4), np.bool_)
        np.testing.assert_array_equal(np.isnan(found), ~(known[:, None] & known[None, :]))
        np.testing.assert_allclose(found, found.T, atol=1e-12)
        assert source.distances(terms[:1], terms).shape == (1, 4)
        assert source.fingerprint() == source.fingerprint()
