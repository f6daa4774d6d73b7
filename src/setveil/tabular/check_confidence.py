"""Checks of tables: (α,k)-anonymity and bounded confidence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from setveil.core.errors import ParameterError
from setveil.guarantee.thresholds import exact_share, share_as_json
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

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from setveil.guarantee.base import Verdict, Witness
    from setveil.tabular.classes import Row

NAMED = 5
"""So many values that never occur are named; of more it is said that there are more."""


@dataclass(frozen=True, kw_only=True)
class AlphaKAnonymity:
    """Classes of at least k rows, in which no sensitive value has a share above α.

    Parameters
    ----------
    quasi
        The columns that somebody may know of a person.
    sensitive
        The column that must not be inferred.
    alpha
        Greatest share of a class that one sensitive value may have, held as it is written.
    k
        Least number of rows of a class.
    values
        The sensitive values that are protected; all of them if none are given. In a column of
        numbers ``"1"`` is 1.0, too. Those that do not occur are named in the reason.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"job": ["cook"] * 3, "ill": ["hiv", "hiv", "flu"]})
    >>> check = AlphaKAnonymity(quasi=["job"], sensitive="ill", alpha=0.5, k=2)
    >>> check.check(people).reason
    '1 of 1 class is too small or too sure: 1 gives a value away with more than 1/2'
    >>> AlphaKAnonymity(quasi=["job"], sensitive="ill", alpha="2/3", k=3).check(people).holds
    True

    References
    ----------
    R. C. W. Wong, J. Li, A. W. C. Fu, K. Wang: (α, k)-anonymity: an enhanced k-anonymity model for
    privacy preserving data publishing, KDD 2006.
    """

    quasi: tuple[str, ...] = QUASI
    sensitive: str = SENSITIVE
    alpha: Fraction = field(
        default=Fraction(1, 2), metadata={"doc": "greatest share of a class with one value"}
    )
    k: int = field(default=5, metadata={"doc": "least number of rows of a class"})
    values: tuple[str, ...] = field(
        default=(), metadata={"doc": "sensitive values that are protected; all if none"}
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "quasi", named_columns("quasi", self.quasi))
        sensitive_column(self.sensitive, self.quasi)
        object.__setattr__(self, "alpha", exact_share("alpha", self.alpha))
        whole("k", self.k)
        object.__setattr__(self, "values", _named(self.values))

    def check(self, frame: Any) -> Verdict:  # noqa: ANN401
        """Count rows and values; witnesses are small classes and values that are too frequent."""
        found = class_values(frame, self.quasi, self.sensitive)
        sizes = {row: sum(counts.values()) for row, counts in found.items()}
        small = {row for row, size in sizes.items() if size < self.k}
        meant, absent = _occurring(found, self.values)
        sure, bad = _given_away(found, self.quasi, self.sensitive, self.alpha, meant)
        bad += [
            (-1, witness(shown(self.quasi, row), sizes[row], f"at least {self.k} rows"))
            for row in small
        ]
        classes = many(len(found), "class", "classes")
        parts = [f"{len(small):,} with fewer than {self.k} rows"] if small else []
        if sure:
            gives = "gives" if len(sure) == 1 else "give"
            parts.append(f"{len(sure):,} {gives} a value away with more than {self.alpha}")
        broken = len(small | sure)
        return answered(
            rows=sum(sizes.values()),
            kept=f"each of {classes} has at least {many(min(sizes.values(), default=0), 'row')}, "
            f"and no value a share above {self.alpha}{absent}",
            broken=f"{broken:,} of {classes} {'is' if broken == 1 else 'are'} too small or too "
            f"sure: {', '.join(parts)}{absent}",
            bad=bad,
        )

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> AlphaKAnonymity(quasi=["job"], sensitive="ill", k=2).describe()
        'every class on job has at least 2 rows and no value of ill a share above 1/2'
        """
        return (
            f"every class on {', '.join(self.quasi)} has at least {self.k} rows and no value of "
            f"{self.sensitive} a share above {self.alpha}"
        )

    def params(self) -> dict[str, Any]:
        """Return the parameters as JSON values."""
        return {
            "quasi": list(self.quasi),
            "sensitive": self.sensitive,
            "alpha": share_as_json(self.alpha),
            "k": self.k,
            "values": list(self.values),
        }


@dataclass(frozen=True, kw_only=True)
class ConfidenceBounding:
    """No class gives a sensitive value away with a confidence above h.

    A privacy template ⟨X → s, h⟩ for each value s: among the rows of a class on X, the share of
    those with s is at most h.

    Parameters
    ----------
    quasi
        The columns X that somebody may know of a person.
    sensitive
        The column that must not be inferred.
    h
        Greatest confidence, held as it is written.
    values
        The sensitive values that are protected; all of them if none are given. In a column of
        numbers ``"1"`` is 1.0, too. Those that do not occur are named in the reason.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"job": ["cook"] * 3, "ill": ["hiv", "flu", "flu"]})
    >>> check = ConfidenceBounding(quasi=["job"], sensitive="ill", h=0.5)
    >>> verdict = check.check(people)
    >>> verdict.reason, verdict.witnesses[0].confidence
    ('1 of 1 class gives a value of ill away, the worst ill=flu with 2/3', Fraction(2, 3))
    >>> only = ConfidenceBounding(quasi=["job"], sensitive="ill", h=0.5, values=["hiv"])
    >>> only.check(people).holds
    True

    References
    ----------
    K. Wang, B. C. M. Fung, P. S. Yu: Handicapping attacker's confidence: an alternative to
    k-anonymization, KAIS 11(3), 2007.
    """

    quasi: tuple[str, ...] = QUASI
    sensitive: str = SENSITIVE
    h: Fraction = field(default=Fraction(1, 2), metadata={"doc": "greatest confidence"})
    values: tuple[str, ...] = field(
        default=(), metadata={"doc": "sensitive values that are protected; all if none"}
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "quasi", named_columns("quasi", self.quasi))
        sensitive_column(self.sensitive, self.quasi)
        object.__setattr__(self, "h", exact_share("h", self.h))
        object.__setattr__(self, "values", _named(self.values))

    def check(self, frame: Any) -> Verdict:  # noqa: ANN401
        """Compute the confidences; witnesses are the surest rules."""
        found = class_values(frame, self.quasi, self.sensitive)
        meant, absent = _occurring(found, self.values)
        sure, bad = _given_away(found, self.quasi, self.sensitive, self.h, meant)
        classes = many(len(found), "class", "classes")
        worst = min(bad, key=lambda each: (each[0], each[1].items))[1] if bad else None
        which = f"{worst.consequent} with {worst.confidence}" if worst else ""
        return answered(
            rows=sum(sum(counts.values()) for counts in found.values()),
            kept=f"no value of {self.sensitive} has a confidence above {self.h} in any of "
            f"{classes}{absent}",
            broken=f"{len(sure):,} of {classes} {'gives' if len(sure) == 1 else 'give'} a value "
            f"of {self.sensitive} away, the worst {which}{absent}",
            bad=bad,
        )

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> ConfidenceBounding(quasi=["job"], sensitive="ill").describe()
        'no class on job gives a value of ill away with a confidence above 1/2'
        """
        return (
            f"no class on {', '.join(self.quasi)} gives a value of {self.sensitive} away with a "
            f"confidence above {self.h}"
        )

    def params(self) -> dict[str, Any]:
        """Return the parameters as JSON values."""
        return {
            "quasi": list(self.quasi),
            "sensitive": self.sensitive,
            "h": share_as_json(self.h),
            "values": list(self.values),
        }


def _named(values: object) -> tuple[str, ...]:
    """Return the names of values, or say that they are no list of them."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ParameterError(
            f"values is {values!r}", fix="give a list of values, also for a single one"
        )
    return tuple(map(str, values))


def _occurring(
    found: Mapping[Row, Mapping[object, int]], names: Sequence[str]
) -> tuple[set[object] | None, str]:
    """Return the values that are meant, None for all, and a remark on names that mean none."""
    if not names:
        return None, ""
    wanted = {name: _number(name) for name in names}
    numbers = set(wanted.values()) - {None}
    meant: set[object] = set()
    seen: set[object] = set()
    for value in {value for counts in found.values() for value in counts}:
        number = None if isinstance(value, str | bool) else _number(str(value))
        if str(value) in wanted or number in numbers:
            meant.add(value)
            seen |= {str(value), number}
    absent = sorted(name for name, n in wanted.items() if not seen & ({name, n} - {None}))
    if not absent:
        return meant, ""
    said = ", ".join(map(repr, absent[:NAMED])) + (", …" if len(absent) > NAMED else "")
    return meant, f"; {said} never {'occurs' if len(absent) == 1 else 'occur'}"


def _number(text: str) -> Fraction | None:
    """Return the number that a text means, if it means one."""
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def _given_away(
    found: Mapping[Row, Mapping[object, int]],
    quasi: Sequence[str],
    sensitive: str,
    most: Fraction,
    values: Collection[object] | None,
) -> tuple[set[Row], list[tuple[Fraction | int, Witness]]]:
    """Return the classes in which a value has a share above `most`, and the witnesses."""
    sure: set[Row] = set()
    bad: list[tuple[Fraction | int, Witness]] = []
    for row, counts in found.items():
        rows = sum(counts.values())
        for value, count in counts.items():
            share = Fraction(count, rows)
            if share > most and (values is None or value in values):
                sure.add(row)
                required = f"a share of at most {most}, not {share}"
                given = f"{sensitive}={value}"
                bad.append((-share, witness(shown(quasi, row), rows, required, given, share)))
    return sure, bad
