"""What a notebook shows of a result: small HTML tables in which every text is escaped."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Protocol

from setveil.core.words import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROWS = 5
ITEMS = 20


def shown_text(text: str) -> str:
    r"""Return a text as HTML shows it: no markup, and its hidden characters written out.

    >>> print(shown_text("<b>flu\u202e"))
    &lt;b&gt;flu\u202e
    """
    return html.escape(visible(text))


def html_table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with a caption; texts may hold anything, and show as they are.

    Without columns there is nothing but the caption.

    >>> print(html_table("a < b", ["x"], [["<script>"]]))
    <table><caption style="text-align: left">a &lt; b</caption>
    <thead><tr><th scope="col">x</th></tr></thead>
    <tbody><tr><td style="text-align: left">&lt;script&gt;</td></tr></tbody></table>
    """
    if not columns:
        return f"<p>{shown_text(caption)}</p>"
    head = "".join(f'<th scope="col">{shown_text(str(name))}</th>' for name in columns)
    lines = "\n".join(
        "<tr>"
        + "".join(f'<td style="text-align: {_side(value)}">{_cell(value)}</td>' for value in row)
        + "</tr>"
        for row in rows
    )
    return (
        f'<table><caption style="text-align: left">{shown_text(caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{lines}</tbody></table>"
    )


def _side(value: object) -> str:
    return "right" if isinstance(value, int | float) and not isinstance(value, bool) else "left"


def _cell(value: object) -> str:
    if value is None:
        return "n/a"
    return shown_text(f"{value:.4g}" if isinstance(value, float) else str(value))


def html_of_records(caption: str, rows: Iterable[Sequence[str]], count: int) -> str:
    """Return the first few of `count` records as a table; long ones are cut.

    >>> page = html_of_records("2 records", [["flu", "gout"], []], 2)
    >>> "flu, gout" in page, "more" in page
    (True, False)
    """
    shown = []
    for _, row in zip(range(ROWS), rows, strict=False):
        more = f", … ({len(row) - ITEMS} more)" if len(row) > ITEMS else ""
        shown.append([", ".join(row[:ITEMS]) + more])
    if count > len(shown):
        shown.append([f"… ({count - len(shown):,} more)"])
    return html_table(caption, ["items"], shown)


class _Records(Protocol):
    def __len__(self) -> int: ...
    def to_rows(self) -> list[list[str]]: ...


class ShowsRecords:
    """Gives a published form its look in a notebook: what it is, and its first rows."""

    def _repr_html_(self: _Records) -> str:
        rows = self.to_rows()
        return html_of_records(repr(self).strip("<>"), rows[:ROWS], len(rows))
