"""The engine of a cluster: Apache Spark runs the pieces of work, here or on other machines."""

from __future__ import annotations

import logging
import os
import queue
import re
import shutil
import signal
import socket
import sys
import threading
import time
import uuid
import warnings
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from setveil.core.errors import EngineError, InputError, ParameterError, SetveilError
from setveil.engine.processes import DONE, FAILED, LARGE, LATE, SAFE_PATH, SLOW, TICK, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark import Broadcast, SparkContext
    from pyspark.sql import SparkSession

    from setveil.engine.local import Chunk, GroupKey, Record, Result

T = TypeVar("T")

MASTER = re.compile(r"local(\[(\*|[1-9][0-9]*)(,[1-9][0-9]*)?\])?|(spark|k8s|yarn)(:.+)?")
WAVE = 16
"""How many pieces per core are sent at a time: more would only fill the driver's memory."""
PATIENCE = 10.0
"""Seconds that a master may take to answer."""
PARTS = ("spark.sql.files.maxPartitionBytes", "spark.sql.adaptive.advisoryPartitionSizeInBytes")
PART_BYTES = 1 << 24
"""What a task reads, and keeps in memory: Spark's 128 MB of a file are a GB of records."""
ENDED = re.compile(r"OutOfMemoryError|SparkContext was shut down")
ABSENT = re.compile(r"\[PATH_NOT_FOUND\] Path does not exist: (.*?)\.(?: SQLSTATE|$)", re.MULTILINE)
NOTHING = re.compile(r"\[UNABLE_TO_INFER_SCHEMA\]")
UNREACHED = re.compile(
    r"UnknownHostException: \S+|No FileSystem for scheme \S+|Class org\.apache\.hadoop\S+ not found"
)
UNREADABLE = re.compile(r"\[FAILED_READ_FILE[\w.]*\][^\n]*?((?:\w+:)?/\S[^\n]*?)\. ")
RAISED = re.compile(
    r"^(?:\[USER_RAISED_EXCEPTION\] )?"
    r"([A-Za-z_][\w.]*(?:Error|Exception|Applicable|Interrupt)): ?(.*?)"
    r"(?: SQLSTATE: \w+)?$",
    re.MULTILINE,
)


@dataclass(frozen=True, kw_only=True)
class Spark:
    """Run pieces of work on Apache Spark; the same result as on every other engine.

    The pieces come from this process and are sent to Spark's workers, where the same compiled
    kernels run. Data that this process cannot hold goes through :mod:`setveil.spark` instead.

    Needs ``pip install 'setveil[spark]'`` and Java 17 or newer. Workers run this Python unless
    ``PYSPARK_PYTHON`` names another; setveil must be installed there.

    Parameters
    ----------
    master
        Where Spark runs: ``local[2]`` (two cores of this machine), ``local[*]`` (all), or a
        cluster such as ``spark://host:7077``. One process has one Spark: a second engine uses
        the session that is there.
    session
        A session that already runs, used instead.

    Examples
    --------
    >>> Spark(master="local[two]")
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: 'local[two]' is no place where Spark runs. To fix: use \
local[2], local[*] or spark://host:port.
    """

    master: str = "local[*]"
    session: SparkSession | None = None

    def __post_init__(self) -> None:
        if not MASTER.fullmatch(self.master):
            raise ParameterError(
                f"{self.master!r} is no place where Spark runs",
                fix="use local[2], local[*] or spark://host:port",
            )

    def start(self) -> SparkSession:
        """Return the session, started on the first call; later calls get the same."""
        return self.session if self.session is not None else _started(self.master)

    def map_reduce(
        self,
        chunks: Iterable[Chunk],
        function: Callable[[Chunk], Result],
        merge: Callable[[Result, Result], Result],
    ) -> Result:
        """Apply `function` to each chunk and merge the results, both on Spark's workers."""
        context = self.start().sparkContext
        wave = WAVE * context.defaultParallelism
        waiting = iter(chunks)
        merged: Result | None = None
        started = False
        while pieces := list(islice(waiting, wave)):
            with spoken_errors():
                parts = min(len(pieces), 4 * context.defaultParallelism)
                done = context.parallelize(pieces, parts).map(partial(carried, function))
                # Each part is merged where it was made; its result alone comes here.
                ok, found = done.reduce(partial(carried_merge, merge))
            if not ok:
                raise found
            merged = merge(merged, found) if started else found  # type: ignore[arg-type]
            started = True
        if not started:
            raise ParameterError("there is nothing to map over", fix="give a chunk")
        return merged  # type: ignore[return-value]

    def group_map(
        self,
        records: Iterable[Record],
        key: Callable[[Record], GroupKey],
        function: Callable[[GroupKey, list[Record]], Result],
    ) -> Iterator[Result]:
        """Yield ``function(key, records)`` per group, in any order; Spark does the routing."""
        from pyspark import StorageLevel

        context = self.start().sparkContext
        held = list(records)
        if not held:
            return
        with spoken_errors():
            parts = min(len(held), 4 * context.defaultParallelism)
            groups = context.parallelize(held, parts).keyBy(key).groupByKey(parts)
            # All groups are worked on side by side first; then they are fetched part by part.
            done = groups.map(partial(carried_group, function)).persist(StorageLevel.DISK_ONLY)
            done.count()
        try:
            for ok, found in done.toLocalIterator():
                if not ok:
                    raise found
                yield found
        finally:
            done.unpersist()


def carried(function: Callable[..., Any], *arguments: Any) -> tuple[bool, Any]:
    """Call a function on a worker; an error meant for the user comes back as a value.

    Spark would repeat a task that raises, and bury the message.

    >>> carried(int, "7"), carried(Spark, **{})[0]
    ((True, 7), True)
    """
    try:
        return True, function(*arguments)
    except SetveilError as error:
        return False, error


def carried_merge(
    merge: Callable[[Any, Any], Any], first: tuple[bool, Any], second: tuple[bool, Any]
) -> tuple[bool, Any]:
    """Merge two carried results; the first error wins."""
    if not first[0]:
        return first
    return carried(merge, first[1], second[1]) if second[0] else second


def carried_group(
    function: Callable[[Any, list[Any]], Any], group: tuple[Any, Iterable[Any]]
) -> tuple[bool, Any]:
    """Call a function with a group as Spark hands it out."""
    return carried(function, group[0], list(group[1]))


@contextmanager
def spoken_errors() -> Iterator[None]:
    """Turn Spark's errors, which are Java's, into one sentence."""
    from py4j.protocol import Py4JError, Py4JNetworkError
    from pyspark.errors import PySparkException

    try:
        yield
    except KeyboardInterrupt:
        _call_off()
        raise
    except (Py4JNetworkError, ConnectionError, EOFError) as error:
        raise EngineError(
            "Java, in which Spark runs, ended in the middle of the work",
            fix="look at what it said; on machines with little memory the system may have ended "
            "it. What it kept meanwhile stays in its directory for temporary files "
            "(spark.local.dir) and can be removed",
        ) from error
    except (Py4JError, PySparkException) as error:
        text = str(error)
        raised = RAISED.findall(text)
        name, said = raised[-1] if raised else ("", text.strip().partition("\n")[0])
        own = next((kind for kind in _family() if kind.__name__ == name.rpartition(".")[2]), None)
        if own is not None:
            what, _, fix = said.partition(". To fix: ")
            raise own(what, fix=fix.removesuffix(".")) from None
        if absent := ABSENT.search(text):
            place = absent[1].removeprefix("file:")
            raise InputError("there is no such file", where=place, fix="check the path") from None
        if NOTHING.search(text):
            raise InputError("Spark finds no Parquet here", fix="check the path") from None
        if unreached := UNREACHED.search(text):
            raise EngineError(
                f"Spark cannot reach this address: {unreached[0]}",
                fix="check it, and that Spark has what it needs for such addresses "
                "(spark.jars.packages)",
            ) from error
        if broken := UNREADABLE.search(text):
            raise InputError(
                "Spark cannot read this file: it is damaged, or of another format",
                where=broken[1],
                fix="check that it is Parquet (other formats are read with --engine local)",
            ) from None
        if ENDED.search(text):
            raise EngineError(
                "Spark ended in the middle of the work, most likely for want of memory",
                fix="raise spark.driver.memory (on this machine) or spark.executor.memory (on a "
                "cluster) in spark-defaults.conf",
            ) from error
        raise EngineError(
            f"Spark could not finish the work: {f'{name}: ' if name else ''}{said[:300]}",
            fix="look at Spark's log; where it speaks of memory, raise spark.driver.memory or "
            "spark.executor.memory",
        ) from error


def _call_off() -> None:
    """Stop all work of Spark's; what it then says about it is nobody's concern."""
    from pyspark import SparkContext

    # Java knows the active session by its thread, and after an interrupt it has another one.
    context = SparkContext._active_spark_context  # noqa: SLF001
    if context is not None:
        with suppress(Exception):  # whatever state it is in
            context.setLogLevel("OFF")
            context.cancelAllJobs()


def _told_by_us(record: logging.LogRecord) -> bool:
    """Let through what Python's side of Spark logs, but not interrupts and lost connections."""
    return "while sending command" not in str(record.msg)


@contextmanager
def unwarned() -> Iterator[None]:
    """Keep PySpark from warning of pandas 3: it insists on pandas, but Arrow is what is used."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
        yield


def _family() -> list[type[SetveilError]]:
    return [kind for kind in SetveilError.__subclasses__() if kind is not EngineError]


def missing_for_spark() -> str | None:
    """Return what this machine lacks to run Spark, in words; None if nothing."""
    for package in ("pyspark", "pyarrow", "pandas"):
        if find_spec(package) is None:
            return f"the package {package} is not installed"
    home = os.environ.get("JAVA_HOME")
    if not (home and Path(home, "bin", "java").exists()) and shutil.which("java") is None:
        return "there is no Java on this machine"
    return None


def _started(master: str) -> SparkSession:
    missing = missing_for_spark()
    if missing is not None:
        raise EngineError(
            f"Spark cannot run: {missing}",
            fix="pip install 'setveil[spark]', and install Java 17 (openjdk-17-jre-headless)",
        )
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    there = SparkSession.getActiveSession()
    if there is not None:
        return there
    if master.startswith("spark://") and not any(map(_answers, master[8:].split(","))):
        raise EngineError(
            f"no Spark master answers at {master}",
            fix="check the address and that the master runs; its port is 7077 if not chosen",
        )
    builder = SparkSession.builder.master(master).appName("setveil")
    for name, value in _settings(master).items():
        builder = builder.config(name, value)
    logging.getLogger().addFilter(_told_by_us)  # py4j logs there too, with tracebacks
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    with spoken_errors(), unwarned(), _own_interrupts():
        try:
            session = builder.getOrCreate()
        except PySparkRuntimeError as error:  # Java ended before Spark was there
            raise EngineError(
                f"Spark did not start: {str(error).partition(chr(10))[0]}",
                fix="install Java 17 or newer, or let JAVA_HOME name it; its words stand above",
            ) from None
    for name in PARTS:
        if session.sparkContext.getConf().get(name) is None:
            session.conf.set(name, PART_BYTES)
    if "PYSPARK_PYTHON" not in os.environ:
        session.sparkContext.pythonExec = sys.executable  # the one that has setveil
    return session


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Leave Ctrl-C to whoever handles it: Spark would take it over when it starts."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


def _answers(address: str) -> bool:
    """Tell whether somebody listens at ``host:port``; Spark itself would try for minutes.

    >>> _answers("127.0.0.1:1"), _answers("nobody")
    (False, False)
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        return False
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE):
            return True
    except (OSError, OverflowError):
        return False


def _settings(master: str) -> dict[str, str]:
    """Return what differs from Spark's own settings, and from those of its configuration files."""
    log = Path(__file__).with_name("log4j2.properties")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log}",
        # Batches are what kernels work on: larger than Spark's 10,000 rows, still a few MB.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.python.daemon.module": "setveil.engine.spark_daemon",
        f"spark.executorEnv.{SAFE_PATH}": "1",  # no module of the folder that workers stand in
        "spark.sql.caseSensitive": "true",
        # Java's own serializer holds on to a hundred batches while it reads one.
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    }
    if master.startswith("local"):
        # Nothing listens to the network. Small parts are put together, large ones cannot be cut.
        settings["spark.driver.bindAddress"] = settings["spark.driver.host"] = "127.0.0.1"
        settings["spark.sql.shuffle.partitions"] = str(max(32, 4 * (os.cpu_count() or 1)))
    return settings


# --- jobs within a time budget: one task each, wherever a core is free ----------------------------


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
