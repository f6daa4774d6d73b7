"""How far a release lets others believe, rightly, that a person holds a sensitive item."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.attack.inference import InferenceGuess
from setveil.core.errors import InputError
from setveil.measure.interval import Rate, advantage, mean
from setveil.measure.score import must_be_about, score

if TYPE_CHECKING:
    from setveil.core.table import TransactionTable
    from setveil.release.base import Key, Release


@score.register(InferenceGuess)
def score_inference(
    guess: InferenceGuess,
    *,
    release: Release,
    original: TransactionTable,
    key: Key,  # the guess is about people, not about records of the release
) -> dict[str, Rate | None]:
    """Return how often an attacker rightly believes that people have sensitive items.

    Parameters
    ----------
    guess
        What an attacker believes.
    release, original, key
        What was attacked, what it was made from, and the private link, which is not needed.

    Returns
    -------
    dict of str to Rate or None
        ``believed``: the mean chance that is given to a sensitive item that a target holds.
        ``believed_before``: the same by who knows nothing of the target. ``believed_control``:
        the mean chance given to one that the target does not hold. ``advantage``: the share of
        what knowing nothing misses that the adversary gets, target by target. None where no
        target holds a sensitive item. Intervals count targets.

    Examples
    --------
    >>> from setveil.attack import Inference, Targets
    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu", "hiv"], ["flu"], ["gout"], ["gout"]])
    >>> release, key = publish_suppressed(table, [True, True, True])
    >>> who = Targets(records=(0, 2), known=(("flu",), ("gout",)), asked=(("hiv",), ("hiv",)))
    >>> guess = Inference().run(release, targets=who)
    >>> rates = score(guess, release=release, original=table, key=key)
    >>> {name: round(rate.value, 3) for name, rate in rates.items()}
    {'believed': 0.5, 'believed_before': 0.25, 'believed_control': 0.0, 'advantage': 0.333}
    """
    must_be_about(guess, release)
    if max(guess.targets, default=-1) >= len(original):
        raise InputError(
            "the guess is about other people",
            fix="give the data that the targets were drawn from",
        )
    believed, before, control = list[float](), list[float](), list[float]()
    rows = zip(guess.targets, guess.asked, guess.chances, guess.before, strict=True)
    for target, asked, chances, blind in rows:
        row = set(original[target])
        held = [place for place, item in enumerate(asked) if item in row]
        if held:
            believed.append(float(np.mean([chances[place] for place in held])))
            before.append(float(np.mean([blind[place] for place in held])))
        others = [chances[place] for place in range(len(asked)) if place not in held]
        if others:
            control.append(float(np.mean(others)))
    return {
        "believed": mean(believed),
        "believed_before": None if not before else Rate.counted(float(np.mean(before))),
        "believed_control": mean(control),
        "advantage": advantage(believed, before, np.ones(len(believed))),
    }
