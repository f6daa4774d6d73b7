"""The published records in one shape, whatever form the release has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.core.errors import NotApplicable
from setveil.data.naming import fresh_id
from setveil.data.table import Int32Array, Int64Array, TransactionTable, frozen
from setveil.release.disassociated import DisassociatedRelease
from setveil.release.encoded import EncodedRelease
from setveil.release.generalized import GeneralizedRelease
from setveil.release.grouped import GroupedRelease
from setveil.release.item_traces import GroupedItems, PlainItems, TaggedItems, TreeItems
from setveil.release.perturbed import PerturbedRelease
from setveil.release.rows import distinct_in_rows
from setveil.release.set_generalized import SetGeneralizedRelease
from setveil.release.split import SplitRelease
from setveil.release.suppressed import SuppressedRelease

if TYPE_CHECKING:
    import numpy.typing as npt

    from setveil.release.base import Release
    from setveil.release.item_traces import Finder


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedRows:
    """The published records as sets of numbers, with what the numbers stand for.

    Parameters
    ----------
    offsets
        Record `j` is ``items[offsets[j]:offsets[j + 1]]``.
    items
        Numbers of published items, ascending and distinct within a record.
    names
        What a reader sees, one text per number; some numbers may occur in no record.
    ids
        Distinct texts, one per number.
    exact
        Which numbers stand for one original item, and not for a category of several.
    finder
        What tells where an original item stands; by the ids if not given.

    Examples
    --------
    >>> rows = published_rows(TransactionTable.from_rows([["flu", "asthma"], ["flu"]]))
    >>> len(rows), rows.items.tolist(), rows.names
    (2, [0, 1, 1], ('asthma', 'flu'))
    """

    offsets: Int64Array
    items: Int32Array
    names: tuple[str, ...]
    ids: tuple[str, ...]
    exact: npt.NDArray[np.bool_]
    finder: Finder | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", frozen(self.offsets, np.int64))
        object.__setattr__(self, "items", frozen(self.items, np.int32))
        object.__setattr__(self, "exact", frozen(self.exact, np.bool_))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> Int64Array:
        """Number of distinct published items of each record."""
        return np.diff(self.offsets)

    def supports(self) -> Int64Array:
        """Return for each number how many records hold it."""
        return np.bincount(self.items, minlength=len(self.names))

    def number(self, item: str) -> int | None:
        """Return the number under which an original item is published as itself.

        None says that no record shows the item as itself: it may have been suppressed, stand
        behind a category, or never have been there.

        >>> rows = published_rows(TransactionTable.from_rows([["flu"]]))
        >>> rows.number("flu"), rows.number("gout")
        (0, None)
        """
        own = self.standing(item).own
        return own[0] if own else None

    def standing(self, item: str) -> Standing:
        """Return the numbers that occur and may stand for an original item.

        >>> published_rows(TransactionTable.from_rows([["flu"]])).standing("flu")
        Standing(own=(0,), above=(), alike=(), located=True)
        """
        trace = (self.finder or PlainItems(self.ids)).find(item)
        own, above, alike = (
            tuple(number for each in ids if (number := self._occurring.get(each)) is not None)
            for ids in (trace.own, trace.above, trace.alike)
        )
        return Standing(own, above, alike, trace.located)

    @cached_property
    def _occurring(self) -> dict[str, int]:
        return {self.ids[i]: i for i in np.flatnonzero(self.supports()).tolist()}


class Standing(NamedTuple):
    """A :class:`~setveil.release.item_traces.Trace` in numbers of published items that occur."""

    own: tuple[int, ...]
    above: tuple[int, ...]
    alike: tuple[int, ...]
    located: bool

    @property
    def is_plain(self) -> bool:
        """Whether records show the item as itself, or nothing of it."""
        return len(self.own) < 2 and not self.above and not self.alike


@singledispatch
def published_rows(published: Release | TransactionTable) -> PublishedRows:
    """Return the published records as sets of numbers: one view for every form.

    The numbers are those of a table's vocabulary or of a generalized release's tree. A form
    that is not known here is read by its ``to_rows``.

    >>> from setveil.data import Taxonomy
    >>> from setveil.release import publish_groups
    >>> tree = Taxonomy.balanced(["a", "b"])
    >>> release, _ = publish_groups(tree, group_offsets=[0, 3], group_nodes=[0, 0, 1],
    ...                             group_of=[0], hides=True)
    >>> rows = published_rows(release)
    >>> [rows.names[i] for i in rows.items.tolist()], rows.number("a"), rows.number("b")
    (['group 1.1', 'a'], 1, None)
    """
    return _of_table(TransactionTable.from_rows(published.to_rows()))


@published_rows.register(TransactionTable)
def _of_table(published: TransactionTable) -> PublishedRows:
    offsets, items = distinct_in_rows(published.offsets, published.items)
    names = published.vocabulary.names
    return PublishedRows(
        offsets=offsets, items=items, names=names, ids=names, exact=np.ones(len(names), dtype=bool)
    )


@published_rows.register(SuppressedRelease)
@published_rows.register(SplitRelease)
def _of_items(published: SuppressedRelease | SplitRelease) -> PublishedRows:
    return _of_table(published.to_table())


@published_rows.register(DisassociatedRelease)
def _of_chunks(published: DisassociatedRelease) -> PublishedRows:
    raise NotApplicable(
        f"a release of {len(published):,} records in chunks does not show them as rows",
        fix="ask for disassociated or safe-disassociated instead",
    )


@published_rows.register(GroupedRelease)
def _of_groups(published: GroupedRelease) -> PublishedRows:
    raise NotApplicable(
        f"a release of {len(published):,} records in groups does not show whole records",
        fix="ask for privacy-degree instead",
    )


@published_rows.register(PerturbedRelease)
def _of_perturbed(published: PerturbedRelease) -> PublishedRows:
    raise NotApplicable(
        f"the items of a release of {len(published):,} randomized records are true only by chance, "
        "so counting them decides nothing",
        fix="attack it instead: noise-filter, public-records",
    )


@published_rows.register(EncodedRelease)
def _of_encoded(published: EncodedRelease) -> PublishedRows:
    rows, readable = _of_table(published.to_table()), published.readable
    return replace(rows, exact=readable, finder=TaggedItems(rows.names, readable.tolist()))


@published_rows.register(SetGeneralizedRelease)
def _of_sets(published: SetGeneralizedRelease) -> PublishedRows:
    rows = _of_table(published.to_table())
    # An item in clear goes by its own name, which may be written like a set.
    taken = {group[0] for group in published.groups if len(group) == 1}
    ids = tuple(
        group[0] if len(group) == 1 else fresh_id(label, taken, "*")
        for group, label in zip(published.groups, rows.names, strict=True)
    )
    finder = GroupedItems(published.groups, ids)
    return replace(rows, ids=ids, exact=published.is_trivial, finder=finder)


@published_rows.register(GeneralizedRelease)
def _of_generalized(published: GeneralizedRelease) -> PublishedRows:
    tree = published.tree
    offsets, items = distinct_in_rows(published.offsets, published.nodes)
    return PublishedRows(
        offsets=offsets,
        items=items,
        names=tree.names,
        ids=tree.ids,
        exact=tree.is_leaf,
        finder=TreeItems(tree),
    )
