"""The search for the best release: settings are tried in the order that answers soonest.

A search climbs each method's ladders side by side. It begins at one setting of each method; where
that is not safe, it raises the parameter that lowers the risk most per loss; where it is safe, it
lowers what was not needed. A method whose loss can no longer beat that of a safe release is given
up. So a budget always ends with the best verdict so far.

>>> from setveil.audit.ladder import Ladders
>>> from setveil.audit.results import Criteria
>>> search = Search({"gather": Ladders(method="gather", rungs={"k": (2, 5)})}, Criteria())
>>> search.next_setting().name, search.next_setting()
('gather-k2', None)
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

from setveil.audit.results import DONE, INAPPLICABLE, PUBLISH, SKIPPED
from setveil.audit.verdict import POSITIVE, is_bare, judge_run, preference

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from setveil.audit.ladder import Ladders, Position
    from setveil.audit.results import Criteria, RunRecord
    from setveil.audit.setting import Setting

    Climb = Generator[list[Setting], Mapping[str, RunRecord], str]

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
            tried = _measured(ladders, above, found)
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
            tried = _measured(ladders, below, found)
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


def _measured(
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
