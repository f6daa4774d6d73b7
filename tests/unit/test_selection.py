"""Records chosen for their type-token ratio or their cell density."""

import gzip
import json
import math
import re

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.reference import selection as reference
from tests.strategies import tables

from setveil import TransactionTable
from setveil.core.errors import InfeasibleError, InputError, ParameterError
from setveil.measure.profile import cell_density, ttr
from setveil.text import selection
from setveil.text.selection import (
    Ratio,
    at_random,
    choose,
    extreme,
    select_records,
    truncate_records,
    with_cell_density,
    with_ttr,
)

ITEMS = [f"i{n}" for n in range(8)]
GROUPS = [["i0", "i1", "i2"], ["i3", "i4"], ["i5"]]
targets = st.sampled_from([0.05, 0.2, 0.25, 1 / 3, 0.4, 0.5, 0.6, 0.7, 0.75, 1.0])


@st.composite
def small(draw):
    """Draw a table, a size and a generator's seed."""
    row = st.lists(st.sampled_from(ITEMS), max_size=6, unique=True)
    rows = draw(st.lists(row, min_size=1, max_size=9))
    return TransactionTable.from_rows(rows), draw(st.integers(1, len(rows))), draw(st.integers(0))


def range_said(error):
    """Return the two ends and the nearest value in the message of an error."""
    said = re.search(
        r"(?:they have|reached) (\S+) to (\S+), and the nearest is ([\d.e-]+\d|\d)", str(error)
    )
    return [float(number) for number in said.groups()]


def check(table, size, target, wish, of):
    """Compare a selection with every choice there is."""
    rows = table.to_rows()
    every = reference.values(rows, size, of)
    assume(every)
    fits = [value for value in every if abs(value - target) <= 0.01 + 1e-12]
    if fits:
        chosen = wish()
        assert chosen.value in [float(value) for value in fits]
        picked = [rows[i] for i in chosen.records.tolist()]
        assert sorted(picked) == sorted(chosen.table.to_rows())
        assert float(of(picked)) == chosen.value
        assert len(chosen.table) == size
        assert sorted({item for row in picked for item in row}) == [*chosen.table.vocabulary.names]
        return
    with pytest.raises(InfeasibleError) as refused:
        wish()
    low, high, nearest = range_said(refused.value)
    assert low == pytest.approx(float(min(every)), rel=1e-3)
    assert high == pytest.approx(float(max(every)), rel=1e-3)
    assert abs(nearest - target) == pytest.approx(
        min(abs(float(value) - target) for value in every), abs=1e-3
    )


# --- against every choice -----------------------------------------------------------------------


@given(small(), targets)
def test_ttr_is_found_exactly_where_some_choice_has_it(case, target):
    table, size, seed = case
    assume(len(table.items))
    rng = np.random.default_rng(seed)
    check(table, size, target, lambda: with_ttr(table, target, size=size, rng=rng), reference.ttr)


@given(small(), targets)
def test_cell_density_is_found_exactly_where_some_choice_has_it(case, target):
    table, size, seed = case

    def of(rows):
        return reference.cell_density(rows, GROUPS)

    assume(of(table.to_rows()) is not None)
    rng = np.random.default_rng(seed)
    check(
        table,
        size,
        target,
        lambda: with_cell_density(table, GROUPS, target, size=size, rng=rng),
        of,
    )


@settings(max_examples=50)
@given(small(), targets, st.booleans())
def test_the_search_finds_what_the_enumeration_finds(case, target, by_cells):
    """Forced to search tiny cases, it may only miss where a target needs several swaps at once."""
    table, size, seed = case
    assume(len(table.items))
    of = reference.ttr if not by_cells else (lambda rows: reference.cell_density(rows, GROUPS))
    every = reference.values(table.to_rows(), size, of)
    assume(every)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "FEW", 0)
        rng = np.random.default_rng(seed)
        try:
            if by_cells:
                chosen = with_cell_density(table, GROUPS, target, size=size, rng=rng)
            else:
                chosen = with_ttr(table, target, size=size, rng=rng)
        except InfeasibleError as refused:
            low, high, nearest = range_said(refused)
            assert low <= nearest <= high
            if by_cells:  # a ratio of sums: the range is exact
                assert low == pytest.approx(float(min(every)), rel=1e-3)
                assert high == pytest.approx(float(max(every)), rel=1e-3)
            else:
                assert float(min(every)) - 1e-3 <= low
                assert high <= float(max(every)) + 1e-3
            return
    assert abs(chosen.value - target) <= 0.01 + 1e-12
    assert chosen.value in [float(value) for value in every]


@given(st.integers(1, 40), st.data())
def test_few_choices_are_counted(n, data):
    size = data.draw(st.integers(1, n))
    assert selection._few_choices(n, size) == (math.comb(n, size) <= selection.FEW)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=9),
    st.data(),
)
def test_the_extreme_choice_of_a_ratio_of_sums(pairs, data):
    parts = np.array([min(pair) for pair in pairs])
    wholes = np.array([max(pair) for pair in pairs])
    assume(wholes.any())
    size = data.draw(st.integers(1, len(pairs)))
    ratio = Ratio(
        offsets=np.zeros(len(pairs) + 1, dtype=np.int64),
        items=np.zeros(0, dtype=np.int32),
        n_items=0,
        parts=parts,
        wholes=wholes,
    )
    every = reference.values(
        list(range(len(pairs))),
        size,
        lambda chosen: (
            sum(parts[chosen].tolist()) / sum(wholes[chosen].tolist())
            if wholes[chosen].any()
            else None
        ),
    )
    assert ratio.of(extreme(ratio, size=size, highest=False)) == min(every)
    assert ratio.of(extreme(ratio, size=size, highest=True)) == max(every)


# --- the measures -------------------------------------------------------------------------------


@given(tables())
def test_ttr_by_its_definition(table):
    assert ttr(table) == float(reference.ttr(table.to_rows()) or 0)


@given(small(), st.booleans())
def test_cell_density_by_its_definition(case, bags):
    table = case[0]
    if bags:
        table = TransactionTable.from_rows([row + row[:1] for row in table.to_rows()], bags=True)
    groups = [*GROUPS, ["i6", "unheard of"]]
    expected = reference.cell_density(table.to_rows(), groups)
    assert cell_density(table, groups) == (None if expected is None else float(expected))


def test_an_item_in_two_groups_is_refused():
    table = TransactionTable.from_rows([["a", "b"]])
    with pytest.raises(ParameterError, match="'b' stands in two groups"):
        cell_density(table, [["a", "b"], ["b", "c"]])


# --- what a user relies on ----------------------------------------------------------------------


@settings(max_examples=30)
@given(small(), targets, st.randoms(use_true_random=False))
def test_the_order_of_the_input_tells_nothing(case, target, random):
    table, size, seed = case
    assume(len(table.items))
    rows = table.to_rows()
    random.shuffle(rows)
    again = TransactionTable.from_rows(rows)
    results = []
    for given_table in (table, again):
        rng = np.random.default_rng(seed)
        try:
            found = with_ttr(given_table, target, size=size, length=4, rng=rng)
            results.append((found.table.to_rows(), found.value, found.at_random))
        except InfeasibleError as refused:
            results.append(str(refused))
    assert results[0] == results[1]


@given(tables(min_rows=1), st.integers(1, 4), st.integers(0))
def test_shortened_records_are_parts_of_the_records(table, length, seed):
    short = truncate_records(table, length, rng=np.random.default_rng(seed))
    for before, after in zip(table, short, strict=True):
        assert len(after) == min(len(before), length)
        assert set(after) <= set(before)


def test_each_item_is_as_likely_to_stay_in_a_shortened_record():
    rng = np.random.default_rng(1)
    table = TransactionTable.from_rows([["a", "b", "c"]] * 30_000)
    assert truncate_records(table, 1, rng=rng).supports() / 30_000 == pytest.approx(1 / 3, abs=0.02)


def test_among_few_choices_each_that_fits_is_as_likely():
    table = TransactionTable.from_rows([["a"], ["b"], ["c"], ["a", "b"]])
    rng = np.random.default_rng(1)
    drawn = [with_ttr(table, 1.0, size=1, rng=rng).records[0] for _ in range(1000)]
    assert np.bincount(drawn) / 1000 == pytest.approx(0.25, abs=0.06)


def test_a_gap_between_possible_values_is_told_from_what_is_out_of_range():
    table = TransactionTable.from_rows([["a", "b"], ["a", "b"], ["c", "d"]])
    with pytest.raises(InfeasibleError, match="allow more tolerance"):
        with_ttr(table, 0.75, size=2)
    with pytest.raises(InfeasibleError, match="ask for a ttr in that range"):
        with_ttr(table, 0.3, size=2)


def test_bags_count_as_sets():
    bag = TransactionTable.from_rows([["a", "a", "b"], ["a", "c", "c"]], bags=True)
    assert with_ttr(bag, 0.75, size=2).value == 0.75


def test_a_random_choice_is_one_of_the_table():
    table = TransactionTable.from_rows([["a"], ["b", "c"], ["d"]])
    chosen = at_random(table, size=2, rng=np.random.default_rng(3))
    assert len(chosen) == 2
    assert set(map(tuple, chosen)) <= set(map(tuple, table))


def test_chosen_records_leave_nothing_of_the_others():
    table = TransactionTable.from_rows([["secret"], ["a"], ["b", "a"]])
    assert select_records(table, np.array([1, 2])).vocabulary.names == ("a", "b")


@pytest.mark.parametrize(
    ("wish", "error"),
    [
        ({"target": 0.0}, ParameterError),
        ({"target": 1.2}, ParameterError),
        ({"target": float("nan")}, ParameterError),
        ({"size": 0}, ParameterError),
        ({"size": 4}, ParameterError),
        ({"tolerance": -0.1}, ParameterError),
        ({"length": 0}, ParameterError),
    ],
)
def test_wrong_wishes_are_refused(wish, error):
    table = TransactionTable.from_rows([["a"], ["b"], ["a", "b"]])
    with pytest.raises(error):
        with_ttr(table, **({"target": 0.5, "size": 2} | wish))


def test_data_without_what_is_measured_is_refused():
    with pytest.raises(InputError, match="no record holds an item"):
        with_ttr(TransactionTable.from_rows([[], []]), 0.5, size=1)
    with pytest.raises(InputError, match="no record holds a member"):
        with_cell_density(TransactionTable.from_rows([["a"], ["b"]]), [["c", "d"]], 0.5, size=1)


def test_progress_is_told():
    told = []
    ratio = Ratio(
        offsets=np.arange(31),
        items=np.arange(30, dtype=np.int32),
        n_items=30,
        parts=np.zeros(30, dtype=np.int64),
        wholes=np.full(30, 2),
    )
    found = choose(
        ratio,
        0.9,
        size=15,
        tolerance=0.01,
        rng=np.random.default_rng(1),
        progress=lambda *now: told.append(now),
    )
    assert not found.reached
    assert (found.low, found.high) == (0.5, 0.5)
    assert told == [("choosing records", start, 3) for start in range(3)]


# --- real data ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wikipedia(data_dir):
    """Return the words of three letters and more of each paragraph."""
    with gzip.open(data_dir / "wikipedia_squad2_dev_35topics.jsonl.gz", "rt") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    return TransactionTable.from_rows(re.findall("[a-z]{3,}", text.lower()) for text in texts)


@pytest.mark.parametrize(
    ("target", "length"), [(0.2, None), (0.3, 28), (0.4, 13), (0.5, 7), (0.6, 4), (0.7, 2)]
)
def test_the_range_of_the_paper_on_wikipedia(wikipedia, target, length):
    rng = np.random.default_rng(1)
    chosen = with_ttr(wikipedia, target, size=1000, length=length, rng=rng)
    assert abs(ttr(chosen.table) - target) <= 0.01
    assert len(chosen.table) == 1000


def test_what_cannot_be_is_refused_with_a_way_out_that_works(wikipedia):
    with pytest.raises(InfeasibleError) as refused:
        with_ttr(wikipedia, 0.5, size=1000, rng=np.random.default_rng(1))
    said = str(refused.value)
    low, high, nearest = range_said(said)
    assert low < 0.2 < nearest == high < 0.5
    size = int(re.search(r"a size of about (\d+)", said)[1])
    length = int(re.search(r"a length of about (\d+)", said)[1])
    rng = np.random.default_rng(2)
    assert with_ttr(wikipedia, 0.5, size=size, rng=rng).value == pytest.approx(0.5, abs=0.01)
    chosen = with_ttr(wikipedia, 0.5, size=1000, length=length, rng=rng)
    assert chosen.value == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("target", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
def test_the_densities_of_the_paper_on_groceries(data_dir, target):
    from setveil.io.readers import read

    table = read(data_dir / "groceries.basket.csv")
    items = [table.vocabulary[i] for i in np.argsort(-table.supports()).tolist()]
    groups = [items[i : i + 4] for i in range(0, 40, 4)]
    rng = np.random.default_rng(1)
    try:
        chosen = with_cell_density(table, groups, target, size=500, rng=rng)
    except InfeasibleError as refused:
        low, high, _ = range_said(refused)
        assert not low <= target <= high
        return
    assert cell_density(chosen.table, groups) == chosen.value
    assert abs(chosen.value - target) <= 0.01
