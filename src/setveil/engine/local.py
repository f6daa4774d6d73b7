"""What an engine is, and the engines of one machine.

:class:`Local` runs pieces of work in threads, since kernels release the interpreter's lock;
:class:`Loopback` treats them as a cluster would, and finds faults without one.
"""

from __future__ import annotations

import os
import pickle
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from setveil.core.errors import ParameterError
from setveil.core.threads import map_ahead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Chunk = TypeVar("Chunk")
Record = TypeVar("Record")
GroupKey = TypeVar("GroupKey")
Result = TypeVar("Result")
T = TypeVar("T")


class Engine(Protocol):
    """Two verbs over independent pieces of work; the same result on every engine.

    Functions must not depend on anything but their arguments, and `merge` must be associative
    and commutative: an engine may run them in another process and merge in any order.
    """

    def map_reduce(
        self,
        chunks: Iterable[Chunk],
        function: Callable[[Chunk], Result],
        merge: Callable[[Result, Result], Result],
    ) -> Result:
        """Apply `function` to each chunk and merge the results; at least one chunk is needed."""
        ...

    def group_map(
        self,
        records: Iterable[Record],
        key: Callable[[Record], GroupKey],
        function: Callable[[GroupKey, list[Record]], Result],
    ) -> Iterator[Result]:
        """Route records by key and yield ``function(key, records)`` per group, in any order."""
        ...


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
        yield from map_ahead(
            lambda arguments: function(*arguments), calls, workers=workers, ahead=2 * workers - 1
        )


def _sent(value: T) -> T:
    """Return what arrives at the other side: a copy that shares nothing."""
    copy: T = pickle.loads(pickle.dumps(value))  # our own value, never a user's file
    return copy


@dataclass(frozen=True, kw_only=True)
class Loopback:
    """Pickle everything, run in random order, merge in random order.

    Whatever depends on the order of pieces, on shared memory or on something that cannot be
    sent shows itself here.

    Parameters
    ----------
    seed
        Of the random order.

    Examples
    --------
    >>> import operator
    >>> Loopback(seed=3).map_reduce([[1, 2], [3], [4, 5]], sum, operator.add)
    15
    """

    seed: int = 0

    def map_reduce(
        self,
        chunks: Iterable[Chunk],
        function: Callable[[Chunk], Result],
        merge: Callable[[Result, Result], Result],
    ) -> Result:
        """Apply `function` to each chunk and merge the results pair by pair, at random."""
        rng = random.Random(self.seed)  # noqa: S311  (an order, not a secret)
        pieces = [_sent(chunk) for chunk in chunks]
        rng.shuffle(pieces)
        results = [_sent(_sent(function)(piece)) for piece in pieces]
        if not results:
            raise ParameterError("there is nothing to map over", fix="give a chunk")
        while len(results) > 1:
            first = results.pop(rng.randrange(len(results)))
            second = results.pop(rng.randrange(len(results)))
            results.append(_sent(_sent(merge)(first, second)))
        return results[0]

    def group_map(
        self,
        records: Iterable[Record],
        key: Callable[[Record], GroupKey],
        function: Callable[[GroupKey, list[Record]], Result],
    ) -> Iterator[Result]:
        """Yield ``function(key, records)`` per group, groups and their records at random."""
        rng = random.Random(self.seed)  # noqa: S311  (an order, not a secret)
        groups: dict[GroupKey, list[Record]] = {}
        for record in records:
            groups.setdefault(_sent(key)(record), []).append(_sent(record))
        for name in sorted(groups, key=lambda _: rng.random()):
            rng.shuffle(groups[name])
            yield _sent(_sent(function)(_sent(name), groups[name]))
