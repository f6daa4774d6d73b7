"""Groups of commands made from the registry: one command per method, with its own options."""

import inspect
import types
import typing
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from setveil.cli.options import set_parameters, single_command
from setveil.core.params import in_json

if TYPE_CHECKING:
    from setveil.core.params import Param
    from setveil.core.registry import Entry


def option_for(param: "Param") -> inspect.Parameter:
    """Turn a method's parameter into an option: ``r: int | None`` becomes ``--r <int|none>``."""
    annotation, default = param.type, param.default
    settings: dict[str, Any] = {"help": f"{param.doc[:1].upper()}{param.doc[1:]}."}
    if param.optional:
        (annotation,) = (t for t in typing.get_args(annotation) if t is not types.NoneType)
        if default is None:
            settings["show_default"] = "none"
    if param.choices:
        annotation = Literal[param.choices]
    elif param.optional or annotation is Fraction:
        shown = param.rule.metavar or annotation.__name__
        settings |= {"parser": _parser(param), "metavar": f"<{shown}{'|none' * param.optional}>"}
    if annotation is Fraction:
        annotation = str
        default = default if param.required or default is None else str(in_json(default))
    flag = f"--{param.name.replace('_', '-')}"
    if annotation is bool:
        flag = f"{flag}/--no-{flag.removeprefix('--')}"
    return inspect.Parameter(
        param.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if param.required else default,
        annotation=Annotated[annotation, typer.Option(flag, **settings)],
    )


def _parser(param: "Param") -> Callable[[Any], Any]:
    """Return a parser for a value of a parameter, or the word ``none``."""

    def parse(value: Any) -> Any:
        try:
            return param.read(str(value))
        except ValueError:
            raise typer.BadParameter(f"{str(value)[:60]!r} is not {param.says}") from None

    return parse


def group_of(kind: str, heading: str, command_for: "Callable[[Entry], Any]") -> type[TyperGroup]:
    """Return a group whose commands are the registered classes of a kind."""

    class Registered(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:
            """Return the names of the methods."""
            from setveil.core.registry import entries

            del ctx
            return [entry.name for entry in entries(kind)]

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            """Build the command of a method; for an unknown one, say which there are."""
            from setveil.core.registry import find

            del ctx
            return command_for(find(kind, cmd_name))

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            """Write each method with the whole line that describes it."""
            from setveil.core.registry import entries

            del ctx
            with formatter.section(heading):
                formatter.write_dl([(each.name, each.summary) for each in entries(kind)])

    return Registered


def command_of(
    entry: "Entry",
    run: Callable[..., None],
    *,
    example: Callable[[str], str],
    without: frozenset[str] = frozenset(),
) -> Any:
    """Return the command of one method: its parameters as options, then those of `run`.

    Parameters
    ----------
    entry
        The method; its parameters become options.
    run
        Takes the entry, the method's parameters as a mapping, and the shared options as keywords.
    example
        Returns the line at the end of the help for the method's first option and its default.
    without
        Shared options that this method has no use for; `run` gets their defaults.
    """
    from setveil.core.params import params_of, usual_values

    own = [option_for(param) for param in params_of(entry.target)]
    given = inspect.signature(run).parameters.values()
    left_out = {"entry", "params", *without}
    shared = [parameter for parameter in given if parameter.name not in left_out]
    names = [parameter.name for parameter in own]

    def command(**values: Any) -> None:
        params = {name: values.pop(name) for name in names}
        run(entry, params, **values)

    arguments = [p for p in shared if p.default is p.empty]
    options = [p for p in shared if p.default is not p.empty]
    parameters = [*arguments, *own, *options]
    set_parameters(command, parameters)
    command.__doc__ = f"{entry.summary}\n\nPaper: {entry.paper}."
    shown = f" --{names[0].replace('_', '-')} {own[0].default}" if own else ""
    usual = usual_values(entry.target)
    shown += "".join(f" --{name.replace('_', '-')} {value}" for name, value in usual.items())
    return single_command(entry.name, command, epilog=example(shown))
