"""Coherence by suppression: 0 violations under brute force, the reference's choices, bad input."""

import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.coherence import is_coherent, suppress, without
from tests.strategies import names, rows_over

from setveil import TransactionTable
from setveil.anonymize import Coherence
from setveil.anonymize.coherence import coherence
from setveil.core.errors import InfeasibleError, InputError, ParameterError


def random_instance(rng):
    """A few records over a few items, some of them equal, some empty."""
    items = [f"i{n}" for n in range(rng.randint(2, 7))]
    secrets = [f"s{n}" for n in range(rng.randint(1, 2))]
    common = [rng.random() for _ in items]
    rows = [
        [item for item, chance in zip(items, common, strict=True) if rng.random() < chance]
        + [secret for secret in secrets if rng.random() < 0.3]
        for _ in range(rng.randint(3, 12))
    ]
    rows.append([items[0], *secrets])  # so that all of them occur
    return rows, secrets, Fraction(rng.randint(0, 6), 6), rng.randint(1, 4), rng.randint(1, 4)


def assert_safe(seeds):
    for seed in seeds:
        rng = random.Random(seed)
        rows, secrets, h, k, p = random_instance(rng)
        made = Coherence(h=h, k=min(k, len(rows)), p=p).anonymize(
            TransactionTable.from_rows(rows), sensitive=secrets
        )
        published = made.release.to_rows()
        assert is_coherent(published, secrets, h, min(k, len(rows)), p), seed
        assert made.promise.check(made.release).holds, seed


def test_no_violation_in_2000_instances():
    assert_safe(range(2_000))


@pytest.mark.slow
def test_no_violation_in_50000_instances():
    assert_safe(range(2_000, 52_000))


@st.composite
def cases(draw):
    items = draw(names(min_size=2, max_size=8))
    rows = draw(rows_over(items, min_rows=1, max_rows=10, max_length=6))
    present = sorted({item for row in rows for item in row})
    if len(present) < 2:
        rows, present = [*rows, items[:2]], sorted({*present, *items[:2]})
    sensitive = draw(
        st.lists(st.sampled_from(present), min_size=1, max_size=len(present) - 1, unique=True)
    )
    return rows, sensitive


@given(cases(), st.fractions(0, 1, max_denominator=5), st.integers(1, 4), st.integers(1, 4))
@settings(max_examples=200)
def test_suppresses_what_the_reference_suppresses(case, h, k, p):
    rows, sensitive = case
    k = min(k, len(rows))
    made = Coherence(h=h, k=k, p=p).anonymize(TransactionTable.from_rows(rows), sensitive=sensitive)
    expected = suppress(rows, sensitive, h, k, p)
    assert [step.subject for step in made.log if step.action == "suppress"] == expected
    published = dict(zip(made.key.records.tolist(), made.release.to_rows(), strict=True))
    kept = [sorted(row) for row in without(rows, expected)]
    assert [published[i] for i in range(len(rows))] == kept
    lost = sum(item in expected for row in rows for item in row)
    assert made.figures["occurrences_suppressed"] == lost
    assert made.figures["items_suppressed"] == len(expected)
    assert made.promise.sensitive == tuple(sorted(sensitive))


def test_more_moles_than_can_be_held(monkeypatch):
    """Hit in several goes: other items may go, but the last search is complete."""
    rng = random.Random(4)
    rows = [rng.sample("abcdefghij", 4) + ["s"] * (rng.random() < 0.4) for _ in range(25)]
    monkeypatch.setattr(coherence, "LIMIT", 3)
    made = Coherence(h=0.5, k=3, p=3).anonymize(TransactionTable.from_rows(rows), sensitive=["s"])
    assert is_coherent(made.release.to_rows(), ["s"], Fraction(1, 2), 3, 3)
    assert any(step.action == "search again" for step in made.log)


def test_too_large_a_search_is_refused(monkeypatch):
    rows = [[f"i{i}" for i in range(n, n + 6)] + ["s"] for n in range(9) for _ in range(3)]
    monkeypatch.setattr(coherence, "WORK", 10)
    with pytest.raises(InfeasibleError, match="p = 3 there are too many"):
        Coherence(h=1, k=3, p=3).anonymize(TransactionTable.from_rows(rows), sensitive=["s"])


def test_a_frequent_secret_is_warned_about():
    rows = [["a", "s"], ["a", "s"], ["a", "s"], ["b"]]
    made = Coherence(h=0.5, k=1, p=1).anonymize(TransactionTable.from_rows(rows), sensitive=["s"])
    assert [(step.action, step.subject) for step in made.log] == [("warn", "s"), ("suppress", "a")]
    assert "3 of 4 records" in made.log[0].reason
    assert "share a secret" in made.log[1].reason


def test_a_long_log_is_summed_up():
    rows = [[f"i{n}", "all", "s"] for n in range(1_500)]
    made = Coherence(h=1, k=2, p=1).anonymize(TransactionTable.from_rows(rows), sensitive=["s"])
    assert len(made.log) <= 1_001
    assert sum(step.cost for step in made.log) == 1_500
    assert made.release.to_rows() == [["all", "s"]] * 1_500


def test_an_item_repeated_in_a_record_counts_once():
    table = TransactionTable.from_rows([["a", "a", "s"], ["b"], ["b"]], bags=True)
    made = Coherence(h=1, k=2, p=2).anonymize(table, sensitive=["s"])
    assert made.release.to_rows() == [["b"], ["b"], ["s"]]


TABLE = TransactionTable.from_rows([["a", "s"], ["a", "t"], ["b"]])


@pytest.mark.parametrize(
    ("sensitive", "said"),
    [
        (["hiv", "s"], "1 of 2 sensitive items do not occur in the data: 'hiv'"),
        ([], "no sensitive items are given"),
        (["a", "b", "s", "t"], "all items of the data are sensitive"),
    ],
)
def test_sensitive_items_that_cannot_be(sensitive, said):
    with pytest.raises(InputError, match=said) as caught:
        Coherence(k=2).anonymize(TABLE, sensitive=sensitive)
    assert caught.value.fix


def test_a_text_is_no_list_of_items():
    with pytest.raises(ParameterError, match="sensitive is 's'"):
        Coherence(k=2).anonymize(TABLE, sensitive="s")


def test_more_than_there_are():
    with pytest.raises(InfeasibleError, match="only 3 records"):
        Coherence(k=4).anonymize(TABLE, sensitive=["s"])


@pytest.mark.parametrize(
    ("params", "said"),
    [({"h": 2}, "h is 2"), ({"k": 0}, "k is 0"), ({"p": 0}, "p is 0"), ({"p": None}, "p is None")],
)
def test_parameters_that_mean_nothing(params, said):
    with pytest.raises(ParameterError, match=said):
        Coherence(**params)
