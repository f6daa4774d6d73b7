"""Gather beside the least distortion of any division, found by an integer program."""

from fractions import Fraction

import numpy as np
import pytest
from tests.reference.lcg import Tree, ggd, lcg
from tests.reference.optimum import optimum
from tests.unit.km_instances import instances, published

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import Gather


def distortions(number, seed):
    """Return the sum of Gather's distortions, that of the least ones, and how often they agree."""
    rng = np.random.default_rng(seed)
    total = least = Fraction(0)
    best = cases = 0
    for drawn, parents, _, _ in instances(number, seed):
        rows = drawn[:10]
        k = int(rng.integers(2, min(4, len(rows) // 2) + 1))
        tree, rows = Tree(parents).for_rows(rows)
        if tree.n_leaves == 1:
            continue  # without branches there are no clusters to choose but by length
        made = Gather(k=k).anonymize(
            TransactionTable.from_rows(rows), taxonomy=Taxonomy.from_parents(tree.parents)
        )
        assert made.promise.check(made.release).holds
        groups = {}
        for row, shown in zip(rows, published(made), strict=True):
            groups.setdefault(tuple(sorted(shown)), []).append(row)
        assert all(len(group) >= k for group in groups.values())
        here = sum((ggd(group, lcg(group, tree), tree) for group in groups.values()), Fraction(0))
        there = optimum(rows, tree, k)
        assert here >= there
        total, least = total + here, least + there
        best, cases = best + (here == there), cases + 1
    return float(total / least), best / cases


def test_few_records_get_the_best_clusters():
    ratio, best = distortions(150, 16)
    assert ratio < 1.001
    assert best >= 0.99


@pytest.mark.slow
def test_few_records_get_the_best_clusters_in_4000_cases():
    """1.0009 times the least, and the least in 99.5%; without shuffled starts 1.0175 and 93.1%."""
    ratio, best = distortions(4000, 17)
    assert ratio < 1.002
    assert best >= 0.99


def test_equal_data_gives_an_equal_release_in_any_order():
    """Shuffled starts come from a fixed generator over the sorted records."""
    for drawn, parents, _, _ in instances(60, 18):
        table, tree = TransactionTable.from_rows(drawn), Taxonomy.from_parents(parents)
        turned = table.take(np.arange(len(table))[::-1])
        one, other = (Gather(k=2).anonymize(each, taxonomy=tree) for each in (table, turned))
        assert one.release.to_rows() == other.release.to_rows()
