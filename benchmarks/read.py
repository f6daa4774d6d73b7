"""Reading a FIMI file: time beside polars, and peak memory beside the file's size."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.row import Row
from setveil.io.readers import read, read_reported

RECORDS, ITEMS, LONGEST = 515_597, 1_657, 164  # the size of BMS-POS
REPEAT = 9

# Peak memory is a property of a process: measured in a fresh one, above what it holds once
# everything is imported and the kernels are loaded. Linux passes getrusage's peak on from the
# parent to the program it starts, so that a large parent would hide everything; VmHWM is its own.
MEMORY = """
import resource, sys
from setveil.io import number_lines as formats_numbers
from setveil.io.readers import read

def peak():
    if sys.platform == "linux":
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line[:5] == "VmHWM")
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale

limit, formats_numbers.PLAIN_LIMIT = formats_numbers.PLAIN_LIMIT, 0
read(sys.argv[2])
formats_numbers.PLAIN_LIMIT = limit
before = peak()
table = read(sys.argv[1])
print(peak() - before)
"""


def make_file(path: Path, records: int) -> int:
    """Write records with heavy-tailed lengths (mean 6.5, at most 164); return the items."""
    rng = np.random.default_rng(7)
    drawn = 1 + rng.lognormal(1.35, 0.98, records).astype(np.int64)
    lengths = np.minimum(drawn, LONGEST)
    weights = 1 / np.arange(10, ITEMS + 10) ** 0.7
    labels = rng.permutation(ITEMS)
    flat = labels[rng.choice(ITEMS, size=int(lengths.sum()), p=weights / weights.sum())]
    bounds = np.concatenate([[0], np.cumsum(lengths)]).tolist()
    written = 0
    with path.open("w", encoding="ascii") as out:
        for start, end in pairwise(bounds):
            row = sorted(set(flat[start:end].tolist()))
            written += len(row)
            out.write(" ".join(map(str, row)) + "\n")
    return written


def split_and_parse(path: Path) -> pl.DataFrame:
    """Do in polars what it takes to get lists of numbers; without names, order or merging."""
    lines = pl.read_csv(
        path,
        has_header=False,
        separator="\x01",
        quote_char=None,
        new_columns=["line"],
        infer_schema=False,
    )
    return lines.select(pl.col("line").str.split(" ").cast(pl.List(pl.Int32)))


def alternating(path: Path, repeat: int) -> tuple[float, float]:
    """Return the median seconds of `read` and of polars, measured in turns after a warm-up."""
    seconds: dict[str, list[float]] = {"read": [], "polars": []}
    for turn in range(repeat + 2):
        for name, call in (("read", read), ("polars", split_and_parse)):
            start = time.perf_counter()
            call(path)
            if turn >= 2:
                seconds[name].append(time.perf_counter() - start)
    return statistics.median(seconds["read"]), statistics.median(seconds["polars"])


def peak_bytes(path: Path, tiny: Path) -> int:
    """Return how far reading raises the memory of a process that has everything imported."""
    arguments = [sys.executable, "-c", MEMORY, str(path), str(tiny)]
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)  # noqa: S603  (our own code)
    return int(done.stdout)


def run(*, small: bool) -> list[Row]:
    """Read a file of BMS-POS's shape; the small size has a third of its records."""
    with tempfile.TemporaryDirectory() as folder:
        path, tiny = Path(folder, "numbers.dat"), Path(folder, "tiny.dat")
        items = make_file(path, RECORDS // 3 if small else RECORDS)
        tiny.write_text("1 2\n", encoding="ascii")
        _, report = read_reported(path)
        assert report.occurrences == items
        ours, polars = alternating(path, 3 if small else REPEAT)
        size = path.stat().st_size
        grown = peak_bytes(path, tiny)
    what = f"{report.records:,} records, {items:,} items, {size / 1e6:.1f} MB"
    return [
        Row(
            name=f"FIMI file to table ({what}), time over polars splitting and parsing it",
            value=ours / polars,
            unit="",
            most=1,
        ),
        Row(name="the same, speed", value=size / 1e6 / ours, unit="MB/s"),
        Row(
            name="the same, peak memory above the imported process over the file's size",
            value=grown / size,
            unit="",
            most=8,
        ),
    ]
