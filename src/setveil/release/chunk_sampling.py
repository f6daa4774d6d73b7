"""Drawing worlds of a disassociated release: who held which piece."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.core.table import TransactionTable
from setveil.release.chunk_order import unfilled

if TYPE_CHECKING:
    import numpy.typing as npt

    from setveil.core.table import Int64Array
    from setveil.release.disassociated import DisassociatedRelease

ROUNDS = 100
"""How often a cluster, or a joint cluster as a whole, is drawn before another way is taken."""

WIDE = 200
"""From so many slots on, slots are drawn bag by bag and not all bags at once."""

STEPS = 50
"""Steps of the random walk for each piece."""

LARGE = 10_000_000
"""Pieces times slots from which on a cluster is walked through instead of counted out."""


class Bags:
    """What is placed: bags of pieces, those of a bag into distinct slots of a run of slots.

    The bags are the chunks, then the terms of all term chunks, each a bag of one piece. `slot`
    says where each piece is, -1 as long as it is nowhere.

    >>> from setveil.release import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a"], ["a", "b"]])
    >>> release, _ = publish_disassociated(
    ...     table, [Plan(records=[0, 1], domains=((0,),), terms=(1,))])
    >>> Bags(release).of(0, 1), Bags(release).offsets.tolist()
    ([0, 1], [0, 2, 3])
    """

    def __init__(self, release: DisassociatedRelease) -> None:
        self.release = release
        terms = np.repeat(np.arange(len(release.sizes)), np.diff(release.term_offsets))
        self.first = np.concatenate([release.chunk_first, terms])
        self.last = np.concatenate([release.chunk_last, terms + 1])
        self.low = release.cluster_starts[self.first]
        self.high = release.cluster_starts[self.last]
        rows = release.chunk_offsets
        self.offsets = np.concatenate([rows, rows[-1] + 1 + np.arange(len(release.terms))])
        self.slot = np.full(int(self.offsets[-1]), -1, dtype=np.int64)

    def of(self, first: int, last: int) -> list[int]:
        """Return the bags of a block: those of single clusters, then shared ones, inner first."""
        release, chunks = self.release, len(self.release.chunk_first)
        own = range(*release.chunk_starts[[first, last]].tolist())
        terms = range(*(release.term_offsets[[first, last]] + chunks).tolist())
        shared = release.shared_within(first, last)
        width = self.last[shared] - self.first[shared]
        return [*own, *terms, *shared[np.argsort(width, kind="stable")].tolist()]

    def pieces(self, bag: int) -> range:
        """Return the pieces of a bag."""
        return range(int(self.offsets[bag]), int(self.offsets[bag + 1]))

    def work(self, cluster: int) -> int:
        """Return how many pieces there are for the slots of a cluster, times these slots."""
        pieces = sum(len(self.pieces(bag)) for bag in self.of(cluster, cluster + 1))
        return pieces * int(self.release.sizes[cluster])

    def draw(self, chosen: Int64Array, rng: np.random.Generator) -> None:
        """Put the pieces of each chosen bag into distinct slots of its run, all alike likely."""
        number = self.offsets[chosen + 1] - self.offsets[chosen]
        single = chosen[number == 1]
        self.slot[self.offsets[single]] = rng.integers(self.low[single], self.high[single])
        chosen, number = chosen[number > 1], number[number > 1]
        room = self.high[chosen] - self.low[chosen]
        wide = room > WIDE
        for bag, size, slots in zip(chosen[wide], number[wide], room[wide], strict=True):
            taken = self.low[bag] + rng.choice(slots, size, replace=False)
            self.slot[self.offsets[bag] : self.offsets[bag + 1]] = taken
        chosen, number, room = chosen[~wide], number[~wide], room[~wide]
        starts = np.cumsum(room) - room
        bag = np.repeat(np.arange(len(chosen)), room)
        order = np.lexsort((rng.random(len(bag)), bag))
        taken = order[np.arange(len(bag)) - starts[bag] < number[bag]]
        ends = np.cumsum(number)
        piece = np.arange(len(taken)) + np.repeat(self.offsets[chosen] - ends + number, number)
        self.slot[piece] = taken + np.repeat(self.low[chosen] - starts, number)


def sample(release: DisassociatedRelease, rng: np.random.Generator) -> TransactionTable:
    """Draw a world as ``release.sample_world`` describes it.

    >>> from setveil.release import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a"], ["b"]])
    >>> release, _ = publish_disassociated(
    ...     table, [Plan(records=[0, 1], domains=((0,), (1,)), terms=())])
    >>> sorted(sample(release, np.random.default_rng(0)).to_rows())
    [['a'], ['b']]
    """
    bags = Bags(release)
    blocks = np.array(release.blocks, dtype=np.int64).reshape(-1, 2)
    block_of = np.repeat(np.arange(len(blocks)), blocks[:, 1] - blocks[:, 0])
    thin = _thin(release)
    pending = ~thin
    for _ in range(ROUNDS):
        bags.draw(np.flatnonzero(pending[block_of[bags.first]]), rng)
        empty = np.bincount(bags.slot[bags.slot >= 0], minlength=len(release)) == 0
        clusters = np.searchsorted(release.cluster_starts, np.flatnonzero(empty), "right") - 1
        pending[:] = False
        pending[block_of[clusters]] = True
        pending &= ~thin
        if not pending.any():
            break
    extra: list[tuple[int, int]] = []
    for b in np.flatnonzero(pending | thin).tolist():
        first, last = blocks[b].tolist()
        if pending[b] and last == first + 1 and bags.work(first) <= LARGE:
            cover(bags, first, rng)
            continue
        extra += _lay_apart(bags, first, last, rng)
        if pending[b]:
            _walk(bags, first, last, rng)
    return _table(bags, extra)


def _thin(release: DisassociatedRelease) -> npt.NDArray[np.bool_]:
    """Tell which blocks would have an empty record with every term in one record only."""
    held = release.own_rows + np.diff(release.term_offsets)
    lacking = np.maximum(release.sizes - held, 0)
    thin = np.zeros(len(release.blocks), dtype=bool)
    rows = np.diff(release.chunk_offsets)
    for b, (first, last) in enumerate(release.blocks):
        if lacking[first:last].any():
            q = release.shared_within(first, last)
            begins, ends = release.chunk_first[q] - first, release.chunk_last[q] - first
            ranges = list(zip(begins.tolist(), ends.tolist(), strict=True))
            thin[b] = unfilled(lacking[first:last], ranges, rows[q].tolist()) > 0
    return thin


def cover(bags: Bags, cluster: int, rng: np.random.Generator) -> None:
    """Place the pieces of one cluster so that no record is empty; all such ways alike likely.

    Bag after bag, it is drawn how many of its slots hold something already, by the number of ways
    in which the bags after it can then fill the rest. These numbers have thousands of digits, so
    that their logarithms are kept.
    """
    n = int(bags.release.sizes[cluster])
    chosen = bags.of(cluster, cluster + 1)
    sizes = [len(bags.pieces(bag)) for bag in chosen]
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    # ways[j][u]: in how many ways the bags from j on fill the n - u slots that are empty.
    ways = [np.append(np.full(n, -np.inf), 0.0)]
    for size in reversed(sizes):
        after, here = ways[-1], np.full(n + 1, -np.inf)
        for new in range(size + 1):
            rows = slice(size - new, n - new + 1)
            more = _ways_to_fill(factorials, rows, size, new) + after[size : n + 1]
            here[rows] = np.logaddexp(here[rows], more)
        ways.append(here)
    ways.reverse()
    slots = rng.permutation(n) + int(bags.release.cluster_starts[cluster])
    used = 0  # the first so many of `slots` hold something
    for bag, size, after in zip(chosen, sizes, ways[1:], strict=True):
        choices = range(max(size - used, 0), min(size, n - used) + 1)
        logs = np.array(
            [
                _ways_to_fill(factorials, slice(used, used + 1), size, new)[0] + after[used + new]
                for new in choices
            ]
        )
        weights = np.exp(logs - logs.max())
        new = int(rng.choice(choices, p=weights / weights.sum()))
        again = rng.choice(slots[:used], size - new, replace=False)
        # The slots behind are in random order: the next ones are as good as any.
        taken = np.concatenate([again, slots[used : used + new]]).astype(np.int64)
        bags.slot[bags.offsets[bag] : bags.offsets[bag + 1]] = rng.permutation(taken)
        used += new


def _ways_to_fill(
    factorials: npt.NDArray[np.float64], used: slice[int, int], size: int, new: int
) -> npt.NDArray[np.float64]:
    """Return in how many ways a bag of `size` pieces takes `new` empty slots, as logarithms.

    A row for each number of slots that are used already; `factorials` has the logarithms of 0! to
    n!, where n is the number of all slots.
    """
    n = len(factorials) - 1
    number = used.stop - used.start
    old = size - new
    empty = n - used.start  # as many at first, then one less in each row
    among_used = factorials[used] - factorials[used.start - old : used.start - old + number]
    among_empty = factorials[empty - number + 1 : empty + 1]
    among_empty = among_empty - factorials[empty - new - number + 1 : empty - new + 1]
    found: npt.NDArray[np.float64]
    found = among_used + among_empty[::-1] - factorials[old] - factorials[new]
    return found


def _lay_apart(
    bags: Bags, first: int, last: int, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """Spread the pieces of a block over as many records as can be.

    Records that stay empty get a term of their cluster; these (slot and item) are returned.
    """
    release = bags.release
    starts, n_chunks = release.cluster_starts, release.n_record_chunks
    n_all = len(release.chunk_first)
    order = {c: rng.permutation(np.arange(starts[c], starts[c + 1])) for c in range(first, last)}
    used = dict.fromkeys(order, 0)
    filled = np.zeros(int(starts[last] - starts[first]), dtype=bool)
    has_terms = np.diff(release.term_offsets[first : last + 1]) > 0
    hopeful = np.repeat(has_terms, release.sizes[first:last]).astype(np.int64)
    for bag in bags.of(first, last):
        pieces, c = bags.pieces(bag), int(bags.first[bag])
        if n_chunks <= bag < n_all:
            low, high = int(bags.low[bag]), int(bags.high[bag])
            run = rng.permutation(np.arange(low, high))
            # Empty ones first, and of these the ones that no term can fill.
            wanted = np.where(filled[run - starts[first]], 2, hopeful[run - starts[first]])
            slots = rng.permutation(run[np.argsort(wanted, kind="stable")][: len(pieces)])
        else:
            slots = order[c][(used[c] + np.arange(len(pieces))) % len(order[c])]
            used[c] += len(pieces)
        bags.slot[pieces.start : pieces.stop] = slots
        filled[slots - starts[first]] = True
    extra = []
    for empty in (np.flatnonzero(~filled) + starts[first]).tolist():
        c = int(np.searchsorted(starts, empty, "right")) - 1
        extra.append(
            (empty, int(rng.choice(release.terms[slice(*release.term_offsets[[c, c + 1]])])))
        )
    return extra


def _walk(bags: Bags, first: int, last: int, rng: np.random.Generator) -> None:
    """Move pieces of a block at random, as long as no record becomes empty.

    A piece goes to any slot of its bag's run; one of its bag that is there changes places with
    it. A step is as likely as its reverse, so that all placements are alike likely in the end.
    """
    from setveil.release.chunk_kernels import walk

    chosen = np.array(bags.of(first, last), dtype=np.int64)
    sizes = bags.offsets[chosen + 1] - bags.offsets[chosen]
    pieces = np.arange(sizes.sum()) + np.repeat(
        bags.offsets[chosen] - np.cumsum(sizes) + sizes, sizes
    )
    start, end = bags.release.cluster_starts[[first, last]].tolist()
    steps = STEPS * len(pieces)
    choice, share = rng.integers(0, len(pieces), steps), rng.random(steps)
    low, room = bags.low[chosen] - start, bags.high[chosen] - bags.low[chosen]
    bag_of = np.repeat(np.arange(len(chosen)), sizes)
    goals = low[bag_of][choice] + (share * room[bag_of][choice]).astype(np.int64)
    slot = bags.slot[pieces] - start
    mapped = np.where(sizes > 1, room, 0)
    bag_map = np.where(sizes > 1, np.cumsum(mapped) - mapped, -1)
    at = np.full(int(mapped.sum()), -1, dtype=np.int64)
    several = np.flatnonzero(bag_map[bag_of] >= 0)
    at[(bag_map - low)[bag_of[several]] + slot[several]] = several
    walk(slot, np.bincount(slot, minlength=end - start), bag_of, low, bag_map, at, choice, goals)
    bags.slot[pieces] = slot + start


def _table(bags: Bags, extra: list[tuple[int, int]]) -> TransactionTable:
    """Return the records that the pieces make, slot by slot."""
    release = bags.release
    rows = int(release.chunk_offsets[-1])
    more = np.array(extra, dtype=np.int64).reshape(-1, 2)
    slot = np.concatenate(
        [np.repeat(bags.slot[:rows], np.diff(release.row_offsets)), bags.slot[rows:], more[:, 0]]
    )
    items = np.concatenate([release.items, release.terms, more[:, 1]])
    order = np.argsort(slot, kind="stable")
    offsets = np.searchsorted(slot[order], np.arange(len(release) + 1))
    return TransactionTable.from_csr(offsets, items[order], release.vocabulary.names)
