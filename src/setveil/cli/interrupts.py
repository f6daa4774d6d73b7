"""Signals while commands run, and the end of their time: heard at once, honoured without harm.

Python raises KeyboardInterrupt in whatever Python code runs next. That may be code that cannot
stand it: numba calls some when a compiled kernel hands its arrays over, and then crashes; imports
of compiled modules turn it into another error; finalizers swallow it. So our handler looks at
where the program is, and in such places raises it only in the code that comes right after.

While a kernel runs no handler runs either. A thread of ours hears each signal nevertheless (the
kernels release the interpreter's lock). After Ctrl-C it says when stopping takes a while, and a
second Ctrl-C ends the process there and then. SIGTERM and SIGHUP are not sent twice, and a budget
of time is a promise: what is not over soon after these is ended.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NoReturn

from setveil.cli.output import INTERRUPTED, UNDECIDED, Stopped, say

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

GRACE = 3.0
"""Seconds that cleaning up may take after a signal that is sent once."""
GRACE_SHARE = 0.05
"""The same after the end of a budget, as a share of it."""

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


def _raise_in(frame: FrameType, error: BaseException) -> None:
    """Raise an error in a frame when it goes on; its tracing serves as the hook."""
    before = sys.gettrace()

    def stop(*_: object) -> NoReturn:
        sys.settrace(before)
        frame.f_trace, frame.f_trace_opcodes = None, False
        raise error

    frame.f_trace, frame.f_trace_opcodes = stop, True
    sys.settrace(lambda *_: None)  # nothing in the frames that are called until then


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


@contextmanager
def handle_interrupts(began: float | None = None) -> Iterator[None]:
    """Handle Ctrl-C, SIGTERM and SIGHUP in the block as this module describes.

    Nothing is changed where somebody else handles or ignores a signal (``nohup``), outside the
    main thread, and on Windows. After a signal the handling stays, as threads may still be at
    work; after SystemExit too, when the result is out and a signal would only garble it.

    Parameters
    ----------
    began
        When the command began, by :func:`time.monotonic`: its budget counts from there.

    Examples
    --------
    >>> before = signal.getsignal(signal.SIGTERM)
    >>> with handle_interrupts():
    ...     signal.getsignal(signal.SIGTERM) is before
    False
    >>> signal.getsignal(signal.SIGTERM) is before
    True
    """
    plain = os.name == "posix" and threading.current_thread() is threading.main_thread()
    ours = {
        number: signal.getsignal(number)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if plain and signal.getsignal(number) in {signal.SIG_DFL, signal.default_int_handler}
    }
    if not ours:
        yield
        return
    listener = Listener(ours, began=time.monotonic() if began is None else began)
    listener.start()
    token = _listener.set(listener)
    try:
        yield
    except SystemExit:
        listener.over = True
        for number in ours:  # Python drops our handlers
            atexit.register(signal.signal, number, signal.SIG_IGN)
        raise
    finally:
        _listener.reset(token)
        if not (listener.heard or listener.over):
            listener.stop()


def command_start() -> float:
    """Return when the command that runs began, by :func:`time.monotonic`.

    >>> command_start() <= time.monotonic()
    True
    """
    listener = _listener.get()
    return time.monotonic() if listener is None else listener.began


@contextmanager
def limit_time(seconds: float | None, why: str) -> Iterator[None]:
    """Stop the block, and the command with exit code 3, when this time since its start is over.

    It is the last resort where the block does not come to an end in time by itself. Nothing is
    done outside the command line.

    >>> with limit_time(10, "the time is used up"):
    ...     pass
    """
    listener = _listener.get()
    if listener is None or seconds is None:
        yield
        return
    listener.limit(seconds, why)
    try:
        yield
    finally:
        listener.lift_limit()


class Listener:
    """The handler of signals in the main thread, and a thread that hears each at once.

    Parameters
    ----------
    signals
        Those to take over, each with what handles it now.
    began
        When the command began.
    """

    def __init__(self, signals: dict[signal.Signals, Any], *, began: float) -> None:
        self.heard = False
        self.over = False
        self.began = began
        self._signals = signals
        self._ends: dict[int, tuple[str, int]] = {
            signal.SIGINT: ("interrupted", INTERRUPTED),
            signal.SIGTERM: ("ended by SIGTERM", 128 + signal.SIGTERM),
            signal.SIGHUP: ("ended by SIGHUP", 128 + signal.SIGHUP),
        }
        self._grace: dict[int, float] = {signal.SIGTERM: GRACE, signal.SIGHUP: GRACE}
        self._raised = False
        self._thread = threading.Thread(target=self._listen, daemon=True, name="interrupts")

    def start(self) -> None:
        """Take over the signals."""
        self._out, self._into = os.pipe()
        os.set_blocking(self._into, False)
        self._thread.start()
        self._before = signal.set_wakeup_fd(self._into, warn_on_full_buffer=False)
        for number in self._signals:
            signal.signal(number, self._handle)

    def stop(self) -> None:
        """Give the signals back."""
        for number, handler in self._signals.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._before)
        os.write(self._into, STOP)
        self._thread.join()
        os.close(self._out)
        os.close(self._into)

    def limit(self, seconds: float, why: str) -> None:
        """Stop the command when this many seconds since its start are over."""
        self._ends[signal.SIGALRM] = (why, UNDECIDED)
        self._grace[signal.SIGALRM] = GRACE_SHARE * seconds
        self._signals.setdefault(signal.SIGALRM, signal.getsignal(signal.SIGALRM))
        signal.signal(signal.SIGALRM, self._handle)
        left = seconds - (time.monotonic() - self.began)
        signal.setitimer(signal.ITIMER_REAL, max(left, 0.001))

    def lift_limit(self) -> None:
        """Let the command go on for as long as it takes."""
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Raise, once, and not at a bad moment; cleaning up is left alone."""
        self.heard = True
        if self._raised or self.over:
            return
        self._raised = True
        why, code = self._ends[number]
        error = Stopped(why, code=code)
        safe = safe_frame(frame)
        if safe is None or safe is frame:
            raise error
        _raise_in(safe, error)

    def _listen(self) -> None:
        first: float | None = None
        told = False
        hard: tuple[float, int] | None = None  # when to end the process, and by which signal
        while True:
            now = time.monotonic()
            waits = [] if first is None or told else [first + PATIENCE - now]
            waits += [] if hard is None else [hard[0] - now]
            wait = max(min(waits), 0.0) if waits else None
            if not select.select([self._out], [], [], wait)[0]:
                if hard is not None and time.monotonic() >= hard[0]:
                    _end_now(*self._ends[hard[1]])
                if first is not None and not told:
                    told = True
                    say("setveil: stopping after this step; Ctrl-C again ends at once")
                continue
            what = os.read(self._out, 1)
            if what == STOP:
                return
            now = time.monotonic()
            if what[0] == signal.SIGINT:
                if first is not None and now - first > ONE_PRESS:
                    _end_now(*self._ends[signal.SIGINT])
                first = first or now
            elif what[0] in self._grace and hard is None:
                hard = (now + self._grace[what[0]], what[0])


def _end_now(why: str, code: int) -> NoReturn:
    """End the process without another word from whatever else it does."""
    cursor = "\x1b[?25h" if os.isatty(2) else ""  # a progress bar hides it
    with suppress(OSError):
        os.write(2, f"{cursor}setveil: {why}\n".encode())
    os._exit(code)


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
