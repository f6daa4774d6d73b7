"""Ctrl-C at the moments at which Python, left alone, crashes, loses it or is deaf."""

import os
import signal
import subprocess
import sys
import time

import pytest
from tests.conftest import started_with

from setveil.cli.output import handle_interrupts, safe_frame

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

KERNEL = """
import os, signal, sys, threading, time
import numpy as np
from numba import njit
from setveil.cli.output import handle_interrupts

@njit(nogil=True)
def kernel(n):
    s = 0
    for i in range(n):
        s = (s * 1103515245 + 12345 + i) % 2147483648
    a = np.zeros(3, np.int64)
    a[0] = s
    return a, a.copy()

start = time.perf_counter()
kernel(1)
start = time.perf_counter()
kernel(10_000_000)
second = int(10_000_000 / (time.perf_counter() - start))
"""
CAUGHT = """
try:
    with handle_interrupts():
        BODY
        time.sleep(5)
except KeyboardInterrupt:
    print("interrupted", *globals().get("done", []))
"""


def python(code):
    return started_with("SIG_DFL", sys.executable, "-c", code)


def run(code, *, body):
    inside = body.strip().replace("\n", "\n        ")
    command = python(code + CAUGHT.replace("BODY", inside))
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_a_kernel_that_returns_arrays_survives():
    body = """
for _ in range(3):
    threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT]).start()
    kernel(second // 2)
"""
    done = run(KERNEL, body=body)  # not after the second or third: kernels follow one another
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


def test_a_loop_of_kernels_ends_with_the_one_that_runs():
    body = """
threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT]).start()
done = []
for _ in range(20): done.append(len(kernel(second // 2)[0]))
"""
    done = run(KERNEL, body=body)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


def test_a_second_ctrl_c_ends_a_kernel_at_once():
    code = "with handle_interrupts():\n    print('ready', flush=True)\n    kernel(90 * second)\n"
    with subprocess.Popen(
        python(KERNEL + code), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout.readline() == "ready\n"
        time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        assert "Ctrl-C again" in running.stderr.readline()
        start = time.monotonic()
        running.send_signal(signal.SIGINT)
        assert running.stderr.read() == "setveil: interrupted\n"
        assert running.wait(timeout=30) == 130
        assert time.monotonic() - start < 10


PLAIN = """
import os, signal, sys, time
from setveil.cli.output import handle_interrupts
done = []
"""


def test_two_signals_at_once_are_one_and_cleaning_up_is_left_alone():
    body = """
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)
finally:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.1)
    done.append("clean")
"""
    done = run(PLAIN, body=body)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted clean\n", "")


def test_the_locks_of_modules_are_left_alone():
    body = """
space = {"__name__": "importlib._bootstrap_external", "os": os, "signal": signal}
exec("def within(done): os.kill(os.getpid(), signal.SIGINT); done.append('within')", space)
space["within"](done)
"""
    done = run(PLAIN, body=body)
    assert (done.stdout, done.stderr) == ("interrupted within\n", "")


def test_a_finalizer_does_not_swallow_it():
    body = """
class Last:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)
        done.append("finalized")
last = Last()
del last
"""
    done = run(PLAIN, body=body)
    assert (done.stdout, done.stderr) == ("interrupted finalized\n", "")


def test_after_the_end_it_changes_nothing():
    code = """
import atexit
def late():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.1)
class Latest:
    __del__ = lambda self, late=late: late()
latest = Latest()
atexit.register(late)
with handle_interrupts():
    sys.exit(3)
"""
    done = subprocess.run(python(PLAIN + code), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "")


def test_who_ignores_the_signal_goes_on_ignoring_it():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with handle_interrupts():
            assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_fragile_places():
    here = sys._getframe()
    assert safe_frame(None) is None
    assert safe_frame(here) is here
    for module in ("numba.core.serialize", "importlib._bootstrap"):
        inner = {"__name__": module, "sys": sys}
        exec("def frame(): return sys._getframe()", inner)
        found = inner["frame"]()
        assert safe_frame(found) is found.f_back
