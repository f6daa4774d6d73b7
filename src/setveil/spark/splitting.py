"""Groups of like records, each small enough for one worker and none below k.

Records are split by questions: does a record hold at least so many numbers of a range? The numbers
are leaves of a taxonomy, and the range what lies below a node (below the root: is the record at
least so long?); or they are items, and the range is one item. The driver chooses questions from
counts that the workers make; records never come here.

Two ways to choose: :func:`make_buckets`, by histograms over the nodes that carry most weight, and
:func:`make_parts`, by the most frequent item, as `horizontal_partition` does it on one machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.core.arrays import Int32Array, Int64Array, offsets_of
from setveil.spark.kernels import content_buckets, count_histograms, item_masks, route_by_ranges
from setveil.spark.table import sorted_rows

if TYPE_CHECKING:
    import numpy.typing as npt

    from setveil.core.records import Records, Rows, Shared
    from setveil.core.taxonomy import Taxonomy

BUCKET = 65_536
"""Most records of a group: what one worker solves at a time."""
LONG = 32
"""Most items of a bucket for each of so many records: long records fill it before their number."""
HEADS = 64
"""Nodes that questions are about: those that carry most weight."""
COUNTS = 31
"""Greatest number of items below a node that is told apart."""
EVEN = 8
"""A side of a split has at least one in so many records, where there is such a split."""
CELLS = 1024
"""Records that no question splits are hashed by their content into this many cells."""
MASKS = 20
"""Logarithm of how many counts of items that stand together come to the driver at a time."""
TOPS = 16
"""Most items of a part that are looked at together."""


# --- a tree of questions --------------------------------------------------------------------------


class Questions(NamedTuple):
    """A tree of questions, each whether a record holds at least so many numbers of a range.

    The range is from `first` to before `end`. Question `i` goes on with ``yes[i]`` or ``no[i]``; a
    number below zero is the end, and ``-1 - number`` the group. Question 0 is the first; without
    questions there is one group.
    """

    first: Int64Array
    end: Int64Array
    least: Int64Array
    yes: Int64Array
    no: Int64Array

    def route(self, offsets: Int64Array, numbers: Int32Array) -> Int64Array:
        """Return the group of each of some sorted rows."""
        return route_by_ranges(offsets, numbers, *self)


@dataclass(eq=False)
class Group:
    """Some records while they are split: those that gave the same answers.

    Parameters
    ----------
    number
        Its number; after a split, the records that say no keep it.
    load
        How many records there are, and items in them where that matters.
    used
        The items it was split by, or that would have left too few on a side.
    whole
        Whether nothing splits it further.
    """

    number: int
    load: Int64Array
    used: tuple[int, ...] = ()
    whole: bool = False

    @property
    def size(self) -> int:
        """Its records."""
        return int(self.load[0])


@dataclass(eq=False)
class Splits:
    """The questions so far, and the groups they make."""

    groups: list[Group]
    _rows: list[list[int]] = field(default_factory=list)
    # For each group the question that led to it, and the place of the answer.
    _above: list[tuple[int, int]] = field(default_factory=lambda: [(-1, 0)])

    @classmethod
    def start(cls, records: int, items: int = 0) -> Splits:
        """Begin with one group of all records."""
        return cls([Group(0, np.array([records, items], dtype=np.int64))])

    @property
    def questions(self) -> Questions:
        """What leads a record to its group."""
        columns = np.array(self._rows, dtype=np.int64).reshape(-1, 5).T
        return Questions(*np.ascontiguousarray(columns))

    @property
    def loads(self) -> Int64Array:
        """The records of each group, and their items."""
        return np.array([group.load for group in self.groups], dtype=np.int64)

    def places(self, live: list[Group]) -> Int64Array:
        """Return for each group its place among the live ones, or -1."""
        place = np.full(len(self.groups), -1, dtype=np.int64)
        place[[group.number for group in live]] = np.arange(len(live))
        return place

    def split(self, group: Group, question: tuple[int, int, int], load: Int64Array) -> Group:
        """Take the records that say yes out of a group, as a new one."""
        other = Group(len(self.groups), np.asarray(load, dtype=np.int64), group.used)
        self.groups.append(other)
        group.load = group.load - other.load
        row = len(self._rows)
        self._rows.append([*question, -1 - other.number, -1 - group.number])
        asked, answer = self._above[group.number]
        if asked >= 0:
            self._rows[asked][answer] = row
        self._above[group.number] = row, 4
        self._above.append((row, 3))
        return other


# --- buckets: like lengths and topics -------------------------------------------------------------


class Limits(NamedTuple):
    """How large a bucket may be: at least so many records; at most so many, and items in them."""

    least: int
    most: int
    most_items: int

    @classmethod
    def of(cls, k: int, most: int) -> Limits:
        """Return the limits for `k` and the greatest number of records.

        >>> Limits.of(k=5, most=100)
        Limits(least=5, most=100, most_items=3200)
        """
        return cls(k, most, LONG * most)

    def over(self, loads: Int64Array) -> npt.NDArray[np.bool_]:
        """Return which buckets are too large, by their records and items."""
        large: npt.NDArray[np.bool_] = np.any(loads > (self.most, self.most_items), axis=-1)
        return large


class Places(NamedTuple):
    """What a worker needs to place items in the taxonomy: the leaf of each, and the tree's ends."""

    leaf: Int32Array
    ends: Int32Array

    def rows(self, rows: Rows) -> tuple[Int64Array, Int32Array]:
        """Return records as sorted rows of leaves."""
        return sorted_rows(rows.offsets, self.leaf[rows.items], len(self.ends), bags=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class Buckets:
    """How records are sent to buckets; it is sent to the workers.

    Parameters
    ----------
    places
        The leaves of the items.
    questions
        What is asked of a record.
    sizes
        Records of each bucket.
    empty
        The bucket of records without items, where it is not the one that questions lead to.
    cells
        For each bucket and cell the number of the bucket that takes its place; without columns
        where questions suffice.
    """

    places: Shared[Places]
    questions: Questions
    sizes: Int64Array
    cells: Int64Array
    empty: int | None = None

    def route(self, rows: Rows) -> Int64Array:
        """Return the bucket of each record."""
        bucket = self.questions.route(*self.places.value.rows(rows))
        if self.cells.shape[1]:
            bucket = self.cells[bucket, content_buckets(*rows, self.cells.shape[1])]
        if self.empty is not None:
            bucket[np.diff(rows.offsets) == 0] = self.empty
        return bucket


def make_buckets(
    records: Records, tree: Taxonomy, leaf: Int32Array, limits: Limits, *, n_empty: int = 0
) -> Buckets:
    """Decide on buckets within limits; a few passes over the data.

    Parameters
    ----------
    records
        Enough for one bucket, without those that do not count.
    tree, leaf
        The taxonomy, and the leaf of each item.
    limits
        Least and greatest size of a bucket. Equal records stay together, so that a bucket of
        very many equal records may be larger.
    n_empty
        Records without items that do not count: all of them, or none.
    """
    places = records.share(Places(leaf, tree.ends))
    heads = find_heads(tree, leaf, records.supports())
    splits = Splits.start(records.n_records - n_empty, int(records.supports().sum()))
    while live := _too_large(splits, limits):
        asked = Asked(places, splits.questions, splits.places(live), apart=bool(n_empty))
        counted = partial(histograms, asked=asked, heads=heads.nodes, n_live=len(live))
        nothing = np.zeros((len(live), len(heads.nodes), COUNTS + 1, 2), dtype=np.int64)
        found = records.fold(counted, np.add, nothing)
        for group, histogram in zip(live, found, strict=True):
            heads.split(splits, group, histogram, limits.least)
    loads = splits.loads
    made = Buckets(
        places=places,
        questions=splits.questions,
        sizes=loads[:, 0],
        cells=np.zeros((len(loads), 0), dtype=np.int64),
    )
    if len(large := np.flatnonzero(limits.over(loads))):
        return _with_cells(records, made, large, limits, apart=bool(n_empty))
    return made


def _too_large(splits: Splits, limits: Limits) -> list[Group]:
    """Return the buckets that are to be split."""
    over = limits.over(splits.loads)
    return [group for group in splits.groups if over[group.number] and not group.whole]


def find_heads(tree: Taxonomy, leaf: Int32Array, supports: Int64Array) -> Heads:
    """Return the nodes that questions are about: those that carry most weight, and the root.

    An item below a node is worth what publishing the node says more than its parent does. The
    root is worth half of the node worth most, so that lengths count too.
    """
    occurring = np.flatnonzero(supports)
    held = np.bincount(leaf[occurring], supports[occurring], minlength=len(tree)).astype(np.int64)
    running = offsets_of(held)
    gamma = np.zeros(len(tree), dtype=np.int64)
    gamma[1:] = tree.leaves[tree.parents[1:]] - tree.leaves[1:]
    mass = gamma * (running[tree.ends] - running[:-1])
    order = np.argsort(-mass, kind="stable")[: HEADS - 1]
    heads = order[mass[order] > 0]
    worth = gamma[heads]
    nodes = np.append(heads, 0)
    weight = np.append(worth, max(int(worth.max(initial=0)) // 2, 1))
    return Heads(nodes, tree.ends[nodes].astype(np.int64), weight)


class Heads(NamedTuple):
    """The nodes that questions are about, where each ends, and what an item below it is worth."""

    nodes: Int64Array
    ends: Int64Array
    weight: Int64Array

    def split(self, splits: Splits, group: Group, histogram: Int64Array, k: int) -> None:
        """Split a bucket by the question that gains most, or note that there is none."""
        counts = histogram[..., 0]
        found = best_question(counts, self.weight, max(k, group.size // EVEN))
        found = found or best_question(counts, self.weight, k)
        if found is None:
            group.whole = True
            return
        head, least = found
        question = (int(self.nodes[head]), int(self.ends[head]), least)
        splits.split(group, question, histogram[head, least:].sum(axis=0))


def best_question(histogram: Int64Array, weight: Int64Array, side: int) -> tuple[int, int] | None:
    """Return which head and number of items part records best, with `side` or more on both sides.

    A question gains what the records that say yes are known to share by it: their number times
    the items they have more than the least of all, times what an item is worth.

    >>> best_question(np.array([[4, 0, 0], [2, 0, 2], [2, 2, 0]]), np.array([9, 1, 1]), 2)
    (1, 2)
    """
    counts = np.arange(histogram.shape[1])
    upper = histogram[:, ::-1].cumsum(axis=1)[:, ::-1]  # records with so many or more
    total = upper[:, :1]
    low = (upper == total).sum(axis=1) - 1
    gain = upper * (counts - low[:, None]) * weight[:, None]
    gain[(upper < side) | (total - upper < side)] = 0
    best = int(gain.argmax()) if gain.size else 0
    if not gain.size or gain.flat[best] <= 0:
        return None
    return best // len(counts), best % len(counts)


def _with_cells(
    records: Records, made: Buckets, large: Int64Array, limits: Limits, *, apart: bool
) -> Buckets:
    """Cut buckets that no question splits by the content of their records."""
    place = np.full(len(made.sizes), -1, dtype=np.int64)
    place[large] = np.arange(len(large))
    asked = Asked(made.places, made.questions, place, apart=apart)
    nothing = np.zeros((len(large), CELLS, 2), dtype=np.int64)
    found = records.fold(partial(cell_loads, asked=asked, n_live=len(large)), np.add, nothing)
    cells = np.repeat(np.arange(len(made.sizes))[:, None], CELLS, axis=1)
    sizes = made.sizes.tolist()
    for bucket, within in zip(large.tolist(), found, strict=True):
        run = runs(within, limits)
        totals = np.bincount(run, within[:, 0]).astype(np.int64).tolist()
        number = np.array([bucket, *range(len(sizes), len(sizes) + len(totals) - 1)])
        cells[bucket] = number[run]
        sizes[bucket] = totals[0]
        sizes += totals[1:]
    return Buckets(
        places=made.places,
        questions=made.questions,
        sizes=np.array(sizes, dtype=np.int64),
        cells=cells,
    )


def runs(loads: Int64Array, limits: Limits) -> Int64Array:
    """Put neighbours together, within limits where they allow it; return the run of each.

    >>> loads = np.array([[3, 9], [3, 9], [3, 9], [9, 9], [1, 9]])
    >>> runs(loads, Limits(least=2, most=6, most_items=99)).tolist()
    [0, 0, 1, 2, 2]
    >>> runs(loads, Limits(least=2, most=99, most_items=9)).tolist()
    [0, 1, 2, 3, 3]
    """
    run, number, total = [], 0, np.zeros(2, dtype=np.int64)
    for load in loads:
        if total[0] >= limits.least and limits.over(total + load):
            number, total = number + 1, np.zeros(2, dtype=np.int64)
        total = total + load
        run.append(number)
    result = np.array(run, dtype=np.int64)
    if number and total[0] < limits.least:
        result[result == number] = number - 1
    return result


# --- parts: with and without the most frequent item -----------------------------------------------


class Counts(NamedTuple):
    """How often each of some keys was counted, keys ascending."""

    keys: Int64Array
    numbers: Int64Array

    @classmethod
    def of(cls, keys: Int64Array) -> Counts:
        """Count keys."""
        found, numbers = np.unique(keys, return_counts=True)
        return cls(found, numbers.astype(np.int64))

    def merge(self, other: Counts) -> Counts:
        """Add two counts.

        >>> both = Counts.of(np.array([7, 7, 8])).merge(Counts.of(np.array([8])))
        >>> both.keys.tolist(), both.numbers.tolist()
        ([7, 8], [2, 2])
        """
        keys, place = np.unique(np.concatenate([self.keys, other.keys]), return_inverse=True)
        numbers = np.bincount(place, np.concatenate([self.numbers, other.numbers]))
        return Counts(keys, numbers.astype(np.int64))

    def between(self, low: int, high: int) -> Counts:
        """Return those of the keys of a range, counted from its beginning."""
        a, b = np.searchsorted(self.keys, [low, high])
        return Counts(self.keys[a:b] - low, self.numbers[a:b])


NOTHING = Counts(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def make_parts(records: Records, *, k: int, most: int) -> Splits:
    """Split records by their most frequent items until each part has fewer than `most`.

    Workers count items and, for the most frequent ones of a part, which of them its records hold
    together; from these counts the driver makes as many splits as they decide.
    """
    splits = Splits.start(records.n_records)
    width = max(len(records.vocabulary), 1)
    while live := [part for part in splits.groups if part.size >= most and not part.whole]:
        n_tops = min(max(MASKS - (len(live) - 1).bit_length(), 4), TOPS)
        route = Route(records.share(splits.questions), splits.places(live))
        counted = records.fold(
            partial(count_items, route=route, width=width), Counts.merge, NOTHING
        )
        own = [counted.between(i * width, (i + 1) * width) for i in range(len(live))]
        listed = [_most_frequent(found, part.used) for found, part in zip(own, live, strict=True)]
        tops = np.full((len(live), n_tops), -1, dtype=np.int64)
        for number, found in enumerate(listed):
            held = found.keys[:n_tops]
            tops[number, : len(held)] = held
        counted = records.fold(partial(count_masks, route=route, tops=tops), Counts.merge, NOTHING)
        for number, part in enumerate(live):
            masks = counted.between(number << n_tops, (number + 1) << n_tops)
            rest = listed[number].numbers[n_tops:]
            limit = int(rest[0]) if len(rest) else 0
            listed_items = tops[number][tops[number] >= 0]
            split_by_items(splits, part, Tops(listed_items, limit, masks), k=k, most=most)
    return splits


def _most_frequent(counted: Counts, used: tuple[int, ...]) -> Counts:
    """Return the items that are not used, those of most records first; ties by number."""
    free = ~np.isin(counted.keys, used)
    items, numbers = counted.keys[free], counted.numbers[free]
    order = np.lexsort((items, -numbers))
    return Counts(items[order], numbers[order])


class Tops(NamedTuple):
    """The most frequent items of a part that are not used.

    `limit`: no other item is in more records of the part. `masks`: which of the items records hold
    together (bit `i` is item `i`), and how many do.
    """

    items: Int64Array
    limit: int
    masks: Counts


def split_by_items(splits: Splits, part: Group, tops: Tops, *, k: int, most: int) -> None:
    """Split a part of `most` records or more, and what comes of it, as far as counts decide."""
    items, limit, masks = tops
    held = (masks.keys[:, None] >> np.arange(len(items))) & 1 == 1
    waiting = [(part, np.ones(len(masks.keys), dtype=bool))]
    while waiting:
        now, inside = waiting.pop()
        if now.size < most:
            continue
        found = masks.numbers[inside] @ held[inside]
        found[np.isin(items, now.used)] = 0
        # Ties go to the lowest number.
        best = min(range(len(items)), key=lambda i: (-found[i], items[i]), default=-1)
        count = int(found[best]) if best >= 0 else 0
        if max(count, limit) < k:
            now.whole = True
            continue
        # In the whole part the listed items come first; in a piece of it another one may.
        if count < limit or (count == limit and not inside.all()):
            continue  # counted anew in the next round
        item = int(items[best])
        if now.size - count < k:
            now.used = (*now.used, item)
            waiting.append((now, inside))
            continue
        other = splits.split(now, (item, item + 1, 1), np.array([count, 0]))
        other.used = (*now.used, item)
        waiting += [(now, inside & ~held[:, best]), (other, inside & held[:, best])]


# --- functions that run on the workers ------------------------------------------------------------


class Asked(NamedTuple):
    """How a worker finds the live bucket of a record; `apart`: records without items have none."""

    places: Shared[Places]
    questions: Questions
    place: Int64Array
    apart: bool

    def buckets(self, rows: Rows) -> tuple[Int64Array, tuple[Int64Array, Int32Array]]:
        """Return the place of each record's bucket among the live ones, or -1, and its leaves."""
        leaves = self.places.value.rows(rows)
        bucket = self.place[self.questions.route(*leaves)]
        if self.apart:
            bucket[np.diff(rows.offsets) == 0] = -1
        return bucket, leaves


def histograms(rows: Rows, asked: Asked, heads: Int64Array, n_live: int) -> Int64Array:
    """Count for each live bucket and head the records with so many items below it."""
    bucket, leaves = asked.buckets(rows)
    ends = asked.places.value.ends
    found: Int64Array = count_histograms(*leaves, ends, heads, bucket, n_live, COUNTS)
    return found


def cell_loads(rows: Rows, asked: Asked, n_live: int) -> Int64Array:
    """Count the records, and their items, in each cell of buckets that no question splits."""
    bucket, _ = asked.buckets(rows)
    inside = bucket >= 0
    keys = bucket[inside] * CELLS + content_buckets(*rows, CELLS)[inside]
    found = np.zeros((n_live * CELLS, 2), dtype=np.int64)
    load = np.stack([np.ones(len(keys), dtype=np.int64), np.diff(rows.offsets)[inside]], axis=1)
    np.add.at(found, keys, load)
    return found.reshape(n_live, CELLS, 2)


class Route(NamedTuple):
    """How a worker finds the live part of a record: the questions, and the place of each part."""

    questions: Shared[Questions]
    place: Int64Array

    def parts(self, rows: Rows) -> Int64Array:
        """Return the place of each record's part among the live ones, or -1."""
        return self.place[self.questions.value.route(*rows)]


def count_items(rows: Rows, route: Route, width: int) -> Counts:
    """Count the items of live parts; the key is ``part * width + item``."""
    part = np.repeat(route.parts(rows), np.diff(rows.offsets))
    inside = part >= 0
    return Counts.of(part[inside] * np.int64(width) + rows.items[inside])


def count_masks(rows: Rows, route: Route, tops: Int64Array) -> Counts:
    """Count which of the top items of live parts records hold together, part by part."""
    part = route.parts(rows)
    inside = part >= 0
    mask = item_masks(*rows, part, tops)[inside]
    return Counts.of((part[inside] << np.int64(tops.shape[1])) | mask)
