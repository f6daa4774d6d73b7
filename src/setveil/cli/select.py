"""``setveil select`` and ``topics``: records chosen at random, for a property, or by topic."""

from typing import TYPE_CHECKING, Any

from setveil.cli.options import (
    STDOUT,
    ForceDataOption,
    OutDataOption,
    SeedOption,
    ToOption,
    argument,
    expand_options,
    must_be_writable,
    only_one_stdin,
    option,
    option_group,
    write_table,
)
from setveil.cli.output import (
    JsonOption,
    Progress,
    QuietOption,
    announce_compiling,
    echo,
    emit,
    print_table,
    say,
)
from setveil.cli.reading import Reading
from setveil.core.errors import InfeasibleError, ParameterError

if TYPE_CHECKING:
    from setveil.core.table import TransactionTable
    from setveil.text.topics import Topics


@option_group
class Choice:
    """What is chosen: so many records, with which property."""

    size: int = option(..., "How many records.", metavar="N", min=1)
    ttr: float | None = option(None, "Type-token ratio to reach, in (0, 1].", metavar="X")
    length: int | None = option(None, "Cut longer records to N random items.", metavar="N", min=1)
    cell_density: float | None = option(None, "Cell density to reach, in (0, 1].", metavar="X")
    groups: str | None = option(
        None, "Items published as one, a line of items per group.", metavar="FILE"
    )
    tolerance: float = option(0.01, "How far from the given value it may be.", metavar="X")

    def __post_init__(self) -> None:
        """Refuse what does not belong together."""
        if self.ttr is not None and self.cell_density is not None:
            raise ParameterError(
                "--ttr and --cell-density cannot be given together", fix="leave one of them out"
            )
        if self.length is not None and self.ttr is None:
            raise ParameterError("--length is for --ttr", fix="add --ttr, or leave it out")
        if (self.cell_density is None) != (self.groups is None):
            raise ParameterError(
                "--cell-density and --groups go together",
                fix="give both: the density, and the file of items published as one",
            )

    def draw(
        self, table: "TransactionTable", seed: int | None, progress: Progress, *, quiet: bool
    ) -> tuple["TransactionTable", dict[str, Any]]:
        """Return the records; the given value, the reached one, and that of a random sample."""
        import numpy as np

        from setveil.text.selection import at_random, with_cell_density, with_ttr

        size, rng = self.size, np.random.default_rng(seed)
        figures = {"cell_density": None, "wished": None, "at_random": None}
        if self.ttr is None and self.cell_density is None:
            return at_random(table, size=size, rng=rng), figures
        drawing: dict[str, Any] = {"size": size, "tolerance": self.tolerance, "rng": rng}
        with announce_compiling(quiet=quiet):
            if self.cell_density is None:
                assert self.ttr is not None
                found = with_ttr(table, self.ttr, length=self.length, progress=progress, **drawing)
                reached = {"wished": self.ttr}
            else:
                assert self.groups is not None
                sets = Reading().read(self.groups, quiet=quiet).to_rows()
                found = with_cell_density(
                    table, sets, self.cell_density, progress=progress, **drawing
                )
                reached = {"wished": self.cell_density, "cell_density": found.value}
        return found.table, {**figures, **reached, "at_random": found.at_random}


@expand_options
def select(
    *,
    data: str = argument("DATA", "File of records; - reads the standard input."),
    choice: Choice,
    out: OutDataOption,
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
    from setveil.measure.profile import ttr as ttr_of

    only_one_stdin(data, choice.groups)
    must_be_writable(out, to=to, force=force, json=json, inputs=[data, choice.groups])
    with Progress(quiet=quiet) as progress:
        progress("reading")
        table = reading.read(data, quiet=quiet)
        chosen, figures = choice.draw(table, seed, progress, quiet=quiet)
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
        _print_figures(result)
    else:
        say(f"{len(chosen):,} records chosen", quiet=quiet)


def _print_figures(result: dict[str, Any]) -> None:
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


# --- `setveil topics`: what the records are about, and the records about some topics --------------


@expand_options
def topics(
    *,
    data: str = argument("DATA", "File of records; - reads the standard input."),
    number: int = option(10, "How many topics.", "-n", "--number", metavar="N", min=1),
    words: int = option(6, "How many words of a topic to show.", metavar="N", min=1),
    topic: list[int] | None = option(
        None, "Write the records about this topic; may be repeated.", metavar="T"
    ),
    per_topic: int | None = option(
        None, "Write the N records most about a topic.", metavar="N", min=1
    ),
    least: float = option(
        0.0, "Least share of a record's main topic in it.", metavar="X", min=0, max=1
    ),
    out: str | None = option(
        None, "File of records to write; - is stdout.", "-o", "--out", metavar="OUT"
    ),
    to: ToOption = None,
    reading: Reading,
    seed: int = option(0, "Seed of the start of the search.", metavar="N", min=0),
    force: ForceDataOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Find what the records are about, and choose records by topic.

    Topics are numbered from the one with most records on; the same records and the same --seed
    give the same topics. With -o the records whose main topic is one of --topic are written (all
    topics if none is named), in an order that depends on their content only.

    Example: setveil topics articles.jsonl -n 35 --topic 3 --topic 7 -o chosen.jsonl
    """
    from setveil.text import topics as model

    if out is None and (topic or per_topic is not None or least or to or force):
        raise ParameterError(
            "--topic, --per-topic, --least, --to and --force say what is written, but not where",
            fix="name a file with -o",
        )
    if out is not None:
        must_be_writable(out, to=to, force=force, json=json, inputs=[data])
    with Progress(quiet=quiet) as progress:
        progress("reading")
        table = reading.read(data, quiet=quiet)
        progress("finding topics")
        found = model.topics(table, number, seed)
        written = None
        if out is not None:
            written = _records_about(table, found, topic, per_topic, least)
            write_table(written, out, to=to)
    if not found.converged:
        say("the topics had not settled when the search ended: take them as rough", quiet=quiet)
    result = _result(found, words, out, written)
    if json:
        emit(result)
    elif out != STDOUT:
        _print_topics(result)


def _records_about(
    table: "TransactionTable",
    found: "Topics",
    topic: list[int] | None,
    per_topic: int | None,
    least: float,
) -> "TransactionTable":
    from setveil.text.selection import select_records

    records = found.records(topic or None, per_topic=per_topic, least=least)
    if not len(records):
        raise InfeasibleError(
            "no record is about these topics", fix="name other topics, or lower --least"
        )
    return select_records(table, records)


def _result(
    found: "Topics", words: int, out: str | None, written: "TransactionTable | None"
) -> dict[str, Any]:
    return {
        "topics": [
            {
                "topic": topic,
                "records": int(found.sizes[topic - 1]),
                "words": found.top_words(topic, words),
            }
            for topic in range(1, len(found) + 1)
        ],
        "without_topic": int((found.topic_of == 0).sum()),
        "converged": found.converged,
        "file": out,
        "written": None if written is None else len(written),
    }


def _print_topics(result: dict[str, Any]) -> None:
    print_table(
        ["topic", "records", "words"],
        [(each["topic"], each["records"], ", ".join(each["words"])) for each in result["topics"]],
    )
    if result["without_topic"]:
        echo(f"records without a topic: {result['without_topic']:,}")
    if result["written"] is not None:
        echo(f"{result['file']}: {result['written']:,} records")
