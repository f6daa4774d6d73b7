"""Run the benchmarks: ``python -m benchmarks [--small] [--write docs/performance.md]``."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.row import Row

GROUPS = {
    "Reading": "benchmarks.read",
    "Clustering": "benchmarks.clustering",
    "k^m-anonymity": "benchmarks.km",
    "ρ-uncertainty": "benchmarks.rho",
    "ρ-uncertainty, the check": "benchmarks.rho_check",
    "Text": "benchmarks.text",
    "Query logs": "benchmarks.query_log",
    "COAT": "benchmarks.coat",
    "Relatedness": "benchmarks.relatedness",
    "Elimination": "benchmarks.elimination",
    "Disassociation": "benchmarks.disassociation",
    "Attacks on chunks": "benchmarks.chunk_attacks",
    "Large releases": "benchmarks.scale",
    "CAHD": "benchmarks.cahd",
    "Audits": "benchmarks.audits",
    "Budgets": "benchmarks.budgets",
    "Spark": "benchmarks.spark",
    "Command line": "benchmarks.commands",
    "Tests": "benchmarks.suite",
}


LONG = {"Spark"}
"""Groups that take minutes at any size: with --small only if they are named."""
MARKS = {True: "reached", False: "**missed**", None: ""}


def page(results: dict[str, list[Row]], *, small: bool, before: str = "") -> str:
    """Return the page that documents the figures; groups not run are taken from the one before."""
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    head = [
        "# Performance",
        "",
        "Written by `make bench`, or group by group by",
        "`python -m benchmarks --only GROUP --write docs/performance.md`; do not edit by hand.",
        "Every ratio compares two things measured in the same run on the same machine; absolute",
        "times depend on the machine.",
        "",
        f"Machine: {machine}{', small sizes' if small else ''}.",
        "",
    ]
    kept = {part.partition("\n")[0]: part for part in before.split("\n## ")[1:]}
    parts = ["\n".join(head)]
    for group in GROUPS:
        if group in results:
            parts.append(section(group, results[group]))
        elif group in kept:
            parts.append(f"## {kept[group].rstrip()}\n")
    return "\n".join(parts)


def section(group: str, rows: list[Row]) -> str:
    """Return the figures of a group as a table."""
    lines = [f"## {group}", "", "| what | target | measured | |", "|---|---|---|---|"]
    lines += [
        f"| {row.name} | {row.target} | {row.value:.3g} {row.unit} | {MARKS[row.holds]} |"
        for row in rows
    ]
    return "\n".join([*lines, ""])


def main() -> int:
    """Run, print, and write the page if asked to; exit 1 when a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--small", action="store_true", help="sizes that take seconds")
    parser.add_argument(
        "--only", choices=[name.lower() for name in GROUPS], action="append", help="some groups"
    )
    parser.add_argument("--write", type=Path, help="the page to write; other groups stay in it")
    chosen = parser.parse_args()
    results = {}
    for group, module in GROUPS.items():
        if group.lower() in (chosen.only or ()) or (
            chosen.only is None and not (chosen.small and group in LONG)
        ):
            rows = importlib.import_module(module).run(small=chosen.small)
            if rows:
                results[group] = rows
    print(page(results, small=chosen.small))
    if chosen.write:
        there = chosen.write.read_text(encoding="utf-8") if chosen.write.exists() else ""
        text = page(results, small=chosen.small, before=there)
        chosen.write.write_text(text, encoding="utf-8")
    missed = [row for rows in results.values() for row in rows if row.holds is False]
    return 1 if missed and not chosen.small else 0


if __name__ == "__main__":
    sys.exit(main())
