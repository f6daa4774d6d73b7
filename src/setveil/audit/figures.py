"""The pictures of an audit: every release by loss and risk, and how far each attack got."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setveil.audit.verdict import focus_of
from setveil.core import charts
from setveil.core.files import write_whole
from setveil.core.words import lost, visible

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from setveil.audit.results import Adversary, AuditResult, RunRecord


WIDE, NARROW = 760, 300
"""Widths of the frontier's plot: beside a keyboard, and on a phone."""

RISKS = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1]
LOSSES = [0, 0.1, 0.25, 0.5, 1, 2, 5, 10, 50, 100, 1000]
RISK_TITLE = "risk: what the worst attack gets, at most"
LOSS_TITLE = "loss: error of counts"


@dataclass(frozen=True)
class Chart:
    """A picture that notebooks show by themselves.

    Parameters
    ----------
    spec
        A Vega-Lite specification.

    Examples
    --------
    >>> Chart({"mark": "point", "data": {"values": []}}).svg()[:4]
    '<svg'
    """

    spec: dict[str, Any]

    def __repr__(self) -> str:
        return "Chart(...)"  # the specification may be long, and notebooks keep this text

    def svg(self) -> str:
        """Return the picture as SVG; nothing is loaded from anywhere."""
        return charts.draw(self.spec)

    def _repr_svg_(self) -> str:
        return self.svg()


def chart(result: AuditResult) -> Chart:
    """Return the picture of the report by itself, on white.

    >>> from setveil.audit.results import AuditResult
    >>> chart(AuditResult(title="", runs=())).spec["background"]
    '#ffffff'
    """
    return Chart(charts.standing_alone(frontier(result, links=False)))


def on_frontier(runs: Sequence[RunRecord]) -> list[RunRecord]:
    """Return the verified runs that no other one beats on both sides, by their loss.

    >>> from setveil.audit.results import RunRecord
    >>> on_frontier([RunRecord(id="1", name="a", title="a", method="m", params={})])
    []
    """
    fit = sorted((run for run in runs if run.verified and is_drawn(run)), key=_place)
    best: list[RunRecord] = []
    for run in fit:
        if not best or _place(run)[1] < _place(best[-1])[1]:
            best.append(run)
    return best


def is_drawn(run: RunRecord) -> bool:
    """Tell whether a run has a place in the picture: its loss and its risk are known."""
    return run.loss is not None and run.risk is not None


def _place(run: RunRecord) -> tuple[float, float]:
    return float(run.loss or 0), float(run.risk or 0)


def series_of(runs: Sequence[RunRecord]) -> dict[str, tuple[str, str]]:
    """Return for each method its colour and its shape: thirty-six methods are told apart.

    >>> from setveil.audit.results import RunRecord
    >>> series_of([RunRecord(id="1", name="a", title="a", method="clump", params={})])
    {'clump': ('var(--series-1)', 'circle')}
    """
    names = list(dict.fromkeys(run.method for run in runs))
    count = len(charts.SERIES)
    return {
        name: (
            charts.SERIES[place % count],
            charts.SHAPES[(place + place // count) % len(charts.SHAPES)],
        )
        for place, name in enumerate(names)
    }


def frontier(
    result: AuditResult, *, width: int = WIDE, legend: bool = True, links: bool = True
) -> dict[str, Any]:
    """Return every run by its loss and its risk, with the target and the frontier.

    Points of runs that were not verified are hollow; a ring marks the recommended one. Each point
    leads to ``#run-NAME`` and describes itself in words.

    Parameters
    ----------
    result
        An audit with at least one run that can be drawn.
    width
        Of the plot, in pixels.
    legend
        Whether to draw the list of methods; the page has its own.
    links
        Whether points are links; a picture that stands alone has nothing to lead to.

    Examples
    --------
    >>> from setveil.audit.results import AuditResult
    >>> frontier(AuditResult(title="a", runs=()))["width"]
    760
    """
    drawn = [run for run in result.runs if is_drawn(run)]
    series = series_of(result.runs)
    names = [name for name in series if any(run.method == name for run in drawn)]
    points = charts.written_out([_point(run, chosen=run.id == result.recommended) for run in drawn])
    most = max((float(run.loss or 0) for run in drawn), default=1.0)
    axis = {"format": ".0%", "title": LOSS_TITLE, "tickCount": 6}
    scale: dict[str, Any] = {"domain": [0, max(most * 1.08, 0.05)], "nice": False}
    if most > 1:
        scale = {**scale, "type": "symlog", "constant": 0.25}
        axis = {**axis, "values": [value for value in LOSSES if value <= most * 1.08]}
    x = {"field": "x", "type": "quantitative", "scale": scale, "axis": axis}
    y = {
        "field": "y",
        "type": "quantitative",
        "scale": {"domain": [0, 1], "type": "sqrt"},
        "axis": {"format": ".0%", "title": RISK_TITLE, "values": RISKS},
    }
    steps = [{"x": float(run.loss or 0), "y": float(run.risk or 0)} for run in on_frontier(drawn)]
    layers = [
        *_target(result.target, scale["domain"][1]),
        *([_stairs(steps, x, y)] if len(steps) > 1 else []),
        *_runs(points, names, series, x, y, legend=legend, links=links),
        *_chosen([point for point in points if point["chosen"]], x, y, label=width > NARROW),
    ]
    return charts.based(360, width=width, layer=layers)


def _point(run: RunRecord, *, chosen: bool) -> dict[str, Any]:
    worst = run.worst
    gain = None if worst is None else worst.gain
    return {
        "x": run.loss,
        "y": run.risk,
        "low": run.risk if gain is None else gain.low,
        "series": run.method,
        "ok": run.verified,
        "chosen": chosen,
        "title": run.title,
        "href": f"#run-{run.name}",
        "words": f"{run.title}: risk {lost(run.risk)}, loss {lost(run.loss)}"
        + ("" if run.verified else ", not verified")
        + (", recommended" if chosen else ""),
    }


def _target(target: float, right: float) -> list[dict[str, Any]]:
    """Return what is acceptable as a shaded band, with the line that ends it."""
    there = {
        "values": [{"bottom": 0, "target": target, "x": right, "text": f"target {target * 100:g}%"}]
    }
    level = {"field": "target", "type": "quantitative"}
    return [
        {
            "data": there,
            "mark": {"type": "rect", "color": "var(--good)", "opacity": 0.1},
            "encoding": {
                "y": {"field": "bottom", "type": "quantitative"},
                "y2": {"field": "target"},
            },
        },
        {
            "data": there,
            "mark": {"type": "rule", "color": "var(--good)", "strokeDash": [5, 4]},
            "encoding": {"y": level},
        },
        {
            "data": there,
            "mark": {"type": "text", "align": "right", "dy": -7, "color": "var(--good)"},
            "encoding": {
                "x": {"field": "x", "type": "quantitative"},
                "y": level,
                "text": {"field": "text"},
            },
        },
    ]


def _stairs(steps: charts.Values, x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
    return {
        "data": {"values": steps},
        "mark": {
            "type": "line",
            "interpolate": "step-after",
            "color": charts.TEXT,
            "opacity": 0.45,
            "strokeWidth": 1.5,
        },
        "encoding": {"x": x, "y": y},
    }


def _runs(
    points: charts.Values,
    names: list[str],
    series: dict[str, tuple[str, str]],
    x: dict[str, Any],
    y: dict[str, Any],
    *,
    legend: bool,
    links: bool,
) -> list[dict[str, Any]]:
    """Return the runs as marks, each with a thin line down to the other end of its interval."""
    method = {"field": "series", "type": "nominal"}
    colours = {"domain": names, "range": [series[name][0] for name in names]}
    shapes = {"domain": names, "range": [series[name][1] for name in names]}
    box = (
        {"orient": "right", "title": None, "symbolSize": 90, "symbolOpacity": 1} if legend else None
    )
    colour = {**method, "scale": colours, "legend": box}
    return [
        {
            "name": "whiskers",  # the page's script finds them by this name
            "data": {"values": points},
            "mark": {"type": "rule", "strokeWidth": 1.5, "opacity": 0.4},
            "encoding": {"x": x, "y": y, "y2": {"field": "low"}, "color": colour},
        },
        {
            "data": {"values": points},
            "mark": {"type": "point", "size": 110, "strokeWidth": 2, "opacity": 1},
            "encoding": {
                "x": x,
                "y": y,
                "color": colour,
                "shape": {**method, "scale": shapes, "legend": box},
                "fill": {
                    "condition": {"test": "datum.ok", **method, "scale": colours, "legend": None},
                    "value": "var(--page)",
                },
                **({"href": {"field": "href"}} if links else {}),
                "description": {"field": "words"},
            },
        },
    ]


def _chosen(
    points: charts.Values, x: dict[str, Any], y: dict[str, Any], *, label: bool
) -> list[dict[str, Any]]:
    if not points:
        return []
    ring = {
        "data": {"values": points},
        "mark": {
            "type": "point",
            "shape": "circle",
            "size": 420,
            "strokeWidth": 2,
            "color": charts.TEXT,
            "opacity": 1,
            "filled": False,
        },
        "encoding": {"x": x, "y": y},
    }
    # Twice: first a broad stroke in the page's colour, on which the letters stand out.
    halo = {"stroke": "var(--page)", "strokeWidth": 4, "strokeJoin": "round"}
    words = [
        {
            "data": {"values": points},
            "mark": {"type": "text", "dy": 21, "fontWeight": "bold", **look},
            "encoding": {"x": x, "y": y, "text": {"field": "title"}},
        }
        for look in (halo, {})
    ]
    return [ring, *words] if label else [ring]


# --- how often each adversary is right ------------------------------------------------------------


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
    focus = focus_of(result)
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
