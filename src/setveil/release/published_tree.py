"""What the tree of a generalized release must be like, so that each item has one meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.release.views import item_id

if TYPE_CHECKING:
    from setveil.core.taxonomy import Taxonomy


def first_fault(tree: Taxonomy) -> str | None:
    """Return what makes a published tree ambiguous, or None.

    An item is asked for by its id or by its name, so neither may lead to one item while readers
    see it on another. Two items, or an item and a category, may have the same name as long as it
    is the id of none but an item that shows it.

    >>> from setveil import Taxonomy
    >>> first_fault(Taxonomy.from_nodes(["*", "HIV", "7"], ["*", "flu", "HIV"], [-1, 0, 0]))
    "'HIV' is the id of the item 'flu' and the name of another node"
    """
    return _bad_private(tree) or _two_meanings(tree)


def _bad_private(tree: Taxonomy) -> str | None:
    """Check that a private leaf is a leaf, has its parent's name, and is its parent's only one."""
    private = np.flatnonzero(tree.pseudo)
    for v in private[~tree.is_leaf[private] | (private == 0)].tolist():
        return f"the private leaf {tree.ids[v]!r} is no leaf"
    parents = tree.parents[private].tolist()
    for v, parent in zip(private.tolist(), parents, strict=True):
        if tree.names[v] != tree.names[parent]:
            return f"the private leaf {tree.ids[v]!r} has another name than the item above it"
    for v, count in zip(*np.unique(parents, return_counts=True), strict=True):
        if count > 1:
            return f"the item {tree.ids[int(v)]!r} has {count} private leaves"
    return None


def _two_meanings(tree: Taxonomy) -> str | None:
    """Check that no text is one item's id and what is shown of another node."""
    leaves = np.flatnonzero(tree.is_leaf).tolist()
    known = {item_id(tree, v): v for v in leaves}
    for v in leaves:
        other = known.get(tree.names[v], v)
        if other != v:
            return _said(tree, other)
    shown_otherwise = {text: v for text, v in known.items() if tree.names[v] != text}
    for v, name in enumerate(tree.names):
        other = shown_otherwise.get(name, v)
        if other != v:
            return _said(tree, other)
    return None


def _said(tree: Taxonomy, v: int) -> str:
    return (
        f"{item_id(tree, v)!r} is the id of the item {tree.names[v]!r} and the name of another node"
    )
