"""Checks of tables against plain twins, on random tables and by hand."""

import math
import random
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import tabular_checks as reference

from setveil import Taxonomy
from setveil.core.errors import InputError, ParameterError
from setveil.tabular import (
    CHECKS,
    AlphaKAnonymity,
    ConfidenceBounding,
    DeltaPresence,
    DifferentialPrivacy,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    Rho1Rho2,
    TCloseness,
    XYAnonymity,
    geometric_mechanism,
)
from setveil.tabular.check_diversity import entropy_reaches
from setveil.tabular.check_mechanisms import exceeds_exponential

QUASI = ["a", "b"]
INSTANCES = 2000
TREE = {"t": "A", "u": "A", "v": "C", "w": "C", "C": "B", "x": "B", "A": "R", "B": "R"}


def some_rows(draw: random.Random) -> list[dict]:
    """Return a small table in which classes are of all kinds: even, uneven, alone."""
    wide, values = draw.randint(1, 3), draw.choice(["tu", "tuvwx"])
    return [
        {
            "a": draw.randint(1, wide),
            "b": draw.choice(["x", None]) if wide > 1 else "x",
            "s": draw.choice(values),
        }
        for _ in range(draw.randint(1, 14))
    ]


def frame_of(rows: list[dict]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["a", "b", "s"], orient="row", infer_schema_length=None)


def judged(verdict, expected: bool) -> None:
    assert verdict.exact
    assert verdict.holds is expected, verdict.reason
    assert bool(verdict.witnesses) is not expected


def instances(number: int = INSTANCES):
    draw = random.Random(7)
    for _ in range(number):
        rows = some_rows(draw)
        yield draw, rows, frame_of(rows)


def seen_both(found: set[bool]) -> None:
    assert found == {True, False}


# --- random tables ------------------------------------------------------------------------------


def test_k_anonymity():
    found = set()
    for draw, rows, frame in instances():
        k = draw.randint(1, 4)
        expected = reference.k_anonymous(rows, QUASI, k)
        judged(KAnonymity(quasi=QUASI, k=k).check(frame), expected)
        found.add(expected)
    seen_both(found)


def test_xy_anonymity():
    found = set()
    for draw, rows, frame in instances():
        k = draw.randint(1, 3)
        expected = reference.xy_anonymous(rows, ["a"], ["b", "s"], k)
        judged(XYAnonymity(x=["a"], y=["b", "s"], k=k).check(frame), expected)
        found.add(expected)
    seen_both(found)


def test_alpha_k_anonymity():
    found = set()
    for draw, rows, frame in instances():
        alpha, k = Fraction(draw.randint(1, 6), 6), draw.randint(1, 3)
        values = draw.choice([(), ("t",), ("t", "x")])
        expected = reference.k_anonymous(rows, QUASI, k) and not reference.given_away(
            rows, QUASI, "s", alpha, values
        )
        check = AlphaKAnonymity(quasi=QUASI, sensitive="s", alpha=alpha, k=k, values=values)
        judged(check.check(frame), expected)
        found.add(expected)
    seen_both(found)


def test_confidence_bounding():
    found = set()
    for draw, rows, frame in instances():
        h, values = Fraction(draw.randint(1, 6), 6), draw.choice([(), ("t",), ("t", "x")])
        expected = not reference.given_away(rows, QUASI, "s", h, values)
        verdict = ConfidenceBounding(quasi=QUASI, sensitive="s", h=h, values=values).check(frame)
        judged(verdict, expected)
        assert all(each.confidence > h for each in verdict.witnesses)
        found.add(expected)
    seen_both(found)


def test_distinct_diversity():
    found = set()
    for draw, rows, frame in instances():
        least = draw.randint(1, 4)
        expected = reference.distinct_diverse(rows, ["a"], "s", least)
        judged(DistinctDiversity(quasi=["a"], sensitive="s", l=least).check(frame), expected)
        found.add(expected)
    seen_both(found)


def test_entropy_diversity():
    found = set()
    for draw, rows, frame in instances():
        least = draw.choice([Fraction(1), Fraction(2), Fraction(3), Fraction(5, 2), Fraction(9, 7)])
        expected = reference.entropy_diverse(rows, ["a"], "s", least)
        judged(EntropyDiversity(quasi=["a"], sensitive="s", l=least).check(frame), expected)
        found.add(expected)
    seen_both(found)


def test_recursive_diversity():
    found = set()
    for draw, rows, frame in instances():
        c, first = Fraction(draw.randint(1, 8), draw.randint(1, 3)), draw.randint(1, 3)
        expected = reference.recursive_diverse(rows, ["a"], "s", c, first)
        judged(RecursiveDiversity(quasi=["a"], sensitive="s", c=c, l=first).check(frame), expected)
        found.add(expected)
    seen_both(found)


def closeness(rows, frame, distance, **options):
    """Compare at the farthest class's own distance, where a rounding error would show."""
    exact = reference.farthest(rows, ["a"], distance)
    assert 0 <= exact <= 1
    judged(TCloseness(quasi=["a"], sensitive="s", t=exact, **options).check(frame), True)
    if exact:
        below = exact - Fraction(1, 10**9)
        verdict = TCloseness(quasi=["a"], sensitive="s", t=below, **options).check(frame)
        judged(verdict, False)
        assert f"not {exact}" in verdict.witnesses[0].required


def test_t_closeness_by_equal_distances():
    for _, rows, frame in instances():
        closeness(rows, frame, reference.equal_distance)


def test_t_closeness_by_order():
    for _, rows, _ in instances():
        numbers = [{**row, "s": ord(row["s"])} for row in rows]
        closeness(numbers, frame_of(numbers), reference.ordered_distance)


def test_t_closeness_in_a_tree():
    tree = Taxonomy.from_parents(TREE)
    for _, rows, frame in instances():
        closeness(
            rows,
            frame,
            lambda own, whole: reference.tree_distance(own, whole, TREE),
            taxonomy=tree,
        )


def test_distances_in_a_tree_are_those_of_the_cheapest_transport():
    """The twin's formula, against a linear program that knows distances only."""
    from scipy.optimize import linprog

    names = ["t", "u", "v", "w", "x"]
    heights = {"A": 1, "C": 1, "B": 2, "R": 3}

    def apart(one, other):
        if one == other:
            return 0
        above = [node for node in reference.way_up(one, TREE) if node != one]
        return next(heights[n] for n in above if n in reference.way_up(other, TREE)) / 3

    costs = np.array([[apart(one, other) for other in names] for one in names])
    for _, rows, _ in instances(60):
        own, q = reference.classes(rows, ["a"])[0], reference.shares(rows, "s")
        p = reference.shares(own, "s")
        sums = [np.kron(np.eye(5), np.ones(5)), np.kron(np.ones(5), np.eye(5))]
        sides = [float(p.get(n, 0)) for n in names] + [float(q.get(n, 0)) for n in names]
        best = linprog(costs.ravel(), A_eq=np.vstack(sums), b_eq=sides)
        assert best.fun == pytest.approx(float(reference.tree_distance(own, rows, TREE)), abs=1e-8)


def test_delta_presence():
    found = set()
    for draw, rows, frame in instances():
        there = [row for row in rows if draw.random() < 0.6]
        low, high = sorted(Fraction(draw.randint(0, 6), 6) for _ in range(2))
        expected = reference.present(there, rows, ["a"], low, high)
        check = DeltaPresence(quasi=["a"], low=low, high=high)
        released = frame_of(there) if there else frame.clear()
        judged(check.check(released, frame), expected)
        found.add(expected)
    seen_both(found)


def a_matrix(draw: random.Random) -> list[list[Fraction]]:
    """Return rows of chances, with a zero now and then."""
    wide, matrix = draw.randint(2, 4), []
    for _ in range(draw.randint(1, 4)):
        parts = [draw.randint(1, 6) if draw.random() < 0.95 else 0 for _ in range(wide)]
        matrix.append([Fraction(part, sum(parts) or 1) for part in parts])
        if not sum(parts):
            matrix[-1][0] = Fraction(1)
    return matrix


def test_differential_privacy():
    found, draw = set(), random.Random(9)
    for _ in range(INSTANCES):
        matrix, epsilon = a_matrix(draw), Fraction(draw.randint(0, 25), 10)
        expected = reference.differentially_private(matrix, epsilon)
        judged(DifferentialPrivacy(epsilon=epsilon).check(matrix), expected)
        found.add(expected)
    seen_both(found)


def test_rho1_rho2():
    found, draw = set(), random.Random(10)
    for _ in range(INSTANCES):
        matrix = a_matrix(draw)
        rho1 = Fraction(draw.randint(1, 4), 10)
        rho2 = rho1 + Fraction(draw.randint(1, 5), 10)
        expected = reference.private_beliefs(matrix, rho1, rho2)
        judged(Rho1Rho2(rho1=rho1, rho2=rho2).check(matrix), expected)
        found.add(expected)
    seen_both(found)


# --- exactness ----------------------------------------------------------------------------------


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=6),
    st.fractions(1, 6, max_denominator=12),
)
def test_entropies_are_compared_exactly(counts, least):
    n = sum(counts)
    powers = math.prod(c**c for c in counts)
    assert entropy_reaches(counts, least) is (Fraction(n) ** n >= least**n * powers)


def test_equal_entropies_are_equal_however_many_rows_there_are():
    assert entropy_reaches([10**9] * 7, Fraction(7)) is True
    assert entropy_reaches([10**9] * 7, Fraction(70_000_001, 10_000_000)) is False


def test_entropies_that_nobody_can_tell_apart_are_not_decided():
    # One row more in a billion changes the entropy by less than floating point can see.
    frame = pl.DataFrame({"a": [1], "s": ["t"]})
    assert entropy_reaches([10**9, 10**9 + 1], Fraction(2)) is None
    assert EntropyDiversity(quasi=["a"], sensitive="s", l=1).check(frame).exact


def test_an_undecided_class_makes_the_verdict_inexact(monkeypatch):
    monkeypatch.setattr("setveil.tabular.check_diversity.MOST_BITS", 4)
    frame = pl.DataFrame({"a": [1] * 4, "s": list("ttuv")})
    check = EntropyDiversity(quasi=["a"], sensitive="s", l="2.82842712474619")
    verdict = check.check(frame)
    assert verdict.holds
    assert not verdict.exact
    assert "cannot be told" in verdict.reason


@given(st.fractions(1, 3, max_denominator=1000), st.fractions(0, 1, max_denominator=50))
def test_the_exponential_is_compared_exactly(ratio, epsilon):
    assert exceeds_exponential(ratio, epsilon) is reference.above_exponential(ratio, epsilon)


def test_a_ratio_that_agrees_with_e_in_thirty_digits():
    digits = 2718281828459045235360287471352
    assert not exceeds_exponential(Fraction(digits, 10**30), Fraction(1))
    assert exceeds_exponential(Fraction(digits + 1, 10**30), Fraction(1))


def test_large_tables_of_numbers_do_not_overflow():
    rows = 40_000
    frame = pl.DataFrame({"a": [0, 1] * (rows // 2), "s": range(rows)})
    verdict = TCloseness(quasi=["a"], sensitive="s", t="1/1000").check(frame)
    assert verdict.holds
    assert verdict.exact


# --- by hand ------------------------------------------------------------------------------------


def test_the_salaries_of_the_paper():
    """Of nine salaries 3..11: {3,4,5} is 0.375 away, {6,8,11} 0.167 (Li, Li et al. 2007)."""
    frame = pl.DataFrame(
        {"zip": ["476"] * 3 + ["479"] * 3 + ["473"] * 3, "pay": [3, 4, 5, 6, 11, 8, 7, 9, 10]}
    )
    verdict = TCloseness(quasi=["zip"], sensitive="pay", t=0).check(frame)
    shown = {each.items: each.required for each in verdict.witnesses}
    assert shown["zip=476",].endswith("not 3/8")
    assert shown["zip=479",].endswith("not 1/6")


def test_pandas_and_arrow_frames():
    frame = pl.DataFrame({"a": [1, 1, 2], "s": ["t", "u", "t"]})
    check = KAnonymity(quasi=["a"], k=2)
    assert check.check(frame.to_pandas()) == check.check(frame) == check.check(frame.to_arrow())


def test_verdicts_do_not_depend_on_the_order_of_rows():
    for draw, _, frame in instances(50):
        mixed = frame.sample(fraction=1, shuffle=True, seed=draw.randint(0, 99))
        for check in (
            KAnonymity(quasi=QUASI, k=3),
            RecursiveDiversity(quasi=QUASI, sensitive="s", c=1, l=2),
            TCloseness(quasi=QUASI, sensitive="s", t="1/10"),
            AlphaKAnonymity(quasi=QUASI, sensitive="s", k=2),
            EntropyDiversity(quasi=QUASI, sensitive="s", l=2),
        ):
            assert check.check(mixed) == check.check(frame)


def test_not_a_number_is_one_value():
    frame = pl.DataFrame({"a": [math.nan] * 4, "s": list("tuvw")})
    assert DistinctDiversity(quasi=["a"], sensitive="s", l=4).check(frame).holds


def test_no_rows_break_nothing():
    frame = pl.DataFrame({"a": [], "s": []}, schema={"a": pl.Int64, "s": pl.String})
    for check in (
        KAnonymity(quasi=["a"]),
        EntropyDiversity(quasi=["a"], sensitive="s"),
        TCloseness(quasi=["a"], sensitive="s"),
    ):
        assert check.check(frame).reason == "there are no rows, so nothing is broken"


def test_the_geometric_mechanism():
    mechanism = geometric_mechanism("3/4", 6)
    assert all(sum(row.values()) == 1 for row in mechanism.values())
    just = Fraction(math.log(4 / 3))
    assert DifferentialPrivacy(epsilon=float(just) + 1e-9).check(mechanism).holds
    assert not DifferentialPrivacy(epsilon=float(just) - 1e-9).check(mechanism).holds


def test_every_check_tells_what_it_promises():
    made = {
        "quasi": ["a"],
        "sensitive": "s",
        "x": ["a"],
        "y": ["s"],
        "items": "v",
    }
    for kind in CHECKS.values():
        given_now = {name: made[name] for name in made if name in kind.__dataclass_fields__}
        check = kind(**given_now)
        assert check.describe()
        assert set(check.params()) <= set(kind.__dataclass_fields__)


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        (KAnonymity, {"quasi": "age"}, "quasi is 'age'"),
        (KAnonymity, {"quasi": []}, "quasi names no columns"),
        (KAnonymity, {"quasi": [3]}, "quasi holds 3"),
        (KAnonymity, {"quasi": ["a"], "k": 0}, "k is 0"),
        (XYAnonymity, {"x": ["a"], "y": ["a"]}, "'a' is among the columns"),
        (DistinctDiversity, {"quasi": ["a"], "sensitive": "a"}, "'a' is among the columns"),
        (DistinctDiversity, {"quasi": ["a"], "sensitive": ""}, "sensitive is ''"),
        (EntropyDiversity, {"quasi": ["a"], "sensitive": "s", "l": 0.5}, "l is 0.5"),
        (RecursiveDiversity, {"quasi": ["a"], "sensitive": "s", "c": 0}, "c is 0"),
        (ConfidenceBounding, {"quasi": ["a"], "sensitive": "s", "h": 2}, "h is 2"),
        (AlphaKAnonymity, {"quasi": ["a"], "sensitive": "s", "alpha": -1}, "alpha is -1"),
        (TCloseness, {"quasi": ["a"], "sensitive": "s", "distance": "far"}, "distance is 'far'"),
        (
            TCloseness,
            {"quasi": ["a"], "sensitive": "s", "distance": "hierarchical"},
            "without a tree",
        ),
        (DeltaPresence, {"quasi": ["a"], "low": 0.5, "high": 0.2}, "low is 1/2 and high is 1/5"),
        (DifferentialPrivacy, {"epsilon": -1}, "epsilon is -1"),
        (Rho1Rho2, {"rho1": 0.5, "rho2": 0.2}, "rho1 is 0.5"),
    ],
)
def test_bad_parameters(kind, params, message):
    with pytest.raises(ParameterError, match=message):
        kind(**params)


def test_bad_tables():
    frame = pl.DataFrame({"a": [1], "s": [None], "list": [[1]], "text": ["x"]})
    with pytest.raises(InputError, match="no columns are called 'age'"):
        KAnonymity(quasi=["age"]).check(frame)
    with pytest.raises(InputError, match="lacks values"):
        DistinctDiversity(quasi=["a"], sensitive="s").check(frame)
    with pytest.raises(InputError, match="holds lists"):
        KAnonymity(quasi=["list"]).check(frame)
    with pytest.raises(InputError, match="have no order"):
        TCloseness(quasi=["a"], sensitive="text", distance="ordered").check(frame)
    with pytest.raises(InputError, match="must list everybody"):
        DeltaPresence(quasi=["a"]).check(frame, pl.DataFrame({"a": [2]}))


def test_bad_mechanisms():
    check = DifferentialPrivacy(epsilon=1)
    with pytest.raises(InputError, match="gaps"):
        check.check({"0": {"x": 1}, "2": {"x": 1}})
    with pytest.raises(InputError, match="no count"):
        check.check({"few": {"x": 1}})
    with pytest.raises(ParameterError, match="add up to 1/2"):
        check.check([["1/2"]])
    with pytest.raises(ParameterError, match="ratio is 2"):
        geometric_mechanism(2, 3)
