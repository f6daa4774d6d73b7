"""What anonymizing distributed records gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from setveil.spark.chunks import DistributedChunks
from setveil.spark.verify import check

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from setveil.guarantee.base import Guarantee, Verdict
    from setveil.release.base import Step
    from setveil.spark.generalized import DistributedGeneralized


@dataclass(frozen=True, kw_only=True, eq=False)
class DistributedAnonymization:
    """A distributed release, the promise it keeps, and how it was made.

    Parameters
    ----------
    release
        What may be published.
    promise
        The guarantee it keeps.
    key
        Private: for each record of a table that names its records (``record``) what it was
        published as (``items``, numbers of the whole tree). None where records have no names, or
        where a method keeps none.
    log
        The decisions.
    figures
        Numbers about the run.
    """

    release: DistributedGeneralized | DistributedChunks
    promise: Guarantee
    key: DataFrame | None = None
    log: tuple[Step, ...] = ()
    figures: dict[str, Any] = field(default_factory=dict)

    def check(self) -> Verdict:
        """Check the promise, without collecting anything."""
        if isinstance(self.release, DistributedChunks):
            return check(self.promise, self.release)
        return self.release.check(self.promise)


def kept(frame: DataFrame) -> DataFrame:
    """Keep what is costly to compute, in memory and on disk, until the session ends."""
    from pyspark import StorageLevel

    return frame.persist(StorageLevel.MEMORY_AND_DISK)
