"""Methods that turn a table into a release: one file per published algorithm."""

from setveil.anonymize.anatomy import Anatomy
from setveil.anonymize.apriori_km import AprioriKm
from setveil.anonymize.base import Anonymizer
from setveil.anonymize.cahd import CAHD
from setveil.anonymize.clump import Clump
from setveil.anonymize.coat import Coat
from setveil.anonymize.coherence import Coherence
from setveil.anonymize.direct_km import DirectKm
from setveil.anonymize.disassociate import Disassociate
from setveil.anonymize.gather import Gather
from setveil.anonymize.hghs import HgHs
from setveil.anonymize.lra import LRA
from setveil.anonymize.optimal_km import OptimalKm
from setveil.anonymize.partition import Partition
from setveil.anonymize.pcta import PCTA
from setveil.anonymize.permutation import Permutation
from setveil.anonymize.rho_family import RhoFamily
from setveil.anonymize.safe_disassociate import SafeDisassociate
from setveil.anonymize.secret_sharing import SecretSharing
from setveil.anonymize.select_a_size import SelectASize
from setveil.anonymize.simple_suppression import SimpleSuppression
from setveil.anonymize.split_personality import SplitPersonality
from setveil.anonymize.suppress_control import SuppressControl
from setveil.anonymize.td_control import TDControl
from setveil.anonymize.token_hashing import TokenHashing
from setveil.anonymize.vpa_km import VPAKm

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
