"""ρ-uncertainty: loss and time of the four methods, large data, the time budget, growth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.row import Row, timed
from setveil import Taxonomy
from setveil.anonymize import RhoFamily, SimpleSuppression, SuppressControl, TDControl
from setveil.guarantee import RhoUncertainty
from setveil.measure import average_loss
from setveil.synthetic import lookalike

if TYPE_CHECKING:
    from setveil import TransactionTable
    from setveil.anonymize import Anonymizer
    from setveil.release.base import Anonymization

SHARE = 0.4
RHO = Fraction(1, 2)
HIGH = Fraction(9, 10)
FANOUT = 4
SHORT = 5
LEAST_BUDGET = 1.0
"""Seconds below which a tenth more or less says nothing."""
SHAPES = (("WebView-1", "bms-webview-1"), ("WebView-2", "bms-webview-2"))


@dataclass(frozen=True, kw_only=True)
class Case:
    """Records, the sensitive items among theirs, and a tree of the others."""

    table: TransactionTable
    sensitive: tuple[str, ...]
    tree: Taxonomy

    def inputs(self, method: Anonymizer) -> dict[str, object]:
        """Return what a method requires beside the records."""
        given = {"sensitive": self.sensitive, "taxonomy": self.tree}
        return {name: value for name, value in given.items() if name in method.requires}

    def run(self, method: Anonymizer) -> Anonymization:
        """Run a method."""
        return method.anonymize(self.table, **self.inputs(method))

    def loss(self, result: Anonymization) -> float:
        """Return the average loss, measured on the release and not taken from the method."""
        return average_loss(
            result.release, self.table, taxonomy=self.tree, sensitive=self.sensitive
        )

    def confirm(self, result: Anonymization, rho: Fraction = RHO) -> None:
        """Fail unless the guarantee, which shares no code with the methods, finds it kept.

        It is asked about the sensitive items that are published: whether others stand behind a
        category is not for a release to say.
        """
        assert isinstance(result.promise, RhoUncertainty)
        verdict = replace(result.promise, rho=rho).check(result.release)
        if not (verdict.holds and verdict.exact):
            raise AssertionError(verdict.reason)


@cache
def case(
    name: str, n: int | None = None, *, share: float = SHARE, longest: int | None = None
) -> Case:
    """Return a look-alike with a random share of its items sensitive."""
    table = lookalike(name, n=n).table
    if longest is not None:
        table = table.take(np.flatnonzero(table.lengths <= longest))
    occurring = np.flatnonzero(table.supports())
    drawn = np.random.default_rng(0).choice(occurring, int(share * len(occurring)), replace=False)
    others = np.setdiff1d(occurring, drawn)
    return Case(
        table=table,
        sensitive=tuple(table.vocabulary[i] for i in np.sort(drawn).tolist()),
        tree=Taxonomy.balanced([table.vocabulary[i] for i in others.tolist()], fanout=FANOUT),
    )


def warm_up() -> None:
    """Compile, so that no figure holds the time of that."""
    data = case("bms-webview-1", 1_000)
    for method in (SuppressControl(rho=RHO), TDControl(rho=RHO), RhoFamily(rho=RHO)):
        data.confirm(data.run(method))


def losses(*, small: bool) -> list[Row]:
    """All methods on both WebView shapes: short records, and records of any length."""
    rows = []
    for label, name in SHAPES:
        for longest in (SHORT, None):
            data = case(name, 5_000 if small else None, longest=longest)
            length = f"length ≤ {longest}" if longest else "any length"
            what = f"{label} look-alike, {len(data.table):,} records, {length}"
            least = float("nan")
            for method, most in (
                (SimpleSuppression(rho=RHO), None),
                (SuppressControl(rho=RHO), 5),
                (TDControl(rho=RHO), 5),
                (RhoFamily(rho=RHO), None),
            ):
                seconds, result = timed(partial(data.run, method), repeat=1)
                data.confirm(result)
                lost = data.loss(result)
                title = type(method).__name__
                if isinstance(method, SimpleSuppression):
                    least = lost
                bound = least if isinstance(method, RhoFamily) else None
                rows += [
                    Row(name=f"{what}: {title}", value=seconds, unit="s", most=most),
                    Row(name=f"the same: {title}", value=lost, unit="average loss", most=bound),
                ]
    return rows


def large() -> list[Row]:
    """As many records as BMS-POS has, of any length."""
    data = case("bms-pos")
    rows = []
    for method, most in ((TDControl(rho=RHO), 30), (SuppressControl(rho=RHO), 120)):
        seconds, result = timed(partial(data.run, method), repeat=1)
        data.confirm(result)
        what = f"POS look-alike, {len(data.table):,} records, any length: {type(method).__name__}"
        rows += [
            Row(name=what, value=seconds, unit="s", most=most),
            Row(name=f"the same: {type(method).__name__}", value=data.loss(result),
                unit="average loss"),
        ]  # fmt: skip
    return rows


def hard_corner(*, small: bool) -> list[Row]:
    """Few sensitive items and a high ρ: rules are long, and the budget must end the search."""
    data = case("bms-webview-1", share=0.02)
    rows = []
    for method in (
        SuppressControl(rho=HIGH, budget=5.0 if small else 20.0),
        TDControl(rho=HIGH, budget=5.0 if small else 20.0),
        RhoFamily(rho=HIGH, budget=5.0 if small else 20.0),
    ):
        rows += budgeted(data, method)
        taken = rows[-2].value * (method.budget or 0)
        if taken > LEAST_BUDGET and "in time" in rows[-2].name:
            # The budget was not needed: one that is too short shows whether it is honoured.
            rows += budgeted(data, replace(method, budget=round(taken / 2, 1)))
    return rows


def budgeted(data: Case, method: SuppressControl | TDControl | RhoFamily) -> list[Row]:
    """Return the time as a share of the budget, and the loss, of a release that is safe."""
    seconds, result = timed(partial(data.run, method), repeat=1)
    data.confirm(result, HIGH)
    ended = "in time" if result.figures["in_time"] else "cut short"
    title, budget = type(method).__name__, method.budget or 0
    what = f"WebView-1 look-alike, 2% sensitive, ρ = 0.9: {title}, {ended}"
    return [
        Row(name=f"{what}: time over its budget of {budget:g} s", value=seconds / budget,
            unit="×", most=1.1),
        Row(name=f"the same: {title}", value=data.loss(result), unit="average loss"),
    ]  # fmt: skip


def growth(*, small: bool) -> list[Row]:
    """Time when the records become twice as many."""
    sizes = (10_000, 20_000) if small else (50_000, 100_000, 200_000)
    rows = []
    for method in (SuppressControl(rho=RHO), TDControl(rho=RHO)):
        times = [timed(partial(case("bms-pos", n).run, method), repeat=2)[0] for n in sizes]
        rows += [
            Row(
                name=f"{type(method).__name__}: time from {before:,} to {after:,} records",
                value=late / early,
                unit="×",
                most=2.5,
            )
            for before, after, early, late in zip(
                sizes[:-1], sizes[1:], times[:-1], times[1:], strict=True
            )
        ]
    return rows


def run(*, small: bool) -> list[Row]:
    """Run everything of this file."""
    warm_up()
    return [
        *losses(small=small),
        *([] if small else large()),
        *hard_corner(small=small),
        *growth(small=small),
    ]
