"""Tables in files: numbers are numbers, codes stay codes, bad files are told as such."""

import gzip

import polars as pl
import pytest

from setveil.errors import InputError
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
    with pytest.raises(InputError, match=r"bad\.csv: "):
        read_frame(file)


def test_lists_do_not_fit_in_text(tmp_path):
    frame = pl.DataFrame({"a": [[1], [2]]})
    with pytest.raises(InputError, match=r"\.parquet or \.jsonl"):
        write_frame(frame, tmp_path / "a.csv")
    assert not list(tmp_path.iterdir())
    write_frame(frame, tmp_path / "a.parquet")
    assert read_frame(tmp_path / "a.parquet").equals(frame)
