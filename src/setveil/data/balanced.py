"""A tree over items that have none of their own: neighbours in a list are joined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from setveil.data.naming import fresh_id
from setveil.errors import InputError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable


def balanced_nodes(items: Iterable[str], fanout: int) -> tuple[list[str], list[int]]:
    """Return ids and places of the parents of a tree in which each `fanout` neighbours are joined.

    The items come first, then the nodes above them level by level, each named after its first and
    last item.

    >>> balanced_nodes(["a", "b", "c"], 2)
    (['a', 'b', 'c', 'a … b', 'a … c'], [3, 3, 4, 4, -1])
    """
    if fanout < 2:
        raise ParameterError(f"fanout is {fanout}", fix="use 2 or more")
    ids = list(dict.fromkeys(items))
    if not ids:
        raise InputError("a taxonomy needs at least one item", fix="give data with items")
    taken = set(ids)
    parents = [-1] * len(ids)
    first, last = list(ids), list(ids)
    level = list(range(len(ids)))
    while len(level) > 1:
        above = []
        for start in range(0, len(level), fanout):
            group = level[start : start + fanout]
            if len(group) == 1:  # a category of one would say nothing: it joins a level higher
                above.append(group[0])
                continue
            for child in group:
                parents[child] = len(ids)
            above.append(len(ids))
            parents.append(-1)
            first.append(first[group[0]])
            last.append(last[group[-1]])
            ids.append(fresh_id(f"{first[-1]} … {last[-1]}", taken, " …"))
        level = above
    return ids, parents
