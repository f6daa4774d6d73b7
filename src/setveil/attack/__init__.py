"""Adversaries: each takes a release and what it knows, and returns a guess.

Each class that a module of this package registers can be imported from here, and none is listed;
nor is any class of guesses:

>>> from setveil.attack import RBA, EliminationGuess

What type checkers and the API pages know of these names is in ``__init__.pyi``, which
``python -m website.method_names`` writes.
"""

from setveil.attack.base import RISKS, Attack, AuditRole, Finding, check_applies
from setveil.attack.elimination.distance_tables import (
    Contexts,
    DistanceTable,
    DistanceTables,
    distance_tables,
)
from setveil.attack.elimination.elimination_guess import Elimination, Reason, TableGuess, reasons
from setveil.attack.guess import Guess, guess_classes, load_guess, save_guess
from setveil.attack.inference import item_chance
from setveil.attack.linkage.linkage import Link, Targets
from setveil.attack.randomized.spectral import Spectrum
from setveil.attack.reassociation.reassociation_guess import ClusterGuess
from setveil.core import registry

__all__ = [
    "RISKS",
    "Attack",
    "AuditRole",
    "ClusterGuess",
    "Contexts",
    "DistanceTable",
    "DistanceTables",
    "Elimination",
    "Finding",
    "Guess",
    "Link",
    "Reason",
    "Spectrum",
    "TableGuess",
    "Targets",
    "check_applies",
    "distance_tables",
    "item_chance",
    "load_guess",
    "reasons",
    "save_guess",
]


def _classes() -> dict[str, type]:
    return registry.classes_in("attack", __name__) | guess_classes(__name__)


def __getattr__(name: str) -> type:
    if name.startswith("_") or name not in (classes := _classes()):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return classes[name]


def __dir__() -> list[str]:
    return sorted({*__all__, *_classes()})
