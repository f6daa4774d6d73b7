"""A campaign against the readers: damaged files by the thousand, read in processes that may die.

``run(numbers, folder)`` makes each input from its number alone, so that a failure can be looked at
again with ``python -m tests.io.campaign NUMBER``. An input is a file of the seeds after up to four
changes, and options of `setveil.read`. It must be read, and the table be consistent, or be refused
with an error of our own family; nothing else counts as a success:

* an exception of another kind, or a message that cannot be printed, is a traceback;
* more than `SECONDS` for an input is a hang: a thread of faulthandler's then ends the process, also
  in the middle of compiled code;
* an address space of more than `MEMORY` beyond what the process has after it has read one file of
  each kind is a blow-up (allocation fails: an exception, or the process ends), and so is a peak of
  resident memory that is more than `GROWTH` above what the process held before.
"""

# ruff: noqa: T201  (what a process prints is what came of its inputs)
from __future__ import annotations

import faulthandler
import gzip
import io
import json
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
import tomllib
import traceback
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import zstandard
from tests.io.messy.cases import CASES

import setveil
from setveil.errors import SetveilError
from setveil.io import cells, json_lines, number_lines
from setveil.io.layout import FORMATS, Layout
from setveil.io.writers import WRITTEN

COMMAND = [sys.executable, "-m", "tests.io.campaign"]
SEED = "setveil"
SECONDS = 10.0
MEMORY = 3 << 30  # bytes of address space: allocators and threads reserve more than they use
GROWTH = 1 << 30  # bytes of resident memory
LARGEST = 1 << 16  # bytes of an input, before it is compressed
LONGEST = 10_000  # characters of a message
LOOPS = 0.4  # of all inputs, which the loops for large files read

TOKENS = (
    *(b'"', b'""', b"'", b",", b";", b"\t", b"|", b"::", b" ", b"\n", b"\r", b"\r\n", b"\n\n"),
    *(b"\0", b"\0\0\0\0", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff", b"\xc3", b"\xa0"),
    *(b"-1", b"-2", b" -1 -2\n", b"@ITEM=", b"@ITEM=1=x\n", b"@CONVERTED_FROM_TEXT\n", b"=", b"#"),
    *(b"0", b"1", b"00", b"9" * 18, b"9" * 19, b"9" * 400, b"1e999", b"NaN", b"-0", b"1.5"),
    *(b"[", b"]", b"{", b"}", b"[" * 2000, b'{"a":' * 500, b"[]", b"{}", b"null", b"true"),
    *(b'"items":', b'"items":[', b"\\ud800", b"\\udc80", b"\\u0000", b"\\", b"\xed\xa0\x80"),
    *(b"sep=;\n", b"id,item\n", b"id", b"item", b"Name", b"Total", b"<html>", b"<!DOCTYPE x>"),
    *(b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1", b"PK\x03\x04", b"PK\x01\x02", b"%PDF-", b"BZh"),
    *("é".encode(), "İ".encode(), "ﬀ".encode(), "\u202e".encode(), "\u2028".encode(), b"\x85"),
    *(
        "\U0001d7d9".encode(),
        "٣".encode(),
        "²".encode(),
        b"\x0b",
        b"\x0c",
        b"\x1c",
        b"\x7f",
        b"x" * 5000,
    ),
    *(b"," * 300, b"a," * 300, b'"' * 301, b"\n" * 300, b"1 " * 300, b'","' * 100, b" " * 2000),
    *(b"\xff\xff\xff\xff", b"\x80\x80\x80\x80\x10", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80"),
)
ENCODINGS = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "cp1252", "cp500", "big5")
CHOICES: dict[str, tuple[Any, ...]] = {
    "format": (*FORMATS, "csv", "one_hot", ""),
    "encoding": ("utf-8", "cp1252", "utf-16", "utf-16-le", "utf-32", "big5", "utf-7", "idna", "x"),
    "delimiter": (",", ";", "tab", "space", "::", "|", '"', "", "\n", ", ", "é", "1"),
    "header": (True, False),
    "id": ("id", "1", "2", "0", "-1", "99999999", "MRN", "PatientID", "", "\udc80", "٣", "²"),
    "item": ("item", "2", "items", "codes", "a.b", "Dx1", "", ".", "[", "\ud800"),
    "items": ("Dx*", "*", "2,3", "item", "[", "?", ["a,b"], [""], ",", "items"),
    "separator": (";", ",", "|", "newline", " ", "", "\n", "1"),
    "ignore": ("*", "id", "1", "Name,Age", "[!a]*", ["id", "id"]),
    "table": ("Sheet1", "visits", "", 'a"b', "\ud800", "\0"),
    "query": ("SELECT * FROM visits", "SELECT 1", "SELECT", "WITH x AS (SELECT 1) SELECT * FROM x"),
    "on_error": ("raise", "skip", "skip", "skip", "stop"),
    "empty": ("keep", "drop", "error", "no"),
    "normalize": (True,),
    "min_support": (2, 3, 1000, 0),
}
WORDS = (
    *("flu", "gout", "asthma", "E11.9", "Käse", "bread, brown", 'a "quoted" one', "line\nbreak"),
    *("İstanbul", "x;y|z", "12", "-1", "0", "[1]", "日本", " blank ", "NaN", "a=b", "#7", "total"),
)


@dataclass(frozen=True, kw_only=True)
class Seed:
    """A file that means something, the options it is read with, and a layout that may go along."""

    name: str
    content: bytes
    options: dict[str, Any] = field(default_factory=dict)
    layout: bytes = b""


Input = Seed


# --- Seeds ---------------------------------------------------------------------------------------


def seeds(folder: Path) -> list[Seed]:
    """Return all seeds, in the same order in every process."""
    found = []
    for case in CASES:
        place = folder / case.name
        place.mkdir(parents=True)
        path = case.write(place)
        found.append(Seed(name=path.name, content=path.read_bytes(), options=dict(case.options)))
    found += _written(folder)
    plain = [seed for seed in found if len(seed.content) < 4000][::7]
    found += [replace_content(s, gzip.compress(s.content, mtime=0), ".gz") for s in plain]
    found += [replace_content(s, zstandard.compress(s.content), ".zst") for s in plain[::2]]
    laid_out = [seed for seed in found if _may_have_layout(seed)][::3]
    return found + [_with_layout(seed, folder) for seed in laid_out]


def replace_content(seed: Seed, content: bytes, ending: str = "") -> Seed:
    """Return the seed with other bytes, its name with another ending."""
    return Seed(name=seed.name + ending, content=content, options=seed.options, layout=seed.layout)


def _written(folder: Path) -> list[Seed]:
    """Return random tables as our own writers write them, and documents of JSON."""
    draw = random.Random(SEED)
    found = []
    for number in range(4):
        rows = [draw.sample(WORDS, draw.randint(0, 5)) for _ in range(draw.randint(1, 30))]
        numbers = [[str(draw.randint(0, 60)) for _ in row] for row in rows]
        for form in WRITTEN:
            table = setveil.TransactionTable.from_rows(numbers if form == "fimi" else rows)
            endings = {"jsonl": [".jsonl"], "spmf": [".spmf"], "fimi": [".dat"]}
            for ending in endings.get(form, [".csv", ".tsv", ".parquet"]):
                path = folder / f"{form}-{number}{ending}"
                try:
                    setveil.write(table, path, form)
                except SetveilError:
                    continue  # not every format carries every name
                found.append(Seed(name=path.name, content=path.read_bytes()))
        records = [{"id": i, "codes": row, "of": {"it": row}} for i, row in enumerate(rows)]
        for indent, ending in ((None, ".json"), (1, ".json"), (0, "")):
            text = json.dumps(rows if indent == 0 else records, indent=indent)
            found.append(Seed(name=f"document{ending}", content=text.encode()))
        typed = pl.DataFrame({"id": range(len(rows)), "items": rows, "at": [1.5] * len(rows)})
        for packing in ("uncompressed", "zstd", "snappy", "gzip"):
            held = io.BytesIO()
            typed.write_parquet(held, compression=packing, row_group_size=7)
            found.append(Seed(name=f"{packing}.parquet", content=held.getvalue()))
    return found


def _may_have_layout(seed: Seed) -> bool:
    return not {"encoding", "table", "query"} & set(seed.options) and len(seed.content) < 4000


def _with_layout(seed: Seed, folder: Path) -> Seed:
    """Return the seed with the layout that it is read by, if it is read at all."""
    path = folder / seed.name
    path.write_bytes(seed.content)
    try:
        layout = setveil.read(path, **seed.options).reading.layout.as_toml().encode()
    except SetveilError:
        layout = b'format = "long"\n'
    return Seed(name=seed.name, content=seed.content, layout=layout)


# --- Changes -------------------------------------------------------------------------------------


def made(number: int, known: list[Seed]) -> Input:
    """Return the input of a number."""
    draw = random.Random(f"{SEED} {number}")
    seed = draw.choice(known)
    content, layout = seed.content, seed.layout
    packed = _unpacked(content) if draw.random() < 0.6 else None
    if packed is not None:  # what is inside is changed, and packed again
        inside, pack = packed
        content = pack(_changed(inside, draw, known))
    elif draw.random() < 0.97:
        content = _changed(content, draw, known)
    if content.startswith(b"PK") and draw.random() < 0.5:
        content = _rezipped(content, draw)
    if draw.random() < 0.06:
        content = gzip.compress(content, 1, mtime=0)
        content = content[: draw.randint(0, len(content))] if draw.random() < 0.4 else content
    elif draw.random() < 0.04:
        content = zstandard.compress(content)
        content = content[: draw.randint(0, len(content))] if draw.random() < 0.4 else content
    if layout and draw.random() < 0.5:
        layout = _changed(layout, draw, known)
    name = seed.name if draw.random() < 0.8 else draw.choice(known).name
    options = dict(seed.options) if draw.random() < 0.8 else {}
    chances = (0, 0, 0, 0, 1, 1, 2, 4)
    for option in draw.sample(sorted(CHOICES), draw.choice(chances)):
        options[option] = draw.choice(CHOICES[option])
    if layout and draw.random() < 0.9:
        options = {
            key: value
            for key, value in options.items()
            if key in {"on_error", "empty", "normalize", "min_support"}
        }
    return Input(name=name, content=content, options=options, layout=layout)


def _unpacked(content: bytes) -> Any:
    """Return what is inside a compressed file, and how to pack it again."""
    try:
        if content.startswith(b"\x1f\x8b"):
            return gzip.decompress(content), lambda data: gzip.compress(data, 1, mtime=0)
        if content.startswith(b"\x28\xb5\x2f\xfd"):
            return zstandard.decompress(content), zstandard.compress
    except (OSError, EOFError, zstandard.ZstdError):
        pass
    return None


def _changed(content: bytes, draw: random.Random, known: list[Seed]) -> bytes:
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        change = draw.choice(CHANGES)
        content = change(content, draw, known)[:LARGEST]
    return content


def _flip(content: bytes, draw: random.Random, _: list[Seed]) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 2, 8))):
        if changed:
            place = draw.randrange(len(changed))
            flipped = changed[place] ^ 1 << draw.randrange(8)
            changed[place] = draw.choice((flipped, draw.randrange(256)))
    return bytes(changed)


def _cut(content: bytes, draw: random.Random, _: list[Seed]) -> bytes:
    place = draw.randint(0, len(content))
    return content[:place] if draw.random() < 0.8 else content[place:]


def _shuffle_lines(content: bytes, draw: random.Random, _: list[Seed]) -> bytes:
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


def _move_bytes(content: bytes, draw: random.Random, _: list[Seed]) -> bytes:
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


def _splice(content: bytes, draw: random.Random, known: list[Seed]) -> bytes:
    other = draw.choice(known).content
    start = content[: draw.randint(0, len(content))]
    return start + other[draw.randint(0, len(other)) :]


def _insert(content: bytes, draw: random.Random, _: list[Seed]) -> bytes:
    for _ in range(draw.choice((1, 1, 3))):
        token = draw.choice(TOKENS)
        place = draw.choice((0, len(content), draw.randint(0, len(content))))
        over = draw.choice((0, 0, len(token)))
        content = content[:place] + token + content[place + over :]
    return content


def _swap_signs(content: bytes, draw: random.Random, _: list[Seed]) -> bytes:
    signs = (b",", b";", b"\t", b'"', b"\n", b"\r\n", b" ", b"0", b"1", b"e", b"[", b"id")
    return content.replace(draw.choice(signs), draw.choice((*signs, b"")), draw.choice((1, -1)))


def _recode(content: bytes, draw: random.Random, _: list[Seed]) -> bytes:
    text = content.decode(draw.choice(("utf-8", "latin-1")), "replace")
    return text.encode(draw.choice(ENCODINGS), "replace")


CHANGES = (
    *(_flip, _flip, _cut, _shuffle_lines, _shuffle_lines, _move_bytes, _move_bytes, _splice),
    *(_insert, _insert, _insert, _swap_signs, _recode),
)


def _rezipped(content: bytes, draw: random.Random) -> bytes:
    """Return an archive with one part changed, or with bytes of its directory changed."""
    if draw.random() < 0.4:
        places = [i for i in range(len(content)) if content.startswith((b"PK\1\2", b"PK\5\6"), i)]
        changed = bytearray(content)
        for _ in range(draw.choice((1, 1, 3))):
            if places:
                place = draw.choice(places) + draw.randrange(46)
                if place < len(changed):
                    changed[place] = draw.randrange(256)
        return bytes(changed)
    held = io.BytesIO()
    try:
        with (
            zipfile.ZipFile(io.BytesIO(content)) as archive,
            zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out,
        ):
            parts = {part: archive.read(part) for part in archive.namelist()}
            sheets = [part for part in parts if "sheet" in part or "content" in part]
            chosen = draw.choice(sheets if sheets and draw.random() < 0.7 else [*parts, ""])
            for part, data in parts.items():
                also = [Seed(name="", content=data)]
                out.writestr(part, _changed(data, draw, also) if part == chosen else data)
    except Exception:  # noqa: BLE001  (damaged before)
        return content
    return held.getvalue()


# --- One input -----------------------------------------------------------------------------------


def check_reading(path: Path, options: dict[str, Any]) -> str:
    """Read a file; return "read", or why it was refused, and fail on anything else."""
    try:
        table = setveil.read(path, **options)
    except SetveilError as error:
        message = str(error)
        message.encode()  # a message can always be printed
        assert len(message) < LONGEST, f"a message of {len(message):,} characters"
        return f"refused: {message}"
    report = table.reading
    assert report is not None
    lengths = np.diff(table.offsets)
    assert table.offsets[0] == 0
    assert table.offsets[-1] == len(table.items)
    assert lengths.min() >= 0
    assert len(table) == len(lengths) == report.records > 0
    assert report.occurrences == len(table.items)
    assert report.items == table.n_items == len(set(table.vocabulary.names))
    assert report.empty_records == np.count_nonzero(lengths == 0)
    assert report.duplicates_merged >= 0
    rows = np.repeat(np.arange(len(lengths)), lengths)
    same = rows[1:] == rows[:-1]
    assert (table.items[1:] > table.items[:-1])[same].all(), "items of a row are sorted"
    assert np.array_equal(np.unique(table.items), np.arange(table.n_items)), "all items occur"
    "".join(table.vocabulary.names).encode()
    "".join(report.sentences()).encode()
    json.dumps(report.as_dict()).encode()
    layout = report.layout
    if "layout" not in options:
        assert Layout.from_dict(tomllib.loads(layout.as_toml())) == layout
    return "read"


def _use_loops(*, small: bool) -> None:
    """Let the loops that are meant for large files read small ones, too."""
    cells.PLAIN_LIMIT = 0 if small else 1 << 20
    json_lines.PLAIN_LIMIT = 0 if small else 1 << 20
    number_lines.PLAIN_LIMIT = 0 if small else 4 << 20


def place(given: Input, folder: Path) -> tuple[Path, dict[str, Any]]:
    """Write an input, and return its path and all its options."""
    path = folder / given.name
    path.write_bytes(given.content)
    options = dict(given.options)
    if given.layout:
        options["layout"] = folder / "layout.toml"
        options["layout"].write_bytes(given.layout)
    return path, options


def _memory(of: str) -> int:
    """Return the resident memory in bytes: now (``VmRSS``), or its peak (``VmHWM``)."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition(f"{of}:")[2].split()[0]) << 10


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY,) * 2)


def work(numbers: range, folder: Path) -> None:
    """Read the inputs of some numbers, and print a line of JSON on each."""
    folder.mkdir()
    known = seeds(folder / "seeds")
    _warm_up(known[::4], folder)
    for number in numbers:
        given = made(number, known)
        path, options = place(given, folder)
        _use_loops(small=random.Random(number).random() < LOOPS)
        said = observed(path, options)
        if said[0] == "failed":  # the input is kept
            kept = folder / f"failed-{number}"
            kept.mkdir()
            place(given, kept)
        print(json.dumps([number, *said]), flush=True)
        path.unlink()


def _warm_up(known: list[Seed], folder: Path) -> None:
    """Load and compile what is loaded and compiled only once; from here on memory is limited."""
    for small in (True, False):
        _use_loops(small=small)
        for seed in known:
            path, options = place(seed, folder)
            check_reading(path, options)
            path.unlink()
    _limit_memory()


def read_all(files: list[tuple[str, dict[str, Any]]], folder: Path) -> None:
    """Read files with options, and print a line of JSON on each."""
    _warm_up(seeds(folder / "seeds")[::4], folder)
    for name, options in files:
        print(json.dumps([Path(name).name, *observed(Path(name), options)]), flush=True)


def observed(path: Path, options: dict[str, Any]) -> tuple[str, float, int, str]:
    """Read a file; return what came of it, the seconds, the bytes, and what was wrong."""
    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    start = time.perf_counter()
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    problem = ""
    try:
        outcome = check_reading(path, options)
    except BaseException:  # noqa: BLE001  (panics of polars are no Exception)
        outcome, problem = "failed", traceback.format_exc()
    faulthandler.cancel_dump_traceback_later()
    seconds = time.perf_counter() - start
    grown = max(_memory("VmHWM") - before, 0)
    if grown > GROWTH:
        outcome, problem = "failed", f"{grown:,} bytes more\n{problem}"
    return outcome, seconds, grown, problem


# --- All inputs ----------------------------------------------------------------------------------


@dataclass
class Figures:
    """What came of a campaign."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    worst_seconds: tuple[float, int] = (0.0, -1)
    worst_growth: tuple[int, int] = (0, -1)
    seconds: float = 0.0

    def add(self, number: int, outcome: str, seconds: float, grown: int, problem: str) -> None:
        self.outcomes[outcome.partition(":")[0]] += 1
        self.worst_seconds = max(self.worst_seconds, (seconds, number))
        self.worst_growth = max(self.worst_growth, (grown, number))
        if problem:
            self.failures.append(f"input {number}: {problem}")

    def __str__(self) -> str:
        return (
            f"{self.outcomes.total():,} inputs in {self.seconds:.0f} s: "
            f"{self.outcomes['read']:,} read, {self.outcomes['refused']:,} refused, "
            f"{self.outcomes['failed']:,} failed; at most {self.worst_seconds[0]:.2f} s "
            f"(input {self.worst_seconds[1]}) and {self.worst_growth[0] / 1e6:.0f} MB "
            f"(input {self.worst_growth[1]})"
        )


def run(count: int, folder: Path, *, first: int = 0, workers: int = 2, enough: int = 20) -> Figures:
    """Read so many inputs in worker processes; stop after `enough` failures."""
    figures = Figures()
    start = time.perf_counter()
    threads = [
        threading.Thread(
            target=_feed,
            args=(range(first + i, first + count, workers), folder / str(i), figures, enough),
        )
        for i in range(workers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    figures.seconds = time.perf_counter() - start
    return figures


def environment() -> dict[str, str]:
    """Return the environment of a worker: one thread for each."""
    return {**os.environ, "POLARS_MAX_THREADS": "1", "PYTHONFAULTHANDLER": "1"}


def _feed(numbers: range, folder: Path, figures: Figures, enough: int) -> None:
    """Let processes read inputs; where one dies, the next takes up after the input it died of."""
    folder.mkdir()
    attempt = 0
    while numbers and len(figures.failures) < enough:
        attempt += 1
        place_of = folder / str(attempt)
        said = folder / f"{attempt}.stderr"
        command = [*COMMAND, "work", place_of]
        command += map(str, (numbers.start, numbers.stop, numbers.step))
        with (
            said.open("wb") as stderr,
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment()
            ) as process,
        ):
            assert process.stdout is not None
            begun = False
            for line in process.stdout:
                begun = True
                figures.add(*json.loads(line))
                numbers = numbers[1:]
                if len(figures.failures) >= enough:
                    process.terminate()
        tail = said.read_bytes()[-3000:].decode(errors="replace")
        if not numbers or len(figures.failures) >= enough:
            return
        code = process.returncode
        ended = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        if not begun:  # not the fault of an input, or of the first one after a death
            tail = f"(before any other input) {tail}"
        figures.add(numbers[0], "failed", 0.0, 0, f"the process ended ({ended})\n{tail}")
        numbers = numbers[1:]


def _main(arguments: list[str]) -> None:
    if arguments[0] == "read":
        read_all(json.loads(Path(arguments[1], "files.json").read_text()), Path(arguments[1]))
        return
    if arguments[0] == "work":
        work(range(*map(int, arguments[2:])), Path(arguments[1]))
        return
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments[0] == "run":
            figures = run(int(arguments[1]), folder, first=int(arguments[2]), enough=200)
            print(*figures.failures, figures, sep="\n")
            return
        known = seeds(folder / "seeds")
        for number in map(int, arguments):
            given = made(number, known)
            path, options = place(given, folder)
            _use_loops(small=random.Random(number).random() < LOOPS)
            print(number, given, *observed(path, options), sep="\n")


if __name__ == "__main__":
    _main(sys.argv[1:])
