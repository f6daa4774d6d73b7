"""``setveil index``: counts of words over a corpus, on disk."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from setveil.cli.options import (
    PlaceOption,
    argument,
    check_place,
    expand_options,
    find_spark,
    must_be_free,
    only_one_stdin,
    option,
)
from setveil.cli.output import (
    JsonOption,
    Progress,
    QuietOption,
    announce_compiling,
    emit,
    print_table,
    say,
)
from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from setveil.text.documents import Documents


@expand_options
def index(
    *,
    corpus: list[str] = argument("CORPUS", "Folders, text files, JSON lines or tables."),
    out: Path = option(..., "File to write.", "-o", "--out", metavar="INDEX"),
    format: Literal["text", "jsonl", "csv"] | None = option(
        None, "Format of documents; guessed when not given."
    ),
    text_field: str | None = option(None, "Field or column that holds the text.", metavar="NAME"),
    delimiter: str | None = option(None, "What separates columns; also tab.", metavar="TEXT"),
    on_error: Literal["stop", "skip"] = option(
        "stop", "Stop at a malformed line, or skip and list it."
    ),
    as_written: bool = option(False, "Keep plurals apart, as for other languages."),
    engine: PlaceOption = "local",
    force: bool = option(False, "Replace INDEX."),
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Count the words of a corpus, so that terms can be compared.

    A document is a file of a folder, a text file, a line of JSON or a row of a table. The index
    holds every word with its documents and places, no text and no names of documents. Attacks
    read it: --relatedness corpus:INDEX.

    Example: setveil index articles/ glosses.jsonl.gz -o medicine.index
    """
    from itertools import chain

    from setveil.relatedness.index import build_index
    from setveil.text.documents import Documents

    if str(out) == "-":
        raise ParameterError("an index is not a stream", fix="name a file with -o")
    check_place(engine)
    must_be_free(out, force=force, inputs=corpus)
    only_one_stdin(*corpus)
    sources = [
        Documents(
            path=path,
            format=format,
            text_field=text_field,
            delimiter=delimiter,
            on_error="raise" if on_error == "stop" else on_error,
        )
        for path in corpus
    ]
    spark = find_spark(engine)
    with Progress(quiet=quiet) as progress, announce_compiling(quiet=quiet):
        if spark is not None:
            from setveil.spark.corpus import DistributedCorpus, read_documents

            progress("reading")
            texts = read_documents(
                corpus,
                spark,
                format=format,
                text_field=text_field,
                delimiter=delimiter,
                on_error="raise" if on_error == "stop" else on_error,
            )
            words = DistributedCorpus.from_texts(texts, singulars=not as_written)
            built, empty = words.write_index(out), words.silent
        else:
            built = build_index(
                chain.from_iterable(sources), out, singulars=not as_written, progress=progress
            )
            empty = sum(source.counts.empty for source in sources)
    for source in sources:
        _report(source, quiet=quiet)
    figures = {
        "documents": built.total,
        "empty": empty,
        "words": built.n_words,
        "occurrences": built.n_tokens,
        "bytes": out.stat().st_size,
        "fingerprint": built.fingerprint(),
    }
    if json:
        emit({"file": str(out), **figures})
    else:
        shown = {
            "documents": f"{built.total:,}",
            "different words": f"{built.n_words:,}",
            "words over all documents": f"{built.n_tokens:,}",
            "size of the index": f"{out.stat().st_size / 1e6:,.3g} MB",
        }
        print_table(["figure", "value"], shown.items())


def _report(source: "Documents", *, quiet: bool) -> None:
    """Say on stderr what was met besides plain text."""
    counts, problems = source.counts, source.problems
    said = (
        (counts.empty, "empty documents"),
        (counts.html, "documents read as HTML"),
        (counts.bad_encoding, "documents with bytes that are no UTF-8"),
        (counts.files_skipped, "files that are no text"),
        (problems.count, "malformed lines, skipped"),
    )
    for number, words in said:
        if number:
            say(f"{source.path}: {words}: {number:,}", quiet=quiet)
    for where, _, what in problems.skipped[:5]:
        say(f"  {where}: {what}", quiet=quiet)
