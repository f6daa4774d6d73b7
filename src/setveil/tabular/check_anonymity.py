"""Checks of tables: k-anonymity and (X,Y)-anonymity."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from setveil.tabular.classes import (
    answered,
    class_sizes,
    many,
    named_columns,
    sensitive_column,
    shown,
    whole,
    witness,
)

if TYPE_CHECKING:
    from setveil.guarantee.base import Verdict

QUASI = field(metadata={"doc": "columns that somebody may know of a person"})
SENSITIVE = field(metadata={"doc": "column that must not be inferred"})


@dataclass(frozen=True, kw_only=True)
class KAnonymity:
    """Every row is like at least k - 1 others in the columns that may be known.

    Parameters
    ----------
    quasi
        The columns that somebody may know of a person. A missing value is a value of its own.
    k
        Least number of rows of a class.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": ["30-39", "30-39", "40-49"], "job": ["cook"] * 3})
    >>> verdict = KAnonymity(quasi=["age", "job"], k=2).check(people)
    >>> verdict.reason
    '1 of 2 classes has fewer than 2 rows, the smallest 1'
    >>> verdict.witnesses[0].items
    ('age=40-49', 'job=cook')

    References
    ----------
    L. Sweeney: k-anonymity: a model for protecting privacy, IJUFKS 10(5), 2002.
    """

    quasi: tuple[str, ...] = QUASI
    k: int = field(default=5, metadata={"doc": "least number of rows of a class"})

    def __post_init__(self) -> None:
        object.__setattr__(self, "quasi", named_columns("quasi", self.quasi))
        whole("k", self.k)

    def check(self, frame: Any) -> Verdict:  # noqa: ANN401  (polars, pandas or pyarrow)
        """Count equal rows; witnesses are the small classes, smallest first."""
        sizes = class_sizes(frame, self.quasi)
        bad = [
            (size, witness(shown(self.quasi, row), size, f"at least {self.k} rows"))
            for row, size in sizes.items()
            if size < self.k
        ]
        least = min(sizes.values(), default=0)
        return answered(
            rows=sum(sizes.values()),
            kept=f"the smallest of {many(len(sizes), 'class', 'classes')} has {many(least, 'row')}",
            broken=f"{len(bad):,} of {many(len(sizes), 'class', 'classes')} "
            f"{'has' if len(bad) == 1 else 'have'} fewer than {many(self.k, 'row')}, "
            f"the smallest {least:,}",
            bad=bad,
        )

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> KAnonymity(quasi=["age"], k=3).describe()
        'every row is like at least 2 others in age'
        """
        return f"every row is like at least {self.k - 1} others in {', '.join(self.quasi)}"

    def params(self) -> dict[str, Any]:
        """Return the parameters as JSON values."""
        return {"quasi": list(self.quasi), "k": self.k}


@dataclass(frozen=True, kw_only=True)
class XYAnonymity:
    """Every class on the columns X goes with at least k different values on the columns Y.

    Where a person has several rows, k equal rows may be one person: with the person's number as
    Y, k people are asked for.

    Parameters
    ----------
    x
        The columns that somebody may know.
    y
        The columns whose different values are counted; none of them is in `x`.
    k
        Least number of different values.

    Examples
    --------
    >>> import polars as pl
    >>> visits = pl.DataFrame({"job": ["cook", "cook", "nurse", "nurse"], "who": [1, 1, 2, 3]})
    >>> KAnonymity(quasi=["job"], k=2).check(visits).holds
    True
    >>> XYAnonymity(x=["job"], y=["who"], k=2).check(visits).reason
    '1 of 2 classes goes with fewer than 2 values of who, the worst with 1'

    References
    ----------
    K. Wang, B. C. M. Fung: Anonymizing sequential releases, KDD 2006.
    """

    x: tuple[str, ...] = field(metadata={"doc": "columns that somebody may know"})
    y: tuple[str, ...] = field(metadata={"doc": "columns whose different values are counted"})
    k: int = field(default=5, metadata={"doc": "least number of different values"})

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", named_columns("x", self.x))
        object.__setattr__(self, "y", named_columns("y", self.y))
        for column in self.y:
            sensitive_column(column, self.x)
        whole("k", self.k)

    def check(self, frame: Any) -> Verdict:  # noqa: ANN401
        """Count the different values on Y; witnesses are the classes with fewest."""
        counts = class_sizes(frame, [*self.x, *self.y])
        values: dict[tuple[object, ...], int] = {}
        for row in counts:
            known = row[: len(self.x)]
            values[known] = values.get(known, 0) + 1
        bad = [
            (found, witness(shown(self.x, row), found, f"at least {self.k} values of {self._y}"))
            for row, found in values.items()
            if found < self.k
        ]
        least = min(values.values(), default=0)
        classes = many(len(values), "class", "classes")
        return answered(
            rows=sum(counts.values()),
            kept=f"each of {classes} goes with at least {many(least, 'value')} of {self._y}",
            broken=f"{len(bad):,} of {classes} {'goes' if len(bad) == 1 else 'go'} with fewer "
            f"than {many(self.k, 'value')} of {self._y}, the worst with {least:,}",
            bad=bad,
        )

    @property
    def _y(self) -> str:
        return ", ".join(self.y)

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> XYAnonymity(x=["job"], y=["who"], k=2).describe()
        'every class on job goes with at least 2 values of who'
        """
        return f"every class on {', '.join(self.x)} goes with at least {self.k} values of {self._y}"

    def params(self) -> dict[str, Any]:
        """Return the parameters as JSON values."""
        return {"x": list(self.x), "y": list(self.y), "k": self.k}
