"""``setveil anonymize``."""

import json
import stat

import pytest
from tests.cli.conftest import VISITS

import setveil
from setveil.core.params import params_of
from setveil.core.registry import entries

METHODS = [entry.name for entry in entries("anonymizer")]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_a_release_that_loads_and_a_private_key(clinic, method):
    result = clinic.anonymize(method, "--key", clinic.key)
    assert result.exit_code == 0, result.output
    release = setveil.load_release(clinic.release)
    promise = setveil.load_manifest(clinic.release).promise
    if promise is None:
        assert "this method promises nothing" in result.stdout
    else:
        assert len(release) == len(VISITS)
        verdict = setveil.guarantee.from_manifest(promise["name"], promise["params"]).check(release)
        assert (verdict.holds, verdict.exact) == (True, True)
    assert stat.S_IMODE(clinic.key.stat().st_mode) == 0o600
    assert set(setveil.load_key(clinic.key).records.tolist()) == set(range(len(VISITS)))
    assert "promise:" in result.stdout
    assert "do not publish" in result.stdout
    manifest = (clinic.release / "manifest.json").read_text()
    assert str(clinic.folder) not in manifest
    # data, tree, sensitive items, key, release and its two files
    assert len(clinic.names()) == 7


@pytest.mark.parametrize("method", METHODS)
def test_help_shows_the_methods_own_options(clinic, method):
    text = clinic.run("anonymize", method, "--help").stdout
    for param in params_of(setveil.core.registry.find("anonymizer", method).target):
        assert f"--{param.name.replace('_', '-')}" in text


def test_help_shows_only_the_methods_own_options(clinic):
    assert "--objective" in clinic.run("anonymize", "clump", "--help").stdout
    assert "--objective" not in clinic.run("anonymize", "partition", "--help").stdout


def test_json(clinic):
    result = clinic.anonymize("clump", "--json", "--r", "none", "--distinct", "--quiet")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    told = json.loads(result.stdout)
    assert told["schema"] == 2
    assert told["method"] == "clump"
    assert told["params"] == {"k": 2, "r": None, "objective": "total", "distinct": True}
    assert told["records"] == told["published"] == len(VISITS)
    assert told["release"] == str(clinic.release)
    assert told["key"] is None


def test_options_reach_the_method(clinic):
    assert clinic.anonymize("clump", "--k", "8", "--r", "3").exit_code == 0
    manifest = setveil.load_manifest(clinic.release)
    assert manifest.params["k"] == 8
    assert manifest.params["r"] == 3
    rows = setveil.load_release(clinic.release).to_rows()
    assert len({tuple(row) for row in rows}) == 1


def test_stdin(clinic):
    result = clinic.anonymize("gather", "--format", "jsonl", stdin=clinic.data.read_text())
    assert result.exit_code == 0, result.output
    assert len(setveil.load_release(clinic.release)) == len(VISITS)


def test_only_one_input_from_stdin(clinic):
    result = clinic.anonymize("gather", "--taxonomy", "-", stdin="x")
    assert result.exit_code == 2
    assert "only one input" in result.stderr


@pytest.mark.parametrize("form", ["parquet", "jsonl", "csv"])
def test_release_formats(clinic, form):
    assert clinic.anonymize("gather", "--release-format", form).exit_code == 0
    assert [path.suffix for path in clinic.release.glob("release-*")] == [f".{form}"]
    assert len(setveil.load_release(clinic.release)) == len(VISITS)


def test_the_engine_changes_nothing(clinic):
    clinic.anonymize("gather")
    rows = setveil.load_release(clinic.release).to_rows()
    result = clinic.anonymize("gather", "--engine", "loopback", "--seed", "3", "--force")
    assert result.exit_code == 0, result.output
    assert setveil.load_release(clinic.release).to_rows() == rows


def test_an_unknown_method_is_answered_with_the_known_ones(clinic):
    result = clinic.anonymize("klump")
    assert result.exit_code == 2
    assert "'klump'" in result.stderr
    for method in METHODS:
        assert method in result.stderr
    assert not clinic.release.exists()


def test_nothing_is_overwritten_without_force(clinic):
    assert clinic.anonymize("gather", "--key", clinic.key).exit_code == 0
    before = {path: path.read_bytes() for path in clinic.release.iterdir()}
    for more in ([], ["-o", clinic.folder / "other", "--key", clinic.key]):
        result = clinic.anonymize("partition", "--k", "4", *more)
        assert result.exit_code == 2
        assert "--force" in result.stderr
    assert {path: path.read_bytes() for path in clinic.release.iterdir()} == before
    assert not (clinic.folder / "other").exists()
    forced = clinic.anonymize("partition", "--k", "4", "--key", clinic.key, "--force")
    assert forced.exit_code == 0, forced.output
    assert setveil.load_manifest(clinic.release).method == "partition"


def test_overwriting_is_refused_before_the_data_is_read(clinic):
    assert clinic.anonymize("gather").exit_code == 0
    clinic.data.unlink()
    result = clinic.anonymize("gather")
    assert result.exit_code == 2
    assert "--force" in result.stderr


WRONG = {
    "no such file": (["--taxonomy", "nowhere.csv"], "nowhere.csv"),
    "k above the records": (["--k", "9"], "only 8 records"),
    "k below one": (["--k", "0"], "k is 0"),
    "k no number": (["--k", "many"], "--k"),
    "unknown choice": (["--objective", "best"], "--objective"),
    "unknown format": (["--format", "nonsense"], "nonsense"),
    "no parent folder": (["-o", "no/such/folder/release"], "there is no such directory"),
    "unknown option": (["--m", "3"], "--m"),
    "release to stdout": (["-o", "-"], "not a stream"),
}


@pytest.mark.parametrize(("options", "said"), WRONG.values(), ids=WRONG)
def test_wrong_use_is_said_and_leaves_nothing(clinic, options, said):
    before = clinic.names()
    result = clinic.anonymize("clump", "--key", clinic.key, *options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert clinic.names() == before


def test_a_missing_data_file(clinic):
    result = clinic.run("anonymize", "gather", "no.csv", "--taxonomy", clinic.tree, "-o", "out")
    assert result.exit_code == 2
    assert "no.csv" in result.stderr


def test_no_taxonomy(clinic):
    result = clinic.run("anonymize", "gather", clinic.data, "-o", clinic.release)
    assert result.exit_code == 2
    assert "--taxonomy" in result.stderr


def test_items_missing_from_the_tree(clinic):
    clinic.data.write_text(clinic.data.read_text() + '["gout"]\n')
    refused = clinic.anonymize("gather")
    assert refused.exit_code == 2
    assert "'gout'" in refused.stderr
    assert "--missing nearest" in refused.stderr
    assert "attach-to-root" not in refused.stderr
    assert not clinic.release.exists()
    assert clinic.anonymize("gather", "--missing", "attach-to-root").exit_code == 0


def test_nodes_with_several_parents(clinic):
    clinic.tree.write_text(clinic.tree.read_text() + "flu,symptom\n")
    refused = clinic.anonymize("gather")
    assert refused.exit_code == 2
    assert "flu" in refused.stderr
    taken = clinic.anonymize("gather", "--parents", "first")
    assert taken.exit_code == 0
    assert "flu" in taken.stderr


def test_malformed_lines_are_placed_or_skipped(clinic):
    clinic.data.write_text(clinic.data.read_text() + '["flu", \n')
    refused = clinic.anonymize("gather")
    assert refused.exit_code == 2
    assert "line 9" in refused.stderr
    skipped = clinic.anonymize("gather", "--on-error", "skip")
    assert skipped.exit_code == 0, skipped.output
    assert "line 9" in skipped.stderr


def test_the_key_may_not_lie_in_the_release(clinic):
    result = clinic.anonymize("gather", "--key", clinic.release / "key")
    assert result.exit_code == 2
    assert "inside the release" in result.stderr


def test_a_failing_write_leaves_nothing(clinic, monkeypatch):
    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("setveil.release.store.save", full)
    before = clinic.names()
    result = clinic.anonymize("gather", "--key", clinic.key)
    assert result.exit_code == 2
    assert "No space left" in result.stderr
    assert clinic.names() == before


def test_a_failing_forced_write_keeps_the_old_key(clinic, monkeypatch):
    clinic.anonymize("gather", "--key", clinic.key)
    key = clinic.key.read_bytes()

    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("setveil.release.store.save", full)
    assert clinic.anonymize("clump", "--k", "4", "--key", clinic.key, "--force").exit_code == 2
    assert clinic.key.read_bytes() == key


def test_what_was_guessed_is_said_unless_quiet(clinic):
    assert "jsonl" in clinic.anonymize("gather").stderr.lower()
    quiet = clinic.anonymize("gather", "--force", "--quiet")
    assert quiet.stderr == ""


def test_columns_and_delimiter_are_taken_from_options(clinic):
    lines = [f"{row};{item};x" for row, visit in enumerate(VISITS) for item in visit]
    clinic.data.write_text("\n".join(["patient;finding;remark", *lines]) + "\n")
    columns = ["--format", "long", "--id", "patient", "--item", "finding", "--delimiter", ";"]
    result = clinic.anonymize("gather", *columns)
    assert result.exit_code == 0, result.output
    assert len(setveil.load_release(clinic.release)) == len(VISITS)
    inspected = clinic.run("inspect", clinic.data, *columns, "--json", "--quiet")
    assert json.loads(inspected.stdout)["records"] == len(VISITS)
    built = clinic.run("taxonomy", "build", clinic.data, *columns, "-o", "-", "--quiet")
    assert "asthma," in built.stdout


def test_a_file_is_no_place_for_a_release_nor_a_folder_for_a_key(clinic):
    clinic.release.write_text("mine")
    (clinic.folder / "keys").mkdir()
    for more, said in (
        (["--force"], "a release is a directory"),
        (
            ["-o", clinic.folder / "new", "--key", clinic.folder / "keys", "--force"],
            "a key is a file",
        ),
    ):
        before = clinic.names()
        result = clinic.anonymize("gather", *more)
        assert result.exit_code == 2
        assert said in result.stderr
        assert clinic.names() == before
