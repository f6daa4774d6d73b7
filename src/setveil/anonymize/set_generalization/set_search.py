"""A search for a recoding that suppresses fewer items than the greedy choice does."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from setveil.release.base import Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from setveil.anonymize.set_generalization.set_recoding import Breach, SetRecoding

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
        made, step = _made(state.recoding, move)
        if made.suppressed >= below or made.group.tobytes() in seen:
            continue
        seen.add(made.group.tobytes())
        if made.next_broken() is None:
            best, log, below = made, [*state.log, step], made.suppressed
        else:
            stack.append(State(made, [*state.log, step], _moves(made)))
    return Search(best, log, exhausted=True)


def _made(recoding: SetRecoding, move: tuple[int, int]) -> tuple[SetRecoding, Step]:
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
