"""An engine that treats work as a cluster would: it finds faults without a cluster."""

from __future__ import annotations

import pickle
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from setveil.engine.base import Chunk, GroupKey, Record, Result

T = TypeVar("T")


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
