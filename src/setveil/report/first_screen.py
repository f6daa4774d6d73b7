"""The first screen of an audit: the answer, three risks before and after, what is in it, what next.

The terminal, the page and Markdown show the same lines.
"""

from __future__ import annotations

from decimal import ROUND_FLOOR
from typing import TYPE_CHECKING, NamedTuple

from setveil.attack.base import INFERENCE, LINKAGE, SINGLING_OUT
from setveil.audit.results import DO_NOT, NOT_DECIDED, PUBLISH, WITH_CARE
from setveil.audit.verdict import closest, of_thousand_words
from setveil.core.words import in_thousand, join_parts, lost, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from setveil.audit import AuditResult, RunRecord
    from setveil.audit.results import Adversary

ANSWERS = {
    PUBLISH: "PUBLISH",
    WITH_CARE: "PUBLISH WITH CARE",
    DO_NOT: "DO NOT PUBLISH",
    NOT_DECIDED: "NOT DECIDED",
}
"""The answers as they stand on the first screen."""
VERBS = {
    SINGLING_OUT: "single out",
    LINKAGE: "link",
    INFERENCE: "learn a sensitive item of",
}
"""What an attacker does, for each risk, in a sentence."""


class RiskRow(NamedTuple):
    """One risk before and after: numbers of 1,000, and what stands behind them.

    `shares` are the same three numbers as shares of 1; None where one was not measured.
    """

    risk: str
    label: str
    original: str
    release: str
    guessing: str
    details: str
    above: bool
    shares: tuple[float | None, float, float | None]


class FirstScreen(NamedTuple):
    """What a reader sees first.

    Parameters
    ----------
    answer, about
        The answer in capitals; the data in a few words.
    headline
        What is in the recommended release, in the terms of the data; "" where there is none.
    risks
        The three risks, before and after.
    paragraphs
        Titles with sentences: what is lost, why, what was not tested, what to do next.
    """

    answer: str
    about: str
    headline: str
    risks: tuple[RiskRow, ...]
    paragraphs: tuple[tuple[str, tuple[str, ...]], ...]


def first_screen(result: AuditResult) -> FirstScreen:
    """Return what a reader of an audit sees first.

    Examples
    --------
    >>> from setveil.audit import AuditResult
    >>> screen = first_screen(AuditResult(title="Visits", runs=()))
    >>> screen.answer, screen.about
    ('NOT DECIDED', 'Visits')
    """
    focus = result.chosen or nearest(result)
    about = [result.title]
    for name, noun in (("records", "record"), ("items", "different item")):
        number = result.profile.get(name)
        if number is not None:
            about.append(plural(int(number), noun))
    secret = result.settings.get("sensitive") or []
    if secret:
        about.append(f"{len(secret):,} sensitive")
    return FirstScreen(
        answer=ANSWERS[result.answer],
        about=" · ".join(about),
        headline=_headline(result, focus),
        risks=() if focus is None else tuple(_rows(focus, result)),
        paragraphs=tuple(_paragraphs(result, focus)),
    )


def nearest(result: AuditResult) -> RunRecord | None:
    """Return what to look at where nothing is recommended.

    >>> from setveil.audit import AuditResult
    >>> nearest(AuditResult(title="a", runs=())) is None
    True
    """
    return closest(result.runs, result.criteria)


def _headline(result: AuditResult, focus: RunRecord | None) -> str:
    if focus is None:
        return ""
    said = focus.figures.get("contents", {}).get("headline", "")
    named = f"{said} [{focus.title}]" if said else f"{focus.title}."
    return named if result.chosen is not None else f"No release passes. The closest: {named}"


def _rows(run: RunRecord, result: AuditResult) -> Iterator[RiskRow]:
    """Return how far attackers got in each thing they tried, beside the original and guessing."""
    for most in run.furthest:
        assert most.rate is not None
        limit = result.criteria.limit(most.risk)
        alike = [each.gain for each in run.deciding if each.label == most.label]
        yield RiskRow(
            risk=most.risk,
            label=f"{most.label} ({most.knows})",
            original="not measured"
            if most.raw is None
            else in_thousand(most.raw.value, rounding=ROUND_FLOOR),
            release=in_thousand(most.rate.value),
            guessing=""
            if most.baseline is None
            else of_thousand_words(most.baseline.value, ROUND_FLOOR),
            details=details_of(most),
            above=any(gain is not None and gain.high > limit for gain in alike),
            shares=(
                None if most.raw is None else most.raw.value,
                most.rate.value,
                None if most.baseline is None else most.baseline.value,
            ),
        )


def details_of(adversary: Adversary) -> str:
    """Return interval, control, gain and number of tests of an attack, for whoever asks.

    >>> from setveil.audit import Adversary
    >>> from setveil.measure import Rate
    >>> details_of(Adversary(attack="linkage", rate=Rate.sampled(5, 1000), tested=1000))
    '95% interval 1 to 12 of 1,000; 1,000 tests; gain over guessing at most 1.2%'
    """
    said = []
    rate, gain = adversary.rate, adversary.gain
    if rate is not None and rate.low != rate.high:
        low, high = of_thousand_words(rate.low, ROUND_FLOOR), of_thousand_words(rate.high)
        said.append(f"95% interval {low} to {high} of 1,000")
    if adversary.tested:
        said.append(plural(adversary.tested, adversary.unit))
    if adversary.control is not None:
        said.append(f"where there is nothing to find: {in_thousand(adversary.control.value)}")
    if gain is not None:
        said.append(f"gain over guessing at most {lost(gain.high)}")
    return "; ".join(said)


def _paragraphs(
    result: AuditResult, focus: RunRecord | None
) -> Iterator[tuple[str, tuple[str, ...]]]:
    if focus is not None:
        if focus.loss is not None:
            said = f"Counts of one and two items are off by {lost(focus.loss)} on average."
            yield "What is lost", (said, *_lost_by_size(focus), *_own_counts(focus))
        more = tuple(_if_they_know_more(focus))
        if more:
            yield "If they know more", more
    if result.cares:
        yield 'Why "with care"', result.cares
    if result.reasons:
        yield "Why", result.reasons
    if result.untested:
        yield "Not tested", result.untested
    if result.next_steps:
        yield "Next", result.next_steps


def _own_counts(run: RunRecord) -> Iterator[str]:
    """Return how far off the owner's own counts are."""
    answers = run.figures.get("workload") or []
    errors = [each["error"] for each in answers if each.get("error") is not None]
    if errors:
        mean = sum(errors) / len(errors)
        yield f"Your {plural(len(answers), 'count')}: off by {lost(mean)} on average."


def _lost_by_size(run: RunRecord) -> Iterator[str]:
    """Return how far off counts of one, two and three items are."""
    errors = run.figures.get("contents", {}).get("errors") or {}
    words = {"1": "of one item", "2": "of two items", "3": "of three items"}
    parts = [
        f"{words[size]} by {lost(error)}"
        for size, error in errors.items()
        if size in words and error is not None
    ]
    if parts:
        yield f"By size: counts {join_parts(parts)}."


def _if_they_know_more(run: RunRecord) -> Iterator[str]:
    """Return what attackers find who know more than those who decide, a sentence for each.

    Of the attacks that show the same risk with the same knowledge, the one that gets most counts.
    """
    found: dict[str, dict[str, Adversary]] = {}
    for each in run.adversaries:
        if not each.decides and each.rate is not None:
            knows = each.knows.replace("other items", "items")
            known = found.setdefault(knows, {})
            before = known.get(each.risk)
            if before is None or before.rate is None or before.rate.value < each.rate.value:
                known[each.risk] = each
    for knows, by_risk in found.items():
        parts: list[str] = []
        for risk, verb in VERBS.items():
            most = by_risk.get(risk)
            if most is None or most.rate is None:
                continue
            count = of_thousand_words(most.rate.value) + ("" if parts else " of 1,000 people")
            raw = "" if most.raw is None else of_thousand_words(most.raw.value, ROUND_FLOOR)
            where = "" if parts else "original data: "
            parts.append(f"{verb} {count}" + (f" ({where}{raw})" if raw else ""))
        yield f"An attacker who knows {knows} can {join_parts(parts)}."
