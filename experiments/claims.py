"""What a paper claims, what was measured here, and whether the one bears out the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.tables import markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from experiments.tables import Mean

HOLDS = "holds"
FAILS = "does not hold"
OPEN = "cannot tell here"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement of a paper beside our figure.

    Parameters
    ----------
    paper
        Its number among the papers behind setveil.
    says
        The statement, in our words.
    data
        What it was tested on.
    ours
        Our figure, with its interval.
    verdict
        One of `HOLDS`, `FAILS`, `OPEN`.
    why
        What may explain it, and where that thought was tested.
    """

    paper: str
    says: str
    data: str
    ours: str
    verdict: str
    why: str = ""


def judged(mean: Mean, *, least: float | None = None, most: float | None = None) -> str:
    """Return whether a mean lies beyond a bound, its whole interval on one side of it.

    >>> from experiments.tables import Mean
    >>> judged(Mean(0.3, 0.1), least=0.0), judged(Mean(0.3, 0.4), least=0.0)
    ('holds', 'cannot tell here')
    >>> judged(Mean(0.3, 0.1), most=0.1), judged(Mean(0.3, None), least=0.0)
    ('does not hold', 'cannot tell here')
    """
    if mean.value != mean.value or mean.half is None:
        return OPEN
    low, high = mean.value - mean.half, mean.value + mean.half
    inside = (least is None or low >= least) and (most is None or high <= most)
    outside = (least is not None and high < least) or (most is not None and low > most)
    if inside:
        return HOLDS
    return FAILS if outside else OPEN


def together(verdicts: Sequence[str]) -> str:
    """Return the verdict on a claim that is made of several.

    >>> together(["holds", "cannot tell here"]), together(["holds", "does not hold"])
    ('cannot tell here', 'does not hold')
    """
    if FAILS in verdicts:
        return FAILS
    return OPEN if OPEN in verdicts or not verdicts else HOLDS


def claims_table(claims: Sequence[Claim]) -> str:
    """Return claims as a table in Markdown."""
    head = ["paper", "claim", "data", "measured here", "verdict", "remark"]
    lines = [
        [each.paper, each.says, each.data, each.ours, f"**{each.verdict}**", each.why or "–"]
        for each in claims
    ]
    return markdown(head, lines)
