"""The errors a user can meet: each says what was wrong, where, and how to fix it.

Everything setveil raises on purpose derives from :class:`SetveilError`; the command line turns
these into one message and exit code 2, never a traceback.

>>> from setveil.core.errors import InputError
>>> print(InputError("'k' is not a number", where="table.csv, line 3, column 2",
...                  fix="write the item's number"))
table.csv, line 3, column 2: 'k' is not a number. To fix: write the item's number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from setveil.core.words import visible

if TYPE_CHECKING:
    from collections.abc import Sequence


LONGEST = 1500
"""Characters of a part of a message; more are left out of its middle."""


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
