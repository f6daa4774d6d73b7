"""From documents to a table of records: one record per document.

Tagging is pure Python and holds its lock, so threads would not do. A process reads lines of JSON:
first what to extract, then batches of texts; it answers each with a line of JSON. JSON and not
pickles, so that nothing but data goes over the pipes; a process of its own and not a fork, so that
threads of the parent and its main module do not matter.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import chain, tee
from typing import TYPE_CHECKING, Any, Self, TextIO

from setveil.core.errors import InputError, ParameterError, SetveilError
from setveil.core.table import RowCollector
from setveil.core.threads import map_ahead
from setveil.engine.processes import python_command, python_environment
from setveil.io.layout import SHOWN
from setveil.text.documents import Document, DocumentCounts, Documents
from setveil.text.noun_phrases import extend_stop_words, noun_phrases, nouns, tokens
from setveil.text.tagging import find_tagger

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from setveil.core.table import TransactionTable
    from setveil.core.threads import Progress

    Batch = list[Document]

METHODS: dict[str, Callable[..., list[str]]] = {
    "noun-phrases": noun_phrases,
    "nouns": nouns,
    "tokens": tokens,
}


@dataclass(frozen=True, kw_only=True)
class Extractor:
    """The items of a text, as a callable that can be described to another process.

    Parameters
    ----------
    method
        ``noun-phrases``, ``nouns`` or ``tokens``.
    tagger
        ``pattern`` for TextBlob's bundled tagger, or the name of a spaCy model.
    stop_words
        More words that are no items, besides the built-in ones.

    Examples
    --------
    >>> Extractor(method="nouns", stop_words=("patient",))("The patient has a fever.")
    ['fever']
    """

    method: str = "noun-phrases"
    tagger: str = "pattern"
    stop_words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ParameterError(
                f"{self.method!r} is no way to extract items", fix=f"use {', '.join(METHODS)}"
            )
        extend_stop_words(self.stop_words)

    @cached_property
    def _stop_words(self) -> frozenset[str]:
        return extend_stop_words(self.stop_words)

    def __call__(self, text: str) -> list[str]:
        """Return the items of a text, each once."""
        return METHODS[self.method](text, find_tagger(self.tagger), self._stop_words)

    def load(self) -> None:
        """Load the tagger now, so that a missing package is noticed before the work begins."""
        self("A word.")

    def to_json(self) -> dict[str, Any]:
        """Return what `Extractor` takes, as JSON holds it."""
        return asdict(self)


def extract_batch(extractor: Extractor, texts: Iterable[str]) -> dict[str, Any]:
    """Return the items of each text and the number of words in all of them.

    >>> extract_batch(Extractor(), ["High fever.", ""])
    {'rows': [['high fever'], []], 'words': 2}
    """
    rows, words = [], 0
    for text in texts:
        rows.append(extractor(text))
        words += len(text.split())
    return {"rows": rows, "words": words}


def serve(source: TextIO, target: TextIO) -> None:
    """Answer requests until there are no more.

    >>> import io
    >>> answers = io.StringIO()
    >>> serve(io.StringIO('{"method": "nouns"}' + chr(10) + '["A fever."]'), answers)
    >>> print(answers.getvalue(), end="")
    {"ready": true}
    {"rows": [["fever"]], "words": 2}
    """

    def answer(value: dict[str, Any]) -> None:
        target.write(json.dumps(value) + "\n")
        target.flush()

    settings = json.loads(source.readline())
    try:
        extractor = Extractor(**{**settings, "stop_words": tuple(settings.get("stop_words", ()))})
        extractor.load()
    except SetveilError as error:
        answer({"what": error.what, "fix": error.fix})
        return
    answer({"ready": True})
    for line in source:
        answer(extract_batch(extractor, json.loads(line)))


def extract_batches(
    extractor: Extractor, batches: Iterable[list[str]], processes: int
) -> Generator[dict[str, Any]]:
    """Yield items and number of words of each batch, in order, here or from processes."""
    if not processes:
        yield from (extract_batch(extractor, texts) for texts in batches)
        return
    with Processes(extractor, processes) as running:
        yield from running.each(batches)


def cores() -> int:
    """Return how many cores this process may use.

    >>> cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Processes:
    """Some processes, each with one batch of texts at a time.

    >>> with Processes(Extractor(method="nouns"), 2) as processes:
    ...     for found in processes.each([["A fever.", "Two coughs."], ["A cold."]]):
    ...         print(found)
    {'rows': [['fever'], ['cough']], 'words': 4}
    {'rows': [['cold']], 'words': 2}
    """

    def __init__(self, extractor: Extractor, workers: int) -> None:
        self._settings = extractor.to_json()
        self._all: list[subprocess.Popen[bytes]] = []
        self._idle: queue.LifoQueue[subprocess.Popen[bytes]] = queue.LifoQueue()
        self._workers = workers

    def __enter__(self) -> Self:
        try:
            for _ in range(self._workers):
                self._all.append(_start_process())
            for process in self._all:  # all start at once, then each is waited for
                _configure(process, self._settings)
                self._idle.put(process)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._all:
            process.terminate()
        for process in self._all:
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # what could not be sent is of no interest any more
                    pipe.close()  # type: ignore[union-attr]
            process.wait()
        self._all.clear()

    def each(self, batches: Iterable[list[str]]) -> Iterator[dict[str, Any]]:
        """Yield items and number of words of each batch, in order, a few batches ahead."""
        # A thread per process waits for its answers; the batches are read in this thread.
        workers = self._workers
        return map_ahead(self._one, batches, workers=workers, ahead=2 * workers - 1)

    def _one(self, texts: list[str]) -> dict[str, Any]:
        process = self._idle.get()
        try:
            return _ask(process, texts)
        finally:
            self._idle.put(process)


def _configure(process: subprocess.Popen[bytes], settings: dict[str, Any]) -> None:
    answer = _ask(process, settings)
    if "what" in answer:
        raise ParameterError(answer["what"], fix=answer["fix"])


def _start_process() -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  (our own code)
        python_command("setveil.text.extract"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=python_environment(PYTHONIOENCODING="utf-8"),
        start_new_session=True,  # Ctrl-C is for us: we end the processes
    )


def _ask(process: subprocess.Popen[bytes], request: object) -> dict[str, Any]:
    """Send a line and return the answer."""
    assert process.stdin is not None
    assert process.stdout is not None
    answer = b""
    with suppress(BrokenPipeError):
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        answer = process.stdout.readline()
    if not answer:
        raise SetveilError(
            "a process that extracts items ended before its work was done",
            fix="perhaps the memory was not enough: use fewer --workers",
        )
    found: dict[str, Any] = json.loads(answer)
    return found


BATCH = 200_000  # characters given to a process at a time
WORTH_IT = 1_000_000  # characters below which starting processes takes longer than the work


class TableFigures:
    """Figures of a table that was made of texts."""

    records: int
    items: int
    occurrences: int

    @property
    def length_mean(self) -> float:
        """Items per record."""
        return self.occurrences / self.records

    @property
    def ttr(self) -> float:
        """Type-token ratio: different items per occurrence of an item."""
        return self.items / self.occurrences


@dataclass(frozen=True, kw_only=True)
class ExtractionReport(TableFigures):
    """What `extract` met and made.

    Parameters
    ----------
    method
        How items were extracted.
    met
        What the reader of documents counted.
    without_items
        Documents that hold text but no item; they and the empty ones give no record.
    words
        Words of the documents, as blanks separate them.
    records, items, occurrences
        Size of the table: rows, different items, items over all rows.
    skipped
        Where, text and problem of what was left out (at most 1,000 entries).
    skipped_count
        How many malformed lines were left out in all.
    """

    method: str
    met: DocumentCounts
    without_items: int
    words: int
    records: int
    items: int
    occurrences: int
    skipped: list[tuple[str, str, str]] = field(default_factory=list)
    skipped_count: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as JSON holds them."""
        counts = {name: getattr(self, name) for name in ("without_items", "words", "records")}
        counts |= {"items": self.items, "occurrences": self.occurrences}
        shares = {"length_mean": self.length_mean, "ttr": self.ttr}
        lines = {"lines_skipped": self.skipped_count}
        return {"method": self.method, **asdict(self.met), **counts, **shares, **lines}

    def sentences(self) -> list[str]:
        """Return what was met besides plain text, in words."""
        met = self.met
        said = [
            f"{number:,} {words[number != 1]}."
            for number, words in (
                (met.empty, ("document is empty", "documents are empty")),
                (self.without_items, ("document holds no item", "documents hold no item")),
                (met.html, ("document was HTML", "documents were HTML")),
                (
                    met.bad_encoding,
                    (
                        "document holds bytes that are no UTF-8; words with them were left out",
                        "documents hold bytes that are no UTF-8; words with them were left out",
                    ),
                ),
                (met.headers_cut, ("header was cut", "headers were cut")),
                (met.footers_cut, ("footer was cut", "footers were cut")),
                (met.files_skipped, ("file is no text", "files are no text")),
                (self.skipped_count, ("malformed line skipped", "malformed lines skipped")),
            )
            if number
        ]
        said += [f"  {where}: {text} {what}" for where, text, what in self.skipped[:SHOWN]]
        more = met.files_skipped + self.skipped_count - min(len(self.skipped), SHOWN)
        return [*said, f"  and {more:,} more"] if more > 0 else said


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """A table, the names of the documents behind its records, and how it came about.

    The names are for the documents' owner; nothing that setveil writes carries them.
    """

    table: TransactionTable
    names: tuple[str, ...]
    report: ExtractionReport


def extract(
    documents: Iterable[Document | str],
    *,
    method: str = "noun-phrases",
    tagger: str = "pattern",
    stop_words: Iterable[str] = (),
    keep_order: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Extraction:
    """Extract one record of items from each document.

    Parameters
    ----------
    documents
        Documents (`setveil.text.documents.Documents` reads them from files) or plain texts.
    method
        ``noun-phrases`` (noun + noun, adjective + noun, or a noun), ``nouns`` (single ones) or
        ``tokens`` (all words in dictionary form).
    tagger
        ``pattern`` for TextBlob's bundled tagger, or the name of a spaCy model.
    stop_words
        More words that are no items, besides the built-in ones.
    keep_order
        Whether records stay in the documents' order; else they are sorted by content, so that
        their order tells nothing.
    workers
        Number of processes; None takes one per core where there is enough to do.
    progress
        Called with what is done, how many documents are, and 0 (nobody knows of how many).

    Returns
    -------
    Extraction
        The table, the documents' names beside its records, and a report. Documents that give
        no item give no record; they are counted.

    Raises
    ------
    InputError
        If no document gives an item.

    Examples
    --------
    >>> found = extract(["The patient has a fever.", "", "A fever, and coughs."])
    >>> found.table.to_rows(), found.names, found.report.met.empty
    ([['cough', 'fever'], ['fever', 'patient']], ('3', '1'), 1)
    """
    if workers is not None and workers < 1:
        raise ParameterError(f"workers is {workers}", fix="use 1 or more")
    extractor = Extractor(method=method, tagger=tagger, stop_words=tuple(stop_words))
    met = documents.counts if isinstance(documents, Documents) else DocumentCounts()
    made = _Made()
    batches = _batches(_name_documents(documents, met))
    ahead, more = _enough(batches)
    wanted = workers or cores()
    processes = wanted > 1 and more and bool(sys.executable)
    _run(chain(ahead, batches), extractor, wanted if processes else 0, made, progress)
    if not made.names:
        raise InputError(
            f"none of {met.documents:,} documents gives an item",
            fix="check that they hold English text",
        )
    table = made.rows.finish().table
    names = made.names
    if not keep_order:
        order = table.canonical_order()
        table, names = table.take(order), [names[i] for i in order.tolist()]
    problems = documents.problems if isinstance(documents, Documents) else None
    report = ExtractionReport(
        method=method,
        met=met,
        without_items=made.without_items,
        words=made.words,
        records=len(table),
        items=table.n_items,
        occurrences=len(table.items),
        skipped=problems.skipped if problems else [],
        skipped_count=problems.count if problems else 0,
    )
    return Extraction(table=table, names=tuple(names), report=report)


class _Made:
    """Records as they come, in order."""

    def __init__(self) -> None:
        self.rows = RowCollector()
        self.names: list[str] = []
        self.words = 0
        self.documents = 0
        self.without_items = 0

    def add(self, batch: Batch, found: dict[str, Any]) -> None:
        self.words += found["words"]
        self.documents += len(batch)
        for document, items in zip(batch, found["rows"], strict=True):
            if items:
                self.rows.add(items)
                self.names.append(document.name)
            else:
                self.without_items += bool(document.text)


def _run(
    batches: Iterator[Batch],
    extractor: Extractor,
    processes: int,
    made: _Made,
    progress: Progress | None,
) -> None:
    """Extract all batches, here or in processes, and add what they give in their order."""
    kept, sent = tee(batches)
    texts = ([document.text for document in batch] for batch in sent)
    with closing(extract_batches(extractor, texts, processes)) as results:
        for found in results:
            made.add(next(kept), found)
            if progress is not None:
                progress("extracting", made.documents, 0)


def _name_documents(documents: Iterable[Document | str], met: DocumentCounts) -> Iterator[Document]:
    """Yield documents; plain texts are counted here and called by their number."""
    for number, given in enumerate(documents, 1):
        document = Document(name=str(number), text=given) if isinstance(given, str) else given
        if not isinstance(documents, Documents):
            met.documents += 1
            met.empty += not document.text.strip()
        yield document


def _batches(documents: Iterator[Document]) -> Iterator[Batch]:
    batch: Batch = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document.text) + 1
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _enough(batches: Iterator[Batch]) -> tuple[list[Batch], bool]:
    """Read ahead until there is work worth a process; tell whether there is."""
    ahead: list[Batch] = []
    size = 0
    for batch in batches:
        ahead.append(batch)
        size += sum(len(document.text) for document in batch)
        if size >= WORTH_IT and len(ahead) > 1:
            return ahead, True
    return ahead, False


if __name__ == "__main__":
    try:
        serve(sys.stdin, sys.stdout)
    except BrokenPipeError:  # whoever asked is gone
        sys.exit(1)
