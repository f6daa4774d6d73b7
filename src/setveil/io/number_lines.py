"""Readers of records made of numbers: FIMI's format and SPMF's."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.table import Collected, RowCollector
from setveil.io.numbers import NumberCollector, Numbers, known_size
from setveil.io.sources import Source, block_lines, text_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from setveil.core.errors import Problems

PLAIN_LIMIT = 4 << 20  # bytes that plain Python parses before numba is even imported
PARSED_AT_ONCE = 1 << 18

NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")
TOKEN = re.compile(r"[^ \t]+")
_ITEM_LINE = re.compile(r"@ITEM=(-?[0-9]+)=(.*)", re.DOTALL)


def read_fimi(source: Source, problems: Problems) -> Collected:
    """Read one record of numbers per line; an empty line is an empty record."""
    blocks = (b if b.endswith(b"\n") else b + b"\n" for b in source.blocks(PARSED_AT_ONCE))
    start: list[bytes] = []
    size = 0
    while size <= PLAIN_LIMIT and (block := next(blocks, b"")):
        start.append(block)
        size += len(block)
    compiled = size > PLAIN_LIMIT
    numbers = NumberCollector()
    numbers.add_all(
        chain(start, blocks),
        lambda block, before: _parse_carefully(block, before, problems),
        compiled=compiled,
        size=known_size(source) if compiled else 0,
    )
    return numbers.finish(compiled=compiled)


def _parse_carefully(block: bytes, before: int, problems: Problems) -> Numbers:
    """Parse line by line, reporting every line that is not as expected."""
    values: list[int] = []
    ends: list[int] = []
    for number, line in block_lines(block, before, problems):
        tokens = list(_tokens(line))
        wrong = next((t for t in tokens if not NUMBER.fullmatch(t[1])), None)
        if wrong is None:
            values += [int(token) for _, token in tokens]
            ends.append(len(values))
        else:
            _report_number(wrong[1], number, wrong[0], problems)
    return Numbers(
        values=np.array(values, dtype=np.int64),
        ends=np.array(ends, dtype=np.int64),
        largest=max(values, default=0),
    )


def _tokens(line: str) -> Iterator[tuple[int, str]]:
    """Yield column and text of what blanks separate."""
    return ((m.start() + 1, m.group()) for m in TOKEN.finditer(line.removesuffix("\r")))


def _report_number(token: str, line: int, column: int, problems: Problems) -> None:
    problem = "is not a whole number of 0 or more"
    if token.isascii() and token.isdigit():
        problem = "has a leading zero" if token[0] == "0" else "has more than 18 digits"
    problems.add(
        problem,
        line=line,
        column=column,
        text=token,
        fix="separate non-negative whole numbers by spaces, or read names and codes with "
        "--format basket --delimiter space",
    )


def read_spmf(source: Source, problems: Problems) -> Collected:
    """Read SPMF's transactions, or its sequences without their order.

    Lines that begin with ``#``, ``%`` or ``@`` are comments; ``@ITEM=3=bread`` names an item.
    """
    rows = RowCollector()
    names: dict[str, str] = {}
    taken: set[str] = set()
    sequences = 0
    for number, line in text_lines(source, problems):
        if line.startswith("@ITEM="):
            _name_item(line.removesuffix("\r"), number, names, taken, problems)
        elif not line.startswith(("#", "%", "@")):
            tokens = list(_tokens(line))
            record = [entry for entry in tokens if entry[1] not in {"-1", "-2"}]
            sequences += len(record) < len(tokens)
            wrong = next((t for t in record if not NUMBER.fullmatch(t[1])), None)
            unnamed = next((t for t in record if names and t[1] not in names), None)
            if wrong is not None:
                _report_spmf(wrong[1], number, wrong[0], problems)
            elif unnamed is not None:
                problems.add(
                    "has no name",
                    line=number,
                    column=unnamed[0],
                    text=unnamed[1],
                    fix=f"add a line @ITEM={unnamed[1]}=its name, or remove all such lines",
                )
            else:
                rows.add([names.get(token, token) for _, token in record])
    done = rows.finish()
    if sequences:
        done.notes.append(
            f"{sequences:,} line{'s' * (sequences != 1)} with -1 or -2: "
            "the order within sequences is dropped."
        )
    return done


def _name_item(
    line: str, number: int, names: dict[str, str], taken: set[str], problems: Problems
) -> None:
    match = _ITEM_LINE.fullmatch(line)
    problem = ""
    if match is None or not match[2]:
        problem = "does not name an item"
    elif match[1] in names:
        problem = f"names item {match[1]} again"
    elif match[2] in taken:
        problem = "gives two items one name"
    if match is None or problem:
        problems.add(
            problem, line=number, column=1, text=line, fix="write @ITEM=number=name, each once"
        )
        return
    names[match[1]] = match[2]
    taken.add(match[2])


def _report_spmf(token: str, line: int, column: int, problems: Problems) -> None:
    if ":" in token:
        problems.add(
            "looks like a utility, which has no place in a set",
            line=line,
            column=column,
            text=token,
            fix="give plain transactions: item numbers separated by spaces",
        )
        return
    _report_number(token, line, column, problems)
