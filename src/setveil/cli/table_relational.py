"""``setveil table relational-transaction``: tables with one set-valued column."""

from typing import Annotated, Any, Literal

import typer

from setveil.cli.inputs import DelimiterOption, only_one_stdin, read_taxonomy
from setveil.cli.output import (
    UNDECIDED,
    VIOLATED,
    JsonOption,
    Progress,
    QuietOption,
    compiling_announced,
    say,
)
from setveil.cli.table_io import (
    WIDTHS,
    DataArgument,
    ForceOption,
    HierarchyOption,
    KOption,
    OutOption,
    QuasiOption,
    column_tree,
    named_hierarchy,
    read_input,
    tell,
    write_output,
)

LISTS = (".parquet", ".jsonl", ".ndjson")
"""Endings of files that can hold lists; in others items are joined."""


def relational_transaction(
    *,
    data: DataArgument,
    out: OutOption,
    quasi: QuasiOption,
    items: Annotated[
        str,
        typer.Option(
            "--items", metavar="COLUMN", help="The set-valued column: lists, or a|b in one cell."
        ),
    ],
    k: KOption = 5,
    m: Annotated[int, typer.Option("--m", help="Greatest number of items someone may know.")] = 2,
    rows: Annotated[
        int | None,
        typer.Option("--rows", help="Least number of rows of a class; 4 times k if not given."),
    ] = None,
    taxonomy: Annotated[
        str | None, typer.Option("--taxonomy", metavar="FILE", help="Tree of the items.")
    ] = None,
    method: Annotated[
        Literal["hghs", "apriori-km"],
        typer.Option("--method", help="What is run on the items of each class."),
    ] = "hghs",
    hierarchy: HierarchyOption = None,
    delimiter: DelimiterOption = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Anonymize a table with a set-valued column: one promise for both parts.

    Mondrian on the plain columns, a method for items within each class. Afterwards the promise
    is checked from what is written only.

    Example: setveil table relational-transaction people.csv --quasi age --items visits -o out.csv
    """
    from setveil.tabular.relational_transaction import relational_transaction as run

    trees = [named_hierarchy(text) for text in hierarchy or []]
    files = [text for _, text in trees if not WIDTHS.fullmatch(text)]
    if taxonomy is not None:
        files.append(taxonomy)
    only_one_stdin(data, *files)
    with Progress(quiet=quiet) as progress, compiling_announced(quiet=quiet):
        frame = read_input(data, [out], delimiter, force=force, json=json, inputs=files)
        tree = None if taxonomy is None else read_taxonomy(taxonomy, quiet=quiet)
        done = run(
            frame,
            quasi=quasi,
            items=items,
            k=k,
            m=m,
            rows=rows,
            taxonomy=tree,
            hierarchies={column: column_tree(text, quiet=quiet) for column, text in trees},
            method=_method(method, k, m),
            progress=progress,
        )
        progress("checking")
        verdict = done.promise.check(done.frame)
    if not (verdict.holds and verdict.exact):
        say(f"setveil: nothing is written, as the promise was not found kept: {verdict.reason}")
        raise typer.Exit(UNDECIDED if verdict.holds else VIOLATED)
    write_output(done.frame if out.endswith(LISTS) else _flat(done.frame, items), out)
    counts = done.occurrences
    classes = int(done.classes.max()) + 1
    hidden = (
        f"items: {counts['original']:,}, {counts['suppressed']:,} of them suppressed, "
        f"{counts['generalized']:,} generalized"
    )
    tell(
        {
            "file": out,
            "method": "relational-transaction",
            "rows": len(done),
            "classes": classes,
            "occurrences": counts,
            "promise": done.promise.describe(),
            "checked": verdict.reason,
        },
        [
            f"{out}: {len(done):,} rows in {classes:,} classes, items by {method}",
            hidden,
        ],
        json=json,
        streamed=out == "-",
    )


def _method(name: str, k: int, m: int) -> Any:
    from setveil.core.registry import find

    return find("anonymizer", name).target(k=k, m=m)


def _flat(frame: Any, items: str) -> Any:
    """Return the table with the items of a row in one text, as a CSV file can hold them."""
    import polars as pl

    from setveil.tabular.columns import joined

    return frame.with_columns(pl.Series(items, joined(frame[items].to_list()), dtype=pl.String))
