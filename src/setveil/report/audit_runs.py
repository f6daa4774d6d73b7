"""One run of an audit in words: its line among all, and its own section."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from setveil.audit.frontier import is_drawn
from setveil.audit.results import DONE, FAILED, SKIPPED
from setveil.words import NOT_APPLICABLE, kept, lost, number, sentence, won

if TYPE_CHECKING:
    from collections.abc import Mapping

    from setveil.audit import Adversary, AuditResult, RunRecord

WITNESSES = 8

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


def describe(run: RunRecord, result: AuditResult) -> dict[str, Any]:
    """Return all that the page says about a run.

    >>> from setveil.audit import AuditResult, RunRecord
    >>> lone = RunRecord(id="1", name="a", title="a", method="m", params={"k": 2}, state="failed")
    >>> describe(lone, AuditResult(title="t", target=0.1, runs=(lone,)))["state"]
    'failed'
    """
    worst = run.worst
    return {
        "id": run.id,
        "title": run.title,
        "anchor": f"run-{run.name}",
        "name": run.name,
        "method": run.method,
        "chosen": run.id == result.recommended,
        "done": run.state == DONE,
        "good": run.verified,
        "meets": meets(run, result.target),
        "drawn": is_drawn(run),
        "state": state(run),
        "error": sentence(run.error),
        "risk": lost(run.risk),
        "risk_number": -1 if run.risk is None else run.risk,
        "worst": sentence(run.error) if worst is None else called(worst),
        "look": "good" if run.verified else "soft" if run.state == SKIPPED else "bad",
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
        "adversaries": [adversary(each, result.target) for each in run.adversaries],
        "measures": _measures(run.measures),
        "params": [[name, value_words(value)] for name, value in run.params.items()],
        "figures": [
            [name, number(value, 0 if isinstance(value, int) else 3)]
            for name, value in run.figures.items()
            if isinstance(value, int | float)
        ],
        "times": ", ".join(f"{stage} {time:,.2f} s" for stage, time in run.seconds.items()),
    }


def state(run: RunRecord) -> str:
    """Return in a word or two what became of the promise, or of the run.

    >>> from setveil.audit import RunRecord
    >>> state(RunRecord(id="1", name="a", title="a", method="m", params={}))
    'none made'
    """
    if run.state != DONE:
        return "failed" if run.state == FAILED else "left out"
    if run.promise is None or run.holds is None:
        return "none made"
    if not run.exact:
        return "not decided"
    if run.holds and not run.consistent:
        return "untrue"
    return "kept" if run.holds else "broken"


def meets(run: RunRecord, target: float) -> bool:
    """Tell whether a run may be recommended: verified, measured, and at or below the target.

    >>> from setveil.audit import RunRecord
    >>> meets(RunRecord(id="1", name="a", title="a", method="m", params={}), 0.1)
    False
    """
    return run.verified and is_drawn(run) and run.risk is not None and run.risk <= target


def called(each: Adversary) -> str:
    """Return an adversary in a few words.

    >>> from setveil.audit import Adversary
    >>> called(Adversary(attack="linkage", knows="2 random items of a person"))
    'linkage: 2 random items of a person'
    """
    return f"{each.attack}: {each.knows}" if each.knows else each.attack


def adversary(each: Adversary, target: float) -> dict[str, Any]:
    """Return what the page says about an attack on a release.

    >>> from setveil.audit import Adversary
    >>> adversary(Adversary(attack="aba", note="needs a corpus"), 0.1)["note"]
    'Needs a corpus.'
    """
    gain = each.gain
    return {
        "attack": each.attack,
        "knows": each.knows,
        "params": ", ".join(f"{name} {value_words(value)}" for name, value in each.params.items()),
        "figure": each.figure,
        "rate": won(each.rate),
        "baseline": won(each.baseline),
        "baseline_name": each.baseline_name,
        "control": won(each.control),
        "gain": won(gain),
        "above": gain is not None and gain.high > target,
        "strip": None if each.rate is None else _strip(each),
        "note": sentence(each.note),
        "examples": [_example(example) for example in each.examples],
        "scores": [
            [name, NOT_APPLICABLE if value is None else f"{value:,.4g}"]
            for name, value in each.scores.items()
            if not name.endswith(("_low", "_high"))
        ],
    }


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


def _witness(witness: Any) -> list[str]:  # noqa: ANN401  (JSON)
    if not isinstance(witness, dict):
        return [str(witness), "", ""]
    items = ", ".join(map(str, witness.get("items", ()))) or "(no items)"
    follows = witness.get("consequent")
    return [
        items if follows is None else f"{items} → {follows}",
        number(witness.get("support")),
        str(witness.get("required", "")),
    ]


def _measures(measures: Mapping[str, Any]) -> list[list[str]]:
    """Return each measure with its value and its words; ends of intervals stand with their rate."""
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


def value_words(value: Any) -> str:  # noqa: ANN401  (JSON)
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
