"""Measures of distributed releases: sums over records, with the formulas of one machine.

Whole numbers (distortion, lengths, levels, shares) are exactly those of
:func:`setveil.measure.measure_all`; expected supports are sums in another order.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.core.errors import NotApplicable
from setveil.core.table import TransactionTable
from setveil.measure.generalization import tree_for
from setveil.release.base import Key
from setveil.release.generalized import GeneralizedRelease
from setveil.release.set_generalized import SetGeneralizedRelease
from setveil.release.views import Images
from setveil.spark.batches import fold, rows_of
from setveil.spark.chunks import DistributedChunks
from setveil.spark.measures_queries import average_relative_error
from setveil.spark.risk_drawing import numbered
from setveil.spark.table import ITEMS, RECORD, DistributedTable

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

    from setveil.core.arrays import Int64Array
    from setveil.core.table import Vocabulary
    from setveil.core.taxonomy import Taxonomy
    from setveil.spark.batches import Batch
    from setveil.spark.measures_parts import DistributedRelease, Sketch

BEHIND = "behind"
NAMES = (
    "ggd", "ggd_share", "ncp", "average_loss", "length_mean", "level_mean", "records_kept",
    "items_kept", "items_exact", "items_suppressed", "are", "are_low", "are_high",
)  # fmt: skip


def measure_distributed(
    release: DistributedRelease,
    original: DistributedTable,
    *,
    key: Key | DataFrame | None = None,
    taxonomy: Taxonomy | None = None,
    sensitive: Iterable[str] = (),
    rng: np.random.Generator | None = None,
    k: int | None = None,
) -> dict[str, float | int | None]:
    """Return the measures of a distributed release by name; None where one cannot be said.

    Parameters
    ----------
    release, original
        What is compared; neither is collected.
    key
        Which original stands behind which record, by their numbers; or, as
        :func:`setveil.spark.anonymize` gives it, what each record was published as. Where an item
        may have several images, the originals are joined with what was published by it.
    taxonomy, sensitive, rng, k
        As :func:`setveil.measure.measure_all` has them.

    Returns
    -------
    dict
        The measures that are sums over records: ``ggd``, ``ggd_share``, ``ncp``,
        ``average_loss``, ``length_mean``, ``level_mean``, ``records_kept``, ``items_kept``,
        ``items_exact``, ``items_suppressed`` and ``are`` with its interval; of a disassociated
        release ``tlost``. Those that look for frequent itemsets or rules need one machine.
    """
    named = numbered(original)
    figures: dict[str, float | int | None] = dict.fromkeys(NAMES)
    sensitive = tuple(sensitive)
    tree = None if taxonomy is None else tree_for(taxonomy, every_item(named), sensitive)
    if isinstance(release.published, DistributedChunks):
        shown = _shown(release.published)
        if named.n_records:
            figures["records_kept"] = shown.records / named.n_records
        figures["tlost"] = None if k is None else _terms_lost(release.published, shown, named, k)
    else:
        figures |= totals(release, named).figures()
        with suppress(NotApplicable):
            # What records were published as is told by their own names.
            joined = named if isinstance(key, Key) else original
            figures |= _losses(release, joined, key, tree, sensitive)
    with suppress(NotApplicable):
        error = average_relative_error(release, named, taxonomy=tree, rng=rng)
        figures |= {"are": error.value, "are_low": error.low, "are_high": error.high}
    return figures


# --- counts of what is published ------------------------------------------------------------------


class Counted(NamedTuple):
    """How often each item stands in some rows, and how many rows there are."""

    occurrences: Int64Array
    records: int

    def plus(self, other: Counted) -> Counted:
        """Return the counts of both."""
        return Counted(self.occurrences + other.occurrences, self.records + other.records)


def count_occurrences(batch: Batch, n_items: int) -> Counted:
    """Count a batch (on a worker).

    >>> from setveil.spark.batches import Batch
    >>> count_occurrences(Batch(np.array([0, 2, 2]), np.array([1, 1])), 2)
    Counted(occurrences=array([0, 2]), records=2)
    """
    return Counted(np.bincount(batch.items, minlength=n_items), len(batch.offsets) - 1)


def counted(table: DistributedTable) -> Counted:
    """Count a table, repetitions within records included."""
    empty = Counted(np.zeros(table.n_items, dtype=np.int64), 0)
    return table.fold(partial(count_occurrences, n_items=table.n_items), Counted.plus, empty)


@dataclass(frozen=True, kw_only=True, eq=False)
class Totals:
    """What the measures without images are made of.

    Parameters
    ----------
    published
        How often each label is published, and in how many records.
    leaves, levels
        For each label how many leaves it stands for, and its level; levels are None without a
        tree.
    all_leaves
        How many leaves a label could stand for at most.
    records, occurrences
        Of the original.
    """

    published: Counted
    leaves: Int64Array
    levels: Int64Array | None
    all_leaves: int
    records: int
    occurrences: int

    def ggd(self) -> Fraction:
        """Return the generalized group distortion, as :func:`setveil.measure.ggd_exact`."""
        counts = self.published.occurrences
        widening = int(((self.leaves - 1) * counts).sum())
        lost = Fraction(self.occurrences - int(counts.sum()))
        return lost + Fraction(widening, self.all_leaves - 1) if widening else lost

    def figures(self) -> dict[str, float | None]:
        """Return all measures that can be said.

        >>> Totals(published=Counted(np.array([2, 1]), 2), leaves=np.array([3, 1]),
        ...        levels=np.array([1, 2]), all_leaves=3, records=2,
        ...        occurrences=4).figures()["ggd_share"]
        0.75
        """
        counts = self.published.occurrences
        shown = int(counts.sum())
        found: dict[str, float | None] = {}
        if self.published.records:
            found["length_mean"] = shown / self.published.records
        if self.levels is not None and shown:
            found["level_mean"] = int((self.levels * counts).sum()) / shown
        if self.records:
            found["records_kept"] = self.published.records / self.records
        found["ggd"] = float(self.ggd())
        if self.occurrences:
            found |= {
                "ggd_share": float(self.ggd() / self.occurrences),
                "items_kept": shown / self.occurrences,
                "items_exact": int(counts[self.leaves == 1].sum()) / self.occurrences,
                "items_suppressed": (self.occurrences - shown) / self.occurrences,
            }
        return found


def totals(release: DistributedRelease, original: DistributedTable) -> Totals:
    """Count what is published, and look up what the labels stand for."""
    table, sketch = release.records()
    form, occurring = sketch.release, int(np.count_nonzero(original.supports()))
    leaves, levels, most = np.ones(table.n_items, dtype=np.int64), None, occurring
    if isinstance(form, GeneralizedRelease):
        leaves, most = form.tree.leaves[sketch.numbers], form.tree.n_leaves
        levels = (form.tree.depths.astype(np.int64) - form.tree.pseudo)[sketch.numbers]
    elif isinstance(form, SetGeneralizedRelease):
        leaves = form.sizes[sketch.numbers]
    return Totals(
        published=counted(table),
        leaves=leaves,
        levels=levels,
        all_leaves=most,
        records=original.n_records,
        occurrences=int(_own_counts(original).sum()),
    )


def _own_counts(table: DistributedTable) -> Int64Array:
    return counted(table).occurrences if table.bags else table.supports()


def every_item(table: DistributedTable) -> TransactionTable:
    """Return a table here of one record that holds all items that occur."""
    occurring = np.flatnonzero(table.supports())
    return TransactionTable(
        offsets=np.array([0, len(occurring)]),
        items=occurring.astype(np.int32),
        vocabulary=table.vocabulary,
    )


# --- what became of every occurrence --------------------------------------------------------------


def _losses(
    release: DistributedRelease,
    original: DistributedTable,
    key: Key | DataFrame | None,
    tree: Taxonomy | None,
    sensitive: tuple[str, ...],
) -> dict[str, float | None]:
    """Return NCP and average loss, by the formulas of :mod:`setveil.measure`."""
    found = images(release, original, key=key, taxonomy=tree)
    total = int(_own_counts(original).sum())
    if not total:
        return {}
    wide = found.leaves > 1
    widened = int((found.leaves * found.occurrences)[wide].sum())
    ncp = float((Fraction(widened, found.n_leaves) + found.lost) / total)
    if not widened:
        return {"ncp": ncp, "average_loss": float(Fraction(found.lost, total))}
    if tree is None and sensitive:
        return {"ncp": ncp}
    known = 0 if tree is None else len(set(sensitive)) - len(tree.missing(set(sensitive)))
    loss = Fraction(widened, found.n_leaves - known) + found.lost
    return {"ncp": ncp, "average_loss": float(loss / total)}


def images(
    release: DistributedRelease,
    original: DistributedTable,
    *,
    key: Key | DataFrame | None = None,
    taxonomy: Taxonomy | None = None,
) -> Images:
    """Return the images of all original occurrences, as ``Release.images`` does."""
    table, sketch = release.records()
    form, own = sketch.release, _own_counts(original)
    total, names = int(own.sum()), original.vocabulary.names
    if isinstance(form, SetGeneralizedRelease):
        group = np.array([_or_gone(form.group_of(name)) for name in names], dtype=np.int64)
        counts = _summed(group, own, len(form.groups))
        lost = total - int(counts.sum())
        n_leaves = int(np.count_nonzero(original.supports()))
        return Images(leaves=form.sizes, occurrences=counts, lost=lost, n_leaves=n_leaves)
    if not isinstance(form, GeneralizedRelease):
        kept = int(counted(table).occurrences.sum())
        if table.n_records == original.n_records:
            stays = np.array([name in table.vocabulary for name in names], dtype=bool)
            kept = int(own[stays].sum())
        return Images(
            leaves=np.ones(1, dtype=np.int64), occurrences=np.array([kept]), lost=total - kept
        )
    width, same = len(form.tree), table.n_records == original.n_records
    if form.hides and not form.whole:
        counts = _summed(sketch.numbers.astype(np.int64), counted(table).occurrences, width)
    elif taxonomy is not None and same and form.is_antichain:
        image = form.tops(every_item(original), taxonomy).astype(np.int64)
        counts = _summed(image, own, width)
    elif taxonomy is not None and key is not None:
        counts = _joined(table, sketch, original, key, taxonomy)
    else:
        raise NotApplicable(
            "several items may share a published node, so the loss needs to know whose it is",
            fix="give the key and the taxonomy",
        )
    return Images(
        leaves=form.tree.leaves,
        occurrences=counts,
        lost=total - int(counts.sum()),
        n_leaves=form.tree.n_leaves,
    )


def _or_gone(number: int | None) -> int:
    return -1 if number is None else number


def _summed(place: Int64Array, counts: Int64Array, width: int) -> Int64Array:
    """Add up counts by place; -1 is none."""
    found = np.zeros(width, dtype=np.int64)
    np.add.at(found, place[place >= 0], counts[place >= 0])
    return found


def _joined(
    table: DistributedTable,
    sketch: Sketch,
    original: DistributedTable,
    key: Key | DataFrame,
    taxonomy: Taxonomy,
) -> Int64Array:
    """Count the original items below each published node, record by record."""
    import pyarrow as pa

    theirs = original.frame.withColumnsRenamed({ITEMS: BEHIND, RECORD: "original"})
    if isinstance(key, Key):
        if not table.has_ids:
            raise NotApplicable("the records of the release have no numbers, so no key fits them")
        links = table.session.createDataFrame(
            pa.table({RECORD: np.arange(len(key)), "original": key.records})
        )
        published = table.frame.join(links, RECORD)
    else:
        published = key.withColumnRenamed(RECORD, "original")
        sketch = sketch.over(taxonomy)
    pairs = published.join(theirs, "original").select(ITEMS, BEHIND)
    function = partial(
        items_below,
        sketch=table.broadcast(sketch),
        vocabulary=table.broadcast(original.vocabulary),
        taxonomy=table.broadcast(taxonomy),
    )
    empty = np.zeros(len(sketch.release.tree), dtype=np.int64)  # type: ignore[attr-defined]
    return fold(pairs, function, np.add, empty)


def items_below(
    rows: pa.Table,
    sketch: Broadcast[Sketch],
    vocabulary: Broadcast[Vocabulary],
    taxonomy: Broadcast[Taxonomy],
) -> Int64Array:
    """Count the original items below each published node in a batch of pairs (on a worker)."""
    part = sketch.value.part(rows_of(rows[ITEMS]), whole=False)
    release = part.release
    assert isinstance(release, GeneralizedRelease)
    theirs = TransactionTable(**rows_of(rows[BEHIND])._asdict(), vocabulary=vocabulary.value)
    below, _ = release.items_below(theirs, Key(records=part.places), taxonomy.value)
    return _summed(release.nodes.astype(np.int64), below, len(release.tree))


# --- disassociated releases -----------------------------------------------------------------------


def _shown(chunks: DistributedChunks) -> Counted:
    """Count the items of chunks, and the records of clusters."""
    width = len(chunks.vocabulary)
    empty = Counted(np.zeros(width, dtype=np.int64), 0)
    return fold(chunks.frame, partial(count_chunks, n_items=width), Counted.plus, empty)


def count_chunks(table: pa.Table, n_items: int) -> Counted:
    """Count some clusters (on a worker)."""
    items = np.bincount(rows_of(table["items"]).items, minlength=n_items)
    return Counted(items, int(rows_of(table["sizes"]).items.sum()))


def _terms_lost(
    chunks: DistributedChunks, shown: Counted, original: DistributedTable, k: int
) -> float | None:
    """Return the share of terms that many hold which stand in term chunks only."""
    names = chunks.vocabulary.names
    in_chunks = {names[i] for i in np.flatnonzero(shown.occurrences).tolist()}
    held = np.flatnonzero(original.supports() >= k).tolist()
    lost = sum(original.vocabulary[i] not in in_chunks for i in held)
    return lost / len(held) if held else None
