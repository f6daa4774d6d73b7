"""The options that say how records are read, the reading itself, and the guard against identities.

A command that reads records has a parameter ``reading`` and is decorated with `reads_records`: it
then has all options below, and gets them as one value.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from setveil.cli.output import say
from setveil.core.errors import InputError, ParameterError

if TYPE_CHECKING:
    from setveil.core.table import TransactionTable
    from setveil.io.identifiers import Finding


def _option(flag: str, metavar: str | None, text: str) -> Any:
    return typer.Option(flag, help=text, metavar=metavar)


OPTIONS: dict[str, tuple[Any, Any]] = {
    "format": (str | None, _option(
        "--format", "FORMAT",
        "fimi, basket, long, wide, one-hot, jsonl or spmf; found out when not given.")),
    "layout": (str | None, _option(
        "--layout", "FILE", "How DATA is laid out, as `setveil inspect --save-layout` wrote it.")),
    "id": (str | None, _option(
        "--id", "COLUMN", "Column that tells which record a row belongs to.")),
    "item": (str | None, _option(
        "--item", "COLUMN", "Column (or JSON field) that holds the items.")),
    "items": (list[str] | None, _option(
        "--items", "COLUMNS",
        "Several columns with items, such as 'Dx*' or Dx1,Dx2; or one with several in a cell.")),
    "separator": (str | None, _option(
        "--separator", "TEXT", "What separates several items in a cell, such as ';'.")),
    "ignore": (list[str] | None, _option(
        "--ignore", "COLUMNS", "Columns to set aside.")),
    "header": (bool | None, _option(
        "--header/--no-header", None, "Whether the first row names the columns.")),
    "delimiter": (str | None, _option(
        "--delimiter", "TEXT", "What separates fields; also tab or space.")),
    "quote": (str | None, _option(
        "--quote", "NAME", "What surrounds fields: double, single or none.")),
    "encoding": (str | None, _option(
        "--encoding", "NAME", "How bytes become text, such as cp1252; found out when not given.")),
    "table": (str | None, _option(
        "--table", "NAME", "Table of a database, or sheet of a workbook.")),
    "query": (str | None, _option(
        "--query", "SQL", "Query of an SQLite database; it is only read.")),
    "normalize": (bool, _option(
        "--normalize", None,
        "Join items that differ only in case, spaces or punctuation at the end.")),
    "min_support": (int | None, _option(
        "--min-support", "N", "Leave out items that fewer than N records hold.")),
    "empty": (Literal["keep", "drop", "error"] | None, _option(
        "--empty", None, "What to do with records without items; keep by default.")),
    "on_error": (Literal["stop", "skip"], _option(
        "--on-error", None, "Stop at a malformed line of DATA, or skip and list it.")),
}  # fmt: skip
"""Each option's type and how it is written, in the order of the help."""
DEFAULTS: dict[str, Any] = dict.fromkeys(OPTIONS) | {"normalize": False, "on_error": "stop"}

AllowOption = Annotated[
    bool,
    typer.Option(
        "--allow-identifiers",
        help="Go on although items look like identities; for research, not for publishing.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How records are to be read.

    >>> Reading.of({"format": "long", "items": ["Dx1,Dx2"], "on_error": "skip"}).settings
    {'format': 'long', 'items': ['Dx1', 'Dx2'], 'on_error': 'skip'}

    `asked` has what was asked for as it was written, for the settings of an audit.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    asked: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Reading":
        """Return the reading that options, or settings of a file, ask for."""
        found: dict[str, Any] = {}
        asked: dict[str, Any] = {}
        for name in OPTIONS:
            value = given.get(name)
            if value is None or (name in DEFAULTS and value == DEFAULTS[name]):
                continue
            asked[name] = value
            if name in {"items", "ignore"}:
                parts = [value] if isinstance(value, str) else value
                value = [name for part in parts for name in map(str.strip, part.split(",")) if name]
                if not value:
                    raise ParameterError(
                        f"--{name} names no column", fix="name one, or leave it out"
                    )
            found[name] = value
        return cls(settings=found, asked=asked)

    def read(self, data: str, *, quiet: bool = False) -> "TransactionTable":
        """Read records, and say on stderr what was found out, set aside, merged and skipped."""
        from setveil.io.layout import Layout
        from setveil.io.readers import read

        settings = dict(self.settings)
        if isinstance(settings.get("layout"), Mapping):  # written out in audit.toml
            settings["layout"] = Layout.from_dict(settings["layout"])
        table = read(data, **settings)
        if table.reading is not None:
            for sentence in table.reading.sentences():
                say(sentence, quiet=quiet)
        return table


def reads_records(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all options of reading in place of its parameter ``reading``."""
    own = list(inspect.signature(command).parameters.values())
    place = next(i for i, parameter in enumerate(own) if parameter.name == "reading")
    options = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=DEFAULTS[name],
            annotation=Annotated[kind, option],
        )
        for name, (kind, option) in OPTIONS.items()
    ]
    taken = {parameter.name for parameter in own}
    options = [option for option in options if option.name not in taken]
    parameters = [*own[:place], *options, *own[place + 1 :]]
    names = [option.name for option in options]

    @wraps(command)
    def wrapped(*args: Any, **values: Any) -> None:
        given = {name: values.pop(name, DEFAULTS[name]) for name in names}
        command(*args, reading=Reading.of(given), **values)

    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    return wrapped


# --- the guard ----------------------------------------------------------------------------------


def refuse_identifiers(
    table: "TransactionTable", *, allowed: bool, where: str, quiet: bool = False
) -> None:
    """Stop before anything is published that looks like an identity.

    With `allowed` it is said, and not stopped.
    """
    from setveil.io.identifiers import Finding, are_people, find_identifiers, mask

    reading = table.reading
    found = find_identifiers(table, () if reading is None else reading.columns)
    if reading is not None and reading.detection is not None:
        known = {finding.column for finding in found}
        found += [
            Finding(
                column=name,
                kind="record numbers or names",
                reason="if nothing were said about the file, it would not be published",
                samples=tuple(mask(sample) for sample in samples),
                count=len(samples),
            )
            for name, samples in reading.detection.private
            if name not in known
        ]
    flags = [] if reading is None else reading.layout.names("one-hot")
    if are_people(flags):
        found.append(
            Finding(
                column=None,
                kind="person names",
                reason="the columns are called like people",
                samples=tuple(mask(name) for name in flags[:3]),
                count=len(flags),
            )
        )
    if not found:
        return
    lines = [identity_sentence(finding) for finding in found[:5]]
    if allowed:
        say(f"{where}: published all the same, as --allow-identifiers says:", quiet=quiet)
        for line in lines:
            say(line, quiet=quiet)
        return
    raise InputError(
        "what would be published looks like identities:",
        where=where,
        lines=lines,
        fix=_ways_on(found, "" if reading is None else reading.format),
    )


def identity_sentence(finding: "Finding") -> str:
    """Return what looks like an identity, where, why, and samples that give nothing away."""
    place = "Items" if finding.column is None else f"Column {finding.column!r}"
    return f"  {place}: {finding.kind} ({finding.reason}), such as {', '.join(finding.samples)}"


def _ways_on(found: "list[Finding]", form: str) -> str:
    if form in {"fimi", "spmf", "jsonl"}:
        return (
            "remove it from the file; where the first number of each line is the record's own, "
            "read it with --format basket --delimiter space --id 1; or, for research, go on with "
            "--allow-identifiers"
        )
    column = next((finding.column for finding in found if finding.column is not None), None)
    named = "COLUMN" if column is None else f"'{column}'" if " " in column else column
    if form == "basket":
        place = named.strip("'").removeprefix("field ")
        known = place if place.isdecimal() else "NUMBER"
        return (
            "remove it from the file, or read the file as a table (without --format basket); if a "
            f"field tells records apart, use it for that (--id {known}); or, for research, go on "
            "with --allow-identifiers"
        )
    return (
        f"leave it out of --items or set it aside (--ignore {named}), use it to tell records apart "
        f"(--id {named}), or, for research, go on with --allow-identifiers"
    )
