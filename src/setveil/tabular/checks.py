"""The checks of tables and mechanisms, by name."""

from __future__ import annotations

from typing import Any

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

__all__ = [
    "CHECKS",
    "AlphaKAnonymity",
    "ConfidenceBounding",
    "DeltaPresence",
    "DifferentialPrivacy",
    "DistinctDiversity",
    "EntropyDiversity",
    "KAnonymity",
    "KKmAnonymity",
    "RecursiveDiversity",
    "Rho1Rho2",
    "TCloseness",
    "XYAnonymity",
    "geometric_mechanism",
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
