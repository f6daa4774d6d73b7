"""What disassociation costs: frequent itemsets, pairs, terms."""

import sys
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import itemsets, multilevel
from tests.strategies import tables, tables_with_taxonomy

import setveil
from setveil import Taxonomy, TransactionTable, measure
from setveil.core.errors import NotApplicable, ParameterError
from setveil.measure import itemsets as measured_itemsets
from setveil.measure.disassociation import pair_support_error, terms_lost
from setveil.release import publish_groups, publish_recoded, publish_sets, publish_suppressed
from setveil.release.chunk_plan import Plan, publish_disassociated

ROWS = [["a", "b", "t"], ["a", "b"], ["a", "c"], ["c", "u"], ["c", "a", "b"], ["d", "c"]]
TABLE = TransactionTable.from_rows(ROWS)


def published(rows=ROWS, domains=(("a", "b"), ("c",)), terms=("d", "t", "u")):
    """Publish rows as one cluster."""
    table = TransactionTable.from_rows(rows)
    number = table.vocabulary.number
    plan = Plan(
        records=range(len(rows)),
        domains=tuple(tuple(map(number, domain)) for domain in domains),
        terms=tuple(map(number, terms)),
    )
    return publish_disassociated(table, [plan])


@st.composite
def releases(draw):
    """Draw a table without empty records, and a disassociation of it."""
    table = draw(tables(min_rows=1, max_rows=9, max_items=6))
    rows = [row for row in table.to_rows() if row] or [["a"]]
    table = TransactionTable.from_rows(rows)
    cut = draw(st.integers(1, len(rows)))
    plans = []
    for records in (range(cut), range(cut, len(rows))):
        if not records:
            continue
        homes = [draw(st.integers(0, 2)) for _ in table.vocabulary.names]
        here = {table.vocabulary.number(name) for r in records for name in rows[r]}
        plans.append(
            Plan(
                records=records,
                domains=tuple(
                    tuple(i for i, home in enumerate(homes) if home == chunk) for chunk in (0, 1)
                ),
                terms=tuple(i for i in sorted(here) if homes[i] == 2),
            )
        )
    return table, *publish_disassociated(table, plans)


# --- itemsets -------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(releases(), st.integers(1, 30))
def test_certain_itemsets_are_those_inside_chunks(case, k):
    table, release, _ = case
    inside = [
        row for cluster in release.clusters for chunk in cluster.chunks for row in chunk.subrecords
    ]
    alone = [[term] for cluster in release.clusters for term in cluster.terms]
    counts = itemsets.supports([*inside, *alone], 3)
    certain = itemsets.supports(release.certain_table(table), 3)
    assert certain == counts
    for itemset, count in counts.items():
        assert count <= release.support_bounds(itemset).low
    before = itemsets.most_frequent(itemsets.supports(table, 3), k)
    after = itemsets.most_frequent(counts, k)
    expected = 1 - len(set(before) & set(after)) / len(before)
    assert measure.certain_itemset_loss(release, table, k=k) == pytest.approx(expected)


@settings(max_examples=60, deadline=None)
@given(releases(), st.integers(1, 30), st.integers(0, 5))
def test_itemset_loss_is_counted_in_a_reconstruction(case, k, seed):
    table, release, _ = case
    world = release.sample_world(np.random.default_rng(seed))
    before = itemsets.most_frequent(itemsets.supports(table, 3), k)
    after = itemsets.most_frequent(itemsets.supports(world, 3), k)
    expected = 1 - len(set(before) & set(after)) / len(before)
    found = measure.top_k_itemset_loss(release, table, k=k, rng=np.random.default_rng(seed))
    assert found == pytest.approx(expected)


def test_one_chunk_loses_nothing():
    release, key = published(domains=(("a", "b", "c", "d", "t", "u"),), terms=())
    figures = measure.measure_all(
        release, TABLE, key=key, k=2, taxonomy=Taxonomy.balanced("abcdtu")
    )
    losses = {name: figures[name] for name in ("tkd", "tkd_a", "tkd_ml2", "re", "tlost", "are")}
    assert losses == dict.fromkeys(losses, 0)
    assert (figures["items_suppressed"], figures["records_kept"]) == (0, 1)


@settings(max_examples=80, deadline=None)
@given(tables_with_taxonomy(min_rows=1, max_rows=8, max_nodes=8), st.integers(1, 40))
def test_itemsets_of_all_levels(case, k):
    table, given_tree = case
    names = sorted({name for row in table for name in row})
    tree = given_tree.for_items(names)
    ways = {name: multilevel.above(tree, name) for name in names}
    before = multilevel.supports([[v for x in row for v in ways[x]] for row in table],
                                 ways.values(), 3)  # fmt: skip
    best = set(itemsets.most_frequent(before, k))
    keep = [name in names[::2] for name in table.vocabulary.names]
    release, _ = publish_suppressed(table, keep)
    if not best:
        with pytest.raises(NotApplicable):
            measure.multilevel_itemset_loss(release, table, taxonomy=tree, k=k)
        return
    after = multilevel.supports(
        [[v for x in row if x in names[::2] for v in ways[x]] for row in table], ways.values(), 3
    )
    expected = 1 - len(best & set(itemsets.most_frequent(after, k))) / len(best)
    found = measure.multilevel_itemset_loss(release, table, taxonomy=tree, k=k)
    assert found == pytest.approx(expected)


FOOD = Taxonomy.from_parents(
    {"apple": "fruit", "pear": "fruit", "beef": "meat", "pork": "meat", "fruit": "*", "meat": "*"}
)
MEALS = TransactionTable.from_rows([["apple", "beef"], ["pear", "beef"], ["pork"]])


def test_all_levels_of_every_form():
    fruit = FOOD.node("fruit")
    nodes = {"apple": fruit, "pear": fruit, "beef": FOOD.node("beef"), "pork": FOOD.node("pork")}
    recoded, _ = publish_recoded(FOOD, MEALS, [nodes[n] for n in MEALS.vocabulary.names])
    # 6 nodes; pairs: apple or pear with beef or meat, fruit with beef or meat: 12 in all.
    lost = 2 + 4
    assert measure.multilevel_itemset_loss(recoded, MEALS, taxonomy=FOOD) == lost / 12
    grouped = [{"apple": 0, "pear": 0, "beef": 1, "pork": 2}[n] for n in MEALS.vocabulary.names]
    sets, _ = publish_sets(MEALS, grouped)
    assert measure.multilevel_itemset_loss(sets, MEALS, taxonomy=FOOD) == lost / 12
    groups, _ = publish_groups(FOOD, group_offsets=[0, 1], group_nodes=[0], group_of=[0, 0, 0],
                               hides=True)  # fmt: skip
    assert measure.multilevel_itemset_loss(groups, MEALS, taxonomy=FOOD) == 1
    whole, _ = published(MEALS.to_rows(), domains=(("apple", "beef", "pear", "pork"),), terms=())
    assert measure.multilevel_itemset_loss(whole, MEALS, taxonomy=FOOD) == 0
    apart, _ = published(MEALS.to_rows(), domains=(("beef", "pork"),), terms=("apple", "pear"))
    once = measure.multilevel_itemset_loss(
        apart, MEALS, taxonomy=FOOD, rng=np.random.default_rng(1)
    )
    again = measure.multilevel_itemset_loss(
        apart, MEALS, taxonomy=FOOD, rng=np.random.default_rng(1)
    )
    assert 0 <= once == again < 1


# --- the miner ------------------------------------------------------------------------------------


def eclat(rows, *, target, supp, zmin, zmax, report):
    """Stand in for pyfim's eclat, for what is asked of it."""
    assert (target, zmin, report) == ("s", 1, "a")
    counts = itemsets.supports(rows, zmax)
    # It gives the items of a set in any order.
    return [(s[::-1], n) for s, n in counts.items() if n >= -supp]


@settings(max_examples=100, deadline=None)
@given(tables(max_rows=14, max_items=7), st.integers(1, 40), st.integers(2, 4))
def test_a_miner_gives_the_same_itemsets(table, k, largest):
    expected = list(measure.top_itemsets(table, k, largest=largest).items())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measured_itemsets, "MANY", 1)
        patch.setitem(sys.modules, "fim", SimpleNamespace(eclat=eclat))
        assert list(measure.top_itemsets(table, k, largest=largest).items()) == expected


def test_pyfim_gives_the_same_itemsets(monkeypatch):
    pytest.importorskip("fim")
    rng = np.random.default_rng(0)
    rows = [[f"i{x}" for x in rng.zipf(1.3, 6) if x < 60] for _ in range(3000)]
    table = TransactionTable.from_rows(rows)
    for k, largest in ((1, 2), (40, 3), (400, 3), (2000, 4)):
        monkeypatch.setattr(measured_itemsets, "MANY", 10**9)
        expected = list(measure.top_itemsets(table, k, largest=largest).items())
        monkeypatch.setattr(measured_itemsets, "MANY", 1)
        assert list(measure.top_itemsets(table, k, largest=largest).items()) == expected
    bag = TransactionTable.from_rows([["a", "a", "b"], ["b"]], bags=True)
    assert measure.top_itemsets(bag, 5) == {("b",): 2, ("a",): 1, ("a", "b"): 1}


def test_without_pyfim_we_mine_ourselves(monkeypatch):
    monkeypatch.setitem(sys.modules, "fim", None)
    counts = itemsets.supports(TABLE, 3)
    expected = itemsets.most_frequent(counts, 500)
    assert list(measure.top_itemsets(TABLE, 500)) == expected


# --- pairs and terms ------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(releases(), st.integers(0, 4))
def test_pair_error_by_hand(case, seed):
    table, release, _ = case
    names = sorted({name for row in table for name in row})
    if len(names) < 2:
        with pytest.raises(NotApplicable):
            pair_support_error(release, table)
        return
    world = release.sample_world(np.random.default_rng(seed))
    errors = []
    for pair in combinations(names, 2):
        so, sp = (sum(set(pair) <= set(row) for row in t) for t in (table, world))
        errors.append(0 if so == sp == 0 else abs(so - sp) / ((so + sp) / 2))
    found = pair_support_error(release, table, rng=np.random.default_rng(seed))
    assert found == pytest.approx(sum(errors) / len(errors))
    assert 0 <= found <= 2


def test_pairs_are_those_of_the_band():
    rows = [[f"i{j:02}" for j in range(30) if j <= i] for i in range(30)]
    table = TransactionTable.from_rows(rows)
    keep = [name != "i04" for name in table.vocabulary.names]
    release, _ = publish_suppressed(table, keep)
    # i03, i04 and i05 are the terms of ranks 3 to 5: of three pairs two are lost.
    assert pair_support_error(release, table, band=(3, 6)) == pytest.approx(4 / 3)
    assert pair_support_error(release, table, band=(5, 8)) == 0
    # Fewer terms than the band: the 20 in the middle, i05 to i24.
    assert pair_support_error(release, table) == 0
    with pytest.raises(ParameterError, match="wider band"):
        pair_support_error(release, table, band=(4, 5))


def test_terms_that_stand_in_term_chunks_only():
    release, _ = published(domains=(("a", "b"),), terms=("c", "d", "t", "u"))
    assert terms_lost(release, TABLE, k=2) == pytest.approx(1 / 3)  # c of a, b and c
    assert terms_lost(release, TABLE, k=1) == pytest.approx(4 / 6)
    assert terms_lost(release, TABLE, k=4) == 0.5  # c of a and c
    with pytest.raises(NotApplicable, match="5 records"):
        terms_lost(release, TABLE, k=5)
    with pytest.raises(ParameterError, match="k is 0"):
        terms_lost(release, TABLE, k=0)
    with pytest.raises(NotApplicable, match="has no chunks"):
        terms_lost(publish_suppressed(TABLE, [True] * 6)[0], TABLE, k=2)


def test_a_shared_chunk_saves_a_term():
    rows = [["a", "s"], ["a"], ["b", "s"], ["b", "s"]]
    table = TransactionTable.from_rows(rows)
    plans = [
        Plan(records=(0, 1), domains=((0,),), terms=()),
        Plan(records=(2, 3), domains=((1,),), terms=()),
    ]
    release, _ = publish_disassociated(table, plans, [(0, 2, (2,))])
    assert terms_lost(release, table, k=2) == 0
    assert measure.certain_itemset_loss(release, table, k=3) == 0


# --- all at once ----------------------------------------------------------------------------------


def test_all_measures_of_a_disassociated_release():
    release, key = published()
    figures = measure.measure_all(release, TABLE, key=key, k=2)
    assert figures["tkd_a"] == measure.certain_itemset_loss(release, TABLE)
    assert (figures["tkd_ml2"], figures["tlost"], figures["items_suppressed"]) == (None, 0, 0)
    assert 0 <= figures["re"] <= 2
    assert figures["are"] >= 0
    assert measure.measure_all(release, TABLE)["tlost"] is None
    assert "tkd_a" not in measure.measure_all(publish_suppressed(TABLE, [True] * 6)[0], TABLE)


def test_every_form_is_asked_the_same_queries():
    one = published(domains=(("a", "b", "c", "d", "t", "u"),), terms=())[0]
    other, _ = publish_suppressed(TABLE, [name != "c" for name in TABLE.vocabulary.names])
    rngs = [np.random.default_rng(5) for _ in range(3)]
    measure.measure_all(one, TABLE, rng=rngs[0])
    measure.measure_all(other, TABLE, rng=rngs[1])
    measure.draw_queries(TABLE, rngs[2])
    states = [rng.bit_generator.state for rng in rngs]
    assert states[0] == states[1] == states[2]


def test_deleted_occurrences_are_counted():
    table = TransactionTable.from_rows([["y", "a"], ["y", "a", "b"], ["y", "b"], ["y", "a"]])
    plan = Plan(records=range(4), domains=((0, 2), (1,)), terms=())
    release, key = publish_disassociated(table, [plan], removed=[(0, 2)])
    figures = measure.measure_all(release, table, key=key, k=2)
    assert figures["items_suppressed"] == pytest.approx(1 / 9)


def test_real_groceries(data_dir):
    table = setveil.read(data_dir / "groceries.basket.csv")
    runs = [range(start, min(start + 50, 1000)) for start in range(0, 1000, 50)]
    table = table.take(range(1000))
    plans = []
    for records in runs:
        counts = np.bincount(table.take(records).items, minlength=table.n_items)
        frequent = tuple(np.flatnonzero(counts >= 5).tolist())
        rare = tuple(np.flatnonzero((counts > 0) & (counts < 5)).tolist())
        domains = tuple(frequent[i::4] for i in range(4))
        plans.append(Plan(records=records, domains=domains, terms=rare))
    release, key = publish_disassociated(table, plans)
    figures = measure.measure_all(release, table, key=key, k=5)
    # Reconstructions keep more of the frequent itemsets than chunks alone show for certain.
    assert 0 < figures["tkd"] < figures["tkd_a"] < 1
    assert 0 < figures["re"] < 2
    assert 0 <= figures["tlost"] < 1
