"""What is bounded in checks, attacks and files of disassociated releases, and what ties do."""

import time
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations
from math import comb, perm

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.disassociated_instances import publish

from setveil import TransactionTable
from setveil.attack import ABA, RGA
from setveil.attack.reassociation.pieces import Piece, Pool
from setveil.attack.reassociation.prior import rows_of_terms, upper_tails
from setveil.attack.reassociation.vertical_partitioning import combined
from setveil.core.errors import ReleaseError
from setveil.guarantee import Disassociated, SafeDisassociated
from setveil.guarantee.joint_clusters import narrowed_joint
from setveil.guarantee.safe_disassociated import greatest_chance, ways
from setveil.release import Plan, publish_disassociated
from setveil.release.base import rebuild
from setveil.release.data_file import LabelledRows
from setveil.release.store import load_release, save

# --- exact chances ------------------------------------------------------------------------------


def plain_ways(n, rows, met):
    """Return the formula as it was derived, for given chunks."""
    total = 0
    for q in range(n):
        term = comb(n - 1, q)
        for i, size in enumerate(rows):
            term *= perm(n - 1 - q, size - 1) if i in met else perm(n - q, size)
        total += -term if q % 2 else term
    return total


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_it_makes_no_difference_which_chunks_are_met(data):
    n = data.draw(st.integers(1, 8))
    rows = data.draw(st.lists(st.integers(1, n), min_size=1, max_size=4))
    counted = ways(n, rows, len(rows))
    for size in range(1, len(rows) + 1):
        for met in combinations(range(len(rows)), size):
            assert plain_ways(n, rows, met) == counted[size - 1]


def test_many_chunks_are_counted_soon():
    began = time.process_time()
    assert 0 < greatest_chance(50, [25] * 24, 0, 25, 12) <= Fraction(1, 2)
    assert time.process_time() - began < 1


def test_a_chance_that_cannot_be_counted_is_bounded_and_said():
    rows = ["ab", "ab", "ab", "a", "b", "b"]
    release, _ = publish(map(list, rows), (range(6), ["a", "b"], ""))
    exact = SafeDisassociated(k=2, m=2, max_share="1/2").check(release)
    assert (exact.holds, exact.exact) == (False, True)
    assert exact.witnesses[0].confidence < Fraction(5, 6)
    # With little work the share of records stands for the chance.
    bounded = SafeDisassociated(k=2, m=2, max_share="1/2", work=1).check(release)
    assert (bounded.holds, bounded.exact) == (False, False)
    assert bounded.witnesses[0].confidence == Fraction(5, 6)
    assert "for 2 of them the originals are too many to be counted" in bounded.reason
    assert "max_share=1/2,work=..." in bounded.reason


# --- joint clusters -----------------------------------------------------------------------------


def test_choices_of_many_shared_chunks_are_counted():
    table = TransactionTable.from_rows([[f"s{i:02}" for i in range(40)]] * 4)
    plans = [Plan(records=records, domains=(), terms=()) for records in ([0, 1], [2, 3])]
    release, _ = publish_disassociated(table, plans, [(0, 2, (i,)) for i in range(40)])
    began = time.process_time()
    verdict = Disassociated(k=2, m=6, work=2_000).check(release)
    assert time.process_time() - began < 10
    assert (verdict.holds, verdict.exact) == (True, False)
    assert "more than 2,000 itemsets and choices of chunks" in verdict.reason


def test_parts_of_wide_sub_records_are_counted():
    wide = [f"s{i:02}" for i in range(30)]
    table = TransactionTable.from_rows([wide, wide, [*wide, "b"], ["b"]])
    numbers = [table.vocabulary.number(item) for item in wide]
    plans = [
        Plan(records=[0, 1], domains=(), terms=()),
        Plan(records=[2, 3], domains=(), terms=(table.vocabulary.number("b"),)),
    ]
    release, _ = publish_disassociated(table, plans, [(0, 2, tuple(numbers))])
    assert narrowed_joint(release, 0, 2, k=2, m=6, work=1_000) == (None, False)
    found, exact = narrowed_joint(release, 0, 2, k=2, m=2, work=1_000)
    assert (found.items, found.most, exact) == (("b", "s00"), 1, True)


# --- ties ---------------------------------------------------------------------------------------


class Near:
    """Everything is at one distance, but w is nearer to x."""

    def __init__(self, distance):
        self.distance = distance

    def distances(self, rows, columns):
        return np.array(
            [[self.distance / (1 + ({a, b} == {"w", "x"})) for b in columns] for a in rows]
        )

    def known(self, terms):
        return np.ones(len(terms), dtype=bool)

    def fingerprint(self):
        return "near"


@pytest.mark.parametrize("distance", [0.1, 0.3, 0.7, 1 / 3])
@pytest.mark.parametrize("attack", [ABA(), RGA()])
def test_equal_distances_are_decided_at_random(attack, distance):
    table = TransactionTable.from_rows(map(list, ["xzw", "x", "pqr", "pqr"]))
    numbers = {item: table.vocabulary.number(item) for item in "xpqrzw"}
    plan = Plan(
        records=range(4),
        domains=(tuple(numbers[item] for item in "xpqr"),),
        terms=(numbers["z"], numbers["w"]),
    )
    release, _ = publish_disassociated(table, [plan])
    found = Counter()
    for seed in range(200):
        guess = attack.run(release, relatedness=Near(distance), rng=np.random.default_rng(seed))
        found["x" in next(r for r in guess.clusters[0].records() if "z" in r)] += 1
    assert 65 < found[True] < 135


def test_equal_totals_of_combinations_are_decided_at_random():
    pieces = tuple(
        Piece(kind="record", terms=(term,), copies=1, chunk=0, low=0, high=2) for term in "pq"
    )
    pool = Pool(
        numbers=(0,), starts=np.array([0, 2]), anchors=(("x",), ("y",)), values=np.array([0, 1]),
        pieces=pieces,
    )  # fmt: skip
    scores = [np.array([0.1, 0.3]), np.array([0.2, 0.4])]  # .1 + .4 and .3 + .2
    found = Counter()
    for seed in range(200):
        made = combined(pool, scores, np.random.default_rng(seed), k=2, m=2, most=1)
        found[int(made.placed[0][0])] += 1
    assert 65 < found[0] < 135


def test_equal_tails_are_equal_numbers():
    """Chances that are the same fraction are the same number, whatever they were summed from."""
    numbers = defaultdict(set)
    for n in range(2, 13):
        for copies in range(1, n):
            hit = Fraction(copies, n)
            for rows in range(1, 7):
                exactly = [
                    comb(rows, j) * hit**j * (1 - hit) ** (rows - j) for j in range(rows + 1)
                ]
                for j, tail in enumerate(upper_tails(rows, copies / n), start=1):
                    numbers[sum(exactly[j:])].add(tail)
    assert all(len(same) == 1 for same in numbers.values())


def test_the_likelier_row_is_taken_where_tails_are_equal():
    chances = np.array([0.9, 0.99, 0.999] * 20)
    values = np.zeros(60, dtype=np.int64)
    for seed in range(20):
        (rows,) = rows_of_terms(chances[None], values, 20, np.random.default_rng(seed))
        assert set(chances[rows].tolist()) == {0.999}


# --- files and words ----------------------------------------------------------------------------


def test_sizes_that_nothing_needs_are_refused():
    release, _ = publish([["a", "b"], ["a"]], ([0, 1], ["a"], "b"))
    structure, records = release.structure(), LabelledRows.of(release.to_rows())
    for sizes in ([2_000_000_000], [2**31 - 1]):
        with pytest.raises(ReleaseError, match=r"0 records in 1 cl|7 records in 1 cl"):
            rebuild("disassociated", records, {**structure, "sizes": sizes})
    assert len(rebuild("disassociated", records, {**structure, "sizes": [99]})) == 99


def test_what_is_wrong_with_a_structure_comes_with_a_way_out(tmp_path, monkeypatch):
    release, _ = publish([["a", "b"], ["a"]], ([0, 1], ["a"], "b"))
    save(release, tmp_path, method="m", params={}, promise=None)
    wrong = {**release.structure(), "sizes": [1]}
    as_told = type(release).rebuild
    monkeypatch.setattr(
        type(release), "rebuild", staticmethod(lambda rows, _: as_told(rows, wrong))
    )
    with pytest.raises(ReleaseError, match="2 sub-records for 1 records") as caught:
        load_release(tmp_path)
    assert "publish_disassociated" in caught.value.fix


def test_words_of_safe_disassociation():
    said = SafeDisassociated(k=5, m=2, max_share="1/3").describe()
    assert "learns items of other chunks with a chance of at most 1/3; items of one" in said
    rows = map(list, ["ac", "a", "ab", "bc", "b", "bd"])
    release, _ = publish(
        rows, ([0, 1, 2], ["a"], "b"), ([3, 4, 5], ["b"], "d"), joints=[(0, 2, "c")]
    )
    verdict = SafeDisassociated(k=2, m=1).check(release)
    assert (verdict.holds, verdict.exact) == (False, True)
    assert verdict.reason.startswith("2 items in 2 of 2 clusters are given away for certain")
