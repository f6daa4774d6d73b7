"""A real cluster whose workers are killed in the middle: nothing is lost, nothing doubled."""

import json
import re
import sys
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from tests.conftest import missing_component
from tests.spark.standalone import Cluster

from setveil import load_release
from setveil.anonymize import Gather
from setveil.guarantee import KAnonymity, KmAnonymity
from setveil.spark import DistributedTable, anonymize
from setveil.synthetic import lookalike

pytestmark = [pytest.mark.spark, pytest.mark.slow]  # `make test-cluster` runs the small one

FILES = 16
SETTINGS = {
    # One task per file, so that there is a middle whatever the size of the data.
    "spark.sql.files.maxPartitionBytes": 1_000_000_000,
    "spark.sql.files.openCostInBytes": 1_000_000_000,
    "spark.sql.shuffle.partitions": 8,
    "spark.locality.wait": 0,  # else tasks wait 3 s for the worker that has their records
    "spark.executor.memory": "900m",
}


def written(table, folder):
    """Write a table as several files of Parquet, as a cluster would find it."""
    rows = table.to_rows()
    folder.mkdir()
    for number in range(FILES):
        part = pl.DataFrame({"items": rows[number::FILES]}, schema={"items": pl.List(pl.String)})
        part.write_parquet(folder / f"part-{number}.parquet")


def kill_in_the_middle(job, phase, worker, *, stage):
    """Kill a worker in a phase; with `stage`, when some tasks of a stage have ended, not all."""
    begin, after = f"at {phase}\n", {"pairs": "at checks", "judging": "at end"}[phase]
    end = time.monotonic() + 900
    while time.monotonic() < end:
        _, begun, rest = job.text().partition(begin)
        seen = re.findall(r"stage \d+ (\d+) (\d+)\n", rest)
        if any(2 <= int(done) < int(total) // 2 for done, total in seen) or (begun and not stage):
            assert worker.living()
            worker.kill()
            assert after not in job.text(), "too late"
            return
        assert job.process.poll() is None, job.text()[-3000:]
        time.sleep(0.02)
    raise AssertionError(f"it never came to {phase}")


def pair_counts(table):
    """Return how many records hold both of two items, by a product of matrices."""
    shape = len(table), len(table.vocabulary)
    held = np.ones(len(table.items), dtype=np.int64)
    matrix = sparse.csr_array((held, table.items, table.offsets), shape=shape)
    product = sparse.triu(matrix.T @ matrix, k=1).tocoo()
    return set(zip(product.row.tolist(), product.col.tolist(), product.data.tolist(), strict=True))


@pytest.mark.parametrize(
    ("records", "most"),
    [(20_000, 5_000), (1_000_000, 65_536)],
)
def test_workers_that_die_change_nothing(spark, tmp_path, records, most):
    if not Path("/proc/self/stat").exists():
        missing_component("processes cannot be found without /proc")
    data = lookalike("bms-pos", n=records, seed=1)
    table = data.table
    written(table, tmp_path / "data")
    out = tmp_path / "out"
    out.mkdir()
    with Cluster(tmp_path, workers=3, settings=SETTINGS) as cluster:
        cluster.environment["PYTHONPATH"] = str(Path(__file__).parents[2])
        command = [sys.executable, "-m", "tests.spark.cluster_job", cluster.master]
        job = cluster.run("job", [*command, tmp_path / "data", out, most])
        kill_in_the_middle(job, "pairs", cluster.workers[0], stage=True)
        # The release is made, and a part of it is lost with the worker that keeps it.
        kill_in_the_middle(job, "judging", cluster.workers[1], stage=False)
        assert job.process.wait(timeout=900) == 0, job.text()[-3000:]
    assert not [each for member in cluster.members for each in member.living()]

    found = json.loads((out / "found.json").read_text())
    assert tuple(found["names"]) == table.vocabulary.names
    assert found["records"] == len(table)
    assert found["longest"] == int(np.diff(table.offsets).max())
    assert np.array_equal(np.load(out / "supports.npy"), table.supports())
    pairs = pl.read_parquet(out / "pairs" / "*.parquet").select("first", "second", "count")
    assert set(pairs.iter_rows()) == pair_counts(table)
    assert len(pairs) == len(set(pairs.iter_rows()))
    expected = [each.check(table) for each in (KAnonymity(k=3), KmAnonymity(k=5, m=2))]
    release = load_release(out / "release")
    judged = KAnonymity(k=5).check(release)
    assert judged.holds
    assert found["verdicts"] == json.loads(json.dumps([asdict(v) for v in (*expected, judged)]))
    assert len(release) == records
    # Releases depend on the records and on nothing else of a cluster.
    again = anonymize(
        Gather(k=5, effort="fast"),
        DistributedTable.from_table(table, spark),
        taxonomy=data.taxonomy,
        most=most,
    )
    assert again.release.collect().to_rows() == release.to_rows()
