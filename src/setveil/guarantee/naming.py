"""Guarantees by name: as a person types them, and as a manifest keeps them."""

from __future__ import annotations

import types
import typing
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from setveil.core.errors import ParameterError
from setveil.core.params import params_of
from setveil.core.quantities import written_fraction
from setveil.core.registry import find, name_of
from setveil.io.item_lists import read_items, read_itemsets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from setveil.guarantee.base import Guarantee

BETWEEN, INSIDE, FROM_FILE = "|", "+", "@"
"""What stands between items or itemsets, between the items of an itemset, and before a file."""

WORDS: dict[str, bool] = {
    "true": True, "yes": True, "on": True, "1": True,
    "false": False, "no": False, "off": False, "0": False,
}  # fmt: skip

NAMES: tuple[str, ...] = (
    "items with | between them, or @FILE with one item per line",
    "itemsets with | between them and + between their items, or @FILE with one itemset per line",
)


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
use a whole number.
    """
    name, _, given = text.strip().partition(":")
    kinds = {param.name: param.type for param in params_of(find("guarantee", name).target)}
    values: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in given.split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key not in kinds or key in values:
            raise ParameterError(
                f"cannot read {part!r}",
                where=text,
                fix=f"write {name}:"
                + ",".join(f"{known}=..." for known in kinds)
                + "; names with commas go into a file, sensitive=@FILE",
            )
        try:
            values[key] = value_of(kinds[key], value)
        except (ValueError, ZeroDivisionError):
            raise ParameterError(
                f"{value!r} is not a value for {key}",
                where=text,
                fix=f"use {described(kinds[key])}",
            ) from None
    return from_manifest(name, values)


def value_of(kind: Any, text: str) -> Any:  # noqa: ANN401  (any type of a parameter)
    """Read the value of a parameter of this type from a text, or raise ValueError.

    A fraction stays the text it is, which guarantees take and can quote.

    >>> value_of(int | None, "none"), value_of(Fraction, "0.7"), value_of(bool, "yes")
    (None, '0.7', True)
    >>> value_of(tuple[tuple[str, ...], ...], "flu+HIV|gout"), value_of(tuple[str, ...], "")
    ((('flu', 'HIV'), ('gout',)), ())
    """
    members = typing.get_args(kind)
    if _is_optional(kind):
        (only,) = (member for member in members if member is not types.NoneType)
        return None if text.lower() == "none" else value_of(only, text)
    if typing.get_origin(kind) is tuple:
        return _listed(members[0], text)
    if kind is bool:
        if text.lower() not in WORDS:
            raise ValueError(text)
        return WORDS[text.lower()]
    if kind is Fraction:
        if written_fraction(text) is None:
            raise ValueError(text)
        return text
    return kind(text)


def _listed(kind: Any, text: str) -> tuple[Any, ...]:  # noqa: ANN401  (items, or itemsets)
    """Read a list of items, or of itemsets, from a text or from the file it names."""
    if not text:
        return ()
    if text.startswith(FROM_FILE) and typing.get_origin(kind) is tuple:
        return read_itemsets(text[1:])
    given = read_items(text[1:]) if text.startswith(FROM_FILE) else text.split(BETWEEN)
    parts = tuple(part.strip() for part in given)
    if not all(parts):
        raise ValueError(text)
    if typing.get_origin(kind) is not tuple:
        return parts
    return tuple(value_of(kind, part.replace(INSIDE, BETWEEN)) for part in parts)


def described(kind: Any) -> str:  # noqa: ANN401  (any type of a parameter)
    """Return what may be written for a parameter of this type, in words.

    >>> described(int), described(float | None)
    ('a whole number', 'a number, or none')
    """
    members = typing.get_args(kind)
    if _is_optional(kind):
        (only,) = (member for member in members if member is not types.NoneType)
        return f"{described(only)}, or none"
    if typing.get_origin(kind) is tuple:
        return NAMES[typing.get_origin(members[0]) is tuple]
    known = {int: "a whole number", float: "a number", bool: "true or false"}
    known[Fraction] = "a number such as 0.7 or 7/10"
    return known.get(kind, "a text")


def _is_optional(kind: Any) -> bool:  # noqa: ANN401
    members = typing.get_args(kind)
    union = typing.get_origin(kind) in {types.UnionType, typing.Union}
    return union and len(members) == 2 and types.NoneType in members


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
    wrong = sorted(set(params) - set(known))
    if wrong:
        raise ParameterError(
            f"the guarantee {name!r} has no parameter {', '.join(map(repr, wrong))}",
            fix=f"use {', '.join(known)}",
        )
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
            fix="; ".join(f"{p.name}: {described(p.type)}" for p in params_of(target)),
        ) from None
    return guarantee


def _tuples(value: Any) -> Any:  # noqa: ANN401  (any value of JSON)
    """Return a list of JSON as the tuple it was."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
