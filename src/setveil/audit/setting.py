"""A method with its parameters: what an audit tries."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from setveil.audit.utility import UTILITY


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A registered anonymizer and the parameters that are given to it.

    Parameters
    ----------
    method
        The registered name.
    params
        What is given; all others keep their defaults.

    Examples
    --------
    >>> one = Setting(method="apriori-km", params={"k": 5, "m": 2})
    >>> one.name, one.title
    ('apriori-km-k5-m2', 'apriori-km (m 2), k = 5')
    """

    method: str
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A name for files and links: the method and its given parameters."""
        parts = [
            value if isinstance(value, str) else f"{name}{_short(value)}"
            for name, value in self.params.items()
        ]
        return re.sub(r"[^a-z0-9.-]+", "", "-".join([self.method, *parts]).lower())

    @property
    def variant(self) -> str:
        """The method with its given parameters other than k: what stays the same along a curve."""
        rest = [
            value if isinstance(value, str) and name != UTILITY else f"{name} {value}"
            for name, value in self.params.items()
            if name != "k"
        ]
        return f"{self.method} ({', '.join(rest)})" if rest else self.method

    @property
    def title(self) -> str:
        """What a reader calls it."""
        k = self.params.get("k")
        return self.variant if k is None else f"{self.variant}, k = {k}"


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
