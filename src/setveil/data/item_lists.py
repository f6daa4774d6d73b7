"""Lists of items in files: one item per line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from setveil.core.errors import InputError
from setveil.core.untrusted import LIST_LIMIT, read_file

if TYPE_CHECKING:
    import os


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
