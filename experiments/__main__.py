"""Run experiments: ``python -m experiments NAME``, with its parts in several processes."""

from __future__ import annotations

import argparse
import csv
import importlib
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import setveil
from experiments.claims import claims_table
from experiments.own_files import stem
from setveil.core.errors import SetveilError
from setveil.core.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from experiments.claims import Claim

EXPERIMENTS = (
    "elimination", "density", "calibration", "reassociation", "distinct_terms", "generalization",
    "lengths", "uncertainty", "baskets", "equivocation",
)  # fmt: skip
OWN = ("generalization", "uncertainty")
"""Those that can be run on files of the user's."""
HERE = Path(__file__).parent
UNIT = "unit"


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where figures are kept, and the page about them."""

    results: Path
    page: Path

    @classmethod
    def of(cls, *, small: bool) -> Place:
        """Return the place of all figures, or that of a quick look, which is not kept."""
        root = HERE.parent
        if small:
            quick = root / "build" / "experiments"
            return cls(results=quick, page=quick / "results.md")
        return cls(results=HERE / "results", page=root / "docs" / "results.md")

    @classmethod
    def of_file(cls, file: Path) -> Place:
        """Return the place of figures about a file of the user's, which are not kept."""
        own = HERE.parent / "build" / "experiments" / stem(file)
        return cls(results=own, page=own / "results.md")

    def csv(self, experiment: ModuleType) -> Path:
        """Return the file of an experiment's figures."""
        return self.results / f"{experiment.NAME}.csv"


def main(arguments: list[str] | None = None) -> int:
    """Run experiments, keep their figures, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*EXPERIMENTS, []], metavar="NAME",
                        help=f"which: {', '.join(EXPERIMENTS)} (all)")  # fmt: skip
    parser.add_argument("--seeds", type=int, help="repetitions (5; with --small 2)")
    parser.add_argument("--workers", type=int, default=2, help="processes (2)")
    parser.add_argument("--again", action="store_true", help="measure what is there already, too")
    parser.add_argument("--report", action="store_true", help="only write the page anew")
    parser.add_argument("--small", action="store_true",
                        help="a quick look: less data, into build/experiments")  # fmt: skip
    parser.add_argument("--data", type=Path, action="append", metavar="FILE", default=[],
                        help="records of your own, in any layout that setveil reads, instead of "
                        f"ours, into build/experiments; for {' and '.join(OWN)}")  # fmt: skip
    chosen = parser.parse_args(arguments)
    if chosen.data and not set(chosen.names) <= set(OWN):
        parser.error(f"--data is for {' and '.join(OWN)}")
    seeds = chosen.seeds or (2 if chosen.small else 5)
    places = [(Place.of_file(file), file) for file in chosen.data]
    try:
        for place, file in places or [(Place.of(small=chosen.small), None)]:
            names = chosen.names or (EXPERIMENTS if file is None else OWN)
            for name in () if chosen.report else names:
                _run(importlib.import_module(f"experiments.{name}"), place, file, seeds, chosen)
            modules = [importlib.import_module(f"experiments.{name}") for name in EXPERIMENTS]
            write_page(modules, place)
            print(place.page, file=sys.stderr)
    except SetveilError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _run(
    experiment: ModuleType, place: Place, file: Path | None, seeds: int, chosen: argparse.Namespace
) -> None:
    """Measure what is not measured yet of one experiment."""
    rows = [] if chosen.again else _read(place.csv(experiment))
    if file is None:
        units = experiment.units(seeds, small=chosen.small)
    else:
        setveil.read(file)  # what is wrong with it is said before anything is measured
        units = experiment.units_of(file, seeds, small=chosen.small)
    _measure(experiment, rows, units, chosen.workers, place.csv(experiment))


def _measure(
    experiment: ModuleType, rows: list[dict[str, Any]], units: list[Any], workers: int, kept: Path
) -> list[dict[str, Any]]:
    done = {row[UNIT] for row in rows}
    todo = [unit for unit in units if _label(unit) not in done]
    # Many small products: threads of the linear algebra would only wait for each other.
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        started = time.perf_counter()
        jobs = {pool.submit(experiment.run, unit): _label(unit) for unit in todo}
        for number, job in enumerate(as_completed(jobs), 1):
            rows += [{UNIT: jobs[job], **row} for row in job.result()]
            _keep(rows, kept)
            took = time.perf_counter() - started
            said = f"{number} of {len(todo)} after {took:,.0f} s: {jobs[job]}"
            print(f"{experiment.NAME}: {said}", file=sys.stderr)
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
    kept.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(",".join(f'"{c}"' if "," in c else c for c in line) for line in lines)
    write_whole(kept, text + "\n")


def write_page(experiments: Sequence[ModuleType], place: Place) -> None:
    """Write the page from all figures that are there: every claim first, then each experiment."""
    claims: list[Claim] = []
    parts = []
    for experiment in experiments:
        rows = _read(place.csv(experiment))
        if not rows:
            continue
        own = experiment.claims(rows)
        claims += own
        parts.append(
            f"## {experiment.TITLE}\n\nMeasured by `python -m experiments {experiment.NAME}`.\n\n"
            f"{experiment.report(rows, place.page)}"
        )
    place.page.parent.mkdir(parents=True, exist_ok=True)
    intro = (
        "Every figure on this page was written by `python -m experiments`, none by hand. A claim "
        "*holds* or *does not hold* where the whole 95% interval lies on one side of its bound; "
        "otherwise we *cannot tell here*."
    )
    summary = f"## Claims of the papers\n\n{claims_table(claims)}"
    text = "\n\n".join(["# Results", intro, summary, *parts])
    write_whole(place.page, text + "\n")


if __name__ == "__main__":
    raise SystemExit(main())
