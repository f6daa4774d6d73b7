"""Pictures: Vega-Lite specifications as plain data, drawn to SVG without a network.

Colours are names of a page's own (``var(--series-1)``, ``currentColor``), so that one drawing
reads well on light and on dark; :func:`standing_alone` gives them colours for anywhere else.
Series differ by shape as well as by colour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from setveil.core.words import visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDTH = 400
SERIES = [f"var(--series-{number})" for number in range(1, 7)]
SHAPES = ["circle", "square", "diamond", "triangle-up", "triangle-down", "cross"]
TEXT = "currentColor"

LINK = ' xlink:href="https://vega.github.io/vega-datasets/#'
"""What the drawing program makes of a link within the page."""

Values = list[dict[str, Any]]

PALETTE = {
    "var(--series-1)": "#1f6fb5",
    "var(--series-2)": "#c2570c",
    "var(--series-3)": "#2a8a4a",
    "var(--series-4)": "#8a4fbf",
    "var(--series-5)": "#a8771a",
    "var(--series-6)": "#b8336a",
    "var(--series-mid)": "#8fb8de",
    "var(--line)": "#d0d5db",
    "var(--page)": "#ffffff",
    "var(--good)": "#1a7f47",
    "var(--soft)": "#57606a",
    "currentColor": "#1b1f24",
    "inherit": "sans-serif",
}
"""What the page's own colours and fonts are on white paper."""


def draw(spec: Mapping[str, Any]) -> str:
    """Return the SVG of a Vega-Lite specification.

    >>> svg = draw(bars([{"x": "a <b>", "y": 0.5, "label": ""}], x_title="item", y_title="share"))
    >>> svg.startswith("<svg"), "<b>" in svg
    (True, False)
    """
    import vl_convert  # tens of megabytes: only when a report is drawn

    svg: str = vl_convert.vegalite_to_svg(dict(spec))
    return svg.replace(LINK, ' href="#')


def standing_alone(spec: Any) -> Any:  # noqa: ANN401  (any part of a specification)
    """Return a specification with the colours of white paper in place of the page's own.

    >>> standing_alone({"color": "var(--good)", "background": None})
    {'color': '#1a7f47', 'background': '#ffffff'}
    """
    if isinstance(spec, dict):
        return {
            key: "#ffffff" if key == "background" and value is None else standing_alone(value)
            for key, value in spec.items()
        }
    if isinstance(spec, list):
        return [standing_alone(value) for value in spec]
    return PALETTE.get(spec, spec) if isinstance(spec, str) else spec


def based(height: int, **rest: Any) -> dict[str, Any]:
    """Return a specification with the looks that all charts share.

    >>> based(200, width=300)["width"]
    300
    """
    quiet = {"labelColor": TEXT, "titleColor": TEXT, "titleFontWeight": "normal"}
    font = {
        "labelFontSize": 13,
        "titleFontSize": 13,
        "labelFont": "inherit",
        "titleFont": "inherit",
    }
    lines = {"gridColor": "var(--line)", "domainColor": "var(--line)", "tickColor": "var(--line)"}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": WIDTH,
        "height": height,
        "background": None,
        "config": {
            "font": "sans-serif",
            "view": {"stroke": None},
            "axis": {**quiet, **font, **lines},
            "legend": {**quiet, **font, "symbolStrokeWidth": 2},
            "text": {"color": TEXT, "fontSize": 13, "font": "inherit"},
        },
        **rest,
    }


def written_out(values: Values) -> Values:
    r"""Return the values of a picture with the hidden characters of their texts written out.

    >>> written_out([{"x": "flu\u202e", "y": 1}]) == [{"x": "flu" + chr(92) + "u202e", "y": 1}]
    True
    """
    return [
        {key: visible(text) if isinstance(text, str) else text for key, text in value.items()}
        for value in values
    ]


def _series(names: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the colour and the shape of each series; past the sixth they repeat."""
    times = -(-len(names) // len(SERIES))
    colours = {"domain": list(names), "range": (SERIES * times)[: len(names)]}
    shapes = {"domain": list(names), "range": (SHAPES * times)[: len(names)]}
    return colours, shapes


def curves(points: Values, *, x_title: str, y_title: str) -> dict[str, Any]:
    """Return a line per series through its points: keys ``x``, ``y`` (a share), ``series``, ``ok``.

    Points that are not ok are drawn hollow.

    >>> spec = curves([{"x": 2, "y": 0.1, "series": "gather", "ok": True}], x_title="k", y_title="")
    >>> spec["data"]["values"][0]["series"]
    'gather'
    """
    points = written_out(points)
    names = list(dict.fromkeys(point["series"] for point in points))
    colours, shapes = _series(names)
    legend = {"orient": "top", "columns": 2, "title": None, "labelLimit": 190, "symbolSize": 90}
    series = {"field": "series", "type": "nominal"}
    encoding = {
        "x": {
            "field": "x",
            "type": "ordinal",
            "axis": {"labelAngle": 0, "title": x_title},
        },
        "y": {
            "field": "y",
            "type": "quantitative",
            "axis": {"format": ".0%", "title": y_title, "tickCount": 5},
            "scale": {"domainMin": 0},
        },
        "color": {**series, "scale": colours, "legend": legend},
    }
    marks = {
        "mark": {"type": "point", "size": 90, "strokeWidth": 2, "opacity": 1},
        "encoding": {
            "shape": {**series, "scale": shapes, "legend": legend},
            "fill": {
                "condition": {"test": "datum.ok", **series, "scale": colours},
                "value": "var(--page)",
            },
        },
    }
    line = {"mark": {"type": "line", "strokeWidth": 2}}
    return based(260, data={"values": points}, encoding=encoding, layer=[line, marks])


def bars(values: Values, *, x_title: str, y_title: str) -> dict[str, Any]:
    """Return one bar per value: keys ``x``, ``y`` (a share) and ``label``, written above it.

    >>> bars([{"x": "1", "y": 0.5, "label": "half"}], x_title="", y_title="")["height"]
    200
    """
    x = {
        "field": "x",
        "type": "ordinal",
        "sort": None,
        "axis": {"title": x_title, "labelAngle": 0, "ticks": False},
    }
    y = {
        "field": "y",
        "type": "quantitative",
        "scale": {"domain": [0, 1]},
        "axis": {"format": ".0%", "title": y_title, "tickCount": 5},
    }
    bar = {"mark": {"type": "bar", "color": SERIES[0], "width": {"band": 0.6}}}
    label = {
        "mark": {"type": "text", "dy": -8},
        "encoding": {"text": {"field": "label"}},
    }
    return based(
        200, data={"values": written_out(values)}, encoding={"x": x, "y": y}, layer=[bar, label]
    )


def stacks(values: Values, *, parts: Sequence[str], x_title: str) -> dict[str, Any]:
    """Return one lying bar per ``row``, made of ``parts``: keys ``row``, ``part``, ``share``.

    >>> stacks([], parts=["as it was", "left out"], x_title="")["encoding"]["x"]["field"]
    'share'
    """
    values = written_out(values)
    rows = list(dict.fromkeys(value["row"] for value in values))
    colours = [SERIES[0], "var(--series-mid)", "var(--line)"]
    order = {name: place for place, name in enumerate(parts)}
    values = [{**value, "order": order[value["part"]]} for value in values]
    encoding = {
        "y": {
            "field": "row",
            "type": "nominal",
            "sort": rows,
            "axis": {"title": None, "labelLimit": 140, "ticks": False, "domain": False},
        },
        "x": {
            "field": "share",
            "type": "quantitative",
            "stack": "zero",
            "scale": {"domain": [0, 1]},
            "axis": {"format": ".0%", "title": x_title, "values": [0, 0.5, 1]},
        },
        "order": {"field": "order"},
        "color": {
            "field": "part",
            "type": "nominal",
            "scale": {"domain": list(parts), "range": colours[: len(parts)]},
            "legend": {"orient": "top", "title": None, "labelLimit": 200},
        },
    }
    spec = based(34 * max(len(rows), 1), data={"values": values}, encoding=encoding)
    return {**spec, "width": WIDTH - 120, "mark": {"type": "bar", "height": {"band": 0.7}}}
