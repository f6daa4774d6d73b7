"""Partition in plain Python: lists, sets and dictionaries, no state kept between steps."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from tests.reference.clump import Clustering, sorted_places
from tests.reference.lcg import Tree, ggd

if TYPE_CHECKING:
    from collections.abc import Sequence


def child_towards(node: str, item: str, tree: Tree) -> str:
    """The child of `node` on the way down to `item`."""
    way = tree.up(item)
    return way[way.index(node) - 1]


def scaled_ncp(node: str, tree: Tree) -> int:
    """NCP times the number of leaves: 0 for a leaf, otherwise the leaves below."""
    return tree.leaves[node] if tree.children[node] else 0


def gain(row: Sequence[str], node: str, tree: Tree) -> int:
    """What splitting `node` wins for one record."""
    below = [x for x in row if tree.covers(node, x)]
    return sum(
        scaled_ncp(node, tree) - scaled_ncp(child_towards(node, x, tree), tree) for x in below
    )


def balanced(
    subparts: dict[frozenset[str], list[int]], gains: dict[int, int], k: int
) -> tuple[dict[frozenset[str], list[int]], list[int]]:
    """Keep the subpartitions of at least k records; the others make one leftover, none or >= k.

    `gains` holds the records in sorted order, `subparts` in the order of their first records.
    """
    leftover = [i for members in subparts.values() if len(members) < k for i in members]
    survivors = {hit: list(members) for hit, members in subparts.items() if len(members) >= k}
    if not 0 < len(leftover) < k:
        return survivors, leftover
    key_of = {i: hit for hit, members in survivors.items() for i in members}
    for i in sorted(gains, key=gains.__getitem__):
        if len(leftover) < k and i in key_of and len(survivors[key_of[i]]) > k:
            survivors[key_of[i]].remove(i)
            leftover.append(i)
    if len(leftover) < k:
        poorest = min(survivors, key=lambda hit: sum(gains[i] for i in survivors[hit]))
        leftover += survivors.pop(poorest)
    return survivors, leftover


def partition_reference(rows: Sequence[Sequence[str]], tree: Tree, k: int) -> Clustering:
    """Split {root} top-down into groups of at least k records, each publishing one set of nodes.

    Items of a record count once. Ties between nodes go to the first in preorder, ties between
    records and between subpartitions to the first in sorted order. Empty records form a group.
    """
    order = sorted_places(rows)
    tree, rows = tree.for_rows([sorted(set(row)) for row in rows])
    number = {v: i for i, v in enumerate(tree.preorder)}
    place = {i: p for p, i in enumerate(order)}
    groups: list[tuple[list[int], frozenset[str]]] = []
    empty = [i for i in order if not rows[i]]
    if empty:
        groups.append((empty, frozenset()))
    filled = [i for i in order if rows[i]]
    todo = [(filled, frozenset({tree.root}), frozenset[str]())] if filled else []
    while todo:
        part, items, frozen = todo.pop()
        open_nodes = [v for v in items - frozen if tree.children[v]]
        if not open_nodes:
            groups.append((part, items))
            continue
        node = min(
            open_nodes,
            key=lambda v: (-sum(gain(rows[i], v, tree) for i in part), number[v]),
        )
        gains = {i: gain(rows[i], node, tree) for i in part}
        subparts: dict[frozenset[str], list[int]] = {}
        for i in part:
            hit = frozenset(child_towards(node, x, tree) for x in rows[i] if tree.covers(node, x))
            subparts.setdefault(hit, []).append(i)
        survivors, leftover = balanced(subparts, gains, k)
        for hit, members in survivors.items():
            todo.append((members, items - {node} | hit, frozen))
        if leftover:
            todo.append((sorted(leftover, key=place.__getitem__), items, frozen | {node}))
    published = [tuple(sorted(items)) for _, items in groups]
    lost = sum(
        (
            ggd([rows[i] for i in members], bag, tree)
            for (members, _), bag in zip(groups, published, strict=True)
        ),
        Fraction(0),
    )
    return Clustering([members for members, _ in groups], published, lost)
