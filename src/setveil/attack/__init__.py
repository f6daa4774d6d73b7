"""Adversaries: each takes a release and what it knows, and returns a guess."""

from setveil.attack.base import Attack, check_applies
from setveil.attack.guess import Guess, load_guess, save_guess
from setveil.attack.token_frequency import TokenFrequency, TokenGuess

__all__ = [
    "Attack",
    "Guess",
    "TokenFrequency",
    "TokenGuess",
    "check_applies",
    "load_guess",
    "save_guess",
]
