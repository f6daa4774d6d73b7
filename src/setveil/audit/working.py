"""All runs of an audit: those that ended before are kept, the others made within the budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from setveil.audit.apart import keep, perform_apart
from setveil.audit.changes import plain
from setveil.audit.performing import perform
from setveil.audit.results import FAILED, SKIPPED, RunRecord
from setveil.engine import processes
from setveil.engine.processes import Processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from setveil.audit.limits import Limits
    from setveil.audit.performing import Case, Job
    from setveil.engine.processes import Outcome

    Told = Callable[[RunRecord, int, int], None]


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
    if limits.over:
        work = _too_late
    elif limits.engine is not None:
        work = _on_spark
    else:
        work = _in_processes if limits.processes else _in_this_process
    for record in work(case, todo, limits):
        ended(record)
    return [found[job.id] for job in jobs]


def _too_late(case: Case, jobs: Sequence[Job], limits: Limits) -> Iterator[RunRecord]:
    del case
    for job in jobs:
        yield _ended(job, SKIPPED, limits.in_words(processes.LATE))


def _in_this_process(case: Case, jobs: Sequence[Job], limits: Limits) -> Iterator[RunRecord]:
    del limits  # with a limit there is a process that can be stopped
    for job in jobs:
        try:
            yield perform(case, job)
        except Exception as error:  # noqa: BLE001  (one failed run must not lose the others)
            yield _ended(job, FAILED, f"{type(error).__name__}: {error}")


def _in_processes(case: Case, jobs: Sequence[Job], limits: Limits) -> Iterator[RunRecord]:
    pool = Processes(
        workers=max(min(limits.processes, len(jobs)), 1),
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
