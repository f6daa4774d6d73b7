"""Reader of JSON lines: an array of items per line, or an object that holds one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from setveil.data.collectors import Collected, RowCollector
from setveil.data.sources import Source, text_lines

if TYPE_CHECKING:
    from setveil.data.problems import Problems
    from setveil.io.layout import Layout

EXPECTED = 'write one array of texts per line, or one object such as {"items": ["a", "b"]}'


class _Unfit(Exception):  # noqa: N818  (a signal inside this module)
    def __init__(self, problem: str, column: int = 1, fix: str = EXPECTED) -> None:
        super().__init__(problem)
        self.problem = problem
        self.column = column
        self.fix = fix


def read_jsonl(source: Source, layout: Layout, problems: Problems) -> Collected:
    """Read one record per line; blank lines are left out, an empty array is an empty record."""
    rows = RowCollector()
    blank = 0
    field = layout.item_column or "items"
    for number, line in text_lines(source, problems):
        if not line.strip(" \t\r"):
            blank += 1
            continue
        try:
            names = parse_line(line, field)
        except _Unfit as error:
            shown = line[max(error.column - 1, 0) :] or line
            problems.add(error.problem, line=number, column=error.column, text=shown, fix=error.fix)
        else:
            rows.add(names)
    done = rows.finish()
    if blank:
        done.notes.append(f"{blank:,} blank line{'s' * (blank != 1)} left out.")
    return done


def parse_line(line: str, field: str) -> list[str]:
    """Return the items of one line.

    >>> parse_line('{"id": 7, "items": ["flu", 12]}', "items")
    ['flu', '12']
    """
    try:
        value: Any = json.loads(line)
    except json.JSONDecodeError as error:
        raise _Unfit(f"is not JSON ({error.msg})", error.colno) from None
    except (ValueError, RecursionError):
        raise _Unfit("holds too large a number, or arrays nested too deeply") from None
    if isinstance(value, dict):
        if field not in value:
            raise _Unfit(f"has no field {field!r}", fix=f"{EXPECTED}; --item names another field")
        value = value[field]
    if not isinstance(value, list):
        raise _Unfit("is neither an array nor an object with one")
    names = [entry if isinstance(entry, str) else _number(entry) for entry in value]
    if "\\u" in line:
        for name in names:
            try:
                name.encode()
            except UnicodeEncodeError:
                raise _Unfit("holds half a surrogate pair", line.find("\\u") + 1) from None
    return names


def _number(entry: object) -> str:
    if isinstance(entry, int) and not isinstance(entry, bool):
        return str(entry)
    kinds = {bool: "true or false", float: "a fraction", list: "an array", dict: "an object"}
    raise _Unfit(f"holds {kinds.get(type(entry), 'null')} as an item, not a text")
