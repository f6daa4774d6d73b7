"""Releases of every form, by the methods that make them: what attacks and guarantees are given."""

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from setveil import Taxonomy, TransactionTable
from setveil.audit import run_method
from setveil.audit.run import Run
from setveil.core import registry
from setveil.core.params import params_of, usual_values

ITEMS = ("asthma", "bronchitis", "flu", "gout", "rash")
ROWS = [
    *(list(pair) for size in (2, 3) for pair in combinations(ITEMS, size)),
    ["asthma", "hiv"], ["flu", "hiv"], ["gout", "hiv", "rash"], ["bronchitis", "flu", "hiv"],
]  # fmt: skip
"""No two alike: which of two equal records is whose depends on where they stand."""
TABLE = TransactionTable.from_rows(ROWS)
ORDER = np.random.default_rng(7).permutation(len(ROWS))
SENSITIVE = ("hiv",)
TREE = Taxonomy.from_parents(
    {
        "asthma": "lungs", "bronchitis": "lungs", "flu": "infections", "hiv": "infections",
        "gout": "joints", "rash": "skin", "lungs": "all", "infections": "all", "joints": "all",
        "skin": "all",
    }
)  # fmt: skip
SMALL = {"k": 5, "p": 2, "l": 2}
"""Groups of these sizes can be made of so few records."""


@dataclass(frozen=True)
class Published:
    """A release of the records, and of the same records in another order."""

    name: str
    run: Run
    permuted: Run

    @property
    def form(self):
        return self.run.release.form


@cache
def published() -> tuple[Published, ...]:
    """Return what every registered method publishes."""
    found = []
    for entry in registry.entries("anonymizer"):
        known = {param.name for param in params_of(entry.target)}
        params: dict[str, Any] = {name: SMALL[name] for name in SMALL if name in known}
        params |= usual_values(entry.target)
        runs = [
            run_method(
                entry.name, params, table, TREE, sensitive=SENSITIVE, rng=np.random.default_rng(1)
            )
            for table in (TABLE, TABLE.take(ORDER))
        ]
        found.append(Published(entry.name, *runs))
    return tuple(found)


def one_of_each_form() -> dict[str, Published]:
    """Return one release of each form that some method makes."""
    found: dict[str, Published] = {}
    for each in published():
        found.setdefault(each.form, each)
    return found
