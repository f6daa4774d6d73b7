"""What all commands share: help, version, errors, exit codes, Ctrl-C, closed pipes."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import typer
from tests.conftest import started_with
from typer.testing import CliRunner

from setveil import __version__
from setveil.cli import COMMANDS, app, output
from setveil.core import registry
from setveil.core.errors import InputError


def test_version(clinic):
    assert clinic.run("--version").stdout == f"setveil {__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(clinic, command):
    result = clinic.run(command, "--help")
    assert result.exit_code == 0
    assert "Usage:" in result.stdout


def test_help_lists_every_command(clinic):
    text = clinic.run("--help").stdout
    for name in COMMANDS:
        assert f"\n  {name} " in text


def test_without_a_command_help_is_shown(clinic):
    result = clinic.run()
    assert "Usage:" in result.output


def test_an_unknown_command_is_wrong_use(clinic):
    result = clinic.run("anonymise")
    assert result.exit_code == 2
    assert "No such command 'anonymise'" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (InputError("no", where="a.csv, line 3", fix="yes"), 2, "a.csv, line 3: no. To fix: yes."),
        (PermissionError(13, "Permission denied", "a.csv"), 2, "a.csv: Permission denied"),
        (OSError(28, "No space left on device"), 2, "No space left on device"),
        (MemoryError(), 2, "memory"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_what_users_cause_is_one_message(raised, code, said, capsys):
    with pytest.raises(typer.Exit) as stop, output.report_errors():
        raise raised
    assert stop.value.exit_code == code
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""


def test_a_fault_of_ours_is_no_verdict(capsys):
    with pytest.raises(typer.Exit) as ended, output.report_errors():
        _ = 1 / 0
    assert ended.value.exit_code == 70
    assert "internal error: ZeroDivisionError" in capsys.readouterr().err


def test_json_has_a_schema_and_no_nan(capsys):
    output.emit({"a": float("inf"), "b": {"c": (1, 2)}, "d": None})
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"schema": 2, "a": None, "b": {"c": [1, 2]}, "d": None}


def test_progress_is_silent_without_a_terminal(capsys):
    with output.Progress() as progress:
        assert not progress.visible
        progress("counting", 1, 3)
    assert capsys.readouterr() == ("", "")


def test_progress_shows_after_a_while(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(output.Progress, "delay", 0.01)
    monkeypatch.setenv("TERM", "xterm")
    with output.Progress() as progress:
        deadline = time.monotonic() + 20
        while progress._bar is None and time.monotonic() < deadline:
            progress("counting", 1, 3)
            time.sleep(0.01)
        progress("counting", 2, 3)
        assert progress._bar.tasks[0].completed == 2
        assert progress._bar.tasks[0].description == "counting"
        sys.stdout.write("data\n")
        output.say("remark")
    assert progress._bar is None
    printed = capsys.readouterr()
    assert printed.out == "data\n"
    assert "remark" in printed.err
    assert "counting" in printed.err


def test_progress_on_a_terminal_can_be_silenced(monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert not output.Progress(quiet=True).visible


def test_a_closed_pipe_is_no_error(script):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [*script, "methods"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(writer)
    assert done.returncode == 141
    assert done.stderr == ""


def interrupted_while_it_reads(clinic, script, disposition):
    """Send Ctrl-C to a command in the middle of its input; return its exit code and output."""
    options = ["--k", "2", "--taxonomy", clinic.tree, "-o", clinic.release, "--key", clinic.key]
    command = [*script, "anonymize", "gather", "-", "--format", "jsonl", *options]
    reading = subprocess.Popen(
        started_with(disposition, *command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=clinic.folder,
    )
    reading.stdin.write(clinic.data.read_text() * 1_000)
    reading.stdin.flush()  # a pipe holds less: whoever gets here has been read from
    reading.send_signal(signal.SIGINT)
    out, err = reading.communicate(timeout=180)  # the first time kernels are compiled
    return reading.returncode, out, err


def test_ctrl_c_leaves_nothing(clinic, script):
    before = clinic.names()
    code, out, err = interrupted_while_it_reads(clinic, script, "SIG_DFL")
    assert code == 130
    assert out == ""
    assert "interrupted" in err
    assert "Traceback" not in err
    assert clinic.names() == before


def test_an_ignored_ctrl_c_stays_ignored(clinic, script):
    code, _, err = interrupted_while_it_reads(clinic, script, "SIG_IGN")
    assert code == 0, err
    assert "interrupted" not in err
    assert clinic.run("verify", clinic.release).exit_code == 0


def test_compiling_is_announced_once(capsys):
    import numba

    @numba.njit
    def once(x):
        return x + 1

    with output.announce_compiling():
        once(1)
        once(1.5)
    with output.announce_compiling(quiet=True):
        once(True)
    assert capsys.readouterr().err == "compiling kernels for this machine, once …\n"


def test_the_runner_of_these_tests_sees_errors():
    broken = typer.Typer()

    @broken.command()
    def fail() -> None:
        raise ZeroDivisionError

    assert CliRunner().invoke(broken).exit_code == 1
    assert CliRunner().invoke(app, ["--version"]).exit_code == 0


@pytest.mark.parametrize(
    ("kind", "command"), [("anonymizer", "anonymize"), ("attack", "attack")], ids=str
)
def test_every_method_has_a_help(kind, command):
    for entry in registry.entries(kind):
        shown = CliRunner().invoke(app, [command, entry.name, "--help"])
        assert shown.exit_code == 0, f"{command} {entry.name}: {shown.output}"
