"""What may be published: the forms of a release, and how they are kept on disk."""

from setveil.release.base import Anonymization, Bounds, Key, Matches, Release, Step
from setveil.release.generalized import GeneralizedRelease, publish_groups

__all__ = [
    "Anonymization",
    "Bounds",
    "GeneralizedRelease",
    "Key",
    "Matches",
    "Release",
    "Step",
    "publish_groups",
]
