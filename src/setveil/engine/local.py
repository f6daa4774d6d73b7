"""The engine of one machine: threads, since kernels release the interpreter's lock."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from setveil.engine.base import Chunk, GroupKey, Record, Result


@dataclass(frozen=True, kw_only=True)
class Local:
    """Run pieces of work in threads, a few ahead of the merging, in the order given.

    Parameters
    ----------
    workers
        Number of threads; None takes one per core.

    Examples
    --------
    >>> engine = Local(workers=2)
    >>> engine.map_reduce([[1, 2], [3], [4, 5]], sum, lambda a, b: a + b)
    15
    >>> sorted(engine.group_map(["fig", "flax", "gum"], lambda w: w[0], lambda k, ws: (k, len(ws))))
    [('f', 2), ('g', 1)]
    """

    workers: int | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise ParameterError(f"workers is {self.workers}", fix="use 1 or more")

    def map_reduce(
        self,
        chunks: Iterable[Chunk],
        function: Callable[[Chunk], Result],
        merge: Callable[[Result, Result], Result],
    ) -> Result:
        """Apply `function` to each chunk and merge the results in order."""
        results = self._each(((chunk,) for chunk in chunks), function)
        try:
            merged = next(results)
        except StopIteration:
            raise ParameterError("there is nothing to map over", fix="give a chunk") from None
        for result in results:
            merged = merge(merged, result)
        return merged

    def group_map(
        self,
        records: Iterable[Record],
        key: Callable[[Record], GroupKey],
        function: Callable[[GroupKey, list[Record]], Result],
    ) -> Iterator[Result]:
        """Yield ``function(key, records)`` per group, groups in the order they appear."""
        groups: dict[GroupKey, list[Record]] = {}
        for record in records:
            groups.setdefault(key(record), []).append(record)
        yield from self._each(groups.items(), function)

    def _each(
        self, calls: Iterable[tuple[object, ...]], function: Callable[..., Result]
    ) -> Iterator[Result]:
        """Yield the results in order; at most two calls per worker wait at a time."""
        workers = self.workers or os.cpu_count() or 1
        waiting: deque[Future[Result]] = deque()
        pool = ThreadPoolExecutor(workers)
        try:
            for arguments in calls:
                waiting.append(pool.submit(function, *arguments))
                if len(waiting) >= 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
