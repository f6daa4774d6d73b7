"""Fixtures that every test may use."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings
from tests import tiers

settings.register_profile(
    "setveil",
    deadline=None,  # the first call of a kernel compiles it
    max_examples=100,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("quick", settings.get_profile("setveil"), max_examples=10)
settings.load_profile("setveil")


def missing_component(what):
    """Skip a test that lacks a component; in CI, where everything must be there, fail it."""
    if os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
        pytest.fail(f"{what} (in CI nothing may be skipped)", pytrace=False)
    pytest.skip(what)


def started_with(disposition, *command):
    """Return a command, for subprocess, that starts with SIGINT as given: SIG_DFL or SIG_IGN.

    A test that sends Ctrl-C to a process says how it takes it: in the background of a shell, or
    under nohup, the tests themselves run with the signal ignored, and a child inherits that.
    """
    code = f"import os, signal, sys; signal.signal(signal.SIGINT, signal.{disposition}); "
    return [sys.executable, "-ISc", code + "os.execv(sys.argv[1], sys.argv[1:])", *command]


def pytest_itemcollected(item):
    """Under `--hypothesis-profile quick` no test draws more examples than the profile says."""
    if settings.get_current_profile_name() != "quick" or not is_hypothesis_test(item.function):
        return
    own = getattr(item.function, "_hypothesis_internal_use_settings", None)
    if own is not None and own.max_examples > settings.default.max_examples:
        item.function._hypothesis_internal_use_settings = settings(
            own, max_examples=settings.default.max_examples
        )


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marks
def pytest_collection_modifyitems(items):
    """Mark long tests, and put those on Spark first.

    pytest-xdist gives the first eighth to one of two processes: there is one session of Spark.
    """
    long_tests = set(tiers.listed())
    for item in items:
        if tiers.is_long(item.nodeid, long_tests):
            item.add_marker(pytest.mark.long)
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)


@pytest.fixture(scope="session")
def data_dir():
    """Return the folder of real data named by SETVEIL_DATA."""
    named = os.environ.get("SETVEIL_DATA")
    if not named and os.environ.get("SETVEIL_NO_DATA"):
        pytest.skip("SETVEIL_NO_DATA says that this machine may not have the real data")
    if not named:
        missing_component("SETVEIL_DATA does not name the folder of real data")
    folder = Path(named)
    if not folder.is_dir():
        missing_component(f"SETVEIL_DATA names {named}, which is not a folder")
    return folder


@pytest.fixture(scope="session")
def spark():
    """Return the engine on Spark, two cores of this machine; one session for the whole run."""
    from setveil.engine.spark import Spark, missing_for_spark

    missing = missing_for_spark()
    if missing is not None:
        missing_component(f"Spark cannot run: {missing}")
    engine = Spark(master="local[2]")
    session = engine.start()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    yield Spark(session=session)
    session.stop()
