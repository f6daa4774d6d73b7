"""Data that one machine cannot hold: tables and checks on Apache Spark (extra ``[spark]``).

The kernels are those of one machine, applied to batches on Spark's workers. The records are never
collected; what the driver holds is the vocabulary and results.
"""

from setveil.spark.anonymized import DistributedAnonymization
from setveil.spark.anonymizing import anonymize
from setveil.spark.chunks import DistributedChunks
from setveil.spark.generalized import DistributedGeneralized
from setveil.spark.reading import read_distributed
from setveil.spark.table import DistributedTable
from setveil.spark.verify import check

__all__ = [
    "DistributedAnonymization",
    "DistributedChunks",
    "DistributedGeneralized",
    "DistributedTable",
    "anonymize",
    "check",
    "read_distributed",
]
