"""Methods that turn a table into a release: one file per published algorithm."""

from setveil.anonymize.base import Anonymizer
from setveil.anonymize.clump import Clump
from setveil.anonymize.gather import Gather
from setveil.anonymize.partition import Partition

__all__ = ["Anonymizer", "Clump", "Gather", "Partition"]
