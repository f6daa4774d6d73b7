"""setveil: anonymize, verify, attack and measure set-valued data before it is published.

>>> import setveil
>>> table = setveil.TransactionTable.from_rows([["flu", "cough"], ["flu"], ["cough", "flu"]])
>>> len(table)
3

The names below are imported when they are first used, so that ``import setveil`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from setveil import anonymize, attack, audit, guarantee, measure, relatedness
    from setveil.core.errors import SetveilError
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.io.detect import detect_layout
    from setveil.io.layout import Layout
    from setveil.io.readers import read
    from setveil.io.writers import write
    from setveil.release.store import load_key, load_manifest, load_release, save, save_key

__version__ = "0.1.0"

_HOME = {
    "Layout": "setveil.io.layout",
    "SetveilError": "setveil.core.errors",
    "Taxonomy": "setveil.core.taxonomy",
    "TransactionTable": "setveil.core.table",
    "detect_layout": "setveil.io.detect",
    "load_key": "setveil.release.store",
    "load_manifest": "setveil.release.store",
    "load_release": "setveil.release.store",
    "read": "setveil.io.readers",
    "save": "setveil.release.store",
    "save_key": "setveil.release.store",
    "write": "setveil.io.writers",
}
_MODULES = ("anonymize", "attack", "audit", "guarantee", "measure", "relatedness")

__all__ = [
    "Layout",
    "SetveilError",
    "Taxonomy",
    "TransactionTable",
    "anonymize",
    "attack",
    "audit",
    "detect_layout",
    "guarantee",
    "load_key",
    "load_manifest",
    "load_release",
    "measure",
    "read",
    "relatedness",
    "save",
    "save_key",
    "write",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        found: object = getattr(importlib.import_module(_HOME[name]), name)
    elif name in _MODULES:
        found = importlib.import_module(f"setveil.{name}")
    else:
        raise AttributeError(f"module 'setveil' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
