"""One line of a benchmark: what was measured, what was asked, whether it was reached."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A figure with its target; `most` and `least` are limits, either may be absent."""

    name: str
    value: float
    unit: str
    most: float | None = None
    least: float | None = None

    @property
    def holds(self) -> bool | None:
        """Whether the target is reached; None where there is none."""
        if self.most is None and self.least is None:
            return None
        return (self.most is None or self.value <= self.most) and (
            self.least is None or self.value >= self.least
        )

    @property
    def target(self) -> str:
        """The target in words."""
        if self.most is not None:
            return f"at most {self.most:g} {self.unit}".rstrip()
        return f"at least {self.least:g} {self.unit}".rstrip() if self.least is not None else "–"


def timed(function: Callable[[], T], *, repeat: int = 3) -> tuple[float, T]:
    """Return the least time of some calls, and the result of the last."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - start)
    return best, result
