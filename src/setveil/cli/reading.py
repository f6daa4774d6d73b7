"""The options that say how records are read, the reading itself, and the guard against identities.

A command that reads records has a parameter ``reading`` of the class :class:`Reading`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from setveil.cli.options import option
from setveil.cli.output import say
from setveil.core.errors import InputError, ParameterError

if TYPE_CHECKING:
    from setveil.core.table import TransactionTable
    from setveil.io.identifiers import Finding


AllowOption = Annotated[
    bool,
    typer.Option(
        "--allow-identifiers",
        help="Go on although items look like identities; for research, not for publishing.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How records are to be read: the options, in the order of the help.

    >>> reading = Reading(format="long", items=["Dx1,Dx2"], on_error="skip")
    >>> reading.given
    {'format': 'long', 'items': ['Dx1,Dx2'], 'on_error': 'skip'}
    >>> reading.settings["items"]
    ['Dx1', 'Dx2']
    """

    # fmt: off
    format: Annotated[str | None, option("--format", "FORMAT",
        "fimi, basket, long, wide, one-hot, jsonl or spmf; found out when not given.")] = None
    layout: Annotated[str | None, option("--layout", "FILE",
        "How DATA is laid out, as `setveil inspect --save-layout` wrote it.")] = None
    id: Annotated[str | None, option("--id", "COLUMN",
        "Column that tells which record a row belongs to.")] = None
    item: Annotated[str | None, option("--item", "COLUMN",
        "Column (or JSON field) that holds the items.")] = None
    items: Annotated[list[str] | None, option("--items", "COLUMNS",
        "Several columns with items, such as 'Dx*' or Dx1,Dx2; or one with several in a cell."
    )] = None
    separator: Annotated[str | None, option("--separator", "TEXT",
        "What separates several items in a cell, such as ';'.")] = None
    ignore: Annotated[list[str] | None, option("--ignore", "COLUMNS",
        "Columns to set aside.")] = None
    header: Annotated[bool | None, option("--header/--no-header", None,
        "Whether the first row names the columns.")] = None
    delimiter: Annotated[str | None, option("--delimiter", "TEXT",
        "What separates fields; also tab or space.")] = None
    quote: Annotated[str | None, option("--quote", "NAME",
        "What surrounds fields: double, single or none.")] = None
    encoding: Annotated[str | None, option("--encoding", "NAME",
        "How bytes become text, such as cp1252; found out when not given.")] = None
    table: Annotated[str | None, option("--table", "NAME",
        "Table of a database, or sheet of a workbook.")] = None
    query: Annotated[str | None, option("--query", "SQL",
        "Query of an SQLite database; it is only read.")] = None
    normalize: Annotated[bool, option("--normalize", None,
        "Join items that differ only in case, spaces or punctuation at the end.")] = False
    min_support: Annotated[int | None, option("--min-support", "N",
        "Leave out items that fewer than N records hold.")] = None
    empty: Annotated[Literal["keep", "drop", "error"] | None, option("--empty", None,
        "What to do with records without items; keep by default.")] = None
    on_error: Annotated[Literal["stop", "skip"], option("--on-error", None,
        "Stop at a malformed line of DATA, or skip and list it.")] = "stop"
    # fmt: on

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Reading":
        """Return the reading that settings of a file ask for."""
        known = {name: given[name] for name in READING if given.get(name) is not None}
        return cls(**known)

    @property
    def given(self) -> dict[str, Any]:
        """Return what differs from the defaults, as it was written."""
        values = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}
        return {name: value for name, (value, default) in values.items() if value != default}

    @property
    def settings(self) -> dict[str, Any]:
        """Return what is given as :func:`setveil.read` takes it: names of columns one by one."""
        found = self.given
        for name in {"items", "ignore"} & set(found):
            parts = [found[name]] if isinstance(found[name], str) else found[name]
            found[name] = [
                each for part in parts for each in map(str.strip, part.split(",")) if each
            ]
            if not found[name]:
                raise ParameterError(f"--{name} names no column", fix="name one, or leave it out")
        return found

    def read(self, data: str, *, quiet: bool = False) -> "TransactionTable":
        """Read records, and say on stderr what was found out, set aside, merged and skipped."""
        from setveil.io.layout import Layout
        from setveil.io.readers import read

        settings = self.settings
        if isinstance(settings.get("layout"), Mapping):  # written out in audit.toml
            settings["layout"] = Layout.from_dict(settings["layout"])
        table = read(data, **settings)
        if table.reading is not None:
            for sentence in table.reading.sentences():
                say(sentence, quiet=quiet)
        return table


READING = tuple(each.name for each in fields(Reading))
"""The options of reading."""


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
