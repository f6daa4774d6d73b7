"""A worker process of :mod:`setveil.engine.processes`: it is given jobs, one by one."""

from __future__ import annotations

import importlib
import mmap
import os
import pickle
import signal
import struct
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

WATCH = 0.5
"""Seconds between looks whether whoever started this process is still there."""
JOB = struct.Struct("<qq")
"""What a worker is told: the length of a job, and the bytes it may hold meanwhile (0: any)."""
LENGTH = struct.Struct("<q")
"""Stands before each answer."""
HEAVY = ("polars", "scipy.sparse")
"""Loaded before the first job if memory is counted: what they take is no job's own."""
NOT_ENOUGH = "the memory was not enough"


def serve(
    function: Callable[[Any, Any], Any],
    shared: object,
    source: IO[bytes],
    sink: IO[bytes],
) -> None:
    """Answer jobs until there are no more; the first answer says that all is loaded.

    >>> import io
    >>> jobs = [pickle.dumps(2), pickle.dumps(0)]
    >>> source = io.BytesIO(b"".join(JOB.pack(len(job), 0) + job for job in jobs))
    >>> sink = io.BytesIO()
    >>> serve(divmod, 7, source, sink)
    >>> answers = sink.getvalue()
    >>> while answers:
    ...     end = LENGTH.size + LENGTH.unpack_from(answers)[0]
    ...     state, value = pickle.loads(answers[LENGTH.size : end])
    ...     print(state, value if state != "ready" else value > 0)
    ...     answers = answers[end:]
    ready True
    done (3, 1)
    error ZeroDivisionError: ...
    """
    _answer(sink, "ready", resident(os.getpid()))
    while len(told := source.read(JOB.size)) == JOB.size:
        length, memory = JOB.unpack(told)
        job = pickle.loads(source.read(length))  # from the process that started this
        try:
            limit_memory(memory)
            _answer(sink, "done", function(shared, job))
        except MemoryError:
            _answer(sink, "memory", NOT_ENOUGH)
        except Exception as error:  # noqa: BLE001  (one failed job must not lose the others)
            _answer(sink, "error", f"{type(error).__name__}: {error}")


def _answer(sink: IO[bytes], state: str, value: object) -> None:
    content = pickle.dumps((state, value))
    sink.write(LENGTH.pack(len(content)) + content)
    sink.flush()


def limit_memory(size: int) -> None:
    """Let the system refuse this process memory beyond a number of bytes; 0 for no limit.

    Only Linux counts what programs map as well as what they call data; elsewhere nothing is done,
    and who started this process has to watch it. What libraries have reserved but not used yet
    is left to them.
    """
    if sys.platform != "linux":
        return
    import resource  # not on every system

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = hard
    if size:
        page = os.sysconf("SC_PAGE_SIZE")
        sizes = [int(pages) * page for pages in Path("/proc/self/statm").read_text().split()]
        held, mapped = sizes[1], sizes[5]
        limit = mapped + max(size - held, 0)
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


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
    import subprocess  # only on systems without /proc, such as macOS

    try:
        said = subprocess.run(  # noqa: S603  (a number)
            ["/bin/ps", "-o", "rss=", "-p", str(process)],
            capture_output=True,
            text=True,
            check=False,
        )
        return int(said.stdout) * 1024
    except (OSError, ValueError):
        return 0


def load_modules(modules: Iterable[tuple[str, str]]) -> None:
    """Load the modules that registered methods in the process that started this one.

    They are loaded from the very files that were loaded there, wherever these lie.

    >>> load_modules([])
    """
    from importlib.util import module_from_spec, spec_from_file_location

    for name, file in modules:
        if name in sys.modules:
            continue
        spec = spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            continue
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])


def _end_with(parent: int) -> None:
    """End this process when its parent is gone, so that a killed audit leaves nobody at work."""
    while os.getppid() == parent:
        time.sleep(WATCH)
    os._exit(1)


def main() -> None:
    """Serve on the standard streams; what code prints by itself goes to stderr."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)  # they are for the parent, which then ends us
    parent, work, counted = map(int, sys.argv[1:])
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # Mapped, not read: the file has one position for all processes.
    with mmap.mmap(work, 0, access=mmap.ACCESS_READ) as content:
        load_modules(pickle.load(content))  # from who started us
        function, shared = pickle.load(content)
    if counted:
        for name in HEAVY:
            with suppress(ImportError):
                importlib.import_module(name)
    serve(function, shared, source, sink)


if __name__ == "__main__":
    main()
