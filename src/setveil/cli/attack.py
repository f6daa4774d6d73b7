"""``setveil attack METHOD``: a command for each registered attack, with its own options."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setveil.cli.inputs import (
    DelimiterOption,
    FormatOption,
    IdOption,
    ItemOption,
    OnErrorOption,
    SeedOption,
    must_be_free,
    read_table,
    release_directory,
)
from setveil.cli.method_options import published_params
from setveil.cli.output import JsonOption, Progress, QuietOption, compiling_announced, emit
from setveil.cli.registered import command_of, group_of
from setveil.errors import ParameterError

if TYPE_CHECKING:
    from setveil.registry import Entry

EXAMPLE = "Example: setveil attack {name} release{inputs} -o guess.json"
INPUTS = {"reference": " --reference other.csv"}
READING = frozenset({"reference", "format", "delimiter", "id", "item", "on_error"})
"""Options that are about reading a reference."""


def command_for(entry: "Entry") -> Any:
    """Return the command of one attack: its parameters, and what its adversary must know."""
    needed: frozenset[str] = getattr(entry.target, "requires", frozenset())
    inputs = "".join(text for name, text in INPUTS.items() if name in needed)
    return command_of(
        entry,
        run,
        example=lambda _: EXAMPLE.format(name=entry.name, inputs=inputs),
        without=frozenset() if "reference" in needed else READING,
    )


attack_app = typer.Typer(
    cls=group_of("attack", "Attacks", command_for),
    no_args_is_help=True,
    subcommand_metavar="METHOD RELEASE -o GUESS [OPTIONS]",
    rich_markup_mode=None,
    add_completion=False,
    epilog="`setveil attack METHOD --help` shows an attack's own options.",
)


@attack_app.callback()
def attack() -> None:
    """Try to learn from a release what it should not tell."""


def run(  # one parameter per option of the command line
    entry: "Entry",
    params: Mapping[str, Any],
    *,
    release: Annotated[
        str, typer.Argument(metavar="RELEASE", help="Directory that `setveil anonymize` wrote.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="GUESS", help="File for the guess.")],
    reference: Annotated[
        str | None,
        typer.Option(
            "--reference",
            metavar="DATA",
            help="Records like the originals that the adversary can read; - reads stdin.",
        ),
    ] = None,
    format: FormatOption = None,  # noqa: A002  (the option's name)
    delimiter: DelimiterOption = None,
    id: IdOption = None,  # noqa: A002
    item: ItemOption = None,
    on_error: OnErrorOption = "stop",
    seed: SeedOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace GUESS.")] = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Load what is attacked and what is known, attack, write the guess."""
    import numpy as np

    from setveil.attack import check_applies, save_guess
    from setveil.release.store import load_release

    directory = release_directory(release)
    must_be_free(out, force=force)
    method = entry.target(**params)
    if "reference" in method.requires and reference is None:
        raise ParameterError(
            f"{entry.name} compares with records that can be read, and none are given",
            fix="give them with --reference DATA",
        )
    with Progress(quiet=quiet) as progress, compiling_announced(quiet=quiet):
        progress("loading")
        published = load_release(directory)
        check_applies(entry.name, method.applies_to, published)
        knowledge: dict[str, Any] = {"rng": np.random.default_rng(seed)}
        if reference is not None:
            knowledge["reference"] = read_table(
                reference,
                format=format,
                delimiter=delimiter,
                id=id,
                item=item,
                on_error=on_error,
                quiet=quiet,
            )
        progress("attacking")
        guess = method.run(published, **knowledge)
        progress("writing")
        save_guess(guess, out)
    result = {
        "attack": entry.name,
        "params": published_params(method, params),
        "release": release,
        "guess": str(out),
    }
    if json:
        emit(result)
    else:
        typer.echo(f"{out}: what {entry.name} makes of {release}")
