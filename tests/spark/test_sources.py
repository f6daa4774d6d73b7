"""What Spark is given to read: exactly what was named, or an error that says why not."""

from __future__ import annotations

import polars as pl
import pytest

from setveil.core.errors import EngineError, InputError, ParameterError
from setveil.spark import read_distributed

pytestmark = pytest.mark.spark

ROWS = [["flu", "cough"], ["gout"], ["flu"]]


def put(path, rows=ROWS, column="items"):
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame({column: rows}).write_parquet(path)
    return str(path)


def rows_of(table):
    here = table.collect()
    return sorted(sorted(row) for row in here.to_rows())


@pytest.mark.parametrize(
    "name", ["b[1].parquet", "a?b.parquet", "{x,y}*.parquet", "p%20q#r.parquet"]
)
def test_a_name_is_no_pattern(spark, tmp_path, name):
    path = put(tmp_path / name)
    for other in ("b1.parquet", "axb.parquet", "x.parquet", "p q#r.parquet"):
        put(tmp_path / other, [["other"]])
    assert rows_of(read_distributed(path, spark)) == [["cough", "flu"], ["flu"], ["gout"]]


def test_a_pattern_is_one_where_nothing_has_its_name(spark, tmp_path):
    put(tmp_path / "a1.parquet")
    put(tmp_path / "a2.parquet", [["other"]])
    assert len(rows_of(read_distributed(str(tmp_path / "a*.parquet"), spark))) == 4


@pytest.mark.parametrize("name", ["_a.parquet", ".a.parquet", "a:b.parquet", "a\\b.parquet"])
def test_names_that_spark_cannot_read(spark, tmp_path, name):
    with pytest.raises(InputError, match=r"Spark (passes over|cannot read)"):
        read_distributed(put(tmp_path / name), spark)


def test_what_is_not_there(spark, tmp_path):
    with pytest.raises(InputError, match=r"gone\.parquet: there is no such file"):
        read_distributed(str(tmp_path / "gone.parquet"), spark)
    with pytest.raises(EngineError, match="cannot reach this address: UnknownHostException"):
        read_distributed("hdfs://nobody.invalid/a.parquet", spark)
    with pytest.raises(EngineError, match="cannot reach this address: Class org"):
        read_distributed("s3a://nobody/a.parquet", spark)


def test_nothing_of_a_directory_is_passed_over(spark, tmp_path):
    folder = tmp_path / "all"
    folder.mkdir()
    with pytest.raises(InputError, match="no file in this directory"):
        read_distributed(str(folder), spark)
    put(folder / "year=2020" / "x.parquet")
    put(folder / "year=2021" / "y.parquet")
    assert len(rows_of(read_distributed(str(folder), spark))) == 6
    put(folder / "sub" / "y.parquet")
    with pytest.raises(InputError, match="sub: Spark would pass over this directory"):
        read_distributed(str(folder), spark)
    put(tmp_path / "mixed" / "x.parquet")
    put(tmp_path / "mixed" / "year=2020" / "y.parquet")
    with pytest.raises(InputError, match="year=2020: Spark would pass over this directory"):
        read_distributed(str(tmp_path / "mixed"), spark)
    put(tmp_path / "two" / "x.parquet")
    put(tmp_path / "two" / "y.parquet", column="things")
    with pytest.raises(InputError, match=r"y\.parquet: this file has the columns things"):
        read_distributed(str(tmp_path / "two"), spark)
    put(tmp_path / "empty" / "x.parquet")
    (tmp_path / "empty" / "y.parquet").touch()
    with pytest.raises(InputError, match=r"y\.parquet: this is no Parquet file"):
        read_distributed(str(tmp_path / "empty"), spark)


def test_rows_without_an_id_and_lists_with_nulls(spark, tmp_path):
    path = str(tmp_path / "long.parquet")
    frame = pl.DataFrame({"id": [1, 1, None, None], "item": ["a", "b", "c", "d"]})
    frame.write_parquet(path)
    with pytest.raises(InputError, match=r"a row has no 'id'\. To fix: give every row an id"):
        read_distributed(path, spark).n_records  # noqa: B018  (Spark reads when it must)
    assert rows_of(read_distributed(path, spark, on_error="skip")) == [["a", "b"]]
    with pytest.raises(ParameterError, match="on_error is 'skp'"):
        read_distributed(path, spark, on_error="skp")
    path = put(tmp_path / "lists.parquet", [["a", None], ["b"], None])
    with pytest.raises(InputError, match=r"a list holds a null\. To fix: leave missing items out"):
        read_distributed(path, spark)
    assert rows_of(read_distributed(path, spark, on_error="skip")) == [[], ["b"]]


@pytest.mark.parametrize(
    ("items", "said"),
    [([1.5, 2.0], "double"), ([True, False], "boolean"), ([b"\xff", b"a"], "binary")],
)
def test_items_are_texts_or_whole_numbers(spark, tmp_path, items, said):
    with pytest.raises(InputError, match=f"are of type {said}, not texts or whole numbers"):
        read_distributed(put(tmp_path / "a.parquet", [items]), spark)


@pytest.mark.parametrize("column", ["my.items", "a`b", "Items"])
def test_columns_by_any_name(spark, tmp_path, column):
    path = tmp_path / "a.parquet"
    pl.DataFrame({column: ROWS, "items": [["x"]] * 3}).write_parquet(path)
    found = read_distributed(str(path), spark, item=column)
    assert rows_of(found) == [["cough", "flu"], ["flu"], ["gout"]]


def test_a_line_that_cannot_be_read_is_told_with_its_file(spark, tmp_path):
    path = tmp_path / "a.basket"
    path.write_text('flu,gout\n"flu, bad"\n')
    with pytest.raises(InputError, match=r"a\.basket: this line has quotes: .*use --engine local"):
        read_distributed(str(path), spark)
