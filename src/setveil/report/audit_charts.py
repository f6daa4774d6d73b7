"""The picture of what each adversary got from a release, beside guessing and a control."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from setveil.core import charts
from setveil.core.words import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.audit import Adversary

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
