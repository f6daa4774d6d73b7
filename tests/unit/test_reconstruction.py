import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import grouped as reference
from tests.unit.test_grouped import grouped, published

from setveil import TransactionTable
from setveil.anonymize import CAHD, Anatomy
from setveil.core.errors import InputError, NotApplicable, ParameterError
from setveil.measure import mean_reconstruction_error, reconstruction_error
from setveil.release import publish_grouped, publish_suppressed

TABLE = TransactionTable.from_rows([["a", "S"], ["a", "b"], ["b"], ["c", "S"], ["c"]])


@settings(max_examples=100, deadline=None)
@given(grouped(max_rows=10), st.data())
def test_it_is_that_of_the_definition(case, data):
    table = case[0]
    release, _ = published(case)
    ordinary = [name for name in table.vocabulary.names if name not in case[2]]
    if not release.sensitive or not ordinary:
        with pytest.raises(NotApplicable):
            mean_reconstruction_error(release, table)
        return
    item = data.draw(st.sampled_from(release.sensitive))
    cells = data.draw(st.lists(st.sampled_from(ordinary), unique=True, max_size=3))
    error = reconstruction_error(release, table, sensitive=item, items=cells)
    expected = reference.divergence(release, table.to_rows(), item, cells)
    assert error == pytest.approx(expected, abs=1e-12)
    mean = mean_reconstruction_error(release, table, r=2, draws=5)
    assert 0 <= mean.low <= mean.value <= mean.high < math.inf


def test_alone_or_alike_there_is_nothing_to_reconstruct():
    alone, _ = publish_grouped(TABLE, range(5), ["S"])
    assert mean_reconstruction_error(alone, TABLE).value == 0
    alike = TransactionTable.from_rows([["a", "S"], ["a"], ["a"]])
    release, _ = publish_grouped(alike, [0, 0, 0], ["S"])
    assert mean_reconstruction_error(release, alike).value == 0


def test_similar_groups_lose_less_than_random_ones():
    rng = np.random.default_rng(3)
    rows = []
    for kind in rng.integers(0, 20, 2_000).tolist():
        held = [f"{kind} {i}" for i in range(6) if rng.random() < 0.7]
        rows.append(held + ["S"] * (kind < 3 and rng.random() < 0.3))
    table = TransactionTable.from_rows(rows)
    near = CAHD(p=5).anonymize(table, sensitive=["S"]).release
    spread = Anatomy(l=5).anonymize(table, sensitive=["S"], rng=np.random.default_rng(0)).release
    assert mean_reconstruction_error(near, table).value * 3 < (
        mean_reconstruction_error(spread, table).value
    )


def test_what_cannot_be_compared():
    release, _ = publish_grouped(TABLE, [0] * 5, ["S"])
    with pytest.raises(ParameterError, match="no sensitive item 'a'"):
        reconstruction_error(release, TABLE, sensitive="a", items=["b"])
    with pytest.raises(ParameterError, match="'S' is sensitive"):
        reconstruction_error(release, TABLE, sensitive="S", items=["S"])
    with pytest.raises(ParameterError, match="21 items are too many"):
        reconstruction_error(release, TABLE, sensitive="S", items=[str(i) for i in range(21)])
    with pytest.raises(InputError, match="the original 1"):
        reconstruction_error(release, TABLE.take([0]), sensitive="S", items=["a"])
    other = TransactionTable.from_rows([["z", "S"], ["a"], ["b"], ["b"], ["c"]])
    with pytest.raises(InputError, match="cannot come from"):
        reconstruction_error(release, other, sensitive="S", items=["z"])
    suppressed, _ = publish_suppressed(TABLE, [True] * 4)
    with pytest.raises(NotApplicable, match="no groups"):
        mean_reconstruction_error(suppressed, TABLE)
    for name, value in (("r", 0), ("r", 21), ("draws", 0), ("draws", 1.5)):
        with pytest.raises(ParameterError, match=f"{name} is"):
            mean_reconstruction_error(release, TABLE, **{name: value})
