"""Bytes and lines of a file or of standard input, decompressed and turned into UTF-8 on the way."""

from __future__ import annotations

import codecs
import difflib
import gzip
import io
import os
import re
import sys
import zlib
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, Self

from setveil.core.errors import InputError, ParameterError
from setveil.core.files import shown_name
from setveil.core.untrusted import TABLE_LIMIT, check_size, open_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    from setveil.core.errors import Problems

BLOCK = 1 << 20
# Bytes of a line, of which a list of many short texts may be made: of plain and of packed data.
LINE_LIMIT = 64 * 10**6
PACKED_LINE_LIMIT = 8 * 10**6
HEAD = 1 << 16
LONG_HEAD = 1 << 18  # of a text whose first lines are longer, such as a table of 10,000 columns
ZSTD_STEP = 1 << 10  # a compressed byte can stand for 32 kB: small steps bound what comes out
BOM = b"\xef\xbb\xbf"

COMPRESSED = (".gz", ".zst", ".zstd")
GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
PARQUET_MAGIC = b"PAR1"
ZIP_MAGIC = b"PK\x03\x04"
OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
SQLITE_MAGIC = b"SQLite format 3\0"
FOREIGN = {
    ZIP_MAGIC: "a zip archive (or a spreadsheet)",
    OLE_MAGIC: "an old Office document (or a spreadsheet)",
    b"BZh": "bzip2 data",
    b"\xfd7zXZ\x00": "xz data",
    SQLITE_MAGIC[:15]: "an SQLite database",
    b"%PDF-": "a PDF document",
}

# Decompressed data is refused once it is both this long and this many times its compressed size.
UNPACKED_LIMIT = 64 << 20
UNPACKED_RATIO = 200

UNICODE = "unicode"
CHAOS = 0.4  # how strange a text may look to charset-normalizer, 0 to 1
BELIEVED = 0.55  # how strange the best candidate may look to both of us together
ENOUGH = 1 << 13  # bytes of lines that are not ASCII, by which their encoding is chosen
# The longer marks first: UTF-32's begins with UTF-16's.
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
# What text that is no Unicode may be in; of equal candidates the first is taken.
LEGACY = (
    *("cp1252", "iso8859_15", "cp1250", "iso8859_2", "cp1251", "koi8_r", "cp1253", "cp1254"),
    *("mac_roman", "cp850", "cp932", "euc_jp", "gb18030", "big5", "cp949"),
)
COMMON_ENCODINGS = (
    *("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "ascii", "latin-1"),
    *("iso-8859-1", "iso-8859-2", "iso-8859-15", "windows-1250", "windows-1251", "windows-1252"),
    *("windows-1253", "windows-1254", "koi8-r", "mac-roman", "cp437", "cp850", "shift_jis"),
    *("euc-jp", "gb18030", "gbk", "big5", "euc-kr", "cp949", *LEGACY),
)
NO_ENCODINGS = frozenset(
    {"idna", "punycode", "undefined", "unicode-escape", "unicode_escape", "raw-unicode-escape"}
    | {"raw_unicode_escape"}
)
# Western signs that stand beside letters in any honest text.
_SIGNS = frozenset("«»¿¡€£°§·²³½¼¾®©™–—\u2018’“”„…•×µªº\xb4\xa0")
# A sign between two letters, a control character, a line drawing, half a katakana: seldom meant.
_ODD = re.compile(
    r"(?<=[^\W\d_])[^\w\s\x00-\x7f’·](?=[^\W\d_])"
    r"|[\x80-\x9f\uff61-\uff9f\ue000-\uf8ff\u2500-\u25ffƒ]"
)
_FIX_ENCODING = "name the encoding, e.g. --encoding cp1252"


def plain_ending(name: str) -> str:
    """Return the ending of a name in small letters, without that of its compression.

    >>> plain_ending("Visits.CSV.gz"), plain_ending("notes")
    ('.csv', '')
    """
    name = name.lower()
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return os.path.splitext(name)[1]  # noqa: PTH122  (a text already)


class Readable(Protocol):
    """Anything with a bounded ``read``."""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes; none at the end."""
        ...


class Source:
    r"""The decompressed bytes of a file, or of standard input for ``-``, read once from the start.

    Data that the user names may also come from a named pipe, for which is waited; other files
    must be regular ones (``waits=False``).

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.txt.gz")
    ...     _ = path.write_bytes(gzip.compress(b"1 2\n3"))
    ...     with Source(path) as source:
    ...         source.compression, source.head, list(source.blocks())
    ('gzip', b'1 2\n3', [b'1 2\n3'])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.csv")
    ...     _ = path.write_bytes("Käse,Möhre\n".encode("cp1252"))
    ...     with Source(path, encoding=None) as source:
    ...         source.encoding, source.head.decode()
    ('cp1252', 'Käse,Möhre\n')
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        encoding: str | None = UNICODE,
        *,
        waits: bool = True,
    ) -> None:
        named = "" if encoding is None or encoding == UNICODE else checked_encoding(encoding)
        self.path = path
        self.waits = waits
        self.name = shown_name(path)
        self.is_stdin = os.fspath(path) == "-"
        self._raw = self._open()
        self.compression = ""
        self.encoding = ""
        self.encoding_why = ""
        self.notes: list[str] = []
        self._rest: Readable = self._raw
        try:
            head = self._fill(b"", HEAD)
            for magic, kind, opener in (
                (GZIP_MAGIC, "gzip", _gunzip),
                (ZSTD_MAGIC, "zstd", ZstdStream),
            ):
                if head.startswith(magic):
                    self.compression = kind
                    packed = _Counted(_Joined(head, self._raw))
                    self._rest = _Bounded(opener(packed), packed, self.name, kind)
                    head = self._fill(b"", HEAD)
                    break
            head = self._as_utf8(head, named, detect=encoding is None)
        except BaseException:
            self.close()
            raise
        self.head = head

    def _as_utf8(self, head: bytes, named: str, *, detect: bool) -> bytes:
        """Find the text's encoding and return the first bytes as UTF-8; a binary file stays."""
        if head.startswith((PARQUET_MAGIC, *FOREIGN)):
            return head
        if named:
            self.encoding, self.encoding_why = _with_byte_order(named, head), "as asked"
        else:
            self.encoding, self.encoding_why = _unicode(head)
            if detect and not self.encoding_why and b"\0" not in head:
                self.encoding, self.encoding_why = _legacy(head, self.name)
        if self.encoding not in {"utf-8", "utf-8-sig"}:
            self._rest = _Transcoded(_Joined(head, self._rest), self.encoding)
            head = self._fill(b"", HEAD)
        # The last byte of a head that is full may be the first half of a CRLF.
        if b"\n" not in head and b"\r" in (head[:-1] if len(head) >= HEAD else head):
            self.notes.append(
                "The lines end in carriage returns alone, as on old Macs; "
                "these were read as line ends."
            )
            self._rest = _ReturnsAsNewlines(_Joined(head, self._rest))
            head = self._fill(b"", HEAD)
        if len(head) >= HEAD and head.count(b"\n") < 3:
            head = self._fill(head, LONG_HEAD)
        return head

    def _open(self) -> BinaryIO:
        if self.is_stdin:
            return sys.stdin.buffer
        try:
            if Path(self.path).is_dir():
                raise InputError("this is a directory", where=self.name, fix="name a file in it")
            return Path(self.path).open("rb") if self.waits else open_file(self.path)
        except FileNotFoundError:
            raise InputError(
                "there is no such file", where=self.name, fix="check the path"
            ) from None
        except (OSError, ValueError) as error:
            raise InputError(
                f"cannot be opened: {_reason(error)}",
                where=self.name,
                fix="check the path and its permissions",
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if not self.is_stdin:
            self._raw.close()

    def _fill(self, start: bytes, size: int) -> bytes:
        """Read on until there are `size` bytes or nothing is left."""
        parts = [start]
        missing = size - len(start)
        while missing > 0:
            part = self._read(missing)
            if not part:
                break
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _read(self, size: int) -> bytes:
        try:
            return self._rest.read(size)
        except EOFError:
            raise InputError(
                f"the {self.compression} data ends too early",
                where=self.name,
                fix="fetch or compress the file again",
            ) from None
        except (OSError, ValueError, zlib.error) as error:
            kind = f"the {self.compression} data is damaged" if self.compression else "cannot read"
            raise InputError(
                f"{kind}: {_reason(error)}", where=self.name, fix="fetch or write the file again"
            ) from None

    def blocks(self, size: int = BLOCK, *, line_limit: int | None = None) -> Iterator[bytes]:
        """Yield all bytes in blocks of whole lines; only the last may lack its newline.

        A line that is longer than the limit is refused, as it must be held as a whole.
        """
        if line_limit is None:
            line_limit = PACKED_LINE_LIMIT if self.compression else LINE_LIMIT
        rest = self.head.removeprefix(BOM)
        self.head = b""
        while True:
            # A line longer than a block: read twice as much each time, so that the work stays
            # proportional to the file.
            block = self._fill(rest, max(size, 2 * len(rest)))
            if len(block) < max(size, 2 * len(rest)):
                if block:
                    yield block
                return
            cut = block.rfind(b"\n") + 1
            if cut:
                yield block[:cut]
            rest = block[cut:]
            check_size(len(rest), line_limit, where=self.name, what="a line of it holds at least")

    def read_all(self) -> bytes:
        """Return all bytes at once, within the limit for tables."""
        content = io.BytesIO()
        content.write(self.head)
        self.head = b""
        while part := self._read(BLOCK):
            content.write(part)
            check_size(content.tell(), TABLE_LIMIT, where=self.name, what="it holds at least")
        return content.getvalue()

    def refuse_foreign(self) -> None:
        """Say so when the first bytes are no text."""
        for magic, kind in FOREIGN.items():
            if self.head.startswith(magic):
                raise InputError(
                    f"this is {kind}",
                    where=self.name,
                    fix="give text or Parquet, plain or compressed with gzip or zstd",
                )
        if not self.head:
            raise InputError("there is nothing in it", where=self.name, fix="give a file with data")
        place = self.head.find(b"\0")
        if place >= 0:
            raise InputError(
                f"this is a binary file: byte {place + 1} is zero",
                where=self.name,
                fix="give text or Parquet, plain or compressed with gzip or zstd",
            )


class _Joined:
    """Bytes already read, then the rest of the stream they came from."""

    def __init__(self, start: bytes, rest: Readable) -> None:
        self._start = start
        self._rest = rest

    def read(self, size: int = -1, /) -> bytes:
        if not self._start:
            return self._rest.read(size)
        size = len(self._start) if size < 0 else size
        part, self._start = self._start[:size], self._start[size:]
        return part


class _Counted:
    """A stream that knows how many bytes were taken from it."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self.total = 0

    def read(self, size: int = -1, /) -> bytes:
        part = self._stream.read(size)
        self.total += len(part)
        return part


class _Bounded:
    """Decompressed bytes, refused when far more come out than compressed data should hold."""

    def __init__(self, stream: Readable, packed: _Counted, name: str, kind: str) -> None:
        self._stream = stream
        self._packed = packed
        self._name = name
        self._kind = kind
        self._total = 0

    def read(self, size: int, /) -> bytes:
        part = self._stream.read(size)
        self._total += len(part)
        if self._total > max(UNPACKED_LIMIT, UNPACKED_RATIO * self._packed.total):
            tool = "gunzip" if self._kind == "gzip" else "zstd -d"
            raise InputError(
                f"{self._packed.total:,} bytes of {self._kind} data became {self._total:,}, more "
                f"than {UNPACKED_RATIO} times as many: this may be a "
                "decompression bomb",
                where=self._name,
                fix=f"if you trust the file, decompress it yourself ({tool}) and read the result",
            )
        return part


class _Transcoded:
    """Text of any encoding as UTF-8.

    A byte that does not decode becomes the surrogate U+DC00 + byte. No valid UTF-8 holds that, so
    that whoever reads lines meets it there and can say in which line and column it stands.
    """

    def __init__(self, stream: Readable, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)(MARKED)
        self._ready = b""
        self._begun = False
        self._ended = False

    def read(self, size: int, /) -> bytes:
        while not self._ready and not self._ended:
            part = self._stream.read(size)
            self._ended = not part
            text = self._decoder.decode(part, final=self._ended)
            if text and not self._begun:
                self._begun = True
                text = text.removeprefix("\ufeff")
            self._ready = text.encode("utf-8", "surrogatepass")
        part, self._ready = self._ready[:size], self._ready[size:]
        return part


class _ReturnsAsNewlines:
    """Text with every carriage return, and every pair of it and a newline, as a newline."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._returned = False  # the last byte so far was a carriage return

    def read(self, size: int, /) -> bytes:
        while True:
            part = self._stream.read(size)
            whole = part.removeprefix(b"\n") if self._returned else part
            if part:
                self._returned = part.endswith(b"\r")
            if whole or not part:
                return whole.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _gunzip(stream: Readable) -> Readable:
    return gzip.GzipFile(fileobj=stream)  # type: ignore[call-overload, no-any-return]


class ZstdStream:
    """Decompressed bytes of a zstd stream of one or more frames.

    The library's own reader takes a frame that is cut off for the end of the data; here it is an
    error.

    >>> import io, zstandard
    >>> ZstdStream(io.BytesIO(zstandard.compress(b"1 2"))).read(10)
    b'1 2'
    """

    def __init__(self, stream: Readable) -> None:
        import zstandard

        self._stream = stream
        self._fresh: Callable[[], zstandard.ZstdDecompressionObj] = (
            zstandard.ZstdDecompressor().decompressobj
        )
        self._error = zstandard.ZstdError
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._ready = b""
        self._waiting = b""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes; none at the end."""
        while not self._ready:
            given = self._waiting or self._stream.read(ZSTD_STEP)
            self._waiting = b""
            if not given:
                if self._frame is not None:
                    raise EOFError
                return b""
            if self._frame is None:
                self._frame = self._fresh()
            try:
                self._ready = self._frame.decompress(given)
            except self._error as error:
                raise ValueError(str(error)) from None
            if self._frame.eof:
                self._waiting = self._frame.unused_data
                self._frame = None
        part, self._ready = self._ready[:size], self._ready[size:]
        return part


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


# --- encodings --------------------------------------------------------------------------------

MARKED = "setveil.marked"


def _mark_bytes(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(chr(0xDC00 + byte) for byte in wrong), error.end


codecs.register_error(MARKED, _mark_bytes)


def checked_encoding(name: str) -> str:
    """Return an encoding's usual name, or say what may have been meant.

    >>> checked_encoding("Latin1"), checked_encoding("UTF8")
    ('iso8859-1', 'utf-8')
    >>> checked_encoding("windows-1525")
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: there is no encoding called 'windows-1525'. To fix: use ...
    """
    try:
        found = codecs.lookup(name)
        # Python also calls base64 or zlib codecs; none of them makes text of bytes.
        known = found._is_text_encoding and found.name not in NO_ENCODINGS  # noqa: SLF001
    except (LookupError, ValueError):
        known = False
    if not known:
        near = difflib.get_close_matches(name.lower(), COMMON_ENCODINGS, n=3, cutoff=0.5)
        raise ParameterError(
            f"there is no encoding called {name!r}",
            fix=f"use {' or '.join(near or ['utf-8', 'cp1252', 'utf-16'])}",
        )
    return found.name


def _with_byte_order(name: str, head: bytes) -> str:
    """Return the encoding with its byte order, where a mark tells it."""
    for mark, marked in MARKS.items():
        if head.startswith(mark) and marked.startswith(name):
            return marked
    return name


def _unicode(head: bytes) -> tuple[str, str]:
    """Return which Unicode encoding it is and why; UTF-8 without a reason if none fits."""
    for mark, encoding in MARKS.items():
        if head.startswith(mark):
            kind = encoding.removesuffix("-sig").upper()
            return encoding, f"it begins with the byte order mark of {kind}"
    for encoding, zeros, others in (
        ("utf-16-le", head[1::2].count(0), head[::2].count(0)),
        ("utf-16-be", head[::2].count(0), head[1::2].count(0)),
    ):
        if zeros > max(2, len(head) // 100, 50 * others) and _is_printable(head, encoding):
            return encoding, "every other byte of its plain characters is zero"
    if not _decodes(head, "utf-8"):
        return "utf-8", "it is UTF-8 but for a few bytes" if _is_mostly_utf8(head) else ""
    return (
        "utf-8",
        "it is plain ASCII so far" if head.isascii() else "it is valid UTF-8 so far",
    )


def _is_printable(head: bytes, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        text = decoder.decode(head, final=len(head) < HEAD)
    except UnicodeDecodeError:
        return False
    return re.sub(r"\s", "", text).isprintable()


def _is_mostly_utf8(head: bytes) -> bool:
    """Tell damaged UTF-8 from another encoding, whose letters hardly ever form UTF-8's pairs."""
    wrong = head.decode("utf-8", MARKED)
    marks = sum("\udc00" <= letter <= "\udcff" for letter in wrong)
    return sum(letter > "\x7f" for letter in wrong) - marks > 3 * marks


def _legacy(head: bytes, name: str) -> tuple[str, str]:
    """Return the likeliest encoding of text that is no Unicode, by what its letters look like."""
    from charset_normalizer import from_bytes

    sample = _foreign_lines(head)
    matches = from_bytes(sample, cp_isolation=list(LEGACY), threshold=CHAOS, enable_fallback=False)
    chaos = {name: match.chaos for match in matches for name in match.could_be_from_charset}
    rated = [
        (round(_oddness(sample.decode(encoding, "replace")) + chaos.get(encoding, CHAOS), 3), rank)
        for rank, encoding in enumerate(LEGACY)
        if _decodes(head, encoding)
    ]
    if not rated or min(rated)[0] > BELIEVED:
        raise InputError(
            "the text is neither UTF-8 nor in another encoding that can be told from its letters",
            where=name,
            fix=_FIX_ENCODING,
        )
    best, place = min(rated)
    western = min((odd for odd, rank in rated if rank == 0), default=best + 1)
    encoding = LEGACY[0] if western <= best + 0.03 else LEGACY[place]
    return encoding, f"it is not UTF-8, and its letters look like {encoding}"


def _foreign_lines(head: bytes) -> bytes:
    """Return the first lines that are not ASCII, cut in no character."""
    lines = head.splitlines(keepends=True)
    if len(lines) > 1 and len(head) >= HEAD:
        lines.pop()
    chosen: list[bytes] = []
    size = 0
    for line in lines:
        if size > ENOUGH:
            break
        if not line.isascii():
            chosen.append(line)
            size += len(line)
    return b"".join(chosen) or head


def _decodes(head: bytes, encoding: str) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(head, final=len(head) < HEAD)
    except UnicodeDecodeError:
        return False
    return True


def _oddness(text: str) -> float:
    """Return how much of what is not ASCII looks as if it were decoded wrongly, 0 to about 1."""
    odd = float(len(_ODD.findall(text)))
    letters = 0
    for before, letter, after in zip(" " + text, text, text[1:] + " ", strict=False):
        if letter <= "\x7f":
            continue
        letters += 1
        if letter.isupper():
            inside = before.islower() or (before.isalpha() and after.islower())
            odd += 1.25 if inside else 0.25
        elif not letter.isalpha() and letter not in _SIGNS:
            odd += 0.25
    return odd / max(letters, 1)


# --- lines ------------------------------------------------------------------------------------


def small_or_not(blocks: Iterable[bytes], limit: int) -> tuple[Iterator[bytes], bool]:
    """Return the blocks, and whether they hold no more than so many bytes together.

    >>> blocks, is_small = small_or_not([b"ab", b"c", b"d"], 2)
    >>> is_small, list(blocks)
    (False, [b'ab', b'c', b'd'])
    """
    rest = iter(blocks)
    start: list[bytes] = []
    size = 0
    while size <= limit and (block := next(rest, b"")):
        start.append(block)
        size += len(block)
    return chain(start, rest), size <= limit


def text_lines(source: Source, problems: Problems) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line, without its newline."""
    number = 0
    for block in source.blocks():
        yield from block_lines(block, number, problems, source.encoding)
        number += block.count(b"\n")


def block_lines(
    block: bytes, before: int, problems: Problems, encoding: str = "utf-8"
) -> Iterator[tuple[int, str]]:
    r"""Yield number and text of each line of a block that follows `before` lines.

    `encoding` is what the text was in before it became UTF-8: errors name it.

    >>> from setveil.core.errors import Problems
    >>> list(block_lines(b"a\nb", 7, Problems(name="x")))
    [(8, 'a'), (9, 'b')]
    """
    text = decode_block(block)
    if text is not None:
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        yield from enumerate(lines, before + 1)
        return
    raw_lines = block.split(b"\n")
    if not raw_lines[-1]:
        raw_lines.pop()
    for number, raw in enumerate(raw_lines, before + 1):
        line = decode_block(raw)
        if line is None:
            _report_bytes(raw, number, problems, encoding)
        else:
            yield number, line


def decode_block(raw: bytes) -> str | None:
    """Return the text of bytes that are valid UTF-8 without a zero byte."""
    if b"\0" in raw:
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _report_bytes(raw: bytes, line: int, problems: Problems, encoding: str) -> None:
    zero = raw.find(b"\0")
    try:
        raw.decode()
        place = zero
    except UnicodeDecodeError as error:
        place = error.start if zero < 0 else min(zero, error.start)
    column = len(raw[:place].decode()) + 1
    around = raw[max(place - 20, 0) : place + 20]
    if place == zero:
        what = "holds a zero byte"
        fix = "write the file again as text, or name its encoding, e.g. --encoding utf-16-le"
    elif encoding in {"", "utf-8", "utf-8-sig"}:
        what, fix = f"is not UTF-8 (byte 0x{raw[place]:02x})", _FIX_ENCODING
    else:
        # The byte itself stands in the surrogate that `_Transcoded` left for it.
        byte = ord(raw[place : place + 3].decode("utf-8", "surrogatepass")) - 0xDC00
        what = f"is not {encoding} (byte 0x{byte:02x})"
        fix = "name the encoding that the file is in, e.g. --encoding cp1252"
        around = b"%b\\x%02x%b" % (raw[max(place - 20, 0) : place], byte, raw[place + 3 :][:20])
    problems.add(
        what,
        line=line,
        column=column,
        text=around.decode(errors="backslashreplace"),
        fix=fix,
    )
