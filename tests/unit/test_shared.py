"""Secret shares: any k of them give the name, fewer give nothing."""

from dataclasses import fields
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import tables

from setveil import TransactionTable
from setveil.anonymize import SecretSharing
from setveil.core.errors import InfeasibleError, ParameterError, ReleaseError
from setveil.release.shared import (
    PRIME,
    Newton,
    SharedRelease,
    blocks_of,
    read_item,
    shared_release,
    value_at,
)
from setveil.release.store import load_release, save

FIELDS = [each.name for each in fields(SharedRelease)]
SECRET = b"sixteen bytes or more"


def test_the_example_of_the_literature():
    points = [(x, value_at([5, 3, 2], x, prime=17)) for x in (1, 2, 3, 4)]
    assert points == [(1, 10), (2, 2), (3, 15), (4, 15)]
    for three in combinations(points, 3):
        assert Newton.of(three, prime=17).at(0) == 5
    # Two shares leave every secret possible, and equally so: one polynomial each.
    for secret in range(17):
        through = Newton.of([(0, secret), *points[:2]], prime=17)
        assert [through.at(x) for x, _ in points[:2]] == [y for _, y in points[:2]]


@settings(max_examples=100)
@given(
    st.text(max_size=200), st.integers(1, 6), st.integers(0, 3), st.randoms(use_true_random=False)
)
def test_any_k_shares_give_the_name(item, k, more, random):
    table = TransactionTable.from_rows([[item]] * (k + more))
    release = SecretSharing(k=k).anonymize(table, secret=SECRET).release
    assert release.to_rows() == [[item]] * (k + more)
    points = []
    for x, row in enumerate(release.share_rows(), 1):
        share = row[0].partition(":")[2]
        points.append((x, tuple(int(share[i : i + 132], 16) for i in range(0, len(share), 132))))
    assert read_item(random.sample(points, k), k) == item
    assert read_item(points[: k - 1], k) is None


@settings(max_examples=60)
@given(tables(min_rows=1), st.integers(1, 4))
def test_readable_is_what_k_records_hold(table, k):
    if k > len(table):
        with pytest.raises(InfeasibleError):
            SecretSharing(k=k).anonymize(table)
        return
    made = SecretSharing(k=k).anonymize(table, secret=SECRET)
    supports = dict(zip(table.vocabulary.names, table.supports().tolist(), strict=True))
    common = {item for item, count in supports.items() if count >= k}
    seen = {made.release.vocabulary[i] for i in np.flatnonzero(made.release.readable)}
    assert seen == common
    for row, record in zip(made.release.to_rows(), made.key.records.tolist(), strict=True):
        assert {item for item in row if item in common} == common.intersection(table[record])
        assert len(row) == len(set(table[record]))
    # What is published decodes to the same release by nothing but the shares.
    again = shared_release(made.release.share_rows(), k)
    assert again.to_rows() == made.release.to_rows()
    assert again.shares == made.release.shares
    assert made.release.is_consistent_with(table, made.key)


def test_equal_records_count_once_each_and_repetitions_not():
    table = TransactionTable.from_rows([["a", "a", "a"], ["b"]], bags=True)
    assert not SecretSharing(k=2).anonymize(table).release.readable.any()


def test_the_secret_decides_everything():
    table = TransactionTable.from_rows([["a"], ["a"], ["b"]])
    rows = [
        SecretSharing(k=2).anonymize(table, secret=secret).release.share_rows()
        for secret in (SECRET, SECRET, b"another secret of ours")
    ]
    assert rows[0] == rows[1] != rows[2]
    drawn = [SecretSharing(k=2).anonymize(table).release.share_rows() for _ in range(2)]
    assert drawn[0] != drawn[1]


def test_nothing_of_a_rare_item_is_in_the_files(tmp_path):
    table = TransactionTable.from_rows([["common", "rarest of all"], ["common"], ["common"]])
    made = SecretSharing(k=3).anonymize(table)
    save(made.release, tmp_path, method="secret-sharing", params={"k": 3}, promise=None)
    text = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"rarest" not in text
    assert b"rarest".hex().encode() not in text
    loaded = load_release(tmp_path)
    assert isinstance(loaded, SharedRelease)
    assert loaded.to_rows() == made.release.to_rows()
    assert loaded.k == 3


@pytest.mark.parametrize("row", [["no share"], ["handle:"], [":00"], ["h:12"], ["h:" + "g" * 132]])
def test_what_is_no_share_is_said(row):
    with pytest.raises(ReleaseError, match="no share"):
        shared_release([row], 1)


def test_shares_that_do_not_belong_together_are_noticed():
    release = SecretSharing(k=2).anonymize(TransactionTable.from_rows([["a"]] * 3)).release
    rows = release.share_rows()
    damaged = [*rows[:2], [rows[2][0][:-1] + ("0" if rows[2][0][-1] != "0" else "1")]]
    with pytest.raises(ReleaseError, match="do not belong together"):
        shared_release(damaged, 2)
    with pytest.raises(ReleaseError, match="do not belong together"):
        shared_release([rows[1], rows[0]], 2)  # a share stands at its record's place


def test_structure_is_checked():
    from setveil.release.base import rebuild
    from setveil.release.data_file import LabelledRows

    for structure in ({}, {"k": 0}, {"k": "2"}, {"k": True}):
        with pytest.raises(ReleaseError, match="how many shares"):
            rebuild("shared", LabelledRows.of([]), structure)
    release = SecretSharing(k=2).anonymize(TransactionTable.from_rows([["a"]] * 2)).release
    made = {name: getattr(release, name) for name in FIELDS}
    with pytest.raises(ParameterError, match="can be read"):
        SharedRelease(**{**made, "k": 3})
    with pytest.raises(ParameterError, match="do not fit"):
        SharedRelease(**{**made, "shares": ()})


def test_a_block_is_less_than_the_prime():
    assert max(blocks_of("\U0010ffff" * 40)) < PRIME


@pytest.mark.parametrize("secret", [b"short", "a text of some length"])
def test_secrets_that_are_none(secret):
    with pytest.raises(ParameterError, match="the secret has"):
        SecretSharing(k=1).anonymize(TransactionTable.from_rows([["a"]]), secret=secret)
