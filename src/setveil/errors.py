"""The errors a user can meet: each says what was wrong, where, and how to fix it.

Everything setveil raises on purpose derives from :class:`SetveilError`; the command line turns
these into one message and exit code 2, never a traceback.

>>> from setveil.errors import InputError
>>> print(InputError("'k' is not a number", where="table.csv, line 3, column 2",
...                  fix="write the item's number"))
table.csv, line 3, column 2: 'k' is not a number. To fix: write the item's number.
"""

from __future__ import annotations


class SetveilError(Exception):
    """Root of the family: what was wrong, where it was found, how to fix it."""

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        self.what = what
        self.where = where
        self.fix = fix
        message = f"{where}: {what}" if where else what
        if fix:
            end = "" if fix.endswith("?") else "."
            # What takes several lines keeps its remedy on a line of its own.
            between = "\n" if "\n" in message else " " if message.endswith("?") else ". "
            message = f"{message.rstrip('.')}{between}To fix: {fix.rstrip('.')}{end}"
        super().__init__(message)


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
