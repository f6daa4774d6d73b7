"""Values of JSON that may come from strangers: whether they are what annotations say."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

LARGEST = 2**63
"""Whole numbers, where one is asked for, are smaller than this: 64 bits hold them."""
LARGEST_OF_ANY = 2**128
"""Whole numbers anywhere are smaller than this; seeds are the largest that we write."""


def _is_whole(value: object) -> bool:
    return type(value) is int and -LARGEST < value < LARGEST


def _is_number(value: object) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def _is_plain(value: object) -> bool:
    """Tell whether this is any value of JSON, with numbers that can be written again."""
    if isinstance(value, dict):
        return all(isinstance(name, str) for name in value) and all(map(_is_plain, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if type(value) is int:
        return -LARGEST_OF_ANY < value < LARGEST_OF_ANY
    return value is None or isinstance(value, str | bool) or _is_number(value)


CHECKS: dict[Any, Callable[[object], bool]] = {
    Any: _is_plain,
    NoneType: lambda value: value is None,
    bool: lambda value: isinstance(value, bool),
    int: _is_whole,
    float: _is_number,
    str: lambda value: isinstance(value, str),
}


def fits(value: object, kind: Any) -> bool:  # noqa: ANN401  (an annotation)
    """Tell whether a value of JSON is of the kind that an annotation names.

    Tuples, named ones too, stand in JSON as lists, objects of a dataclass as objects with its
    fields; numbers are finite.

    >>> fits([["flu", 3]], list[tuple[str, int]]), fits([["flu", "3"]], list[tuple[str, int]])
    (True, False)
    >>> fits(float("nan"), float | None), fits(None, float | None)
    (False, True)
    """
    if kind in CHECKS:
        return CHECKS[kind](value)
    origin, parts = get_origin(kind), get_args(kind)
    if origin in {Union, UnionType}:
        return any(fits(value, part) for part in parts)
    return _fits_inside(value, kind, origin, parts)


def _fits_inside(value: object, kind: Any, origin: Any, parts: tuple[Any, ...]) -> bool:  # noqa: ANN401
    """Tell whether a list, or an object, and all that is in it are of a kind."""
    if origin is None and issubclass(kind, tuple):
        origin, parts = tuple, tuple(get_type_hints(kind).values())
    if isinstance(value, list | tuple) and origin in {list, tuple}:
        kinds = [parts[0]] * len(value) if origin is list or parts[-1] is Ellipsis else parts
        same = len(kinds) == len(value)
        return same and all(fits(each, part) for each, part in zip(value, kinds, strict=True))
    if not isinstance(value, dict) or origin in {list, tuple}:
        return False
    if origin in {dict, Mapping}:
        return all(isinstance(n, str) and fits(each, parts[1]) for n, each in value.items())
    return misfit(value, kind) is None


def misfit(content: Mapping[str, Any], kind: type, **closer: Any) -> str | None:
    """Return the first field of an object that is not as its dataclass or TypedDict says.

    Parameters
    ----------
    content
        The object as JSON has it.
    kind
        The class; a dataclass has no other fields than its own.
    closer
        What fields must be where that is more than their annotations say.

    Examples
    --------
    >>> @dataclasses.dataclass
    ... class Visit:
    ...     item: str
    ...     days: int = 0
    >>> misfit({"item": "flu"}, Visit), misfit({"item": "flu", "days": []}, Visit)
    (None, 'days')
    >>> misfit({"days": 1}, Visit), misfit({"item": "flu", "size": 1}, Visit)
    ('item', 'size')
    """
    hints, needed = _fields(kind)
    missing = next((name for name in needed if name not in content), None)
    if missing is not None:
        return missing
    for name, value in content.items():
        if name not in hints and not is_typeddict(kind):
            return name
        if not fits(value, closer.get(name, hints.get(name, Any))):
            return name
    return None


@cache
def _fields(kind: type) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the annotations of all fields, and the fields that must be there."""
    hints = get_type_hints(kind)
    if is_typeddict(kind):
        return hints, tuple(sorted(kind.__required_keys__))  # type: ignore[attr-defined]
    fields = dataclasses.fields(kind)
    needed = tuple(
        field.name
        for field in fields
        if field.default is field.default_factory is dataclasses.MISSING
    )
    return {field.name: hints[field.name] for field in fields}, needed
