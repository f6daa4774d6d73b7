"""Plain twins of the kernels that read numbers and order rows."""

from __future__ import annotations

import re

# Each alternative is a reason to stop; its last byte is the one the kernel names.
_WRONG = re.compile(
    rb"(?P<sign>[^0-9 \t\r\n])|(?<![0-9])0(?P<zero>[0-9])|[0-9]{18}(?P<long>[0-9])|(?P<cr>\r)(?!\n)"
)


def first_wrong(text: bytes) -> int:
    """Return the place of the first byte that does not belong, or -1."""
    match = _WRONG.search(text)
    places = [] if match is None else [match.start(name) for name in _WRONG.groupindex]
    return max(places, default=-1)


def parse_lines(text: bytes) -> list[list[int]]:
    """Return the numbers of each line of a clean text."""
    return [[int(token) for token in line.split()] for line in text.split(b"\n")[:-1]]


def rank_rows(rows: list[list[int]], rank: list[int]) -> list[list[int]]:
    """Return the ranks in each row, sorted and without repetitions; negative ones are dropped."""
    return [sorted({rank[item] for item in row} - {-1}) for row in rows]
