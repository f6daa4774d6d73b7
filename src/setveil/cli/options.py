"""Options that several commands share: what they read, where they write, what runs the work.

An option is declared once, where its value is used: ``size: int = option(10, "How many.", min=1)``
is ``--size`` of a command. A group of options is a class whose fields are declared in this way. A
command with a parameter of that class has all of them and gets them as one value. Commands are
decorated with :func:`expand_options`.
"""

import inspect
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from fractions import Fraction
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, dataclass_transform

import typer
from typer.core import TyperGroup

from setveil.cli.output import say
from setveil.core.errors import InputError, ParameterError, ReleaseError
from setveil.core.params import in_json
from setveil.core.words import is_formula, plural

if TYPE_CHECKING:
    from setveil.core.missing_items import MissingReport
    from setveil.core.params import Param
    from setveil.core.registry import Entry
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.engine.local import Engine
    from setveil.engine.spark import Spark


Group = TypeVar("Group")

STDIN = STDOUT = "-"
PLAIN: dict[str, Any] = {
    "rich_markup_mode": None,
    "add_completion": False,
    "pretty_exceptions_enable": False,
}
"""Settings of typer without rich's help texts, which double the time of `setveil --help`."""
MOST_WORKERS = 1000
"""More processes than any machine has use for."""
MISSING_HELP = (
    "Items that are not in the tree: refuse them, drop them from the records, put each beside the "
    "most similar item, or attach them to the root."
)

DelimiterOption = Annotated[
    str | None,
    typer.Option("--delimiter", metavar="TEXT", help="What separates fields; also tab or space."),
]
TaxonomyOption = Annotated[
    str | None, typer.Option("--taxonomy", metavar="FILE", help="Tree of the items.")
]
MissingOption = Annotated[
    Literal["error", "drop", "nearest", "attach-to-root"],
    typer.Option("--missing", help=MISSING_HELP),
]
ParentsOption = Annotated[
    Literal["error", "first"],
    typer.Option("--parents", help="What to do with a node that has several parents."),
]
SeedOption = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", min=0, help="Seed of what is drawn at random."),
]


@dataclass(frozen=True, kw_only=True, eq=False)
class Declared:
    """An option or argument: its default, and how typer is told about it."""

    default: Any
    kind: Callable[..., Any]
    names: tuple[str, ...]
    settings: dict[str, Any]

    def annotate(self, name: str, annotation: Any) -> Any:
        """Return the annotation that typer reads; an option is called like its parameter."""
        names = self.names or (f"--{name.replace('_', '-')}",)
        if self.kind is typer.Argument:
            names = ()
        return Annotated[annotation, self.kind(*names, **self.settings)]


def option(default: Any, text: str, *names: str, **settings: Any) -> Any:
    """Declare an option of a command or of a group of options.

    Parameters
    ----------
    default
        Its value where it is not given; ``...`` where it must be.
    text
        What the help says.
    names
        How it is written, where that is not the parameter's name.
    settings
        What typer takes: ``metavar``, ``min``, ``max`` and others.
    """
    return Declared(
        default=default, kind=typer.Option, names=names, settings={"help": text, **settings}
    )


def argument(metavar: str, text: str, *, default: Any = ...) -> Any:
    """Declare an argument of a command."""
    settings = {"metavar": metavar, "help": text}
    return Declared(default=default, kind=typer.Argument, names=(), settings=settings)


@dataclass_transform(kw_only_default=True, frozen_default=True)
def option_group(group: type[Group]) -> type[Group]:
    """Make a group of options of a class whose fields are declared by :func:`option`.

    >>> @option_group
    ... class Draw:
    ...     size: int = option(10, "How many.", min=1)
    >>> Draw(), Draw(size=3)
    (Draw(size=10), Draw(size=3))
    """
    for name, annotation in inspect.get_annotations(group).items():
        declared = vars(group).get(name)
        if isinstance(declared, Declared):
            group.__annotations__[name] = declared.annotate(name, annotation)
            if declared.default is ...:
                delattr(group, name)
            else:
                setattr(group, name, declared.default)
    return dataclass(frozen=True, kw_only=True)(group)


def expand_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let typer see the options that a command declares, and the fields of each of its groups.

    A field that the command declares itself as well is left to the command.

    >>> @option_group
    ... class Draw:
    ...     size: int
    ...     seed: int | None = None
    >>> @expand_options
    ... def sample(*, data: str, draw: Draw) -> None:
    ...     print(data, draw)
    >>> inspect.signature(sample)
    <Signature (*, data: str, size: int, seed: int | None = None)>
    >>> sample(data="visits.csv", size=3)
    visits.csv Draw(size=3, seed=None)
    """
    own = list(inspect.signature(command).parameters.values())
    names = {parameter.name for parameter in own}
    groups: dict[str, tuple[Any, list[str]]] = {}
    defaults: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in own:
        kind, declared = parameter.annotation, parameter.default
        if isinstance(kind, type) and is_dataclass(kind):
            options = [each for each in fields(kind) if each.name not in names]
            groups[parameter.name] = (kind, [each.name for each in options])
            parameters += [_keyword(each.name, each.default, each.type) for each in options]
        elif isinstance(declared, Declared):
            annotation = declared.annotate(parameter.name, kind)
            defaults[parameter.name] = declared.default
            parameters.append(_keyword(parameter.name, declared.default, annotation))
        else:
            parameters.append(parameter)

    @wraps(command)
    def expanded(*args: Any, **values: Any) -> None:
        values = defaults | values  # a method's command has some of the options only
        for name, (kind, members) in groups.items():
            given = {each: values.pop(each) for each in members if each in values}
            values[name] = kind(**given)
        command(*args, **values)

    # Required ones first, wherever their group stands.
    set_parameters(expanded, sorted(parameters, key=lambda each: each.default is not each.empty))
    return expanded


def _keyword(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    required = default is ... or default is MISSING
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if required else default,
        annotation=annotation,
    )


@option_group
class TreeOptions:
    """The tree of the items, and what to do with items and nodes that do not fit."""

    taxonomy: TaxonomyOption = None
    missing: MissingOption = "error"
    parents: ParentsOption = "error"


def set_parameters(command: Any, parameters: "list[inspect.Parameter]") -> None:
    """Let a command have these parameters, as typer sees it."""
    command.__signature__ = inspect.Signature(parameters)
    command.__annotations__ = {p.name: p.annotation for p in parameters}


def single_command(name: str, command: Callable[..., None], **settings: Any) -> Any:
    """Return a command as typer runs it, with a plain help: rich doubles the time it takes."""
    app = typer.Typer(**PLAIN)
    app.command(name, **settings)(command)
    return typer.main.get_command(app)


# --- what is read -------------------------------------------------------------------------------


def read_taxonomy(
    file: str, *, parents: Literal["error", "first"] = "error", quiet: bool = False
) -> "Taxonomy":
    """Read a tree and say on stderr what was guessed, added and dropped."""
    from setveil.io import taxonomy_files

    tree, report = taxonomy_files.read_taxonomy(file, parents=parents)
    for sentence in report.sentences():
        say(sentence, quiet=quiet)
    return tree


def only_one_stdin(*files: str | None) -> None:
    """Refuse to read two things from the one standard input."""
    if sum(file == STDIN for file in files) > 1:
        raise ParameterError("only one input can be -, the standard input", fix="name a file")


def must_be_free(
    path: Path,
    *,
    force: bool,
    inputs: Iterable[str | Path | None] = (),
) -> None:
    """Refuse, before any work, to write over something that is there or where nothing can be.

    `inputs` are the files and folders that the command reads: no file of theirs is replaced,
    whatever `force` says, and neither is a private key.

    >>> must_be_free(Path("nowhere/out"), force=False)
    Traceback (most recent call last):
    setveil.core.errors.ReleaseError: nowhere: there is no such directory. To fix: make it first.
    """
    where = str(path)
    must_have_directory(path)
    if not path.exists():
        return
    if path.is_dir():
        raise ReleaseError(
            "this is a directory, but a file will be written", where=where, fix="name another"
        )
    must_not_be_read(path, inputs)
    if not force:
        raise ReleaseError(
            "it exists already",
            where=where,
            fix="choose another name, or replace it with --force",
        )
    from setveil.release.store import is_key

    if is_key(path):
        raise ReleaseError(
            "this is a private key, without which nobody can measure its release",
            where=where,
            fix="name another file",
        )


def must_have_directory(path: Path) -> None:
    """Refuse a place in a directory that is not there."""
    if not path.parent.is_dir():
        raise ReleaseError(
            "there is no such directory", where=str(path.parent), fix="make it first"
        )


def must_not_be_read(path: Path, inputs: Iterable[str | Path | None]) -> None:
    """Refuse to replace a file that the command reads, alone or as one of a folder."""
    if any(_holds(given, path) for given in inputs):
        raise ReleaseError(
            "it would replace a file that this command reads",
            where=str(path),
            fix="name another file",
        )


def _holds(given: str | Path | None, path: Path) -> bool:
    """Tell whether an input is this file, or a folder that it lies in."""
    if given is None or str(given) == STDIN:
        return False
    place = path.resolve()
    return Path(given).resolve() in {place, *place.parents}


def release_directory(release: str) -> Path:
    """Return the directory of a release, or say what it should have been.

    Of a folder for recipients it is the one inside.
    """
    from setveil.release.public_folder import find_release

    path = Path(release)
    if not path.is_dir():
        what = "it is no directory" if path.exists() else "there is no such directory"
        raise InputError(
            what, where=release, fix="name the directory that `setveil anonymize -o` wrote"
        )
    return find_release(path)


def tell_missing(report: "MissingReport", *, k: int | None = None, quiet: bool) -> None:
    """Say what was done with items outside the tree, before a release is made with it."""
    for sentence in report.sentences():
        say(sentence, quiet=quiet)
    if warning := report.warning(k=k):
        say(warning)  # with --quiet too: it is a warning


def recall_missing(report: "MissingReport", *, quiet: bool) -> None:
    """Say in short what was done with items outside the tree of a release that was made before."""
    for sentence in report.sentences(limit=0):
        say(sentence, quiet=quiet)
    if report.choice == "drop" and report.items:
        say("All figures are about the records without these items.", quiet=quiet)


def note_added_leaves(given: "Taxonomy", used: "Taxonomy", *, quiet: bool) -> None:
    """Say what the leaf counts of a release tell, where items are no leaves of the given tree."""
    added = used.n_leaves - given.n_leaves
    if added > 0:
        say(
            f"Items that are categories of the tree, or not in it: the leaf counts of the release "
            f"grow by {added:,}, which tells those who have the tree that such items occur.",
            quiet=quiet,
        )


# --- what runs the work -------------------------------------------------------------------------

EngineOption = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="What runs the parts of the work: local, loopback, spark or spark://host:port.",
    ),
]
PlaceOption = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="Where the records are: local, spark or spark://host:port.",
    ),
]
KNOWN = "local, loopback, spark or spark://host:port"


def check_engine(name: str) -> None:
    """Refuse a name that is no engine, before any work.

    >>> check_engine("dask")
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: 'dask' is no engine. To fix: use local, loopback, spark or \
spark://host:port.
    """
    if name not in {"local", "loopback", "spark"} and not name.startswith("spark://"):
        raise ParameterError(f"{name!r} is no engine", fix=f"use {KNOWN}")


def check_place(name: str) -> None:
    """Refuse a name that is no place for whole pieces of work: loopback only runs a method's parts.

    >>> check_place("loopback")
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: 'loopback' is an engine of `setveil anonymize` only. \
To fix: use local, spark or spark://host:port.
    """
    check_engine(name)
    if name == "loopback":
        raise ParameterError(
            "'loopback' is an engine of `setveil anonymize` only",
            fix="use local, spark or spark://host:port",
        )


def find_engine(name: str, seed: int | None = None) -> "Engine":
    """Return the engine of this name; `seed` is that of loopback's random order."""
    check_engine(name)
    if name == "loopback":
        from setveil.engine import Loopback

        return Loopback(seed=seed or 0)
    from setveil.engine import Local

    return find_spark(name) or Local()


def find_spark(name: str) -> "Spark | None":
    """Return the Spark engine of this name, or None for another engine's name."""
    if not name.startswith("spark"):
        return None
    from setveil.engine.spark import Spark

    return Spark() if name == "spark" else Spark(master=name)


# --- what is written ----------------------------------------------------------------------------

CELLS = frozenset({"basket", "long", "one-hot"})
"""Formats whose text files people open in spreadsheets."""

OutDataOption = Annotated[
    str,
    typer.Option("-o", "--out", metavar="OUT", help="File of records to write; - is stdout."),
]
ToOption = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="FORMAT",
        help="Format of OUT, as for --format; by its ending when not given.",
    ),
]
ForceDataOption = Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")]


def check_output(
    out: str, what: str, *, force: bool, json: bool, inputs: Iterable[str | Path | None] = ()
) -> None:
    """Refuse, before any work, a file that cannot be written, and two results on one stream."""
    if out != STDOUT:
        must_be_free(Path(out), force=force, inputs=inputs)
    elif json:
        raise ParameterError(
            f"{what} and --json cannot both go to standard output", fix="name a file with -o"
        )


def must_be_writable(
    out: str,
    *,
    to: str | None,
    force: bool,
    json: bool,
    inputs: Iterable[str | None] = (),
) -> None:
    """Refuse, before any work, an output that could not be written in the end.

    >>> must_be_writable("-", to="jsonl", force=False, json=True)
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: the records and --json cannot both go to standard output. \
To fix: name a file with -o.
    """
    from setveil.io.writers import format_for

    format_for(out, to)
    check_output(out, "the records", force=force, json=json, inputs=inputs)


def write_table(table: "TransactionTable", out: str, *, to: str | None) -> None:
    """Write the records; the file appears whole or not at all."""
    from setveil.io.writers import format_for, write

    write(table, out, to)
    if format_for(out, to) in CELLS and ".parquet" not in Path(out).suffixes:
        warn_of_formulas(table.vocabulary.names, out)


def warn_of_formulas(texts: "Iterable[str]", out: str | Path) -> None:
    """Say, with --quiet too, which cells of a file of data a spreadsheet may run.

    Data is written as it is, so that it can be read again: nothing is put before such a cell.
    """
    from setveil.core.words import some

    found = list(dict.fromkeys(filter(is_formula, texts)))
    if found:
        one = len(found) == 1
        say(
            f"warning: {plural(len(found), 'name')} in {out} {'begins' if one else 'begin'} like a "
            f"formula: {some(found)}. A spreadsheet may run {'it' if one else 'them'}: import the "
            "columns as text, or write .jsonl or .parquet."
        )


def warn_of_published_formulas(folder: Path) -> None:
    """Say which terms of a folder for recipients a spreadsheet may run."""
    import polars as pl

    from setveil.release.export import TERMS

    terms = pl.read_csv(folder / f"{TERMS}.csv", infer_schema=False)["term"].drop_nulls()
    warn_of_formulas(terms.to_list(), folder / "data")


# --- groups of commands made from the registry: one command per method, with its own options ------


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


class CommandGroup(TyperGroup):
    """Commands that are imported or made when they are called; a subclass says which there are."""

    heading = "Commands"

    def summaries(self) -> dict[str, str]:
        """Return the line that describes each command, in the order of the help."""
        raise NotImplementedError

    def build(self, name: str) -> Any:
        """Return the command of this name as typer runs it."""
        raise NotImplementedError

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return list(self.summaries())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; typer's class of commands has no public name."""
        return self.build(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each command with the whole line that describes it."""
        with formatter.section(self.heading):
            formatter.write_dl(list(self.summaries().items()))


def group_of(
    kind: str, heading_of_group: str, command_for: "Callable[[Entry], Any]"
) -> type[CommandGroup]:
    """Return a group whose commands are the registered classes of a kind."""
    from setveil.core.registry import entries, find

    class Registered(CommandGroup):
        heading = heading_of_group

        def summaries(self) -> dict[str, str]:
            return {entry.name: entry.summary for entry in entries(kind)}

        def build(self, name: str) -> Any:
            return command_for(find(kind, name))

    return Registered


def command_app(
    name: str, group: type[CommandGroup], *, text: str, usage: str, noun: str = "a method"
) -> typer.Typer:
    """Return the command that a group of methods stands behind."""
    return typer.Typer(
        cls=group,
        help=text,
        no_args_is_help=True,
        subcommand_metavar=f"METHOD {usage} [OPTIONS]",
        rich_markup_mode=None,
        add_completion=False,
        epilog=f"`setveil {name} METHOD --help` shows {noun}'s own options.",
    )


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
