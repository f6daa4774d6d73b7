"""CAHD: large data, memory, growth, and what similar groups are worth."""

from __future__ import annotations

import resource
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from benchmarks.row import Row, timed
from setveil.anonymize import CAHD, Anatomy
from setveil.anonymize.groups import cahd
from setveil.measure import mean_reconstruction_error
from setveil.synthetic import lookalike

if TYPE_CHECKING:
    from setveil import TransactionTable
    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.release.base import Anonymization

P = 10
SENSITIVE = 20
"""How many items are sensitive; the paper has 10 and 20."""

ENTRIES = 20_000_000
"""Up to how large A·Aᵀ may become."""


@cache
def case(n: int | None) -> tuple[TransactionTable, tuple[str, ...]]:
    """Return records shaped like those of BMS-POS, all for None, and items drawn as sensitive."""
    table = lookalike("bms-pos", n=n).table
    supports = table.supports()
    fit = np.flatnonzero((supports >= P) & (supports * P <= len(table)))
    chosen = np.random.default_rng(1).choice(fit, SENSITIVE, replace=False)
    return table, tuple(table.vocabulary[i] for i in chosen.tolist())


def made(method: CAHD | Anatomy, n: int | None) -> Anonymization:
    """Anonymize, and fail unless the guarantee, which shares no code, finds the promise kept."""
    table, sensitive = case(n)
    drawn = {"rng": np.random.default_rng(1)} if isinstance(method, Anatomy) else {}
    result = method.anonymize(table, sensitive=sensitive, **drawn)
    if result.promise is None or not result.promise.check(result.release).holds:
        raise AssertionError("the promise is broken")
    return result


def large(*, small: bool) -> list[Row]:
    """Time, memory and reconstruction error at the size of BMS-POS, with the check."""
    n = 5_000 if small else None
    table, _ = case(n)
    what = f"POS look-alike, {len(table):,} records, {SENSITIVE} sensitive items, p = {P}"
    near_time, near = timed(partial(made, CAHD(p=P), n), repeat=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    spread_time, spread = timed(partial(made, Anatomy(l=P), n), repeat=1)
    errors = [mean_reconstruction_error(run.release, table).value for run in (near, spread)]
    return [
        Row(name=f"cahd, with its check: {what}", value=near_time, unit="s", most=60),
        Row(name="peak memory so far", value=peak, unit="GB", most=4),
        Row(name="the same by anatomy, l = p", value=spread_time, unit="s", most=60),
        Row(name="reconstruction error of cahd", value=errors[0], unit="nats"),
        Row(name="reconstruction error of anatomy", value=errors[1], unit="nats"),
        Row(name="error of anatomy by that of cahd", value=errors[1] / errors[0], unit="×",
            least=None if small else 1.2),
    ]  # fmt: skip


def growth(*, small: bool) -> list[Row]:
    """Time when the records become twice as many."""
    sizes = (2_000, 4_000) if small else (50_000, 100_000, 200_000)
    taken = [timed(partial(made, CAHD(p=P), n), repeat=1 if small else 2)[0] for n in sizes]
    return [
        Row(name=f"cahd: time from {before:,} to {after:,} records", value=late / early,
            unit="×", most=2.5)
        for (before, early), (after, late) in pairwise(zip(sizes, taken, strict=True))
    ]  # fmt: skip


def product_order(ordinary: tuple[Int64Array, Int32Array]) -> Int64Array:
    """Order records by A·Aᵀ as print does, without the items that make it too large."""
    offsets, items = ordinary
    supports = np.bincount(items).astype(np.int64)
    rare_first = np.argsort(supports, kind="stable")
    kept = np.zeros(len(supports), dtype=bool)
    kept[rare_first[np.cumsum(supports[rare_first] ** 2) <= ENTRIES]] = True
    ones = np.ones(len(items), dtype=np.int8)
    rows = csr_array((ones, items, offsets), shape=(len(offsets) - 1, len(supports)))[:, kept]
    return reverse_cuthill_mckee((rows @ rows.T).tocsr(), symmetric_mode=True).astype(np.int64)


def against_product(*, small: bool) -> list[Row]:
    """Reconstruction error of groups along our order, and along that of A·Aᵀ."""
    n = 2_000 if small else 60_000
    table, _ = case(n)
    errors = [mean_reconstruction_error(made(CAHD(p=P), n).release, table).value]
    with patch.object(cahd, "band_order", product_order):
        errors.append(mean_reconstruction_error(made(CAHD(p=P), n).release, table).value)
    what = f"with A·Aᵀ of at most {ENTRIES:,} entries"
    return [
        Row(name=f"reconstruction error of cahd, {n:,} records", value=errors[0], unit="nats"),
        Row(name=f"the same {what}", value=errors[1], unit="nats"),
    ]


def run(*, small: bool) -> list[Row]:
    """Run everything of this file."""
    for method in (CAHD(p=P), Anatomy(l=P)):
        made(method, 1_000)  # compiles
    return [*large(small=small), *growth(small=small), *against_product(small=small)]
