"""Records and releases in parts that lie here, but are treated as if they lay elsewhere.

They are cut at will, everything is sent as bytes, and merges come in random order. What an
algorithm over :class:`setveil.core.records.Parts` gets wrong on a cluster (functions that cannot be
sent, merges that depend on the order, groups that meet too late) it gets wrong here too, without a
cluster.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import cloudpickle
import numpy as np

from setveil import TransactionTable
from setveil.core.arrays import offsets_of
from setveil.core.errors import NotApplicable
from setveil.core.records import Held, Parts, Records, Rows
from setveil.core.table import take_rows
from setveil.release.base import Part
from setveil.release.chunk_blocks import COLUMNS, Lists, block_lists, part_of_blocks
from setveil.release.parts import PartedRelease, sketch_of


def sent(value):
    """Return a value as it arrives elsewhere."""
    return cloudpickle.loads(cloudpickle.dumps(value))


@dataclass(frozen=True, eq=False)
class LoopbackParts(Parts):
    """Pieces in any order; `sample` shows all that they publish."""

    pieces: list
    sample: object
    seed: int = 0
    room: int | None = 4
    spread: int = 3

    def fold(self, part, merge, empty):
        """Merge what is found in the pieces, any two of them at a time."""
        rng = random.Random(self.seed)
        found = [sent(sent(part)(sent(piece))) for piece in self.pieces] or [empty]
        while len(found) > 1:
            one, other = (found.pop(rng.randrange(len(found))) for _ in range(2))
            found.append(sent(sent(merge)(one, other)))
        return found[0]

    def regroup(self, split, solve):
        """Solve the groups in random order, each with its pieces in random order."""
        rng = random.Random(self.seed)
        groups = {}
        for piece in self.pieces:
            for number, content in sent(split)(sent(piece)):
                groups.setdefault(number, []).append(sent(content))
        results = []
        for number in rng.sample(sorted(groups), len(groups)):
            rng.shuffle(groups[number])
            results.append(sent(sent(solve)(number, groups[number])))
        return results

    def map(self, change):
        """Change each piece."""
        pieces = [sent(sent(change)(sent(piece))) for piece in self.pieces]
        return replace(self, pieces=pieces, sample=change(self.sample))

    def share(self, value):
        """Return a holder."""
        return Held(value)


def cut_at_random(n, seed):
    """Return the places of n records, or blocks, in some pieces."""
    rng = random.Random(seed)
    places = rng.sample(range(n), n)
    borders = sorted(rng.randrange(n + 1) for _ in range(rng.randrange(5)))
    return [np.array(places[a:b], dtype=np.int64) for a, b in pairwise([0, *borders, n])]


@dataclass(frozen=True, eq=False)
class LoopbackTable(Records):
    """A table in parts, of sets whose records have no names."""

    table: TransactionTable
    seed: int = 0
    room: int = 4
    has_ids: ClassVar[bool] = False
    bags: ClassVar[bool] = False

    @property
    def vocabulary(self):
        return self.table.vocabulary

    @cached_property
    def parts(self):
        rows = [
            Rows(*take_rows(self.table.offsets, self.table.items, places))
            for places in cut_at_random(len(self.table), self.seed)
        ]
        used = np.flatnonzero(self.table.supports()).astype(np.int32)
        sample = Rows(np.array([0, len(used)]), used)
        return LoopbackParts(rows, sample, self.seed, self.room)

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


def release_in_parts(release, seed=0, *, room=4):
    """Cut a release at random: between records, or between blocks of clusters."""
    try:
        pieces, sample = _blocks_in_pieces(release.as_chunks(), seed)
    except NotApplicable:
        pieces, sample = _records_in_pieces(release, seed)
    return PartedRelease(parts=LoopbackParts(pieces, sample, seed, room))


def _records_in_pieces(release, seed):
    stored = release.data_rows()
    labels = [stored.labels[i] for i in np.unique(stored.items).tolist()]
    sketch = sketch_of(release.form, labels, release.structure())
    at = {label: i for i, label in enumerate(sketch.data_rows().labels)}
    numbers = np.array([at.get(label, -1) for label in stored.labels], dtype=np.int32)
    pieces = []
    for places in cut_at_random(len(release), seed):
        rows = take_rows(stored.offsets, numbers[stored.items], places)
        pieces.append(Part(sketch.with_records(*rows), places))
    return pieces, Part(sketch, np.full(len(sketch), -1))


def _blocks_in_pieces(release, seed):
    lists = block_lists(release)

    def part(places):
        columns = {}
        for name in COLUMNS:
            own = [np.array(lists[name][i], dtype=np.int32) for i in places]
            flat = np.concatenate([np.zeros(0, dtype=np.int32), *own])
            columns[name] = Lists(offsets_of([len(each) for each in own]), flat)
        some = part_of_blocks(columns, release.vocabulary)
        return Part(some, np.full(len(some), -1))

    return [part(places) for places in cut_at_random(len(release.blocks), seed)], part([])
