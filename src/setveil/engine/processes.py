"""Jobs in worker processes, within a time and a memory budget: one that dies loses itself only.

Nothing here waits for a worker: what all jobs share goes through a file, a job fits into a pipe,
and answers are read as they come. So the time holds, whatever the workers are at.
"""

from __future__ import annotations

import os
import pickle
import re
import selectors
import subprocess
import sys
import tempfile
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from setveil.core.errors import ParameterError
from setveil.core.words import format_size, spell_size
from setveil.engine.worker import JOB, LENGTH, resident

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

HOME = Path(__file__).resolve().parents[2]
"""The folder that setveil is imported from."""
SAFE_PATH = "PYTHONSAFEPATH"
"""The variable that says ``-P`` to a Python that somebody else starts, as Spark does."""
HARMLESS = ("PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONIOENCODING", "PYTHONUTF8")
"""Variables of Python that change nothing about what is imported or run."""
TICK = 0.2
"""Seconds between looks at the clock."""
MEMORY_TICK = 0.02
"""Seconds between looks at the memory, where it is limited."""
ROOM = 150_000_000
"""Bytes that a worker must be able to take for a job: compiled kernels alone need most of it."""
DONE, FAILED, LATE, SLOW, LARGE = "done", "failed", "late", "slow", "large"
NOT_STARTED = "not started: the time was used up"
LARGEST_JOB = 32_000
"""Bytes of a job: more may not fit into a pipe that nobody reads."""
TAIL = 300
"""How many characters of a dead worker's last words are told."""
NO_MEMORY = re.compile(r"alloc|out of memory", re.IGNORECASE)
"""What libraries write that end the process when they get no memory."""


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
        Time for all jobs together, from the call on; None for as long as it takes.
    seconds_each
        Time for one job; the start of its process does not count.
    memory
        Bytes for all processes together, this one included. Each worker has a share of it, and
        there are only as many as have enough. On Linux the system refuses a worker more than its
        share; everywhere the memory that all hold is watched, and the largest job is stopped if
        it is too much. A job that was stopped is tried once more after all others, alone.
    modules
        Names and files of modules that the workers load first.

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
    modules: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise ParameterError(f"workers is {self.workers}", fix="use 1 or more")
        for name in ("seconds", "seconds_each", "memory"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ParameterError(f"{name} is {value}", fix="use more than 0, or None")

    def run(
        self,
        function: Callable[[Any, Any], Any],
        shared: object,
        jobs: Sequence[Any] | Callable[[], Any],
    ) -> Iterator[Outcome]:
        """Yield what becomes of each job, as they end; ``function(shared, job)`` is called.

        Instead of a list there may be a function that returns the next job, whenever a worker is
        free, or None where there is none before some of those under way have ended. Jobs are
        numbered as they are given out.

        Raises
        ------
        ParameterError
            If the memory is less than this process and one worker need before any job; the
            message says how much that is on this machine.
        """
        end = None if self.seconds is None else time.monotonic() + self.seconds
        listed = iter(()) if callable(jobs) else iter(jobs)
        following = jobs if callable(jobs) else lambda: next(listed, None)
        with tempfile.TemporaryFile() as work:
            pickle.dump(self.modules, work)
            pickle.dump((function, shared), work)
            work.flush()
            pool = _Pool(self, work, following, end)
            yield from pool.outcomes()
            for place, _ in enumerate(listed, start=len(pool.given)):  # that nobody began
                yield Outcome(job=place, state=LATE, reason=NOT_STARTED)


@dataclass(eq=False)
class _Worker:
    """A process and the job it is at; it is at none, too, as long as it has not loaded all."""

    process: subprocess.Popen[bytes]
    words: IO[bytes]
    job: int
    since: float | None = None
    share: int = 0
    heard: bytearray = field(default_factory=bytearray)

    @classmethod
    def started(cls, work: IO[bytes], job: int, *, counted: bool) -> _Worker:
        words = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the worker)
        command = (str(os.getpid()), str(work.fileno()), str(int(counted)))
        process = subprocess.Popen(  # noqa: S603  (our own module)
            python_command("setveil.engine.worker", *command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=words,
            pass_fds=[work.fileno()],
            env=python_environment(),
        )
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        return cls(process=process, words=words, job=job)

    def begin(self, content: bytes, share: int) -> None:
        """Let it begin with its job: a few bytes, for which a pipe has room."""
        assert self.process.stdin is not None
        self.share, self.since = share, time.monotonic()
        with suppress(BrokenPipeError):  # it died: noticed where its answer is read
            self.process.stdin.write(JOB.pack(len(content), share) + content)
            self.process.stdin.flush()

    def answer(self) -> tuple[str, Any] | None:
        """Return its answer, or None as long as a part of it is missing; a dead one has none."""
        assert self.process.stdout is not None
        content: bytes | None = self.process.stdout.read()  # None: nothing is there yet
        if content is None:
            return None
        if not content:
            return "dead", self._last_words()
        self.heard += content
        if len(self.heard) < LENGTH.size:
            return None
        end = LENGTH.size + LENGTH.unpack_from(self.heard)[0]
        if len(self.heard) < end:
            return None
        answer: tuple[str, Any] = pickle.loads(self.heard[LENGTH.size : end])  # our own worker
        del self.heard[:end]
        return answer

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
    work: IO[bytes]
    following: Callable[[], Any]
    end: float | None
    given: list[bytes] = field(default_factory=list)
    """All jobs that were given out."""
    alone: deque[int] = field(default_factory=deque)
    busy: list[_Worker] = field(default_factory=list)
    free: list[_Worker] = field(default_factory=list)
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    most: int = field(init=False)
    """How many workers there may be; one, until that one has told how much memory it takes."""
    measured: bool = False

    def __post_init__(self) -> None:
        self.most = self.limits.workers if self.limits.memory is None else 1

    def outcomes(self) -> Iterator[Outcome]:
        try:
            while True:
                self._give()
                if not self.busy:
                    break
                for key, _ in self.selector.select(self._patience()):
                    yield from self._hear(key.data)
                yield from self._over_time()
                yield from self._over_memory()
            for job in self.alone:
                yield Outcome(job=job, state=LATE, reason=NOT_STARTED)
        finally:
            for worker in (*self.busy, *self.free):
                self._end(worker)
            self.selector.close()

    def _patience(self) -> float:
        tick = TICK if self.limits.memory is None else MEMORY_TICK
        return tick if self.end is None else max(min(tick, self.end - time.monotonic()), 0.0)

    def _give(self) -> None:
        """Give a job to each free worker; what needs all the memory waits for the others."""
        if self.end is not None and time.monotonic() >= self.end:
            return
        while len(self.busy) < self.most and (job := self._next()) is not None:
            self._start(job)
        if self.alone and not self.busy:
            for worker in list(self.free):
                self._end(worker)  # what the others kept in memory is given back first
            self.most = 1
            self._start(self.alone.popleft())

    def _next(self) -> int | None:
        """Return the number of the next job; None where there is none now."""
        job = self.following()
        if job is None:
            return None
        content = pickle.dumps(job)
        if len(content) > LARGEST_JOB:
            raise ParameterError(
                f"a job has {len(content):,} bytes", fix="put what is large into what jobs share"
            )
        self.given.append(content)
        return len(self.given) - 1

    def _start(self, job: int) -> None:
        if self.free:
            worker = self.free.pop()
            worker.job = job
            worker.begin(self.given[job], self._share())
        else:
            worker = _Worker.started(self.work, job, counted=self.limits.memory is not None)
            self.selector.register(worker.process.stdout, selectors.EVENT_READ, worker)  # type: ignore[arg-type]
        self.busy.append(worker)

    def _share(self) -> int:
        """Return the bytes that one worker may hold; 0 where memory is not limited."""
        if self.limits.memory is None:
            return 0
        return max(self.limits.memory - resident(os.getpid()), 1) // self.most

    def _end(self, worker: _Worker) -> None:
        self.selector.unregister(worker.process.stdout)  # type: ignore[arg-type]
        (self.busy if worker in self.busy else self.free).remove(worker)
        worker.end()

    def _hear(self, worker: _Worker) -> Iterator[Outcome]:
        answer = worker.answer()
        if answer is None:
            return
        state, value = answer
        if state == "ready":
            self._measure(value)
            worker.begin(self.given[worker.job], self._share())
        elif state == "done":
            self._release(worker)
            yield Outcome(job=worker.job, state=DONE, value=value)
        elif state == "memory" or (
            state == "dead" and worker.share and NO_MEMORY.search(value) is not None
        ):
            yield from self._too_large(worker, value)
        else:
            self._end(worker) if state == "dead" else self._release(worker)
            yield Outcome(job=worker.job, state=FAILED, reason=value)

    def _release(self, worker: _Worker) -> None:
        self.busy.remove(worker)
        self.free.append(worker)

    def _measure(self, size: int) -> None:
        """Refuse a memory that is too small for one worker; else say how many have room."""
        memory = self.limits.memory
        if memory is None or self.measured:
            return
        here = resident(os.getpid())
        least = here + size + ROOM
        if memory < least:
            raise ParameterError(
                f"{format_size(memory)} of memory is too little: on this machine this process "
                f"holds {format_size(here)} and a worker {format_size(size)} before it does "
                f"anything, and it needs some {format_size(ROOM)} more for its work",
                fix=f"allow at least {spell_size(least)}",
            )
        self.most = min(self.limits.workers, (memory - here) // (size + ROOM))
        self.measured = True

    def _over_time(self) -> Iterator[Outcome]:
        now = time.monotonic()
        over = self.end is not None and now >= self.end
        each = self.limits.seconds_each
        for worker in list(self.busy):
            if over:
                yield self._stop(worker, LATE, "stopped: the time was used up")
            elif each is not None and worker.since is not None and now - worker.since >= each:
                yield self._stop(worker, SLOW, "stopped: it took too long")

    def _over_memory(self) -> Iterator[Outcome]:
        if self.limits.memory is None or not self.measured or not self.busy:
            return
        sizes = {worker: resident(worker.process.pid) for worker in (*self.busy, *self.free)}
        if resident(os.getpid()) + sum(sizes.values()) > self.limits.memory:
            largest = max(self.busy, key=sizes.__getitem__)
            yield from self._too_large(largest, "stopped by the memory budget")

    def _too_large(self, worker: _Worker, reason: str) -> Iterator[Outcome]:
        """Stop a job that needs more memory than it has; unless it had all, it may try again."""
        shared = self.most > 1 or bool(self.free)
        outcome = self._stop(worker, LARGE, reason)
        if shared and self.limits.memory is not None:
            self.alone.append(worker.job)
        else:
            yield outcome

    def _stop(self, worker: _Worker, state: str, reason: str) -> Outcome:
        self._end(worker)
        return Outcome(job=worker.job, state=state, reason=reason)


# --- starting Python again: with setveil's own modules, and nobody else's -------------------------


def python_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs one of our modules in another process.

    ``-P``: the folder that the user happens to stand in is no place to import from.

    >>> python_command("setveil.engine.worker", "7")[1:]
    ['-P', '-m', 'setveil.engine.worker', '7']
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def python_environment(**more: str) -> dict[str, str]:
    """Return the environment of such a process, and some variables more.

    Variables by which Python would import other modules, or run other code, are left out; modules
    are found where this process finds them, but not in the current folder.

    >>> before = dict(os.environ)
    >>> os.environ |= {"PYTHONSTARTUP": "evil.py", "PYTHONPATH": "evil"}
    >>> made = python_environment(PYTHONIOENCODING="utf-8")
    >>> "PYTHONSTARTUP" in made, "evil" in made["PYTHONPATH"].split(os.pathsep)
    (False, False)
    >>> os.environ.clear(); os.environ.update(before)
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTHON") or name in HARMLESS
    }
    return kept | {"PYTHONPATH": os.pathsep.join(import_places())} | more


def import_places() -> list[str]:
    """Return the folders that modules are imported from, without the current one.

    >>> os.getcwd() in import_places() and str(HOME) != os.getcwd()
    False
    """
    here = Path.cwd().resolve()
    return [
        place
        for place in sys.path
        if Path(place).is_absolute() and (Path(place).resolve() != here or here == HOME)
    ]
