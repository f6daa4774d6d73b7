"""Releases of millions of records: peak memory and time of the commands, each in a process."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.row import Row

SIZES = (1_000_000, 5_000_000)
SMALL = (2_000, 10_000)
MOST = {"disassociate": 2.3, "verify": 1.8}
"""Gigabytes: half of what it took when records were lists of texts."""


# A process that is started inherits the peak of the one that starts it: this one stays small.
WATCH = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
process.returncode = os.waitstatus_to_exitcode(status)
scale = 1 if sys.platform == "darwin" else 1024
print(process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * scale / 1e9)
"""
DATA = """
import sys
from setveil.synthetic import lookalike
from setveil.io.writers import write
write(lookalike("bms-webview-1", n=int(sys.argv[2])).table, sys.argv[1])
"""


def measure_command(*arguments: str) -> tuple[float, float]:
    """Return how long a command computes, in seconds, and its peak memory in gigabytes."""
    command = [sys.executable, "-c", WATCH, sys.executable, *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603  (our own)
    code, seconds, peak = done.stdout.split()
    if code != "0":
        raise AssertionError(f"{arguments} failed with exit code {code}")
    return float(seconds), float(peak)


def run(*, small: bool) -> list[Row]:
    """Disassociate and verify two sizes; the difference tells what a record takes."""
    sizes = SMALL if small else SIZES
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in MOST}
    with tempfile.TemporaryDirectory() as folder:
        data, release = Path(folder, "data.csv"), str(Path(folder, "release"))
        for size in sizes:
            measure_command("-c", DATA, str(data), str(size))
            setveil = ("-m", "setveil")
            anonymize = (*setveil, "anonymize", "disassociate", str(data), "-o", release)
            found["disassociate"].append(measure_command(*anonymize, "--force", "--quiet"))
            found["verify"].append(measure_command(*setveil, "verify", release, "--quiet"))
            data.unlink()
    rows = []
    for name, ((_, before), (seconds, peak)) in found.items():
        what = f"{name}: WebView-1 look-alike, {sizes[1]:,} records"
        grown = max(peak - before, 0) * 1e9 / (sizes[1] - sizes[0])
        rows += [
            Row(name=f"{what}, peak memory", value=peak, unit="GB", most=MOST[name]),
            Row(name="the same, for each record", value=grown, unit="bytes"),
            Row(name="the same, time of computing", value=seconds, unit="s"),
        ]
    return rows
