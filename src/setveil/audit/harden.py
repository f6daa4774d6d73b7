"""The attack in the loop: settings are made stronger until every attack stays below the target."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from setveil.audit.advice import fault
from setveil.audit.attacks import ELIMINATION, KNOWN, WITHIN, check_attacks, check_known
from setveil.audit.auditing import TARGET, Asked, checked, checked_sources, jobs_of, profile_of
from setveil.audit.climbing import STOPPED, climbing
from setveil.audit.ladder import ladders_of
from setveil.audit.limits import Limits
from setveil.audit.plan import CHOSEN, NEEDS_MEANING, PROMISELESS, one_of
from setveil.audit.run import applicable
from setveil.audit.store import Store
from setveil.audit.working import all_runs
from setveil.errors import ParameterError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from setveil.audit.climbing import Climb
    from setveil.audit.ladder import Ladders
    from setveil.audit.performing import Case
    from setveil.audit.results import AuditResult, RunRecord
    from setveil.audit.setting import Setting
    from setveil.audit.working import Told
    from setveil.data.table import TransactionTable
    from setveil.data.taxonomy import Taxonomy
    from setveil.engine.spark import Spark


def harden(
    table: TransactionTable,
    *,
    out: str | os.PathLike[str],
    taxonomy: Taxonomy | None = None,
    sensitive: Iterable[str] = (),
    target: float = TARGET,
    methods: Sequence[str] = (),
    each: bool = False,
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
    """Make methods stronger until every attack stays at or below the target; recommend one setting.

    Every parameter is searched that changes what can be found out (:mod:`setveil.audit.ladder`).
    A search starts with the weakest setting; raises, step by step, the parameter that lowers the
    risk most per loss; and, when the target is reached, lowers what was not needed. It is no
    search of all settings: a better one may exist. What is recommended is the least loss among
    those tried, and all of these are in the result.

    Parameters
    ----------
    table, out, taxonomy, sensitive, target, attacks, relatedness, known
    memory, workers, engine, seed
        As for :func:`setveil.audit.audit`. Runs that ended before, also those of an audit into
        the same directory, are not made again.
    methods
        Names; with parameters that shall stay as they are, as in ``"disassociate:m=2"``. Without
        any, the choice of an audit.
    each
        Whether to search every method to its end, even where another already loses less.
    budget, since
        Seconds for everything, and when they began; the search ends there with what it has.
    title, description
        What a reader calls the data, and a sentence about it.
    told
        Called with each run that ends, how many have ended, and how many are known to be needed.

    Returns
    -------
    AuditResult
        With every setting that was tried; `notes` say how the search of each method ended.

    Examples
    --------
    >>> import tempfile
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu", "rash"], ["flu"]] * 20)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = harden(table, out=folder, methods=["disassociate:m=2,refine=false"], workers=0,
    ...                    attacks=["linkage"], known=[2], seed=1, target=0.08)
    >>> [run.name for run in found.runs][:2], found.chosen.risk <= 0.08
    (['disassociate-k2-m2-refinefalse'], True)
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
    ladders = _ladders(asked, table, taxonomy, secret)
    with Store.opened(out).alone() as store:
        case = asked.case(table, taxonomy, secret, store, seed)
        profile = profile_of(case)
        loop = _Loop(case, asked, limits, told)
        ends = loop.run(ladders, each=each)
        notes = [
            f"{text}: {number:,} {'setting' if number == 1 else 'settings'} tried; {why}."
            for text, (number, why) in ends.items()
        ]
        return asked.concluded(case, list(loop.tried.values()), limits, profile, notes)


def _ladders(
    asked: Asked,
    table: TransactionTable,
    taxonomy: Taxonomy | None,
    sensitive: tuple[str, ...],
) -> dict[str, Ladders]:
    """Return the ladders of each method that is named, or of those that apply."""
    able = {
        entry.name: entry
        for entry in applicable(taxonomy=taxonomy is not None, sensitive=bool(sensitive))
    }
    by_meaning = asked.attacks is None or bool(set(ELIMINATION) & set(asked.attacks))
    blind = NEEDS_MEANING if by_meaning and not asked.meaning else frozenset()
    named = asked.methods or [name for name in CHOSEN if name in able and name not in blind]
    for text in named:
        name = one_of(able, text.partition(":")[0].strip()).name
        if name in PROMISELESS:
            raise ParameterError(
                f"{name} promises nothing that could be checked", fix="leave it out"
            )
        if name in blind:
            raise ParameterError(
                f"{name} cannot be judged without a source of relatedness",
                fix="name one with relatedness (--relatedness), or leave it out",
            )
    return {text: ladders_of(text, records=len(table), taxonomy=taxonomy) for text in named}


class _Loop:
    """The searches of all methods, side by side, so that their runs share the processes."""

    def __init__(self, case: Case, asked: Asked, limits: Limits, told: Told | None) -> None:
        self.case = case
        self.asked = asked
        self.limits = limits
        self.told = told
        self.tried: dict[str, RunRecord] = {}

    def run(self, ladders: dict[str, Ladders], *, each: bool) -> dict[str, tuple[int, str]]:
        """Search; return for each method how many settings were tried and why it ended."""
        climbs: dict[str, Climb] = {
            text: climbing(found, self._safe, (lambda: math.inf) if each else self._least)
            for text, found in ladders.items()
        }
        wanted = {text: next(climb) for text, climb in climbs.items()}
        asked_for: dict[str, set[str]] = {text: set() for text in climbs}
        ends: dict[str, str] = {}
        while wanted:
            self._try([setting for settings in wanted.values() for setting in settings])
            for text, settings in list(wanted.items()):
                names = {setting.name for setting in settings}
                asked_for[text] |= names
                try:
                    wanted[text] = climbs[text].send({name: self.tried[name] for name in names})
                except StopIteration as end:
                    ends[text] = end.value
                    del wanted[text]
            if self.limits.over:
                ends |= dict.fromkeys(wanted, STOPPED)
                break
        return {text: (len(asked_for[text]), ends[text]) for text in climbs}

    def _try(self, settings: list[Setting]) -> None:
        """Run what has not been run yet."""
        new = {each.name: each for each in settings if each.name not in self.tried}
        before = len(self.tried)

        def told(record: RunRecord, done: int, total: int) -> None:
            if self.told is not None:
                self.told(record, before + done, before + total)

        runs = all_runs(self.case, jobs_of(self.case, list(new.values())), self.limits, told)
        self.tried |= {run.name: run for run in runs}

    def _safe(self, run: RunRecord) -> bool:
        return not fault(run, target=self.asked.target, attacks=self.asked.attacks)

    def _least(self) -> float:
        losses = [run.loss for run in self.tried.values() if self._safe(run)]
        return min((loss for loss in losses if loss is not None), default=math.inf)
