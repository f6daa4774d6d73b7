"""Commands that make a table k-anonymous: five generalizations and three suppressions."""

from typing import TYPE_CHECKING, Any

import typer

from setveil.cli.data_output import STDOUT
from setveil.cli.inputs import DelimiterOption, SeedOption, only_one_stdin
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
    generator,
    named_hierarchy,
    read_input,
    tell,
    write_output,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from setveil.tabular.recoding import Partitioned


class _Asked:
    """What is asked of every scheme."""

    def __init__(
        self,
        data: str,
        out: str,
        quasi: list[str],
        k: int,
        delimiter: str | None,
        *,
        force: bool,
        quiet: bool,
        json: bool,
    ) -> None:
        self.data, self.out, self.quasi, self.k = data, out, quasi, k
        self.reading: dict[str, Any] = {"delimiter": delimiter, "force": force, "json": json}
        self.quiet, self.json = quiet, json

    def generalize(self, name: str, hierarchy: list[str] | None, **drawn: Any) -> None:
        """Read the table and the trees, and publish what the scheme makes of them."""
        trees = [named_hierarchy(text) for text in hierarchy or []]
        files = [text for _, text in trees if not WIDTHS.fullmatch(text)]
        only_one_stdin(self.data, *files)
        with Progress(quiet=self.quiet) as progress:
            frame = read_input(self.data, [self.out], inputs=files, **self.reading)
            hierarchies = {column: column_tree(text, quiet=self.quiet) for column, text in trees}
            progress("generalizing")
            done = self._scheme(name)(
                frame, quasi=self.quasi, k=self.k, hierarchies=hierarchies, **drawn
            )
        _finish(done, self.out, name, before=len(frame), json=self.json)

    def suppress(self, name: str, **drawn: Any) -> None:
        """Read the table, and publish what the scheme makes of it."""
        with Progress(quiet=self.quiet) as progress:
            frame = read_input(self.data, [self.out], **self.reading)
            progress("suppressing")
            done = self._scheme(name)(frame, quasi=self.quasi, k=self.k, **drawn)
        _finish(done, self.out, name, before=len(frame), json=self.json)

    def _scheme(self, name: str) -> Any:
        from setveil import tabular

        return getattr(tabular, name.replace("-", "_"))


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
        ask = _Asked(data, out, quasi, k, delimiter, force=force, quiet=quiet, json=json)
        ask.generalize(name, hierarchy)

    return _described(command, name, line)


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
        ask = _Asked(data, out, quasi, k, delimiter, force=force, quiet=quiet, json=json)
        ask.suppress(name)

    return _described(command, name, line)


def _described(command: "Callable[..., None]", name: str, line: str) -> "Callable[..., None]":
    command.__doc__ = f"""{line}

    Example: setveil table {name} people.csv --quasi Age --quasi Job --k 2 -o public.csv
    """
    return command


def _finish(done: "Partitioned", out: str, name: str, *, before: int, json: bool) -> None:
    """Check the table by itself, write it, and say what it promises."""
    from setveil.tabular.check_anonymity import KAnonymity
    from setveil.tabular.classes import many

    promise = KAnonymity(quasi=done.quasi, k=done.k)
    verdict = promise.check(done.frame)
    if not verdict.holds:
        say(f"setveil: nothing is written, as the table breaks its promise: {verdict.reason}")
        raise typer.Exit(VIOLATED)
    write_output(done.frame, out)
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
            f"{out}: {many(len(done), 'row')} in {many(classes, 'class', 'classes')} by {name}",
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
mondrian = _generalizing(
    "mondrian", "Cut the rows into classes; each shows the ranges of its values."
)
suppress_records = _suppressing(
    "suppress-records", "Leave out the rows that too few rows are like."
)
suppress_values = _suppressing("suppress-values", "Suppress values wherever they occur.")


def cell(
    *,
    data: DataArgument,
    out: OutOption,
    quasi: QuasiOption,
    k: KOption = 5,
    hierarchy: HierarchyOption = None,
    delimiter: DelimiterOption = None,
    seed: SeedOption = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Generalize a value in some rows and tell it in others.

    Which of equal rows are told is drawn at random.

    Example: setveil table cell people.csv --quasi Age --quasi Job --k 2 -o public.csv
    """
    ask = _Asked(data, out, quasi, k, delimiter, force=force, quiet=quiet, json=json)
    ask.generalize("cell", hierarchy, rng=generator(seed))


def suppress_cells(
    *,
    data: DataArgument,
    out: OutOption,
    quasi: QuasiOption,
    k: KOption = 5,
    delimiter: DelimiterOption = None,
    seed: SeedOption = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Suppress single cells.

    Which of equal rows are told is drawn at random.

    Example: setveil table suppress-cells people.csv --quasi Age --quasi Job --k 2 -o public.csv
    """
    ask = _Asked(data, out, quasi, k, delimiter, force=force, quiet=quiet, json=json)
    ask.suppress("suppress-cells", rng=generator(seed))
