"""Guarantees give the same verdict in many parts as in one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loopback import LoopbackTable, release_in_parts

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import Disassociate
from setveil.core.errors import NotApplicable
from setveil.core.registry import entries
from setveil.guarantee import (
    Coherence,
    Disassociated,
    KAnonymity,
    KmAnonymity,
    PrivacyDegree,
    RhoUncertainty,
    SafeDisassociated,
    SupportConstraints,
)
from setveil.release import (
    SplitRelease,
    publish_encoded,
    publish_grouped,
    publish_groups,
    publish_sets,
    publish_suppressed,
)

ITEMS = "abcdef"
ROWS = st.lists(st.lists(st.sampled_from(ITEMS), max_size=5), max_size=14)
SEEDS = st.integers(0, 99)


def tables(rows):
    return TransactionTable.from_rows(rows)


def without_counts(verdict):
    """Leave out how many sets were looked at: in parts others are before a rare one ends it."""
    return replace(verdict, checked=0)


@given(rows=ROWS, seed=SEEDS, k=st.integers(1, 4))
def test_k_anonymity(rows, seed, k):
    table = tables(rows)
    assert KAnonymity(k=k).check(LoopbackTable(table, seed)) == KAnonymity(k=k).check(table)


@given(rows=ROWS, seed=SEEDS, k=st.integers(1, 4), m=st.integers(1, 4), room=st.integers(1, 20))
def test_km(rows, seed, k, m, room):
    table, promise = tables(rows), KmAnonymity(k=k, m=m)
    assert promise.check(LoopbackTable(table, seed, room=room)) == promise.check(table)


@given(
    rows=ROWS,
    seed=SEEDS,
    promise=st.builds(
        Coherence,
        h=st.sampled_from(["0", "1/3", "1/2", "4/5", "1"]),
        k=st.integers(1, 3),
        p=st.integers(1, 3),
        sensitive=st.sets(st.sampled_from(ITEMS), max_size=3).map(tuple),
    ),
)
def test_coherence(rows, seed, promise):
    table = tables(rows)
    here, there = promise.check(table), promise.check(LoopbackTable(table, seed))
    assert without_counts(there) == without_counts(here)
    assert there.checked == here.checked or not here.holds


def confidence(rows, antecedent, item):
    holders = [row for row in rows if antecedent <= set(row)]
    return sum(item in row for row in holders), len(holders)


@given(
    rows=ROWS,
    seed=SEEDS,
    rho=st.sampled_from(["1/4", "1/2", "2/3", "1"]),
    sensitive=st.sets(st.sampled_from(ITEMS), min_size=1, max_size=3),
    prior=st.booleans(),
)
def test_rho(rows, seed, rho, sensitive, prior):
    table = tables(rows)
    promise = RhoUncertainty(rho=rho, sensitive=tuple(sensitive), prior=prior)
    here, there = promise.check(table), promise.check(LoopbackTable(table, seed))
    assert (there.holds, there.exact, there.checked) == (here.holds, here.exact, here.checked)
    assert there.holds == (not there.witnesses)
    if here.holds:
        assert there.reason == here.reason
    for witness in there.witnesses:
        both, support = confidence(rows, set(witness.items), witness.consequent)
        assert (witness.support, witness.confidence * support) == (support, both)
        assert witness.confidence >= promise.rho
        assert witness.consequent in sensitive
    if here.witnesses and max(len(witness.items) for witness in here.witnesses) < 2:
        # All rules from single items are met, wherever they are; ties may come in another order.
        assert there.reason.split(",")[0] == here.reason.split(",")[0]
        assert {(w.items, w.consequent) for w in there.witnesses} == {
            (w.items, w.consequent) for w in here.witnesses
        } or len(here.witnesses) == 20


@given(
    rows=ROWS,
    seed=SEEDS,
    k=st.integers(1, 4),
    itemsets=st.lists(st.lists(st.sampled_from(ITEMS + "x"), min_size=1, max_size=4), max_size=4),
)
def test_support_constraints(rows, seed, k, itemsets):
    table, promise = tables(rows), SupportConstraints(itemsets=itemsets, k=k)
    assert promise.check(LoopbackTable(table, seed)) == promise.check(table)


TREE = Taxonomy.from_parents(
    {"a": "ab", "b": "ab", "c": "cd", "d": "cd", "ab": "*", "cd": "*", "e": "*", "f": "*"}
)
NODES = ["a", "b", "c", "d", "e", "f", "ab", "cd"]


@st.composite
def generalized(draw):
    rows = draw(st.lists(st.lists(st.sampled_from(NODES), max_size=4), min_size=1, max_size=10))
    nodes = [sorted(TREE.node(name) for name in row) for row in rows]
    flat = [v for row in nodes for v in row]
    offsets = [0]
    for row in nodes:
        offsets.append(offsets[-1] + len(row))
    return publish_groups(
        TREE, group_offsets=offsets, group_nodes=flat, group_of=range(len(rows)), hides=True
    )[0]


@st.composite
def sets(draw):
    table = tables(draw(ROWS))
    groups = [draw(st.integers(0, 2)) for _ in range(table.n_items)]
    return publish_sets(table, groups)[0]


@st.composite
def suppressed(draw):
    table = tables(draw(ROWS))
    return publish_suppressed(table, [draw(st.booleans()) for _ in range(table.n_items)])[0]


@st.composite
def encoded(draw):
    table = tables(draw(ROWS))
    tags = {name: draw(st.sampled_from([name, name * 2])) for name in table.vocabulary.names}
    return publish_encoded(table, tags, readable={tag for tag in tags.values() if len(tag) < 2})[0]


@st.composite
def split(draw):
    release = draw(suppressed())
    return SplitRelease(vocabulary=release.vocabulary, offsets=release.offsets, items=release.items)


def answer(promise, published):
    """Return the verdict, or why there is none."""
    try:
        return promise.check(published)
    except NotApplicable as error:
        return str(error)


@given(
    release=st.one_of(generalized(), sets(), suppressed(), encoded(), split()),
    seed=SEEDS,
    promise=st.sampled_from(
        [
            KAnonymity(k=2),
            KmAnonymity(k=2, m=2),
            Coherence(h="1/2", k=1, p=2, sensitive=("a", "c", "x")),
            Coherence(h="1", k=2, p=2, sensitive=("a", "b")),
            RhoUncertainty(rho="1/2", sensitive=("a", "b", "e")),
            RhoUncertainty(rho="1", sensitive=("c",), prior=False),
            SupportConstraints(itemsets=[["e", "f"], ["f"]], k=2),
        ]
    ),
)
def test_every_form_of_records(release, seed, promise):
    parts = release_in_parts(release, seed)
    here, there = answer(promise, release), answer(promise, parts)
    if isinstance(here, str):
        assert there == here
        return
    assert (there.holds, there.exact) == (here.holds, here.exact)
    if not isinstance(promise, RhoUncertainty) or here.holds:
        assert (there.reason, there.witnesses) == (here.reason, here.witnesses)


@given(
    rows=st.lists(
        st.lists(st.sampled_from(ITEMS), min_size=1, max_size=5), min_size=4, max_size=24
    ),
    seed=SEEDS,
    k=st.integers(1, 4),
    share=st.sampled_from(["1/2", "1"]),
)
def test_chunks(rows, seed, k, share):
    release = Disassociate(k=2, m=2, max_cluster_size=6).anonymize(tables(rows)).release
    parts = release_in_parts(release, seed)
    for promise in (
        Disassociated(k=k, m=2),
        SafeDisassociated(k=k, m=2, max_share=share),
    ):
        here, there = promise.check(release), promise.check(parts)
        assert (there.holds, there.exact) == (here.holds, here.exact)
        assert bool(there.witnesses) == bool(here.witnesses)
        if here.holds:
            assert (there.reason, there.checked) == (here.reason, here.checked)


def test_a_deal_is_not_cut():
    table = tables([["a", "b"], ["c"]])
    release, _ = publish_grouped(table, [0, 0], ["b"])
    parts = LoopbackTable(table, 0)
    assert PrivacyDegree(p=2).check(release).holds
    with pytest.raises(NotApplicable, match="records in groups"):
        PrivacyDegree(p=2).check(parts)


def test_all_of_them_say_that_they_are_checked_in_parts():
    assert all(method.target.in_parts for method in entries("guarantee"))
