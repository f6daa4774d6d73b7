"""The check of ρ-uncertainty: time on raw, planted and generalized records, growth, budget."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

import numpy as np
from tests.reference import rho as reference

from benchmarks.row import Row, timed
from setveil import TransactionTable
from setveil.guarantee import RhoUncertainty, max_confidence
from setveil.synthetic import lookalike

if TYPE_CHECKING:
    import numpy.typing as npt

    from setveil.guarantee import Verdict

    Chosen = npt.NDArray[np.bool_]

SHARE = 0.4
SHAPES = (("WebView-1", "bms-webview-1"), ("WebView-2", "bms-webview-2"), ("POS", "bms-pos"))


def choose(table: TransactionTable, share: float = SHARE) -> Chosen:
    """Return which items are sensitive: a random share."""
    rng = np.random.default_rng(0)
    chosen = np.zeros(table.n_items, dtype=bool)
    chosen[rng.choice(table.n_items, int(share * table.n_items), replace=False)] = True
    return chosen


def names_of(table: TransactionTable, chosen: Chosen) -> list[str]:
    """Return the names of the chosen items."""
    return [table.vocabulary[i] for i in np.flatnonzero(chosen).tolist()]


def part(table: TransactionTable, keep: Chosen) -> TransactionTable:
    """Return the table with only some of its entries (`keep` goes along its items)."""
    offsets = np.concatenate([[0], np.cumsum(keep)])[table.offsets]
    return TransactionTable.from_csr(offsets, table.items[keep], table.vocabulary.names)


def planted(table: TransactionTable, chosen: Chosen) -> TransactionTable:
    """Return safe records of the same number and shape.

    A third of the records stand three times: once with one sensitive item, twice without.
    """
    third = len(table) // 3
    tripled = table.take(
        np.append(np.repeat(np.arange(third), 3), np.arange(3 * third, len(table)))
    )
    record = np.repeat(np.arange(len(tripled)), tripled.lengths)
    sensitive = np.flatnonzero(chosen[tripled.items])
    first = sensitive[np.unique(record[sensitive], return_index=True)[1]]
    keep = ~chosen[tripled.items]
    keep[first[(record[first] % 3 == 0) & (record[first] < 3 * third)]] = True
    return part(tripled, keep)


def generalized(
    table: TransactionTable, chosen: Chosen, categories: int, kept: int
) -> tuple[TransactionTable, list[str]]:
    """Return records of categories and the most frequent sensitive items: no record is its own."""
    names = [f"category {i:03}" for i in range(categories)] + list(table.vocabulary.names)
    image = np.arange(table.n_items) * categories // table.n_items
    image[chosen] = categories + np.flatnonzero(chosen)
    often = np.argsort(-np.where(chosen, table.supports(), -1), kind="stable")[:kept]
    shown = ~chosen
    shown[often] = True
    thinner = part(table, shown[table.items])
    made = TransactionTable.from_csr(thinner.offsets, image[thinner.items], names)
    return made, [table.vocabulary[i] for i in often.tolist()]


def check(table: TransactionTable, sensitive: list[str], rho: float) -> tuple[float, Verdict]:
    """Time an exact check."""
    promise = RhoUncertainty(rho=rho, sensitive=tuple(sensitive))
    seconds, verdict = timed(lambda: promise.check(table), repeat=2)
    if not verdict.exact:
        raise AssertionError(verdict.reason)
    return seconds, verdict


def sizes(*, small: bool) -> list[Row]:
    """Raw data, where violations show, and planted data, where there are none; memory."""
    rows = []
    for label, name in SHAPES:
        table = lookalike(name, n=10_000 if small else None).table
        chosen = choose(table)
        sensitive = names_of(table, chosen)
        safe = planted(table, chosen)
        for kind, data, holds in (("raw", table, False), ("planted safe", safe, True)):
            seconds, verdict = check(data, sensitive, 0.5)
            if verdict.holds is not holds:
                raise AssertionError(verdict.reason)
            what = f"{label} look-alike, {len(data):,} records of any length, {kind}"
            rows.append(Row(name=what, value=seconds, unit="s", most=5))
        seconds, best = timed(lambda s=safe, n=sensitive: max_confidence(s, n), repeat=1)
        what = f"{label} look-alike, greatest confidence ({best.value})"
        rows.append(Row(name=what, value=seconds, unit="s", most=5))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    rows.append(Row(name="peak memory so far", value=peak, unit="GB"))
    return rows


def searched(*, small: bool) -> list[Row]:
    """Generalized records, where no certificate does and the search must decide."""
    table = lookalike("bms-pos", n=10_000 if small else None).table
    rows = []
    for categories, kept, rho in ((20, 1, 0.9), (12, 2, 0.5)):
        chosen = choose(table, 0.02 if rho > 0.5 else SHARE)
        data, sensitive = generalized(table, chosen, categories, kept)
        seconds, verdict = check(data, sensitive, rho)
        what = (
            f"{len(data):,} records over {categories} categories and {kept} sensitive, ρ = {rho}: "
            f"{'holds' if verdict.holds else 'violated'}"
        )
        rows.append(Row(name=what, value=seconds, unit="s", most=30))
    return rows


def growth(*, small: bool) -> list[Row]:
    """Time when the records become twice as many."""
    times = []
    largest = 40_000 if small else 400_000
    for n in (largest // 2, largest):
        table = lookalike("bms-pos", n=n).table
        chosen = choose(table)
        times.append(check(planted(table, chosen), names_of(table, chosen), 0.5)[0])
    ratio = times[1] / times[0]
    return [Row(name=f"time for {largest:,} records over half", value=ratio, unit="×", most=2.5)]


def against_plain_python(*, small: bool) -> list[Row]:
    """Reach the same verdict by enumerating all subsets, of records short enough for that."""
    table = lookalike("bms-webview-1", n=300 if small else 1_000).table
    table = table.take(np.flatnonzero(table.lengths <= 8))
    sensitive = names_of(table, choose(table))
    fast, verdict = check(table, sensitive, 0.5)
    slow, broken = timed(
        lambda: reference.violations(table.to_rows(), 0.5, sensitive, prior=True), repeat=1
    )
    if verdict.holds is bool(broken):
        raise AssertionError("the check and the definition disagree")
    what = f"{len(table):,} records of at most 8 items: plain enumeration over the check"
    return [Row(name=what, value=slow / fast, unit="×")]


def run(*, small: bool) -> list[Row]:
    """Run all."""
    return [
        *sizes(small=small),
        *searched(small=small),
        *growth(small=small),
        *against_plain_python(small=small),
    ]
