"""Pictures of results: curves with their intervals, as SVG beside the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.tables import chosen, over_seeds
from setveil.core.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    Row = dict[str, Any]

IMAGES = "img"
COLUMNS = 3


@dataclass(frozen=True, kw_only=True)
class Curves:
    """One picture: a figure over a setting, a curve for each method, a field for each case.

    Parameters
    ----------
    name
        Of its file, without the ending.
    title
        What it shows, for those who do not see it.
    x, y, curve, field
        Columns of the results; `field` may be left out.
    x_title, y_title
        What stands at the axes.
    order
        The curves, in order.
    """

    name: str
    title: str
    x: str
    y: str
    curve: str
    order: tuple[str, ...]
    x_title: str
    y_title: str
    field: str | None = None

    def points(self, rows: Sequence[Row]) -> list[Row]:
        """Return the points: means over seeds with the ends of their intervals."""
        found = []
        keys = dict.fromkeys((row[self.field] if self.field else "", row[self.x]) for row in rows)
        for case, x in keys:
            here = chosen(rows, **{self.x: x} | ({self.field: case} if self.field else {}))
            for name in self.order:
                mean = over_seeds(chosen(here, **{self.curve: name}), self.y)
                if mean.value == mean.value:
                    half = mean.half or 0.0
                    found.append(
                        {"x": x, "y": mean.value, "low": mean.value - half,
                         "high": mean.value + half, "curve": name, "case": str(case)}
                    )  # fmt: skip
        return found

    def draw(self, rows: Sequence[Row], page: Path) -> str:
        """Write the picture beside a page, and return the line that shows it there."""
        import vl_convert  # tens of megabytes: only when a page is written

        colour = {
            "field": "curve", "type": "nominal", "sort": list(self.order),
            "legend": {"orient": "bottom", "title": None, "labelLimit": 300},
        }  # fmt: skip
        across = {"field": "x", "type": "quantitative", "title": self.x_title}
        layers: list[Row] = [
            {
                "mark": {"type": "line", "point": True},
                "encoding": {
                    "x": across,
                    "y": {"field": "y", "type": "quantitative", "title": self.y_title},
                    "color": colour, "shape": colour,
                },
            },
            {
                "mark": "rule",
                "encoding": {
                    "x": across, "y": {"field": "low", "type": "quantitative"},
                    "y2": {"field": "high"}, "color": colour,
                },
            },
        ]  # fmt: skip
        spec: Row = {
            "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
            "data": {"values": self.points(rows)},
        }
        size = {"width": 220, "height": 160}
        if self.field is None:
            spec |= {**size, "layer": layers}
        else:
            spec |= {
                "facet": {"field": "case", "type": "nominal", "title": None, "sort": None},
                "columns": COLUMNS,
                "spec": {**size, "layer": layers},
            }
        image = page.parent / IMAGES / f"{self.name}.svg"
        image.parent.mkdir(parents=True, exist_ok=True)
        write_whole(image, vl_convert.vegalite_to_svg(spec))
        return f"![{self.title}]({IMAGES}/{image.name})"
