"""Files of the user's that experiments are run on: what they are called, and what to draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def stem(file: Path) -> str:
    """Return the name of a file without its endings.

    >>> from pathlib import Path
    >>> stem(Path("shop/BMS-POS.dat.gz"))
    'BMS-POS'
    """
    return file.name.split(".", maxsplit=1)[0] or file.name
