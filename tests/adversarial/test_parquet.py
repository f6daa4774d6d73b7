"""Damaged and oversized Parquet: no abort, no panic on stderr, no memory taken for it."""

import io
import subprocess
import sys

import polars as pl
import pytest
from tests.adversarial.parquet_mutations import damaged, whole_files

from setveil.core.errors import InputError
from setveil.core.parquet import check_parquet, read_parquet


def run(first, last):
    return subprocess.run(
        [sys.executable, "-m", "tests.adversarial.parquet_mutations", str(first), str(last)],
        capture_output=True,
        text=True,
        check=False,
    )


def survives(first, last):
    done = run(first, last)
    assert done.returncode == 0, (done.stdout[-20:], done.stderr)
    assert done.stdout.endswith("done\n")
    assert not done.stderr


def test_some_damaged_files():
    survives(0, 300)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(12))
def test_many_damaged_files(block):
    survives(1000 + 2000 * block, 3000 + 2000 * block)


def test_damage_is_of_many_kinds():
    """Some damaged files are refused before polars sees them, some by polars, some are read."""
    ends = {"checked": 0, "polars": 0, "read": 0}
    for number in range(300):
        data = damaged(number)
        try:
            check_parquet(data)
            try:
                read_parquet(data)
                ends["read"] += 1
            except ValueError:
                ends["polars"] += 1
        except (ValueError, InputError):
            ends["checked"] += 1
    assert min(ends.values()) >= 20, ends


def test_whole_files_pass():
    for data in whole_files():
        assert read_parquet(data).equals(pl.read_parquet(io.BytesIO(data)))
