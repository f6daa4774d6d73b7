"""Files that may come from strangers: releases, keys, guesses, lists, settings, audits, indexes.

Everything of that kind is opened here. A file is read only if it is a regular one, so that a FIFO
or a device never blocks; in the directory of a release or an audit no link is followed; and no
file is read, unpacked or parsed whose content would take more memory than the limit for its kind.
The limits are checked before memory is taken. ``setveil --input-limit 2G …``, or the environment
variable ``SETVEIL_INPUT_LIMIT``, puts another limit in the place of all of them.

What cannot be opened is an :class:`OSError`, as usual, and what is no JSON, TOML or archive a
:class:`ValueError`; whoever reads says what was expected. What is refused is an
:class:`~setveil.core.errors.InputError` with a remedy.
"""

from __future__ import annotations

import dataclasses
import errno
import io
import json
import math
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    BinaryIO,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from setveil.core.errors import InputError, ParameterError
from setveil.core.files import shown_name
from setveil.core.words import SIZE_FORMS, format_size, parse_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

VARIABLE = "SETVEIL_INPUT_LIMIT"
"""The environment variable that raises or lowers all limits."""

FILE_LIMIT = 500 * 10**6
"""Bytes of a file that is held in memory, and of what is made of JSON, a key or an archive."""
TABLE_LIMIT = 2 * 10**9
"""Bytes that the records of a release or the rows of a table may take in memory."""
LIST_LIMIT = 16 * 10**6
"""Bytes of a list of items, or of a secret."""
SETTINGS_LIMIT = 10**6
"""Bytes of a TOML file."""

FOLDER_LIMIT = 10_000
"""Files of a directory of parts."""
DEPTH_LIMIT = 64
"""Lists and objects inside each other, in JSON and TOML."""
BITS_LIMIT = 128
"""Bits of a whole number in TOML: as many as those of a seed."""
ENTRIES_LIMIT = 10_000
"""Files in an archive."""

BLOCK = 1 << 20

# What CPython takes for the values in JSON, rounded up; a text is counted with its place in a list.
VALUE_BYTES = 40
TEXT_BYTES = 64
LIST_BYTES = 64
OBJECT_BYTES = 240
MARKS = bytes(sorted(set(range(256)) - set(b'[]{}"')))
KEY = rb"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
LONG_KEY = re.compile(rb"(?<![A-Za-z0-9_-])%b(?:[ \t]*\.[ \t]*%b){%d}" % (KEY, KEY, DEPTH_LIMIT))
HALF_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F]")


def current_limit(default: int) -> int:
    """Return how many bytes a kind of input may take: what the user said, or else the default.

    >>> current_limit(FILE_LIMIT) == FILE_LIMIT or VARIABLE in os.environ
    True
    """
    said = os.environ.get(VARIABLE, "")
    if not said:
        return default
    limit = parse_size(said)
    if limit is None:
        raise ParameterError(
            f"{VARIABLE} is {said[:40]!r}, which is no size", fix=f"write {SIZE_FORMS}"
        )
    return limit


def check_size(size: int, default: int, *, where: str = "", what: str = "it holds") -> None:
    """Refuse what is larger than the limit of its kind, and say how to raise the limit.

    >>> check_size(10, FILE_LIMIT)
    >>> check_size(1 << 40, FILE_LIMIT, where="a.json")
    Traceback (most recent call last):
    setveil.core.errors.InputError: a.json: it holds 1.1 TB, more than the limit of 500 MB for ...
    """
    limit = current_limit(default)
    if size > limit:
        most = format_size(limit)
        raise InputError(
            f"{what} {format_size(size)}, more than the limit of {most} for such a file",
            where=where,
            fix=raise_limit(size),
        )


def raise_limit(size: int) -> str:
    """Return how to allow an input of this size.

    >>> raise_limit(3_000_000_001)
    'if you trust it, raise the limit: setveil --input-limit 4G … (or set SETVEIL_INPUT_LIMIT=4G)'
    """
    wanted = f"{math.ceil(size / 10**9)}G"
    return (
        f"if you trust it, raise the limit: setveil --input-limit {wanted} … "
        f"(or set {VARIABLE}={wanted})"
    )


# --- opening ------------------------------------------------------------------------------------


def open_file(
    path: str | os.PathLike[str], *, inside: str | os.PathLike[str] | None = None
) -> BinaryIO:
    """Open a regular file for reading; anything else is refused without waiting for it.

    Parameters
    ----------
    path
        The file. A pipe that is open already, such as the shell's ``<(command)``, is taken too.
    inside
        The directory, named by the user, that the file lies in; then nothing on the way from it
        to the file may be a link.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     os.mkfifo(Path(folder, "pipe"))
    ...     open_file(Path(folder, "pipe"))
    Traceback (most recent call last):
    setveil.core.errors.InputError: .../pipe: this is a named pipe, not a regular file. To fix: ...
    """
    name = os.fspath(path)
    if inside is not None:
        _refuse_links(name, os.fspath(inside))
    _check_kind(Path(name).stat().st_mode, name)  # first: even opening a device may do something
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
    flags |= getattr(os, "O_BINARY", 0) | (getattr(os, "O_NOFOLLOW", 0) if inside else 0)
    handle = os.open(name, flags)
    try:
        _check_kind(os.fstat(handle).st_mode, name)  # again: it may have been exchanged
        if hasattr(os, "set_blocking"):
            os.set_blocking(handle, True)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _check_kind(mode: int, name: str) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if stat.S_ISFIFO(mode) and _is_open_already(name):
        return
    kinds = {stat.S_IFIFO: "a named pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
    kind = kinds.get(stat.S_IFMT(mode), "a socket or something else")
    raise InputError(
        f"this is {kind}, not a regular file", where=shown_name(name), fix="name a regular file"
    )


def _is_open_already(name: str) -> bool:
    """Tell whether a path names a file that this process holds open, as ``<(command)`` does."""
    folder = os.path.dirname(os.path.abspath(name))  # noqa: PTH120, PTH100  (links stay as they are)
    return name == "/dev/stdin" or folder in {"/dev/fd", "/proc/self/fd"}


def _refuse_links(name: str, folder: str) -> None:
    place = Path(name)
    for part in (place, *place.parents):
        if part == Path(folder):
            return
        if part.is_symlink():
            raise InputError(
                "this is a link, and links in a directory from others are not followed",
                where=shown_name(part),
                fix="if you trust it, put a copy of the file in its place",
            )
    raise AssertionError(f"{name} does not lie in {folder}")


def read_file(
    path: str | os.PathLike[str],
    *,
    limit: int = FILE_LIMIT,
    inside: str | os.PathLike[str] | None = None,
) -> bytes:
    r"""Return the content of a regular file that is not larger than the limit of its kind.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a").write_bytes(b"content")
    ...     read_file(Path(folder, "a"), inside=folder)
    b'content'
    """
    with open_file(path, inside=inside) as file:
        return read_bounded(file, limit=limit, where=shown_name(path))


def read_bounded(file: BinaryIO, *, limit: int = FILE_LIMIT, where: str = "") -> bytes:
    r"""Return what is left of a stream, or refuse it as soon as it is over the limit.

    >>> read_bounded(io.BytesIO(b"abc"), limit=3)
    b'abc'
    """
    about = _told_size(file)
    check_size(about, limit, where=where)
    # The size that is told may be wrong: of a file that grows, or of one in /proc.
    content = file.read(about + 1)
    if len(content) <= about:
        return content
    blocks = [content]
    total = len(content)
    while block := file.read(BLOCK):
        blocks.append(block)
        total += len(block)
        check_size(total, limit, where=where, what="it holds at least")
    return b"".join(blocks)


def _told_size(file: BinaryIO) -> int:
    try:
        return os.fstat(file.fileno()).st_size
    except (OSError, ValueError):  # a stream in memory
        return 0


def list_folder(folder: str | os.PathLike[str], *, inside: str | os.PathLike[str]) -> list[Path]:
    """Return the files of a directory from others, by name; a few thousand at most.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as outer:
    ...     Path(outer, "parts").mkdir()
    ...     _ = Path(outer, "parts", "a").write_text("")
    ...     [file.name for file in list_folder(Path(outer, "parts"), inside=outer)]
    ['a']
    """
    _refuse_links(os.fspath(folder), os.fspath(inside))
    found: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if len(found) == FOLDER_LIMIT:
                raise InputError(
                    f"this directory holds more than {FOLDER_LIMIT:,} files",
                    where=shown_name(folder),
                    fix="write the release again, in fewer parts",
                )
            found.append(entry.name)
    return [Path(folder, name) for name in sorted(found)]


# --- parsing ------------------------------------------------------------------------------------


def parse_json(content: bytes | str, *, where: str = "") -> Any:  # noqa: ANN401  (whatever JSON holds)
    """Return the value of a text in JSON; `where` is what messages call it.

    Raises
    ------
    ValueError
        It is no JSON in UTF-8, nested too deep, or holds a number that is too long or none (NaN),
        or a text with half a character.
    InputError
        Its values would take more memory than the limit.

    Examples
    --------
    >>> parse_json(b'{"k": [5, null]}')
    {'k': [5, None]}
    >>> parse_json("[" * 1000)
    Traceback (most recent call last):
    ValueError: more than 64 lists or objects stand inside each other
    """
    text = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    opened = text.count(b"[") + text.count(b"{")
    if len(text) > 1 << 16:
        check_size(json_memory(text), FILE_LIMIT, where=where, what="its values would take")
    if opened > DEPTH_LIMIT and _json_depth(text) > DEPTH_LIMIT:
        raise ValueError(f"more than {DEPTH_LIMIT} lists or objects stand inside each other")
    value = json.loads(text.decode(), parse_constant=_refuse_constant)
    if HALF_CHARACTER.search(text):
        json.dumps(value, ensure_ascii=False).encode()  # an error for half a pair of surrogates
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def read_json(path: str | os.PathLike[str], *, inside: str | os.PathLike[str] | None = None) -> Any:  # noqa: ANN401  (as above)
    """Return the value in a JSON file; errors as for :func:`read_file` and :func:`parse_json`."""
    return parse_json(read_file(path, inside=inside), where=shown_name(path))


def json_memory(text: bytes) -> int:
    """Return about how many bytes the values of a text in JSON take at most.

    >>> json_memory(b'["flu", 7]')
    138
    """
    texts = (text.count(b'"') + 1) // 2
    values = text.count(b",") + text.count(b":")
    lists, objects = text.count(b"["), text.count(b"{")
    return (
        len(text)
        + VALUE_BYTES * max(values - texts, 0)
        + TEXT_BYTES * texts
        + LIST_BYTES * lists
        + OBJECT_BYTES * objects
    )


def _json_depth(text: bytes) -> int:
    """Return how many brackets are open at most at once, outside of texts."""
    import numpy as np

    if b"\\" in text:
        text = re.sub(rb"\\.", b"", text, flags=re.DOTALL)
    marks = np.frombuffer(text.translate(None, MARKS), dtype=np.uint8)
    outside = np.cumsum(marks == ord('"'), dtype=np.int32) % 2 == 0
    opens = ((marks == ord("[")) | (marks == ord("{"))) & outside
    closes = ((marks == ord("]")) | (marks == ord("}"))) & outside
    depths = np.cumsum(opens.astype(np.int8) - closes.astype(np.int8), dtype=np.int32)
    return int(depths.max(initial=0))


def parse_toml(content: bytes) -> dict[str, Any]:
    """Return the settings in a text in TOML.

    Raises
    ------
    ValueError
        It is no TOML in UTF-8, its values stand too deep inside each other, or a number is longer
        than any that can be meant.

    Examples
    --------
    >>> parse_toml(b'k = 5')
    {'k': 5}
    >>> parse_toml(b"a = " + b"[" * 3000)
    Traceback (most recent call last):
    ValueError: more than 64 tables or lists stand inside each other
    >>> parse_toml(b"a = 0x" + b"f" * 3000)
    Traceback (most recent call last):
    ValueError: a number has more than 128 bits
    """
    import tomllib

    deep = f"more than {DEPTH_LIMIT} tables or lists stand inside each other"
    if LONG_KEY.search(content):  # for which the parser takes the square of its length
        raise ValueError(deep)
    try:
        found = tomllib.loads(content.decode("utf-8-sig"))
        level: list[Any] = [found]
        for _ in range(DEPTH_LIMIT):
            level = [each for value in level for each in _inside(value)]
            if any(isinstance(each, int) and each.bit_length() > BITS_LIMIT for each in level):
                raise ValueError(f"a number has more than {BITS_LIMIT} bits")
    except RecursionError:
        level = [None]
    if level:
        raise ValueError(deep)
    return found


def _inside(value: object) -> Iterable[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else ()


def read_settings(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the settings in a TOML file; errors as for :func:`read_file`, :func:`parse_toml`."""
    return parse_toml(read_file(path, limit=SETTINGS_LIMIT))


# --- archives -----------------------------------------------------------------------------------


def read_arrays(
    path: str | os.PathLike[str], names: Iterable[str], *, limit: int = FILE_LIMIT
) -> dict[str, npt.NDArray[Any]]:
    """Return arrays that ``numpy.savez`` wrote, those of these names that there are.

    What cannot be opened is an error as for :func:`read_file`.

    Raises
    ------
    ValueError
        It is no such archive, or an array is damaged, or one of Python objects.
    InputError
        The arrays would take more memory than the limit.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(Path(folder, "a.npz"), records=np.array([1, 0]))
    ...     read_arrays(Path(folder, "a.npz"), ["records", "names"])["records"].tolist()
    [1, 0]
    """
    where = shown_name(path)
    with open_archive(io.BytesIO(read_file(path, limit=limit)), where=where) as archive:
        held = set(archive.namelist())
        wanted = {name: f"{name}.npy" for name in names if f"{name}.npy" in held}
        size = sum(archive.getinfo(member).file_size for member in wanted.values())
        check_size(size, limit, where=where, what="its arrays would take")
        try:
            return {name: _array(read_member(archive, member)) for name, member in wanted.items()}
        # NumPy's header is read by Python's parser, and zlib, lzma and bz2 have their own errors.
        except Exception as error:  # noqa: BLE001
            raise ValueError(f"an array is damaged ({type(error).__name__})") from None


def read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a file of an archive; what it unpacks to beyond the size that is told is not made."""
    with archive.open(name) as file:
        return file.read(archive.getinfo(name).file_size)


def _array(content: bytes) -> npt.NDArray[Any]:
    """Return the array in a file of NumPy's, of whose content nothing is believed."""
    import numpy as np

    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    shape, by_columns, dtype = readers[version](file)
    count = math.prod(shape)
    if dtype.hasobject or min(shape, default=0) < 0 or dtype.itemsize == 0:
        raise ValueError("not an array of numbers or texts")
    if count * dtype.itemsize != len(content) - file.tell():
        raise ValueError("not as long as it says")
    array = np.frombuffer(content, dtype=dtype, count=count, offset=file.tell())
    return array.reshape(shape, order="F" if by_columns else "C")


def open_archive(file: BinaryIO, *, where: str = "") -> zipfile.ZipFile:
    """Open a zip archive, unless its list of files alone would fill the memory.

    Raises
    ------
    ValueError
        It is no zip archive.
    InputError
        It lists too many files.
    """
    entries = sum(_central_entries(file))
    if entries > ENTRIES_LIMIT:
        raise InputError(
            f"this archive lists {entries:,} files, more than {ENTRIES_LIMIT:,}",
            where=where,
            fix="check where it comes from: no file that setveil reads is like that",
        )
    file.seek(0)
    try:
        return zipfile.ZipFile(file)
    except (zipfile.BadZipFile, NotImplementedError, zlib.error, OSError) as error:
        raise ValueError(str(error)) from None


def _central_entries(file: BinaryIO) -> Iterator[int]:
    """Yield how many entries of the list of files, by their mark, stand in each block."""
    mark = b"PK\x01\x02"
    file.seek(0)
    rest = b""
    while block := file.read(BLOCK):
        block = rest + block
        yield block.count(mark)
        rest = block[-len(mark) + 1 :]


LARGEST = 2**63
"""Whole numbers, where one is asked for, are smaller than this: 64 bits hold them."""
LARGEST_OF_ANY = 2**128
"""Whole numbers anywhere are smaller than this; seeds are the largest that we write."""


def _is_whole(value: object) -> bool:
    return type(value) is int and -LARGEST < value < LARGEST


def _is_number(value: object) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def _is_plain(value: object) -> bool:
    """Tell whether this is any value of JSON, with numbers that can be written again."""
    if isinstance(value, dict):
        return all(isinstance(name, str) for name in value) and all(map(_is_plain, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if type(value) is int:
        return -LARGEST_OF_ANY < value < LARGEST_OF_ANY
    return value is None or isinstance(value, str | bool) or _is_number(value)


CHECKS: dict[Any, Callable[[object], bool]] = {
    Any: _is_plain,
    NoneType: lambda value: value is None,
    bool: lambda value: isinstance(value, bool),
    int: _is_whole,
    float: _is_number,
    str: lambda value: isinstance(value, str),
}


def fits(value: object, kind: Any) -> bool:  # noqa: ANN401  (an annotation)
    """Tell whether a value of JSON is of the kind that an annotation names.

    Tuples, named ones too, stand in JSON as lists, objects of a dataclass as objects with its
    fields; numbers are finite.

    >>> fits([["flu", 3]], list[tuple[str, int]]), fits([["flu", "3"]], list[tuple[str, int]])
    (True, False)
    >>> fits(float("nan"), float | None), fits(None, float | None)
    (False, True)
    """
    if kind in CHECKS:
        return CHECKS[kind](value)
    origin, parts = get_origin(kind), get_args(kind)
    if origin in {Union, UnionType}:
        return any(fits(value, part) for part in parts)
    return _fits_inside(value, kind, origin, parts)


def _fits_inside(value: object, kind: Any, origin: Any, parts: tuple[Any, ...]) -> bool:  # noqa: ANN401
    """Tell whether a list, or an object, and all that is in it are of a kind."""
    if origin is None and issubclass(kind, tuple):
        origin, parts = tuple, tuple(get_type_hints(kind).values())
    if isinstance(value, list | tuple) and origin in {list, tuple}:
        kinds = [parts[0]] * len(value) if origin is list or parts[-1] is Ellipsis else parts
        same = len(kinds) == len(value)
        return same and all(fits(each, part) for each, part in zip(value, kinds, strict=True))
    if not isinstance(value, dict) or origin in {list, tuple}:
        return False
    if origin in {dict, Mapping}:
        return all(isinstance(n, str) and fits(each, parts[1]) for n, each in value.items())
    return misfit(value, kind) is None


def misfit(content: Mapping[str, Any], kind: type, **closer: Any) -> str | None:
    """Return the first field of an object that is not as its dataclass or TypedDict says.

    Parameters
    ----------
    content
        The object as JSON has it.
    kind
        The class; a dataclass has no other fields than its own.
    closer
        What fields must be where that is more than their annotations say.

    Examples
    --------
    >>> @dataclasses.dataclass
    ... class Visit:
    ...     item: str
    ...     days: int = 0
    >>> misfit({"item": "flu"}, Visit), misfit({"item": "flu", "days": []}, Visit)
    (None, 'days')
    >>> misfit({"days": 1}, Visit), misfit({"item": "flu", "size": 1}, Visit)
    ('item', 'size')
    """
    hints, needed = _fields(kind)
    missing = next((name for name in needed if name not in content), None)
    if missing is not None:
        return missing
    for name, value in content.items():
        if name not in hints and not is_typeddict(kind):
            return name
        if not fits(value, closer.get(name, hints.get(name, Any))):
            return name
    return None


@cache
def _fields(kind: type) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the annotations of all fields, and the fields that must be there."""
    hints = get_type_hints(kind)
    if is_typeddict(kind):
        return hints, tuple(sorted(kind.__required_keys__))  # type: ignore[attr-defined]
    fields = dataclasses.fields(kind)
    needed = tuple(
        field.name
        for field in fields
        if field.default is field.default_factory is dataclasses.MISSING
    )
    return {field.name: hints[field.name] for field in fields}, needed
