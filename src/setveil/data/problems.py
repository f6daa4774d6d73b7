"""What is wrong with an input: raised at once, or skipped, counted and listed."""

from __future__ import annotations

from dataclasses import dataclass, field

from setveil.core.errors import InputError, ParameterError

LISTED = 1000  # skipped places kept with their text; beyond that they are only counted
LONGEST = 60


def shortened(text: str, longest: int = LONGEST) -> str:
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
