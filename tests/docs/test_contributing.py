"""The method in CONTRIBUTING.md is complete: as it stands there it becomes a command of setveil."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import blocks_of

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"
PROGRAM = Path(sys.executable).with_name("setveil")


@pytest.fixture(scope="module")
def setveil(tmp_path_factory):
    """Install the example as a package of somebody else's, and return how to call setveil."""
    folder = tmp_path_factory.mktemp("outside")
    [code] = [block.body for block in blocks_of(PAGE) if block.file == "neighbours.py"]
    (folder / "neighbours.py").write_text(code, encoding="utf-8")
    about = folder / "outside-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[setveil.methods]\nneighbours = neighbours\n")
    (folder / "visits.jsonl").write_text('["flu"]\n["cold"]\n["flu", "asthma"]\n["cold"]\n')
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


def test_is_listed_with_its_parameters(setveil):
    listed = json.loads(setveil("methods", "--json").stdout)
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
