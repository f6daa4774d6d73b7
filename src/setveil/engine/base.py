"""What an engine is: where work on independent pieces runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Chunk = TypeVar("Chunk")
Record = TypeVar("Record")
GroupKey = TypeVar("GroupKey")
Result = TypeVar("Result")


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
