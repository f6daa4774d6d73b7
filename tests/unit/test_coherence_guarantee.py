"""The check of (h, k, p)-coherence against enumeration, its witnesses, its limits, bad input."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.coherence import all_moles, breach, support
from tests.strategies import names, rows_over

from setveil import Taxonomy, TransactionTable
from setveil.core.errors import ParameterError
from setveil.guarantee import Coherence, from_manifest
from setveil.release import publish_groups

ROWS = [["a", "s"], ["a", "b"], ["a", "b", "s"], ["b", "s"], ["c", "s"], ["c", "s"]]


@st.composite
def published(draw):
    items = draw(names(min_size=2, max_size=8))
    rows = draw(rows_over(items, max_rows=10, max_length=6))
    sensitive = draw(st.lists(st.sampled_from(items), max_size=3, unique=True))
    return rows, sensitive


@given(published(), st.fractions(0, 1, max_denominator=5), st.integers(1, 4), st.integers(1, 5))
@settings(max_examples=300)
def test_verdict_is_that_of_enumeration(case, h, k, p):
    rows, sensitive = case
    verdict = Coherence(h=h, k=k, p=p, sensitive=sensitive).check(TransactionTable.from_rows(rows))
    moles = all_moles(rows, sensitive, h, k, p)
    assert verdict.exact
    assert verdict.holds == (not moles)
    if not moles:
        assert verdict.witnesses == ()
        return
    smallest = [mole for mole in moles if len(mole) == len(moles[0])]
    assert verdict.reason.startswith(f"{len(smallest):,} ")
    assert len(verdict.witnesses) == min(len(smallest), 20)
    for witness in verdict.witnesses:
        assert witness.items in smallest
        assert witness.support == support(witness.items, rows)
        assert ("at least" in witness.required) == (witness.support < k)
        surest = breach(witness.items, rows, sensitive)
        assert ("at most" in witness.required) == (surest > h)
        assert witness.confidence == (surest if surest > h else None)
    supports = [witness.support for witness in verdict.witnesses]
    assert supports == sorted(supports)


@given(published(), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_order_of_the_records_does_not_matter(case, random):
    rows, sensitive = case
    promise = Coherence(h=0.5, k=2, p=3, sensitive=sensitive)
    shuffled = random.sample(rows, len(rows))
    found, again = (promise.check(TransactionTable.from_rows(r)) for r in (rows, shuffled))
    # The search may look at a few itemsets more or fewer; what it says is the same.
    assert replace(again, checked=found.checked) == found


def test_witness_names_the_secret_and_how_sure_it_is():
    promise = Coherence(h=Fraction(2, 3), k=2, p=1, sensitive=["s"])
    verdict = promise.check(TransactionTable.from_rows(ROWS))
    assert verdict.reason == "1 public item is a mole"
    (witness,) = verdict.witnesses
    assert (witness.items, witness.support) == (("c",), 2)
    assert witness.required == "at most 2/3 of them with 's', not 2 of 2"
    assert (witness.consequent, witness.confidence) == ("s", 1)


def test_the_share_itself_is_allowed():
    table = TransactionTable.from_rows(ROWS[:4])
    assert Coherence(h="2/3", k=2, p=1, sensitive=["s"]).check(table).holds
    assert not Coherence(h="0.666666", k=2, p=1, sensitive=["s"]).check(table).holds


def test_records_without_secrets_count():
    table = TransactionTable.from_rows([["a", "s"], ["a"], ["a"]])
    assert Coherence(h="1/3", k=3, p=1, sensitive=["s"]).check(table).holds


def test_pairs_and_larger_sets_in_words():
    table = TransactionTable.from_rows([["a", "b"], ["b", "c"], ["a", "c"]])
    verdict = Coherence(k=2, p=3).check(table)
    assert verdict.reason == "3 pairs of public items are moles; single items are not"
    table = TransactionTable.from_rows([["a", "b", "c"], ["a", "b"], ["b", "c"], ["a", "c"]])
    verdict = Coherence(k=2, p=3).check(table)
    assert verdict.reason == "1 set of 3 public items is a mole; smaller sets are not"


def test_nothing_public():
    promise = Coherence(sensitive=["s"])
    for rows in ([], [[]], [["s"], ["s"]]):
        assert promise.check(TransactionTable.from_rows(rows)).holds


def test_generalized_records():
    tree = Taxonomy.from_parents({"a": "A", "b": "A", "A": "*", "s": "*"})
    release, _ = publish_groups(
        tree,
        group_offsets=[0, 2],
        group_nodes=[tree.node("A"), tree.node("s")],
        group_of=[0, 0],
        hides=False,
    )
    assert Coherence(h=1, k=2, p=2, sensitive=["s"]).check(release).holds
    assert not Coherence(h=0.9, k=2, p=2, sensitive=["s"]).check(release).holds
    # Whether "a" stands behind "A" the release does not say; where all shares are allowed, it need
    # not be known.
    verdict = Coherence(h=0.9, k=2, p=2, sensitive=["a"]).check(release)
    assert (verdict.holds, verdict.exact) == (False, False)
    assert "2 records show 'A', behind which the sensitive item 'a' may stand" in verdict.reason
    assert Coherence(h=1, k=2, p=2, sensitive=["a"]).check(release).holds


def test_a_bound_on_work_is_said():
    rows = [[f"i{i}" for i in range(n, n + 6)] for n in range(9) for _ in range(3)]
    table = TransactionTable.from_rows(rows)
    assert Coherence(k=3, p=4).check(table).holds
    verdict = Coherence(k=3, p=4, work=200).check(table)
    assert (verdict.holds, verdict.exact) == (True, False)
    assert "reading 200 places did not suffice" in verdict.reason
    broken = Coherence(k=4, p=4, work=200).check(table)
    assert (broken.holds, broken.exact) == (False, True)


def test_equal_long_records_are_checked_at_once():
    table = TransactionTable.from_rows([[f"i{i:03}" for i in range(164)]] * 5)
    verdict = Coherence(k=5, p=164).check(table)
    assert (verdict.holds, verdict.exact, verdict.checked) == (True, True, 164)


def test_more_than_65536_records():
    rows = [[f"i{n % 3}", "all", *(["s"] if n % 2 else [])] for n in range(70_000)]
    promise = Coherence(h="1/2", k=23_333, p=2, sensitive=["s"])
    verdict = promise.check(TransactionTable.from_rows(rows))
    assert [w.items for w in verdict.witnesses] == [("i1",)]  # 11,667 of 23,333 are more than half


def test_parameters_survive_the_manifest():
    promise = Coherence(h="1/3", k=3, p=2, sensitive=["t", "s"])
    assert promise.params() == {"h": "1/3", "k": 3, "p": 2, "sensitive": ["s", "t"]}
    assert from_manifest("coherence", promise.params()) == promise
    assert Coherence(h=0.7).params()["h"] == 0.7


def test_in_words():
    assert Coherence(k=3, p=1).describe() == (
        "any public item of a person fits 0 or at least 3 records"
    )


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"h": -0.1}, "h is -0.1"),
        ({"h": 1.01}, "h is 1.01"),
        ({"h": "half"}, "h is 'half'"),
        ({"h": "1/0"}, "h is '1/0'"),
        ({"h": float("nan")}, "h is nan"),
        ({"h": True}, "h is True"),
        ({"k": 0}, "k is 0"),
        ({"p": 0}, "p is 0"),
        ({"p": 1.5}, "p is 1.5"),
        ({"work": 0}, "work is 0"),
        ({"sensitive": "hiv"}, "sensitive is 'hiv'"),
        ({"sensitive": [1]}, "sensitive holds 1"),
    ],
)
def test_parameters_that_mean_nothing(params, said):
    with pytest.raises(ParameterError, match=said):
        Coherence(**params)
