"""Spark: a query log of millions of users from Parquet to a checked release, size after size."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.row import Row
from setveil.engine.spark import missing_for_spark
from setveil.synthetic import lookalike

CHUNK = 65_000
"""Records of a file; one is made at a time, so that nobody ever holds all of them."""
SIZES = (10, 20, 40, 80)
"""Files of each size: 0.65, 1.3, 2.6 and 5.2 million records."""
LEAST = 30
"""A size of fewer files is measured anew until so many were read: short runs are noisy."""
BILLION = 1_000_000_000
CLUSTER = 100
"""Cores of the cluster for which the time of a billion records is told."""


def write_files(folder: Path, number: int, records: int) -> None:
    """Write look-alikes of the AOL log as files of Parquet, one after the other."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    for seed in range(number):
        table = lookalike("aol", n=records, seed=seed).table
        names = pa.array(table.vocabulary.names).take(pa.array(table.items))
        offsets = pa.array(table.offsets.astype(np.int32))
        rows = pa.table({"items": pa.ListArray.from_arrays(offsets, names)})
        pq.write_table(rows, folder / f"part-{seed:03}.parquet")


def first_files(folder: Path, number: int, into: Path) -> Path:
    """Return a folder with the first files of another."""
    into.mkdir()
    for file in sorted(folder.iterdir())[:number]:
        os.link(file, into / file.name)
    return into


def printed_by(module: str, *arguments: object) -> dict[str, Any]:
    """Run a module of the benchmarks and return the object that it prints last."""
    done = subprocess.run(  # noqa: S603  (our own module)
        [sys.executable, "-m", module, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measured(folder: Path, cores: int, method: str, *, repeat: int = 1) -> dict[str, Any]:
    """Return the fastest run of a case, each in a process of its own: its memory is its own."""
    runs = []
    for _ in range(repeat):
        found = printed_by("benchmarks.spark_case", folder, cores, method)
        found["total"] = sum(found["seconds"].values())
        print(f"{found['records']:,} records, {cores} cores: {json.dumps(found)}", file=sys.stderr)
        runs.append(found)
    return min(runs, key=lambda found: found["total"])


def run(*, small: bool, method: str = "fast") -> list[Row]:
    """Measure all sizes on two cores, and the smallest on one."""
    missing = missing_for_spark()
    if missing is not None:
        print(f"Spark cannot run: {missing}", file=sys.stderr)
        return []
    sizes, chunk = ((1, 2), 2_000) if small else (SIZES, CHUNK)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_files(folder / "warm", 2, 1_000)
        write_files(folder / "all", max(sizes), chunk)
        cases = [first_files(folder / "all", size, folder / f"first-{size}") for size in sizes]
        repeats = [1 if small else max(round(LEAST / size), 1) for size in sizes]
        # The largest first: what does not fit is known soon.
        two = [
            measured(case, 2, method, repeat=repeat)
            for case, repeat in zip(reversed(cases), reversed(repeats), strict=True)
        ][::-1]
        one = measured(cases[0], 1, method, repeat=repeats[0])
    records, most = (2_000, 500) if small else (20_000, 5_000)
    losses = printed_by("benchmarks.spark_loss", records, most)
    return rows_of(two, one, f"AOL look-alike, Gather {method}, k = 5") + lost(losses, records)


def rows_of(two: list[dict[str, Any]], one: dict[str, Any], what: str) -> list[Row]:
    """Return the figures: time per record, where it goes, memory, cores, and a billion records."""
    each = [1e6 * found["total"] / found["records"] for found in two]
    rows = [
        Row(name=f"{what}: {found['records']:,} records end to end", value=time, unit="µs a record")
        for found, time in zip(two, each, strict=True)
    ]
    largest = two[-1]
    rows.append(
        Row(name="time per record, the slowest size over the fastest",
            value=max(each) / min(each), unit="×", most=1.3)
    )  # fmt: skip
    rows += [
        Row(
            name=f"share of the time at {largest['records']:,} records: {stage}",
            value=100 * seconds / largest["total"],
            unit="%",
        )
        for stage, seconds in largest["seconds"].items()
    ]
    for kind, title, most in (
        ("driver", "this process", 1.2),
        ("worker", "a Python worker", 1.5),
        ("java", "Java (driver and executor in one, heap of 1 GB)", None),
    ):
        peaks = [found["megabytes"][kind] for found in two]
        rows.append(Row(name=f"most memory of {title}, largest size", value=peaks[-1], unit="MB"))
        rows.append(
            Row(name=f"{title}: largest size over smallest", value=peaks[-1] / max(peaks[0], 1),
                unit="×", most=most)
        )  # fmt: skip
    rows.append(
        Row(name=f"two cores against one, {one['records']:,} records",
            value=one["total"] / two[0]["total"], unit="× faster")
    )  # fmt: skip
    return rows + extrapolated(two)


def lost(found: dict[str, Any], records: int) -> list[Row]:
    """Return how much more is lost in buckets than on one machine."""
    return [
        Row(
            name=f"{method}, {records:,} records: loss in {each['buckets']} buckets over local",
            value=each["losses"][1] / each["losses"][0],
            unit="×",
        )
        for method, each in found.items()
    ]


def extrapolated(found: list[dict[str, Any]]) -> list[Row]:
    """Return what a billion records would take, from the slope of time over records."""
    records = np.array([each["records"] for each in found], dtype=np.float64)
    seconds = np.array([each["total"] for each in found])
    slope, start = np.polyfit(records, seconds, 1)
    hours = 2 * slope * BILLION / 3600  # two cores were at work
    return [
        Row(name="start, whatever the size (least squares)", value=float(start), unit="s"),
        Row(name="slope", value=1e6 * float(slope), unit="µs a record on two cores"),
        Row(name="1 billion records, on paper", value=float(hours), unit="core hours"),
        Row(name=f"the same on {CLUSTER} cores", value=float(hours) / CLUSTER, unit="hours"),
    ]
