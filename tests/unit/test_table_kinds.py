"""Columns of unusual kinds in tables: times to the nanosecond, bytes, objects, signed zeros."""

import numpy as np
import polars as pl
import pytest

from setveil.core.errors import InputError, ParameterError, SetveilError
from setveil.tabular import (
    AlphaKAnonymity,
    ConfidenceBounding,
    DeltaPresence,
    DistinctDiversity,
    KAnonymity,
    KKmAnonymity,
    TCloseness,
    XYAnonymity,
    add_noise,
    anatomize,
    cell,
    full_domain,
    mondrian,
    permute,
    sibling,
    subtree,
    suppress_cells,
    suppress_records,
    suppress_values,
    swap,
)
from setveil.tabular.columns import distinct_values, item_sets
from setveil.tabular.noise_attacks import filter_noise
from setveil.tabular.relational_transaction import relational_transaction

SCHEMES = [
    full_domain, subtree, sibling, cell, mondrian, suppress_records, suppress_values,
    suppress_cells,
]  # fmt: skip
FINE = [pl.Datetime("ns"), pl.Duration("ns"), pl.Time, pl.Datetime("ns", "Europe/Berlin")]


def fine(kind, *numbers):
    return pl.Series("d", numbers, dtype=pl.Int64).cast(kind)


# --- times to the nanosecond ----------------------------------------------------------------


@pytest.mark.parametrize("kind", FINE, ids=str)
def test_checks_tell_nanoseconds_apart(kind):
    times = fine(kind, 1, 2, 2, 2)
    frame = pl.DataFrame({"q": [1] * 4, "d": times, "items": ["a"] * 4})
    assert not KAnonymity(quasi=["d"], k=2).check(frame).holds
    assert not KKmAnonymity(quasi=["d"], items="items", k=2, m=1).check(frame).holds
    assert XYAnonymity(x=["q"], y=["d"], k=2).check(frame).holds
    verdict = ConfidenceBounding(quasi=["q"], sensitive="d", h="1/2").check(frame)
    assert verdict.witnesses[0].confidence == pytest.approx(0.75)
    assert verdict.checked == 4
    assert DistinctDiversity(quasi=["q"], sensitive="d", l=2).check(frame).holds
    assert TCloseness(quasi=["items"], sensitive="d", t=0).check(frame).holds


def test_what_a_witness_shows_is_exact():
    frame = pl.DataFrame([fine(pl.Datetime("ns"), 1, 5_000_000_000, 5_000_000_000)])
    verdict = KAnonymity(quasi=["d"], k=3).check(frame)
    assert {each.items for each in verdict.witnesses} == {
        ("d=1970-01-01 00:00:00.000000001",),
        ("d=1970-01-01 00:00:05",),
    }


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_the_unit_of_a_time_makes_no_difference(zone):
    seconds = pl.DataFrame([fine(pl.Datetime("ms", zone), 1500, 2000)])
    nano = seconds.cast(pl.Datetime("ns", zone))
    assert DeltaPresence(quasi=["d"], low=1, high=1).check(nano, seconds).holds


def test_ordered_times_are_ordered_as_times():
    # As texts, ten seconds would come before two.
    frame = pl.DataFrame(
        {"q": [1, 1, 2, 2], "d": fine(pl.Duration("ms"), 2_000, 2_000, 10_000, 30_000)}
    )
    numbers = frame.with_columns(pl.col("d").cast(pl.Int64))
    told, wanted = (
        TCloseness(quasi=["q"], sensitive="d", t=0).check(each).reason for each in (frame, numbers)
    )
    assert told == wanted


@pytest.mark.parametrize("kind", FINE, ids=str)
def test_schemes_tell_nanoseconds_apart(kind):
    values, places = distinct_values(fine(kind, 2, 1, 1_000, 2))
    assert places.tolist() == [1, 0, 2, 1]
    assert len(set(values)) == 3
    frame = pl.DataFrame([fine(kind, 1, 2, 2, 1, 3, 3)])
    for scheme in SCHEMES:
        assert scheme(frame, quasi=["d"], k=2).frame["d"].n_unique() == 3
    items = pl.DataFrame({"q": [1] * 6, "d": frame["d"]})
    assert len({each for (each,) in item_sets(items["d"])}) == 3
    lists = items.group_by("q").agg("d")
    assert len(item_sets(lists["d"])[0]) == 3
    done = relational_transaction(items, quasi=["d"], items="q", k=2, rows=2)
    assert done.frame["d"].n_unique() == 3
    assert anatomize(items, sensitive="d", l=2).sensitive["count"].sum() == 6
    assert len(permute(items, sensitive="d", l=2)) == 6
    assert swap(items, ["d"]).frame["d"].dtype == kind


def test_lengths_of_time_are_cut_in_their_order():
    frame = pl.DataFrame([fine(pl.Duration("ms"), 2_000, 3_000, 10_000, 30_000)])
    done = mondrian(frame, quasi=["d"], k=2)
    assert sorted(set(done.frame["d"])) == ["{PT10S, PT30S}", "{PT2S, PT3S}"]


# --- signed zeros -----------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda m: m.__name__)
def test_zeros_have_no_sign(scheme):
    zeros = pl.DataFrame({"a": [0.0, -0.0, 0.5, 0.5], "s": [1, 1, 2, 2]})
    for frame in (zeros, zeros[[1, 0, 2, 3]]):
        assert set(scheme(frame, quasi=["a"], k=2).frame["a"]) == {"0.0", "0.5"}


def test_zeros_beside_leave_no_trace_of_the_order():
    frame = pl.DataFrame({"a": [1, 1, 2, 2], "s": [0.0, -0.0, 0.5, 0.5]})
    for made in (
        lambda f, rng: cell(f, quasi=["a"], k=2, rng=rng).frame,
        lambda f, rng: anatomize(f, sensitive="a", l=2, rng=rng).quasi,
        lambda f, rng: permute(f, sensitive="s", l=2, rng=rng).frame,
        lambda f, rng: swap(f, ["a"], rng=rng).frame,
        lambda f, rng: add_noise(f, ["a"], rng=rng).frame,
    ):
        one, two = (
            made(each, np.random.default_rng(1)).write_csv()
            for each in (frame, frame[[1, 0, 2, 3]])
        )
        assert one == two
    for each in (frame, frame[[1, 0, 2, 3]]):
        verdict = KAnonymity(quasi=["s"], k=3).check(each)
        assert verdict.witnesses[0].items == ("s=0.0",)


# --- bytes and objects ------------------------------------------------------------------------


ODD = {
    "bytes": pl.Series("odd", [b"\xff", b"\xff", b"a", b"a"]),
    "objects": pl.Series("odd", [object()] * 4, dtype=pl.Object),
}


@pytest.mark.parametrize("name", ODD)
def test_columns_that_have_no_text_are_refused(name):
    frame = pl.DataFrame([ODD[name], pl.Series("a", [1, 1, 2, 2])])
    for scheme in SCHEMES:
        with pytest.raises(InputError, match="'odd' holds"):
            scheme(frame, quasi=["odd"], k=2)
    for made in (
        lambda: anatomize(frame, sensitive="odd", l=2),
        lambda: permute(frame, sensitive="odd", l=2),
        lambda: swap(frame, ["odd"]),
        lambda: relational_transaction(frame, quasi=["odd"], items="a", k=2, m=1),
        lambda: relational_transaction(frame, quasi=["a"], items="odd", k=2, m=1),
    ):
        with pytest.raises(InputError, match="'odd' holds"):
            made()


def test_objects_beside_cannot_be_published():
    frame = pl.DataFrame([ODD["objects"], pl.Series("a", [1, 1, 2, 2])])
    for made in (
        *(lambda s=scheme: s(frame, quasi=["a"], k=2) for scheme in SCHEMES),
        lambda: anatomize(frame, sensitive="a", l=2),
        lambda: permute(frame, sensitive="a", l=2),
        lambda: swap(frame, ["a"]),
        lambda: add_noise(frame, ["a"]),
        lambda: relational_transaction(frame, quasi=["a"], items="a ", k=2, m=1),
    ):
        with pytest.raises(SetveilError):
            made()


def test_bytes_beside_do_no_harm():
    frame = pl.DataFrame([ODD["bytes"], pl.Series("a", [1, 1, 2, 2])])
    for scheme in SCHEMES:
        assert len(scheme(frame, quasi=["a"], k=2)) == 4
    assert len(anatomize(frame, sensitive="a", l=2)) == 4
    assert KAnonymity(quasi=["odd"], k=2).check(frame).holds


# --- what is asked of the wrong kind ------------------------------------------------------------


def test_a_table_of_nothing_but_the_sensitive_column():
    frame = pl.DataFrame({"s": ["x", "y"]})
    for method in (anatomize, permute):
        with pytest.raises(InputError, match="no column but 's'"):
            method(frame, sensitive="s", l=2)


def test_a_sensitive_column_called_like_the_counts():
    frame = pl.DataFrame({"a": [1, 2], "count": ["x", "y"]})
    with pytest.raises(InputError, match="'count'"):
        anatomize(frame, sensitive="count", l=2)
    assert len(permute(frame, sensitive="count", l=2)) == 2
    assert len(anatomize(frame, sensitive="a", l=2)) == 2


def test_spreads_that_cannot_be():
    frame = pl.DataFrame({"a": [1, 2, 3, 4], "s": [1.0, 2.0, float("nan"), 9.0]})
    with pytest.raises(InputError, match="no numbers, so they have no spread"):
        permute(frame, sensitive="s", l=2, spread=3)
    for spread in ("x", None, [3]):
        with pytest.raises(ParameterError, match="spread is"):
            permute(frame, sensitive="s", l=2, spread=spread)


def test_shares_and_components_that_are_no_numbers():
    frame = pl.DataFrame({"a": [1.0, 2.0, 4.0, 3.0]})
    for made, text in (
        (lambda: swap(frame, ["a"], share="x"), "share is 'x'"),
        (lambda: swap(frame, ["a"], window=None), "window is None"),
        (lambda: add_noise(frame, share="x"), "share is 'x'"),
        (lambda: add_noise(frame, deviations={"a": "x"}), "standard deviation"),
        (lambda: filter_noise(frame, {"a": 1.0}, components=1.5), "components is 1.5"),
        (lambda: filter_noise(frame, {"a": 1.0}, components=True), "components is True"),
    ):
        with pytest.raises(ParameterError, match=text):
            made()


@pytest.mark.parametrize("check", [AlphaKAnonymity, ConfidenceBounding])
class TestNamedValues:
    """`values` of the checks of confidence."""

    def ask(self, check, frame, values):
        own = {"k": 1, "alpha": "1/2"} if check is AlphaKAnonymity else {"h": "1/2"}
        return check(quasi=["q"], sensitive="s", values=values, **own).check(frame)

    def test_a_bare_text_is_refused(self, check):
        frame = pl.DataFrame({"q": [1] * 3, "s": ["hiv", "hiv", "flu"]})
        for values in ("hiv", 5, b"hiv"):
            with pytest.raises(ParameterError, match="values is"):
                self.ask(check, frame, values)
        assert not self.ask(check, frame, ["hiv"]).holds

    def test_numbers_are_compared_as_numbers(self, check):
        frame = pl.DataFrame({"q": [1] * 3, "s": [1.0, 1.0, 2.5]})
        for value in ("1", "1.0", 1, 1.0, "1e0"):
            assert not self.ask(check, frame, [value]).holds
        assert not self.ask(check, frame.cast({"s": pl.Int64}, strict=False), ["1.0"]).holds
        assert self.ask(check, frame, ["2.5"]).holds
        assert self.ask(check, frame, ["one"]).holds
        texts = pl.DataFrame({"q": [1] * 3, "s": ["01", "01", "1"]})
        assert self.ask(check, texts, ["1"]).holds

    def test_values_that_never_occur_are_named(self, check):
        frame = pl.DataFrame({"q": [1] * 3, "s": ["hiv", "hiv", "flu"]})
        verdict = self.ask(check, frame, ["HIV", "flu"])
        assert verdict.holds
        assert verdict.reason.endswith("; 'HIV' never occurs")
        verdict = self.ask(check, frame, ["hiv", "gout", "Gout"])
        assert not verdict.holds
        assert verdict.reason.endswith("; 'Gout', 'gout' never occur")
        assert "occur" not in self.ask(check, frame, ["flu"]).reason
