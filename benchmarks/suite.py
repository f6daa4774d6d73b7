"""How long the tests take, which take longest, and how much of the code the quick ones run.

Nothing is run here: `make test`, `make test-ci` and `make coverage` leave their reports in
``build/``, and what is not there is not on the page.
"""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

from benchmarks.row import Row

BUILD = Path(__file__).parents[1] / "build"
SHOWN = 20
"""How many of the slowest tests are listed."""


def run(*, small: bool) -> list[Row]:
    """Return the figures of the last runs of the tests."""
    rows = [] if small else [*times("test", most=6), *times("test-ci", most=45), *coverage()]
    return [*rows, *slowest(BUILD / "test-ci.xml")] if rows else []


def times(tier: str, most: float) -> list[Row]:
    """Return how many tests a tier has, and how many minutes they took."""
    report = BUILD / f"{tier}.xml"
    if not report.exists():
        return []
    suites = list(ET.parse(report).iter("testsuite"))  # noqa: S314  (pytest wrote it)
    tests = sum(int(suite.get("tests", 0)) for suite in suites)
    minutes = sum(float(suite.get("time", 0)) for suite in suites) / 60
    return [Row(name=f"`make {tier}`, {tests:,} tests", value=minutes, unit="min", most=most)]


def coverage() -> list[Row]:
    """Return the share of the lines of src that `make test` runs, compiled loops left out."""
    report = BUILD / "coverage.json"
    if not report.exists():
        return []
    share = json.loads(report.read_bytes())["totals"]["percent_covered"]
    return [Row(name="lines of src that `make test` runs", value=share, unit="%", least=90)]


def slowest(report: Path) -> list[Row]:
    """Return the tests that took longest, slowest first."""
    if not report.exists():
        return []
    cases = sorted(
        ET.parse(report).iter("testcase"),  # noqa: S314  (pytest wrote it)
        key=lambda case: -float(case.get("time", 0)),
    )
    return [
        Row(
            name=f"{case.get('classname', '').removeprefix('tests.')}: {case.get('name')}",
            value=float(case.get("time", 0)),
            unit="s",
        )
        for case in cases[:SHOWN]
    ]
