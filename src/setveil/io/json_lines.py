"""Reader of JSON: an array of items per line or an object that holds one, or a whole document.

Lines of the plain kind, which nearly all are, are taken apart by regular expressions of polars,
many at a time. A line that these do not fully match goes to Python's own parser, which decides
and says what is wrong: so both ways give the same records.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import InputError
from setveil.core.table import Collected, RowCollector, TransactionTable
from setveil.core.threads import THREADS, map_ahead
from setveil.core.untrusted import TABLE_LIMIT, check_size, json_memory
from setveil.io.sources import BOM, HEAD, Source, block_lines, decode_block, small_or_not

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import polars as pl

    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.core.errors import Problems

EXPECTED = 'write one array of texts per line, or one object such as {"items": ["a", "b"]}'
PLAIN_LIMIT = 1 << 20  # bytes that plain Python parses before polars is even imported
PARSED_AT_ONCE = 1 << 22
DOCUMENT_LIMIT = 512 << 20  # bytes of a document, which must be held as a whole

# The plain kind of JSON: no escapes in texts, whole numbers that are written in one way only, no
# objects in objects. Between two texts there is always a comma or a colon, so that a field's name
# without these, in quotes and before a colon, can be nothing but a key.
_BLANK = r"[ \t\r]*"
_TEXT = r'"[^"\\\x00-\x1f]*"'
_WHOLE = r"(?:0|-?[1-9][0-9]{0,17})"
_ITEM = rf"(?:{_TEXT}|{_WHOLE})"
_LIST = rf"\[{_BLANK}(?:{_ITEM}{_BLANK}(?:,{_BLANK}{_ITEM}{_BLANK})*)?\]"
_FRACTION = r"-?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,17}"
_VALUE = rf"(?:{_ITEM}|{_FRACTION}|true|false|null|{_LIST})"
_PAIR = rf"{_TEXT}{_BLANK}:{_BLANK}{_VALUE}{_BLANK}"
_LIST_LINE = rf"^{_BLANK}{_LIST}{_BLANK}$"
_OBJECT_LINE = rf"^{_BLANK}\{{{_BLANK}{_PAIR}(?:,{_BLANK}{_PAIR})*\}}{_BLANK}$"
_TEXTS_ALONE = rf"^{_BLANK}\[{_BLANK}(?:{_TEXT}{_BLANK}(?:,{_BLANK}{_TEXT}{_BLANK})*)?\]{_BLANK}$"
_PLAIN_FIELD = re.compile(r"\w[\w -]*")


class _Unfit(Exception):  # noqa: N818  (a signal inside this module)
    def __init__(self, problem: str, column: int = 1, fix: str = EXPECTED) -> None:
        super().__init__(problem)
        self.problem = problem
        self.column = column
        self.fix = fix


def read_jsonl(source: Source, problems: Problems, *, field: str = "items") -> Collected:
    r"""Read one record per line, or per entry of a document.

    Blank lines are left out, an empty array is an empty record.

    Parameters
    ----------
    source
        Lines of arrays or objects; or a document, an array of these over several lines.
    problems
        Where malformed lines are reported.
    field
        The field of an object that holds the items; ``a.b`` is the field b of the object in a.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from setveil.core.errors import Problems
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.json")
    ...     _ = path.write_text('[\n  {"codes": ["flu", 12]},\n  {"codes": []}\n]\n')
    ...     with Source(path) as source:
    ...         read_jsonl(source, Problems(name="a"), field="codes").table.to_rows()
    [['12', 'flu'], []]
    """
    kind = _document(source.head, is_whole=len(source.head) < HEAD)
    if kind:
        content = _whole(source)
        done = _read_document(content, problems, field, is_certain=kind == "certain")
        if done is not None:
            return done
        return _read_lines([content], problems, field, source.encoding)
    return _read_lines(source.blocks(PARSED_AT_ONCE), problems, field, source.encoding)


def list_fields(lines: Sequence[str]) -> list[str]:
    """Return the fields that hold lists of texts or whole numbers in every line with an object.

    >>> list_fields(['{"id": 1, "codes": ["a"], "in": {"old": []}}', '{"codes": [], "id": [2]}'])
    ['codes']
    >>> list_fields(['{"visit": {"codes": ["a"]}}'])
    ['visit.codes']
    """
    common: dict[str, None] | None = None
    for line in lines:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            here = dict.fromkeys(_list_names(value))
            common = here if common is None else {name: None for name in common if name in here}
    return list(common or ())


def _list_names(value: dict[str, Any]) -> Iterator[str]:
    for name, held in value.items():
        if isinstance(held, list) and all(map(_is_item, held)):
            yield name
        elif isinstance(held, dict):
            yield from (
                f"{name}.{inner}"
                for inner, deeper in held.items()
                if isinstance(deeper, list) and all(map(_is_item, deeper))
            )


def _is_item(entry: object) -> bool:
    return isinstance(entry, str) or (isinstance(entry, int) and not isinstance(entry, bool))


# --- one line by Python's parser ----------------------------------------------------------------


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
    names = _items(value, field)
    if "\\u" in line and not _is_text(names):
        raise _Unfit("holds half a surrogate pair", line.find("\\u") + 1)
    return names


def _items(value: object, field: str) -> list[str]:
    if isinstance(value, dict):
        value = _value_of_field(value, field)
    if not isinstance(value, list):
        raise _Unfit("is neither an array nor an object with one")
    return [entry if isinstance(entry, str) else _number(entry) for entry in value]


def _value_of_field(value: dict[str, Any], field: str) -> object:
    """Return what a field holds; a name with dots leads into objects, unless it is a name."""
    if field in value:
        return value[field]
    inside: Any = value
    for name in field.split("."):
        if not isinstance(inside, dict) or name not in inside:
            raise _Unfit(f"has no field {field!r}", fix=f"{EXPECTED}; --item names another field")
        inside = inside[name]
    return inside


def _number(entry: object) -> str:
    if isinstance(entry, int) and not isinstance(entry, bool):
        return str(entry)
    kinds = {bool: "true or false", float: "a fraction", list: "an array", dict: "an object"}
    raise _Unfit(f"holds {kinds.get(type(entry), 'null')} as an item, not a text")


def _is_text(names: list[str]) -> bool:
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        return False
    return True


# --- documents ----------------------------------------------------------------------------------


def _document(head: bytes, *, is_whole: bool) -> str:
    """Tell by the first bytes whether an array spans lines: certainly, perhaps, or not."""
    text = head.removeprefix(BOM).lstrip(b" \t\r\n")
    if not text.startswith(b"["):
        return ""
    # An array of arrays or objects, or a bracket alone: no record on a line.
    if re.match(rb"\[\s*[\[{]", text) or re.match(rb"\[[ \t\r]*\n", text):
        return "certain"
    first, newline, rest = text.partition(b"\n")
    if (not newline and not is_whole) or not rest.strip():
        return ""
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return "possible"
    return ""


def _whole(source: Source) -> bytes:
    blocks = []
    size = 0
    for block in source.blocks(line_limit=DOCUMENT_LIMIT):
        blocks.append(block)
        size += len(block)
        if size > DOCUMENT_LIMIT:
            raise InputError(
                f"this is a JSON document of more than {DOCUMENT_LIMIT:,} bytes, which would have "
                "to be held in memory",
                where=source.name,
                fix="write one record per line (JSON lines), e.g. by jq -c '.[]' FILE",
            )
    return b"".join(blocks)


def _read_document(
    content: bytes, problems: Problems, field: str, *, is_certain: bool
) -> Collected | None:
    """Read an array of records; None if the text is rather to be read line by line."""
    what = "its values would take"
    check_size(json_memory(content), TABLE_LIMIT, where=problems.name, what=what)
    try:
        value = json.loads(content.decode())
    except UnicodeDecodeError:
        return None
    except json.JSONDecodeError as error:
        # What begins with a whole value is lines, of which the parser saw the first.
        if not is_certain or error.msg == "Extra data":
            return None
        raise InputError(
            f"the JSON document is damaged ({error.msg})",
            where=problems.place(line=error.lineno, column=error.colno),
            fix="write the file again, or one record per line",
        ) from None
    except (ValueError, RecursionError):
        return None
    entries = value if isinstance(value, list) else [value]
    if not is_certain and not all(isinstance(entry, list | dict) for entry in entries):
        return None
    rows = RowCollector()
    for number, entry in enumerate(entries, 1):
        try:
            names = _items(entry, field)
            if not _is_text(names):
                raise _Unfit("holds half a surrogate pair")  # noqa: TRY301
        except _Unfit as error:
            shown = json.dumps(entry)
            problems.add(error.problem, row=number, text=shown, fix=error.fix)
        else:
            rows.add(names)
    return rows.finish()


# --- lines --------------------------------------------------------------------------------------


def _read_lines(
    blocks: Iterable[bytes], problems: Problems, field: str, encoding: str
) -> Collected:
    """Read lines by Python's parser, and by polars where there are many."""
    given, is_small = small_or_not(blocks, PLAIN_LIMIT)
    lines = _Lines(problems, field, encoding)
    if is_small or not _PLAIN_FIELD.fullmatch(field):
        for block in given:
            lines.add_carefully(block)
    else:
        parsed = map_ahead(lambda each: (each, _parse_plain(each, field)), given, ahead=2 * THREADS)
        for block, plain in parsed:
            if plain is None:
                lines.add_carefully(block)
            else:
                lines.add(block, plain)
    return lines.finish()


@dataclass(frozen=True, kw_only=True)
class _Plain:
    """What polars found in a block: items of the plain lines, and which lines are left."""

    lines: int
    blank: int
    lengths: Int64Array  # of all lines, 0 for those that are not plain
    codes: Int32Array
    names: list[str]
    texts: pl.Series
    left: Int64Array
    is_record: Any  # a mask of the lines that are plain


def _parse_plain(block: bytes, field: str) -> _Plain | None:
    """Take the plain lines of a block apart; None for a block with bytes that are no text."""
    import polars as pl

    text = decode_block(block)
    if text is None:
        return None
    texts = pl.Series(text.removesuffix("\n").split("\n"), dtype=pl.String)
    if texts.str.contains(_TEXTS_ALONE).all():
        lists, has_numbers = texts, False
    else:
        lists = _find_lists(texts, field)
        has_numbers = not lists.str.contains(_TEXTS_ALONE).all()  # nulls do not count
    lengths, flat = _split_lists(lists, has_numbers=has_numbers)
    different = flat.unique(maintain_order=True)
    codes = flat.cast(pl.Enum(different)).to_physical().to_numpy().astype(np.int32)
    is_record = lists.is_not_null()
    is_blank = (~is_record) & texts.str.contains(rf"^{_BLANK}$")
    return _Plain(
        lines=len(texts),
        blank=int(is_blank.sum()),
        lengths=lengths,
        codes=codes,
        names=different.to_list(),
        texts=texts,
        left=(~is_record & ~is_blank).arg_true().to_numpy().astype(np.int64),
        is_record=is_record.to_numpy(),
    )


def _find_lists(texts: pl.Series, field: str) -> pl.Series:
    """Return the array of each plain line, or of the field of its object; null for all others."""
    lists = texts.set(~texts.str.contains(_LIST_LINE), None)
    is_object = texts.str.contains(rf"^{_BLANK}\{{")
    if is_object.any():
        # The name must stand there once: which of two fields counts, and what a text of that name
        # means, is for the other parser.
        name = f'"{field}"'
        once = is_object & (texts.str.count_matches(name, literal=True) == 1)
        once &= texts.str.contains(_OBJECT_LINE)
        after = texts.str.splitn(name, 2).struct[1]
        lists = lists.zip_with(~once, after.str.extract(rf"^{_BLANK}:{_BLANK}({_LIST})"))
    return lists


def _split_lists(lists: pl.Series, *, has_numbers: bool) -> tuple[Int64Array, pl.Series]:
    """Return how many items each array holds, none for null, and all items one after the other."""
    import polars as pl

    if not has_numbers:
        # Cut at every quote, what lies between an odd quote and the next is a text: every other
        # part of an array, and as each has one part more than quotes, the first is none.
        parts = lists.str.split('"')
        counts = parts.list.len().fill_null(0).to_numpy().astype(np.int64)
        parts = parts.drop_nulls()
        sizes = counts[counts > 0]
        place = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return counts // 2, parts.explode().filter(pl.Series(place % 2 == 1))
    items = lists.str.extract_all(_ITEM)
    lengths = items.list.len().fill_null(0).to_numpy().astype(np.int64)
    flat = items.filter(items.list.len() > 0).explode()
    # Quotes stand only around texts, so that nothing else is stripped.
    return lengths, flat.str.strip_prefix('"').str.strip_suffix('"')


class _Lines:
    """Records of lines, added block by block."""

    def __init__(self, problems: Problems, field: str, encoding: str) -> None:
        self._problems = problems
        self._field = field
        self._encoding = encoding
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__)
        self._lengths: list[Int64Array] = []
        self._codes: list[Int32Array] = []
        self._blank = 0
        self._before = 0

    def _parse_items(self, line: str, number: int) -> list[int] | None:
        """Return the numbers of a line's items; None for a line that was reported."""
        try:
            names = parse_line(line, self._field)
        except _Unfit as error:
            shown = line[max(error.column - 1, 0) :] or line
            self._problems.add(
                error.problem, line=number, column=error.column, text=shown, fix=error.fix
            )
            return None
        return [self._numbers[name] for name in names]

    def add_carefully(self, block: bytes) -> None:
        """Add a block line by line."""
        codes: list[int] = []
        lengths: list[int] = []
        for number, line in block_lines(block, self._before, self._problems, self._encoding):
            if not line.strip(" \t\r"):
                self._blank += 1
                continue
            found = self._parse_items(line, number)
            if found is not None:
                codes += found
                lengths.append(len(found))
        self._before += block.count(b"\n")
        self._codes.append(np.array(codes, dtype=np.int32))
        self._lengths.append(np.array(lengths, dtype=np.int64))

    def add(self, block: bytes, plain: _Plain) -> None:
        """Add a block whose plain lines are taken apart already."""
        numbers = self._numbers
        number_of = np.array([numbers[name] for name in plain.names], dtype=np.int32)
        codes = number_of[plain.codes]
        lengths, is_record = plain.lengths, plain.is_record
        if len(plain.left):
            lengths, is_record = lengths.copy(), is_record.copy()
            rows = [np.repeat(np.arange(plain.lines), lengths)]
            parts = [codes]
            for row in plain.left.tolist():
                found = self._parse_items(plain.texts[row], self._before + row + 1)
                if found is not None:
                    is_record[row] = True
                    lengths[row] = len(found)
                    rows.append(np.full(len(found), row))
                    parts.append(np.array(found, dtype=np.int32))
            codes = np.concatenate(parts)[np.argsort(np.concatenate(rows), kind="stable")]
        self._blank += plain.blank
        self._before += block.count(b"\n")
        self._codes.append(codes)
        self._lengths.append(lengths[is_record])

    def finish(self) -> Collected:
        """Return the table of all records."""
        lengths = np.concatenate([np.zeros(1, dtype=np.int64), *self._lengths])
        flat = np.concatenate([np.empty(0, dtype=np.int32), *self._codes])
        table = TransactionTable.from_csr(np.cumsum(lengths), flat, self._numbers)
        done = Collected(table=table, duplicates=len(flat) - len(table.items))
        if self._blank:
            done.notes.append(f"{self._blank:,} blank line{'s' * (self._blank != 1)} left out.")
        return done
