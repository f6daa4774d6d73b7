"""Writing a file's whole content in one step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from setveil.data.output_file import output_file

if TYPE_CHECKING:
    import os


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a text (as UTF-8) or bytes to a file that appears whole or not at all.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(pathlib.Path(folder, "a.txt"), "né")
    ...     pathlib.Path(folder, "a.txt").read_text(encoding="utf-8")
    'né'
    """
    data = content.encode() if isinstance(content, str) else content
    with output_file(path) as out:
        out.write(data)
