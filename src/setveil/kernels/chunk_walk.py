"""A random walk through the placements of the pieces of a disassociated release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from setveil.kernels.types import Int64Array


@njit(cache=True, nogil=True)
def walk(
    slot: Int64Array,
    held: Int64Array,
    bag_of: Int64Array,
    bag_low: Int64Array,
    bag_map: Int64Array,
    at: Int64Array,
    pieces: Int64Array,
    goals: Int64Array,
) -> None:
    """Move one piece after the other, as long as no slot becomes empty; changes what it is given.

    Parameters
    ----------
    slot
        Where each piece is.
    held
        How many pieces are in each slot.
    bag_of
        The bag of each piece: pieces of one bag are in different slots.
    bag_low
        The first slot of each bag's run of slots.
    bag_map, at
        Slot `s` of bag `b` holds the piece ``at[bag_map[b] + s - bag_low[b]]`` of the bag, -1 for
        none. Bags of one piece have no such map; their `bag_map` is -1.
    pieces, goals
        For each step the piece that moves, and the slot that it goes to.
    """
    for step in range(len(pieces)):
        piece, there = pieces[step], goals[step]
        here = slot[piece]
        if here == there:
            continue
        bag = bag_of[piece]
        mapped = bag_map[bag] >= 0
        base = bag_map[bag] - bag_low[bag]
        other = at[base + there] if mapped else np.int64(-1)
        if other < 0:
            # Invariant: held[s] >= 1 for every slot. A piece that is alone stays where it is.
            if held[here] == 1:
                continue
            held[here] -= 1
            held[there] += 1
        else:
            # Two pieces of one bag change places, so that no slot has two of them.
            slot[other] = here
        if mapped:
            at[base + here] = other
            at[base + there] = piece
        slot[piece] = there
