"""How often the 95% intervals of setveil.core.interval hold the truth, by simulation.

`python -m tests.interval_coverage` prints the table as Markdown: for each kind of interval and each
number of units the share of intervals that hold the truth, and the share whose upper end lies below
it, from the worst to the best of the situations that are simulated. Trials that are right or wrong
are not simulated: all their outcomes are enumerated.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from scipy.special import ndtr
from scipy.stats import binom

from setveil.attack.elimination.calibration import calibration_error
from setveil.core.interval import (
    Rate,
    advantage,
    clustered_share,
    difference,
    linearized,
    mean,
    mean_error,
    reduction,
)

UNITS = (5, 10, 30, 100)
RATES = (0.02, 0.1, 0.5, 0.9, 0.98)
INTERVALS = 300
"""How many are simulated in a situation, at least."""
ALL_RATES = tuple(np.round(np.arange(0.02, 0.981, 0.005), 3).tolist())

Draw = Callable[[np.random.Generator], tuple[Rate | None, float]]
"""Draws data and returns the interval and the truth."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A situation: `draw` makes an interval, and the truth stands beside it."""

    kind: str
    units: int
    setting: str
    draw: Draw


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """Shares of intervals that hold the truth, and that end below it; `intervals` were drawn.

    Of enumerated outcomes `intervals` is 0: these shares are exact.
    """

    kind: str
    units: int
    setting: str
    holds: float
    above: float
    intervals: int


# --- situations -----------------------------------------------------------------------------------


def _sizes(rng: np.random.Generator, units: int, uneven: bool) -> np.ndarray:
    return np.ceil(rng.lognormal(2.5, 1, units)) if uneven else np.full(units, 20.0)


def _unit_rates(rng: np.random.Generator, units: int, rate: float, alike: float) -> np.ndarray:
    """Return the rate of each unit; `alike` is the correlation of two cells of a unit."""
    if not 0 < alike < 1 or rate in (0, 1):
        return (rng.random(units) < rate) * 1.0 if alike else np.full(units, rate)
    size = 1 / alike - 1
    return rng.beta(rate * size, (1 - rate) * size, units)


ALIKE = ((0.0, False), (0.2, False), (0.05, True), (0.5, True), (1.0, True))


def _clustered(units: int) -> Iterator[Case]:
    for rate, (alike, uneven) in product(RATES, ALIKE):

        def draw(
            rng: np.random.Generator,
            rate: float = rate,
            alike: float = alike,
            uneven: bool = uneven,
        ) -> tuple[Rate | None, float]:
            whole = _sizes(rng, units, uneven)
            part = rng.binomial(whole.astype(int), _unit_rates(rng, units, rate, alike))
            return clustered_share(part, whole), rate

        sizes = "uneven" if uneven else "even"
        yield Case(
            kind="clustered share", units=units, draw=draw,
            setting=f"rate {rate}, correlation {alike}, {sizes} sizes",
        )  # fmt: skip


def _leaky(units: int) -> Iterator[Case]:
    """A few units are all right, the others hardly ever; those seen may all be of the others."""
    for leaky, rate in product((0.02, 0.05, 0.15), (0.02, 0.2)):

        def draw(
            rng: np.random.Generator, leaky: float = leaky, rate: float = rate
        ) -> tuple[Rate | None, float]:
            whole = np.full(units, 20)
            part = rng.binomial(whole, np.where(rng.random(units) < leaky, 1.0, rate))
            return clustered_share(part, whole), leaky + (1 - leaky) * rate

        setting = f"{leaky} of the units leak, rate {rate}"
        yield Case(kind="clustered share", units=units, setting=setting, draw=draw)


def _means(units: int) -> Iterator[Case]:
    for rate in RATES:

        def rare(rng: np.random.Generator, rate: float = rate) -> tuple[Rate | None, float]:
            sure = rng.random(units) < rate / 2  # half of the mean comes from rare ones
            small = rng.beta(2, 2 / rate * (1 - rate / 2) * 2, units)
            truth = rate / 2 + (1 - rate / 2) * 2 / (2 + 2 / rate * (1 - rate / 2) * 2)
            return mean(np.where(sure, 1.0, small)), truth

        def spread(rng: np.random.Generator, rate: float = rate) -> tuple[Rate | None, float]:
            return mean(rng.beta(rate, 1 - rate, units)), rate

        yield Case(kind="mean", units=units, setting=f"rare ones {rate}", draw=rare)
        yield Case(kind="mean", units=units, setting=f"spread {rate}", draw=spread)


def _paired(units: int) -> Iterator[Case]:
    for gain, guess, (alike, uneven) in product((0.0, 0.05, 0.3, 0.8), (0.02, 0.5), ALIKE[1:4]):

        def draw(
            rng: np.random.Generator,
            gain: float = gain,
            guess: float = guess,
            alike: float = alike,
            uneven: bool = uneven,
        ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            whole = _sizes(rng, units, uneven)
            blind = _unit_rates(rng, units, guess, alike)
            more = _unit_rates(rng, units, gain, alike) if gain else np.zeros(units)
            guessed = rng.binomial(whole.astype(int), blind)
            found = guessed + rng.binomial((whole - guessed).astype(int), more)
            lost = rng.binomial(found, 0.1)  # what guessing had right and the attack has not
            return found - lost, guessed, whole

        kept = 0.9 * (guess + gain * (1 - guess))
        beyond = max((kept - guess) / (1 - guess), 0.0)
        less = kept - guess
        setting = f"gain {gain}, guessing {guess}, correlation {alike}"
        yield Case(
            kind="advantage", units=units, setting=setting,
            draw=lambda rng, draw=draw, truth=beyond: (advantage(*draw(rng)), truth),
        )  # fmt: skip
        yield Case(
            kind="difference", units=units, setting=setting,
            draw=lambda rng, draw=draw, truth=less: (difference(*draw(rng)), truth),
        )  # fmt: skip


def _reductions(units: int) -> Iterator[Case]:
    for removed, alike in product((0.0, 0.3, 0.8, 0.98), (0.05, 0.5)):

        def draw(
            rng: np.random.Generator, removed: float = removed, alike: float = alike
        ) -> tuple[Rate | None, float]:
            before = rng.poisson(rng.gamma(2, 2, units))
            left = rng.binomial(before, _unit_rates(rng, units, 1 - removed, alike))
            return reduction(left, before), removed

        setting = f"removed {removed}, correlation {alike}"
        yield Case(kind="reduction", units=units, setting=setting, draw=draw)


def _errors(units: int) -> Iterator[Case]:
    def exponential(rng: np.random.Generator) -> tuple[Rate | None, float]:
        return mean_error(rng.exponential(1, units), usual=1.0), 1.0

    def lognormal(rng: np.random.Generator) -> tuple[Rate | None, float]:
        return mean_error(rng.lognormal(0, 1, units), usual=1.0), math.exp(0.5)

    def mostly_none(rng: np.random.Generator) -> tuple[Rate | None, float]:
        errors = rng.exponential(1, units) * (rng.random(units) < 0.3)
        return mean_error(errors, usual=1.0), 0.3

    for draw in (exponential, lognormal, mostly_none):
        yield Case(kind="mean error", units=units, setting=draw.__name__, draw=draw)


def _areas(units: int) -> Iterator[Case]:
    """Rankings of cells: units differ in their scores, and in how many of their cells are added."""
    for shift, differ, uneven in product((0.0, 1.0, 2.5), (0.0, 0.5), (False, True)):

        def draw(
            rng: np.random.Generator,
            shift: float = shift,
            differ: float = differ,
            uneven: bool = uneven,
        ) -> tuple[Rate | None, float]:
            sizes = _sizes(rng, units, uneven).astype(int)
            unit = np.repeat(np.arange(units), sizes)
            added = rng.random(len(unit)) < 0.5
            own = rng.normal(0, differ, units)[unit] if differ else 0.0
            scores = rng.normal(size=len(unit)) + shift * added + own * np.where(added, 1, -1)
            truth = float(ndtr(shift / math.sqrt(2 * (1 + differ**2))))
            return auc(scores, added, unit), truth

        setting = f"shift {shift}, units differ {differ}, {'uneven' if uneven else 'even'} sizes"
        yield Case(kind="AUC", units=units, setting=setting, draw=draw)


def auc(scores: np.ndarray, added: np.ndarray, unit: np.ndarray) -> Rate | None:
    """Return the chance that an added cell scores above another, by its definition."""
    high, low = scores[added], scores[~added]
    if not len(high) or not len(low):
        return None
    wins = (high[:, None] > low) + 0.5 * (high[:, None] == low)
    value = float(wins.mean())
    units = int(unit.max()) + 1
    influence = np.bincount(unit[added], (wins.mean(axis=1) - value) / len(high), units)
    influence += np.bincount(unit[~added], (wins.mean(axis=0) - value) / len(low), units)
    sizes = np.bincount(unit[added], minlength=units) / len(high)
    sizes += np.bincount(unit[~added], minlength=units) / len(low)
    return linearized(value, influence, sizes)


CURVES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "right": lambda said: said,
    "too sure": lambda said: 0.03 + 0.94 * said,
    "far too sure": lambda said: 0.15 + 0.7 * said,
    "too high": lambda said: said**2,
}


@cache
def _true_error(curve: str) -> float:
    """Return the error over ten bins of chances that are drawn as `_calibrations` does."""
    said = np.random.default_rng(0).beta(0.6, 0.6, 4_000_000)
    excess = np.bincount((said * 10).astype(int), said - CURVES[curve](said))
    return float(np.abs(excess).sum() / len(said)) if curve != "right" else 0.0


def _calibrations(units: int) -> Iterator[Case]:
    for curve, alike in product(CURVES, (0.0, 0.3)):

        def draw(
            rng: np.random.Generator, curve: str = curve, alike: float = alike
        ) -> tuple[Rate | None, float]:
            unit = np.repeat(np.arange(units), rng.integers(5, 56, units))
            said = rng.beta(0.6, 0.6, len(unit))
            luck = rng.normal(size=units)[unit] * alike**0.5  # cells of a unit share it
            luck += rng.normal(size=len(unit)) * (1 - alike) ** 0.5
            happened = ndtr(luck) < CURVES[curve](said)
            return calibration_error(said, happened, unit=unit), _true_error(curve)

        setting = f"{curve}, correlation {alike}"
        yield Case(kind="calibration error", units=units, setting=setting, draw=draw)


NAMES = (
    "share",
    "mean",
    "clustered share",
    "advantage",
    "difference",
    "reduction",
    "mean error",
    "AUC",
    "calibration error",
)
KINDS = (_means, _clustered, _leaky, _paired, _reductions, _errors, _areas, _calibrations)


def cases(units: tuple[int, ...] = UNITS) -> list[Case]:
    """Return all situations that are simulated."""
    return [case for kind in KINDS for number in units for case in kind(number)]


# --- counting -------------------------------------------------------------------------------------


def simulated(case: Case, intervals: int) -> Coverage:
    """Return how often intervals of a situation hold the truth; always the same draws."""
    rng = np.random.default_rng([case.units, *case.setting.encode()])
    holds = above = made = 0
    for _ in range(intervals):
        rate, truth = case.draw(rng)
        if rate is None:
            continue
        made += 1
        above += rate.high < truth
        holds += rate.low <= truth + 1e-12 and truth <= rate.high
    return Coverage(
        kind=case.kind, units=case.units, setting=case.setting,
        holds=holds / made, above=above / made, intervals=made,
    )  # fmt: skip


def enumerated(trials: int, rate: float) -> Coverage:
    """Return the coverage of shares of independent trials: every outcome by its chance."""
    outcomes = np.arange(trials + 1)
    chances = binom.pmf(outcomes, trials, rate)
    ends = np.array([(each.low, each.high) for each in _all_shares(trials)])
    above, below = ends[:, 1] < rate, ends[:, 0] > rate
    return Coverage(
        kind="share", units=trials, setting=f"rate {rate}", intervals=0,
        holds=float(chances[~above & ~below].sum()), above=float(chances[above].sum()),
    )  # fmt: skip


@cache
def _all_shares(trials: int) -> tuple[Rate, ...]:
    return tuple(Rate.sampled(successes, trials) for successes in range(trials + 1))


def measured(kind: str) -> list[Coverage]:
    """Return the coverage in every situation of a kind, of at least 10,000 intervals in all."""
    if kind == "share":
        return [enumerated(units, rate) for units, rate in product(UNITS, ALL_RATES)]
    own = [case for case in cases() if case.kind == kind]
    return [simulated(case, max(INTERVALS, math.ceil(10_000 / len(own)))) for case in own]


def table(found: list[Coverage]) -> str:
    """Return the ranges over all situations of a kind as Markdown."""
    rows = [
        "| kind | units | situations | intervals | hold the truth | end below it |",
        "|---|---|---|---|---|---|",
    ]
    for kind, units in dict.fromkeys((each.kind, each.units) for each in found):
        own = [each for each in found if (each.kind, each.units) == (kind, units)]
        holds, above = sorted(each.holds for each in own), sorted(each.above for each in own)
        number = sum(each.intervals for each in own)
        rows.append(
            f"| {kind} | {units} | {len(own)} | {f'{number:,}' if number else 'all outcomes'} "
            f"| {holds[0]:.1%} – {holds[-1]:.1%} | {above[0]:.1%} – {above[-1]:.1%} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    sys.stdout.write(table([each for kind in NAMES for each in measured(kind)]) + "\n")
