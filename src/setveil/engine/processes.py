"""Jobs in worker processes, within a time and a memory budget: one that dies loses itself only."""

from __future__ import annotations

import os
import pickle
import selectors
import subprocess
import tempfile
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from setveil.engine.child_process import python_command, python_environment
from setveil.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

TICK = 0.2
"""Seconds between looks at clock and memory."""
DONE, FAILED, LATE, SLOW, LARGE = "done", "failed", "late", "slow", "large"
TAIL = 300
"""How many characters of a dead worker's last words are told."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a job.

    Parameters
    ----------
    job
        Its place in the list of jobs.
    state
        ``"done"``; ``"failed"``, with the reason; ``"late"``, beyond the time for all
        jobs; ``"slow"``, beyond that for one; ``"large"``, beyond the memory.
    value
        What the function returned; None unless done.
    reason
        What went wrong.
    """

    job: int
    state: str
    value: Any = None
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Processes:
    """Run a function over jobs in processes of their own, each started afresh.

    Functions and jobs must be such that :mod:`pickle` can send them; a function must not be
    defined in a script. The processes end with whoever started them.

    Parameters
    ----------
    workers
        Number of processes.
    seconds
        Time for all jobs together; None for as long as it takes.
    seconds_each
        Time for one job.
    memory
        Bytes for all processes together, this one included. Where it is exceeded, the largest job
        is stopped; it is tried once more alone, after all others, if it was not alone.

    Examples
    --------
    >>> outcomes = Processes(workers=1).run(divmod, 7, [2, 0])
    >>> [(one.job, one.state, one.value) for one in outcomes]
    [(0, 'done', (3, 1)), (1, 'failed', None)]
    """

    workers: int
    seconds: float | None = None
    seconds_each: float | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise ParameterError(f"workers is {self.workers}", fix="use 1 or more")
        for name in ("seconds", "seconds_each", "memory"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ParameterError(f"{name} is {value}", fix="use more than 0, or None")

    def run(
        self, function: Callable[[Any, Any], Any], shared: object, jobs: Sequence[Any]
    ) -> Iterator[Outcome]:
        """Yield what becomes of each job, as they end; ``function(shared, job)`` is called."""
        start = pickle.dumps((function, shared))
        yield from _Pool(self, start, jobs).outcomes()


@dataclass(eq=False)
class _Worker:
    """A process and the job it is at."""

    process: subprocess.Popen[bytes]
    words: IO[bytes]
    job: int | None = None
    since: float = 0.0

    @classmethod
    def started(cls, start: bytes) -> _Worker:
        words = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the worker)
        process = subprocess.Popen(  # noqa: S603  (our own module)
            python_command("setveil.engine.worker", str(os.getpid())),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=words,
            env=python_environment(),
        )
        worker = cls(process=process, words=words)
        worker.send(start)
        return worker

    def send(self, content: bytes) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(content)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it died: noticed where its answer is read

    def answer(self) -> tuple[str, Any]:
        """Return its answer; a dead one has none."""
        assert self.process.stdout is not None
        try:
            said: tuple[str, Any] = pickle.load(self.process.stdout)  # noqa: S301  (our own worker)
        except (EOFError, pickle.UnpicklingError):
            return "dead", self._last_words()
        return said

    def _last_words(self) -> str:
        code = self.process.wait()
        self.words.seek(0)
        text = self.words.read().decode(errors="replace").strip()[-TAIL:]
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        return f"the process {how}{f': {text}' if text else ''}"

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.words):
            if stream is not None:
                with suppress(BrokenPipeError):  # what was not sent is not needed
                    stream.close()


@dataclass(eq=False)
class _Pool:
    """The jobs of one call, and the processes at work on them."""

    limits: Processes
    start: bytes
    jobs: Sequence[Any]
    waiting: deque[int] = field(init=False)
    alone: deque[int] = field(default_factory=deque)
    workers: list[_Worker] = field(default_factory=list)
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    end: float | None = None

    def __post_init__(self) -> None:
        self.waiting = deque(range(len(self.jobs)))
        if self.limits.seconds is not None:
            self.end = time.monotonic() + self.limits.seconds

    def outcomes(self) -> Iterator[Outcome]:
        try:
            while self.waiting or self.alone or self._busy():
                self._give()
                for key, _ in self.selector.select(TICK):
                    yield self._answered(key.data)
                yield from self._over_time()
                yield from self._over_memory()
        finally:
            for worker in list(self.workers):
                self._end(worker)
            self.selector.close()

    def _busy(self) -> list[_Worker]:
        return [worker for worker in self.workers if worker.job is not None]

    def _give(self) -> None:
        """Give a job to each free worker; what needs all the memory waits for the others."""
        if self.end is not None and time.monotonic() >= self.end:
            return
        while self.waiting and len(self._busy()) < self.limits.workers:
            self._start(self.waiting.popleft())
        if self.alone and not self.waiting and not self._busy():
            for worker in list(self.workers):
                self._end(worker)  # what the others kept in memory is given back first
            self._start(self.alone.popleft())

    def _start(self, job: int) -> None:
        free = [worker for worker in self.workers if worker.job is None]
        if free:
            worker = free[0]
        else:
            worker = _Worker.started(self.start)
            self.workers.append(worker)
            self.selector.register(worker.process.stdout, selectors.EVENT_READ, worker)  # type: ignore[arg-type]
        worker.job, worker.since = job, time.monotonic()
        worker.send(pickle.dumps(self.jobs[job]))

    def _end(self, worker: _Worker) -> None:
        self.selector.unregister(worker.process.stdout)  # type: ignore[arg-type]
        self.workers.remove(worker)
        worker.end()

    def _answered(self, worker: _Worker) -> Outcome:
        state, value = worker.answer()
        job, worker.job = worker.job, None
        assert job is not None, "a free worker says nothing"
        if state == "done":
            return Outcome(job=job, state=DONE, value=value)
        if state == "dead":
            self._end(worker)
        return Outcome(job=job, state=LARGE if state == "memory" else FAILED, reason=value)

    def _over_time(self) -> Iterator[Outcome]:
        now = time.monotonic()
        over = self.end is not None and now >= self.end
        for worker in self._busy():
            each = self.limits.seconds_each
            if over:
                yield self._stopped(worker, LATE, "stopped: the time was used up")
            elif each is not None and now - worker.since >= each:
                yield self._stopped(worker, SLOW, "stopped: it took too long")
        if over:
            for job in (*self.waiting, *self.alone):
                yield Outcome(job=job, state=LATE, reason="not started: the time was used up")
            self.waiting.clear()
            self.alone.clear()

    def _over_memory(self) -> Iterator[Outcome]:
        if self.limits.memory is None:
            return
        sizes = {worker: resident(worker.process.pid) for worker in self.workers}
        busy = self._busy()
        if not busy or resident(os.getpid()) + sum(sizes.values()) <= self.limits.memory:
            return
        largest = max(busy, key=sizes.__getitem__)
        if len(self.workers) > 1:
            assert largest.job is not None
            self.alone.append(largest.job)
            self._end(largest)
        else:
            yield self._stopped(largest, LARGE, "stopped by the memory budget")

    def _stopped(self, worker: _Worker, state: str, reason: str) -> Outcome:
        assert worker.job is not None
        outcome = Outcome(job=worker.job, state=state, reason=reason)
        self._end(worker)
        return outcome


def resident(process: int) -> int:
    """Return the bytes of memory that a process holds; 0 where nobody can tell.

    >>> resident(os.getpid()) > 1_000_000
    True
    """
    try:
        pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        pass
    try:  # systems without /proc, such as macOS
        said = subprocess.run(  # noqa: S603  (a number)
            ["/bin/ps", "-o", "rss=", "-p", str(process)],
            capture_output=True,
            text=True,
            check=False,
        )
        return int(said.stdout) * 1024
    except (OSError, ValueError):
        return 0
