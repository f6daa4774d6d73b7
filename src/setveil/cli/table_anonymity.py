"""Commands that make a table k-anonymous: five generalizations and three suppressions."""

from typing import TYPE_CHECKING, Any

import typer

from setveil.cli.data_output import STDOUT
from setveil.cli.inputs import DelimiterOption, only_one_stdin
from setveil.cli.output import VIOLATED, JsonOption, Progress, QuietOption, say
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
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from setveil.tabular.partitioned import Partitioned


def _generalizing(name: str, line: str) -> "Callable[..., None]":
    def command(
        *,
        data: DataArgument,
        out: OutOption,
        quasi: QuasiOption,
        k: KOption = 5,
        hierarchy: HierarchyOption = None,
        delimiter: DelimiterOption = None,
        force: ForceOption = False,
        quiet: QuietOption = False,
        json: JsonOption = False,
    ) -> None:
        from setveil import tabular

        trees = [named_hierarchy(text) for text in hierarchy or []]
        files = [text for _, text in trees if not WIDTHS.fullmatch(text)]
        only_one_stdin(data, *files)
        with Progress(quiet=quiet) as progress:
            frame = read_input(data, [out], delimiter, force=force, json=json, inputs=files)
            hierarchies = {column: column_tree(text, quiet=quiet) for column, text in trees}
            progress("generalizing")
            scheme: Any = getattr(tabular, name.replace("-", "_"))
            done = scheme(frame, quasi=quasi, k=k, hierarchies=hierarchies)
        _finish(done, out, name, before=len(frame), json=json)

    command.__doc__ = f"""{line}

    Example: setveil table {name} people.csv --quasi Age --quasi Job --k 2 -o public.csv
    """
    return command


def _suppressing(name: str, line: str) -> "Callable[..., None]":
    def command(
        *,
        data: DataArgument,
        out: OutOption,
        quasi: QuasiOption,
        k: KOption = 5,
        delimiter: DelimiterOption = None,
        force: ForceOption = False,
        quiet: QuietOption = False,
        json: JsonOption = False,
    ) -> None:
        from setveil import tabular

        with Progress(quiet=quiet) as progress:
            frame = read_input(data, [out], delimiter, force=force, json=json)
            progress("suppressing")
            scheme: Any = getattr(tabular, name.replace("-", "_"))
            done = scheme(frame, quasi=quasi, k=k)
        _finish(done, out, name, before=len(frame), json=json)

    command.__doc__ = f"""{line}

    Example: setveil table {name} people.csv --quasi Age --quasi Job --k 2 -o public.csv
    """
    return command


def _finish(done: "Partitioned", out: str, name: str, *, before: int, json: bool) -> None:
    """Check the table by itself, write it, and say what it promises."""
    from setveil.tabular.check_anonymity import KAnonymity
    from setveil.tabular.files import write_frame

    promise = KAnonymity(quasi=done.quasi, k=done.k)
    verdict = promise.check(done.frame)
    if not verdict.holds:
        say(f"setveil: nothing is written, as the table breaks its promise: {verdict.reason}")
        raise typer.Exit(VIOLATED)
    write_frame(done.frame, out)
    classes = len(set(done.classes.tolist()))
    tell(
        {
            "file": out,
            "method": name,
            "rows": len(done),
            "rows_before": before,
            "classes": classes,
            "promise": promise.describe(),
            "checked": verdict.reason,
            "notes": list(done.notes),
        },
        [
            f"{out}: {len(done):,} rows in {classes:,} classes by {name}",
            *(f"note: {note}" for note in done.notes),
        ],
        json=json,
        streamed=out == STDOUT,
    )


full_domain = _generalizing("full-domain", "Generalize all values of a column to the same level.")
subtree = _generalizing(
    "subtree", "Generalize along a cut: all children of a node are told, or none."
)
sibling = _generalizing("sibling", "Generalize some children of a node; it stands for the others.")
cell = _generalizing("cell", "Generalize a value in some rows and tell it in others.")
mondrian = _generalizing(
    "mondrian", "Cut the rows into classes; each shows the ranges of its values."
)
suppress_records = _suppressing(
    "suppress-records", "Leave out the rows that too few rows are like."
)
suppress_values = _suppressing("suppress-values", "Suppress values wherever they occur.")
suppress_cells = _suppressing("suppress-cells", "Suppress single cells.")
