"""The pictures of an audit as files, for slides and papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from setveil.audit.frontier import frontier, is_drawn
from setveil.core import charts
from setveil.core.files import write_whole
from setveil.core.words import lost, visible
from setveil.report.summary import nearest

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from setveil.audit import Adversary, AuditResult


RATES = [0, 0.01, 0.05, 0.25, 0.5, 1]
KINDS = ["attack", "guessing", "control"]


def successes(adversaries: Sequence[Adversary]) -> dict[str, Any]:
    r"""Return how often each adversary is right, with its interval, beside guessing and control.

    Examples
    --------
    >>> from setveil.audit import Adversary
    >>> from setveil.measure import Rate
    >>> spec = successes([Adversary(attack="aba", knows="the topic", rate=Rate.counted(0.5))])
    >>> spec["layer"][0]["data"]["values"][0]["row"]
    '0\naba\nthe topic'
    """
    marks = _marks(adversaries)
    rows = list(dict.fromkeys(mark["row"] for mark in marks))
    y = {
        "field": "row",
        "type": "nominal",
        "sort": rows,
        "axis": {
            "title": None,
            # The first line is a number that keeps equal names apart.
            "labelExpr": "slice(split(datum.label, '\\n'), 1)",
            "labelLimit": 300,
            "labelOffset": -8,
            "labelPadding": 9,
            "ticks": False,
            "domain": False,
            "grid": True,
        },
    }
    x = {
        "field": "rate",
        "type": "quantitative",
        "scale": {"domain": [0, 1], "type": "sqrt"},
        "axis": {"format": ".0%", "title": "how often right", "values": RATES},
    }
    kind = {"field": "what", "type": "nominal"}
    legend = {"orient": "top", "title": None, "symbolSize": 80, "symbolOpacity": 1}
    colours = {"domain": KINDS, "range": [charts.SERIES[0], charts.TEXT, charts.SERIES[1]]}
    shapes = {"domain": KINDS, "range": ["circle", "stroke", "diamond"]}
    colour = {**kind, "scale": colours, "legend": legend}
    is_attack, is_guess = "datum.what == 'attack'", "datum.what == 'guessing'"
    interval = {
        "data": {"values": marks},
        "transform": [{"filter": f"!({is_guess})"}],
        "mark": {"type": "rule", "strokeWidth": 2.5, "opacity": 0.55},
        "encoding": {
            "y": y,
            "x": {**x, "field": "low"},
            "x2": {"field": "high"},
            "color": colour,
        },
    }
    filled = {"condition": {"test": is_attack, "value": charts.SERIES[0]}, "value": None}
    symbol = {
        "data": {"values": marks},
        "mark": {"type": "point", "size": 80, "strokeWidth": 2, "opacity": 1},
        "encoding": {
            "y": y,
            "x": x,
            "color": colour,
            "shape": {**kind, "scale": shapes, "legend": legend},
            "fill": filled,
            "angle": {"condition": {"test": is_guess, "value": 90}, "value": 0},
        },
    }
    return charts.based(40 * max(len(rows), 1), width=215, layer=[interval, symbol])


def _marks(adversaries: Sequence[Adversary]) -> charts.Values:
    """Return the rates of each adversary that was measured: its own, guessing, the control."""
    marks: charts.Values = []
    for place, each in enumerate(each for each in adversaries if each.rate is not None):
        row = f"{place}\n{visible(each.attack)}\n{visible(each.knows)}"
        for what, rate in zip(KINDS, (each.rate, each.baseline, each.control), strict=True):
            if rate is not None:
                ends = {"rate": rate.value, "low": rate.low, "high": rate.high}
                marks.append({"row": row, "what": what, **ends})
    return marks


SCALE = 2
"""Pixels per point of the PNG files."""


def figures_of(result: AuditResult, *, links: bool = True) -> dict[str, dict[str, Any]]:
    """Return the pictures of an audit by name, as Vega-Lite specifications.

    ``frontier``: all runs by loss and risk; ``attacks``: what each adversary got from the
    recommended run, or from the closest one; ``unique``: how many original records stand
    alone. A picture that would be empty is left out. With `links` the points of the frontier
    lead to the releases on the page.

    >>> from setveil.audit import AuditResult
    >>> figures_of(AuditResult(title="a", runs=()))
    {}
    """
    specs: dict[str, dict[str, Any]] = {}
    if any(map(is_drawn, result.runs)):
        specs["frontier"] = frontier(result, links=links)
    focus = result.chosen or nearest(result)
    if focus is not None and focus.worst is not None:
        specs["attacks"] = successes(focus.adversaries)
    known = known_items(result)
    if known:
        values = [{"x": str(m), "y": share, "label": lost(share)} for m, share in known.items()]
        specs["unique"] = charts.bars(
            values, x_title="items known about a person", y_title="records alone"
        )
    return specs


def known_items(result: AuditResult) -> dict[int, float]:
    """Return for one, two, … known items the share of records that they single out.

    >>> from setveil.audit import AuditResult
    >>> known_items(AuditResult(title="a", runs=(), profile={"unique_2": 0.5}))
    {2: 0.5}
    """
    found = {}
    for m in range(1, 11):
        share = result.profile.get(f"unique_{m}")
        if share is not None:
            found[m] = float(share)
    return found


def save_figures(result: AuditResult, folder: str | os.PathLike[str]) -> list[Path]:
    """Write each picture of an audit as SVG and as PNG, and return the files.

    They are on white, with no link or script in them.

    Examples
    --------
    >>> import tempfile
    >>> from setveil.audit import AuditResult
    >>> found = AuditResult(title="a", runs=(), profile={"unique_1": 0.25})
    >>> with tempfile.TemporaryDirectory() as out:
    ...     [file.name for file in save_figures(found, out)]
    ['unique.svg', 'unique.png']
    """
    import vl_convert  # tens of megabytes: only when something is drawn

    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    written = []
    for name, spec in figures_of(result, links=False).items():
        alone = charts.standing_alone(spec)
        for ending, content in (
            ("svg", charts.draw(alone)),
            ("png", vl_convert.vegalite_to_png(alone, scale=SCALE)),
        ):
            file = place / f"{name}.{ending}"
            write_whole(file, content)
            written.append(file)
    return written
