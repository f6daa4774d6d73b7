"""Checks of promises on data that is distributed: the same verdicts as on one machine.

The kernels are those of :mod:`setveil.guarantee`. Nothing but counts and witnesses comes back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import NotApplicable
from setveil.core.registry import name_of
from setveil.engine.spark import spoken_errors
from setveil.guarantee.base import MOST_WITNESSES, Verdict
from setveil.guarantee.coherence import Coherence
from setveil.guarantee.disassociated import Disassociated, universals
from setveil.guarantee.k_anonymity import KAnonymity
from setveil.guarantee.km_anonymity import KmAnonymity
from setveil.release.views import PublishedRows
from setveil.spark.batches import fold
from setveil.spark.chunks import DistributedChunks, assembled
from setveil.spark.search import check_coherence, check_km
from setveil.spark.table import ITEMS, DistributedTable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import Broadcast

    from setveil.guarantee.base import Guarantee

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
        :func:`setveil.release.views.published_rows` gives it, over the same numbers.

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
            return check_km(guarantee, published.distinct(), names)
        if isinstance(guarantee, Coherence):
            return check_coherence(guarantee, published.distinct(), shape or _plain(published))
    raise NotApplicable(
        f"{name_of(type(guarantee))} cannot be checked of {published!r} on Spark",
        fix="check it with --engine local",
    )


def _plain(table: DistributedTable) -> PublishedRows:
    """Return what the numbers of a table of items stand for; one record holds all that occur."""
    names = table.vocabulary.names
    occurring = np.flatnonzero(table.supports())
    return PublishedRows(
        offsets=np.array([0, len(occurring)]),
        items=occurring.astype(np.int32),
        names=names,
        ids=names,
        exact=np.ones(len(names), dtype=bool),
    )


# --- k-anonymity ----------------------------------------------------------------------------------


def _k_anonymity(guarantee: KAnonymity, table: DistributedTable, names: tuple[str, ...]) -> Verdict:
    from pyspark.sql import functions as sql

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
            counts.where(is_rare).orderBy("count", ITEMS).limit(MOST_WITNESSES).collect()
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
            merged = replace(merged, witnesses=tuple(both[:MOST_WITNESSES]))
        return _Clusters(
            merged,
            self.clusters + other.clusters,
            self.giving + other.giving,
            self.covers + other.covers,
        )


def _badness(verdict: Verdict) -> tuple[bool, bool, str]:
    """Return what sorts verdicts: certainly violated, perhaps violated, perhaps kept, kept."""
    return verdict.holds, verdict.exact == verdict.holds, verdict.reason


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
