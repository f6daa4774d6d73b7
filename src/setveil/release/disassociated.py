"""Releases of records cut into chunks, so that nothing says which pieces belong together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from setveil.core.arrays import Int64Array, offsets_of
from setveil.core.errors import NotApplicable, ReleaseError
from setveil.core.table import TransactionTable, Vocabulary
from setveil.core.words import number, one_or_many, plural
from setveil.release.account import (
    ENTRY,
    NOTHING,
    REMOVED,
    Account,
    ChangedTerms,
    Content,
    Flags,
    Occurrences,
    entries_that,
    least_size,
)
from setveil.release.base import UNKNOWN, Bounds, Key, Matches, Release
from setveil.release.chunk_arrays import ChunkArrays
from setveil.release.data_file import LabelledRows
from setveil.release.export import (
    Example,
    Export,
    PlainTable,
    Term,
    ask_example,
    commonest_terms,
    literal,
)
from setveil.release.manifest import LARGEST, read_counts
from setveil.release.views import CertainItems, leaf_rows, rows_of_table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from setveil.core.records import Records
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.chunk_worlds import ChunkCertainty
    from setveil.release.views import PublishedRows


LISTS = ("sizes", "chunks", "rows", "shared", "with_terms")
"""What a manifest says of clusters and chunks."""
UNSEEN = 2**24
"""By so many at most the records of a cluster outnumber its sub-records; terms could be in all."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DisassociatedRelease(ChunkArrays):
    """Clusters of records, each cut into chunks whose rows nothing links.

    A cluster says how many records it has. Each of its record chunks is a bag of sub-records, the
    non-empty parts of these records that lie in the chunk's domain; its term chunk is the plain
    set of the other items. Neighbouring clusters may form a joint cluster with shared chunks:
    sub-records of whatever records of all its members.

    An original is allowed (a *world*) when it puts the sub-records of every chunk into distinct
    records of its clusters, every term of a term chunk into one or more records of its cluster,
    nothing else into any record, and leaves no record empty. Where a method deletes occurrences
    (partial suppression), all this is about the records without them.

    Clusters are sorted by content, and so are the chunks of a cluster and the rows of a chunk:
    positions link nothing.

    Parameters
    ----------
    vocabulary, sizes, chunk_first, chunk_last, chunk_offsets, row_offsets, items, term_offsets, \
terms
        The clusters, see :class:`~setveil.release.chunk_arrays.ChunkArrays`.

    Examples
    --------
    Records ya, yab, yb and ya in two chunks: nobody sees with whom b was.

    >>> from setveil.release.chunk_plan import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["y", "a"], ["y", "a", "b"], ["y", "b"], ["y", "a"]])
    >>> release, key = publish_disassociated(
    ...     table, [Plan(records=[0, 1, 2, 3], domains=((0, 2), (1,)), terms=())])
    >>> release.cluster(0).chunks[0].subrecords
    (('a', 'y'), ('a', 'y'), ('a', 'y'), ('y',))
    >>> release.to_rows()[-2:], len(release)
    ([['b'], ['b']], 4)
    >>> release.support_bounds(["a", "b"])
    Bounds(low=1, high=2, tight=True)
    """

    form: ClassVar[str] = "disassociated"
    says_by_records: ClassVar[bool] = True
    counted_in_worlds: ClassVar[bool] = True
    shows_lengths: ClassVar[bool] = False

    # --- the records in one shape, and what became of the items ---------------------------------

    def published_rows(self) -> PublishedRows:
        """Refuse: nothing says which pieces are one record."""
        raise NotApplicable(
            f"a release of {len(self):,} records in chunks does not show them as rows",
            fix="ask for disassociated or safe-disassociated instead",
        )

    def rows_to_count_in(self) -> PublishedRows:
        """Return the sub-records, then each term of a term chunk in a row of its own."""
        return rows_of_table(self._pieces)

    def rows_by_record(self) -> list[list[str]]:
        """Refuse: rows are those of chunks."""
        raise self.lacks("does not show records as rows")

    def certain_items(self, taxonomy: Taxonomy | None = None) -> CertainItems:
        """Return what known items imply: by itself no record shows anything."""
        nothing = CertainItems.nothing(len(self))
        return _CertainInChunks(
            offsets=nothing.offsets, items=nothing.items, names=(), chunks=self.certainty()
        )

    def certain_table(
        self, original: Records, taxonomy: Taxonomy | None = None
    ) -> TransactionTable:
        """Return the sub-records, then each term of a term chunk in a row of its own."""
        return self._pieces

    @property
    def _pieces(self) -> TransactionTable:
        alone = len(self.items) + np.arange(1, len(self.terms) + 1)
        return TransactionTable(
            offsets=np.concatenate([self.row_offsets, alone]),
            items=np.concatenate([self.items, self.terms]),
            vocabulary=self.vocabulary,
        )

    def nodes_published(
        self, tree: Taxonomy, rng: np.random.Generator
    ) -> tuple[Int64Array, Int64Array]:
        """Return the records of a random world as leaves of a tree."""
        return leaf_rows(self.sample_world(rng), tree)

    def as_chunks(self) -> DisassociatedRelease:
        """Return the release itself."""
        return self

    def chunk_terms(self) -> frozenset[str]:
        """Return the terms that stand in some chunk, not only in term chunks."""
        return frozenset(self.vocabulary[i] for i in np.unique(self.items).tolist())

    def certainty(self) -> ChunkCertainty:
        """Return what known items imply about others, over all chunks."""
        from setveil.release.chunk_worlds import ChunkCertainty

        return ChunkCertainty(self)

    # --- the four verbs -----------------------------------------------------------------------

    def matches(self, known_items: Iterable[str], taxonomy: Taxonomy | None = None) -> Matches:
        """Return the record slots of all clusters that can hold a record with all known items.

        Slots of a cluster are interchangeable. Each weighs the chance that independent placement
        puts the items into it: for each piece of them the share of the records that hold it, and
        one by the number of records for a term of the term chunk. All slots of a cluster together
        stand for as many candidates as records of the cluster can hold the items in one world:
        where a chunk shows all of them in 5 sub-records, these are the candidates, however many
        records the cluster has.
        """
        from setveil.release.chunk_worlds import Question

        question = Question.of(self, known_items)
        weights = question.chances()
        counts = question.candidates(weights) / self.sizes
        records = np.flatnonzero(np.repeat(weights > 0, self.sizes))
        return Matches(
            records=records,
            weights=np.repeat(weights, self.sizes)[records],
            counts=np.repeat(counts, self.sizes)[records],
        )

    def support_bounds(self, itemset: Iterable[str], taxonomy: Taxonomy | None = None) -> Bounds:
        """Return the least and greatest support of `itemset` over all worlds.

        Clusters are independent, so their bounds add up. In a cluster of n records, where h
        pieces of the itemset have supports s_i, at least Σ s_i − (h − 1)n records hold it, and at
        most the least s_i; without a term chunk also at most ⌊e / (h − 1)⌋, where e is by how
        many the sub-records outnumber the records, since no record is empty. A term of the term
        chunk is a piece whose support is anything from 1 to n. In joint clusters the bounds may
        be loose, which `tight` then says.
        """
        from setveil.release.chunk_worlds import Question

        return Question.of(self, itemset).bounds()

    def expected_support(self, itemset: Iterable[str], taxonomy: Taxonomy | None = None) -> float:
        """Return the mean support of `itemset` when everything is placed independently.

        That is the mean over :meth:`sample_world` before worlds with an empty record are
        rejected.
        """
        from setveil.release.chunk_worlds import Question

        return float(Question.of(self, itemset).independent() @ self.sizes)

    def item_chance(
        self, item: str, known: Iterable[str] = (), taxonomy: Taxonomy | None = None
    ) -> float:
        """Return the chance by the weights of the records that may hold all items in some world.

        Clusters in which no world has them together count for nothing, unlike in
        :meth:`expected_support`, which places all pieces as if records could be empty.
        """
        if item not in self.vocabulary:
            return 0.0
        others = [each for each in dict.fromkeys(known) if each != item and each in self.vocabulary]
        whole = float(self.matches(others).weights.sum())
        if whole <= 0:
            return UNKNOWN
        return min(float(self.matches([*others, item]).weights.sum()) / whole, 1.0)

    def sample_world(
        self, rng: np.random.Generator, taxonomy: Taxonomy | None = None
    ) -> TransactionTable:
        """Draw one world; records come slot by slot, cluster after cluster.

        The sub-records of each chunk go to distinct records of its clusters, each term of a term
        chunk to one record of its cluster; all such placements that leave no record empty are
        equally likely. Where one record for each term cannot fill a cluster, everything is laid
        apart, and each record still empty gets one term of its cluster at random. In a joint or
        very large cluster that hundreds of draws leave with an empty record, a long random walk
        through these placements takes their place: there the distribution is only approximately
        uniform.
        """
        from setveil.release.chunk_worlds import sample

        return sample(self, rng)

    def is_consistent_with(
        self, original: TransactionTable, key: Key, taxonomy: Taxonomy | None = None
    ) -> bool:
        """Tell whether `original`, lined up by `key`, could have given this release.

        Occurrences that the key says were deleted are left out first.
        """
        from setveil.release.chunk_plan import gives

        return gives(self, original, key)

    # --- its bytes -----------------------------------------------------------------------------

    structure_fields: ClassVar[frozenset[str]] = frozenset({*LISTS, "parts"})

    def data_rows(self) -> LabelledRows:
        """Return all sub-records, then all term chunks that are not empty.

        >>> from setveil.release import Plan, publish_disassociated
        >>> table = TransactionTable.from_rows([["a"], ["a", "b"]])
        >>> release, _ = publish_disassociated(
        ...     table, [Plan(records=[0, 1], domains=((0,),), terms=(1,))])
        >>> release.data_rows().offsets.tolist(), release.structure()["sizes"]
        ([0, 1, 2, 3], [2])
        """
        lengths = np.diff(self.term_offsets)
        ends = len(self.items) + np.cumsum(lengths[lengths > 0])
        return LabelledRows(
            np.concatenate([self.row_offsets, ends]),
            np.concatenate([self.items, self.terms]),
            self.vocabulary.names,
        )

    def structure(self) -> dict[str, Any]:
        """Return how the rows belong together, as flat lists of numbers.

        ``sizes`` and ``chunks``: records and record chunks per cluster; ``rows``: sub-records per
        chunk, the shared ones last; ``shared``: for each shared chunk its first cluster and the one
        after its last; ``with_terms``: the clusters that have a term chunk.
        """
        own = self.n_record_chunks
        shared = np.stack([self.chunk_first[own:], self.chunk_last[own:]], axis=1)
        lists = (
            self.sizes,
            np.diff(self.chunk_starts),
            np.diff(self.chunk_offsets),
            shared.ravel(),
            np.flatnonzero(np.diff(self.term_offsets)),
        )
        return {name: numbers.tolist() for name, numbers in zip(LISTS, lists, strict=True)}

    @classmethod
    def of_data(cls, data: bytes, format: str, structure: Mapping[str, Any]) -> tuple[Release, int]:
        """Return the release of a data file, or of blocks that a cluster of machines wrote."""
        if structure != {"parts": True}:
            return super().of_data(data, format, structure)
        from setveil.release.chunk_blocks import release_in_parts

        release = release_in_parts(data)
        return release, len(release.items) + len(release.terms)

    @classmethod
    def rebuild(cls, rows: LabelledRows, structure: Mapping[str, Any]) -> Self:
        """Return the release of some rows and a structure, or say what is wrong with them.

        >>> from setveil.release.data_file import LabelledRows
        >>> DisassociatedRelease.rebuild(LabelledRows.of([["a"]]), {"sizes": "many"})
        Traceback (most recent call last):
        setveil.core.errors.ReleaseError: manifest.json is damaged: 'sizes' is no list of counts
        """
        offsets, items = rows.offsets, rows.items
        sizes, chunks, counts, shared, with_terms = (read_counts(structure, name) for name in LISTS)
        for more in sorted(set(structure) - set(LISTS)):
            raise ReleaseError(f"manifest.json is damaged: {more!r} is no list of counts of chunks")
        own = int(chunks.sum())
        n_rows = int(counts.sum())
        ascending = np.all(np.diff(with_terms) > 0) and np.all(with_terms < len(sizes))
        if len(chunks) != len(sizes) or not ascending or 2 * (len(counts) - own) != len(shared):
            raise ReleaseError(
                "manifest.json is damaged: its lists of clusters and chunks do not fit"
            )
        if n_rows + len(with_terms) != len(offsets) - 1:
            raise ReleaseError(
                f"the data holds {len(offsets) - 1:,} rows, the manifest says {n_rows:,} "
                f"sub-records and {len(with_terms):,} term chunks"
            )
        clusters = np.repeat(np.arange(len(chunks)), chunks)
        check_sizes(
            sizes, np.bincount(clusters, counts[:own], minlength=len(sizes)), "manifest.json"
        )
        lengths = np.zeros(len(sizes), dtype=np.int64)
        lengths[with_terms] = np.diff(offsets[n_rows:])
        if not np.all(lengths[with_terms]):
            raise ReleaseError("a term chunk of the data is empty")
        return cls(
            vocabulary=Vocabulary(names=tuple(rows.labels)),
            sizes=sizes,
            chunk_first=np.concatenate([clusters, shared[::2]]),
            chunk_last=np.concatenate([clusters + 1, shared[1::2]]),
            chunk_offsets=offsets_of(counts),
            row_offsets=offsets[: n_rows + 1],
            items=items[: offsets[n_rows]],
            term_offsets=offsets_of(lengths),
            terms=items[offsets[n_rows] :],
        )

    # --- its words -----------------------------------------------------------------------------

    def content(self) -> Content:
        """Return what the release shows of its items."""
        if not len(self) or len(self.items):
            return Content()
        if not len(self.terms):
            return Content(NOTHING, bare=True)
        return Content(
            "This release shows only which items occur in each cluster, not in which records or "
            "how often: every item is in a term chunk."
        )

    def account_for(self, found: Occurrences, taxonomy: Taxonomy | None, k: int | None) -> Account:
        """Return what became of every original item, for the owner."""
        deleted = Counter(name for _, name in found.key.removed)
        gone = np.array([deleted[name] for name in found.names], dtype=np.int64)
        kept = np.array(
            [
                len(self.rows_of(self.vocabulary.number(name))) if name in self.vocabulary else 0
                for name in found.names
            ],
            dtype=np.int64,
        )
        listed = found.records - kept - gone
        exact = kept == found.records
        sizes, pieces = self.sizes, int(self.chunk_offsets[-1])
        least = plural(least_size(sizes), "person", "people")
        groups = (
            f"There is one group, of {least}."
            if len(sizes) == 1
            else f"There are {len(sizes):,} groups; the smallest has {least}."
        )
        return found.account(
            kept=kept,
            coarser=listed,
            gone=gone,
            became=tuple(map(_became_pieces, kept.tolist(), listed.tolist(), gone.tolist())),
            headline="Cuts records into pieces and does not say which pieces belong to the same "
            f"person. {groups}",
            stays=f"{number(int(kept.sum()))} of {plural(len(found), 'entry', 'entries')} "
            f"({ENTRY}) stand in {plural(pieces, 'piece')}, each as it was in a record.",
            coarse=entries_that(
                int(listed.sum()),
                "listed for a group only, without saying who holds the item or how many do; that "
                f"concerns {plural(int(np.count_nonzero(listed)), 'item')}.",
            ),
            lost=entries_that(int(gone.sum()), "removed."),
            computable=_computable_pieces(exact, listed),
            treat=lambda items: _cut_record(self, items),
        )

    def changed_terms(self, most: int) -> list[ChangedTerms]:
        """Return which items stand in most term chunks."""
        listed = np.bincount(self.terms, minlength=len(self.vocabulary))
        chosen = sorted(np.flatnonzero(listed).tolist(), key=lambda item: (-listed[item], item))[
            :most
        ]
        rows = [[self.vocabulary[item], number(int(listed[item]))] for item in chosen]
        how = (
            "In a term chunk an item is said to occur in a cluster "
            f"({plural(len(self.sizes), 'cluster')} in all), not how often or with what. "
            f"{plural(int(np.count_nonzero(listed)), 'item')} stand in at least one."
        )
        return [ChangedTerms("Taken apart most", ["item", "term chunks"], rows, how)][: len(rows)]

    def export(self) -> Export:
        """Return the release as plain tables with their dictionary and an example."""
        import polars as pl

        names = self.vocabulary.names
        bounds = [self.support_bounds([name]) for name in names]
        terms = [
            Term(name, "item", "itself", bound.low, bound.high)
            for name, bound in zip(names, bounds, strict=True)
        ]
        sizes = pl.DataFrame({"cluster": np.arange(len(self.sizes)), "records": self.sizes})
        return Export(
            meaning="The records stand in clusters, and each cluster is cut into chunks. A row of "
            "a record chunk is a part of one record of the cluster; which rows of different chunks "
            "belong to the same record is not published. A shared chunk has parts of records of "
            "several neighbouring clusters. A term chunk names items that occur in at least one "
            "record of the cluster, and not how often or with what.",
            tables=(
                PlainTable(
                    name="chunks",
                    frame=self.to_frame(),
                    about="Each line is a published item.",
                    columns={
                        "cluster": "Number of the cluster, from 0; of a shared chunk its first "
                        "one.",
                        "chunk": '"record 0", "record 1", …: a record chunk of the cluster; '
                        '"shared '
                        '2-4": a chunk that clusters 2 to 4 share; "term": the term chunk.',
                        "row": "Number of the row within its chunk, from 0; 0 in a term chunk.",
                        "item": "A published item.",
                    },
                ),
                PlainTable(
                    name="clusters",
                    frame=sizes,
                    about="Each line is a cluster.",
                    columns={
                        "cluster": "Number of the cluster, from 0.",
                        "records": "How many records the cluster has.",
                    },
                ),
            ),
            terms=tuple(terms),
            unit="records",
            example=_chunk_example(self, terms),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _CertainInChunks(CertainItems):
    """What known items imply; which records they stand in does not matter."""

    chunks: ChunkCertainty

    def _implied(self, chosen: Int64Array, known: Collection[str]) -> frozenset[str]:
        return self.chunks.certain(known).items


def check_sizes(sizes: npt.NDArray[Any], seen: npt.NDArray[Any], where: str) -> None:
    """Refuse clusters of far more records than there are sub-records: memory must suffice.

    >>> check_sizes(np.array([2**30]), np.array([3]), "the data")
    Traceback (most recent call last):
    setveil.core.errors.ReleaseError: the data is damaged: 1,073,741,824 records in 1 clusters, \
one of 1,073,741,824, are too many for 3 sub-records
    """
    total = int(sizes.sum(dtype=np.int64))
    if total >= LARGEST or np.any(sizes - seen > UNSEEN):
        raise ReleaseError(
            f"{where} is damaged: {total:,} records in {len(sizes):,} clusters, one of "
            f"{sizes.max():,}, are too many for {int(seen.sum()):,} sub-records"
        )


def _became_pieces(kept: int, listed: int, gone: int) -> str:
    if not listed + gone:
        return "stands in pieces, separated from other items"
    parts = [
        f"in a piece of {plural(kept, 'record')}" if kept else "",
        f"only listed for a group in {number(listed)}" if listed else "",
        f"removed in {number(gone)}" if gone else "",
    ]
    return "; ".join(filter(None, parts))


def _computable_pieces(exact: Flags, listed: Int64Array) -> tuple[str, ...]:
    count = int(np.count_nonzero(exact))
    wide = int(np.count_nonzero(listed))
    those = one_or_many(
        count,
        "the item that always stands",
        f"each of the {number(count)} items that always stand",
    )
    limits = (
        f"Within limits: how many records hold the {plural(wide, 'item')} that some groups only "
        "list. Between one and all people of such a group have it."
    )
    return (
        f"Exactly: how many records hold {those} in pieces." if count else "",
        limits if wide else "",
        (
            "Combinations inside a piece are seen as they were; combinations across pieces can "
            "only be estimated, as if the pieces were independent."
        ),
    )


def _cut_record(release: DisassociatedRelease, items: Sequence[str]) -> list[str]:
    """Return a record cut as in the group whose pieces hold most of its items.

    Disassociation lists what is rare in a group; so does this with items that the group lacks.
    """
    names = release.vocabulary
    wanted = {names.number(item): item for item in items if item in names}
    chunk, item, _ = release.chunk_items
    here = np.isin(item, list(wanted))
    chunk, item = chunk[here], item[here]
    met = np.zeros(len(release.sizes) + 1, dtype=np.int64)
    np.add.at(met, release.chunk_first[chunk], 1)
    np.add.at(met, release.chunk_last[chunk], -1)
    group = int(np.argmax(np.cumsum(met)[:-1])) if len(release.sizes) else 0
    pieces: dict[int, list[str]] = {}
    left = dict(wanted)
    for q, number_of in zip(chunk.tolist(), item.tolist(), strict=True):
        if release.chunk_first[q] <= group < release.chunk_last[q] and number_of in left:
            pieces.setdefault(q, []).append(left.pop(number_of))
    lines = [f"piece {n}: {', '.join(sorted(each))}" for n, each in enumerate(pieces.values(), 1)]
    rest = sorted(left.values())
    if rest:
        size = plural(int(release.sizes[group]), "person", "people")
        lines.append(f"listed for a group of {size}: {', '.join(rest)}")
    removed = [item for item in items if item not in names]
    return lines + [f"{REMOVED} {', '.join(removed)}"] * bool(removed)


def _chunk_example(release: DisassociatedRelease, terms: Sequence[Term]) -> Example:
    chosen = commonest_terms(terms)
    lines = [
        "import polars as pl",
        "",
        'chunks = pl.read_parquet("data/chunks.parquet")',
        'clusters = pl.read_parquet("data/clusters.parquet")',
        f'print(clusters["records"].sum())  # {len(release)}',
    ]
    if chosen:
        number = release.vocabulary.number(chosen[0])
        rows, listed = len(release.rows_of(number)), release.listing(number)
        high = rows + int(release.sizes[listed].sum())
        lines += [
            f'shown = chunks.filter(pl.col("item") == {literal(chosen[0])})',
            'in_terms = shown.filter(pl.col("chunk") == "term")',
            "rows = shown.height - in_terms.height",
            'most = rows + in_terms.join(clusters, on="cluster")["records"].sum()',
            "# Each row is another record. A term stands in one to all records of its cluster.",
            f"print(rows + in_terms.height, most)  # {rows + len(listed)} {high}",
        ]
    return Example("\n".join(lines), ask_example(release, chosen))
