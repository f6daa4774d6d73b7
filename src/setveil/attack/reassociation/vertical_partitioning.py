"""VPA: records are right if parting them again gives the published chunks."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

import numpy as np

from setveil.attack.reassociation.piece_scores import average, piece_scores, place_best
from setveil.attack.reassociation.pieces import (
    SAMPLE_DOC,
    place_at_random,
    reassociation_role,
)
from setveil.attack.reassociation.prior import COPIES_DOC, Placing, ReassociationAttack
from setveil.attack.reassociation.relatedness_attacks import BIBTEX, PAPER
from setveil.core.arrays import FloatArray, Int64Array, offsets_of
from setveil.core.errors import ParameterError
from setveil.core.params import choice, count
from setveil.core.registry import register
from setveil.kernels.vertical_partition import TERM_CHUNK, vertical_partition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from setveil.attack.base import AuditRole
    from setveil.attack.reassociation.pieces import Piece, Pool
    from setveil.core.arrays import FloatArray, Int64Array
    from setveil.core.threads import Progress
    from setveil.relatedness.base import Relatedness
    from setveil.release.disassociated import DisassociatedRelease

TERMS = ("aba", "random")
CHANCE = 1e-9
"""Share of the greatest score by which chance may change one: less than scores differ by."""


class Disassociator(Protocol):
    """What the attack must know of the method that made a release: its k and its m."""

    @property
    def k(self) -> int:
        """Least support of what stands in a chunk."""
        ...

    @property
    def m(self) -> int:
        """Greatest size of a set that is held to it."""
        ...


@register("attack", "vpa", paper=PAPER, bibtex=BIBTEX)
@dataclass(frozen=True, kw_only=True)
class VPA(ReassociationAttack):
    """Vertical-partitioning attack: try combinations of chunks until parting them gives these.

    Sub-records of a second chunk are combined with those of the anchor chunk in the way of the
    greatest total relatedness that gives each row one at most. The combined records are parted
    as the anonymizer would part them; if that gives the two chunks as they are published, the
    combination is taken, else the next in order of total relatedness is tried. Then the third
    chunk is combined with the outcome, and so on. Shared chunks are attached as ABA does.

    Parameters
    ----------
    combinations
        How many combinations of a chunk are tried; if none gives the published chunks, the
        first is taken. How often that was is reported.
    largest
        Of a chunk with more than this many pairs of a sub-record and a different row, the first
        combination is taken: what comes after it takes many assignments of sub-records to rows.
        None for no such limit.
    terms
        Whether terms of the term chunk are attached as ABA does, or at random as in the paper.
    term_copies
        How many rows a term of the term chunk is attached to.
    sample
        How many clusters are drawn to be attacked; all of them by default.

    Notes
    -----
    A method that went on after vertical partitioning (moved items to the term chunk, or deleted
    occurrences) published chunks that no combination gives back.

    Examples
    --------
    >>> VPA(combinations=0)
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: combinations is 0. To fix: use a whole number of at least 1.

    References
    ----------
    A. AlShuhail, J. Shao: Semantic attack on disassociated transaction data. SN Computer Science
    4, 2023.

    Departures: the paper does not bound the number of combinations, and attaches terms of the
    term chunk at random.
    """

    requires: ClassVar[frozenset[str]] = frozenset({"relatedness", "anonymizer"})
    noted: ClassVar[str] = "a chunk fits in no way that was tried"
    accepts: ClassVar[frozenset[str]] = frozenset({"progress"})
    role: ClassVar[AuditRole] = reassociation_role(cost=3, params={"largest": 500})

    combinations: int = count(20, most=1_000_000, doc="combinations of a chunk to be tried")
    largest: int | None = count(
        None, least=0, doc="pairs in a chunk beyond which the first is taken"
    )
    terms: str = choice("aba", TERMS, doc="how terms of the term chunk are attached")
    term_copies: int = count(1, doc=COPIES_DOC)
    sample: int | None = count(None, doc=SAMPLE_DOC)

    def place(
        self,
        release: DisassociatedRelease,
        found: Sequence[Pool],
        rng: np.random.Generator,
        *,
        relatedness: Relatedness,
        anonymizer: Disassociator,
        progress: Progress | None = None,
    ) -> Placing:
        """Return rows by relatedness, and by parting records again.

        Parameters
        ----------
        release, found, rng
            As :meth:`run` gives them.
        relatedness
            How far apart terms are.
        anonymizer
            What the release was made with; only its k and m are used.
        progress
            Told how many clusters are done.

        Raises
        ------
        NotApplicable
            The source of relatedness cannot tell any row from another.
        ParameterError
            The anonymizer has no k and m.
        """
        k, m = getattr(anonymizer, "k", None), getattr(anonymizer, "m", None)
        if not isinstance(k, int) or not isinstance(m, int):
            raise ParameterError(
                "vpa parts records as the anonymizer did, and this one has no k and m",
                fix="give the anonymizer that made the release, such as Disassociate(k=5, m=2)",
            )
        kinds = ("record", "shared", "term")
        scored = piece_scores(found, relatedness, dict.fromkeys(kinds, average))
        placed = []
        chunks = failed = 0
        for number, (pool, scores) in enumerate(zip(found, scored.tables, strict=True)):
            rows = list(place_best(pool, scores, rng, term_copies=self.term_copies))
            if self.terms == "random":
                drawn = place_at_random(pool, rng, term_copies=self.term_copies)
                for place, piece in enumerate(pool.pieces):
                    rows[place] = drawn[place] if piece.kind == "term" else rows[place]
            made = combined(
                pool, scores, rng, k=k, m=m, most=self.combinations, largest=self.largest
            )
            for place, own in made.placed.items():
                rows[place] = own
            placed.append(rows)
            chunks += made.chunks
            failed += made.failed
            if progress is not None:
                progress("combining chunks", number + 1, len(found))
        notes = list(scored.notes)
        if failed:
            notes.append(
                f"for {failed:,} of {chunks:,} chunks none of the combinations tried (at most "
                f"{self.combinations}) gives the published chunks: the first was taken"
            )
        return Placing(placed, notes)


class Combination(NamedTuple):
    """The record chunks of a pool, combined with their anchor chunks.

    Parameters
    ----------
    placed
        For each piece of a record chunk its rows.
    chunks, failed
        How many chunks were combined, and how many of these in no way that was tried so that
        parting gives the published chunks.
    """

    placed: dict[int, Int64Array]
    chunks: int
    failed: int


def combined(
    pool: Pool,
    scores: Sequence[FloatArray],
    rng: np.random.Generator,
    *,
    k: int,
    m: int,
    most: int,
    largest: int | None = None,
) -> Combination:
    """Return for each piece of a record chunk the rows of the first combination that is right.

    Parameters
    ----------
    pool, scores
        What is put together, and how well pieces fit.
    rng
        Breaks ties.
    k, m
        Of the vertical partitioning.
    most
        How many combinations of a chunk are tried.
    largest
        Pairs of a sub-record and a different row beyond which the first is taken; None for no
        such limit.

    Examples
    --------
    Of {a}, {a}, {a, b}, {a, b} and {c}, {c} only one combination is parted into {a, b} and {c}
    again: a chunk of all three would be 2^2-anonymous if both c stood beside b, or none.

    >>> from setveil.attack.reassociation.pieces import Piece, Pool
    >>> pool = Pool(numbers=(0,), starts=np.array([0, 4]), values=np.array([0, 0, 1, 1]),
    ...             anchors=(("a", "b"), ("a", "b"), ("a",), ("a",)), pieces=(
    ...     Piece(kind="record", terms=("c",), copies=2, chunk=0, low=0, high=4),))
    >>> made = combined(pool, [np.array([0.9, 0.9, 0.1, 0.1])], np.random.default_rng(0), k=2, m=2,
    ...                 most=5)
    >>> sorted(pool.values[made.placed[0]].tolist()), made.failed
    ([0, 1], 0)
    """
    contents = [frozenset(content) for content in pool.anchors]
    domains = {}
    for _, low, high in pool.clusters():
        anchor = frozenset[str]().union(*contents[low:high])
        domains[low] = {anchor} if anchor else set()
    placed: dict[int, Int64Array] = {}
    chunks = failed = 0
    for places in pool.chunks().values():
        piece = pool.pieces[places[0]]
        if piece.kind != "record":
            continue
        domains[piece.low].add(frozenset(t for place in places for t in pool.pieces[place].terms))
        own = contents[piece.low : piece.high]
        table = np.stack([scores[place] for place in places])
        ways = _ways([pool.pieces[place] for place in places], table, own, rng)
        tried = list[Way]()
        copies = sum(pool.pieces[place].copies for place in places)
        small = largest is None or copies * len(set(own)) <= largest
        for way in itertools.islice(ways, most if small else 1):
            tried.append(way)
            if parted(way.contents, k, m) == domains[piece.low]:
                break
        else:
            failed += 1
            del tried[1:]
        chunks += 1
        contents[piece.low : piece.high] = tried[-1].contents
        placed |= dict(zip(places, tried[-1].rows, strict=True))
    return Combination(placed, chunks, failed)


class Way(NamedTuple):
    """One way to combine a chunk with rows: each piece's rows, and what all rows then hold."""

    rows: list[Int64Array]
    contents: list[frozenset[str]]


def _ways(
    pieces: Sequence[Piece],
    table: FloatArray,
    contents: Sequence[frozenset[str]],
    rng: np.random.Generator,
) -> Iterator[Way]:
    """Return the ways to combine the pieces of a chunk with rows, the best related first."""
    there = np.isfinite(table)
    # A row without an anchor is worse than any other, but a piece may have to go there.
    table = np.where(there, table, table[there].min() - 1 if there.any() else 0.0)
    alike: dict[frozenset[str], list[int]] = {}
    for row in rng.permutation(len(contents)).tolist():
        alike.setdefault(contents[row], []).append(row)
    groups = list(alike.values())
    order = rng.permutation(len(pieces))
    counts = np.array([pieces[i].copies for i in order.tolist()])
    room = np.array([len(rows) for rows in groups])
    worth = table[order][:, [rows[0] for rows in groups]]
    # Sums of equal scores differ by rounding: what is drawn outweighs that, so chance decides.
    worth = worth + CHANCE * max(np.abs(worth).max(), 1e-300) * rng.random(worth.shape)
    for way in ranked(worth, counts, room):
        found: list[list[int]] = [[] for _ in pieces]
        made = list(contents)
        for group, rows in enumerate(groups):
            takers = np.repeat(order, way[:, group]).tolist()
            for row, taker in zip(rows, takers, strict=False):
                found[taker].append(pieces[taker].low + row)
                made[row] |= frozenset(pieces[taker].terms)
        yield Way([np.array(rows, dtype=np.int64) for rows in found], made)


def parted(records: Sequence[frozenset[str]], k: int, m: int) -> set[frozenset[str]] | None:
    """Return the domains of the chunks that records are parted into; None if terms are left over.

    >>> sorted(map(sorted, parted([frozenset("ab"), frozenset("abc"), frozenset("ac")], 2, 2)))
    [['a', 'b'], ['c']]
    >>> parted([frozenset("ab"), frozenset("a")], 2, 2) is None
    True
    """
    names = sorted(frozenset[str]().union(*records))
    number = {name: i for i, name in enumerate(names)}
    rows = [sorted(number[name] for name in record) for record in records]
    offsets = offsets_of([len(row) for row in rows])
    items = np.array([item for row in rows for item in row], dtype=np.int32)
    terms, chunk = vertical_partition(offsets, items, len(names), k, m)
    if (chunk == TERM_CHUNK).any():
        return None
    found: dict[int, set[str]] = {}
    for term, place in zip(terms.tolist(), chunk.tolist(), strict=True):
        found.setdefault(place, set()).add(names[term])
    return {frozenset(domain) for domain in found.values()}


# --- all ways to give pieces to rows --------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Branch:
    """Some of the ways: counts of the first cells are given, the next one's lies between bounds.

    Parameters
    ----------
    given
        Counts of the first cells, row by row of the table.
    low, high
        Bounds of the count of the cell after these.
    """

    given: Int64Array
    low: int
    high: int


def ranked(scores: FloatArray, copies: Int64Array, room: Int64Array) -> Iterator[Int64Array]:
    """Return how many copies of each piece go to rows of each value, by falling total score.

    Copies of a piece are alike, and so are rows of a value: each way comes once. A row takes one
    copy. The ways of a branch are parted by the count of one cell, and then of the next, so that
    each part is an assignment problem again.

    Parameters
    ----------
    scores
        What a copy of a piece (row) is worth in a row of a value (column).
    copies
        How many copies each piece has.
    room
        How many rows each value has; together no fewer than there are copies.

    Yields
    ------
    array of int
        Counts: a row for each piece, a column for each value.

    Examples
    --------
    >>> ways = ranked(np.array([[3.0, 1.0], [2.0, 1.5]]), np.array([1, 1]), np.array([1, 2]))
    >>> [way.tolist() for way in ways]
    [[[1, 0], [0, 1]], [[0, 1], [1, 0]], [[0, 1], [0, 1]]]
    """
    from scipy.optimize import linear_sum_assignment

    whole = Branch(given=np.empty(0, np.int64), low=0, high=int(min(copies[0], room[0])))
    heap: list[tuple[float, int, Branch, Int64Array]] = []
    order = itertools.count()

    def offer(branch: Branch) -> None:
        best = _best(scores, copies, room, branch, linear_sum_assignment)
        if best is not None:
            heappush(heap, (-float((best * scores).sum()), next(order), branch, best))

    offer(whole)
    while heap:
        _, _, branch, best = heappop(heap)
        yield best
        for part in _parts(branch, best, copies, room):
            offer(part)


def _parts(
    branch: Branch, best: Int64Array, copies: Int64Array, room: Int64Array
) -> Iterator[Branch]:
    """Return the branch without its best way, in parts."""
    cells = best.ravel()
    low, high = branch.low, branch.high
    for place in range(len(branch.given), len(cells)):
        given, here = cells[:place], int(cells[place])
        if low < here:
            yield Branch(given=given, low=low, high=here - 1)
        if here < high:
            yield Branch(given=given, low=here + 1, high=high)
        if place + 1 < len(cells):
            piece, value = divmod(place + 1, best.shape[1])
            spare = copies[piece] - best[piece, :value].sum()
            low, high = 0, int(min(spare, room[value] - best[:piece, value].sum()))


def _best(
    scores: FloatArray,
    copies: Int64Array,
    room: Int64Array,
    branch: Branch,
    assign: Callable[[FloatArray], tuple[Int64Array, Int64Array]],
) -> Int64Array | None:
    """Return the best way of a branch; None if there is none."""
    pieces, values = scores.shape
    fixed = np.zeros(pieces * values, dtype=np.int64)
    place = len(branch.given)
    fixed[:place] = branch.given
    fixed[place] = branch.low
    fixed = fixed.reshape(pieces, values)
    left, free = copies - fixed.sum(axis=1), room - fixed.sum(axis=0)
    if left.min() < 0 or free.min() < 0 or left.sum() > free.sum():
        return None
    piece, value = divmod(place, values)
    if left[:piece].any():
        return None
    piece_of = np.repeat(np.arange(pieces), left)
    # More rows of one value than there are pieces left cannot all be taken.
    value_of = np.repeat(np.arange(values), np.minimum(free, left.sum()))
    costs = -scores[piece_of][:, value_of]
    own = np.flatnonzero(piece_of == piece)
    costs[np.ix_(own, value_of < value)] = np.inf
    # Only so many of the alike copies may still go to the cell with an upper bound.
    costs[np.ix_(own[branch.high - branch.low :], value_of == value)] = np.inf
    try:
        rows, columns = assign(costs)
    except ValueError:
        return None  # some copy has nowhere to go
    np.add.at(fixed, (piece_of[rows], value_of[columns]), 1)
    return fixed
