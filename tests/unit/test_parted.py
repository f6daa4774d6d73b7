"""What is asked of a release in many parts is answered as by the whole, without Spark."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loopback import LoopbackTable, release_in_parts

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import (
    AprioriKm,
    Clump,
    Coat,
    Disassociate,
    HgHs,
    Partition,
    SimpleSuppression,
)
from setveil.attack import (
    ABA,
    EC,
    GBA,
    MDA,
    MRA,
    RA,
    RBA,
    RGA,
    TBA,
    VPA,
    WBA,
    Linkage,
    Prior,
    Random,
    SemanticPrior,
    Shadow,
)
from setveil.attack.base import run_in_parts
from setveil.attack.reassociation.blocks import SEEDS, attack_block, joined_guess
from setveil.core.errors import NotApplicable
from setveil.measure import draw_targets, measure_all, score, top_itemsets, uniqueness
from setveil.relatedness import NGD, RecordCounts
from setveil.release import publish_sets, publish_suppressed

CUTS = st.integers(0, 999)
"""Seeds of :func:`tests.loopback.cut_at_random`."""
ELSEWHERE = {"re", "tkd_ml2", "certain_links", "tkd"}
"""Of clusters: what is counted in a random original, or over all clusters at once."""


def drawn_table(seed, n=50, items=9, least=0):
    rng = np.random.default_rng(seed)
    names = [f"i{number}" for number in range(items)]
    rows = (rng.choice(items, size=rng.integers(least, 5), replace=False) for _ in range(n))
    return TransactionTable.from_rows([[names[i] for i in row] for row in rows])


def releases(table):
    tree = Taxonomy.balanced(table.vocabulary.names, fanout=2)
    secret = ("i0", "i4")
    for method in (Clump(k=3, r=3), Partition(k=3), AprioriKm(k=3, m=2), HgHs(k=3, m=2)):
        made = method.anonymize(table, taxonomy=tree)
        yield made.release, made.key, tree, ()
    made = SimpleSuppression(rho=0.6).anonymize(table, sensitive=secret)
    yield made.release, made.key, None, secret
    yield *publish_sets(table, [0, 0, 1, -1, 2, 2, 2, 3, 4]), None, ()
    yield *publish_suppressed(table, [i not in {1, 5} for i in range(9)]), None, ()


def assert_same(found, expected, elsewhere=()):
    assert found.keys() == expected.keys()
    for name, value in found.items():
        if name in elsewhere:
            assert value is None, name
        elif name.startswith("are") and value is not None:
            assert value == pytest.approx(expected[name], rel=1e-12), name
        else:
            assert value == expected[name], name


@pytest.mark.parametrize("seed", range(3))
def test_measures(seed):
    table = drawn_table(seed)
    for release, _, tree, secret in releases(table):
        known = {"taxonomy": tree, "sensitive": secret}
        parted, there = release_in_parts(release, seed), LoopbackTable(table, seed)
        found = measure_all(parted, there, **known)
        assert_same(found, measure_all(release, table, **known))
        assert parted.may_come_from(there)
        assert len(parted) == len(release)
        assert parted.content().bare == release.content().bare


@pytest.mark.parametrize("seed", range(3))
def test_measures_of_clusters(seed):
    table = drawn_table(seed, least=1)
    made = Disassociate(k=3, m=2).anonymize(table)
    found = measure_all(release_in_parts(made.release, seed), LoopbackTable(table, seed), k=3)
    assert_same(found, measure_all(made.release, table, k=3), ELSEWHERE)


@pytest.mark.parametrize("seed", range(3))
def test_people(seed):
    table = drawn_table(seed, n=60, items=9, least=1)
    there = LoopbackTable(table, seed)
    for m, knowledge in ((2, "random"), (1, "rarest"), (2, "common")):
        known = {"m": m, "knowledge": knowledge, "sample": 20}
        drawn = draw_targets(there, **known)
        assert drawn == draw_targets(table, **known)
    targets = draw_targets(table, sample=30)
    for release, key, tree, _ in releases(table):
        parted = release_in_parts(release, seed)
        found = Linkage(k=4).run(parted, targets=targets, taxonomy=tree)
        expected = Linkage(k=4).run(release, targets=targets, taxonomy=tree)
        assert found.notes == expected.notes
        for one, other in zip(
            found.links + found.strangers, expected.links + expected.strangers, strict=True
        ):
            assert one._replace(chance=0) == other._replace(chance=0)
            assert one.chance == pytest.approx(other.chance, rel=1e-12)
        scored = score(found, release=release, original=there, key=key)
        told = score(found, release=release, original=table, key=key)
        assert scored == told


@given(cut=CUTS)
def test_clusters_are_not_named(cut):
    table = drawn_table(4, least=1)
    release = Disassociate(k=3, m=2).anonymize(table).release
    targets = draw_targets(table, sample=20)
    found = Linkage().run(release_in_parts(release, cut), targets=targets)
    expected = Linkage().run(release, targets=targets)
    for one, other in zip(found.links, expected.links, strict=True):
        assert one.candidates == other.candidates
        assert one.learned == other.learned
        assert one.chance == pytest.approx(other.chance)
        assert not one.named
    assert "records that are distributed without numbers are not named" in found.notes


@given(cut=CUTS, m=st.integers(1, 3), seed=st.integers(0, 9))
def test_uniqueness(cut, m, seed):
    table = drawn_table(seed)
    there = LoopbackTable(table, cut)
    assert uniqueness(there, m) == uniqueness(table, m)
    draws = {"samples": 50, "countable": 0}
    assert uniqueness(there, m, **draws) == uniqueness(table, m, **draws)


@given(cut=CUTS, seed=st.integers(0, 9))
def test_itemsets(cut, seed):
    table = drawn_table(seed)
    assert top_itemsets(LoopbackTable(table, cut), 40) == top_itemsets(table, 40)


def test_what_needs_all_records():
    table = drawn_table(7)
    parted = release_in_parts(publish_suppressed(table, [True] * 9)[0])
    with pytest.raises(NotApplicable, match="one place"):
        parted.to_rows()
    with pytest.raises(NotApplicable, match="use --engine local"):
        parted.sample_world(np.random.default_rng(0))


# --- attacks --------------------------------------------------------------------------------------


def topics(seed, n=90):
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        topic = rng.integers(3)
        names = [f"t{topic}{number}" for number in range(6)] + ["x", "y"]
        chosen = rng.choice(len(names), size=rng.integers(1, 5), replace=False)
        rows.append([names[i] for i in chosen])
    return TransactionTable.from_rows(rows)


def source_of(table):
    """Return a source that knows nothing of one topic."""
    return NGD(RecordCounts.from_rows([r for r in table.to_rows() if not {"x"} & set(r)][:50]))


@pytest.mark.parametrize(
    "attack",
    [MDA(), TBA(), WBA(), GBA(context=2), RBA(), EC(), RA()],
    ids=lambda attack: type(attack).__name__,
)
def test_tables(attack):
    table = topics(8)
    release, key = publish_sets(table, [i // 3 if i < 15 else i for i in range(table.n_items)])
    known = {"relatedness": source_of(table)} if "relatedness" in attack.requires else {}
    expected = attack.run(release, rng=np.random.default_rng(2), **known)
    assert expected.tables
    for seed in range(3):
        parted = release_in_parts(release, seed)
        found = run_in_parts(attack, parted, rng=np.random.default_rng(2), **known)
        assert found.to_json() == expected.to_json()
    scored = score(expected, release=release, original=LoopbackTable(table), key=key)
    assert scored == score(expected, release=release, original=table, key=key)


def test_shadow_learns_here_and_scores_there():
    rng = np.random.default_rng(1)
    names = [f"w{number:02}" for number in range(60)]
    rows = [
        [names[20 * topic + w] for w in rng.choice(20, 6, replace=False)]
        for topic in rng.integers(3, size=150).tolist()
    ]
    table = TransactionTable.from_rows(rows)
    method = Coat(k=12, constrained=Fraction(1, 10), s=1)
    made = method.anonymize(table, rng=np.random.default_rng(2))
    known = {"relatedness": NGD(RecordCounts.from_rows(rows[:80])), "anonymizer": method}
    attack = Shadow(tables=20)
    expected = attack.run(made.release, rng=np.random.default_rng(3), **known)
    parted = release_in_parts(made.release, 4)
    found = run_in_parts(attack, parted, rng=np.random.default_rng(3), **known)
    assert expected.tables
    assert found.to_json() == expected.to_json()


@pytest.mark.parametrize(
    "attack",
    [Random(), Prior(term_copies=2), ABA(), RGA(everywhere=True), MRA(), VPA(), SemanticPrior()],
    ids=lambda attack: type(attack).__name__,
)
def test_blocks(attack):
    table = topics(8)
    made = Disassociate(k=3, m=2).anonymize(table)
    known = {"relatedness": source_of(table)} if "relatedness" in attack.requires else {}
    if "anonymizer" in attack.requires:
        known["anonymizer"] = Disassociate(k=3, m=2)
    found = run_in_parts(
        attack, release_in_parts(made.release), rng=np.random.default_rng(5), **known
    )
    again = run_in_parts(
        attack, release_in_parts(made.release, 7), rng=np.random.default_rng(5), **known
    )
    assert found == again
    told, _ = attack.learn(made.release, known)
    seed = int(np.random.default_rng(5).integers(SEEDS))
    said = [
        attack_block(attack, _alone(made.release, *block), told, seed)[0]
        for block in made.release.blocks
    ]
    firsts = [first for first, _ in made.release.blocks]
    joined = joined_guess(found.attack, said, firsts)
    assert replace(found, notes=(), baselines={}) == joined
    scored = score(found, release=made.release, original=LoopbackTable(table), key=made.key)
    assert scored == score(found, release=made.release, original=table, key=made.key)


def _alone(release, first, last):
    from setveil.release.chunk_blocks import COLUMNS, Lists, block_lists, release_of_blocks

    lists = block_lists(release.part(first, last))
    columns = {
        name: Lists(np.array([0, len(lists[name][0])]), np.array(lists[name][0], dtype=np.int32))
        for name in COLUMNS
    }
    return release_of_blocks(columns, release.vocabulary.names)
