"""Budgets of audits: how long commands take beside their time, and what they hold at most."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.audits import Case, chosen, groceries
from benchmarks.row import Row
from setveil.core.words import format_size
from setveil.engine.worker import resident

SECONDS = (10, 20, 60)
SHARES = (0.25, 0.5, 1.0)
"""Parts of the time that an audit usually takes, as budgets."""
EXHAUSTIVE = (
    *(f"{name}:k={k}" for name in ("gather", "coherence") for k in (5, 10, 25, 50)),
    *(
        f"{name}:k={k},m=2"
        for name in ("disassociate", "safe-disassociate", "apriori-km")
        for k in (5, 10, 25, 50)
    ),
    *(f"cahd:p={p}" for p in (5, 10)),
    *(f"{name}:rho={rho}" for name in ("td-control", "suppress-control") for rho in (0.3, 0.1)),
)
"""Settings that a plain grid tries of the methods of a default audit."""
ATTACKS = "linkage,inference,prior,aba,semantic-prior,vpa"
"""All attacks that apply to them by default; named, they run whatever others found."""
SIZES = (300_000_000, 500_000_000, 1_000_000_000)
MEMORY_SECONDS = 30
"""Time of the audits whose memory is watched."""
WITHIN = 1.1
WRONG_USE = 2


def descendants(process: int) -> list[int]:
    """Return a process and those below it, as Linux shows them."""
    found = [process]
    for each in found:
        try:
            for task in Path(f"/proc/{each}/task").iterdir():
                found += map(int, (task / "children").read_text(encoding="ascii").split())
        except OSError:
            continue  # it has ended
    return found


def watched(case: Case, out: Path, *options: str) -> tuple[float, int, int]:
    """Return how long an audit takes, the most that its processes hold, and its exit code."""
    command = [sys.executable, "-m", "setveil", "audit", *case.options, "--seed", "1", "--quiet"]
    begun = time.perf_counter()
    most = 0
    with subprocess.Popen(  # noqa: S603  (our own command)
        [*command, "-o", str(out), *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while process.poll() is None:
            most = max(most, sum(map(resident, descendants(process.pid))))
            time.sleep(0.01)
    return time.perf_counter() - begun, most, process.returncode


def times(folder: Path, case: Case, budgets: tuple[int, ...]) -> list[Row]:
    """Return how long audits take, over their budget."""
    rows = []
    for budget in budgets:
        seconds, _, _ = watched(case, folder / f"time-{budget}", "--budget", f"{budget}s")
        name = f"audit of {case.name} with --budget {budget}s: time over its budget"
        rows.append(Row(name=name, value=seconds / budget, unit="×", most=WITHIN))
    return rows


def verdicts(folder: Path, case: Case) -> list[Row]:
    """Return how soon an audit answers: within parts of its usual time, and beside a grid."""
    begun = cpu_seconds()
    seconds, usual = case.ended(folder / "usual")
    searched = cpu_seconds() - begun
    name = f"audit of {case.name}: {chosen(usual)}"
    rows = [Row(name=name, value=seconds, unit="s")]
    for share in SHARES:
        budget = max(round(share * seconds), 1)
        took, found = case.ended(folder / f"part-{share}", "--budget", f"{budget}s")
        name = (
            f"the same with --budget {budget}s ({found['answer']}: {chosen(found)}): time over it"
        )
        rows.append(Row(name=name, value=took / budget, unit="×", most=WITHIN))
    begun = cpu_seconds()
    grid = ("--methods", ";".join(EXHAUSTIVE), "--attacks", ATTACKS)
    _, found = case.ended(folder / "grid", *grid)
    name = f"CPU time of {len(EXHAUSTIVE)} settings with every attack ({chosen(found)}) over it"
    rows.append(Row(name=name, value=(cpu_seconds() - begun) / searched, unit="×", least=2))
    return rows


def cpu_seconds() -> float:
    """Return the processor time of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def memories(folder: Path, case: Case, sizes: tuple[int, ...], seconds: int) -> list[Row]:
    """Return what the processes of an audit hold at most, over its memory; or a refusal."""
    rows = []
    for size in sizes:
        took, most, code = watched(
            case, folder / f"memory-{size}", "--memory", str(size), "--budget", f"{seconds}s"
        )
        what = f"audit of {case.name} with --memory {format_size(size).replace(' ', '')}"
        if code == WRONG_USE:
            rows.append(Row(name=f"{what}: refused after", value=took, unit="s"))
        else:
            name = f"{what}: peak of all processes over it"
            rows.append(Row(name=name, value=most / size, unit="×", most=1.02))
    return rows


def run(*, small: bool = False) -> list[Row]:
    """Return all figures."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        case = groceries(folder, small=small)
        if small:
            return [*times(folder, case, (3,)), *memories(folder, case, (100_000_000,), 20)]
        return [
            *times(folder, case, SECONDS),
            *verdicts(folder, case),
            *memories(folder, case, SIZES, MEMORY_SECONDS),
        ]
