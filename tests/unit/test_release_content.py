"""What a release still shows: roots only, one set only, nothing at all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setveil import Taxonomy, TransactionTable
from setveil.release import publish_suppressed
from setveil.release.account import NOTHING, Content
from setveil.release.chunk_plan import Plan, publish_disassociated
from setveil.release.generalized import publish_groups, publish_recoded
from setveil.release.set_generalized import publish_sets

FRUIT = Taxonomy.from_parents(
    {"apple": "fruit", "pear": "fruit", "beef": "meat", "fruit": "food", "meat": "food"}
)
ROWS = [["apple"], ["apple", "beef"], ["pear", "beef"], []]


def recoded(*image):
    table = TransactionTable.from_rows(ROWS)  # apple, beef, pear
    return publish_recoded(FRUIT, table, [-1 if n is None else FRUIT.node(n) for n in image])[0]


def groups(*nodes, hides=True):
    return publish_groups(
        FRUIT,
        group_offsets=[0, len(nodes)],
        group_nodes=[FRUIT.node(n) for n in nodes],
        group_of=[0, 0],
        hides=hides,
    )[0]


def test_only_roots():
    found = recoded("food", "food", "food").content()
    assert (found.bare, found.root_share) == (True, 1.0)
    assert found.sentence == (
        "This release shows only which records have items: every item is replaced by the root of "
        "the taxonomy ('food'), which stands for any of 3 items."
    )
    found = groups("food", "food").content()
    assert (found.bare, found.root_share) == (True, 1.0)
    assert found.sentence == (
        "This release shows only how many items a record has, at least: every published item is "
        "the root of the taxonomy ('food'), which stands for any of 3 items."
    )


def test_mostly_roots():
    found = groups("food", "food", "beef").content()
    assert found.sentence == (
        "At least 66.6% of the published items are the root of the taxonomy ('food'), which "
        "stands for any of 3 items."
    )
    assert (found.bare, found.root_share) == (False, 2 / 3)
    assert groups("food", "fruit", "beef").content() == ("", False, 1 / 3)


def test_what_says_something():
    assert recoded("fruit", "meat", "fruit").content() == ("", False, 0.0)
    assert recoded("apple", None, "pear").content() == ("", False, 0.0)
    one = Taxonomy.from_parents({"flu": None})  # the root is the item itself
    table = TransactionTable.from_rows([["flu"], ["flu"]])
    assert publish_recoded(one, table, [0])[0].content() == ("", False, 0.0)


def test_nothing_is_left():
    assert recoded(None, None, None).content() == (NOTHING, True, 0.0)
    table = TransactionTable.from_rows(ROWS)
    assert publish_suppressed(table, [False] * 3)[0].content() == Content(NOTHING, bare=True)
    assert publish_suppressed(table, [True, False, False])[0].content() == Content()
    assert publish_sets(table, [-1, -1, -1])[0].content() == Content(NOTHING, bare=True)
    nobody = TransactionTable.from_rows([])
    assert publish_suppressed(nobody, [])[0].content() == Content()


def test_one_set():
    table = TransactionTable.from_rows(ROWS)
    assert publish_sets(table, [0, 0, 0])[0].content() == Content(
        "This release shows only which records have an item of one large set: all 3 items that "
        "it names are published as that set.",
        bare=True,
    )
    for image in ([0, 0, 1], [0, -1, -1]):
        assert publish_sets(table, image)[0].content() == Content()


def test_only_term_chunks():
    table = TransactionTable.from_rows([["a", "b"], ["a"]])
    whole, _ = publish_disassociated(table, [Plan(records=[0, 1], domains=(), terms=(0, 1))])
    assert whole.content() == Content(
        "This release shows only which items occur in each cluster, not in which records or how "
        "often: every item is in a term chunk."
    )
    half, _ = publish_disassociated(table, [Plan(records=[0, 1], domains=((0,),), terms=(1,))])
    assert half.content() == Content()


@given(
    rows=st.lists(st.lists(st.sampled_from(["food", "fruit", "meat", "beef"])), min_size=1),
)
def test_the_share_of_roots_by_counting(rows):
    nodes = [FRUIT.node(name) for row in rows for name in row]
    release, _ = publish_groups(
        FRUIT,
        group_offsets=np.cumsum([0, *map(len, rows)]),
        group_nodes=nodes,
        group_of=list(range(len(rows))),
        hides=True,
    )
    shown = [name for row in release.to_rows() for name in row]
    found = release.content()
    assert found.root_share == pytest.approx(shown.count("food") / max(len(shown), 1))
    assert found.bare == (set(shown) <= {"food"})
    assert bool(found.sentence) == (not shown or 2 * shown.count("food") >= len(shown))
