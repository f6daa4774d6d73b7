"""Reading files: time beside polars, and peak memory beside the table's size."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import setveil
from benchmarks.row import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

RECORDS, ITEMS, LONGEST = 515_597, 1_657, 164  # the size of BMS-POS
LONG_ROWS, PATIENTS = 5_000_000, 700_000
SMALLER = 3  # the small size has a third of the records
REPEAT = 9

# Peak memory is a property of a process: measured in a fresh one, above what it holds once
# everything is imported and the kernels are loaded. Linux passes getrusage's peak on from the
# parent to the program it starts, so that a large parent would hide everything; VmHWM is its own.
MEMORY = """
import resource, sys
import setveil
from setveil.core import table as tables
from setveil.io import cells, number_lines

def peak():
    if sys.platform == "linux":
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line[:5] == "VmHWM")
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale

limits = [(number_lines, "PLAIN_LIMIT"), (cells, "PLAIN_LIMIT"), (cells, "COMPILED"),
          (tables, "COMPILED")]
before = [getattr(module, name) for module, name in limits]
for module, name in limits:
    setattr(module, name, 1)
setveil.read(sys.argv[2])
for (module, name), limit in zip(limits, before):
    setattr(module, name, limit)
start = peak()
table = setveil.read(sys.argv[1])
size = table.offsets.nbytes + table.items.nbytes
size += sum(sys.getsizeof(name) + 8 for name in table.vocabulary.names)
print((peak() - start) / size)
"""


@dataclass(frozen=True, kw_only=True)
class Baskets:
    """Records of numbers with heavy-tailed lengths (mean 6.5, at most 164), each a sorted set."""

    offsets: npt.NDArray[np.int64]
    items: npt.NDArray[np.int64]

    @classmethod
    def drawn(cls, records: int) -> Baskets:
        """Draw records."""
        rng = np.random.default_rng(7)
        drawn = 1 + rng.lognormal(1.35, 0.98, records).astype(np.int64)
        lengths = np.minimum(drawn, LONGEST)
        weights = 1 / np.arange(10, ITEMS + 10) ** 0.7
        labels = rng.permutation(ITEMS)
        flat = labels[rng.choice(ITEMS, size=int(lengths.sum()), p=weights / weights.sum())]
        keys = np.unique(np.repeat(np.arange(records) * ITEMS, lengths) + flat)
        offsets = np.searchsorted(keys, np.arange(records + 1) * ITEMS)
        return cls(offsets=offsets, items=keys % ITEMS)

    def rows(self) -> Iterator[list[int]]:
        """Yield the records."""
        items = self.items.tolist()
        return (items[a:b] for a, b in pairwise(self.offsets.tolist()))

    def write(self, path: Path, delimiter: str, item: str = "{}") -> Path:
        """Write one record per line."""
        texts = [item.format(number) for number in range(ITEMS)]
        with path.open("w", encoding="ascii") as out:
            out.writelines(delimiter.join([texts[i] for i in row]) + "\n" for row in self.rows())
        return path

    def write_wide(self, path: Path, columns: int = 10) -> Path:
        """Write a table with an id and up to ten items per record."""
        names = ",".join(f"Dx{i + 1}" for i in range(columns))
        with path.open("w", encoding="ascii") as out:
            out.write(f"PatientID,{names}\n")
            for number, row in enumerate(self.rows(), 100_000):
                cells = [f"D{item}" for item in row[:columns]]
                out.write(",".join([str(number), *cells, *[""] * (columns - len(cells))]) + "\n")
        return path

    def write_one_hot(self, path: Path, columns: int = 50) -> Path:
        """Write a table of 0 and 1 for the first items."""
        with path.open("w", encoding="ascii") as out:
            out.write(",".join(f"item {i}" for i in range(columns)) + "\n")
            for row in self.rows():
                held = {item % columns for item in row}
                out.write(",".join("1" if i in held else "0" for i in range(columns)) + "\n")
        return path

    def write_json_lines(self, path: Path) -> Path:
        """Write one array of names per line."""
        with path.open("w", encoding="ascii") as out:
            out.writelines(
                json.dumps([f"item{i}" for i in row], separators=(",", ":")) + "\n"
                for row in self.rows()
            )
        return path


def long_frame(rows: int) -> pl.DataFrame:
    """Draw pairs of a patient's number and a diagnosis, in the order of patients."""
    rng = np.random.default_rng(11)
    patients = np.sort(rng.integers(0, PATIENTS * rows // LONG_ROWS, rows)) + 100_000
    weights = 1 / np.arange(10, ITEMS + 10) ** 0.7
    codes = rng.choice(ITEMS, size=rows, p=weights / weights.sum())
    items = pl.Series(codes).replace_strict(
        list(range(ITEMS)), [f"D{number}" for number in range(ITEMS)]
    )
    return pl.DataFrame({"patient_id": patients, "diagnosis": items})


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


def alternating(repeat: int, *calls: tuple[Callable[[Any], object], Path]) -> list[float]:
    """Return the median seconds of each call, measured in turns after a warm-up."""
    seconds: list[list[float]] = [[] for _ in calls]
    for turn in range(repeat + 2):
        for each, (call, path) in zip(seconds, calls, strict=True):
            start = time.perf_counter()
            call(path)
            if turn >= 2:
                each.append(time.perf_counter() - start)
    return [statistics.median(each) for each in seconds]


def peak_over_table(path: Path, tiny: Path) -> float:
    """Return how far reading raises the memory of a process, over the size of the table."""
    arguments = [sys.executable, "-c", MEMORY, str(path), str(tiny)]
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)  # noqa: S603  (our own code)
    return float(done.stdout)


def megabytes(path: Path) -> float:
    """Return the size of a file."""
    return path.stat().st_size / 1e6


def lines_of_items(folder: Path, baskets: Baskets, repeat: int) -> list[Row]:
    """Read one record per line: numbers, and names."""
    fimi = baskets.write(folder / "numbers.dat", " ")
    named = baskets.write(folder / "baskets.csv", ",", "product {}")
    tiny = folder / "tiny.dat"
    tiny.write_text("1 2\n", encoding="ascii")
    table = setveil.read(fimi)
    assert len(table.items) == len(baskets.items)
    ours, theirs, basket = alternating(
        repeat, (setveil.read, fimi), (split_and_parse, fimi), (setveil.read, named)
    )
    what = f"{len(table):,} records, {len(table.items):,} items, {megabytes(fimi):.1f} MB"
    return [
        Row(
            name=f"FIMI file to table ({what}), time over polars splitting and parsing it",
            value=ours / theirs,
            unit="",
            most=1 / 3,
        ),
        Row(name="the same, speed", value=megabytes(fimi) / ours, unit="MB/s"),
        Row(
            name="the same, peak memory above the imported process over the table's size",
            value=peak_over_table(fimi, tiny),
            unit="",
            most=4,
        ),
        Row(
            name=f"Basket CSV of the same records ({megabytes(named):.1f} MB) to table, time per "
            "byte over that of the FIMI file",
            value=(basket / megabytes(named)) / (ours / megabytes(fimi)),
            unit="",
            most=2,
        ),
    ]


def long_tables(folder: Path, rows: int, repeat: int) -> list[Row]:
    """Read one pair of a record and an item per row: text and Parquet."""
    frame = long_frame(rows)
    text, parquet, tiny = (folder / name for name in ("long.csv", "long.parquet", "tiny.csv"))
    frame.write_csv(text)
    frame.write_parquet(parquet)
    frame.head(3).write_csv(tiny)
    table = setveil.read(text)
    assert len(table) == frame["patient_id"].n_unique()
    ours, theirs, columns = alternating(
        repeat, (setveil.read, text), (pl.read_csv, text), (setveil.read, parquet)
    )
    what = f"{rows:,} rows of a patient and a diagnosis, {megabytes(text):.1f} MB"
    return [
        Row(
            name=f"Long CSV to table ({what}), time over polars reading its columns",
            value=ours / theirs,
            unit="",
            most=2,
        ),
        Row(
            name="the same, peak memory above the imported process over the table's size",
            value=peak_over_table(text, tiny),
            unit="",
            most=4,
        ),
        Row(name="the same rows as Parquet to table", value=columns, unit="s"),
    ]


def other_layouts(folder: Path, baskets: Baskets, repeat: int) -> list[Row]:
    """Read the same records laid out otherwise; speeds without a target."""
    files = {
        "Wide CSV (an id and ten columns)": baskets.write_wide(folder / "wide.csv"),
        "One-hot CSV (50 columns)": baskets.write_one_hot(folder / "one_hot.csv"),
        "JSON lines": baskets.write_json_lines(folder / "items.jsonl"),
    }
    seconds = alternating(repeat, *((setveil.read, path) for path in files.values()))
    return [
        Row(
            name=f"{what} to table ({megabytes(path):.1f} MB), speed",
            value=megabytes(path) / each,
            unit="MB/s",
        )
        for (what, path), each in zip(files.items(), seconds, strict=True)
    ]


def run(*, small: bool) -> list[Row]:
    """Read files of BMS-POS's shape and of five million rows; the small size has a third."""
    baskets = Baskets.drawn(RECORDS // SMALLER if small else RECORDS)
    repeat = 3 if small else REPEAT
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return [
            *lines_of_items(folder, baskets, repeat),
            *long_tables(folder, LONG_ROWS // SMALLER if small else LONG_ROWS, min(repeat, 5)),
            *other_layouts(folder, baskets, min(repeat, 3)),
        ]
