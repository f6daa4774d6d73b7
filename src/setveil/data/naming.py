"""How nodes are listed in messages, and new ids beside the old ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def some(names: Sequence[str], limit: int = 5) -> str:
    """Return the first names for a message, and how many more there are.

    >>> some(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(repr(name) for name in names[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")


def counted(names: Sequence[str], noun: str) -> str:
    """Return how many names there are, and the first of them.

    >>> counted(["a", "b"], "top"), counted(["a"], "top")
    ("2 tops ('a', 'b')", "1 top ('a')")
    """
    return f"{len(names):,} {noun}{'' if len(names) == 1 else 's'} ({some(names)})"


def way(ids: Sequence[str], limit: int = 12) -> str:
    """Return a way through a tree for a message, without the middle of a long one.

    >>> way(["a", "b", "c", "d"], limit=3)
    'a → b → … → d'
    """
    shown = ids if len(ids) <= limit else [*ids[: limit - 1], "…", ids[-1]]
    return " → ".join(shown)


def fresh_id(wanted: str, taken: set[str], suffix: str) -> str:
    """Return `wanted`, with the suffix as often as it takes to be new, and take it.

    >>> fresh_id("dog", {"dog", "cat"}, "*")
    'dog*'
    """
    while wanted in taken:
        wanted += suffix
    taken.add(wanted)
    return wanted
