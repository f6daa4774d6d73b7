"""What a guarantee is: a question about a release, answered exactly and with witnesses.

And its name: as a person types it, and as a manifest keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, runtime_checkable

from setveil.core.errors import ParameterError
from setveil.core.notebook import ROWS, html_table
from setveil.core.params import (
    Rule,
    check_names,
    declare,
    params_of,
    read_values,
    split_spec,
)
from setveil.core.records import Parts, Records, Whole
from setveil.core.registry import find, name_of
from setveil.core.table import TransactionTable
from setveil.io.item_lists import read_items, read_itemsets

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from setveil.core.records import Rows, Shared
    from setveil.core.table import Vocabulary
    from setveil.release.base import Release

    Published: TypeAlias = Release | Records | Parts[Any]
    """A release, a table, or parts that are releases or tables of some records."""


MOST_WITNESSES = 20
"""How many witnesses a verdict carries."""


@dataclass(frozen=True, kw_only=True)
class Witness:
    """An itemset that breaks a guarantee, with its support and what was required of it.

    Where the itemset gives another item away, `consequent` is that item and `confidence` the
    share of the records with the itemset that hold it.
    """

    items: tuple[str, ...]
    support: int
    required: str
    consequent: str | None = None
    confidence: Fraction | None = None


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The answer of a check.

    Parameters
    ----------
    holds
        Whether the guarantee holds.
    exact
        Whether the answer is certain; a bound on work makes it uncertain and `reason` says so.
    reason
        One sentence for a person.
    checked
        How many things were looked at (records, itemsets).
    witnesses
        What breaks the guarantee, worst first; a sample where there are many.
    """

    holds: bool
    exact: bool
    reason: str
    checked: int
    witnesses: tuple[Witness, ...] = ()

    def _repr_html_(self) -> str:
        says = "holds" if self.holds else "VIOLATED"
        rows = [
            [
                "{" + ", ".join(found.items) + "}",
                found.consequent or "",
                found.support,
                found.required,
            ]
            for found in self.witnesses[:ROWS]
        ]
        columns = ["itemset", "gives away", "records", "required"] if rows else []
        return html_table(
            f"{says}{'' if self.exact else ' (not certain)'}: {self.reason}", columns, rows
        )


@runtime_checkable
class Guarantee(Protocol):
    """A privacy model with its parameters.

    One that hides each person among a number of others has that number as `group_size`.

    One of setveil's own also has a method ``unprotected(shown, longest)``: sentences for the owner
    about what the promise leaves open, given the original items that the release shows and the
    length of the longest published record; and ``by_hand()``: how recipients check the promise in
    the exported tables (:mod:`setveil.release.export`) without setveil. It looks at what is
    published part by part (:mod:`setveil.core.records`), and says so by ``in_parts = True``: only
    such a guarantee can be checked where the records are distributed.
    """

    def check(self, published: Release | TransactionTable) -> Verdict:
        """Decide whether `published` keeps the promise, from nothing but what is in it."""
        ...

    def describe(self) -> str:
        """Return the promise in one plain sentence."""
        ...

    def params(self) -> dict[str, Any]:
        """Return the parameters as JSON values; they are published with the release."""
        ...


class CheckedInParts:
    """A guarantee that looks at one part of what is published after the other."""

    in_parts: ClassVar[bool] = True


class HidesAmongK(CheckedInParts):
    """A guarantee that hides each person among k."""

    k: int

    @property
    def group_size(self) -> int:
        """Return the number of people among whom each one is hidden."""
        return self.k


def parts_of(published: Published) -> Parts[Any]:
    """Return what is published in parts that are tables or releases; in memory it is one.

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu"]])
    >>> parts_of(table).sample is table
    True
    """
    if isinstance(published, Parts):
        return published
    if isinstance(published, TransactionTable):
        return Whole(published)
    if isinstance(published, Records):
        names = published.share(published.vocabulary)
        return published.parts.map(partial(_table_of, vocabulary=names))
    return published.parts_to_check()


def _table_of(rows: Rows, vocabulary: Shared[Vocabulary]) -> TransactionTable:
    """Return some records of a table as a table (by name: workers find it)."""
    return TransactionTable.unchecked(
        offsets=rows.offsets, items=rows.items, vocabulary=vocabulary.value
    )


def distinct_names(given: object) -> tuple[str, ...]:
    """Return item names sorted and once each.

    >>> distinct_names(["hiv", "flu", "hiv"])
    ('flu', 'hiv')
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ParameterError(
            f"sensitive is {given!r}", fix="give a list of item names, also for a single one"
        )
    names = set(given)
    for name in names:
        if not isinstance(name, str):
            raise ParameterError(f"sensitive holds {name!r}", fix="give item names as texts")
    return tuple(sorted(names))


# --- guarantees by name ---------------------------------------------------------------------------

BETWEEN, INSIDE, FROM_FILE = "|", "+", "@"
"""What stands between items or itemsets, between the items of an itemset, and before a file."""


@dataclass(frozen=True, kw_only=True)
class Items(Rule):
    """A list of items: with ``|`` between them, or ``@FILE`` with one of them per line.

    >>> Items().read("flu|HIV"), Items().read("")
    (('flu', 'HIV'), ())
    """

    @property
    def says(self) -> str:
        """The two ways to write one."""
        return "items with | between them, or @FILE with one item per line"

    def check(self, value: object) -> tuple[str, ...]:
        """Return the items sorted and once each."""
        return distinct_names(value)

    def read(self, text: str) -> tuple[Any, ...]:
        """Read the items, in their order."""
        if not text:
            return ()
        given = read_items(text[1:]) if text.startswith(FROM_FILE) else text.split(BETWEEN)
        parts = tuple(part.strip() for part in given)
        if not all(parts):
            raise ValueError(text)
        return parts


@dataclass(frozen=True, kw_only=True)
class Itemsets(Rule):
    """A list of itemsets: with ``|`` between them and ``+`` between their items, or ``@FILE``.

    >>> Itemsets().read("flu+HIV|gout")
    (('flu', 'HIV'), ('gout',))
    """

    @property
    def says(self) -> str:
        """The two ways to write one."""
        return (
            "itemsets with | between them and + between their items, or @FILE with one itemset "
            "per line"
        )

    def read(self, text: str) -> tuple[tuple[str, ...], ...]:
        """Read the itemsets, in their order."""
        if text.startswith(FROM_FILE):
            return read_itemsets(text[1:])
        parts = Items().read(text)
        return tuple(Items().read(part.replace(INSIDE, BETWEEN)) for part in parts)


def items(doc: str) -> Any:  # noqa: ANN401  (the field of a dataclass)
    """Declare a list of items; none by default."""
    return declare((), Items(doc=doc))


def parse(text: str) -> Guarantee:
    """Read a guarantee as typed on the command line: its name, then its parameters.

    Lists of items are written with ``|`` between the items, or as ``@FILE``, a file with one item
    per line; itemsets with ``+`` between their items. ``none`` stands for no limit where there
    may be none.

    >>> parse("k-anonymity:k=3")
    KAnonymity(k=3)
    >>> parse("rho-uncertainty:rho=0.7,sensitive=HIV|gout").params()
    {'rho': 0.7, 'sensitive': ['HIV', 'gout'], 'prior': True}
    >>> parse("k-anonymity:k=many")
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: k-anonymity:k=many: 'many' is not a value for k. To fix: \
use a whole number of at least 1.
    """
    spec = split_spec(text, hint="; names with commas go into a file, sensitive=@FILE")
    target = find("guarantee", spec.name).target
    return from_manifest(spec.name, read_values(target, spec, where=text))


def written(guarantee: Guarantee, *, shown: int | None = None) -> str:
    """Return a guarantee as :func:`parse` reads it; `shown` cuts lists to so many entries.

    >>> promise = parse("rho-uncertainty:rho=0.5,sensitive=a|b|c,prior=no")
    >>> written(promise)
    'rho-uncertainty:rho=0.5,sensitive=a|b|c,prior=false'
    >>> written(promise, shown=2)
    'rho-uncertainty:rho=0.5,sensitive=a|b|… (3),prior=false'
    """
    settings = ",".join(
        f"{name}={_text(value, shown)}" for name, value in guarantee.params().items()
    )
    return f"{name_of(type(guarantee))}:{settings}"


def _text(value: Any, shown: int | None) -> str:  # noqa: ANN401  (any value of JSON)
    if isinstance(value, list | tuple):
        parts = [
            INSIDE.join(part) if isinstance(part, list | tuple) else str(part) for part in value
        ]
        cut = shown is not None and len(parts) > shown
        return BETWEEN.join([*parts[:shown], *([f"… ({len(parts)})"] if cut else [])])
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def from_manifest(name: str, params: Mapping[str, Any]) -> Guarantee:
    """Rebuild a guarantee from its registered name and its published parameters.

    >>> from_manifest("k-anonymity", {"k": 4}).params()
    {'k': 4}
    """
    target = find("guarantee", name).target
    known = [param.name for param in params_of(target)]
    check_names(f"the guarantee {name!r}", params, known)
    missing = [p.name for p in params_of(target) if p.required and p.name not in params]
    if missing:
        raise ParameterError(
            f"the guarantee {name!r} lacks a parameter: {', '.join(missing)}",
            fix=f"write {name}:" + ",".join(f"{needed}=..." for needed in missing),
        )
    try:
        guarantee: Guarantee = target(**{key: _tuples(value) for key, value in params.items()})
    except TypeError:
        raise ParameterError(
            f"a parameter of the guarantee {name!r} is of the wrong kind",
            fix="; ".join(f"{p.name}: {p.says}" for p in params_of(target)),
        ) from None
    return guarantee


def _tuples(value: Any) -> Any:  # noqa: ANN401  (any value of JSON)
    """Return a list of JSON as the tuple it was."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
