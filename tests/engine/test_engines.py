"""Every engine gives the same results; the loopback one shows what would break on a cluster."""

from __future__ import annotations

import operator
import threading
import time

import numpy as np
import pytest

from setveil.anonymize import Gather
from setveil.anonymize import gather as gather_module
from setveil.data import Taxonomy, TransactionTable
from setveil.engine import Local, Loopback
from setveil.errors import ParameterError

ENGINES = [Local(workers=1), Local(workers=3), Loopback(seed=1), Loopback(seed=2)]


def square(x):
    return x * x


def parity(x):
    return x % 2


def describe(key, records):
    return key, sorted(records)


@pytest.mark.parametrize("engine", ENGINES, ids=repr)
def test_map_reduce(engine):
    assert engine.map_reduce(range(100), square, operator.add) == sum(i * i for i in range(100))
    assert engine.map_reduce([7], square, operator.add) == 49
    with pytest.raises(ParameterError, match="nothing to map"):
        engine.map_reduce([], square, operator.add)


@pytest.mark.parametrize("engine", ENGINES, ids=repr)
def test_group_map(engine):
    found = dict(engine.group_map(range(11), parity, describe))
    assert found == {0: [0, 2, 4, 6, 8, 10], 1: [1, 3, 5, 7, 9]}
    assert list(engine.group_map([], parity, describe)) == []


def test_local_keeps_few_chunks_in_memory():
    made = done = 0
    most = 0

    def chunks():
        nonlocal made, most
        for i in range(50):
            made += 1
            most = max(most, made - done)
            yield i

    def merge(a, b):
        nonlocal done
        done += 1
        return a + b

    assert Local(workers=2).map_reduce(chunks(), square, merge) == sum(i * i for i in range(50))
    assert most <= 6


def test_local_runs_side_by_side():
    barrier = threading.Barrier(2, timeout=20)

    def meet(x):
        barrier.wait()
        return x

    assert Local(workers=2).map_reduce([1, 2], meet, operator.add) == 3


def test_local_passes_errors_on_and_stops():
    started = []

    def fail(x):
        started.append(x)
        if x == 0:
            raise ValueError("piece 0")
        time.sleep(0.01)
        return x

    with pytest.raises(ValueError, match="piece 0"):
        Local(workers=1).map_reduce(range(100), fail, operator.add)
    assert len(started) < 10


def test_workers_must_be_positive():
    with pytest.raises(ParameterError, match="workers is 0"):
        Local(workers=0)


def test_loopback_merges_in_another_order():
    found = {Loopback(seed=s).map_reduce("abcdef", str.upper, operator.add) for s in range(5)}
    assert len(found) > 1
    assert all(sorted(text) == list("ABCDEF") for text in found)


def test_loopback_shares_nothing():
    seen = []
    Loopback().map_reduce([[1], [2]], list.copy, operator.add)
    with pytest.raises((AttributeError, TypeError), match=r"pickle|local object"):
        Loopback().map_reduce([1], lambda x: seen.append(x + 1), operator.add)
    assert seen == []


def test_gather_is_the_same_on_every_engine(monkeypatch):
    monkeypatch.setattr(gather_module, "REGION", 60)
    rng = np.random.default_rng(5)
    names = [f"i{n:02}" for n in range(32)]
    table = TransactionTable.from_rows(
        [[names[j] for j in rng.choice(32, size=rng.integers(1, 7), replace=False)]
         for _ in range(400)]
    )  # fmt: skip
    tree = Taxonomy.balanced(names, fanout=3)
    results = [Gather(k=3).anonymize(table, taxonomy=tree, engine=engine) for engine in ENGINES]
    assert len(np.unique(results[0].figures["clusters"])) > 400 // 12
    for result in results[1:]:
        assert result.release.to_rows() == results[0].release.to_rows()
        assert np.array_equal(result.figures["clusters"], results[0].figures["clusters"])
