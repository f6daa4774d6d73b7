"""How inputs are changed: bytes, trees of JSON, arrays of NumPy in archives, and TOML."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

LARGEST = 1 << 16
"""Bytes of a part that is changed."""

TOKENS = (
    *(b'"', b'""', b"'", b",", b";", b"\t", b"|", b"::", b" ", b"\n", b"\r", b"\r\n", b"\n\n"),
    *(b"\0", b"\0\0\0\0", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff", b"\xc3", b"\xa0"),
    *(b"-1", b"-2", b" -1 -2\n", b"@ITEM=", b"@ITEM=1=x\n", b"@CONVERTED_FROM_TEXT\n", b"=", b"#"),
    *(b"0", b"1", b"00", b"9" * 18, b"9" * 19, b"9" * 400, b"1e999", b"NaN", b"-0", b"1.5"),
    *(b"[", b"]", b"{", b"}", b"[" * 3000, b'{"a":' * 500, b"[]", b"{}", b"null", b"true"),
    *(b'"items":', b'"items":[', b"\\ud800", b"\\udc80", b"\\u0000", b"\\", b"\xed\xa0\x80"),
    *(b"sep=;\n", b"id,item\n", b"id", b"item", b"Name", b"Total", b"<html>", b"<!DOCTYPE x>"),
    *(b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1", b"PK\x03\x04", b"PK\x01\x02", b"%PDF-", b"BZh"),
    *("é".encode(), "İ".encode(), "ﬀ".encode(), "\u202e".encode(), "\u2028".encode(), b"\x85"),
    *("\U0001d7d9".encode(), "٣".encode(), "²".encode(), b"\x0b", b"\x0c", b"\x1c", b"\x7f"),
    *(b"x" * 5000, b"," * 300, b"a," * 300, b'"' * 301, b"\n" * 300, b"1 " * 300, b" " * 2000),
    *(b'","' * 100, b"9" * 5000, b"\x1b[2J", b"=cmd", b"-" * 3000, b"a." * 3000, b"+" * 300),
    *(b"\xff\xff\xff\xff", b"\x80\x80\x80\x80\x10", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80"),
)
ENCODINGS = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "cp1252", "cp500", "big5")


# --- Bytes ---------------------------------------------------------------------------------------


def change_bytes(content: bytes, draw: random.Random, others: Sequence[bytes]) -> bytes:
    """Return bytes after one to four changes; `others` are spliced in."""
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        content = draw.choice(CHANGES)(content, draw, others)[:LARGEST]
    return content


def flip(content: bytes, draw: random.Random, _: Sequence[bytes] = ()) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 2, 8))):
        if changed:
            place = draw.randrange(len(changed))
            flipped = changed[place] ^ 1 << draw.randrange(8)
            changed[place] = draw.choice((flipped, draw.randrange(256)))
    return bytes(changed)


def _cut(content: bytes, draw: random.Random, _: Sequence[bytes]) -> bytes:
    place = draw.randint(0, len(content))
    return content[:place] if draw.random() < 0.8 else content[place:]


def _shuffle_lines(content: bytes, draw: random.Random, _: Sequence[bytes]) -> bytes:
    lines = content.split(b"\n")
    place = draw.randrange(len(lines))
    kind = draw.randrange(4)
    if kind == 0:
        draw.shuffle(lines)
    elif kind == 1:
        lines[place:place] = [lines[place]] * draw.choice((1, 2, 50))
    elif kind == 2:
        del lines[place]
    else:
        lines.insert(place, draw.choice(lines) + draw.choice(lines))
    return b"\n".join(lines)


def _move_bytes(content: bytes, draw: random.Random, _: Sequence[bytes]) -> bytes:
    start = draw.randint(0, len(content))
    end = min(start + draw.choice((1, 2, 4, 16, 200)), len(content))
    piece = content[start:end]
    kind = draw.randrange(4)
    if kind == 0:
        return content[:start] + content[end:]
    if kind == 1:
        return content[:end] + piece * draw.choice((1, 3, 40)) + content[end:]
    if kind == 2:
        mixed = bytearray(piece)
        draw.shuffle(mixed)
        return content[:start] + bytes(mixed) + content[end:]
    place = draw.randint(0, len(content))
    return content[:place] + piece + content[place:]


def _splice(content: bytes, draw: random.Random, others: Sequence[bytes]) -> bytes:
    other = draw.choice(others) if others else content
    start = content[: draw.randint(0, len(content))]
    return start + other[draw.randint(0, len(other)) :]


def _insert(content: bytes, draw: random.Random, _: Sequence[bytes]) -> bytes:
    for _ in range(draw.choice((1, 1, 3))):
        token = draw.choice(TOKENS)
        place = draw.choice((0, len(content), draw.randint(0, len(content))))
        over = draw.choice((0, 0, len(token)))
        content = content[:place] + token + content[place + over :]
    return content


def _swap_signs(content: bytes, draw: random.Random, _: Sequence[bytes]) -> bytes:
    signs = (b",", b";", b"\t", b'"', b"\n", b"\r\n", b" ", b"0", b"1", b"e", b"[", b"id")
    return content.replace(draw.choice(signs), draw.choice((*signs, b"")), draw.choice((1, -1)))


def _recode(content: bytes, draw: random.Random, _: Sequence[bytes]) -> bytes:
    text = content.decode(draw.choice(("utf-8", "latin-1")), "replace")
    return text.encode(draw.choice(ENCODINGS), "replace")


CHANGES = (
    *(flip, flip, _cut, _shuffle_lines, _shuffle_lines, _move_bytes, _move_bytes, _splice),
    *(_insert, _insert, _insert, _swap_signs, _recode),
)


# --- Trees of JSON -------------------------------------------------------------------------------


class Raw(str):
    """A piece of text that stands in JSON or TOML as it is, such as a number of 5,000 digits."""

    __slots__ = ()


VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 7, 255, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, -(2**63)),
    *(2**64, 10**30, 10**400, 0.0, -0.0, 0.5, 1.5, -2.5, 1e308, 5e-324, 1e-9, "", "x", "a", "flu"),
    *("1", "1/2", "0.5", "nan", "\0", "\n", "é", "\ud800", "a\udc80", "\U0001f600", "\x1b[31m"),
    *("x" * 3000, "../x", "/dev/zero", "=cmd", "(flu, gout)", "[]", "null", "-", "inf", "1e9"),
    *([], {}, [[]], [None], {"": None}, [0], [1, 2], ["flu"], ["flu", "flu"], {"a": 1}, [[0, 1]]),
    *(Raw("NaN"), Raw("Infinity"), Raw("-Infinity"), Raw("1e999"), Raw("-1e999"), Raw("1e-999")),
    *(Raw("9" * 5000), Raw("-" + "9" * 5000), Raw("[" * 3000 + "]" * 3000), Raw("0." + "1" * 5000)),
    *(Raw('{"a":' * 3000 + "1" + "}" * 3000), Raw("[" * 60 + "]" * 60), Raw("[" * 100_000)),
)
DEEP = frozenset(value for value in VALUES if isinstance(value, Raw) and len(value) > 1000)
MARK = "\x02raw{}\x02"


def change_tree(tree: Any, draw: random.Random, *, changes: int | None = None) -> Any:
    """Return a tree of JSON values after one to four changes."""
    root = [copy.deepcopy(tree)]
    for _ in range(draw.choice((1, 1, 1, 2, 4)) if changes is None else changes):
        _change_place(root, draw)
    return root[0]


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Return every container with every key or index in it."""
    found: list[tuple[Any, Any]] = []
    held = [tree]
    while held:
        each = held.pop()
        keys = range(len(each)) if isinstance(each, list) else list(each)
        for key in keys:
            found.append((each, key))
            if isinstance(each[key], list | dict) and len(found) < 5000:
                held.append(each[key])
    return found


def _change_place(root: list[Any], draw: random.Random) -> None:
    places = _places(root)
    holder, key = draw.choice(places)
    value = holder[key]
    kind = draw.randrange(12)
    if kind <= 3:
        holder[key] = copy.deepcopy(draw.choice(VALUES))
    elif kind == 4:  # a reference to something else
        other, there = draw.choice(places)
        holder[key] = copy.deepcopy(other[there])
    elif kind == 5 and holder is not root:
        del holder[key]
    elif kind == 6 and isinstance(holder, list) and holder is not root:
        holder[key:key] = [copy.deepcopy(value)] * draw.choice((1, 1, 2, 300))
    elif kind == 7 and isinstance(value, list):
        draw.shuffle(value) if draw.random() < 0.5 else value.append(draw.choice(VALUES))
    elif kind == 8 and isinstance(value, dict):
        value[draw.choice(("", "x", "\ud800", "parent", *value))] = draw.choice(VALUES)
    elif kind == 9 and isinstance(holder, dict):
        name = draw.choice(("x", f"{key}x", key.upper(), "\ud800"))
        holder[name] = holder.pop(key)
    else:
        holder[key] = _near(value, draw)


def _near(value: Any, draw: random.Random) -> Any:
    """Return a value that is almost this one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return draw.choice((value + 1, value - 1, -value, value * 2, str(value)[:9], [value]))
    if isinstance(value, str):
        odd = draw.choice(("\ud800", "\0", "\u202e", " ", "x" * 500, "é", ""))
        place = draw.randint(0, len(value))
        return draw.choice((value[:place] + odd + value[place:], odd, value[:place]))
    return draw.choice(([value], {"x": value}, None))


def json_text(tree: Any, draw: random.Random) -> bytes:
    """Return a tree as JSON; raw pieces stand as they are, and a key may stand there twice."""
    pieces: list[str] = []

    def marked(value: Any) -> Any:
        if isinstance(value, Raw):
            pieces.append(value)
            return MARK.format(len(pieces) - 1)
        if isinstance(value, list):
            return [marked(each) for each in value]
        if isinstance(value, dict):
            return {key: marked(each) for key, each in value.items()}
        return value

    text = json.dumps(marked(tree), ensure_ascii=draw.random() < 0.5)
    for number, piece in enumerate(pieces):
        text = text.replace(json.dumps(MARK.format(number)), piece)
    if draw.random() < 0.03 and isinstance(tree, dict) and tree:
        key = json.dumps(draw.choice(list(tree)))
        text = f"{{{key}: {json.dumps(draw.choice(VALUES))}, {text[1:]}"
    return text.encode("utf-8", "surrogatepass" if draw.random() < 0.5 else "replace")


# --- Arrays of NumPy -----------------------------------------------------------------------------

DTYPES = (
    *("'<i8'", "'>i8'", "'<i4'", "'<u8'", "'<f8'", "'<f4'", "'<f2'", "'<f16'", "'<c16'", "'|b1'"),
    *("'|u1'", "'|O'", "'|S0'", "'<U0'", "'<U3'", "'<U1000000000'", "'|V8'", "'<M8[ns]'", "'<m8'"),
    *("'|S5'", "[('a', '<i8')]", "[('a', '|O')]", "'<i3'", "''", "None", "1", "'<i8,<i8'", "'O'"),
    *(
        "'|V0'",
        "[('a', '<i8', (1000000,))]",
        "('<i8', (3,))",
        "[]",
        "{'names': ['a']}",
        "'<i8'" * 2,
    ),
)
SHAPES = (
    *("()", "(0,)", "(1,)", "(3,)", "(-1,)", "(2, 2)", "(0, 5)", "(9223372036854775807,)"),
    *("(1000000000000,)", "(10000, 10000, 10000)", "(4294967296, 4294967296)", "(True,)", "(1.5,)"),
    *("('3',)", "3", "None", "[3]", "(1, 1, 1, 1)", "(" * 3000 + ")" * 3000, "(1,) * 9" * 100),
    *("(" + "1, " * 65 + ")", "(99999999999999999999999999,)", "(" + "9" * 5000 + ",)", "(3, 0)"),
)
NPY = b"\x93NUMPY"


def npy(header: str, body: bytes, version: int = 1) -> bytes:
    """Return an array's file with a header as it is given."""
    text = header.encode("latin-1", "replace") + b"\n"
    width = 2 if version == 1 else 4
    return NPY + bytes([version, 0]) + len(text).to_bytes(width, "little") + text + body


def change_npy(content: bytes, draw: random.Random) -> bytes:
    """Return an array's file with another header, or other bytes."""
    if not content.startswith(NPY) or draw.random() < 0.3:
        return change_bytes(content, draw, ())
    end = 10 + int.from_bytes(content[8:10], "little")
    header, body = content[10:end].decode("latin-1").strip(), content[end:]
    kind = draw.randrange(6)
    if kind <= 1:
        before, _, rest = header.partition("'descr': ")
        header = f"{before}'descr': {draw.choice(DTYPES)}{rest[rest.find(', ') :]}"
    if kind in {1, 2}:
        before, _, rest = header.partition("'shape': ")
        header = f"{before}'shape': {draw.choice(SHAPES)}{rest[rest.find(')') + 1 :]}"
    elif kind == 3:
        header = header.replace("False", draw.choice(("True", "0", "None", "'x'", "Fals")))
    elif kind == 4:
        header = change_bytes(header.encode(), draw, ()).decode("latin-1")[:60_000]
    elif kind == 5:
        body = draw.choice((body[: len(body) // 2], body * 2, b"", change_bytes(body, draw, ())))
    return npy(header, body, draw.choice((1, 1, 1, 2, 3, 9)))


def change_archive(content: bytes, draw: random.Random, others: Sequence[bytes]) -> bytes:
    """Return an archive of arrays with an array changed, swapped, left out or added."""
    if draw.random() < 0.25:
        return change_bytes(content, draw, others)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = [(name, archive.read(name)) for name in archive.namelist()]
    for _ in range(draw.choice((1, 1, 2))):
        place = draw.randrange(len(parts)) if parts else 0
        name, part = parts[place] if parts else ("records.npy", b"")
        kind = draw.randrange(10)
        if kind == 0 and parts:
            del parts[place]
        elif kind == 1:
            name = draw.choice(("names.npy", "removed.npy", "records", "../x.npy", "é.npy", ""))
            parts.append((name, part))
        elif kind == 2 and len(parts) > 1:
            parts[place] = (draw.choice(parts)[0], part)
        elif parts:
            parts[place] = (name, change_npy(part, draw))
    packing = draw.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
    return rezip(parts, packing, draw)


def rezip(parts: Sequence[tuple[str, bytes]], packing: int, draw: random.Random) -> bytes:
    """Return an archive of these parts, at times with a damaged directory."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", packing) as archive:
        names = set()
        for name, part in parts:
            named = name if name not in names else f"{name}2"
            names.add(named)
            archive.writestr(zipfile.ZipInfo(named), part, packing)
    changed = bytearray(held.getvalue())
    if draw.random() < 0.15:
        places = [i for i in range(len(changed)) if changed.startswith((b"PK\1\2", b"PK\5\6"), i)]
        for _ in range(draw.choice((1, 1, 3))):
            place = draw.choice(places) + draw.randrange(46)
            if place < len(changed):
                changed[place] = draw.randrange(256)
    return bytes(changed)


# --- TOML ----------------------------------------------------------------------------------------

SCALARS = (
    *('""', '"x"', "'x'", '"flu"', '"1"', "1", "0", "-1", "1.5", "1e999", "nan", "inf", "-inf"),
    *("true", "false", "2026-01-01", "07:32:00", "2026-01-01T00:00:00Z", "9223372036854775808"),
    *("9" * 5000, "-" + "9" * 400, '"' + "x" * 3000 + '"', '"\\ud800"', '"\\u0000"', '"\ud800"'),
    *('"""\n"""', "[]", "{}", '["x"]', "[1]", "[[]]", "[[1], ['x']]", '{x = "y"}', "[true]"),
    *("[" * 3000, "[" * 3000 + "]" * 3000, "{a=" * 3000 + "1" + "}" * 3000, "0x" + "f" * 6000),
    *('"2G"', '"30m"', '"9" ', '"' + "9" * 400 + '"', '"1e9"', "1_000", "0o7", "1979-13-45"),
    *("[" + "1," * 3000 + "]", "a." * 3000 + "a", '"\\x"', "0b" + "1" * 20_000, "1e5000", "+nan"),
    *("99999-01-01", "23:59:60", "1." + "1" * 5000, "[{}]", "[{name = 1}]", '"é"', '"\x1b"'),
    '"\\U00110000"',
)


def change_toml(content: bytes, keys: Sequence[str], draw: random.Random) -> bytes:
    """Return TOML with settings changed, added, repeated or nested; `keys` are known ones."""
    lines = content.decode().splitlines()
    for _ in range(draw.choice((1, 1, 2, 4))):
        key = draw.choice((*keys, "x", '"\ud800"', "a.b", "", "[t]", "[[t]]", '"é"', "1"))
        place = draw.randint(0, len(lines))
        kind = draw.randrange(8)
        if kind <= 2:
            known = [i for i, line in enumerate(lines) if line.startswith(f"{key} =")]
            line = f"{key} = {draw.choice(SCALARS)}"
            if known:
                lines[known[0]] = line
            else:
                lines.insert(0 if kind < 2 else place, line)
        elif kind == 3 and lines:
            del lines[min(place, len(lines) - 1)]
        elif kind == 4 and lines:
            lines.insert(place, draw.choice(lines))
        elif kind == 5:
            lines.insert(
                place, draw.choice((f"[{key}]", f"[[{key}]]", "[" * 3000, "# \0", "a." * 3000))
            )
        elif kind == 6:
            lines.insert(0, f"{key} = [{draw.choice(SCALARS)}, {draw.choice(SCALARS)}]")
    text = "\n".join(lines).encode("utf-8", "surrogatepass")
    return change_bytes(text, draw, ()) if draw.random() < 0.15 else text
