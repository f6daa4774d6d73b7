"""Releases in which items stand as tags that only the owner can read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from setveil.core.arrays import Int64Array, RowsByItem, occurring, offsets_of
from setveil.core.errors import NotApplicable, ParameterError, ReleaseError
from setveil.core.table import TransactionTable, frozen
from setveil.core.words import number, one_or_many, plural
from setveil.release.account import (
    CODE,
    Account,
    Occurrences,
    exact_counts,
    items_that_stay,
    support_cut,
)
from setveil.release.base import Bounds, Key, Matches, fits_key
from setveil.release.export import (
    Export,
    export_records,
)
from setveil.release.suppressed import (
    ReadableRows,
    SuppressedRelease,
    fields_of_rows,
    publish_suppressed,
)
from setveil.release.views import TaggedItems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from setveil.core.records import Records
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.data_file import LabelledRows
    from setveil.release.views import PublishedRows, ShownClasses

STEPS = 200_000
"""How many sets of tags a bound may look at before it is left loose."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EncodedRelease(ReadableRows):
    """Published records whose items are names, or tags that stand for names.

    Every item of every record is published. Equal items have equal tags and different items
    different ones; which name a tag stands for is not said, and it is none of the readable
    names. So an original is allowed when renaming its items one by one gives the release.

    Parameters
    ----------
    vocabulary
        The readable names and the tags; each occurs in some record.
    offsets, items
        Record `j` is ``items[offsets[j]:offsets[j + 1]]``, ascending and distinct.
    readable
        For each item of the vocabulary whether it is a name; otherwise it is a tag.

    Examples
    --------
    >>> table = TransactionTable.from_rows([["flu", "hiv"], ["flu"], ["gout", "flu"]])
    >>> release, key = publish_encoded(table, {"flu": "flu", "gout": "7f", "hiv": "31"},
    ...                                readable={"flu"})
    >>> release.to_rows(), key.names
    ([['31', 'flu'], ['7f', 'flu'], ['flu']], ('hiv', 'gout', 'flu'))
    >>> release.support_bounds(["flu"]), release.support_bounds(["flu", "hiv"])
    (Bounds(low=3, high=3, tight=True), Bounds(low=0, high=1, tight=True))
    """

    form: ClassVar[str] = "encoded"
    builder: ClassVar[str] = "publish_encoded"

    readable: npt.NDArray[np.bool_]

    def __post_init__(self) -> None:
        object.__setattr__(self, "readable", frozen(self.readable, np.bool_))
        super().__post_init__()
        if self.readable.shape != (len(self.vocabulary),):
            raise ParameterError(
                "it is not said for every item whether it can be read",
                fix=f"build releases with {self.builder}",
            )

    @cached_property
    def legible(self) -> SuppressedRelease:
        """The release as it looks to somebody who passes over the tags."""
        return publish_suppressed(self.to_table(), self.readable)[0]

    def published_rows(self) -> PublishedRows:
        """Return the records as sets of numbers, those of names and tags."""
        rows = super().published_rows()
        finder = TaggedItems(rows.names, self.readable.tolist())
        return replace(rows, exact=self.readable, finder=finder)

    def rows_of_people(self) -> PublishedRows:
        """Return the same where every item can be read."""
        if not self.readable.all():
            raise NotApplicable(
                "items stand as tags here, and which tag is a sensitive item the release does not "
                "say",
                fix="attack it instead: token-frequency",
            )
        return self.published_rows()

    def image_finder(
        self, rows: PublishedRows, taxonomy: Taxonomy | None = None
    ) -> Callable[[str], int | None]:
        """Return what tells the number of an item that can be read."""

        def image(item: str) -> int | None:
            found = rows.standing(item)
            if found.above:
                raise NotApplicable(
                    f"the release does not say which tag, if any, stands for {item!r}",
                    fix="ask about items that the release shows by name",
                )
            return found.own[0] if found.own else None

        return image

    def shown_classes(self, original: Records, taxonomy: Taxonomy | None = None) -> ShownClasses:
        """Return the records without tags, each item a class of its own."""
        return self.legible.shown_classes(original, taxonomy)

    def as_tags(self) -> EncodedRelease:
        """Return the release itself."""
        return self

    # --- the four verbs -----------------------------------------------------------------------

    def matches(self, known_items: Iterable[str], taxonomy: Taxonomy | None = None) -> Matches:
        """Return the records with all known readable items, and enough tags for the others.

        All weigh 1: any tag may stand for any name that cannot be read.
        """
        names, others = self._split(known_items)
        records = self.holders(names)
        enough = self._tags_per_record[records] >= others
        return Matches(records=records[enough], weights=np.ones(int(enough.sum())))

    def support_bounds(self, itemset: Iterable[str], taxonomy: Taxonomy | None = None) -> Bounds:
        """Return the least and greatest support of `itemset` over all consistent originals.

        Readable items are exact. With m items that cannot be read the support lies between none
        (the tags may stand for other items) and the greatest support of any m tags together with
        the readable items. The search for those is cut off after many steps: then the greatest
        is only bounded, and `tight` is False.
        """
        names, others = self._split(itemset)
        records = self.holders(names)
        if others == 0:
            return Bounds(low=len(records), high=len(records))
        high, exact = greatest_support(self._covers(records), others)
        return Bounds(low=0, high=high, tight=exact)

    def is_consistent_with(
        self, original: TransactionTable, key: Key, taxonomy: Taxonomy | None = None
    ) -> bool:
        """Tell whether `original`, lined up by `key`, could have given this release.

        Where the key says what each tag stands for, just that is checked; otherwise whether
        there is any way to name the tags.
        """
        if not fits_key(self, original, key) or len(original) != len(self):
            return False
        columns = _columns(original.take(key.records))
        shown = _columns(self.to_table())
        names = self._readable_names
        if key.names:
            named = dict(zip(key.names, self.vocabulary.names, strict=False))
            fits = len(key.names) == len(self.vocabulary) == len(named)
            fits = fits and all(named.get(name) == name for name in names)
            return fits and columns == {name: shown[tag] for name, tag in named.items()}
        same = all(columns.get(name) == shown[name] for name in names)
        hidden = sorted(column for name, column in columns.items() if name not in names)
        tags = sorted(column for name, column in shown.items() if name not in names)
        return same and hidden == tags

    # --- who holds what -----------------------------------------------------------------------

    @cached_property
    def _readable_names(self) -> frozenset[str]:
        return frozenset(self.vocabulary[i] for i in np.flatnonzero(self.readable).tolist())

    @cached_property
    def _tags_per_record(self) -> Int64Array:
        tags = offsets_of(~self.readable[self.items])
        return np.diff(tags[self.offsets])

    def _split(self, itemset: Iterable[str]) -> tuple[list[int], int]:
        """Return the numbers of the readable items of a set, and how many others it has."""
        wanted = set(itemset)
        names = wanted & self._readable_names
        return [self.vocabulary.number(name) for name in names], len(wanted) - len(names)

    def _covers(self, records: Int64Array) -> list[int]:
        """Return for each tag which of these records hold it, one bit each."""
        inside = np.full(len(self), -1, dtype=np.int64)
        inside[records] = np.arange(len(records))
        covers = []
        for tag in np.flatnonzero(~self.readable).tolist():
            places = inside[self.records_of(tag)]
            bits = np.zeros(len(records), dtype=bool)
            bits[places[places >= 0]] = True
            covers.append(int.from_bytes(np.packbits(bits).tobytes()))
        return covers

    # --- its bytes -----------------------------------------------------------------------------

    structure_fields: ClassVar[frozenset[str]] = frozenset({"readable"})

    def structure(self) -> dict[str, Any]:
        """Return which items can be read."""
        return {"readable": sorted(self._readable_names)}

    @classmethod
    def rebuild(cls, rows: LabelledRows, structure: Mapping[str, Any]) -> Self:
        """Return the release of some records and the items that can be read."""
        fields = fields_of_rows(rows)
        readable, known = structure.get("readable"), fields["vocabulary"]
        if not isinstance(readable, list) or not all(
            isinstance(n, str) and n in known for n in readable
        ):
            raise ReleaseError("manifest.json is damaged: it does not say what can be read")
        clear = set(readable)
        flags = np.array([name in clear for name in known.names], dtype=bool)
        return cls(**fields, readable=flags)

    # --- its words -----------------------------------------------------------------------------

    def account_for(self, found: Occurrences, taxonomy: Taxonomy | None, k: int | None) -> Account:
        """Return what became of every original item, for the owner."""
        clear = self._readable_names
        exact = found.among(clear)
        stays, coded = int(np.count_nonzero(exact)), int(np.count_nonzero(~exact))
        cut = support_cut(found, exact, ~exact, k)
        if not coded:
            headline = f"Shows all {plural(stays, 'item')} by name."
        elif not stays:
            headline = (
                f"Replaces all {plural(coded, 'item')} by codes: the same item always has the same "
                "code, and only you know which."
            )
        else:
            shared = "" if cut is None else f" that at least {plural(cut, 'record')} share"
            headline = (
                f"Shows {'the ' if shared else ''}{plural(stays, 'item')}{shared} by name and "
                f"replaces the other {number(coded)} by codes."
            )
        return found.account(
            kept=exact,
            coarser=~exact,
            became=tuple(
                "stays as it is" if same else "shown as a code" for same in exact.tolist()
            ),
            headline=headline,
            stays=items_that_stay(found, exact),
            coarse=f"{plural(coded, 'item')} {one_or_many(coded, 'is', 'are')} shown as codes; no "
            "record loses an item."
            if coded
            else "",
            computable=(
                exact_counts(stays),
                "Exactly: counts of codes. What a code stands for is not said." if coded else "",
            ),
            treat=lambda items: [item if item in clear else CODE for item in items],
        )

    def export(self) -> Export:
        """Return the release as plain tables with their dictionary and an example."""
        tags = self.terms("tag", "an item whose name is hidden")
        terms = [
            item if readable else tag
            for item, tag, readable in zip(self.terms(), tags, self.readable.tolist(), strict=True)
        ]
        return export_records(
            self,
            self.labelled_rows,
            terms,
            meaning="Each record is one person's set of items. An item is written by its name, or "
            "by a tag that hides the name. The same tag is always the same item.",
        )


def _columns(table: TransactionTable) -> dict[str, bytes]:
    """Return for each item that occurs the records that hold it."""
    rows = RowsByItem.of(table.offsets, table.items, table.n_items)
    return {
        table.vocabulary[i]: np.unique(rows.holding(i)).tobytes()
        for i in occurring(table.items).tolist()
    }


def greatest_support(covers: Sequence[int], size: int, *, steps: int = STEPS) -> tuple[int, bool]:
    """Return the most records that any `size` of some sets have in common.

    Parameters
    ----------
    covers
        Sets of records, one bit per record.
    size
        How many of them are met, at least one.
    steps
        How many combinations are looked at before an upper bound must do.

    Returns
    -------
    tuple of int and bool
        The number, and whether it is exact.

    Examples
    --------
    >>> greatest_support([0b0111, 0b0110, 0b1110], 2)
    (2, True)
    >>> greatest_support([0b0111, 0b0110, 0b1110], 2, steps=0)
    (3, False)
    """
    if len(covers) < size:
        return 0, True
    ordered = sorted(covers, key=int.bit_count, reverse=True)
    supports = [cover.bit_count() for cover in ordered]
    best = 0
    # What is met so far, the next set to take or pass over, and how many are still to be taken.
    # Sets come by descending size, so that the first that is too small ends a branch.
    branches: list[tuple[int, int, int]] = [(-1, 0, size)]
    while branches:
        met, place, missing = branches.pop()
        if place > len(ordered) - missing or supports[place] <= best:
            continue
        if steps == 0:
            return supports[size - 1], False
        steps -= 1
        branches.append((met, place + 1, missing))
        common = met & ordered[place]
        if common.bit_count() > best:
            if missing == 1:
                best = common.bit_count()
            else:
                branches.append((common, place + 1, missing - 1))
    return best, True


def publish_encoded(
    table: TransactionTable,
    codes: Mapping[str, str],
    *,
    readable: Iterable[str] = (),
) -> tuple[EncodedRelease, Key]:
    """Publish every record with its items replaced by their codes, in canonical order.

    Parameters
    ----------
    table
        The original records. An item that a record holds several times is published once.
    codes
        For each item that occurs what is published for it: its tag, or itself. All differ.
    readable
        The items whose code is their name.

    Returns
    -------
    tuple of EncodedRelease and Key
        What may be published, and the private link: which original stands behind each record,
        and what each tag stands for.

    Examples
    --------
    >>> table = TransactionTable.from_rows([["a"], ["b", "a"]])
    >>> release, key = publish_encoded(table, {"a": "9c", "b": "02"})
    >>> release.to_rows(), key.records.tolist(), key.names
    ([['02', '9c'], ['9c']], [1, 0], ('b', 'a'))
    """
    clear = set(readable)
    used = occurring(table.items)
    items = [table.vocabulary[i] for i in used.tolist()]
    published = [codes[item] for item in items]
    if len(set(published)) < len(published) or any(codes[item] != item for item in clear):
        raise ParameterError(
            "items have the same code, or a readable one has another name",
            fix="give every item a code of its own, and readable ones their name",
        )
    ordered = sorted(range(len(items)), key=published.__getitem__)
    place = np.zeros(table.n_items, dtype=np.int32)
    place[used[ordered]] = np.arange(len(ordered))
    names = tuple(items[i] for i in ordered)
    release, key = EncodedRelease.of_recoded(
        table,
        place,
        [published[i] for i in ordered],
        readable=np.array([name in clear for name in names], dtype=bool),
    )
    return release, replace(key, names=names)
