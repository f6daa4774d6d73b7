"""Means over seeds with their intervals, and tables of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Column:
    """A column of a table: its title, the figure in it, and which rows it is about."""

    title: str
    figure: str
    where: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Mean:
    """A mean over seeds and half the width of its 95% interval; None where there is none."""

    value: float
    half: float | None

    def text(self) -> str:
        """Return the mean and its interval as a table shows them.

        >>> Mean(0.5, 0.02).text(), Mean(float("nan"), None).text()
        ('.500 ± .020', 'n/a')
        """
        if self.value != self.value:
            return "n/a"
        half = "" if self.half is None else f" ± {_short(self.half)}"
        return _short(self.value) + half


def _short(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3f}"


def over_seeds(rows: Sequence[Mapping[str, Any]], figure: str) -> Mean:
    """Return the mean of a figure over seeds; rows of one seed are averaged first.

    The interval is Student's, over seeds: each has its own split of the documents.

    >>> over_seeds([{"seed": 0, "auc": 0.9}, {"seed": 1, "auc": 0.8}], "auc").text()
    '.850 ± .635'
    """
    by_seed: dict[int, list[float]] = {}
    for row in rows:
        if row[figure] is not None:
            by_seed.setdefault(row["seed"], []).append(row[figure])
    values = [fmean(own) for own in by_seed.values()]
    if not values:
        return Mean(float("nan"), None)
    if len(values) == 1:
        return Mean(values[0], None)
    from scipy.stats import t

    width = float(t.ppf(0.975, len(values) - 1)) * stdev(values) / sqrt(len(values))
    return Mean(fmean(values), width)


def chosen(rows: Sequence[dict[str, Any]], **wanted: Any) -> list[dict[str, Any]]:
    """Return the rows with these values.

    >>> chosen([{"k": 2, "auc": 0.9}, {"k": 4, "auc": 0.8}], k=4)
    [{'k': 4, 'auc': 0.8}]
    """
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table as Markdown.

    >>> print(markdown(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(
        "|" + "|".join(cells) + "|" if cells[0] == "---" else "| " + " | ".join(cells) + " |"
        for cells in rows
    )
