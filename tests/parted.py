"""Tables and releases in many small parts, without Spark: what a cluster does, here.

Everything travels through pickle, and merges come in random order.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from setveil import TransactionTable
from setveil.core.arrays import offsets_of
from setveil.core.records import Held, Parts, Records, Rows
from setveil.core.table import take_rows
from setveil.release.base import Part
from setveil.release.chunk_blocks import COLUMNS, Lists, block_lists, part_of_blocks
from setveil.release.parts import PartedRelease, sketch_of


def travel(value):
    return pickle.loads(pickle.dumps(value))


@dataclass(frozen=True, eq=False)
class ManyParts(Parts):
    """Parts that are only seen one at a time."""

    pieces: list[Any]
    sample: Any
    seed: int = 0
    room: int | None = 100
    spread: int = 3

    def fold(self, part, merge, empty):
        rng = np.random.default_rng(self.seed)
        found = [travel(travel(part)(travel(piece))) for piece in self.pieces] or [empty]
        while len(found) > 1:
            one, other = (found.pop(int(rng.integers(len(found)))) for _ in range(2))
            found.append(travel(merge(one, other)))
        return found[0]

    def regroup(self, split, solve):
        groups: dict[int, list[Any]] = {}
        for piece in self.pieces:
            for number, value in travel(split)(travel(piece)):
                groups.setdefault(number, []).append(travel(value))
        rng = np.random.default_rng(self.seed)
        found = []
        for number in rng.permutation(list(groups)).tolist():
            pieces = groups[number]
            order = rng.permutation(len(pieces)).tolist()
            found.append(travel(travel(solve)(number, [pieces[i] for i in order])))
        return found

    def map(self, change):
        return ManyParts([travel(change(piece)) for piece in self.pieces], change(self.sample),
                         self.seed)  # fmt: skip

    def share(self, value):
        return Held(value)


def cuts(n, seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    return np.split(order, np.sort(rng.integers(0, n + 1, size=3)))


@dataclass(frozen=True, eq=False)
class PartedRecords(Records):
    """A table in parts."""

    table: TransactionTable
    seed: int = 0

    @property
    def vocabulary(self):
        return self.table.vocabulary

    @cached_property
    def parts(self):
        rows = [
            Rows(*take_rows(self.table.offsets, self.table.items, places))
            for places in cuts(len(self.table), self.seed)
        ]
        used = np.flatnonzero(self.table.supports()).astype(np.int32)
        return ManyParts(rows, Rows(np.array([0, len(used)]), used), self.seed)

    n_records = property(lambda self: len(self.table))
    longest = property(lambda self: self.table.longest)

    def supports(self):
        return self.table.supports()

    def rows_at(self, places):
        return self.table.rows_at(places)

    def empty_places(self):
        return self.table.empty_places()

    def table_of(self, places):
        if places is None:
            return self.table
        places = sorted(set(places) & set(range(len(self.table))))
        rows = self.table.rows_at(places)
        lengths = np.zeros(len(self.table), dtype=np.int64)
        lengths[places] = np.diff(rows.offsets)
        return TransactionTable(
            offsets=offsets_of(lengths), items=rows.items, vocabulary=self.vocabulary
        )


def in_many_parts(release, seed=0):
    """Cut a release into parts by the rule of its form."""
    if release.form == "disassociated":
        lists = block_lists(release)
        blocks = cuts(len(lists["sizes"]), seed)
        pieces = [_blocks(lists, places, release.vocabulary) for places in blocks]
        return PartedRelease(parts=ManyParts(pieces, _blocks(lists, [], release.vocabulary), seed))
    stored = release.data_rows()
    labels = [stored.labels[i] for i in np.unique(stored.items).tolist()]
    sketch = sketch_of(release.form, labels, release.structure())
    at = {label: i for i, label in enumerate(sketch.data_rows().labels)}
    numbers = np.array([at.get(label, -1) for label in stored.labels], dtype=np.int32)
    pieces = []
    for places in cuts(len(release), seed):
        offsets, items = take_rows(stored.offsets, numbers[stored.items], places)
        pieces.append(Part(sketch.with_records(offsets, items), places))
    sample = Part(sketch, np.full(len(sketch), -1))
    return PartedRelease(parts=ManyParts(pieces, sample, seed))


def _blocks(lists, places, vocabulary):
    columns = {}
    for name in COLUMNS:
        own = [np.array(lists[name][i], dtype=np.int32) for i in places]
        flat = np.concatenate([np.zeros(0, dtype=np.int32), *own])
        columns[name] = Lists(offsets_of([len(each) for each in own]), flat)
    release = part_of_blocks(columns, vocabulary)
    return Part(release, np.full(len(release), -1))
