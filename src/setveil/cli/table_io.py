"""What the commands for tables share: options, reading, and telling what was made."""

import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setveil.cli.data_output import STDOUT, warn_of_formulas
from setveil.cli.inputs import must_be_free, read_taxonomy
from setveil.cli.output import echo, emit
from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

WIDTHS = re.compile(r"\s*\d+(\.\d+)?\s*(,\s*\d+(\.\d+)?\s*)*")

DataArgument = Annotated[
    str, typer.Argument(metavar="DATA", help="Table with a header; - reads stdin.")
]
OutOption = Annotated[
    str, typer.Option("-o", "--out", metavar="OUT", help="File to write; - is stdout.")
]
QuasiOption = Annotated[
    list[str],
    typer.Option("--quasi", metavar="COLUMN", help="Column that people may know; repeatable."),
]
KOption = Annotated[int, typer.Option("--k", help="Least number of rows that look alike.")]
HierarchyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy",
        metavar="COLUMN=FILE|WIDTHS",
        help="Tree of a column, or widths of intervals such as Age=5,10; repeatable.",
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")]


def read_input(
    data: str,
    outs: Sequence[str],
    delimiter: str | None,
    *,
    force: bool,
    json: bool,
    inputs: Sequence[str] = (),
) -> "pl.DataFrame":
    """Refuse outputs that could not be written in the end, then read the table."""
    from setveil.tabular.files import read_frame

    for out in outs:
        if out != STDOUT:
            must_be_free(Path(out), force=force, inputs=[data, *inputs])
        elif json:
            raise ParameterError(
                "the table and --json cannot both go to standard output", fix="name a file with -o"
            )
    return read_frame(data, delimiter=delimiter)


def write_output(frame: "pl.DataFrame", out: str) -> None:
    """Write a table; the file appears whole or not at all."""
    import polars as pl

    from setveil.tabular.files import write_frame

    write_frame(frame, out)
    if not out.endswith((".parquet", ".jsonl", ".ndjson")):
        texts = [column.drop_nulls() for column in frame.select(pl.col(pl.String)).iter_columns()]
        warn_of_formulas(chain(frame.columns, *texts), out)


def named_hierarchy(text: str) -> tuple[str, str]:
    """Split COLUMN=FILE or COLUMN=WIDTHS.

    >>> named_hierarchy("Age=5,10")
    ('Age', '5,10')
    """
    widths = WIDTHS.fullmatch(text.rpartition("=")[2])
    column, found, tree = text.rpartition("=") if widths else text.partition("=")
    if not found or not column or not tree:
        raise ParameterError(
            f"--hierarchy is {text!r}", fix="write COLUMN=FILE or COLUMN=5,10,20 for intervals"
        )
    return column, tree


def column_tree(text: str, *, quiet: bool) -> Any:
    """Return intervals of these widths, or the tree in this file."""
    from setveil.tabular import Intervals

    if WIDTHS.fullmatch(text):
        return Intervals(
            *(float(width) if "." in width else int(width) for width in text.split(","))
        )
    return read_taxonomy(text, quiet=quiet)


def generator(seed: int | None) -> "np.random.Generator | None":
    """Return what draws at random with a seed; without one the operating system does."""
    import numpy as np

    return None if seed is None else np.random.default_rng(seed)


def tell(result: dict[str, Any], lines: Sequence[str], *, json: bool, streamed: bool) -> None:
    """Print what was made as JSON, or as lines, unless the table itself went to stdout."""
    if json:
        emit(result)
    elif not streamed:
        for line in lines:
            echo(line)
        echo(f"promise: {result['promise'] or 'none'}")
        if "checked" in result:
            echo(f"checked: {result['checked']}")
