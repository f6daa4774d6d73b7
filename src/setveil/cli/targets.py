"""Whom an attack looks for, and what it is told about the items: read and drawn."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from setveil.cli.inputs import only_one_stdin, read_taxonomy, recall_missing, release_directory
from setveil.cli.sensitive import read_sensitive, whole_tree

if TYPE_CHECKING:
    import numpy as np

    from setveil.cli.reading import Reading

TargetsOption = Annotated[
    str | None,
    typer.Option(
        "--targets",
        metavar="DATA",
        help="The original data: whom to look for, and what is known of them, is drawn from it; "
        "- reads stdin.",
    ),
]
SecondOption = Annotated[
    str | None,
    typer.Option("--second", metavar="RELEASE", help="Another release of the same people."),
]


def about_people(
    method: Any,
    data: str,
    *,
    rng: "np.random.Generator",
    second: str | None,
    taxonomy: str | None,
    missing: str,
    parents: Literal["error", "first"],
    sensitive: str | None,
    sensitive_in_tree: str,
    variants: str,
    reading: "Reading",
    quiet: bool,
) -> dict[str, Any]:
    """Return what an attack on people is told: the targets, a second release, a tree."""
    from setveil.measure import draw_questions, draw_targets
    from setveil.release.store import load_release

    only_one_stdin(data, taxonomy)
    known: dict[str, Any] = {}
    if second is not None:
        known["second"] = load_release(release_directory(second))
    table = reading.read(data, quiet=quiet)
    secret: tuple[str, ...] = ()
    if sensitive is not None:
        secret = read_sensitive(sensitive, table, variants=variants, quiet=quiet)
    if taxonomy is not None:
        tree = read_taxonomy(taxonomy, parents=parents, quiet=quiet)
        known["taxonomy"], table, report = whole_tree(
            tree, table, secret, missing=missing, in_tree=sensitive_in_tree
        )
        recall_missing(report, quiet=quiet)
    drawing = {
        "m": method.m,
        "knowledge": method.knowledge,
        "sample": method.sample,
        "rng": rng,
    }
    if "sensitive" in method.requires:
        known["targets"] = draw_questions(table, sensitive=secret, **drawing)
    else:
        known["targets"] = draw_targets(table, **drawing)
    return known
