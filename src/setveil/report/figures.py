"""The pictures of an audit as files, for slides and papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from setveil.core import charts
from setveil.core.files import write_whole
from setveil.report.audit_page import figures_of

if TYPE_CHECKING:
    import os

    from setveil.audit import AuditResult

SCALE = 2
"""Pixels per point of the PNG files."""


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
