"""Lists of items and of itemsets in files: one per line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from setveil.core.errors import InputError
from setveil.core.untrusted import LIST_LIMIT, parse_json, read_file

if TYPE_CHECKING:
    import os

INSIDE = "+"
"""What stands between the items of an itemset."""


def read_itemsets(path: str | os.PathLike[str]) -> tuple[tuple[str, ...], ...]:
    r"""Read a list of itemsets, one per line, in the file's order.

    A line holds an item, or several with ``+`` between them; or a list of texts as JSON has it,
    for items whose names hold a ``+``. Spaces around items and empty lines do not count.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "privacy.txt")
    ...     _ = file.write_text('HIV + depression\n\ngout\n["C++", "flu"]\n')
    ...     read_itemsets(file)
    (('HIV', 'depression'), ('gout',), ('C++', 'flu'))
    """
    return tuple(_itemset(line, str(path)) for line in read_items(path))


def _itemset(line: str, where: str) -> tuple[str, ...]:
    items = _from_json(line) or [item.strip() for item in line.split(INSIDE)]
    if not all(items):
        raise InputError(
            f"{line!r} is no itemset",
            where=where,
            fix='write items with + between them, or a list such as ["C++", "flu"]',
        )
    return tuple(items)


def _from_json(line: str) -> list[str] | None:
    """Return the texts of a list in JSON, or None where the line is none."""
    if not line.startswith("["):
        return None
    try:
        found = parse_json(line)
    except ValueError:
        return None  # an item may begin with a bracket
    return found if all(isinstance(item, str) for item in found) else None


def read_items(path: str | os.PathLike[str]) -> tuple[str, ...]:
    r"""Read a list of items, one per line, in the file's order and once each.

    Spaces around an item and empty lines do not count.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "sensitive.txt")
    ...     _ = file.write_text("HIV infection\n\ndepression \n")
    ...     read_items(file)
    ('HIV infection', 'depression')
    """
    where = str(path)
    if where == "-":
        raise InputError(
            "a list of items cannot come from standard input", fix="name a file with the items"
        )
    try:
        text = read_file(path, limit=LIST_LIMIT).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(
            "this is no text in UTF-8", where=where, fix="save it as UTF-8, one item per line"
        ) from None
    except OSError as error:
        raise InputError(
            f"the list of items cannot be read: {error.strerror or error}",
            where=where,
            fix="name a text file with one item per line",
        ) from None
    items = tuple(dict.fromkeys(filter(None, map(str.strip, text.splitlines()))))
    if not items:
        raise InputError("no items are in this list", where=where, fix="write one item per line")
    return items
