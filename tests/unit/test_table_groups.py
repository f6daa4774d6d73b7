"""Anatomized, permuted and swapped tables, and noise, against plain counts."""

from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setveil.core.errors import InfeasibleError, InputError, ParameterError
from setveil.tabular import add_noise, anatomize, permute, swap

tables = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 6)), min_size=1, max_size=30)
many = settings(max_examples=150, deadline=None)


def as_frame(rows):
    return pl.DataFrame({"age": [r[0] for r in rows], "pay": [r[1] for r in rows]})


def groups_of(frame):
    found = defaultdict(list)
    for group, pay in frame.select("group", "pay").iter_rows():
        found[group].append(pay)
    return found


def feasible(rows, least):
    return max(Counter(pay for _, pay in rows).values()) * least <= len(rows)


@many
@given(tables, st.integers(2, 4))
def test_anatomized_values_are_rare_in_each_group(rows, least):
    frame = as_frame(rows)
    if not feasible(rows, least):
        with pytest.raises(InfeasibleError, match=f"l is {least}, but"):
            anatomize(frame, sensitive="pay", l=least)
        return
    done = anatomize(frame, sensitive="pay", l=least)
    assert done.quasi.columns == ["age", "group"]
    sizes = Counter(done.quasi["group"])
    told = Counter()
    for group, pay, count in done.sensitive.iter_rows():
        assert count * least <= sizes[group]
        told[group, pay] += count
    truth = Counter(
        (group, rows[i][1]) for group, i in zip(done.quasi["group"], done.key, strict=True)
    )
    assert told == truth
    assert done.quasi["age"].to_list() == [rows[i][0] for i in done.key]


@many
@given(tables, st.integers(2, 3), st.integers(0, 6))
def test_permuted_groups_keep_their_values_and_are_spread(rows, least, spread):
    frame = as_frame(rows)
    pays = [pay for _, pay in rows]
    if not feasible(rows, least) or max(pays) - min(pays) < spread:
        with pytest.raises(InfeasibleError):
            permute(frame, sensitive="pay", l=least, spread=spread)
        return
    done = permute(frame, sensitive="pay", l=least, spread=spread)
    before = defaultdict(list)
    for group, i in zip(done.frame["group"], done.key, strict=True):
        before[group].append(rows[i][1])
    for group, values in groups_of(done.frame).items():
        assert sorted(values) == sorted(before[group])
        assert max(Counter(values).values()) * least <= len(values)
        assert max(values) - min(values) >= spread
    assert done.frame["age"].to_list() == [rows[i][0] for i in done.key]


def test_permuted_values_are_really_shuffled():
    frame = pl.DataFrame({"age": range(200), "pay": range(200)})
    done = permute(frame, sensitive="pay", l=50, rng=np.random.default_rng(1))
    kept = sum(age == pay for age, pay in done.frame.select("age", "pay").iter_rows())
    assert kept < 20  # one in a group of 50 or more stays, on average: 4


@many
@given(tables, st.sampled_from([0.2, 0.5, 1.0]), st.sampled_from([0.1, 1.0]))
def test_swapping_keeps_each_column_and_counts_what_moved(rows, share, window):
    if len(rows) < 2:
        return
    done = swap(as_frame(rows), ["pay"], share=share, window=window)
    assert Counter(done.frame["pay"]) == Counter(pay for _, pay in rows)
    assert done.frame["age"].to_list() == [rows[i][0] for i in done.key]
    changed = sum(pay != rows[i][1] for pay, i in zip(done.frame["pay"], done.key, strict=True))
    assert changed <= done.moved["pay"] <= max(2, round(share * len(rows)))


def test_rank_swapping_stays_near():
    frame = pl.DataFrame({"age": range(1000), "pay": range(1000)})
    done = swap(frame, ["pay"], share=1.0, window=0.05, rng=np.random.default_rng(1))
    apart = (done.frame["age"] - done.frame["pay"]).abs()
    assert apart.max() <= 50
    assert done.moved["pay"] > 950
    far = swap(frame, ["pay"], share=1.0, rng=np.random.default_rng(1))
    assert (far.frame["age"] - far.frame["pay"]).abs().max() > 500


@pytest.mark.parametrize(
    "method",
    [
        lambda frame, rng: anatomize(frame, sensitive="pay", l=2, rng=rng).quasi,
        lambda frame, rng: anatomize(frame, sensitive="pay", l=2, rng=rng).sensitive,
        lambda frame, rng: permute(frame, sensitive="pay", l=2, spread=3, rng=rng).frame,
        lambda frame, rng: swap(frame, ["pay", "age"], rng=rng).frame,
        lambda frame, rng: add_noise(frame, ["pay"], rng=rng).frame,
    ],
)
def test_order_and_library_of_the_input_leave_no_trace(method):
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"age": rng.integers(0, 9, 60), "pay": rng.integers(0, 9, 60)})
    wanted = method(frame, np.random.default_rng(7))
    mixed = frame.sample(fraction=1, shuffle=True, seed=1)
    assert method(mixed, np.random.default_rng(7)).equals(wanted)
    assert method(mixed.to_pandas(), np.random.default_rng(7)).equals(wanted)
    assert method(mixed.to_arrow(), np.random.default_rng(7)).equals(wanted)
    assert not method(frame, np.random.default_rng(8)).equals(wanted)


def test_sensitive_values_may_be_texts_or_missing():
    frame = pl.DataFrame({"age": [1, 2, 3], "pay": ["flu", None, "hiv"]})
    done = anatomize(frame, sensitive="pay", l=3)
    assert done.sensitive.rows() == [(0, None, 1), (0, "flu", 1), (0, "hiv", 1)]
    with pytest.raises(InputError, match="no numbers, so they have no spread"):
        permute(frame, sensitive="pay", l=2, spread=1)


def test_bad_requests_are_refused():
    frame = pl.DataFrame({"age": [1, 2], "pay": [5, 6], "list": [[1], [2]]})
    with pytest.raises(InputError, match="no columns are called 'wage'"):
        anatomize(frame, sensitive="wage", l=2)
    with pytest.raises(InputError, match="holds lists"):
        permute(frame, sensitive="list", l=2)
    with pytest.raises(InputError, match="'group' already"):
        anatomize(frame.rename({"age": "group"}), sensitive="pay", l=2)
    for least in (0, True, 2.5):
        with pytest.raises(ParameterError, match="l is"):
            anatomize(frame, sensitive="pay", l=least)
    for spread in (-1, float("inf"), float("nan")):
        with pytest.raises(ParameterError, match="spread is"):
            permute(frame, sensitive="pay", l=2, spread=spread)
    with pytest.raises(InfeasibleError, match="lie between 5 and 6"):
        permute(frame, sensitive="pay", l=2, spread=Fraction(3, 2))
    for share in (0, 1.5, float("nan"), True):
        with pytest.raises(ParameterError, match="share is"):
            swap(frame, ["pay"], share=share)
    with pytest.raises(ParameterError, match="window is"):
        swap(frame, ["pay"], window=0)
    with pytest.raises(InputError, match="nothing to swap"):
        swap(frame[:1], ["pay"])
    for made in (
        lambda: anatomize(frame[:0], sensitive="pay", l=2),
        lambda: swap(frame[:0], ["pay"]),
    ):
        with pytest.raises(InputError):
            made()
