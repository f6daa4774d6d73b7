"""Whatever the bytes are, reading gives a table or an error of our own family."""

from __future__ import annotations

import gzip
import subprocess
import sys
import tracemalloc

import polars as pl
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.io.reported import read_reported

from setveil.core.errors import InputError, SetveilError
from setveil.io.layout import FORMATS
from setveil.io.sources import Source

NAMES = ["a.dat", "a.csv", "a.tsv", "a.jsonl", "a.spmf", "a.parquet", "a"]
PIECES = st.sampled_from(
    [
        *(
            b"1",
            b"0",
            b"-1",
            b"-2",
            b"x",
            b'"',
            b'""',
            b",",
            b";",
            b"\t",
            b" ",
            b"\n",
            b"\r",
            b"\r\n",
        ),
        *(
            b"id,item",
            b"[",
            b"]",
            b"{",
            b"}",
            b'"items":',
            b"@ITEM=",
            b"=",
            b"\0",
            b"\xff",
            b"\xc3",
        ),
        *(
            "é".encode(),
            b"\xef\xbb\xbf",
            b"\x1f\x8b",
            b"\x28\xb5\x2f\xfd",
            b"PAR1",
            b"#",
            b"\\ud800",
        ),
    ]
)
OPTIONS = st.fixed_dictionaries(
    {
        "format": st.sampled_from([None, *FORMATS]),
        "on_error": st.sampled_from(["raise", "skip"]),
        "delimiter": st.sampled_from([None, ",", " ", "::"]),
        "id": st.sampled_from([None, "id", "x"]),
    }
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


def read_or_refuse(path, **options):
    try:
        table, report = read_reported(path, **options)
    except SetveilError as error:
        str(error).encode()  # a message can always be printed
        return None
    assert len(table) == report.records > 0
    assert all(sentence.encode() for sentence in report.sentences())
    return table


@given(
    data=st.one_of(st.binary(max_size=300), st.lists(PIECES, max_size=40).map(b"".join)),
    name=st.sampled_from(NAMES),
    packed=st.sampled_from([bytes, gzip.compress, zstandard.compress]),
    options=OPTIONS,
)
@settings(max_examples=400)
def test_any_bytes(folder, data, name, packed, options):
    path = folder / name
    path.write_bytes(packed(data))
    read_or_refuse(path, **options)


@pytest.mark.parametrize("packed", [gzip.compress, zstandard.compress])
def test_every_cut_of_a_compressed_file_is_refused(folder, packed):
    whole = packed(b"1 2 3\n4 5\n" * 50)
    path = folder / "a.dat"
    for end in range(4, len(whole)):
        path.write_bytes(whole[:end])
        with pytest.raises(InputError, match=r"ends too early|damaged"):
            read_reported(path)
    path.write_bytes(whole)
    assert len(read_or_refuse(path)) == 100


# Polars ends the whole process when a damaged page header makes it ask for absurd memory. Such
# headers are refused before polars sees them; should one come through, only this process ends.
DAMAGED_PARQUET = """
import pathlib, sys
from tests.io.reported import read_reported
from setveil.core.errors import SetveilError

path = pathlib.Path(sys.argv[1])
whole = path.read_bytes()
cases = [whole[:end] for end in range(0, len(whole), 7)]
cases += [
    whole[:place] + bytes([whole[place] ^ flipped]) + whole[place + 1 :]
    for place in range(len(whole))
    for flipped in ((0x01, 0xFF) if place % 3 == 0 else (0x01,))
]
refused = 0
for number, case in enumerate(cases):
    damaged = path.with_name(f"{number}.parquet")
    damaged.write_bytes(case)
    try:
        read_reported(damaged)
    except SetveilError:
        refused += 1
print(len(cases), refused)
"""


def test_damaged_parquet_is_refused_or_read(tmp_path):
    path = tmp_path / "whole.parquet"
    pl.DataFrame({"id": [1, 1, 2], "item": ["a", "b", "a"]}).write_parquet(path)
    done = subprocess.run(
        [sys.executable, "-c", DAMAGED_PARQUET, path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    cases, refused = map(int, done.stdout.split())
    assert cases > 500
    assert refused > cases // 3


@given(st.lists(PIECES, max_size=30).map(b"".join), st.sampled_from(list(FORMATS)))
def test_skipping_leaves_nothing_to_complain_about(folder, data, format):
    """What is read without an error is read the same when errors are skipped."""
    path = folder / "c"
    path.write_bytes(data)
    try:
        table, _ = read_reported(path, format)
    except SetveilError:
        return
    again, report = read_reported(path, format, on_error="skip")
    assert again.to_rows() == table.to_rows()
    assert report.skipped_count == 0


def test_a_small_file_that_unpacks_to_much_is_read_in_steps(folder):
    """Sixty megabytes come out of a few kilobytes without ever being held at once."""
    path = folder / "bomb.dat.zst"
    path.write_bytes(zstandard.compress(b"1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n" * 2_000_000))
    assert path.stat().st_size < 10_000
    tracemalloc.start()
    with Source(path) as source:
        total = sum(len(block) for block in source.blocks())
        peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 60_000_000
    assert peak < 50_000_000
