"""CAHD, Anatomy and Permutation: the degree on thousands of instances, sizes, refusals."""

import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from tests.reference import cahd as reference

from setveil import TransactionTable
from setveil.anonymize import CAHD, Anatomy, Permutation
from setveil.anonymize.groups.cahd import band_order
from setveil.core.errors import InfeasibleError, ParameterError

INSTANCES = 2_000


def instances(count, seed):
    """Yield tables with sensitive items (capitals) of which no one is in too many records."""
    rng = random.Random(seed)
    found = 0
    while found < count:
        n, p = rng.randint(2, 24), rng.randint(2, 5)
        kinds = "STUVWX"[: rng.randint(1, 6)]
        share = rng.random() * len(kinds) / p
        rows = []
        for _ in range(n):
            size = min(rng.randint(1, 2), len(kinds)) if rng.random() < share else 0
            rows.append(rng.sample("abcdefgh", rng.randint(0, 4)) + rng.sample(kinds, size))
        sensitive = sorted({i for row in rows for i in row if i.isupper()})
        if sensitive and reference.has_degree([rows], sensitive, p):
            found += 1
            yield TransactionTable.from_rows(rows), sensitive, p


def groups_of(made, table):
    starts = made.release.starts
    return [
        [table[i] for i in made.key.records[a:b].tolist()] for a, b in pairwise(starts.tolist())
    ]


@pytest.mark.parametrize(
    ("seed", "build"),
    [
        (1, lambda p: CAHD(p=p)),
        (2, lambda p: CAHD(p=p, alpha=1)),
        (3, lambda p: Permutation(p=p)),
        (4, lambda p: Anatomy(l=p)),
    ],
    ids=["cahd", "cahd 1", "permutation", "anatomy"],
)
def test_the_degree_holds_on_random_instances(seed, build):
    several = 0
    for table, sensitive, p in instances(INSTANCES if seed != 2 else 500, seed):
        made = build(p).anonymize(table, sensitive=sensitive)
        groups = groups_of(made, table)
        assert sum(map(len, groups)) == len(table)
        assert reference.has_degree(groups, sensitive, p)
        verdict = made.promise.check(made.release)
        assert verdict.holds
        assert verdict.exact
        several += len(groups) > 1
    assert several > 0.3 * (INSTANCES if seed != 2 else 500)


def test_the_printed_rule_breaks_it_often():
    broken = 0
    for table, sensitive, p in instances(500, 7):
        rows = table.to_rows()
        printed = reference.groups(rows, sensitive, p, alpha=3, printed=True)
        sound = reference.groups(rows, sensitive, p, alpha=3)
        assert reference.has_degree([[rows[i] for i in g] for g in sound], sensitive, p)
        broken += not reference.has_degree([[rows[i] for i in g] for g in printed], sensitive, p)
    assert broken > 25


def test_anatomy_makes_as_many_groups_as_there_can_be():
    """Where every record has one sensitive value, residues always find a group."""
    rng = np.random.default_rng(5)
    for _ in range(100):
        values = rng.choice(list("STUVWXYZ"), int(rng.integers(4, 60)))
        size = len(values) // Counter(values.tolist()).most_common(1)[0][1]
        if size < 2:
            continue
        table = TransactionTable.from_rows([[v, f"o{i}"] for i, v in enumerate(values)])
        made = Anatomy(l=size).anonymize(table, sensitive=set(values.tolist()))
        assert len(made.release.sizes) == len(table) // size


def test_anatomy_limits_items_not_sets():
    table = TransactionTable.from_rows([["S", "T", "a"], ["S", "U", "b"], ["c"], ["d"]])
    made = Anatomy(l=2).anonymize(table, sensitive=["S", "T", "U"])
    assert all(group.histogram.get("S", 0) * 2 <= len(group.rows) for group in made.release.groups)
    parts = sorted(part for group in made.release.groups for part, _ in group.parts)
    assert parts == [("S", "T"), ("S", "U")]


def test_anatomy_draws_from_the_system_unless_told():
    table = TransactionTable.from_rows([[f"o{i}", "ST"[i % 2]] for i in range(40)])
    method = Anatomy(l=2)
    shown = [method.anonymize(table, sensitive=["S", "T"]).release.to_frame() for _ in range(4)]
    assert any(not frame.equals(shown[0]) for frame in shown[1:])
    told = [
        method.anonymize(table, sensitive=["S", "T"], rng=np.random.default_rng(1))
        for _ in range(2)
    ]
    assert told[0].release.to_frame().equals(told[1].release.to_frame())


def test_similar_records_are_grouped():
    """Two kinds of customers in turns: the order brings each kind together."""
    rows = [[f"{'xy'[i % 2]}{j}" for j in range(3)] + ["ST"[i // 2 % 2]] * (i < 8)
            for i in range(40)]  # fmt: skip
    made = CAHD(p=2).anonymize(TransactionTable.from_rows(rows), sensitive=["S", "T"])
    for group in made.release.groups:
        if group.histogram:
            assert len({row[0][0] for row in group.rows}) == 1


def test_band_order_is_an_order_and_needs_no_items():
    offsets = np.array([0, 2, 2, 3, 5])
    order = band_order((offsets, np.array([0, 1, 2, 1, 2], dtype=np.int32)))
    assert sorted(order.tolist()) == [0, 1, 2, 3]
    none = np.zeros(4, dtype=np.int64), np.zeros(0, dtype=np.int32)
    assert sorted(band_order(none).tolist()) == [0, 1, 2]


def test_the_log_tells_what_is_left():
    table = TransactionTable.from_rows([["a", "S"], ["a"], ["b"], ["b"], ["c"]])
    made = CAHD(p=2).anonymize(table, sensitive=["S"])
    assert made.figures == {"groups": 2, "left": 3, "left_sensitive": 0}
    assert made.log[1].subject == "3 records in one group, 0 of them sensitive"


@pytest.mark.parametrize(("method", "letter"), [(CAHD, "p"), (Permutation, "p"), (Anatomy, "l")])
def test_what_cannot_be_is_said_before(method, letter):
    table = TransactionTable.from_rows([["a", "S"], ["b", "S"], ["c"], ["d"], ["e", "T"]])
    with pytest.raises(InfeasibleError, match=rf"{letter} is 3, but .* 5 records hold 'S'") as said:
        method(**{letter: 3}).anonymize(table, sensitive=["S", "T"])
    assert f"{letter} of at most 2" in said.value.fix
    alike = TransactionTable.from_rows([["S"], ["S"], ["a"]])
    with pytest.raises(InfeasibleError) as said:
        method(**{letter: 2}).anonymize(alike, sensitive=["S"])
    assert "at most" not in said.value.fix


@pytest.mark.parametrize("value", [0, 1, -3, 2.5, "3", None, True])
@pytest.mark.parametrize(("method", "letter"), [(CAHD, "p"), (Permutation, "p"), (Anatomy, "l")])
def test_degrees_that_mean_nothing(method, letter, value):
    with pytest.raises(ParameterError, match=f"{letter} is"):
        method(**{letter: value})


@pytest.mark.parametrize("alpha", [0, 1.5, "3", None, True])
@pytest.mark.parametrize("method", [CAHD, Permutation])
def test_alpha_that_means_nothing(method, alpha):
    with pytest.raises(ParameterError, match="alpha is"):
        method(alpha=alpha)
