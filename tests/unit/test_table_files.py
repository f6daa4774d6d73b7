"""Tables in files: numbers are numbers, codes stay codes, bad files are told as such."""

import gzip

import polars as pl
import pytest

from setveil.core.errors import InputError
from setveil.tabular.files import read_frame, write_frame


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.ndjson", "a.parquet"])
def test_round_trip(tmp_path, name):
    frame = pl.DataFrame({"age": [35, None], "pay": [1.5, -2.0], "job": ["a,b", "né"]})
    write_frame(frame, tmp_path / name)
    assert read_frame(tmp_path / name).equals(frame)


def test_codes_with_leading_zeros_stay_texts(tmp_path):
    file = tmp_path / "a.csv.gz"
    file.write_bytes(gzip.compress(b"zip|age|mixed|none\n02138|7|1e3|\n10001|8|2.50|\n"))
    frame = read_frame(file)
    assert frame.rows() == [("02138", 7, 1000.0, None), ("10001", 8, 2.5, None)]
    assert read_frame(file, delimiter=",").width == 1


@pytest.mark.parametrize(
    "content",
    [b"", b" \n", b"a,b\n1,2,3\n", b"PAR1 broken", b'{"a": 1}\n{"a": ', b"PK\x03\x04x", b"a\n\xff"],
)
def test_bad_files_are_told(tmp_path, content):
    file = tmp_path / "bad.csv"
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"bad\.csv(, line 2)?: "):
        read_frame(file)


def test_lists_do_not_fit_in_text(tmp_path):
    frame = pl.DataFrame({"a": [[1], [2]]})
    with pytest.raises(InputError, match=r"\.parquet or \.jsonl"):
        write_frame(frame, tmp_path / "a.csv")
    assert not list(tmp_path.iterdir())
    write_frame(frame, tmp_path / "a.parquet")
    assert read_frame(tmp_path / "a.parquet").equals(frame)


@pytest.mark.parametrize(
    "texts",
    [
        ["1234567890123456789012", "1234567890123456789013"],
        ["4000123412341234001", "4000123412341234002"],
        ["9007199254740993.0", "9007199254740992.0"],
        ["0.1234567890123456789", "0.1234567890123456788"],
        ["1.5", "12345678901234567891"],
        ["1e400", "2.5"],
        ["1e-400", "0"],
        ["1e99999999999999999999", "1"],
    ],
)
def test_no_digit_is_lost(tmp_path, texts):
    file = tmp_path / "a.csv"
    file.write_text("a,b\n" + "".join(f"{text},x\n" for text in texts))
    assert read_frame(file)["a"].to_list() == texts


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1.50", "1.5", "2"], [1.5, 1.5, 2.0]),
        (["0.10000000000000001", "0.25"], [0.1, 0.25]),
        (["100000000000000000000", "1"], [1e20, 1.0]),
        (["-0", "0"], [0, 0]),
        (["0e10", "0e99999999999999999999", "1"], [0.0, 0.0, 1.0]),
        (["1.2345678901234567e+20", "1e0"], [1.2345678901234567e20, 1.0]),
    ],
)
def test_numbers_that_differ_in_writing_only_are_numbers(tmp_path, texts, numbers):
    file = tmp_path / "a.csv"
    file.write_text("a,b\n" + "".join(f"{text},x\n" for text in texts))
    assert read_frame(file)["a"].to_list() == numbers


@pytest.mark.parametrize(
    "head", ["age,zip,age", "\ufeffage;age", '"age",zip,age', "age|zip|age", "a,,b,"]
)
def test_a_repeated_column_is_refused(tmp_path, head):
    file = tmp_path / "a.csv"
    file.write_text(f"{head}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.csv: 2 columns are called"):
        read_frame(file)


@pytest.mark.parametrize(
    ("text", "line", "fields"),
    [("a,b\n1,2\n3\n", 3, 1), ("a,b\n1,2,3\n", 2, 3), ('a,b\n"1\n2",3\n4\n', 4, 1)],
)
def test_rows_of_another_length_are_refused(tmp_path, text, line, fields):
    file = tmp_path / "a.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=rf"a\.csv, line {line}: the row has {fields} fields"):
        read_frame(file)


def test_an_empty_field_and_a_last_empty_line_are_no_lack(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("\ufeffa,b\r\n1,\r\n,2\r\n", encoding="utf-8")
    assert read_frame(file).rows() == [(1, None), (None, 2)]


def test_what_is_called_parquet_and_is_none(tmp_path):
    file = tmp_path / "a.parquet"
    file.write_bytes(bytes(range(1, 256)) * 9)
    with pytest.raises(InputError, match="is no Parquet file") as caught:
        read_frame(file)
    assert str(caught.value).isprintable()
    other = tmp_path / "a.csv"
    other.write_bytes(file.read_bytes())
    with pytest.raises(InputError) as caught:
        read_frame(other)
    assert str(caught.value).isprintable()
