"""Bytes and lines of a file or of standard input, decompressed on the way."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, Self

from setveil.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from setveil.data.problems import Problems

BLOCK = 1 << 20
HEAD = 1 << 16
ZSTD_STEP = 1 << 10  # a compressed byte can stand for 32 kB: small steps bound what comes out
BOM = b"\xef\xbb\xbf"

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
PARQUET_MAGIC = b"PAR1"
FOREIGN = {
    b"PK\x03\x04": "a zip archive (or a spreadsheet)",
    b"BZh": "bzip2 data",
    b"\xfd7zXZ\x00": "xz data",
    b"SQLite format 3": "an SQLite database",
    b"%PDF-": "a PDF document",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}


class Readable(Protocol):
    """Anything with a bounded ``read``."""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes; none at the end."""
        ...


def shown_name(path: str | os.PathLike[str]) -> str:
    """Return how a path is written in messages.

    >>> shown_name("-")
    'standard input'
    """
    name = os.fspath(path)
    # A file name need not be valid Unicode; a message must be.
    return "standard input" if name == "-" else name.encode("utf-8", "backslashreplace").decode()


class Source:
    r"""The decompressed bytes of a file, or of standard input for ``-``, read once from the start.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.txt.gz")
    ...     _ = path.write_bytes(gzip.compress(b"1 2\n3"))
    ...     with Source(path) as source:
    ...         source.compression, source.head, list(source.blocks())
    ('gzip', b'1 2\n3', [b'1 2\n3'])
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        self.name = shown_name(path)
        self.is_stdin = os.fspath(path) == "-"
        self._raw = self._open()
        self.compression = ""
        self._rest: Readable = self._raw
        try:
            head = self._fill(b"", HEAD)
            for magic, kind, opener in (
                (GZIP_MAGIC, "gzip", _gunzip),
                (ZSTD_MAGIC, "zstd", ZstdStream),
            ):
                if head.startswith(magic):
                    self.compression = kind
                    self._rest = opener(_Joined(head, self._raw))
                    head = self._fill(b"", HEAD)
                    break
        except BaseException:
            self.close()
            raise
        self.head = head

    def _open(self) -> BinaryIO:
        if self.is_stdin:
            return sys.stdin.buffer
        try:
            if Path(self.path).is_dir():
                raise InputError("this is a directory", where=self.name, fix="name a file in it")
            return Path(self.path).open("rb")
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

    def blocks(self, size: int = BLOCK) -> Iterator[bytes]:
        """Yield all bytes in blocks of whole lines; only the last may lack its newline."""
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

    def read_all(self) -> bytes:
        """Return all bytes at once."""
        start, self.head = self.head, b""
        return b"".join([start, *iter(lambda: self._read(BLOCK), b"")])

    def refuse_foreign(self) -> None:
        """Say so when the first bytes are no text."""
        for magic, kind in FOREIGN.items():
            if self.head.startswith(magic):
                raise InputError(
                    f"this is {kind}",
                    where=self.name,
                    fix="give UTF-8 text or Parquet, plain or compressed with gzip or zstd",
                )
        if not self.head:
            raise InputError("there is nothing in it", where=self.name, fix="give a file with data")
        place = self.head.find(b"\0")
        if place >= 0:
            raise InputError(
                f"this is a binary file: byte {place + 1} is zero",
                where=self.name,
                fix="give UTF-8 text or Parquet, plain or compressed with gzip or zstd",
            )


class _Joined:
    """Bytes already read, then the rest of the stream they came from."""

    def __init__(self, start: bytes, rest: BinaryIO) -> None:
        self._start = start
        self._rest = rest

    def read(self, size: int = -1, /) -> bytes:
        if not self._start:
            return self._rest.read(size)
        size = len(self._start) if size < 0 else size
        part, self._start = self._start[:size], self._start[size:]
        return part


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
        import zstandard  # noqa: PLC0415  (only when there is something to decompress)

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


def text_lines(source: Source, problems: Problems) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line, without its newline."""
    number = 0
    for block in source.blocks():
        yield from block_lines(block, number, problems)
        number += block.count(b"\n")


def block_lines(block: bytes, before: int, problems: Problems) -> Iterator[tuple[int, str]]:
    r"""Yield number and text of each line of a block that follows `before` lines.

    >>> from setveil.data.problems import Problems
    >>> list(block_lines(b"a\nb", 7, Problems(name="x")))
    [(8, 'a'), (9, 'b')]
    """
    text = _decoded(block)
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
        line = _decoded(raw)
        if line is None:
            _report_bytes(raw, number, problems)
        else:
            yield number, line


def _decoded(raw: bytes) -> str | None:
    """Return the text of bytes that are valid UTF-8 without a zero byte."""
    if b"\0" in raw:
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _report_bytes(raw: bytes, line: int, problems: Problems) -> None:
    zero = raw.find(b"\0")
    try:
        raw.decode()
        place = zero
    except UnicodeDecodeError as error:
        place = error.start if zero < 0 else min(zero, error.start)
    column = len(raw[:place].decode()) + 1
    around = raw[max(place - 20, 0) : place + 20].decode(errors="backslashreplace")
    what = "holds a zero byte" if place == zero else f"is not UTF-8 (byte 0x{raw[place]:02x})"
    problems.add(
        what,
        line=line,
        column=column,
        text=around,
        fix="convert the file to UTF-8 text",
    )
