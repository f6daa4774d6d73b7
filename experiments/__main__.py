"""Run experiments: ``python -m experiments NAME``, with its parts in several processes."""

from __future__ import annotations

import argparse
import csv
import importlib
import os
import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setveil.data.whole_file import write_whole
from setveil.errors import SetveilError

if TYPE_CHECKING:
    from types import ModuleType

EXPERIMENTS = ("elimination", "reassociation", "equivocation")
HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "results.md"
UNIT = "unit"


def main(arguments: list[str] | None = None) -> int:
    """Run one experiment, keep its figures, and write its part of the page."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("name", choices=EXPERIMENTS)
    parser.add_argument("--seeds", type=int, default=5, help="repetitions (5)")
    parser.add_argument("--workers", type=int, default=2, help="processes (2)")
    parser.add_argument("--again", action="store_true", help="measure what is there already, too")
    parser.add_argument("--report", action="store_true", help="only write the page anew")
    chosen = parser.parse_args(arguments)
    experiment = importlib.import_module(f"experiments.{chosen.name}")
    kept = HERE / "results" / f"{chosen.name}.csv"
    try:
        rows = [] if chosen.again else _read(kept)
        if not chosen.report:
            rows = _measure(experiment, rows, chosen.seeds, chosen.workers, kept)
        _write_part(experiment, rows)
    except SetveilError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _measure(
    experiment: ModuleType, rows: list[dict[str, Any]], seeds: int, workers: int, kept: Path
) -> list[dict[str, Any]]:
    done = {row[UNIT] for row in rows}
    todo = [unit for unit in experiment.units(seeds) if _label(unit) not in done]
    # Many small products: threads of the linear algebra would only wait for each other.
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        started = time.perf_counter()
        jobs = {pool.submit(experiment.run, unit): _label(unit) for unit in todo}
        for number, job in enumerate(as_completed(jobs), 1):
            rows += [{UNIT: jobs[job], **row} for row in job.result()]
            _keep(rows, kept)
            took = time.perf_counter() - started
            print(f"{number} of {len(todo)} after {took:,.0f} s: {jobs[job]}", file=sys.stderr)
    return rows


def _label(unit: Any) -> str:  # noqa: ANN401
    return " ".join(f"{name}={value}" for name, value in asdict(unit).items() if value is not None)


def _read(kept: Path) -> list[dict[str, Any]]:
    if not kept.exists():
        return []
    with kept.open(encoding="utf-8", newline="") as file:
        return [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(file)]


def _value(text: str) -> Any:  # noqa: ANN401
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _keep(rows: list[dict[str, Any]], kept: Path) -> None:
    """Write all figures, sorted, so that the order in which processes end leaves no trace."""
    lines = [list(rows[0])]
    for row in sorted(rows, key=lambda row: str(list(row.values()))):
        cells = [f"{cell:.5g}" if isinstance(cell, float) else cell for cell in row.values()]
        lines.append(["" if cell is None else str(cell) for cell in cells])
    kept.parent.mkdir(exist_ok=True)
    text = "\n".join(",".join(f'"{c}"' if "," in c else c for c in line) for line in lines)
    write_whole(kept, text + "\n")


def _write_part(experiment: ModuleType, rows: list[dict[str, Any]]) -> None:
    """Replace an experiment's part of the page, or add it."""
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else "# Results\n"
    start, end = f"<!-- {experiment.NAME} -->", f"<!-- end of {experiment.NAME} -->"
    command = f"`python -m experiments {experiment.NAME}`"
    part = f"{start}\n## {experiment.TITLE}\n\nMeasured by {command}.\n\n"
    part += f"{experiment.report(rows)}\n{end}"
    pattern = re.compile(f"{re.escape(start)}.*{re.escape(end)}", re.DOTALL)
    if pattern.search(page):
        page = pattern.sub(lambda _: part, page)
    else:
        page = f"{page.rstrip()}\n\n{part}\n"
    write_whole(PAGE, page)


if __name__ == "__main__":
    raise SystemExit(main())
