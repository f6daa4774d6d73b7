"""A worker process of :mod:`setveil.engine.processes`: it takes jobs on stdin, one at a time."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from typing import IO, Any

WATCH = 0.5
"""Seconds between looks whether whoever started this process is still there."""


def serve(source: IO[bytes], sink: IO[bytes]) -> None:
    """Answer jobs until there are no more: first comes the function with what all jobs share.

    >>> import io
    >>> wire = io.BytesIO(pickle.dumps((divmod, 7)) + pickle.dumps(2) + pickle.dumps(0))
    >>> said = io.BytesIO()
    >>> serve(wire, said)
    >>> for answer in range(2):
    ...     said.seek(0) if not answer else None
    ...     pickle.load(said)
    0
    ('done', (3, 1))
    ('error', 'ZeroDivisionError: ...')
    """
    function, shared = pickle.load(source)  # noqa: S301  (from the process that started us)
    while True:
        try:
            job = pickle.load(source)  # noqa: S301  (the same)
        except EOFError:
            return
        answer: tuple[str, Any]
        try:
            answer = ("done", function(shared, job))
        except MemoryError:
            answer = ("memory", "the memory of this machine is not enough")
        except Exception as error:  # noqa: BLE001  (one failed job must not lose the others)
            answer = ("error", f"{type(error).__name__}: {error}")
        pickle.dump(answer, sink)
        sink.flush()


def _end_with(parent: int) -> None:
    """End this process when its parent is gone, so that a killed audit leaves nobody at work."""
    while os.getppid() == parent:
        time.sleep(WATCH)
    os._exit(1)


def main() -> None:
    """Serve on the standard streams; what code prints by itself goes to stderr."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends us
    parent = int(sys.argv[1])
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(source, sink)


if __name__ == "__main__":
    main()
