"""What is written reads back, and what a format cannot carry is said."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.io.reported import read_reported

from setveil import TransactionTable
from setveil.core.errors import InputError, ParameterError, SetveilError
from setveil.core.files import output_file
from setveil.io.readers import read
from setveil.io.tables import MISSING
from setveil.io.writers import write

AWKWARD = st.sampled_from(
    [
        *("a,b", 'say "hi"', '"', "two\nlines", "cr\rlf\r\n", " lead", "trail ", "\ttab", "é日本"),
        *(
            "1",
            "0",
            "007",
            "-1",
            "id",
            "record",
            "item",
            "items",
            "@ITEM=1=x",
            "#",
            "null",
            "a;b|c",
        ),
        *("\ufeffbom", "\u2028", "\x85", "\x0b", "[", "{}", "\\", "::", "a:", "x", "true", "'"),
    ]
)
NAMES = st.one_of(
    AWKWARD, st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
)
NUMBERS = st.integers(0, 10**18 - 1).map(str)
ENDINGS = ["", ".gz", ".zst"]
DELIMITED = ["basket", "long", "one-hot"]


def tables(names):
    rows = st.lists(st.lists(names, max_size=5), min_size=1, max_size=6)
    return rows.map(TransactionTable.from_rows)


def no_zero(table):
    return not any("\0" in name for name in table.vocabulary.names)


def one_line(table):
    return no_zero(table) and not any(
        "\n" in name or "\r" in name for name in table.vocabulary.names
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("written")


@given(
    table=tables(NAMES).filter(no_zero),
    format=st.sampled_from(DELIMITED),
    delimiter=st.sampled_from([",", ";", "\t", " ", "|", "::", ", ", "1", "d", "é"]),
    ending=st.sampled_from(ENDINGS),
)
@settings(max_examples=300)
def test_delimited_text(folder, table, format, delimiter, ending):
    assume(format != "one-hot" or table.n_items)  # no column would hold items
    assume(format != "long" or MISSING.isdisjoint(table.vocabulary.names))
    path = folder / f"a.csv{ending}"
    write(table, path, format, delimiter=delimiter)
    # The first column is named: an item of a one-hot table may bear the name of an id.
    options = {"header": False} if format == "basket" else {}
    assert read(path, format, delimiter=delimiter, **options).to_rows() == table.to_rows()


@given(table=tables(st.one_of(NAMES, st.just(""), st.just("\0"))), ending=st.sampled_from(ENDINGS))
def test_json_lines_carry_every_name(folder, table, ending):
    path = folder / f"a.jsonl{ending}"
    write(table, path)
    again, report = read_reported(path)
    assert again.to_rows() == table.to_rows()
    assert report.guessed


@given(table=tables(NAMES).filter(one_line), ending=st.sampled_from(ENDINGS))
def test_spmf(folder, table, ending):
    path = folder / f"a.spmf{ending}"
    write(table, path)
    assert read(path, "spmf").to_rows() == table.to_rows()


@given(
    table=tables(NUMBERS), ending=st.sampled_from(ENDINGS), format=st.sampled_from(["fimi", "spmf"])
)
def test_numbers(folder, table, ending, format):
    path = folder / f"a.dat{ending}"
    write(table, path, format)
    assert read(path, format).to_rows() == table.to_rows()
    assert b"@" not in path.read_bytes() or ending


@given(
    table=tables(NAMES).filter(no_zero),
    format=st.sampled_from(DELIMITED),
    ending=st.sampled_from(ENDINGS),
)
@settings(max_examples=60)
def test_parquet(folder, table, format, ending):
    assume(format != "one-hot" or table.n_items)
    assume(format != "long" or MISSING.isdisjoint(table.vocabulary.names))
    path = folder / f"a.parquet{ending}"
    write(table, path, format)
    assert read(path, format).to_rows() == table.to_rows()


def test_bags_are_written_and_merged_when_read(folder):
    bag = TransactionTable.from_rows([["a", "a", "b"]], bags=True)
    write(bag, folder / "bag.csv")
    table, report = read_reported(folder / "bag.csv")
    assert (table.to_rows(), report.duplicates_merged) == ([["a", "b"]], 1)
    with pytest.raises(InputError, match="holds an item twice"):
        write(bag, folder / "bag.csv", "one-hot")


@pytest.mark.parametrize(
    ("format", "name", "message"),
    [
        ("fimi", "milk", "only whole numbers"),
        ("fimi", "-1", "only whole numbers"),
        ("fimi", "007", "only whole numbers"),
        ("basket", "", "empty"),
        ("long", "", "empty"),
        ("long", "NaN", "no item"),
        ("one-hot", "a\0", "zero byte"),
        ("spmf", "a\nb", "line end"),
        ("jsonl", "\ud800", "not valid Unicode"),
    ],
)
def test_what_a_format_cannot_carry(tmp_path, format, name, message):
    table = TransactionTable.from_rows([["1"], [name]])
    with pytest.raises(InputError, match=f"{format} cannot carry the item .*{message}") as caught:
        write(table, tmp_path / "a", format)
    assert caught.value.fix
    assert list(tmp_path.iterdir()) == []


def test_endings_choose_the_format(tmp_path):
    table = TransactionTable.from_rows([["1", "2"], ["3"]])
    for name, content in [
        ("a.dat", "1 2\n3\n"),
        ("a.csv", "1,2\n3\n"),
        ("a.tsv", "1\t2\n3\n"),
        ("a.jsonl", '["1", "2"]\n["3"]\n'),
    ]:
        write(table, tmp_path / name)
        assert (tmp_path / name).read_text() == content
    with pytest.raises(ParameterError, match="does not say which format"):
        write(table, tmp_path / "a.xyz")
    with pytest.raises(InputError, match="Parquet cannot hold"):
        write(table, tmp_path / "a.parquet", "fimi")
    with pytest.raises(InputError, match="without records"):
        write(TransactionTable.from_rows([]), tmp_path / "b.csv")


def test_compressed_bytes_do_not_depend_on_time_or_name(tmp_path):
    table = TransactionTable.from_rows([["1", "2"]])
    for ending in (".gz", ".zst"):
        write(table, tmp_path / f"a.dat{ending}")
        write(table, tmp_path / f"b.dat{ending}")
        first, second = (tmp_path / f"{x}.dat{ending}" for x in "ab")
        assert first.read_bytes() == second.read_bytes()


def test_standard_output(capfdbinary):
    write(TransactionTable.from_rows([["é"]]), "-", "basket")
    assert capfdbinary.readouterr().out == "é\n".encode()


def test_a_failed_write_leaves_what_was_there(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")

    def fail():
        with output_file(target) as out:
            out.write(b"new, but")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_places_that_cannot_be_written(tmp_path):
    table = TransactionTable.from_rows([["1"]])
    for path in (tmp_path, tmp_path / "missing" / "a.dat", tmp_path / ("x" * 300)):
        with pytest.raises(SetveilError):
            write(table, path, "fimi")
    with pytest.raises(InputError):
        write(table, "a\0b.dat", "fimi")
    assert list(tmp_path.iterdir()) == []


def test_links_devices_and_permissions(tmp_path):
    table = TransactionTable.from_rows([["1"]])
    target, link = tmp_path / "a.dat", tmp_path / "link.dat"
    link.symlink_to(target)
    write(table, link)
    assert link.is_symlink()
    assert target.read_text() == "1\n"
    umask = os.umask(0o027)
    try:
        write(table, target)
    finally:
        os.umask(umask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    write(table, os.devnull, "fimi")
    assert Path(os.devnull).is_char_device()
