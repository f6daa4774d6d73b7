"""What may be published, what must stay private, and what an anonymizer returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from setveil.core.errors import ParameterError
from setveil.data.notebook import ROWS, html_of_records
from setveil.data.table import Int64Array, TransactionTable, frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from setveil.data.taxonomy import Taxonomy
    from setveil.guarantee.base import Guarantee


@dataclass(frozen=True, kw_only=True, eq=False)
class Key:
    """Which original record stands behind each published one; private, never in a release.

    Parameters
    ----------
    records
        For each published record the place of its original.
    names
        For a release of tags what each item of the published vocabulary stands for.
    parts
        Whether a published record may be a part of its original only, so that several records
        have the same one.
    removed
        Occurrences that partial suppression deleted: original record and item name.
    release
        The identity of the release that it was saved with (:attr:`Manifest.identity
        <setveil.release.manifest.Manifest.identity>`); empty where it was saved alone.

    Examples
    --------
    >>> Key(records=[2, 0, 1]).records.tolist()
    [2, 0, 1]
    """

    records: Int64Array
    names: tuple[str, ...] = ()
    parts: bool = False
    removed: tuple[tuple[int, str], ...] = ()
    release: str = ""

    def __post_init__(self) -> None:
        records = frozen(self.records, np.int64)
        object.__setattr__(self, "records", records)
        ordered = np.sort(records)
        if not self.parts and np.any(ordered[1:] == ordered[:-1]):
            raise ParameterError("a key names each original record at most once")

    def __len__(self) -> int:
        return len(self.records)


@dataclass(frozen=True, kw_only=True)
class Matches:
    """Published records that may belong to someone who is known to hold certain items.

    Parameters
    ----------
    records
        Places in the release, ascending.
    weights
        How likely each of them is the person's: not normalised, above 0.
    counts
        For how many candidates each place stands. One, unless places are interchangeable and
        only some of them can hold the items: of a cluster of 50 records that publishes the items
        in 5 rows, each of the 50 places stands for a tenth of a candidate.

    Examples
    --------
    >>> Matches(records=np.array([3, 4]), weights=np.ones(2)).candidates
    2
    >>> Matches(records=np.arange(50), weights=np.ones(50), counts=np.full(50, 0.1)).candidates
    5
    """

    records: Int64Array
    weights: npt.NDArray[np.float64]
    counts: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        if not len(self.counts):
            object.__setattr__(self, "counts", np.ones(len(self.records)))

    @property
    def candidates(self) -> int:
        """How many records may be the person's."""
        return max(round(float(self.counts.sum())), 1) if len(self.records) else 0

    def where(self, kept: npt.NDArray[np.bool_]) -> Matches:
        """Return the matches at some of the places."""
        return Matches(
            records=self.records[kept], weights=self.weights[kept], counts=self.counts[kept]
        )


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Least and greatest support over all originals consistent with a release.

    `tight` tells whether both ends are attained; a looser bound says False.
    """

    low: int
    high: int
    tight: bool = True


@runtime_checkable
class Release(Protocol):
    """A published form. Every form answers the same verbs, so that nobody asks which one it is."""

    form: ClassVar[str]

    def __len__(self) -> int: ...

    def to_rows(self) -> list[list[str]]:
        """Return the published records as lists of names, in canonical order."""
        ...

    def to_frame(self) -> pl.DataFrame:
        """Return the published records as a long frame."""
        ...

    def matches(self, known_items: Iterable[str], taxonomy: Taxonomy | None = None) -> Matches:
        """Return the records that may belong to someone who holds all of `known_items`."""
        ...

    def support_bounds(self, itemset: Iterable[str], taxonomy: Taxonomy | None = None) -> Bounds:
        """Return the least and greatest support of `itemset` over all consistent originals."""
        ...

    def sample_world(
        self, rng: np.random.Generator, taxonomy: Taxonomy | None = None
    ) -> TransactionTable:
        """Draw one original that the release allows, with the distribution its form states."""
        ...

    def is_consistent_with(
        self, original: TransactionTable, key: Key, taxonomy: Taxonomy | None = None
    ) -> bool:
        """Tell whether `original`, lined up by `key`, could have given this release."""
        ...


@dataclass(frozen=True, kw_only=True)
class Step:
    """One decision of a method: what was done, why, at what cost (in the method's own measure)."""

    action: str
    subject: str
    reason: str = ""
    cost: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Anonymization:
    """What an anonymizer returns.

    Parameters
    ----------
    release
        What may be published.
    key
        The private link back to the originals.
    promise
        The guarantee the release keeps, or None for methods that promise nothing.
    log
        The method's decisions.
    figures
        Numbers about the run that the method knows anyway (clusters, objective).
    """

    release: Release
    key: Key
    promise: Guarantee | None
    log: tuple[Step, ...] = ()
    figures: dict[str, Any] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        promise = "nothing" if self.promise is None else self.promise.describe()
        rows = self.release.to_rows()
        caption = f"{repr(self.release).strip('<>')}; promise: {promise}"
        return html_of_records(caption, rows[:ROWS], len(rows))
