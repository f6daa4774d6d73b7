"""What may be published: the forms of a release, and how they are kept on disk."""

from setveil.release.base import Anonymization, Bounds, Key, Matches, Release, Step
from setveil.release.chunk_arrays import Chunk, Cluster
from setveil.release.chunk_plan import Plan, publish_disassociated
from setveil.release.disassociated import DisassociatedRelease
from setveil.release.encoded import EncodedRelease, publish_encoded
from setveil.release.generalized import GeneralizedRelease, publish_groups, publish_recoded
from setveil.release.grouped import Group, GroupedRelease, deal, publish_grouped
from setveil.release.item_channel import ItemChannel
from setveil.release.perturbed import PerturbedRelease, publish_perturbed
from setveil.release.set_generalized import SetGeneralizedRelease, publish_sets
from setveil.release.shared import SharedRelease
from setveil.release.split import SplitRelease
from setveil.release.suppressed import SuppressedRelease, publish_suppressed
from setveil.release.views import PublishedRows, published_rows

__all__ = [
    "Anonymization",
    "Bounds",
    "Chunk",
    "Cluster",
    "DisassociatedRelease",
    "EncodedRelease",
    "GeneralizedRelease",
    "Group",
    "GroupedRelease",
    "ItemChannel",
    "Key",
    "Matches",
    "PerturbedRelease",
    "Plan",
    "PublishedRows",
    "Release",
    "SetGeneralizedRelease",
    "SharedRelease",
    "SplitRelease",
    "Step",
    "SuppressedRelease",
    "deal",
    "publish_disassociated",
    "publish_encoded",
    "publish_grouped",
    "publish_groups",
    "publish_perturbed",
    "publish_recoded",
    "publish_sets",
    "publish_suppressed",
    "published_rows",
]
