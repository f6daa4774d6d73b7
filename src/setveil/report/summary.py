"""What a report says of an audit, in words: the first screen, and each trial.

The terminal, the page and Markdown show the same lines.
"""

from __future__ import annotations

import html
import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import TYPE_CHECKING, Any, NamedTuple

from setveil.attack.base import INFERENCE, LINKAGE, RISKS, SINGLING_OUT
from setveil.audit.contents import setting_in_words
from setveil.audit.figures import is_drawn
from setveil.audit.results import (
    DO_NOT,
    DONE,
    FAILED,
    INAPPLICABLE,
    NOT_DECIDED,
    PUBLISH,
    SKIPPED,
    WITH_CARE,
)
from setveil.audit.verdict import POSITIVE, focus_of, judge_run
from setveil.core.errors import SetveilError
from setveil.core.words import (
    NOT_APPLICABLE,
    count_of_thousand,
    in_thousand,
    join_parts,
    kept,
    lost,
    number,
    people,
    plural,
    sentence,
    visible,
    won,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from setveil.audit import Adversary, AuditResult, RunRecord
    from setveil.core.interval import Rate


# --- the first screen -----------------------------------------------------------------------------

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
    focus = focus_of(result)
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
            else count_of_thousand(most.baseline.value, ROUND_FLOOR),
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
        low, high = count_of_thousand(rate.low, ROUND_FLOOR), count_of_thousand(rate.high)
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
            count = count_of_thousand(most.rate.value) + ("" if parts else " of 1,000 people")
            raw = "" if most.raw is None else count_of_thousand(most.raw.value, ROUND_FLOOR)
            where = "" if parts else "original data: "
            parts.append(f"{verb} {count}" + (f" ({where}{raw})" if raw else ""))
        yield f"An attacker who knows {knows} can {join_parts(parts)}."


# --- one trial: its line among all, and its own section -------------------------------------------

WITNESSES = 8

VERDICTS = {
    PUBLISH: "publish",
    WITH_CARE: "with care",
    NOT_DECIDED: "not decided",
    DO_NOT: "do not publish",
}
"""The answers, best first, as they stand beside a trial."""
LOOKS = {PUBLISH: "good", WITH_CARE: "care", NOT_DECIDED: "soft", DO_NOT: "bad"}
ENDS = {FAILED: "failed", SKIPPED: "not run", INAPPLICABLE: "does not apply"}
"""What became of trials that have no release."""

MEASURES = {
    "are": "average relative error when counting the records that hold one to a few given items",
    "ggd_share": "detail lost: a general term costs the share of the taxonomy below it, an item "
    "left out costs 1",
    "ncp": "normalized certainty penalty: the mean penalty of an original item",
    "average_loss": "mean loss of an original item, by the ordinary items only",
    "items_exact": "item occurrences published unchanged",
    "items_suppressed": "item occurrences without a term of their own in the release",
    "items_kept": "published items or terms per original item",
    "records_kept": "published records per original record",
    "length_mean": "published items or terms per record",
    "level_mean": "how deep the published terms lie in the taxonomy; the root is at level 1",
    "tkd": "share of the 100 most frequent itemsets that the release no longer shows for certain",
    "rules_kept": "share of the association rules that can still be stated, if only in general",
    "rules_exact": "share of them that can be stated as they were",
}
"""Measures in words; others are shown by their names, which the documentation explains."""

SHARES = {
    "are", "ggd_share", "ncp", "average_loss", "items_exact", "items_suppressed", "items_kept",
    "records_kept", "tkd", "rules_kept", "rules_exact",
}  # fmt: skip
KEPT = {"items_exact", "items_kept", "records_kept", "rules_kept", "rules_exact"}


def best_first(result: AuditResult) -> list[RunRecord]:
    """Return the trials of an audit: the recommended one, then by verdict, loss and risk.

    >>> from setveil.audit import AuditResult, RunRecord
    >>> runs = [RunRecord(id=name, name=name, title=name, method="m", params={}, state=state)
    ...         for name, state in (("a", "inapplicable"), ("b", "failed"))]
    >>> [run.name for run in best_first(AuditResult(title="t", runs=tuple(runs)))]
    ['b', 'a']
    """
    order = list(VERDICTS)

    def place(run: RunRecord) -> tuple[bool, bool, int, float, float]:
        judged = order.index(judge_run(run, result.criteria).answer)
        loss = math.inf if run.loss is None else run.loss
        risk = math.inf if run.risk is None else run.risk
        return run.id != result.recommended, run.state != DONE, judged, loss, risk

    return sorted(result.runs, key=place)


def describe(run: RunRecord, result: AuditResult) -> dict[str, Any]:
    """Return all that the page says about a trial.

    >>> from setveil.audit import AuditResult, RunRecord
    >>> lone = RunRecord(id="1", name="a", title="a", method="m", params={"k": 2}, state="failed")
    >>> describe(lone, AuditResult(title="t", runs=(lone,)))["verdict"]
    'failed'
    """
    judged = judge_run(run, result.criteria)
    limits = result.criteria
    return {
        "id": run.id,
        "title": run.title,
        "anchor": f"run-{run.name}",
        "name": run.name,
        "method": run.method,
        "chosen": run.id == result.recommended,
        "done": run.state == DONE,
        "good": run.verified,
        "passes": judged.answer in POSITIVE,
        "drawn": is_drawn(run),
        "state": state(run),
        "verdict": VERDICTS[judged.answer] if run.state == DONE else ENDS[run.state],
        "look": LOOKS[judged.answer] if run.state == DONE else "soft",
        "why": sentence("; ".join(judged.reasons) if run.state == DONE else run.error),
        "error": sentence(run.error),
        "headline": run.figures.get("contents", {}).get("headline", ""),
        "risks": [_risk(run, risk, limits.limit(risk)) for risk in RISKS],
        "loss": lost(run.loss),
        "loss_number": -1 if run.loss is None else run.loss,
        "unchanged": kept(run.measures.get("items_exact")),
        "left_out": lost(run.measures.get("items_suppressed")),
        "seconds": number(sum(run.seconds.values()), 1) if run.seconds else NOT_APPLICABLE,
        "release": run.release,
        "form": run.form,
        "promise": sentence(run.promise["says"])
        if run.promise is not None
        else "This method promises nothing: what it publishes may or may not protect anybody.",
        "check": sentence(run.reason),
        "content": run.figures.get("content", {}).get("sentence") or "",
        "truth": "Every published record is a true, if coarser, description of the original "
        "behind it (checked with the private key)."
        if run.consistent
        else "It was not shown that the published records agree with the originals behind them.",
        "witnesses": [_witness(each) for each in run.witnesses[:WITNESSES]],
        "more_witnesses": max(len(run.witnesses) - WITNESSES, 0),
        "adversaries": [adversary(each, limits.limit(each.risk)) for each in run.adversaries],
        "measures": measure_rows(run.measures),
        "setting": _setting(run),
        "figures": [
            [name, number(value, 0 if isinstance(value, int) else 3)]
            for name, value in run.figures.items()
            if isinstance(value, int | float)
        ],
        "times": ", ".join(f"{stage} {time:,.2f} s" for stage, time in run.seconds.items()),
    }


def _risk(run: RunRecord, risk: str, limit: float) -> dict[str, Any]:
    """Return the largest gain of a risk's attacks, at the upper end of its interval."""
    worst = run.risks.get(risk)
    gain = None if worst is None else worst.gain
    return {
        "text": "–" if gain is None else lost(gain.high),
        "number": -1 if gain is None else gain.high,
        "above": gain is not None and gain.high > limit,
    }


def _setting(run: RunRecord) -> str:
    """Return method and parameters; those of a method that is not installed as they are."""
    try:
        return setting_in_words(run.method, run.params)
    except SetveilError:
        return ", ".join(
            [run.method, *(f"{name} = {value_words(value)}" for name, value in run.params.items())]
        )


def state(run: RunRecord) -> str:
    """Return in a word or two what became of the promise.

    >>> from setveil.audit import RunRecord
    >>> state(RunRecord(id="1", name="a", title="a", method="m", params={}))
    'none made'
    """
    if run.promise is None or run.holds is None:
        return "none made"
    if not run.exact:
        return "not decided"
    if run.holds and not run.consistent:
        return "untrue"
    return "kept" if run.holds else "broken"


def attacker_name(each: Adversary) -> str:
    """Return an adversary in a few words.

    >>> from setveil.audit import Adversary
    >>> attacker_name(Adversary(attack="linkage", knows="2 random items of a person"))
    'linkage: 2 random items of a person'
    """
    return f"{each.attack}: {each.knows}" if each.knows else each.attack


def adversary(each: Adversary, limit: float) -> dict[str, Any]:
    """Return what the page says about an attack on a release.

    >>> from setveil.audit import Adversary
    >>> adversary(Adversary(attack="aba", note="needs a corpus"), 0.1)["note"]
    'Needs a corpus.'
    """
    gain = each.gain
    return {
        "attack": each.attack,
        "knows": each.knows,
        "risk": each.risk.replace("_", " "),
        "decides": each.decides,
        "params": ", ".join(f"{name} {value_words(value)}" for name, value in each.params.items()),
        "figure": each.figure,
        "original": _of_thousand(each.raw, rounding=ROUND_FLOOR),
        "rate": _of_thousand(each.rate),
        "baseline": _of_thousand(each.baseline, rounding=ROUND_FLOOR),
        "baseline_name": each.baseline_name,
        "control": _of_thousand(each.control),
        "tested": number(each.tested) if each.tested else NOT_APPLICABLE,
        "gain": won(gain),
        "above": gain is not None and gain.high > limit,
        "strip": None if each.rate is None else _strip(each),
        "note": sentence(each.note),
        "examples": [_example(example) for example in each.examples],
    }


def _of_thousand(rate: Rate | None, *, rounding: str = ROUND_CEILING) -> str:
    """Return a rate of 1,000, for a column whose head says so."""
    return people(rate, rounding=rounding).replace(" of 1,000", "")


def _strip(each: Adversary) -> dict[str, str]:
    """Return places between 0 and 100 for a little picture of a rate beside its baseline.

    The scale is stretched near 0, as in the charts: roots of the shares.
    """
    assert each.rate is not None
    low, high = _along(each.rate.low), _along(each.rate.high)
    marks = {"at": each.rate, "base": each.baseline, "control": each.control}
    places = {
        name: "" if rate is None else f"{_along(rate.value):.1f}" for name, rate in marks.items()
    }
    return {"low": f"{low:.1f}", "width": f"{max(high - low, 0.5):.1f}", **places}


def _along(share: float) -> float:
    return 100 * math.sqrt(min(max(share, 0.0), 1.0))


def _example(example: Mapping[str, Any]) -> dict[str, Any]:
    """Return an example of what an attack said, every part of it as text."""
    parts = [
        [name, ", ".join(map(str, example[name])) or "(nothing)"]
        for name in ("known", "published", "guessed", "original")
        if example.get(name) is not None
    ]
    why = [
        [str(row[0]), str(row[1]), *(f"{float(cell):.3g}" for cell in row[2:])]
        for row in example.get("why", ())
    ]
    return {"parts": parts, "why": why}


def _witness(witness: object) -> list[str]:
    if not isinstance(witness, dict):
        return [str(witness), "", ""]
    items = ", ".join(map(str, witness.get("items", ()))) or "(no items)"
    follows = witness.get("consequent")
    return [
        items if follows is None else f"{items} → {follows}",
        number(witness.get("support")),
        str(witness.get("required", "")),
    ]


def measure_rows(measures: Mapping[str, Any]) -> list[list[str]]:
    """Return each measure with its value and its words; ends of intervals stand with their rate.

    >>> measure_rows({"items_exact": 0.6217})
    [['items_exact', '62.1%', 'item occurrences published unchanged']]
    """
    rows = []
    for name, value in measures.items():
        if name.endswith(("_low", "_high")):
            continue
        if name in SHARES:
            shown = kept(value) if name in KEPT else lost(value)
        else:
            shown = NOT_APPLICABLE if value is None else f"{value:,.4g}"
        low, high = measures.get(f"{name}_low"), measures.get(f"{name}_high")
        if low is not None and high is not None and name in SHARES:
            shown += f" ({kept(low)[:-1]} to {lost(high)[:-1]})"
        rows.append([name, shown, MEASURES.get(name, "")])
    return rows


def value_words(value: object) -> str:
    """Return a setting as a reader meets it.

    >>> value_words({"k": [2, 5], "fast": True, "seed": None})
    'k: 2, 5, fast: yes, seed: none'
    """
    if isinstance(value, list | tuple):
        return ", ".join(map(value_words, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {value_words(inner)}" for name, inner in value.items()) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


# --- the same as Markdown: for a pull request, a ticket, a mail to a colleague who is cleared -----


SPECIAL = re.compile(r"([\\`*_\[\]|#~@$]|:(?=\S)|(?<=www)\.|^[-+=])", re.IGNORECASE)
"""What would begin markup, a link, a mention or a formula."""
NUMBERED = re.compile(r"^(\d+)([.)])(?=\s|$)")


def escaped(text: object) -> str:
    r"""Return a text so that Markdown shows it as it is, on one line, hidden characters too.

    >>> print(escaped("a|b <i>*c*\u202e www.d"))
    a\|b &lt;i&gt;\*c\*\\u202e www\.d
    """
    plain = html.escape(visible(str(text)), quote=False)
    return NUMBERED.sub(r"\1\\\2", SPECIAL.sub(r"\\\1", plain))


def markdown_audit(result: AuditResult) -> str:
    """Return the answer, every trial and the attacks on the recommended one as Markdown.

    >>> from setveil.audit import AuditResult
    >>> print(markdown_audit(AuditResult(title="Visits", runs=())).splitlines()[0])
    # NOT DECIDED: Visits
    """
    focus = focus_of(result)
    lines = [*_first_screen(result), *_trials(result)]
    if focus is not None:
        lines += _attacks(focus)
    if result.notes:
        lines += ["", "## Notes", "", *(f"- {escaped(note)}" for note in result.notes)]
    if result.settings:
        rows = [
            [name, value_words(value)]
            for name, value in result.settings.items()
            if name != "reading"
        ]
        lines += ["", "## Settings", "", *_table(["setting", "value"], rows)]
    return "\n".join(lines) + "\n"


def _first_screen(result: AuditResult) -> Iterator[str]:
    screen = first_screen(result)
    yield f"# {screen.answer}: {escaped(screen.about)}"
    yield ""
    yield "**For the owner of the data: do not publish this text.**"
    if screen.headline:
        yield from ["", escaped(screen.headline)]
    if screen.risks:
        head = ["What could an attacker still do?", "original data", "this release", "guessing"]
        rows = [
            [row.label, row.original, row.release, row.guessing or "not measured"]
            for row in screen.risks
        ]
        yield from ["", *_table(head, rows), ""]
        yield from (f"- {escaped(row.label)}: {escaped(row.details)}." for row in screen.risks)
    for title, sentences in screen.paragraphs:
        yield from ["", f"**{escaped(title)}:**", ""]
        yield from (f"- {escaped(said)}" for said in sentences)


def _trials(result: AuditResult) -> Iterator[str]:
    yield from ["", "## Every trial, best first", ""]
    rows = []
    for run in best_first(result):
        said = describe(run, result)
        risks = [each["text"] for each in said["risks"]]
        star = " ★" if said["chosen"] else ""
        rows.append([run.title + star, said["verdict"], *risks, said["loss"], said["why"]])
    head = ["trial", "verdict", "singling out", "linkage", "inference", "loss", "why"]
    yield from _table(head, rows)
    yield ""
    yield (
        "Risks: the largest gain over guessing, at the upper end of its 95% interval. Loss: the "
        "average relative error of counts. Both are rounded up."
    )


def _attacks(run: RunRecord) -> Iterator[str]:
    yield from ["", f"## Attacks on {escaped(run.title)}", ""]
    rows = [
        [
            attacker_name(each),
            people(each.raw, rounding=ROUND_FLOOR),
            people(each.rate),
            people(each.baseline, rounding=ROUND_FLOOR),
            people(each.control),
            won(each.gain),
        ]
        if each.rate is not None
        else [attacker_name(each), "", sentence(each.note) or "not measured", "", "", ""]
        for each in run.adversaries
    ]
    head = ["attack", "original data", "this release", "guessing", "control", "gain"]
    yield from _table(head, rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(map(escaped, row))} |" for row in rows)
