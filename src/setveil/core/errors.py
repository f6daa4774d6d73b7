"""The errors a user can meet: each says what was wrong, where, and how to fix it.

Everything setveil raises on purpose derives from :class:`SetveilError`; the command line turns
these into one message and exit code 2, never a traceback.

>>> from setveil.core.errors import InputError
>>> print(InputError("'k' is not a number", where="table.csv, line 3, column 2",
...                  fix="write the item's number"))
table.csv, line 3, column 2: 'k' is not a number. To fix: write the item's number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from setveil.core.words import visible

if TYPE_CHECKING:
    from collections.abc import Sequence


LONGEST = 1500
"""Characters of a part of a message; more are left out of its middle."""
LISTED = 1000
"""Skipped places that are kept with their text; beyond that they are only counted."""


class SetveilError(Exception):
    r"""Root of the family: what was wrong, where it was found, how to fix it.

    Names in it may come from strangers; the message shows their hidden characters written out,
    and of very long ones the beginning and the end. Only `lines`, the particulars of what is
    wrong, begin new lines.

    >>> print(SetveilError("there is no item 'a\u200b'", where="x\x1b.csv"))
    x\u001b.csv: there is no item 'a\u200b'
    >>> len(str(SetveilError(f"there is no item {'a' * 10**6}")))
    1503
    """

    def __init__(
        self, what: str, *, where: str = "", fix: str = "", lines: Sequence[str] = ()
    ) -> None:
        self.what = what
        self.where = where
        self.fix = fix
        self.lines = tuple(lines)
        message = f"{where}: {what}" if where else what
        said = [_shown(message), *map(_shown, lines)]
        if fix:
            end = "" if fix.endswith("?") else "."
            remedy = _shown(f"To fix: {fix.rstrip('.')}{end}")
            if lines:  # what takes several lines keeps its remedy on a line of its own
                said.append(remedy)
            else:
                between = " " if message.endswith("?") else ". "
                said = [f"{said[0].rstrip('.')}{between}{remedy}"]
        super().__init__("\n".join(said))

    def __reduce__(self) -> tuple[object, ...]:
        """Go from process to process as what it is, and not as its message."""
        return _rebuilt, (type(self), self.what, self.where, self.fix, self.lines)


def _shown(text: str) -> str:
    """Return a part of a message without hidden characters, and of a length that can be read."""
    half = LONGEST // 2
    return visible(text if len(text) <= LONGEST else f"{text[:half]} … {text[-half:]}")


def _rebuilt(
    kind: type[SetveilError], what: str, where: str, fix: str, lines: tuple[str, ...]
) -> SetveilError:
    return kind(what, where=where, fix=fix, lines=lines)


class InputError(SetveilError):
    """A file or a table cannot be read as what it is said to be."""


class ParameterError(SetveilError):
    """A parameter has a value the method cannot take."""


class InfeasibleError(SetveilError):
    """The request is well formed, but no release of this data can meet it."""


class ReleaseError(SetveilError):
    """A release on disk is damaged, incomplete or already there."""


class EngineError(SetveilError):
    """What should run the work is missing or failed."""


class NotApplicable(SetveilError):  # noqa: N818  (a state shown as "n/a", not a failure)
    """The question has no meaning for this form of release; shown as "n/a" with the reason."""


def shortened(text: str, longest: int = 60) -> str:
    r"""Return the text quoted for a message, cut in the middle where it is long.

    >>> shortened("whole\tmilk")
    "'whole\\tmilk'"
    >>> shortened("x" * 100, longest=9)
    "'xxxx … xxxx'"
    """
    if len(text) > longest:
        half = longest // 2
        text = f"{text[:half]} … {text[-half:]}"
    return repr(text)


@dataclass(kw_only=True)
class Problems:
    """What is wrong with an input: the first problem is raised, or all are collected.

    Parameters
    ----------
    name
        What the input is called in messages.
    on_error
        ``"raise"`` stops at the first problem; ``"skip"`` notes it and lets the reader go on.

    Examples
    --------
    >>> problems = Problems(name="a.dat", on_error="skip")
    >>> problems.add("is no number", line=3, column=1, text="milk", fix="write a number")
    >>> problems.skipped
    [('a.dat, line 3, column 1', "'milk'", 'is no number')]
    """

    name: str
    on_error: str = "raise"
    count: int = 0
    skipped: list[tuple[str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.on_error not in {"raise", "skip"}:
            raise ParameterError(
                f"on_error={self.on_error!r} is not known", fix='use "raise" or "skip"'
            )

    def place(self, *, line: int = 0, column: int = 0, row: int = 0) -> str:
        """Return where something stands, in words; places count from 1, 0 means unknown."""
        parts = [self.name]
        parts += [f"row {row}"] if row else []
        parts += [f"line {line}"] if line else []
        parts += [f"column {column}"] if column else []
        return ", ".join(parts)

    def add(
        self,
        problem: str,
        *,
        text: str,
        fix: str,
        line: int = 0,
        column: int = 0,
        row: int = 0,
    ) -> None:
        """Raise the problem as an error, or note that its line was skipped."""
        where = self.place(line=line, column=column, row=row)
        if self.on_error == "raise":
            raise InputError(f"{shortened(text)} {problem}", where=where, fix=fix)
        self.count += 1
        if len(self.skipped) < LISTED:
            self.skipped.append((where, shortened(text), problem))
