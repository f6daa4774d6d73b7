"""One release in words and small tables: its line in the list of all, and its own section."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.errors import NotApplicable
from setveil.release.generalized import GeneralizedRelease
from setveil.report.words import NOT_APPLICABLE, kept, lost, number, plural, sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.audit import Run
    from setveil.data.taxonomy import Taxonomy

SHOWN = 8
"""Rows of the small tables: enough to get the idea, few enough to read."""

STEPS = 12
"""Rows of a method's own notes."""

REMARKS = {"note", "stop", "warn"}
"""Steps of a log that stand first: what was not done, and what to look out for."""

COLUMNS = {
    "release": "",
    "promise": "“kept” only where an independent check of the published records says so, exactly",
    "detail lost": (
        "generalized group distortion (GGD) as a share of all item occurrences: a term costs "
        "the share of the taxonomy below it, an item left out costs 1; rounded up"
    ),
    "NCP": (
        "normalized certainty penalty: the same, but several items of a record may share one "
        "term without counting as left out; rounded up"
    ),
    "as it was": "item occurrences published unchanged; rounded down",
    "left out": (
        "item occurrences without a term of their own in the release; where several items of a "
        "record share one term, all but one are counted here; rounded up"
    ),
    "itemsets lost": (
        "share of the 100 most frequent itemsets of up to three items that the release no longer "
        "shows for certain; rounded up"
    ),
    "rules kept": (
        "share of the association rules with a confidence of at least 50% that can still be "
        "stated, if only with more general terms; rounded down"
    ),
    "mean length": "published terms per record",
    "mean level": "how deep the published terms lie in the taxonomy; the root is at level 1",
    "query error": (
        "average relative error when counting the records that hold one to a few given items, "
        "with its 95% interval; rounded up"
    ),
    "seconds": (
        "to anonymize, on the machine that wrote this page; the only figures that change when "
        "the same runs are made again"
    ),
}
"""The list of all releases: each column with the words that explain it."""


def describe_run(
    run: Run, common: Sequence[tuple[str, int]], taxonomy: Taxonomy, *, chosen: bool
) -> dict[str, Any]:
    """Return all that the template says about a run; `common` are items with their supports."""
    verdict = run.verdict
    good = run.keeps_promise and run.consistent
    state = _state(run)
    return {
        "title": run.title,
        "anchor": f"run-{run.name}",
        "chosen": chosen,
        "good": good,
        "promise_state": state,
        "summary": f"promise {state}, {lost(run.measures['ggd_share'])} of the detail lost",
        "cells": _cells(run),
        "promise": sentence(run.promise.describe())
        if run.promise is not None
        else "This method promises nothing: what it publishes may or may not protect anybody.",
        "check_word": sentence(state),
        "check": "" if verdict is None else sentence(verdict.reason),
        "truth": "Every published record is a true, if coarser, description of the original "
        "behind it (checked with the private key)."
        if run.consistent
        else "Some published records contradict the originals behind them.",
        "witnesses": _witnesses(run),
        **_terms(run),
        "counts": _counts(run, common, taxonomy if run.taxonomy is None else run.taxonomy),
        **_log(run),
        "figures": [
            (name, number(value, 0 if isinstance(value, int) else 3))
            for name, value in run.figures.items()
            if isinstance(value, int | float)
        ],
    }


def _state(run: Run) -> str:
    if run.verdict is None:
        return "none made"
    if not run.verdict.exact:
        return "not decided"
    return "kept" if run.verdict.holds else "broken"


def _cells(run: Run) -> list[str]:
    measures = run.measures
    error = lost(measures.get("are"))
    low, high = measures.get("are_low"), measures.get("are_high")
    if low is not None and high is not None:
        error = f"{error} ({kept(low)[:-1]} to {lost(high)[:-1]})"
    return [
        lost(measures.get("ggd_share")),
        lost(measures.get("ncp")),
        kept(measures.get("items_exact")),
        lost(measures.get("items_suppressed")),
        lost(measures.get("tkd")),
        kept(measures.get("rules_kept")),
        number(measures.get("length_mean"), 2),
        number(measures.get("level_mean"), 2),
        error,
        number(run.seconds["anonymize"], 2),
    ]


def _witnesses(run: Run) -> list[list[str]]:
    if run.verdict is None:
        return []
    return [
        [
            (", ".join(witness.items) or "(no items)")
            + ("" if witness.consequent is None else f" → {witness.consequent}"),
            number(witness.support),
            witness.required,
        ]
        for witness in run.verdict.witnesses[:SHOWN]
    ]


def _terms(run: Run) -> dict[str, Any]:
    """Return the published terms that stand for several items, the most frequent first."""
    if not isinstance(run.release, GeneralizedRelease):
        return {"terms": [], "terms_how": ""}
    tree = run.release.tree
    times = np.bincount(run.release.nodes, minlength=len(tree))
    general = np.flatnonzero((times > 0) & (tree.leaves > 1)).tolist()
    most = sorted(general, key=lambda node: (-times[node], node))[:SHOWN]
    return {
        "terms": [
            [tree.names[node], number(int(times[node])), number(int(tree.leaves[node]))]
            for node in most
        ],
        "terms_how": f"{plural(len(general), 'general term')} in all. The fewer items a term has "
        "below it, the more it still says.",
    }


def _counts(run: Run, common: Sequence[tuple[str, int]], taxonomy: Taxonomy) -> list[list[str]]:
    """Return for common items how many records have them, and what the release says of that."""
    rows = []
    for item, records in common:
        try:
            sure = number(run.release.support_bounds([item], taxonomy).low)
        except NotApplicable:
            sure = NOT_APPLICABLE
        rows.append([item, number(records), sure])
    return rows


def _log(run: Run) -> dict[str, Any]:
    """Return the method's decisions: first what a reader must know, then the costliest."""
    first = [step for step in run.log if step.action in REMARKS]
    rest = [step for step in run.log if step.action not in REMARKS]
    steps = [*first, *sorted(rest, key=lambda step: -step.cost)][:STEPS]
    costs = any(step.cost for step in steps)
    which = "costliest" if costs else "first"
    rows = [[step.action, step.subject, step.reason] for step in steps]
    if costs:
        rows = [[*row, f"{step.cost:,.4g}"] for row, step in zip(rows, steps, strict=True)]
    return {
        "log": rows,
        "log_head": ["what", "on", "why", *(["cost"] if costs else [])],
        "log_how": ""
        if len(run.log) <= STEPS
        else f"The {len(rows)} {which} of {plural(len(run.log), 'step')}.",
    }
