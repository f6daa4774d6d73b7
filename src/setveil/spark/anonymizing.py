"""Anonymizing distributed records, by the method."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

from setveil.core.errors import NotApplicable, ParameterError
from setveil.core.params import check_whole
from setveil.core.registry import distributed_methods, name_of
from setveil.core.taxonomy import Taxonomy
from setveil.spark.buckets import BUCKET
from setveil.spark.table import DistributedTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from setveil.anonymize.base import Anonymizer
    from setveil.spark.anonymized import DistributedAnonymization


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
        One that says where it works on distributed records, with its parameters.
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
    name, place = name_of(type(method)), getattr(method, "distributed", None)
    if place is None:
        raise NotApplicable(
            f"{name} needs all records in one place",
            fix=f"use one of {', '.join(distributed_methods())}, or read the records with "
            "setveil.read",
        )
    check_whole("most", most)
    if "taxonomy" not in method.requires and taxonomy is not None:
        raise ParameterError(f"{name} uses no tree", fix="leave out taxonomy=")
    if "taxonomy" in method.requires and not isinstance(taxonomy, Taxonomy):
        raise ParameterError(
            f"taxonomy is {taxonomy!r}", fix="pass a Taxonomy, for example Taxonomy.read(path)"
        )
    table = (
        records if isinstance(records, DistributedTable) else DistributedTable.from_frame(records)
    )
    ours = not table.frame.is_cached  # read once: every pass would number the items again
    used = table.persist() if ours else table
    try:
        made: DistributedAnonymization = resolve_name(place)(method, used, taxonomy, most=most)
        return made
    finally:
        if ours:
            used.unpersist()
