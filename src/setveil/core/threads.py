"""Work in threads, a few pieces ahead of whoever takes the results; and how work reports progress.

Compiled code runs in each thread at the same time.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

Piece = TypeVar("Piece")
Result = TypeVar("Result")

THREADS = min(os.cpu_count() or 1, 4)
"""Threads that read and sort; more would wait for memory."""


def map_ahead(
    function: Callable[[Piece], Result],
    pieces: Iterable[Piece],
    *,
    workers: int = THREADS,
    ahead: int = THREADS,
) -> Generator[Result]:
    """Yield ``function(piece)`` in the order of the pieces; at most `ahead` wait to be taken.

    Pieces are drawn in the caller's thread, as results are taken. Whoever stops early calls off
    what has not begun.

    >>> list(map_ahead(str.upper, ["a", "b", "c"], workers=2, ahead=1))
    ['A', 'B', 'C']
    """
    waiting: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(workers)
    try:
        for piece in pieces:
            waiting.append(pool.submit(function, piece))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""
