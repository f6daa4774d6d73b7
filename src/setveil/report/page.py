"""An audit as a page: the first screen, what is in the release, every trial."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from setveil import __version__
from setveil.audit.adversaries import without_folders
from setveil.audit.figures import NARROW, figures_of, frontier, known_items, series_of
from setveil.audit.results import DO_NOT, DONE, NOT_DECIDED, PUBLISH, WITH_CARE
from setveil.audit.verdict import focus_of
from setveil.core import charts
from setveil.core.errors import ParameterError, SetveilError
from setveil.core.registry import entries
from setveil.core.words import NOT_APPLICABLE, about, kept, lost, number, plural, visible
from setveil.release.store import load_release
from setveil.report.summary import best_first, describe, first_screen, value_words

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from jinja2 import Environment
    from markupsafe import Markup

    from setveil.audit import AuditResult, RunRecord
    from setveil.release.base import Release
    from setveil.report.summary import RiskRow


LOOKS = {PUBLISH: "good", WITH_CARE: "care", DO_NOT: "bad", NOT_DECIDED: "open"}
"""The colour of each answer."""

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
    >>> page = render_audit(AuditResult(title="Visits", runs=(lone,)), "audit")
    >>> "NOT DECIDED" in page, "No memory was left." in page
    (True, True)
    """
    from markupsafe import Markup

    if not result.runs:
        raise ParameterError("an audit without runs has no report", fix="run a method first")

    pages = page_templates()
    script = _source(pages, "audit.js")
    focus = focus_of(result)
    screen = first_screen(result)
    runs = list(_trial_sections(result, Path(directory), show_records=show_records))
    return pages.get_template("audit.html").render(
        version=__version__,
        title=result.title,
        description=" ".join(result.description.split()),
        script=Markup(script),  # noqa: S704  (our own file)
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        screen=screen,
        look=LOOKS[result.answer],
        bars=list(_bars(screen.risks)),
        targets=_targets(result),
        focus=next((each for each in runs if focus is not None and each["id"] == focus.id), None),
        contents=_contents(focus),
        story=_story(focus, show_records=show_records),
        own_counts=_own_counts(focus),
        drawings=_drawings(result),
        methods=_methods(result),
        undrawn=_undrawn(result),
        runs=runs,
        unique=_unique(result),
        size=_size(result),
        common=[
            [entry["item"], number(entry["records"])]
            for entry in result.profile.get("top_items", [])
        ],
        sensitive=bool(result.settings.get("sensitive")),
        settings=[[name, value_words(value)] for name, value in _settings(result)],
        layout=_layout(result),
        notes=result.notes,
        glossary=_glossary(result),
        show_records=show_records,
    )


def page_templates() -> Environment:
    """Return the templates; on every page that they make, hidden characters of texts are shown."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    def written_out(value: object) -> object:
        """Show hidden characters of a text, but for pictures and our script."""
        return visible(value) if type(value) is str else value

    return Environment(
        loader=PackageLoader("setveil.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=written_out,
    )


def _source(pages: Environment, name: str) -> str:
    assert pages.loader is not None
    return pages.loader.get_source(pages, name)[0]


# --- the first screen -----------------------------------------------------------------------------


def _bars(rows: Sequence[RiskRow]) -> Iterator[dict[str, Any]]:
    """Return each risk with the widths of its bars, in per cent of the longest of all."""
    longest = max((share for row in rows for share in row.shares if share), default=1.0)
    names = ("original data", "this release", "guessing")
    for row in rows:
        texts = (row.original, row.release, row.guessing or "not measured")
        yield {
            "label": row.label,
            "details": row.details,
            "above": row.above,
            "cells": [
                {
                    "name": name,
                    "text": text,
                    "width": None if share is None else f"{100 * share / longest:.1f}",
                }
                for name, text, share in zip(names, texts, row.shares, strict=True)
            ],
        }


def _targets(result: AuditResult) -> str:
    """Return the targets in words.

    >>> from setveil.audit import AuditResult
    >>> from setveil.audit.results import Criteria
    >>> _targets(AuditResult(title="a", runs=(), criteria=Criteria(targets={"inference": 0.05})))
    '10% (inference: 5%)'
    """
    apart = [
        f"{risk.replace('_', ' ')}: {share * 100:g}%"
        for risk, share in result.criteria.targets.items()
    ]
    return f"{result.target * 100:g}%" + (f" ({', '.join(apart)})" if apart else "")


def _contents(run: RunRecord | None) -> dict[str, Any]:
    """Return what is in a release for its owner, with every part that a page asks for."""
    noted = {} if run is None else run.figures.get("contents", {})
    example = noted.get("example") or {"before": [], "after": []}
    return {
        "sentences": [noted[name] for name in ("stays", "coarser", "gone") if noted.get(name)],
        "before": [{"item": item, "same": item in example["after"]} for item in example["before"]],
        "after": [{"item": item, "same": item in example["before"]} for item in example["after"]],
        "affected": [
            [item, number(records), became] for item, records, became in noted.get("affected", ())
        ],
        "computable": list(noted.get("computable", ())),
        "unprotected": list(noted.get("unprotected", ())),
    }


def _story(run: RunRecord | None, *, show_records: bool) -> list[str]:
    """Return how someone looked for one person; the person's items are named on request only."""
    noted = {} if run is None else run.figures.get("story", {})
    if not noted.get("known"):
        return []
    if show_records:
        return list(noted["sentences"])
    before, after = int(noted["before"]), int(noted["after"])
    verb = "has" if before == 1 else "have"
    return [
        f"An attacker knows {plural(len(noted['known']), 'item')} of a person, the rarest ones.",
        f"In the original data, {plural(before, 'record')} {verb} all of them.",
        f"In the release, {plural(after, 'record')} may be the person's. "
        + _then_certain(len(noted["learned"])),
    ]


def _then_certain(items: int) -> str:
    if not items:
        return "Nothing else is certain about the person."
    return f"{plural(items, 'further item')} of the person {'is' if items == 1 else 'are'} certain."


def _own_counts(run: RunRecord | None) -> list[list[str]]:
    """Return what the release answers to the owner's count queries."""
    noted = [] if run is None else run.figures.get("workload") or []
    return [
        [
            ", ".join(map(str, each["items"])),
            number(each["records"]),
            number(each["estimate"], 1),
            lost(each["error"]),
        ]
        for each in noted
    ]


def _settings(result: AuditResult) -> Iterator[tuple[str, Any]]:
    """Return the settings, with files by name: a page tells nobody where they lie."""
    criteria = result.criteria
    yield "target", _targets(result)
    yield "max_loss", lost(criteria.max_loss)
    yield "min_k", criteria.min_k
    for name, value in result.settings.items():
        if name == "reading":
            continue
        shown = [without_folders(each) for each in value] if name == "relatedness" else value
        yield name, shown


def _layout(result: AuditResult) -> list[list[str]]:
    """Return how the file was read; nothing where the records did not come from a file."""
    reading = result.settings.get("reading")
    if not isinstance(reading, dict):
        return []
    layout = reading.get("layout")
    rows = dict(layout) if isinstance(layout, dict) else {}
    columns = rows.pop("columns", None) or []
    said = [[name, value_words(value)] for name, value in rows.items() if value not in (None, "")]
    said += [
        [f"column {value_words(column.get('name'))}", value_words(column.get("role"))]
        for column in columns
        if isinstance(column, dict)
    ]
    return said + [
        [name.replace("_", " "), value_words(reading[name])]
        for name in ("why", "set_aside", "cleaned", "notes")
        if reading.get(name)
    ]


# --- pictures -------------------------------------------------------------------------------------


def _drawings(result: AuditResult) -> dict[str, Markup | str]:
    """Return the pictures by name; one that would be empty is an empty text."""
    from markupsafe import Markup

    specs = figures_of(result)
    specs.pop("attacks", None)  # bars in the table of attacks say the same
    if "frontier" in specs:  # the page has its own list of methods, and a smaller drawing
        specs["frontier"] = frontier(result, legend=False)
        specs["narrow"] = frontier(result, width=NARROW, legend=False)
    # Vega escapes the texts in its drawings (tested), so they go onto the page as they are.
    drawn = {name: Markup(charts.draw(spec)) for name, spec in specs.items()}  # noqa: S704
    return {name: drawn.get(name, "") for name in ("frontier", "narrow", "unique")}


def _unique(result: AuditResult) -> list[list[Any]]:
    rows = []
    profile = result.profile
    for m, share in known_items(result).items():
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
        said.append(f"{plural(undone, 'trial')} did not finish")
    return f"Not in the picture, and never recommended: {'; '.join(said)}." if said else ""


def _titles(runs: list[RunRecord]) -> str:
    return " and ".join(run.title for run in runs) if len(runs) < 4 else plural(len(runs), "trial")


# --- the rest -------------------------------------------------------------------------------------


def _trial_sections(
    result: AuditResult, directory: Path, *, show_records: bool
) -> Iterator[dict[str, Any]]:
    for run in best_first(result):
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


# --- what a release shows: small tables -----------------------------------------------------------


SHOWN = 8
"""Rows of a small table: enough to get the idea, few enough to read."""

PEOPLE = 5
"""Published records that are shown."""

READ = 20_000_000
"""Bytes of a release up to which it is read again for the report."""


class Small(NamedTuple):
    """A small table with its title, and the words that explain it."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    how: str


class Shown(NamedTuple):
    """What the report says of a release's content: small tables, or why there are none."""

    tables: tuple[Small, ...]
    records: tuple[str, ...] = ()
    problem: str = ""


def look_into(folder: Path, figures: Mapping[str, Any], *, show_records: bool = False) -> Shown:
    """Tell what became of the items: by what the audit noted, and by the release itself.

    A release that cannot be read is no error, but said; one that is large is left unread.

    Parameters
    ----------
    folder
        The release's directory.
    figures
        What the audit noted (:attr:`setveil.audit.RunRecord.figures`): ``items``, ``terms`` and
        ``steps``, as far as they are there.
    show_records
        Whether to show some of the published records.

    Examples
    --------
    >>> from pathlib import Path
    >>> look_into(Path("nowhere"), {}).problem
    'Its files cannot be read: no release is here: there is no manifest.json.'
    """
    noted = [*terms(figures), *counts(figures), *steps(figures)]
    try:
        if not show_records and _bytes_in(folder) > READ:
            return Shown(tuple(noted))
        release = load_release(folder)
        changed = [Small(*each) for each in release.changed_terms(SHOWN)]
        records = _some_records(release) if show_records else ()
    except (SetveilError, OSError) as error:
        reason = error.what if isinstance(error, SetveilError) else error.strerror
        return Shown(tuple(noted), problem=f"Its files cannot be read: {reason}.")
    rest = noted[len(terms(figures)) :] if changed else noted
    return Shown((*changed, *rest), records)


def _bytes_in(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir()) if folder.is_dir() else 0


def terms(figures: Mapping[str, Any]) -> list[Small]:
    """Return the general terms that the audit noted.

    >>> terms({"terms": [["airways", 12]]})[0].rows
    [['airways', '12']]
    """
    rows = [[str(name), number(times)] for name, times in figures.get("terms", ())]
    how = "Each stands for any of several items."
    return [Small("Generalized most", ["term", "times"], rows[:SHOWN], how)] if rows else []


def counts(figures: Mapping[str, Any]) -> list[Small]:
    """Return for common items how many records held them, and what the release says of that.

    >>> counts({"items": [["flu", 3, 0, 4]]})[0].rows
    [['flu', '3', '0', '4']]
    """
    rows = [
        [str(item), number(records), number(low), number(high)]
        for item, records, low, high in figures.get("items", ())
    ]
    how = (
        "The number of original records with a common item, and the smallest and largest number "
        "that a recipient can conclude. From 0 upwards: the item was left out, or stands under a "
        "general term."
    )
    head = ["item", "records", "at least", "at most"]
    return [Small("What can still be counted", head, rows, how)] if rows else []


def steps(figures: Mapping[str, Any]) -> list[Small]:
    """Return what the method said that it did: first what a reader must know, then the costliest.

    >>> steps({"steps": [["suppress", "hiv", "too rare", 3.0]]})[0].rows
    [['suppress', 'hiv', 'too rare', '3']]
    """
    rows = [
        [str(action), str(subject), str(reason), f"{cost:,.4g}" if cost else ""]
        for action, subject, reason, cost in figures.get("steps", ())
    ]
    head = ["what", "on", "why", "cost"]
    how = "Its own notes: remarks first, then the costliest steps."
    return [Small("What the method did", head, rows, how)] if rows else []


def _some_records(release: Release) -> tuple[str, ...]:
    """Return some published records, spread over the release."""
    rows = release.to_rows()
    step = max(len(rows) // PEOPLE, 1)
    return tuple("; ".join(row) or "(no items)" for row in rows[::step][:PEOPLE])
