"""Starting up: ratios to a bare interpreter, measured in turn so that load weighs on both."""

import statistics
import subprocess
import sys
import time

import pytest

HELP_LIMIT = 12.0  # bare interpreters; measured 5.7 to 7
WARM_LIMIT = 1.5  # seconds; measured 1.4
BARE = 0.014  # seconds a bare interpreter takes on the machine of these measurements
MARGIN = 1.5  # other tests run beside this one


def seconds(command, **kwargs):
    started = time.perf_counter()
    subprocess.run(
        command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **kwargs
    )
    return time.perf_counter() - started


def bare_interpreter():
    return seconds([sys.executable, "-c", "pass"])


def test_help_is_quick(script):
    seconds([*script, "--help"])  # writes the .pyc files
    pairs = [(seconds([*script, "--help"]), bare_interpreter()) for _ in range(11)]
    ratio = statistics.median(a for a, _ in pairs) / statistics.median(b for _, b in pairs)
    assert ratio <= HELP_LIMIT, f"setveil --help takes {ratio:.1f} times a bare interpreter"


@pytest.mark.parametrize("method", ["gather", "clump"])
def test_a_small_file_is_anonymized_quickly(clinic, script, method):
    options = ["--k", "2", "--taxonomy", clinic.tree, "-o", clinic.release, "--force", "--quiet"]
    command = [*script, "anonymize", method, clinic.data, *options]
    seconds(command)  # compiles
    runs = [(seconds(command), bare_interpreter()) for _ in range(5)]
    taken = min(a for a, _ in runs)
    # A machine under load gets as much more time as its bare interpreter needs.
    allowed = MARGIN * WARM_LIMIT * max(1.0, statistics.median(b for _, b in runs) / BARE)
    assert taken <= allowed, f"{taken:.2f} s, allowed {allowed:.2f} s"
