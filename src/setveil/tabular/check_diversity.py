"""Checks of tables that bound what a class tells of the sensitive values of its rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import InputError, ParameterError
from setveil.core.params import checked, count, share, text
from setveil.core.taxonomy import Taxonomy  # noqa: TC001  (params_of reads annotations)
from setveil.core.words import plural
from setveil.guarantee.base import Verdict
from setveil.tabular.classes import (
    SensitiveCheck,
    class_count,
    class_values,
    plain_columns,
    verdict_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt
    import polars as pl

    from setveil.core.arrays import Int32Array
    from setveil.core.table import Frame
    from setveil.tabular.classes import Bad, Row

    Whole = npt.NDArray[Any]  # 64 bits, or Python's numbers where sums would overflow


@checked
@dataclass(frozen=True, kw_only=True)
class DistinctDiversity(SensitiveCheck):
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

    l: int = count(2, doc="least number of different values")

    def check(self, frame: Frame) -> Verdict:
        """Count the values of each class; witnesses are the classes with fewest."""
        found = class_values(frame, self.quasi, self.sensitive)
        required = f"at least {self.l} values of {self.sensitive}"
        bad = [
            (len(counts), self.value_witness(row, counts, f"{required}, not {len(counts)}"))
            for row, counts in found.items()
            if len(counts) < self.l
        ]
        least = min(map(len, found.values()), default=0)
        return verdict_of(
            found,
            bad,
            kept=f"each of {class_count(len(found))} holds at least {plural(least, 'value')} "
            f"of {self.sensitive}",
            broken=f"fewer than {plural(self.l, 'value')} of {self.sensitive}, the worst {least:,}",
            verbs=("holds", "hold"),
        )

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> DistinctDiversity(quasi=["job"], sensitive="ill", l=2).describe()
        'every class on job holds at least 2 values of ill'
        """
        return f"every class on {self.known} holds at least {self.l} values of {self.sensitive}"


@checked
@dataclass(frozen=True, kw_only=True)
class EntropyDiversity(SensitiveCheck):
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

    l: Fraction = share(
        Fraction(2), least=1, most=None, doc="equal values that are as hard to guess"
    )

    def check(self, frame: Frame) -> Verdict:
        """Compare the entropies; witnesses are the classes with least."""
        found = class_values(frame, self.quasi, self.sensitive)
        required = f"the entropy of {self.l} equal values"
        bad: list[Bad] = []
        open_classes = 0
        for row, counts in found.items():
            enough = entropy_reaches(list(counts.values()), self.l)
            open_classes += enough is None
            if enough is False:
                worth = perplexity(list(counts.values()))
                witness = self.value_witness(row, counts, f"{required}, not of {worth:.4g}")
                bad.append((Fraction(worth), witness))
        worst = min((perplexity(list(c.values())) for c in found.values()), default=0.0)
        verdict = verdict_of(
            found,
            bad,
            kept=f"each of {class_count(len(found))} has the entropy of at least {worst:.4g} "
            "equal values",
            broken=f"below {required}, the worst at that of {worst:.4g}",
        )
        if bad or not open_classes:
            return verdict
        return Verdict(
            holds=True,
            exact=False,
            reason=f"{class_count(open_classes)} cannot be told from {required} "
            "without numbers of millions of digits; the others reach it",
            checked=verdict.checked,
        )

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> EntropyDiversity(quasi=["job"], sensitive="ill", l=2).describe()
        'in every class on job the entropy of ill is at least that of 2 equal values'
        """
        return (
            f"in every class on {self.known} the entropy of {self.sensitive} is at "
            f"least that of {self.l} equal values"
        )


@checked
@dataclass(frozen=True, kw_only=True)
class RecursiveDiversity(SensitiveCheck):
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

    c: Fraction = share(Fraction(2), above=0, most=None, doc="how many times as frequent")
    l: int = count(2, doc="first of the counts added up")

    def check(self, frame: Frame) -> Verdict:
        """Compare the counts; witnesses are the most uneven classes."""
        found = class_values(frame, self.quasi, self.sensitive)
        bad: list[Bad] = []
        uneven: list[tuple[Fraction, int, int]] = []
        for row, counts in found.items():
            falling = sorted(counts.values(), reverse=True)
            most, rest = falling[0], sum(falling[self.l - 1 :])
            if most >= self.c * rest:
                uneven.append((Fraction(rest, most), most, rest))
                required = f"{most} below {self.c} times {rest}"
                bad.append((uneven[-1][0], self.value_witness(row, counts, required)))
        _, most, rest = min(uneven, default=(0, 0, 0))
        return verdict_of(
            found,
            bad,
            kept=f"in each of {class_count(len(found))} the most frequent value of "
            f"{self.sensitive} has fewer than {self.c} times the rows of all values but the "
            f"{self.l - 1} most frequent",
            broken=f"too uneven, the worst {most:,} against {self.c} times {rest:,}",
        )

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> RecursiveDiversity(quasi=["job"], sensitive="ill", c=2, l=3).describe()
        'in every class on job the values of ill are recursively (2,3)-diverse'
        """
        return (
            f"in every class on {self.known} the values of {self.sensitive} are "
            f"recursively ({self.c},{self.l})-diverse"
        )


MOST_BITS = 20_000_000
"""Longest whole number that is written out to decide between two almost equal entropies."""


def perplexity(counts: Sequence[int]) -> float:
    """Return how many equally frequent values have the same entropy.

    >>> perplexity([2, 2, 2]), perplexity([5])
    (3.0, 1.0)
    """
    total = sum(counts)
    worth = math.exp(math.fsum(c * (math.log(total) - math.log(c)) for c in counts) / total)
    return float(round(worth, 12))


def entropy_reaches(counts: Sequence[int], least: Fraction) -> bool | None:
    """Tell whether the entropy of counts is at least log `least`; None where nobody can tell.

    >>> from fractions import Fraction
    >>> entropy_reaches([1, 1, 1], Fraction(3)), entropy_reaches([2, 1, 1], Fraction(3))
    (True, False)
    """
    # n log n - Σ c log c against n log l does not change when all counts are divided.
    common = math.gcd(*counts)
    counts = [count // common for count in counts]
    total = sum(counts)
    logs = math.log(least.numerator) - math.log(least.denominator)
    difference = math.log(total) - math.fsum(c * math.log(c) for c in counts) / total - logs
    # Each logarithm is right to a few units in the last place.
    if abs(difference) > 1e-12 * (1 + math.log(total) + math.log(least.numerator)):
        return difference > 0
    longest = total * (max(total, least.numerator, least.denominator).bit_length())
    if longest > MOST_BITS:
        return None
    powers = math.prod(count**count for count in counts)
    return bool((total * least.denominator) ** total >= least.numerator**total * powers)


NAMED = 5
"""So many values that never occur are named; of more it is said that there are more."""


class _OfValues(SensitiveCheck):
    """A question about how sure a class is of one of some values; all if none are named."""

    values: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        given: object = self.values
        if isinstance(given, str | bytes) or not isinstance(given, Iterable):
            raise ParameterError(
                f"values is {given!r}", fix="give a list of values, also for a single one"
            )
        object.__setattr__(self, "values", tuple(map(str, given)))

    def sure_classes(
        self, found: Mapping[Row, Mapping[object, int]], most: Fraction
    ) -> tuple[set[Row], list[Bad], str]:
        """Return the classes in which a value has a share above `most`, witnesses, and a remark."""
        values, absent = _resolve_values(found, self.values)
        sure: set[Row] = set()
        bad: list[Bad] = []
        for row, counts in found.items():
            rows = sum(counts.values())
            for value, times in counts.items():
                part = Fraction(times, rows)
                if part > most and (values is None or value in values):
                    sure.add(row)
                    required = f"a share of at most {most}, not {part}"
                    bad.append((-part, self.value_witness(row, counts, required, value)))
        return sure, bad, absent


@checked
@dataclass(frozen=True, kw_only=True)
class AlphaKAnonymity(_OfValues):
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

    alpha: Fraction = share(Fraction(1, 2), doc="greatest share of a class with one value")
    k: int = count(5, doc="least number of rows of a class")
    values: tuple[str, ...] = text((), doc="sensitive values that are protected; all if none")

    def check(self, frame: Frame) -> Verdict:
        """Count rows and values; witnesses are small classes and values that are too frequent."""
        found = class_values(frame, self.quasi, self.sensitive)
        sizes = {row: sum(counts.values()) for row, counts in found.items()}
        small = {row for row, size in sizes.items() if size < self.k}
        sure, bad, absent = self.sure_classes(found, self.alpha)
        bad += [(-1, self.witness(row, sizes[row], f"at least {self.k} rows")) for row in small]
        parts = [f"{len(small):,} with fewer than {self.k} rows"] if small else []
        if sure:
            gives = "gives" if len(sure) == 1 else "give"
            parts.append(f"{len(sure):,} {gives} a value away with more than {self.alpha}")
        least = plural(min(sizes.values(), default=0), "row")
        return verdict_of(
            found,
            bad,
            count=len(small | sure),
            kept=f"each of {class_count(len(found))} has at least {least}, and no value a share "
            f"above {self.alpha}{absent}",
            broken=f"too small or too sure: {', '.join(parts)}{absent}",
        )

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> AlphaKAnonymity(quasi=["job"], sensitive="ill", k=2).describe()
        'every class on job has at least 2 rows and no value of ill a share above 1/2'
        """
        return (
            f"every class on {self.known} has at least {self.k} rows and no value of "
            f"{self.sensitive} a share above {self.alpha}"
        )


@checked
@dataclass(frozen=True, kw_only=True)
class ConfidenceBounding(_OfValues):
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

    h: Fraction = share(Fraction(1, 2), doc="greatest confidence")
    values: tuple[str, ...] = text((), doc="sensitive values that are protected; all if none")

    def check(self, frame: Frame) -> Verdict:
        """Compute the confidences; witnesses are the surest rules."""
        found = class_values(frame, self.quasi, self.sensitive)
        sure, bad, absent = self.sure_classes(found, self.h)
        worst = min(bad, key=lambda each: (each[0], each[1].items))[1] if bad else None
        which = f"{worst.consequent} with {worst.confidence}" if worst else ""
        return verdict_of(
            found,
            bad,
            count=len(sure),
            kept=f"no value of {self.sensitive} has a confidence above {self.h} in any of "
            f"{class_count(len(found))}{absent}",
            broken=f"a value of {self.sensitive} away, the worst {which}{absent}",
            verbs=("gives", "give"),
        )

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> ConfidenceBounding(quasi=["job"], sensitive="ill").describe()
        'no class on job gives a value of ill away with a confidence above 1/2'
        """
        return (
            f"no class on {self.known} gives a value of {self.sensitive} away with a "
            f"confidence above {self.h}"
        )


def _resolve_values(
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


DISTANCES = ("equal", "ordered", "hierarchical")
"""How far two sensitive values are apart, by name."""


@checked
@dataclass(frozen=True, kw_only=True)
class TCloseness(SensitiveCheck):
    """In every class the sensitive values are spread as in the whole table, up to t.

    The measure is the earth mover's distance: the least share of rows times the distance they
    must be moved to turn one distribution into the other. Distances of values are between 0 and
    1: ``"equal"``: 1 for different values; ``"ordered"``: |i - j| / (m - 1) for the i-th and j-th
    of m values of the table in order; ``"hierarchical"``: the height of their lowest common
    ancestor in a tree by the height of the tree. All are computed in whole numbers.

    Parameters
    ----------
    quasi
        The columns that somebody may know of a person.
    sensitive
        The column that must not be inferred.
    t
        Greatest distance, held as it is written.
    distance
        ``"equal"``, ``"ordered"`` or ``"hierarchical"``; if None: with a tree hierarchical, for
        numbers and times ordered, otherwise equal.
    taxonomy
        The tree of the values, for ``"hierarchical"``.

    Examples
    --------
    Salaries of 3 to 11 thousand, of which one class holds the three lowest:

    >>> import polars as pl
    >>> salaries = [3, 4, 5, 6, 11, 8, 7, 9, 10]
    >>> people = pl.DataFrame({"zip": ["476"] * 3 + ["479"] * 6, "pay": salaries})
    >>> verdict = TCloseness(quasi=["zip"], sensitive="pay", t=0.3).check(people)
    >>> verdict.reason
    '1 of 2 classes is farther than 3/10 from the whole table, the farthest 3/8'
    >>> TCloseness(quasi=["zip"], sensitive="pay", t="3/8").check(people).holds
    True

    Notes
    -----
    In an unbalanced tree the height of a node is that of its highest leaf, so distances only grow
    on the way up; moving within the lowest subtrees first is then cheapest.

    References
    ----------
    N. Li, T. Li, S. Venkatasubramanian: t-closeness: privacy beyond k-anonymity and l-diversity,
    ICDE 2007.
    """

    t: Fraction = share(Fraction(1, 5), doc="greatest distance, 0 to 1")
    distance: str | None = text(None, doc="equal, ordered or hierarchical; by the column if none")
    taxonomy: Taxonomy | None = text(None, doc="tree of the values")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.distance is not None and self.distance not in DISTANCES:
            raise ParameterError(
                f"distance is {self.distance!r}", fix=f"use one of {', '.join(DISTANCES)}"
            )
        if (self.distance == "hierarchical") != (self.taxonomy is not None) and (
            self.distance is not None
        ):
            raise ParameterError(
                f"distance is {self.distance!r}, {'with' if self.taxonomy else 'without'} a tree",
                fix="give a tree with the hierarchical distance, and only then",
            )

    def check(self, frame: Frame) -> Verdict:
        """Compute the distance of each class; witnesses are the farthest ones."""
        kind, table = self._choose_distance(frame)
        found = class_values(table, self.quasi, self.sensitive)
        whole: dict[object, int] = {}
        for counts in found.values():
            for value, times in counts.items():
                whole[value] = whole.get(value, 0) + times
        values, moved, stretch = self._ground(kind, list(whole))
        total = [whole[value] for value in values]
        n = sum(total)
        bad, farthest = [], Fraction(0)
        for row, counts in found.items():
            rows = sum(counts.values())
            own = [counts.get(value, 0) for value in values]
            # What the class has too much of each value, times n and the class's number of rows.
            much = _excess(own, n, total, rows, stretch)
            distance = moved(much) / (n * rows)
            farthest = max(farthest, distance)
            if distance > self.t:
                required = f"a distance of at most {self.t}, not {distance}"
                bad.append((-distance, self.witness(row, rows, required)))
        return verdict_of(
            found,
            bad,
            kept=f"none of {class_count(len(found))} is farther than {farthest} from the whole "
            "table",
            broken=f"farther than {self.t} from the whole table, the farthest {farthest}",
        )

    def _choose_distance(self, frame: Frame) -> tuple[str, pl.DataFrame]:
        """Return the distance, and the columns; times as numbers where their order counts."""
        table = plain_columns(frame, [*self.quasi, self.sensitive])
        column = table[self.sensitive]
        in_order = column.dtype.is_numeric() or column.dtype.is_temporal()
        distance = self.distance
        if distance is None:
            distance = "hierarchical" if self.taxonomy else "ordered" if in_order else "equal"
        if distance == "ordered":
            if not in_order or (column.dtype.is_float() and column.is_nan().any()):
                raise InputError(
                    f"the column {self.sensitive!r} holds no numbers, so its values have no order",
                    fix="use another distance, or convert the column",
                )
            if column.dtype.is_temporal():
                table = table.with_columns(column.to_physical())
        return distance, table

    def _ground(
        self, distance: str, values: list[Any]
    ) -> tuple[list[Any], Callable[[Whole], Fraction], int]:
        """Return the values in a fitting order, how an excess is moved, and how much that grows."""
        if distance == "equal":
            return sorted(values, key=str), _equal_distance, len(values)
        if distance == "ordered":
            return sorted(values), _ordered_distance, len(values)
        assert self.taxonomy is not None
        tree = self.taxonomy.for_items(list(map(str, values)))
        climb = _Climb(tree, tree.leaf_of(list(map(str, values))))
        return values, climb, len(values) + (tree.height + 1) ** 2

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> TCloseness(quasi=["zip"], sensitive="pay").describe()
        'in every class on zip the values of pay are spread as in the whole table, up to 1/5'
        """
        return (
            f"in every class on {self.known} the values of {self.sensitive} are spread "
            f"as in the whole table, up to {self.t}"
        )

    def params(self) -> dict[str, Any]:
        """Return the parameters as JSON values; of a tree only that there is one."""
        found = super().params()
        del found["taxonomy"]
        return found | {"distance": self.distance or ("hierarchical" if self.taxonomy else None)}


def _excess(own: list[int], n: int, total: list[int], rows: int, stretch: int) -> Whole:
    """Return own · n - total · rows, in 64 bits where no sum of them can overflow."""
    kind: type = np.int64 if n * rows * (stretch + 1) < 2**61 else object
    much: Whole = np.array(own, dtype=kind) * n - np.array(total, dtype=kind) * rows
    return much


def _equal_distance(much: Whole) -> Fraction:
    return Fraction(int(np.abs(much).sum()), 2)


def _ordered_distance(much: Whole) -> Fraction:
    return Fraction(int(np.abs(np.cumsum(much)).sum()), max(len(much) - 1, 1))


class _Climb:
    """Moves an excess within the lowest subtrees first: what is left over climbs on."""

    def __init__(self, tree: Taxonomy, leaves: Int32Array) -> None:
        self.leaves = leaves
        self.parents = tree.parents[1:]
        self.ends = tree.ends
        self.heights = np.zeros(len(tree), dtype=np.int64)
        for node in range(len(tree) - 1, 0, -1):
            above = int(tree.parents[node])
            self.heights[above] = max(self.heights[above], self.heights[node] + 1)

    def __call__(self, much: Whole) -> Fraction:
        at = np.zeros(len(self.heights), dtype=much.dtype)
        np.add.at(at, self.leaves, much)
        sums = np.concatenate([np.zeros(1, dtype=much.dtype), np.cumsum(at)])
        below = sums[self.ends] - sums[:-1]
        more, less = np.zeros_like(at), np.zeros_like(at)
        np.add.at(more, self.parents, np.maximum(below[1:], 0))
        np.add.at(less, self.parents, np.maximum(-below[1:], 0))
        moved = (np.minimum(more, less) * self.heights).sum()
        return Fraction(int(moved), max(int(self.heights[0]), 1))
