"""The demonstration tells its story, and keeps what may be published apart from what may not."""

import json
import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

import setveil
from setveil.anonymize import Gather
from setveil.audit import load_audit, working
from setveil.cli import app, demo
from setveil.guarantee import KAnonymity

USUAL = ["coat-k5-s1-constrained1", "disassociate-k5-m2", "gather-k5"]


def run_demo(out, *more):
    return CliRunner().invoke(app, ["demo", "--out", str(out), "--records", "120", *more])


@pytest.fixture(scope="module", autouse=True)
def _small():
    """Run in this process, with few notes and a short search."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "WORKERS", 0)
        patch.setattr(demo, "NOTES", 300)
        patch.setattr(demo, "TARGET", 0.9)
        short = ["coat:k=5|20,s=1,constrained=1,objective=null,utility=null|alone"]
        short.append("safe-disassociate:k=5,m=2,max_cluster_size=null,refine=null,max_share=1|0.1")
        patch.setattr(demo, "STRONGER", short)
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


def test_every_release_is_verified_attacked_and_in_the_table(done):
    out, result = done
    assert result.exit_code == 0, result.output
    found = load_audit(out)
    assert [run.name for run in found.runs][:3] == USUAL
    assert {run.method for run in found.runs} == {
        "coat", "disassociate", "gather", "safe-disassociate",
    }  # fmt: skip
    for run in found.runs:
        assert run.verified
        assert run.title in result.stdout
        failed = [each for each in run.adversaries if each.note.startswith("failed")]
        assert not failed
    assert f"report (for you alone): {out / 'private' / 'report.html'}" in result.stdout


def test_the_story_is_told_by_the_figures_of_the_runs(done):
    out, result = done
    found = load_audit(out)
    story = [reason for reason in found.reasons if "keeps its promise, checked" in reason]
    assert len(story) == 2
    assert "which knows how words are related: corpus:notes.index" in story[0]
    for sentence, name in zip(story, USUAL, strict=False):
        run = next(run for run in found.runs if run.name == name)
        rates = [100 * each.rate.value for each in run.adversaries if each.rate is not None]
        assert sentence.startswith(f"{run.title} keeps its promise")
        found_share = float(re.search(r"finds ([\d.]+)%", sentence)[1])
        assert any(0 <= found_share - rate < 1 for rate in rates)
    closed = [reason for reason in found.reasons if reason.startswith(("Hardening", "None of"))]
    assert len(closed) == 2
    page = (out / "private" / "report.html").read_text(encoding="utf-8")
    assert "Hardening: " in page
    assert "Hardening: " in result.stdout


def test_progress_goes_to_stderr_and_quiet_silences_it(done):
    out, result = done
    assert "120 invented patients" in result.stderr
    assert "invented" not in result.stdout
    assert run_demo(out, "--quiet").stderr == ""


def test_releases_verify_from_their_files_alone(done):
    out, _ = done
    for run in load_audit(out).runs:
        assert CliRunner().invoke(app, ["verify", str(out / run.release)]).exit_code == 0


def test_what_is_private_stays_apart(done):
    out, _ = done
    published = files_in(out / "publish")
    assert not [name for name in published if re.search("key|html|index|audit", name)]
    private = out / "private"
    assert private.stat().st_mode & 0o777 == 0o700
    assert {path.name for path in private.iterdir()} >= {
        "clinic.jsonl", "taxonomy.csv", "sensitive.txt", "notes.index", "report.html",
    }  # fmt: skip
    for key in (private / "keys").iterdir():
        assert key.stat().st_mode & 0o777 == 0o600
    assert "do not publish" in (private / "report.html").read_text(encoding="utf-8").lower()


def test_the_records_it_wrote_give_the_same_release_again(done):
    out, _ = done
    table = setveil.read(out / "private" / "clinic.jsonl")
    tree = setveil.Taxonomy.read(out / "private" / "taxonomy.csv")
    again = Gather(k=5).anonymize(table, taxonomy=tree).release.to_rows()
    assert again == setveil.load_release(out / "publish" / "gather-k5").to_rows()


def test_running_again_makes_and_changes_nothing(done, monkeypatch):
    out, _ = done
    before = files_in(out)

    def never(*_):
        raise AssertionError

    monkeypatch.setattr(working, "perform", never)
    assert run_demo(out).exit_code == 0
    assert files_in(out) == before


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
    assert not list((tmp_path / "out" / "publish").iterdir())


def test_a_method_that_breaks_its_promise_is_found_out(tmp_path, monkeypatch):
    honest = Gather.anonymize

    def boastful(self, table, **inputs):
        return replace(honest(self, table, **inputs), promise=KAnonymity(k=1000))

    monkeypatch.setattr(Gather, "anonymize", boastful)
    monkeypatch.setattr(demo, "USUAL", ["gather:k=5"])
    monkeypatch.setattr(demo, "STRONGER", ["safe-disassociate:k=5,m=2,refine=false,max_share=1"])
    result = run_demo(tmp_path / "out")
    assert result.exit_code == 1
    assert "gather, k = 5 BREAKS its promise" in result.stdout


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
