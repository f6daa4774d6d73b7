"""The options that say where a table of records goes, and the writing itself."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from setveil.cli.inputs import must_be_free
from setveil.cli.output import say
from setveil.core.errors import ParameterError
from setveil.core.words import is_formula, plural

if TYPE_CHECKING:
    from setveil.core.table import TransactionTable

STDOUT = "-"
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
    if out != STDOUT:
        must_be_free(Path(out), force=force, inputs=inputs)
    elif json:
        raise ParameterError(
            "the records and --json cannot both go to standard output", fix="name a file with -o"
        )


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
