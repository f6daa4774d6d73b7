"""Checks of tables: distinct, entropy and recursive l-diversity."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from setveil.core.errors import ParameterError
from setveil.guarantee.base import Verdict, Witness
from setveil.guarantee.thresholds import share_as_json, written_fraction
from setveil.tabular.check_anonymity import QUASI, SENSITIVE
from setveil.tabular.classes import (
    answered,
    class_values,
    many,
    named_columns,
    sensitive_column,
    shown,
    whole,
    witness,
)
from setveil.tabular.entropy import entropy_reaches, perplexity

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, kw_only=True)
class DistinctDiversity:
    """Every class holds at least l different sensitive values.

    Parameters
    ----------
    quasi
        The columns that somebody may know of a person.
    sensitive
        The column that must not be inferred.
    l
        Least number of different values.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"job": ["cook"] * 3, "ill": ["flu", "flu", "gout"]})
    >>> DistinctDiversity(quasi=["job"], sensitive="ill", l=2).check(people).holds
    True
    >>> DistinctDiversity(quasi=["job"], sensitive="ill", l=3).check(people).reason
    '1 of 1 class holds fewer than 3 values of ill, the worst 2'

    References
    ----------
    A. Machanavajjhala, J. Gehrke, D. Kifer, M. Venkitasubramaniam: l-diversity: privacy beyond
    k-anonymity, ICDE 2006.
    """

    quasi: tuple[str, ...] = QUASI
    sensitive: str = SENSITIVE
    l: int = field(default=2, metadata={"doc": "least number of different values"})

    def __post_init__(self) -> None:
        object.__setattr__(self, "quasi", named_columns("quasi", self.quasi))
        sensitive_column(self.sensitive, self.quasi)
        whole("l", self.l)

    def check(self, frame: Any) -> Verdict:  # noqa: ANN401  (polars, pandas or pyarrow)
        """Count the values of each class; witnesses are the classes with fewest."""
        found = class_values(frame, self.quasi, self.sensitive)
        required = f"at least {self.l} values of {self.sensitive}"
        bad = [
            (
                len(counts),
                witness(
                    shown(self.quasi, row),
                    sum(counts.values()),
                    f"{required}, not {len(counts)}",
                    *_only(self.sensitive, counts),
                ),
            )
            for row, counts in found.items()
            if len(counts) < self.l
        ]
        least = min(map(len, found.values()), default=0)
        classes = many(len(found), "class", "classes")
        return answered(
            rows=_rows(found.values()),
            kept=f"each of {classes} holds at least {many(least, 'value')} of {self.sensitive}",
            broken=f"{len(bad):,} of {classes} {'holds' if len(bad) == 1 else 'hold'} fewer than "
            f"{many(self.l, 'value')} of {self.sensitive}, the worst {least:,}",
            bad=bad,
        )

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> DistinctDiversity(quasi=["job"], sensitive="ill", l=2).describe()
        'every class on job holds at least 2 values of ill'
        """
        return (
            f"every class on {', '.join(self.quasi)} holds at least {self.l} values of "
            f"{self.sensitive}"
        )

    def params(self) -> dict[str, Any]:
        """Return the parameters as JSON values."""
        return {"quasi": list(self.quasi), "sensitive": self.sensitive, "l": self.l}


@dataclass(frozen=True, kw_only=True)
class EntropyDiversity:
    """The entropy of the sensitive values of every class is at least log l.

    The comparison is exact: entropies that floating point cannot tell from log l are compared as
    whole numbers (nⁿ against lⁿ Π cᶜ). Only where these would be of millions of digits the answer
    is "not decided exactly".

    Parameters
    ----------
    quasi
        The columns that somebody may know of a person.
    sensitive
        The column that must not be inferred.
    l
        How many equally frequent values are as hard to guess; at least 1, fractions are allowed.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"job": ["cook"] * 4, "ill": ["flu", "flu", "gout", "hiv"]})
    >>> EntropyDiversity(quasi=["job"], sensitive="ill", l="14/5").check(people).holds
    True
    >>> EntropyDiversity(quasi=["job"], sensitive="ill", l=3).check(people).reason
    '1 of 1 class is below the entropy of 3 equal values, the worst at that of 2.828'

    References
    ----------
    A. Machanavajjhala, J. Gehrke, D. Kifer, M. Venkitasubramaniam: l-diversity: privacy beyond
    k-anonymity, ICDE 2006.
    """

    quasi: tuple[str, ...] = QUASI
    sensitive: str = SENSITIVE
    l: Fraction = field(
        default=Fraction(2), metadata={"doc": "equal values that are as hard to guess"}
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "quasi", named_columns("quasi", self.quasi))
        sensitive_column(self.sensitive, self.quasi)
        least = written_fraction(self.l)
        if least is None or least < 1:
            raise ParameterError(f"l is {self.l!r}", fix="use a number of at least 1")
        object.__setattr__(self, "l", least)

    def check(self, frame: Any) -> Verdict:  # noqa: ANN401
        """Compare the entropies; witnesses are the classes with least."""
        found = class_values(frame, self.quasi, self.sensitive)
        required = f"the entropy of {self.l} equal values"
        bad: list[tuple[Fraction | int, Witness]] = []
        open_classes = 0
        for row, counts in found.items():
            enough = entropy_reaches(list(counts.values()), self.l)
            open_classes += enough is None
            if enough is False:
                worth = perplexity(list(counts.values()))
                short = f"{required}, not of {worth:.4g}"
                rows = sum(counts.values())
                given = _only(self.sensitive, counts)
                bad.append((Fraction(worth), witness(shown(self.quasi, row), rows, short, *given)))
        worst = min((perplexity(list(c.values())) for c in found.values()), default=0.0)
        classes = many(len(found), "class", "classes")
        verdict = answered(
            rows=_rows(found.values()),
            kept=f"each of {classes} has the entropy of at least {worst:.4g} equal values",
            broken=f"{len(bad):,} of {classes} {'is' if len(bad) == 1 else 'are'} below "
            f"{required}, the worst at that of {worst:.4g}",
            bad=bad,
        )
        if bad or not open_classes:
            return verdict
        return Verdict(
            holds=True,
            exact=False,
            reason=f"{many(open_classes, 'class', 'classes')} cannot be told from {required} "
            "without numbers of millions of digits; the others reach it",
            checked=verdict.checked,
        )

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> EntropyDiversity(quasi=["job"], sensitive="ill", l=2).describe()
        'in every class on job the entropy of ill is at least that of 2 equal values'
        """
        return (
            f"in every class on {', '.join(self.quasi)} the entropy of {self.sensitive} is at "
            f"least that of {self.l} equal values"
        )

    def params(self) -> dict[str, Any]:
        """Return the parameters as JSON values."""
        return {
            "quasi": list(self.quasi),
            "sensitive": self.sensitive,
            "l": share_as_json(self.l),
        }


@dataclass(frozen=True, kw_only=True)
class RecursiveDiversity:
    """In every class the most frequent value is less than c times as frequent as the rare ones.

    With the counts of a class in falling order r₁ ≥ … ≥ rₘ: r₁ < c (rₗ + … + rₘ). After l - 2
    values have been ruled out the rest is still (c,2)-diverse.

    Parameters
    ----------
    quasi
        The columns that somebody may know of a person.
    sensitive
        The column that must not be inferred.
    c
        How many times as frequent; above 0, held as it is written.
    l
        The first of the counts that are added up.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"job": ["cook"] * 5, "ill": ["flu", "flu", "flu", "gout", "hiv"]})
    >>> RecursiveDiversity(quasi=["job"], sensitive="ill", c=2, l=2).check(people).holds
    True
    >>> RecursiveDiversity(quasi=["job"], sensitive="ill", c=3, l=3).check(people).reason
    '1 of 1 class is too uneven, the worst 3 against 3 times 1'

    References
    ----------
    A. Machanavajjhala, J. Gehrke, D. Kifer, M. Venkitasubramaniam: l-diversity: privacy beyond
    k-anonymity, ICDE 2006.
    """

    quasi: tuple[str, ...] = QUASI
    sensitive: str = SENSITIVE
    c: Fraction = field(default=Fraction(2), metadata={"doc": "how many times as frequent"})
    l: int = field(default=2, metadata={"doc": "first of the counts added up"})

    def __post_init__(self) -> None:
        object.__setattr__(self, "quasi", named_columns("quasi", self.quasi))
        sensitive_column(self.sensitive, self.quasi)
        times = written_fraction(self.c)
        if times is None or times <= 0:
            raise ParameterError(f"c is {self.c!r}", fix="use a number above 0")
        object.__setattr__(self, "c", times)
        whole("l", self.l)

    def check(self, frame: Any) -> Verdict:  # noqa: ANN401
        """Compare the counts; witnesses are the most uneven classes."""
        found = class_values(frame, self.quasi, self.sensitive)
        bad: list[tuple[Fraction | int, Witness]] = []
        worst: tuple[Fraction, int, int] | None = None
        for row, counts in found.items():
            falling = sorted(counts.values(), reverse=True)
            most, rest = falling[0], sum(falling[self.l - 1 :])
            if most < self.c * rest:
                continue
            evenness, rows = Fraction(rest, most), sum(falling)
            value = min((v for v in counts if counts[v] == most), key=str)
            given = f"{self.sensitive}={value}"
            required = f"{most} below {self.c} times {rest}"
            share = Fraction(most, rows)
            bad.append((evenness, witness(shown(self.quasi, row), rows, required, given, share)))
            worst = min(worst or (evenness, most, rest), (evenness, most, rest))
        classes = many(len(found), "class", "classes")
        against = f"{worst[1]:,} against {self.c} times {worst[2]:,}" if worst else ""
        return answered(
            rows=_rows(found.values()),
            kept=f"in each of {classes} the most frequent value of {self.sensitive} has fewer than "
            f"{self.c} times the rows of all values but the {self.l - 1} most frequent",
            broken=f"{len(bad):,} of {classes} {'is' if len(bad) == 1 else 'are'} too uneven, "
            f"the worst {against}",
            bad=bad,
        )

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> RecursiveDiversity(quasi=["job"], sensitive="ill", c=2, l=3).describe()
        'in every class on job the values of ill are recursively (2,3)-diverse'
        """
        return (
            f"in every class on {', '.join(self.quasi)} the values of {self.sensitive} are "
            f"recursively ({self.c},{self.l})-diverse"
        )

    def params(self) -> dict[str, Any]:
        """Return the parameters as JSON values."""
        return {
            "quasi": list(self.quasi),
            "sensitive": self.sensitive,
            "c": share_as_json(self.c),
            "l": self.l,
        }


def _rows(classes: Iterable[dict[object, int]]) -> int:
    return sum(sum(counts.values()) for counts in classes)


def _only(sensitive: str, counts: dict[object, int]) -> tuple[str | None, Fraction | None]:
    """Return the most frequent value of a class and its share, the first of equal ones."""
    most = max(counts.values())
    value = min((v for v in counts if counts[v] == most), key=str)
    return f"{sensitive}={value}", Fraction(most, sum(counts.values()))
