"""A tree over items that have none of their own: neighbours in a list are joined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from setveil.core.errors import InputError, ParameterError
from setveil.data.naming import fresh_id

if TYPE_CHECKING:
    from collections.abc import Iterable


def balanced_nodes(items: Iterable[str], fanout: int) -> tuple[list[str], list[int]]:
    """Return ids and places of the parents of a tree in which each `fanout` neighbours are joined.

    The items come first, then the nodes above them level by level. Their names tell level and
    place and no item: a release shows the names of published nodes and of all above them, and a
    rare item must not be named there.

    >>> balanced_nodes(["a", "b", "c"], 2)
    (['a', 'b', 'c', 'group 1.1', 'group 2.1'], [3, 3, 4, 4, -1])
    """
    if isinstance(fanout, bool) or not isinstance(fanout, int) or fanout < 2:
        raise ParameterError(f"fanout is {fanout!r}", fix="use a whole number of 2 or more")
    ids = list(dict.fromkeys(items))
    if not ids:
        raise InputError("a taxonomy needs at least one item", fix="give data with items")
    taken = set(ids)
    parents = [-1] * len(ids)
    level = list(range(len(ids)))
    height = 0
    while len(level) > 1:
        height += 1
        above: list[int] = []
        width = len(str(-(-len(level) // fanout)))  # leading zeros: names sort as places do
        for start in range(0, len(level), fanout):
            group = level[start : start + fanout]
            if len(group) == 1:  # a category of one would say nothing: it joins a level higher
                above.append(group[0])
                continue
            for child in group:
                parents[child] = len(ids)
            above.append(len(ids))
            parents.append(-1)
            ids.append(fresh_id(f"group {height}.{start // fanout + 1:0{width}}", taken, "'"))
        level = above
    return ids, parents
