"""1 means "violated" and nothing else: neither closed streams nor faults of ours end with it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from setveil import cli

CODE = "from setveil.cli import main; main()"
SHELL = '"$0" -P -c "$1" verify release {}'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a release that keeps its promise."""
    here = tmp_path_factory.mktemp("closed")
    (here / "visits.csv").write_text("a,b\na,b\na,c\na,c\n")
    command = ["anonymize", "disassociate", "visits.csv", "--format", "basket", "--k", "2"]
    done = subprocess.run(
        [sys.executable, "-P", "-c", CODE, *command, "-o", "release", "--quiet"],
        cwd=here,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[2])},
    )
    assert done.returncode == 0, done.stderr
    return here


@pytest.mark.parametrize("closed", ["2>&-", ">&-", ">&- 2>&-"])
def test_closed_streams_change_no_verdict(folder, closed):
    done = subprocess.run(
        ["sh", "-c", SHELL.format(closed), sys.executable, CODE],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[2])},
        check=False,
    )
    assert done.returncode == 0


def test_a_fault_of_ours_is_said_in_a_sentence(tmp_path, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("setveil.cli.reading.Reading.read", broken)
    data = tmp_path / "visits.csv"
    data.write_text("a,b\na\n")
    found = CliRunner().invoke(cli.app, ["inspect", str(data)])
    assert found.exit_code == 70
    assert "internal error: ZeroDivisionError" in found.output
    assert "Traceback" not in found.output
    [details] = tmp_path.glob("setveil-error-*.txt")
    assert "ZeroDivisionError" in details.read_text()
    assert details.stat().st_mode & 0o077 == 0
