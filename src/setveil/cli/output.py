"""How every command speaks and how it ends: results on stdout, everything else on stderr.

Results go through :func:`emit` (``--json``) or :func:`print_table`; remarks through :func:`say`;
long work through :class:`Progress`. :func:`report_errors` turns what a user can cause (bad input, a
full disk, Ctrl-C, a reader that went away) into one line and an exit code;
:func:`handle_interrupts` hears signals at once and honours them without harm.

>>> emit({"records": 3})
{"schema": 2, "records": 3}
"""

from __future__ import annotations

import atexit
import io
import os
import select
import signal
import sys
import tempfile
import threading
import time
import traceback
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Self

import typer
from typer.exceptions import TyperException

from setveil import __version__
from setveil.core.errors import SetveilError
from setveil.core.words import json_text, plain_json, visible, visible_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import FrameType


SCHEMA = 2
"""Version of the JSON that commands print; docs/json.md describes it."""

VIOLATED, WRONG_USE, UNDECIDED, INTERNAL, INTERRUPTED, PIPE_CLOSED = 1, 2, 3, 70, 130, 141


class _Wanted:
    """Whether the command that runs was asked for JSON; its errors are JSON, too, then."""

    json = False


def _want_json(wanted: bool) -> bool:
    _Wanted.json = wanted
    return wanted


JsonOption = Annotated[
    bool,
    typer.Option(
        "--json", help="Print one JSON object, not text.", callback=_want_json, is_eager=True
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but the result.")]


# --- results ----------------------------------------------------------------------------------


def emit(result: Mapping[str, Any]) -> None:
    """Print a result as one line of JSON, after the version of its schema.

    Numbers of NumPy become plain ones; what is not a number becomes null, as JSON has no NaN.

    >>> emit({"ncp": float("nan"), "café": [1, None]})
    {"schema": 2, "ncp": null, "café": [1, null]}
    """
    sys.stdout.write(json_text(plain_json({"schema": SCHEMA, **result})) + "\n")


def echo(text: str = "") -> None:
    r"""Print a line of a result; whatever names hide in it stays one line, and is shown.

    >>> echo("missing: flu\x1b[2K\nkm holds")
    missing: flu\u001b[2K\nkm holds
    """
    sys.stdout.write(visible(text) + "\n")


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print columns on stdout; numbers stand to the right, None is shown as "n/a".

    >>> print_table(["method", "ggd"], [["clump", 1200], ["gather", 640.5]])
    method    ggd
    clump   1,200
    gather  640.5
    """
    body = [list(row) for row in rows]
    head = list(map(visible, header))
    cells = [[format_value(value) for value in row] for row in body]
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    right = [
        bool(body) and all(isinstance(row[i], int | float | None) for row in body)
        for i in range(len(header))
    ]
    for line in [head, *cells]:
        columns = zip(line, widths, right, strict=True)
        text = "  ".join(c.rjust(width) if r else c.ljust(width) for c, width, r in columns)
        sys.stdout.write(text.rstrip() + "\n")


def format_value(value: object) -> str:
    """Return a value as a person reads it.

    >>> [format_value(value) for value in (1234567, 0.0456789, None, True, "x")]
    ['1,234,567', '0.04568', 'n/a', 'yes', 'x']
    """
    if value is None:
        return "n/a"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return visible(str(value))


# --- remarks ----------------------------------------------------------------------------------


def say(text: str, *, quiet: bool = False) -> None:
    """Print a remark on stderr, one line of it, unless the user asked for silence.

    Where stderr takes nothing (a full disk, a reader that went away), the remark is lost and
    nothing else: the exit code still says how the command ended.
    """
    if quiet:
        return
    try:
        sys.stderr.write(visible(text) + "\n")
        sys.stderr.flush()
    except OSError:
        _discard("stderr")


def _discard(name: str) -> None:
    """Send what is still written to a standard stream nowhere, so that its last flush succeeds."""
    nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  (to the end)
    setattr(sys, name, nowhere)


class Progress:
    """Show on the terminal's stderr what runs, once it has run for a second.

    An instance is also the callback that anonymizers take: ``progress(stage, done, total)``.
    Nothing is drawn when stderr is no terminal, or with ``quiet``.

    >>> with Progress(quiet=True) as progress:
    ...     progress("grouping", 1, 2)
    """

    delay = 1.0

    def __init__(self, *, quiet: bool = False) -> None:
        self.visible = not quiet and sys.stderr.isatty()
        self._state: tuple[str, int, int] = ("working", 0, 0)
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Say what runs and how far it is; a total of 0 means that nobody knows."""
        with self._lock:
            self._state = (stage, done, total)
            if self._bar is not None:
                self._bar.update(self._task, description=stage, completed=done, total=total or None)

    def __enter__(self) -> Self:
        if self.visible:
            self._timer = threading.Timer(self.delay, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._timer = None
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress as Bar

        with self._lock:
            if self._timer is None:  # the work ended while rich was being imported
                return
            stage, done, total = self._state
            # Remarks on stderr scroll past above the bar; data on stdout is none of its business.
            self._bar = Bar(console=Console(stderr=True), transient=True, redirect_stdout=False)
            self._task = self._bar.add_task(stage, completed=done, total=total or None)
            self._bar.start()


@contextmanager
def announce_compiling(*, quiet: bool = False) -> Iterator[None]:
    """Say it once when kernels have to be compiled, so that a slow first run explains itself.

    Enter it after the imports: where numba is not loaded, nothing will be compiled.
    """
    if "numba" not in sys.modules:
        yield
        return
    from numba.core import event

    class Announcer(event.Listener):
        said = False

        def on_start(self, event: object) -> None:
            if not self.said:
                self.said = True
                say("compiling kernels for this machine, once …", quiet=quiet)

        def on_end(self, event: object) -> None:
            pass

    announcer = Announcer()
    event.register("numba:compile", announcer)
    try:
        yield
    finally:
        event.unregister("numba:compile", announcer)


# --- errors -----------------------------------------------------------------------------------


class Stopped(KeyboardInterrupt):
    """A command is stopped from outside, as Ctrl-C does it: what has to be cleaned up is.

    >>> Stopped("ended by SIGTERM", code=143).code
    143
    """

    def __init__(self, why: str, *, code: int) -> None:
        super().__init__(why)
        self.code = code


@contextmanager
def report_errors() -> Iterator[None]:
    """Turn what a user can cause into one message on stderr and an exit code.

    Bad input and wrong use exit with 2, Ctrl-C with 130, other signals as shells expect (128 and
    their number), a closed pipe with 141, and a fault of setveil's own with 70: never with 1,
    which means "violated".
    """
    try:
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:  # closed by whoever started us
                _discard(name)
        _Wanted.json = False
        yield
        sys.stdout.flush()
    except (typer.Exit, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001  (panics of compiled libraries are no Exception)
        code = _report(error)
        if _Wanted.json and isinstance(error, SetveilError | KeyboardInterrupt):
            _emit_error(error, code)
        raise typer.Exit(code) from None


def _emit_error(error: SetveilError | KeyboardInterrupt, code: int) -> None:
    """Print an error, or what stopped the command, as JSON, beside the message on stderr."""
    parts: dict[str, object] = {"what": str(error) or "interrupted", "where": "", "fix": ""}
    lines: list[str] = []
    if isinstance(error, SetveilError):
        parts = {"what": error.what, "where": error.where, "fix": error.fix}
        lines = list(error.lines)
    with suppress(OSError):  # nobody reads: the exit code still says it
        emit({"error": {**parts, "lines": lines, "exit_code": code}})
        sys.stdout.flush()


def _report(error: BaseException) -> int:
    """Say what ended a command, and return its exit code."""
    if isinstance(error, Stopped):
        say(f"setveil: {error}")
        return error.code
    if isinstance(error, KeyboardInterrupt):
        say("setveil: interrupted")
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        # Python flushes stdout once more when it ends: give it something that takes the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    if isinstance(error, TyperException):
        usage = io.StringIO()
        error.show(usage)  # type: ignore[attr-defined]  # all that typer raises have it
        _say_lines(usage.getvalue().rstrip())
    elif isinstance(error, SetveilError):
        _say_lines(f"setveil: {error}")
    elif isinstance(error, MemoryError):
        say("setveil: the memory of this machine is not enough for this data")
    elif isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        say(f"setveil: {where}{error.strerror or error}")
    else:
        _say_lines(f"setveil: internal error: {type(error).__name__}. {_keep_details(error)}")
        return INTERNAL
    return WRONG_USE


def _say_lines(text: str) -> None:
    """Print lines on stderr that are ours: a name in them cannot begin one."""
    for line in text.split("\n"):
        say(line)


def _keep_details(error: BaseException) -> str:
    """Keep the details of a fault in a file of the user's own, and say where they are."""
    details = visible_lines("".join(traceback.format_exception(error)))
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", prefix="setveil-error-", suffix=".txt", delete=False
        ) as file:
            file.write(f"setveil {__version__}, Python {sys.version}\n{details}")
    except OSError:
        return f"The details could not be written to a file:\n{details}"
    return (
        f"Nothing was decided. The details are in {file.name}; please report them with the command "
        "that you ran. Read the file before you send it: names from your data may be in it."
    )


# --- signals, and the end of a command's time -----------------------------------------------------
#
# Python raises KeyboardInterrupt in whatever Python code runs next. That may be code that cannot
# stand it: numba calls some when a compiled kernel hands its arrays over, and then crashes; imports
# of compiled modules turn it into another error; finalizers swallow it. So our handler looks at
# where the program is, and in such places raises it only in the code that comes right after.
#
# While a kernel runs no handler runs either. A thread of ours hears each signal nevertheless (the
# kernels release the interpreter's lock). After Ctrl-C it says when stopping takes a while, and a
# second Ctrl-C ends the process there and then. SIGTERM and SIGHUP are not sent twice, and a budget
# of time is a promise: what is not over soon after these is ended.


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

END_THREAD = b"\xff"  # to our thread, beside the numbers of signals


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
    """Handle Ctrl-C, SIGTERM and SIGHUP in the block as described above.

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
        os.write(self._into, END_THREAD)
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
            if what == END_THREAD:
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
