"""1 means "violated" and nothing else: neither closed streams nor faults of ours end with it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from setveil import cli

CODE = "from setveil.__main__ import main; main()"
SHELL = '"$0" -P -c "$1" {}'


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


def exit_code(folder, words, code=CODE):
    done = subprocess.run(
        ["bash", "-c", SHELL.format(words), sys.executable, code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[2])},
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("closed", ["2>&-", ">&-", ">&- 2>&-", "2>/dev/full"])
def test_closed_streams_change_no_verdict(folder, closed):
    assert exit_code(folder, f"verify release {closed}")[0] == 0


@pytest.mark.parametrize("words", ["verify nowhere", "verifyy"])
@pytest.mark.parametrize("closed", [">&- 2>&-", "2>/dev/full"])
def test_wrong_use_is_2_whoever_listens(folder, words, closed):
    assert exit_code(folder, f"{words} {closed}")[0] == 2


def test_a_reader_of_stderr_that_went_away_changes_nothing(folder):
    words = "verifyy 2> >(exec 0<&-; sleep 1); exit $?"
    assert exit_code(folder, words)[0] == 2


def test_a_result_that_cannot_be_written_is_no_verdict(folder):
    assert exit_code(folder, "verify release > /dev/full")[0] == 2


def test_a_command_line_that_cannot_be_loaded_is_no_verdict(folder):
    code = "import sys; sys.modules['typer'] = None; " + CODE
    found, said = exit_code(folder, "verify release", code)
    assert found == 70
    assert "typer" in said


def test_a_panic_of_a_library_is_no_verdict(tmp_path, monkeypatch):
    class Panic(BaseException):
        """As those of compiled libraries, it is no Exception."""

    def broken(*_, **__):
        raise Panic

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("setveil.release.store.load_manifest", broken)
    (tmp_path / "release").mkdir()
    found = CliRunner().invoke(cli.app, ["verify", str(tmp_path / "release")])
    assert found.exit_code == 70
    assert "internal error: Panic" in found.output


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
