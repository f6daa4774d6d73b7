"""COAT and PCTA: time at the size that was asked for, growth, against plain Python, losses."""

from __future__ import annotations

from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from tests.reference import coat as reference

from benchmarks.row import Row, timed
from setveil import TransactionTable
from setveil.anonymize import PCTA, Coat
from setveil.measure import items_exact, ncp

if TYPE_CHECKING:
    from setveil.release.base import Anonymization

ITEMS = 3_800
LENGTH = 10
ZIPF = 1.3
K = 5
SEED = 0


@cache
def case(n: int, items: int = ITEMS) -> TransactionTable:
    """Return records whose items follow Zipf's law: hundreds are in a handful of records."""
    rng = np.random.default_rng(SEED)
    chances = (np.arange(items) + 10.0) ** -ZIPF
    lengths = rng.poisson(LENGTH - 1, n) + 1
    drawn = rng.choice(items, int(lengths.sum()), p=chances / chances.sum())
    # Each item once more, so that all of them occur.
    drawn[rng.choice(len(drawn), items, replace=False)] = np.arange(items)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return TransactionTable.from_csr(offsets, drawn, [f"item {i:04}" for i in range(items)])


def pairs(table: TransactionTable, count: int) -> list[tuple[str, ...]]:
    """Draw pairs of items that some record holds."""
    rng = np.random.default_rng(SEED)
    return [
        tuple(rng.choice(table[record], 2, replace=False).tolist())
        for record in rng.choice(np.flatnonzero(table.lengths > 1), count).tolist()
    ]


def made(
    table: TransactionTable, method: Coat | PCTA, privacy: list[tuple[str, ...]] | None = None
) -> Anonymization:
    """Anonymize, and fail unless the guarantee, which shares no code, finds the promise kept."""
    result = method.anonymize(table, privacy=privacy, rng=np.random.default_rng(SEED))
    if result.promise is None or not result.promise.check(result.release).holds:
        raise AssertionError("the promise is broken")
    return result


def times(*, small: bool) -> list[Row]:
    """Both methods, few and all items constrained, and pairs."""
    table = case(2_000, 600) if small else case(20_000)
    what = f"{len(table):,} records, {table.n_items:,} items, k = {K}"
    rows = []
    for title, method, most in (
        ("COAT, 5% constrained", Coat(k=K, constrained=0.05), 60),
        ("PCTA, 5% constrained", PCTA(k=K, constrained=0.05), 60),
        ("COAT, every item", Coat(k=K, constrained=1), None),
    ):
        seconds, result = timed(partial(made, table, method), repeat=1)
        kept = items_exact(result.release, table)
        rows += [
            Row(name=f"{title}: {what}", value=seconds, unit="s", most=most),
            Row(name="the same", value=ncp(result.release, table), unit="NCP"),
            Row(name="the same", value=kept, unit="of the occurrences as they were"),
        ]
    asked = pairs(table, 200 if small else 2_000)
    seconds, _ = timed(partial(made, table, Coat(k=K), asked), repeat=1)
    rows.append(Row(name=f"COAT, {len(asked):,} pairs: {what}", value=seconds, unit="s"))
    return rows


def growth(*, small: bool) -> list[Row]:
    """Time when the records become twice as many, of which ever more items are rare enough."""
    sizes = (1_000, 2_000) if small else (20_000, 40_000, 80_000)
    method = Coat(k=K, constrained=1)
    taken = [timed(partial(made, case(n), method), repeat=2)[0] for n in sizes]
    return [
        Row(name=f"COAT, every item: time from {before:,} to {after:,} records", value=late / early,
            unit="×", most=2.5)
        for (before, early), (after, late) in pairwise(zip(sizes, taken, strict=True))
    ]  # fmt: skip


def against_plain_python(*, small: bool) -> list[Row]:
    """Bits in kernels against plain sets, with the same result."""
    table = case(60, 40) if small else case(150, 100)
    privacy = [[name] for name in table.vocabulary.names]
    fast, result = timed(lambda: Coat(k=K).anonymize(table, privacy=privacy))
    slow, (groups, _) = timed(
        lambda: reference.coat(table.to_rows(), privacy, None, K, "ul_per_gain"), repeat=1
    )
    if {frozenset(group) for group in result.release.groups} != groups:
        raise AssertionError("the kernel and the plain sets differ")
    what = f"COAT against plain Python, {len(table):,} records, {table.n_items:,} items"
    return [Row(name=what, value=slow / fast, unit="×", least=None if small else 20)]


def run(*, small: bool) -> list[Row]:
    """Run everything of this file."""
    made(case(200, 100), Coat(k=K, constrained=1))  # compiles
    return [*times(small=small), *growth(small=small), *against_plain_python(small=small)]
