"""Damaged Parquet files, made from whole ones: bytes, footers, page headers and page contents.

``python -m tests.adversarial.parquet_mutations FIRST LAST`` reads the damaged files of these
numbers as `setveil.core.parquet` does, and writes the number at hand to stdout before each, so
that whoever started it knows which one ended the process.
"""

import io
import random
import resource
import sys
from contextlib import suppress
from functools import cache

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from setveil.core.errors import InputError
from setveil.core.parquet import parquet_blocks, read_parquet
from setveil.release.data_file import long_frame

INTERESTING = (
    *(-1, 0, 1, 2, 3, 5, 6, 7, 8, 9, 15, 16, 127, 128, 255, 256, 1000, 4096, 65535, 65536),
    *(2**20, 2**24, 2**30, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**62, 2**63 - 1, -(2**63)),
    *(-(2**31), -2, 300_000_000),
)
INTEGERS = {4, 5, 6}


# --- Thrift's compact protocol, both ways: a structure is a list of [field, type, value] ---------


class Reader:
    def __init__(self, data, place=0):
        self.data, self.place = data, place

    def byte(self):
        self.place += 1
        return self.data[self.place - 1]

    def varint(self):
        number = shift = 0
        while True:
            byte = self.byte()
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def struct(self):
        fields, field = [], 0
        while kind := self.byte():
            step, kind = kind >> 4, kind & 15
            field = field + step if step else unzigzag(self.varint())
            fields.append([field, kind, self.value(kind)])
        return fields

    def value(self, kind):  # noqa: PLR0911  (one per type)
        if kind in {1, 2}:
            return kind
        if kind in INTEGERS:
            return unzigzag(self.varint())
        if kind == 3:
            return self.byte()
        if kind == 7:
            return self.take(8)
        if kind == 8:
            return self.take(self.varint())
        if kind == 9:
            size, kind = divmod(self.byte(), 16)
            size = self.varint() if size == 15 else size
            return [kind, [self.value(kind) for _ in range(size)]]
        assert kind == 12
        return self.struct()

    def take(self, size):
        self.place += size
        return self.data[self.place - size : self.place]


def unzigzag(number):
    return number >> 1 ^ -(number & 1)


def varint(number):
    out = bytearray()
    number &= (1 << 64) - 1
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def packed(kind, value):  # noqa: PLR0911  (one per type)
    if kind in {1, 2}:
        return b""
    if kind in INTEGERS:
        return varint(value << 1 ^ value >> 63)
    if kind == 3:
        return bytes([value & 255])
    if kind == 7:
        return value
    if kind == 8:
        return varint(len(value)) + value
    if kind == 9:
        inner, values = value
        head = bytes([len(values) << 4 | inner]) if len(values) < 15 else bytes([0xF0 | inner])
        head += b"" if len(values) < 15 else varint(len(values))
        return head + b"".join(
            bytes([each]) if inner in {1, 2} else packed(inner, each) for each in values
        )
    return packed_struct(value)


def packed_struct(fields):
    out = b""
    for field, kind, value in fields:
        true_kind = value if kind in {1, 2} else kind
        out += bytes([true_kind]) + varint(field << 1) + packed(kind, value)
    return out + b"\0"


def numbers_in(fields):
    """Yield every place of a number or a text in a structure, as what holds it and where."""
    for each in fields:
        if each[1] in INTEGERS or each[1] in {1, 2, 8}:
            yield each, 2
        elif each[1] == 12:
            yield from numbers_in(each[2])
        elif each[1] == 9:
            inner, values = each[2]
            for at, value in enumerate(values):
                if inner == 12:
                    yield from numbers_in(value)
                elif inner in INTEGERS or inner == 8:
                    yield values, at


def get(fields, number):
    return next((each[2] for each in fields if each[0] == number), None)


def put(fields, number, value):
    for each in fields:
        if each[0] == number:
            each[2] = value


class Parts:
    """A Parquet file as its footer and the pages of its columns."""

    def __init__(self, data):
        end = len(data) - 8
        size = int.from_bytes(data[end : end + 4], "little")
        self.footer = Reader(data, end - size).struct()
        self.chunks = []  # what the footer says, and a list of pages: header and body
        for group in get(self.footer, 4)[1]:
            for chunk in get(group, 1)[1]:
                about = get(chunk, 3)
                place = get(about, 11) or get(about, 9)
                last = place + get(about, 7)
                pages = []
                while place < last:
                    reader = Reader(data, place)
                    header = reader.struct()
                    pages.append([header, reader.take(get(header, 3))])
                    place = reader.place
                self.chunks.append((about, pages))

    def content(self):
        """Return the file, with the places and sizes in its footer as they now are."""
        out = b"PAR1"
        for about, pages in self.chunks:
            start, before = len(out), []
            for header, body in pages:
                # The first page that is not the dictionary, wherever it now stands.
                if get(header, 1) != 2 and not any(get(each, 1) != 2 for each in before):
                    put(about, 9, len(out))
                before.append(header)
                out += packed_struct(header) + body
            if get(about, 11) is not None:
                put(about, 11, start)
            put(about, 7, len(out) - start)
        return out

    def whole(self, body):
        footer = packed_struct(self.footer)
        return body + footer + len(footer).to_bytes(4, "little") + b"PAR1"


# --- whole files ---------------------------------------------------------------------------------


@cache
def whole_files():
    """Return Parquet files of many kinds: what setveil, polars, Arrow and Spark write."""
    files = []
    offsets = np.array([0, 2, 2, 5, 6])
    frame = long_frame(offsets, np.array([0, 1, 0, 1, 2, 2], dtype=np.int32), ["a", "bb", "x" * 40])
    lists = pl.DataFrame({"items": [["a", "b"], [], ["c" * 20]] * 9})
    wide = pa.table(
        {
            "n": pa.array([1, None, 3] * 30),
            "t": pa.array(["flu", "gout", None] * 30),
            "b": pa.array([True, None, False] * 30),
            "f": pa.array([1.5, 2.5, None] * 30),
            "l": pa.array([["a", None], [], None] * 30),
            "s": pa.array([{"a": 1, "b": ["x"]}] * 90),
            "x": pa.array([b"abc", None, b"def"] * 30, pa.binary(3)),
            "d": pa.array([1, 2, None] * 30, pa.date32()),
        }
    )
    for each in (frame, lists):
        for compression in ("zstd", "uncompressed"):
            sink = io.BytesIO()
            each.write_parquet(sink, compression=compression, statistics=compression != "zstd")
            files.append(sink.getvalue())
    deltas = {"n": "DELTA_BINARY_PACKED", "t": "DELTA_BYTE_ARRAY", "f": "BYTE_STREAM_SPLIT"}
    for extra in (
        {"compression": "none"},
        {"compression": "zstd", "data_page_version": "2.0"},
        {"compression": "none", "use_dictionary": False, "column_encoding": deltas},
        {
            "compression": "none",
            "use_dictionary": False,
            "column_encoding": {"t": "DELTA_LENGTH_BYTE_ARRAY"},
        },
        {"compression": "none", "store_schema": False, "row_group_size": 20},
        {"compression": "snappy"},
    ):
        sink = io.BytesIO()
        pq.write_table(wide, sink, **extra)
        files.append(sink.getvalue())
    for data in files:
        parts = Parts(data)
        assert pl.read_parquet(io.BytesIO(parts.whole(parts.content()))).equals(
            pl.read_parquet(io.BytesIO(data))
        )
    return files


# --- damage --------------------------------------------------------------------------------------


def damaged(number):
    """Return the damaged file of a number: the same one each time."""
    rng = random.Random(number)
    data = rng.choice(whole_files())
    return rng.choice((_bytes, _footer_bytes, _footer, _headers, _headers, _bodies, _bodies))(
        data, rng
    )


def _other_bytes(data, rng, low, high):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        place = rng.randrange(low, high)
        data[place] = rng.choice((0, 1, 127, 128, 255, data[place] ^ 1 << rng.randrange(8)))
    return bytes(data)


def _bytes(data, rng):
    if rng.random() < 0.1:
        return data[: rng.randrange(len(data))] + data[len(data) - rng.randrange(1, 600) :]
    return _other_bytes(data, rng, 0, len(data))


def _footer_bytes(data, rng):
    size = int.from_bytes(data[-8:-4], "little")
    return _other_bytes(data, rng, len(data) - 8 - size, len(data))


def _changed(fields, rng):
    places = list(numbers_in(fields))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        holder, at = rng.choice(places)
        value = holder[at]
        if isinstance(value, bytes):
            holder[at] = _other_bytes(value, rng, 0, len(value)) if value else b"x"
        elif at == 2 and len(holder) == 3 and holder[1] in {1, 2}:
            holder[at] = rng.choice((1, 2))
        else:
            near = (value + 1, value - 1, value * 2, value * 1000, value // 2)
            holder[at] = max(-(2**63), min(2**63 - 1, rng.choice((*INTERESTING, *near))))
    if rng.random() < 0.1 and fields:
        fields.remove(rng.choice(fields))


def _footer(data, rng):
    parts = Parts(data)
    body = parts.content()
    _changed(parts.footer, rng)
    return parts.whole(body)


def _headers(data, rng):
    parts = Parts(data)
    _, pages = rng.choice(parts.chunks)
    _changed(rng.choice(pages)[0], rng)
    about = rng.choice(parts.chunks)[0]
    body = parts.content()
    if rng.random() < 0.5:  # so that the column says the same as its page
        put(about, 5, rng.choice(INTERESTING))
        put(about, 6, 2**40)
    return parts.whole(body)


def _bodies(data, rng):
    """Change what stands in a page, also in a compressed one, and keep all sizes right."""
    parts = Parts(data)
    about, pages = rng.choice(parts.chunks)
    page = rng.choice(pages)
    header, body = page
    codec, levels = get(about, 4), get(header, 8)
    if codec == 6 and levels is None:
        body = zstandard.decompress(body)
    if not body:
        return data
    before = len(body)
    body = _other_bytes(body, rng, 0, rng.choice((min(12, before), before)))
    if rng.random() < 0.3:
        place = rng.randrange(before)
        some = varint(rng.choice(INTERESTING)) + bytes(rng.randrange(4))
        body = body[:place] + some + body[place + rng.randrange(8) :]
    put(header, 2, len(body))
    put(about, 6, get(about, 6) + max(len(body) - before, 0))
    if codec == 6 and levels is None:
        body = zstandard.compress(body)
    page[1] = body
    put(header, 3, len(body))
    return parts.whole(parts.content())


def main(first, last):
    whole_files()
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    for number in range(first, last):
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        data = damaged(number)
        with suppress(ValueError, InputError):
            read_parquet(data)
        with suppress(ValueError, InputError):
            list(parquet_blocks(data, {"record": pl.Int64, "item": pl.String}, 4))
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
