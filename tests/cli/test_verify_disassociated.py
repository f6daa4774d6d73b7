"""``setveil verify`` of records in chunks: exit codes and witnesses."""

import json

import pytest
from tests.unit.disassociated_instances import publish
from typer.testing import CliRunner

from setveil.cli import app
from setveil.guarantee import Disassociated
from setveil.release.store import save


@pytest.fixture
def covered(tmp_path):
    rows = [["y", "a"], ["y", "a", "b"], ["y", "b"], ["y", "a"]]
    release, _ = publish(rows, ([0, 1, 2, 3], ["ya", "b"], ""))
    promise = Disassociated(k=2, m=2)
    save(release, tmp_path / "release", method="disassociate", params={}, promise=promise)
    return str(tmp_path / "release")


def test_the_promise_and_the_covers(covered):
    done = CliRunner().invoke(app, ["verify", covered])
    assert done.exit_code == 0
    assert "holds: in each of 1 clusters" in done.stdout
    assert "gives away what all their records hold" in done.stdout
    done = CliRunner().invoke(app, ["verify", covered, "-g", "safe-disassociated:k=2,m=2"])
    assert done.exit_code == 1
    assert "{b} → y: 4, required below 1, but 1 in cluster 0" in done.stdout


def test_the_chance_as_json(covered):
    spec = "safe-disassociated:k=2,m=2,max_share=1/2"
    done = CliRunner().invoke(app, ["verify", covered, "-g", spec, "--json"])
    assert done.exit_code == 1
    (check,) = json.loads(done.stdout)["checks"]
    assert check["params"] == {"k": 2, "m": 2, "max_share": 0.5}
    assert check["witnesses"][0]["confidence"] == 1.0


def test_other_promises_are_refused_in_words(covered):
    done = CliRunner().invoke(app, ["verify", covered, "-g", "km:k=2,m=2"])
    assert done.exit_code == 2
    assert "ask for disassociated" in str(done.output) + str(done.exception)
