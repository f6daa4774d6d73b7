"""The sub-records of a chunk as a bag, and the itemsets that pieces of several chunks make."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from setveil.release.disassociated import Chunk


@dataclass(frozen=True, eq=False)
class Bag:
    """The sub-records of a chunk, and the clusters it belongs to, counted from the joint's first.

    >>> Bag((frozenset("ab"), frozenset("a")), 0, 2).support(frozenset("a"))
    2
    """

    rows: tuple[frozenset[str], ...]
    first: int
    last: int
    counted: dict[frozenset[str], int] = field(default_factory=dict)
    listed: dict[int, dict[frozenset[str], int]] = field(default_factory=dict)

    @classmethod
    def of(cls, chunk: Chunk, first: int) -> Bag:
        """Take a chunk of a joint cluster that begins with this cluster."""
        rows = tuple(map(frozenset, chunk.subrecords))
        return cls(rows, chunk.first - first, chunk.last - first)

    @cached_property
    def domain(self) -> frozenset[str]:
        """The items of the chunk."""
        return frozenset().union(*self.rows)

    def support(self, part: frozenset[str]) -> int:
        """Return how many sub-records hold a part of an itemset."""
        if part not in self.counted:
            self.counted[part] = sum(part <= row for row in self.rows)
        return self.counted[part]

    def pieces(self, m: int) -> dict[frozenset[str], int]:
        """Return the sets of at most m items that some sub-record holds, small ones first.

        Each comes with how many do.
        """
        if m not in self.listed:
            found: Counter[frozenset[str]] = Counter()
            for row, times in Counter(self.rows).items():
                for size in range(1, min(m, len(row)) + 1):
                    for part in combinations(sorted(row), size):
                        found[frozenset(part)] += times
            order = sorted(found, key=lambda part: (len(part), sorted(part)))
            self.listed[m] = {part: found[part] for part in order}
        return self.listed[m]


def piece_choices(
    parts: Sequence[dict[frozenset[str], int]], below: int | None
) -> Iterator[list[list[frozenset[str]]]]:
    """Yield from which pieces of each part unions are to be made.

    Either from all, or with one piece at least that fewer sub-records hold: the first such piece
    is in each part in turn.
    """
    if below is None:
        yield [list(pieces) for pieces in parts]
        return
    for first, pieces in enumerate(parts):
        rare = [piece for piece, support in pieces.items() if support < below]
        if rare:
            before = [[p for p, n in part.items() if n >= below] for part in parts[:first]]
            yield [*before, rare, *(list(part) for part in parts[first + 1 :])]


def unions(parts: Sequence[list[frozenset[str]]], room: int) -> Iterator[frozenset[str]]:
    """Yield the unions of one piece of each part that have at most so many items.

    No item is in two parts, and the pieces of a part are sorted by their size.
    """
    if not parts:
        yield frozenset()
        return
    for piece in parts[0]:
        if len(piece) + len(parts) - 1 > room:
            return
        for rest in unions(parts[1:], room - len(piece)):
            yield piece | rest
