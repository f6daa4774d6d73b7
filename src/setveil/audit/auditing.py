"""The main job: try methods and settings, judge and attack what they publish, and recommend."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil import __version__
from setveil.audit.advice import advise
from setveil.audit.attacks import KNOWN, WITHIN, check_attacks, check_known
from setveil.audit.changes import plain
from setveil.audit.limits import Limits
from setveil.audit.performing import Case, Job
from setveil.audit.plan import plan
from setveil.audit.results import FAILED, SKIPPED, AuditResult, RunRecord, undecided
from setveil.audit.run import tree_over
from setveil.audit.store import Store, data_hash, number_of, records_hash, run_id
from setveil.audit.working import all_runs
from setveil.data.naming import some
from setveil.data.spelling import variants
from setveil.errors import InputError, ParameterError
from setveil.words import plural

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from setveil.audit.setting import Setting
    from setveil.audit.working import Told
    from setveil.data.table import TransactionTable
    from setveil.data.taxonomy import Taxonomy
    from setveil.engine.spark import Spark

TARGET = 0.1


def audit(
    table: TransactionTable,
    *,
    out: str | os.PathLike[str],
    taxonomy: Taxonomy | None = None,
    sensitive: Iterable[str] = (),
    target: float = TARGET,
    methods: Sequence[str] = (),
    attacks: Sequence[str] | None = None,
    relatedness: Sequence[str] = (WITHIN,),
    known: Sequence[int] = KNOWN,
    budget: float | None = None,
    since: float | None = None,
    memory: int | None = None,
    workers: int | None = None,
    engine: Spark | None = None,
    seed: int | None = None,
    title: str = "",
    description: str = "",
    told: Told | None = None,
) -> AuditResult:
    """Anonymize in many ways, verify, attack and measure each release, and recommend one.

    Parameters
    ----------
    table, taxonomy, sensitive
        The data, the tree of its items, and its sensitive items; methods that need what is not
        given are left out.
    out
        Directory for releases (``publish/``) and everything private (``private/``). Runs that
        ended in an earlier call with the same data and settings are not made again.
    target
        The largest gain of any attack that is acceptable: 0 is guessing, 1 is everything.
    methods
        See :func:`setveil.audit.plan.plan`; a choice of those that apply by default.
    attacks
        Names of attacks to try, or ``"all"``; by default the strongest of each kind that apply.
    relatedness
        Sources that adversaries can ask (:func:`setveil.relatedness.parse_relatedness`).
    known
        How many items of a person adversaries know who look for that person.
    budget, since
        Seconds for everything, and when they began, by :func:`time.monotonic`; by default now.
        What does not fit is marked as skipped. A single run gets a quarter of the time, and the
        last twentieth is kept for what comes after the runs.
    memory
        Bytes for this process and its workers together; refused where one worker needs more
        before it does anything. See :class:`setveil.engine.processes.Processes`.
    workers
        Number of processes; 0 runs everything in this one, but for a budget of time or memory,
        which only a process of its own can be held to. By default one per core, up to four.
    engine
        A Spark on which each run is a task, instead of processes here; `memory` and `workers` are
        its own matter then. What a run leaves behind is sent back and written here; files that
        `relatedness` names must lie where Spark's workers find them under the same name.
    seed
        Of everything drawn at random. Without one it is drawn by the operating system and kept in
        ``private/``. A seed that others can guess is for research: do not publish releases of
        methods that draw at random then.
    title, description
        What a reader calls the data, and a sentence about it.
    told
        Called with each run that ends, how many have ended, and of how many.

    Returns
    -------
    AuditResult
        Also written to ``private/audit.json``; :func:`~setveil.audit.store.load_audit` reads it.

    Examples
    --------
    >>> import tempfile
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu", "rash"]] * 50)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = audit(table, out=folder, methods=["disassociate:k=5,m=2"], workers=0, seed=1,
    ...                   target=0.2)
    >>> found.runs[0].name, found.runs[0].verified
    ('disassociate-k5-m2', True)
    """
    limits = Limits(
        budget=budget,
        memory=memory,
        workers=workers,
        started=time.monotonic() if since is None else since,
        engine=engine,
    )
    asked = Asked(
        target=target,
        methods=tuple(methods),
        attacks=None if attacks is None else check_attacks(attacks),
        relatedness=checked_sources(relatedness),
        known=check_known(known),
        title=title,
        description=description,
    )
    secret = checked(table, taxonomy, sensitive, target=target, workers=workers, seed=seed)
    settings = plan(
        taxonomy=taxonomy is not None,
        sensitive=bool(secret),
        meaning=asked.meaning,
        methods=methods,
    )
    with Store.opened(out).alone() as store:
        case = asked.case(table, taxonomy, secret, store, seed)
        profile = profile_of(case)
        runs = all_runs(case, jobs_of(case, settings), limits, told)
        return asked.concluded(case, runs, limits, profile)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What an audit is asked for, checked; :func:`audit` says what each part means."""

    target: float
    methods: tuple[str, ...]
    attacks: tuple[str, ...] | None
    relatedness: tuple[str, ...]
    known: tuple[int, ...]
    title: str
    description: str

    @property
    def meaning(self) -> bool:
        """Whether a source of relatedness says more than the release itself."""
        return any(spec != WITHIN for spec in self.relatedness)

    def case(
        self,
        table: TransactionTable,
        taxonomy: Taxonomy | None,
        sensitive: tuple[str, ...],
        store: Store,
        seed: int | None,
    ) -> Case:
        """Return what all runs share; the store is for these records from here on."""
        records = records_hash(table)
        store.claim(records)
        return Case(
            data=data_hash(records, taxonomy, sensitive),
            table=table,
            taxonomy=taxonomy,
            sensitive=sensitive,
            relatedness=self.relatedness,
            attacks=self.attacks,
            known=self.known,
            seed=store.seed(seed),
            store=store,
        )

    def concluded(
        self,
        case: Case,
        runs: Sequence[RunRecord],
        limits: Limits,
        profile: dict[str, Any],
        notes: Sequence[str] = (),
    ) -> AuditResult:
        """Return what follows from the runs, and keep it."""
        advice = advise(runs, target=self.target, attacks=self.attacks)
        reasons = (limits.no_verdict(),) if undecided(runs) else advice.reasons
        result = AuditResult(
            title=self.title or "Audit",
            description=self.description,
            target=self.target,
            runs=tuple(runs),
            recommended=advice.recommended,
            reasons=reasons,
            profile=profile,
            settings={
                "version": __version__,
                "seed": case.seed,
                "records": len(case.table),
                "taxonomy": None if case.taxonomy is None else len(case.taxonomy),
                "sensitive": list(case.sensitive),
                "methods": list(self.methods),
                "attacks": None if self.attacks is None else list(self.attacks),
                "relatedness": list(self.relatedness),
                "known": list(self.known),
                "budget_seconds": limits.budget,
                "memory_bytes": limits.memory,
                "reading": None if case.table.reading is None else case.table.reading.as_dict(),
            },
            notes=(*notes, *_notes(case, runs, meaning=self.meaning)),
        )
        case.store.keep_result(result)
        return result


def checked(
    table: TransactionTable,
    taxonomy: Taxonomy | None,
    sensitive: Iterable[str],
    *,
    target: float,
    workers: int | None,
    seed: int | None = None,
) -> tuple[str, ...]:
    """Refuse before any work what cannot be audited; return the sensitive items, sorted.

    >>> from setveil import TransactionTable
    >>> checked(TransactionTable.from_rows([["flu", "HIV"]]), None, ["HIV", "flu"], target=0.1,
    ...         workers=None)
    ('HIV', 'flu')
    """
    if not 0 <= target <= 1:
        raise ParameterError(f"the target is {target:g}", fix="use a share, from 0 to 1")
    if workers is not None and workers < 0:
        raise ParameterError(f"workers is {workers}", fix="use 0 or more")
    if seed is not None and seed < 0:
        raise ParameterError(f"the seed is {seed}", fix="use a whole number of at least 0")
    if not len(table) or not len(table.items):
        raise InputError("the data has no items", fix="check the file")
    secret = tuple(sorted(set(sensitive)))
    supports = table.supports()
    unknown = [
        item
        for item in secret
        if item not in table.vocabulary or not supports[table.vocabulary.number(item)]
    ]
    if unknown:
        raise InputError(
            f"{len(unknown)} sensitive items do not occur in the data: {', '.join(unknown[:5])}",
            fix="check their spelling, or leave them out",
        )
    if taxonomy is not None:
        tree_over(table, taxonomy, secret)
    return secret


def checked_sources(relatedness: Sequence[str]) -> tuple[str, ...]:
    """Refuse before any work what names no source of relatedness, or a file that is not there.

    >>> checked_sources(["release", "release"])
    ('release',)
    """
    from setveil.relatedness.base import check_spec, named_places  # noqa: PLC0415  (start-up time)

    sources = tuple(dict.fromkeys(relatedness))
    for spec in sources:
        check_spec(spec)
        for place in named_places(spec):
            if not Path(place).exists():
                raise InputError("there is no such file", where=place, fix="check its name")
    return sources


def jobs_of(case: Case, settings: Sequence[Setting]) -> list[Job]:
    """Return the settings with the ids of their runs: hashes of all that these depend on."""
    common = {
        "data": case.data,
        "seed": case.seed,
        "attacks": None if case.attacks is None else sorted(case.attacks),
        "relatedness": [[spec, *stamps(spec)] for spec in case.relatedness],
        "known": list(case.known),
    }
    return [
        Job(
            id=run_id({**common, "method": each.method, "params": each.params}),
            setting=each,
            number=number_of([case.data, each.method, each.params]),
        )
        for each in settings
    ]


def stamps(spec: str) -> list[list[Any]]:
    """Return size and time of the files that a source of relatedness names.

    >>> stamps("release"), stamps("corpus:nowhere.index")
    ([], [['nowhere.index', None]])
    """
    from setveil.relatedness.base import named_places  # noqa: PLC0415  (start-up time)

    found: list[list[Any]] = []
    for place in named_places(spec):
        try:
            state = Path(place).stat()
            found.append([place, state.st_size, state.st_mtime_ns])
        except OSError:
            found.append([place, None])
    return found


def profile_of(case: Case) -> dict[str, Any]:
    """Return what is said of the records; before the runs, whose time ends for the report."""
    from setveil.measure.profile import profile  # noqa: PLC0415  (start-up time)

    found = profile(case.table, rng=np.random.default_rng(case.seed))
    return {**plain(found.as_dict()), "sentences": found.sentences()}


def _notes(case: Case, runs: Sequence[RunRecord], *, meaning: bool) -> tuple[str, ...]:
    said = []
    for state, verb in ((SKIPPED, "skipped"), (FAILED, "failed")):
        number = sum(run.state == state for run in runs)
        if number:
            said.append(f"{number} of {len(runs)} runs {verb}; each says why.")
    if case.taxonomy is None:
        said.append("No taxonomy was given: methods that generalize items were not tried.")
    if not case.sensitive:
        said.append("No sensitive items were given: methods that protect them were not tried.")
    near = variants(case.sensitive, case.table.vocabulary.names)
    if near:
        said.append(
            f"{plural(len(near), 'item')} written almost like a sensitive one "
            f"{'counts' if len(near) == 1 else 'count'} as different: {some(list(near))}."
        )
    if not meaning:
        said.append(
            "No source of relatedness was given: adversaries knew what the release shows, and "
            "nothing about what words mean. Name one with relatedness (--relatedness)."
        )
    others = sorted(set(case.store.names()) - {run.name for run in runs})
    if others:
        said.append(f"publish/ also holds releases of earlier audits: {', '.join(others)}.")
    return tuple(said)
