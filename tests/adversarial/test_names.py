"""Names from strangers are shown as what they are: they neither redraw the terminal nor hide."""

import json

import pytest
from typer.testing import CliRunner

from setveil import TransactionTable
from setveil.cli import app
from setveil.release import publish_suppressed
from setveil.release.store import save

SPOOFS = (
    "flu\x1b[2K\x1b[1A",  # wipes the line before
    "flu\nk-anonymity:k=2  holds: all",  # looks like another verdict
    "flu\u202eVIH",  # turned round
    "flu\u200b",  # looks like flu
    "flu\x9b2J",  # the same as an escape, in one character
    "flu\x7f",
)


@pytest.mark.parametrize("name", SPOOFS)
def test_a_violated_release_looks_violated(name, tmp_path):
    table = TransactionTable.from_rows([[name], ["gout"], ["gout"]])
    release, _ = publish_suppressed(table, [True, True])
    save(release, tmp_path / "release", method="coat", params={}, promise=None)
    asked = ["verify", str(tmp_path / "release"), "-g", "k-anonymity:k=2"]
    found = CliRunner().invoke(app, asked)
    assert found.exit_code == 1
    assert "VIOLATED" in found.output
    assert not any(line.startswith("k-anonymity:k=2  holds") for line in found.output.split("\n"))
    assert name not in found.output
    assert set(found.output) & set("\x1b\x7f\x9b\u202e\u200b") == set()
    exact = CliRunner().invoke(app, [*asked, "--json"])
    assert name not in exact.output
    assert name in str(json.loads(exact.stdout)["checks"][0]["witnesses"][0]["items"][0])
