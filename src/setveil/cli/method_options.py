"""A method's parameters as options of its command."""

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from setveil.core.registry import Param


def option_for(param: "Param") -> inspect.Parameter:
    """Turn a method's parameter into an option: ``r: int | None`` becomes ``--r <int|none>``.

    Shares such as ρ are taken as they are written (0.7, 7/10), and a budget as 45, 90s or 30m.
    """
    annotation, default = param.type, param.default
    settings: dict[str, Any] = {"help": f"{param.doc[:1].upper()}{param.doc[1:]}."}
    members = [t for t in typing.get_args(annotation) if t is not types.NoneType]
    optional = typing.get_origin(annotation) is types.UnionType and len(members) == 1
    if optional:
        annotation = members[0]
    if param.choices:
        annotation = Literal[param.choices]
    elif annotation is Fraction:
        plain = param.required or default is None
        annotation, default = str, default if plain else str(in_json(default))
        parser = _or_none(as_share) if optional else as_share
        settings |= {"parser": parser, "metavar": "<number|none>" if optional else "<number>"}
    elif param.name == "budget":
        settings |= {"parser": _or_none(seconds), "metavar": "<45|90s|30m|none>"}
    elif optional:
        settings |= {"parser": _or_none(annotation), "metavar": f"<{annotation.__name__}|none>"}
    if optional and default is None:
        settings["show_default"] = "none"
    flag = f"--{param.name.replace('_', '-')}"
    if annotation is bool:
        flag = f"{flag}/--no-{flag.removeprefix('--')}"
    return inspect.Parameter(
        param.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if param.required else default,
        annotation=Annotated[annotation, typer.Option(flag, **settings)],
    )


def _or_none(kind: Callable[[str], Any]) -> Callable[[Any], Any]:
    """Return a parser for a value of this kind, or the word ``none``."""

    def parse(text: Any) -> Any:
        return None if str(text).lower() in {"none", "all"} else kind(text)

    return parse


def as_share(text: Any) -> str:
    """Return a fraction as it was written, so that a method can quote it.

    >>> as_share("7/10")
    '7/10'
    """
    from setveil.guarantee.thresholds import written_fraction

    if written_fraction(text) is None:
        raise typer.BadParameter(f"{str(text)[:60]!r} is not a number such as 0.7 or 7/10")
    return str(text)


def seconds(text: Any) -> float:
    """Return a duration in seconds.

    >>> seconds("90s"), seconds("1.5m"), seconds("45")
    (90.0, 90.0, 45.0)
    """
    from setveil.core.quantities import DURATION_FORMS, parse_duration

    found = parse_duration(str(text))
    if found is None:
        raise typer.BadParameter(f"{str(text)[:60]!r} is not a duration: write {DURATION_FORMS}")
    return found


def in_json(value: Any) -> Any:
    """Return the value of a parameter as JSON holds it: a fraction as a number where it is one.

    >>> in_json(Fraction(1, 2)), in_json(Fraction(1, 3)), in_json(5)
    (0.5, '1/3', 5)
    """
    from setveil.guarantee.thresholds import share_as_json

    return share_as_json(value) if isinstance(value, Fraction) else value


def published_params(method: Any, names: typing.Iterable[str]) -> Mapping[str, Any]:
    """Return the parameters of a method as it holds them, ready for a manifest."""
    return {name: in_json(getattr(method, name)) for name in names}
