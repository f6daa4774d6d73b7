"""The demonstration keeps what may be published apart from what may not, the same each time."""

import json
import re
from collections import Counter
from dataclasses import replace

import pytest
from typer.testing import CliRunner

import setveil
from setveil.anonymize import Gather
from setveil.cli import app
from setveil.guarantee import KAnonymity

NAMES = [
    f"{method}-k{k}"
    for method in ("clump", "gather-fast", "gather-balanced", "partition")
    for k in (2, 5, 10)
]
OTHERS = ["apriori-km-k5-m2", "td-control-rho0.5"]


def run_demo(out, *more):
    return CliRunner().invoke(app, ["demo", "--out", str(out), "--records", "150", *more])


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "out"
    result = run_demo(out)
    assert result.exit_code == 0, result.output
    return out, result


def files_in(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_prints_a_row_for_every_run_and_the_path_of_the_report(done):
    out, result = done
    for method in ("clump", "gather (fast)", "gather (balanced)", "partition"):
        rows = re.findall(rf"^{re.escape(method)} +(\d+) +kept ", result.stdout, re.MULTILINE)
        assert rows == ["2", "5", "10"]
    assert f"report: {out / 'private' / 'report.html'}" in result.stdout
    assert "14 of 14 releases keep their promise" in result.stdout
    assert re.search(r"^apriori-km \(m 2\) +5 +kept ", result.stdout, re.MULTILINE)
    assert re.search(r"^td-control \(rho 0.5\) +kept ", result.stdout, re.MULTILINE)
    assert result.stdout.count("%  *\n") == 1


def test_progress_goes_to_stderr_and_quiet_silences_it(done, tmp_path):
    _, result = done
    assert "150 invented patients" in result.stderr
    assert "invented" not in result.stdout
    assert run_demo(tmp_path / "out", "--quiet").stderr == ""


def test_releases_verify_from_their_files_alone(done):
    out, _ = done
    folders = sorted(folder.name for folder in (out / "publish").iterdir())
    assert folders == sorted(NAMES + OTHERS)
    for name in folders:
        assert CliRunner().invoke(app, ["verify", str(out / "publish" / name)]).exit_code == 0
    for name in NAMES:
        rows = setveil.load_release(out / "publish" / name).to_rows()
        k = int(name.rpartition("k")[2])
        assert len(rows) == 150
        assert min(Counter(map(tuple, rows)).values()) >= k


def test_what_is_private_stays_apart(done):
    out, _ = done
    published = files_in(out / "publish")
    assert len(published) == 2 * len(NAMES + OTHERS)
    assert not [name for name in published if "key" in name or "html" in name]
    private = out / "private"
    assert private.stat().st_mode & 0o777 == 0o700
    for name in NAMES + OTHERS:
        assert (private / f"{name}.key").stat().st_mode & 0o777 == 0o600
    assert "do not publish" in (private / "report.html").read_text(encoding="utf-8")


def test_the_records_it_wrote_give_the_same_release_again(done):
    out, _ = done
    table = setveil.read(out / "private" / "clinic.jsonl")
    tree = setveil.Taxonomy.read(out / "private" / "taxonomy.csv")
    again = Gather(k=5).anonymize(table, taxonomy=tree).release.to_rows()
    assert again == setveil.load_release(out / "publish" / "gather-balanced-k5").to_rows()


def test_running_again_changes_nothing_but_timings(done):
    out, _ = done
    before = files_in(out)
    assert run_demo(out).exit_code == 0
    after = files_in(out)
    times = re.compile(rb"<td>[\d.]+</td>\n</tr>")
    report = "private/report.html"
    assert times.sub(b"", before.pop(report)) == times.sub(b"", after.pop(report))
    assert before == after


def test_report_names_no_place_of_this_machine(done):
    out, _ = done
    page = (out / "private" / "report.html").read_text(encoding="utf-8")
    assert str(out) not in page
    assert out.parts[1] + "/" not in page


def test_json_has_every_run_with_its_measures(tmp_path):
    result = run_demo(tmp_path / "out", "--json")
    said = json.loads(result.stdout)
    assert said["report"] == str(tmp_path / "out" / "private" / "report.html")
    assert len(said["runs"]) == len(NAMES + OTHERS)
    whole = [run for run in said["runs"] if run["method"] in {"clump", "gather", "partition"}]
    at_five = [run for run in whole if run["params"]["k"] >= 5]
    best = min(at_five, key=lambda run: run["ggd_share"])
    assert said["recommended"] == best["release"].rpartition("/")[2]
    assert all(run["keeps_promise"] and run["consistent"] for run in said["runs"])


def test_a_method_that_breaks_its_promise_is_found_out(tmp_path, monkeypatch):
    honest = Gather.anonymize

    def boastful(self, table, **inputs):
        return replace(honest(self, table, **inputs), promise=KAnonymity(k=1000))

    monkeypatch.setattr(Gather, "anonymize", boastful)
    result = run_demo(tmp_path / "out")
    assert result.exit_code == 1
    assert "8 of 14 releases keep their promise" in result.stdout
    assert len(re.findall(r"^gather .* BROKEN ", result.stdout, re.MULTILINE)) == 6


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
