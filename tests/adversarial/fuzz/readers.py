"""Data files: those of the tests of messy files, and tables in every format that we write.

An input is a file after up to four changes, with options of `setveil.read`, and at times a layout.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import tomllib
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import zstandard
from tests.adversarial.fuzz.campaign import SEED, Case, Target
from tests.adversarial.fuzz.mutation import change_bytes
from tests.io.messy.cases import CASES

import setveil
from setveil.core.errors import SetveilError
from setveil.io import cells, json_lines, number_lines
from setveil.io.layout import FORMATS, Layout
from setveil.io.writers import WRITTEN

if TYPE_CHECKING:
    from pathlib import Path

LOOPS = 0.4  # of all inputs, which the loops for large files read
LAYOUT = "layout.toml"

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


# --- Seeds ---------------------------------------------------------------------------------------


def data_file(name: str, content: bytes, options: dict[str, Any], layout: bytes = b"") -> Case:
    """Return a data file, the options it is read with, and the layout that goes along, if any."""
    files = {name: content, **({LAYOUT: layout} if layout else {})}
    return Case(files=files, options={"name": name, "read": options, "loops": False})


def seeds(folder: Path) -> list[Case]:
    """Return all seeds, in the same order in every process."""
    found = []
    for case in CASES:
        (place := folder / case.name).mkdir(parents=True)
        path = case.write(place)
        found.append(data_file(path.name, path.read_bytes(), dict(case.options)))
    found += _written(folder)
    plain = [seed for seed in found if len(_content(seed)) < 4000][::7]
    found += [_packed(seed, gzip.compress(_content(seed), mtime=0), ".gz") for seed in plain]
    found += [_packed(seed, zstandard.compress(_content(seed)), ".zst") for seed in plain[::2]]
    laid_out = [seed for seed in found if _may_have_layout(seed)][::3]
    return found + [_with_layout(seed, folder) for seed in laid_out]


def _content(seed: Case) -> bytes:
    return seed.files[seed.options["name"]]


def _packed(seed: Case, content: bytes, ending: str) -> Case:
    return data_file(seed.options["name"] + ending, content, seed.options["read"])


def _written(folder: Path) -> list[Case]:
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
                found.append(data_file(path.name, path.read_bytes(), {}))
        records = [{"id": i, "codes": row, "of": {"it": row}} for i, row in enumerate(rows)]
        for indent, ending in ((None, ".json"), (1, ".json"), (0, "")):
            text = json.dumps(rows if indent == 0 else records, indent=indent)
            found.append(data_file(f"document{ending}", text.encode(), {}))
        typed = pl.DataFrame({"id": range(len(rows)), "items": rows, "at": [1.5] * len(rows)})
        for packing in ("uncompressed", "zstd", "snappy", "gzip"):
            held = io.BytesIO()
            typed.write_parquet(held, compression=packing, row_group_size=7)
            found.append(data_file(f"{packing}.parquet", held.getvalue(), {}))
    return found


def _may_have_layout(seed: Case) -> bool:
    return not {"encoding", "table", "query"} & set(seed.options["read"]) and (
        len(_content(seed)) < 4000
    )


def _with_layout(seed: Case, folder: Path) -> Case:
    """Return the seed with the layout that it is read by, if it is read at all."""
    name, options = seed.options["name"], seed.options["read"]
    path = folder / name
    path.write_bytes(_content(seed))
    try:
        layout = setveil.read(path, **options).reading.layout.as_toml().encode()
    except SetveilError:
        layout = b'format = "long"\n'
    return data_file(name, _content(seed), {}, layout)


# --- Changes -------------------------------------------------------------------------------------


def change(draw: random.Random, known: list[Case]) -> Case:
    """Return a data file of the seeds with some changes."""
    seed = draw.choice(known)
    content, layout = _content(seed), seed.files.get(LAYOUT, b"")
    others = [_content(draw.choice(known))]
    packed = _unpacked(content) if draw.random() < 0.6 else None
    if packed is not None:  # what is inside is changed, and packed again
        inside, pack = packed
        content = pack(change_bytes(inside, draw, others))
    elif draw.random() < 0.97:
        content = change_bytes(content, draw, others)
    if content.startswith(b"PK") and draw.random() < 0.5:
        content = _rezipped(content, draw)
    if draw.random() < 0.06:
        content = gzip.compress(content, 1, mtime=0)
        content = content[: draw.randint(0, len(content))] if draw.random() < 0.4 else content
    elif draw.random() < 0.04:
        content = zstandard.compress(content)
        content = content[: draw.randint(0, len(content))] if draw.random() < 0.4 else content
    if layout and draw.random() < 0.5:
        layout = change_bytes(layout, draw, others)
    name = seed.options["name"] if draw.random() < 0.8 else draw.choice(known).options["name"]
    options = dict(seed.options["read"]) if draw.random() < 0.8 else {}
    chances = (0, 0, 0, 0, 1, 1, 2, 4)
    for option in draw.sample(sorted(CHOICES), draw.choice(chances)):
        options[option] = draw.choice(CHOICES[option])
    if layout and draw.random() < 0.9:
        options = {
            key: value
            for key, value in options.items()
            if key in {"on_error", "empty", "normalize", "min_support"}
        }
    case = data_file(name, content, options, layout)
    case.options["loops"] = draw.random() < LOOPS
    return case


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
                out.writestr(part, change_bytes(data, draw, [data]) if part == chosen else data)
    except Exception:  # noqa: BLE001  (damaged before)
        return content
    return held.getvalue()


# --- Use -----------------------------------------------------------------------------------------


def use(folder: Path, case: Case) -> None:
    """Read a file, and see that the table is what the report says."""
    options = dict(case.options.get("read", {}))
    if LAYOUT in case.files:
        options["layout"] = folder / LAYOUT
    _use_loops(small=case.options.get("loops", False))
    [name] = set(case.files) - {LAYOUT}
    table = setveil.read(folder / name, **options)
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


def _use_loops(*, small: bool) -> None:
    """Let the loops that are meant for large files read small ones, too."""
    cells.PLAIN_LIMIT = 0 if small else 1 << 20
    json_lines.PLAIN_LIMIT = 0 if small else 1 << 20
    number_lines.PLAIN_LIMIT = 0 if small else 4 << 20


READERS = Target(
    name="readers", inputs=100_000, seeds=seeds, change=change, use=use, strict=False, least=0.1
)
