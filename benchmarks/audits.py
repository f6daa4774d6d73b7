"""Audits: real data in minutes, targets that change what is recommended, a kill in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.nouns import TEXTS
from benchmarks.row import Row
from setveil.io.writers import write
from setveil.synthetic import clinic, lookalike

TARGETS = (0.02, 0.1, 0.3)
MINUTES = 600
"""Seconds that are still minutes."""
LARGE = (480, 1800)
"""The same for 77,512 and 515,597 records."""
KEPT = 2
"""How many runs have ended when an audit is killed."""
ANSWERS = {0, 1, 3, 4}
"""Exit codes of an audit that ran to its end, one for each answer."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """Data to audit, as the command line is given it."""

    name: str
    options: tuple[str, ...]

    def started(self, out: Path, *more: str) -> subprocess.Popen[str]:
        """Start the audit in a process of its own."""
        command = [sys.executable, "-m", "setveil", "audit", *self.options, "--seed", "1"]
        return subprocess.Popen(  # noqa: S603  (our own command)
            [*command, "--json", "--quiet", "-o", str(out), *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def ended(self, out: Path, *more: str) -> tuple[float, dict[str, Any]]:
        """Return how long the audit takes, and what it finds."""
        begun = time.perf_counter()
        process = self.started(out, *more)
        said, errors = process.communicate()
        if process.returncode not in ANSWERS or not said:
            raise AssertionError(f"exit code {process.returncode}: {errors}")
        return time.perf_counter() - begun, json.loads(said)


def groceries(folder: Path, *, small: bool) -> Case:
    """Return baskets with their taxonomy and a tenth of the items sensitive; else the clinic."""
    data = os.environ.get("SETVEIL_DATA")
    if data and not small:
        place = Path(data)
        tree = ("--taxonomy", str(place / "groceries_taxonomy.csv"))
        share = ("--sensitive-share", "0.1")
        return Case(name="groceries", options=(str(place / "groceries.basket.csv"), *tree, *share))
    made = clinic(n=120 if small else 5_000, seed=1)
    write(made.table, folder / "clinic.jsonl")
    made.taxonomy.write(folder / "tree.csv")
    tried = ("--methods", "gather:k=2;gather:k=5;disassociate:k=5,m=2") if small else ()
    tree = ("--taxonomy", str(folder / "tree.csv"))
    return Case(name="clinic", options=(str(folder / "clinic.jsonl"), *tree, *tried))


def wikipedia(folder: Path) -> Case | None:
    """Return the nouns of the paragraphs, with word vectors for the adversaries."""
    data = os.environ.get("SETVEIL_DATA")
    if not data:
        return None
    from setveil.text.documents import Documents
    from setveil.text.extract import extract

    texts = Documents(path=Path(data) / TEXTS["Wikipedia nouns"])
    write(extract(texts, method="nouns").table, folder / "wikipedia.jsonl")
    vectors = f"glove:{Path(data) / 'glove_100d_small_f16.npz'}"
    return Case(
        name="Wikipedia", options=(str(folder / "wikipedia.jsonl"), "--relatedness", vectors)
    )


def lookalikes(folder: Path) -> list[Case]:
    """Return click streams and baskets like those of the literature, 16 settings each."""
    settings = ";".join(
        f"{name}:k={k},m={m}"
        for name in ("disassociate", "safe-disassociate")
        for k in (5, 10, 25, 50)
        for m in (2, 3)
    )
    found = []
    for name in ("bms-webview-2", "bms-pos"):
        write(lookalike(name).table, folder / f"{name}.jsonl")
        options = (str(folder / f"{name}.jsonl"), "--methods", settings)
        found.append(Case(name=f"{name} look-alike", options=options))
    return found


def chosen(found: dict[str, Any]) -> str:
    """Return the title of the recommended release."""
    return next(
        (run["title"] for run in found["runs"] if run["id"] == found["recommended"]), "none"
    )


def targets(folder: Path, case: Case) -> list[Row]:
    """Time of an audit, and what is recommended for which target."""
    rows = []
    for place, target in enumerate(TARGETS):
        seconds, found = case.ended(folder / case.name, "--target", str(target))
        records, runs = found["settings"]["records"], len(found["runs"])
        what = f"{case.name}, {records:,} records, {runs} runs"
        if place:
            what = f"{case.name} again"
        name = f"audit of {what}, target {target:g}: {chosen(found)}"
        rows.append(Row(name=name, value=seconds, unit="s", most=MINUTES))
    return rows


def killed(folder: Path, case: Case) -> list[Row]:
    """Whether an audit that was killed and called again finds what one finds that was not."""
    out = folder / "killed"
    process = case.started(out)
    while process.poll() is None and len(list(out.glob("private/runs/*.json"))) < KEPT:
        time.sleep(0.05)
    early = process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    kept = len(list(out.glob("private/runs/*.json")))
    seconds, again = case.ended(out)
    _, whole = case.ended(folder / case.name)
    same = timeless(again) == timeless(whole) and early
    return [
        Row(name=f"{case.name}: killed (-9) with {kept} runs kept, then called again",
            value=seconds, unit="s", most=MINUTES),
        Row(name="the same result as without, but for timings (1 is yes)", value=float(same),
            unit="", least=1),
    ]  # fmt: skip


def timeless(found: Any) -> Any:  # noqa: ANN401  (JSON)
    """Return what an audit found without its timings and the places of its files."""
    if isinstance(found, dict):
        return {
            name: timeless(value)
            for name, value in found.items()
            if name not in {"seconds", "report", "publish"}
        }
    return [timeless(value) for value in found] if isinstance(found, list) else found


def run(*, small: bool = False) -> list[Row]:
    """Return all figures."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        case = groceries(folder, small=small)
        rows = [*targets(folder, case), *killed(folder, case)]
        texts = None if small else wikipedia(folder)
        if texts is not None:
            seconds, found = texts.ended(folder / texts.name)
            name = f"audit of Wikipedia, {len(found['runs'])} runs: {chosen(found)}"
            rows.append(Row(name=name, value=seconds, unit="s", most=MINUTES))
        for large, most in zip([] if small else lookalikes(folder), LARGE, strict=False):
            seconds, found = large.ended(folder / large.name.partition(" ")[0])
            records = found["settings"]["records"]
            name = f"audit of the {large.name}, {records:,} records, 16 settings: {chosen(found)}"
            rows.append(Row(name=name, value=seconds, unit="s", most=most))
    return rows
