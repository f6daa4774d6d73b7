"""``setveil attack linkage`` and ``intersection``, and scoring what they find."""

import json

import pytest
from tests.cli.conftest import VISITS


@pytest.fixture
def recoded(clinic):
    assert clinic.anonymize("gather", "--key", clinic.key).exit_code == 0
    return clinic


def link(clinic, *more, attack="linkage"):
    guess = clinic.folder / "guess.json"
    options = ["--targets", clinic.data, "--taxonomy", clinic.tree, "-o", guess, *more]
    return clinic.run("attack", attack, clinic.release, *options), guess


def scored(clinic, guess, *more):
    options = ["--original", clinic.data, "--key", clinic.key, "--guess", guess]
    return clinic.run("measure", clinic.release, *options, "--taxonomy", clinic.tree, *more)


def test_from_release_to_score(recoded):
    result, guess = link(recoded, "--m", "1", "--knowledge", "rarest", "--k", "3")
    assert result.exit_code == 0, result.output
    assert len(json.loads(guess.read_text())["links"]) == len(VISITS)
    shown = scored(recoded, guess)
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    assert lines[0].split() == ["score", "value", "low", "high", "random", "control", "meaning"]
    assert {line.split()[0] for line in lines[1:]} == {
        "named", "advantage", "singled", "advantage_singled", "sure", "single", "below_k",
        "found", "candidates", "learned",
    }  # fmt: skip
    told = json.loads(scored(recoded, guess, "--json", "--sensitive", recoded.sensitive).stdout)
    assert told["named_random"] == pytest.approx(1 / len(VISITS))
    assert told["named_low"] <= told["named"] <= told["named_high"]
    assert 0 <= told["equivocation"] <= 1
    assert told["found_control"] is None  # every item is somebody's


def test_json_and_seed(recoded):
    result, guess = link(recoded, "--sample", "3", "--seed", "1", "--json", "--quiet")
    told = json.loads(result.stdout)
    assert told["params"] == {"m": 2, "knowledge": "random", "sample": 3, "k": 5}
    first = guess.read_bytes()
    link(recoded, "--sample", "3", "--seed", "1", "--quiet", "--force")
    assert guess.read_bytes() == first


def test_two_releases(recoded):
    other = recoded.folder / "other"
    made = recoded.anonymize("simple-suppression", "--rho", "0.9", "-o", other)
    assert made.exit_code == 0, made.output
    result, guess = link(recoded, "--second", other, attack="intersection")
    assert result.exit_code == 0, result.output
    told = json.loads(scored(recoded, guess, "--json").stdout)
    assert told["candidates"] <= told["candidates_first"]
    lines = scored(recoded, guess).stdout.splitlines()
    assert lines[0].split()[-2:] == ["first", "meaning"]


def test_what_is_missing_is_said_before_any_work(recoded):
    guess = recoded.folder / "guess.json"
    result = recoded.run("attack", "linkage", recoded.release, "-o", guess)
    assert result.exit_code == 2
    assert "--targets" in result.stderr
    result, _ = link(recoded, attack="intersection")
    assert result.exit_code == 2
    assert "--second" in result.stderr
    result, _ = link(recoded, "--second", recoded.folder / "nowhere", attack="intersection")
    assert result.exit_code == 2
    assert "nowhere" in result.stderr
    result, _ = link(recoded, "--m", "-1")
    assert result.exit_code == 2
    assert "m is -1" in result.stderr
    assert not guess.exists()


def test_other_data(recoded):
    _, guess = link(recoded)
    content = json.loads(guess.read_text())
    content["targets"] = [99] * len(content["targets"])
    guess.write_text(json.dumps(content))
    result = scored(recoded, guess)
    assert result.exit_code == 2
    assert "other people" in result.stderr
