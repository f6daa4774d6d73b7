import numpy as np
import pytest
from tests.reference.support_constraints import rare_parts

from setveil import Taxonomy, TransactionTable
from setveil.core.errors import InputError, NotApplicable, ParameterError
from setveil.guarantee import SupportConstraints, from_manifest
from setveil.release import publish_groups, publish_recoded, publish_suppressed

LETTERS = list("abcdefgh")
TREE = Taxonomy.balanced(LETTERS, fanout=2)
WITH_Z = TREE.for_items([*LETTERS, "z"], missing="attach-to-root")


def random_rows(rng):
    items = LETTERS[: rng.integers(1, len(LETTERS) + 1)]
    share = rng.uniform(0.1, 0.9)
    return [[i for i in items if rng.random() < share] for _ in range(rng.integers(0, 12))]


def random_itemsets(rng):
    return [
        rng.choice([*LETTERS, "z"], rng.integers(1, 7), replace=False).tolist()
        for _ in range(rng.integers(1, 4))
    ]


def check_against(verdict, guarantee, rows, images):
    """Compare a verdict with the enumeration of all parts; a witness must be a smallest one."""
    expected = rare_parts(rows, images, guarantee.itemsets, guarantee.k)
    assert (verdict.holds, verdict.exact) == (not expected, True)
    assert verdict.checked == len(guarantee.itemsets)
    assert bool(verdict.witnesses) == bool(expected)
    parts = {part: support for found in expected.values() for part, support in found.items()}
    for witness in verdict.witnesses:
        items = tuple(sorted(witness.items))
        assert parts[items] == witness.support
        assert not any(set(part) < set(items) for part in parts)
    if expected:
        assert verdict.reason.startswith(f"{len(expected)} of {len(guarantee.itemsets)} ")
        assert verdict.reason.endswith(f"the rarest {min(parts.values())}")


def random_cut(rng):
    cut = [0]
    for _ in range(rng.integers(0, 8)):
        v = int(rng.choice(cut))
        children = [u for u in range(len(TREE)) if TREE.parents[u] == v]
        if children:
            cut = [u for u in cut if u != v] + children
    return cut


def compare_random_instances(seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        rows = random_rows(rng)
        guarantee = SupportConstraints(itemsets=random_itemsets(rng), k=int(rng.integers(1, 6)))
        table = TransactionTable.from_rows(rows)
        own = {i: i for i in table.vocabulary.names}
        check_against(guarantee.check(table), guarantee, rows, own)
        kept = rng.random(table.n_items) < 0.7
        release, _ = publish_suppressed(table, kept)
        left = {i: i for i, stays in zip(table.vocabulary.names, kept, strict=True) if stays}
        check_against(guarantee.check(release), guarantee, release.to_rows(), left)
        compare_recoded(rng, table, guarantee)


def compare_recoded(rng, table, guarantee):
    leaves = TREE.leaf_of(LETTERS)
    above = TREE.image(random_cut(rng))
    suppressed = set(rng.choice(above[leaves], 2).tolist()) if rng.random() < 0.5 else set()
    image = {
        i: -1 if above[v] in suppressed else int(above[v])
        for i, v in zip(LETTERS, leaves, strict=True)
    }
    release, _ = publish_recoded(TREE, table, [image[i] for i in table.vocabulary.names])
    occurring = {i for row in release.to_rows() for i in row}
    names = {i: TREE.names[v] for i, v in image.items() if v >= 0 and TREE.names[v] in occurring}
    if TREE.names[0] in occurring:  # the root has one leaf more there
        with pytest.raises(InputError, match="does not hold the published node"):
            guarantee.check(release, WITH_Z)
        return
    check_against(guarantee.check(release, WITH_Z), guarantee, release.to_rows(), names)


def test_verdicts_equal_enumeration():
    compare_random_instances(range(2_000))


@pytest.mark.slow
def test_verdicts_equal_enumeration_on_many():
    compare_random_instances(range(2_000, 52_000))


# --- long itemsets --------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [20, 21, 64, 65, 200])
def test_itemsets_of_any_size(size):
    """All records hold everything, but for one item each: the parts of 2 ** size are all held."""
    items = [f"i{n:03}" for n in range(size)]
    rows = [[i for i in items if i != left] for left in items] + [items]
    table = TransactionTable.from_rows(rows)
    assert SupportConstraints(itemsets=[items], k=1).check(table).holds
    verdict = SupportConstraints(itemsets=[items], k=2).check(table)
    assert not verdict.holds
    # Leaving any item out gives two holders, so only the whole is rare.
    assert verdict.witnesses[0].items == tuple(items)
    assert verdict.witnesses[0].support == 1
    assert SupportConstraints(itemsets=[items], k=2).check(table.take(range(size))).holds is False


def test_many_distinct_records_use_the_table_of_all_parts():
    rng = np.random.default_rng(5)
    items = [f"i{n:02}" for n in range(8)]
    rows = [[i for i in items if rng.random() < 0.5] for _ in range(700)]
    table = TransactionTable.from_rows(rows)
    for k in (1, 2, 3):
        guarantee = SupportConstraints(itemsets=[items], k=k)
        found = guarantee.check(table)
        expected = rare_parts([set(r) for r in rows], {i: i for i in items}, [items], k)
        assert found.holds == (not expected)
        for witness in found.witnesses:
            parts = expected[tuple(items)]
            assert parts[witness.items] == witness.support


# --- where an item is -----------------------------------------------------------------------------


def test_a_generalized_release_alone_knows_what_it_publishes():
    pair = TREE.node("group 1.1")
    table = TransactionTable.from_rows([["a", "c"], ["b"], ["c"]])
    release, _ = publish_recoded(TREE, table, [pair, pair, TREE.node("c")])
    assert SupportConstraints(itemsets=[["c"]], k=2).check(release).holds
    with pytest.raises(NotApplicable, match="'a' is not in the taxonomy"):
        SupportConstraints(itemsets=[["a"]], k=2).check(release)
    assert SupportConstraints(itemsets=[["a", "b"], ["h"]], k=2).check(release, TREE).holds
    verdict = SupportConstraints(itemsets=[["a", "c"]], k=2).check(release, TREE)
    assert verdict.witnesses[0].items == ("group 1.1", "c")
    with pytest.raises(InputError, match="'stone'"):
        SupportConstraints(itemsets=[["stone"]], k=2).check(release, TREE)
    foreign = Taxonomy.balanced(["a", "b", "c"], fanout=2)
    with pytest.raises(InputError, match="published node"):
        SupportConstraints(itemsets=[["a"]], k=2).check(
            publish_groups(TREE, group_offsets=[0, 1], group_nodes=[0], group_of=[0], hides=True)[
                0
            ],
            foreign,
        )


def test_several_images_of_one_item_are_refused():
    release, _ = publish_groups(
        TREE, group_offsets=[0, 1, 2], group_nodes=[0, TREE.node("a")], group_of=[0, 1], hides=True
    )
    with pytest.raises(NotApplicable, match="several ways"):
        SupportConstraints(itemsets=[["a"]], k=1).check(release)


def test_interior_items_are_their_private_leaves():
    tree = TREE.for_items(["group 1.1", "a"])
    table = TransactionTable.from_rows([["group 1.1"], ["a"]])
    release, _ = publish_recoded(tree, table, tree.leaf_of(table.vocabulary.names))
    verdict = SupportConstraints(itemsets=[["group 1.1"]], k=2).check(release)
    assert [w.items for w in verdict.witnesses] == [("group 1.1",)]


# --- parameters -----------------------------------------------------------------------------------


def test_itemsets_are_tidied_and_survive_a_manifest():
    guarantee = SupportConstraints(itemsets=[["b", "a", "b"], ("a", "b"), ["c"]], k=3)
    assert guarantee.itemsets == (("a", "b"), ("c",))
    assert from_manifest("support-constraints", guarantee.params()) == guarantee
    assert guarantee.describe().startswith("every part of 2 protected itemsets")


def test_no_itemsets_and_no_records():
    empty = TransactionTable.from_rows([])
    assert SupportConstraints(itemsets=[], k=3).check(empty).holds
    assert SupportConstraints(itemsets=[["a"]], k=3).check(empty).holds


def test_items_that_are_nowhere_are_said():
    table = TransactionTable.from_rows([["a", "b"]] * 4)
    verdict = SupportConstraints(itemsets=[["nope"]], k=4).check(table)
    assert verdict.holds
    assert "of the 1 items named, 1 is in no record ('nope')" in verdict.reason
    verdict = SupportConstraints(itemsets=[["a", "nope"], ["b", "no"]], k=4).check(table)
    assert "of the 4 items named, 2 are in no record ('no', 'nope')" in verdict.reason
    assert "named" not in SupportConstraints(itemsets=[["a", "b"]], k=4).check(table).reason


@pytest.mark.parametrize(
    ("itemsets", "k", "message"),
    [
        (None, 2, "itemsets is None"),
        ([3], 2, "3 is no itemset"),
        ([["a"]], 0, "k is 0"),
        ([["a"]], True, "k is True"),
        ([["a"]], 2.0, "k is 2.0"),
        ("ab", 2, "text 'ab'"),
        (["ab"], 2, "'ab' is no itemset"),
        ([[]], 2, "no itemset"),
        ([[1]], 2, "no itemset"),
    ],
)
def test_bad_parameters_are_refused(itemsets, k, message):
    with pytest.raises(ParameterError, match=message):
        SupportConstraints(itemsets=itemsets, k=k)


def test_the_order_of_records_changes_nothing():
    rng = np.random.default_rng(0)
    rows = [[i for i in LETTERS if rng.random() < 0.5] for _ in range(30)]
    guarantee = SupportConstraints(itemsets=[LETTERS[:5], LETTERS[3:]], k=4)
    first = guarantee.check(TransactionTable.from_rows(rows))
    assert first.witnesses
    assert guarantee.check(TransactionTable.from_rows(rows[::-1])) == first
