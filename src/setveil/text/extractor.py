"""What turns one text into the items of one record, and processes that do so side by side.

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
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TextIO

from setveil.core.errors import ParameterError, SetveilError
from setveil.core.threads import map_ahead
from setveil.engine.processes import python_command, python_environment
from setveil.text.noun_phrases import extend_stop_words, noun_phrases, nouns, tokens
from setveil.text.tagging import find_tagger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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

    >>> from setveil.text.extractor import Extractor
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
        python_command("setveil.text.extractor"),
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


if __name__ == "__main__":
    try:
        serve(sys.stdin, sys.stdout)
    except BrokenPipeError:  # whoever asked is gone
        sys.exit(1)
