"""Anonymizing distributed records, by the method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from setveil.anonymize import AprioriKm, Clump, Disassociate, Gather, Partition
from setveil.core.errors import NotApplicable, ParameterError
from setveil.core.registry import name_of
from setveil.core.taxonomy import Taxonomy
from setveil.spark.apriori import apriori_km
from setveil.spark.buckets import BUCKET
from setveil.spark.disassociate import disassociate
from setveil.spark.generalize import bucketed
from setveil.spark.table import DistributedTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from setveil.anonymize.base import Anonymizer
    from setveil.spark.anonymized import DistributedAnonymization

METHODS = (Clump, Gather, Partition, AprioriKm, Disassociate)
"""The methods that work on distributed records."""


def anonymize(
    method: Anonymizer,
    records: DistributedTable | DataFrame,
    *,
    taxonomy: Taxonomy | None = None,
    most: int = BUCKET,
) -> DistributedAnonymization:
    """Anonymize distributed records where they are; the release is distributed too.

    Parameters
    ----------
    method
        ``Clump``, ``Gather``, ``Partition``, ``AprioriKm`` or ``Disassociate`` with its
        parameters.
    records
        A table, or a DataFrame with a column ``items`` of lists of texts.
    taxonomy
        The tree of the items, for methods that generalize.
    most
        Most records that one worker gets at a time, except by AprioriKm, which counts only; by
        Clump, Gather and Partition also 32 times as many items. Up to so many records, releases
        are the same as local ones.

    Raises
    ------
    NotApplicable
        The method needs all records in one place.
    """
    if not isinstance(method, METHODS):
        known = ", ".join(name_of(kind) for kind in METHODS)
        raise NotApplicable(
            f"{name_of(type(method))} needs all records in one place",
            fix=f"use one of {known}, or read the records with setveil.read",
        )
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise ParameterError(f"most is {most!r}", fix="use a whole number of at least 1")
    if isinstance(method, Disassociate) and taxonomy is not None:
        raise ParameterError("disassociate uses no tree", fix="leave out taxonomy=")
    if not isinstance(method, Disassociate) and not isinstance(taxonomy, Taxonomy):
        raise ParameterError(
            f"taxonomy is {taxonomy!r}", fix="pass a Taxonomy, for example Taxonomy.read(path)"
        )
    table = (
        records if isinstance(records, DistributedTable) else DistributedTable.from_frame(records)
    )
    ours = not table.frame.is_cached  # read once: every pass would number the items again
    used = table.persist() if ours else table
    try:
        if isinstance(method, Disassociate):
            return disassociate(method, used, most=most)
        assert taxonomy is not None
        if isinstance(method, AprioriKm):
            return apriori_km(method, used, taxonomy)
        return bucketed(method, used, taxonomy, most=most)
    finally:
        if ours:
            used.unpersist()
