"""How every command speaks: results on stdout, everything else on stderr.

Results go through :func:`emit` (``--json``) or :func:`print_table`; remarks through :func:`say`;
long work through :class:`Progress`. :func:`report_errors` turns what a user can cause (bad input, a
full disk, Ctrl-C, a reader that went away) into one line and an exit code.

>>> emit({"records": 3})
{"schema": 2, "records": 3}
"""

import io
import os
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Self

import typer
from typer.exceptions import TyperException

from setveil import __version__
from setveil.core.errors import SetveilError
from setveil.core.words import json_text, plain_json, visible, visible_lines

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
        _say_lines(f"setveil: internal error: {type(error).__name__}. {_kept(error)}")
        return INTERNAL
    return WRONG_USE


def _say_lines(text: str) -> None:
    """Print lines on stderr that are ours: a name in them cannot begin one."""
    for line in text.split("\n"):
        say(line)


def _kept(error: BaseException) -> str:
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
