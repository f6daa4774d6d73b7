# Written by `python -m website.method_names`.

from setveil.anonymize.base import Anonymizer
from setveil.anonymize.coherence.coherence import Coherence
from setveil.anonymize.disassociation.disassociate import Disassociate, SafeDisassociate
from setveil.anonymize.groups.anatomy import Anatomy
from setveil.anonymize.groups.cahd import CAHD, Permutation
from setveil.anonymize.k_anonymity.clump import Clump
from setveil.anonymize.k_anonymity.gather import Gather
from setveil.anonymize.k_anonymity.partition import Partition
from setveil.anonymize.km.apriori_km import AprioriKm
from setveil.anonymize.km.direct_km import DirectKm
from setveil.anonymize.km.hghs import HgHs
from setveil.anonymize.km.lra import LRA
from setveil.anonymize.km.optimal_km import OptimalKm
from setveil.anonymize.km.vpa_km import VPAKm
from setveil.anonymize.query_logs.keyed_tokens import SecretSharing, TokenHashing
from setveil.anonymize.query_logs.split_personality import SplitPersonality
from setveil.anonymize.randomization.select_a_size import SelectASize
from setveil.anonymize.rho.rho_family import RhoFamily
from setveil.anonymize.rho.suppress_control import SimpleSuppression, SuppressControl
from setveil.anonymize.rho.td_control import TDControl
from setveil.anonymize.set_generalization.coat import Coat
from setveil.anonymize.set_generalization.pcta import PCTA

__all__ = [
    "CAHD",
    "LRA",
    "PCTA",
    "Anatomy",
    "Anonymizer",
    "AprioriKm",
    "Clump",
    "Coat",
    "Coherence",
    "DirectKm",
    "Disassociate",
    "Gather",
    "HgHs",
    "OptimalKm",
    "Partition",
    "Permutation",
    "RhoFamily",
    "SafeDisassociate",
    "SecretSharing",
    "SelectASize",
    "SimpleSuppression",
    "SplitPersonality",
    "SuppressControl",
    "TDControl",
    "TokenHashing",
    "VPAKm",
]
