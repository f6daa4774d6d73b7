"""Jobs in processes: one that fails, dies, hangs or grows loses itself, and nobody else."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from setveil.core.errors import ParameterError
from setveil.engine.processes import Processes
from setveil.engine.worker import resident

# Functions must be found by another process: eval(source, {"x": job}) is one that can do anything.
IDENTITY = "x"
SLEEP = "__import__('time').sleep(x) or x"
DIE = "x if x else __import__('os').kill(__import__('os').getpid(), 9)"
GROW = "len((bytearray(x), __import__('time').sleep(5 if x > 10**8 else 0))[0])"


def run(processes, source, values):
    found = processes.run(eval, source, [{"x": value} for value in values])
    return sorted(found, key=lambda outcome: outcome.job)


def test_every_job_is_done_once_whatever_the_number_of_processes():
    for workers in (1, 3):
        found = run(Processes(workers=workers), IDENTITY, range(7))
        assert [(one.job, one.state, one.value) for one in found] == [
            (place, "done", place) for place in range(7)
        ]


def test_no_jobs_need_no_process():
    assert run(Processes(workers=2), IDENTITY, []) == []


def test_a_failed_job_says_why_and_the_others_go_on():
    found = run(Processes(workers=1), "1 / x", [1, 0, 2])
    assert [one.state for one in found] == ["done", "failed", "done"]
    assert "ZeroDivisionError" in found[1].reason


def test_a_process_that_dies_loses_one_job():
    found = run(Processes(workers=1), DIE, [1, 0, 2, 0, 3])
    assert [one.state for one in found] == ["done", "failed", "done", "failed", "done"]
    assert "killed by signal 9" in found[1].reason


def test_what_a_job_prints_is_no_answer(capfd):
    found = run(Processes(workers=1), "print('noise') or x", [5])
    assert found[0].value == 5
    assert capfd.readouterr().out == ""


def test_the_time_for_everything_stops_what_runs_and_what_waits():
    started = time.monotonic()
    found = run(Processes(workers=1, seconds=4), SLEEP, [0, 60, 0])
    assert [one.state for one in found] == ["done", "late", "late"]
    assert "not started" in found[2].reason
    assert time.monotonic() - started < 30


def test_the_time_for_one_job_leaves_the_others_alone():
    found = run(Processes(workers=1, seconds_each=3), SLEEP, [0, 60, 0])
    assert [one.state for one in found] == ["done", "slow", "done"]


def test_the_memory_for_everything_stops_the_largest_which_is_tried_again_alone():
    room = resident(os.getpid()) + 500_000_000
    found = run(Processes(workers=2, memory=room), GROW, [10, 2_000_000_000, 20])
    assert [one.state for one in found] == ["done", "large", "done"]
    assert "memory" in found[1].reason


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"workers": 1, "seconds": 0}])
def test_limits_that_cannot_be_are_refused(wrong):
    with pytest.raises(ParameterError):
        Processes(**wrong)


def test_processes_end_with_who_started_them(tmp_path):
    """A parent that is killed leaves nobody behind; a script needs no guard."""
    note = tmp_path / "pid"
    script = tmp_path / "parent.py"
    source = f"open({str(note)!r}, 'w').write(str(__import__('os').getpid())) and " + SLEEP
    script.write_text(
        "from setveil.engine.processes import Processes\n"
        f"list(Processes(workers=1).run(eval, {source!r}, [{{'x': 100}}]))\n"
    )
    parent = subprocess.Popen([sys.executable, script])
    try:
        child = int(_awaited(note))
    finally:
        parent.kill()
        parent.wait()
    for _ in range(100):
        if not _alive(child):
            break
        time.sleep(0.1)
    assert not _alive(child)


def _awaited(note: Path) -> str:
    for _ in range(600):
        if note.exists() and note.read_text():
            return note.read_text()
        time.sleep(0.1)
    raise AssertionError("the worker did not start")


def _alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False
