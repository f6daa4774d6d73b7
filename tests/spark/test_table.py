"""A distributed table says what a table here says."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import pytest

import setveil
from setveil import TransactionTable
from setveil.core.errors import InputError, ParameterError
from setveil.spark import DistributedTable, read_distributed

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def table():
    rng = random.Random(4)
    words = ["fig", "gum", "ärmel", "zinc", "\U0001f600", "a b"]
    return TransactionTable.from_rows(
        [rng.sample(words, rng.randrange(6)) for _ in range(200)] + [["rare"]]
    )


def test_from_table_and_back(spark, table):
    there = DistributedTable.from_table(table, spark)
    assert there.collect().to_rows() == table.to_rows()
    assert there.n_records == len(table)
    assert there.longest == 5
    assert dict(zip(table.vocabulary.names, there.supports().tolist(), strict=True)) == Counter(
        name for row in table.to_rows() for name in row
    )


def test_pair_counts(spark, table):
    expected = Counter(pair for row in table.to_rows() for pair in combinations(row, 2))
    names = table.vocabulary.names
    there = DistributedTable.from_table(table, spark)
    found = {(names[a], names[b]): n for a, b, n in there.pair_counts(least=40).collect()}
    assert found == {pair: n for pair, n in expected.items() if n >= 40}


def test_written_and_read(spark, table, tmp_path):
    DistributedTable.from_table(table, spark).write(str(tmp_path / "lists"))
    lists = read_distributed(str(tmp_path / "lists"), spark, id="record")
    assert lists.collect().to_rows() == table.to_rows()
    table.to_frame().write_parquet(tmp_path / "long.parquet")
    long = read_distributed(str(tmp_path / "long.parquet"), spark)
    assert long.vocabulary == table.vocabulary
    assert sorted(long.collect().to_rows()) == sorted(filter(None, table.to_rows()))


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.dat", "3 1 2\n\n10 2 \n7\n"), ("a.basket", "fig, gum\n\n gum ,,a b\r\nfig,fig\n")],
)
def test_text_as_it_is_read_here(spark, tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, newline="")
    there = read_distributed(str(path), spark)
    format_ = "fimi" if name.endswith("dat") else "basket"
    here = setveil.read(path, format=format_)
    assert there.vocabulary == here.vocabulary
    assert sorted(there.collect().to_rows()) == sorted(here.to_rows())


def test_a_line_that_is_not_numbers(spark, tmp_path):
    (tmp_path / "a.dat").write_text("1 2\n3 x\n")
    with pytest.raises(InputError, match="not numbers: 3 x"):
        read_distributed(str(tmp_path / "a.dat"), spark)


def test_what_is_not_parquet(spark, tmp_path):
    (tmp_path / "my a.parquet").write_text("no parquet")
    with pytest.raises(InputError, match=r"my a\.parquet: Spark cannot read this file"):
        read_distributed(str(tmp_path / "my a.parquet"), spark)


def test_wrong_frames_are_refused(spark):
    frame = spark.start().createDataFrame([("a", "b")], "who string, what string")
    with pytest.raises(InputError, match="no column 'items'"):
        DistributedTable.from_frame(frame)
    with pytest.raises(ParameterError, match="must name the record"):
        DistributedTable.from_frame(frame, item="what")


def test_without_items(spark):
    rows = [["a", "a", "b"], ["b"], [], ["c", "a"]]
    table = TransactionTable.from_rows(rows, bags=True)
    there = DistributedTable.from_table(table, spark, bags=True)
    left = there.without(["b"])
    assert left.collect().to_rows() == [["a", "a"], [], [], ["a", "c"]]
    assert (left.supports().tolist(), left.bags) == ([2, 0, 1], True)
    assert left.vocabulary is there.vocabulary
    assert there.without([]) is there
    with pytest.raises(InputError, match="'z' does not occur"):
        there.without(["z"])
