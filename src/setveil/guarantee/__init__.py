"""Privacy models: what a release promises, checked from nothing but the release."""

from setveil.guarantee.base import Guarantee, Verdict, Witness, from_manifest, parse
from setveil.guarantee.coherence import Coherence
from setveil.guarantee.disassociated import Disassociated
from setveil.guarantee.k_anonymity import KAnonymity
from setveil.guarantee.km_anonymity import KmAnonymity
from setveil.guarantee.privacy_degree import PrivacyDegree
from setveil.guarantee.rho_uncertainty import MaxConfidence, RhoUncertainty, max_confidence
from setveil.guarantee.safe_disassociated import SafeDisassociated
from setveil.guarantee.support_constraints import SupportConstraints

__all__ = [
    "Coherence",
    "Disassociated",
    "Guarantee",
    "KAnonymity",
    "KmAnonymity",
    "MaxConfidence",
    "PrivacyDegree",
    "RhoUncertainty",
    "SafeDisassociated",
    "SupportConstraints",
    "Verdict",
    "Witness",
    "from_manifest",
    "max_confidence",
    "parse",
]
