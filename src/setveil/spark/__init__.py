"""Data that one machine cannot hold: tables and checks on Apache Spark (extra ``[spark]``).

The kernels are those of one machine, applied to batches on Spark's workers. The records are never
collected; what the driver holds is the vocabulary and results.
"""

from setveil.spark.chunks import DistributedChunks
from setveil.spark.methods import DistributedAnonymization, anonymize
from setveil.spark.reading import read_distributed
from setveil.spark.release import DistributedRelease, check
from setveil.spark.table import DistributedTable

__all__ = [
    "DistributedAnonymization",
    "DistributedChunks",
    "DistributedRelease",
    "DistributedTable",
    "anonymize",
    "check",
    "read_distributed",
]
