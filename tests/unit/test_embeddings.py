"""Word vectors from files, and the trees that join what is alike."""

import gzip
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setveil import Taxonomy
from setveil.core.errors import InputError, ParameterError, SetveilError
from setveil.io import embeddings as building
from setveil.io.embeddings import Vectors, dendrogram, embedding_tree

TEXT = "the 0.5 -1 2\nflu 1e-1 0 3\nnew_york 1 1 1\n. . . 4 5 6\n"


def saved(folder, content, name="vectors.txt"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# --- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content", [TEXT, f"4 3\n{TEXT}", TEXT.rstrip(), TEXT.replace("\n", "\r\n")]
)
def test_text(tmp_path, content):
    for path in (
        saved(tmp_path, content),
        saved(tmp_path, gzip.compress(content.encode()), "v.gz"),
    ):
        vectors = Vectors.read(path)
        assert vectors.words == ("the", "flu", "new_york", ". . .")
        wanted = [[0.5, -1, 2], [0.1, 0, 3], [1, 1, 1], [4, 5, 6]]
        np.testing.assert_allclose(vectors.vectors, wanted, rtol=1e-6)


def test_text_with_tabs_and_only_what_is_needed(tmp_path):
    path = saved(tmp_path, TEXT.replace(". . . 4 5 6\n", "Cold\t1\t2\t3\nold 1 2 3\n"))
    assert Vectors.read(path, terms=["New York", "Cold flu"]).words == ("flu", "new_york", "Cold")
    assert Vectors.read(path, terms=["nothing"]).vectors.shape == (0, 3)


@given(
    words=st.lists(st.text("abcxyz", min_size=1, max_size=3), min_size=1, max_size=6, unique=True),
    data=st.data(),
)
@settings(max_examples=50)
def test_text_and_npz_say_the_same(tmp_path_factory, words, data):
    folder = tmp_path_factory.mktemp("vectors")
    number = st.floats(-4, 4, width=16)
    rows = [[data.draw(number) for _ in range(2)] for _ in words]
    text = "".join(f"{w} {a!r} {b!r}\n" for w, (a, b) in zip(words, rows, strict=True))
    one = Vectors.read(saved(folder, text))
    path = folder / "v.npz"
    np.savez(path, words=np.array(words), vectors=np.array(rows, dtype=np.float16))
    other = Vectors.read(path)
    assert one.words == other.words == tuple(words)
    np.testing.assert_array_equal(one.vectors, other.vectors)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("flu 1 2\ncold 1\n", "line 2: .*is not a word and 2 numbers"),
        ("flu 1 2\ncold 1 x\n", "line 2"),
        ("flu 1 2\ncold 1 nan\n", "line 2"),
        ("flu\n", "line 1: .*is not a word and its numbers"),
        ("2 3\n", "there are no vectors in it"),
        ("", "there is nothing in it"),
        (b"300 3\nflu \x00\x01\x02", "binary file"),
        (b"PK\x03\x04 not really", "no words and vectors can be read"),
    ],
)
def test_damaged(tmp_path, content, message):
    with pytest.raises(InputError, match=message) as caught:
        Vectors.read(saved(tmp_path, content))
    assert "vectors.txt" in caught.value.where
    assert caught.value.fix


@pytest.mark.parametrize(
    "arrays",
    [
        {"words": np.array(["a"])},
        {"words": np.array(["a", 1], dtype=object), "vectors": np.ones((2, 2))},
        {"words": np.array([1]), "vectors": np.ones((1, 2))},
        {"words": np.array(["a"]), "vectors": np.ones((2, 2))},
        {"words": np.array(["a"]), "vectors": np.array([[np.inf]])},
    ],
)
def test_wrong_arrays(tmp_path, arrays):
    np.savez(tmp_path / "v.npz", **arrays)
    with pytest.raises(InputError, match=r"v.npz") as caught:
        Vectors.read(tmp_path / "v.npz")
    assert "numpy.savez" in caught.value.fix


def test_terms():
    vectors = Vectors(
        words=("New_York", "new", "big", "apple", "big"),
        vectors=np.array([[9, 9], [1, 0], [0, 2], [4, 4], [7, 7]]),
    )
    terms = ["New York", "NEW", "big-apple", "big bad apple", "nothing", "", "new_york"]
    rows, known = vectors.of(terms)
    assert rows.tolist() == [[9, 9], [1, 0], [2, 3], [2, 3], [0, 0], [0, 0], [1, 0]]
    assert known.tolist() == [True, True, True, True, False, False, True]
    with pytest.raises(ParameterError, match="one row"):
        Vectors(words=("a",), vectors=np.ones(2))


def test_glove(data_dir):
    vectors = Vectors.read(data_dir / "glove_100d_small_f16.npz")
    assert vectors.vectors.shape == (77838, 100)
    rows, known = vectors.of(["heart attack", "stroke", "banana"])
    assert known.all()
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert unit[0] @ unit[1] > unit[0] @ unit[2]


# --- trees --------------------------------------------------------------------------------------


def complete_linkage(matrix):
    """Join, again and again, the two parts with the least greatest distance: plain loops."""
    parts = [frozenset([i]) for i in range(len(matrix))]
    joined = []
    while len(parts) > 1:

        def widest(pair):
            return max(1 - matrix[a] @ matrix[b] for a in pair[0] for b in pair[1])

        pairs = [(p, q) for i, p in enumerate(parts) for q in parts[i + 1 :]]
        best = min(pairs, key=widest)
        parts = [p for p in parts if p not in best] + [best[0] | best[1]]
        joined.append(parts[-1])
    return joined


def unit_rows(seed, n, d=4):
    rows = np.random.default_rng(seed).normal(size=(n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@given(seed=st.integers(0, 10**6), n=st.integers(2, 9))
@settings(max_examples=50)
def test_dendrogram_is_complete_linkage(seed, n):
    matrix = unit_rows(seed, n)
    tree = dendrogram(matrix)
    members = [frozenset(part.tolist()) for part in building._members(tree)]
    assert set(members) == set(complete_linkage(matrix))


def below(tree, node):
    return {tree.ids[v] for v in range(node, tree.ends[node]) if tree.is_leaf[v]}


@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), fanout=st.integers(2, 5), data=st.data())
@settings(max_examples=50)
def test_tree(seed, n, fanout, data):
    items = [f"i{k:02}" for k in range(n)]
    vectors = Vectors(words=tuple(items), vectors=unit_rows(seed, n))
    named = data.draw(st.sets(st.sampled_from(items)))
    tree = Taxonomy.from_embeddings(items, vectors, fanout=fanout, named=named)
    assert below(tree, 0) == set(items)
    matrix = dict(zip(items, vectors.vectors.astype(float), strict=True))
    for v in np.flatnonzero(~tree.is_leaf).tolist():
        assert 2 <= np.count_nonzero(tree.parents == v) <= fanout
        inside = sorted(below(tree, v))
        centre = sum(matrix[i] for i in inside)
        allowed = [i for i in inside if i in named]
        if not allowed:
            assert tree.names[v] == tree.ids[v]
            assert tree.names[v].startswith("group ")
        else:
            best = max(matrix[i] @ centre for i in allowed)
            assert matrix[tree.names[v].removeprefix("like ")] @ centre == pytest.approx(
                best, abs=1e-6
            )
    shuffled = data.draw(st.permutations(items))
    again = Taxonomy.from_embeddings(shuffled, vectors, fanout=fanout, named=named)
    assert (again.ids, again.names) == (tree.ids, tree.names)
    assert again.parents.tolist() == tree.parents.tolist()


def test_only_named_items_stand_on_nodes():
    """A rare item must not be disclosed by the name of a node that a release shows."""
    items = ["flu", "cold", "hiv", "gout"]
    vectors = Vectors(words=tuple(items), vectors=unit_rows(3, 4))
    for named in ([], ["flu"], ["flu", "cold"]):
        tree = Taxonomy.from_embeddings(items, vectors, named=named, fanout=2)
        inner = [(tree.ids[v], tree.names[v]) for v in np.flatnonzero(~tree.is_leaf)]
        told = " ".join(text for pair in inner for text in pair)
        assert not any(item in told for item in set(items) - set(named))


def test_large_sets_are_halved_first(monkeypatch):
    monkeypatch.setattr(building, "LARGEST", 5)
    matrix = unit_rows(1, 40)
    tree = dendrogram(matrix)
    assert len(tree.pairs) == 39
    members = building._members(tree)
    assert sorted(members[-1].tolist()) == list(range(40))
    halves = [len(m) for m in members if len(m) > 5]
    assert sorted(halves) == [10] * 4 + [20] * 2 + [40]
    items = [f"i{k:02}" for k in range(40)]
    built = Taxonomy.from_embeddings(items, Vectors(words=tuple(items), vectors=matrix), fanout=3)
    assert below(built, 0) == set(items)


def test_equal_vectors_and_clashing_names():
    vectors = Vectors(words=("group 1", "b", "c"), vectors=np.ones((3, 2)))
    tree = Taxonomy.from_embeddings(["group 1", "b", "c"], vectors, fanout=2)
    assert sorted(tree.ids) == ["b", "c", "group 1", "group 1'", "group 2"]


def test_without_a_vector():
    vectors = Vectors(words=("flu", "cold", "zero"), vectors=np.array([[1, 0], [0, 1], [0, 0]]))
    with pytest.raises(InputError, match="2 of 4 items have no vector: 'xyz', 'zero'"):
        Taxonomy.from_embeddings(["flu", "cold", "xyz", "zero"], vectors)
    tree = Taxonomy.from_embeddings(["flu", "xyz", "cold"], vectors, missing="attach-to-root")
    assert tree.ids == ("group 1", "cold", "flu", "xyz")
    for items in (["xyz"], ["flu"], ["flu", "xyz"], ["abc", "xyz"]):
        tree = Taxonomy.from_embeddings(items, vectors, missing="attach-to-root")
        assert below(tree, 0) == set(items)


def test_without_a_vector_beside_others_or_left_out():
    words = ("flu", "bird flu", "oak", "elm")
    vectors = Vectors(words=words, vectors=np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1]]))
    records = {"flu": 9, "bird flu": 8, "oak": 7, "elm": 6, "flus": 2}
    tree, report = embedding_tree(records, vectors, fanout=2, missing="nearest", records=records)
    # "flus" shares "  f", " fl" and "flu" of its five groups of letters with the four of "flu".
    assert [tuple(each) for each in report.placements] == [
        ("flus", "flu", tree.names[tree.parents[tree.node("flu")]], 0.5, "name", False)
    ]
    assert tree.parents[tree.node("flus")] == tree.parents[tree.node("bird flu")] > 0
    tree, report = embedding_tree(records, vectors, fanout=2, missing="drop", records=records)
    assert below(tree, 0) == set(words)
    assert (report.items, report.records, report.occurrences) == (("flus",), (2,), 32)
    for missing in ("drop", "nearest"):
        with pytest.raises(InputError, match="1 of 1 items have no vector: 'flu'"):
            embedding_tree(["flu"], Vectors(words=("x",), vectors=np.ones((1, 1))), missing=missing)


@pytest.mark.parametrize(
    ("items", "options", "message"),
    [
        ([], {}, "at least one item"),
        (["flu"], {"fanout": 1}, "fanout is 1"),
        (["flu"], {"missing": "maybe"}, "missing='maybe' is not known"),
    ],
)
def test_wrong_use(items, options, message):
    vectors = Vectors(words=("flu",), vectors=np.ones((1, 1)))
    with pytest.raises((InputError, ParameterError), match=message):
        embedding_tree(items, vectors, **options)


def test_says_which_package_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    vectors = Vectors(words=("flu", "cold"), vectors=np.ones((2, 1)))
    with pytest.raises(SetveilError, match=r"pip install 'setveil\[text\]'"):
        Taxonomy.from_embeddings(["flu", "cold"], vectors)


def test_a_damaged_npz(tmp_path):
    path = tmp_path / "v.npz"
    np.savez_compressed(path, words=["flu", "gout"], vectors=np.eye(2))
    whole = path.read_bytes()
    for content in (whole[:80], whole[:60] + b"\xff" * 60 + whole[120:]):
        path.write_bytes(content)
        with pytest.raises(InputError, match="copy it again"):
            Vectors.read(path)
