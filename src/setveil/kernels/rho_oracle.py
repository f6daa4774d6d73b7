"""Is there a rule with a given sensitive consequent that is too sure? Decided without 2^|t| sets.

A rule χ → a is too sure when ``no * (records with χ but not a) <= yes * (records with χ and a)``.
The surest rules have closed antecedents: intersections of records that hold `a`, without `a`.
:func:`covering` looks for a certificate that no rule is too sure; what it leaves open,
:func:`~setveil.kernels.closed_antecedents.search` goes through.

Rows are over *tokens*: whatever stands in a published record. A token that is not `alive` counts
as removed everywhere. The consequent need not be a token of the rows: what counts is how much of
each row's weight is `given` to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
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
    """Per record: the call that last reserved some of it, and what is left; the same for `a`.

    `held` is the call that last named the record as one with `a`, `given` its weight with `a`.
    """

    reserved: Int64Array
    left: Int64Array
    held: Int64Array
    given: Int64Array


@compiled
def mark_of(token: int) -> int:
    """Return the bit that stands for a token.

    >>> mark_of(3) == mark_of(3)
    True
    """
    return np.int64(1) << ((np.int64(token) * np.int64(2654435761) >> 16) & 63)


@compiled
def holds(rows: TokenRows, row: int, token: int) -> bool:
    """Tell whether a row holds a token (binary search)."""
    low, high = rows.offsets[row], rows.offsets[row + 1]
    while low < high:
        middle = (low + high) >> 1
        if rows.tokens[middle] < token:
            low = middle + 1
        else:
            high = middle
    return bool(low < rows.offsets[row + 1] and rows.tokens[low] == token)


@compiled
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


@compiled
def grown(array: Int32Array, size: int) -> Int32Array:
    """Return an array of at least this size that begins like `array`."""
    if size <= len(array):
        return array
    larger = np.empty(max(size, 2 * len(array)), array.dtype)
    larger[: len(array)] = array
    return larger


@compiled
def weight_without(rows: TokenRows, row: int, call: int, stamps: Stamps) -> int:
    """Return how many copies of a row do not hold `a`."""
    with_a = stamps.given[row] if stamps.held[row] == call else 0
    return int(rows.weights[row] - with_a)


@compiled
def covering(
    rows: TokenRows,
    alive: BoolArray,
    a: int,
    base: int,
    holders: Int32Array,
    given: Int64Array,
    yes: int,
    no: int,
    full: bool,
    stamps: Stamps,
    meter: Int64Array,
) -> tuple[int, int, Int32Array, Int64Array, BoolArray]:
    """Reserve for each record t with `a` enough records without `a` that contain the rest of t.

    `holders` are the records with `a`, longest first, `given` how many copies of each hold it. If
    every t gets its own ⌊w · yes / no⌋ + 1, no antecedent (that holds `base`, where one is given)
    is too sure: its records without `a` are more than enough, because the reserved sets are
    disjoint. A t that would get too few even without competition is itself a rule that is too
    sure. Records of which nothing but `a` is left have no antecedent.

    Returns the verdict (UNDECIDED if some t stay without their share), the record that breaks, and
    the records with `a`, how many records without `a` contain each (at least), and which are
    unmet. With `full` these numbers are exact up to what can matter.

    Examples
    --------
    Records {0, 1}, {0}, {0}, token 1 sensitive, ρ = 1/2: one of three zeros is no rule.

    >>> rows = TokenRows(np.array([0, 2, 3]), np.array([0, 1, 0], np.int32), np.array([1, 2]),
    ...                  np.array([0, 2, 3]), np.array([0, 1, 0], np.int32), np.array([-1, -1]))
    >>> stamps = Stamps(*np.zeros((4, 2), np.int64))
    >>> meter = np.array([0, 1000, 0, 0])
    >>> int(covering(rows, np.ones(2, np.bool_), 1, -1, np.array([0], np.int32), np.array([1]),
    ...              1, 1, False, stamps, meter)[0])
    0
    """
    meter[CALLS] += 1
    call = meter[CALLS]
    places = np.empty(len(holders), np.int32)
    n_places, whole = 0, np.int64(0)
    for at in range(len(holders)):
        row = holders[at]
        stamps.held[row] = call
        stamps.given[row] = given[at]
        if base >= 0:
            fits = holds(rows, row, base)
        else:
            fits = False
            for i in range(rows.offsets[row], rows.offsets[row + 1]):
                fits |= rows.tokens[i] != a and alive[rows.tokens[i]]
        if fits:
            places[n_places] = row
            whole += given[at]
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
        quota = yes * stamps.given[t] // no + 1
        found, got = np.int64(0), np.int64(0)
        for at in range(rows.starts[rare], rows.starts[rare + 1]):
            row = rows.posts[at]
            meter[WORK] += 1
            if rows.offsets[row + 1] - rows.offsets[row] < length:
                break  # longest first: no later record can contain this one
            if (mark & ~rows.marks[row]) != 0:
                continue
            weight = weight_without(rows, row, call, stamps)
            if weight == 0:
                continue
            meter[WORK] += length
            if not contains(rows, row, t, alive, a):
                continue
            if stamps.reserved[row] != call:
                stamps.reserved[row] = call
                stamps.left[row] = weight
            found += weight
            taken = min(stamps.left[row], quota - got)
            stamps.left[row] -= taken
            got += taken
            if found > bound or (got == quota and not full):
                break
        reach[place] = found
        if got < quota:
            if no * found <= yes * stamps.given[t]:
                return BROKEN, t, places, reach, unmet
            unmet[place] = found <= bound
            any_unmet |= unmet[place]
        if meter[STOP] != 0 or meter[WORK] > meter[LIMIT]:
            return UNDECIDED, -1, places[:0], reach[:0], unmet[:0]
    return UNDECIDED if any_unmet else SAFE, -1, places, reach, unmet


@compiled
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
