"""Frames of three libraries and Parquet files."""

from __future__ import annotations

import gzip
import io
import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.io.reported import read_reported

from setveil import TransactionTable
from setveil.core.errors import InputError
from setveil.io.frames import as_polars, table_from_frame, table_from_one_hot
from setveil.io.readers import read

LONG = {"who": [7, 7, 3, 7], "what": ["flu", "gout", None, "flu"], "when": [1.5, 2, 3, 4]}
MAKERS = [pl.DataFrame, pl.LazyFrame, pd.DataFrame, pa.table]


@pytest.mark.parametrize("make", MAKERS)
def test_long_frames(make):
    table = TransactionTable.from_frame(make(LONG), id="who", item="what")
    assert table.to_rows() == [["flu", "gout"], []]


@pytest.mark.parametrize("make", MAKERS)
def test_lists_and_flags(make):
    lists = make({"tid": [1, 2], "items": [["b", "a", "b"], []]})
    assert table_from_frame(lists, item_column="items").to_rows() == [["a", "b"], []]
    flags = make({"tid": [1, 2], "x": [True, False], "y": [1, 0]})
    assert table_from_one_hot(flags, id_column="tid").to_rows() == [["x", "y"], []]


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table])
def test_numbers_are_names_too(make):
    frame = make({"who": ["a", "a", "b"], "what": [10, 9, None]})
    assert table_from_frame(frame, id_column="who", item_column="what").to_rows() == [
        ["10", "9"],
        [],
    ]


def test_categories_and_missing_values():
    for kind in (pl.Categorical, pl.Enum(["x", "y"])):
        frame = pl.DataFrame({"who": [1, 2], "what": pl.Series(["y", "x"], dtype=kind)})
        assert table_from_frame(frame, id_column="who", item_column="what").to_rows() == [
            ["y"],
            ["x"],
        ]
    frame = pd.DataFrame({"who": [1, 2], "what": pd.Categorical(["y", None])})
    assert table_from_frame(frame, id_column="who", item_column="what").to_rows() == [["y"], []]


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"who": [1], "other": ["x"]}, "no columns are called 'what'"),
        ({"who": [None, 1], "what": ["x", "y"]}, "row 1: 'x' in 'what' has no 'who'"),
        ({"who": [1], "what": [1.5]}, "not texts or whole numbers"),
        ({"who": [1], "what": [True]}, "not texts or whole numbers"),
    ],
)
def test_unfit_frames(make, data, message):
    with pytest.raises(InputError, match=message):
        table_from_frame(make(data), id_column="who", item_column="what")


def test_other_unfit_frames():
    with pytest.raises(InputError, match="a dict is no frame"):
        table_from_frame(LONG, id_column="who", item_column="what")
    with pytest.raises(InputError, match="no column tells the records apart"):
        table_from_frame(pl.DataFrame({"what": ["x"]}), item_column="what")
    with pytest.raises(InputError, match="row 2: '2' is neither 0 nor 1"):
        table_from_one_hot(pl.DataFrame({"x": [1, 2]}))
    with pytest.raises(InputError, match="'x' is of type String"):
        table_from_one_hot(pl.DataFrame({"x": ["1"]}))
    with pytest.raises(InputError, match=r"row 1: .* holds a null"):
        table_from_frame(pl.DataFrame({"items": [["a", None]]}), item_column="items")
    with pytest.raises(InputError, match="mixes types"):
        table_from_frame(
            pd.DataFrame({"who": [1, 1], "what": ["x", 3]}), id_column="who", item_column="what"
        )
    with pytest.raises(InputError, match="2 columns are called 'a'"):
        as_polars(pd.DataFrame([[1, 2]], columns=["a", "a"]), None)


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.one_of(st.none(), st.sampled_from("abcdé日"))),
        min_size=1,
        max_size=30,
    )
)
def test_pairs_agree_with_dicts_of_sets(pairs):
    expected: dict[int, set[str]] = {}
    for record, item in pairs:
        expected.setdefault(record, set()).update([item] if item else [])
    ids, items = zip(*pairs, strict=True)
    frame = pl.DataFrame({"i": ids, "t": pl.Series(items, dtype=pl.String)})
    table = table_from_frame(frame, id_column="i", item_column="t")
    assert table.to_rows() == [sorted(row) for row in expected.values()]


@pytest.mark.parametrize(
    "case",
    [
        ("long", LONG, {"id": "who", "item": "what"}, [["flu", "gout"], []]),
        ("long", {"id": [1, 2], "item": [5, 6]}, {}, [["5"], ["6"]]),
        ("one-hot", {"id": ["p", "q"], "x": [True, False], "y": [1, 0]}, {}, [["x", "y"], []]),
        ("basket", {"who": [1, 2], "items": [["x"], None]}, {}, [["x"], []]),
    ],
)
def test_parquet(tmp_path, monkeypatch, case):
    kind, data, options, rows = case
    path = tmp_path / "odd [name]*.parquet"
    pl.DataFrame(data, strict=False).write_parquet(path)
    table, report = read_reported(path, **options)
    assert (report.format, report.guessed, table.to_rows()) == (kind, True, rows)
    assert read(path, kind, **options).to_rows() == rows
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed, **options).to_rows() == rows
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert read("-", **options).to_rows() == rows


def test_parquet_that_does_not_fit(tmp_path):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"a": ["x"], "b": ["y"]}).write_parquet(path)
    with pytest.raises(InputError, match="not clear which of them hold items"):
        read(path)
    with pytest.raises(InputError, match="cannot hold the format 'fimi'"):
        read(path, "fimi")
    with pytest.raises(InputError, match="no column 'c' among 'a', 'b'"):
        read(path, "long", id="c", item="a")
    pl.DataFrame({"id": [], "item": []}).write_parquet(path)
    with pytest.raises(InputError, match="no record in it"):
        read(path)


def test_parquet_skips_and_lists(tmp_path):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"id": [1, None, 2], "item": ["x", "y", "z"]}).write_parquet(path)
    table, report = read_reported(path, on_error="skip")
    assert table.to_rows() == [["x"], ["z"]]
    assert report.skipped == [(f"{path}, row 2", "', y'", "has no 'id'")]
    pl.DataFrame({"x": [1, 3, 0], "y": [1, 1, 1]}).write_parquet(path)
    table, report = read_reported(path, "one-hot", on_error="skip")
    assert table.to_rows() == [["x", "y"], ["y"]]
    assert report.skipped[0][0] == f"{path}, row 2"
