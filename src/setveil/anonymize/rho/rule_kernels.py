"""Is there a rule with a given sensitive consequent that is too sure? Decided without 2^|t| sets.

A rule χ → a is too sure when ``no * (records with χ but not a) <= yes * (records with χ and a)``.
The surest rules have closed antecedents: intersections of records that hold `a`, without `a`.
:func:`covering` looks for a certificate that no rule is too sure; what it leaves open,
:func:`search` goes through.

Rows are over *tokens*: whatever stands in a published record. A token that is not `alive` counts
as removed everywhere. The consequent need not be a token of the rows: what counts is how much of
each row's weight is `given` to it.

The search keeps the places of a node, the tokens they share and the candidates that lead on from
it on stacks: a kernel must not call itself.
"""

# int and np.int64 are one type in compiled code.
# mypy: disable-error-code="assignment, return-value"

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.kernels.compiling import compiled
from setveil.kernels.rows import ensure_room

if TYPE_CHECKING:
    from setveil.core.arrays import BoolArray, Int32Array, Int64Array

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
        # Both rows ascend: one walk along the outer one.
        while at < end and rows.tokens[at] < token:
            at += 1
        if at == end or rows.tokens[at] != token:
            return False
    return True


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
        # The least number of records without `a` at which the rule t → a is no longer too sure.
        quota = yes * stamps.given[t] // no + 1
        found, got = np.int64(0), np.int64(0)
        # Whatever contains t holds its rarest token: only those records are looked at.
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
            # What one record takes no other can: the reserved sets are disjoint.
            taken = min(stamps.left[row], quota - got)
            stamps.left[row] -= taken
            got += taken
            if found > bound or (got == quota and not full):
                break
        reach[place] = found
        # Too few are left; if there would be too few without competition as well, t breaks.
        if got < quota:
            if no * found <= yes * stamps.given[t]:
                return BROKEN, t, places, reach, unmet
            unmet[place] = found <= bound
            any_unmet |= unmet[place]
        if meter[STOP] != 0 or meter[WORK] > meter[LIMIT]:
            return UNDECIDED, -1, places[:0], reach[:0], unmet[:0]
    return UNDECIDED if any_unmet else SAFE, -1, places, reach, unmet


@compiled
def minimise(
    rows: TokenRows, antecedent: Int32Array, a: int, base: int, yes: int, no: int, meter: Int64Array
) -> Int32Array:
    """Leave out tokens (never `base`) one by one while the rule stays too sure.

    >>> rows = TokenRows(np.array([0, 3, 4]), np.array([0, 1, 2, 1], np.int32), np.array([1, 1]),
    ...                  np.array([0, 1, 3, 4]), np.array([0, 0, 1, 0], np.int32),
    ...                  np.array([-1, -1]))
    >>> minimise(rows, np.array([0, 1], np.int32), 2, -1, 1, 9, np.array([0, 9, 0, 0])).tolist()
    [0]
    """
    kept = antecedent.copy()
    at = len(kept) - 1
    while at >= 0 and len(kept) > 1:
        if kept[at] != base:
            fewer = np.concatenate((kept[:at], kept[at + 1 :]))
            # Records with all of the tokens are among those of the rarest.
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


@compiled
def append_without(
    rows: TokenRows,
    source: Int32Array,
    needed: Int32Array,
    stamps: Stamps,
    target: Int32Array,
    at: int,
    meter: Int64Array,
) -> tuple[Int32Array, int, int]:
    """Append to `target` the rows of `source` with copies that hold all of `needed` and not `a`.

    Returns the target (grown where it must be), where it ends, and the weight of these copies.
    """
    target = ensure_room(target, at + len(source))
    total = np.int64(0)
    for row in source:
        meter[WORK] += 1
        weight = weight_without(rows, row, meter[CALLS], stamps)
        fits = weight > 0
        for token in needed:
            if not fits or not holds(rows, row, token):
                fits = False
                break
        if fits:
            target[at] = row
            at += 1
            total += weight
    return target, at, total


@compiled
def shrink_node(
    places: Int32Array, reach: Int64Array, given: Int64Array, node: Int32Array, yes: int, no: int
) -> tuple[int, int]:
    """Drop from `node` the records in no antecedent below it that is too sure; (how many, weight).

    Such a record lies in more records without `a` than the weight of the whole node allows.

    >>> node = np.array([0, 1], np.int32)
    >>> shrink_node(np.array([0, 1], np.int32), np.array([0, 5]), np.array([1, 2]), node, 1, 1)
    (1, 1)
    """
    kept, weight = len(node), np.int64(0)
    for place in node:
        weight += given[places[place]]
    # Dropping records makes the node lighter, which may drop more: until nothing changes.
    changed = True
    while changed:
        last, kept, lighter = kept, 0, np.int64(0)
        for i in range(last):
            if no * reach[node[i]] <= yes * weight:
                node[kept] = node[i]
                kept += 1
                lighter += given[places[node[i]]]
        weight = lighter
        changed = kept < last
    return kept, weight


@compiled
def deal_rows(
    rows: TokenRows,
    places: Int32Array,
    low: int,
    high: int,
    store: Int32Array,
    top: int,
    candidates: Int32Array,
    count: Int64Array,
    write: Int64Array,
) -> tuple[Int32Array, int]:
    """Write for each candidate: itself, how many records of the node hold it, and which.

    The node's records are ``store[low:high]``; writing starts at `top`. `count` is how many hold
    each token. Returns the store (grown where it must be) and where it ends.
    """
    end = top
    for token in candidates:
        end += 2 + count[token]
    store = ensure_room(store, end)
    for token in candidates:
        store[top] = token
        store[top + 1] = count[token]
        # Where the next record of the token goes; 0 for tokens that are no candidates.
        write[token] = top + 2
        top += 2 + count[token]
    for i in range(low, high):
        row = places[store[i]]
        for j in range(rows.offsets[row], rows.offsets[row + 1]):
            token = rows.tokens[j]
            if write[token] > 0:
                store[write[token]] = store[i]
                write[token] += 1
    for token in candidates:
        write[token] = 0
    return store, end


@compiled
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

    `places`, `reach` and `unmet` come from :func:`covering`, called
    just before. A node is a closed set with the records (with `a`) that contain it, cut down by
    :func:`shrink_node`. It is dropped when no record of it is unmet, or when its closure shows that
    another branch has it (prefix-preserving closures: each closed set has one parent).

    Examples
    --------
    Of records {0, 1}, {0}, token 1 sensitive, ρ = 1/2:

    >>> from setveil.anonymize.rho.rule_kernels import Stamps, TokenRows
    >>> rows = TokenRows(np.array([0, 2, 3]), np.array([0, 1, 0], np.int32), np.array([1, 1]),
    ...                  np.array([0, 2, 3]), np.array([0, 1, 0], np.int32), np.array([-1, -1]))
    >>> stamps = Stamps(*np.array([[0, 0], [0, 0], [7, 0], [1, 0]]))
    >>> search(rows, np.ones(2, np.bool_), 1, -1, 1, 1, np.array([0], np.int32), np.array([1]),
    ...        np.array([True]), stamps, np.array([0, 99, 0, 7]))
    (1, array([0], dtype=int32))
    """
    n_tokens, deepest = len(alive), 0
    for row in places:
        deepest = max(deepest, rows.offsets[row + 1] - rows.offsets[row])
    # Per depth: the token that led here, where the node's records and its candidates are in
    # `store`, its records without `a` in `others`, and where its part of the antecedent starts.
    step = np.full(deepest + 2, -1, np.int64)
    first = np.zeros(deepest + 2, np.int64)
    last = np.full(deepest + 2, len(places), np.int64)
    candidate = np.zeros(deepest + 2, np.int64)
    top = np.full(deepest + 3, len(places), np.int64)
    other_first = np.full(deepest + 2, -1, np.int64)
    other_last = np.zeros(deepest + 2, np.int64)
    chosen_from = np.zeros(deepest + 2, np.int64)
    chosen = np.empty(deepest + 2, np.int32)
    inside = np.zeros(n_tokens, np.bool_)
    count = np.zeros(n_tokens, np.int64)
    hopes = np.zeros(n_tokens, np.int64)
    write = np.zeros(n_tokens, np.int64)
    touched = np.empty(n_tokens, np.int32)
    store = np.arange(len(places) + 1).astype(np.int32)
    others = np.empty(256, np.int32)
    n_chosen, depth, entering = 0, 0, True
    while depth >= 0:
        if not entering:
            # On to the next candidate of this node, or back to the node above.
            at = candidate[depth]
            if at == top[depth + 1]:
                inside[chosen[chosen_from[depth] : n_chosen]] = False
                n_chosen = chosen_from[depth]
                depth -= 1
                continue
            candidate[depth] = at + 2 + store[at + 1]
            depth += 1
            step[depth] = store[at]
            first[depth], last[depth] = at + 2, at + 2 + store[at + 1]
        entering = False
        if meter[STOP] != 0 or meter[WORK] > meter[LIMIT]:
            return UNDECIDED, chosen[:0]
        low = first[depth]
        size, weight = shrink_node(places, reach, stamps.given, store[low : last[depth]], yes, no)
        # Count the tokens of the records; those in all of them belong to the closure.
        chosen_from[depth] = n_chosen
        if step[depth] >= 0:
            chosen[n_chosen] = step[depth]
            n_chosen += 1
            inside[step[depth]] = True
        n_touched, hopeful = 0, False
        for i in range(low, low + size):
            row = places[store[i]]
            hopeful |= unmet[store[i]]
            meter[WORK] += rows.offsets[row + 1] - rows.offsets[row]
            for j in range(rows.offsets[row], rows.offsets[row + 1]):
                token = rows.tokens[j]
                if token == a or token == base or inside[token] or not alive[token]:  # noqa: PLR1714, SIM109  (compiled)
                    continue
                if count[token] == 0:
                    touched[n_touched] = token
                    n_touched += 1
                count[token] += 1
                hopes[token] += unmet[store[i]]
        canonical, n_candidates = True, 0
        for i in range(n_touched):
            token = touched[i]
            if count[token] == size:
                canonical &= token > step[depth]
                chosen[n_chosen] = token
                n_chosen += 1
                inside[token] = True
            elif token > step[depth] and hopes[token] > 0:
                # Candidates move to the front; who stood there has been looked at.
                touched[i], touched[n_candidates] = touched[n_candidates], token
                n_candidates += 1
        candidate[depth] = top[depth + 1] = top[depth]
        # Some record is unmet, and no token of the closure is below the step: this branch owns the
        # set.
        if hopeful and canonical:
            fresh = chosen[chosen_from[depth] : n_chosen]
            start = other_last[depth - 1] if depth > 0 else 0
            other_first[depth], other_last[depth] = -1, start
            source = others[:0]
            if depth > 0 and other_first[depth - 1] >= 0:
                source = others[other_first[depth - 1] : start]
                other_first[depth] = start
            elif base >= 0 or len(fresh) > 0:
                if base >= 0:
                    fresh = np.append(fresh, np.int32(base))
                rare = fresh[0]
                for token in fresh:
                    if rows.starts[token + 1] - rows.starts[token] < (
                        rows.starts[rare + 1] - rows.starts[rare]
                    ):
                        rare = token
                source = rows.posts[rows.starts[rare] : rows.starts[rare + 1]]
                other_first[depth] = start
            if other_first[depth] >= 0:
                others, end, rest = append_without(
                    rows, source, fresh, stamps, others, start, meter
                )
                other_last[depth] = end
                # Too sure: records with the set and `a` weigh too much beside those without `a`.
                if no * rest <= yes * weight:
                    found = chosen[:n_chosen].copy()
                    return BROKEN, np.append(found, np.int32(base)) if base >= 0 else found
            store, end = deal_rows(
                rows, places, low, low + size, store, top[depth], touched[:n_candidates], count,
                write,
            )  # fmt: skip
            top[depth + 1] = end
        count[touched[:n_touched]] = 0
        hopes[touched[:n_touched]] = 0
    return SAFE, chosen[:0]
