"""The tests pass where Ctrl-C is ignored too: after `make test &`, under nohup, in many a CI."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import started_with

HERE = Path(__file__).resolve()
TESTS = HERE.parents[1]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


def sending():
    """Return the files of tests that speak of the signal; without this one, which starts them."""
    files = [path for path in sorted(TESTS.rglob("test_*.py")) if path != HERE]
    return [path for path in files if "SIGINT" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize(
    ("disposition", "found"), [("SIG_DFL", "default_int_handler"), ("SIG_IGN", "SIG_IGN")]
)
@pytest.mark.parametrize("outside", ["SIG_DFL", "SIG_IGN"])
def test_a_command_starts_with_the_signal_as_asked(outside, disposition, found):
    code = f"import signal; print(signal.getsignal(signal.SIGINT) == signal.{found})"
    command = started_with(disposition, sys.executable, "-c", code)
    done = subprocess.run(
        started_with(outside, *command), capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"


@pytest.mark.parametrize("which", ["not slow", pytest.param("slow", marks=pytest.mark.slow)])
def test_tests_of_ctrl_c_pass_where_it_is_ignored(tmp_path, which):
    options = ["-q", "-m", which, "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'inner'}"]
    command = [sys.executable, "-m", "pytest", *options, *map(str, sending())]
    done = subprocess.run(
        started_with("SIG_IGN", *command),
        cwd=TESTS.parent,
        env={name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
