"""The walk of pieces through slots, beside the same walk in plain Python."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from setveil.release.chunk_kernels import walk


def plain_walk(slots, bags, steps):
    """Move pieces as the kernel does, with a dictionary for who is where."""
    slots = list(slots)
    at = {(bag, slot): piece for piece, (bag, slot) in enumerate(zip(bags, slots, strict=True))}
    for piece, there in steps:
        bag, here = bags[piece], slots[piece]
        other = at.get((bag, there))
        if other is None:
            if slots.count(here) == 1:
                continue
            del at[bag, here]
        else:
            at[bag, here], slots[other] = other, here
        at[bag, there], slots[piece] = piece, there
    return slots


@st.composite
def walks(draw):
    """Draw bags with their runs of slots, pieces in distinct slots of each, and steps."""
    width = draw(st.integers(1, 6))
    lows, rooms, bags, slots = [], [], [], []
    for bag in range(draw(st.integers(1, 4))):
        low = draw(st.integers(0, width - 1))
        room = draw(st.integers(1, width - low))
        own = draw(st.lists(st.integers(low, low + room - 1), min_size=1, unique=True))
        lows.append(low)
        rooms.append(room)
        bags += [bag] * len(own)
        slots += own
    steps = []
    for piece in draw(st.lists(st.integers(0, len(bags) - 1), max_size=30)):
        low, room = lows[bags[piece]], rooms[bags[piece]]
        steps.append((piece, draw(st.integers(low, low + room - 1))))
    return width, lows, rooms, bags, slots, steps


@given(walks())
def test_the_walk_is_that_of_plain_python(drawn):
    width, lows, rooms, bags, slots, steps = drawn
    sizes = np.bincount(bags)
    mapped = np.where(sizes > 1, rooms, 0)
    bag_map = np.where(sizes > 1, np.cumsum(mapped) - mapped, -1)
    at = np.full(int(mapped.sum()), -1, dtype=np.int64)
    for piece, (bag, slot) in enumerate(zip(bags, slots, strict=True)):
        if bag_map[bag] >= 0:
            at[bag_map[bag] + slot - lows[bag]] = piece
    found = np.array(slots, dtype=np.int64)
    held = np.bincount(found, minlength=width)
    pieces, goals = np.array(steps, dtype=np.int64).reshape(-1, 2).T.copy()
    walk(found, held, np.array(bags), np.array(lows), bag_map, at, pieces, goals)
    assert found.tolist() == plain_walk(slots, bags, steps)
    assert held.tolist() == np.bincount(found, minlength=width).tolist()
    assert set(slots) <= set(found.tolist())  # no slot became empty
