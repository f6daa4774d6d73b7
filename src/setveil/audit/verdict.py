"""May it be published? Judges every release, gives one of four answers, and says why."""

from __future__ import annotations

from decimal import ROUND_FLOOR
from math import isnan
from typing import TYPE_CHECKING, NamedTuple

from setveil.audit.adversaries import FAILED as ATTACK_FAILED
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
from setveil.core.interval import Rate
from setveil.core.words import count_of_thousand, join_parts, lost, plural, sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.audit.results import Adversary, AuditResult, Criteria, RunRecord

MEANING = "elimination"
"""The family of attacks that needs a source of relatedness."""
DIGITS = 3
"""Losses that agree up to this digit are ties: the queries behind them were drawn."""
POSITIVE = frozenset({PUBLISH, WITH_CARE})
"""The answers with which a release may be published."""
NAMES = {"singling_out": "singling out", "linkage": "linkage", "inference": "inference"}
"""What the risks are called in sentences."""


class Judgement(NamedTuple):
    """What a release is worth.

    Parameters
    ----------
    answer
        One of :data:`~setveil.audit.results.ANSWERS`.
    reasons
        Why it is not to be published without reserve, as parts of sentences; none where it is.
    stronger
        Whether stronger settings of the same method may change the answer.
    """

    answer: str
    reasons: tuple[str, ...] = ()
    stronger: bool = False


class Verdict(NamedTuple):
    """What follows from all runs: see :class:`~setveil.audit.results.AuditResult`."""

    answer: str
    recommended: str | None
    reasons: tuple[str, ...]
    cares: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()


def judge_run(run: RunRecord, criteria: Criteria) -> Judgement:
    """Return whether one release may be published, and what speaks against it.

    To be published, its promise must hold by an exact check of the written files, no original may
    contradict it, an attacker of every family that applies must have tried, and each of them, at
    the upper end of its interval, must stay at or below the target of the risk that it shows.

    Examples
    --------
    >>> from setveil.audit.results import Criteria, RunRecord
    >>> judge_run(RunRecord(id="1", name="x", title="x", method="x", params={}), Criteria())
    Judgement(answer='do-not-publish', reasons=('it promises nothing',), stronger=False)
    """
    above = _above(run, criteria)
    unclear = _unclear(run, criteria)
    failed = [each.attack for each in run.adversaries if each.note.startswith(ATTACK_FAILED)]
    exact = run.holds is True and run.exact
    no, unknown = DO_NOT, NOT_DECIDED
    # In this order: what rules a release out comes before what nobody knows about it.
    faults = [
        (run.state in {SKIPPED, FAILED}, unknown, "its trial did not finish"),
        (run.state == INAPPLICABLE, no, "the data does not allow this setting"),
        (run.promise is None and run.holds is None, no, "it promises nothing"),
        (run.holds is False, no, "its promise is broken"),
        (not run.consistent, no, "it says things that are false"),
        (not exact, unknown, "nobody could check its promise for certain"),
        (bool(above), no, "; ".join(above)),
        (bool(failed), unknown, f"an attack on it failed: {', '.join(failed)}"),
        (bool(run.missing), unknown, f"attacks on it were not run: {', '.join(run.missing)}"),
        (is_bare(run), no, "it says nothing about which items a record has"),
        (_is_unknown(run.risk), unknown, "no attack on it could be measured"),
        (_is_unknown(run.loss), unknown, "what it loses could not be measured"),
        (bool(unclear), unknown, "; ".join(unclear)),
    ]
    for applies, answer, reason in faults:
        if applies:
            return Judgement(answer, (reason,), stronger=bool(above or unclear))
    cares = tuple(_cares(run, criteria))
    return Judgement(WITH_CARE if cares else PUBLISH, cares)


def _is_unknown(figure: float | None) -> bool:
    return figure is None or isnan(figure)


def closest(runs: Sequence[RunRecord], criteria: Criteria) -> RunRecord | None:
    """Return the release that comes closest to being published, where none can be.

    One that nobody could judge comes before one that is ruled out; then the smaller risk counts,
    and of risks that read the same the smaller loss.

    >>> from setveil.audit.results import Criteria
    >>> closest([], Criteria()) is None
    True
    """
    known = [run for run in runs if run.verified and run.risk is not None and not is_bare(run)]
    return min(
        known,
        key=lambda run: (
            judge_run(run, criteria).answer == DO_NOT,
            round(1.0 if run.risk is None else run.risk, DIGITS),
            run.loss is None,
            run.loss,
            run.name,
        ),
        default=None,
    )


def focus_of(result: AuditResult) -> RunRecord | None:
    """Return the run that a report is about: the recommended one, else the closest.

    >>> from setveil.audit.results import AuditResult
    >>> focus_of(AuditResult(title="a", runs=())) is None
    True
    """
    return result.chosen or closest(result.runs, result.criteria)


def is_bare(run: RunRecord) -> bool:
    """Tell whether a release says nothing about which items a record has: useless, if safe."""
    return bool(run.figures.get("content", {}).get("bare"))


def _above(run: RunRecord, criteria: Criteria) -> list[str]:
    """Return the risks that are certainly above their targets, by whichever attack."""
    certain = {
        each.risk
        for each in run.deciding
        if each.gain is not None and each.gain.low > criteria.limit(each.risk)
    }
    return [
        f"{NAMES[risk]} is above the target of {target_words(criteria, risk)}"
        for risk in run.risks
        if risk in certain
    ]


def _unclear(run: RunRecord, criteria: Criteria) -> list[str]:
    """Return the risks that may be above or below their targets."""
    return [
        f"too few {'people were' if worst.tested else 'cases could be'} tested to tell whether "
        f"{NAMES[risk]} is below the target of {target_words(criteria, risk)}: "
        f"{f'after {plural(worst.tested, worst.unit)} ' if worst.tested else ''}it lies between "
        f"{lost(worst.gain.low)} and {lost(worst.gain.high)}"
        for risk, worst in run.risks.items()
        if worst.gain is not None and worst.gain.high > criteria.limit(risk)
    ]


def _cares(run: RunRecord, criteria: Criteria) -> list[str]:
    said = []
    if run.loss is not None and run.loss > criteria.max_loss:
        said.append(
            f"counts of one and two items are off by {lost(run.loss)} on average, and you allow "
            f"{lost(criteria.max_loss)}"
        )
    if run.group_size is None:
        said.append("its promise does not say among how many people each one is hidden")
    elif run.group_size < criteria.min_k:
        said.append(
            f"it hides each person among {run.group_size:,} people, and you ask for at least "
            f"{criteria.min_k:,}"
        )
    return said


def target_words(criteria: Criteria, risk: str) -> str:
    """Return a target as a reader meets it.

    >>> from setveil.audit.results import Criteria
    >>> target_words(Criteria(targets={"inference": 0.125}), "inference")
    '12.5%'
    """
    return f"{criteria.limit(risk) * 100:g}%"


def foresee(criteria: Criteria, *, people: int, holders: int | None) -> tuple[str, ...]:
    """Return why hardly any release can pass, where the data has too few people to show it.

    Even an attack that finds nothing has an interval, and with few people its upper end is high.

    Parameters
    ----------
    criteria
        What a release must reach.
    people, holders
        The number of records, and of those with a sensitive item; None where none are named.

    Examples
    --------
    >>> from setveil.audit.results import Criteria
    >>> foresee(Criteria(), people=500, holders=100)
    ()
    >>> print(foresee(Criteria(), people=500, holders=17)[0])
    There are only 17 people among those with a sensitive item. That is too few to show that ...
    """
    cases: list[tuple[int, str, tuple[str, ...]]]
    cases = [(people, "in the data", ("singling_out", "linkage"))]
    if holders is not None:
        cases.append((holders, "among those with a sensitive item", ("inference",)))
    said = []
    for number, where, risks in cases:
        least = Rate.sampled(0, number).high
        open_risks = [risk for risk in risks if least > criteria.limit(risk)]
        if open_risks:
            named = join_parts([NAMES[risk] for risk in open_risks])
            limit = target_words(criteria, min(open_risks, key=criteria.limit))
            said.append(
                f"There {'is' if number == 1 else 'are'} only "
                f"{plural(number, 'person', 'people')} {where}. That is too few to show that "
                f"{named} {'stays' if len(open_risks) == 1 else 'stay'} at or below {limit}: even "
                f"if an attack finds nothing, the upper end of its interval is {lost(least)}, so "
                "that hardly any release can pass. Add records, or decide whether you accept a "
                "higher target for this risk (--target)."
            )
    return tuple(said)


def conclude(
    runs: Sequence[RunRecord],
    criteria: Criteria,
    *,
    unfinished: str = "",
    foreseen: Sequence[str] = (),
    free: bool = False,
) -> Verdict:
    """Return the answer: the safe release with the least loss, or why there is none.

    Parameters
    ----------
    runs
        What was tried.
    criteria
        What a release must reach.
    unfinished
        What to say, and how to go on, where a limit stopped the search; "" where none did.
    foreseen
        Why hardly any release can pass with so few people (:func:`foresee`).
    free
        Whether every parameter was searched, so that no stronger settings are left.

    Examples
    --------
    >>> from setveil.audit.results import Criteria
    >>> conclude([], Criteria()).answer
    'not-decided'
    """
    judged = {run.id: judge_run(run, criteria) for run in runs}
    fit = [run for run in runs if judged[run.id].answer in POSITIVE]
    if fit:
        return _positive(runs, fit, judged, unfinished)
    unsure = [run for run in runs if judged[run.id].answer == NOT_DECIDED]
    if unsure or unfinished or not runs:
        known = [unfinished] if unfinished else list(foreseen)
        return _not_decided(runs, unsure, judged, criteria, known)
    return _negative(runs, judged, criteria, free=free)


def preference(run: RunRecord, judgement: Judgement) -> tuple[bool, float, float, str]:
    """Return what orders safe releases, the best first: no reserve, little loss, little risk.

    >>> from setveil.audit.results import RunRecord
    >>> run = RunRecord(id="1", name="x", title="x", method="x", params={}, loss=0.12345)
    >>> preference(run, Judgement(PUBLISH))
    (False, 0.123, 1.0, 'x')
    """
    risk = 1.0 if run.risk is None else run.risk
    return judgement.answer != PUBLISH, round(run.loss or 0.0, DIGITS), risk, run.name


def _positive(
    runs: Sequence[RunRecord],
    fit: Sequence[RunRecord],
    judged: dict[str, Judgement],
    unfinished: str,
) -> Verdict:
    best = min(fit, key=lambda run: preference(run, judged[run.id]))
    alike = [run for run in fit if judged[run.id].answer == judged[best.id].answer]
    number = f"{len(fit):,} of {plural(len(runs), 'trial')}"
    if len(runs) == 1:
        said = ["Every attack that decides stays at or below the target."]
    elif len(fit) == 1:
        said = [f"Of {plural(len(runs), 'trial')}, this is the only one that passes."]
    elif len(alike) == 1:
        said = [f"{number} pass. This is the only one that needs no care."]
    else:
        least = "the least" if len(alike) == len(fit) else "the least of those without care"
        said = [f"{number} pass. This one loses {least}."]
    if best.promise is not None:
        said.append(f"Promise, checked in its files: {best.promise['says'].rstrip('.')}.")
    better = [
        run
        for run in runs
        if run.state == DONE
        and run.loss is not None
        and run.loss < (best.loss or 0.0)
        and judged[run.id].reasons  # without any it passes as well, and ties with the best
    ]
    if better:
        near = min(better, key=lambda run: (run.risk is None, run.risk, run.name))
        said.append(
            sentence(
                f"{near.title} would lose less ({lost(near.loss)}), but {_reasons(near, judged)}"
            )
        )
    steps = [unfinished] if unfinished else []
    return Verdict(
        judged[best.id].answer,
        best.id,
        tuple(said),
        tuple(map(sentence, judged[best.id].reasons)),
        tuple(steps),
    )


def _not_decided(
    runs: Sequence[RunRecord],
    unsure: Sequence[RunRecord],
    judged: dict[str, Judgement],
    criteria: Criteria,
    known: Sequence[str],
) -> Verdict:
    """Return what is missing; `known` says what kept the search from an answer."""
    done = [run for run in runs if run.state == DONE]
    said, steps = [], list(known)
    if not done:
        said.append("No trial finished, so there is no verdict yet.")
        failed = [run for run in runs if run.state == FAILED]
        said += [f"{run.title} failed: {run.error.rstrip('.')}." for run in failed[:1]]
    elif len(done) == 1:
        said.append("The one trial that finished cannot be recommended.")
    else:
        said.append(f"None of {len(done):,} finished trials can be recommended.")
    near = closest(unsure, criteria)
    if near is not None:
        said.append(sentence(f"{near.title}: {_reasons(near, judged)}"))
        if near.missing == (MEANING,):
            steps.append(
                "Name a source that tells how items are related, as in --relatedness "
                "corpus:notes.index, or leave such methods out."
            )
        elif near.missing:
            steps.append("Run the audit without --attacks, so that every attack is tried.")
        elif judged[near.id].stronger and not known:
            steps.append("Add records of the same kind: with more people the interval is narrower.")
    if not steps:
        steps.append("Run the same command again; trials that finished are kept.")
    return Verdict(NOT_DECIDED, None, tuple(said), (), tuple(steps))


def _negative(
    runs: Sequence[RunRecord], judged: dict[str, Judgement], criteria: Criteria, *, free: bool
) -> Verdict:
    done = [run for run in runs if run.state == DONE]
    said = [
        f"None of {plural(len(done), 'trial')} stays at or below the target in every attack."
        if done
        else "No method applies to this data."
    ]
    near = closest(done, criteria)
    if near is not None:
        said.append(f"The closest is {near.title}: {_reasons(near, judged)}.")
        said += [
            risk_sentence(worst)
            for risk, worst in near.risks.items()
            if worst.gain is not None and worst.gain.high > criteria.limit(risk)
        ]
    counts: dict[str, int] = {}
    for run in runs:
        for reason in judged[run.id].reasons:
            counts[reason] = counts.get(reason, 0) + 1
    listed = "; ".join(f"{reason} ({plural(number, 'trial')})" for reason, number in counts.items())
    said.append(f"What speaks against them: {listed}.")
    steps = ["Remove the rarest items or the most sensitive ones from the data, and audit again."]
    if not free:
        steps.insert(0, "Search stronger settings with `setveil harden`.")
    return Verdict(DO_NOT, None, tuple(said), (), tuple(steps))


def _reasons(run: RunRecord, judged: dict[str, Judgement]) -> str:
    return "; ".join(judged[run.id].reasons)


def risk_sentence(adversary: Adversary) -> str:
    """Return what an attack found as sentences for a data owner.

    >>> from setveil.audit.results import Adversary
    >>> from setveil.measure import Rate
    >>> risk_sentence(Adversary(
    ...     attack="linkage", knows="two items of a person", figure="named",
    ...     says="An attacker who knows {knows} names {count} of 1,000 people.", tested=500,
    ...     rate=Rate(value=0.017, low=0.011, high=0.026, exact=False),
    ...     baseline=Rate.counted(0.001), raw=Rate.counted(0.161)))
    'An attacker who knows two items of a person names 17 of 1,000 people. In the original data: \
161; by guessing: 1; 95% interval: 11 to 26, from 500 tests.'
    """
    if adversary.rate is None:
        return f"{adversary.attack}: {adversary.note or 'not measured'}."
    rate = adversary.rate
    beside = []
    if adversary.raw is not None:
        beside.append(
            f"In the original data: {count_of_thousand(adversary.raw.value, ROUND_FLOOR)}"
        )
    if adversary.baseline is not None:
        guess = count_of_thousand(adversary.baseline.value, ROUND_FLOOR)
        beside.append(f"{'by' if beside else 'By'} guessing: {guess}")
    if rate.low != rate.high:
        ends = f"{count_of_thousand(rate.low, ROUND_FLOOR)} to {count_of_thousand(rate.high)}"
        number = plural(adversary.tested, adversary.unit)
        tested = f", from {number}" if adversary.tested else ""
        beside.append(f"{'95%' if beside else 'The 95%'} interval: {ends}{tested}")
    said = finding_sentence(adversary)
    return f"{said} {'; '.join(beside)}." if beside else said


def finding_sentence(adversary: Adversary, *, knows: str | None = None) -> str:
    """Return what an attack found, in the sentence that its class has for a data owner."""
    assert adversary.rate is not None
    known = adversary.knows if knows is None else knows
    count = count_of_thousand(adversary.rate.value)
    return adversary.says.replace("{knows}", known).replace("{count}", count)
