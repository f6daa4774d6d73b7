"""The picture of an audit: what each release risks and loses, as a Vega-Lite specification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from setveil.audit.results import AuditResult

WIDTH, HEIGHT = 520, 320


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

    def svg(self) -> str:
        """Return the picture as SVG; nothing is loaded from anywhere."""
        import vl_convert  # noqa: PLC0415  (tens of megabytes: only when something is drawn)

        drawn: str = vl_convert.vegalite_to_svg(self.spec)
        return drawn

    def _repr_svg_(self) -> str:
        return self.svg()


def chart(result: AuditResult) -> Chart:
    """Return the risk and the loss of each run that has both, with the target as a line.

    >>> from setveil.audit.results import AuditResult
    >>> chart(AuditResult(title="", target=0.1, runs=())).spec["layer"][0]["mark"]["type"]
    'rule'
    """
    values = [
        {
            "loss": run.loss,
            "risk": run.risk,
            "method": run.method,
            "run": run.title,
            "verified": "promise checked" if run.verified else "promise not certain",
            "recommended": run.id == result.recommended,
        }
        for run in result.runs
        if run.risk is not None and run.loss is not None
    ]
    axis = {"format": ".0%"}
    x = {"field": "loss", "type": "quantitative", "axis": {**axis, "title": "error of counts"}}
    y = {
        "field": "risk",
        "type": "quantitative",
        "scale": {"domain": [0, 1]},
        "axis": {**axis, "title": "what the worst attack may gain"},
    }
    point = {
        "mark": {"type": "point", "size": 90, "strokeWidth": 2},
        "encoding": {
            "x": x,
            "y": y,
            "color": {"field": "method", "type": "nominal"},
            "shape": {"field": "verified", "type": "nominal", "legend": {"title": None}},
            "tooltip": [{"field": name} for name in ("run", "risk", "loss", "verified")],
        },
    }
    ring = {
        "transform": [{"filter": "datum.recommended"}],
        "mark": {"type": "point", "size": 350, "color": "black", "strokeWidth": 1.5},
        "encoding": {"x": x, "y": y},
    }
    line = {
        "data": {"values": [{"target": result.target}]},
        "mark": {"type": "rule", "strokeDash": [4, 4]},
        "encoding": {"y": {"field": "target", "type": "quantitative"}},
    }
    return Chart(
        {
            "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
            "width": WIDTH,
            "height": HEIGHT,
            "data": {"values": values},
            "layer": [line, point, ring],
        }
    )
