"""Elimination attacks: kernels beside plain NumPy, growth with the table, a whole attack."""

from __future__ import annotations

import numpy as np
from tests.reference import elimination as reference

from benchmarks.row import Row, timed
from setveil import TransactionTable
from setveil.anonymize import Coat
from setveil.attack import EC, GBA, RBA, WBA, Shadow
from setveil.measure import score
from setveil.relatedness import NGD, RecordCounts
from setveil.release.set_generalized import publish_sets

ROUNDS = 100
"""Rounds of plain NumPy that are timed; all take the same time, as each sorts everything."""
RULES = {"GBA": (GBA(), reference.Counting), "RBA": (RBA(), reference.Redistributing)}


def table_of(n: int) -> np.ndarray:
    """Return distances as contexts and members give them: rare ones are far from everything."""
    rng = np.random.default_rng(n)
    far = 0.1 * rng.normal(size=(n, 1)) + 0.1 * rng.normal(size=(1, n))
    return np.clip(0.6 + far + 0.1 * rng.normal(size=(n, n)), 0, None)


def against_numpy(*, small: bool) -> list[Row]:
    """Both attacks on one large table, beside NumPy that sorts everything anew in every round."""
    n = 40 if small else 300
    table = table_of(n)
    found = []
    for name, (attack, rule) in RULES.items():
        attack.eliminate(table_of(4))
        seconds, result = timed(lambda attack=attack: attack.eliminate(table))
        plain, cells = timed(
            lambda rule=rule: reference.by_groups_in_arrays(table, rule, most=ROUNDS), repeat=1
        )
        if cells != list(map(tuple, result.cells[:ROUNDS].tolist())):
            raise AssertionError(f"{name} and its reference disagree")
        rounds = len(result.cells)
        found += [
            Row(name=f"{name}, {n} × {n}, {rounds:,} rounds", value=seconds, unit="s"),
            Row(
                name=f"the same: NumPy's time over it, from NumPy's first {len(cells)} rounds",
                value=plain / len(cells) * rounds / seconds,
                unit="×",
                least=25,
            ),
        ]
    return found


def growth(*, small: bool) -> list[Row]:
    """Time when a table has twice the rows and columns: eight times the cells times groups."""
    sizes = (20, 40) if small else (75, 150, 300)
    found = []
    for attack in (WBA(), GBA(), RBA()):
        name = type(attack).__name__
        attack.eliminate(table_of(4))
        times = [timed(lambda n=n, a=attack: a.eliminate(table_of(n)))[0] for n in sizes]
        found += [
            Row(
                name=f"{name}: time from {before} × {before} to {after} × {after}",
                value=late / early,
                unit="×",
            )
            for before, after, early, late in zip(
                sizes[:-1], sizes[1:], times[:-1], times[1:], strict=True
            )
        ]
    return found


def rows_of(count: int, items: int, rng: np.random.Generator) -> list[list[str]]:
    """Return records that are each about one of twenty topics."""
    topics = rng.integers(0, 20, count)
    chosen = (topics[:, None] + 20 * rng.integers(0, items // 20, (count, 25))) % items
    return [sorted({f"item{i}" for i in row}) for row in chosen.tolist()]


def whole_attack(*, small: bool) -> list[Row]:
    """Distances, attack, control and score of a release with many generalized items."""
    n, items, hidden = (200, 100, 10) if small else (5_000, 2_000, 300)
    rng = np.random.default_rng(0)
    table = TransactionTable.from_rows(rows_of(n, items, rng))
    group = np.arange(table.n_items)
    group[: 3 * hidden] //= 3
    release, key = publish_sets(
        table, group + table.n_items * (np.arange(table.n_items) < 3 * hidden)
    )
    source = NGD(RecordCounts.from_rows(rows_of(2 * n, items, rng)))
    RBA().eliminate(table_of(4))
    seconds, guess = timed(lambda: RBA().run(release, relatedness=source), repeat=1)
    cells = sum(each.scores.size for each in guess.tables)
    scoring, rates = timed(lambda: score(guess, release=release, original=table, key=key), repeat=1)
    auc, control = rates["auc"], rates["auc_control"]
    if auc is None or control is None:
        raise AssertionError("nothing was attacked")
    what = f"RBA with its control: {hidden} generalized items, {cells:,} cells, {n:,} records"
    return [
        Row(name=what, value=seconds, unit="s"),
        Row(name="the same: scoring with 500 draws", value=scoring, unit="s"),
        Row(name="the same: AUC", value=auc.value, unit=""),
        Row(name="the same: AUC of the control", value=control.value, unit=""),
    ]


def our_attacks(*, small: bool) -> list[Row]:
    """EC and Shadow on what COAT makes of records."""
    n, items = (100, 400) if small else (600, 6_000)
    rng = np.random.default_rng(0)
    table = TransactionTable.from_rows(rows_of(n, items, rng))
    source = NGD(RecordCounts.from_rows(rows_of(2 * n, items, rng)))
    coat = Coat(k=4, constrained=0.05)
    made = coat.anonymize(table, rng=rng)
    ec, guess = timed(lambda: EC().run(made.release, relatedness=source), repeat=1)
    shadow, _ = timed(
        lambda: Shadow(tables=200).run(made.release, relatedness=source, anonymizer=coat), repeat=1
    )
    cells = sum(each.scores.size for each in guess.tables)
    what = f"with its control: {cells:,} cells, {n:,} records"
    return [
        Row(name=f"EC {what}", value=ec, unit="s"),
        Row(name=f"Shadow {what}, 200 shadow tables", value=shadow, unit="s"),
    ]


def run(*, small: bool) -> list[Row]:
    return (
        against_numpy(small=small)
        + growth(small=small)
        + whole_attack(small=small)
        + our_attacks(small=small)
    )
