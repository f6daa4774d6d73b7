"""The search for the best release: settings are tried in the order that answers soonest.

A search climbs each method's ladders side by side. It begins at one setting of each method; where
that is not safe, it raises the parameter that lowers the risk most per loss; where it is safe, it
lowers what was not needed. A method whose loss can no longer beat that of a safe release is given
up. So a budget always ends with the best verdict so far.

>>> from setveil.audit.results import Criteria
>>> search = Search({"gather": Ladders(method="gather", rungs={"k": (2, 5)})}, Criteria())
>>> search.next_setting().name, search.next_setting()
('gather-k2', None)
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from setveil.anonymize.base import method_role
from setveil.audit.results import DONE, INAPPLICABLE, MIN_K, PUBLISH, SKIPPED
from setveil.audit.run import ALONE, UTILITY, Setting, applicable, build
from setveil.audit.verdict import POSITIVE, is_bare, judge_run, preference
from setveil.core.errors import ParameterError
from setveil.core.params import Spec, main_param, params_of, read_values, split_spec
from setveil.core.registry import entries, find

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from setveil.audit.results import Criteria, RunRecord
    from setveil.core.params import Param
    from setveil.core.registry import Entry
    from setveil.core.taxonomy import Taxonomy

    Climb = Generator[list[Setting], Mapping[str, RunRecord], str]

    Position = tuple[int, ...]


# --- which methods are tried ----------------------------------------------------------------------

ALL = "all"


def methods_for(
    named: Sequence[str], *, taxonomy: bool, sensitive: bool, meaning: bool
) -> tuple[str, ...]:
    """Return the methods that an audit searches, as texts such as ``"gather:effort=fast"``.

    Parameters
    ----------
    named
        Names, with parameters where these shall stay as they are; ``"all"`` for every method that
        applies and promises something. Without any, a choice of these.
    taxonomy, sensitive
        Whether there is a tree, and whether there are sensitive items.
    meaning
        Whether there is a source of relatedness that says more than the release itself.

    Examples
    --------
    >>> methods_for([], taxonomy=True, sensitive=False, meaning=False)
    ('gather', 'disassociate', 'safe-disassociate', 'apriori-km')
    >>> methods_for(["gather:k=3"], taxonomy=True, sensitive=False, meaning=False)
    ('gather:k=3',)
    """
    able = {entry.name: entry for entry in applicable(taxonomy=taxonomy, sensitive=sensitive)}
    roles = {name: method_role(entry.target) for name, entry in able.items()}
    judged = [name for name, role in roles.items() if meaning or not role.needs_meaning]
    if not named:
        chosen = [name for name in judged if roles[name].place is not None]
        return tuple(sorted(chosen, key=lambda name: (roles[name].place, name)))
    found: list[str] = []
    for text in named:
        if text == ALL:
            found += [name for name in judged if not roles[name].only_named]
            continue
        one_of(able, split_spec(text).name)
        found.append(text)
    return tuple(dict.fromkeys(found))


def one_of(able: dict[str, Entry], name: str) -> Entry:
    """Return the method of this name, or say what it lacks.

    >>> one_of({}, "gather")
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: gather needs taxonomy. To fix: give it, or leave gather out.
    """
    if name in able:
        return able[name]
    known = {entry.name: entry for entry in entries("anonymizer")}
    if name not in known:
        raise ParameterError(
            f"there is no anonymizer called {name!r}", fix=f"use one of: {', '.join(known)}"
        )
    needed = " and ".join(sorted(getattr(known[name].target, "requires", ())))
    raise ParameterError(f"{name} needs {needed}", fix=f"give it, or leave {name} out")


# --- the settings of a method, from the weakest to the strongest ----------------------------------


@dataclass(frozen=True, kw_only=True)
class Ladders:
    """A method with the parameters that are given, and the rungs of those that are searched.

    Parameters
    ----------
    method
        The registered name.
    fixed
        Parameters that stay as they are.
    rungs
        Values of the others, the weakest first.
    start
        The rungs at which a search begins: by default the weakest.
    params
        What the method declares of its parameters.

    Examples
    --------
    >>> ladders = Ladders(method="gather", rungs={"k": (2, 5), "effort": (None, "fast")})
    >>> ladders.at((1, 0)).name, [ladders.at(each).name for each in ladders.raised((1, 0))]
    ('gather-k5', ['gather-k5-fast'])
    """

    method: str
    fixed: dict[str, Any] = field(default_factory=dict)
    rungs: dict[str, tuple[Any, ...]]
    start: Position = ()
    params: Mapping[str, Param] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.start:
            object.__setattr__(self, "start", (0,) * len(self.rungs))

    def at(self, position: Position) -> Setting:
        """Return the setting of these rungs."""
        given = {
            name: rungs[place]
            for (name, rungs), place in zip(self.rungs.items(), position, strict=True)
        }
        params = {**given, **self.fixed}
        known = self.params
        return Setting(
            method=self.method,
            params={
                name: known[name].rule.value_at(value, params) if name in known else value
                for name, value in params.items()
                if value is not None or (name in known and known[name].takes_none)
            },
        )

    def raised(self, position: Position) -> list[Position]:
        """Return where one parameter is a rung higher."""
        return self._moved(position, 1)

    def lowered(self, position: Position) -> list[Position]:
        """Return where one parameter is a rung lower."""
        return self._moved(position, -1)

    def _moved(self, position: Position, by: int) -> list[Position]:
        lengths = [len(rungs) for rungs in self.rungs.values()]
        return [
            (*position[:place], position[place] + by, *position[place + 1 :])
            for place, length in enumerate(lengths)
            if 0 <= position[place] + by < length
        ]


def ladders_of(
    text: str,
    *,
    records: int,
    taxonomy: Taxonomy | None = None,
    free: bool = True,
    min_k: int = MIN_K,
) -> Ladders:
    """Return the ladders of a method that a text names, such as ``"disassociate:m=2"``.

    Parameters
    ----------
    text
        A registered anonymizer; parameters after the colon stay as they are given, or are
        searched among the values that ``|`` separates, the weakest first.
    records
        Number of records: no k beyond half of it is tried.
    taxonomy
        Its levels are tried as utility constraints, where a method takes such.
    free
        Whether every parameter is searched that changes what can be found out; otherwise the main
        one only, from a middle value on.
    min_k
        No k below this is tried unless `text` names it.

    Examples
    --------
    >>> ladders_of("disassociate:m=2,refine=false", records=60).rungs
    {'k': (5, 10, 25), 'max_cluster_size': (None, '×4', '×16')}
    >>> ladders_of("coat:k=5|50,objective=ul", records=60).rungs
    {'k': (5, 50), 'constrained': (0.05, 0.25, 1), 'utility': (None, 'alone')}
    >>> audited = ladders_of("disassociate", records=60, free=False)
    >>> audited.rungs, audited.at(audited.start).name
    ({'k': (5, 10, 25)}, 'disassociate-k10-m2')
    """
    spec = split_spec(text)
    target = find("anonymizer", spec.name).target
    params = {param.name: param for param in params_of(target)}
    rungs = _rungs(target, records=records, taxonomy=taxonomy, min_k=min_k)
    audited = {name: param.rule.audited for name, param in params.items()}
    if not free:
        main = main_param(target)
        rungs = {name: values for name, values in rungs.items() if main and name == main.name}
        if spec.given:  # what is the default anyway is said only where the text says nothing
            audited = {
                name: value for name, value in audited.items() if value != params[name].default
            }
    given: dict[str, Any] = {}
    for name, value in spec.given.items():
        values = tuple(_read(target, name, each, spec, text) for each in value.split("|"))
        if len(values) > 1:
            rungs[name] = values
        else:
            rungs.pop(name, None)
            given[name] = values[0]
    ladders = Ladders(
        method=spec.name,
        fixed=given
        | {
            name: value
            for name, value in audited.items()
            if value is not None and name not in {*given, *rungs}
        },
        rungs=rungs,
        params=params,
    )
    if not free:
        start = tuple(
            values.index(params[name].rule.begin) if params[name].rule.begin in values else 0
            for name, values in rungs.items()
        )
        ladders = replace(ladders, start=start)
    _check(ladders)
    return ladders


def _read(target: type, name: str, value: str, spec: Spec, where: str) -> object:
    """Return the value that a text gives to a parameter, or to the utility constraints."""
    if name == UTILITY and UTILITY in getattr(target, "accepts", ()):
        return value
    return read_values(target, Spec(spec.name, {name: value}), where=where)[name]


def _rungs(
    target: type, *, records: int, taxonomy: Taxonomy | None, min_k: int
) -> dict[str, tuple[Any, ...]]:
    """Return the rungs of all parameters of a method that have some."""
    rungs = {
        param.name: param.rule.rungs(records=records, least=min_k) for param in params_of(target)
    }
    if UTILITY in getattr(target, "accepts", ()):
        levels = () if taxonomy is None else tuple(range(1, taxonomy.height))
        rungs[UTILITY] = (None, *(f"tree:{level}" for level in levels), ALONE)
    return {name: values for name, values in rungs.items() if values}


def _check(ladders: Ladders) -> None:
    """Refuse values before any work that the method would refuse."""
    start = (0,) * len(ladders.rungs)
    single = [
        (*start[:place], rung, *start[place + 1 :])
        for place, values in enumerate(ladders.rungs.values())
        for rung in range(1, len(values))
    ]
    for position in [start, *single]:
        setting = ladders.at(position)
        try:
            build(setting.method, setting.params)
        except TypeError:
            raise ParameterError(
                f"{setting.method} cannot take {setting.params}",
                fix="check the kinds of its parameters with `setveil methods`",
            ) from None


# --- the search -----------------------------------------------------------------------------------

LITTLE = 1e-3
"""A smaller growth of the loss counts as this: no step is free."""
SPREAD = 2.0
"""A method whose first safe setting loses more than this many times the least is given up."""

REACHED = "the target was reached"
EXHAUSTED = "the strongest setting was reached"
DEARER = "given up, because a setting that reaches the target already loses less"
UNTESTED = "given up, because attacks that apply could not be run"
STOPPED = "stopped by a limit of time or memory"


class Search:
    """The climbs of all methods, side by side, so that their trials share the processes.

    Parameters
    ----------
    ladders
        The settings of each method, by the text that names it.
    criteria
        What a release must reach.
    each
        Whether to search every method to its end, even where another already loses less.
    """

    def __init__(
        self, ladders: Mapping[str, Ladders], criteria: Criteria, *, each: bool = False
    ) -> None:
        self.criteria = criteria
        self.each = each
        self.ladders = dict(ladders)
        self.runs: dict[str, RunRecord] = {}
        self.ends: dict[str, str] = {}
        self.tried: dict[str, dict[str, None]] = {text: {} for text in ladders}
        self._climbs = {text: self._climb(found) for text, found in ladders.items()}
        self._wanted: dict[str, list[Setting]] = {}
        self._queue: deque[Setting] = deque()
        self._asked: set[str] = set()
        for text, climb in self._climbs.items():
            self._want(text, next(climb))

    def next_setting(self) -> Setting | None:
        """Return a setting to try; None where all wait for those under way, or the search ended."""
        return self._queue.popleft() if self._queue else None

    @property
    def is_over(self) -> bool:
        """Whether every climb has ended."""
        return not self._wanted

    @property
    def expected(self) -> int:
        """The number of trials that are known to be needed, or likely: one more of each climb."""
        return len(self._asked) + sum(bool(self.ladders[text].rungs) for text in self._wanted)

    @property
    def results(self) -> tuple[RunRecord, ...]:
        """All runs, method by method, in an order that does not depend on which ended first."""
        names = dict.fromkeys(name for tried in self.tried.values() for name in tried)
        return tuple(self.runs[name] for name in names if name in self.runs)

    @property
    def best(self) -> RunRecord | None:
        """The run that would be recommended now; None where none is safe yet."""
        return min(
            (run for run in self.runs.values() if self._is_safe(run)),
            key=lambda run: preference(run, judge_run(run, self.criteria)),
            default=None,
        )

    def put(self, run: RunRecord) -> None:
        """Take what became of a setting, and let the climbs go on that waited for it."""
        self.runs[run.name] = run
        while (text := self._ready()) is not None:
            found = {setting.name: self.runs[setting.name] for setting in self._wanted.pop(text)}
            try:
                self._want(text, self._climbs[text].send(found))
            except StopIteration as end:
                self.ends[text] = end.value

    def _ready(self) -> str | None:
        """Return a climb that waits for nothing any more; another may have tried its settings."""
        return next(
            (
                text
                for text, settings in self._wanted.items()
                if all(setting.name in self.runs for setting in settings)
            ),
            None,
        )

    def _want(self, text: str, settings: list[Setting]) -> None:
        self._wanted[text] = settings
        self.tried[text] |= dict.fromkeys(setting.name for setting in settings)
        for setting in settings:
            if setting.name not in self._asked:
                self._asked.add(setting.name)
                self._queue.append(setting)

    def _is_safe(self, run: RunRecord) -> bool:
        return judge_run(run, self.criteria).answer in POSITIVE

    def _least(self) -> float:
        """Return the loss beyond which no release would be recommended instead of the best."""
        best = self.best
        if self.each or best is None:
            return math.inf
        if judge_run(best, self.criteria).answer == PUBLISH:
            return _loss(best)
        return max(_loss(best), self.criteria.max_loss)  # one without reserve may lose so much

    def _why_no_further(self, here: RunRecord, above: list[Position]) -> str:
        """Return why an unsafe setting is not made stronger; "" where it is."""
        if here.missing and not judge_run(here, self.criteria).stronger:
            return UNTESTED
        if here.loss is not None and here.loss > self._least():
            return DEARER
        return EXHAUSTED if is_bare(here) or not above else ""

    def _climb(self, ladders: Ladders) -> Climb:
        """Yield settings to try, take what became of them, and return why the search ended.

        Up: of all parameters the one is raised that lowers the risk most per loss, or, where a
        raise reaches the target, the one that does so at the least loss. Down: parameters are
        lowered as long as the target stays reached and the loss does not grow.
        """
        position, here = yield from _first(ladders)
        if here.state != DONE:
            return STOPPED if here.state == SKIPPED else f"its first setting failed: {here.error}"
        while not self._is_safe(here):
            above = ladders.raised(position)
            why = self._why_no_further(here, above)
            if why:
                return why
            found = yield [ladders.at(each) for each in above]
            tried = _comparable(ladders, above, found)
            if not tried:
                skipped = any(run.state == SKIPPED for run in found.values())
                return STOPPED if skipped else EXHAUSTED
            reached = {each: run for each, run in tried.items() if self._is_safe(run)}
            position = _cheapest(reached) if reached else _steepest(here, tried)
            here = tried[position]
        while below := ladders.lowered(position):
            if _loss(here) > SPREAD * self._least():
                return DEARER
            found = yield [ladders.at(each) for each in below]
            tried = _comparable(ladders, below, found)
            better = {
                each: run
                for each, run in tried.items()
                if self._is_safe(run) and _loss(run) <= _loss(here)
            }
            if not better:
                break
            position = _cheapest(better)
            here = better[position]
        return REACHED


def _first(
    ladders: Ladders,
) -> Generator[list[Setting], Mapping[str, RunRecord], tuple[Position, RunRecord]]:
    """Return where a climb begins: the first setting that the data allows."""
    position = ladders.start
    while True:
        found = yield [ladders.at(position)]
        here = found[ladders.at(position).name]
        below = ladders.lowered(position)
        if here.state != INAPPLICABLE or not below:
            return position, here
        position = below[0]


def _comparable(
    ladders: Ladders, positions: list[Position], found: Mapping[str, RunRecord]
) -> dict[Position, RunRecord]:
    """Return the runs that ended and can be compared."""
    runs = {each: found[ladders.at(each).name] for each in positions}
    return {
        each: run
        for each, run in runs.items()
        if run.state == DONE and run.risk is not None and run.loss is not None
    }


def _loss(run: RunRecord) -> float:
    return 1.0 if run.loss is None else run.loss


def _cheapest(tried: Mapping[Position, RunRecord]) -> Position:
    return min(tried, key=lambda each: (_loss(tried[each]), tried[each].name))


def _steepest(here: RunRecord, tried: Mapping[Position, RunRecord]) -> Position:
    """Return where the risk falls most per loss; where it falls nowhere, where it is least."""
    before = 1.0 if here.risk is None else here.risk

    def worth(run: RunRecord) -> tuple[float, float, float]:
        risk = 1.0 if run.risk is None else run.risk
        fall = (before - risk) / max(_loss(run) - _loss(here), LITTLE)
        return (-fall, risk, _loss(run)) if fall > 0 else (0.0, risk, _loss(run))

    return min(tried, key=lambda each: (*worth(tried[each]), tried[each].name))
