"""``setveil taxonomy build``: a tree for items that have none."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from setveil.cli.data_output import warn_of_formulas
from setveil.cli.inputs import MissingOption, must_be_free, tell_missing
from setveil.cli.output import JsonOption, Progress, QuietOption, emit, say
from setveil.cli.reading import Reading, reads_records
from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from setveil.core.missing_items import MissingReport
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy

STDOUT = "-"
FANOUT = 4
NAME_SUPPORT = 50
"""Ten times the usual k: what so many records hold is no secret of any of them."""

OutOption = Annotated[
    str, typer.Option("-o", "--out", metavar="OUT", help="File to write; - is standard output.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")]


@reads_records
def build(
    *,
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="File of records; - reads the standard input.")
    ],
    out: OutOption,
    source: Annotated[
        Literal["fanout", "wordnet", "embeddings"],
        typer.Option("--from", help="What the tree is built from."),
    ] = "fanout",
    fanout: Annotated[
        int | None,
        typer.Option("--fanout", min=2, help=f"Most children of a node; {FANOUT} if not given."),
    ] = None,
    wordnet: Annotated[
        str | None,
        typer.Option(
            "--wordnet",
            metavar="PLACE",
            help="Folder or .tar.gz of WordNet; looked for in the usual places if not given.",
        ),
    ] = None,
    heads: Annotated[
        bool,
        typer.Option("--heads", help="Put phrases that WordNet lacks below their head noun."),
    ] = False,
    vectors: Annotated[
        str | None,
        typer.Option("--vectors", metavar="FILE", help="Word vectors: GloVe, word2vec or .npz."),
    ] = None,
    name_support: Annotated[
        int | None,
        typer.Option(
            "--name-support",
            metavar="N",
            min=1,
            help=f"Records an item needs to name a group; {NAME_SUPPORT} if not given.",
        ),
    ] = None,
    never_name: Annotated[
        str | None,
        typer.Option("--never-name", metavar="FILE", help="Items that name no group, one a line."),
    ] = None,
    missing: MissingOption = "error",
    reading: Reading,
    force: ForceOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Build a tree over the items of a data file.

    fanout: joins neighbours in the alphabet, so it serves best where names that sort together
    belong together. wordnet: English nouns below their most frequent sense. embeddings: items
    with like word vectors are joined.

    Example: setveil taxonomy build visits.csv --fanout 4 -o tree.csv
    """
    given = {
        "--fanout": fanout,
        "--wordnet": wordnet,
        "--heads": heads or None,
        "--vectors": vectors,
        "--name-support": name_support,
        "--never-name": never_name,
        "--missing": missing if missing != "error" else None,
    }
    _must_fit(source, given)
    must_be_writable(out, force=force, json=json, inputs=[data, vectors, wordnet, never_name])
    with Progress(quiet=quiet) as progress:
        progress("reading")
        table = reading.read(data, quiet=quiet)
        progress("building")
        outside = None
        if source == "wordnet":
            tree, outside = _from_wordnet(
                table, wordnet, missing=missing, heads=heads, vectors=vectors, quiet=quiet
            )
        elif source == "embeddings":
            assert vectors is not None
            named = _nameable(table, name_support or NAME_SUPPORT, never_name)
            tree, outside = _from_vectors(
                table, vectors, fanout or FANOUT, named, missing, quiet=quiet
            )
        else:
            from setveil.core.taxonomy import Taxonomy

            tree = Taxonomy.balanced(table.vocabulary.names, fanout=fanout or FANOUT)
        if outside is not None:
            _tell_outside(outside, quiet=quiet)
        tree.write(out)
    tell_written(tree, out, quiet=quiet, json=json, outside=outside)


OPTIONS = {
    "fanout": {"--fanout"},
    "wordnet": {"--wordnet", "--heads", "--missing", "--vectors"},
    "embeddings": {"--vectors", "--fanout", "--name-support", "--never-name", "--missing"},
}


def _must_fit(source: str, given: dict[str, Any]) -> None:
    """Refuse options that would be passed over, and the absence of vectors."""
    for option, value in given.items():
        if value is not None and option not in OPTIONS[source]:
            raise ParameterError(
                f"{option} has no meaning for --from {source}",
                fix=f"leave it out; {source} takes {', '.join(sorted(OPTIONS[source]))}",
            )
    if source == "wordnet" and given["--vectors"] and given["--missing"] != "nearest":
        raise ParameterError(
            "--vectors has no meaning for --from wordnet without --missing nearest",
            fix="leave it out, or put unknown items beside similar ones with --missing nearest",
        )
    if source == "embeddings" and given["--vectors"] is None:
        raise ParameterError(
            "--from embeddings needs word vectors", fix="name their file by --vectors FILE"
        )


def _from_wordnet(
    table: "TransactionTable",
    place: str | None,
    *,
    missing: str,
    heads: bool,
    vectors: str | None,
    quiet: bool,
) -> tuple["Taxonomy", "MissingReport"]:
    from setveil.io.embeddings import Vectors
    from setveil.io.wordnet import WordNet, word_tree

    records = _records(table)
    tree, report = word_tree(
        records,
        WordNet.find(place),
        missing=missing,
        heads=heads,
        records=records,
        vectors=None if vectors is None else Vectors.read(vectors, terms=list(records)),
    )
    for sentence in report.sentences():
        say(sentence, quiet=quiet)
    return tree, report.missing


def _records(table: "TransactionTable") -> dict[str, int]:
    """Return how many records hold each item of the vocabulary."""
    return dict(zip(table.vocabulary.names, table.supports().tolist(), strict=True))


def _tell_outside(report: "MissingReport", *, quiet: bool) -> None:
    """Say what became of items that have no place of their own, and what follows from it."""
    tell_missing(report, quiet=quiet)
    if report.choice == "drop" and report.items:
        say(
            "The records still hold these items: give --missing drop to the commands that use "
            "this tree, too.",
            quiet=quiet,
        )


def _nameable(table: "TransactionTable", support: int, never: str | None) -> set[str]:
    """Return the items after which groups may be named: frequent ones, and not the listed."""
    import numpy as np

    from setveil.io.item_lists import read_items

    listed = set(read_items(never)) if never is not None else set()
    counts = np.bincount(table.items, minlength=table.n_items)
    names = table.vocabulary.names
    return {names[i] for i in np.flatnonzero(counts >= support).tolist()} - listed


def _from_vectors(
    table: "TransactionTable",
    file: str,
    fanout: int,
    named: Collection[str],
    missing: str,
    *,
    quiet: bool,
) -> tuple["Taxonomy", "MissingReport"]:
    from setveil.io.embeddings import Vectors, embedding_tree

    records = _records(table)
    names = list(records)
    vectors = Vectors.read(file, terms=names)
    unknown = len(names) - int(vectors.of(names)[1].sum())
    say(f"{len(names):,} items, with a vector: {len(names) - unknown:,}.", quiet=quiet)
    say(f"Groups may be named after {len(named):,} of them.", quiet=quiet)
    return embedding_tree(
        names, vectors, fanout=fanout, named=named, missing=missing, records=records
    )


def must_be_writable(
    out: str, *, force: bool, json: bool, inputs: Iterable[str | None] = ()
) -> None:
    """Refuse, before any work, a file that cannot be written, and two results on one stream."""
    if out != STDOUT:
        must_be_free(Path(out), force=force, inputs=inputs)
    elif json:
        raise ParameterError(
            "the tree and --json cannot both go to standard output", fix="name a file with -o"
        )


def tell_written(
    tree: "Taxonomy",
    out: str,
    *,
    quiet: bool,
    json: bool,
    outside: "MissingReport | None" = None,
) -> None:
    """Say how large the tree is that was written, and where."""
    warn_of_formulas(tree.names, out)
    if json:
        size = {"nodes": len(tree), "leaves": tree.n_leaves, "height": tree.height}
        emit({"file": out, **size, **({"missing": outside.as_dict()} if outside else {})})
    elif out != STDOUT:
        say(f"{tree!r} written to {out}", quiet=quiet)
