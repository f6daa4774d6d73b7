"""Adversaries: each takes a release and what it knows, and returns a guess."""

from setveil.attack.base import Attack, check_applies
from setveil.attack.elimination import GBA, MDA, RA, RBA, TBA, WBA
from setveil.attack.elimination_guess import Elimination, EliminationGuess, TableGuess
from setveil.attack.ensemble import EC
from setveil.attack.explain import Reason, reasons
from setveil.attack.guess import Guess, load_guess, save_guess
from setveil.attack.shadow import Shadow
from setveil.attack.tables import Contexts, DistanceTable, DistanceTables, distance_tables
from setveil.attack.token_frequency import TokenFrequency, TokenGuess

__all__ = [
    "EC",
    "GBA",
    "MDA",
    "RA",
    "RBA",
    "TBA",
    "WBA",
    "Attack",
    "Contexts",
    "DistanceTable",
    "DistanceTables",
    "Elimination",
    "EliminationGuess",
    "Guess",
    "Reason",
    "Shadow",
    "TableGuess",
    "TokenFrequency",
    "TokenGuess",
    "check_applies",
    "distance_tables",
    "load_guess",
    "reasons",
    "save_guess",
]
