"""Checks of promises on data that is distributed: the same verdicts as on one machine.

The kernels are those of :mod:`setveil.guarantee`. For sets of items, each record is sent to the
parts of the search that can begin within it, cut down to what they read; a part then searches
alone. Nothing but counts and witnesses comes back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.engine.spark import spoken_errors
from setveil.errors import NotApplicable
from setveil.guarantee.base import Verdict
from setveil.guarantee.coherence import Coherence, violation
from setveil.guarantee.disassociated import Disassociated, universals
from setveil.guarantee.k_anonymity import SHOWN, KAnonymity
from setveil.guarantee.km_anonymity import KmAnonymity, Ranked, Rare, count_rare
from setveil.registry import name_of
from setveil.release.published import PublishedRows
from setveil.spark.batches import apply_groups, fold, rows_of
from setveil.spark.chunks import DistributedChunks, assembled
from setveil.spark.routing import Routes, cut_into_parts, place_costs, split_rows
from setveil.spark.table import ITEMS, DistributedTable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import Broadcast

    from setveil.data.table import Int64Array
    from setveil.guarantee.base import Guarantee

FOUND_SETS = (
    "size int, found bigint, sets bigint, done boolean, supports array<bigint>, itemsets array<int>"
)
FOUND_MOLES = (
    "size int, found bigint, sets bigint, done boolean, shown array<bigint>, itemsets array<bigint>"
)
WHERE = re.compile(r"clusters? \d+( to \d+)?")


def check(
    guarantee: Guarantee,
    published: DistributedTable | DistributedChunks,
    *,
    shape: PublishedRows | None = None,
) -> Verdict:
    """Decide whether distributed records keep a promise, without collecting them.

    Parameters
    ----------
    guarantee
        ``k-anonymity``, ``km``, ``coherence`` or ``disassociated``.
    published
        The records, or the clusters of chunks.
    shape
        What the numbers of the table stand for, where they are not plain items: a view as
        :func:`setveil.release.published.published_rows` gives it, over the same numbers.

    Returns
    -------
    Verdict
        As `guarantee` gives it here for the same records. A bound on work counts for each part
        of the search. Of a disassociated release that breaks its promise, the reason tells about
        one part of it.
    """
    if isinstance(published, DistributedChunks):
        if isinstance(guarantee, Disassociated):
            return _disassociated(guarantee, published)
    else:
        names = published.vocabulary.names if shape is None else shape.names
        if isinstance(guarantee, KAnonymity):
            return _k_anonymity(guarantee, published, names)
        if isinstance(guarantee, KmAnonymity):
            return _km(guarantee, published.distinct(), names)
        if isinstance(guarantee, Coherence):
            return _coherence(guarantee, published.distinct(), shape or _plain(published))
    raise NotApplicable(
        f"{name_of(type(guarantee))} cannot be checked of {published!r} on Spark",
        fix="check it with --engine local",
    )


def _plain(table: DistributedTable) -> PublishedRows:
    """Return what the numbers of a table of items stand for; one record holds all that occur."""
    names = table.vocabulary.names
    occurring = np.flatnonzero(table.supports)
    return PublishedRows(
        offsets=np.array([0, len(occurring)]),
        items=occurring.astype(np.int32),
        names=names,
        ids=names,
        exact=np.ones(len(names), dtype=bool),
    )


# --- k-anonymity ----------------------------------------------------------------------------------


def _k_anonymity(guarantee: KAnonymity, table: DistributedTable, names: tuple[str, ...]) -> Verdict:
    from pyspark.sql import functions as sql  # noqa: PLC0415  (an extra)

    counts = table.frame.groupBy(ITEMS).count()
    is_rare = sql.col("count") < guarantee.k
    with spoken_errors():
        total = counts.agg(
            sql.sum("count").alias("records"),
            sql.count("*").alias("distinct"),
            sql.count_if(is_rare).alias("rare"),
            sql.min("count").alias("least"),
        ).collect()[0]
        worst = (
            counts.where(is_rare).orderBy("count", ITEMS).limit(SHOWN).collect()
            if total.rare
            else []
        )
    return guarantee.verdict(
        records=total.records or 0,
        distinct=total.distinct,
        rare=total.rare,
        least=total.least or 0,
        worst=[(tuple(names[i] for i in row[ITEMS]), row["count"]) for row in worst],
    )


# --- sets of at most m items ----------------------------------------------------------------------


def _km(guarantee: KmAnonymity, table: DistributedTable, names: tuple[str, ...]) -> Verdict:
    numbers = np.argsort(table.supports, kind="stable")
    numbers = numbers[table.supports[numbers] > 0]
    supports = table.supports[numbers]
    if not len(numbers):
        reason = "no record has an item, so no itemset is rare"
        return Verdict(holds=True, exact=True, reason=reason, checked=table.n_records)
    rare = np.flatnonzero(supports < guarantee.k)
    if len(rare):
        shown = rare[:SHOWN]
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
        )[:SHOWN]
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
    import pyarrow as pa  # noqa: PLC0415

    number = table["part"][0].as_py()
    offsets, items = rows_of(table[ITEMS])
    supports = np.bincount(items, minlength=n_ranks)
    ranked = Ranked(
        numbers=np.arange(n_ranks),
        supports=supports,
        items=items,
        ends=np.repeat(offsets[1:], np.diff(offsets)),
        occurrence_offsets=np.concatenate([[0], np.cumsum(supports)]),
        occurrences=np.argsort(items, kind="stable"),
    )
    roots = int(bounds[number]), int(bounds[number + 1])
    steps, done, rows = 0, True, []
    for size in range(2, most + 1):
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


def _coherence(guarantee: Coherence, table: DistributedTable, shape: PublishedRows) -> Verdict:
    named = (shape.number(item) for item in guarantee.sensitive)
    secret = np.array(sorted({i for i in named if i is not None}), dtype=np.int64)
    secret = secret[table.supports[secret] > 0]
    is_secret = np.zeros(table.n_items, dtype=bool)
    is_secret[secret] = True
    public = np.argsort(table.supports, kind="stable")
    public = public[(table.supports[public] > 0) & ~is_secret[public]]
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
    )[:SHOWN]
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
    import pyarrow as pa  # noqa: PLC0415

    from setveil.kernels.coherence_check import (  # noqa: PLC0415  (numba on demand)
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
    shown = np.full((SHOWN, 3), -1, dtype=np.int64)
    itemsets = np.full((SHOWN, p), -1, dtype=np.int64)
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


# --- disassociation -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Clusters:
    """What is known of some clusters: the worst verdict, and what holds of all of them."""

    verdict: Verdict
    clusters: int
    giving: int
    covers: int

    def __add__(self, other: _Clusters) -> _Clusters:
        worse, better = sorted((self.verdict, other.verdict), key=_badness)
        merged = replace(worse, checked=worse.checked + better.checked)
        if not (worse.holds or better.holds):
            both = sorted((*worse.witnesses, *better.witnesses), key=lambda w: (w.support, w.items))
            merged = replace(merged, witnesses=tuple(both[:SHOWN]))
        return _Clusters(
            merged,
            self.clusters + other.clusters,
            self.giving + other.giving,
            self.covers + other.covers,
        )


def _badness(verdict: Verdict) -> tuple[bool, bool, str]:
    return verdict.holds, verdict.exact, verdict.reason


def _disassociated(guarantee: Disassociated, chunks: DistributedChunks) -> Verdict:
    nothing = Verdict(holds=True, exact=True, reason="", checked=0)
    found = fold(
        chunks.frame,
        partial(_check_clusters, names=chunks.broadcast_names(), promise=guarantee),
        _Clusters.__add__,
        _Clusters(nothing, 0, 0, 0),
    )
    verdict = found.verdict
    if verdict.holds and verdict.exact:
        said = guarantee.kept(found.clusters, found.giving, found.covers)
        return replace(verdict, reason=said)
    # Clusters have no numbers where they are distributed.
    witnesses = tuple(
        replace(w, required=WHERE.sub("its cluster", w.required)) for w in verdict.witnesses
    )
    return replace(verdict, reason=f"in a part of them, {verdict.reason}", witnesses=witnesses)


def _check_clusters(
    table: pa.Table, names: Broadcast[tuple[str, ...]], promise: Disassociated
) -> _Clusters:
    release = assembled(table, names.value)
    return _Clusters(promise.check(release), *universals(release))
