"""`setveil audit`: what it prints, writes, refuses, and that a killed one goes on where it was."""

import json
import signal
import subprocess
import time

import pytest

from setveil.audit import load_audit

FEW = ["--methods", "gather:k=2;disassociate:k=2,m=2", "--seed", 1]
LAX = ["--target", 1, "--min-k", 2, "--max-loss", 1]


@pytest.fixture
def audit(clinic):
    def run(*more, data=None):
        out = clinic.folder / "audit"
        options = ["--taxonomy", clinic.tree, "--workers", 0, *FEW, "-o", out]
        return clinic.run("audit", data or clinic.data, *options, *more)

    return run


def test_prints_the_answer_the_risks_the_loss_and_where_to_look(audit, clinic):
    result = audit(*LAX)
    assert result.exit_code == 0, result.output
    out = clinic.folder / "audit"
    chosen = load_audit(out).chosen
    lines = result.stdout.splitlines()
    assert lines[1].startswith("PUBLISH   visits")
    assert chosen.title in lines[2]
    for label in ("Single out a person's record", "original data", "this release", "guessing"):
        assert label in result.stdout
    assert "Counts of one and two items are off by" in result.stdout
    assert "Not tested: An attacker who wants to learn sensitive items" in result.stdout
    assert f"Report, for you alone: {out / 'private' / 'report.html'}" in result.stdout
    assert f"To publish: {out / 'publish'}" in result.stdout
    assert (out / "private" / "report.html").read_text().startswith("<!doctype html>")
    assert "[2/2]" in result.stderr


@pytest.mark.parametrize(
    ("options", "code", "answer"),
    [
        (LAX, 0, "PUBLISH   "),
        ([*LAX, "--min-k", 3], 4, "PUBLISH WITH CARE"),
        ([*LAX, "--max-loss", 0], 4, "PUBLISH WITH CARE"),
        (["--target", 0], 1, "DO NOT PUBLISH"),
        ([*LAX, "--attacks", "linkage", "--methods", "disassociate:k=2,m=2"], 3, "NOT DECIDED"),
        ([*LAX, "--budget", "0.001s"], 3, "NOT DECIDED"),
    ],
)
def test_each_of_the_four_answers_has_its_exit_code(audit, clinic, options, code, answer):
    result = audit(*options)
    assert result.exit_code == code, result.output
    assert f"\n{answer}" in result.stdout
    published = list((clinic.folder / "audit" / "publish").glob("*"))
    assert bool(published) == (code in {0, 4})
    assert "--target" not in result.stdout  # a higher risk is never advised


def test_an_earlier_publication_never_stands_beside_another_answer(audit, clinic):
    publish = clinic.folder / "audit" / "publish"
    assert audit(*LAX).exit_code == 0
    assert publish.exists()
    report = clinic.folder / "audit" / "private" / "report.html"
    report.unlink()
    report.mkdir()  # so that the report cannot be written
    assert audit("--target", 0).exit_code == 2
    assert not publish.exists()
    report.rmdir()
    assert audit(*LAX).exit_code == 0
    again = audit("--target", 0, "--quiet")
    assert again.exit_code == 1
    assert f"{publish} from an earlier run was removed" in again.stderr
    assert not publish.exists()


def test_too_few_people_are_told_before_any_trial(audit):
    result = audit("--target", 0.001)
    warning = result.stderr.index("warning: There are only")
    assert "so that hardly any release can pass" in result.stderr
    assert warning < result.stderr.index("[1/")


def test_json_is_the_whole_result(audit, clinic):
    result = audit(*LAX, "--json", "--quiet")
    assert result.stderr == ""
    said = json.loads(result.stdout)
    assert said["schema"] == 2
    assert [run["name"] for run in said["runs"]] == ["gather-k2", "disassociate-k2-m2"]
    assert said["recommended"] in {run["id"] for run in said["runs"]}
    assert said["answer"] == "publish"
    assert said["recommendation"]["id"] == said["recommended"]
    assert set(said["recommendation"]["risk"]) >= {"worst", "singling_out", "linkage"}
    for run in said["runs"]:
        gains = [
            each["gain"]["high"] for each in run["adversaries"] if each["gain"] and each["decides"]
        ]
        assert run["risk"]["worst"] == max(gains)
    assert said["publish"] == str(clinic.folder / "audit" / "publish")
    assert said["report"] == str(clinic.folder / "audit" / "private" / "report.html")


def test_rare_items_are_suggested_where_none_are_sensitive(audit):
    assert "asthma (2)" in audit("--target", 1).stderr


def test_sensitive_items_are_read_or_drawn(audit, clinic):
    for option in (["--sensitive", clinic.sensitive], ["--sensitive-share", 0.2]):
        result = audit(*LAX, *option, "--methods", "cahd:p=2")
        assert result.exit_code == 4, result.output  # it hides items, and not people
        assert "p = 2 · cahd" in result.stdout
        assert "Learn a sensitive item" in result.stdout


def test_settings_come_from_a_file_and_options_win(audit, clinic):
    file = clinic.folder / "audit.toml"
    file.write_text('data = "visits.jsonl"\ntarget = 0.0\ntitle = "Visits"\nknown = [1]\n')
    assert audit(data=file).exit_code in {1, 3}
    result = audit(*LAX, data=file)
    assert result.exit_code == 0, result.output
    found = load_audit(clinic.folder / "audit")
    assert found.title == "Visits"
    assert found.settings["known"] == [1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--budget", "soon"], "--budget is 'soon'"),
        (["--memory", "much"], "--memory is 'much'"),
        (["--known", "two"], "--known is 'two'"),
        (["--target", 3], "the target is 3"),
        (["--methods", "gossip"], "no anonymizer called 'gossip'"),
        (["--missing", "maybe"], "missing is 'maybe'"),
        (["--sensitive-share", 7], "share of sensitive items is 7"),
        (["--attacks", "gossip"], "no attack 'gossip'"),
        (["--attacks", ""], "--attacks names nothing"),
        (["--methods", " "], "--methods names nothing"),
        (["--min-k", 1_000_000], "there are only"),
    ],
)
def test_wrong_use_is_one_message(audit, options, message):
    result = audit(*options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_data_among_what_may_be_published_is_refused(clinic):
    inside = clinic.folder / "publish" / "visits.jsonl"
    inside.parent.mkdir()
    inside.write_text(clinic.data.read_text())
    result = clinic.run("audit", inside, "-o", clinic.folder)
    assert result.exit_code == 2
    assert "among what may be published" in result.stderr


def timeless(value):
    if isinstance(value, dict):
        return {name: timeless(inner) for name, inner in value.items() if name != "seconds"}
    return [timeless(inner) for inner in value] if isinstance(value, list) else value


def test_killed_in_the_middle_it_goes_on_where_it_was(clinic, script):
    """What had ended is not made again, and the result is that of an audit nobody killed."""
    methods = ";".join(f"disassociate:k={k},m=2" for k in (2, 3, 4, 5))
    command = [*script, "audit", clinic.data, "--methods", methods, "--seed", 1, "--workers", 1]
    command = [str(part) for part in [*command, *LAX, "-o"]]
    killed, whole = clinic.folder / "killed", clinic.folder / "whole"
    process = subprocess.Popen([*command, killed], stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if line.startswith("[2/4]"):
            process.send_signal(signal.SIGKILL)
            break
    process.communicate()
    assert not (killed / "private" / "audit.json").exists()
    kept = {path.name: path.stat().st_mtime_ns for path in (killed / "private/runs").iterdir()}
    assert 3 <= len(kept) <= 4  # with the original data
    time.sleep(1)  # until the orphaned worker has noticed
    for folder in (killed, whole):
        subprocess.run([*command, folder], check=True, capture_output=True)
    for name, written in kept.items():
        assert (killed / "private" / "runs" / name).stat().st_mtime_ns == written
    results = [json.loads((each / "private/audit.json").read_text()) for each in (killed, whole)]
    assert timeless(results[0]) == timeless(results[1])
    for path in (whole / "publish").rglob("*"):
        if path.is_file():
            assert (killed / path.relative_to(whole)).read_bytes() == path.read_bytes()
