"""The published records in one shape, whatever form the release has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from typing import TYPE_CHECKING

import numpy as np

from setveil.data.table import Int32Array, Int64Array, TransactionTable, frozen
from setveil.errors import InputError, NotApplicable
from setveil.release.disassociated import DisassociatedRelease
from setveil.release.encoded import EncodedRelease
from setveil.release.generalized import GeneralizedRelease
from setveil.release.grouped import GroupedRelease
from setveil.release.perturbed import PerturbedRelease
from setveil.release.rows import distinct_in_rows
from setveil.release.set_generalized import SetGeneralizedRelease
from setveil.release.split import SplitRelease
from setveil.release.suppressed import SuppressedRelease

if TYPE_CHECKING:
    import numpy.typing as npt

    from setveil.release.base import Release


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
    known_as
        The text that an original item is asked for by, one per number; the ids if not given. An
        item that is an interior node of its tree is published as a private leaf below it, whose
        own id is a technical one that may be the name of another item.

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
    known_as: tuple[str, ...] | None = None

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
        found = self._by_id.get(item)
        named = [found] if found is not None else self._by_name.get(item, [])
        if len(named) > 1:
            raise InputError(
                f"the name {item!r} stands for {len(named)} published items",
                fix="use the item's id instead of its name",
            )
        return named[0] if named else None

    @cached_property
    def _own(self) -> list[int]:
        """The numbers that occur and stand for one original item."""
        return np.flatnonzero(self.exact & (self.supports() > 0)).tolist()

    @cached_property
    def _by_id(self) -> dict[str, int]:
        known = self.ids if self.known_as is None else self.known_as
        return {known[i]: i for i in self._own}

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for i in self._own:
            found.setdefault(self.names[i], []).append(i)
        return found


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
    return replace(_of_table(published.to_table()), exact=published.readable)


@published_rows.register(SetGeneralizedRelease)
def _of_sets(published: SetGeneralizedRelease) -> PublishedRows:
    rows = _of_table(published.to_table())
    # An item in clear goes by its own name, however that is written.
    ids = (
        group[0] if len(group) == 1 else label
        for group, label in zip(published.groups, rows.names, strict=True)
    )
    return replace(rows, ids=tuple(ids), exact=published.is_trivial)


@published_rows.register(GeneralizedRelease)
def _of_generalized(published: GeneralizedRelease) -> PublishedRows:
    tree = published.tree
    offsets, items = distinct_in_rows(published.offsets, published.nodes)
    item_of = np.where(tree.pseudo, tree.parents, np.arange(len(tree)))
    return PublishedRows(
        offsets=offsets,
        items=items,
        names=tree.names,
        ids=tree.ids,
        exact=tree.is_leaf,
        known_as=tuple(tree.ids[v] for v in item_of.tolist()),
    )
