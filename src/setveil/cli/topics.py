"""``setveil topics``: what the records are about, and the records about some topics."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from setveil.cli.options import (
    STDOUT,
    ForceDataOption,
    ToOption,
    expand_options,
    must_be_writable,
    write_table,
)
from setveil.cli.output import JsonOption, Progress, QuietOption, echo, emit, print_table, say
from setveil.cli.reading import Reading
from setveil.core.errors import InfeasibleError, ParameterError

if TYPE_CHECKING:
    from setveil.core.table import TransactionTable
    from setveil.text.topics import Topics


@expand_options
def topics(
    *,
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="File of records; - reads the standard input.")
    ],
    number: Annotated[
        int, typer.Option("-n", "--number", metavar="N", min=1, help="How many topics.")
    ] = 10,
    words: Annotated[
        int, typer.Option("--words", metavar="N", min=1, help="How many words of a topic to show.")
    ] = 6,
    topic: Annotated[
        list[int] | None,
        typer.Option(
            "--topic", metavar="T", help="Write the records about this topic; may be repeated."
        ),
    ] = None,
    per_topic: Annotated[
        int | None,
        typer.Option(
            "--per-topic", metavar="N", min=1, help="Write the N records most about a topic."
        ),
    ] = None,
    least: Annotated[
        float,
        typer.Option(
            "--least", metavar="X", min=0, max=1, help="Least share of a record's main topic in it."
        ),
    ] = 0.0,
    out: Annotated[
        str | None,
        typer.Option("-o", "--out", metavar="OUT", help="File of records to write; - is stdout."),
    ] = None,
    to: ToOption = None,
    reading: Reading,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, help="Seed of the start of the search.")
    ] = 0,
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
            written = _written(table, found, topic, per_topic, least)
            write_table(written, out, to=to)
    if not found.converged:
        say("the topics had not settled when the search ended: take them as rough", quiet=quiet)
    result = _result(found, words, out, written)
    if json:
        emit(result)
    elif out != STDOUT:
        _print(result)


def _written(
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


def _print(result: dict[str, Any]) -> None:
    print_table(
        ["topic", "records", "words"],
        [(each["topic"], each["records"], ", ".join(each["words"])) for each in result["topics"]],
    )
    if result["without_topic"]:
        echo(f"records without a topic: {result['without_topic']:,}")
    if result["written"] is not None:
        echo(f"{result['file']}: {result['written']:,} records")
