"""From the weakest setting of a method upwards, until it is safe; then back as far as it stays so.

>>> from setveil.audit.ladder import Ladders
>>> climb = climbing(Ladders(method="gather", rungs={"k": (2, 5)}), lambda run: True, lambda: 1.0)
>>> [setting.name for setting in next(climb)]
['gather-k2']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from setveil.audit.results import DONE, SKIPPED

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from setveil.audit.ladder import Ladders, Position
    from setveil.audit.results import RunRecord
    from setveil.audit.setting import Setting

    Climb = Generator[list[Setting], Mapping[str, RunRecord], str]

LITTLE = 1e-3
"""A smaller growth of the loss counts as this: no step is free."""

REACHED = "the target was reached"
EXHAUSTED = "no stronger setting is left on the way up"
DEARER = "given up: a setting that reaches the target already loses less"
STOPPED = "stopped by the budget"


def climbing(
    ladders: Ladders, safe: Callable[[RunRecord], bool], least: Callable[[], float]
) -> Climb:
    """Yield settings to try, take what became of them, and return why the search ended.

    Up: of all parameters the one is raised that lowers the risk most per loss, or, where a raise
    reaches the target, the one that does so at the least loss. Down: parameters are lowered as
    long as the target stays reached and the loss falls.

    Parameters
    ----------
    ladders
        The method and its rungs.
    safe
        Tells whether a run reaches the target.
    least
        Tells the least loss of a run that does so, whatever its method.
    """
    position = ladders.start
    found = yield [ladders.at(position)]
    here = found[ladders.at(position).name]
    if here.state != DONE:
        return STOPPED if here.state == SKIPPED else f"the weakest setting failed: {here.error}"
    while not safe(here):
        if here.loss is not None and here.loss > least():
            return DEARER
        above = ladders.raised(position)
        if not above:
            return EXHAUSTED
        found = yield [ladders.at(each) for each in above]
        tried = _measured(ladders, above, found)
        if not tried:
            skipped = any(run.state == SKIPPED for run in found.values())
            return STOPPED if skipped else EXHAUSTED
        reached = {each: run for each, run in tried.items() if safe(run)}
        position = _cheapest(reached) if reached else _steepest(here, tried)
        here = tried[position]
    while below := ladders.lowered(position):
        found = yield [ladders.at(each) for each in below]
        tried = _measured(ladders, below, found)
        better = {
            each: run for each, run in tried.items() if safe(run) and _loss(run) < _loss(here)
        }
        if not better:
            break
        position = _cheapest(better)
        here = better[position]
    return REACHED


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
