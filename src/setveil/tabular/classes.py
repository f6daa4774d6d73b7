"""The classes of a table: rows that look alike in some columns, and what they hold in another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from setveil.core.errors import InputError, ParameterError
from setveil.core.params import in_json, text
from setveil.core.words import one_or_many, plural
from setveil.guarantee.base import Verdict, Witness
from setveil.io.frames import as_polars
from setveil.tabular.columns import exact_times, unsigned_zeros

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from setveil.core.table import Frame

    Counts = Mapping[object, int]

SHOWN = 20
"""How many witnesses a verdict carries at most."""

Row = tuple[object, ...]
Bad = tuple["Fraction | int", Witness]
"""A class or a value that breaks a promise, and how badly: the lowest number is the worst."""


def named_columns(name: str, given: object) -> tuple[str, ...]:
    """Return names of columns once each, in the order given, or say what is wrong with them.

    >>> named_columns("quasi", ["age", "zip", "age"])
    ('age', 'zip')
    >>> named_columns("quasi", [])
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: quasi names no columns. To fix: name at least one.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ParameterError(
            f"{name} is {given!r}", fix="give a list of names of columns, also for a single one"
        )
    names = tuple(dict.fromkeys(given))
    for column in names:
        if not isinstance(column, str):
            raise ParameterError(f"{name} holds {column!r}", fix="give names of columns as texts")
    if not names:
        raise ParameterError(f"{name} names no columns", fix="name at least one")
    return names


def sensitive_column(sensitive: object, quasi: Sequence[str], *, name: str = "sensitive") -> str:
    """Return the column that the parameter `name` is about; it is none of the known ones.

    >>> sensitive_column("disease", ["age"])
    'disease'
    """
    if not isinstance(sensitive, str) or not sensitive:
        raise ParameterError(f"{name} is {sensitive!r}", fix="name the column")
    if sensitive in quasi:
        raise ParameterError(
            f"{sensitive!r} is among the columns that are known", fix="name it in one place only"
        )
    return sensitive


def plain_columns(frame: Frame, columns: Sequence[str]) -> pl.DataFrame:
    """Return columns of a polars, pandas or pyarrow frame, none of which holds lists.

    >>> import polars as pl
    >>> plain_columns(pl.DataFrame({"age": [3], "job": ["cook"]}), ["job"]).columns
    ['job']
    """
    table = as_polars(frame, list(columns))
    for name, kind in table.schema.items():
        if kind.is_nested() or kind.is_object():
            raise InputError(
                f"the column {name!r} holds lists or objects",
                fix="check columns of single values; for one set-valued column there is "
                "relational-transaction anonymity",
            )
    return table


def exact_columns(frame: Frame, columns: Sequence[str]) -> pl.DataFrame:
    """Return columns whose cells are equal as Python objects exactly if they are in the frame.

    >>> import polars as pl
    >>> times = pl.Series("at", [1, 2]).cast(pl.Time)  # nanoseconds after midnight
    >>> exact_columns(pl.DataFrame([times]), ["at"]).rows()
    [('00:00:00.000000001',), ('00:00:00.000000002',)]
    """
    table = unsigned_zeros(plain_columns(frame, columns))
    return table.with_columns(exact_times(column) for column in table.iter_columns())


def class_sizes(frame: Frame, columns: Sequence[str]) -> dict[Row, int]:
    """Count the rows of each class; a missing value is like another missing one only.

    >>> import polars as pl
    >>> class_sizes(pl.DataFrame({"age": [30, 30, None]}), ["age"])
    {(30,): 2, (None,): 1}
    """
    table = exact_columns(frame, columns)
    counted = table.group_by(list(columns), maintain_order=True).len(name="\0rows")
    sizes: dict[Row, int] = {}
    for row in counted.iter_rows():
        known = plain_row(row[:-1])
        sizes[known] = sizes.get(known, 0) + row[-1]
    return sizes


def class_values(
    frame: Frame,
    columns: Sequence[str],
    sensitive: str,
) -> dict[Row, dict[object, int]]:
    """Count, in each class, the rows with each value of the sensitive column.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": [30, 30, 40], "ill": ["flu", "flu", "gout"]})
    >>> class_values(frame, ["age"], "ill")
    {(30,): {'flu': 2}, (40,): {'gout': 1}}
    """
    counts = class_sizes(frame, [*columns, sensitive])
    found: dict[Row, dict[object, int]] = {}
    for row, count in counts.items():
        if row[-1] is None:
            raise InputError(
                f"the column {sensitive!r} lacks values",
                fix="leave these rows out, or give what is missing a name",
            )
        found.setdefault(row[:-1], {})[row[-1]] = count
    return found


def plain_row(row: Row) -> Row:
    """Return a row whose parts are equal to themselves, as NaN is not.

    >>> plain_row((float("nan"), 3))
    ('NaN', 3)
    """
    return tuple("NaN" if value != value else value for value in row)  # noqa: PLR0124


def class_label(columns: Sequence[str], row: Row) -> tuple[str, ...]:
    """Return a class as a person reads it.

    >>> class_label(["age", "zip"], (30, None))
    ('age=30', 'zip=(missing)')
    """
    return tuple(
        f"{column}={'(missing)' if value is None else value}"
        for column, value in zip(columns, row, strict=True)
    )


def verdict_of(
    found: Mapping[Row, int | Counts],
    bad: Sequence[Bad],
    *,
    kept: str,
    broken: str,
    verbs: tuple[str, str] | None = ("is", "are"),
    count: int | None = None,
) -> Verdict:
    """Return the verdict on classes, given with their rows: what is bad, or that nothing is.

    `count` classes are bad, as many as there are entries in `bad` if not given; with the `verbs`,
    the reason begins with their number. Ties are broken by content, so that no verdict depends on
    the order of the rows.

    >>> verdict_of({}, [], kept="all is well", broken="").reason
    'there are no rows, so nothing is broken'
    """
    rows = sum(each if isinstance(each, int) else sum(each.values()) for each in found.values())
    if not bad:
        reason = kept if rows else "there are no rows, so nothing is broken"
        return Verdict(holds=True, exact=True, reason=reason, checked=rows)
    number = len(bad) if count is None else count
    worst = sorted(bad, key=lambda each: (each[0], each[1].items, each[1].consequent or ""))
    return Verdict(
        holds=False,
        exact=True,
        reason=f"{of_classes(number, len(found), *verbs)} {broken}" if verbs else broken,
        checked=rows,
        witnesses=tuple(each for _, each in worst[:SHOWN]),
    )


def of_classes(count: int, classes: int, one: str, more: str) -> str:
    """Return the beginning of a sentence about some classes.

    >>> of_classes(1, 3, "is", "are"), of_classes(1200, 2000, "is", "are")
    ('1 of 3 classes is', '1,200 of 2,000 classes are')
    """
    return f"{count:,} of {class_count(classes)} {one_or_many(count, one, more)}"


def class_count(classes: int) -> str:
    """Return a number of classes with its noun.

    >>> class_count(1), class_count(1200)
    ('1 class', '1,200 classes')
    """
    return plural(classes, "class", "classes")


# --- checks and their parameters ---


@dataclass(frozen=True, kw_only=True)
class Check:
    """A question with its parameters, which are declared as those of methods are."""

    def params(self) -> dict[str, Any]:
        """Return the parameters as JSON values."""
        values = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {
            name: list(value) if isinstance(value, tuple) else in_json(value)
            for name, value in values
        }


@dataclass(frozen=True, kw_only=True)
class ClassCheck(Check):
    """A question about the classes on some columns that somebody may know of a person."""

    quasi: tuple[str, ...] = text(doc="columns that somebody may know of a person")

    def __post_init__(self) -> None:
        object.__setattr__(self, "quasi", named_columns("quasi", self.quasi))

    @property
    def known(self) -> str:
        """The columns that somebody may know, in words."""
        return ", ".join(self.quasi)

    def witness(
        self,
        row: Row,
        support: int,
        required: str,
        consequent: str | None = None,
        confidence: Fraction | None = None,
    ) -> Witness:
        """Return a class that breaks the promise, with its number of rows."""
        return Witness(
            items=class_label(self.quasi, row),
            support=support,
            required=required,
            consequent=consequent,
            confidence=confidence,
        )


@dataclass(frozen=True, kw_only=True)
class SensitiveCheck(ClassCheck):
    """A question about what the classes tell of another column."""

    sensitive: str = text(doc="column that must not be inferred")

    def __post_init__(self) -> None:
        super().__post_init__()
        sensitive_column(self.sensitive, self.quasi)

    def value_witness(
        self, row: Row, counts: Counts, required: str, value: object = None
    ) -> Witness:
        """Return a class that breaks the promise, with the share of a value in it.

        It is the most frequent value, the first of equal ones, if none is given.
        """
        if value is None:
            most = max(counts.values())
            value = min((each for each in counts if counts[each] == most), key=str)
        rows = sum(counts.values())
        part = Fraction(counts[value], rows)
        return self.witness(row, rows, required, f"{self.sensitive}={value}", part)
