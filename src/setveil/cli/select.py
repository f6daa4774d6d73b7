"""``setveil select``: records chosen at random, or for a property of the table they make."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from setveil.cli.options import (
    STDOUT,
    ForceDataOption,
    OutDataOption,
    SeedOption,
    ToOption,
    expand_options,
    must_be_writable,
    only_one_stdin,
    write_table,
)
from setveil.cli.output import (
    JsonOption,
    Progress,
    QuietOption,
    announce_compiling,
    emit,
    print_table,
    say,
)
from setveil.cli.reading import Reading
from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np

    from setveil.core.table import TransactionTable


@expand_options
def select(
    *,
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="File of records; - reads the standard input.")
    ],
    size: Annotated[int, typer.Option("--size", metavar="N", min=1, help="How many records.")],
    out: OutDataOption,
    ttr: Annotated[
        float | None,
        typer.Option("--ttr", metavar="X", help="Type-token ratio to reach, in (0, 1]."),
    ] = None,
    length: Annotated[
        int | None,
        typer.Option("--length", metavar="N", min=1, help="Cut longer records to N random items."),
    ] = None,
    cell_density: Annotated[
        float | None,
        typer.Option("--cell-density", metavar="X", help="Cell density to reach, in (0, 1]."),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            "--groups", metavar="FILE", help="Items published as one, a line of items per group."
        ),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option("--tolerance", metavar="X", help="How far from the given value it may be."),
    ] = 0.01,
    to: ToOption = None,
    reading: Reading,
    seed: SeedOption = None,
    force: ForceDataOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Sample records at random, or to reach a given density or type-token ratio.

    --ttr asks for a type-token ratio: different items per occurrence of an item. --cell-density
    asks for a share of original cells in the generalized items that --groups lists. Without
    either the records are drawn at random. They are written in an order that depends on their
    content only. Exits with 2 and names the reachable range where no choice has the property.

    Example: setveil select visits.csv --ttr 0.4 --size 1000 -o chosen.csv
    """
    import numpy as np

    from setveil.measure.profile import ttr as ttr_of

    _only_what_belongs_together(ttr, length, cell_density, groups)
    only_one_stdin(data, groups)
    must_be_writable(out, to=to, force=force, json=json, inputs=[data, groups])
    with Progress(quiet=quiet) as progress:
        progress("reading")
        table = reading.read(data, quiet=quiet)
        chosen, figures = _chosen(
            table,
            ttr=ttr,
            cell_density=cell_density,
            groups=groups,
            size=size,
            length=length,
            tolerance=tolerance,
            rng=np.random.default_rng(seed),
            progress=progress,
            quiet=quiet,
        )
        progress("writing")
        write_table(chosen, out, to=to)
    result = {
        "file": out,
        "records": len(chosen),
        "items": chosen.n_items,
        "occurrences": len(chosen.items),
        "ttr": ttr_of(chosen),
        **figures,
    }
    if json:
        emit(result)
    elif out != STDOUT:
        _print(result)
    else:
        say(f"{len(chosen):,} records chosen", quiet=quiet)


def _only_what_belongs_together(
    ttr: float | None, length: int | None, cell_density: float | None, groups: str | None
) -> None:
    if ttr is not None and cell_density is not None:
        raise ParameterError(
            "--ttr and --cell-density cannot be given together", fix="leave one of them out"
        )
    if length is not None and ttr is None:
        raise ParameterError("--length is for --ttr", fix="add --ttr, or leave it out")
    if (cell_density is None) != (groups is None):
        raise ParameterError(
            "--cell-density and --groups go together",
            fix="give both: the density, and the file of items published as one",
        )


def _chosen(
    table: "TransactionTable",
    *,
    ttr: float | None,
    cell_density: float | None,
    groups: str | None,
    size: int,
    length: int | None,
    tolerance: float,
    rng: "np.random.Generator",
    progress: Progress,
    quiet: bool,
) -> tuple["TransactionTable", dict[str, Any]]:
    """Return the chosen records; the given value, the reached one, and that of a random sample."""
    from setveil.text.selection import at_random, with_cell_density, with_ttr

    nothing = {"cell_density": None, "wished": None, "at_random": None}
    if ttr is None and cell_density is None:
        return at_random(table, size=size, rng=rng), nothing
    with announce_compiling(quiet=quiet):
        if ttr is not None:
            found = with_ttr(
                table,
                ttr,
                size=size,
                length=length,
                tolerance=tolerance,
                rng=rng,
                progress=progress,
            )
            reached = {"wished": ttr, "at_random": found.at_random}
        else:
            assert cell_density is not None
            assert groups is not None
            listed = Reading().read(groups, quiet=quiet)
            found = with_cell_density(
                table,
                listed.to_rows(),
                cell_density,
                size=size,
                tolerance=tolerance,
                rng=rng,
                progress=progress,
            )
            reached = {
                "cell_density": found.value,
                "wished": cell_density,
                "at_random": found.at_random,
            }
    return found.table, {**nothing, **reached}


def _print(result: dict[str, Any]) -> None:
    rows = [
        ("records", f"{result['records']:,}"),
        ("different items", f"{result['items']:,}"),
        ("items over all records", f"{result['occurrences']:,}"),
        ("type-token ratio (ttr)", f"{result['ttr']:.4f}"),
    ]
    if result["cell_density"] is not None:
        rows.append(("cell density", f"{result['cell_density']:.4f}"))
    if result["at_random"] is not None:
        name = "ttr" if result["cell_density"] is None else "cell density"
        rows.append((f"{name} of as many at random", f"{result['at_random']:.4f}"))
    print_table(["figure", "value"], rows)
