"""Privacy models: what a release promises, checked from nothing but the release."""

from setveil.guarantee.base import Guarantee, Verdict, Witness
from setveil.guarantee.k_anonymity import KAnonymity
from setveil.guarantee.naming import from_manifest, parse

__all__ = ["Guarantee", "KAnonymity", "Verdict", "Witness", "from_manifest", "parse"]
