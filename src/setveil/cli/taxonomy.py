"""``setveil taxonomy build|check|export``: trees of items."""

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from setveil.cli.inputs import ParentsOption, only_one_stdin
from setveil.cli.output import (
    VIOLATED,
    JsonOption,
    Progress,
    QuietOption,
    echo,
    emit,
    print_table,
    say,
)
from setveil.cli.reading import Reading
from setveil.cli.taxonomy_build import (
    ForceOption,
    OutOption,
    build,
    must_be_writable,
    tell_written,
)
from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.io.taxonomy_files import TaxonomyReport

taxonomy_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)
taxonomy_app.command()(build)


@taxonomy_app.callback()
def taxonomy() -> None:
    """Build, check or convert a tree of items."""


FileArgument = Annotated[
    str, typer.Argument(metavar="FILE", help="File of a tree; - reads the standard input.")
]
TreeFormatOption = Annotated[
    Literal["edges", "paths", "nodes", "obo", "amnesia"] | None,
    typer.Option("--format", help="Format of FILE; guessed when not given."),
]
IdOption = Annotated[str | None, typer.Option("--id", help="Column of ids in a table of nodes.")]
NameOption = Annotated[
    str | None, typer.Option("--name", help="Column of names in a table of nodes.")
]
ParentOption = Annotated[
    str | None, typer.Option("--parent", help="Column of parents in a table of nodes.")
]
DelimiterOption = Annotated[
    str | None, typer.Option("--delimiter", help="What stands between columns; guessed.")
]
HeaderOption = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether line 1 names the columns.")
]


@taxonomy_app.command()
def check(
    *,
    file: FileArgument,
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="DATA", help="Records whose items must be in the tree."),
    ] = None,
    data_layout: Annotated[
        str | None,
        typer.Option(
            "--data-layout",
            metavar="FILE",
            help="How DATA is laid out, as `setveil inspect --save-layout` wrote it.",
        ),
    ] = None,
    format: TreeFormatOption = None,
    id: IdOption = None,
    name: NameOption = None,
    parent: ParentOption = None,
    parents: ParentsOption = "error",
    delimiter: DelimiterOption = None,
    header: HeaderOption = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Check a tree: its size, and the items it lacks.

    Says on stderr what had to be guessed and tidied up. Exits with 1 when items of the data are
    not in the tree.

    Example: setveil taxonomy check tree.csv --data visits.csv
    """
    only_one_stdin(file, data)
    with Progress(quiet=quiet) as progress:
        progress("reading")
        tree, report = _read(
            file,
            quiet=quiet,
            format=format,
            id=id,
            name=name,
            parent=parent,
            parents=parents,
            delimiter=delimiter,
            header=header,
        )
        facts = _facts(tree, report)
        if data is not None:
            table = Reading.of({"layout": data_layout}).read(data, quiet=quiet)
            missing = tree.missing(table.vocabulary.names)
            facts |= {"items": table.n_items, "items_missing": len(missing), "missing": missing}
            _tell_lack(table, missing, quiet=quiet)
    if json:
        emit(facts)
    else:
        _print(facts)
    if facts.get("items_missing"):
        raise typer.Exit(VIOLATED)


@taxonomy_app.command()
def export(
    *,
    file: FileArgument,
    out: OutOption,
    to: Annotated[
        Literal["arx", "edges"],
        typer.Option("--to", help="ARX's hierarchy, or child and parent, as setveil writes it."),
    ] = "arx",
    names: Annotated[
        bool, typer.Option("--names", help="Show nodes by name, not by id, in ARX's hierarchy.")
    ] = False,
    format: TreeFormatOption = None,
    id: IdOption = None,
    name: NameOption = None,
    parent: ParentOption = None,
    parents: ParentsOption = "error",
    delimiter: DelimiterOption = None,
    header: HeaderOption = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Write a tree as a hierarchy for ARX, or as a tidy list of edges.

    Example: setveil taxonomy export tree.csv -o hierarchy.csv
    """
    must_be_writable(out, force=force, json=json, inputs=[file])
    if names and to != "arx":
        raise ParameterError("--names is for ARX's hierarchy", fix="leave it out")
    with Progress(quiet=quiet) as progress:
        progress("reading")
        tree, _ = _read(
            file,
            quiet=quiet,
            format=format,
            id=id,
            name=name,
            parent=parent,
            parents=parents,
            delimiter=delimiter,
            header=header,
        )
        progress("writing")
        if to == "arx":
            tree.write_arx(out, names=names)
        else:
            tree.write(out)
    tell_written(tree, out, quiet=quiet, json=json)


def _read(file: str, *, quiet: bool, **options: Any) -> tuple["Taxonomy", "TaxonomyReport"]:
    from setveil.io.taxonomy_files import read_taxonomy

    if options["delimiter"] in {"\\t", "tab"}:  # what a shell can pass without effort
        options["delimiter"] = "\t"
    tree, report = read_taxonomy(file, **options)
    for sentence in report.sentences():
        say(sentence, quiet=quiet)
    return tree, report


def _tell_lack(table: "TransactionTable", missing: list[str], *, quiet: bool) -> None:
    """Say how much of the data the tree lacks, and what can be done."""
    if missing:
        supports = table.supports()
        held = sum(int(supports[table.vocabulary.number(item)]) for item in missing)
        say(
            f"{held:,} of {int(supports.sum()):,} occurrences are of items that are not in the "
            "tree. Add these to it; or give --missing nearest (each goes beside the most similar "
            "item) or --missing drop (records lose them) to the commands that use it.",
            quiet=quiet,
        )


def _facts(tree: "Taxonomy", report: "TaxonomyReport") -> dict[str, Any]:
    cuts = tree.number_of_cuts()
    return {
        "format": report.format,
        "nodes": len(tree),
        "leaves": tree.n_leaves,
        "height": tree.height,
        "number_of_cuts": scientific(cuts),
        "number_of_cuts_log10": math.log10(cuts),
        "tops_joined": len(report.tops),
        "several_parents": report.several_parents,
        "parents_dropped": len(report.dropped),
        "names_collapsed": len(report.collapsed),
    }


def _print(facts: dict[str, Any]) -> None:
    shown = [
        ("format", "format"),
        ("nodes", "nodes"),
        ("leaves", "leaves"),
        ("height", "height"),
        ("number of cuts", "number_of_cuts"),
        ("tops joined under a root", "tops_joined"),
        ("nodes with several parents", "several_parents"),
        ("names read as one node", "names_collapsed"),
        ("items of the data", "items"),
        ("items missing", "items_missing"),
    ]
    rows = [(words, facts[key]) for words, key in shown if key in facts]
    print_table(["figure", "value"], rows)
    for item in facts.get("missing", []):
        echo(f"missing: {item}")


def scientific(number: int) -> str:
    """Return a number of any size in scientific form; a small one as it is.

    >>> scientific(12345), scientific(2**100), scientific(10**5000)
    ('12345', '1.268e+30', '1.000e+5000')
    """
    if number < 10**6:
        return str(number)
    logarithm = math.log10(number)
    exponent = math.floor(logarithm)
    mantissa = f"{10 ** (logarithm - exponent):.3f}"
    if mantissa == "10.000":
        mantissa, exponent = "1.000", exponent + 1
    return f"{mantissa}e+{exponent}"
