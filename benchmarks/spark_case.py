"""One run of the Spark benchmark, in a process of its own: from Parquet to a checked release.

``python -m benchmarks.spark_case FOLDER CORES [METHOD]`` prints one JSON object.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.anonymize import Clump, Gather
from setveil.engine import Spark
from setveil.measure import measure_all
from setveil.spark import anonymize, read_distributed
from setveil.synthetic import lookalike

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from setveil import Taxonomy

K = 5
METHODS = {"gather": Gather(k=K), "fast": Gather(k=K, effort="fast"), "clump": Clump(k=K)}
STAGES = ("read", "anonymize", "verify", "measure", "write")
LOOK = 0.2
"""Seconds between looks at the memory of processes."""


def job(folder: str, out: str, engine: Spark, method: str, tree: Taxonomy) -> dict[str, Any]:
    """Anonymize records on disk; return the seconds of each stage and what came out."""
    from setveil.spark.publish import save_distributed  # they need Spark

    marks = [time.perf_counter()]

    def timed(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        result = function(*arguments, **options)
        marks.append(time.perf_counter())
        return result

    table = timed(read_distributed, folder, engine)
    made = timed(anonymize, METHODS[method], table, taxonomy=tree)
    verdict = timed(made.check)
    if not (verdict.holds and verdict.exact):
        raise AssertionError(verdict.reason)
    found = timed(
        measure_all,
        made.release,
        table,
        taxonomy=tree,
        rng=np.random.default_rng(0),
        k=K,
    )
    timed(save_distributed, made, out, method=method, params={"k": K})
    table.session.catalog.clearCache()
    return {
        "records": len(made.release),
        "buckets": made.figures["buckets"],
        "ggd_share": found["ggd_share"],
        "seconds": dict(zip(STAGES, np.diff(marks).tolist(), strict=True)),
    }


class Memory:
    """The most memory that this process, Java and Spark's Python workers have held."""

    def __init__(self) -> None:
        self.peaks = {"driver": 0.0, "java": 0.0, "worker": 0.0}
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            self.look()
            time.sleep(LOOK)

    def look(self) -> None:
        """Take the peaks that the system has kept of each process."""
        for process in family(Path("/proc/self").resolve().name):
            try:
                command = Path(f"/proc/{process}/cmdline").read_bytes()
                status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
            except OSError:
                continue  # it has ended
            _, there, rest = status.partition("VmHWM:")
            kind = "worker" if b"pyspark.worker" in command else "driver"
            kind = "java" if b"org.apache.spark" in command else kind
            if there:
                self.peaks[kind] = max(self.peaks[kind], int(rest.split()[0]) / 1e3)


def family(process: str) -> Iterator[str]:
    """Yield a process and all that it started."""
    yield process
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            children = task.read_text(encoding="ascii").split()
        except OSError:
            continue
        yield from chain.from_iterable(map(family, children))


def main(folder: str, cores: str, method: str = "gather") -> None:
    engine = Spark(master=f"local[{cores}]")
    tree = lookalike("aol", n=1).taxonomy
    with tempfile.TemporaryDirectory() as place:
        memory = Memory()
        # Once with little: kernels are compiled, and Java has seen its own code.
        job(str(Path(folder, "..", "warm")), f"{place}/warm", engine, method, tree)
        result = job(folder, f"{place}/release", engine, method, tree)
        memory.look()
    print(json.dumps({**result, "megabytes": memory.peaks}))
    engine.start().stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
