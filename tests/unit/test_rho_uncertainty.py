import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import rho as reference
from tests.strategies import published, tables

from setveil import Taxonomy, TransactionTable
from setveil.core.errors import ParameterError
from setveil.core.registry import find
from setveil.guarantee import Guarantee, RhoUncertainty, from_manifest, max_confidence, parse
from setveil.guarantee.rho_rules import least_from
from setveil.release import publish_groups, publish_recoded, publish_suppressed
from setveil.synthetic import lookalike

rhos = st.sampled_from(["1/5", "1/3", "0.5", "0.6", "2/3", "0.75", "0.9", "1"])


def assert_judged(published_as, rows, sensitive, rho, *, prior):
    """Compare the verdict and the greatest confidence with the definition, witness by witness."""
    promise = RhoUncertainty(rho=rho, sensitive=sensitive, prior=prior)
    verdict = promise.check(published_as)
    broken = reference.violations(rows, promise.rho, sensitive, prior=prior)
    assert verdict.exact
    assert verdict.holds == (not broken)
    assert verdict.checked == len(rows)
    assert bool(verdict.witnesses) == bool(broken)
    for w in verdict.witnesses:
        assert broken[frozenset(w.items), w.consequent] == (w.support, w.confidence)
    assert sorted(verdict.witnesses, key=lambda w: -w.confidence) == list(verdict.witnesses)
    short = {rule for rule in broken if len(rule[0]) < 2}
    if short:
        assert len(verdict.witnesses) == min(len(short), 20)
    best = max_confidence(published_as, sensitive, prior=prior)
    assert best.exact
    assert best.value == reference.max_confidence(rows, sensitive, prior=prior)
    if best.witness is None:
        assert best.value == 0
    else:
        known, a = frozenset(best.witness.items), best.witness.consequent
        same = reference.violations(rows, best.value, sensitive, prior=prior)
        assert same[known, a] == (best.witness.support, best.witness.confidence)
    return verdict


@given(tables(max_rows=25, max_items=7), st.data(), rhos, st.booleans())
@settings(max_examples=150, deadline=None)
def test_tables_against_the_reference(table, data, rho, prior):
    names = table.vocabulary.names
    sensitive = data.draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    assert_judged(table, table.to_rows(), [*sensitive, "never there"], rho, prior=prior)


@given(tables(max_rows=20, max_items=7), st.data(), rhos)
@settings(max_examples=50, deadline=None)
def test_suppressed_releases(table, data, rho):
    names = table.vocabulary.names
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=len(names), max_size=len(names))))
    release, _ = publish_suppressed(table, keep.astype(bool))
    assert_judged(release, release.to_rows(), names[::2], rho, prior=True)


@given(published(max_groups=5), rhos, st.integers(0, 9))
@settings(max_examples=50, deadline=None)
def test_generalized_releases_count_sets_of_nodes_by_id(case, rho, chosen):
    """Of an item that stands behind no category; the others are judged in tests/adversarial."""
    tree, groups, group_of, hides = case
    release, _ = publish_groups(
        tree,
        group_offsets=np.cumsum([0, *map(len, groups)]),
        group_nodes=[v for group in groups for v in group],
        group_of=group_of,
        hides=hides,
    )
    rows = [set(row) for row in release.to_rows(ids=True)]
    used = {tree.node(node_id) for row in rows for node_id in row}
    leaves = [
        tree.ids[v]
        for v in sorted(used)
        if tree.is_leaf[v] and not used.intersection(tree.ancestors(v)[1:])
    ]
    leaves = leaves[chosen % (len(leaves) + 1) :]
    shown = RhoUncertainty(rho=rho, sensitive=leaves).check(release)
    broken = reference.violations(rows, Fraction(rho), leaves)
    assert (shown.exact, shown.holds) == (True, not broken)


def random_instance(rng):
    """Draw records of any density; some are repeated without their sensitive items."""
    items = [f"i{j}" for j in range(rng.integers(1, 8))]
    density, sensitive = rng.random(), [x for x in items if rng.random() < 0.4]
    rows = [[x for x in items if rng.random() < density] for _ in range(rng.integers(0, 22))]
    rows += rows[: rng.integers(0, len(rows) + 1)]
    plain = [[x for x in row if x not in sensitive] for row in rows]
    rows += plain * int(rng.integers(0, 4))
    return rows, sensitive


def judge_random(seed, number):
    rng = np.random.default_rng(seed)
    longest = set()
    for _ in range(number):
        rows, sensitive = random_instance(rng)
        rho = Fraction(int(rng.integers(1, 21)), 20)
        table = TransactionTable.from_rows(rows)
        verdict = assert_judged(table, rows, sensitive, rho, prior=bool(rng.integers(0, 2)))
        longest.add(len(verdict.witnesses[0].items) if verdict.witnesses else None)
    return longest


def test_two_thousand_random_instances():
    """All kinds occur: safe ones, and violations that show at none, one, two and three items."""
    assert judge_random(4, 2_000) >= {None, 0, 1, 2, 3}


@pytest.mark.slow
def test_fifty_thousand_random_instances():
    judge_random(5, 50_000)


def test_sensitive_items_help_to_infer_others():
    rows = [["a", "s", "t"], ["a", "s", "t"], ["a", "s"], ["a", "t"]] + [["a"]] * 6
    verdict = RhoUncertainty(rho="2/3", sensitive=["s", "t"]).check(
        TransactionTable.from_rows(rows)
    )
    assert [(w.items, w.consequent) for w in verdict.witnesses] == [(("s",), "t"), (("t",), "s")]
    assert verdict.witnesses[0].required == "confidence below 2/3, not 2/3"


def test_the_prior_divides_by_all_records_also_empty_ones():
    table = TransactionTable.from_rows([["s"], [], [], []])
    for rho, prior, holds in ((0.25, True, False), (0.26, True, True), (0.25, False, True)):
        promise = RhoUncertainty(rho=rho, sensitive=("s",), prior=prior)
        assert promise.check(table).holds is holds


def test_records_of_any_length():
    """300 items, all antecedents: a subset of the record in many others, the whole in few."""
    items = [f"i{n:03}" for n in range(300)]
    rows = [[*items, "s"]] + [items] * 2 + [items[:150]] * 5 + [["s"]]
    table = TransactionTable.from_rows(rows)
    assert RhoUncertainty(rho="0.34", sensitive=("s",)).check(table).holds
    verdict = RhoUncertainty(rho="1/3", sensitive=("s",)).check(table)
    assert not verdict.holds
    assert len(verdict.witnesses[0].items) == 1
    assert verdict.witnesses[0].support == 3


def test_witnesses_and_reason_do_not_depend_on_the_order_of_records():
    rng = np.random.default_rng(3)
    rows = [[f"i{x:02}" for x in np.flatnonzero(rng.random(12) < 0.4)] for _ in range(80)]
    promise = RhoUncertainty(rho=0.8, sensitive=["i00", "i01", "i02"])
    verdicts = {
        repr(promise.check(TransactionTable.from_rows([rows[i] for i in rng.permutation(80)])))
        for _ in range(5)
    }
    assert len(verdicts) == 1


def test_a_sensitive_item_is_matched_by_id_where_names_repeat():
    tree = Taxonomy.from_nodes(["r", "1", "2"], ["r", "x", "x"], [-1, 0, 0])
    table = TransactionTable.from_rows([["1"], ["2"], ["2"], ["2"]])
    release, _ = publish_recoded(tree, table, [1, 2])
    assert RhoUncertainty(rho=0.5, sensitive=("1",)).check(release).holds
    assert not RhoUncertainty(rho=0.5, sensitive=("2",)).check(release).holds


@pytest.mark.parametrize(("sensitive", "said"), [((), "is named"), (("gone",), "no record shows")])
def test_nothing_to_infer(sensitive, said):
    verdict = RhoUncertainty(rho=0.1, sensitive=sensitive).check(
        TransactionTable.from_rows([["a"], ["a", "b"]])
    )
    assert (verdict.holds, verdict.exact) == (True, True)
    assert said in verdict.reason


def test_no_records():
    table = TransactionTable.from_rows([])
    assert RhoUncertainty(rho=0.1, sensitive=("s",)).check(table).holds
    assert max_confidence(table, ["s"]).value == 0


@given(st.fractions(min_value=0, max_value=1), st.integers(1, 60))
@settings(max_examples=200, deadline=None)
def test_the_least_fraction_from_rho_on(rho, n):
    if rho == 0:
        return
    found = least_from(rho, n)
    fractions = [Fraction(p, q) for q in range(1, n + 1) for p in range(q + 1)]
    assert Fraction(found.p, found.q) == min(f for f in fractions if f >= rho)


def test_rho_with_many_digits_is_compared_exactly():
    table = TransactionTable.from_rows([["a", "s"], ["a"], ["a"]])
    third = "0." + "3" * 40
    assert not RhoUncertainty(rho=third, sensitive=("s",)).check(table).holds
    assert RhoUncertainty(rho=third[:-1] + "4", sensitive=("s",)).check(table).holds


# --- budget and size ------------------------------------------------------------------------------


def hard_table(n=40_000, width=60):
    """Return dense random records, and as many thirds again: what two of them share, with `s`."""
    rng = np.random.default_rng(1)
    dense = rng.random((n, width)) < 0.5
    pairs = rng.integers(0, n, (n // 3, 2))
    shared = dense[pairs[:, 0]] & dense[pairs[:, 1]]
    held = np.zeros((n + len(shared), width + 1), dtype=bool)
    held[:n, :width], held[n:, :width], held[n:, width] = dense, shared, True
    offsets = np.concatenate([[0], np.cumsum(held.sum(axis=1))])
    return TransactionTable.from_csr(
        offsets, np.nonzero(held)[1], [*(f"i{x:02}" for x in range(width)), "s"]
    )


def test_a_budget_is_kept_inside_the_search_and_said():
    table = hard_table()
    budget = 0.5
    promise = RhoUncertainty(rho=0.6, sensitive=("s",), budget=budget)
    promise.check(table.take([0, 1, 2]))  # compiles
    took = []
    for _ in range(3):
        start = time.perf_counter()
        verdict = promise.check(table)
        took.append(time.perf_counter() - start)
    assert (verdict.holds, verdict.exact) == (False, False)
    assert verdict.reason == (
        "not decided within 0.5 s: 0 of 1 sensitive items are proved safe, and no violation was met"
    )
    assert min(took) < 1.1 * budget
    best = max_confidence(table, ["s"], budget=budget)
    assert not best.exact
    assert 0 < best.value < 1


def test_a_violation_found_in_time_is_certain():
    table = TransactionTable.from_rows([["a", "s"]] * 3)
    verdict = RhoUncertainty(rho=0.5, sensitive=("s",), budget=1e-9).check(table)
    assert (verdict.holds, verdict.exact) == (False, True)


@pytest.fixture(scope="module")
def half_a_million():
    return lookalike("bms-pos").table


def test_half_a_million_records_of_any_length(half_a_million):
    table = half_a_million
    rng = np.random.default_rng(0)
    chosen = rng.choice(table.n_items, table.n_items * 2 // 5, replace=False)
    sensitive = [table.vocabulary[i] for i in chosen.tolist()]
    promise = RhoUncertainty(rho=0.5, sensitive=sensitive)
    promise.check(table.take([0, 1, 2]))  # compiles
    for safe in (False, True):
        if safe:
            table = planted(table, chosen)
        start = time.perf_counter()
        verdict = promise.check(table)
        assert time.perf_counter() - start < 5
        assert (verdict.holds, verdict.exact) == (safe, True)


def planted(table, sensitive):
    """Return records of which every third keeps one sensitive item, the next two copy the rest."""
    third = len(table) // 3
    is_sensitive = np.zeros(table.n_items, dtype=bool)
    is_sensitive[sensitive] = True
    original = np.repeat(np.arange(third), 3)
    tripled = table.take(np.append(original, np.arange(3 * third, len(table))))
    record = np.repeat(np.arange(len(tripled)), tripled.lengths)
    bad = np.flatnonzero(is_sensitive[tripled.items])
    first = bad[np.unique(record[bad], return_index=True)[1]]
    keep = ~is_sensitive[tripled.items]
    keep[first[(record[first] % 3 == 0) & (record[first] < 3 * third)]] = True
    offsets = np.concatenate([[0], np.cumsum(keep)])[tripled.offsets]
    return TransactionTable.from_csr(offsets, tripled.items[keep], table.vocabulary.names)


# --- by name --------------------------------------------------------------------------------------


def test_registered_and_described():
    entry = find("guarantee", "rho-uncertainty")
    assert entry.target is RhoUncertainty
    assert "cao2010rho" in entry.bibtex
    promise = RhoUncertainty(rho=0.5, sensitive=["b", "a", "b"], prior=False, budget=3)
    assert isinstance(promise, Guarantee)
    assert promise.params() == {"rho": 0.5, "sensitive": ["a", "b"], "prior": False}
    assert "a non-empty part" in promise.describe()


def test_by_name_and_from_a_manifest():
    promise = RhoUncertainty(rho="1/3", sensitive=("a", "b"))
    assert parse("rho-uncertainty:rho=1/3,sensitive=a|b") == promise
    assert from_manifest("rho-uncertainty", promise.params()) == promise


@pytest.mark.parametrize("rho", [0, -0.5, 1.01, "x", None, True, float("nan"), "1/0"])
def test_impossible_rho(rho):
    with pytest.raises(ParameterError, match="rho is"):
        RhoUncertainty(rho=rho, sensitive=())


@pytest.mark.parametrize("sensitive", ["flu", [1], 5])
def test_impossible_items(sensitive):
    with pytest.raises(ParameterError, match="sensitive"):
        RhoUncertainty(rho=0.5, sensitive=sensitive)
    with pytest.raises(ParameterError, match="sensitive"):
        max_confidence(TransactionTable.from_rows([]), sensitive)


@pytest.mark.parametrize("budget", [0, -1, "3", True, float("nan")])
def test_impossible_budget(budget):
    with pytest.raises(ParameterError, match="budget is"):
        RhoUncertainty(rho=0.5, budget=budget)


def test_prior_is_yes_or_no():
    with pytest.raises(ParameterError, match="prior is"):
        RhoUncertainty(rho=0.5, prior=1)
