"""Clusters and chunks in arrays: how they are asked, their canonical order, what must hold."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self, overload

import numpy as np

from setveil.core.arrays import (
    Int32Array,
    Int64Array,
    RowsByItem,
    is_ascending,
    neighbour_order,
    occurring,
    offsets_of,
)
from setveil.core.errors import ParameterError
from setveil.core.table import Vocabulary, canonical_order, frozen, take_rows
from setveil.release.base import Release
from setveil.release.data_file import LabelledRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt
    import polars as pl

PART = 1 << 17
"""How many items the own chunks of some clusters hold that are looked at together."""

MOST = 0xFFFFFFFF
"""The greatest number of four bytes: subtracted from it, larger numbers sort first."""

Range = tuple[int, int]


@dataclass(frozen=True)
class Chunk:
    """A bag of sub-records, none of them empty, in canonical order.

    Parameters
    ----------
    subrecords
        Parts of records, longer ones first, then by content.
    first, last
        The clusters it belongs to, `last` not included. A record chunk belongs to one, a shared
        chunk to all clusters of a joint cluster.

    Examples
    --------
    >>> Chunk((("a", "b"), ("a",)), 3, 4).is_shared
    False
    """

    subrecords: tuple[tuple[str, ...], ...]
    first: int
    last: int

    @property
    def is_shared(self) -> bool:
        """Whether it belongs to several clusters."""
        return self.last > self.first + 1


@dataclass(frozen=True)
class Cluster:
    """What is published of some records: their number, their record chunks, their term chunk.

    >>> Cluster(0, 2, (Chunk((("a",), ("a",)), 0, 1),), ("b",)).terms
    ('b',)
    """

    number: int
    size: int
    chunks: tuple[Chunk, ...]
    terms: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ChunkArrays(Release):
    """Clusters and their chunks in arrays; :attr:`clusters` and :attr:`shared` show objects.

    Parameters
    ----------
    vocabulary
        The names of the published items; each occurs.
    sizes
        Records per cluster.
    chunk_first, chunk_last
        The clusters of each chunk: first the record chunks, cluster by cluster, then the shared
        chunks, outer ones before inner ones.
    chunk_offsets
        The sub-records of chunk `q` are ``chunk_offsets[q]`` to ``chunk_offsets[q + 1]``.
    row_offsets, items
        Sub-record `r` is ``items[row_offsets[r]:row_offsets[r + 1]]``, ascending.
    term_offsets, terms
        The term chunk of cluster `c` is ``terms[term_offsets[c]:term_offsets[c + 1]]``, ascending.
    """

    builder: ClassVar[str] = "publish_disassociated"

    vocabulary: Vocabulary
    sizes: Int64Array
    chunk_first: Int64Array
    chunk_last: Int64Array
    chunk_offsets: Int64Array
    row_offsets: Int64Array
    items: Int32Array
    term_offsets: Int64Array
    terms: Int32Array

    def __post_init__(self) -> None:
        for name in ("sizes", "chunk_first", "chunk_last", "chunk_offsets", "row_offsets"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int64))
        object.__setattr__(self, "term_offsets", frozen(self.term_offsets, np.int64))
        object.__setattr__(self, "items", frozen(self.items, np.int32))
        object.__setattr__(self, "terms", frozen(self.terms, np.int32))
        wrong = first_fault(self)
        if wrong is not None:
            raise ParameterError(wrong, fix=f"build releases with {self.builder}")

    def __len__(self) -> int:
        """Return the number of records."""
        return int(self.sizes.sum())

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {len(self):,} records in {len(self.sizes):,} clusters, "
            f"{len(self.chunk_first):,} chunks ({len(self.chunk_first) - self.n_record_chunks:,} "
            f"shared), {len(self.vocabulary):,} items>"
        )

    # --- views --------------------------------------------------------------------------------

    @cached_property
    def n_record_chunks(self) -> int:
        """How many chunks belong to one cluster; they stand before the shared ones."""
        return int(np.count_nonzero(self.chunk_last == self.chunk_first + 1))

    @cached_property
    def chunk_starts(self) -> Int64Array:
        """Cluster `c` has the record chunks ``chunk_starts[c]`` to ``chunk_starts[c + 1]``."""
        own = self.chunk_first[: self.n_record_chunks]
        return np.searchsorted(own, np.arange(len(self.sizes) + 1)).astype(np.int64)

    @cached_property
    def cluster_starts(self) -> Int64Array:
        """Cluster `c` has the record slots ``cluster_starts[c]`` to ``cluster_starts[c + 1]``."""
        return offsets_of(self.sizes)

    @cached_property
    def chunk_of_row(self) -> Int64Array:
        """The chunk of each sub-record."""
        return np.repeat(np.arange(len(self.chunk_first)), np.diff(self.chunk_offsets))

    @cached_property
    def blocks(self) -> list[tuple[int, int]]:
        """The ranges of clusters that no shared chunk leaves: joint clusters, and lone ones.

        What happens in one of them is independent of all others.
        """
        until = np.arange(1, len(self.sizes) + 1)
        shared = slice(self.n_record_chunks, None)
        np.maximum.at(until, self.chunk_first[shared], self.chunk_last[shared])
        found, first = [], 0
        while first < len(until):
            found.append((first, int(until[first])))
            first = int(until[first])
        return found

    @cached_property
    def chunk_items(self) -> tuple[Int64Array, Int32Array, Int64Array]:
        """The items of each chunk's domain: chunk, item, and how many sub-records hold it."""
        lengths = np.diff(self.row_offsets)
        width = np.int64(max(len(self.vocabulary), 1))
        keys = np.repeat(self.chunk_of_row * width, lengths) + self.items
        pairs, counts = np.unique(keys, return_counts=True)
        return pairs // width, (pairs % width).astype(np.int32), counts

    @cached_property
    def joint_blocks(self) -> list[tuple[int, int]]:
        """The blocks of more than one cluster."""
        return [(first, last) for first, last in self.blocks if last > first + 1]

    @cached_property
    def joint_of(self) -> Int64Array:
        """For each cluster the place of its joint cluster in `joint_blocks`, -1 for a lone one."""
        places = np.full(len(self.sizes), -1)
        for place, (first, last) in enumerate(self.joint_blocks):
            places[first:last] = place
        return places

    @cached_property
    def in_joint(self) -> npt.NDArray[np.bool_]:
        """Which clusters belong to a joint cluster."""
        return self.joint_of >= 0

    @cached_property
    def own_rows(self) -> Int64Array:
        """For each cluster the number of sub-records in its record chunks."""
        return np.diff(self.chunk_offsets[self.chunk_starts])

    def shared_within(self, first: int, last: int) -> Int64Array:
        """Return the places of the shared chunks whose first cluster lies in a range."""
        begins = self.chunk_first[self.n_record_chunks :]
        low, high = np.searchsorted(begins, [first, last]) + self.n_record_chunks
        return np.arange(low, high)

    def shared_by(self, clusters: Iterable[int]) -> dict[int, list[int]]:
        """Return for each of some clusters the places of the shared chunks it belongs to."""
        firsts = np.array([first for first, _ in self.blocks])
        found = {}
        for cluster in clusters:
            block = self.blocks[int(np.searchsorted(firsts, cluster, side="right")) - 1]
            places = self.shared_within(*block)
            there = (self.chunk_first[places] <= cluster) & (cluster < self.chunk_last[places])
            found[cluster] = places[there].tolist()
        return found

    def supports_in(self, chunk: int) -> dict[str, int]:
        """Return for each item of a chunk, by its place, how many sub-records hold it."""
        chunks, items, counts = self.chunk_items
        start, end = np.searchsorted(chunks, [chunk, chunk + 1]).tolist()
        names = (self.vocabulary[i] for i in items[start:end].tolist())
        return dict(zip(names, counts[start:end].tolist(), strict=True))

    def part(self, first: int, last: int) -> Self:
        """Return the clusters of a range that no shared chunk leaves, with the same vocabulary.

        Nothing is checked again; items of the vocabulary need not occur.
        """
        start, end = self.chunk_starts[[first, last]].tolist()
        shared = self.shared_within(first, last)
        pieces = [(start, end), (shared[0], shared[-1] + 1) if len(shared) else (end, end)]
        chunks = [slice(*piece) for piece in pieces]
        rows = [slice(*self.chunk_offsets[list(piece)].tolist()) for piece in pieces]
        begin, until = self.term_offsets[[first, last]].tolist()
        fields = {
            "vocabulary": self.vocabulary,
            "sizes": self.sizes[first:last],
            "chunk_first": np.concatenate([self.chunk_first[each] for each in chunks]) - first,
            "chunk_last": np.concatenate([self.chunk_last[each] for each in chunks]) - first,
            "chunk_offsets": _cut_out(self.chunk_offsets, chunks),
            "row_offsets": _cut_out(self.row_offsets, rows),
            "items": np.concatenate(
                [
                    self.items[self.row_offsets[each.start] : self.row_offsets[each.stop]]
                    for each in rows
                ]
            ),
            "term_offsets": self.term_offsets[first : last + 1] - begin,
            "terms": self.terms[begin:until],
        }
        part = object.__new__(type(self))
        for name, value in fields.items():
            object.__setattr__(part, name, value)
        return part

    def parts(self) -> Iterator[tuple[int, Self]]:
        """Yield all clusters, some at a time, as releases; each with its first cluster's number.

        What depends on one joint cluster alone can be asked of part after part, which takes little
        memory.
        """
        starts = self.row_offsets[self.chunk_offsets[self.chunk_starts]]
        first = 0
        for _, last in self.blocks:
            if starts[last] - starts[first] >= PART or last == len(self.sizes):
                yield first, self.part(first, last)
                first = last

    def rows_of(self, item: int) -> Int64Array:
        """Return the sub-records that hold the item of this number, ascending."""
        return self._by_item.holding(item)

    def listing(self, item: int) -> Int64Array:
        """Return the clusters whose term chunk lists the item of this number, ascending."""
        return self._by_term.holding(item)

    @cached_property
    def _by_item(self) -> RowsByItem:
        return RowsByItem.of(self.row_offsets, self.items, len(self.vocabulary))

    @cached_property
    def _by_term(self) -> RowsByItem:
        return RowsByItem.of(self.term_offsets, self.terms, len(self.vocabulary))

    @property
    def clusters(self) -> Sequence[Cluster]:
        """The clusters as objects, each made when it is asked for."""
        return ClusterSequence(self)

    def cluster(self, number: int) -> Cluster:
        """Return one cluster with its own record chunks and its term chunk."""
        first, last = self.chunk_starts[number : number + 2].tolist()
        chunks = tuple(self.chunk(q) for q in range(first, last))
        start, end = self.term_offsets[number : number + 2].tolist()
        terms = tuple(self.vocabulary[i] for i in self.terms[start:end].tolist())
        return Cluster(number, int(self.sizes[number]), chunks, terms)

    def chunk(self, number: int) -> Chunk:
        """Return one chunk, record chunk or shared, by its place in the arrays."""
        start, end = self.chunk_offsets[number : number + 2].tolist()
        rows = self._by_name(self.row_offsets[start : end + 1], self.items)
        return Chunk(
            tuple(map(tuple, rows)), int(self.chunk_first[number]), int(self.chunk_last[number])
        )

    def subrecords(self, rows: Int64Array) -> list[tuple[str, ...]]:
        """Return the items of some sub-records, by their places in the arrays."""
        bounds = zip(
            self.row_offsets[rows].tolist(), self.row_offsets[rows + 1].tolist(), strict=True
        )
        return [
            tuple(self.vocabulary[i] for i in self.items[start:end].tolist())
            for start, end in bounds
        ]

    @cached_property
    def shared(self) -> tuple[Chunk, ...]:
        """The shared chunks, outer ones before inner ones."""
        return tuple(self.chunk(q) for q in range(self.n_record_chunks, len(self.chunk_first)))

    @staticmethod
    def domain(chunk: Chunk) -> tuple[str, ...]:
        """Return the items that sub-records of a chunk hold, sorted.

        >>> ChunkArrays.domain(Chunk((("a", "c"), ("b",)), 0, 1))
        ('a', 'b', 'c')
        """
        return tuple(sorted({item for row in chunk.subrecords for item in row}))

    def to_rows(self) -> list[list[str]]:
        """Return one list per sub-record, chunk by chunk, then one per non-empty term chunk."""
        rows = self._by_name(self.row_offsets, self.items)
        return rows + [row for row in self._by_name(self.term_offsets, self.terms) if row]

    def _by_name(self, offsets: Int64Array, items: Int32Array) -> list[list[str]]:
        return list(LabelledRows(offsets, items, self.vocabulary.names).rows())

    def to_frame(self) -> pl.DataFrame:
        """Return a long frame with the columns ``cluster``, ``chunk``, ``row`` and ``item``.

        Chunks are called ``record 0``, ``record 1`` … within their cluster, ``shared 0-2`` (with
        the first and the last cluster) and ``term``; a shared chunk stands under its first
        cluster. Rows are numbered within their chunk; a term chunk has one.

        >>> from setveil import TransactionTable
        >>> from setveil.release import Plan, publish_disassociated
        >>> table = TransactionTable.from_rows([["a"], ["a", "b"]])
        >>> release, _ = publish_disassociated(
        ...     table, [Plan(records=[0, 1], domains=((0,),), terms=(1,))])
        >>> release.to_frame().rows()
        [(0, 'record 0', 0, 'a'), (0, 'record 0', 1, 'a'), (0, 'term', 0, 'b')]
        """
        import polars as pl

        chunks = np.arange(len(self.chunk_first))
        own = self.n_record_chunks
        within = (chunks[:own] - self.chunk_starts[self.chunk_first[:own]]).tolist()
        ranges = zip(self.chunk_first[own:].tolist(), self.chunk_last[own:].tolist(), strict=True)
        labels = [f"record {i}" for i in within] + [f"shared {a}-{b - 1}" for a, b in ranges]
        lengths = np.diff(self.row_offsets)
        row = np.arange(len(lengths)) - self.chunk_offsets[self.chunk_of_row]
        chunk = np.repeat(self.chunk_of_row, lengths)
        terms_of = np.repeat(np.arange(len(self.sizes)), np.diff(self.term_offsets))
        names = pl.Series([*labels, "term"], dtype=pl.String)
        items = pl.Series(self.vocabulary.names, dtype=pl.String)
        return pl.DataFrame(
            {
                "cluster": np.concatenate([self.chunk_first[chunk], terms_of]),
                "chunk": names.gather(np.concatenate([chunk, np.full(len(terms_of), len(labels))])),
                "row": np.concatenate([np.repeat(row, lengths), np.zeros(len(terms_of), np.int64)]),
                "item": items.gather(np.concatenate([self.items, self.terms])),
            }
        )


def _cut_out(offsets: Int64Array, pieces: Iterable[slice]) -> Int64Array:
    """Return the offsets of some pieces of rows, one after the other."""
    lengths = [np.diff(offsets[each.start : each.stop + 1]) for each in pieces]
    return offsets_of(np.concatenate(lengths))


class ClusterSequence(Sequence[Cluster]):
    """The clusters of a release; each is made when it is asked for."""

    def __init__(self, release: ChunkArrays) -> None:
        self._release = release

    def __len__(self) -> int:
        return len(self._release.sizes)

    @overload
    def __getitem__(self, place: int) -> Cluster: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Cluster]: ...

    def __getitem__(self, place: int | slice) -> Cluster | Sequence[Cluster]:
        numbers = range(len(self))
        if isinstance(place, slice):
            return [self._release.cluster(c) for c in numbers[place]]
        return self._release.cluster(numbers[place])


# --- the canonical order ---


class Block(NamedTuple):
    """A cluster or a joint cluster while clusters are being sorted."""

    last: int
    clusters: list[int]
    key: bytes


def chunk_keys(
    chunk_offsets: Int64Array, row_offsets: Int64Array, items: Int32Array
) -> list[bytes]:
    """Return for each chunk what it is sorted by: more rows first, then more items, then content.

    >>> keys = chunk_keys(np.array([0, 1, 3]), np.array([0, 1, 2, 3]), np.array([0, 1, 1]))
    >>> keys[1] < keys[0]
    True
    """
    lengths = np.diff(row_offsets).astype(">u4").tobytes()
    content = np.asarray(items).astype(">u4").tobytes()
    bounds = zip(chunk_offsets.tolist(), row_offsets[chunk_offsets].tolist(), strict=True)
    return [
        number_key(MOST - (b - a)) + number_key(MOST - (end - start))
        + lengths[4 * a : 4 * b] + content[4 * start : 4 * end]
        for (a, start), (b, end) in pairwise(bounds)
    ]  # fmt: skip


def cluster_keys(
    sizes: Int64Array,
    chunk_first: Int64Array,
    keys: Sequence[bytes],
    term_offsets: Int64Array,
    terms: Int32Array,
) -> list[bytes]:
    r"""Return for each cluster what it is sorted by: larger ones first, then by content.

    `keys` are those of the record chunks, cluster after cluster, `chunk_first` their clusters.

    >>> cluster_keys(np.array([2]), np.array([0]), [b"chunk"], np.array([0, 0]), np.array([]))
    [b'\xff\xff\xff\xfd\x00\x00\x00\x01chunk']
    """
    content = np.asarray(terms).astype(">u4").tobytes()
    starts = np.searchsorted(chunk_first, np.arange(len(sizes) + 1)).tolist()
    return [
        number_key(MOST - size) + number_key(b - a) + b"".join(keys[a:b]) + content[4 * t : 4 * u]
        for size, (a, b), (t, u) in zip(
            sizes.tolist(), pairwise(starts), pairwise(term_offsets.tolist()), strict=True
        )
    ]


def number_key(value: int) -> bytes:
    """Return a number as four bytes that compare as it does.

    >>> number_key(255) < number_key(256)
    True
    """
    return value.to_bytes(4, "big")


def canonical_clusters(
    keys: Sequence[bytes], ranges: Sequence[Range], shared_keys: Sequence[bytes]
) -> list[int]:
    """Return the order of clusters by content; those of a joint cluster stay neighbours.

    A joint cluster stands where its first member would. `ranges` are those of the shared chunks,
    nested or disjoint, and `shared_keys` what these are sorted by.

    >>> canonical_clusters([b"c", b"a", b"b"], [(0, 2)], [b"shared"])
    [1, 0, 2]
    """
    blocks = {c: Block(c + 1, [c], key) for c, key in enumerate(keys)}
    inner_first = sorted(
        zip(ranges, shared_keys, strict=True), key=lambda s: (s[0][1] - s[0][0], s)
    )
    for (first, last), group in groupby(inner_first, key=lambda shared: shared[0]):
        parts = sorted(_walk(blocks, first, last), key=lambda block: block.key)
        said = [part.key for part in parts] + [key for _, key in group]
        digest = hashlib.sha256(b"".join(number_key(len(key)) + key for key in said)).digest()
        clusters = [c for part in parts for c in part.clusters]
        blocks[first] = Block(last, clusters, parts[0].key + digest)
    outermost = sorted(_walk(blocks, 0, len(keys)), key=lambda block: block.key)
    return [c for block in outermost for c in block.clusters]


def order_of_clusters(
    sizes: Int64Array,
    ranges: tuple[Int64Array, Int64Array],
    keys: Sequence[bytes],
    term_offsets: Int64Array,
    terms: Int32Array,
) -> list[int]:
    """Return the canonical order of clusters, whose chunks come in any order.

    `ranges` are the first clusters of the chunks and the ones after their last, `keys` what
    :func:`chunk_keys` says of them.
    """
    first, last = (bounds.tolist() for bounds in ranges)
    own = [q for q in range(len(keys)) if last[q] == first[q] + 1]
    own.sort(key=lambda q: (first[q], keys[q]))
    shared = [q for q in range(len(keys)) if last[q] > first[q] + 1]
    of_clusters = cluster_keys(
        sizes,
        np.array([first[q] for q in own], dtype=np.int64),
        [keys[q] for q in own],
        term_offsets,
        terms,
    )
    joints = [(first[q], last[q]) for q in shared]
    return canonical_clusters(of_clusters, joints, [keys[q] for q in shared])


def _walk(blocks: dict[int, Block], first: int, last: int) -> list[Block]:
    found = []
    while first < last:
        found.append(blocks[first])
        first = found[-1].last
    return found


def are_nested(ranges: Sequence[Range]) -> bool:
    """Tell whether ranges, sorted by first and the longer ones first, are nested or disjoint.

    >>> are_nested([(0, 4), (0, 2), (2, 4)]), are_nested([(0, 3), (2, 4)])
    (True, False)
    """
    open_ends: list[int] = []
    for first, last in ranges:
        while open_ends and open_ends[-1] <= first:
            open_ends.pop()
        if open_ends and last > open_ends[-1]:
            return False
        open_ends.append(last)
    return True


def count_unfilled(lacking: npt.ArrayLike, ranges: Sequence[Range], rows: Sequence[int]) -> int:
    """Return how many records stay empty when shared sub-records fill what clusters lack.

    Sub-records of inner joint clusters go first: nothing else can be done with them. What is
    left then is the least there can be.

    Parameters
    ----------
    lacking
        For each cluster how many of its records nothing of its own can fill.
    ranges, rows
        The shared chunks, nested or disjoint: their clusters, and how many sub-records each has.

    Examples
    --------
    >>> count_unfilled([2, 0, 1], [(0, 3), (0, 2)], [1, 1])
    1
    """
    left = np.array(lacking, dtype=np.int64)
    if not left.any():
        return 0
    for (first, last), free in sorted(
        zip(ranges, rows, strict=True), key=lambda shared: shared[0][1] - shared[0][0]
    ):
        part = left[first:last]
        before = np.concatenate([[0], np.cumsum(part)[:-1]])
        part -= np.clip(free - before, 0, part)
    return int(left.sum())


def rows_within(
    group: Int64Array, offsets: Int64Array, items: Int32Array
) -> tuple[Int64Array, Int64Array, Int32Array]:
    """Sort rows by their group, then canonically: longer ones first, then by content.

    >>> rows_within(np.array([1, 0, 0]), np.array([0, 1, 2, 4]), np.array([5, 5, 1, 2]))
    (array([0, 0, 1]), array([0, 2, 3, 4]), array([1, 2, 5, 5]))
    """
    order = canonical_order(offsets, items)
    order = order[np.argsort(group[order], kind="stable")]
    return group[order], *take_rows(offsets, items, order)


# --- What must hold ---


def first_fault(release: ChunkArrays) -> str | None:
    """Return what is wrong with the arrays of a release, or None.

    The checks build on each other: each may rely on those before it.

    >>> from setveil.release import DisassociatedRelease
    >>> DisassociatedRelease(
    ...     vocabulary=Vocabulary(names=("a",)), sizes=[1], chunk_first=[0], chunk_last=[1],
    ...     chunk_offsets=[0, 2], row_offsets=[0, 1, 2], items=[0, 0], term_offsets=[0, 0],
    ...     terms=[])
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: a chunk has 2 sub-records for 1 records. \
To fix: build releases with publish_disassociated.
    """
    for check in (_shapes, _ranges, _rows, _sorted, _disjoint, _worlds, _order):
        fault = check(release)
        if fault is not None:
            return fault
    return None


def _shapes(release: ChunkArrays) -> str | None:
    """Check that offsets fit what they cut, and that numbers are numbers of items."""
    clusters, chunks = len(release.sizes), len(release.chunk_first)
    rows = len(release.row_offsets) - 1
    cuts = (
        ("chunk_offsets", release.chunk_offsets, chunks, rows),
        ("row_offsets", release.row_offsets, rows, len(release.items)),
        ("term_offsets", release.term_offsets, clusters, len(release.terms)),
    )
    for name, offsets, parts, whole in cuts:
        if len(offsets) != parts + 1 or offsets[0] != 0 or offsets[-1] != whole:
            return f"{name} do not fit what they cut"
        if np.any(np.diff(offsets) < 0):
            return f"{name} decrease"
    if len(release.chunk_last) != chunks:
        return "chunk_first and chunk_last are not equally long"
    for numbers in (release.items, release.terms):
        if len(numbers) and (numbers.min() < 0 or numbers.max() >= len(release.vocabulary)):
            return "an item is not in the vocabulary"
    used = np.zeros(len(release.vocabulary), dtype=bool)
    used[occurring(release.items)] = True
    used[occurring(release.terms)] = True
    if not used.all():
        return f"nothing publishes the item {release.vocabulary[int(np.argmin(used))]!r}"
    return None


def _ranges(release: ChunkArrays) -> str | None:
    """Check sizes, and that chunks belong to clusters in the order that is wanted."""
    first, last = release.chunk_first, release.chunk_last
    if np.any(release.sizes < 1):
        return "a cluster has no records"
    if np.any(first < 0) or np.any(last <= first) or np.any(last > len(release.sizes)):
        return "a chunk belongs to clusters that there are not"
    own = release.n_record_chunks
    if np.any(last[:own] != first[:own] + 1) or np.any(np.diff(first[:own]) < 0):
        return "the record chunks do not stand first, cluster by cluster"
    shared = list(zip(first[own:].tolist(), last[own:].tolist(), strict=True))
    if any(a > b for a, b in pairwise((begin, -end) for begin, end in shared)):
        return "the shared chunks are not in canonical order"
    if not are_nested(shared):
        return "two joint clusters overlap, and neither is part of the other"
    return None


def _rows(release: ChunkArrays) -> str | None:
    """Check how many sub-records a chunk has, and that none is empty."""
    rows_per_chunk = np.diff(release.chunk_offsets)
    if np.any(rows_per_chunk == 0):
        return "a chunk has no sub-records"
    starts = release.cluster_starts
    records = starts[release.chunk_last] - starts[release.chunk_first]
    crowded = np.flatnonzero(rows_per_chunk > records)
    if len(crowded):
        q = crowded[0]
        return f"a chunk has {rows_per_chunk[q]} sub-records for {records[q]} records"
    if np.any(np.diff(release.row_offsets) == 0):
        return "a sub-record is empty"
    return None


def _sorted(release: ChunkArrays) -> str | None:
    """Check the order within sub-records, chunks and term chunks."""
    if not is_ascending(release.row_offsets, release.items):
        return "the items of a sub-record are not sorted and distinct"
    if not is_ascending(release.term_offsets, release.terms):
        return "the terms of a term chunk are not sorted and distinct"
    wrong = neighbour_order(release.row_offsets, release.items) > 0
    wrong[release.chunk_offsets[1:-1] - 1] = False  # rows of two chunks
    if wrong.any():
        return "the sub-records of a chunk are not in canonical order"
    return None


def _disjoint(release: ChunkArrays) -> str | None:
    """Check that no cluster can hold an item in two ways."""
    for first, part in release.parts():
        twice = _twice(part)
        if twice is not None:
            at, number = twice
            return f"cluster {first + at} holds the item {release.vocabulary[number]!r} in two ways"
    return None


def _twice(release: ChunkArrays) -> tuple[int, int] | None:
    """Return a cluster and an item that it holds in two ways."""
    chunk, item, _ = release.chunk_items
    first, last = release.chunk_first[chunk], release.chunk_last[chunk]
    # A shared chunk counts for each of its clusters.
    members = last - first
    ends = np.cumsum(members)
    cluster = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - members - first, members)
    terms_of = np.repeat(np.arange(len(release.sizes)), np.diff(release.term_offsets))
    width = np.int64(len(release.vocabulary))
    keys = np.concatenate([cluster * width + np.repeat(item, members), terms_of * width])
    keys[len(cluster) :] += release.terms
    keys.sort()
    twice = np.flatnonzero(keys[1:] == keys[:-1])
    if len(twice):
        at, number = divmod(int(keys[twice[0]]), int(width))
        return at, number
    return None


def _order(release: ChunkArrays) -> str | None:
    """Check that chunks and clusters are sorted by content."""
    keys = chunk_keys(release.chunk_offsets, release.row_offsets, release.items)
    place = list(
        zip(release.chunk_first.tolist(), (-release.chunk_last).tolist(), keys, strict=True)
    )
    own = release.n_record_chunks
    for part in (place[:own], place[own:]):
        if any(a > b for a, b in pairwise(part)):
            return "the chunks of a cluster are not in canonical order"
    ranges = release.chunk_first, release.chunk_last
    order = order_of_clusters(release.sizes, ranges, keys, release.term_offsets, release.terms)
    if order != list(range(len(order))):
        return "the clusters are not in canonical order"
    return None


def _worlds(release: ChunkArrays) -> str | None:
    """Check that there is an original without empty records."""
    own = release.n_record_chunks
    rows = np.diff(release.chunk_offsets)
    placed = np.bincount(release.chunk_first[:own], rows[:own], minlength=len(release.sizes))
    bare = np.diff(release.term_offsets) == 0
    lacking = np.where(bare, np.maximum(release.sizes - placed.astype(np.int64), 0), 0)
    ranges = list(
        zip(release.chunk_first[own:].tolist(), release.chunk_last[own:].tolist(), strict=True)
    )
    empty = count_unfilled(lacking.tolist(), ranges, rows[own:].tolist())
    if empty:
        return f"{empty} records would be empty: clusters have too few sub-records and no terms"
    return None
