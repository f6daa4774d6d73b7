"""`setveil harden`: what it prints, writes and refuses, and how it ends."""

import json

import pytest

from setveil.audit import load_audit


@pytest.fixture
def harden(clinic):
    def run(*more, data=None):
        options = ["--methods", "disassociate:m=2,refine=false", "--min-k", 2, "--max-loss", 1]
        options += ["--known", 1, "--seed", 1, "--workers", 0, "-o", clinic.folder / "out"]
        return clinic.run("harden", data or clinic.data, *options, *more)

    return run


def test_prints_the_answer_of_the_search_and_a_line_per_setting(harden, clinic):
    result = harden("--target", 1)
    assert result.exit_code == 0, result.output
    found = load_audit(clinic.folder / "out")
    assert result.stdout.splitlines()[1].startswith("PUBLISH   visits")
    for run in found.runs:
        line = next(line for line in result.stderr.splitlines() if f"] {run.title}: " in line)
        assert "promise checked" in line
    assert f"To publish: {clinic.folder / 'out' / 'publish'}" in result.stdout
    assert "tried; the target was reached" in found.notes[0]
    page = (clinic.folder / "out" / "private" / "report.html").read_text(encoding="utf-8")
    assert found.chosen.title in page


def test_it_starts_with_the_weakest_and_stops_when_that_is_enough(harden, clinic):
    assert harden("--target", 1).exit_code == 0
    assert [run.name for run in load_audit(clinic.folder / "out").runs] == [
        "disassociate-k2-m2-refinefalse"
    ]


def test_where_no_setting_reaches_the_target_nothing_is_published(harden, clinic):
    result = harden("--target", 0)
    assert result.exit_code in {1, 3}
    found = load_audit(clinic.folder / "out")
    assert found.recommended is None
    assert "the strongest setting was reached" in found.notes[0]
    assert not list((clinic.folder / "out" / "publish").glob("*"))


def test_the_budget_is_30_minutes_unless_another_is_given(harden, clinic):
    harden("--target", 1)
    assert load_audit(clinic.folder / "out").settings["budget_seconds"] == 1800
    harden("--target", 1, "--budget", "2h")
    assert load_audit(clinic.folder / "out").settings["budget_seconds"] == 7200


def test_json_is_the_whole_result_and_settings_come_from_a_file(harden, clinic):
    file = clinic.folder / "audit.toml"
    file.write_text('data = "visits.jsonl"\ntarget = 1.0\ntitle = "Visits"\n')
    result = harden("--json", "--quiet", data=file)
    assert result.stderr == ""
    said = json.loads(result.stdout)
    assert said["title"] == "Visits"
    assert said["recommended"] in {run["id"] for run in said["runs"]}
    assert said["report"] == str(clinic.folder / "out" / "private" / "report.html")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--methods", "gather"], "gather needs taxonomy"),
        (["--methods", "coat", "--attacks", "rba"], "without a source of relatedness"),
        (["--methods", "disassociate:k=few"], "'few' is not a value for k"),
        (["--target", 7], "the target is 7"),
        (["--budget", "soon"], "--budget is 'soon'"),
    ],
)
def test_wrong_use_is_refused_before_any_work(harden, clinic, options, message):
    result = harden(*options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (clinic.folder / "out").exists()
