"""Parts that lie here, but are treated as if they lay elsewhere: cut at will, sent as bytes.

What an algorithm over :class:`setveil.core.records.Parts` gets wrong on a cluster (functions that
cannot be sent, merges that depend on the order, groups that meet too late) it gets wrong here too,
without a cluster.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import cloudpickle
import numpy as np

from setveil import TransactionTable
from setveil.core.records import Held, Parts
from setveil.core.table import take_rows


def sent(value):
    """Return a value as it arrives elsewhere."""
    return cloudpickle.loads(cloudpickle.dumps(value))


@dataclass(frozen=True, eq=False)
class LoopbackParts(Parts):
    """Pieces in any order; `sample` shows all that they publish."""

    pieces: list
    sample: object
    rng: random.Random
    room: int | None = 4
    spread: int = 3

    def fold(self, part, merge, empty):
        """Merge what is found in the pieces, two of them at a time, in random order."""
        found = [sent(part)(sent(piece)) for piece in self.pieces]
        self.rng.shuffle(found)
        if not found:
            return empty
        return reduce(lambda one, other: sent(merge)(sent(one), sent(other)), found)

    def regroup(self, split, solve):
        """Solve the groups in random order, each with its pieces in random order."""
        groups = {}
        for piece in self.pieces:
            for number, content in sent(split)(sent(piece)):
                groups.setdefault(number, []).append(sent(content))
        results = []
        for number in self.rng.sample(sorted(groups), len(groups)):
            self.rng.shuffle(groups[number])
            results.append(sent(sent(solve)(number, groups[number])))
        return results

    def map(self, change):
        """Change each piece."""
        return LoopbackParts(
            [sent(change)(sent(piece)) for piece in self.pieces],
            change(self.sample),
            self.rng,
            self.room,
            self.spread,
        )

    def share(self, value):
        """Return a holder."""
        return Held(value)


def cut_at_random(n, rng):
    """Return the places of n records in some pieces."""
    places = rng.sample(range(n), n)
    borders = sorted(rng.randrange(n + 1) for _ in range(rng.randrange(5)))
    bounds = [0, *borders, n]
    return [np.array(places[a:b], dtype=np.int64) for a, b in pairwise(bounds)]


def table_in_parts(table, seed, *, room=4):
    """Cut a table at random."""
    rng = random.Random(seed)
    pieces = [table.take(places) for places in cut_at_random(len(table), rng)]
    return LoopbackParts(pieces, _everything(table), rng, room)


def _everything(table):
    used = np.flatnonzero(table.supports())
    return TransactionTable(
        offsets=np.array([0, len(used)]), items=used, vocabulary=table.vocabulary
    )


def release_in_parts(release, seed, with_records, *, room=4):
    """Cut a release whose records are rows of labels at random."""
    rng = random.Random(seed)
    rows = release.data_rows()
    pieces = [
        with_records(release, *take_rows(rows.offsets, rows.items, places))
        for places in cut_at_random(len(release), rng)
    ]
    used = np.unique(rows.items)
    sample = with_records(release, np.arange(len(used) + 1), used)
    return LoopbackParts(pieces, sample, rng, room)


def chunks_in_parts(release, seed):
    """Cut a disassociated release between its joint clusters."""
    rng = random.Random(seed)
    pieces = [release.part(first, last) for first, last in release.blocks]
    rng.shuffle(pieces)
    return LoopbackParts(pieces, release, rng)
