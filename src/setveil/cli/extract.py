"""``setveil extract``: documents and query logs to records."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal

from setveil.cli.options import (
    MOST_WORKERS,
    STDOUT,
    ForceDataOption,
    OutDataOption,
    argument,
    expand_options,
    must_be_writable,
    option,
    option_group,
    write_table,
)
from setveil.cli.output import JsonOption, Progress, QuietOption, emit, print_table, say
from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from setveil.core.table import TransactionTable
    from setveil.text.extract import ExtractionReport
    from setveil.text.query_log import QueryReport


@option_group
class DocumentOptions:
    """How documents become items; each is for documents only."""

    format: Literal["text", "jsonl", "csv"] | None = option(
        None, "Format of documents; guessed when not given."
    )
    text_field: str | None = option(None, "Field or column that holds the text.", metavar="NAME")
    delimiter: str | None = option(None, "What separates columns; also tab.", metavar="TEXT")
    header_pattern: str | None = option(
        None, "Cut a text up to the end of its first match.", metavar="REGEX"
    )
    footer_pattern: str | None = option(None, "Cut a text from its last match on.", metavar="REGEX")
    stop_words: str | None = option(None, "More words to leave out, one a line.", metavar="FILE")
    tagger: str | None = option(None, "A spaCy model that you have.", metavar="MODEL")
    keep_order: bool = option(False, "Write records in the order of the documents.")
    on_error: Literal["stop", "skip"] = option(
        "stop", "Stop at a malformed line, or skip and list it."
    )

    def extract(
        self, texts: list[str], items: str, workers: int | None, progress: Progress
    ) -> tuple["TransactionTable", "ExtractionReport"]:
        """Return a record per document, and what was met on the way."""
        from setveil.io.item_lists import read_items
        from setveil.text.documents import Documents
        from setveil.text.extract import extract as extract_items

        if len(texts) > 1:
            raise ParameterError("documents come from one place", fix="name the folder they are in")
        if items == "queries":
            raise ParameterError(
                "documents do not become items as a whole",
                fix="add --kind queries, or change --as",
            )
        documents = Documents(
            path=texts[0],
            format=self.format,
            text_field=self.text_field,
            delimiter=self.delimiter,
            header_pattern=self.header_pattern,
            footer_pattern=self.footer_pattern,
            on_error="raise" if self.on_error == "stop" else self.on_error,
        )
        found = extract_items(
            documents,
            method=items,
            tagger=self.tagger or "pattern",
            stop_words=read_items(self.stop_words) if self.stop_words else (),
            keep_order=self.keep_order,
            workers=workers,
            progress=progress,
        )
        return found.table, found.report


@option_group
class QueryOptions:
    """How a query log becomes records; each is for queries only."""

    user_column: str | None = option(None, "Column of who asked.", metavar="NAME")
    query_column: str | None = option(None, "Column of the queries.", metavar="NAME")
    time_column: str | None = option(None, "Column of when.", metavar="NAME")
    per: Literal["user", "session", "query"] | None = option(
        None, "What of a log becomes a record; a user if not given."
    )
    gap_minutes: float | None = option(None, "Pause that ends a session; 30.", metavar="N")
    short: int | None = option(None, "Words of a query that stays whole; 2.", metavar="N", min=0)
    words: str | None = option(None, "Keep only these items, one a line.", metavar="FILE")

    def extract(
        self,
        texts: list[str],
        items: str,
        delimiter: str | None,
        workers: int | None,
        progress: Progress,
    ) -> tuple["TransactionTable", "QueryReport"]:
        """Return a record per user, session or query, and what was met on the way."""
        from setveil.io.item_lists import read_items
        from setveil.text.query_log import read_queries, transactions

        log = read_queries(
            texts,
            user=self.user_column,
            query=self.query_column,
            time=self.time_column,
            delimiter=delimiter,
        )
        given: dict[str, Any] = {
            "per": self.per,
            "gap_minutes": self.gap_minutes,
            "short": self.short,
        }
        return transactions(
            log,
            items=items,
            words=read_items(self.words) if self.words else None,
            workers=workers,
            progress=progress,
            **{name: value for name, value in given.items() if value is not None},
        )


@expand_options
def extract(
    *,
    texts: list[str] = argument("TEXTS", "Folder, text file, JSON lines, table, or logs."),
    out: OutDataOption,
    kind: Literal["documents", "queries"] = option("documents", "What TEXTS holds."),
    items: Literal["noun-phrases", "nouns", "tokens", "queries"] = option(
        "noun-phrases", "What becomes an item; queries stay whole as queries.", "--as"
    ),
    documents: DocumentOptions,
    queries: QueryOptions,
    workers: int | None = option(
        None, "Processes; one per core if not given.", metavar="N", min=1, max=MOST_WORKERS
    ),
    to: str | None = option(
        None,
        "basket, long, one-hot, jsonl or spmf; by the ending of OUT when not given.",
        metavar="FORMAT",
    ),
    force: ForceDataOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Turn documents or a query log into records of items.

    A document gives one record, and so does a user of a log (or a session). Items are noun
    phrases (noun + noun, adjective + noun, or a noun), single nouns, or all words in dictionary
    form. Records are sorted by content; no identifier, time or clicked address is written, but the
    items are the people's own words, and may name somebody.

    Example: setveil extract letters/ -o records.csv
    """
    from setveil.io.writers import format_for

    _refuse_other(queries if kind == "documents" else documents, kind)
    if queries.gap_minutes is not None and queries.per != "session":
        raise ParameterError(
            "--gap-minutes is for sessions", fix="leave it out, or add --per session"
        )
    to = to or ("jsonl" if out == STDOUT else None)
    inputs = [*texts, documents.stop_words, queries.words]
    must_be_writable(out, to=to, force=force, json=json, inputs=inputs)
    if format_for(out, to) == "fimi":
        raise ParameterError("fimi holds only numbers, not words", fix="write csv or jsonl")
    report: ExtractionReport | QueryReport
    with Progress(quiet=quiet) as progress:
        progress("reading")
        if kind == "documents":
            table, report = documents.extract(texts, items, workers, progress)
        else:
            table, report = queries.extract(texts, items, documents.delimiter, workers, progress)
        progress("writing")
        write_table(table, out, to=to)
    for sentence in report.sentences():
        say(sentence, quiet=quiet)
    if json:
        emit({"file": out, **report.as_dict()})
    elif out != STDOUT:
        _print(report.as_dict())


def _refuse_other(group: DocumentOptions | QueryOptions, kind: str) -> None:
    """Refuse options that are for the other kind of text."""
    other = "queries" if kind == "documents" else "documents"
    for each in fields(group):
        if each.name != "delimiter" and getattr(group, each.name) != each.default:
            raise ParameterError(
                f"--{each.name.replace('_', '-')} is for {other}",
                fix=f"leave it out, or add --kind {other}",
            )


def _print(figures: dict[str, Any]) -> None:
    shown = [
        ("documents", "documents"),
        ("words", "words"),
        ("lines", "lines"),
        ("users", "users"),
        ("different queries", "queries"),
        ("records", "records"),
        ("different items", "items"),
        ("items over all records", "occurrences"),
    ]
    rows = [(words, f"{figures[key]:,}") for words, key in shown if key in figures]
    rows.append(("items per record", f"{figures['length_mean']:.2f}"))
    rows.append(("type-token ratio (ttr)", f"{figures['ttr']:.4f}"))
    print_table(["figure", "value"], rows)
