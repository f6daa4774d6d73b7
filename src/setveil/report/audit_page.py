"""From an audit to its page: the verdict, the pictures with their tables, and each run."""

from __future__ import annotations

import base64
import hashlib
from decimal import ROUND_FLOOR
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setveil import __version__, charts
from setveil.audit.attacks import without_folders
from setveil.audit.frontier import NARROW, frontier, is_drawn, series_of
from setveil.audit.results import DONE
from setveil.errors import ParameterError
from setveil.registry import entries
from setveil.report.audit_charts import successes
from setveil.report.audit_runs import called, describe, meets, value_words
from setveil.report.released import Shown, look_into
from setveil.words import (
    NOT_APPLICABLE,
    about,
    in_thousand,
    kept,
    lost,
    number,
    plural,
    visible,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from markupsafe import Markup

    from setveil.audit import AuditResult, RunRecord

SYMBOLS = {
    "circle": "M5 0A5 5 0 1 1-5 0A5 5 0 1 1 5 0Z",
    "square": "M-4.5-4.5H4.5V4.5H-4.5Z",
    "diamond": "M0-6L4.5 0L0 6L-4.5 0Z",
    "triangle-up": "M0-5L5.5 4.5H-5.5Z",
    "triangle-down": "M0 5L5.5-4.5H-5.5Z",
    "cross": "M-5.5-2H-2V-5.5H2V-2H5.5V2H2V5.5H-2V2H-5.5Z",
}
"""The shapes of the methods' marks, for the list of methods beside the picture."""

SIZE = {
    "records": "records",
    "items": "different items",
    "occurrences": "item occurrences",
    "length_mean": "items per record, mean",
    "length_max": "items per record, most",
    "empty_records": "records without items",
    "duplicate_records": "records that repeat another",
    "rare_items": "items in a single record",
}


def render_audit(
    result: AuditResult, directory: str | os.PathLike[str], *, show_records: bool = False
) -> str:
    """Return the page of an audit as text; the same audit gives the same bytes, timings aside.

    Parameters
    ----------
    result
        What the audit found.
    directory
        Where it wrote: releases are looked into below it. One that is not there is said to be
        missing.
    show_records
        Whether to show published records, and examples of what attacks made of them.

    Examples
    --------
    >>> from setveil.audit import AuditResult, RunRecord
    >>> lone = RunRecord(id="1", name="clump-k5", title="clump, k = 5", method="clump",
    ...                  params={"k": 5}, state="failed", error="no memory was left")
    >>> page = render_audit(AuditResult(title="Visits", target=0.1, runs=(lone,)), "audit")
    >>> "Publish none of these" in page, "No memory was left." in page
    (True, True)
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  (start-up time)
    from markupsafe import Markup  # noqa: PLC0415  (start-up time)

    if not result.runs:
        raise ParameterError("an audit without runs has no report", fix="run a method first")

    def written_out(value: object) -> object:
        """Show hidden characters of every text on the page, but for pictures and our script."""
        return visible(value) if type(value) is str else value

    pages = Environment(
        loader=PackageLoader("setveil.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=written_out,
    )
    script = _source(pages, "audit.js")
    focus = result.chosen or nearest(result)
    runs = list(_described(result, Path(directory), show_records=show_records))
    return pages.get_template("audit.html").render(
        version=__version__,
        title=result.title,
        description=" ".join(result.description.split()),
        script=Markup(script),  # noqa: S704  (our own file)
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        target=f"{result.target * 100:g}%",
        verdict=verdict_of(result),
        figures=list(figures_for(result, focus)),
        focus=next((each for each in runs if focus is not None and each["id"] == focus.id), None),
        drawings=_drawings(result),
        methods=_methods(result),
        undrawn=_undrawn(result),
        runs=runs,
        matrix=_matrix(result),
        unique=_unique(result),
        size=_size(result),
        common=[
            [entry["item"], number(entry["records"])]
            for entry in result.profile.get("top_items", [])
        ],
        sensitive=bool(result.settings.get("sensitive")),
        settings=[[name, value_words(value)] for name, value in _settings(result)],
        notes=result.notes,
        glossary=_glossary(result),
        show_records=show_records,
    )


def _source(pages: Any, name: str) -> str:  # noqa: ANN401  (jinja2 is loaded late)
    text: str = pages.loader.get_source(pages, name)[0]
    return text


def nearest(result: AuditResult) -> RunRecord | None:
    """Return the verified run with the least risk: what to look at where none is recommended.

    >>> from setveil.audit import AuditResult
    >>> nearest(AuditResult(title="a", target=0.1, runs=())) is None
    True
    """
    fit = [run for run in result.runs if run.verified and run.risk is not None]
    # One whose loss is unknown can never be recommended: second choice here, too.
    return min(fit, key=lambda run: (run.loss is None, run.risk, run.name), default=None)


# --- the first screen -----------------------------------------------------------------------------


def verdict_of(result: AuditResult) -> dict[str, Any]:
    """Return what to publish, why, and what to keep away from.

    >>> from setveil.audit import AuditResult
    >>> verdict_of(AuditResult(title="a", target=0.1, runs=()))["lead"]
    'Publish none of these yet.'
    """
    chosen = result.chosen
    done = [run for run in result.runs if run.state == DONE]
    fit = sum(meets(run, result.target) for run in done)
    broken = [run for run in done if run.holds is False and run.exact]
    untrue = [run for run in done if not run.consistent]
    warnings = [f"Do not publish {run.title}: its promise is broken." for run in broken]
    warnings += [
        f"Do not publish {run.title}: it may say things that are false."
        for run in untrue
        if run not in broken
    ]
    lead = "Publish none of these yet." if chosen is None else f"Publish {chosen.title}."
    return {
        "good": chosen is not None,
        "lead": lead,
        "release": "" if chosen is None else chosen.release,
        "reasons": list(result.reasons),
        "counts": f"{plural(len(result.runs), 'setting')} planned, {number(len(done))} run; "
        f"{number(sum(run.verified for run in done))} verified; {number(fit)} at or below the "
        f"target of {result.target * 100:g}%.",
        "warnings": warnings,
    }


def figures_for(result: AuditResult, focus: RunRecord | None) -> Iterator[dict[str, str]]:
    """Return the three figures: the danger before, what is left of it, and what it costs.

    >>> from setveil.audit import AuditResult
    >>> found = AuditResult(title="a", target=0.1, runs=(), profile={"unique_1": 0.25})
    >>> [figure["value"] for figure in figures_for(found, None)]
    ['about 25 in 100']
    """
    known = _known(result)
    if known:
        m = max(known)
        yield {
            "value": about(known[m]),
            "what": f"original records stand alone for someone who knows {plural(m, 'item')} of a "
            "person",
            "how": "The danger that anonymizing is to remove. Taking names away does not.",
        }
    if focus is None:
        return
    worst = focus.worst
    which = "the recommended release" if result.chosen else f"{focus.title}, the least open release"
    if worst is not None and worst.rate is not None:
        right = f"{in_thousand(worst.rate.value)} right"
        if worst.baseline is not None:
            right += f", {in_thousand(worst.baseline.value, rounding=ROUND_FLOOR)} by guessing"
        tried = sum(each.rate is not None for each in focus.adversaries)
        yield {
            "value": f"at most {lost(focus.risk)}",
            "what": f"of what guessing misses, the worst of {plural(tried, 'attack')} gets from "
            f"{which}",
            "how": f"{called(worst)}: {right}. 0% is no better than guessing, 100% is everything; "
            f"this is the upper end of the 95% interval. The target is {result.target * 100:g}%.",
        }
    exact = focus.measures.get("items_exact")
    unchanged = "" if exact is None else f" {kept(exact)} of all items are published unchanged."
    yield {
        "value": lost(focus.loss),
        "what": "off, on average, when counting in it instead of in the original",
        "how": "Relative error of counting records that hold one to a few given items." + unchanged,
    }


def _settings(result: AuditResult) -> Iterator[tuple[str, Any]]:
    """Return the settings, with files by name: a page tells nobody where they lie."""
    for name, value in result.settings.items():
        shown = [without_folders(each) for each in value] if name == "relatedness" else value
        yield name, shown


# --- pictures -------------------------------------------------------------------------------------


def _drawings(result: AuditResult) -> dict[str, Markup | str]:
    """Return the pictures by name; one that would be empty is an empty text."""
    from markupsafe import Markup  # noqa: PLC0415  (start-up time)

    specs = figures_of(result)
    if "frontier" in specs:  # the page has its own list of methods, and a smaller drawing
        specs["frontier"] = frontier(result, legend=False)
        specs["narrow"] = frontier(result, width=NARROW, legend=False)
    # Vega escapes the texts in its drawings (tested), so they go onto the page as they are.
    drawn = {name: Markup(charts.draw(spec)) for name, spec in specs.items()}  # noqa: S704
    return {name: drawn.get(name, "") for name in ("frontier", "narrow", "attacks", "unique")}


def figures_of(result: AuditResult, *, links: bool = True) -> dict[str, dict[str, Any]]:
    """Return the pictures of an audit by name, as Vega-Lite specifications.

    ``frontier``: all runs by loss and risk; ``attacks``: what each adversary got from the
    recommended run, or from the least open one; ``unique``: how many original records stand
    alone. A picture that would be empty is left out. With `links` the points of the frontier
    lead to the releases on the page.

    >>> from setveil.audit import AuditResult
    >>> figures_of(AuditResult(title="a", target=0.1, runs=()))
    {}
    """
    specs: dict[str, dict[str, Any]] = {}
    if any(map(is_drawn, result.runs)):
        specs["frontier"] = frontier(result, links=links)
    focus = result.chosen or nearest(result)
    if focus is not None and focus.worst is not None:
        specs["attacks"] = successes(focus.adversaries)
    known = _known(result)
    if known:
        values = [{"x": str(m), "y": share, "label": lost(share)} for m, share in known.items()]
        specs["unique"] = charts.bars(
            values, x_title="items known about a person", y_title="records alone"
        )
    return specs


def _known(result: AuditResult) -> dict[int, float]:
    """Return for one, two, … known items the share of records that they single out."""
    found = {}
    for m in range(1, 11):
        share = result.profile.get(f"unique_{m}")
        if share is not None:
            found[m] = float(share)
    return found


def _unique(result: AuditResult) -> list[list[Any]]:
    rows = []
    profile = result.profile
    for m, share in _known(result).items():
        low, high = profile.get(f"unique_{m}_low"), profile.get(f"unique_{m}_high")
        sure = profile.get(f"unique_{m}_exact", True) or low is None or high is None
        rows.append([m, about(share) + ("" if sure else f", {kept(low)} to {lost(high)} at 95%")])
    return rows


def _methods(result: AuditResult) -> list[dict[str, Any]]:
    """Return the methods with their marks and how many runs of each are in the picture."""
    return [
        {
            "name": name,
            "colour": colour,
            "path": SYMBOLS[shape],
            "count": sum(run.method == name for run in result.runs),
        }
        for name, (colour, shape) in series_of(result.runs).items()
    ]


def _undrawn(result: AuditResult) -> str:
    """Return which runs have no place in the picture, and why."""
    lossless = [run for run in result.runs if run.state == DONE and run.loss is None]
    riskless = [run for run in result.runs if run.state == DONE and run.risk is None]
    undone = len(result.runs) - sum(run.state == DONE for run in result.runs)
    said = []
    if lossless:
        said.append(f"{_titles(lossless)}: the loss cannot be measured on the common scale")
    if riskless:
        said.append(f"{_titles(riskless)}: no attack was measured")
    if undone:
        said.append(f"{plural(undone, 'run')} failed or left out")
    return f"Not in the picture, and never recommended: {'; '.join(said)}." if said else ""


def _titles(runs: list[RunRecord]) -> str:
    return " and ".join(run.title for run in runs) if len(runs) < 4 else plural(len(runs), "run")


def _matrix(result: AuditResult) -> dict[str, Any]:
    """Return what each attack got from each release, at most: the worst of its settings."""
    attacks = list(
        dict.fromkeys(
            each.attack for run in result.runs for each in run.adversaries if each.gain is not None
        )
    )
    rows = []
    for run in result.runs:
        best: dict[str, float] = {}
        for each in run.adversaries:
            if each.gain is not None:
                best[each.attack] = max(best.get(each.attack, 0.0), each.gain.high)
        cells = [
            {
                "text": lost(best[name]) if name in best else "–",
                "share": f"{best.get(name, 0.0):.2f}",
                "above": best.get(name, 0.0) > result.target,
            }
            for name in attacks
        ]
        if best:
            rows.append({"run": run, "chosen": run.id == result.recommended, "cells": cells})
    return {"attacks": attacks, "rows": rows}


# --- the rest -------------------------------------------------------------------------------------


def _described(
    result: AuditResult, directory: Path, *, show_records: bool
) -> Iterator[dict[str, Any]]:
    for run in result.runs:
        shown = Shown(())
        if run.state == DONE and run.release:
            shown = look_into(directory / run.release, run.figures, show_records=show_records)
        yield describe(run, result) | shown._asdict()


def _size(result: AuditResult) -> list[list[str]]:
    profile = result.profile
    return [
        [words, number(profile[name], 1 if isinstance(profile[name], float) else 0)]
        for name, words in SIZE.items()
        if profile.get(name) is not None
    ]


def _glossary(result: AuditResult) -> dict[str, list[dict[str, str]]]:
    """Return the methods and attacks of the audit in a line each, where they are registered."""
    used = {
        "anonymizer": [run.method for run in result.runs],
        "attack": [each.attack for run in result.runs for each in run.adversaries],
    }
    found: dict[str, list[dict[str, str]]] = {}
    for kind, names in used.items():
        known = {entry.name: entry for entry in entries(kind)}
        found[kind] = [
            {
                "name": name,
                "summary": known[name].summary,
                "paper": known[name].paper or NOT_APPLICABLE,
            }
            for name in dict.fromkeys(names)
            if name in known
        ]
    return found
