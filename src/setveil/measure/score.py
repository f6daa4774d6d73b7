"""How right a guess was: rates with intervals, beside what guessing without knowledge gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from setveil.attack.elimination.elimination_guess import EliminationGuess
from setveil.attack.inference import InferenceGuess
from setveil.attack.linkage.linkage import LinkageGuess
from setveil.attack.randomized.noise_filter import NoiseGuess
from setveil.attack.randomized.public_records import PublicRecordsGuess
from setveil.attack.reassociation.reassociation_guess import ReassociationGuess
from setveil.attack.token_frequency import TokenGuess

if TYPE_CHECKING:
    from collections.abc import Mapping

    from setveil.attack.guess import Guess
    from setveil.core.interval import Rate
    from setveil.core.table import TransactionTable
    from setveil.release.base import Key, Release


def score(
    guess: Guess,
    *,
    release: Release,
    original: TransactionTable,
    key: Key,
    **known: Any,
) -> dict[str, Rate | None]:
    """Compare a guess with the truth; each class of guesses says how (:meth:`Guess.rates`).

    Parameters
    ----------
    guess
        What an attack said about `release`.
    release, original, key
        What was published, what it was made from, and the private link between them.
    known
        What else the scores of some guesses are about, such as ``sensitive`` items; guesses that
        have no use for it leave it aside.

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
    return guess.score(release=release, original=original, key=key, **known)


score_elimination = EliminationGuess.score
score_inference = InferenceGuess.score
score_linkage = LinkageGuess.score
score_noise = NoiseGuess.score
score_public_records = PublicRecordsGuess.score
score_reassociation = ReassociationGuess.score
score_tokens = TokenGuess.score


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
