"""Every engine gives the same results; the loopback one shows what would break on a cluster."""

from __future__ import annotations

import operator
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from tests.conftest import missing_component

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import LRA, Disassociate, Gather, SafeDisassociate, VPAKm
from setveil.anonymize.k_anonymity import gather as gather_module
from setveil.core.errors import EngineError, InfeasibleError, ParameterError
from setveil.engine import Local, Loopback, Spark
from setveil.engine import spark as spark_module

ENGINES = [Local(workers=1), Local(workers=3), Loopback(seed=1), Loopback(seed=2)]
ON_SPARK = pytest.param("spark", marks=pytest.mark.spark)


@pytest.fixture(params=[*ENGINES, ON_SPARK], ids=str)
def engine(request):
    if request.param != "spark":
        return request.param
    found = request.getfixturevalue("spark")
    # Workers cannot import this module: its functions are sent whole.
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    return found


def square(x):
    return x * x


def parity(x):
    return x % 2


def describe(key, records):
    return key, sorted(records)


def test_map_reduce(engine):
    assert engine.map_reduce(range(100), square, operator.add) == sum(i * i for i in range(100))
    assert engine.map_reduce([7], square, operator.add) == 49
    with pytest.raises(ParameterError, match="nothing to map"):
        engine.map_reduce([], square, operator.add)


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


def records(rng, n):
    names = [f"i{i:02}" for i in range(32)]
    rows = (rng.choice(32, size=rng.integers(1, 7), replace=False) for _ in range(n))
    return TransactionTable.from_rows([[names[j] for j in row] for row in rows]), names


def test_gather_is_the_same_on_every_engine(engine, monkeypatch):
    monkeypatch.setattr(gather_module, "REGION", 60)
    table, names = records(np.random.default_rng(5), 400)
    tree = Taxonomy.balanced(names, fanout=3)
    here = Gather(k=3).anonymize(table, taxonomy=tree, engine=ENGINES[0])
    there = Gather(k=3).anonymize(table, taxonomy=tree, engine=engine)
    assert len(np.unique(here.figures["clusters"])) > 400 // 12
    assert there.release.to_rows() == here.release.to_rows()
    assert np.array_equal(there.figures["clusters"], here.figures["clusters"])


@pytest.mark.parametrize(
    "method",
    [
        VPAKm(k=3, m=2),
        LRA(k=3, m=2),
        Disassociate(k=3, m=2),
        SafeDisassociate(k=3, m=2),
    ],
    ids=lambda method: type(method).__name__,
)
def test_methods_are_the_same_on_every_engine(engine, method):
    table, names = records(np.random.default_rng(8), 300)
    inputs = {"taxonomy": Taxonomy.balanced(names, fanout=3)} if method.requires else {}
    here = method.anonymize(table, engine=ENGINES[0], **inputs)
    there = method.anonymize(table, engine=engine, **inputs)
    assert there.release.to_rows() == here.release.to_rows()
    assert np.array_equal(there.key.records, here.key.records)
    assert there.promise.check(there.release).holds


def refuse(x):
    raise InfeasibleError(f"piece {x}", fix="use another")


def divide(x):
    return 1 / x


@pytest.mark.spark
def test_spark_passes_errors_on_in_words(spark):
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with pytest.raises(InfeasibleError, match=r"piece 3. To fix: use another"):
        spark.map_reduce([3], refuse, operator.add)
    with pytest.raises(EngineError, match="ZeroDivisionError: division by zero"):
        spark.map_reduce([0], divide, operator.add)


def test_a_spark_without_memory_says_so():
    pytest.importorskip("py4j")
    from py4j.protocol import Py4JError

    message = r"want of memory. To fix: raise spark\.driver\.memory"
    with pytest.raises(EngineError, match=message), spark_module.spoken_errors():
        raise Py4JError("Job 44 cancelled because SparkContext was shut down")


@pytest.mark.spark
def test_a_task_reads_little_at_a_time(spark):
    for name in spark_module.PARTS:
        assert int(spark.session.conf.get(name).removesuffix("b")) == 1 << 24


def unseen(_):
    import gc

    return "numba" in sys.modules and gc.get_freeze_count() > 100_000


@pytest.mark.spark
def test_what_workers_load_is_loaded_once_and_not_looked_through_after_each_task(spark):
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    assert spark.map_reduce([0], unseen, operator.and_)


def test_spark_refuses_a_place_that_is_none():
    with pytest.raises(ParameterError, match="no place where Spark runs"):
        Spark(master="http://here")


def test_a_machine_without_java_is_told_so(monkeypatch):
    monkeypatch.setattr(spark_module, "missing_for_spark", lambda: "there is no Java")
    with pytest.raises(EngineError, match=r"no Java. To fix: pip install 'setveil\[spark\]'"):
        Spark().start()


def test_where_java_is_missing_tests_are_skipped_and_ci_fails(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    missing = spark_module.missing_for_spark()
    assert missing == "there is no Java on this machine"
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no Java"):
        missing_component(missing)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no Java"):
        missing_component(missing)


@pytest.mark.parametrize("master", ["spark://127.0.0.1:1", "spark://127.0.0.1", "spark://a:b"])
def test_a_master_that_is_not_there_is_told_at_once(master):
    script = f"from setveil.engine import Spark; Spark(master={master!r}).start()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)  # noqa: PLW1510
    assert f"no Spark master answers at {master}" in done.stderr


def test_a_java_that_does_not_start_is_told_so(tmp_path):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\nexit 1\n")
    java.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", "from setveil.engine import Spark; Spark().start()"],
        env={**os.environ, "JAVA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "install Java 17 or newer" in done.stderr
