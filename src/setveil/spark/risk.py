"""Record linkage over distributed data: how often people are found by a few known items.

The people are drawn, what is known of them is looked up in each part of the release by the
form's own :meth:`matches`, and what the parts say is put together. Nothing else comes here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from setveil.attack.linkage.linkage import (
    NAMED,
    TIE,
    Link,
    LinkageGuess,
    Targets,
    link_rates,
    notes_on,
)
from setveil.core.errors import InputError, ParameterError
from setveil.core.interval import Rate
from setveil.engine.spark import spoken_errors
from setveil.measure.uniqueness import COUNTABLE, Records
from setveil.spark.batches import fold, map_batches, rows_of
from setveil.spark.chunks import DistributedChunks, assembled
from setveil.spark.measures_queries import held_by
from setveil.spark.risk_drawing import numbered, rows_at
from setveil.spark.table import ITEMS, RECORD

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark import Broadcast

    from setveil.core.arrays import Int64Array
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Key, Matches
    from setveil.spark.batches import Batch
    from setveil.spark.measures_parts import DistributedRelease, Sketch
    from setveil.spark.table import DistributedTable

Known = tuple[str, ...]

UNNAMED = "records that are distributed without numbers are not named"


# --- looking for people ---------------------------------------------------------------------------


def link_distributed(
    release: DistributedRelease,
    targets: Targets,
    *,
    k: int = 5,
    taxonomy: Taxonomy | None = None,
    rng: np.random.Generator | None = None,
) -> LinkageGuess:
    """Look for people in a distributed release, as the attack ``linkage`` does in one here.

    Parameters
    ----------
    release
        What is attacked; not collected.
    targets
        Whom to look for (:func:`setveil.spark.risk_drawing.draw_targets`).
    k
        A target with fewer candidates than this counts as exposed.
    taxonomy
        The tree of the items; a generalized release needs it.
    rng
        Draws which of more than 100 equally likely records are named: others than the attack
        here names, just as good.

    Returns
    -------
    LinkageGuess
        Candidates, chances and what is learned are those of the attack here; so are the records
        named, where no more than 100 are equally likely. Slots of clusters, and records of a
        release that has no numbers for them, are not named.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    asked = list(dict.fromkeys((*targets.known, *targets.strangers)))
    empty = [NOTHING] * len(asked)
    published = release.published
    notes = list(notes_on(targets))
    if isinstance(published, DistributedChunks):
        share = published.frame.sparkSession.sparkContext.broadcast
        look: Any = partial(look_in_chunks, asked=share(asked), names=published.broadcast_names())
        frame = published.frame
        notes.append(UNNAMED)
    else:
        table, sketch = release.records()
        for known in asked:  # refuses here, before any worker does
            sketch.release.matches(known, taxonomy)
        if not table.has_ids:
            notes.append(UNNAMED)
        table = numbered(table)
        look = partial(
            look_in,
            asked=table.broadcast(asked),
            sketch=table.broadcast(sketch),
            taxonomy=table.broadcast(taxonomy),
            seed=int(rng.integers(1 << 62)),
        )
        frame = table.frame.select(ITEMS, RECORD)
    traces: list[Trace] = fold(frame, look, _both, empty)
    if UNNAMED in notes:
        traces = [trace._replace(best=(), keys=()) for trace in traces]
    found = dict(zip(asked, traces, strict=True))
    return LinkageGuess(
        attack="linkage",
        k=k,
        targets=targets.records,
        links=tuple(found[known].link(known) for known in targets.known),
        strangers=tuple(found[known].link(known) for known in targets.strangers),
        notes=tuple(notes),
    )


class Trace(NamedTuple):
    """What some records say about somebody of whom items are known.

    Parameters
    ----------
    candidates, weight
        How many records may be the person's, and their weights added up.
    heaviest
        The greatest weight of a candidate.
    best
        Up to 100 numbers of the records with that weight, those with the least keys.
    keys
        A number drawn for each of these, by which some of many are chosen.
    common
        What the person holds for certain behind any of these records; None without candidates.
    """

    candidates: int
    weight: float
    heaviest: float
    best: tuple[int, ...]
    keys: tuple[int, ...]
    common: frozenset[str] | None

    def plus(self, other: Trace) -> Trace:
        """Return what both say.

        >>> one = Trace(2, 0.75, 0.5, (4,), (9,), frozenset({"flu", "gout"}))
        >>> two = Trace(1, 0.5, 0.5, (7,), (3,), frozenset({"flu"}))
        >>> one.plus(two).link(("hiv",))
        Link(known=('hiv',), candidates=3, chance=0.4, named=(4, 7), learned=('flu',), each=1.0)
        """
        most = max(self.heaviest, other.heaviest)
        chosen = sorted(
            pair
            for each in (self, other)
            if each.heaviest >= most * (1 - TIE)
            for pair in zip(each.keys, each.best, strict=True)
        )[:NAMED]
        shown = [each.common for each in (self, other) if each.common is not None]
        return Trace(
            self.candidates + other.candidates,
            self.weight + other.weight,
            most,
            tuple(record for _, record in chosen),
            tuple(key for key, _ in chosen),
            reduce(frozenset.__and__, shown) if shown else None,
        )

    def link(self, known: Known) -> Link:
        """Return what the adversary makes of it."""
        return Link(
            known=known,
            candidates=self.candidates,
            chance=min(self.heaviest / self.weight, 1.0) if self.candidates else 0.0,
            named=tuple(sorted(self.best)),
            learned=tuple(sorted((self.common or frozenset()) - set(known))),
        )


NOTHING = Trace(0, 0.0, 0.0, (), (), None)


def _both(first: list[Trace], second: list[Trace]) -> list[Trace]:
    return [a.plus(b) for a, b in zip(first, second, strict=True)]


def look_in(
    rows: pa.Table,
    asked: Broadcast[list[Known]],
    sketch: Broadcast[Sketch],
    taxonomy: Broadcast[Taxonomy | None],
    seed: int,
) -> list[Trace]:
    """Return what a batch of records says about each person (on a worker)."""
    part = sketch.value.part(rows_of(rows[ITEMS]))
    numbers = rows[RECORD].to_numpy()
    certain = part.release.certain_items(taxonomy.value)
    traces = []
    for known in asked.value:
        found = part.release.matches(known, taxonomy.value)
        found = found.where(part.places[found.records] >= 0)
        common = certain.held_by_all(found.records, known)
        traces.append(_trace(numbers[part.places[found.records]], found, common, seed))
    return traces


def look_in_chunks(
    table: pa.Table, asked: Broadcast[list[Known]], names: Broadcast[tuple[str, ...]]
) -> list[Trace]:
    """Return what some clusters say about each person (on a worker)."""
    release = assembled(table, names.value)
    certain = release.certain_items()
    traces = []
    for known in asked.value:
        found = release.matches(known)
        common = certain.held_by_all(found.records, known)
        traces.append(_trace(found.records, found, common, 0))
    return traces


def _trace(numbers: Int64Array, found: Matches, common: frozenset[str], seed: int) -> Trace:
    if not len(numbers):
        return NOTHING
    chances = found.weights / found.counts
    heaviest = float(chances.max())
    best = numbers[chances >= heaviest * (1 - TIE)]
    keys = _keys(best, seed)
    chosen = np.argsort(keys, kind="stable")[:NAMED]
    return Trace(
        found.candidates,
        float(found.weights.sum()),
        heaviest,
        tuple(best[chosen].tolist()),
        tuple(keys[chosen].tolist()),
        common,
    )


def _keys(numbers: Int64Array, seed: int) -> Int64Array:
    """Return numbers that look drawn at random (the finalizer of splitmix64)."""
    mixed = numbers.astype(np.uint64) + np.uint64(seed)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)


def score_distributed(
    guess: LinkageGuess, original: DistributedTable, key: Key
) -> dict[str, Rate | None]:
    """Return how often people were found, as :func:`setveil.measure.score_linkage`.

    Only the records of the targets are brought here; the key is.
    """
    held = rows_at(numbered(original), guess.targets)
    names = original.vocabulary
    rows = {target: [names[i] for i in items.tolist()] for target, items in held.items()}
    for link, target in zip(guess.links, guess.targets, strict=True):
        if target not in rows or not set(rows[target]).issuperset(link.known):
            raise InputError(
                "the guess is about other people",
                fix="give the data that the targets were drawn from",
            )
    return link_rates(guess, rows, key.records)


# --- who is single --------------------------------------------------------------------------------


def uniqueness(
    table: DistributedTable,
    m: int,
    *,
    samples: int = 1000,
    rng: np.random.Generator | None = None,
    countable: int = 100 * COUNTABLE,
) -> Rate:
    """Return the share of records that `m` known items single out.

    As :func:`setveil.measure.uniqueness`: exact with one known item and wherever no more than
    `countable` itemsets are to be counted, otherwise estimated from the same draws.

    Parameters
    ----------
    table
        The records; not collected.
    m, samples, rng
        As there.
    countable
        Greatest number of itemsets that Spark counts; more than one machine would.
    """
    if m < 1:
        raise ParameterError(f"m is {m}", fix="use at least one known item")
    if samples < 1:
        raise ParameterError(f"samples is {samples}", fix="draw at least one")
    n = table.n_records
    if not n:
        raise InputError("no record can be unique in an empty table", fix="give at least one")
    sets = table.distinct()
    width = max(table.n_items, 1)
    lengths = sets.fold(count_lengths, _longer, np.zeros(1, dtype=np.int64))
    lone_empty = int(n == 1 and lengths[0] == 1)
    known = [size for size in range(1, m) if size < len(lengths) and lengths[size]]
    todo = sum(
        math.comb(length, size) * count
        for size in (*known, m)
        for length, count in enumerate(lengths.tolist())
    )
    if todo <= countable and width**m < 2**63:
        return Rate.counted((_single(sets, [*known, m], m, width) + lone_empty) / n)
    rng = np.random.default_rng(0) if rng is None else rng
    return Rate.sampled(_single_drawn(sets, m, samples, rng), samples)


def count_lengths(batch: Batch) -> Int64Array:
    """Return how many records of a batch have each length (on a worker).

    >>> from setveil.spark.batches import Batch
    >>> count_lengths(Batch(np.array([0, 2, 3, 5]), np.zeros(5, dtype=np.int32))).tolist()
    [0, 1, 2]
    """
    return np.bincount(np.diff(batch.offsets))


def _longer(first: Int64Array, second: Int64Array) -> Int64Array:
    total = np.zeros(max(len(first), len(second)), dtype=np.int64)
    total[: len(first)] += first
    total[: len(second)] += second
    return total


def _single(table: DistributedTable, sizes: Sequence[int], m: int, width: int) -> float:
    """Return the chances of all records to be single, added up: itemsets are counted."""
    from pyspark.sql import functions as sql

    function = _Itemsets(tuple(sizes), m, width)
    sets = map_batches(table.frame, function, "size int, itemset bigint, chance double", rows=1024)
    once = sets.groupBy("size", "itemset").agg(
        sql.count("*").alias("records"), sql.sum("chance").alias("chance")
    )
    with spoken_errors():
        total = once.where("records = 1").agg(sql.sum("chance")).collect()[0][0]
    return float(total or 0.0)


@dataclass(frozen=True)
class _Itemsets:
    """All itemsets of some records, each with the chance that it is what is known of its record."""

    sizes: tuple[int, ...]
    m: int
    width: int

    def __call__(self, table: pa.Table) -> pa.Table:
        import pyarrow as pa

        offsets, items = rows_of(table[ITEMS])
        records = Records(offsets=offsets, items=items.astype(np.int64), width=self.width)
        lengths = records.lengths
        made = []
        for size in self.sizes:
            owners, keys = records.itemsets(size)
            asked = lengths >= self.m if size == self.m else lengths == size
            choices = np.array([math.comb(n, size) for n in lengths.tolist()], dtype=np.float64)
            chances = np.where(asked, 1 / np.maximum(choices, 1), 0.0)[owners]
            sizes = np.full(len(keys), size, dtype=np.int32)
            made.append(pa.table({"size": sizes, "itemset": keys, "chance": chances}))
        return pa.concat_tables(made)


def _single_drawn(table: DistributedTable, m: int, samples: int, rng: np.random.Generator) -> int:
    """Return how many of the drawn records are single by what is drawn of them."""
    named = numbered(table)
    drawn = rng.integers(named.n_records, size=samples).tolist()
    rows = rows_at(named, drawn)
    names = table.vocabulary
    known = []
    for record in drawn:
        row = rows[record].astype(np.int64)
        chosen = rng.choice(row, m, replace=False) if len(row) > m else row
        known.append(tuple(names[i] for i in np.sort(chosen).tolist()))
    asked = list(dict.fromkeys(known))
    function = partial(held_by, queries=table.broadcast(asked), vocabulary=table.broadcast(names))
    counts = named.fold(function, np.add, np.zeros(len(asked), dtype=np.int64))
    support = dict(zip(asked, counts.tolist(), strict=True))
    return sum(support[each] < 2 for each in known)
