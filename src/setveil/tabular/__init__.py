"""Relational counterparts: tables of columns instead of records of items."""

from setveil.tabular.anatomization import Anatomized, Permuted, anatomize, permute
from setveil.tabular.cell import cell
from setveil.tabular.full_domain import full_domain
from setveil.tabular.hierarchies import Intervals
from setveil.tabular.mondrian import mondrian
from setveil.tabular.noise import NoisyTable, add_noise
from setveil.tabular.partitioned import Partitioned
from setveil.tabular.sibling import sibling
from setveil.tabular.subtree import subtree
from setveil.tabular.suppression import suppress_cells, suppress_records, suppress_values
from setveil.tabular.swapping import Swapped, swap

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
