"""Methods that turn a table into a release: one file per published algorithm.

Each class that a module of this package registers can be imported from here, and none is listed:

>>> from setveil.anonymize import Clump

What type checkers and the API pages know of these names is in ``__init__.pyi``, which
``python -m website.method_names`` writes.
"""

from setveil.anonymize.base import Anonymizer
from setveil.core import registry


def __getattr__(name: str) -> type:
    if name.startswith("_") or name not in (methods := registry.classes_in("anonymizer", __name__)):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return methods[name]


def __dir__() -> list[str]:
    return sorted([Anonymizer.__name__, *registry.classes_in("anonymizer", __name__)])
