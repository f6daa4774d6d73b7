# Written by `python -m website.method_names`.

from setveil.attack.base import RISKS, Attack, AuditRole, Finding, check_applies
from setveil.attack.elimination.distance_attacks import EC, GBA, MDA, RA, RBA, TBA, WBA
from setveil.attack.elimination.distance_tables import (
    Contexts,
    DistanceTable,
    DistanceTables,
    distance_tables,
)
from setveil.attack.elimination.elimination_guess import (
    Elimination,
    EliminationGuess,
    Reason,
    TableGuess,
    reasons,
)
from setveil.attack.elimination.shadow import Shadow
from setveil.attack.guess import Guess, load_guess, save_guess
from setveil.attack.inference import Inference, InferenceGuess, item_chance
from setveil.attack.linkage.intersection import Intersection, IntersectionGuess
from setveil.attack.linkage.linkage import Link, Linkage, LinkageGuess, Targets
from setveil.attack.randomized.noise_filter import NoiseFilter, NoiseGuess
from setveil.attack.randomized.public_records import PublicRecords, PublicRecordsGuess
from setveil.attack.randomized.spectral import Spectrum
from setveil.attack.reassociation.prior import Prior
from setveil.attack.reassociation.reassociation_guess import ClusterGuess, ReassociationGuess
from setveil.attack.reassociation.relatedness_attacks import ABA, MRA, RGA, Random
from setveil.attack.reassociation.semantic_prior import SemanticPrior
from setveil.attack.reassociation.vertical_partitioning import VPA
from setveil.attack.token_frequency import TokenFrequency, TokenGuess

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
