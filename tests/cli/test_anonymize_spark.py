"""``setveil anonymize --engine spark`` with Parquet: the records stay on Spark."""

import json
from pkgutil import resolve_name

import polars as pl
import pytest

import setveil
from setveil.core.registry import distributed_methods, find

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def session(spark):
    """Commands find the session that all tests share."""
    return spark


@pytest.fixture
def visits(clinic):
    """Return the visits as a directory of Parquet files."""
    folder = clinic.folder / "visits"
    folder.mkdir()
    setveil.read(clinic.data).to_frame().write_parquet(folder / "a.parquet")
    return folder


def test_parquet_in_parquet_out(clinic, visits):
    clinic.anonymize("gather")
    here = setveil.load_release(clinic.release).to_rows()
    options = [*clinic.inputs_of("gather"), "-o", clinic.release, "--engine", "spark", "--force"]
    found = clinic.run("anonymize", "gather", visits, *options, "--json")
    assert found.exit_code == 0, found.output
    said = json.loads(found.stdout)
    assert (said["method"], said["key"], said["log"][0]["action"]) == ("gather", None, "bucket")
    assert said["records"] == len(here)
    assert setveil.load_release(clinic.release).to_rows() == here
    for engine in ("local", "spark"):
        assert clinic.run("verify", clinic.release, "--engine", engine).exit_code == 0
    names = {path.name for path in clinic.release.iterdir()}
    assert len(names) == 2
    assert "manifest.json" in names


def test_what_needs_the_records_here(clinic, visits):
    options = [*clinic.inputs_of("gather"), "-o", clinic.release, "--engine", "spark"]
    for more in (["--key", clinic.key], ["--release-format", "csv"]):
        found = clinic.run("anonymize", "gather", visits, *options, *more)
        assert found.exit_code == 2
        assert f"{more[0]} does not go with records that stay on Spark" in found.output
    found = clinic.run("anonymize", "gather", visits / "a.parquet", *options, "--key", clinic.key)
    assert found.exit_code == 0, found.output
    assert clinic.key.exists()
    others = clinic.inputs_of("direct-km")
    out = ["-o", clinic.folder / "other", "--engine", "spark"]
    found = clinic.run("anonymize", "direct-km", visits, *others, *out)
    assert found.exit_code == 2
    assert "needs all records in one place" in " ".join(found.output.split())
    assert not (clinic.folder / "other").exists()


def test_the_methods_by_their_names():
    names = distributed_methods()
    buckets = {"clump", "gather", "partition", "lra", "vpa-km"}
    counts = {"apriori-km", "disassociate", "safe-disassociate"}
    assert set(names) == buckets | counts | {"coat", "pcta", "simple-suppression"}
    for name in names:
        assert callable(resolve_name(find("anonymizer", name).target.distributed))


def test_sensitive_items_and_constraints(clinic, visits):
    """What methods take beside their records goes with records that stay on Spark."""
    out = ["-o", clinic.release, "--force"]
    wanted = clinic.inputs_of("simple-suppression")
    singles = clinic.folder / "singles.txt"
    singles.write_text("\n".join(setveil.read(clinic.data).vocabulary.names[:3]) + "\n")
    pair = clinic.folder / "pair.txt"
    pair.write_text("+".join(setveil.read(clinic.data).vocabulary.names[:2]) + "\n")
    coat = ["--k", "3", "--s", "1"]
    for method, options in (
        ("simple-suppression", wanted),
        ("coat", [*coat, "--privacy", singles]),
        ("coat", [*coat, "--constrained", "1"]),
    ):
        found = clinic.run("anonymize", method, clinic.data, *options, *out)
        assert found.exit_code == 0, found.output
        here = setveil.load_release(clinic.release).to_rows()
        found = clinic.run("anonymize", method, visits, *options, *out, "--engine", "spark")
        assert found.exit_code == 0, found.output
        assert setveil.load_release(clinic.release).to_rows() == here
        assert (clinic.release / "manifest.json").exists()
        for engine in ("local", "spark"):
            assert clinic.run("verify", clinic.release, "--engine", engine).exit_code == 0
    several = [*coat, "--privacy", pair, *out, "--engine", "spark"]
    found = clinic.run("anonymize", "coat", visits, *several)
    assert found.exit_code == 2
    assert "sets of several items" in " ".join(found.output.split())
    found = clinic.run("anonymize", "coat", visits / "a.parquet", *several)
    assert found.exit_code == 0, found.output  # a single file is read here


def test_what_the_leaf_counts_tell_is_said(clinic):
    data, tree = clinic.folder / "v.parquet", clinic.folder / "t.csv"
    tree.write_text("a;c\nb;c\nc;all\n".replace(";", ","))
    pl.DataFrame({"items": [["a"], ["a"], ["c"], ["c"]]}).write_parquet(data)
    options = ["--taxonomy", tree, "--k", "2", "--force", "-o", clinic.release]
    for engine in ("local", "spark"):
        found = clinic.run("anonymize", "gather", data, *options, "--engine", engine)
        assert found.exit_code == 0, found.output
        assert "the leaf counts of the release grow by 1" in " ".join(found.output.split())


def test_identities_stop_it_there_too(clinic):
    folder = clinic.folder / "mails"
    folder.mkdir()
    rows = [{"id": n, "item": item} for n in range(8) for item in ("flu", f"user{n}@example.org")]
    pl.DataFrame(rows).write_parquet(folder / "a.parquet")
    options = ["--k", 2, "-o", clinic.release, "--engine", "spark"]
    found = clinic.run("anonymize", "disassociate", folder, *options)
    assert found.exit_code == 2, found.output
    assert "e-mail addresses" in found.output
    assert "user1@" not in found.output
    assert not clinic.release.exists()
    found = clinic.run("anonymize", "disassociate", folder, *options, "--allow-identifiers")
    assert found.exit_code == 0, found.output
    found = clinic.run("anonymize", "disassociate", folder, *options, "--force", "--normalize")
    assert found.exit_code == 2
    assert "--normalize does not go with records that stay on Spark" in found.output
