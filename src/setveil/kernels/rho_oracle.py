"""Is there a rule with a given sensitive consequent that is too sure? Decided without 2^|t| sets.

A rule χ → a is too sure when ``no * (records with χ but not a) <= yes * (records with χ and a)``.
The surest rules have closed antecedents: intersections of records that hold `a`, without `a`.
:func:`covering` looks for a certificate that no rule is too sure, :func:`search` goes through the
closed sets that the certificate leaves open.

Rows are over *tokens*: whatever stands in a published record. A token that is not `alive` counts
as removed everywhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from setveil.kernels.types import Int32Array, Int64Array

BoolArray = npt.NDArray[np.bool_]

SAFE, BROKEN, UNDECIDED = range(3)
# What a meter holds: work done so far, work allowed, whether somebody asks to stop, calls so far.
WORK, LIMIT, STOP, CALLS = range(4)


class TokenRows(NamedTuple):
    """Distinct records, longest first, and for each token the records that hold it, in order.

    Tokens ascend within a record; ``marks`` has one bit set per token of the record, so that most
    records that do not contain another are told apart by one operation.
    """

    offsets: Int64Array
    tokens: Int32Array
    weights: Int64Array
    starts: Int64Array
    posts: Int32Array
    marks: Int64Array


class Stamps(NamedTuple):
    """Per record: the call that last reserved some of it, what is left of it, who holds `a`."""

    reserved: Int64Array
    left: Int64Array
    held: Int64Array


@njit(cache=True, nogil=True)
def mark_of(token: int) -> int:
    """Return the bit that stands for a token.

    >>> mark_of(3) == mark_of(3)
    True
    """
    return np.int64(1) << ((np.int64(token) * np.int64(2654435761) >> 16) & 63)


@njit(cache=True, nogil=True)
def holds(rows: TokenRows, row: int, token: int) -> bool:
    """Tell whether a row holds a token (binary search)."""
    low, high = rows.offsets[row], rows.offsets[row + 1]
    while low < high:
        middle = (low + high) >> 1
        if rows.tokens[middle] < token:
            low = middle + 1
        else:
            high = middle
    return low < rows.offsets[row + 1] and rows.tokens[low] == token


@njit(cache=True, nogil=True)
def contains(rows: TokenRows, outer: int, inner: int, alive: BoolArray, a: int) -> bool:
    """Tell whether row `outer` holds every live token of row `inner` but `a`."""
    at, end = rows.offsets[outer], rows.offsets[outer + 1]
    for i in range(rows.offsets[inner], rows.offsets[inner + 1]):
        token = rows.tokens[i]
        if token == a or not alive[token]:
            continue
        while at < end and rows.tokens[at] < token:
            at += 1
        if at == end or rows.tokens[at] != token:
            return False
    return True


@njit(cache=True, nogil=True)
def grown(array: Int32Array, size: int) -> Int32Array:
    """Return an array of at least this size that begins like `array`."""
    if size <= len(array):
        return array
    larger = np.empty(max(size, 2 * len(array)), array.dtype)
    larger[: len(array)] = array
    return larger


@njit(cache=True, nogil=True)
def covering(
    rows: TokenRows,
    alive: BoolArray,
    a: int,
    base: int,
    yes: int,
    no: int,
    full: bool,
    stamps: Stamps,
    meter: Int64Array,
) -> tuple[int, int, Int32Array, Int64Array, BoolArray]:
    """Reserve for each record t with `a` enough records without `a` that contain the rest of t.

    Longest first. If every t gets its own ⌊w · yes / no⌋ + 1, no antecedent (that holds `base`,
    where one is given) is too sure: its records without `a` are more than enough, because the
    reserved sets are disjoint. A t that would get too few even without competition is itself a
    rule that is too sure. Records of which nothing but `a` is left have no antecedent.

    Returns the verdict (UNDECIDED if some t stay without their share), the record that breaks, and
    the records with `a`, how many records without `a` contain each (at least), and which are
    unmet. With `full` these numbers are exact up to what can matter.

    Examples
    --------
    Records {0, 1}, {0}, {0}, token 1 sensitive, ρ = 1/2: one of three zeros is no rule.

    >>> rows = TokenRows(np.array([0, 2, 3]), np.array([0, 1, 0], np.int32), np.array([1, 2]),
    ...                  np.array([0, 2, 3]), np.array([0, 1, 0], np.int32), np.array([-1, -1]))
    >>> stamps = Stamps(np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64))
    >>> meter = np.array([0, 1000, 0, 0])
    >>> int(covering(rows, np.ones(2, np.bool_), 1, -1, 1, 1, False, stamps, meter)[0])
    0
    """
    meter[CALLS] += 1
    call = meter[CALLS]
    first, last = rows.starts[a], rows.starts[a + 1]
    places = np.empty(last - first, np.int32)
    n_places, whole = 0, np.int64(0)
    for at in range(first, last):
        row = rows.posts[at]
        stamps.held[row] = call
        if base >= 0:
            fits = holds(rows, row, base)
        else:
            fits = False
            for i in range(rows.offsets[row], rows.offsets[row + 1]):
                fits |= rows.tokens[i] != a and alive[rows.tokens[i]]
        if fits:
            places[n_places] = row
            whole += rows.weights[row]
            n_places += 1
    places = places[:n_places]
    reach = np.zeros(n_places, np.int64)
    unmet = np.zeros(n_places, np.bool_)
    # A record in more records without `a` than this is in no antecedent that is too sure.
    bound = yes * whole // no
    any_unmet = False
    for place in range(n_places):
        t = places[place]
        rare, least, mark, length = -1, np.int64(-1), np.int64(0), 0
        for i in range(rows.offsets[t], rows.offsets[t + 1]):
            token = rows.tokens[i]
            if token == a or not alive[token]:
                continue
            length += 1
            mark |= mark_of(token)
            support = rows.starts[token + 1] - rows.starts[token]
            if rare < 0 or support < least:
                rare, least = token, support
        quota = yes * rows.weights[t] // no + 1
        found, got = np.int64(0), np.int64(0)
        for at in range(rows.starts[rare], rows.starts[rare + 1]):
            row = rows.posts[at]
            meter[WORK] += 1
            if rows.offsets[row + 1] - rows.offsets[row] < length:
                break  # longest first: no later record can contain this one
            if stamps.held[row] == call or (mark & ~rows.marks[row]) != 0:
                continue
            meter[WORK] += length
            if not contains(rows, row, t, alive, a):
                continue
            if stamps.reserved[row] != call:
                stamps.reserved[row] = call
                stamps.left[row] = rows.weights[row]
            found += rows.weights[row]
            taken = min(stamps.left[row], quota - got)
            stamps.left[row] -= taken
            got += taken
            if found > bound or (got == quota and not full):
                break
        reach[place] = found
        if got < quota:
            if no * found <= yes * rows.weights[t]:
                return BROKEN, t, places, reach, unmet
            unmet[place] = found <= bound
            any_unmet |= unmet[place]
        if meter[STOP] != 0 or meter[WORK] > meter[LIMIT]:
            return UNDECIDED, -1, places[:0], reach[:0], unmet[:0]
    return UNDECIDED if any_unmet else SAFE, -1, places, reach, unmet


@njit(cache=True, nogil=True)
def without(
    rows: TokenRows,
    source: Int32Array,
    needed: Int32Array,
    call: int,
    stamps: Stamps,
    target: Int32Array,
    at: int,
    meter: Int64Array,
) -> tuple[Int32Array, int, int]:
    """Append to `target` the rows of `source` that hold all of `needed` and not `a`.

    Returns the target (grown where it must be), where it ends, and the weight of the rows.
    """
    target = grown(target, at + len(source))
    weight = np.int64(0)
    for row in source:
        meter[WORK] += 1
        if stamps.held[row] == call:
            continue
        fits = True
        for token in needed:
            if not holds(rows, row, token):
                fits = False
                break
        if fits:
            target[at] = row
            at += 1
            weight += rows.weights[row]
    return target, at, weight


@njit(cache=True, nogil=True)
def search(
    rows: TokenRows,
    alive: BoolArray,
    a: int,
    base: int,
    yes: int,
    no: int,
    places: Int32Array,
    reach: Int64Array,
    unmet: BoolArray,
    stamps: Stamps,
    meter: Int64Array,
) -> tuple[int, Int32Array]:
    """Go depth-first through the closed antecedents that may be too sure; give the first that is.

    A node is a closed set with the records (with `a`) that contain it. A record that more records
    without `a` contain than the node's weight allows is in no antecedent below, so the node is
    cut down to the others until nothing changes; it is dropped when none of them is unmet, or
    when its closure shows that another branch has it (prefix-preserving closures: each closed
    set has one parent).
    """
    call = meter[CALLS]
    n_tokens, n_places = len(alive), len(places)
    deepest, entries = 0, 0
    for row in places:
        length = rows.offsets[row + 1] - rows.offsets[row]
        deepest = max(deepest, length)
        entries += length
    # Per depth: its records and its candidates in `store`, its records without `a` in `others`,
    # where its part of the antecedent starts, and the token that led here.
    first = np.zeros(deepest + 2, np.int64)
    last = np.zeros(deepest + 2, np.int64)
    next_candidate = np.zeros(deepest + 2, np.int64)
    last_candidate = np.zeros(deepest + 2, np.int64)
    store_top = np.zeros(deepest + 3, np.int64)
    other_first = np.full(deepest + 2, -1, np.int64)
    other_last = np.zeros(deepest + 2, np.int64)
    chosen_from = np.zeros(deepest + 3, np.int64)
    step = np.full(deepest + 2, -1, np.int64)
    chosen = np.empty(deepest + 2, np.int32)
    inside = np.zeros(n_tokens, np.bool_)
    count = np.zeros(n_tokens, np.int64)
    hopes = np.zeros(n_tokens, np.int64)
    write = np.zeros(n_tokens, np.int64)
    touched = np.empty(n_tokens, np.int32)
    store = np.empty(n_places + 2 * entries + 16, np.int32)
    others = np.empty(1024, np.int32)
    store[:n_places] = np.arange(n_places)
    last[0] = n_places
    store_top[0] = n_places
    n_chosen, depth, entering = 0, 0, True
    while depth >= 0:
        if entering:
            entering = False
            chosen_from[depth] = n_chosen
            if meter[STOP] != 0 or meter[WORK] > meter[LIMIT]:
                return UNDECIDED, chosen[:0]
            if step[depth] >= 0:
                chosen[n_chosen] = step[depth]
                n_chosen += 1
                inside[step[depth]] = True
            low, high = first[depth], last[depth]
            weight, kept = np.int64(0), high
            for i in range(low, high):
                weight += rows.weights[places[store[i]]]
            changed = True
            while changed:
                high, kept, changed, lighter = kept, low, False, np.int64(0)
                for i in range(low, high):
                    place = store[i]
                    if no * reach[place] <= yes * weight:
                        store[kept] = place
                        kept += 1
                        lighter += rows.weights[places[place]]
                    else:
                        changed = True
                weight = lighter
            last[depth] = kept
            n_touched, hopeful, canonical = 0, False, True
            for i in range(low, kept):
                row = places[store[i]]
                hopeful |= unmet[store[i]]
                meter[WORK] += rows.offsets[row + 1] - rows.offsets[row]
                for j in range(rows.offsets[row], rows.offsets[row + 1]):
                    token = rows.tokens[j]
                    if token == a or token == base or inside[token] or not alive[token]:
                        continue
                    if count[token] == 0:
                        touched[n_touched] = token
                        n_touched += 1
                    count[token] += 1
                    hopes[token] += unmet[store[i]]
            size = kept - low
            for i in range(n_touched):
                if count[touched[i]] == size:
                    if touched[i] < step[depth]:
                        canonical = False
                    chosen[n_chosen] = touched[i]
                    n_chosen += 1
                    inside[touched[i]] = True
            next_candidate[depth] = last_candidate[depth] = store_top[depth]
            store_top[depth + 1] = store_top[depth]
            if hopeful and canonical:
                fresh = chosen[chosen_from[depth] : n_chosen]
                start = other_last[depth - 1] if depth > 0 else 0
                listed = depth > 0 and other_first[depth - 1] >= 0
                if listed or base >= 0 or len(fresh) > 0:
                    if listed:
                        source = others[other_first[depth - 1] : other_last[depth - 1]]
                    else:
                        rare = base
                        for token in fresh:
                            if rare < 0 or (
                                rows.starts[token + 1] - rows.starts[token]
                                < rows.starts[rare + 1] - rows.starts[rare]
                            ):
                                rare = token
                        if base >= 0:
                            fresh = np.append(fresh, np.int32(base))
                        source = rows.posts[rows.starts[rare] : rows.starts[rare + 1]]
                    others, end, rest = without(
                        rows, source, fresh, call, stamps, others, start, meter
                    )
                    other_first[depth], other_last[depth] = start, end
                    if no * rest <= yes * weight:
                        found = chosen[:n_chosen].copy()
                        if base >= 0:
                            found = np.append(found, np.int32(base))
                        return BROKEN, found
                else:
                    other_first[depth], other_last[depth] = -1, 0
                # Hand each candidate its records: token, how many, and the places one by one.
                top = store_top[depth]
                needed = 0
                for i in range(n_touched):
                    token = touched[i]
                    if not inside[token] and token > step[depth] and hopes[token] > 0:
                        needed += 2 + count[token]
                store = grown(store, top + needed)
                for i in range(n_touched):
                    token = touched[i]
                    write[token] = -1
                    if not inside[token] and token > step[depth] and hopes[token] > 0:
                        store[top] = token
                        store[top + 1] = count[token]
                        write[token] = top + 2
                        top += 2 + count[token]
                for i in range(low, kept):
                    row = places[store[i]]
                    for j in range(rows.offsets[row], rows.offsets[row + 1]):
                        token = rows.tokens[j]
                        if count[token] > 0 and write[token] >= 0:
                            store[write[token]] = store[i]
                            write[token] += 1
                last_candidate[depth] = top
                store_top[depth + 1] = top
            for i in range(n_touched):
                count[touched[i]] = hopes[touched[i]] = 0
        at = next_candidate[depth]
        if at == last_candidate[depth]:
            while n_chosen > chosen_from[depth]:
                n_chosen -= 1
                inside[chosen[n_chosen]] = False
            depth -= 1
            continue
        next_candidate[depth] = at + 2 + store[at + 1]
        depth += 1
        step[depth] = store[at]
        first[depth], last[depth] = at + 2, at + 2 + store[at + 1]
        entering = True
    return SAFE, chosen[:0]


@njit(cache=True, nogil=True)
def minimised(
    rows: TokenRows, antecedent: Int32Array, a: int, base: int, yes: int, no: int, meter: Int64Array
) -> Int32Array:
    """Leave out tokens (never `base`) one by one while the rule stays too sure.

    >>> rows = TokenRows(np.array([0, 3, 4]), np.array([0, 1, 2, 1], np.int32), np.array([1, 1]),
    ...                  np.array([0, 1, 3, 4]), np.array([0, 0, 1, 0], np.int32),
    ...                  np.array([-1, -1]))
    >>> minimised(rows, np.array([0, 1], np.int32), 2, -1, 1, 9, np.array([0, 9, 0, 0])).tolist()
    [0]
    """
    kept = antecedent.copy()
    at = len(kept) - 1
    while at >= 0 and len(kept) > 1:
        if kept[at] != base:
            fewer = np.concatenate((kept[:at], kept[at + 1 :]))
            rare = fewer[0]
            for token in fewer:
                if rows.starts[token + 1] - rows.starts[token] < (
                    rows.starts[rare + 1] - rows.starts[rare]
                ):
                    rare = token
            inside, outside = np.int64(0), np.int64(0)
            for row in rows.posts[rows.starts[rare] : rows.starts[rare + 1]]:
                meter[WORK] += 1
                fits = True
                for token in fewer:
                    if not holds(rows, row, token):
                        fits = False
                        break
                if fits and holds(rows, row, a):
                    inside += rows.weights[row]
                elif fits:
                    outside += rows.weights[row]
            if no * outside <= yes * inside:
                kept = fewer
        at -= 1
    return kept
