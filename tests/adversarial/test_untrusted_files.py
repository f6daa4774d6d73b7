"""Directories and files from strangers never hang, fill the memory or end the process.

Each hostile thing is given to each command that reads such a thing. It must be refused with exit
code 2 and a sentence, in 10 seconds of computing time and 1 GB of memory.
"""

import hashlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from setveil.cli import app
from setveil.data import TransactionTable
from setveil.release import publish_suppressed
from setveil.release.store import save, save_key

SECONDS = 10
MEMORY = 1 << 30


# --- running a command within bounds -------------------------------------------------------------


def run_apart(*arguments, stdin=b"", environment=None):
    """Run a command in a process of its own; return code, stderr, seconds of computing, peak."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "setveil", *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=errors,
            env={**os.environ, **(environment or {})},
        )
        signal.signal(signal.SIGALRM, lambda *_: process.kill())
        signal.alarm(120)  # of a clock, on a machine that may be busy
        try:
            process.stdin.write(stdin)
            process.stdin.close()
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            signal.alarm(0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        said = errors.read().decode()
    return process.returncode, said, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def refused_apart(*arguments, **extra):
    """Check that a command refuses what it is given, within the bounds; return what it says."""
    code, said, seconds, peak = run_apart(*arguments, **extra)
    assert code == 2, said
    assert "Traceback" not in said
    assert "panicked" not in said
    assert said.startswith("setveil: ")
    assert seconds <= SECONDS
    assert peak <= MEMORY
    return said


class TooSlowError(Exception):
    """The time is used up."""


@contextmanager
def in_time(seconds=SECONDS):
    def late(*_):
        raise TooSlowError

    signal.signal(signal.SIGALRM, late)
    before = resource.getrusage(resource.RUSAGE_SELF)
    signal.alarm(120)
    try:
        yield
    finally:
        signal.alarm(0)
    after = resource.getrusage(resource.RUSAGE_SELF)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert spent <= seconds


def refused(*arguments):
    """Check that a command refuses what it is given; return what it says."""
    with in_time():
        done = CliRunner().invoke(app, [str(each) for each in arguments])
    assert done.exit_code == 2, (done.output, done.exception)
    assert done.stderr.startswith("setveil: ")
    return done.stderr


# --- a release, and what can be put in the place of a file ----------------------------------------


@pytest.fixture
def folder(tmp_path):
    """Return a folder with data, a release of it and its key."""
    rows = [["flu", "gout"], ["flu"], ["gout", "cough"], ["flu", "cough"]]
    (tmp_path / "visits.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    table = TransactionTable.from_rows(rows)
    release, key = publish_suppressed(table, [True, True, True])
    save(release, tmp_path / "release", method="none", params={}, promise=None)
    save_key(key, tmp_path / "visits.key")
    return tmp_path


def replace_data(release, data, ending=None, **counts):
    """Put other content behind a manifest that is right about it."""
    file = release / "manifest.json"
    raw = json.loads(file.read_text())
    digest = hashlib.sha256(data).hexdigest()
    ending = ending or raw["data"]["format"]
    name = f"release-{digest[:16]}.{ending}"
    raw["data"].update(file=name, sha256=digest, format=ending)
    raw["counts"].update(counts)
    file.write_text(json.dumps(raw))
    (release / name).write_bytes(data)
    return release / name


def put_fifo(path):
    os.mkfifo(path)


def put_link_to_zero(path):
    path.symlink_to("/dev/zero")


def put_link_out(path):
    secret = path.parent.parent / "private.txt"
    secret.write_text("secret")
    path.symlink_to(secret)


def put_socket(path):
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


def put_large(path):
    """Put a file of 50 GB that takes no place on the disk."""
    with path.open("wb") as file:
        file.truncate(50 << 30)


IRREGULAR = [put_fifo, put_link_to_zero, put_socket, put_large]


def release_commands(folder):
    """Return the commands that read a release from a stranger."""
    release, data = folder / "release", folder / "visits.csv"
    return {
        "verify": ["verify", release, "-g", "km:k=2,m=1"],
        "measure": ["measure", release, "--original", data],
        "attack": ["attack", "linkage", release, "--targets", data, "-o", folder / "guess.json"],
    }


COMMANDS = ["verify", "measure", "attack"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("hostile", [*IRREGULAR, put_link_out])
def test_a_manifest_that_is_no_file(folder, command, hostile):
    (folder / "release" / "manifest.json").unlink()
    hostile(folder / "release" / "manifest.json")
    refused(*release_commands(folder)[command])


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("hostile", [*IRREGULAR, put_link_out])
def test_a_data_file_that_is_no_file(folder, command, hostile):
    (data,) = (folder / "release").glob("release-*")
    data.unlink()
    hostile(data)
    refused(*release_commands(folder)[command])
