"""Which release to publish, and why: plain sentences for who must decide."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from math import isnan
from typing import TYPE_CHECKING, NamedTuple

from setveil.audit.attacks import (
    ALL,
    ELIMINATION,
    FAILED,
    INFERENCE,
    OTHER_ELIMINATION,
    OTHER_REASSOCIATION,
    REASSOCIATION,
)
from setveil.audit.results import DONE
from setveil.words import of_thousand

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from setveil.audit.results import Adversary, RunRecord

BARE = "it says nothing about which items a record has"
"""What speaks against a release of nothing but roots, or without items."""
DIGITS = 3
"""Losses that agree up to this digit are ties: the queries behind them were drawn."""


class Advice(NamedTuple):
    """What follows from the runs.

    Parameters
    ----------
    recommended
        Id of the run to publish; None where no run meets the target.
    reasons
        Sentences.
    """

    recommended: str | None
    reasons: tuple[str, ...]


def advise(
    runs: Sequence[RunRecord], *, target: float, attacks: Collection[str] | None = None
) -> Advice:
    """Return the run with the least loss among those that are safe enough, with the reasons.

    Safe enough is a run whose promise holds by an exact check of the written files, that no
    original contradicts, all of whose attacks could be run, and whose worst attack, at the upper
    end of its interval, stays at or below the target. Ties go to the smaller risk of linkage.

    Parameters
    ----------
    runs
        What was tried.
    target
        The largest gain of an attack that is acceptable.
    attacks
        The attacks that were asked for; None for all.

    Examples
    --------
    >>> advise([], target=0.1)
    Advice(recommended=None, reasons=('Nothing was tried.',))
    """
    if not runs:
        return Advice(None, ("Nothing was tried.",))
    faults = {run.id: fault(run, target=target, attacks=attacks) for run in runs}
    fit = [run for run in runs if faults[run.id] == ""]
    bare = tuple(shown_only(runs))
    if not fit:
        return Advice(None, _none(runs, faults, target) + bare)
    best = min(fit, key=lambda run: (round(run.loss or 0.0, DIGITS), linkage_risk(run), run.name))
    return Advice(best.id, _why(best, runs, fit, faults, target) + bare)


def fault(  # noqa: PLR0911  (one return per reason)
    run: RunRecord, *, target: float, attacks: Collection[str] | None = None
) -> str:
    """Return what speaks against recommending a run; "" where nothing does.

    >>> from setveil.audit.results import RunRecord
    >>> fault(RunRecord(id="1", name="x", title="x", method="x", params={}), target=0.1)
    'it promises nothing'
    """
    if run.state != DONE:
        return "it was not finished"
    if run.promise is None and run.holds is None:
        return "it promises nothing"
    if not run.verified:
        return "its promise is not certain to hold, by the independent check"
    if any(each.note.startswith(FAILED) for each in run.adversaries):
        return "an attack on it failed, so nobody knows what that attack would find"
    if untested(run, attacks):
        return "no source of relatedness was given to attack its sets of items with"
    if is_bare(run):
        return BARE
    if run.risk is None or isnan(run.risk):
        return "no attack could be measured"
    if run.loss is None or isnan(run.loss):
        return "what it loses cannot be compared"
    if run.risk > target:
        return f"its worst attack may reach {share(run.risk)}"
    return ""


def is_bare(run: RunRecord) -> bool:
    """Tell whether a release says nothing about which items a record has: useless, if safe."""
    return bool(run.figures.get("content", {}).get("bare"))


def shown_only(runs: Sequence[RunRecord]) -> list[str]:
    """Return what releases show of which little is left, one sentence for those that agree.

    >>> from setveil.audit.results import RunRecord
    >>> content = {"sentence": "This release shows only the root.", "bare": True}
    >>> shown_only([RunRecord(id=k, name=k, title=f"x, k = {k}", method="x", params={},
    ...                       figures={"content": content}) for k in "25"])
    ['x, k = 2; x, k = 5: This release shows only the root.']
    """
    titles: dict[str, list[str]] = {}
    for run in runs:
        if said := run.figures.get("content", {}).get("sentence"):
            titles.setdefault(said, []).append(run.title)
    return [f"{'; '.join(which)}: {said}" for said, which in titles.items()]


def untested(run: RunRecord, attacks: Collection[str] | None = None) -> bool:
    """Tell whether a release of sets was not attacked by meaning, though that was not ruled out."""
    if run.form != "set-generalized":
        return False
    wanted = {*ELIMINATION, *OTHER_ELIMINATION}
    if attacks is not None and ALL not in attacks:
        wanted &= set(attacks)
    return bool(wanted) and not any(each.attack in wanted for each in run.adversaries)


def linkage_risk(run: RunRecord) -> float:
    """Return the upper end of what linkage gains; 1 where it was not measured."""
    gains = [each.gain for each in run.adversaries if each.attack == "linkage"]
    return max((gain.high for gain in gains if gain is not None), default=1.0)


def share(value: float, *, rounding: str = ROUND_CEILING) -> str:
    """Return a share as a reader takes it in, rounded up unless asked otherwise.

    >>> share(0.1234), share(0.0041), share(1.0), share(0.1234, rounding=ROUND_FLOOR)
    ('13%', '0.5%', '100%', '12%')
    """
    # Through the shortest decimal that names the float: 0.07 is 7%, not 7.000000000000001%.
    percent = Decimal(repr(float(value))) * 100
    step = Decimal(1) if value > 0.099 or value == 0 else Decimal("0.1")
    return f"{percent.quantize(step, rounding=rounding)}%"


def in_words(adversary: Adversary) -> str:
    """Return what an attack found as a sentence.

    >>> from setveil.audit.results import Adversary
    >>> from setveil.measure import Rate
    >>> in_words(Adversary(attack="linkage", knows="two items of a person", figure="named",
    ...                    rate=Rate.counted(0.017), baseline=Rate.counted(0.001)))
    'Of 1,000 adversaries who know two items of a person, 17 would name the right record (at most 17; by naming any record, 1).'
    """  # noqa: E501  (the doctest's result)
    if adversary.rate is None:
        return f"{adversary.attack}: {adversary.note or 'not measured'}."
    count, most = (of_thousand(each) for each in (adversary.rate.value, adversary.rate.high))
    base = 0.0 if adversary.baseline is None else adversary.baseline.value
    if adversary.attack == "linkage":
        return (
            f"Of 1,000 adversaries who know {adversary.knows}, {count:,} would name the "
            f"right record (at most {most:,}; by naming any record, {_few(base)})."
        )
    if adversary.attack == INFERENCE:
        return (
            f"Who knows {adversary.knows} gives a sensitive item that the person has a chance of "
            f"{share(adversary.rate.value)} on average (at most {share(adversary.rate.high)}; "
            f"{adversary.baseline_name}, {share(base, rounding=ROUND_FLOOR)})."
        )
    what = FOUND.get(adversary.attack, "what it looks for")
    return (
        f"{adversary.attack}, which knows {adversary.knows}, finds {share(adversary.rate.value)} "
        f"of {what} (at most {share(adversary.rate.high)}; {adversary.baseline_name}, "
        f"{share(base, rounding=ROUND_FLOOR)})."
    )


FOUND = {
    **dict.fromkeys(
        (*ELIMINATION, *OTHER_ELIMINATION),
        "the pairs of an added and an original member in the right order",
    ),
    **dict.fromkeys(
        (*REASSOCIATION, *OTHER_REASSOCIATION, "prior"), "what was cut off the records"
    ),
    "public-records": "the original records among public ones",
    "noise-filter": "the noise",
    "token-frequency": "the hashed items",
}


def _few(share: float) -> str:
    few = 0 < share < 0.001
    return "fewer than one" if few else f"{of_thousand(share, rounding=ROUND_FLOOR):,}"


def _telling(run: RunRecord) -> list[Adversary]:
    """Return the worst adversary of linkage, then the worst of the others."""
    found = []
    for of_linkage in (True, False):
        tried = [
            each
            for each in run.adversaries
            if (each.attack == "linkage") == of_linkage and each.gain is not None
        ]
        if tried:
            found.append(max(tried, key=lambda each: (each.gain.high, each.gain.value)))  # type: ignore[union-attr]
    return found


def _why(
    best: RunRecord,
    runs: Sequence[RunRecord],
    fit: Sequence[RunRecord],
    faults: dict[str, str],
    target: float,
) -> tuple[str, ...]:
    bare = sum(each == BARE for each in faults.values())
    aside = f", leaving aside {bare:,} that {'shows' if bare == 1 else 'show'} no items"
    what = (
        f"whose promise was checked and whose worst attack stays at or below {target * 100:g}%"
        f"{aside if bare else ''}."
    )
    number = f"{len(runs):,} releases"
    least = min(run.loss or 0.0 for run in fit)
    said = [f"Of {number}, {best.title} loses the least among the {len(fit):,} {what}"]
    if best.loss != least:
        said.append("Others that lose as little, to a tenth of a per cent, are linked more easily.")
    if len(fit) == 1:
        said = [f"{best.title} is the only one of {number} {what}"]
    if len(runs) == 1:
        said = [f"{best.title} is a release {what}"]
    if best.promise is not None:
        said.append(f"It promises: {best.promise['says']}.".replace("..", "."))
    said += [in_words(each) for each in _telling(best)]
    assert best.loss is not None
    said.append(f"Counts of records by one or two items are off by {share(best.loss)} on average.")
    better = [
        run for run in runs if run.loss is not None and run.loss < best.loss and faults[run.id]
    ]
    if better:
        near = min(better, key=lambda run: (run.risk is None, run.risk, run.name))
        said.append(
            f"{near.title} would lose less ({share(near.loss or 0.0)}), but {faults[near.id]}."
        )
    return tuple(said)


def _none(runs: Sequence[RunRecord], faults: dict[str, str], target: float) -> tuple[str, ...]:
    which = (
        "The only release does not meet"
        if len(runs) == 1
        else (f"None of the {len(runs):,} releases meets")
    )
    also = " and says which items a record has" if BARE in faults.values() else ""
    said = [f"{which} the target of {target * 100:g}%{also}."]
    close = [run for run in runs if run.verified and run.risk is not None and run.loss is not None]
    if close:
        near = min(close, key=lambda run: (run.risk, run.loss, run.name))
        said.append(f"The closest is {near.title}: {faults[near.id]}.")
        said += [in_words(each) for each in _telling(near)]
    counts: dict[str, int] = {}
    for run in runs:
        reason = "its worst attack is above the target"
        if run.risk is None or not faults[run.id].startswith("its worst attack"):
            reason = faults[run.id]
        counts[reason] = counts.get(reason, 0) + 1
    listed = "; ".join(f"{number:,}: {reason}" for reason, number in counts.items())
    said.append(f"What speaks against them: {listed}.")
    said.append(
        "Publish nothing of this, accept a higher risk (--target), or try stronger settings."
    )
    if also:
        said.append(
            "Where nothing but roots is left, weaker settings help, or a taxonomy in which rare "
            "items do not hang on the root."
        )
    return tuple(said)
