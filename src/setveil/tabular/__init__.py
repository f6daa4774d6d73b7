"""Relational counterparts: tables of columns instead of records of items."""

from typing import Any

from setveil.tabular.anatomization import Anatomized, Permuted, anatomize, permute
from setveil.tabular.check_anonymity import DeltaPresence, KAnonymity, KKmAnonymity, XYAnonymity
from setveil.tabular.check_diversity import (
    AlphaKAnonymity,
    ConfidenceBounding,
    DistinctDiversity,
    EntropyDiversity,
    RecursiveDiversity,
    TCloseness,
)
from setveil.tabular.check_mechanisms import (
    DifferentialPrivacy,
    Rho1Rho2,
    geometric_mechanism,
)
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
    "CHECKS",
    "AlphaKAnonymity",
    "Anatomized",
    "ConfidenceBounding",
    "DeltaPresence",
    "DifferentialPrivacy",
    "DistinctDiversity",
    "EntropyDiversity",
    "Intervals",
    "KAnonymity",
    "KKmAnonymity",
    "NoisyTable",
    "Partitioned",
    "Permuted",
    "RecursiveDiversity",
    "Rho1Rho2",
    "Swapped",
    "TCloseness",
    "XYAnonymity",
    "add_noise",
    "anatomize",
    "cell",
    "full_domain",
    "geometric_mechanism",
    "mondrian",
    "permute",
    "sibling",
    "subtree",
    "suppress_cells",
    "suppress_records",
    "suppress_values",
    "swap",
]

CHECKS: dict[str, type[Any]] = {
    "k-anonymity": KAnonymity,
    "xy-anonymity": XYAnonymity,
    "alpha-k-anonymity": AlphaKAnonymity,
    "distinct-diversity": DistinctDiversity,
    "entropy-diversity": EntropyDiversity,
    "recursive-diversity": RecursiveDiversity,
    "confidence-bounding": ConfidenceBounding,
    "t-closeness": TCloseness,
    "delta-presence": DeltaPresence,
    "k-km-anonymity": KKmAnonymity,
    "differential-privacy": DifferentialPrivacy,
    "rho1-rho2": Rho1Rho2,
}
"""What `setveil table check` can check."""
