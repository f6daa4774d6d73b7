"""Ctrl-C while Spark writes a release."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import polars as pl
import pytest
from tests.conftest import started_with

pytestmark = [pytest.mark.spark, pytest.mark.slow]  # `make test-cluster` runs it


@pytest.mark.usefixtures("spark")  # without Java it is skipped
def test_an_interrupt_leaves_nothing_behind(tmp_path):
    rows = [[f"i{(n * k) % 12}" for k in range(1, 2 + n % 6)] for n in range(5_000)]
    data, out = tmp_path / "a.parquet", tmp_path / "out"
    pl.DataFrame({"items": [sorted(set(row)) for row in rows]}).write_parquet(data)
    command = ["anonymize", "disassociate", str(data), "--k", "5", "-o", str(out), "--quiet"]
    process = subprocess.Popen(
        started_with("SIG_DFL", sys.executable, "-m", "setveil", *command, "--engine", "spark"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while not any(out.glob(".release-*")) and time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "setveil: interrupted" in said
    assert not out.exists()
