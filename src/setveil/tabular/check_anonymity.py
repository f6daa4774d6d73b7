"""Checks of tables that hide a person among others: in a class, or in a public table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from setveil.core.errors import InputError, ParameterError
from setveil.core.params import checked, count, share, text
from setveil.core.table import TransactionTable
from setveil.core.words import plural
from setveil.guarantee.base import Verdict, Witness
from setveil.guarantee.km_anonymity import KmAnonymity
from setveil.io.frames import as_polars
from setveil.tabular.classes import (
    Check,
    ClassCheck,
    class_count,
    class_label,
    class_sizes,
    exact_columns,
    named_columns,
    of_classes,
    plain_row,
    sensitive_column,
    verdict_of,
)
from setveil.tabular.columns import item_sets

if TYPE_CHECKING:
    from setveil.core.table import Frame
    from setveil.tabular.classes import Bad, Row


@checked
@dataclass(frozen=True, kw_only=True)
class KAnonymity(ClassCheck):
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

    k: int = count(5, doc="least number of rows of a class")

    def check(self, frame: Frame) -> Verdict:
        """Count equal rows; witnesses are the small classes, smallest first."""
        sizes = class_sizes(frame, self.quasi)
        bad = [
            (size, self.witness(row, size, f"at least {self.k} rows"))
            for row, size in sizes.items()
            if size < self.k
        ]
        least = min(sizes.values(), default=0)
        return verdict_of(
            sizes,
            bad,
            kept=f"the smallest of {class_count(len(sizes))} has {plural(least, 'row')}",
            broken=f"fewer than {plural(self.k, 'row')}, the smallest {least:,}",
            verbs=("has", "have"),
        )

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> KAnonymity(quasi=["age"], k=3).describe()
        'every row is like at least 2 others in age'
        """
        return f"every row is like at least {self.k - 1} others in {self.known}"


@checked
@dataclass(frozen=True, kw_only=True)
class XYAnonymity(Check):
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

    x: tuple[str, ...] = text(doc="columns that somebody may know")
    y: tuple[str, ...] = text(doc="columns whose different values are counted")
    k: int = count(5, doc="least number of different values")

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", named_columns("x", self.x))
        object.__setattr__(self, "y", named_columns("y", self.y))
        for column in self.y:
            sensitive_column(column, self.x)

    def check(self, frame: Frame) -> Verdict:
        """Count the different values on Y; witnesses are the classes with fewest."""
        found: dict[Row, dict[object, int]] = {}
        for row, rows in class_sizes(frame, [*self.x, *self.y]).items():
            found.setdefault(row[: len(self.x)], {})[row[len(self.x) :]] = rows
        required = f"at least {self.k} values of {self._y}"
        bad = [
            (
                len(values),
                Witness(items=class_label(self.x, row), support=len(values), required=required),
            )
            for row, values in found.items()
            if len(values) < self.k
        ]
        least = min(map(len, found.values()), default=0)
        return verdict_of(
            found,
            bad,
            kept=f"each of {class_count(len(found))} goes with at least {plural(least, 'value')} "
            f"of {self._y}",
            broken=f"with fewer than {plural(self.k, 'value')} of {self._y}, the worst with "
            f"{least:,}",
            verbs=("goes", "go"),
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


@checked
@dataclass(frozen=True, kw_only=True)
class DeltaPresence(ClassCheck):
    """Nobody can tell whether a person of a public table is in the release, up to two bounds.

    The public table lists everybody who might be in the release, in the same (generalized) terms:
    apply the release's generalization to it first. Of the b people of a class, a are in the
    release, so each of them is with the chance a / b, which must lie between `low` and `high`.

    Parameters
    ----------
    quasi
        The columns that both tables have.
    low
        Least chance, held as it is written; 0 if it does not matter who is known to be absent.
    high
        Greatest chance.

    Examples
    --------
    >>> import polars as pl
    >>> public = pl.DataFrame({"age": ["30-39"] * 4 + ["40-49"] * 2})
    >>> ill = pl.DataFrame({"age": ["30-39", "40-49", "40-49"]})
    >>> DeltaPresence(quasi=["age"], low=0, high=0.5).check(ill, public).reason
    '1 of 2 classes is outside 0 to 1/2, the farthest 1'

    Notes
    -----
    The classes of a release must not overlap, as those of a full-domain generalization do not.

    References
    ----------
    M. E. Nergiz, M. Atzori, C. Clifton: Hiding the presence of individuals from shared databases,
    SIGMOD 2007.
    """

    low: Fraction = share(Fraction(0), doc="least chance of being there")
    high: Fraction = share(Fraction(1, 2), doc="greatest chance of being there")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low > self.high:
            raise ParameterError(
                f"low is {self.low} and high is {self.high}", fix="use low of at most high"
            )

    def check(self, frame: Frame, public: Frame) -> Verdict:
        """Compare the classes of the release and the public table; witnesses: chances outside."""
        everybody = class_sizes(public, self.quasi)
        present = class_sizes(frame, self.quasi)
        for row, rows in present.items():
            if rows > everybody.get(row, 0):
                raise InputError(
                    f"the release has {plural(rows, 'row')} with "
                    f"{', '.join(class_label(self.quasi, row))}, the public table "
                    f"{everybody.get(row, 0):,}",
                    fix="the public table must list everybody, in the same terms as the release",
                )
        bad, outside = [], []
        for row, size in everybody.items():
            chance = Fraction(present.get(row, 0), size)
            off = max(self.low - chance, chance - self.high)
            if off > 0:
                required = f"a chance between {self.low} and {self.high}, not {chance}"
                bad.append((-off, self.witness(row, size, required, None, chance)))
                outside.append((off, chance))
        farthest = max(outside)[1] if outside else ""
        return verdict_of(
            everybody,
            bad,
            kept=f"in each of {class_count(len(everybody))} the chance to be there is between "
            f"{self.low} and {self.high}",
            broken=f"outside {self.low} to {self.high}, the farthest {farthest}",
        )

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> DeltaPresence(quasi=["age"], high=0.3).describe()
        'who is like somebody in age is in the release with a chance between 0 and 3/10'
        """
        return (
            f"who is like somebody in {self.known} is in the release with a chance "
            f"between {self.low} and {self.high}"
        )


@checked
@dataclass(frozen=True, kw_only=True)
class KKmAnonymity(ClassCheck):
    """Whoever knows the plain columns of a person and up to m items faces k rows.

    Every class on the plain columns has at least k rows, and within each class every set of at
    most m published items that occurs at all occurs in at least k rows. So nobody is singled out
    by the plain columns, by items, or by both together.

    Parameters
    ----------
    quasi
        The plain columns that somebody may know of a person.
    items
        The set-valued column: lists, or texts with ``|`` between the items.
    k
        Least number of rows.
    m
        Greatest number of items someone may know.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": ["30-39"] * 3, "visits": ["flu|cold", "flu|cold", "flu"]})
    >>> KKmAnonymity(quasi=["age"], items="visits", k=2, m=2).check(people).holds
    True
    >>> verdict = KKmAnonymity(quasi=["age"], items="visits", k=3, m=1).check(people)
    >>> verdict.reason
    'in 1 of 1 class a set of at most 1 item is rare, the rarest in 2 rows'
    >>> verdict.witnesses[0].items
    ('age=30-39', 'visits has cold')

    References
    ----------
    G. Poulis, G. Loukides, A. Gkoulalas-Divanis, S. Skiadopoulos: Anonymizing data with relational
    and transaction attributes, ECML PKDD 2013.
    """

    items: str = text(doc="the set-valued column")
    k: int = count(5, doc="least number of rows")
    m: int = count(2, doc="greatest number of items someone may know")

    def __post_init__(self) -> None:
        super().__post_init__()
        sensitive_column(self.items, self.quasi, name="items")

    def check(self, frame: Frame) -> Verdict:
        """Count rows of classes, and sets of items in each; witnesses: small classes, rare sets."""
        classes: dict[Row, list[tuple[str, ...]]] = {}
        plain = exact_columns(frame, self.quasi).iter_rows()
        sets = item_sets(as_polars(frame, [self.items])[self.items])
        for row, items in zip(plain, sets, strict=True):
            classes.setdefault(plain_row(row), []).append(items)
        small = [row for row, found in classes.items() if len(found) < self.k]
        bad: list[Bad] = [
            (-1, self.witness(row, len(classes[row]), f"at least {self.k} rows")) for row in small
        ]
        judge, rare, unsure = KmAnonymity(k=self.k, m=self.m), 0, 0
        for row, found in classes.items():
            verdict = judge.check(TransactionTable.from_rows(found))
            unsure += not verdict.exact
            rare += verdict.exact and not verdict.holds
            bad += [
                (each.support, self._rare(row, each)) for each in verdict.witnesses if verdict.exact
            ]
        if bad or not unsure:
            return verdict_of(
                {row: len(held) for row, held in classes.items()},
                bad,
                kept=f"each of {class_count(len(classes))} has at least {self.k} rows, "
                f"and no set of at most {plural(self.m, 'item')} is rare in one",
                broken=self._broken(len(classes), len(small), rare, bad),
                verbs=None,
            )
        reason = f"in {unsure:,} of {class_count(len(classes))} not all sets of items"
        return Verdict(
            holds=True, exact=False, reason=f"{reason} could be counted", checked=len(sets)
        )

    def _rare(self, row: Row, found: Witness) -> Witness:
        rare = self.witness(row, found.support, f"at least {self.k} rows")
        known = (f"{self.items} has {item}" for item in found.items)
        return replace(rare, items=(*rare.items, *known))

    def _broken(self, classes: int, small: int, rare: int, bad: list[Bad]) -> str:
        parts = []
        if small:
            parts.append(
                f"{of_classes(small, classes, 'has', 'have')} fewer than {plural(self.k, 'row')}"
            )
        if rare:
            least = min(int(support) for support, _ in bad if support >= 0)
            parts.append(
                f"in {rare:,} of {class_count(classes)} a set of at most {plural(self.m, 'item')} "
                f"is rare, the rarest in {plural(least, 'row')}"
            )
        return "; ".join(parts)

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> KKmAnonymity(quasi=["age"], items="visits", k=5, m=2).describe()
        'who knows age and up to 2 items of visits of a person faces at least 5 rows'
        """
        return (
            f"who knows {self.known} and up to {plural(self.m, 'item')} of {self.items} "
            f"of a person faces at least {plural(self.k, 'row')}"
        )
