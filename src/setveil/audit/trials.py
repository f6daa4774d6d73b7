"""The trials of an audit.

A trial makes a release, writes it, verifies it, attacks it and measures it. Those that ended before
are kept; the others are made within the limits of time and memory, in this process, in others, or
on Spark.
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from setveil.audit.adversaries import NEEDLESS, attack_release, attackers, families_missing
from setveil.audit.contents import (
    describe_contents,
    item_changes,
    tell_story,
    title_of,
)
from setveil.audit.results import DONE, FAILED, INAPPLICABLE, SKIPPED, Adversary, RunRecord
from setveil.audit.run import Run, Setting, run_method, save_run
from setveil.audit.store import Store
from setveil.core.errors import InfeasibleError, NotApplicable, ParameterError, SetveilError
from setveil.core.params import main_param
from setveil.core.registry import find, name_of, outside_modules
from setveil.core.words import format_duration, format_size, plain_json, spell_duration, spell_size
from setveil.engine import processes
from setveil.engine.processes import Processes
from setveil.measure.workload import workload_error
from setveil.release import store as releases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from setveil.audit.adversaries import Attacker
    from setveil.audit.results import Criteria
    from setveil.audit.search import Search
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.engine.processes import Outcome
    from setveil.engine.spark import Spark
    from setveil.release.base import Key
    from setveil.release.manifest import Manifest


# --- one trial ------------------------------------------------------------------------------------

ORIGINAL = Setting(method="original")
"""Stands for the original data as it is: attacked like a release, never published."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """All that the runs of an audit share; `data` is a hash of what is audited."""

    data: str
    table: TransactionTable
    taxonomy: Taxonomy | None
    sensitive: tuple[str, ...]
    relatedness: tuple[str, ...]
    attacks: tuple[str, ...] | None
    known: tuple[int, ...]
    criteria: Criteria
    workload: tuple[tuple[str, ...], ...]
    seed: int
    store: Store

    def attackers(self, form: str) -> list[Attacker]:
        """Return who attacks a form of release."""
        return attackers(
            form,
            relatedness=self.relatedness,
            known=self.known,
            only=self.attacks,
            sensitive=bool(self.sensitive),
            longest=int(self.table.lengths.max()),
        )

    def attack(
        self, attacker: Attacker, run: Run, number: int, *, enlarge: bool = True
    ) -> list[Adversary]:
        """Attack a release; `number` is that of its job."""
        return attack_release(
            attacker,
            run,
            self.table,
            seed=self.seed,
            number=number,
            criteria=self.criteria,
            sensitive=self.sensitive,
            taxonomy=self.taxonomy,
            enlarge=enlarge,
        )


@dataclass(frozen=True, kw_only=True)
class Job:
    """A setting to run, the id of the run, and the number that it draws with.

    The number goes with the audit's seed. Unlike the id it depends on data, method and parameters
    only: the same figures come out wherever the files of a source lie, and whenever they were
    written; other data never get the same noise.
    """

    id: str
    setting: Setting
    number: int


def title_of_setting(setting: Setting) -> str:
    """Return what readers call a setting: what is done to the data, then the method's name.

    >>> title_of_setting(Setting(method="gather", params={"k": 5}))
    'similar records made equal, k = 5 · gather'
    """
    main = main_param(find("anonymizer", setting.method).target)
    rest = {
        name: value for name, value in setting.params.items() if main is None or name != main.name
    }
    variant = Setting(method=setting.method, params=rest).variant
    return f"{title_of(setting.method, setting.params)} · {variant}"


def run_trial(case: Case, job: Job) -> RunRecord:
    """Make, write, verify, attack and measure one release; what goes wrong is in the record."""
    setting = job.setting
    if setting == ORIGINAL:
        return _attack_original(case, job)
    blank = _record(job)
    try:
        made = run_method(
            setting.method,
            setting.params,
            case.table,
            case.taxonomy,
            sensitive=case.sensitive,
            rng=np.random.default_rng([case.seed, job.number]),
        )
        run = save_run(
            made, case.store.candidates / setting.name, case.store.key_file(setting.name)
        )
    except (InfeasibleError, NotApplicable) as error:
        return replace(blank, state=INAPPLICABLE, error=str(error))
    except SetveilError as error:
        return replace(blank, state=FAILED, error=str(error))
    record = _describe_run(blank, run, case)
    begun = time.perf_counter()
    adversaries = _attack(case, job, run)
    record = replace(
        record,
        adversaries=adversaries,
        missing=families_missing(run.release.form, adversaries, sensitive=bool(case.sensitive)),
        seconds={**record.seconds, "attack": time.perf_counter() - begun},
    )
    case.store.keep(record)
    return record


def _attack(case: Case, job: Job, run: Run) -> tuple[Adversary, ...]:
    """Let all attackers try, the cheapest and best informed first.

    Where one is above the target, those who know less are not needed for the same attack, nor are
    those who know more than they decide with, nor dear attacks. Attacks that somebody named are
    run in any case.
    """
    found: list[Adversary] = []
    for attacker in case.attackers(run.release.form):
        if case.attacks is None and _is_needless(attacker, found, case.criteria):
            found += [
                Adversary(
                    attack=attacker.attack,
                    params=attacker.params,
                    knows=attacker.knows,
                    risk=finding.risk,
                    figure=finding.figure,
                    note=NEEDLESS,
                )
                for finding in attacker.role.findings
            ]
            continue
        found += case.attack(attacker, run, job.number)
    return tuple(found)


def _is_needless(attacker: Attacker, found: list[Adversary], criteria: Criteria) -> bool:
    """Tell whether an attack cannot change the verdict, because another one rules it out."""
    tried = [each for each in found if each.decides and each.gain is not None]
    certain = {
        each.attack
        for each in tried
        if each.gain is not None and each.gain.low > criteria.limit(each.risk)
    }
    opened = any(
        each.gain is not None and each.gain.high > criteria.limit(each.risk) for each in tried
    )
    if attacker.role.cost or not attacker.decides:
        return opened
    return attacker.attack in certain


def _attack_original(case: Case, job: Job) -> RunRecord:
    """Attack the original data as if it were published, for the rates before."""
    from setveil.release import publish_suppressed

    begun = time.perf_counter()
    release, key = publish_suppressed(case.table, [True] * case.table.n_items)
    run = Run(method=job.setting.method, params={}, release=release, key=key)
    found: list[Adversary] = []
    for attacker in case.attackers(release.form):
        findings = attacker.role.findings
        if attacker.role.by_default and not any(finding.outright for finding in findings):
            found += case.attack(attacker, run, job.number, enlarge=False)
    record = _record(
        job,
        form=release.form,
        adversaries=tuple(replace(each, examples=[]) for each in found),
        seconds={"attack": time.perf_counter() - begun},
    )
    case.store.keep(record)
    return record


def _story(run: Run, case: Case) -> dict[str, Any]:
    """Tell how the best informed of the deciding attackers looks for one person."""
    rng = np.random.default_rng([case.seed, 3])
    return tell_story(run, case.table, {"m": max(case.known), "knowledge": "rarest"}, rng)


def _workload(run: Run, case: Case) -> list[dict[str, Any]]:
    """Return what the release answers to the owner's count queries."""
    if not case.workload:
        return []
    answers = workload_error(run.release, case.table, case.workload, run.taxonomy)
    return [answer._asdict() for answer in answers]


def _describe_run(blank: RunRecord, run: Run, case: Case) -> RunRecord:
    """Return what there is to say about a run before it is attacked."""
    promise = run.promise
    verdict = run.verdict
    return replace(
        blank,
        form=run.release.form,
        release=f"private/candidates/{blank.name}",
        promise=None
        if promise is None
        else {
            "name": name_of(type(promise)),
            "params": plain_json(promise.params()),
            "says": promise.describe(),
            "group_size": getattr(promise, "group_size", None),
        },
        holds=None if verdict is None else bool(verdict.holds),
        exact=verdict is not None and bool(verdict.exact),
        reason="" if verdict is None else verdict.reason,
        witnesses=[]
        if verdict is None
        else [plain_json(asdict(each)) for each in verdict.witnesses],
        consistent=bool(run.consistent),
        loss=run.measures.get("are"),
        measures=plain_json(dict(run.measures)),
        figures={
            **plain_json(run.figures),
            **item_changes(run, case.table),
            "contents": plain_json(describe_contents(run, case.table, case.sensitive)),
            "story": plain_json(_story(run, case)),
            "workload": plain_json(_workload(run, case)),
        },
        seconds=dict(run.seconds),
    )


# --- a trial on a machine that does not see the audit's directory ---------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class RemoteTrial:
    """What a run leaves behind, as values that can be sent."""

    record: RunRecord
    manifest: Manifest | None = None
    data: bytes = b""
    key: Key | None = None


def run_trial_remotely(case: Case, job: Job) -> RemoteTrial:
    """Make a run in a directory that is gone afterwards; what it wrote comes back as values."""
    with tempfile.TemporaryDirectory(prefix="setveil-run-") as folder:
        store = Store.open(folder)
        record = run_trial(replace(case, store=store), job)
        if record.state != DONE or not record.release:
            return RemoteTrial(record=record)
        directory = store.candidates / record.name
        manifest = releases.load_manifest(directory)
        return RemoteTrial(
            record=record,
            manifest=manifest,
            data=(directory / manifest.file).read_bytes(),
            key=releases.load_key(store.key_file(record.name)),
        )


def keep_remote_trial(made: RemoteTrial, store: Store) -> RunRecord:
    """Write what a run left behind into the audit's own directory; it counts as finished then."""
    record = made.record
    if made.manifest is not None:
        releases.write(
            store.candidates / record.name,
            made.manifest,
            made.data,
            force=True,
            key=made.key,
            key_file=store.key_file(record.name),
        )
    if record.state == DONE:
        store.keep(record)
    return record


# --- all trials of a search -----------------------------------------------------------------------


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
            self._end(
                _record(
                    self.job_of(setting), state=SKIPPED, error=self.limits.in_words(processes.LATE)
                )
            )

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
                yield _record(job, state=FAILED, error=f"{type(error).__name__}: {error}")

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
            for outcome in pool.run(run_trial_remotely, self.case, jobs):
                if outcome.state == processes.DONE:
                    yield keep_remote_trial(outcome.value, self.case.store)
                else:
                    yield self._unmade(jobs[outcome.job], outcome)

    def _unmade(self, job: Job, outcome: Outcome) -> RunRecord:
        if outcome.state == processes.FAILED:
            return _record(job, state=FAILED, error=outcome.reason)
        if outcome.state == processes.LARGE and self.limits.memory is None:
            return _record(job, state=FAILED, error=outcome.reason)
        return _record(job, state=SKIPPED, error=self.limits.in_words(outcome.state))


def _record(job: Job, **outcome: Any) -> RunRecord:
    """Return the record of a trial, with what became of it."""
    setting = job.setting
    return RunRecord(
        id=job.id,
        name=setting.name,
        title="the original data" if setting == ORIGINAL else title_of_setting(setting),
        method=setting.method,
        params=plain_json(setting.params),
        **outcome,
    )


# --- what the trials may use: time, memory, processes ---------------------------------------------


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
