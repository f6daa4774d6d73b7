"""What may be published, what must stay private, and what an anonymizer returns."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, fields
from inspect import getattr_static
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt

from setveil.core.errors import NotApplicable, ParameterError, ReleaseError
from setveil.core.notebook import ROWS, ShowsRecords, html_of_records
from setveil.core.records import Whole
from setveil.core.table import TransactionTable, frozen
from setveil.release.account import Content, Occurrences
from setveil.release.data_file import decode, long_frame
from setveil.release.export import export_rows
from setveil.release.views import CertainItems, rows_of_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import polars as pl

    from setveil.core.arrays import FloatArray, Int32Array, Int64Array
    from setveil.core.records import Parts, Records
    from setveil.core.taxonomy import Taxonomy
    from setveil.guarantee.base import Guarantee
    from setveil.release.account import Account, ChangedTerms
    from setveil.release.chunk_worlds import ChunkCertainty
    from setveil.release.data_file import LabelledRows
    from setveil.release.disassociated import DisassociatedRelease
    from setveil.release.encoded import EncodedRelease
    from setveil.release.export import Export
    from setveil.release.generalized import GeneralizedRelease
    from setveil.release.grouped import GroupedRelease
    from setveil.release.perturbed import PerturbedRelease
    from setveil.release.set_generalized import SetGeneralizedRelease
    from setveil.release.views import Images, LabelCounts, PublishedRows, ShownClasses

Form = TypeVar("Form", bound="Release")

MANY = 6
"""Known items beyond which records are weighed one by one: the time of a count grows with 2^m."""
UNKNOWN = 0.5
"""The chance of an item about which a release says nothing: 1 bit is lacking."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Key:
    """Which original record stands behind each published one; private, never in a release.

    Parameters
    ----------
    records
        For each published record the place of its original.
    names
        For a release of tags what each item of the published vocabulary stands for.
    parts
        Whether a published record may be a part of its original only, so that several records
        have the same one.
    removed
        Occurrences that partial suppression deleted: original record and item name.
    release
        The identity of the release that it was saved with (:attr:`Manifest.identity
        <setveil.release.manifest.Manifest.identity>`); empty where it was saved alone.

    Examples
    --------
    >>> Key(records=[2, 0, 1]).records.tolist()
    [2, 0, 1]
    """

    records: Int64Array
    names: tuple[str, ...] = ()
    parts: bool = False
    removed: tuple[tuple[int, str], ...] = ()
    release: str = ""

    def __post_init__(self) -> None:
        records = frozen(self.records, np.int64)
        object.__setattr__(self, "records", records)
        ordered = np.sort(records)
        if not self.parts and np.any(ordered[1:] == ordered[:-1]):
            raise ParameterError("a key names each original record at most once")

    def __len__(self) -> int:
        return len(self.records)


@dataclass(frozen=True, kw_only=True)
class Matches:
    """Published records that may belong to someone who is known to hold certain items.

    Parameters
    ----------
    records
        Places in the release, ascending.
    weights
        How likely each of them is the person's: not normalised, above 0.
    counts
        For how many candidates each place stands. One, unless places are interchangeable and
        only some of them can hold the items: of a cluster of 50 records that publishes the items
        in 5 rows, each of the 50 places stands for a tenth of a candidate.

    Examples
    --------
    >>> Matches(records=np.array([3, 4]), weights=np.ones(2)).candidates
    2
    >>> Matches(records=np.arange(50), weights=np.ones(50), counts=np.full(50, 0.1)).candidates
    5
    """

    records: Int64Array
    weights: npt.NDArray[np.float64]
    counts: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        if not len(self.counts):
            object.__setattr__(self, "counts", np.ones(len(self.records)))

    @property
    def candidates(self) -> int:
        """How many records may be the person's."""
        return max(round(float(self.counts.sum())), 1) if len(self.records) else 0

    def where(self, kept: npt.NDArray[np.bool_]) -> Matches:
        """Return the matches at some of the places."""
        return Matches(
            records=self.records[kept], weights=self.weights[kept], counts=self.counts[kept]
        )


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Least and greatest support over all originals consistent with a release.

    `tight` tells whether both ends are attained; a looser bound says False.
    """

    low: int
    high: int
    tight: bool = True


FORMS: dict[str, type[Release]] = {}
"""The forms that can be stored, by the names that manifests give them."""


def form_named(name: str) -> type[Release]:
    """Return the form that a manifest gives this name."""
    if name not in FORMS:
        raise ReleaseError(f"the form {name!r} is not known")
    return FORMS[name]


def rebuild(form: str, rows: LabelledRows, structure: Mapping[str, Any]) -> Release:
    """Return the release that was stored under the name of a form.

    >>> from setveil.release.data_file import LabelledRows
    >>> rebuild("suppressed", LabelledRows.of([["flu", "gout"], ["flu"]]), {}).to_rows()
    [['flu', 'gout'], ['flu']]
    """
    return form_named(form).rebuild(rows, structure)


class Part(NamedTuple):
    """Some records of a release as a release of the same form.

    Parameters
    ----------
    release
        The records, beside everything that the whole release publishes.
    numbers
        For each of them its number in the whole release.
    """

    release: Release
    numbers: Int64Array


class Release(ShowsRecords):
    """A published form. Every form answers the same questions: nobody asks which one it is.

    A form of its own has a name (`form`), a length and `to_rows`. What it does not answer beside
    that has no meaning for it, and says so (:class:`~setveil.core.errors.NotApplicable`). A form
    that can be rebuilt is one of :data:`FORMS`, also if it comes from another package.
    """

    form: ClassVar[str]
    generalizes: ClassVar[bool] = False
    """Whether a published term may stand for several original items."""
    needs_taxonomy: ClassVar[bool] = False
    """Whether only the taxonomy tells what stands behind a published term."""
    counted_in_worlds: ClassVar[bool] = False
    """Whether itemsets are counted in a random original: what is certain would say too little."""
    shows_lengths: ClassVar[bool] = True
    """Whether no record is published longer than it was; if not, there are as many records."""

    says_by_records: ClassVar[bool] = False
    """Whether a record, or a cluster, says the same beside any others, so that some are a part."""

    def __init_subclass__(cls) -> None:
        can_be_stored = getattr_static(cls, "rebuild") is not vars(Release)["rebuild"]
        if "form" in vars(cls) and can_be_stored:
            FORMS.setdefault(cls.form, cls)

    def __len__(self) -> int:
        raise NotImplementedError

    def to_rows(self) -> list[list[str]]:
        """Return the published records as lists of names, in canonical order."""
        raise NotImplementedError

    def to_frame(self) -> pl.DataFrame:
        """Return the published records as a long frame."""
        table = TransactionTable.from_rows(self.to_rows())
        return long_frame(table.offsets, table.items, table.vocabulary.names)

    # --- the verbs ------------------------------------------------------------------------------

    def matches(self, known_items: Iterable[str], taxonomy: Taxonomy | None = None) -> Matches:
        """Return the records that may belong to someone who holds all of `known_items`."""
        raise self.lacks("says nothing about whose its records are")

    def support_bounds(self, itemset: Iterable[str], taxonomy: Taxonomy | None = None) -> Bounds:
        """Return the least and greatest support of `itemset` over all consistent originals."""
        raise self.lacks("says nothing about counts")

    def expected_support(self, itemset: Iterable[str], taxonomy: Taxonomy | None = None) -> float:
        """Return the mean of the support of `itemset` over :meth:`sample_world`."""
        raise self.lacks("expects no counts")

    def sample_world(
        self, rng: np.random.Generator, taxonomy: Taxonomy | None = None
    ) -> TransactionTable:
        """Draw one original that the release allows, with the distribution its form states."""
        raise self.lacks("allows no original to be drawn")

    def is_consistent_with(
        self, original: TransactionTable, key: Key, taxonomy: Taxonomy | None = None
    ) -> bool:
        """Tell whether `original`, lined up by `key`, could have given this release."""
        raise self.lacks("cannot be compared with an original")

    def may_come_from(self, original: Records) -> bool:
        """Tell whether the sizes alone do not rule out that `original` gave this release.

        Where no record is published longer than it was, of no length are there more than there
        were.
        """
        if not self.shows_lengths:
            return len(self) == original.n_records
        here, there = self.length_counts(), original.length_counts()
        longest = max(len(here), len(there))
        here, there = (np.pad(each, (0, longest - len(each))) for each in (here, there))
        return bool(np.all(here[::-1].cumsum() <= there[::-1].cumsum()))

    def expected_supports(
        self, itemsets: Sequence[Sequence[str]], taxonomy: Taxonomy | None = None
    ) -> FloatArray:
        """Return :meth:`expected_support` of each of some itemsets."""
        return np.array([self.expected_support(itemset, taxonomy) for itemset in itemsets])

    def item_chance(
        self, item: str, known: Iterable[str] = (), taxonomy: Taxonomy | None = None
    ) -> float:
        """Return the chance that somebody who is known to hold some items holds another one.

        By :meth:`expected_support`: of the records that hold the known items in a random original,
        the share that also holds `item`. Where more than six items are known, or the form's random
        originals never hold them together although they can (two members of one set), by the
        weights of :meth:`matches`: each record that may be the person's, with the chance of `item`
        in it. Known items that the release does not publish tell nothing. Of an `item` that it
        does not publish nothing is said, and the chance is ½.
        """
        if self.support_bounds([item], taxonomy).high == 0:
            return 0.0
        if self.expected_support([item], taxonomy) <= 0:
            return UNKNOWN
        others = [each for each in dict.fromkeys(known) if each != item]
        shown = [each for each in others if self.expected_support([each], taxonomy) > 0]
        if len(shown) <= MANY:
            whole = self.expected_support(shown, taxonomy)
            part = self.expected_support([*shown, item], taxonomy)
            if whole > 0 and (part > 0 or not self.support_bounds([*shown, item], taxonomy).high):
                return min(max(part / whole, 0.0), 1.0)
        candidates = self.matches(shown, taxonomy)
        held = self.matches([item], taxonomy)
        chances = np.zeros(len(self))
        chances[held.records] = np.minimum(held.weights, 1.0)
        total = candidates.weights.sum()
        if total <= 0:
            return UNKNOWN
        return float(candidates.weights @ chances[candidates.records] / total)

    # --- parts ----------------------------------------------------------------------------------

    def in_parts(self) -> Parts[Part]:
        """Return the parts of the release: here there is one."""
        return Whole(Part(self, np.arange(len(self))))

    def parts_to_check(self) -> Parts[Release]:
        """Return the parts as a guarantee looks at them: rows count, whatever they say of people.

        A form that does not show what a guarantee asks for refuses it.
        """
        return Whole(self)

    def with_records(self, offsets: Int64Array, items: Int32Array) -> Self:
        """Return other records over what this release publishes, as a part of it.

        Record `j` holds the labels ``items[offsets[j]:offsets[j + 1]]`` of :meth:`data_rows`,
        ascending. The records need no order, and nothing is checked.
        """
        raise self.lacks("is not cut into parts", fix="use --engine local")

    # --- the records in one shape ---------------------------------------------------------------

    def published_rows(self) -> PublishedRows:
        """Return the records as sets of numbers, with what the numbers stand for."""
        return rows_of_table(TransactionTable.from_rows(self.to_rows()))

    def rows_of_people(self) -> PublishedRows:
        """Return the same where each record is one person's, and says which items it holds."""
        return self.published_rows()

    def rows_with_repeats(self) -> tuple[Int64Array, Int32Array, tuple[str, ...]]:
        """Return the records as compressed rows with all that stands twice in them, and names."""
        self.published_rows()  # says so where a form does not show its records
        table = TransactionTable.from_rows(self.to_rows(), bags=True)
        return table.offsets, table.items, table.vocabulary.names

    def rows_to_count_in(self) -> PublishedRows:
        """Return rows that show which items stand together, whether or not as whole records."""
        return self.published_rows()

    def rows_by_record(self) -> list[list[str]]:
        """Return what is published of each record, by names."""
        return self.to_rows()

    def original_items(self) -> list[str]:
        """Return all original items that the release names, in clear or among others, sorted."""
        return sorted({item for row in self.to_rows() for item in row})

    def items_taken(self, rows: PublishedRows) -> tuple[Int64Array, Int64Array]:
        """Return how much stands behind what its :meth:`published_rows` show.

        For each number how many original items it may stand for; for each entry of the rows how
        many items of its record lie behind it at least, those below it included.
        """
        return np.ones(len(rows.names), np.int64), np.ones(len(rows.items), np.int64)

    def may_be_sets(self) -> bool:
        """Tell whether no record shows more below a published item than it stands for."""
        return True

    def image_finder(
        self, rows: PublishedRows, taxonomy: Taxonomy | None = None
    ) -> Callable[[str], int | None]:
        """Return what tells the number that stands for an item in all records, None for nothing."""
        return rows.number

    def people(self) -> int:
        """Return how many people the records are about."""
        return len(self)

    def length_counts(self) -> Int64Array:
        """Return how many records publish 0, 1, 2 and so on items."""
        return np.bincount([len(row) for row in self.to_rows()], minlength=1)

    # --- what became of the items ---------------------------------------------------------------

    def images(
        self,
        original: Records,
        key: Key | None = None,
        taxonomy: Taxonomy | None = None,
        *,
        whole: Release | None = None,
    ) -> Images:
        """Return the images of all original occurrences.

        Where items may have been left out of any record, every published node stands for exactly
        one item. Where no published node lies above another, the taxonomy tells each item's image.
        Elsewhere only `key` and `taxonomy` together tell how many items share a node. `whole` is
        the release that counts, if it is in parts and this one shows just what is published.
        """
        raise self.lacks("has no images of items")

    def items_below_labels(
        self, original: TransactionTable, key: Key, taxonomy: Taxonomy
    ) -> Int64Array:
        """Return how many original items, by `key`, lie below each label where it is published."""
        raise self.lacks("has no taxonomy nodes")

    def certain_items(self, taxonomy: Taxonomy | None = None) -> CertainItems:
        """Return what is certain of whoever stands behind each record."""
        return CertainItems.of_rows(self.published_rows())

    def certain_table(self, original: Records, taxonomy: Taxonomy | None = None) -> Records:
        """Return the records with the original items that they hold for certain, by name.

        The support of an itemset in it is the lower end of its support bounds; for a disassociated
        release, whose sub-records and terms of term chunks are the rows, it may be less.
        """
        raise NotApplicable(f"what a release of the form {self.form!r} makes certain is not known")

    def shown_classes(self, original: Records, taxonomy: Taxonomy | None = None) -> ShownClasses:
        """Return the records over the highest published nodes, which stand for classes of items.

        A record shows a class when it publishes its node or one below: then it certainly holds an
        item of the class.
        """
        raise self.lacks("shows no classes of items")

    def label_counts(self) -> LabelCounts:
        """Return how often each label is published, and how many leaves it may stand for."""
        raise self.lacks("has no taxonomy nodes")

    def leaves_in_all(self, original: Records) -> int:
        """Return how many leaves a published item could stand for at most."""
        raise self.lacks("has no taxonomy nodes")

    def nodes_published(
        self, tree: Taxonomy, rng: np.random.Generator
    ) -> tuple[Int64Array, Int64Array]:
        """Return the records as compressed rows of nodes of a whole tree."""
        raise self.lacks("has no place in a taxonomy")

    # --- its words ------------------------------------------------------------------------------

    def content(self) -> Content:
        """Return what the release shows of its items, above all where that is nothing."""
        return Content()

    def account(
        self,
        original: TransactionTable,
        key: Key,
        taxonomy: Taxonomy | None = None,
        *,
        k: int | None = None,
    ) -> Account:
        """Return what the release did with the items of its original.

        Parameters
        ----------
        original, key
            What it was made from, and which record stands behind which.
        taxonomy
            The tree that it was made with.
        k
            The promised number of records: named where it separates what stays from what is
            removed.
        """
        return self.account_for(Occurrences.of(original, key), taxonomy, k)

    def account_for(self, found: Occurrences, taxonomy: Taxonomy | None, k: int | None) -> Account:
        """Return what became of every original item, for the owner; see :meth:`account`."""
        raise NotApplicable(f"setveil cannot tell what a release of the form {self.form!r} changed")

    def changed_terms(self, most: int) -> list[ChangedTerms]:
        """Return what became more general or lost its links most; nothing where nothing did."""
        return []

    def export(self) -> Export:
        """Return the release as plain tables with their dictionary and an example."""
        return export_rows(self)

    def fingerprint(self) -> str:
        """Return a hash of the form and the published records, whatever file they are kept in.

        >>> from setveil.release import publish_suppressed
        >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu"]])
        >>> whole, _ = publish_suppressed(table, [True, True])
        >>> part, _ = publish_suppressed(table, [True, False])
        >>> len(whole.fingerprint()), whole.fingerprint() == part.fingerprint()
        (64, False)
        """
        digest = hashlib.sha256(self.form.encode())
        for row in self.to_rows():
            digest.update(b"\n" + json.dumps(sorted(row)).encode())
        return digest.hexdigest()

    # --- its bytes ------------------------------------------------------------------------------

    structure_fields: ClassVar[frozenset[str]] = frozenset()
    """The names of all fields that a structure may have, at any depth."""

    def data_rows(self) -> LabelledRows:
        """Return what goes into the data file."""
        raise NotApplicable(f"releases of the form {self.form!r} cannot be stored yet")

    def structure(self) -> dict[str, Any]:
        """Return what goes into the manifest, as JSON values: all that the rows do not say."""
        return {}

    @classmethod
    def rebuild(cls, rows: LabelledRows, structure: Mapping[str, Any]) -> Release:  # noqa: ARG003
        """Return the release of some rows and a structure, or say what is wrong with them."""
        raise NotApplicable(f"releases of the form {cls.form!r} cannot be stored yet")

    @classmethod
    def of_data(cls, data: bytes, format: str, structure: Mapping[str, Any]) -> tuple[Release, int]:
        """Return the release of a data file's content, and how many items that holds."""
        rows = decode(data, format)
        return cls.rebuild(rows, structure), len(rows.items)

    # --- what only one form has -----------------------------------------------------------------

    def as_nodes(self) -> GeneralizedRelease:
        """Return the release as one of taxonomy nodes."""
        raise self.lacks("has no taxonomy nodes")

    def as_sets(self) -> SetGeneralizedRelease:
        """Return the release as one of generalized items."""
        raise self.lacks("has no generalized items: no sets of items")

    def as_tags(self) -> EncodedRelease:
        """Return the release as one of tags."""
        raise self.lacks("has no tags")

    def as_chunks(self) -> DisassociatedRelease:
        """Return the release as one of chunks."""
        raise self.lacks("has no chunks", fix="ask this of releases that disassociate wrote")

    def chunk_terms(self) -> frozenset[str]:
        """Return the terms that stand in some chunk, not only in term chunks."""
        return self.as_chunks().chunk_terms()

    def certainty(self) -> ChunkCertainty:
        """Return what known items imply about others, over all chunks."""
        return self.as_chunks().certainty()

    def as_groups(self) -> GroupedRelease:
        """Return the release as one of groups."""
        raise self.lacks(
            "has no groups of records",
            fix="ask this of releases that cahd, anatomy or permutation wrote",
        )

    def as_randomized(self) -> PerturbedRelease:
        """Return the release as one of randomized records."""
        raise self.lacks("was not randomized")

    def lacks(self, what: str, fix: str = "") -> NotApplicable:
        """Return the error that says what this form has not, or does not say."""
        return NotApplicable(f"a release of the form {self.form!r} {what}", fix=fix)


def unchecked_copy(release: Form, *, keep: Iterable[str] = (), **changed: Any) -> Form:
    """Return a release with other values of some fields; nothing is checked.

    Parameters
    ----------
    release
        Any form that is a dataclass.
    keep
        Cached properties that stay as they are: what does not depend on the changed fields.
    changed
        The other values.
    """
    names = [each.name for each in fields(release) if each.name not in changed]  # type: ignore[arg-type]
    copy = object.__new__(type(release))
    copy.__dict__.update({name: getattr(release, name) for name in (*names, *keep)}, **changed)
    return copy


def fits_key(release: Release, original: TransactionTable, key: Key) -> bool:
    """Tell whether a key names a record of `original` for each record of a release.

    >>> from setveil.release import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu"], ["gout"]])
    >>> release, key = publish_suppressed(table, [True, True])
    >>> fits_key(release, table, key), fits_key(release, table, Key(records=[0, 2]))
    (True, False)
    """
    inside = key.records.min(initial=0) >= 0 and key.records.max(initial=-1) < len(original)
    return len(key) == len(release) and bool(inside)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One decision of a method: what was done, why, at what cost (in the method's own measure)."""

    action: str
    subject: str
    reason: str = ""
    cost: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Anonymization:
    """What an anonymizer returns.

    Parameters
    ----------
    release
        What may be published.
    key
        The private link back to the originals.
    promise
        The guarantee the release keeps, or None for methods that promise nothing.
    log
        The method's decisions.
    figures
        Numbers about the run that the method knows anyway (clusters, objective).
    """

    release: Release
    key: Key
    promise: Guarantee | None
    log: tuple[Step, ...] = ()
    figures: dict[str, Any] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        promise = "nothing" if self.promise is None else self.promise.describe()
        rows = self.release.to_rows()
        caption = f"{repr(self.release).strip('<>')}; promise: {promise}"
        return html_of_records(caption, rows[:ROWS], len(rows))
