"""Methods that turn a table into a release: one file per published algorithm.

Each class that a module of this package registers can be imported from here, and none is listed:

>>> from setveil.anonymize import Clump

What type checkers and the API pages know of these names is in ``__init__.pyi``, which
``python -m website.method_names`` writes.
"""

from setveil.anonymize.base import Anonymizer
from setveil.core import registry


def _methods() -> dict[str, type]:
    targets = [entry.target for entry in registry.entries("anonymizer")]
    return {each.__name__: each for each in targets if each.__module__.startswith(f"{__name__}.")}


def __getattr__(name: str) -> type:
    if name.startswith("_") or name not in (methods := _methods()):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return methods[name]


def __dir__() -> list[str]:
    return sorted([Anonymizer.__name__, *_methods()])
