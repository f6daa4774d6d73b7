"""SIGTERM and SIGHUP in the middle of a command: a prompt end, a sentence, nothing left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from setveil.io.writers import write
from setveil.synthetic import clinic

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="looks at processes as Linux shows them"
)
PATIENCE = 120
"""Seconds that a busy machine may take to start a command."""
PROMPT = 15
"""Seconds that it may take to end one: cleaning up has three, the rest is the machine's."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder of data that every command takes long to work through."""
    here = tmp_path_factory.mktemp("signals")
    made = clinic(n=8000, seed=1)
    write(made.table, here / "visits.jsonl")
    made.taxonomy.write(here / "tree.csv")
    text = "The patient has a cough and a high fever, two rashes and a broken toe. " * 3000
    (here / "notes").mkdir()
    for number in range(60):
        (here / "notes" / f"{number}.txt").write_text(text)
    return here


COMMANDS = {
    "extract": ("extract", "notes", "--workers", "2", "-o", "items.jsonl"),
    "audit": ("audit", "visits.jsonl", "--taxonomy", "tree.csv", "--workers", "1", "-o", "out"),
    "harden": ("harden", "visits.jsonl", "--taxonomy", "tree.csv", "--workers", "1", "-o", "out"),
    "anonymize": (
        "anonymize", "gather", "visits.jsonl", "--taxonomy", "tree.csv", "--k", "3", "--key",
        "key", "-o", "out",
    ),
    "index": ("index", "notes", "-o", "words.index"),
}  # fmt: skip
STARTS_WORKERS = {"extract", "audit", "harden"}


def caught(process):
    """Return the signals that a process handles, as a bit mask."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("SigCgt:")[1].split()[0], 16)


def descendants(process):
    """Return the processes below a process."""
    found = []
    for task in Path(f"/proc/{process}/task").iterdir():
        found += [int(each) for each in (task / "children").read_text().split()]
    return found + [inner for each in found for inner in descendants(each)]


def wait_for(condition, running):
    begun = time.monotonic()
    while not condition():
        assert running.poll() is None, running.stderr.read()
        assert time.monotonic() - begun < PATIENCE
        time.sleep(0.02)


def alive(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("command", "number", "delay"),
    [
        ("extract", signal.SIGTERM, 0.5),
        ("audit", signal.SIGTERM, 1.0),
        ("anonymize", signal.SIGTERM, 0.5),
        ("index", signal.SIGTERM, 0.5),
        ("audit", signal.SIGHUP, 0.0),
        *(
            pytest.param(command, number, delay, marks=pytest.mark.slow)
            for command in COMMANDS
            for number in (signal.SIGTERM, signal.SIGHUP)
            for delay in (0.0, 0.3, 2.0)
        ),
    ],
)
def test_a_command_ends_at_once_and_leaves_nothing(command, number, delay, folder, tmp_path):
    for name in ("visits.jsonl", "tree.csv", "notes"):
        (tmp_path / name).symlink_to(folder / name)
    (tmp_path / "temporary").mkdir()
    before = set(tmp_path.iterdir())
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "setveil", *COMMANDS[command], "--quiet"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
    ) as running:
        wait_for(lambda: caught(running.pid) >> (number - 1) & 1, running)
        if command in STARTS_WORKERS:
            wait_for(lambda: descendants(running.pid), running)
        time.sleep(delay)
        workers = descendants(running.pid)
        assert running.poll() is None, "it has ended already: give it more to do"
        running.send_signal(number)
        begun = time.monotonic()
        _, said = running.communicate(timeout=PATIENCE)
        took = time.monotonic() - begun
    assert running.returncode == 128 + number, said
    assert f"setveil: ended by {signal.Signals(number).name}" in said
    assert "Traceback" not in said
    assert took < PROMPT
    if command in {"audit", "harden"}:
        assert "run the same command again to go on" in said
        assert list(tmp_path.rglob("*.part")) == []
    else:
        assert set(tmp_path.iterdir()) == before
    assert list((tmp_path / "temporary").iterdir()) == []
    for _ in range(50):
        if not any(map(alive, workers)):
            break
        time.sleep(0.1)
    assert not any(map(alive, workers))
