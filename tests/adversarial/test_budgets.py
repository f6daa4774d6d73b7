"""Budgets of time and memory hold, whatever workers do, and say so where they are too small."""

import operator
import os
import re
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from setveil import TransactionTable
from setveil.audit import audit, trials
from setveil.audit.trials import Limits
from setveil.cli import app
from setveil.core.errors import ParameterError
from setveil.engine.processes import ROOM, Processes
from setveil.engine.worker import resident
from setveil.io.writers import write
from setveil.synthetic import clinic

TABLE = TransactionTable.from_rows([["flu", "gout"], ["flu", "rash"], ["flu"]] * 8)
FILL = "len([b'x' * 10**7 for _ in range(x)])"
"""Holds 10 MB times x, as fast as the machine can."""
PROCESS = "__import__('os').getpid() + 0 * len(str(__import__('time').sleep(0.3)))"


class Asleep:
    """Takes a while to be loaded by a worker."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __reduce__(self):
        return time.sleep, (self.seconds,)


def run(pool, source, values, *, shared=None):
    """Return what becomes of jobs; `eval` is a function that a worker can find."""
    if shared is None:
        outcomes = pool.run(eval, source, [{"x": value} for value in values])
    else:
        outcomes = pool.run(divmod, shared, values)
    return sorted(outcomes, key=lambda outcome: outcome.job)


# --- time of workers ------------------------------------------------------------------------------


def test_what_all_jobs_share_is_sent_without_waiting_for_a_worker():
    begun = time.monotonic()
    shared = [Asleep(60), bytes(10_000_000)]  # more than a pipe takes, and nobody reads
    found = run(Processes(workers=1, seconds=2), "", [1, 2], shared=shared)
    assert [one.state for one in found] == ["late", "late"]
    assert time.monotonic() - begun < 20


def test_the_start_of_a_worker_is_not_the_time_of_its_job():
    source = "__import__('time').sleep(x)"
    pool = Processes(workers=1, seconds_each=2)
    found = run(pool, source, [0, 30])
    assert [one.state for one in found] == ["done", "slow"]
    shared = [7, Asleep(3)]  # loaded before the first job
    assert [one.state for one in pool.run(operator.contains, shared, [7])] == ["done"]


def test_an_answer_that_comes_in_parts_is_put_together():
    found = run(Processes(workers=1), "bytes(x)", [3_000_000, 5])
    assert [len(one.value) for one in found] == [3_000_000, 5]


# --- memory of workers ----------------------------------------------------------------------------


@contextmanager
def watched():
    """Yield a list whose last number is the most that this process and its children held.

    This process counts as it is at first: what earlier tests left in it comes and goes.
    """
    most, over = [0], threading.Event()
    others = set(children())  # of tests before this one, such as Spark
    here, own = resident(os.getpid()), command_of(os.getpid())

    def watch():
        while not over.wait(0.002):
            # A child that runs no program of its own yet still shows the memory of this process.
            workers = [each for each in set(children()) - others if command_of(each) != own]
            most.append(max(most[-1], here + sum(map(resident, workers))))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield most
    finally:
        over.set()
        thread.join()


def command_of(process):
    """Return the command line of a process, empty for one that has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def children():
    """Return the processes that this one has started."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        try:
            found += map(int, (task / "children").read_text().split())
        except OSError:
            continue  # the thread has ended
    return found


linux = pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")


@linux
def test_a_worker_gets_no_more_memory_than_there_is():
    memory = resident(os.getpid()) + 450_000_000
    with watched() as most:
        found = run(Processes(workers=1, memory=memory), FILL, [1, 300, 2])
    assert [one.state for one in found] == ["done", "large", "done"]
    assert most[-1] < 1.02 * memory


@linux
def test_what_needs_the_memory_of_all_workers_is_tried_alone():
    memory = resident(os.getpid()) + 800_000_000
    with watched() as most:
        found = run(Processes(workers=2, memory=memory), FILL, [1, 50, 2, 300])
    assert [one.state for one in found] == ["done", "done", "done", "large"]
    assert most[-1] < 1.02 * memory


def test_a_memory_below_what_a_worker_needs_is_refused_and_the_least_is_told():
    with pytest.raises(ParameterError, match="is too little") as caught:
        run(Processes(workers=2, memory=50_000_000), "x", [1])
    least = int(re.search(r"at least (\d+)M", caught.value.fix)[1]) * 10**6
    assert least > resident(os.getpid()) + ROOM
    found = run(Processes(workers=2, memory=int(1.1 * least)), PROCESS, range(4))
    assert [one.state for one in found] == ["done"] * 4
    assert len({one.value for one in found}) == 1  # there is room for one worker only


def test_libraries_that_end_the_process_for_want_of_memory():
    source = "__import__('os').write(2, b'memory allocation of 9 bytes failed') and "
    source += "__import__('os').abort()"
    memory = resident(os.getpid()) + 10**9
    assert run(Processes(workers=1, memory=memory), source, [1])[0].state == "large"
    assert run(Processes(workers=1), source, [1])[0].state == "failed"


# --- time of an audit -----------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that stands still, on a machine that has nothing else to do."""
    now = [1000.0]
    monkeypatch.setattr(trials.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(trials.os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    return now


def limited(budget, **rest):
    return Limits(budget=budget, memory=None, started=1000.0, **{"workers": 1, **rest})


def test_the_time_before_the_trials_counts_and_that_for_the_report_is_kept(clock):
    short, long = limited(10), limited(600)
    assert (short.left, long.left) == (9, 570)
    clock[0] += 4
    assert (short.left, long.left) == (5, 566)
    clock[0] += 5
    assert short.over
    assert not long.over


def test_a_machine_with_much_to_do_keeps_more_time_for_the_report(clock, monkeypatch):
    monkeypatch.setattr(trials.os, "getloadavg", lambda: (2.0 * os.cpu_count(), 0.0, 0.0))
    assert limited(10).left == 8
    monkeypatch.setattr(trials.os, "getloadavg", lambda: (900.0 * os.cpu_count(), 0.0, 0.0))
    assert limited(10).left == 5
    assert clock == [1000]


def test_a_limit_needs_a_process_that_can_be_stopped():
    assert limited(None, workers=0).processes == 0
    assert limited(10, workers=0).processes == 1
    assert Limits(budget=None, memory=10**9, workers=0, started=0).processes == 1


def test_an_audit_counts_from_when_its_time_began(tmp_path):
    found = audit(
        TABLE, out=tmp_path, methods=["disassociate:k=2"], workers=0, budget=600,
        since=time.monotonic() - 599,
    )  # fmt: skip
    assert [run.state for run in found.runs] == ["skipped"]
    assert (found.answer, found.recommended) == ("not-decided", None)
    assert found.reasons == ("No trial finished, so there is no verdict yet.",)
    assert found.next_steps == (limited(600).how_to_go_on(),)


def test_an_audit_in_which_nothing_finished_is_not_decided(tmp_path):
    data = tmp_path / "visits.csv"
    data.write_text("flu,gout\nflu,rash\nflu\n" * 8)
    for command in ("audit", "harden"):
        found = CliRunner().invoke(
            app,
            [command, str(data), "--format", "basket", "--methods", "disassociate",
             "--budget", "0.001", "-o", str(tmp_path / command)],
        )  # fmt: skip
        assert found.exit_code == 3, found.output
        assert "No trial finished, so there is no verdict yet." in found.output
        assert "The time of 0.001 s ended the search" in found.output
        assert "--budget 1s" in found.output
        assert "None of" not in found.output


LIMITED = """
import time
from setveil.cli.output import handle_interrupts, limit_time
from setveil.cli.output import report_errors
import typer
BODY
try:
    with handle_interrupts(), report_errors(), limit_time(1.5, "1.5 s were over"):
        WORK
except typer.Exit as end:
    print("cleaned up")
    raise SystemExit(end.exit_code)
"""


@pytest.mark.parametrize(
    ("body", "work", "said"),
    [
        ("", "time.sleep(60)", "cleaned up\n"),
        ("import zlib; many = bytes(10**8)", "[zlib.crc32(many) for _ in range(10**4)]",
         "cleaned up\n"),
        # Code that does not come back to Python is ended with the process.
        ("import hashlib", "hashlib.pbkdf2_hmac('sha256', b'', b'', 2 * 10**9)", ""),
    ],
)  # fmt: skip
def test_a_command_that_is_busy_elsewhere_ends_with_its_time(body, work, said):
    code = LIMITED.replace("BODY", body).replace("WORK", work)
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=50
    )
    assert time.monotonic() - begun < 30
    assert done.returncode == 3, done.stderr
    assert done.stdout == said
    assert done.stderr == "setveil: 1.5 s were over\n"


@pytest.mark.slow
@pytest.mark.parametrize(("command", "seconds"), [("audit", 10), ("harden", 12)])
def test_the_time_of_a_whole_command(command, seconds, tmp_path):
    made = clinic(n=3000, seed=1)
    write(made.table, tmp_path / "visits.jsonl")
    made.taxonomy.write(tmp_path / "tree.csv")
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-P", "-m", "setveil", command, "visits.jsonl", "--taxonomy", "tree.csv",
         "--budget", f"{seconds}s", "--quiet", "-o", "out"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    took = time.monotonic() - begun
    assert done.returncode in {0, 1, 3, 4}, done.stderr
    # A tenth, and what a machine adds on which other tests run.
    assert took < 1.1 * seconds + trials.crowding(), done.stdout
