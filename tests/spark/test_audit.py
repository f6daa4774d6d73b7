"""An audit whose runs are tasks of Spark: the same but for timings, kept here, taken up again."""

import stat

import pytest

from setveil import Taxonomy, TransactionTable
from setveil.audit import audit, harden
from setveil.core.errors import ParameterError
from setveil.release.store import load_key

pytestmark = pytest.mark.spark

TREE = Taxonomy.from_parents(
    {"flu": "virus", "HIV": "virus", "gout": "joints", "virus": "illness", "joints": "illness"}
)
ROWS = [["flu", "gout"], ["flu", "HIV"], ["gout"], ["flu"], ["gout", "flu"], ["flu", "gout", "HIV"]]
TABLE = TransactionTable.from_rows(ROWS * 6)
METHODS = ["gather:k=3", "disassociate:k=3,m=2", "gather:k=1000"]


def audited(out, **rest):
    asked = {"methods": METHODS, "attacks": ["linkage"], "known": [2], "seed": 1}
    return audit(TABLE, out=out, taxonomy=TREE, **asked, **rest)


def timeless(result):
    """Return an audit without its timings."""

    def without(value):
        if isinstance(value, dict):
            return {name: without(inner) for name, inner in value.items() if name != "seconds"}
        return [without(inner) for inner in value] if isinstance(value, list | tuple) else value

    return without(result.to_json())


def files(folder):
    """Return what was written, apart from the records of runs: these have timings.

    A key names the directory of its release, so only what it says of the records is compared.
    """
    return {
        str(path.relative_to(folder)): (
            load_key(path).records.tolist() if path.suffix == ".key" else path.read_bytes()
        )
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".json"
    } | {
        path.parent.name: path.read_bytes()
        for path in folder.glob("private/candidates/*/manifest.json")
    }


def test_the_same_is_found_and_written(spark, tmp_path):
    here = audited(tmp_path / "here", workers=0)
    heard = []
    there = audited(tmp_path / "there", engine=spark, tell=heard.append)
    assert timeless(there) == timeless(here)
    assert [run.state for run in there.runs] == ["done", "done", "inapplicable"]
    assert files(tmp_path / "there") == files(tmp_path / "here")
    assert [progress.done for progress in heard if progress.ended is not None] == [1, 2, 3]
    for key in (tmp_path / "there" / "private" / "keys").iterdir():
        assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_runs_that_ended_are_not_made_again(spark, tmp_path):
    first = audited(tmp_path, engine=spark)
    again = audited(tmp_path, workers=0)
    assert [run.seconds for run in again.runs[:2]] == [run.seconds for run in first.runs[:2]]
    whole = audited(tmp_path, engine=spark)
    assert [run.seconds for run in whole.runs[:2]] == [run.seconds for run in first.runs[:2]]


def test_a_search_for_stronger_settings_finds_the_same(spark, tmp_path):
    asked = {
        "methods": ["disassociate:m=2,refine=false"],
        "attacks": ["linkage"],
        "known": [2],
        "seed": 1,
        "target": 0.3,
    }
    here = harden(TABLE, out=tmp_path / "here", workers=0, **asked)
    there = harden(TABLE, out=tmp_path / "there", engine=spark, **asked)
    assert timeless(there) == timeless(here)


def test_a_budget_that_is_used_up_skips_runs(spark, tmp_path):
    found = audited(tmp_path, engine=spark, budget=0.02)
    assert {run.state for run in found.runs} == {"skipped"}
    assert "time budget" in found.runs[0].error


@pytest.mark.parametrize("given", [{"memory": 10**9}, {"workers": 2}])
def test_what_spark_decides_cannot_be_given(spark, tmp_path, given):
    with pytest.raises(ParameterError, match="Spark decides about it"):
        audited(tmp_path / "new", engine=spark, **given)
    assert not (tmp_path / "new").exists()
