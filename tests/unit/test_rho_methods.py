"""ρ-uncertainty methods: what is published, determinism, budgets, long rules, bad input."""

import random
from fractions import Fraction

import pytest
from tests.reference import rho as reference
from tests.reference.lcg import Tree
from tests.unit.rho_instances import METHODS, assert_published, random_instance, run

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import (
    RhoFamily,
    SimpleSuppression,
    SuppressControl,
    TDControl,
    base,
)
from setveil.anonymize.rho import association_rules, suppress_control
from setveil.anonymize.rho.association_rules import odds
from setveil.core.errors import InputError, ParameterError
from setveil.measure import average_loss

every_method = pytest.mark.parametrize("method", METHODS)
timed_methods = pytest.mark.parametrize("method", METHODS[1:])
both_priors = pytest.mark.parametrize("prior", [True, False])


@every_method
def test_the_release_is_consistent_with_the_original(method):
    for seed in range(60):
        rows, tree, sensitive, rho = random_instance(random.Random(seed))
        made = run(method, rows, tree, sensitive, rho)
        table, taxonomy = TransactionTable.from_rows(rows), Taxonomy.from_parents(tree.parents)
        whole = taxonomy.beside(sensitive) if "taxonomy" in method.requires else None
        assert made.release.is_consistent_with(table, made.key, whole)
        verdict = made.promise.check(made.release)
        assert (verdict.holds, verdict.exact) == (True, True)
        assert made.promise.rho == rho
        if table.items.size:
            loss = average_loss(made.release, table, taxonomy=taxonomy, sensitive=sensitive)
            assert loss == pytest.approx(made.figures["average_loss"])


@every_method
def test_the_order_of_records_does_not_matter(method):
    for seed in range(40):
        rng = random.Random(seed)
        rows, tree, sensitive, rho = random_instance(rng)
        order = list(range(len(rows)))
        rng.shuffle(order)
        mixed = [rng.sample(rows[i], len(rows[i])) for i in order]
        made = run(method, rows, tree, sensitive, rho)
        again = run(method, mixed, tree, sensitive[::-1], rho)
        assert again.release.to_rows() == made.release.to_rows()
        assert again.log == made.log
        assert again.figures == made.figures
        assert again.promise == made.promise


@timed_methods
@both_priors
@pytest.mark.parametrize("budget", [1e-9, 1e-3, 3e-3])
def test_a_budget_ends_the_search_with_a_safe_release(method, prior, budget):
    late = 0
    for seed in range(40):
        rows, tree, sensitive, rho = random_instance(random.Random(seed))
        made = run(method, rows, tree, sensitive, rho, prior=prior, budget=budget)
        shown = made.release.to_rows()
        assert not reference.violations(shown, rho, sensitive, prior=prior), seed
        assert_published(made, rows, tree, sensitive)
        stops = [step for step in made.log if step.action == "stop"]
        assert len(stops) <= 2
        if stops:
            late += 1
            assert f"the budget of {budget:g} s was used up" in stops[0].reason
            assert made.figures["in_time"] is False
    if budget == 1e-9:
        assert late > 20  # in some the empty antecedent leaves nothing to search for


@timed_methods
def test_a_budget_that_is_not_used_up_changes_nothing(method):
    for seed in range(20):
        rows, tree, sensitive, rho = random_instance(random.Random(seed))
        free = run(method, rows, tree, sensitive, rho)
        timed = run(method, rows, tree, sensitive, rho, budget=600)
        assert (timed.release.to_rows(), timed.log) == (free.release.to_rows(), free.log)
        assert timed.figures["in_time"] is True


@timed_methods
@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (suppress_control, "RULES", 2),
        (suppress_control, "LEVEL_WORK", 10),
        (association_rules, "ORACLE_WORK", 3),
        (base, "LOGGED", 1),
    ],
)
def test_other_ways_are_as_safe(monkeypatch, method, module, name, value):
    """Samples of rules, witnesses one by one, questions given up, a log cut short."""
    monkeypatch.setattr(module, name, value)
    for seed in range(60):
        rows, tree, sensitive, rho = random_instance(random.Random(seed))
        prior = bool(seed % 2)
        made = run(method, rows, tree, sensitive, rho, prior=prior)
        shown = made.release.to_rows()
        assert not reference.violations(shown, rho, sensitive, prior=prior), seed
        if name == "LOGGED":
            assert len(made.log) <= 2


def long_rules(width):
    """Return records where s follows from all the items together only, and not from fewer."""
    items = [f"i{n:02d}" for n in range(width)]
    rows = [[*items, "s"]]
    rows += [[i for i in items if i != left] for left in items for _ in range(3)]
    return rows, Tree({"R": None} | dict.fromkeys(items, "R"))


@timed_methods
@pytest.mark.parametrize("width", [2, 3, 4, 6, 14])
def test_rules_of_many_items(method, width):
    rows, tree = long_rules(width)
    rho = Fraction(9, 10)
    found = reference.violations(rows, rho, ["s"])
    assert {len(known) for known, _ in found} == {width}
    made = run(method, rows, tree, ["s"], rho)
    assert not reference.violations(made.release.to_rows(), rho, ["s"])
    assert made.figures["average_loss"] == 1 / sum(map(len, rows))


@every_method
def test_more_than_65536_records(method):
    """a implies s in all but one of its 35,001 records, b in half of them."""
    rows = [["a", "s"], ["b", "s"], ["b"], ["c"]] * 17_500 + [["a"]]
    tree = Tree({"R": None, "a": "R", "b": "R", "c": "R"})
    made = run(method, rows, tree, ["s"], Fraction(3, 5))
    assert len(made.release) == len(rows)
    assert made.promise.check(made.release).holds
    kinds = {tuple(row) for row in made.release.to_rows()}
    expected = {
        SimpleSuppression: {("a",), ("b",), ("c",)},
        SuppressControl: {("s",), ("b", "s"), ("b",), ("c",), ()},
        TDControl: {("s",), ("b", "s"), ("b",), ("c",), ()},
    }
    if method in expected:
        assert kinds == expected[method]
    else:
        assert made.figures["average_loss"] <= 17_501 / (6 * 17_500 + 1)


def test_a_share_of_exactly_rho_is_too_much():
    rows = [["a", "s"], ["a"], ["b"], ["b"]]
    tree = Tree({"R": None, "a": "R", "b": "R"})
    for method in METHODS[1:]:
        reached = run(method, rows, tree, ["s"], Fraction(1, 2))
        assert ["a", "s"] not in reached.release.to_rows()
        missed = run(method, rows, tree, ["s"], Fraction("0.500001"))
        assert sorted(missed.release.to_rows()) == sorted(rows)
        # 1 / 4 of all records hold s: only the empty antecedent tells.
        assert run(method, [["s"], [], [], []], tree, ["s"], "1/4").promise.sensitive == ()
        alone = run(method, [["s"], [], [], []], tree, ["s"], "1/4", prior=False)
        assert alone.release.to_rows().count(["s"]) == 1


def test_only_sensitive_items():
    tree = Tree({"R": None, "a": "R", "b": "R"})
    for method in METHODS:
        made = run(method, [["s", "t"], ["s"], ["s"]], tree, ["s", "t"], Fraction(1, 2))
        rows = made.release.to_rows()
        assert not reference.violations(rows, Fraction(1, 2), ["s", "t"])


def test_odds_are_exact():
    """`no * without <= yes * with` says just what with / all >= ρ says, whatever ρ."""
    rhos = [Fraction(p, q) for q in range(1, 12) for p in range(1, q + 1)]
    rhos += [Fraction("0.333333333333333"), Fraction("0.66666666666666667"), Fraction("1e-9")]
    rhos += [Fraction("0.9999999999999"), Fraction(10**12 - 1, 2 * 10**12)]
    for rho in rhos:
        for n in (1, 2, 3, 7, 10):
            yes, no = odds(rho, n)
            for size in range(1, n + 1):
                for held in range(size + 1):
                    said = no * (size - held) <= yes * held
                    assert said == (Fraction(held, size) >= rho), (rho, n, held, size)


@every_method
@pytest.mark.parametrize("rho", [0, -0.5, 1.01, "2", "x", True, None, float("nan")])
def test_a_rho_that_means_nothing(method, rho):
    with pytest.raises(ParameterError, match="rho is"):
        method(rho=rho)


@every_method
def test_rho_is_what_was_written(method):
    assert method(rho=0.7).rho == method(rho="0.7").rho == method(rho="7/10").rho == Fraction(7, 10)
    assert method(rho=1).rho == 1


@timed_methods
@pytest.mark.parametrize("budget", [0, -1, True, "1"])
def test_a_budget_that_means_nothing(method, budget):
    with pytest.raises(ParameterError, match="budget is"):
        method(rho=0.5, budget=budget)


@every_method
@pytest.mark.parametrize(
    ("rows", "sensitive", "said"),
    [
        ([["a", "s"]], ["x", "s"], "1 of 2 sensitive items do not occur"),
        ([["a", "s"]], [], "no sensitive items are given"),
        ([["a", "s"]], "s", "sensitive is 's'"),
        ([], ["s"], "the data has no records"),
    ],
)
def test_sensitive_items_that_mean_nothing(method, rows, sensitive, said):
    tree = Tree({"R": None, "a": "R", "b": "R"})
    with pytest.raises((InputError, ParameterError), match=said):
        run(method, rows, tree, sensitive, 0.5)


@every_method
def test_no_records(method):
    table = TransactionTable.from_rows([["a", "s"]]).take([])
    given = {"taxonomy": Taxonomy.balanced(["a", "b"])} if "taxonomy" in method.requires else {}
    with pytest.raises(InputError, match="no records"):
        method(rho=0.5).anonymize(table, sensitive=["s"], **given)


@pytest.mark.parametrize("method", [TDControl, RhoFamily])
def test_sensitive_items_inside_the_taxonomy(method):
    tree = Tree({"R": None, "a": "R", "s": "R"})
    with pytest.raises(InputError, match="1 of 1 sensitive items are in the taxonomy"):
        run(method, [["a", "s"], ["a"]], tree, ["s"], 0.5)
