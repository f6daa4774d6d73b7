"""Guarantees by name: as a person types them, and as a manifest keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from setveil.errors import ParameterError
from setveil.registry import find, params_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from setveil.guarantee.base import Guarantee


def parse(text: str) -> Guarantee:
    """Read a guarantee as typed on the command line: its name, then its parameters.

    >>> parse("k-anonymity:k=3")
    KAnonymity(k=3)
    >>> parse("k-anonymity:k=many")
    Traceback (most recent call last):
    setveil.errors.ParameterError: k-anonymity:k=many: 'many' is not a value for k. To fix: use int.
    """
    name, _, given = text.strip().partition(":")
    types = {param.name: param.type for param in params_of(find("guarantee", name).target)}
    values: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in given.split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key not in types or key in values:
            raise ParameterError(
                f"cannot read {part!r}",
                where=text,
                fix=f"write {name}:" + ",".join(f"{known}=..." for known in types),
            )
        try:
            values[key] = types[key](value)
        except ValueError:
            raise ParameterError(
                f"{value!r} is not a value for {key}",
                where=text,
                fix=f"use {types[key].__name__}",
            ) from None
    return from_manifest(name, values)


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
    try:
        guarantee: Guarantee = target(**params)
    except TypeError as error:
        raise ParameterError(f"the guarantee {name!r} lacks a parameter: {error}") from None
    return guarantee
