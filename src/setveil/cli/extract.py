"""``setveil extract``: documents and query logs to records."""

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
    write_table,
)
from setveil.cli.output import JsonOption, Progress, QuietOption, emit, print_table, say
from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from setveil.core.table import TransactionTable
    from setveil.text.extract import ExtractionReport
    from setveil.text.query_log import QueryReport


@expand_options
def extract(
    *,
    texts: list[str] = argument("TEXTS", "Folder, text file, JSON lines, table, or logs."),
    out: OutDataOption,
    kind: Literal["documents", "queries"] = option("documents", "What TEXTS holds."),
    items: Literal["noun-phrases", "nouns", "tokens", "queries"] = option(
        "noun-phrases", "What becomes an item; queries stay whole as queries.", "--as"
    ),
    format: Literal["text", "jsonl", "csv"] | None = option(
        None, "Format of documents; guessed when not given."
    ),
    text_field: str | None = option(None, "Field or column that holds the text.", metavar="NAME"),
    delimiter: str | None = option(None, "What separates columns; also tab.", metavar="TEXT"),
    header_pattern: str | None = option(
        None, "Cut a text up to the end of its first match.", metavar="REGEX"
    ),
    footer_pattern: str | None = option(
        None, "Cut a text from its last match on.", metavar="REGEX"
    ),
    stop_words: str | None = option(None, "More words to leave out, one a line.", metavar="FILE"),
    tagger: str | None = option(None, "A spaCy model that you have.", metavar="MODEL"),
    keep_order: bool = option(False, "Write records in the order of the documents."),
    on_error: Literal["stop", "skip"] = option(
        "stop", "Stop at a malformed line, or skip and list it."
    ),
    user: str | None = option(None, "Column of who asked.", "--user-column", metavar="NAME"),
    query: str | None = option(None, "Column of the queries.", "--query-column", metavar="NAME"),
    time: str | None = option(None, "Column of when.", "--time-column", metavar="NAME"),
    per: Literal["user", "session", "query"] | None = option(
        None, "What of a log becomes a record; a user if not given."
    ),
    gap_minutes: float | None = option(None, "Pause that ends a session; 30.", metavar="N"),
    short: int | None = option(None, "Words of a query that stays whole; 2.", metavar="N", min=0),
    words: str | None = option(None, "Keep only these items, one a line.", metavar="FILE"),
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

    for_documents: dict[str, Any] = {
        "format": format,
        "text_field": text_field,
        "header_pattern": header_pattern,
        "footer_pattern": footer_pattern,
        "stop_words": stop_words,
        "tagger": tagger,
        "keep_order": keep_order or None,
        "on_error": None if on_error == "stop" else on_error,
    }
    for_queries: dict[str, Any] = {
        "user_column": user,
        "query_column": query,
        "time_column": time,
        "per": per,
        "gap_minutes": gap_minutes,
        "short": short,
        "words": words,
    }
    _refuse(for_queries if kind == "documents" else for_documents, kind)
    if gap_minutes is not None and per != "session":
        raise ParameterError(
            "--gap-minutes is for sessions", fix="leave it out, or add --per session"
        )
    to = to or ("jsonl" if out == STDOUT else None)
    must_be_writable(out, to=to, force=force, json=json, inputs=[*texts, stop_words, words])
    if format_for(out, to) == "fimi":
        raise ParameterError("fimi holds only numbers, not words", fix="write csv or jsonl")
    shared: dict[str, Any] = {"items": items, "delimiter": delimiter, "workers": workers}
    report: ExtractionReport | QueryReport
    with Progress(quiet=quiet) as progress:
        progress("reading")
        if kind == "documents":
            table, report = _documents(texts, progress=progress, **shared, **for_documents)
        else:
            table, report = _queries(texts, progress=progress, **shared, **for_queries)
        progress("writing")
        write_table(table, out, to=to)
    for sentence in report.sentences():
        say(sentence, quiet=quiet)
    if json:
        emit({"file": out, **report.as_dict()})
    elif out != STDOUT:
        _print(report.as_dict())


def _refuse(given: dict[str, Any], kind: str) -> None:
    """Refuse options that are for the other kind of text."""
    other = "queries" if kind == "documents" else "documents"
    for name, value in given.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise ParameterError(
                f"{option} is for {other}", fix=f"leave it out, or add --kind {other}"
            )


def _documents(
    texts: list[str],
    *,
    progress: Progress,
    items: str,
    delimiter: str | None,
    workers: int | None,
    on_error: str | None,
    stop_words: str | None,
    tagger: str | None,
    keep_order: bool | None,
    **reading: Any,
) -> tuple["TransactionTable", "ExtractionReport"]:
    from setveil.io.item_lists import read_items
    from setveil.text.documents import Documents
    from setveil.text.extract import extract as extract_items

    if len(texts) > 1:
        raise ParameterError("documents come from one place", fix="name the folder they are in")
    if items == "queries":
        raise ParameterError(
            "documents do not become items as a whole", fix="add --kind queries, or change --as"
        )
    documents = Documents(
        path=texts[0], delimiter=delimiter, on_error=on_error or "raise", **reading
    )
    found = extract_items(
        documents,
        method=items,
        tagger=tagger or "pattern",
        stop_words=read_items(stop_words) if stop_words else (),
        keep_order=bool(keep_order),
        workers=workers,
        progress=progress,
    )
    return found.table, found.report


def _queries(
    texts: list[str],
    *,
    progress: Progress,
    items: str,
    delimiter: str | None,
    workers: int | None,
    words: str | None,
    user_column: str | None,
    query_column: str | None,
    time_column: str | None,
    **options: Any,
) -> tuple["TransactionTable", "QueryReport"]:
    from setveil.io.item_lists import read_items
    from setveil.text.query_log import read_queries, transactions

    log = read_queries(
        texts, user=user_column, query=query_column, time=time_column, delimiter=delimiter
    )
    return transactions(
        log,
        items=items,
        words=read_items(words) if words else None,
        workers=workers,
        progress=progress,
        **{name: value for name, value in options.items() if value is not None},
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
