"""``setveil export``."""

import json

import polars as pl
from tests.published_forms import releases

from setveil.release.store import save


def written(clinic, name="suppressed"):
    save(releases()[name], clinic.release, method="made by hand", params={}, promise=None)


def test_tables_and_dictionary_are_written(clinic):
    written(clinic)
    out = clinic.folder / "tables"
    result = clinic.run("export", clinic.release, "-o", out, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert sorted(path.name for path in out.iterdir()) == told["files"]
    assert told["files"] == [
        "dictionary-columns.csv", "dictionary-columns.parquet", "dictionary-terms.csv",
        "dictionary-terms.parquet", "records.csv", "records.parquet",
    ]  # fmt: skip
    frames = pl.read_parquet(out / "records.parquet"), pl.read_csv(out / "records.csv")
    assert frames[0].equals(frames[1])
    assert frames[0]["record"].n_unique() == 8


def test_an_item_like_a_formula_is_warned_of(clinic):
    written(clinic)
    result = clinic.run("export", clinic.release, "-o", clinic.folder / "t", "--quiet")
    assert "begins like a formula" in result.stderr
    result = clinic.run("export", clinic.release, "-o", clinic.folder / "u", "--format", "jsonl")
    assert "warning" not in result.stderr
    assert (clinic.folder / "u" / "records.jsonl").exists()


def test_only_an_earlier_export_is_replaced(clinic):
    written(clinic)
    out = clinic.folder / "tables"
    assert clinic.run("export", clinic.release, "-o", out).exit_code == 0
    again = clinic.run("export", clinic.release, "-o", out)
    assert again.exit_code == 2
    assert "--force" in again.stderr
    command = ("export", clinic.release, "-o", out, "--force", "--format", "csv")
    assert clinic.run(*command).exit_code == 0
    assert not list(out.glob("*.parquet"))
    (out / "notes.txt").write_text("mine")
    refused = clinic.run(*command)
    assert refused.exit_code == 2
    assert "notes.txt" in refused.stderr
    assert (out / "notes.txt").read_text() == "mine"


def test_wrong_use(clinic):
    written(clinic)
    assert (
        "choose parquet, csv, jsonl"
        in clinic.run(
            "export", clinic.release, "-o", clinic.folder / "t", "--format", "xlsx"
        ).stderr
    )
    for place in (clinic.release, f"{clinic.release}/tables", clinic.folder):
        result = clinic.run("export", clinic.release, "-o", place, "--force")
        assert result.exit_code == 2, place
        assert "the release that is read" in result.stderr
    assert clinic.run("verify", clinic.release, "-g", "k-anonymity:k=1").exit_code == 0
