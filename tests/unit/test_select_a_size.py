"""Select-a-size: what is drawn, what is refused, and what its loss measure says."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.select_a_size import published

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import SelectASize
from setveil.core.errors import InfeasibleError, NotApplicable, ParameterError
from setveil.measure import average_relative_error, measure_all, perturbation_loss
from setveil.measure.perturbation import items_shown, items_true
from setveil.release import ItemChannel, Key, publish_perturbed, publish_suppressed


@pytest.mark.parametrize("sizes", [None, "1/8,1/4,5/8"])
def test_records_are_drawn_as_the_mechanism_says(sizes):
    table = TransactionTable.from_rows([["a", "b"]] * 4000 + [["c"]])
    made = SelectASize(beta="0.2", sizes=sizes).anonymize(table, rng=np.random.default_rng(3))
    chances = None if sizes is None else [Fraction(part) for part in sizes.split(",")]
    expected = published(frozenset("ab"), frozenset("abc"), Fraction(1, 5), chances)
    counts = {}
    for row, original in zip(made.release.to_rows(), made.key.records.tolist(), strict=True):
        if original < 4000:
            counts[frozenset(row)] = counts.get(frozenset(row), 0) + 1
    assert set(counts) <= set(expected)
    for outcome, chance in expected.items():
        spread = 4 * (4000 * float(chance * (1 - chance))) ** 0.5
        assert abs(counts.get(outcome, 0) - 4000 * float(chance)) <= spread


def test_nothing_is_promised_and_said_so():
    made = SelectASize().anonymize(TransactionTable.from_rows([["a"], ["b"]]))
    assert made.promise is None
    assert made.log[0].action == "warn"
    assert "promises nothing" in made.log[0].subject


def test_two_runs_differ_and_a_seed_repeats_one():
    table = TransactionTable.from_rows([["a", "b"], ["c"]] * 50)
    draws = [SelectASize().anonymize(table).release.to_rows() for _ in range(2)]
    assert draws[0] != draws[1]
    seeded = [
        SelectASize().anonymize(table, rng=np.random.default_rng(1)).release.to_rows()
        for _ in range(2)
    ]
    assert seeded[0] == seeded[1]


def test_pure_noise_is_refused():
    for beta in (0.5, "1/2", Fraction(1, 2)):
        with pytest.raises(ParameterError, match="pure noise"):
            SelectASize(beta=beta)
    assert SelectASize(beta=0.5, sizes="0,1").sizes == "0,1"  # here it is not


@pytest.mark.parametrize("beta", [0, 1, -0.1, 1.5, "x", None, True, float("nan")])
def test_a_beta_that_means_nothing(beta):
    with pytest.raises(ParameterError, match="beta is"):
        SelectASize(beta=beta)


@pytest.mark.parametrize("sizes", ["", "a,b", "0.5", "0.5,0.6", "-1,2", [0.5, None]])
def test_sizes_that_mean_nothing(sizes):
    with pytest.raises(ParameterError, match="sizes"):
        SelectASize(sizes=sizes)


def test_sizes_may_be_given_as_numbers():
    assert SelectASize(sizes=[0.25, 0.75]).sizes == "1/4,3/4"


def test_a_record_that_is_longer_than_the_sizes():
    table = TransactionTable.from_rows([["a", "b", "c"]])
    with pytest.raises(InfeasibleError, match="has 3 items, and there are chances of keeping up"):
        SelectASize(sizes="1/2,1/2").anonymize(table)


def test_a_release_that_would_be_too_large():
    n, width = 100_000, 30_000
    table = TransactionTable.from_csr(
        np.arange(n + 1), np.arange(n) % width, [f"{i:05}" for i in range(width)]
    )
    with pytest.raises(InfeasibleError, match="300 million items"):
        SelectASize(beta=0.1).anonymize(table)


def test_counts_can_be_answered_and_get_better_with_more_records():
    rng = np.random.default_rng(1)
    errors = []
    for n in (200, 20_000):
        rows = [[name for name in "abcdef" if rng.random() < 0.4] for _ in range(n)]
        table = TransactionTable.from_rows(rows)
        made = SelectASize(beta=0.2).anonymize(table, rng=rng)
        errors.append(average_relative_error(made.release, table, rng=rng).value)
    assert errors[1] < errors[0] / 4


# --- the measures ---------------------------------------------------------------------------------

TREE = Taxonomy.from_parents({"a": "ab", "b": "ab", "c": "cd", "d": "cd", "ab": "*", "cd": "*"})


def brute_force_loss(before, after):
    """The loss by its definition, with ancestors as sets of leaves, smallest first."""
    nodes = [{"a", "b"}, {"c", "d"}, {"a", "b", "c", "d"}]
    loss = Fraction(0)
    for t, s in zip(before, after, strict=True):
        wrong = t ^ s
        if len(wrong) > 1:
            width = next(len(node) for node in nodes if wrong <= node)
            loss += len(t - s) * Fraction(width, 4)
    return loss / sum(map(len, before))


sets = st.lists(st.tuples(*[st.sets(st.sampled_from("abcd"))] * 2), min_size=1, max_size=6)


@settings(max_examples=100, deadline=None)
@given(pairs=sets)
def test_the_loss_of_the_paper(pairs):
    before, after = [p[0] for p in pairs], [p[1] for p in pairs]
    drawn = TransactionTable.from_rows(after)
    release, key = publish_perturbed(drawn, ItemChannel(beta="1/4", domain=4))
    table = TransactionTable.from_rows(before)
    if not any(before):
        with pytest.raises(NotApplicable, match="no items"):
            perturbation_loss(release, table, key=key, taxonomy=TREE)
        return
    tree = TREE.for_items("abcd")
    found = perturbation_loss(release, table, key=key, taxonomy=tree)
    assert found == pytest.approx(float(brute_force_loss(before, after)))
    both = sum(len(t & s) for t, s in pairs)
    assert items_shown(release, table, key=key) == both / sum(map(len, before))
    if any(after):
        assert items_true(release, table, key=key) == both / sum(map(len, after))


def test_the_defects_of_the_papers_loss():
    # One lost item costs nothing, and neither do any number of added ones.
    table = TransactionTable.from_rows([["a", "b"], ["c"]])
    drawn = TransactionTable.from_rows([["a"], ["a", "b", "c", "d"]])
    release, key = publish_perturbed(drawn, ItemChannel(beta="1/4", domain=4))
    assert perturbation_loss(release, table, key=key, taxonomy=TREE) == 0


def test_measures_say_what_only_the_key_tells():
    table = TransactionTable.from_rows([["a", "b"], ["c"], ["a", "d"]] * 30)
    made = SelectASize(beta=0.1).anonymize(table, rng=np.random.default_rng(1))
    without = measure_all(made.release, table, taxonomy=TREE)
    assert without["items_true"] is None
    assert without["length_mean"] == len(made.release.items) / 90
    assert without["are"] is not None
    figures = measure_all(made.release, table, key=made.key, taxonomy=TREE)
    assert figures["items_exact"] + figures["items_suppressed"] == pytest.approx(1)
    assert 0.8 < figures["items_exact"] < 1
    assert 0 < figures["perturbation_loss"] < 0.3
    assert figures["ncp"] is None


def test_other_forms_have_none_of_it():
    table = TransactionTable.from_rows([["a"]])
    release, key = publish_suppressed(table, [True])
    with pytest.raises(NotApplicable, match="not randomized"):
        items_true(release, table, key=key)
    empty, _ = publish_perturbed(TransactionTable.from_rows([[]]), ItemChannel(beta=0.1, domain=1))
    with pytest.raises(NotApplicable, match="nothing is published"):
        items_true(empty, table, key=Key(records=[0]))
