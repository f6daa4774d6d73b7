"""Jobs as tasks of Spark: one that fails or takes too long loses itself, and nobody else."""

import time

import pytest

from setveil.engine.processes import Processes
from setveil.engine.spark import SparkJobs, answered

pytestmark = pytest.mark.spark

# As for processes: a function that can do anything and is found by every Python.
SLEEP = "__import__('time').sleep(x) or x"


def run(jobs, source, values):
    found = jobs.run(eval, source, [{"x": value} for value in values])
    return sorted(found, key=lambda outcome: outcome.job)


def test_the_outcomes_are_those_of_processes(spark):
    for source, values in (("x * x", range(7)), ("1 / x", [1, 0, 2]), ("x", [])):
        expected = run(Processes(workers=1), source, values)
        assert run(SparkJobs(engine=spark), source, values) == expected


def test_the_time_for_everything_stops_what_runs_and_what_waits(spark):
    started = time.monotonic()
    found = run(SparkJobs(engine=spark, seconds=8), SLEEP, [0, 100, 100, 0, 0])
    # Two cores: the second and the third are at work when the time is used up.
    assert [one.state for one in found] == ["done", "late", "late", "late", "late"]
    assert "not started" in found[4].reason
    assert time.monotonic() - started < 60


def test_the_time_for_one_job_leaves_the_others_alone(spark):
    found = run(SparkJobs(engine=spark, seconds_each=8), SLEEP, [0, 100, 0])
    assert [one.state for one in found] == ["done", "slow", "done"]


def test_what_is_left_when_nobody_waits_is_stopped(spark):
    started = time.monotonic()
    outcomes = SparkJobs(engine=spark).run(eval, SLEEP, [{"x": 0}, {"x": 100}])
    next(outcomes)
    outcomes.close()
    while spark.session.sparkContext.statusTracker().getActiveJobsIds():
        time.sleep(0.1)
    assert time.monotonic() - started < 60


def test_a_job_too_large_for_its_machine_says_so():
    class Shared:
        value = None

    def grow(_, __):
        raise MemoryError

    assert answered(grow, Shared(), 1) == ("large", "the memory of that machine is not enough")
