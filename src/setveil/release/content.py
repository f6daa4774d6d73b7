"""What a release still shows: whether it says anything about the items of its records."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple

from setveil.core.words import kept, plural
from setveil.release.disassociated import DisassociatedRelease
from setveil.release.encoded import EncodedRelease
from setveil.release.generalized import GeneralizedRelease
from setveil.release.perturbed import PerturbedRelease
from setveil.release.set_generalized import SetGeneralizedRelease
from setveil.release.split import SplitRelease
from setveil.release.suppressed import SuppressedRelease

if TYPE_CHECKING:
    from setveil.release.base import Release

MOSTLY = 0.5
"""The share of roots from which on a reader is told of them."""
NOTHING = "This release shows only how many records it has: it publishes no item."


class Content(NamedTuple):
    """What a release shows of its items.

    Parameters
    ----------
    sentence
        What a reader must know of it; "" where items are shown in the usual way.
    bare
        Whether it says nothing at all about which items a record has.
    root_share
        The share of the published items that are the root of the taxonomy; None for forms
        without one.
    """

    sentence: str = ""
    bare: bool = False
    root_share: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the content as JSON values; the sentence is None where there is none."""
        return self._asdict() | {"sentence": self.sentence or None}


@singledispatch
def content_of(release: Release) -> Content:
    """Return what a release shows of its items, above all where that is nothing.

    >>> from setveil import Taxonomy
    >>> from setveil.release.generalized import publish_groups
    >>> tree = Taxonomy.balanced(["apple", "pear", "plum"])
    >>> release, _ = publish_groups(tree, group_offsets=[0, 1], group_nodes=[0], group_of=[0, 0],
    ...                             hides=False)
    >>> print(content_of(release).sentence)
    This release shows only which records have items: every item is replaced by the root of the \
taxonomy ('group 1.1'), which stands for any of 3 items.
    """
    return Content()


@content_of.register
def _(release: GeneralizedRelease) -> Content:
    share = release.root_share
    if len(release) and not len(release.nodes):
        return Content(NOTHING, bare=True, root_share=share)
    root = f"the root of the taxonomy ({release.tree.names[0]!r})"
    stands = f"which stands for any of {plural(release.tree.n_leaves, 'item')}"
    if share == 1 and release.hides:
        said = (
            "This release shows only how many items a record has, at least: every published item "
            f"is {root}, {stands}."
        )
    elif share == 1:
        said = (
            "This release shows only which records have items: every item is replaced by "
            f"{root}, {stands}."
        )
    elif share >= MOSTLY:
        said = f"At least {kept(share)} of the published items are {root}, {stands}."
    else:
        said = ""
    return Content(said, bare=share == 1, root_share=share)


@content_of.register
def _(release: SuppressedRelease | EncodedRelease | SplitRelease | PerturbedRelease) -> Content:
    if len(release) and not len(release.items):
        return Content(NOTHING, bare=True)
    return Content()


@content_of.register
def _(release: SetGeneralizedRelease) -> Content:
    if len(release) and not len(release.items):
        return Content(NOTHING, bare=True)
    if len(release.vocabulary) == 1 and not release.is_trivial[0]:
        return Content(
            "This release shows only which records have an item of one large set: all "
            f"{plural(int(release.sizes[0]), 'item')} that it names are published as that set.",
            bare=True,
        )
    return Content()


@content_of.register
def _(release: DisassociatedRelease) -> Content:
    if not len(release) or len(release.items):
        return Content()
    if not len(release.terms):
        return Content(NOTHING, bare=True)
    return Content(
        "This release shows only which items occur in each cluster, not in which records or how "
        "often: every item is in a term chunk."
    )


def content_of_items(items: Release | None) -> Content:
    """Return what a distributed release shows, where that is nothing; other shares are unknown.

    Parameters
    ----------
    items
        A release of the same form with each published item alone in a record; None for chunks.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release.suppressed import publish_suppressed
    >>> alone, _ = publish_suppressed(TransactionTable.from_rows([["flu"]]), [True])
    >>> content_of_items(alone).bare
    False
    """
    if items is None:
        return Content()
    if not len(items):
        return Content(NOTHING, bare=True)
    found = content_of(items)
    return found if found.bare or found.root_share == 0 else Content()
