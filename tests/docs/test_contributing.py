"""What CONTRIBUTING.md shows is complete: as it stands there it becomes a part of setveil."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import blocks_of

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"
FILES = ("neighbours", "popular", "short_records", "letters")
PROGRAM = Path(sys.executable).with_name("setveil")


@pytest.fixture(scope="module")
def setveil(tmp_path_factory):
    """Install the examples as a package of somebody else's, and return how to call setveil."""
    folder = tmp_path_factory.mktemp("outside")
    code = {block.file: block.body for block in blocks_of(PAGE)}
    for name in FILES:
        (folder / f"{name}.py").write_text(code[f"{name}.py"], encoding="utf-8")
    about = folder / "outside-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    points = "".join(f"{name} = {name}\n" for name in FILES)
    (about / "entry_points.txt").write_text(f"[setveil.methods]\n{points}")
    (folder / "visits.jsonl").write_text(
        '["flu"]\n["cold"]\n["flu", "asthma"]\n["flu", "asthma"]\n'
    )
    (folder / "tree.csv").write_text("flu,all\ncold,all\nasthma,all\n")

    def call(*args):
        return subprocess.run(
            [PROGRAM, *args],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )

    return call


def test_are_listed_with_their_parameters(setveil):
    listed = json.loads(setveil("methods", "--json").stdout)
    ours = {(entry["kind"], entry["name"]) for entry in listed["methods"]}
    assert ours >= {
        ("anonymizer", "neighbours"),
        ("attack", "popular"),
        ("guarantee", "short-records"),
        ("relatedness", "letters"),
    }
    [found] = [entry for entry in listed["methods"] if entry["name"] == "neighbours"]
    assert found["summary"] == "Cut the sorted records into runs of k and publish each run alike."
    assert [param["name"] for param in found["params"]] == ["k"]


def test_is_a_command_whose_release_verifies(setveil):
    options = ("visits.jsonl", "--taxonomy", "tree.csv", "--k", "2", "-o", "release")
    made = setveil("anonymize", "neighbours", *options)
    assert made.returncode == 0, made.stderr
    checked = setveil("verify", "release", "--json")
    assert checked.returncode == 0, checked.stderr
    [check] = json.loads(checked.stdout)["checks"]
    assert (check["guarantee"], check["params"], check["holds"]) == ("k-anonymity", {"k": 2}, True)


def test_refuses_what_every_method_refuses(setveil):
    refused = setveil(
        "anonymize", "neighbours", "visits.jsonl", "--taxonomy", "tree.csv", "--k", "5", "-o", "no"
    )
    assert refused.returncode == 2
    assert "the data has only 4 records" in refused.stderr


def release(setveil, method, name, *options):
    made = setveil(
        "anonymize", method, "visits.jsonl", "-o", name, "--key", f"{name}.key", *options
    )
    assert made.returncode == 0, made.stderr


def test_the_attack_is_a_command_whose_guess_is_scored(setveil):
    release(setveil, "disassociate", "pieces", "--k", "2")
    attacked = setveil("attack", "popular", "pieces", "-o", "pieces.guess", "--worlds", "2")
    assert attacked.returncode == 0, attacked.stderr
    options = ("--original", "visits.jsonl", "--key", "pieces.key", "--guess", "pieces.guess")
    measured = setveil("measure", "pieces", *options, "--json")
    assert measured.returncode == 0, measured.stderr
    figures = json.loads(measured.stdout)
    assert figures["held"] == 0.75
    assert figures["held_low"] < 0.75 < figures["held_high"]
    refused = setveil("attack", "popular", "pieces", "-o", "other.guess", "--worlds", "0")
    assert refused.returncode == 2
    assert "worlds is 0. To fix: use a whole number of at least 1" in refused.stderr


def test_the_guarantee_is_checked(setveil):
    release(setveil, "neighbours", "alike", "--taxonomy", "tree.csv", "--k", "2")
    for most, code in ((9, 0), (1, 1)):
        checked = setveil("verify", "alike", "--guarantee", f"short-records:most={most}", "--json")
        [check] = json.loads(checked.stdout)["checks"]
        assert (checked.returncode, check["holds"]) == (code, not code), checked.stderr


def test_the_source_tells_an_attack_what_is_related(setveil):
    release(setveil, "coat", "sets", "--k", "2", "--constrained", "1")
    options = ("sets", "--relatedness", "0.5*letters+letters", "-o", "sets.guess")
    attacked = setveil("attack", "rba", *options)
    assert attacked.returncode == 0, attacked.stderr
