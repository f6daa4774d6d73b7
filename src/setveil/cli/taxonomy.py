"""``setveil taxonomy build|check|export``: trees of items."""

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from setveil.cli.options import (
    STDOUT,
    ForceDataOption,
    MissingOption,
    ParentsOption,
    argument,
    check_output,
    expand_options,
    only_one_stdin,
    option,
    option_group,
    tell_missing,
    warn_of_formulas,
)
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
from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from setveil.core.missing_items import MissingReport
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.io.taxonomy_files import TaxonomyReport

FANOUT = 4
NAME_SUPPORT = 50
"""Ten times the usual k: what so many records hold is no secret of any of them."""

OutOption = Annotated[
    str, typer.Option("-o", "--out", metavar="OUT", help="File to write; - is standard output.")
]


TAKES = {
    "fanout": {"--fanout"},
    "wordnet": {"--wordnet", "--heads", "--missing", "--vectors"},
    "embeddings": {"--vectors", "--fanout", "--name-support", "--never-name", "--missing"},
}
"""The options that each kind of tree takes."""


@option_group
class TreeSource:
    """What a tree is built from, and how."""

    source: Literal["fanout", "wordnet", "embeddings"] = option(
        "fanout", "What the tree is built from.", "--from"
    )
    fanout: int | None = option(None, f"Most children of a node; {FANOUT} if not given.", min=2)
    wordnet: str | None = option(
        None,
        "Folder or .tar.gz of WordNet; looked for in the usual places if not given.",
        metavar="PLACE",
    )
    heads: bool = option(False, "Put phrases that WordNet lacks below their head noun.")
    vectors: str | None = option(None, "Word vectors: GloVe, word2vec or .npz.", metavar="FILE")
    name_support: int | None = option(
        None,
        f"Records an item needs to name a group; {NAME_SUPPORT} if not given.",
        metavar="N",
        min=1,
    )
    never_name: str | None = option(None, "Items that name no group, one a line.", metavar="FILE")
    missing: MissingOption = "error"

    def __post_init__(self) -> None:
        """Refuse options that would be passed over, and the absence of vectors."""
        source = self.source
        for each in fields(self):
            name = f"--{each.name.replace('_', '-')}"
            given = each.name != "source" and getattr(self, each.name) != each.default
            if given and name not in TAKES[source]:
                raise ParameterError(
                    f"{name} has no meaning for --from {source}",
                    fix=f"leave it out; {source} takes {', '.join(sorted(TAKES[source]))}",
                )
        if source == "wordnet" and self.vectors and self.missing != "nearest":
            raise ParameterError(
                "--vectors has no meaning for --from wordnet without --missing nearest",
                fix="leave it out, or put unknown items beside similar ones with --missing nearest",
            )
        if source == "embeddings" and self.vectors is None:
            raise ParameterError(
                "--from embeddings needs word vectors", fix="name their file by --vectors FILE"
            )

    def build(
        self, table: "TransactionTable", *, quiet: bool
    ) -> tuple["Taxonomy", "MissingReport | None"]:
        """Return the tree, and what became of items that have no place of their own in it."""
        from setveil.core.taxonomy import Taxonomy

        if self.source == "wordnet":
            return self._from_wordnet(table, quiet=quiet)
        if self.source == "embeddings":
            return self._from_vectors(table, quiet=quiet)
        return Taxonomy.balanced(table.vocabulary.names, fanout=self.fanout or FANOUT), None

    def _from_wordnet(
        self, table: "TransactionTable", *, quiet: bool
    ) -> tuple["Taxonomy", "MissingReport"]:
        from setveil.io.embeddings import Vectors
        from setveil.io.wordnet import WordNet, word_tree

        records = _records(table)
        vectors = self.vectors
        tree, report = word_tree(
            records,
            WordNet.find(self.wordnet),
            missing=self.missing,
            heads=self.heads,
            records=records,
            vectors=None if vectors is None else Vectors.read(vectors, terms=list(records)),
        )
        for sentence in report.sentences():
            say(sentence, quiet=quiet)
        return tree, report.missing

    def _from_vectors(
        self, table: "TransactionTable", *, quiet: bool
    ) -> tuple["Taxonomy", "MissingReport"]:
        from setveil.io.embeddings import Vectors, embedding_tree
        from setveil.io.item_lists import read_items

        assert self.vectors is not None
        records = _records(table)
        names = list(records)
        # Groups are named after frequent items, and not after the listed ones.
        listed = set() if self.never_name is None else set(read_items(self.never_name))
        support = self.name_support or NAME_SUPPORT
        named = {item for item, held in records.items() if held >= support} - listed
        vectors = Vectors.read(self.vectors, terms=names)
        known = int(vectors.of(names)[1].sum())
        say(f"{len(names):,} items, with a vector: {known:,}.", quiet=quiet)
        say(f"Groups may be named after {len(named):,} of them.", quiet=quiet)
        return embedding_tree(
            names,
            vectors,
            fanout=self.fanout or FANOUT,
            named=named,
            missing=self.missing,
            records=records,
        )


@expand_options
def build(
    *,
    data: str = argument("DATA", "File of records; - reads the standard input."),
    out: OutOption,
    tree_source: TreeSource,
    reading: Reading,
    force: ForceDataOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Build a tree over the items of a data file.

    fanout: joins neighbours in the alphabet, so it serves best where names that sort together
    belong together. wordnet: English nouns below their most frequent sense. embeddings: items
    with like word vectors are joined.

    Example: setveil taxonomy build visits.csv --fanout 4 -o tree.csv
    """
    inputs = [data, tree_source.vectors, tree_source.wordnet, tree_source.never_name]
    check_output(out, "the tree", force=force, json=json, inputs=inputs)
    with Progress(quiet=quiet) as progress:
        progress("reading")
        table = reading.read(data, quiet=quiet)
        progress("building")
        tree, outside = tree_source.build(table, quiet=quiet)
        if outside is not None:
            _tell_outside(outside, quiet=quiet)
        tree.write(out)
    report_written(tree, out, quiet=quiet, json=json, outside=outside)


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


def report_written(
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


taxonomy_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)
taxonomy_app.command()(build)


@taxonomy_app.callback()
def taxonomy() -> None:
    """Build, check or convert a tree of items."""


@option_group
class TreeFile:
    """The options that say where a tree is, and how it is written."""

    file: str = argument("FILE", "File of a tree; - reads the standard input.")
    format: Literal["edges", "paths", "nodes", "obo", "amnesia"] | None = option(
        None, "Format of FILE; guessed when not given."
    )
    id: str | None = option(None, "Column of ids in a table of nodes.")
    name: str | None = option(None, "Column of names in a table of nodes.")
    parent: str | None = option(None, "Column of parents in a table of nodes.")
    parents: ParentsOption = "error"
    delimiter: str | None = option(None, "What stands between columns; guessed.")
    header: bool | None = option(None, "Whether line 1 names the columns.", "--header/--no-header")

    def read(self, *, quiet: bool) -> tuple["Taxonomy", "TaxonomyReport"]:
        """Read the tree, and say what had to be guessed and tidied up."""
        from setveil.io.taxonomy_files import read_taxonomy

        options = dict(vars(self))
        if self.delimiter in {"\\t", "tab"}:  # what a shell can pass without effort
            options["delimiter"] = "\t"
        tree, report = read_taxonomy(options.pop("file"), **options)
        for sentence in report.sentences():
            say(sentence, quiet=quiet)
        return tree, report


@taxonomy_app.command()
@expand_options
def check(
    *,
    tree_file: TreeFile,
    data: str | None = option(None, "Records whose items must be in the tree.", metavar="DATA"),
    data_layout: str | None = option(
        None, "How DATA is laid out, as `setveil inspect --save-layout` wrote it.", metavar="FILE"
    ),
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Check a tree: its size, and the items it lacks.

    Says on stderr what had to be guessed and tidied up. Exits with 1 when items of the data are
    not in the tree.

    Example: setveil taxonomy check tree.csv --data visits.csv
    """
    only_one_stdin(tree_file.file, data)
    with Progress(quiet=quiet) as progress:
        progress("reading")
        tree, report = tree_file.read(quiet=quiet)
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
@expand_options
def export(
    *,
    out: OutOption,
    to: Literal["arx", "edges"] = option(
        "arx", "ARX's hierarchy, or child and parent, as setveil writes it."
    ),
    names: bool = option(False, "Show nodes by name, not by id, in ARX's hierarchy."),
    tree_file: TreeFile,
    force: ForceDataOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Write a tree as a hierarchy for ARX, or as a tidy list of edges.

    Example: setveil taxonomy export tree.csv -o hierarchy.csv
    """
    check_output(out, "the tree", force=force, json=json, inputs=[tree_file.file])
    if names and to != "arx":
        raise ParameterError("--names is for ARX's hierarchy", fix="leave it out")
    with Progress(quiet=quiet) as progress:
        progress("reading")
        tree, _ = tree_file.read(quiet=quiet)
        progress("writing")
        if to == "arx":
            tree.write_arx(out, names=names)
        else:
            tree.write(out)
    report_written(tree, out, quiet=quiet, json=json)


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
