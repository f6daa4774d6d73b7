"""Recoding records, and listing the rules of one size that are too sure.

A rule χ → a is too sure when ``no * (records with χ but not a) <= yes * (records with χ and a)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.anonymize.rho.rule_kernels import LIMIT, STOP, WORK, TokenRows, deal_rows, mark_of
from setveil.kernels.compiling import compiled
from setveil.kernels.rows import ensure_room

if TYPE_CHECKING:
    from setveil.core.arrays import Int32Array, Int64Array


@compiled
def recode_rows(
    offsets: Int64Array, items: Int32Array, rows: Int64Array, image: Int32Array, n_tokens: int
) -> tuple[Int64Array, Int32Array]:
    """Return these rows with items replaced by their images, each once; -1 drops an item.

    >>> recode_rows(np.array([0, 3]), np.array([0, 1, 2], np.int32), np.array([0]),
    ...           np.array([4, 4, -1], np.int32), 5)
    (array([0, 1]), array([4], dtype=int32))
    """
    seen = np.full(n_tokens, -1, np.int64)
    total = 0
    for row in rows:
        total += offsets[row + 1] - offsets[row]
    starts = np.zeros(len(rows) + 1, np.int64)
    tokens = np.empty(total, np.int32)
    top = 0
    for place in range(len(rows)):
        for at in range(offsets[rows[place]], offsets[rows[place] + 1]):
            token = image[items[at]]
            # Several items may have one image; it counts once per row.
            if token >= 0 and seen[token] != place:
                seen[token] = place
                tokens[top] = token
                top += 1
        starts[place + 1] = top
    return starts, tokens[:top].copy()


@compiled
def merge_equal_rows(
    offsets: Int64Array, tokens: Int32Array, weights: Int64Array
) -> tuple[Int64Array, Int64Array, Int32Array]:
    """Return the first row of each kind of equal rows, its weight, and the kind of each row.

    >>> merge_equal_rows(np.array([0, 1, 2, 3]), np.array([5, 6, 5], np.int32), np.array([1, 1, 2]))
    (array([0, 1]), array([3, 1]), array([0, 1, 0], dtype=int32))
    """
    n = len(offsets) - 1
    size = 4
    while size < 2 * n:
        size *= 2
    table = np.full(size, -1, np.int64)
    kinds = np.empty(n, np.int64)
    totals = np.empty(n, np.int64)
    kind_of = np.empty(n, np.int32)
    n_kinds = 0
    for row in range(n):
        first, last = offsets[row], offsets[row + 1]
        # Rows are compared by content; the hash only says where to look.
        mix = np.int64(last - first)
        for at in range(first, last):
            mix = (mix ^ tokens[at]) * np.int64(0x9E3779B97F4A7C1)
        place = (mix ^ (mix >> 29)) & (size - 1)
        while True:
            kind = table[place]
            if kind < 0:
                table[place] = n_kinds
                kinds[n_kinds] = row
                totals[n_kinds] = weights[row]
                kind_of[row] = n_kinds
                n_kinds += 1
                break
            other = offsets[kinds[kind]]
            same = offsets[kinds[kind] + 1] - other == last - first
            at = 0
            while same and at < last - first:
                same = tokens[other + at] == tokens[first + at]
                at += 1
            if same:
                totals[kind] += weights[row]
                kind_of[row] = kind
                break
            place = (place + 1) & (size - 1)
    return kinds[:n_kinds].copy(), totals[:n_kinds].copy(), kind_of


@compiled
def row_marks(offsets: Int64Array, tokens: Int32Array) -> Int64Array:
    """Return each row's bits; see :class:`~setveil.anonymize.rho.rule_kernels.TokenRows`."""
    marks = np.zeros(len(offsets) - 1, np.int64)
    for row in range(len(marks)):
        for at in range(offsets[row], offsets[row + 1]):
            marks[row] |= mark_of(tokens[at])
    return marks


@compiled
def too_sure(
    rows: TokenRows,
    cover: Int32Array,
    prefix: Int32Array,
    asked_starts: Int64Array,
    asked: Int32Array,
    yes: int,
    no: int,
    weight_of: Int64Array,
    found: Int32Array,
    meter: Int64Array,
) -> int:
    """Write to `found` the consequents that are too sure in the rows `cover` of an antecedent.

    Returns how many; `weight_of` is zero before and after.
    """
    total, n_touched, n_found = np.int64(0), 0, 0
    for row in cover:
        weight = rows.weights[row]
        total += weight
        meter[WORK] += 1 + asked_starts[row + 1] - asked_starts[row]
        for at in range(asked_starts[row], asked_starts[row + 1]):
            a = asked[at]
            # `found` first lists the consequents that were met, then those that are too sure.
            if weight_of[a] == 0:
                found[n_touched] = a
                n_touched += 1
            weight_of[a] += weight
    for i in range(n_touched):
        a = found[i]
        inside, weight_of[a] = weight_of[a], 0
        if no * (total - inside) <= yes * inside and not np.any(prefix == a):
            found[n_found] = a
            n_found += 1
    return n_found


@compiled
def rules_of_size(
    rows: TokenRows,
    asked_starts: Int64Array,
    asked: Int32Array,
    n_first: int,
    size: int,
    yes: int,
    no: int,
    mask: int,
    most: int,
    meter: Int64Array,
) -> tuple[Int32Array, int]:
    """List the rules that are too sure and have `size` tokens in the antecedent.

    One of these must be below `n_first`. Row r asks for the consequents
    ``asked[asked_starts[r]:asked_starts[r + 1]]``. Antecedents are built token by token, each
    with the list of its rows, for all consequents at once; those without a row that asks for
    anything are left out. A rule is counted always, and listed when a hash of it has no bit in
    common with `mask` and fewer than `most` are listed.

    Returns the listed rules (antecedent, then consequent) and the count; -1 if the work or the
    time was used up.

    Examples
    --------
    Of records {0, 1}, {0}, token 1 sensitive, ρ = 1/2:

    >>> rows = TokenRows(np.array([0, 2, 3]), np.array([0, 1, 0], np.int32), np.array([1, 1]),
    ...                  np.array([0, 2, 3]), np.array([0, 1, 0], np.int32), np.array([-1, -1]))
    >>> rules_of_size(rows, np.array([0, 1, 1]), np.array([1], np.int32), 2, 1, 1, 1, 0, 9,
    ...               np.array([0, 99, 0, 0]))
    (array([[0, 1]], dtype=int32), 1)
    """
    n_tokens = len(rows.starts) - 1
    rules = np.empty((256, size + 1), np.int32)
    n_listed, n_rules = 0, 0
    itself = np.arange(len(rows.weights)).astype(np.int32)
    weight_of = np.zeros(n_tokens, np.int64)
    found = np.empty(n_tokens, np.int32)
    count = np.zeros(n_tokens, np.int64)
    askers = np.zeros(n_tokens, np.int64)
    write = np.zeros(n_tokens, np.int64)
    store = np.empty(1024, np.int32)
    # Per depth: the antecedent so far and its hash, its rows and its candidates in `store`.
    prefix = np.full(size + 1, -1, np.int32)
    mixes = np.full(size + 1, 7, np.int64)
    candidate = np.zeros(size + 1, np.int64)
    top = np.zeros(size + 2, np.int64)
    # Tokens ascend along an antecedent, so each is built once, from its least token.
    for head in range(n_first):
        low, depth = 0, 1
        high = rows.starts[head + 1] - rows.starts[head]
        prefix[1], top[1] = head, high
        store = ensure_room(store, high)
        store[:high] = rows.posts[rows.starts[head] : rows.starts[head + 1]]
        while depth > 0:
            # Hashes of prefixes grow with them; a rule is then sampled by its own hash, whatever
            # the order.
            mixes[depth] = (mixes[depth - 1] ^ np.int64(prefix[depth])) * np.int64(
                0x9E3779B97F4A7C1
            )
            if depth == size:
                n_found = too_sure(
                    rows, store[low:high], prefix[1:], asked_starts, asked, yes, no, weight_of,
                    found, meter,
                )  # fmt: skip
                n_rules += n_found
                for a in found[:n_found]:
                    mix = (mixes[size] ^ np.int64(a)) * np.int64(0x2545F4914F6CDD1D)
                    # A sample of the rules that does not depend on the order in which they are
                    # found.
                    if ((mix >> 24) & mask) == 0 and n_listed < most:
                        if n_listed == len(rules):
                            larger = np.empty((2 * len(rules), size + 1), np.int32)
                            larger[:n_listed] = rules
                            rules = larger
                        rules[n_listed, :size] = prefix[1:]
                        rules[n_listed, size] = a
                        n_listed += 1
                depth -= 1
            else:
                n_touched = 0
                for row in store[low:high]:
                    # Only rows that ask for a consequent can make a rule.
                    asks = asked_starts[row + 1] > asked_starts[row]
                    meter[WORK] += rows.offsets[row + 1] - rows.offsets[row]
                    for at in range(rows.offsets[row], rows.offsets[row + 1]):
                        token = rows.tokens[at]
                        if token > prefix[depth]:
                            if count[token] == 0:
                                found[n_touched] = token
                                n_touched += 1
                            count[token] += 1
                            askers[token] += asks
                asking = found[:n_touched]
                asking = asking[askers[asking] > 0]
                candidate[depth] = top[depth]
                store, top[depth + 1] = deal_rows(
                    rows, itself, low, high, store, top[depth], asking, count, write
                )
                count[found[:n_touched]] = 0
                askers[found[:n_touched]] = 0
            if meter[STOP] != 0 or meter[WORK] > meter[LIMIT]:
                return rules[:0], -1
            # On to the next antecedent: longer than this one, or beside or above it.
            while depth > 0 and candidate[depth] == top[depth + 1]:
                depth -= 1
            if depth > 0:
                at = candidate[depth]
                low, high = at + 2, at + 2 + store[at + 1]
                candidate[depth] = high
                depth += 1
                prefix[depth] = store[at]
    return rules[:n_listed], n_rules
