"""All runs of an audit: those that ended before are kept, the others made within the budgets."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from setveil.audit.apart import keep, perform_apart
from setveil.audit.changes import plain
from setveil.audit.performing import perform
from setveil.audit.results import FAILED, SKIPPED, RunRecord
from setveil.core.quantities import format_duration, format_size
from setveil.engine import processes
from setveil.engine.processes import Processes
from setveil.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from setveil.audit.performing import Case, Job
    from setveil.engine.processes import Outcome
    from setveil.engine.spark import Spark

    Told = Callable[[RunRecord, int, int], None]

MOST_WORKERS = 4
PART = 4
"""One run gets at most this part of the time budget."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What the runs may use, counted from the start of the audit."""

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

    @property
    def processes(self) -> int:
        """Number of processes; 0 for none beside this one."""
        return min(os.cpu_count() or 1, MOST_WORKERS) if self.workers is None else self.workers

    @property
    def left(self) -> float | None:
        """Seconds until the time is used up; a moment at least."""
        if self.budget is None:
            return None
        return max(self.budget - (time.monotonic() - self.started), 0.01)

    @property
    def each(self) -> float | None:
        """Seconds for one run."""
        return None if self.budget is None else self.budget / PART

    def in_words(self, state: str) -> str:
        """Return which budget was reached."""
        if state == processes.LARGE:
            return f"the memory budget of {format_size(self.memory or 0)} was reached"
        budget = f"the time budget of {format_duration(self.budget or 0.0)}"
        if state == processes.SLOW:
            return f"it took longer than a quarter of {budget}"
        return f"{budget} was reached"


def all_runs(case: Case, jobs: Sequence[Job], limits: Limits, told: Told | None) -> list[RunRecord]:
    """Return the runs in the order of the plan; finished ones are taken from the store."""
    found: dict[str, RunRecord] = {}
    todo = []

    def ended(record: RunRecord) -> None:
        found[record.id] = record
        if told is not None:
            told(record, len(found), len(jobs))

    for job in jobs:
        kept = case.store.finished(job.id, job.setting.name)
        if kept is None:
            todo.append(job)
        else:
            ended(kept)
    if limits.engine is not None:
        work = _on_spark
    else:
        work = _in_processes if limits.processes else _in_this_process
    for record in work(case, todo, limits):
        ended(record)
    return [found[job.id] for job in jobs]


def _in_this_process(case: Case, jobs: Sequence[Job], limits: Limits) -> Iterator[RunRecord]:
    for job in jobs:
        if limits.left is not None and limits.left <= 0.01:
            yield _ended(job, SKIPPED, limits.in_words(processes.LATE))
            continue
        try:
            yield perform(case, job)
        except Exception as error:  # noqa: BLE001  (one failed run must not lose the others)
            yield _ended(job, FAILED, f"{type(error).__name__}: {error}")


def _in_processes(case: Case, jobs: Sequence[Job], limits: Limits) -> Iterator[RunRecord]:
    if not jobs:
        return
    pool = Processes(
        workers=min(limits.processes, len(jobs)),
        seconds=limits.left,
        seconds_each=limits.each,
        memory=limits.memory,
    )
    for outcome in pool.run(perform, case, jobs):
        job = jobs[outcome.job]
        yield outcome.value if outcome.state == processes.DONE else _unmade(job, outcome, limits)


def _on_spark(case: Case, jobs: Sequence[Job], limits: Limits) -> Iterator[RunRecord]:
    """Make each run where Spark has a core free, and keep here what it leaves behind."""
    from setveil.engine.spark_jobs import SparkJobs  # noqa: PLC0415  (start-up time)

    assert limits.engine is not None
    pool = SparkJobs(engine=limits.engine, seconds=limits.left, seconds_each=limits.each)
    for outcome in pool.run(perform_apart, case, jobs):
        job = jobs[outcome.job]
        if outcome.state == processes.DONE:
            yield keep(outcome.value, case.store)
        else:
            yield _unmade(job, outcome, limits)


def _unmade(job: Job, outcome: Outcome, limits: Limits) -> RunRecord:
    if outcome.state == processes.FAILED:
        return _ended(job, FAILED, outcome.reason)
    if outcome.state == processes.LARGE and limits.memory is None:
        return _ended(job, FAILED, outcome.reason)
    return _ended(job, SKIPPED, limits.in_words(outcome.state))


def _ended(job: Job, state: str, error: str) -> RunRecord:
    return RunRecord(
        id=job.id,
        name=job.setting.name,
        title=job.setting.title,
        method=job.setting.method,
        params=plain(job.setting.params),
        state=state,
        error=error,
    )
