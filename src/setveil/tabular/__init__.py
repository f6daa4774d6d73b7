"""Relational counterparts: tables of columns instead of records of items."""

from setveil.tabular.anatomization import Anatomized, Permuted, anatomize, permute
from setveil.tabular.generalization import (
    cell,
    full_domain,
    sibling,
    subtree,
    suppress_cells,
    suppress_records,
    suppress_values,
)
from setveil.tabular.hierarchies import Intervals
from setveil.tabular.mondrian import mondrian
from setveil.tabular.perturbation import NoisyTable, Swapped, add_noise, swap
from setveil.tabular.recoding import Partitioned

__all__ = [
    "Anatomized",
    "Intervals",
    "NoisyTable",
    "Partitioned",
    "Permuted",
    "Swapped",
    "add_noise",
    "anatomize",
    "cell",
    "full_domain",
    "mondrian",
    "permute",
    "sibling",
    "subtree",
    "suppress_cells",
    "suppress_records",
    "suppress_values",
    "swap",
]
