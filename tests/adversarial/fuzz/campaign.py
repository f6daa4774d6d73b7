"""A campaign against one kind of untrusted file: inputs by the thousand, in processes that may die.

Each input is made from its number alone, so that a failure can be looked at again with
``python -m tests.adversarial.fuzz --target NAME --again NUMBER``. An input is a case of the
target's seeds after some changes. It must be accepted, and then be of use, or be refused with an
error of our own family; nothing else counts as a success:

* an exception of another kind, or a message that cannot be printed, is a traceback;
* more than `SECONDS` of processor time, or `WALL` seconds in all, is a hang: the signal of a timer
  then ends the process, also in the middle of compiled code;
* a process that ends by itself is an abort;
* an address space of more than `MEMORY` beyond what the process has after it has accepted all
  seeds makes allocation fail (a traceback or an abort), and a peak of resident memory more than
  `GROWTH` above what the process held before is a blow-up.
"""

# ruff: noqa: T201  (what a process prints is what came of its inputs)
from __future__ import annotations

import faulthandler
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setveil.core.errors import SetveilError

if TYPE_CHECKING:
    from collections.abc import Callable

COMMAND = [sys.executable, "-m", "tests.adversarial.fuzz"]
SEED = "setveil"
SECONDS = 10.0
WALL = 120.0
MEMORY = 3 << 30  # bytes of address space: allocators and threads reserve more than they use
GROWTH = 1 << 30  # bytes of resident memory
LONGEST = 10_000  # characters of a message
KEPT = 3  # failures of the same kind whose inputs are kept
OUTCOMES = ("accepted", "refused", "traceback", "hang", "abort", "memory")
GOOD = frozenset({"accepted", "refused"})


@dataclass(frozen=True, kw_only=True)
class Case:
    """Files by their path inside a folder, and how they are to be read."""

    files: dict[str, bytes]
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Target:
    """What is fuzzed.

    Parameters
    ----------
    name
        What it is called in the table.
    inputs
        Its share of the whole campaign.
    seeds
        Returns all seeds, in the same order in every process; it may use a folder.
    change
        Returns a case of the seeds with some changes.
    use
        Loads a case from its folder and uses what was loaded; a SetveilError is a refusal.
    strict
        Whether every seed must be accepted as it is.
    least
        The part of all inputs that must be accepted, and refused: else little was tested.
    """

    name: str
    inputs: int
    seeds: Callable[[Path], list[Case]]
    change: Callable[[random.Random, list[Case]], Case]
    use: Callable[[Path, Case], None]
    strict: bool = True
    least: float = 0.05

    def made(self, number: int, known: list[Case]) -> Case:
        """Return the input of a number."""
        return self.change(random.Random(f"{SEED} {self.name} {number}"), known)


# --- One input -----------------------------------------------------------------------------------


def place(case: Case, folder: Path) -> None:
    """Write the files of a case."""
    for name, content in case.files.items():
        path = folder / name
        if "/" in name:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def clear(folder: Path) -> None:
    """Remove what a case and its use left behind."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def outcome_of(target: Target, folder: Path, case: Case) -> tuple[str, str]:
    """Use a case; return "accepted", or "refused" and why, and fail on anything else."""
    try:
        target.use(folder, case)
    except SetveilError as error:
        message = str(error)
        message.encode()  # a message can always be printed
        assert len(message) < LONGEST, f"a message of {len(message):,} characters"
        return "refused", message
    return "accepted", ""


def _memory(of: str) -> int:
    """Return the resident memory in bytes: now (``VmRSS``), or its peak (``VmHWM``)."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition(f"{of}:")[2].split()[0]) << 10


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY,) * 2)


def _set_timers(cpu: float, wall: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, cpu)
    signal.setitimer(signal.ITIMER_REAL, wall)


def observed(target: Target, folder: Path, case: Case) -> tuple[str, float, int, str]:
    """Use a case; return what came of it, the processor seconds, the bytes, and what was said."""
    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    _set_timers(SECONDS, WALL)
    start = time.process_time()
    try:
        outcome, said = outcome_of(target, folder, case)
    except BaseException:  # noqa: BLE001  (panics of polars are no Exception)
        outcome, said = "traceback", traceback.format_exc()
    seconds = time.process_time() - start
    _set_timers(0, 0)
    grown = max(_memory("VmHWM") - before, 0)
    if grown > GROWTH and outcome in GOOD:
        outcome, said = "memory", f"{grown:,} bytes more"
    return outcome, seconds, grown, said


def warm_up(target: Target, known: list[Case], folder: Path) -> None:
    """Load and compile what is loaded and compiled only once; from here on memory is limited."""
    for case in known:
        place(case, folder)
        outcome, said = outcome_of(target, folder, case)
        assert outcome == "accepted" or not target.strict, (said, case)
        clear(folder)
    for number in (signal.SIGPROF, signal.SIGALRM):
        faulthandler.register(number, chain=True)  # says where it was, and then ends the process
    _limit_memory()


def _begin(target: Target, folder: Path) -> tuple[list[Case], Path]:
    (inside := folder / "case").mkdir(parents=True)
    (folder / "seeds").mkdir()
    known = target.seeds(folder / "seeds")
    warm_up(target, known, inside)
    return known, inside


def work(target: Target, numbers: range, folder: Path) -> None:
    """Use the inputs of some numbers, and print a line of JSON on each."""
    known, inside = _begin(target, folder)
    for number in numbers:
        case = target.made(number, known)
        place(case, inside)
        print(json.dumps([number, *observed(target, inside, case)]), flush=True)
        clear(inside)


def use_files(target: Target, files: Path, folder: Path) -> None:
    """Use the files of a folder, each by itself, and print a line of JSON on each."""
    _begin(target, folder)
    for path in sorted(files.iterdir()):
        case = Case(files={path.name: b""})
        print(json.dumps([path.name, *observed(target, files, case)]), flush=True)


# --- All inputs ----------------------------------------------------------------------------------


@dataclass
class Figures:
    """What came of a campaign against a target."""

    target: str
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: dict[str, list[str]] = field(default_factory=dict)
    worst_seconds: tuple[float, int] = (0.0, -1)
    worst_growth: tuple[int, int] = (0, -1)
    cpu: float = 0.0

    @property
    def failed(self) -> int:
        """How many inputs were neither accepted nor refused."""
        return sum(count for outcome, count in self.outcomes.items() if outcome not in GOOD)

    def add(self, number: int, outcome: str, seconds: float, grown: int, problem: str) -> None:
        """Count an input."""
        self.outcomes[outcome] += 1
        self.worst_seconds = max(self.worst_seconds, (seconds, number))
        self.worst_growth = max(self.worst_growth, (grown, number))
        if outcome not in GOOD:
            alike = self.failures.setdefault(_kind(outcome, problem), [])
            if len(alike) < KEPT:
                alike.append(f"input {number} of {self.target}: {outcome}\n{problem}")

    def line(self) -> str:
        """Return a row of the table."""
        cells = [self.target, f"{self.outcomes.total():,}"]
        cells += [f"{self.outcomes[outcome]:,}" for outcome in OUTCOMES]
        cells += [f"{self.worst_seconds[0]:.2f}", f"{self.worst_growth[0] / 1e6:.0f}"]
        return f"| {' | '.join([*cells, f'{self.cpu:,.0f}'])} |"


def _kind(outcome: str, problem: str) -> str:
    """Return what failures of the same cause have in common: the place and the kind of error."""
    frames = re.findall(r'File "([^"]+)", line (\d+)', problem)
    last = problem.strip().rpartition("\n")[2]
    return f"{outcome} {frames[-1] if frames else ''} {last.partition(':')[0]}"


def run(
    target: Target,
    count: int,
    folder: Path,
    *,
    first: int = 0,
    workers: int = 2,
    enough: int = 200,
) -> Figures:
    """Use so many inputs in worker processes; stop after `enough` failures."""
    figures = Figures(target.name)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    threads = [
        threading.Thread(
            target=_feed,
            args=(range(first + i, first + count, workers), folder / str(i), figures, enough),
        )
        for i in range(workers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    figures.cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return figures


def environment() -> dict[str, str]:
    """Return the environment of a worker: one thread for each."""
    return {**os.environ, "POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def _feed(numbers: range, folder: Path, figures: Figures, enough: int) -> None:
    """Let processes use inputs; where one dies, the next takes up after the input it died of."""
    folder.mkdir(parents=True)
    attempt = 0
    while numbers and figures.failed < enough:
        attempt += 1
        said = folder / f"{attempt}.stderr"
        command = [*COMMAND, "work", figures.target, folder / str(attempt)]
        command += map(str, (numbers.start, numbers.stop, numbers.step))
        with (
            said.open("wb") as stderr,
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment()
            ) as process,
        ):
            assert process.stdout is not None
            begun = False
            for line in process.stdout:
                begun = True
                figures.add(*json.loads(line))
                numbers = numbers[1:]
                if figures.failed >= enough:
                    process.terminate()
        tail = said.read_bytes()[-3000:].decode(errors="replace")
        if not numbers or figures.failed >= enough:
            return
        code = process.returncode
        ended = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        if not begun and code > 0:  # the seeds, not an input
            figures.add(-1, "abort", 0.0, 0, f"a worker cannot start\n{tail}")
            return
        hung = code in {-signal.SIGPROF, -signal.SIGALRM}
        outcome = "hang" if hung else "abort"
        figures.add(numbers[0], outcome, SECONDS * hung, 0, f"the process ended ({ended})\n{tail}")
        numbers = numbers[1:]
