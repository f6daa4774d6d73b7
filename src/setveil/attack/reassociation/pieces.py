"""What a disassociated release leaves to be put together: anchors, and pieces to attach to them.

Each cluster has an *anchor chunk*, its record chunk of most terms, and as many rows as records:
the anchor chunk's sub-records, and empty rows for the records beyond them. A *piece* is a
sub-record of another chunk, with its number of copies, or a term of the term chunk. Clusters that
share a chunk form one pool, as a shared sub-record may belong to a record of any of them.

Where only some clusters are attacked (:mod:`setveil.attack.reassociation.pieces`), a pool
has these, and others as *background*: their rows compete for shared sub-records, of which as many
are in the pool as fall to its rows on average.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from setveil.attack.base import LINKAGE, AuditRole, Finding
from setveil.attack.reassociation.reassociation_guess import ClusterGuess, Content
from setveil.core.arrays import Int64Array, offsets_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from setveil.release import Chunk, DisassociatedRelease

    Placed = Sequence[Int64Array]

DISASSOCIATED = frozenset({"disassociated"})
SAMPLES = (50, 200)
"""How many clusters an audit draws and attacks, until it can tell."""
PEOPLE = 10_000
"""How many people an audit attacks: of large clusters some are left out at random."""


def reassociation_role(
    *, cost: int, by_default: bool = True, params: Mapping[str, Any] | None = None
) -> AuditRole:
    """Return how an audit uses an attack that puts the pieces of records together again.

    >>> reassociation_role(cost=1).findings[0].risk
    'linkage'
    """
    return AuditRole(
        family="re-association",
        findings=(
            Finding(
                risk=LINKAGE,
                figure="accuracy",
                baseline="accuracy_random",
                baseline_name="attaching pieces at random",
                label="Put pieces of a record together",
                unit="group",
                says="An attacker who knows {knows} attaches {count} of 1,000 pieces to the right "
                "record.",
                outright=True,
            ),
        ),
        cost=cost,
        by_default=by_default,
        params=params or {},
        samples=SAMPLES,
        people=PEOPLE,
    )


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A sub-record or a term that belongs to some rows of its pool.

    Parameters
    ----------
    kind
        ``"record"``, ``"shared"`` or ``"term"``: where it was published.
    terms
        Its terms; one for a term of the term chunk.
    copies
        How many records hold it; 1 for a term of the term chunk, of which no more is known.
    chunk
        A number of its chunk within the pool: a record holds one piece of a chunk at most. A
        term of the term chunk counts as a chunk by itself.
    low, high
        It belongs to rows from `low` up to, not including, `high`.
    """

    kind: str
    terms: Content
    copies: int
    chunk: int
    low: int
    high: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Pool:
    """Clusters that are put together at once: one, or those that share chunks.

    Parameters
    ----------
    numbers
        For each cluster its number; None for one that is background.
    starts
        The rows of cluster i of the pool run from ``starts[i]`` to ``starts[i + 1]``.
    anchors
        What each row is known by: sub-records of the anchor chunks, in the release's order.
    values
        Equal numbers for rows of one cluster with equal anchors: such rows are interchangeable.
    pieces
        What is to be attached to the rows.
    """

    numbers: tuple[int | None, ...]
    starts: Int64Array
    anchors: tuple[Content, ...]
    values: Int64Array
    pieces: tuple[Piece, ...]

    def __len__(self) -> int:
        return len(self.anchors)

    def clusters(self) -> Iterator[tuple[int, int, int]]:
        """Return the number, the first row and the row after the last of what is attacked."""
        for number, (low, high) in zip(self.numbers, self.ranges(), strict=True):
            if number is not None:
                yield number, low, high

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Return the first row and the row after the last of every cluster, background too."""
        yield from pairwise(self.starts.tolist())

    def chunks(self) -> dict[int, list[int]]:
        """Return the places of the pieces of each chunk."""
        found: dict[int, list[int]] = {}
        for place, piece in enumerate(self.pieces):
            found.setdefault(piece.chunk, []).append(place)
        return found

    def rows_of_values(self, low: int, high: int) -> list[list[int]]:
        """Return the rows of a range that have each value, in the order of the values."""
        values = self.values[low:high]
        order = np.argsort(values, kind="stable")
        ends = np.flatnonzero(np.diff(values[order], append=-1)) + 1
        rows = (low + order).tolist()
        return [rows[start:end] for start, end in pairwise([0, *ends.tolist()])]


def pools(
    release: DisassociatedRelease,
    sample: ClusterSample | None = None,
    rng: np.random.Generator | None = None,
) -> list[Pool]:
    """Return the anchors and the pieces of a release.

    Parameters
    ----------
    release
        What is attacked.
    sample
        Which clusters; without it all.
    rng
        Draws the background of a sample; without it always the same.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release.chunk_plan import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a", "b", "t"], ["a", "c"], ["a", "b", "c"]])
    >>> plan = Plan(records=[0, 1, 2], domains=((0, 1), (2,)), terms=(3,))
    >>> release, _ = publish_disassociated(table, [plan])
    >>> pool, = pools(release)
    >>> pool.anchors, pool.values.tolist()
    ((('a', 'b'), ('a', 'b'), ('a',)), [0, 0, 1])
    >>> [(piece.kind, piece.terms, piece.copies) for piece in pool.pieces]
    [('record', ('c',), 2), ('term', ('t',), 1)]
    """
    if sample is None:
        return [_pool(release, block, np.arange(*block)) for block in release.blocks]
    rng = np.random.default_rng(0) if rng is None else rng
    firsts = np.array([first for first, _ in release.blocks])
    block_of = np.searchsorted(firsts, sample.clusters, side="right") - 1
    found = []
    for place in np.unique(block_of).tolist():
        block = release.blocks[place]
        attacked = sample.clusters[block_of == place]
        members = with_background(release, block, attacked, rng)
        found.append(_pool(release, block, members, attacked, rng))
    return found


def _pool(
    release: DisassociatedRelease,
    block: tuple[int, int],
    members: Int64Array,
    attacked: Int64Array | None = None,
    rng: np.random.Generator | None = None,
) -> Pool:
    """Return the pool of some clusters of a block, and what falls to them of shared chunks.

    Without `attacked` the members are the whole block, and nothing is drawn.
    """
    is_attacked = np.ones(len(members), bool) if attacked is None else np.isin(members, attacked)
    numbers = tuple(
        number if own else None
        for number, own in zip(members.tolist(), is_attacked.tolist(), strict=True)
    )
    starts = offsets_of(release.sizes[members])
    anchors: list[Content] = []
    pieces: list[Piece] = []
    chunks = 0
    for place, number in enumerate(members.tolist()):
        cluster = release.cluster(number)
        low, high = int(starts[place]), int(starts[place + 1])
        anchor = _anchor(cluster.chunks)
        own = () if anchor is None else cluster.chunks[anchor].subrecords
        anchors += [*own, *((),) * (cluster.size - len(own))]
        if numbers[place] is None:
            continue
        for at, chunk in enumerate(cluster.chunks):
            if at != anchor:
                pieces += _pieces("record", chunk.subrecords, chunks, low, high)
                chunks += 1
        for term in cluster.terms:
            pieces.append(
                Piece(kind="term", terms=(term,), copies=1, chunk=chunks, low=low, high=high)
            )
            chunks += 1
    for chunk in release.shared_within(*block).tolist():
        ends = [int(release.chunk_first[chunk]), int(release.chunk_last[chunk])]
        begin, until = np.searchsorted(members, ends).tolist()
        if not is_attacked[begin:until].any():
            continue
        low, high = starts[[begin, until]].tolist()
        start, end = release.chunk_offsets[chunk : chunk + 2].tolist()
        everywhere = int(np.diff(release.cluster_starts[ends])[0])
        rows = np.arange(start, end)
        if high - low < everywhere and rng is not None:
            rows = rows[thin(len(rows), high - low, everywhere, rng)]
        pieces += _pieces("shared", release.subrecords(rows), chunks, low, high)
        chunks += 1
    return Pool(
        numbers=numbers,
        starts=starts,
        anchors=tuple(anchors),
        values=_values(starts, anchors),
        pieces=tuple(pieces),
    )


def _anchor(chunks: Sequence[Chunk]) -> int | None:
    """Return which chunk has the most terms, then the most sub-records; the first of several."""
    sizes = [
        (len({term for row in chunk.subrecords for term in row}), len(chunk.subrecords))
        for chunk in chunks
    ]
    return sizes.index(max(sizes)) if sizes else None


def _pieces(
    kind: str, subrecords: Sequence[Content], chunk: int, low: int, high: int
) -> list[Piece]:
    return [
        Piece(kind=kind, terms=terms, copies=copies, chunk=chunk, low=low, high=high)
        for terms, copies in Counter(subrecords).items()
    ]


def _values(starts: Int64Array, anchors: Sequence[Content]) -> Int64Array:
    numbers: dict[tuple[int, Content], int] = {}
    cluster_of = np.repeat(np.arange(len(starts) - 1), np.diff(starts)).tolist()
    return np.array(
        [
            numbers.setdefault(value, len(numbers))
            for value in zip(cluster_of, anchors, strict=True)
        ],
        dtype=np.int64,
    )


# --- where pieces go --------------------------------------------------------------------------


def copies_of(piece: Piece, term_copies: int) -> int:
    """Return to how many rows a piece goes: terms of the term chunk to as many as asked for.

    >>> piece = Piece(kind="term", terms=("flu",), copies=1, chunk=0, low=0, high=2)
    >>> copies_of(piece, 3)
    2
    """
    wanted = term_copies if piece.kind == "term" else piece.copies
    return min(wanted, piece.high - piece.low)


def place_at_random(pool: Pool, rng: np.random.Generator, *, term_copies: int = 1) -> Placed:
    """Return rows for each piece, as in a world drawn at random: one piece of a chunk per row.

    >>> pool = Pool(numbers=(0,), starts=np.array([0, 2]), anchors=(("a",), ("b",)),
    ...             values=np.array([0, 1]), pieces=(
    ...     Piece(kind="record", terms=("x",), copies=2, chunk=0, low=0, high=2),))
    >>> [sorted(rows.tolist()) for rows in place_at_random(pool, np.random.default_rng(1))]
    [[0, 1]]
    """
    placed: list[Int64Array] = [np.empty(0, np.int64)] * len(pool.pieces)
    for places in pool.chunks().values():
        piece = pool.pieces[places[0]]
        wanted = sum(copies_of(pool.pieces[place], term_copies) for place in places)
        room = piece.high - piece.low
        rows = piece.low + rng.choice(room, min(wanted, room), replace=False)
        start = 0
        for place in places:
            end = start + copies_of(pool.pieces[place], term_copies)
            placed[place] = rows[start:end]
            start = end
    return placed


def assembled(pool: Pool, placed: Placed) -> list[ClusterGuess]:
    """Return the records of a pool's clusters with each piece in its rows.

    A row that is given two sub-records of one chunk that share a term has it once.

    >>> pool = Pool(numbers=(4,), starts=np.array([0, 2]), anchors=(("a",), ()),
    ...             values=np.array([0, 1]), pieces=(
    ...     Piece(kind="term", terms=("x",), copies=1, chunk=0, low=0, high=2),))
    >>> [said] = assembled(pool, [np.array([1])])
    >>> said.cluster, said.attached
    (4, ((), (('term', 'x'),)))
    """
    attached: list[set[tuple[str, str]]] = [set() for _ in range(len(pool))]
    for piece, rows in zip(pool.pieces, placed, strict=True):
        for row in rows.tolist():
            attached[row].update((piece.kind, term) for term in piece.terms)
    return [
        ClusterGuess(
            cluster=cluster,
            anchors=pool.anchors[low:high],
            attached=tuple(tuple(sorted(row)) for row in attached[low:high]),
        )
        for cluster, low, high in pool.clusters()
    ]


def pairs_in_rows(pool: Pool, placed: Placed) -> list[tuple[int, str, str]]:
    """Return the pairs of term-chunk terms that stand in one row, each with its cluster.

    >>> pool = Pool(numbers=(4,), starts=np.array([0, 2]), anchors=(("a",), ()),
    ...             values=np.array([0, 1]), pieces=tuple(
    ...     Piece(kind="term", terms=(term,), copies=1, chunk=i, low=0, high=2)
    ...     for i, term in enumerate("xyz")))
    >>> pairs_in_rows(pool, [np.array([1]), np.array([0]), np.array([1])])
    [(4, 'x', 'z')]
    """
    held: list[list[str]] = [[] for _ in range(len(pool))]
    for piece, rows in zip(pool.pieces, placed, strict=True):
        if piece.kind == "term":
            for row in rows.tolist():
                held[row].append(piece.terms[0])
    found = []
    for cluster, low, high in pool.clusters():
        together = (pair for terms in held[low:high] for pair in combinations(sorted(terms), 2))
        found += [(cluster, first, second) for first, second in dict.fromkeys(together)]
    return found


# --- a sample of clusters -------------------------------------------------------------------------


SAMPLE_DOC = "clusters to draw and attack; all of them by default"
BACKGROUND = 500
"""Rows that compete for the sub-records of a shared chunk, at least, where there are as many."""


class ClusterSample(NamedTuple):
    """Clusters that are attacked.

    Parameters
    ----------
    clusters
        Their numbers, ascending, each once.
    draws
        How often each was drawn.
    """

    clusters: Int64Array
    draws: Int64Array

    def sentence(self, release: DisassociatedRelease) -> str:
        """Say how much of a release is attacked.

        >>> from setveil import TransactionTable
        >>> from setveil.release.chunk_plan import Plan, publish_disassociated
        >>> table = TransactionTable.from_rows([["a"], ["a"], ["b"]])
        >>> release, _ = publish_disassociated(table, [
        ...     Plan(records=[0, 1], domains=((0,),), terms=()),
        ...     Plan(records=[2], domains=(), terms=(1,))])
        >>> ClusterSample(np.array([1]), np.array([3])).sentence(release)
        '1 of 2 clusters was attacked, drawn at random in 3 draws: every rate is an estimate'
        """
        attacked, every = len(self.clusters), len(release.sizes)
        return (
            f"{attacked:,} of {every:,} clusters {'was' if attacked == 1 else 'were'} attacked, "
            f"drawn at random in {int(self.draws.sum()):,} draws: every rate is an estimate"
        )


def cluster_chances(release: DisassociatedRelease) -> npt.NDArray[np.float64]:
    """Return the chance of each cluster to be the one that is drawn.

    In proportion to the square root of its records, the items of its own chunks and its terms:
    all of this is published.

    >>> from setveil import TransactionTable
    >>> from setveil.release.chunk_plan import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a"], ["a"], ["b"] , ["b"], ["b"], ["b"],
    ...                                     ["b"], ["b"], ["b"], ["b"]])
    >>> release, _ = publish_disassociated(table, [
    ...     Plan(records=[0, 1], domains=((0,),), terms=()),
    ...     Plan(records=[*range(2, 10)], domains=((1,),), terms=())])
    >>> sorted(cluster_chances(release).round(3).tolist())
    [0.333, 0.667]
    """
    own = release.row_offsets[release.chunk_offsets[release.chunk_starts]]
    held = release.sizes + np.diff(own) + np.diff(release.term_offsets)
    roots = np.sqrt(held)
    return np.asarray(roots / roots.sum())


def draw_clusters(
    release: DisassociatedRelease, sample: int | None, rng: np.random.Generator
) -> ClusterSample | None:
    """Draw clusters to be attacked; None where all are, as there are no more than asked for.

    Parameters
    ----------
    release
        Whose clusters.
    sample
        How many draws; None for all clusters.
    rng
        Draws.
    """
    if sample is None or sample >= len(release.sizes):
        return None
    drawn = rng.choice(len(release.sizes), sample, p=cluster_chances(release))
    clusters, draws = np.unique(drawn, return_counts=True)
    return ClusterSample(clusters, draws)


def with_background(
    release: DisassociatedRelease,
    block: tuple[int, int],
    attacked: Int64Array,
    rng: np.random.Generator,
) -> Int64Array:
    """Return the clusters of a joint cluster whose rows compete for shared sub-records.

    Those that are attacked, and others drawn at random: wherever an attacked cluster shares a
    chunk, the chunk's clusters together have at least :data:`BACKGROUND` rows among those that
    are returned, or are all returned.

    Parameters
    ----------
    release
        What is attacked.
    block
        The joint cluster: its first cluster, and the one after its last.
    attacked
        Which of its clusters are attacked, ascending.
    rng
        Draws the others.
    """
    first, last = block
    sizes = release.sizes[first:last]
    there = np.zeros(last - first, dtype=bool)
    there[attacked - first] = True
    asked = there.copy()
    shared = release.shared_within(first, last)
    ranges = {
        (int(release.chunk_first[q]) - first, int(release.chunk_last[q]) - first) for q in shared
    }
    # Inner ranges first: their clusters count for the outer ones too.
    for low, high in sorted(ranges, key=lambda each: (each[1] - each[0], each)):
        if not asked[low:high].any():
            continue
        rows = int(sizes[low:high][there[low:high]].sum())
        others = rng.permutation(low + np.flatnonzero(~there[low:high]))
        before = rows + offsets_of(sizes[others])[:-1]
        there[others[before < BACKGROUND]] = True
    return first + np.flatnonzero(there)


def thin(rows: int, places: int, everywhere: int, rng: np.random.Generator) -> Int64Array:
    """Return which sub-records of a shared chunk are up for the places of some of its clusters.

    As many as fall to them on average, evenly spaced from a random start. Equal sub-records
    stand together, so of each content as many are returned as fall to the places, rounded up or
    down. Nothing tells which records they belong to.

    Parameters
    ----------
    rows
        Sub-records of the chunk.
    places, everywhere
        Records of the clusters that are looked at, and of all that share the chunk.
    rng
        Draws the start.

    Examples
    --------
    >>> thin(6, 10, 20, np.random.default_rng(1)).tolist()
    [1, 3, 5]
    >>> thin(6, 20, 20, np.random.default_rng(1)).tolist()
    [0, 1, 2, 3, 4, 5]
    """
    if places == everywhere:
        return np.arange(rows)
    step = everywhere / places
    taken = ((rng.random() + np.arange(int(rows / step) + 1)) * step).astype(np.int64)
    return taken[taken < rows]
