"""What may be published: the forms of a release, and how they are kept on disk."""

from setveil.release.base import Anonymization, Bounds, Key, Matches, Release, Step
from setveil.release.generalized import GeneralizedRelease, publish_groups
from setveil.release.published import PublishedRows, published_rows
from setveil.release.recoded import publish_recoded
from setveil.release.suppressed import SuppressedRelease, publish_suppressed

__all__ = [
    "Anonymization",
    "Bounds",
    "GeneralizedRelease",
    "Key",
    "Matches",
    "PublishedRows",
    "Release",
    "Step",
    "SuppressedRelease",
    "publish_groups",
    "publish_recoded",
    "publish_suppressed",
    "published_rows",
]
