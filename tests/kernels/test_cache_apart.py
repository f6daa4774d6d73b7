"""Processes that start by themselves keep compiled kernels apart, and find them again."""

import os
import subprocess
import sys

import pytest

SCRIPT = "import os, setveil.kernels; print(os.environ['NUMBA_CACHE_DIR'], flush=True); input()"


@pytest.fixture
def start(tmp_path):
    """Start processes that say where they keep kernels and live until told otherwise."""
    started = []

    def one():
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "SETVEIL_CACHE_APART": "1"},
        )
        started.append(process)
        return process, process.stdout.readline().strip()

    yield one
    for process in started:
        process.communicate()


def test_no_two_living_processes_share_a_place(start, tmp_path):
    first, place = start()
    assert place == str(tmp_path / "apart-0")
    _, other = start()
    assert other == str(tmp_path / "apart-1")
    first.communicate("\n")
    assert start()[1] == place
