"""Items that a taxonomy lacks: the fault, each choice by hand, and similarity by brute force."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import taxonomies

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import AprioriKm
from setveil.core.errors import InputError
from setveil.core.missing_items import CHOICES, complete, cover, without_items
from setveil.core.spelling import Spellings, trigrams
from setveil.io.embeddings import Vectors

SHOP = Taxonomy.from_parents(
    {
        "whole milk": "dairy",
        "butter milk": "dairy",
        "male cosmetics": "cosmetics",
        "soap": "cosmetics",
        "cosmetics": "non-food",
        "kitchen towels": "non-food",
        "dairy": "goods",
        "non-food": "goods",
    }
)
ROWS = [
    *([["whole milk", "soap"], ["butter milk", "soap"], ["kitchen towels"]] * 5),
    ["baby cosmetics", "soap"],
    ["baby cosmetics"],
    ["kitchen utensil", "whole milk"],
]
OUTSIDE = ("baby cosmetics", "kitchen utensil")
HEAD = (
    "2 items are not in the taxonomy ('baby cosmetics', 'kitchen utensil'), with 3 of 30 "
    "occurrences."
)


@pytest.fixture(scope="module")
def shop():
    return TransactionTable.from_rows(ROWS)


# --- the fault ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def groceries():
    """Return the baskets, and their tree without its six rarest items."""
    if "SETVEIL_DATA" not in os.environ:
        pytest.skip("SETVEIL_DATA does not name the folder of real data")
    folder = Path(os.environ["SETVEIL_DATA"])
    lines = (folder / "groceries.basket.csv").read_text().splitlines()
    table = TransactionTable.from_rows(line.split(",") for line in lines)
    counts = Counter(item for row in table.to_rows() for item in row)
    rare = sorted(counts, key=lambda item: (counts[item], item))[:6]
    whole = Taxonomy.read(folder / "groceries_taxonomy.csv").for_items(counts)
    return table, whole.without(rare), {item: counts[item] for item in rare}


def test_rare_items_at_the_root_ruin_a_release_and_nearest_does_not(groceries):
    table, tree, rare = groceries
    assert sorted(rare.values()) == [1, 1, 2, 4, 4, 6]
    made = {}
    for choice in ("attach-to-root", "nearest", "drop"):
        covered = cover(tree, table, missing=choice)
        assert dict(zip(covered.report.items, covered.report.records, strict=True)) == rare
        made[choice] = AprioriKm(k=5, m=2).anonymize(covered.table, taxonomy=covered.tree)
        assert made[choice].promise.check(made[choice].release).holds
    shown = {choice: each.release for choice, each in made.items()}
    assert set(map(tuple, shown["attach-to-root"].to_rows())) == {(tree.names[0],)}
    assert shown["attach-to-root"].content().bare
    for choice in ("nearest", "drop"):
        assert shown[choice].content() == ("", False, 0.0)
        assert len({item for row in shown[choice].to_rows() for item in row}) > 10
    at_root = cover(tree, table, missing="attach-to-root").report
    assert "5 items with fewer than 5 records (k = 5) hang directly under the root" in (
        at_root.warning(k=5)
    )
    assert "--missing drop (it costs 18 of 43,367 occurrences)" in at_root.warning(k=5)
    assert at_root.warning(k=1) == ""
    nearest = cover(tree, table, missing="nearest").report
    assert nearest.warning(k=5) == ""
    assert ("baby cosmetics", "male cosmetics") in {(p.item, p.like) for p in nearest.placements}


# --- each choice, by hand -------------------------------------------------------------------------


def test_error_says_how_much_is_at_stake(shop):
    with pytest.raises(InputError) as caught:
        cover(SHOP, shop)
    assert str(caught.value) == (
        "2 of 6 items are not in the taxonomy (3 of 30 occurrences): 'baby cosmetics', 'kitchen "
        "utensil'. To fix: add them to the tree, put each beside the most similar item with "
        'missing="nearest" (--missing nearest), or leave them out with missing="drop" '
        "(--missing drop)."
    )
    assert "attach-to-root" not in str(caught.value)


def test_drop(shop):
    covered = cover(SHOP, shop, missing="drop")
    assert covered.tree is SHOP
    assert covered.table.to_rows()[-3:] == [["soap"], [], ["whole milk"]]
    assert len(covered.table) == len(shop)
    assert set(covered.table.vocabulary.names) == set(shop.vocabulary.names) - set(OUTSIDE)
    said = f"{HEAD} They are left out. 1 record is left without items."
    assert covered.report.sentences() == [said]
    assert covered.report.warning(k=5) == ""


def test_nearest(shop):
    covered = cover(SHOP, shop, missing="nearest")
    # 10 groups of letters of "cosmetics" of 10 + 5 + 5; 8 of "kitchen" of 8 + 8 + 7.
    assert [tuple(each) for each in covered.report.placements] == [
        ("baby cosmetics", "male cosmetics", "cosmetics", 0.5, "name", False),
        ("kitchen utensil", "kitchen towels", "non-food", 8 / 23, "name", False),
    ]
    assert covered.table is shop
    tree = covered.tree
    for item, parent in (("baby cosmetics", "cosmetics"), ("kitchen utensil", "non-food")):
        assert tree.names[tree.parents[tree.node(item)]] == parent
    assert "\n".join(covered.report.sentences()) == (
        f"{HEAD} Each is put beside the most similar item. Check the places, the least similar "
        "first:\n"
        "  'kitchen utensil': below 'non-food', beside 'kitchen towels' (similarity of the names "
        "0.35)\n"
        "  'baby cosmetics': below 'cosmetics', beside 'male cosmetics' (similarity of the names "
        "0.50)"
    )
    assert covered.report.sentences(limit=0) == [
        f"{HEAD} Each is put beside the most similar item."
    ]
    assert covered.report.sentences(limit=1)[-1] == "  ... 1 more with --json"


def test_nearest_by_vector():
    vectors = Vectors(
        words=("baby cosmetics", "whole milk", "soap"),
        vectors=np.array([[1.0, 0.2], [1.0, 0.0], [0.0, 1.0]]),
    )
    tree, report = complete(SHOP, OUTSIDE, missing="nearest", vectors=vectors)
    assert [(p.like, p.parent, p.by) for p in report.placements] == [
        ("whole milk", "dairy", "vector"),
        ("kitchen towels", "non-food", "name"),
    ]
    assert report.placements[0].similarity == pytest.approx(1 / np.sqrt(1.04))
    assert SHOP.for_items(OUTSIDE, missing="nearest", vectors=vectors).ids == tree.ids


def test_nearest_goes_by_ids_too_and_below_categories_that_are_items():
    icd = Taxonomy.from_nodes(
        ["E11", "E11.8", "E11.9", "J45"], ["diabetes", "other", "plain", "asthma"], [-1, 0, 0, 0]
    )
    _, report = complete(icd, ["E11.99"], missing="nearest")
    assert report.placements[0].parent == "diabetes"
    pets = Taxonomy.from_parents({"pug": "dog", "dog": "pet", "tabby": "cat", "cat": "pet"})
    tree, report = complete(pets, ["dog", "dogs"], missing="nearest")
    assert report.placements[0][:3] == ("dogs", "dog", "dog")
    assert tree.names == ("pet", "cat", "tabby", "dog", "dog", "dogs", "pug")


def test_nearest_needs_some_similarity():
    with pytest.raises(InputError, match=r"1 of 2 items .* similar to no item of it: '42'.*drop"):
        complete(SHOP, ["42", "soaps"], missing="nearest")


def test_nearest_may_be_at_the_root_and_says_so():
    flat = Taxonomy.from_parents({"tea": "all", "coffee": "all"})
    table = TransactionTable.from_rows([["tea"], ["coffee"], ["iced tea"]])
    report = cover(flat, table, missing="nearest").report
    assert [each.root for each in report.placements] == [True]
    assert "1 item with fewer than 2 records (k = 2) hangs directly under" in report.warning(k=2)
    assert "Add them to the tree, or use --missing drop" in report.warning(k=2)


def test_attach_to_root(shop):
    covered = cover(SHOP, shop, missing="attach-to-root")
    assert all(covered.tree.parents[covered.tree.node(item)] == 0 for item in OUTSIDE)
    assert covered.report.sentences() == [f"{HEAD} They are attached to the root."]
    assert covered.report.warning() == (
        "Warning: 2 items, the rarest in 1 record, hang directly under the root. A method with "
        "a larger k that generalizes an item alike in all records and deletes none, such as "
        "apriori-km, then publishes the root for every item. Use --missing nearest, or --missing "
        "drop (it costs 3 of 30 occurrences)."
    )
    assert covered.report.warning(k=2).startswith("Warning: 1 item with fewer than 2 records")


def test_sensitive_items_need_no_leaf(shop):
    covered = cover(SHOP, shop, apart=OUTSIDE)
    assert (covered.tree, covered.table, covered.report.items) == (SHOP, shop, ())
    assert covered.report.sentences() == []


def test_nothing_would_be_left():
    table = TransactionTable.from_rows([["x"], ["y"]])
    with pytest.raises(InputError, match=r"2 of 2 items are not in the taxonomy \(2 of 2"):
        cover(SHOP, table, missing="drop")


def test_bags_stay_bags():
    table = TransactionTable.from_rows([["a", "a", "b"], ["b"]], bags=True)
    left = without_items(table, ["b"])
    assert (left.to_rows(), left.is_bag) == ([["a", "a"], []], True)


# --- against brute force --------------------------------------------------------------------------

TEXTS = st.text(alphabet="abc _-Ä1", max_size=8)


def similarity(one, other):
    """Compare two names by plain sets, as the documentation says."""
    groups = []
    for text in (one, other):
        words, word = [], ""
        for letter in text.lower() + " ":
            if letter.isalnum():
                word += letter
            elif word:
                words.append(word)
                word = ""
        found = set()
        for each in words or [text.lower()]:
            padded = "  " + each + " "
            found |= {padded[i : i + 3] for i in range(len(padded) - 2)}
        groups.append(found)
    return len(groups[0] & groups[1]) / len(groups[0] | groups[1])


@given(names=st.lists(TEXTS, min_size=1, max_size=12), asked=TEXTS)
def test_the_most_similar_name(names, asked):
    place, found = Spellings(names).nearest(asked)
    every = [similarity(name, asked) for name in names]
    assert found == max(every)
    assert place == (every.index(found) if found else -1)


def test_trigrams_of_odd_names():
    assert trigrams("") == {"   "}
    assert trigrams("ÄÖ_b") == {"  ä", " äö", "äö ", "  b", " b "}


@given(tree=taxonomies(min_nodes=2), data=st.data())
def test_every_choice_gives_a_tree_over_what_it_keeps(tree, data):
    known = data.draw(st.lists(st.sampled_from(tree.ids), unique=True, min_size=1))
    like = [*known, *(tree.ids[v] for v in range(len(tree)) if tree.is_leaf[v])]
    strange = [name + name for name in data.draw(st.lists(st.sampled_from(like)))]
    absent = [name for name in dict.fromkeys(strange) if name not in tree.ids]
    items = [*known, *absent]
    for choice in CHOICES:
        if choice == "error" and absent:
            continue
        full, report = complete(tree, items, missing=choice)
        assert report.items == tuple(absent)
        kept = known if choice == "drop" else items
        leaves = full.leaf_of(kept)
        assert len(set(leaves.tolist())) == len(kept)
        assert full.missing(items) == (absent if choice == "drop" else [])
        again, _ = complete(tree, data.draw(st.permutations(items)), missing=choice)
        assert (full.ids, full.parents.tolist()) == (again.ids, again.parents.tolist())
        for each in report.placements:
            leaf = int(full.leaf_of([each.item])[0])
            assert full.names[full.parents[leaf]] == each.parent
            assert each.root == (full.parents[leaf] == 0)
            best = max(
                max(similarity(each.item, tree.names[v]), similarity(each.item, tree.ids[v]))
                for v in range(len(tree))
                if tree.is_leaf[v] or tree.ids[v] in known
            )
            assert each.similarity == best
