"""The trials of a search: those that ended before are kept, the others made within the limits."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from setveil.audit.apart import keep, run_trial_apart
from setveil.audit.changes import plain
from setveil.audit.limits import estimate_seconds
from setveil.audit.results import FAILED, SKIPPED, RunRecord
from setveil.audit.trial import ORIGINAL, run_trial, title_of_setting
from setveil.core.errors import ParameterError
from setveil.core.registry import find, outside_modules
from setveil.engine import processes
from setveil.engine.processes import Processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from setveil.audit.limits import Limits
    from setveil.audit.search import Search
    from setveil.audit.setting import Setting
    from setveil.audit.trial import Case, Job
    from setveil.engine.processes import Outcome


class Progress(NamedTuple):
    """How far a search is, told whenever a trial begins or ends.

    Parameters
    ----------
    ended
        The run that ended; None where one begins.
    running
        Names of the trials under way.
    done, expected
        How many trials have ended, and of how many, as far as is known.
    seconds_left
        About how long the rest will take: by the trials that ended, before that by the number of
        records and the speed of the machine.
    best
        The run that would be recommended now.
    begins
        Whether this is told for the first time.
    foreseen
        Why hardly any release can pass, where that is known before the first trial.
    """

    ended: RunRecord | None
    running: tuple[str, ...]
    done: int
    expected: int
    seconds_left: float
    best: RunRecord | None
    begins: bool
    foreseen: tuple[str, ...]


@dataclass(eq=False)
class Trials:
    """The trials of one search, made where the limits say.

    Parameters
    ----------
    case
        What all trials share.
    search
        Says what to try next.
    limits
        Time, memory and processes.
    job_of
        Returns the job of a setting: its id and the number that it draws with.
    tell
        Called whenever a trial begins or ends.
    foreseen
        Why hardly any release can pass, where that is known; told with the rest.
    """

    case: Case
    search: Search
    limits: Limits
    job_of: Callable[[Setting], Job]
    tell: Callable[[Progress], None] | None = None
    foreseen: tuple[str, ...] = ()
    original: RunRecord | None = None
    running: dict[str, float] = field(default_factory=dict)
    spent: list[float] = field(default_factory=list)
    given: list[Job] = field(default_factory=list)
    begun: bool = False
    told: bool = False

    @cached_property
    def estimate(self) -> float:
        """About how long all trials will take, in seconds."""
        workers = self.limits.processes
        return estimate_seconds(len(self.case.table), self.search.expected, workers)

    def run(self) -> None:
        """Make trials until the search is over or a limit is reached."""
        if self.limits.over:
            self._end_late()
            return
        if self.limits.engine is not None:
            outcomes = self._on_spark()
        elif self.limits.processes and not self._is_local():
            outcomes = self._in_processes()
        else:
            outcomes = self._in_this_process()
        for record in outcomes:
            self._end(record)
        self._end_late()

    def _is_local(self) -> bool:
        """Tell whether a method is defined in a script, which no other process can load."""
        local = [
            each.method
            for each in self.search.ladders.values()
            if find("anonymizer", each.method).target.__module__ == "__main__"
        ]
        if local and (self.limits.budget is not None or self.limits.memory is not None):
            raise ParameterError(
                f"{local[0]} is defined in a script, and limits of time and memory need processes "
                "that cannot load it",
                fix="put it into a module of its own and import that, or give no limits",
            )
        return bool(local)

    def next_job(self) -> Job | None:
        """Return what to do next: first the original data, then what the search asks for."""
        while True:
            if not self.begun:
                self.begun = True
                setting: Setting | None = ORIGINAL
            else:
                setting = self.search.next_setting()
            if setting is None:
                return None
            job = self.job_of(setting)
            kept = self.case.store.finished(job.id, setting.name)
            if kept is not None:
                self._end(kept)
                continue
            self.running[job.id] = time.monotonic()
            self.given.append(job)
            self._say(None)
            return job

    def _end(self, record: RunRecord) -> None:
        begun = self.running.pop(record.id, None)
        if record.method == ORIGINAL.method:
            self.original = record
            return
        if begun is not None:
            self.spent.append(time.monotonic() - begun)
        self.search.put(record)
        self._say(record)

    def _end_late(self) -> None:
        """Say of everything that is still asked for that it was not tried."""
        while (setting := self.search.next_setting()) is not None:
            self._end(_ended(self.job_of(setting), SKIPPED, self.limits.in_words(processes.LATE)))

    def _say(self, ended: RunRecord | None) -> None:
        if self.tell is None:
            return
        done = len(self.search.runs)
        expected = max(self.search.expected, done)
        left = self.estimate
        if self.spent:
            each = sum(self.spent) / len(self.spent)
            left = each * (expected - done) / max(self.limits.processes, 1)
        if self.limits.left is not None:
            left = min(left, self.limits.left)
        names = {job.id: job.setting.name for job in self.given}
        running = tuple(names[each] for each in self.running)
        first, self.told = not self.told, True
        best = self.search.best
        self.tell(Progress(ended, running, done, expected, left, best, first, self.foreseen))

    def _in_this_process(self) -> Iterator[RunRecord]:
        while (job := self.next_job()) is not None:
            try:
                yield run_trial(self.case, job)
            except Exception as error:  # noqa: BLE001  (one failed run must not lose the others)
                yield _ended(job, FAILED, f"{type(error).__name__}: {error}")

    def _in_processes(self) -> Iterator[RunRecord]:
        limits = self.limits
        pool = Processes(
            workers=max(limits.processes, 1),
            seconds=limits.left,
            seconds_each=limits.each,
            memory=limits.memory,
            modules=tuple(outside_modules()),
        )
        for outcome in pool.run(run_trial, self.case, self.next_job):
            job = self.given[outcome.job]
            yield outcome.value if outcome.state == processes.DONE else self._unmade(job, outcome)

    def _on_spark(self) -> Iterator[RunRecord]:
        """Make trials where Spark has cores free, round by round, and keep what they leave."""
        from setveil.engine.spark import SparkJobs

        assert self.limits.engine is not None
        while not self.limits.over:
            first = len(self.given)
            while self.next_job() is not None:
                pass
            jobs = self.given[first:]
            if not jobs:
                return
            pool = SparkJobs(
                engine=self.limits.engine,
                seconds=self.limits.left,
                seconds_each=self.limits.each,
            )
            for outcome in pool.run(run_trial_apart, self.case, jobs):
                if outcome.state == processes.DONE:
                    yield keep(outcome.value, self.case.store)
                else:
                    yield self._unmade(jobs[outcome.job], outcome)

    def _unmade(self, job: Job, outcome: Outcome) -> RunRecord:
        if outcome.state == processes.FAILED:
            return _ended(job, FAILED, outcome.reason)
        if outcome.state == processes.LARGE and self.limits.memory is None:
            return _ended(job, FAILED, outcome.reason)
        return _ended(job, SKIPPED, self.limits.in_words(outcome.state))


def _title(job: Job) -> str:
    return "the original data" if job.setting == ORIGINAL else title_of_setting(job.setting)


def _ended(job: Job, state: str, error: str) -> RunRecord:
    return RunRecord(
        id=job.id,
        name=job.setting.name,
        title=_title(job),
        method=job.setting.method,
        params=plain(job.setting.params),
        state=state,
        error=error,
    )
