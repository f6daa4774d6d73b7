"""Commands that set a sensitive column apart, or blur columns: groups, noise and swapping."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from setveil.cli.data_output import STDOUT
from setveil.cli.inputs import DelimiterOption, SeedOption
from setveil.cli.output import JsonOption, Progress, QuietOption
from setveil.cli.table_io import (
    DataArgument,
    ForceOption,
    OutOption,
    generator,
    read_input,
    tell,
    write_output,
)
from setveil.core.errors import ParameterError

SensitiveColumn = Annotated[
    str, typer.Option("--sensitive", metavar="COLUMN", help="The sensitive column.")
]
LOption = Annotated[
    int, typer.Option("--l", help="No value has more than one in l of a group's rows.")
]
ColumnsOption = Annotated[
    list[str], typer.Option("--column", metavar="COLUMN", help="Column to change; repeatable.")
]


def anatomize(
    *,
    data: DataArgument,
    out: OutOption,
    sensitive_out: Annotated[
        str,
        typer.Option("--sensitive-out", metavar="FILE", help="File for the groups' values."),
    ],
    sensitive: SensitiveColumn,
    l: LOption = 2,
    delimiter: DelimiterOption = None,
    seed: SeedOption = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Publish a sensitive column apart, joined by groups only.

    Example: setveil table anatomize people.csv --sensitive Disease --l 3 -o rows.csv
    --sensitive-out values.csv
    """
    from setveil.tabular import anatomize as run

    if out == sensitive_out or (
        STDOUT not in {out, sensitive_out} and Path(out).resolve() == Path(sensitive_out).resolve()
    ):
        raise ParameterError(f"both tables would go to {out}", fix="name two files")
    with Progress(quiet=quiet) as progress:
        frame = read_input(data, [out, sensitive_out], delimiter, force=force, json=json)
        progress("working")
        done = run(frame, sensitive=sensitive, l=l, rng=generator(seed))
    write_output(done.quasi, out)
    write_output(done.sensitive, sensitive_out)
    groups = int(done.sensitive["group"].n_unique())
    tell(
        {
            "file": out,
            "sensitive_file": sensitive_out,
            "method": "anatomize",
            "rows": len(done),
            "groups": groups,
            "promise": _in_groups(sensitive, l),
        },
        [
            f"{out}: {len(done):,} rows in {groups:,} groups by anatomize",
            f"{sensitive_out}: the values of {sensitive} in each group",
        ],
        json=json,
        streamed=STDOUT in {out, sensitive_out},
    )


def permute(
    *,
    data: DataArgument,
    out: OutOption,
    sensitive: SensitiveColumn,
    l: LOption = 2,
    spread: Annotated[
        float, typer.Option("--spread", help="Least range of a group's sensitive numbers.")
    ] = 0.0,
    delimiter: DelimiterOption = None,
    seed: SeedOption = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Shuffle a sensitive column within groups.

    Example: setveil table permute people.csv --sensitive Income --l 3 --spread 10000 -o public.csv
    """
    from setveil.tabular import permute as run

    with Progress(quiet=quiet) as progress:
        frame = read_input(data, [out], delimiter, force=force, json=json)
        progress("working")
        done = run(frame, sensitive=sensitive, l=l, spread=spread, rng=generator(seed))
    write_output(done.frame, out)
    groups = int(done.frame["group"].n_unique())
    wide = f", whose numbers are at least {spread:g} apart" if spread else ""
    tell(
        {
            "file": out,
            "method": "permute",
            "rows": len(done),
            "groups": groups,
            "promise": _in_groups(sensitive, l) + wide,
        },
        [f"{out}: {len(done):,} rows in {groups:,} groups by permute"],
        json=json,
        streamed=out == STDOUT,
    )


def noise(
    *,
    data: DataArgument,
    out: OutOption,
    column: ColumnsOption,
    share: Annotated[
        float,
        typer.Option("--share", help="Deviation of the noise, as a share of the column's."),
    ] = 1.0,
    distribution: Annotated[
        Literal["gaussian", "laplace", "uniform"],
        typer.Option("--distribution", help="What the noise is drawn from."),
    ] = "gaussian",
    delimiter: DelimiterOption = None,
    seed: SeedOption = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Add random numbers to columns; promises nothing.

    Example: setveil table noise people.csv --column Income --share 0.5 -o public.csv
    """
    from setveil.tabular import add_noise

    with Progress(quiet=quiet) as progress:
        frame = read_input(data, [out], delimiter, force=force, json=json)
        progress("working")
        done = add_noise(frame, column, share=share, distribution=distribution, rng=generator(seed))
    write_output(done.frame, out)
    said = ", ".join(f"{name} {deviation:.4g}" for name, deviation in done.deviations.items())
    tell(
        {
            "file": out,
            "method": "noise",
            "rows": len(done),
            "deviations": done.deviations,
            "promise": None,
        },
        [
            f"{out}: {len(done):,} rows by noise",
            f"standard deviation of the noise, which may be published: {said}",
        ],
        json=json,
        streamed=out == STDOUT,
    )


def swap(
    *,
    data: DataArgument,
    out: OutOption,
    column: ColumnsOption,
    share: Annotated[float, typer.Option("--share", help="Share of rows that take part.")] = 0.1,
    window: Annotated[
        float,
        typer.Option("--window", help="How far apart in rank two swapped values may be, 0 to 1."),
    ] = 1.0,
    delimiter: DelimiterOption = None,
    seed: SeedOption = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Exchange values of a column between rows; promises nothing.

    Example: setveil table swap people.csv --column Job --share 0.3 -o public.csv
    """
    from setveil.tabular import swap as run

    with Progress(quiet=quiet) as progress:
        frame = read_input(data, [out], delimiter, force=force, json=json)
        progress("working")
        done = run(frame, column, share=share, window=window, rng=generator(seed))
    write_output(done.frame, out)
    tell(
        {"file": out, "method": "swap", "rows": len(done), "moved": done.moved, "promise": None},
        [f"{out}: {len(done):,} rows by swap"],
        json=json,
        streamed=out == STDOUT,
    )


def _in_groups(sensitive: str, l: int) -> str:
    return f"no value of {sensitive} has more than one in {l} of a group's rows"
