"""Searches over sets of items that are distributed: k^m-anonymity and coherence.

Each record is sent to the parts of the search that can begin within it, cut down to what they
read (:mod:`setveil.spark.routing`); a part then searches alone, with the kernels of one machine.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.arrays import Int64Array, offsets_of
from setveil.core.errors import NotApplicable
from setveil.engine.spark import spoken_errors
from setveil.guarantee.base import MOST_WITNESSES, Verdict
from setveil.guarantee.coherence import Coherence, violation
from setveil.guarantee.km_anonymity import KmAnonymity, Ranked, Rare, count_rare, places_ahead
from setveil.spark.batches import apply_groups, rows_of
from setveil.spark.routing import Routes, cut_into_parts, place_costs, split_rows
from setveil.spark.table import ITEMS, DistributedTable

if TYPE_CHECKING:
    import pyarrow as pa

    from setveil.release.views import PublishedRows

FOUND_SETS = (
    "size int, found bigint, sets bigint, done boolean, supports array<bigint>, itemsets array<int>"
)
FOUND_MOLES = (
    "size int, found bigint, sets bigint, done boolean, shown array<bigint>, itemsets array<bigint>"
)


def check_km(guarantee: KmAnonymity, table: DistributedTable, names: tuple[str, ...]) -> Verdict:
    """Check that no set of at most m items that occurs is in fewer than k records.

    Parameters
    ----------
    guarantee
        k, m, and a bound on the work of each part.
    table
        Sets, not bags.
    names
        What the numbers of the table are called.
    """
    numbers = np.argsort(table.supports(), kind="stable")
    numbers = numbers[table.supports()[numbers] > 0]
    supports = table.supports()[numbers]
    if not len(numbers):
        reason = "no record has an item, so no itemset is rare"
        return Verdict(holds=True, exact=True, reason=reason, checked=table.n_records)
    rare = np.flatnonzero(supports < guarantee.k)
    if len(rare):
        shown = rare[:MOST_WITNESSES]
        found = Rare(len(rare), supports[shown], shown[:, None], len(supports))
        return guarantee.violated(names, numbers, found, stopped=False)
    most = min(guarantee.m, table.longest) if guarantee.k > 1 else 1
    rows = _searched(guarantee, table, numbers, most) if most > 1 else []
    sizes = [row["size"] for row in rows if row["found"]]
    if sizes:
        size = min(sizes)
        same = [row for row in rows if row["size"] == size]
        worst = sorted(
            chain.from_iterable(
                zip(row["supports"], _tuples(row["itemsets"], size), strict=True) for row in same
            )
        )[:MOST_WITNESSES]
        found = Rare(
            sum(row["found"] for row in same),
            np.array([support for support, _ in worst]),
            np.array([itemset for _, itemset in worst]),
            sum(row["sets"] for row in same),
        )
        stopped = any(not row["done"] for row in rows if row["size"] <= size)
        return guarantee.violated(names, numbers, found, stopped=stopped)
    checked = len(supports) + sum(row["sets"] for row in rows)
    given_up = [row["size"] for row in rows if not row["done"]]
    if given_up:
        return guarantee.undecided(min(given_up), checked)
    return guarantee.kept(len(supports), table.n_records, checked)


def _searched(guarantee: KmAnonymity, table: DistributedTable, numbers: Any, most: int) -> Any:  # noqa: ANN401
    """Search all parts for rare sets of 2 to `most` items; a row per part and size."""
    rank = np.full(table.n_items, -1, dtype=np.int64)
    rank[numbers] = np.arange(len(numbers))
    shared = table.broadcast(rank)
    empty = np.zeros(len(numbers), dtype=np.int64)
    costs = table.fold(partial(place_costs, rank=shared, n_ranks=len(numbers)), np.add, empty)
    routes = Routes(shared, cut_into_parts(costs))
    routed = table.map(partial(split_rows, routes=routes), "part int, items array<int>")
    part = partial(
        count_part, bounds=routes.bounds, n_ranks=len(numbers), promise=guarantee, most=most
    )
    with spoken_errors():
        return apply_groups(routed, "part", part, FOUND_SETS).collect()


def count_part(
    table: pa.Table,
    bounds: Int64Array,
    n_ranks: int,
    promise: KmAnonymity,
    most: int,
) -> pa.Table:
    """Search one part: sets that begin with one of its items (runs on a worker)."""
    import pyarrow as pa

    number = table["part"][0].as_py()
    offsets, items = rows_of(table[ITEMS])
    supports = np.bincount(items, minlength=n_ranks)
    ranked = Ranked(
        numbers=np.arange(n_ranks),
        supports=supports,
        items=items,
        ends=np.repeat(offsets[1:], np.diff(offsets)),
        occurrence_offsets=offsets_of(supports),
        occurrences=np.argsort(items, kind="stable"),
    )
    roots = int(bounds[number]), int(bounds[number + 1])
    steps, done, rows = 0, True, []
    largest = promise.largest_counted(places_ahead(ranked, most, promise.k, roots), most)
    for size in range(2, most + 1):
        if size > largest:
            nothing = np.zeros(0, dtype=np.int64)
            found, done = Rare(0, nothing, nothing.reshape(0, size), 0), False
        else:
            found, steps, done = count_rare(
                ranked, size, promise.k, steps=steps, work=promise.work, roots=roots
            )
        rows.append(
            {
                "size": size,
                "found": found.number,
                "sets": found.checked,
                "done": done,
                "supports": found.supports.tolist(),
                "itemsets": found.itemsets.ravel().tolist(),
            }
        )
        if found.number or not done:
            break  # larger sets matter only if no part finds rare ones of this size
    return pa.Table.from_pylist(rows, _schema(pa, pa.int32(), "supports"))


def _tuples(flat: list[int], size: int) -> list[tuple[int, ...]]:
    return [tuple(flat[i : i + size]) for i in range(0, len(flat), size)]


def _schema(pa: Any, item: Any, third: str) -> Any:  # noqa: ANN401  (pyarrow has no types)
    return pa.schema(
        [
            ("size", pa.int32()),
            ("found", pa.int64()),
            ("sets", pa.int64()),
            ("done", pa.bool_()),
            (third, pa.list_(pa.int64())),
            ("itemsets", pa.list_(item)),
        ]
    )


# --- coherence ------------------------------------------------------------------------------------


def check_coherence(guarantee: Coherence, table: DistributedTable, shape: PublishedRows) -> Verdict:
    """Check that no set of at most p public items is a mole.

    Parameters
    ----------
    guarantee
        h, k, p, the sensitive items, and a bound on the work of each part.
    table
        Sets, not bags.
    shape
        What the numbers of the table stand for.
    """
    standings = [shape.standing(item) for item in guarantee.sensitive]
    # What is not located says nothing where every share is allowed.
    told = [found for found in standings if found.located or guarantee.h < 1]
    if not all(found.is_plain for found in told):
        raise NotApplicable(
            "sensitive items may stand behind categories or sets of this release, and what "
            "follows for them is not worked out on Spark",
            fix="check it with --engine local",
        )
    secret = np.array(
        sorted({number for found in standings for number in found.own}), dtype=np.int64
    )
    secret = secret[table.supports()[secret] > 0]
    is_secret = np.zeros(table.n_items, dtype=bool)
    is_secret[secret] = True
    public = np.argsort(table.supports(), kind="stable")
    public = public[(table.supports()[public] > 0) & ~is_secret[public]]
    if not len(public):
        reason = "no record has a public item, so there is nothing to know"
        return Verdict(holds=True, exact=True, reason=reason, checked=table.n_records)
    # Public items have the ranks from 0 up, secrets the negative ones from -2 down.
    rank = np.full(table.n_items, -1, dtype=np.int64)
    rank[public] = np.arange(len(public))
    rank[secret] = -2 - np.arange(len(secret))
    shared = table.broadcast(rank)
    empty = np.zeros(len(public), dtype=np.int64)
    costs = table.fold(partial(place_costs, rank=shared, n_ranks=len(public)), np.add, empty)
    routes = Routes(shared, cut_into_parts(costs))
    routed = table.map(
        partial(split_rows, routes=routes, secrets=True),
        "part int, items array<int>, secrets array<int>",
    )
    part = partial(
        mole_part, bounds=routes.bounds, n_ranks=len(public), n_secrets=len(secret),
        promise=guarantee,
    )  # fmt: skip
    with spoken_errors():
        rows = apply_groups(routed, "part", part, FOUND_MOLES).collect()
    sizes = [row["size"] for row in rows if row["found"]]
    gave_up = any(not row["done"] for row in rows)
    sets = sum(row["sets"] for row in rows)
    if not sizes:
        return guarantee.kept(sets, len(secret), gave_up=gave_up)
    same = [row for row in rows if row["found"] and row["size"] == min(sizes)]
    moles = sorted(
        chain.from_iterable(
            zip(_tuples(row["shown"], 3), _tuples(row["itemsets"], min(sizes)), strict=True)
            for row in same
        ),
        key=lambda mole: (mole[0][0], -mole[0][2], mole[1]),
    )[:MOST_WITNESSES]
    return Verdict(
        holds=False,
        exact=True,
        reason=violation(sum(row["found"] for row in same), min(sizes), gave_up=gave_up),
        checked=sets,
        witnesses=guarantee.witnesses(
            shape.names,
            public.tolist(),
            secret.tolist(),
            np.array([shown for shown, _ in moles]),
            np.array([itemset for _, itemset in moles]),
        ),
    )


def mole_part(
    table: pa.Table,
    bounds: Int64Array,
    n_ranks: int,
    n_secrets: int,
    promise: Coherence,
) -> pa.Table:
    """Search one part for moles that begin with one of its items (runs on a worker)."""
    import pyarrow as pa

    from setveil.guarantee.coherence_kernels import (
        FOUND,
        SETS,
        SIZE,
        STEPS,
        least_moles,
    )

    number = table["part"][0].as_py()
    offsets, items = rows_of(table[ITEMS])
    secret_offsets, secrets = rows_of(table["secrets"])
    p = min(promise.p, int(np.diff(offsets).max(initial=0)))
    share = promise.h
    most = np.array([s * share.numerator // share.denominator for s in range(len(offsets))])
    shown = np.full((MOST_WITNESSES, 3), -1, dtype=np.int64)
    itemsets = np.full((MOST_WITNESSES, p), -1, dtype=np.int64)
    state = least_moles(
        offsets, items, n_ranks, secret_offsets, secrets, n_secrets,
        int(bounds[number]), int(bounds[number + 1]),
        promise.k, most.astype(np.int64), p, promise.work, shown, itemsets,
    )  # fmt: skip
    listed = shown[:, 0] >= 0
    row = {
        "size": int(state[SIZE]),
        "found": int(state[FOUND]),
        "sets": int(state[SETS]),
        "done": bool(state[STEPS] <= promise.work),
        "shown": shown[listed].ravel().tolist(),
        "itemsets": itemsets[listed][:, : int(state[SIZE])].ravel().tolist(),
    }
    return pa.Table.from_pylist([row], _schema(pa, pa.int64(), "shown"))
