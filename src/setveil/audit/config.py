"""``audit.toml``: all that an audit is told, in a file that can be kept and run again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from setveil.core.errors import InputError, ParameterError
from setveil.core.untrusted import read_settings
from setveil.core.words import DURATION_FORMS, SIZE_FORMS, parse_duration, parse_size

if TYPE_CHECKING:
    import os

FILES = ("data", "layout", "taxonomy", "sensitive", "workload")
"""Names of files, which are looked for beside the file that names them."""
KINDS: dict[str, tuple[type, ...]] = {
    "data": (str,),
    "layout": (str, dict),
    "format": (str,),
    "encoding": (str,),
    "delimiter": (str,),
    "quote": (str,),
    "header": (bool,),
    "id": (str,),
    "item": (str,),
    "items": (str, list),
    "separator": (str,),
    "ignore": (str, list),
    "table": (str,),
    "query": (str,),
    "normalize": (bool,),
    "min_support": (int,),
    "empty": (str,),
    "on_error": (str,),
    "taxonomy": (str,),
    "missing": (str,),
    "parents": (str,),
    "sensitive": (str, list),
    "sensitive_share": (int, float),
    "variants": (str,),
    "title": (str,),
    "description": (str,),
    "target": (int, float, dict),
    "max_loss": (int, float),
    "min_k": (int,),
    "methods": (list,),
    "attacks": (list,),
    "relatedness": (str, list),
    "known": (list,),
    "workload": (str,),
    "budget": (str, int, float),
    "memory": (str, int),
    "workers": (int,),
    "engine": (str,),
    "seed": (int,),
}
"""What may stand in the file, and of which kinds it may be."""


def read_config(file: str | os.PathLike[str]) -> dict[str, Any]:
    r"""Return what a file says; files that it names are looked for beside it.

    `budget` and `memory` become seconds and bytes; `relatedness` becomes a list.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "audit.toml")
    ...     _ = file.write_text('data = "visits.csv"\nbudget = "30m"\nrelatedness = "release"')
    ...     found = read_config(file)
    >>> Path(found["data"]).name, found["budget"], found["relatedness"]
    ('visits.csv', 1800.0, ['release'])
    """
    path = Path(file)
    where = str(path)
    try:
        found = read_settings(path)
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror or error}", where=where, fix="name a file"
        ) from None
    except ValueError as error:
        raise InputError(
            f"this is no TOML: {error}", where=where, fix="see docs/audit.md"
        ) from None
    _check(found, where)
    for name in FILES:
        if isinstance(found.get(name), str):
            found[name] = str(path.parent / found[name])
    if isinstance(found.get("relatedness"), str):
        found["relatedness"] = [found["relatedness"]]
    if "relatedness" in found:
        found["relatedness"] = [_beside(path.parent, spec) for spec in found["relatedness"]]
    try:
        return parse_limits(found)
    except ParameterError as error:
        raise InputError(error.what, where=where, fix=error.fix) from None


def parse_limits(settings: dict[str, Any], *, prefix: str = "") -> dict[str, Any]:
    """Return settings with `budget` and `memory` as seconds and bytes.

    >>> parse_limits({"budget": "30m", "memory": "2G", "target": 0.1})
    {'budget': 1800.0, 'memory': 2000000000, 'target': 0.1}
    """
    parsed = dict(settings)
    for name, parse, forms in (
        ("budget", parse_duration, DURATION_FORMS),
        ("memory", parse_size, SIZE_FORMS),
    ):
        if name in parsed:
            text = str(settings[name])
            parsed[name] = parse(text)
            if parsed[name] is None:
                raise ParameterError(f"{prefix}{name} is {text[:60]!r}", fix=f"write {forms}")
    return parsed


def _beside(folder: Path, spec: str) -> str:
    """Return a source of relatedness with its files looked for in a folder."""
    from setveil.relatedness.base import named_places

    for place in named_places(spec):
        spec = spec.replace(place, str(folder / place))
    return spec


def _check(found: dict[str, Any], where: str) -> None:
    unknown = sorted(set(found) - set(KINDS))
    if unknown:
        raise InputError(
            f"there is no setting {', '.join(map(repr, unknown))}",
            where=where,
            fix=f"use some of {', '.join(KINDS)}",
        )
    if "data" not in found:
        raise InputError("it names no data", where=where, fix='write data = "visits.csv"')
    for name, value in found.items():
        kinds = KINDS[name]
        good = isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
        if isinstance(value, list):
            inner = int if name == "known" else str
            good = good and all(type(each) is inner for each in value)
        if not good:
            lists = "a list of numbers" if name == "known" else "a list of texts"
            said = {
                "str": "a text",
                "list": lists,
                "int": "a number",
                "bool": "true or false",
                "dict": "a table",
            }
            words = [said[kind.__name__] for kind in kinds if kind.__name__ in said]
            raise InputError(
                f"{name} is {value!r}", where=where, fix=f"give it {' or '.join(words)}"
            )
