"""kill -9 at every file event of every command that writes: nothing is half-done, nothing mixed."""

import os
import shutil
import signal

import pytest
from tests.adversarial.kill.campaign import (
    SCENARIOS,
    Server,
    kill_everywhere,
    other_file_system,
    stop_everywhere,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
SAMPLED = "anonymize again as csv"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    base = tmp_path_factory.mktemp("kill")
    shm = other_file_system(base / "shm")
    server = Server(base / "work", shm)
    yield server
    server.close()
    shutil.rmtree(shm, ignore_errors=True)


def named(name):
    return next(each for each in SCENARIOS if each.name == name)


def test_a_sample_of_kills(server, tmp_path):
    assert kill_everywhere(server, named(SAMPLED), tmp_path, step=5) >= 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda s: s.name)
def test_a_sample_of_signals(server, tmp_path, number):
    assert stop_everywhere(server, named(SAMPLED), tmp_path, number, step=9) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_kills_at_every_file_event(server, tmp_path, scenario):
    assert kill_everywhere(server, scenario, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda s: s.name)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_signals_at_some_file_events(server, tmp_path, scenario, number):
    assert stop_everywhere(server, scenario, tmp_path, number, step=5)
