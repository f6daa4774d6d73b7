"""Releases in parts: each part is a release of the same form, and the whole answers by them.

What a release says about a record depends on the record and on what is published at all. A part
is therefore some of the records beside everything that the whole release publishes
(:meth:`~setveil.release.base.Release.with_records`). What is asked of the whole is asked of each
part, and the answers are merged. In memory there is one part; a cluster of machines has many.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from setveil.core.errors import NotApplicable
from setveil.core.records import Records, Rows, add_lengths
from setveil.release.account import Content, content_of_items
from setveil.release.base import FORMS, Bounds, Part, Release, rebuild
from setveil.release.data_file import LabelledRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from setveil.core.arrays import FloatArray, Int64Array
    from setveil.core.records import Parts
    from setveil.core.table import TransactionTable, Vocabulary
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Key
    from setveil.release.generalized import GeneralizedRelease
    from setveil.release.set_generalized import SetGeneralizedRelease
    from setveil.release.views import Images, LabelCounts, ShownClasses


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PartedRelease(Release):
    """A release of which only parts are ever in one place.

    Parameters
    ----------
    parts
        The parts. Its sample is a release of the same form with each published item alone in a
        record. It answers what does not depend on the records, the parts answer the rest. What
        needs all records at once is not applicable.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.core.records import Whole
    >>> from setveil.release import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["gout"]])
    >>> release = publish_suppressed(table, [True, True])[0]
    >>> parted = PartedRelease(parts=Whole(Part(release, np.arange(2))))
    >>> len(parted), parted.expected_support(["gout"]), parted.label_counts().occurrences.tolist()
    (2, 2.0, [1, 2])
    """

    parts: Parts[Part]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of the form {self.form}>"

    @property
    def sample(self) -> Release:
        """A release of the same form that shows all that is published."""
        return self.parts.sample.release

    @property
    def sketch(self) -> Release:
        """The same, of a form of which some records are a part."""
        check_parts(self.form)
        return self.sample

    @property
    def form(self) -> str:  # type: ignore[override]
        """The form of the whole and of each part."""
        return self.sample.form

    @property
    def generalizes(self) -> bool:  # type: ignore[override]
        """Whether a published term may stand for several original items."""
        return self.sample.generalizes

    @property
    def needs_taxonomy(self) -> bool:  # type: ignore[override]
        """Whether only the taxonomy tells what stands behind a published term."""
        return self.sample.needs_taxonomy

    @property
    def counted_in_worlds(self) -> bool:  # type: ignore[override]
        """Whether itemsets are counted in a random original."""
        return self.sample.counted_in_worlds

    def in_parts(self) -> Parts[Part]:
        """Return the parts, of a form of which some records are a part."""
        check_parts(self.form)
        return self.parts

    def parts_to_check(self) -> Parts[Release]:
        """Return the parts as releases, of any form."""
        return self.parts.map(attrgetter("release"))

    def __len__(self) -> int:
        return self._length

    @cached_property
    def _length(self) -> int:
        return self.parts.fold(_records_of, int.__add__, 0)

    def to_rows(self) -> list[list[str]]:
        """Refuse: the records are never in one place."""
        raise self.lacks("does not have its records in one place")

    # --- counts are sums over parts -------------------------------------------------------------

    def people(self) -> int:
        """Return how many people the records are about."""
        return self.in_parts().fold(_people_of, int.__add__, 0)

    def length_counts(self) -> Int64Array:
        """Return how many records publish 0, 1, 2 and so on items."""
        return self.in_parts().fold(_lengths_of, add_lengths, np.zeros(1, dtype=np.int64))

    def label_counts(self) -> LabelCounts:
        """Return how often each label is published, and what it stands for."""
        return self._label_counts

    @cached_property
    def _label_counts(self) -> LabelCounts:
        known = self.sketch.label_counts()
        counts = self.in_parts().fold(_labels_of, np.add, np.zeros_like(known.occurrences))
        return known._replace(occurrences=counts)

    def expected_supports(
        self, itemsets: Sequence[Sequence[str]], taxonomy: Taxonomy | None = None
    ) -> FloatArray:
        """Return the mean support of each of some itemsets over :meth:`sample_world`."""
        self.sketch.expected_supports(itemsets, taxonomy)  # refuses here, before any worker does
        function = partial(_expected_in, itemsets=itemsets, taxonomy=taxonomy)
        return self.in_parts().fold(function, np.add, np.zeros(len(itemsets)))

    def expected_support(self, itemset: Iterable[str], taxonomy: Taxonomy | None = None) -> float:
        """Return the mean of the support of `itemset` over :meth:`sample_world`."""
        return float(self.expected_supports([tuple(itemset)], taxonomy)[0])

    def support_bounds(self, itemset: Iterable[str], taxonomy: Taxonomy | None = None) -> Bounds:
        """Return the least and greatest support: records are independent, so bounds add up."""
        function = partial(_bounds_in, itemset=tuple(itemset), taxonomy=taxonomy)
        return self.in_parts().fold(function, _add_bounds, Bounds(low=0, high=0))

    def chunk_terms(self) -> frozenset[str]:
        """Return the terms that stand in some chunk."""
        self.sketch.as_chunks()
        return self.in_parts().fold(_chunk_terms_of, frozenset.union, frozenset())

    # --- what the sketch tells, with the counts of the whole ------------------------------------

    def images(
        self,
        original: Records,
        key: Key | None = None,
        taxonomy: Taxonomy | None = None,
        *,
        whole: Release | None = None,
    ) -> Images:
        """Return the images of all original occurrences, by the rule of the form."""
        return self.sketch.images(original, key, taxonomy, whole=self)

    def leaves_in_all(self, original: Records) -> int:
        """Return how many leaves a published item could stand for at most."""
        return self.sketch.leaves_in_all(original)

    def certain_table(self, original: Records, taxonomy: Taxonomy | None = None) -> Records:
        """Return the records with what they hold for certain, part by part."""
        alone = original.every_item()
        return PartedTable(
            rows=self.in_parts().map(partial(_certain_in, alone=alone, taxonomy=taxonomy)),
            vocabulary=self.sketch.certain_table(alone, taxonomy).vocabulary,
        )

    def shown_classes(self, original: Records, taxonomy: Taxonomy | None = None) -> ShownClasses:
        """Return the records over classes of items, part by part."""
        alone = original.every_item()
        shown = self.sketch.shown_classes(alone, taxonomy)
        table = PartedTable(
            rows=self.in_parts().map(partial(_classes_in, alone=alone, taxonomy=taxonomy)),
            vocabulary=shown.table.vocabulary,
        )
        return replace(shown, table=table)

    def may_come_from(self, original: Records) -> bool:
        """Tell whether the sizes alone do not rule out that `original` gave this release."""
        with suppress(NotApplicable):
            self.sketch.as_chunks()
            return len(self) == original.n_records
        return super().may_come_from(original)

    def content(self) -> Content:
        """Return what the release shows, where that is nothing; other shares are not counted."""
        with suppress(NotApplicable):
            self.sample.as_chunks()
            return Content()
        return content_of_items(self.sample) if self.sample.says_by_records else Content()

    def as_nodes(self) -> GeneralizedRelease:
        """Return the published nodes, each alone in a record."""
        return self.sketch.as_nodes()

    def as_sets(self) -> SetGeneralizedRelease:
        """Return the generalized items, each alone in a record."""
        return self.sketch.as_sets()

    def lacks(self, what: str, fix: str = "") -> NotApplicable:
        """Return the error that says what cannot be asked of parts."""
        return NotApplicable(
            f"a release of the form {self.form!r} in parts {what}", fix=fix or "use --engine local"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class PartedTable(Records):
    """Records that parts of a release give, all over the same vocabulary.

    Parameters
    ----------
    rows
        The records.
    vocabulary
        The names behind their numbers.
    """

    rows: Parts[Rows]
    vocabulary: Vocabulary

    @property
    def parts(self) -> Parts[Rows]:
        """The records."""
        return self.rows

    @cached_property
    def n_records(self) -> int:
        """Number of records."""
        return int(self.length_counts().sum())

    @property
    def longest(self) -> int:
        """The greatest number of items of a record."""
        return len(self.length_counts()) - 1

    def supports(self) -> Int64Array:
        """Return for each item the number of records that hold it."""
        return self.itemset_supports([(name,) for name in self.vocabulary.names])

    def rows_at(self, places: Iterable[int]) -> Rows:
        """Refuse: these records have no places."""
        raise NotApplicable("records of parts have no places")

    def table_of(self, places: Iterable[int] | None) -> TransactionTable:
        """Refuse: these records have no places."""
        raise NotApplicable("records of parts have no places")

    def empty_places(self) -> Int64Array:
        """Refuse: these records have no places."""
        raise NotApplicable("records of parts have no places")


def check_parts(form: str) -> None:
    """Refuse a form whose records do not say by themselves what they say.

    >>> check_parts("grouped")
    Traceback (most recent call last):
    setveil.core.errors.NotApplicable: releases of the form 'grouped' are not cut into parts: ...
    """
    if form in FORMS and not FORMS[form].says_by_records:
        raise NotApplicable(
            f"releases of the form {form!r} are not cut into parts: what a record says depends "
            "on others",
            fix="use --engine local",
        )


def sketch_of(form: str, labels: Iterable[str], structure: Mapping[str, Any]) -> Release:
    """Return a release of a form with each published label alone in a record.

    The structure is that of a manifest, which rebuilding the form checks.

    >>> sketch_of("suppressed", ["flu", "gout"], {}).to_rows()
    [['flu'], ['gout']]
    """
    nodes, place = structure.get("nodes"), {}
    if isinstance(nodes, list) and all(isinstance(node, dict) for node in nodes):
        place = {str(node.get("id")): v for v, node in enumerate(nodes)}
    ordered = sorted(labels, key=lambda label: (place.get(label, 0), label))
    return rebuild(form, LabelledRows.of([label] for label in ordered), structure)


# --- what is asked of a part (by name: workers find these) ----------------------------------------


def _records_of(part: Part) -> int:
    return len(part.release)


def _people_of(part: Part) -> int:
    return part.release.people()


def _lengths_of(part: Part) -> Int64Array:
    return part.release.length_counts()


def _labels_of(part: Part) -> Int64Array:
    return part.release.label_counts().occurrences


def _expected_in(
    part: Part, itemsets: Sequence[Sequence[str]], taxonomy: Taxonomy | None
) -> FloatArray:
    return part.release.expected_supports(itemsets, taxonomy)


def _bounds_in(part: Part, itemset: Sequence[str], taxonomy: Taxonomy | None) -> Bounds:
    return part.release.support_bounds(itemset, taxonomy)


def _add_bounds(one: Bounds, other: Bounds) -> Bounds:
    return Bounds(
        low=one.low + other.low, high=one.high + other.high, tight=one.tight and other.tight
    )


def _chunk_terms_of(part: Part) -> frozenset[str]:
    return part.release.chunk_terms()


def _certain_in(part: Part, alone: TransactionTable, taxonomy: Taxonomy | None) -> Rows:
    return _rows(part.release.certain_table(alone, taxonomy))


def _classes_in(part: Part, alone: TransactionTable, taxonomy: Taxonomy | None) -> Rows:
    return _rows(part.release.shown_classes(alone, taxonomy).table)


def _rows(records: Records) -> Rows:
    """Return the records of a part, which are all here."""
    table = cast("TransactionTable", records)
    return Rows(table.offsets, table.items)
