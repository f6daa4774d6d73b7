"""Adversaries: each takes a release and what it knows, and returns a guess."""

from setveil.attack.base import RISKS, Attack, AuditRole, Finding, check_applies
from setveil.attack.elimination import GBA, MDA, RA, RBA, TBA, WBA
from setveil.attack.elimination_guess import Elimination, EliminationGuess, TableGuess
from setveil.attack.ensemble import EC
from setveil.attack.explain import Reason, reasons
from setveil.attack.guess import Guess, load_guess, save_guess
from setveil.attack.inference import Inference, InferenceGuess, item_chance
from setveil.attack.intersection import Intersection, IntersectionGuess
from setveil.attack.linkage import Link, Linkage, LinkageGuess, Targets
from setveil.attack.noise_filter import NoiseFilter, NoiseGuess
from setveil.attack.prior import Prior
from setveil.attack.public_records import PublicRecords, PublicRecordsGuess
from setveil.attack.reassociation import ABA, MRA, RGA, Random
from setveil.attack.reassociation_guess import ClusterGuess, ReassociationGuess
from setveil.attack.semantic_prior import SemanticPrior
from setveil.attack.shadow import Shadow
from setveil.attack.spectral import Spectrum
from setveil.attack.tables import Contexts, DistanceTable, DistanceTables, distance_tables
from setveil.attack.token_frequency import TokenFrequency, TokenGuess
from setveil.attack.vertical_partitioning import VPA

__all__ = [
    "ABA",
    "EC",
    "GBA",
    "MDA",
    "MRA",
    "RA",
    "RBA",
    "RGA",
    "RISKS",
    "TBA",
    "VPA",
    "WBA",
    "Attack",
    "AuditRole",
    "ClusterGuess",
    "Contexts",
    "DistanceTable",
    "DistanceTables",
    "Elimination",
    "EliminationGuess",
    "Finding",
    "Guess",
    "Inference",
    "InferenceGuess",
    "Intersection",
    "IntersectionGuess",
    "Link",
    "Linkage",
    "LinkageGuess",
    "NoiseFilter",
    "NoiseGuess",
    "Prior",
    "PublicRecords",
    "PublicRecordsGuess",
    "Random",
    "Reason",
    "ReassociationGuess",
    "SemanticPrior",
    "Shadow",
    "Spectrum",
    "TableGuess",
    "Targets",
    "TokenFrequency",
    "TokenGuess",
    "check_applies",
    "distance_tables",
    "item_chance",
    "load_guess",
    "reasons",
    "save_guess",
]
