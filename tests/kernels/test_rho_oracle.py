"""The oracle of the ρ-uncertainty methods and the listing of rules, against every subset."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import rho as reference

from setveil.anonymize.coherence.mole_kernels import hit_all
from setveil.anonymize.rho.rule_kernels import (
    BROKEN,
    LIMIT,
    SAFE,
    STOP,
    UNDECIDED,
    Stamps,
    TokenRows,
    contains,
    covering,
    holds,
    minimise,
    search,
)
from setveil.anonymize.rho.suppress_kernels import (
    merge_equal_rows,
    recode_rows,
    row_marks,
    rules_of_size,
)
from setveil.kernels.rows import ensure_room, transpose

WIDTH = 6
CONSEQUENT = WIDTH  # what the rows are about, where it is no token of theirs
ENDLESS = 1 << 60
row_lists = st.lists(st.sets(st.integers(0, WIDTH - 1)), min_size=1, max_size=24)
# Small denominators: confidences of few records reach them exactly again and again.
thresholds = st.integers(1, 5).flatmap(
    lambda q: st.integers(1, q).map(lambda p, q=q: Fraction(p, q))
)


def compressed(rows):
    offsets = np.cumsum([0, *map(len, rows)])
    return offsets, np.array([x for row in rows for x in sorted(row)], dtype=np.int32)


def indexed(rows, width=WIDTH):
    """Return the distinct rows, longest first, as plain sets and as the kernels want them."""
    counts = Counter(map(frozenset, rows))
    plain = sorted(counts, key=lambda row: (-len(row), sorted(row)))
    offsets, tokens = compressed(plain)
    weights = np.array([counts[row] for row in plain], dtype=np.int64)
    starts, posts = transpose(offsets, tokens, width)
    return plain, TokenRows(offsets, tokens, weights, starts, posts, row_marks(offsets, tokens))


def meter_of(limit=ENDLESS):
    meter = np.zeros(4, np.int64)
    meter[LIMIT] = limit
    return meter


class Question:
    """Is some rule with the consequent `a` too sure, where only live tokens count?"""

    def __init__(self, rows, a, rho, *, base=-1, alive=None, given=None, width=WIDTH):
        self.plain, self.rows = indexed(rows, width)
        self.a, self.base = a, base
        self.alive = np.ones(width, np.bool_) if alive is None else np.array(alive)
        self.yes, self.no = rho.denominator - rho.numerator, rho.numerator
        if given is None:
            given = [w * (a in r) for r, w in zip(self.plain, self.rows.weights, strict=True)]
        self.given = np.array(given, dtype=np.int64)
        self.stamps = Stamps(*np.zeros((4, len(self.plain)), np.int64))
        self.meter = meter_of()

    def cover(self, *, full):
        holders = np.flatnonzero(self.given).astype(np.int32)
        return covering(
            self.rows, self.alive, self.a, self.base, holders, self.given[holders],
            self.yes, self.no, full, self.stamps, self.meter,
        )  # fmt: skip

    def look(self, places, reach, unmet):
        return search(
            self.rows, self.alive, self.a, self.base, self.yes, self.no, places, reach, unmet,
            self.stamps, self.meter,
        )  # fmt: skip

    def answers(self):
        """Yield verdicts and antecedents: both coverings, the search after them, and alone."""
        for full in (False, True):
            verdict, broken, places, reach, unmet = self.cover(full=full)
            if verdict == BROKEN:
                held = self.plain[broken] - {self.a}
                yield verdict, {t for t in held if self.alive[t]}
            elif verdict == SAFE:
                yield verdict, set()
        if verdict == UNDECIDED:
            found, antecedent = self.look(places, reach, unmet)
            yield found, set(antecedent.tolist())
        # Nothing known beforehand: the search alone must come to the same.
        found, antecedent = self.look(
            places, np.zeros(len(places), np.int64), np.ones(len(places), np.bool_)
        )
        yield found, set(antecedent.tolist())

    def expanded(self):
        """Return the records one by one, dead tokens left out, the consequent in those given it."""
        name = self.a if self.a >= 0 else CONSEQUENT
        for row, weight, held in zip(self.plain, self.rows.weights, self.given, strict=True):
            rest = {t for t in row if self.alive[t]} - {name}
            yield from [rest | {name}] * int(held) + [rest] * int(weight - held)

    def too_sure(self, rho):
        """Return the antecedents that are too sure, by definition."""
        name = self.a if self.a >= 0 else CONSEQUENT
        found = reference.violations(list(self.expanded()), rho, [name], prior=False)
        return {known for known, _ in found if self.base < 0 or self.base in known}


def assert_answers(question, rho):
    expected = question.too_sure(rho)
    answers = list(question.answers())
    assert answers
    for verdict, antecedent in answers:
        assert verdict == (BROKEN if expected else SAFE)
        if verdict == BROKEN:
            assert frozenset(antecedent) in expected


@given(row_lists, st.integers(0, WIDTH - 1), thresholds)
@settings(max_examples=200, deadline=None)
def test_oracle(rows, a, rho):
    assert_answers(Question(rows, a, rho), rho)


@given(row_lists, st.permutations(range(WIDTH)), thresholds, st.sets(st.integers(0, WIDTH - 1)))
@settings(max_examples=150, deadline=None)
def test_oracle_with_a_base_and_dead_tokens(rows, order, rho, dead):
    a, base, *_ = order
    alive = [x in {a, base} or x not in dead for x in range(WIDTH)]
    assert_answers(Question(rows, a, rho, base=base, alive=alive), rho)
    assert_answers(Question(rows, a, rho, alive=alive), rho)


@given(row_lists, thresholds, st.data())
@settings(max_examples=150, deadline=None)
def test_oracle_about_something_that_is_no_token(rows, rho, data):
    _, built = indexed(rows)
    given = [data.draw(st.integers(0, w)) for w in built.weights.tolist()]
    assert_answers(Question(rows, -1, rho, given=given), rho)


@given(row_lists, st.integers(0, WIDTH - 1))
@settings(max_examples=150, deadline=None)
def test_the_greatest_confidence_is_reached_and_not_passed(rows, a):
    best = reference.max_confidence([frozenset(r) for r in rows], [a], prior=False)
    if best == 0:
        return
    assert {verdict for verdict, _ in Question(rows, a, best).answers()} == {BROKEN}
    if best < 1:
        above = best + Fraction(1, 10**6)
        assert {verdict for verdict, _ in Question(rows, a, above).answers()} == {SAFE}


@given(row_lists, st.permutations(range(WIDTH)), thresholds, st.booleans())
@settings(max_examples=100, deadline=None)
def test_minimised(rows, order, rho, with_base):
    a, base = order[0], order[1] if with_base else -1
    question = Question(rows, a, rho, base=base)
    expected = question.too_sure(rho)
    for known in expected:
        kept = sorted(known)
        left = minimise(
            question.rows, np.array(kept, np.int32), a, base, question.yes, question.no, meter_of()
        )
        for token in sorted(known, reverse=True):
            fewer = frozenset(kept) - {token}
            if token != base and fewer and fewer in expected:
                kept.remove(token)
        assert left.tolist() == kept


@pytest.mark.parametrize("stop", [True, False])
def test_the_meter_ends_both(stop):
    question = Question([{0, 1, 5}, {0, 2, 5}, {0, 1}, {0, 2}, {1, 2}], 5, Fraction(2, 3))
    assert question.cover(full=False)[0] == SAFE
    question.meter[LIMIT], question.meter[STOP] = (ENDLESS, 1) if stop else (0, 0)
    assert question.cover(full=False)[0] == UNDECIDED
    found, antecedent = question.look(
        np.zeros(1, np.int32), np.zeros(1, np.int64), np.ones(1, np.bool_)
    )
    assert (found, len(antecedent)) == (UNDECIDED, 0)


@pytest.mark.parametrize("common", [True, False])
def test_oracle_past_65536_rows(common):
    """Rows {i, a} and {i}, all confidences 1/2; without the last row one token implies a."""
    n = 33_000
    a, rest = n + 1, {n} if common else set()
    rows = [row for i in range(n) for row in ({i, a} | rest, {i} | rest)]
    for rho, expected in ((Fraction(1, 2), BROKEN), (Fraction("0.51"), SAFE)):
        question = Question(rows, a, rho, width=n + 2)
        assert len(question.plain) > 65_536
        assert question.cover(full=False)[0] == expected
    question = Question(rows[:-1], a, Fraction("0.51"), width=n + 2)
    verdict, broken, places, *_ = question.cover(full=True)
    assert (verdict, question.plain[broken]) == (BROKEN, {n - 1, a} | rest)
    if not common:  # with it, a search that knows nothing compares all with all
        nothing = np.zeros(len(places), np.int64)
        found, antecedent = question.look(places, nothing, np.ones(len(places), np.bool_))
        assert (found, antecedent.tolist()) == (BROKEN, [n - 1])


@given(row_lists, thresholds, st.integers(1, 4), st.integers(1, WIDTH), st.sets(st.integers(3, 5)))
@settings(max_examples=150, deadline=None)
def test_rules_of_size(rows, rho, size, n_first, sensitive):
    plain, built = indexed(rows)
    asks = np.isin(built.tokens, sorted(sensitive))
    starts = np.concatenate([[0], np.cumsum(asks)])[built.offsets]
    yes, no = rho.denominator - rho.numerator, rho.numerator
    listed, total = rules_of_size(
        built, starts, built.tokens[asks], n_first, size, yes, no, 0, 1 << 20, meter_of()
    )
    found = {(frozenset(rule[:-1]), rule[-1]) for rule in listed.tolist()}
    expanded = [r for r, w in zip(plain, built.weights, strict=True) for _ in range(w)]
    expected = {
        (known, a)
        for known, a in reference.violations(expanded, rho, sensitive, prior=False)
        if len(known) == size and min(known) < n_first
    }
    assert (found, total, len(listed)) == (expected, len(expected), len(expected))
    few, again = rules_of_size(
        built, starts, built.tokens[asks], n_first, size, yes, no, 0, 2, meter_of()
    )
    assert (again, len(few)) == (total, min(2, total))
    drawn, again = rules_of_size(
        built, starts, built.tokens[asks], n_first, size, yes, no, 1, 1 << 20, meter_of()
    )
    assert again == total
    assert {(frozenset(rule[:-1]), rule[-1]) for rule in drawn.tolist()} <= expected


def plain_hits(rules, cost):
    """Return the tokens chosen one by one, always the one in most rules per unit of cost."""
    left, chosen = list(rules), []
    while left:
        counts = Counter(token for rule in left for token in rule)
        payoff = {t: n / cost[t] if cost[t] else float("inf") for t, n in counts.items()}
        token = min(payoff, key=lambda t: (-payoff[t], t))
        chosen.append((token, counts[token]))
        left = [rule for rule in left if token not in rule]
    return chosen


@given(
    st.lists(st.sets(st.integers(0, 7), min_size=1, max_size=4), max_size=20),
    st.lists(st.integers(0, 5), min_size=8, max_size=8),
)
@settings(max_examples=150, deadline=None)
def test_hitting(rules, cost):
    offsets, tokens = compressed(rules)
    chosen, hits = hit_all(offsets, tokens.astype(np.int64), np.array(cost, np.int64))
    assert list(zip(chosen.tolist(), hits.tolist(), strict=True)) == plain_hits(rules, cost)


@given(row_lists, st.lists(st.integers(-1, 3), min_size=WIDTH, max_size=WIDTH))
@settings(max_examples=100, deadline=None)
def test_recoding(rows, image):
    offsets, items = compressed(rows)
    starts, tokens = recode_rows(offsets, items, np.arange(len(rows)), np.array(image, np.int32), 4)
    expected = [{image[x] for x in row} - {-1} for row in rows]
    parts = [tokens[a:b].tolist() for a, b in pairwise(starts)]
    assert list(map(set, parts)) == expected
    assert list(map(len, parts)) == list(map(len, expected))
    by_token, holding = transpose(starts, tokens, 4)
    for token in range(4):
        held = holding[by_token[token] : by_token[token + 1]].tolist()
        assert held == [r for r, row in enumerate(expected) if token in row]
    starts, tokens = transpose(by_token, holding, len(rows))
    parts = [tokens[a:b].tolist() for a, b in pairwise(starts)]
    assert parts == [sorted(row) for row in expected]
    weights = np.arange(1, len(rows) + 1)
    kinds, totals, kind_of = merge_equal_rows(starts, tokens, weights)
    assert [expected[kinds[kind]] for kind in kind_of] == expected
    assert len({frozenset(expected[k]) for k in kinds}) == len(kinds)
    for kind, total in enumerate(totals.tolist()):
        assert total == weights[kind_of == kind].sum()


@given(row_lists, st.sets(st.integers(0, WIDTH - 1)))
@settings(max_examples=50, deadline=None)
def test_containment(rows, dead):
    plain, built = indexed(rows)
    alive = np.array([x not in dead for x in range(WIDTH)])
    for row, inner in enumerate(plain):
        assert [holds(built, row, x) for x in range(WIDTH)] == [x in inner for x in range(WIDTH)]
    for (i, outer), (j, inner) in combinations(enumerate(plain), 2):
        for a in (-1, 0):
            assert contains(built, i, j, alive, a) == (inner - dead - {a} <= outer)


def test_growing():
    short = np.arange(3, dtype=np.int32)
    assert ensure_room(short, 3).tolist() == [0, 1, 2]
    longer = ensure_room(short, 10)
    assert (len(longer) >= 10, longer[:3].tolist()) == (True, [0, 1, 2])
