"""Jobs on Spark, within a time budget: one task each, wherever a core is free."""

from __future__ import annotations

import queue
import threading
import time
import uuid
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from setveil.core.errors import EngineError, ParameterError
from setveil.engine.processes import DONE, FAILED, LARGE, LATE, SLOW, TICK, Outcome
from setveil.engine.spark import Spark, spoken_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark import Broadcast, SparkContext


@dataclass(frozen=True, kw_only=True)
class SparkJobs:
    """Run a function over jobs as tasks of Spark, each alone, as :class:`Processes` does here.

    A task that is lost with its machine is begun again on another one, as often as Spark's
    settings allow; one that raises is not.

    Parameters
    ----------
    engine
        The Spark that runs them. At a time it runs as many as it has cores.
    seconds
        Time for all jobs together; None for as long as it takes.
    seconds_each
        Time for one job.

    Examples
    --------
    >>> SparkJobs(engine=Spark(), seconds=0)
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: seconds is 0. To fix: use more than 0, or None.
    """

    engine: Spark
    seconds: float | None = None
    seconds_each: float | None = None

    def __post_init__(self) -> None:
        for name in ("seconds", "seconds_each"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ParameterError(f"{name} is {value}", fix="use more than 0, or None")

    def run(
        self, function: Callable[[Any, Any], Any], shared: object, jobs: Sequence[Any]
    ) -> Iterator[Outcome]:
        """Yield what becomes of each job, as they end; ``function(shared, job)`` is called."""
        if not jobs:
            return
        end = None if self.seconds is None else time.monotonic() + self.seconds
        context = self.engine.start().sparkContext
        with spoken_errors():
            context.parallelize([0], 1).count()  # the cluster is there, and says how large it is
            sent = context.broadcast(shared)
        tasks = _Tasks(context, partial(answered, function, sent), jobs, self.seconds_each, end)
        try:
            yield from tasks.outcomes()
        finally:
            tasks.stop()
            sent.destroy()


def answered(
    function: Callable[[Any, Any], Any],
    shared: Broadcast[Any],
    job: object,
) -> tuple[str, Any]:
    """Call a function on a worker; whatever it raises comes back in words.

    Spark would run a task that raises again.
    """
    try:
        return DONE, function(shared.value, job)
    except MemoryError:
        return LARGE, "the memory of that machine is not enough"
    except Exception as error:  # noqa: BLE001  (one failed job must not lose the others)
        return FAILED, f"{type(error).__name__}: {error}"


@dataclass(eq=False)
class _Tasks:
    """The jobs of one call: a thread for each that runs, since Spark's calls wait."""

    context: SparkContext
    function: Callable[[Any], tuple[str, Any]]
    jobs: Sequence[Any]
    seconds_each: float | None
    end: float | None
    group: str = field(default_factory=lambda: f"setveil-{uuid.uuid4()}")
    started: dict[int, float] = field(default_factory=dict)
    stopped: dict[int, Outcome] = field(default_factory=dict)
    ended: queue.SimpleQueue[Outcome] = field(default_factory=queue.SimpleQueue)

    def outcomes(self) -> Iterator[Outcome]:
        waiting = list(range(len(self.jobs)))[::-1]
        left = len(self.jobs)
        while left:
            if self.end is not None and time.monotonic() >= self.end:
                for job in waiting[::-1]:
                    left -= 1
                    yield Outcome(job=job, state=LATE, reason="not started: the time was used up")
                waiting.clear()
            while waiting and len(self.started) < self.context.defaultParallelism:
                self._start(waiting.pop())
            self._over_time()
            try:
                outcome = self.ended.get(timeout=TICK)
            except queue.Empty:
                continue
            del self.started[outcome.job]
            left -= 1
            yield outcome if outcome.state == DONE else self.stopped.get(outcome.job, outcome)

    def stop(self) -> None:
        """End what still runs."""
        for job in self.started:
            self.context.cancelJobGroup(self._group_of(job))

    def _start(self, job: int) -> None:
        self.started[job] = time.monotonic()
        threading.Thread(target=self._run, args=(job,), daemon=True).start()

    def _group_of(self, job: int) -> str:
        return f"{self.group}-{job}"

    def _run(self, job: int) -> None:
        try:
            self.context.setJobGroup(self._group_of(job), "a job", interruptOnCancel=True)
            with spoken_errors():
                task = self.context.parallelize([self.jobs[job]], 1).map(self.function)
                state, value = task.collect()[0]
            done = state == DONE
            outcome = Outcome(
                job=job, state=state, value=value if done else None, reason="" if done else value
            )
        except Exception as error:  # noqa: BLE001  (a thread must answer)
            said = "" if isinstance(error, EngineError) else f"{type(error).__name__}: "
            outcome = Outcome(job=job, state=FAILED, reason=f"{said}{error}")
        self.ended.put(outcome)

    def _over_time(self) -> None:
        now = time.monotonic()
        for job, since in self.started.items():
            if self.end is not None and now >= self.end:
                said = Outcome(job=job, state=LATE, reason="stopped: the time was used up")
            elif self.seconds_each is not None and now - since >= self.seconds_each:
                said = Outcome(job=job, state=SLOW, reason="stopped: it took too long")
            else:
                continue
            self.stopped.setdefault(job, said)
            # Again at every look: a thread may not have handed its job to Spark yet.
            self.context.cancelJobGroup(self._group_of(job))
