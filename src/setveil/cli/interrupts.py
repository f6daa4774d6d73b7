"""Ctrl-C while commands run: heard at once, honoured where it does no harm.

Python raises KeyboardInterrupt in whatever Python code runs next. That may be code that cannot
stand it: numba calls some when a compiled kernel hands its arrays over, and then crashes; imports
of compiled modules turn it into another error; finalizers swallow it. So our handler looks at
where the program is, and in such places raises it only in the code that comes right after.

While a kernel runs no handler runs either. A thread of ours hears each Ctrl-C nevertheless (the
kernels release the interpreter's lock): it says when stopping takes a while, and a second Ctrl-C
ends the process there and then.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from setveil.cli.output import INTERRUPTED, say

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

FRAGILE = (
    "numba.core.serialize",  # called by machine code that goes on whatever we raise
    "llvmlite.binding",  # calls back from the compiler
    "weakref",  # callbacks, where Python ignores what we raise
    "_weakrefset",
)
IMPORTS = "importlib._bootstrap"

ONE_PRESS = 0.3
"""Signals this close together are one Ctrl-C: `timeout`, for one, sends two."""

PATIENCE = 1.0
"""Seconds until we say that stopping takes a while."""

STOP = b"\xff"  # to our thread, beside the numbers of signals


def safe_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame, from a given one outwards, that can stand an exception.

    >>> import inspect
    >>> here = inspect.currentframe()
    >>> safe_frame(here) is here
    True
    """
    if frame is not None and _module(frame).startswith(IMPORTS):
        frame = frame.f_back  # among the locks of modules
    safe = frame
    while frame is not None:
        name = frame.f_code.co_qualname
        if (
            _module(frame).startswith(FRAGILE)
            or name.endswith("__del__")
            or name.startswith("ExtensionFileLoader.")  # compiled modules replace what we raise
        ):
            safe = frame.f_back
        frame = frame.f_back
    return safe


def _raise_in(frame: FrameType) -> None:
    """Raise KeyboardInterrupt in a frame when it goes on; its tracing serves as the hook."""
    before = sys.gettrace()

    def stop(*_: object) -> NoReturn:
        sys.settrace(before)
        frame.f_trace, frame.f_trace_opcodes = None, False
        raise KeyboardInterrupt

    frame.f_trace, frame.f_trace_opcodes = stop, True
    sys.settrace(lambda *_: None)  # nothing in the frames that are called until then


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


@contextmanager
def interrupts_handled() -> Iterator[None]:
    """Handle Ctrl-C in the block as this module describes.

    Nothing is changed where somebody else handles or ignores it (``nohup``), outside the main
    thread, and on Windows. After an interrupt the handling stays, as threads may still be at
    work; after SystemExit too, when the result is out and an interrupt would only garble it.

    >>> before = signal.getsignal(signal.SIGINT)
    >>> with interrupts_handled():
    ...     pass
    >>> signal.getsignal(signal.SIGINT) is before
    True
    """
    if (
        os.name != "posix"
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    listener = Listener()
    listener.start()
    try:
        yield
    except SystemExit:
        listener.over = True
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # Python drops our handler
        raise
    finally:
        if not (listener.heard or listener.over):
            listener.stop()


class Listener:
    """The handler of SIGINT in the main thread, and a thread that hears each signal at once."""

    def __init__(self) -> None:
        self.heard = False
        self.over = False
        self._raised = False
        self._thread = threading.Thread(target=self._listen, daemon=True, name="interrupts")

    def start(self) -> None:
        """Take over SIGINT."""
        self._out, self._into = os.pipe()
        os.set_blocking(self._into, False)
        self._thread.start()
        self._before = signal.set_wakeup_fd(self._into, warn_on_full_buffer=False)
        signal.signal(signal.SIGINT, self._handle)

    def stop(self) -> None:
        """Give SIGINT back."""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.set_wakeup_fd(self._before)
        os.write(self._into, STOP)
        self._thread.join()
        os.close(self._out)
        os.close(self._into)

    def _handle(self, _: int, frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt, once, and not at a bad moment; cleaning up is left alone."""
        self.heard = True
        if self._raised or self.over:
            return
        self._raised = True
        safe = safe_frame(frame)
        if safe is None or safe is frame:
            raise KeyboardInterrupt
        _raise_in(safe)

    def _listen(self) -> None:
        first: float | None = None
        told = False
        while True:
            waiting = first is not None and not told
            if not select.select([self._out], [], [], PATIENCE if waiting else None)[0]:
                told = True
                say("setveil: stopping after this step; Ctrl-C again ends at once")
                continue
            what = os.read(self._out, 1)
            if what == STOP:
                return
            if what[0] == signal.SIGINT:
                now = time.monotonic()
                if first is not None and now - first > ONE_PRESS:
                    _end_now()
                first = first or now


def _end_now() -> NoReturn:
    """End the process without another word from whatever else it does."""
    cursor = b"\x1b[?25h" if os.isatty(2) else b""  # a progress bar hides it
    os.write(2, cursor + b"setveil: interrupted\n")
    os._exit(INTERRUPTED)
