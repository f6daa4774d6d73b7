"""What every record that holds some known items holds as well, in every world of chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from setveil.core.arrays import BoolArray, Int32Array, Int64Array


class Places(NamedTuple):
    """Where each item can stand: one place for each cluster that has it, by item, then cluster.

    Parameters
    ----------
    starts
        The places of item `i` are ``starts[i]`` to ``starts[i + 1]``.
    cluster, chunk
        The cluster of each place, and the chunk, -1 for the term chunk.
    first, last
        The sub-records of that chunk that hold the item, as a range of `holders`.
    full
        Whether all records hold the item in every world.
    holders
        For each item the sub-records that hold it, ascending.
    """

    starts: Int64Array
    cluster: Int64Array
    chunk: Int64Array
    first: Int64Array
    last: Int64Array
    full: BoolArray
    holders: Int64Array


class Clusters(NamedTuple):
    """What has to be known of clusters to tell whether no record stays empty.

    Parameters
    ----------
    bare
        Which have no term chunk.
    spare
        By how many the sub-records of its own chunks outnumber the records of a cluster.
    filled
        Whether all clusters of each cluster's block can fill their records without shared chunks.
    block_first, block_last
        The clusters that shared chunks tie to each, itself included.
    shared_first, shared_last
        The shared chunks of each cluster's block, as a range of the arrays below.
    begin, end, rows, number
        Clusters, sub-records and number of each shared chunk; inner ones first in each block.
    own_chunks
        How many chunks are not shared; they have the numbers below that.
    full_starts, full_items
        The items that all records of a cluster hold in every world.
    """

    bare: BoolArray
    spare: Int64Array
    filled: BoolArray
    block_first: Int64Array
    block_last: Int64Array
    shared_first: Int64Array
    shared_last: Int64Array
    begin: Int64Array
    end: Int64Array
    rows: Int64Array
    number: Int64Array
    own_chunks: int
    full_starts: Int64Array
    full_items: Int32Array


@compiled
def _find(values: Int64Array, low: int, high: int, wanted: int) -> int:
    """Return where a value stands in an ascending part of an array, or -1."""
    # Binary search.
    end = high
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    if low < end and values[low] == wanted:
        return low
    return -1


@compiled
def _fits(clusters: Clusters, c: int, met: Int64Array, n_met: int, lacking: Int64Array) -> bool:
    """Tell whether a record of a cluster can hold pieces of these chunks in some world.

    Only numbers count. All other records must be filled: by sub-records of their own chunks, by
    terms, or by shared sub-records, of which those of inner joint clusters go first, since
    nothing else can be done with them. `lacking` is scratch, one number for each cluster.
    """
    # A record takes one sub-record of each of these chunks. Those of own chunks are then missing
    # elsewhere.
    own = 0
    for i in range(n_met):
        own += met[i] < clusters.own_chunks
    # The record itself is filled by the first of them, so one is not missing.
    needed = max(own - 1 - clusters.spare[c], 0) if clusters.bare[c] else 0
    # The usual case needs no count of the block.
    if needed == 0 and clusters.filled[c]:
        return True
    total = 0
    for other in range(clusters.block_first[c], clusters.block_last[c]):
        lacking[other] = max(-clusters.spare[other], 0) if clusters.bare[other] else 0
        if other == c:
            lacking[other] = needed
        total += lacking[other]
    # Greedy, inner chunks first: they reach a part of the clusters that outer ones reach.
    for s in range(clusters.shared_first[c], clusters.shared_last[c]):
        if total == 0:
            break
        free = clusters.rows[s]
        for i in range(n_met):
            free -= met[i] == clusters.number[s]
        for other in range(clusters.begin[s], clusters.end[s]):
            used = min(free, lacking[other])
            lacking[other] -= used
            free -= used
            total -= used
    return total == 0


@compiled
def _match(
    places: Places,
    known: Int32Array,
    at: Int64Array,
    met: Int64Array,
    matched: Int64Array,
    ends: Int64Array,
) -> int:
    """Collect for each chunk that holds known items the sub-records that hold all of these.

    `at` are the places of the known items in one cluster. The chunks go to `met`, their
    sub-records one after the other to `matched`, and `ends` says where those of each end. Returns
    the number of chunks, or -1 if one of them has no such sub-record.
    """
    n_met, n = 0, 0
    for j in range(len(known)):
        q = places.chunk[at[j]]
        if q < 0:
            continue
        # A chunk is matched once, at the first known item in it; the others of the chunk are asked
        # there.
        leads = True
        for i in range(n_met):
            leads = leads and met[i] != q
        if not leads:
            continue
        before = n
        for r in range(places.first[at[j]], places.last[at[j]]):
            row = places.holders[r]
            holds = True
            for i in range(j + 1, len(known)):
                p = at[i]
                beside = places.chunk[p] == q
                if beside and _find(places.holders, places.first[p], places.last[p], row) < 0:
                    holds = False
                    break
            if holds:
                matched[n] = row
                n += 1
        # The known items of this chunk are in no sub-record together.
        if n == before:
            return -1
        met[n_met] = q
        ends[n_met] = n
        n_met += 1
    return n_met


@compiled
def _is_certain(
    places: Places,
    y: int,
    c: int,
    met: Int64Array,
    n_met: int,
    matched: Int64Array,
    ends: Int64Array,
) -> bool:
    """Tell whether an item is in every record of a cluster that holds the known items.

    It is if all records hold it, or all sub-records that hold the known items of its chunk. No
    world needs it otherwise: what is free to stand elsewhere can, and fills other records there.
    """
    p = _find(places.cluster, places.starts[y], places.starts[y + 1], c)
    if p < 0:
        return False
    if places.full[p]:
        return True
    # The sub-records of the i-th chunk are matched[start:ends[i]].
    start = 0
    for i in range(n_met):
        if met[i] == places.chunk[p]:
            for r in range(start, ends[i]):
                if _find(places.holders, places.first[p], places.last[p], matched[r]) < 0:
                    return False
            return True
        start = ends[i]
    return False


@compiled
def _candidates(
    places: Places,
    clusters: Clusters,
    row_offsets: Int64Array,
    row_items: Int32Array,
    c: int,
    n_met: int,
    matched: Int64Array,
    ends: Int64Array,
    into: Int32Array,
) -> int:
    """Collect the items that may be certain in a cluster: those of all, and of a first match."""
    n = 0
    for f in range(clusters.full_starts[c], clusters.full_starts[c + 1]):
        into[n] = clusters.full_items[f]
        n += 1
    start = 0
    for i in range(n_met):
        # What is certain is in every match, so in the first one too.
        row = matched[start]
        for o in range(row_offsets[row], row_offsets[row + 1]):
            y = row_items[o]
            p = _find(places.cluster, places.starts[y], places.starts[y + 1], c)
            if not places.full[p]:
                into[n] = y
                n += 1
        start = ends[i]
    return n


@compiled
def certain_items(
    places: Places,
    clusters: Clusters,
    row_offsets: Int64Array,
    row_items: Int32Array,
    widest: int,
    set_offsets: Int64Array,
    set_items: Int32Array,
) -> tuple[BoolArray, Int64Array, Int32Array]:
    """Return for each set of items whether a record can hold it, and what each such record holds.

    Parameters
    ----------
    places, clusters
        The release, indexed.
    row_offsets, row_items
        Its sub-records.
    widest
        Most sub-records that a chunk has.
    set_offsets, set_items
        The known sets, none of them empty; -1 stands for an item that is not published.

    Returns
    -------
    tuple of arrays
        Whether a set is possible, and the certain items of each in compressed rows. Items of the
        set itself are not among them.
    """
    n_sets, n_clusters = len(set_offsets) - 1, len(clusters.bare)
    possible = np.zeros(n_sets, dtype=np.bool_)
    out_offsets = np.zeros(n_sets + 1, dtype=np.int64)
    out = np.empty(n_sets + 16, dtype=np.int32)
    longest = 1
    for s in range(n_sets):
        longest = max(longest, set_offsets[s + 1] - set_offsets[s])
    at, met = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    ends = np.empty(longest, dtype=np.int64)
    matched = np.empty(longest * widest, dtype=np.int64)
    common = np.empty(len(places.starts), dtype=np.int32)
    lacking = np.zeros(n_clusters, dtype=np.int64)
    n_out = 0
    for s in range(n_sets):
        known = set_items[set_offsets[s] : set_offsets[s + 1]]
        # n_common is -1 until a record can hold the set; then how many items may still be certain.
        rarest, n_common = known[0], -1
        for x in known:
            if x < 0:
                rarest = x
                break
            if places.starts[x + 1] - places.starts[x] < (
                places.starts[rarest + 1] - places.starts[rarest]
            ):
                rarest = x
        low, high = (0, 0) if rarest < 0 else (places.starts[rarest], places.starts[rarest + 1])
        # Only clusters with the rarest of the known items can hold them all.
        for p in range(low, high):
            c = places.cluster[p]
            everywhere = True
            for j in range(len(known)):
                x = known[j]
                at[j] = _find(places.cluster, places.starts[x], places.starts[x + 1], c)
                if at[j] < 0:
                    everywhere = False
                    break
            if not everywhere:
                continue
            n_met = _match(places, known, at, met, matched, ends)
            if n_met < 0 or not _fits(clusters, c, met, n_met, lacking):
                continue
            if n_common < 0:
                n_common = _candidates(
                    places, clusters, row_offsets, row_items, c, n_met, matched, ends, common
                )
            # Certain is what is certain in every cluster: the list only shrinks.
            kept = 0
            for i in range(n_common):
                y = common[i]
                fresh = _is_certain(places, y, c, met, n_met, matched, ends)
                for x in known:
                    fresh = fresh and x != y
                if fresh:
                    common[kept] = y
                    kept += 1
            n_common = kept
            if n_common == 0:
                break  # possible, and nothing more can become certain
        possible[s] = n_common >= 0
        n_common = max(n_common, 0)
        # Twice the room until it suffices.
        while n_out + n_common > len(out):
            out = np.concatenate((out, np.empty_like(out)))
        out[n_out : n_out + n_common] = np.sort(common[:n_common])
        n_out += n_common
        out_offsets[s + 1] = n_out
    return possible, out_offsets, out[:n_out]


# --- placing pieces at random --------------------------------------------------------------------


@compiled
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
