"""Trees over words: where each word stands, what the nodes above it are called, what is unknown."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import wordnet as reference

import setveil
from setveil import Taxonomy, TransactionTable
from setveil.anonymize import Gather
from setveil.core.errors import InputError, ParameterError
from setveil.io.embeddings import Vectors
from setveil.io.wordnet import WordNet, word_tree
from setveil.release.manifest import describe_tree

PARENTS = {
    "animal.n.01": "entity.n.01",
    "dog.n.01": "animal.n.01",
    "pug.n.01": "dog.n.01",
    "cat.n.01": "animal.n.01",
    "car.n.01": "entity.n.01",
    "attack.n.01": "entity.n.01",
    "heart_attack.n.01": "attack.n.01",
}
SENSES = {
    "dog": ["dog.n.01"],
    "hound": ["dog.n.01"],
    "pug": ["pug.n.01"],
    "cat": ["cat.n.01", "car.n.01"],
    "car": ["car.n.01"],
    "auto": ["car.n.01"],
    "attack": ["attack.n.01"],
    "heart attack": ["heart_attack.n.01"],
}
TINY = WordNet.from_senses(SENSES, parents=PARENTS)


def ways(tree):
    """Return leaf → the ids from it to the root."""
    return {
        tree.ids[v]: [tree.ids[u] for u in tree.ancestors(v)]
        for v in range(len(tree))
        if tree.is_leaf[v]
    }


def test_places():
    tree, report = word_tree(["dog", "pugs", "cat", "auto", "car"], TINY)
    assert ways(tree) == {
        "dog": ["dog", "dog.n.01", "animal.n.01", "entity.n.01"],
        "pugs": ["pugs", "dog.n.01", "animal.n.01", "entity.n.01"],
        "cat": ["cat", "animal.n.01", "entity.n.01"],  # the first sense, and the end of its branch
        "auto": ["auto", "car.n.01", "entity.n.01"],
        "car": ["car", "car.n.01", "entity.n.01"],
    }
    assert report.forms == (("pugs", "pug"),)
    assert (report.items, report.heads, report.missing.items) == (5, (), ())
    assert tree.for_items(["dog", "pugs", "cat", "auto", "car"]) is tree


@st.composite
def lexicons(draw):
    """Draw a small lexicon and items, some of which it does not know."""
    n = draw(st.integers(1, 8))
    ups = [draw(st.integers(0, i - 1)) for i in range(1, n)]
    parents = {f"s{i}.n.01": f"s{up}.n.01" for i, up in enumerate(ups, 1)} or {"s0.n.01": None}
    words = [f"w{i}" for i in range(draw(st.integers(1, 8)))]
    nodes = st.lists(st.sampled_from([f"s{i}.n.01" for i in range(n)]), min_size=1, max_size=3)
    senses = {word: draw(nodes) for word in words}
    known = st.sampled_from([*words, *(f"{w}s" for w in words), *(f"new {w}" for w in words)])
    strange = st.sampled_from(["zzz", "s0.n.01", "s1.n.01'"])
    items = draw(st.lists(st.one_of(known, known, strange), min_size=1, max_size=8))
    return parents, senses, items


@given(drawn=lexicons())
def test_every_item_lies_below_its_first_sense(drawn):
    parents, senses, items = drawn
    wordnet = WordNet.from_senses(senses, parents=parents)
    tree, report = word_tree(items, wordnet, missing="attach-to-root", heads=True)
    above = {"s0.n.01": None, **parents}
    assert tree.missing(items) == []
    assert {tree.ids[v] for v in range(len(tree)) if tree.is_leaf[v]} == set(items)
    assert int(tree.pseudo.sum()) == 0
    for item in set(items):
        [leaf] = tree.leaf_of([item])
        names = [tree.names[v] for v in tree.ancestors(int(leaf))]
        word = item.removeprefix("new ").removesuffix("s") if "w" in item else None
        if word is None:
            assert item in report.missing.items
            assert len(names) == 2
            continue
        full = [synset.split(".")[0] for synset in reference.way(above, senses[word][0])]
        # Either the item stands below its synset, or it has taken the place of a childless one.
        assert names in ([item, *full], [item, *full[1:]])
        if item.startswith("new "):
            assert names == [item, *full]
    sizes = [len(report.heads), len(report.missing.items)]
    assert sizes == [
        len({i for i in items if i.startswith("new ")}),
        len({i for i in items if "w" not in i}),
    ]


@given(items=st.lists(st.sampled_from(sorted(SENSES)), min_size=1, unique=True), data=st.data())
def test_order_does_not_matter(items, data):
    tree, _ = word_tree(items, TINY)
    again, _ = word_tree(data.draw(st.permutations(items)), TINY)
    assert (tree.ids, tree.parents.tolist()) == (again.ids, again.parents.tolist())


def test_nodes_above_items_do_not_tell_which_words_the_data_holds():
    for one, other in ((["dog", "pug"], ["hound", "pug"]), (["auto", "pug"], ["car", "pug"])):
        trees = [word_tree(items, TINY)[0] for items in (one, other)]
        inner = [
            [(t.ids[v], t.names[v], int(t.leaves[v])) for v in range(len(t)) if not t.is_leaf[v]]
            for t in trees
        ]
        assert inner[0] == inner[1]


def test_a_release_names_no_word_that_it_does_not_publish():
    rows = [["hound", "car"], ["pug", "car"], ["cat", "car"], ["hound", "auto"]]
    tree, _ = word_tree(["hound", "pug", "cat", "car", "auto"], TINY)
    table = TransactionTable.from_rows(rows)
    release = Gather(k=2).anonymize(table, taxonomy=tree).release
    shown = {node["id"] for node in describe_tree(release.tree)}
    published = {item for row in release.to_rows() for item in row}
    assert {word for word in ("hound", "pug", "cat", "auto") if word in shown} <= published


def test_unknown_words():
    items = ["pug", "severe heart attacks", "mad dog", "zzz", "very zzz"]
    with pytest.raises(InputError, match="4 of 5 items are no nouns of WordNet: 'mad dog'") as one:
        word_tree(items, TINY)
    assert "--heads" in one.value.fix
    with pytest.raises(InputError, match="2 of 5 items are no nouns of WordNet: 'very zzz', 'zzz'"):
        word_tree(items, TINY, heads=True)
    tree, report = word_tree(items, TINY, heads=True, missing="attach-to-root")
    assert report.heads == (("mad dog", "dog"), ("severe heart attacks", "heart_attack"))
    assert report.missing.items == ("very zzz", "zzz")
    found = ways(tree)
    assert found["zzz"] == ["zzz", "entity.n.01"]
    assert found["severe heart attacks"][1:] == ["heart_attack.n.01", "attack.n.01", "entity.n.01"]
    assert found["mad dog"] == ["mad dog", "dog.n.01", "animal.n.01", "entity.n.01"]
    alone, _ = word_tree(["zzz"], TINY, missing="attach-to-root")
    assert ways(alone) == {"zzz": ["zzz", "entity.n.01"]}


def test_unknown_words_beside_others_or_left_out():
    items = ["pug", "dog", "cat", "pugzz", "auto"]
    tree, report = word_tree(items, TINY, missing="nearest")
    # "  p", " pu" and "pug" of 4 + 6 - 3 groups of letters.
    assert [tuple(each) for each in report.missing.placements] == [
        ("pugzz", "pug", "dog", 3 / 7, "name", False)
    ]
    assert ways(tree)["pugzz"] == ["pugzz", "dog.n.01", "animal.n.01", "entity.n.01"]
    vectors = Vectors(words=("pugzz", "cat", "pug"), vectors=np.array([[1, 1], [1, 0.9], [1, 0]]))
    tree, report = word_tree(items, TINY, missing="nearest", vectors=vectors)
    [placement] = report.missing.placements
    assert (placement.like, placement.by) == ("cat", "vector")
    assert ways(tree)["pugzz"][1:] == ways(tree)["cat"][1:]
    tree, report = word_tree(items, TINY, missing="drop")
    assert sorted(ways(tree)) == ["auto", "cat", "dog", "pug"]
    assert report.sentences()[0] == "5 items, found in WordNet: 4."
    for missing in ("drop", "nearest"):
        with pytest.raises(InputError, match="1 of 1 items are no nouns of WordNet: 'zzz'"):
            word_tree(["zzz"], TINY, missing=missing)


def test_wrong_use():
    with pytest.raises(ParameterError, match="missing='maybe' is not known"):
        word_tree(["dog"], TINY, missing="maybe")
    with pytest.raises(InputError, match="at least one item"):
        word_tree([], TINY)


def test_an_item_that_looks_like_a_synset():
    tree, _ = word_tree(["animal.n.01", "pug", "cat"], TINY, missing="attach-to-root")
    assert ways(tree)["animal.n.01"] == ["animal.n.01", "entity.n.01"]
    assert ways(tree)["pug"] == ["pug", "dog.n.01", "animal.n.01'", "entity.n.01"]


def test_round_trip(tmp_path):
    items = ["dog", "pug", "car", "auto", "mad dog"]
    tree = Taxonomy.from_wordnet(items, TINY, heads=True)
    tree.write(tmp_path / "tree.csv")
    again = setveil.Taxonomy.read(tmp_path / "tree.csv")
    assert (again.ids, again.names) == (tree.ids, tree.names)
    assert again.parents.tolist() == tree.parents.tolist()


def test_the_nouns_of_wordnet_itself(data_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wordnet = WordNet.find(data_dir / "wordnet-3.0-dict.tar.gz")
    lemmas = wordnet.lemmas[::5]
    tree, report = word_tree(lemmas, wordnet)
    assert tree.n_leaves == len(lemmas) == report.items
    assert 17 <= tree.height <= 20
    assert tree.names[0] == "entity"
    dog = Taxonomy.from_wordnet(["dogs"], wordnet)
    assert dog.ids[-3:] == ("carnivore.n.01", "canine.n.02", "dogs")
