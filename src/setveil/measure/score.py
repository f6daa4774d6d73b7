"""How right a guess was: rates with intervals, beside what guessing without knowledge gets."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from setveil.core.errors import InputError, NotApplicable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from setveil.attack.guess import Guess
    from setveil.core.table import TransactionTable
    from setveil.measure.interval import Rate
    from setveil.release.base import Key, Release


@singledispatch
def score(
    guess: Guess,
    *,
    release: Release,
    original: TransactionTable,
    key: Key,
) -> dict[str, Rate | None]:
    """Compare a guess with the truth; each class of guesses registers its own scores.

    Parameters
    ----------
    guess
        What an attack said about `release`.
    release, original, key
        What was published, what it was made from, and the private link between them.

    Returns
    -------
    dict of str to Rate or None
        Rates by name; None where one cannot be said. Beside the main ones stand baselines (what
        guessing without the attack gets) and a control (what the attack gets where there is
        nothing to find).

    Examples
    --------
    >>> from setveil.attack import Guess
    >>> score(Guess(attack="gossip"), release=None, original=None, key=None)
    Traceback (most recent call last):
    setveil.core.errors.NotApplicable: guesses of 'gossip' cannot be scored
    """
    raise NotApplicable(f"guesses of {guess.attack!r} cannot be scored")


def must_be_about(guess: Guess, release: Release) -> None:
    """Refuse a guess that was made about another release, if it says about which.

    >>> from setveil.attack import Guess
    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> release, _ = publish_suppressed(TransactionTable.from_rows([["flu"]]), [True])
    >>> must_be_about(Guess(attack="gossip"), release)
    >>> must_be_about(Guess(attack="gossip", about="9f3c"), release)
    Traceback (most recent call last):
    setveil.core.errors.InputError: the guess is about another release. To fix: attack this \
release...
    """
    if guess.about is not None and guess.about != release.fingerprint():
        raise InputError(
            "the guess is about another release",
            fix="attack this release, or name the one that was attacked",
        )


def flat(rates: Mapping[str, Rate | None]) -> dict[str, float | None]:
    """Return rates as numbers: each under its name, and its interval as ``_low`` and ``_high``.

    >>> from setveil.measure import Rate
    >>> flat({"accuracy": Rate.counted(0.5), "auc": None})
    {'accuracy': 0.5, 'accuracy_low': 0.5, 'accuracy_high': 0.5, 'auc': None}
    """
    figures: dict[str, float | None] = {}
    for name, rate in rates.items():
        if rate is None:
            figures[name] = None
        else:
            figures |= {name: rate.value, f"{name}_low": rate.low, f"{name}_high": rate.high}
    return figures
