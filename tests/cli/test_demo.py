"""The demonstration is an audit like any other, and keeps apart what may be published."""

import json
import re

import pytest
from typer.testing import CliRunner

import setveil
from setveil.anonymize import Gather
from setveil.anonymize.base import MethodRole
from setveil.audit import audit, load_audit
from setveil.cli import app, demo
from setveil.core.registry import entries
from setveil.synthetic import clinic


def run_demo(out, *more):
    return CliRunner().invoke(app, ["demo", "--out", str(out), "--records", "120", *more])


@pytest.fixture(scope="module", autouse=True)
def _small():
    """Let an audit that names no method try two."""
    with pytest.MonkeyPatch.context() as patch:
        for entry in entries("anonymizer"):
            if entry.name not in {"gather", "suppress-control"}:
                patch.setattr(entry.target, "role", MethodRole(), raising=False)
        yield


@pytest.fixture(scope="module")
def done(tmp_path_factory, _small):
    out = tmp_path_factory.mktemp("demo") / "out"
    return out, run_demo(out)


def files_in(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_it_is_the_audit_of_the_clinic_with_the_settings_of_any_other_file(done, tmp_path):
    out, result = done
    assert result.exit_code == 0, result.output
    found = load_audit(out)
    data = clinic(n=120, seed=demo.SEED)
    usual = audit(
        data.table,
        out=tmp_path / "usual",
        taxonomy=data.taxonomy,
        sensitive=data.sensitive,
        seed=demo.SEED,
    )
    assert [run.id for run in found.runs] == [run.id for run in usual.runs]
    assert (found.answer, found.recommended) == (usual.answer, usual.recommended)
    assert {run.method for run in found.runs} == {"gather", "suppress-control"}
    for run in found.runs:
        assert run.verified
        assert not [each for each in run.adversaries if each.note.startswith("failed")]
        assert {"linkage", "inference"} <= {each.attack for each in run.adversaries}


def test_the_first_screen_says_answer_risks_and_where_to_look(done):
    out, result = done
    found = load_audit(out)
    answer = found.answer.replace("-", " ").upper()
    assert result.stdout.splitlines()[1].startswith(f"{answer}   An invented clinic · 120 records")
    for label in ("Single out", "original data", "this release", "guessing"):
        assert label in result.stdout
    assert f"Report, for you alone: {out / 'private' / 'report.html'}" in result.stdout
    assert (f"To publish: {out / 'publish'}" in result.stdout) == (found.recommended is not None)


def test_progress_goes_to_stderr_and_quiet_silences_it(done):
    out, result = done
    assert "120 invented patients" in result.stderr
    assert "invented patients" not in result.stdout
    assert run_demo(out, "--quiet").stderr == ""


def test_releases_verify_from_their_files_alone(done):
    out, _ = done
    for run in load_audit(out).runs:
        assert CliRunner().invoke(app, ["verify", str(out / run.release)]).exit_code == 0


def test_what_is_private_stays_apart(done):
    out, _ = done
    published = files_in(out / "publish")
    assert not [name for name in published if re.search("key|report|audit|seed", name)]
    private = out / "private"
    assert private.stat().st_mode & 0o777 == 0o700
    assert {path.name for path in private.iterdir()} >= {
        "clinic.jsonl", "taxonomy.csv", "sensitive.txt", "report.html",
    }  # fmt: skip
    for key in (private / "keys").iterdir():
        assert key.stat().st_mode & 0o777 == 0o600
    assert "do not publish" in (private / "report.html").read_text(encoding="utf-8").lower()


def test_the_records_it_wrote_give_the_same_release_again(done):
    out, _ = done
    table = setveil.read(out / "private" / "clinic.jsonl")
    tree = setveil.Taxonomy.read(out / "private" / "taxonomy.csv")
    run = next(run for run in load_audit(out).runs if run.method == "gather")
    again = Gather(**run.params).anonymize(table, taxonomy=tree).release.to_rows()
    assert again == setveil.load_release(out / run.release).to_rows()


def test_running_again_makes_and_changes_nothing(done):
    out, _ = done
    before = files_in(out)
    made = {path: path.stat().st_mtime_ns for path in (out / "private" / "runs").iterdir()}
    assert len(made) > len(load_audit(out).runs)  # with the original data
    assert run_demo(out).exit_code == 0
    assert files_in(out) == before
    assert {path: path.stat().st_mtime_ns for path in made} == made


def test_json_is_that_of_an_audit(done):
    out, _ = done
    said = json.loads(run_demo(out, "--json", "--quiet").stdout)
    assert said["report"] == str(out / "private" / "report.html")
    assert said["recommended"] == load_audit(out).recommended
    assert all("examples" not in each for run in said["runs"] for each in run["adversaries"])


def test_data_only_writes_the_records_and_stops(tmp_path):
    result = run_demo(tmp_path / "out", "--data-only", "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    assert len(setveil.read(tmp_path / "out" / "private" / "clinic.jsonl")) == 120
    assert not list((tmp_path / "out").glob("publish/*"))


@pytest.mark.parametrize("records", ["0", "many"])
def test_a_wrong_number_of_records_is_refused(tmp_path, records):
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "o"), "--records", records])
    assert result.exit_code == 2
    assert not (tmp_path / "o").exists()


def test_a_file_in_the_way_is_an_error_without_a_traceback(tmp_path):
    (tmp_path / "out").write_text("mine")
    result = run_demo(tmp_path / "out")
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    assert (tmp_path / "out").read_text() == "mine"
