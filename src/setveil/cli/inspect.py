"""``setveil inspect``: what a data file holds, and how easily it gives people away."""

from typing import TYPE_CHECKING, Annotated

import typer

from setveil.cli.inputs import (
    DelimiterOption,
    FormatOption,
    IdOption,
    ItemOption,
    OnErrorOption,
    SeedOption,
    read_table,
)
from setveil.cli.output import JsonOption, Progress, QuietOption, emit, print_table

if TYPE_CHECKING:
    from setveil.measure.profile import Profile


def inspect(
    *,
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="File of records; - reads the standard input.")
    ],
    m: Annotated[
        int, typer.Option("--m", min=0, help="Greatest number of items an adversary knows.")
    ] = 3,
    samples: Annotated[
        int, typer.Option("--samples", min=1, help="Draws where a share must be estimated.")
    ] = 1000,
    format: FormatOption = None,  # noqa: A002  (the option's name)
    delimiter: DelimiterOption = None,
    id: IdOption = None,  # noqa: A002
    item: ItemOption = None,
    on_error: OnErrorOption = "stop",
    seed: SeedOption = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Describe a data file and how easily its records are recognised.

    The shares of records that one, two, three known items single out are counted where that is
    cheap, and otherwise estimated with a 95% interval. Nothing is written.

    Example: setveil inspect visits.csv --m 2
    """
    import numpy as np

    from setveil.measure.profile import profile

    with Progress(quiet=quiet) as progress:
        progress("reading")
        table = read_table(
            data,
            format=format,
            delimiter=delimiter,
            id=id,
            item=item,
            on_error=on_error,
            quiet=quiet,
        )
        progress("counting")
        rng = None if seed is None else np.random.default_rng(seed)
        found = profile(table, m=m, samples=samples, rng=rng)
    if json:
        emit(found.as_dict())
    else:
        _print(found)


def _print(found: "Profile") -> None:
    median = int(found.length_median) if found.length_median % 1 == 0 else found.length_median
    lengths = f"{found.length_min:,} to {found.length_max:,}"
    top = [f"{item} ({records / found.records:.1%})" for item, records in found.top_items]
    print_table(
        ["figure", "value"],
        [
            ("records", f"{found.records:,}"),
            ("different items", f"{found.items:,}"),
            ("items over all records", f"{found.occurrences:,}"),
            ("items per record", f"{lengths}, median {median:,}, mean {found.length_mean:.2f}"),
            ("density", f"{found.density:.3%}"),
            ("type-token ratio (ttr)", f"{found.ttr:.4f}"),
            ("records without items", f"{found.empty_records:,}"),
            ("records that repeat another", f"{found.duplicate_records:,}"),
            ("items in a single record", f"{found.rare_items:,}"),
            ("most frequent items", ", ".join(top) or "none"),
        ],
    )
    said = found.sentences()
    if said:
        typer.echo()
    for sentence in said:
        typer.echo(sentence)
