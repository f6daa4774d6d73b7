"""What a certificate tells recipients to check without setveil is true of what methods publish."""

from collections import Counter
from itertools import combinations

import polars as pl
import pytest

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import (
    CAHD,
    AprioriKm,
    Coherence,
    Disassociate,
    Gather,
    SuppressControl,
)
from setveil.core.registry import entries

ITEMS = "abcdefgh"
TABLE = TransactionTable.from_rows(
    [[item for place, item in enumerate(ITEMS) if n >> place & 1] for n in range(1, 256, 3)]
)
SENSITIVE = ("g", "h")
TREE = Taxonomy.balanced(list(ITEMS), fanout=2)


def rows_of(table):
    """Return the items of each record of an exported table."""
    keys = [name for name in table.frame.columns if name != "item"]
    grouped = table.frame.group_by(keys, maintain_order=True).agg(pl.col("item").drop_nulls())
    return [tuple(row) for row in grouped["item"].to_list()]


def supports(rows, size):
    """Count the rows that hold each set of up to so many items."""
    found = Counter()
    for row in rows:
        for length in range(1, size + 1):
            found.update(combinations(sorted(set(row)), length))
    return found


def test_k_anonymity():
    made = Gather(k=4).anonymize(TABLE, taxonomy=TREE)
    rows = rows_of(made.release.export().tables[0])
    assert len(rows) == len(TABLE)
    assert min(Counter(rows).values()) >= 4
    assert "fewer than 4 times" in made.promise.by_hand()


def test_km_anonymity():
    made = AprioriKm(k=6, m=2).anonymize(TABLE, taxonomy=TREE)
    rows = rows_of(made.release.export().tables[0])
    assert min(supports(rows, 2).values()) >= 6
    assert "up to 2 items" in made.promise.by_hand()


def test_coherence():
    made = Coherence(h=0.8, k=3, p=2).anonymize(TABLE, sensitive=SENSITIVE)
    rows = rows_of(made.release.export().tables[0])
    public = supports([[item for item in row if item not in SENSITIVE] for row in rows], 2)
    assert min(public.values()) >= 3
    for items, count in public.items():
        for secret in SENSITIVE:
            held = sum({*items, secret} <= set(row) for row in rows)
            assert held <= 0.8 * count
    assert "share 0.8" in made.promise.by_hand()


def test_rho_uncertainty():
    made = SuppressControl(rho=0.6).anonymize(TABLE, sensitive=SENSITIVE)
    rows = [set(row) for row in rows_of(made.release.export().tables[0])]
    shown = sorted(set().union(*rows))
    for secret in set(shown) & set(SENSITIVE):
        others = [item for item in shown if item != secret]
        for length in range(len(others) + 1):
            for items in combinations(others, length):
                holders = [row for row in rows if row >= set(items)]
                if holders:
                    assert sum(secret in row for row in holders) < 0.6 * len(holders)
    assert "below 0.6" in made.promise.by_hand()


def test_disassociated():
    made = Disassociate(k=3, m=2).anonymize(TABLE)
    frame = made.release.export().tables[0].frame.filter(pl.col("chunk") != "term")
    for _, chunk in frame.group_by("cluster", "chunk"):
        rows = chunk.group_by("row").agg("item")["item"].to_list()
        assert min(supports(rows, 2).values()) >= 3
    assert "below 3" in made.promise.by_hand()


def test_privacy_degree():
    made = CAHD(p=2).anonymize(TABLE, sensitive=("h",))
    qit, st = (table.frame for table in made.release.export().tables)
    sizes = dict(qit.group_by("group").agg(pl.col("row").n_unique()).rows())
    held = st.group_by("group", "item").agg(pl.col("count").sum()).rows()
    assert held
    assert all(2 * count <= sizes[group] for group, _, count in held)
    assert "one record in 2" in made.promise.by_hand()


@pytest.mark.parametrize("entry", entries("guarantee"), ids=lambda entry: entry.name)
def test_every_guarantee_says_how(entry):
    assert "by_hand" in vars(entry.target)
