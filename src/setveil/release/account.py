"""What became of every original item, told to the owner: what stays, what is coarser, what is gone.

Other than :mod:`setveil.release.content`, which looks at a release as a stranger sees it, this
compares the release with the original through the key. It is for the owner's eyes only.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from setveil.core.errors import NotApplicable
from setveil.core.table import TransactionTable
from setveil.core.taxonomy import Taxonomy
from setveil.core.words import join_names, join_parts, number, one_or_many, plural
from setveil.release.base import Key
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
    from collections.abc import Callable, Sequence

    from setveil.core.table import Int64Array
    from setveil.release.base import Release

REMOVED = "(removed)"
CODE = "(code)"
ENTRY = "one item of one record"
MEMBERS = 3
"""Members of a set of items that are named."""
NAMED = 3
"""Items that a sentence names."""
ADDED = 3
"""Invented items that an example names."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Account:
    """What a release did with each item that occurs in the original.

    Parameters
    ----------
    names, records
        The items, and how many original records hold each.
    kept
        In how many of these records the release shows the item itself.
    coarser
        In how many it shows only something wider: a group, a code, a list without counts.
    gone
        In how many it shows nothing of the item.
    became
        For each item what became of it, in a few words.
    headline
        One sentence for the owner.
    stays, coarse, lost
        Sentences about what stays, becomes coarser, is gone; "" where there is no such item.
    computable
        Sentences about what a recipient can still count.
    treat
        Tells how the release shows a record with some items: as lines of text.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release.suppressed import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu"], ["flu", "hiv"], ["flu"]])
    >>> release, key = publish_suppressed(table, [True, False])
    >>> account = account_of(release, table, key)
    >>> account.headline
    'Keeps the one item that at least 3 records share as it is and removes the other one.'
    >>> account.treat(["flu", "hiv"])
    ['flu', '(removed)']
    """

    names: tuple[str, ...]
    records: Int64Array
    kept: Int64Array
    coarser: Int64Array
    gone: Int64Array
    became: tuple[str, ...]
    headline: str
    stays: str = ""
    coarse: str = ""
    lost: str = ""
    computable: tuple[str, ...] = ()
    treat: Callable[[Sequence[str]], list[str]] = field(default=list)

    def affected(self, most: int = 10) -> list[tuple[str, int, str]]:
        """Return the items that changed in most records, with their records and what they became.

        They are ordered by the number of records that hold them.
        """
        changed = self.coarser + self.gone
        first = np.argsort(-changed, kind="stable")[:most]
        first = first[changed[first] > 0]
        ordered = first[np.argsort(-self.records[first], kind="stable")].tolist()
        return [(self.names[i], int(self.records[i]), self.became[i]) for i in ordered]


@dataclass(frozen=True, kw_only=True, eq=False)
class Occurrences:
    """The original records without repetitions, in the order of the published ones.

    Parameters
    ----------
    items
        Numbers of the items that occur, ascending.
    names, records
        Their names, and how many records hold each.
    row
        For each entry (one item of one record) the published record.
    place
        For each entry the place of its item in `items`.
    """

    items: Int64Array
    names: tuple[str, ...]
    records: Int64Array
    row: Int64Array
    place: Int64Array

    @classmethod
    def of(cls, original: TransactionTable, key: Key) -> Occurrences:
        """Return the entries of a table; records that the key does not name come last."""
        offsets, numbers = distinct_in_rows(original.offsets, original.items)
        supports = np.bincount(numbers, minlength=original.n_items)
        items = np.flatnonzero(supports)
        place = np.zeros(original.n_items, dtype=np.int64)
        place[items] = np.arange(len(items))
        row_of = np.full(len(original), len(key), dtype=np.int64)
        if not key.parts:
            row_of[key.records] = np.arange(len(key))
        return cls(
            items=items,
            names=tuple(original.vocabulary[i] for i in items.tolist()),
            records=supports[items],
            row=np.repeat(row_of, np.diff(offsets)),
            place=place[numbers],
        )

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self.row)

    def counted(self, chosen: Int64Array) -> Int64Array:
        """Return for each item how many of some entries, named by their places, are its own."""
        return np.bincount(self.place[chosen], minlength=len(self.items))


@singledispatch
def account_of(
    release: Release,
    original: TransactionTable,
    key: Key,
    taxonomy: Taxonomy | None = None,
    *,
    k: int | None = None,
) -> Account:
    """Return what a release did with the items of its original.

    Parameters
    ----------
    release, original, key
        What was published, from what, and which record stands behind which.
    taxonomy
        The tree that the release was made with.
    k
        The promised number of records: named where it separates what stays from what is removed.

    Raises
    ------
    NotApplicable
        The form is not one of setveil's own.
    """
    raise NotApplicable(f"setveil cannot tell what a release of the form {release.form!r} changed")


# --- one image for every item -----------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class _Images:
    """One image for each item that occurs: global recoding, and what is like it.

    Parameters
    ----------
    found
        The original entries.
    shown
        What is published in place of each item: its own name, a wider one, "" for nothing.
    exact
        Whether that stands for the item and no other.
    wider
        What something is called that stands for several items, and several of these.
    emptied
        How many of `total` records lost all their items.
    k
        As in :func:`account_of`.
    """

    found: Occurrences
    shown: tuple[str, ...]
    exact: Flags
    wider: tuple[str, str] = ("broader term", "broader terms")
    emptied: int = 0
    total: int = 0
    k: int | None = None

    def account(self) -> Account:
        exact = self.exact
        gone = np.array([not text for text in self.shown], dtype=bool)
        wide = ~exact & ~gone
        records = self.found.records
        image = dict(zip(self.found.names, self.shown, strict=True))
        return Account(
            names=self.found.names,
            records=records,
            kept=records * exact,
            coarser=records * wide,
            gone=records * gone,
            became=tuple(
                "stays as it is" if same else f"shown as {text!r}" if text else "removed"
                for same, text in zip(exact.tolist(), self.shown, strict=True)
            ),
            headline=self._headline(exact, wide, gone),
            stays=_stay(self.found, exact),
            coarse=self._coarse(wide),
            lost=_removed(self.found, gone) + _left_empty(self.emptied, self.total),
            computable=self._computable(exact, wide, gone),
            treat=lambda items: [image.get(item) or REMOVED for item in items],
        )

    def _headline(self, exact: Flags, wide: Flags, gone: Flags) -> str:
        stays, broader, removed = (int(np.count_nonzero(each)) for each in (exact, wide, gone))
        if not broader:
            return _kept_and_removed(self.found, exact, gone, self.k)
        most = int(np.argmax(np.where(wide, self.found.records, -1)))
        example = f"({self.found.names[most]!r} → {self.shown[most]!r})"
        parts = [
            f"Keeps {plural(stays, 'item')} as {one_or_many(stays, 'it is', 'they are')}"
            if stays
            else "Keeps no item as it is",
            (
                f"{number(broader)} {one_or_many(broader, 'is', 'are')} replaced by "
                f"{one_or_many(broader, f'a {self.wider[0]}', self.wider[1])} {example}"
            ),
        ]
        if removed:
            rare = _cut(self.found, exact | wide, gone, self.k) is not None
            which = f"the {number(removed)} rarest" if rare else number(removed)
            parts.append(f"{which} {one_or_many(removed, 'is', 'are')} removed")
        return "; ".join(parts) + "."

    def _coarse(self, wide: Flags) -> str:
        count = int(np.count_nonzero(wide))
        if not count:
            return ""
        labels = Counter(text for text, flag in zip(self.shown, wide, strict=True) if flag)
        are = one_or_many(count, "is", "are")
        label, members = max(labels.items(), key=lambda each: (each[1], each[0]))
        if len(labels) == 1:
            return f"{plural(count, 'item')} {are} shown only as {label!r}."
        return (
            f"{plural(count, 'item')} {are} shown only as one of "
            f"{plural(len(labels), *self.wider)}; the widest, {label!r}, takes the place of "
            f"{number(members)}."
        )

    def _computable(self, exact: Flags, wide: Flags, gone: Flags) -> tuple[str, ...]:
        said = [_exactly(int(np.count_nonzero(exact)))]
        if wide.any():
            said.append(
                "An upper limit for each item that was replaced: the number of records that show "
                f"its {self.wider[0]}."
            )
        return tuple(filter(None, [*said, _nothing(int(np.count_nonzero(gone)))]))


@account_of.register
def _of_suppressed(
    release: SuppressedRelease,
    original: TransactionTable,
    key: Key,
    taxonomy: Taxonomy | None = None,
    *,
    k: int | None = None,
) -> Account:
    found = Occurrences.of(original, key)
    exact = np.array([name in release.vocabulary for name in found.names], dtype=bool)
    return _Images(
        found=found,
        shown=tuple(name if same else "" for name, same in zip(found.names, exact, strict=True)),
        exact=exact,
        emptied=_count_emptied(release.offsets, original),
        total=len(original),
        k=k,
    ).account()


@account_of.register
def _of_sets(
    release: SetGeneralizedRelease,
    original: TransactionTable,
    key: Key,
    taxonomy: Taxonomy | None = None,
    *,
    k: int | None = None,
) -> Account:
    found = Occurrences.of(original, key)
    groups = [release.group_of(name) for name in found.names]
    return _Images(
        found=found,
        shown=tuple("" if g is None else _one_of(release.members(g)) for g in groups),
        exact=np.array([g is not None and bool(release.is_trivial[g]) for g in groups], dtype=bool),
        wider=("group of items", "groups of items"),
        emptied=_count_emptied(release.offsets, original),
        total=len(original),
        k=k,
    ).account()


def _one_of(members: Sequence[str]) -> str:
    """Return a set of items as a reader says it: one of these.

    >>> _one_of(("flu",)), _one_of(("cold", "flu")), _one_of(("a", "b", "c", "d", "e"))
    ('flu', 'cold or flu', 'a, b, c or 2 others')
    """
    more = len(members) - MEMBERS
    if more > 0:
        return f"{', '.join(members[:MEMBERS])} or {plural(more, 'other')}"
    return " or ".join(filter(None, [", ".join(members[:-1]), members[-1]]))


@account_of.register
def _of_encoded(
    release: EncodedRelease,
    original: TransactionTable,
    key: Key,
    taxonomy: Taxonomy | None = None,
    *,
    k: int | None = None,
) -> Account:
    found = Occurrences.of(original, key)
    clear = {release.vocabulary[i] for i in np.flatnonzero(release.readable).tolist()}
    exact = np.array([name in clear for name in found.names], dtype=bool)
    stays, coded = int(np.count_nonzero(exact)), int(np.count_nonzero(~exact))
    records = found.records
    cut = _cut(found, exact, ~exact, k)
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
            f"Shows {'the ' if shared else ''}{plural(stays, 'item')}{shared} by name and replaces "
            f"the other {number(coded)} by codes."
        )
    return Account(
        names=found.names,
        records=records,
        kept=records * exact,
        coarser=records * ~exact,
        gone=np.zeros_like(records),
        became=tuple("stays as it is" if same else "shown as a code" for same in exact.tolist()),
        headline=headline,
        stays=_stay(found, exact),
        coarse=f"{plural(coded, 'item')} {one_or_many(coded, 'is', 'are')} shown as codes; no "
        "record loses an item."
        if coded
        else "",
        computable=tuple(
            filter(
                None,
                (
                    _exactly(stays),
                    "Exactly: counts of codes. What a code stands for is not said."
                    if coded
                    else "",
                ),
            )
        ),
        treat=lambda items: [item if item in clear else CODE for item in items],
    )


# --- items of a taxonomy ----------------------------------------------------------------------


@account_of.register
def _of_generalized(
    release: GeneralizedRelease,
    original: TransactionTable,
    key: Key,
    taxonomy: Taxonomy | None = None,
    *,
    k: int | None = None,
) -> Account:
    tree = release.tree if taxonomy is None else taxonomy
    found = Occurrences.of(original, key)
    leaf = np.zeros(original.n_items, dtype=np.int64)
    items, leaves = release.leaves_of(original, tree)
    leaf[items] = leaves
    nodes = release.nodes_in(tree).astype(np.int64)
    used = np.unique(nodes)
    if (release.whole or not release.hides) and np.all(tree.ends[used[:-1]] <= used[1:]):
        image = _up_to_one_of(tree, leaf[found.items], used)
        text = [
            name if v >= 0 and tree.leaves[v] == 1 else tree.names[v] if v >= 0 else ""
            for name, v in zip(found.names, image.tolist(), strict=True)
        ]
        return _Images(
            found=found,
            shown=tuple(text),
            exact=(image >= 0) & (tree.leaves[image] == 1),
            emptied=_count_emptied(release.offsets, original),
            total=len(original),
            k=k,
        ).account()
    width = np.int64(len(tree))
    published = np.repeat(np.arange(len(release)), np.diff(release.offsets)) * width + nodes
    # Record and node in one number: an entry climbs from its leaf until its record shows a node.
    image = _up_to_one_of(tree, leaf[found.items][found.place], np.unique(published), found.row)
    return _Local(release=release, tree=tree, found=found, image=image, original=original).account()


def _up_to_one_of(
    tree: Taxonomy, leaves: Int64Array, wanted: Int64Array, rows: Int64Array | None = None
) -> Int64Array:
    """Return for each leaf the lowest node at or above it that is wanted, or -1.

    With `rows`, `wanted` holds record and node in one number, and each leaf asks for its record's.
    """
    width = 0 if rows is None else len(tree)
    image = np.full(len(leaves), -1, dtype=np.int64)
    here, node = np.arange(len(leaves)), leaves.astype(np.int64)
    while len(here) and len(wanted):
        asked = node if rows is None else rows[here] * width + node
        place = np.minimum(np.searchsorted(wanted, asked), len(wanted) - 1)
        met = wanted[place] == asked
        image[here[met]] = node[met]
        up = tree.parents[node].astype(np.int64)
        climbs = ~met & (node > 0)
        here, node = here[climbs], up[climbs]
    return image


@dataclass(frozen=True, kw_only=True, eq=False)
class _Local:
    """Records that are generalized each in its own way: an item may have several images.

    Parameters
    ----------
    release, tree, found, original
        What is told about.
    image
        For each original entry the lowest published node above it in its record, or -1.
    """

    release: GeneralizedRelease
    tree: Taxonomy
    found: Occurrences
    image: Int64Array
    original: TransactionTable

    @property
    def is_bag(self) -> bool:
        """Whether a published node stands for one item, so that others below it were removed."""
        return self.release.hides and not self.release.whole

    def account(self) -> Account:
        found, image = self.found, self.image
        same = (image >= 0) & (self.tree.leaves[image] == 1)
        kept = found.counted(np.flatnonzero(same))
        coarser = found.counted(np.flatnonzero((image >= 0) & ~same))
        gone = found.counted(np.flatnonzero(image < 0))
        commonest, several = self._commonest_images(same)
        became = tuple(
            self._became(*each)
            for each in zip(
                kept.tolist(), coarser.tolist(), gone.tolist(), commonest, several, strict=True
            )
        )
        return Account(
            names=found.names,
            records=found.records,
            kept=kept,
            coarser=coarser,
            gone=gone,
            became=became,
            **self._sentences(kept, coarser, commonest),
            treat=self._treatment(kept, coarser, gone, commonest),
        )

    def _commonest_images(self, same: Flags) -> tuple[list[str], list[bool]]:
        """Return for each item its commonest wider image, and whether it has several."""
        width = np.int64(len(self.tree))
        wide = (self.image >= 0) & ~same
        pairs, times = np.unique(
            self.found.place[wide] * width + self.image[wide], return_counts=True
        )
        names, several = [""] * len(self.found.names), [False] * len(self.found.names)
        for at in np.argsort(times, kind="stable").tolist():  # the commonest is written last
            item, node = divmod(int(pairs[at]), int(width))
            several[item] = bool(names[item])
            names[item] = self.tree.names[node]
        return names, several

    def _became(self, kept: int, coarser: int, gone: int, image: str, several: bool) -> str:
        if not coarser + gone:
            return "stays as it is"
        if not kept + coarser:
            return "removed"
        wide = f"as a broader term, mostly {image!r}" if several else f"as {image!r}"
        if self.is_bag:
            wide += ", or not at all"
        if not kept + gone:
            return f"shown {wide}"
        parts = [
            f"as it is in {plural(kept, 'record')}" if kept else "",
            f"{wide}, in {number(coarser)}" if coarser else "",
            f"removed in {number(gone)}" if gone else "",
        ]
        return "; ".join(filter(None, parts))

    def _totals(self, kept: Int64Array, coarser: Int64Array) -> tuple[int, int, int]:
        """Return how many entries stay, become broader and are removed."""
        stay, broader = int(kept.sum()), int(coarser.sum())
        if self.is_bag:
            leaves = self.release.tree.leaves[self.release.nodes]
            broader = int(np.count_nonzero(leaves > 1))
        return stay, broader, len(self.found) - stay - broader

    def _sentences(
        self, kept: Int64Array, coarser: Int64Array, images: list[str]
    ) -> dict[str, Any]:
        stay, broader, removed = self._totals(kept, coarser)
        entries = f"{plural(len(self.found), 'entry', 'entries')} ({ENTRY})"
        parts = [f"{number(stay)} {one_or_many(stay, 'stays as it is', 'stay as they are')}"]
        if broader:
            most = int(np.argmax(coarser))
            parts.append(
                f"{number(broader)} {one_or_many(broader, 'becomes', 'become')} broader terms "
                f"({self.found.names[most]!r} → {images[most]!r})"
            )
        if removed:
            parts.append(f"{number(removed)} {one_or_many(removed, 'is', 'are')} removed")
        copies = _least(self.release.distinct.copies)
        opening = (
            f"Makes similar records equal, at least {copies} at a time: of" if copies > 1 else "Of"
        )
        everywhere = int(np.count_nonzero(kept == self.found.records))
        never = int(np.count_nonzero(kept + coarser == 0))
        terms = np.unique(self.image[self.image >= 0])
        wider = int(np.count_nonzero(self.tree.leaves[terms] > 1))
        emptied = _count_emptied(self.release.offsets, self.original)
        return {
            "headline": f"{opening} {entries}, {join_parts(parts)}.",
            "stays": f"{number(stay)} of {plural(len(self.found), 'entry', 'entries')} "
            f"{one_or_many(stay, 'stays as it is', 'stay as they are')}; {_so_many(everywhere)} "
            f"{one_or_many(everywhere or 1, 'does', 'do')} so in every record."
            if stay
            else "",
            "coarse": f"{plural(broader, 'entry', 'entries')} "
            f"{one_or_many(broader, 'is', 'are')} shown as one of "
            f"{plural(wider, 'broader term')}."
            if broader
            else "",
            "lost": f"{plural(removed, 'entry', 'entries')} "
            f"{one_or_many(removed, 'is', 'are')} removed; {_so_many(never)} "
            f"{one_or_many(never or 1, 'is', 'are')} removed from every record."
            + _left_empty(emptied, len(self.original))
            if removed
            else "",
            "computable": (self._limits(),),
        }

    def _limits(self) -> str:
        if self.release.hides:
            return (
                "A lower limit for each item: the records that show the item itself. How many more "
                "hold it stays open, because items were removed from some records only."
            )
        return (
            "Two limits for each item: at least the records that show the item itself, at most "
            "those that show it or a broader term for it."
        )

    def _treatment(
        self, kept: Int64Array, coarser: Int64Array, gone: Int64Array, images: list[str]
    ) -> Callable[[Sequence[str]], list[str]]:
        """Return what shows of each item what is shown of it most often."""
        usual = np.argmax(np.stack([kept, coarser, gone]), axis=0).tolist()
        shown = {
            name: (name, wide, REMOVED)[what]
            for name, wide, what in zip(self.found.names, images, usual, strict=True)
        }
        return lambda items: [shown.get(item, REMOVED) for item in items]


# --- records in pieces ------------------------------------------------------------------------


@account_of.register
def _of_chunks(
    release: DisassociatedRelease,
    original: TransactionTable,
    key: Key,
    taxonomy: Taxonomy | None = None,
    *,
    k: int | None = None,
) -> Account:
    found = Occurrences.of(original, key)
    deleted = Counter(name for _, name in key.removed)
    gone = np.array([deleted[name] for name in found.names], dtype=np.int64)
    kept = np.array(
        [
            len(release.rows_of(release.vocabulary.number(name)))
            if name in release.vocabulary
            else 0
            for name in found.names
        ],
        dtype=np.int64,
    )
    listed = found.records - kept - gone
    exact = kept == found.records
    sizes, pieces = release.sizes, int(release.chunk_offsets[-1])
    least = plural(_least(sizes), "person", "people")
    groups = (
        f"There is one group, of {least}."
        if len(sizes) == 1
        else f"There are {len(sizes):,} groups; the smallest has {least}."
    )
    total = int(listed.sum())
    deletions = int(gone.sum())
    return Account(
        names=found.names,
        records=found.records,
        kept=kept,
        coarser=listed,
        gone=gone,
        became=tuple(map(_became_pieces, kept.tolist(), listed.tolist(), gone.tolist())),
        headline="Cuts records into pieces and does not say which pieces belong to the same "
        f"person. {groups}",
        stays=f"{number(int(kept.sum()))} of {plural(len(found), 'entry', 'entries')} ({ENTRY}) "
        f"stand in {plural(pieces, 'piece')}, each as it was in a record.",
        coarse=f"{plural(total, 'entry', 'entries')} {one_or_many(total, 'is', 'are')} listed for "
        "a group only, without saying who holds the item or how many do; that concerns "
        f"{plural(int(np.count_nonzero(listed)), 'item')}."
        if total
        else "",
        lost=f"{plural(deletions, 'entry', 'entries')} {one_or_many(deletions, 'is', 'are')} "
        "removed."
        if deletions
        else "",
        computable=_computable_pieces(exact, listed),
        treat=lambda items: _pieces(release, items),
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
    said = []
    if count:
        said.append(
            "Exactly: how many records hold the item that always stands in pieces."
            if count == 1
            else f"Exactly: how many records hold each of the {number(count)} items that always "
            "stand in pieces."
        )
    if wide:
        said.append(
            f"Within limits: how many records hold the {plural(wide, 'item')} that some groups "
            "only list. Between one and all people of such a group have it."
        )
    said.append(
        "Combinations inside a piece are seen as they were; combinations across pieces can only be "
        "estimated, as if the pieces were independent."
    )
    return tuple(said)


def _pieces(release: DisassociatedRelease, items: Sequence[str]) -> list[str]:
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


@account_of.register
def _of_profiles(
    release: SplitRelease,
    original: TransactionTable,
    key: Key,
    taxonomy: Taxonomy | None = None,
    *,
    k: int | None = None,
) -> Account:
    found = Occurrences.of(original, key)
    shown = np.array([name in release.vocabulary for name in found.names], dtype=bool)
    count, removed = int(np.count_nonzero(shown)), int(np.count_nonzero(~shown))
    end = f"; removes {number(removed)} of {plural(len(shown), 'item')}." if removed else "."
    return Account(
        names=found.names,
        records=found.records,
        kept=found.records * shown,
        coarser=np.zeros_like(found.records),
        gone=found.records * ~shown,
        became=tuple("stays as it is" if each else "removed" for each in shown.tolist()),
        headline=f"Splits {plural(len(original), 'record')} into "
        f"{plural(len(release), 'profile')} by topic and hides which profiles belong to one "
        f"person{end}",
        stays=_stay(found, shown),
        lost=_removed(found, ~shown),
        computable=tuple(
            filter(
                None,
                (
                    f"Exactly: counts of {plural(count, 'item')}, one by one." if count else "",
                    "Lower limits for combinations: only those within one profile are seen.",
                    _nothing(removed),
                ),
            )
        ),
        treat=lambda items: _profiles(release, items),
    )


def _profiles(release: SplitRelease, items: Sequence[str]) -> list[str]:
    """Return a record cut into profiles: items that some published profile holds together."""
    names = release.vocabulary
    profiles: list[list[str]] = []
    for item in (item for item in items if item in names):
        near = [
            each
            for each in profiles
            if any(
                len(release.holders([names.number(item), names.number(other)])) for other in each
            )
        ]
        profiles = [each for each in profiles if each not in near]
        profiles.append(sorted([item, *(other for each in near for other in each)]))
    lines = [f"profile {n}: {', '.join(each)}" for n, each in enumerate(profiles, 1)]
    removed = [item for item in items if item not in names]
    return lines + [f"{REMOVED} {', '.join(removed)}"] * bool(removed)


# --- sensitive items apart, and chance --------------------------------------------------------


@account_of.register
def _of_groups(
    release: GroupedRelease,
    original: TransactionTable,
    key: Key,
    taxonomy: Taxonomy | None = None,
    *,
    k: int | None = None,
) -> Account:
    found = Occurrences.of(original, key)
    apart = set(release.sensitive)
    secret = np.array([name in apart for name in found.names], dtype=bool)
    shown = np.array([name in release.vocabulary for name in found.names], dtype=bool) & ~secret
    gone = ~shown & ~secret
    ordinary, sensitive = int(np.count_nonzero(shown)), int(np.count_nonzero(secret))
    filled = np.unique(release.group_of_part)
    least = _least(release.sizes[filled] if len(filled) else release.sizes)
    size = f"groups of at least {plural(least, 'record')}"
    dealt = release.dealt is not None
    fate = (
        f"shuffles {_those(sensitive)} inside {size}"
        if dealt
        else f"publishes {_those(sensitive)} only for {size}"
    )
    if not sensitive:
        headline = f"Keeps all {plural(ordinary, 'item')} as they are."
    else:
        headline = (
            f"Keeps the {plural(ordinary, 'ordinary item')} as "
            f"{one_or_many(ordinary, 'it is', 'they are')} and {fate}: who has which is hidden."
        )
    said = "shuffled within its group" if dealt else "published for its group only"
    how = "shuffled" if dealt else "listed"
    beside = f"{how} in a group of at least {plural(least, 'record')}"
    return Account(
        names=found.names,
        records=found.records,
        kept=found.records * shown,
        coarser=found.records * secret,
        gone=found.records * gone,
        became=tuple(
            said if hidden else "stays as it is" if plain else "removed"
            for hidden, plain in zip(secret.tolist(), shown.tolist(), strict=True)
        ),
        headline=headline,
        stays=_stay(found, shown),
        coarse=f"{plural(sensitive, 'sensitive item')} "
        f"{one_or_many(sensitive, 'is', 'are')} {how} "
        f"inside {plural(len(filled), 'group')} of records."
        if sensitive
        else "",
        lost=_removed(found, gone),
        computable=tuple(
            filter(
                None,
                (
                    _exactly(ordinary),
                    _sensitive_counts(sensitive, whole=release.whole),
                    "Ordinary and sensitive items together can only be estimated, group by group."
                    if sensitive
                    else "",
                ),
            )
        ),
        treat=lambda items: [f"{item} ({beside})" if item in apart else item for item in items],
    )


def _those(sensitive: int) -> str:
    return one_or_many(sensitive, "the sensitive one", f"the {number(sensitive)} sensitive ones")


def _sensitive_counts(sensitive: int, *, whole: bool) -> str:
    if not sensitive:
        return ""
    how = "alone or together" if whole else "one by one"
    return f"Exactly, too: counts of the {plural(sensitive, 'sensitive item')}, {how}."


@account_of.register
def _of_perturbed(
    release: PerturbedRelease,
    original: TransactionTable,
    key: Key,
    taxonomy: Taxonomy | None = None,
    *,
    k: int | None = None,
) -> Account:
    found = Occurrences.of(original, key)
    width = np.int64(len(release.vocabulary) + 1)
    place = {name: at for at, name in enumerate(release.vocabulary.names)}
    own = np.array([place.get(name, width - 1) for name in found.names], dtype=np.int64)
    published = np.repeat(np.arange(len(release)), np.diff(release.offsets)) * width + release.items
    true = np.isin(found.row * width + own[found.place], published)
    kept = found.counted(np.flatnonzero(true))
    gone = found.records - kept
    supports = np.append(release.supports(), 0)
    added = supports[own] - kept
    removed, invented = int(gone.sum()), len(release.items) - int(kept.sum())
    return Account(
        names=found.names,
        records=found.records,
        kept=kept,
        coarser=np.zeros_like(kept),
        gone=gone,
        became=tuple(
            f"by chance removed from {plural(less, 'record')} and added to {number(more)}"
            for less, more in zip(gone.tolist(), added.tolist(), strict=True)
        ),
        headline=f"Changes every record by chance: removes {number(removed)} of "
        f"{plural(len(found), 'entry', 'entries')} ({ENTRY}) and adds {number(invented)} that "
        "were not there.",
        stays=f"{number(int(kept.sum()))} of {plural(len(found), 'entry', 'entries')} stay; "
        f"nothing tells them from the {number(invented)} invented ones.",
        lost=f"{plural(removed, 'entry', 'entries')} {one_or_many(removed, 'is', 'are')} removed "
        "by chance."
        if removed
        else "",
        computable=(
            "Estimates of all counts: how strong the noise is, is published. No count is exact.",
        ),
        treat=_Noise(
            keeps=int(kept.sum()) / max(len(found), 1),
            adds=invented / max(len(release), 1),
            names=release.vocabulary.names,
        ),
    )


@dataclass(frozen=True)
class _Noise:
    """Changes a record as much as the records of a release were changed on average."""

    keeps: float
    adds: float
    names: tuple[str, ...]

    def __call__(self, items: Sequence[str]) -> list[str]:
        rng = np.random.default_rng(0)
        stay = set(rng.permutation(len(items))[: round(self.keeps * len(items))].tolist())
        other = [name for name in self.names if name not in set(items)]
        count = min(round(self.adds), len(other))
        drawn = sorted(rng.choice(len(other), count, replace=False).tolist()) if count else []
        shown = [f"{other[place]} (added)" for place in drawn[:ADDED]]
        more = count - len(shown)
        return [
            *(item if place in stay else REMOVED for place, item in enumerate(items)),
            *shown,
            *([f"and {number(more)} more (added)"] if more else []),
        ]


# --- sentences --------------------------------------------------------------------------------


def _kept_and_removed(found: Occurrences, exact: Flags, gone: Flags, k: int | None) -> str:
    """Tell what stays and what is removed, and whether the number of records decides it."""
    stays, removed = int(np.count_nonzero(exact)), int(np.count_nonzero(gone))
    if not len(found.names):
        return "There is no item in the data: only the number of records is published."
    if not removed:
        return f"Keeps all {plural(stays, 'item')} as they are."
    if not stays:
        return f"Removes all {plural(removed, 'item')}: only the number of records is left."
    cut = _cut(found, exact, gone, k)
    others = one_or_many(removed, "one", number(removed))
    are = one_or_many(stays, "it is", "they are")
    if cut is None:
        return f"Keeps {plural(stays, 'item')} as {are} and removes the other {others}."
    share = one_or_many(stays, "one item", f"{number(stays)} items")
    return (
        f"Keeps the {share} that at least {plural(cut, 'record')} "
        f"{one_or_many(cut, 'holds', 'share')} as {are} and removes the other {others}."
    )


def _cut(found: Occurrences, shown: Flags, gone: Flags, k: int | None) -> int | None:
    """Return the number of records that separates shown items from others, if one does.

    Where the promised number does, it is the one.
    """
    if not shown.any() or not gone.any():
        return None
    least, most = int(found.records[shown].min()), int(found.records[gone].max())
    if most >= least:
        return None
    return k if k is not None and most < k <= least else least


def _commonest(found: Occurrences, chosen: Flags) -> list[str]:
    """Return the chosen items that most records hold, by name among equals."""
    places = np.flatnonzero(chosen)
    first = places[np.argsort(-found.records[places], kind="stable")][:NAMED]
    return [found.names[i] for i in first.tolist()]


def _stay(found: Occurrences, chosen: Flags) -> str:
    count = int(np.count_nonzero(chosen))
    often = join_names(_commonest(found, chosen))
    if count > NAMED:
        return f"{plural(count, 'item')} stay as they are, most often {often}."
    stay = one_or_many(count, "stays as it is", "stay as they are")
    return f"{often} {stay}." if count else ""


def _removed(found: Occurrences, chosen: Flags) -> str:
    count = int(np.count_nonzero(chosen))
    often = join_names(_commonest(found, chosen))
    if count > NAMED:
        return f"{plural(count, 'item')} are removed from every record, most often {often}."
    return f"{often} {one_or_many(count, 'is', 'are')} removed from every record." if count else ""


def _count_emptied(offsets: Int64Array, original: TransactionTable) -> int:
    """Return how many records lost all their items."""
    return int(np.count_nonzero(np.diff(offsets) == 0) - np.count_nonzero(original.lengths == 0))


def _left_empty(emptied: int, total: int) -> str:
    if not emptied:
        return ""
    are = one_or_many(emptied, "is", "are")
    return f" {number(emptied)} of {plural(total, 'record')} {are} left without any item."


def _exactly(count: int) -> str:
    if count < 2:
        return "Exactly: counts of the item that stays." if count else ""
    return f"Exactly: counts of the {number(count)} items that stay, alone or in any combination."


def _nothing(count: int) -> str:
    return f"Nothing about the {plural(count, 'removed item')}." if count else ""


def _least(sizes: Int64Array) -> int:
    return int(sizes.min()) if len(sizes) else 0


def _so_many(count: int) -> str:
    return "no item" if not count else plural(count, "item")
