"""What the trials of an audit may use: time, memory, processes."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import ParameterError
from setveil.core.words import format_duration, format_size, spell_duration, spell_size
from setveil.engine import processes

if TYPE_CHECKING:
    from setveil.engine.spark import Spark

MOST_WORKERS = 4
SORT_SECONDS = 0.06
"""How long a million numbers are sorted on the machine on which the next two were measured."""
FIRST_SECONDS, RECORD_SECONDS = 2.0, 5e-4
"""What a trial takes there: to begin with, and for each record (docs/performance.md)."""
PART = 4
"""One run gets at most this part of the time budget."""
REPORT_SHARE = 0.05
"""The share of the time that is kept for what comes after the trials: advice and report."""
REPORT_SECONDS = 1.0
"""Seconds that are kept for it at least, on a machine that has nothing else to do."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What the trials may use.

    Parameters
    ----------
    budget
        Seconds for everything, reading the data and writing the report included; None for as long
        as it takes.
    memory
        Bytes for all processes; None for as much as there is.
    workers
        Number of processes; None for one per core, up to four.
    started
        When the time began to run, by :func:`time.monotonic`.
    engine
        The Spark that runs the trials instead.

    Examples
    --------
    >>> limits = Limits(budget=100, memory=None, workers=2, started=time.monotonic())
    >>> 49 < limits.left <= 95, limits.each
    (True, 25.0)
    """

    budget: float | None
    memory: int | None
    workers: int | None
    started: float
    engine: Spark | None = None

    def __post_init__(self) -> None:
        given = [name for name in ("memory", "workers") if getattr(self, name) is not None]
        if self.engine is not None and given:
            raise ParameterError(
                f"{given[0]} is given, but Spark decides about it",
                fix=f"leave {given[0]} out and set spark.executor.memory or spark.cores.max",
            )
        for name in ("budget", "memory"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ParameterError(f"{name} is {value}", fix="use more than 0, or None")

    @property
    def processes(self) -> int:
        """Number of processes; 0 for none beside this one.

        Where a limit is given there is one at least: nobody can stop a trial in this process.
        """
        if self.workers is None:
            return min(os.cpu_count() or 1, MOST_WORKERS)
        limited = self.budget is not None or self.memory is not None
        return max(self.workers, 1) if limited else self.workers

    @property
    def left(self) -> float | None:
        """Seconds until the trials must end, so that the report is in time; a moment at least."""
        return None if self.budget is None else max(self._left(self.budget), 0.001)

    @property
    def over(self) -> bool:
        """Whether no trial may begin any more."""
        return self.budget is not None and self._left(self.budget) <= 0

    def _left(self, budget: float) -> float:
        report = max(REPORT_SHARE * budget, min(REPORT_SECONDS * crowding(), budget / 2))
        return budget - report - (time.monotonic() - self.started)

    @property
    def each(self) -> float | None:
        """Seconds for one run."""
        return None if self.budget is None else self.budget / PART

    def in_words(self, state: str) -> str:
        """Return which limit was reached."""
        if state == processes.LARGE:
            return f"the memory budget of {format_size(self.memory or 0)} was reached"
        budget = f"the time budget of {format_duration(self.budget or 0.0)}"
        if state == processes.SLOW:
            return f"it took longer than a quarter of {budget}"
        return f"{budget} was reached"

    def how_to_go_on(self) -> str:
        """Return what to do where these limits stopped the search.

        >>> print(Limits(budget=10, memory=None, workers=1, started=0.0).how_to_go_on())
        The time of 10 s ended the search. To go on, run the same command again ... --budget 40s.
        """
        if self.budget is None:
            return (
                f"Some trials did not fit into {format_size(self.memory or 0)} of memory. Allow "
                f"more, as in --memory {spell_size(2 * (self.memory or 0))}."
            )
        more = f"as in --budget {spell_duration(PART * self.budget)}"
        if self.memory is not None:
            more += f", or more memory, as in --memory {spell_size(2 * self.memory)}"
        return (
            f"The time of {format_duration(self.budget)} ended the search. To go on, run the same "
            f"command again (finished trials are kept), or allow more time, {more}."
        )


def estimate_seconds(records: int, trials: int, workers: int) -> float:
    """Return about how long trials will take on this machine, before any has run.

    The time of a trial grows with the records; how fast the machine is, a sort of a million
    numbers tells.

    >>> 0 < estimate_seconds(1000, 10, 2) < estimate_seconds(100_000, 10, 2)
    True
    """
    numbers = np.random.default_rng(0).random(1_000_000)
    begun = time.perf_counter()
    numbers.sort()
    slowness = (time.perf_counter() - begun) / SORT_SECONDS
    each = FIRST_SECONDS + RECORD_SECONDS * records
    return slowness * each * trials / max(workers, 1)


def crowding() -> float:
    """Return how many programs share a core of this machine, by its load; 1 at least.

    >>> crowding() >= 1
    True
    """
    try:
        return max(os.getloadavg()[0] / (os.cpu_count() or 1), 1.0)
    except (AttributeError, OSError):  # a system that does not tell
        return 1.0
