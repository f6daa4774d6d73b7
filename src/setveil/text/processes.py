"""Worker processes that extract items side by side: tagging is pure Python and holds its lock."""

from __future__ import annotations

import json
import os
import queue
import subprocess
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from setveil.core.errors import ParameterError, SetveilError
from setveil.engine.child_process import python_command, python_environment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from setveil.text.extractor import Extractor


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
                self._all.append(_started())
            for process in self._all:  # all start at once, then each is waited for
                _begin(process, self._settings)
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
        waiting: deque[Future[dict[str, Any]]] = deque()
        # A thread per process waits for its answers; the batches are read in this thread.
        pool = ThreadPoolExecutor(self._workers)
        try:
            for batch in batches:
                waiting.append(pool.submit(self._one, batch))
                if len(waiting) >= 2 * self._workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _one(self, texts: list[str]) -> dict[str, Any]:
        process = self._idle.get()
        try:
            return _asked(process, texts)
        finally:
            self._idle.put(process)


def _begin(process: subprocess.Popen[bytes], settings: dict[str, Any]) -> None:
    answer = _asked(process, settings)
    if "what" in answer:
        raise ParameterError(answer["what"], fix=answer["fix"])


def _started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  (our own code)
        python_command("setveil.text.worker"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=python_environment(PYTHONIOENCODING="utf-8"),
        start_new_session=True,  # Ctrl-C is for us: we end the processes
    )


def _asked(process: subprocess.Popen[bytes], request: object) -> dict[str, Any]:
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
