"""A recoding of items into sets, step by step, and the constraints that it still breaks."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import log2
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from setveil.anonymize.set_generalization.cover_kernels import (
    common_bits,
    join,
    rare_pattern,
    record_patterns,
    shared_supports,
    tid_bits,
)
from setveil.core.errors import InfeasibleError
from setveil.release.base import Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.core.records import Records, Rows

Itemsets = tuple[tuple[str, ...], ...]
"""Privacy constraints: items by name, sorted."""

Image = tuple[int, ...]
"""The generalized items that stand for a privacy constraint, ascending."""

Objective = Literal["ul_per_gain", "ul_gaining", "ul"]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)

NAMED = 12
"""How many members of a generalized item a log names."""

MOST_BYTES = 4 << 30
"""Memory that the records of all items, one bit each, may take."""


class Breach(NamedTuple):
    """Why an image breaks its constraint: a part of it that too few records hold.

    `support` is that of the whole image, which may be 0; `held` that of the part.
    """

    support: int
    part: Image
    held: int


class Merger(NamedTuple):
    """What a generalized item would be joined with, and what that costs; the least is best."""

    cost: tuple[bool, Fraction]
    other: int
    group: int


@dataclass(kw_only=True, eq=False)
class SetRecoding:
    """Generalized items with their records, and the images of constraints that are broken.

    Items are numbered by name, and a generalized item has the number of its first member. So
    whatever is decided by number is decided by content, not by the order of the input.

    Parameters
    ----------
    names
        The items that occur.
    utility
        For each item the number of its utility constraint.
    k
        Least number of records that hold a part of a constraint, unless none does.
    """

    names: list[str]
    utility: Int64Array
    k: int
    rarest_first: bool = False
    bits: npt.NDArray[np.uint64]
    supports: Int64Array
    sizes: Int64Array = field(init=False)
    alive: npt.NDArray[np.bool_] = field(init=False)
    members: dict[int, list[int]] = field(init=False)
    group: Int64Array = field(init=False)
    broken: dict[Image, Breach] = field(default_factory=dict)
    _using: dict[int, set[Image]] = field(default_factory=dict)
    _queue: list[tuple[int, Image]] = field(default_factory=list)
    _naming: dict[int, list[Image]] = field(default_factory=dict)
    _single: dict[int, tuple[npt.NDArray[np.uint64], int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = len(self.names)
        self.sizes = np.ones(n, dtype=np.int64)
        self.alive = np.ones(n, dtype=bool)
        self.members = {i: [i] for i in range(n)}
        self.group = np.arange(n, dtype=np.int64)  # of each item; -1 once it is suppressed

    @classmethod
    def of(
        cls,
        table: Records,
        rows: Rows,
        privacy: Iterable[Iterable[str]],
        utility: Int64Array,
        k: int,
        *,
        rarest_first: bool = False,
    ) -> SetRecoding:
        """Start with every item by itself.

        `rows` are the records of `table`. Where all constraints are single items, those with an
        item that fewer than `k` records hold suffice: only such an item is ever joined, and how
        many records hold it or another follows from how many hold each, and both.
        """
        supports = table.supports()
        used = np.flatnonzero(supports)
        n_rows = len(rows.offsets) - 1
        size = len(used) * ((n_rows + 63) // 64) * 8
        if size > MOST_BYTES:
            raise InfeasibleError(
                f"{n_rows:,} records of {len(used):,} items need {size / 2**30:.0f} GiB as bits",
                fix="anonymize the records in parts, or leave out items",
            )
        place = np.full(len(supports), -1, dtype=np.int32)
        place[used] = np.arange(len(used))
        recoding = cls(
            names=[table.vocabulary[i] for i in used.tolist()],
            utility=utility[used],
            k=k,
            rarest_first=rarest_first,
            bits=tid_bits(rows.offsets, place[rows.items], len(used)),
            supports=supports[used],
        )
        for itemset in privacy:
            numbers = (int(place[table.vocabulary.number(item)]) for item in itemset)
            image = tuple(sorted(set(numbers)))
            for item in image:
                recoding._naming.setdefault(item, []).append(image)
            recoding._add(image)
        return recoding

    def copy(self) -> SetRecoding:
        """Return a recoding that goes its own way from here."""
        twin = replace(
            self,
            bits=self.bits.copy(),
            supports=self.supports.copy(),
            utility=self.utility.copy(),
            broken=self.broken.copy(),
            _using={group: images.copy() for group, images in self._using.items()},
            _queue=self._queue.copy(),
            _single=self._single.copy(),
        )
        twin.sizes, twin.alive, twin.group = self.sizes.copy(), self.alive.copy(), self.group.copy()
        twin.members = self.members.copy()
        return twin

    # --- what is broken -----------------------------------------------------------------------

    def next_broken(self) -> Image | None:
        """Return the broken image of greatest support, or of least where the rarest come first.

        Ties go to the first by content. None where all constraints are kept.
        """
        while self._queue:
            key, image = self._queue[0]
            breach = self.broken.get(image)
            if breach is not None and self._key(breach) == key:
                return image
            heapq.heappop(self._queue)
        return None

    def breach(self, image: Image) -> Breach | None:
        """Return how an image breaks its constraint; None if it does not.

        If a part of the image is too rare, then so is all that a record with this part holds of
        the image: only what records hold need be looked at. Of several such parts it is the one
        that most records hold, the cheapest to mend.
        """
        if len(image) == 1:
            support = int(self.supports[image[0]])
            return Breach(support, image, support) if 0 < support < self.k else None
        patterns = record_patterns(self.bits, np.array(image, dtype=np.int64))
        pattern, support = rare_pattern(patterns, self.k)
        if not support:
            return None
        whole = np.uint64((1 << len(image)) - 1)
        held = len(patterns) - int(np.searchsorted(patterns, whole))
        part = tuple(g for place, g in enumerate(image) if int(pattern) >> place & 1)
        return Breach(held, part, support)

    def _key(self, breach: Breach) -> int:
        return breach.support if self.rarest_first else -breach.support

    def _add(self, image: Image) -> None:
        if not image or image in self._using.get(image[0], ()):
            return
        for group in image:
            self._using.setdefault(group, set()).add(image)
        breach = self.breach(image)
        if breach is not None:
            self.broken[image] = breach
            heapq.heappush(self._queue, (self._key(breach), image))

    def _take_out(self, group: int) -> set[Image]:
        """Forget and return the images that use a generalized item."""
        images = self._using.pop(group, set())
        for image in images:
            self.broken.pop(image, None)
            for other in image:
                if other != group:
                    self._using[other].discard(image)
        return images

    # --- what can be done ---------------------------------------------------------------------

    def partners(self, group: int) -> Int64Array:
        """Return the other generalized items of the same utility constraint."""
        same = self.alive & (self.utility == self.utility[group])
        same[group] = False
        return np.flatnonzero(same)

    def best_merger(self, group: int, breach: Breach, objective: Objective) -> Merger | None:
        """Return what is best to join a generalized item with; None if there is nothing.

        ``"ul"``: least utility loss of the union, (2^size - 1) · support. ``"ul_per_gain"``: that
        divided by the gain, the records that come to show the part that is too rare, up to the k
        that it needs. ``"ul_gaining"``: least utility loss of the unions that gain any. With the
        last two, unions that gain nothing come last. Ties go to the first by content.
        """
        others = self.partners(group)
        if not len(others):
            return None
        unions, gains = self._unions(group, others, breach)
        usable = gains > 0
        gaining = objective != "ul" and bool(usable.any())
        divide = gaining and objective == "ul_per_gain"
        if gaining:
            others, unions, gains = others[usable], unions[usable], gains[usable]
        # Among equal sizes the powers of two cancel. The quotients are those of numbers far below
        # 2^26, so that different ones differ as floats too.
        quotients = unions / gains if divide else unions.astype(np.float64)
        sizes = self.sizes[others]
        found = []
        for size in np.unique(sizes).tolist():
            inside = np.flatnonzero(sizes == size)
            at = inside[np.argmin(quotients[inside])]
            loss = ((1 << size + int(self.sizes[group])) - 1) * int(unions[at])
            cost = Fraction(loss, int(gains[at]) if divide else 1)
            late = objective != "ul" and not gaining
            found.append(Merger((late, cost), int(others[at]), group))
        return min(found)

    def mergers(self, group: int, breach: Breach) -> list[Merger]:
        """Return all unions of a generalized item, each with its utility loss per record gained."""
        others = self.partners(group)
        unions, gains = self._unions(group, others, breach)
        sizes = (self.sizes[others] + self.sizes[group]).tolist()
        return [
            Merger((gain <= 0, Fraction(((1 << size) - 1) * union, max(gain, 1))), other, group)
            for other, size, union, gain in zip(
                others.tolist(), sizes, unions.tolist(), gains.tolist(), strict=True
            )
        ]

    def _unions(
        self, group: int, others: Int64Array, breach: Breach
    ) -> tuple[Int64Array, Int64Array]:
        """Return the supports of unions with others, and what the part that is too rare gains."""
        rest = [g for g in breach.part if g != group]
        among = common_bits(self.bits, np.array(rest, dtype=np.int64))
        shared, held = shared_supports(self.bits, group, others, among)
        unions = self.supports[group] + self.supports[others] - shared
        held = held if rest else unions
        if group not in breach.part:
            return unions, np.zeros(len(others), dtype=np.int64)
        for other in rest:  # a union within the part makes it shorter
            at = np.flatnonzero(others == other)
            if len(at):
                left = np.array([g for g in rest if g != other], dtype=np.int64)
                shorter = common_bits(self.bits, left)
                held[at] = shared_supports(self.bits, group, others[at], shorter)[1]
        return unions, np.minimum(held, self.k) - breach.held

    def merge(self, group: int, other: int) -> int:
        """Join two generalized items, see which constraints that breaks or mends, and name it."""
        kept, gone = min(group, other), max(group, other)
        self._single.setdefault(kept, (self.bits[kept].copy(), int(self.supports[kept])))
        self.supports[kept] += self.supports[gone] - join(self.bits, kept, gone)
        self.sizes[kept] += self.sizes[gone]
        self.alive[gone] = False
        self.group[self.members[gone]] = kept
        self.members[kept] = sorted(self.members[kept] + self.members.pop(gone))
        for image in self._take_out(kept) | self._take_out(gone):
            self._add(tuple(sorted({kept if g == gone else g for g in image})))
        return kept

    def suppress(self, group: int) -> None:
        """Publish no member of a generalized item."""
        self.alive[group] = False
        self.group[self.members[group]] = -1
        for image in self._take_out(group):
            self._add(tuple(g for g in image if g != group))

    def dissolve(self, group: int) -> None:
        """Publish the members of a generalized item as they are again, and never join them.

        This is for a generalized item that has taken in all of its utility constraint and is still
        too rare.
        """
        self._take_out(group)
        members = self.members.pop(group)
        for item in members:
            if item in self._single:
                self.bits[item], self.supports[item] = self._single.pop(item)
        self.sizes[members], self.alive[members], self.group[members] = 1, True, members
        self.members |= {item: [item] for item in members}
        self.utility[members] = -1 - np.array(members)  # a number that no other item has
        for itemset in {each for item in members for each in self._naming.get(item, ())}:
            groups = self.group[list(itemset)]
            self._add(tuple(np.unique(groups[groups >= 0]).tolist()))

    # --- what comes out -----------------------------------------------------------------------

    def title(self, group: int) -> str:
        """Return the members of a generalized item as a reader sees them."""
        members = self.members[group]
        names = [self.names[i] for i in members[:NAMED]]
        more = f", … ({len(members)})" if len(members) > NAMED else ""
        return names[0] if len(members) == 1 else f"({', '.join(names)}{more})"

    def in_words(self, breach: Breach) -> str:
        """Say why something must be done about a broken constraint."""
        together = " with ".join(self.title(group) for group in breach.part)
        return f"{together}: {breach.held} of {self.k} records"

    def step(self, group: int, reason: str) -> Step:
        """Return the entry of a log for a generalized item that was just made.

        Its cost is the logarithm to base 2 of its utility loss, up to a constant.
        """
        loss = ((1 << int(self.sizes[group])) - 1) * int(self.supports[group])
        return Step(action="join", subject=self.title(group), reason=reason, cost=log2(loss))

    def group_of(self, table: Records) -> Int32Array:
        """Return for each item of the table its generalized item, or -1."""
        group_of = np.full(len(table.vocabulary), -1, dtype=np.int32)
        for group in np.flatnonzero(self.alive).tolist():
            for item in self.members[group]:
                group_of[table.vocabulary.number(self.names[item])] = group
        return group_of

    @property
    def suppressed(self) -> int:
        """How many items are published nowhere."""
        return len(self.names) - int(self.sizes[self.alive].sum())

    @property
    def generalized(self) -> int:
        """How many generalized items have several members."""
        return int(np.count_nonzero(self.alive & (self.sizes > 1)))


STATES = 4_000
"""How many recodings a search looks at before it gives up."""

SEARCH_BYTES = 1 << 28
"""Memory that the recodings on the way to one of them may take."""


class Search(NamedTuple):
    """The recoding with fewest suppressed items and its log, and whether all were tried."""

    recoding: SetRecoding | None
    log: list[Step]
    exhausted: bool


class State(NamedTuple):
    """A recoding on the way, how it was made, and what can be done next."""

    recoding: SetRecoding
    log: list[Step]
    moves: Iterator[tuple[int, int]]


def search_recoding(start: SetRecoding, *, enough: int, below: int) -> Search:
    """Look for a recoding with fewer than `below` suppressed items that keeps the constraints.

    The search ends at the first with `enough` or fewer, or when all have been tried. It is
    complete: where a part of a constraint is too rare, every recoding that keeps the constraint
    joins one of the part's generalized items with another, or suppresses it; and an item that it
    suppresses need not be joined before. So only single items are suppressed here. Recodings that
    several ways lead to are looked at once.

    Parameters
    ----------
    start
        Every item by itself; not changed.
    enough
        The number of suppressed items that ends the search.
    below
        Recodings with this many or more are of no use.
    """
    best: SetRecoding | None = None
    log: list[Step] = []
    if min(len(start.names) + 1, STATES) * start.bits.nbytes > SEARCH_BYTES:
        return Search(None, log, exhausted=False)
    seen = {start.group.tobytes()}
    stack = [State(start, [], _moves(start))]
    while stack and below > enough:
        state = stack[-1]
        move = next(state.moves, None)
        if move is None:
            stack.pop()
            continue
        if len(seen) >= STATES:
            return Search(best, log, exhausted=False)
        made, step = _apply(state.recoding, move)
        if made.suppressed >= below or made.group.tobytes() in seen:
            continue
        seen.add(made.group.tobytes())
        if made.next_broken() is None:
            best, log, below = made, [*state.log, step], made.suppressed
        else:
            stack.append(State(made, [*state.log, step], _moves(made)))
    return Search(best, log, exhausted=True)


def _apply(recoding: SetRecoding, move: tuple[int, int]) -> tuple[SetRecoding, Step]:
    """Return the recoding after a union, or after a suppression (no partner, -1)."""
    group, other = move
    made = recoding.copy()
    reason = made.in_words(_breach(made))
    if other < 0:
        made.suppress(group)
        return made, Step(action="suppress", subject=made.title(group), reason=reason)
    return made, made.step(made.merge(group, other), reason)


def _breach(recoding: SetRecoding) -> Breach:
    image = recoding.next_broken()
    if image is None:
        raise ValueError("no constraint is broken")
    return recoding.broken[image]


def _moves(recoding: SetRecoding) -> Iterator[tuple[int, int]]:
    """Yield what can mend the part that is too rare: the cheapest unions first, then the rest."""
    breach = _breach(recoding)
    mergers = [m for group in breach.part for m in recoding.mergers(group, breach)]
    yield from ((merger.group, merger.other) for merger in sorted(mergers))
    alone = [group for group in breach.part if recoding.sizes[group] == 1]
    yield from ((group, -1) for group in sorted(alone, key=lambda g: (recoding.supports[g], g)))
