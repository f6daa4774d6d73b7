"""What separating the items of a person costs, and whether the pieces still find each other.

Disassociation misjudges the support of pairs and leaves terms that stand nowhere together; the
profiles of a split record may still be linked.

References
----------
.. [1] M. Terrovitis, N. Mamoulis, J. Liagouris, S. Skiadopoulos: Privacy preservation by
   disassociation, PVLDB 5(10), 2012.
"""

from __future__ import annotations

import math
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.arrays import Int32Array, Int64Array, offsets_of
from setveil.core.errors import NotApplicable, ParameterError
from setveil.core.interval import clustered_share
from setveil.core.params import is_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from setveil.core.arrays import Int64Array
    from setveil.core.interval import Rate
    from setveil.core.records import Records
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Key, Release
    from setveil.release.chunk_worlds import ChunkCertainty
    from setveil.release.disassociated import DisassociatedRelease
    from setveil.release.split import SplitRelease


BAND = (200, 220)
"""The ranks by support of the terms whose pairs are compared: from the first to before the last."""


def pair_support_error(
    release: Release,
    original: Records,
    *,
    taxonomy: Taxonomy | None = None,
    band: tuple[int, int] = BAND,
    rng: np.random.Generator | None = None,
) -> float:
    """Return the mean relative error of the supports of pairs of terms of middling frequency.

    |so - sp| / ((so + sp) / 2), where so is the support of a pair in the original and sp that in
    one reconstruction; 0 where both are 0, so at most 2. The mean is over all pairs of the terms
    of some ranks by support in the original; ties go by name. Where there are fewer terms, as
    many from the middle of the ranks take their place.

    Parameters
    ----------
    release, original
        What is compared.
    taxonomy
        The tree the release was made with; a generalized release needs it.
    band
        The ranks, counted from 0; the last is not included.
    rng
        Draws the reconstruction; without it always the same one is drawn.

    Raises
    ------
    NotApplicable
        There are no two terms.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu", "hiv"], ["gout"]])
    >>> release, _ = publish_suppressed(table, [True, True, False])
    >>> pair_support_error(release, table)  # flu and hiv are lost, the two other pairs right
    0.6666666666666666
    """
    first, last = band
    if not 0 <= first < last - 1:
        raise ParameterError(
            f"the ranks {first} to {last} hold no two terms", fix="use a wider band, such as 0, 20"
        )
    supports = original.supports()
    order = np.argsort(-supports, kind="stable")[: np.count_nonzero(supports)]
    if len(order) < last:
        width = min(last - first, len(order))
        first = (len(order) - width) // 2
        last = first + width
    if last - first < 2:
        raise NotApplicable("the original has no two terms to count together")
    terms = [original.vocabulary[i] for i in sorted(order[first:last].tolist())]
    world = release.sample_world(np.random.default_rng(0) if rng is None else rng, taxonomy)
    pairs = list(combinations(terms, 2))
    counts = (table.itemset_supports(pairs).tolist() for table in (original, world))
    errors = [2 * abs(had - has) / max(had + has, 1) for had, has in zip(*counts, strict=True)]
    return float(sum(errors) / len(errors))


def terms_lost(release: Release, original: Records, *, k: int) -> float:
    """Return the share of the terms that many hold which stand in term chunks only.

    Many are `k` records and more: what fewer hold cannot stand in a chunk. A term chunk does not
    say how many hold a term, and with what.

    Raises
    ------
    NotApplicable
        The release has no chunks, or no term is held by `k` records.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release.chunk_plan import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a"], ["a", "b"], ["b"]])
    >>> plan = Plan(records=[0, 1, 2], domains=((0,),), terms=(1,))
    >>> release, _ = publish_disassociated(table, [plan])
    >>> terms_lost(release, table, k=2)
    0.5
    """
    in_chunks = release.chunk_terms()
    if not is_whole(k, 1):
        raise ParameterError(f"k is {k!r}", fix="use a whole number of at least 1")
    held = np.flatnonzero(original.supports() >= k)
    if not len(held):
        raise NotApplicable(f"no term of the original is held by {k} records")
    return sum(original.vocabulary[i] not in in_chunks for i in held.tolist()) / len(held)


# --- what known items give away -------------------------------------------------------------------


BATCH = 4_000_000
"""About so many pairs of items are held in memory at once."""


def linked_share(
    release: Release, original: TransactionTable, *, key: Key | None = None, m: int = 2
) -> float:
    """Return the share of records in which one or two items give another one away for certain.

    Whoever knows these items of a person, but not the person's cluster, knows the other item as
    well: every original that the release allows has it in every record with the known items
    (:class:`~setveil.release.chunk_worlds.ChunkCertainty`). It makes no difference whether the
    items stand in one chunk or in several. The share is exact. Occurrences that the method deleted
    count as not there.

    Parameters
    ----------
    release, original, key
        What was published of what; the key says who is in which cluster, and what was deleted.
    m
        Greatest number of items that are known, 1 or 2.

    Raises
    ------
    NotApplicable
        The release has no chunks, or there is no key.
    ParameterError
        `m` is neither 1 nor 2.

    Examples
    --------
    The records ab, ab and c in one chunk: whoever holds a holds b.

    >>> from setveil import TransactionTable
    >>> from setveil.release import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a", "b"], ["a", "b"], ["c"]])
    >>> plan = Plan(records=[0, 1, 2], domains=((0, 1, 2),), terms=())
    >>> release, key = publish_disassociated(table, [plan])
    >>> round(linked_share(release, table, key=key), 3)
    0.667
    """
    chunks = release.as_chunks()
    if key is None:
        raise NotApplicable("who is in which cluster is not known", fix="give the key")
    if m not in (1, 2):
        raise ParameterError(f"m is {m!r}", fix="use 1 or 2")
    if not len(release):
        return 0.0
    certainty = release.certainty()
    offsets, items = _published_rows(chunks, original, key)
    linked = _linked_by_one(certainty, offsets, items, len(chunks.vocabulary))
    if m == 2:
        linked |= _linked_by_two(certainty, offsets, items, linked, len(chunks.vocabulary))
    return float(linked.mean())


def _linked_by_one(
    certainty: ChunkCertainty, offsets: Int64Array, items: Int32Array, width: int
) -> npt.NDArray[np.bool_]:
    """Tell which rows have an item that gives another one away."""
    found = certainty.certain_sets(np.arange(width + 1), np.arange(width, dtype=np.int32))
    giving = np.diff(found.offsets) > 0
    row = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.bincount(row[giving[items]], minlength=len(offsets) - 1) > 0


def _linked_by_two(
    certainty: ChunkCertainty,
    offsets: Int64Array,
    items: Int32Array,
    done: npt.NDArray[np.bool_],
    width: int,
) -> npt.NDArray[np.bool_]:
    """Tell which rows have two items that give another one away; those that are done have none."""
    from setveil.kernels.rows import row_pairs

    lengths = np.where(done, 0, np.diff(offsets))
    pairs_of = lengths * (lengths - 1) // 2
    kept = items[np.repeat(~done, np.diff(offsets))]
    starts = offsets_of(lengths)
    linked = np.zeros(len(lengths), dtype=bool)
    for first, last in _batches(pairs_of):
        part = kept[starts[first] : starts[last]]
        pairs = row_pairs(starts[first : last + 1] - starts[first], part, width)
        distinct, place = np.unique(pairs, return_inverse=True)
        known = np.stack([distinct // width, distinct % width], axis=1).ravel()
        found = certainty.certain_sets(2 * np.arange(len(distinct) + 1), known.astype(np.int32))
        giving = (np.diff(found.offsets) > 0)[place]
        row = np.repeat(np.arange(first, last), pairs_of[first:last])
        linked[row[giving]] = True
    return linked


def _batches(pairs_of: Int64Array) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows with about as many pairs as a batch has, never less than a row."""
    batch = (np.cumsum(pairs_of) - pairs_of) // BATCH
    cuts = [0, *(np.flatnonzero(np.diff(batch)) + 1).tolist(), len(pairs_of)]
    yield from pairwise(cuts)


def _published_rows(
    release: DisassociatedRelease, original: TransactionTable, key: Key
) -> tuple[Int64Array, Int32Array]:
    """Return the published items of each record by the release's numbers, each once, ascending."""
    number = {name: i for i, name in enumerate(release.vocabulary.names)}
    as_published = np.array([number.get(name, -1) for name in original.vocabulary.names], np.int64)
    record = np.repeat(np.arange(len(original)), original.lengths)
    item = as_published[original.items]
    width = np.int64(max(len(number), 1))
    held = np.unique((record * width + item)[item >= 0])
    gone = [r * width + number[name] for r, name in key.removed if name in number]
    held = held[~np.isin(held, np.array(gone, dtype=np.int64))]
    lengths = np.bincount(held // width, minlength=len(original))
    return offsets_of(lengths), (held % width).astype(np.int32)


# --- profiles of one person -----------------------------------------------------------------------

PAIRS = 2000
"""How many pairs of profiles are compared."""


def profile_link(
    release: SplitRelease,
    original: TransactionTable,
    key: Key,
    *,
    pairs: int = PAIRS,
    rng: np.random.Generator | None = None,
) -> Rate:
    """Return how well the profiles of one person still find each other.

    The chance that, of two profiles about the same field, a person's own looks more related to
    another profile of the person than a stranger's does: 0.5 says that nothing links them, 1 that
    everything does. Fields are what items link: profiles that share an item are of one.
    Profiles are related as far as their items occur together more often than by chance, in the
    records of everybody else: the strongest knowledge of which interests go together. The
    interval counts people, not pairs of profiles.

    Parameters
    ----------
    release, original, key
        The profiles, the records they are of, and whose each is.
    pairs
        How many pairs of profiles are drawn.
    rng
        Draws them; without it always the same ones.

    Raises
    ------
    NotApplicable
        Nobody has two profiles with items, or no stranger has one about the same field.

    Examples
    --------
    >>> from setveil.anonymize import SplitPersonality
    >>> from setveil.synthetic import clinic
    >>> table = clinic(n=500, seed=1).table
    >>> made = SplitPersonality(topics=4).anonymize(table)
    >>> profile_link(made.release, table, made.key).value > 0.5
    True
    """
    rng = np.random.default_rng(0) if rng is None else rng
    field_of = _fields(release)
    filled = np.flatnonzero(field_of >= 0)
    owner = key.records[filled]
    several = filled[np.bincount(owner)[owner] > 1]
    fields = field_of[filled]
    together = _Together(original)
    wins, compared = np.zeros(len(original)), np.zeros(len(original))
    for one in rng.choice(several, pairs).tolist() if len(several) else ():
        person = key.records[one]
        own = int(rng.choice(filled[(owner == person) & (filled != one)]))
        strangers = filled[(owner != person) & (fields == field_of[own])]
        if not len(strangers):
            continue
        other = int(rng.choice(strangers))
        compared[person] += 1
        mine, strange = (
            together.relatedness(_names(release, one), _names(release, each), gone=(person, whose))
            for each, whose in ((own, person), (other, key.records[other]))
        )
        wins[person] += 1.0 if mine > strange else 0.5 if mine == strange else 0.0
    rate = clustered_share(wins, compared)
    if rate is None:
        raise NotApplicable("nobody has two profiles, so there is nothing to link")
    return rate


def _fields(release: SplitRelease) -> Int64Array:
    """Return the field of each profile: a number that profiles with a common item share, or -1."""
    filled = np.flatnonzero(np.diff(release.offsets))
    lengths = np.diff(release.offsets)[filled]
    field_of = np.full(len(release), -1, dtype=np.int64)
    if not len(filled):
        return field_of
    label = np.arange(len(release.vocabulary), dtype=np.int64)
    while True:
        least = np.minimum.reduceat(label[release.items], release.offsets[filled])
        closer = label.copy()
        np.minimum.at(closer, release.items, np.repeat(least, lengths))
        if np.array_equal(closer, label):
            field_of[filled] = least
            return field_of
        label = closer


def _names(release: SplitRelease, profile: int) -> list[str]:
    numbers = release.items[release.offsets[profile] : release.offsets[profile + 1]]
    return [release.vocabulary[i] for i in numbers.tolist()]


class _Together:
    """How often items stand in one record, without certain records."""

    def __init__(self, table: TransactionTable) -> None:
        self.size = len(table)
        record = np.repeat(np.arange(len(table)), table.lengths)
        order = np.argsort(table.items, kind="stable")
        starts = np.searchsorted(table.items[order], np.arange(table.n_items + 1)).tolist()
        held = record[order].tolist()
        self.records = {
            name: frozenset(held[starts[i] : starts[i + 1]])
            for i, name in enumerate(table.vocabulary.names)
        }

    def relatedness(self, one: list[str], other: list[str], *, gone: tuple[int, int]) -> float:
        """Return the mean over pairs of items of log (times together / times by chance)."""
        apart = set(gone)
        total = 0.0
        for a in one:
            first = self.records[a] - apart
            for b in other:
                second = self.records[b] - apart
                by_chance = len(first) * len(second) / self.size
                total += math.log((len(first & second) + 0.5) / (by_chance + 0.5))
        return total / (len(one) * len(other))
