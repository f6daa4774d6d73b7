"""Files made to hurt, and what the fuzz campaign found: each is read or refused, soon and small."""

# ruff: noqa: T201  (figures, which pytest shows on demand)
import gzip
import io
import json
import random
import sqlite3
import subprocess
import zipfile
from contextlib import closing

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter
import zstandard
from tests.adversarial.fuzz import campaign

import setveil
from setveil.core.errors import InputError
from setveil.io import containers
from setveil.io.layout import Layout

# --- Files made to hurt --------------------------------------------------------------------------


def book(part="", old=b"", new=b""):
    """Return a workbook, with some bytes of a part replaced."""
    held, changed = io.BytesIO(), io.BytesIO()
    with xlsxwriter.Workbook(held) as made:
        sheet = made.add_worksheet("A")
        for row, cells in enumerate([["id", "item"], ["1", "flu"], ["2", "gout"]]):
            sheet.write_row(row, 0, cells)
    with (
        zipfile.ZipFile(held) as before,
        zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as after,
    ):
        for name in before.namelist():
            content = before.read(name)
            assert name != part or old in content
            after.writestr(name, content.replace(old, new, 1) if name == part else content)
    return changed.getvalue()


def laughing_book():
    more = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
    start = f'<!DOCTYPE sst [<!ENTITY a0 "lol">{more}]><sst'
    laugh = b"<sst", start.encode()
    first = book("xl/sharedStrings.xml", *laugh)
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert b"<t>flu</t>" in archive.read("xl/sharedStrings.xml")
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as after:
            for name in archive.namelist():
                after.writestr(name, archive.read(name).replace(b"<t>flu</t>", b"<t>&a9;</t>"))
    return held.getvalue()


def zipped(size):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", bytes(size))
    return held.getvalue()


def damaged_parquet():
    """Return a file whose page says that it holds a negative number of values."""
    held = io.BytesIO()
    pl.DataFrame({"id": [1, 1, 2], "item": ["a", "b", "a"]}).write_parquet(held)
    content = bytearray(held.getvalue())
    # The header of a page: its type, two sizes, then the number of values, here 3, as 2 · 3.
    place = content.index(b"\x15\x06", 4)
    content[place + 1] = 0x7F
    return bytes(content)


def long_parquet():
    """Return a file of few bytes with very many equal values."""
    held = io.BytesIO()
    codes = pa.repeat(pa.scalar(0, pa.int8()), 10_000_000)
    table = pa.table({"item": pa.DictionaryArray.from_arrays(codes, pa.array(["x"]))})
    with pq.ParquetWriter(held, table.schema) as writer:
        for _ in range(21):
            writer.write_table(table)
    return held.getvalue()


COLUMNS = 100_000
draw = random.Random(7)
BOMBS = {
    "lines.dat.gz": (lambda: gzip.compress(b"1\n" * (34 << 20), 6), "decompression bomb"),
    "lines.dat.zst": (lambda: zstandard.compress(b"1\n" * (34 << 20)), "decompression bomb"),
    "lists.json.zst": (lambda: zstandard.compress(b"[" + b"[]," * (26 << 20)), "decompression"),
    "nested.csv.gz": (lambda: gzip.compress(gzip.compress(b"a,b\n" * (2 << 20))), ""),
    "zeros.csv.gz": (lambda: gzip.compress(bytes(20 << 20)), "binary file"),
    "zeros.xlsx": (lambda: zipped(70 << 20), "more than 200 times"),
    "far.xlsx": (lambda: book("xl/worksheets/sheet1.xml", b'r="B3"', b'r="XFD1048576"'), "reaches"),
    "laughs.xlsx": (laughing_book, "unrecognized entity"),
    "sheets.xlsx": (lambda: book("xl/workbook.xml", b"<sheet ", b"<sheet " * 100_000), None),
    "brackets.jsonl": (lambda: b"[" * 1_000_000, "nested too deeply"),
    "braces.json": (lambda: b'{"a":' * 1_000_000, ""),
    "digits.jsonl": (lambda: b"[" + b"9" * 1_000_000 + b"]\n", "too large a number"),
    "digits.dat": (lambda: b"9" * 1_000_000, "more than 18 digits"),
    "line.csv": (lambda: b"a,b\n" + b"x" * 50_000_000 + b",1\n", None),
    "fields.csv": (lambda: b"x," * 5_000_000, None),
    "numbers.dat": (lambda: b"1 " * 10_000_000, None),
    "flags.csv": (
        lambda: b"\n".join(
            [
                b",".join(b"item %d x" % i for i in range(15_000)),
                *[b",".join(draw.choices((b"0", b"1"), k=15_000)) for _ in range(3)],
            ]
        ),
        None,
    ),
    "columns.csv": (lambda: b",".join(b"Dx%d" % i for i in range(COLUMNS)) + b"\na\nb\n", ""),
    "equal.csv": (lambda: b"item," * COLUMNS + b"\n" + b"x," * COLUMNS + b"\n", ""),
    "square.csv": (
        lambda: b"\n".join(
            b",".join(draw.choices((b"flu", b"gout", b"E11.9", b"I10"), k=5_000))
            for _ in range(1_000)
        ),
        None,
    ),
    "one-line.csv": (lambda: b",".join(b"word%dx" % i for i in range(9_000)), None),
    "words.txt": (lambda: b"a b " * 15_000, None),
    "quotes.csv": (lambda: b'"' * 1_000_001, "never closed"),
    "quoted-lines.csv": (lambda: b"id,item\n" + b'1,"a\n' * 200_000, ""),
    "after-quotes.csv": (lambda: b"id,item\n" + b'1,"a"x\n' * 100_000, ""),
    "name-of-signs.csv": (lambda: b"id," + b"_" * 60_000 + b"\n1,2\n", ""),
    "name-of-spaces.txt": (lambda: (b"a" + b" " * 30_000 + b"b\n") * 2, None),
    "decimals.csv": (lambda: b"id,sum,item\n1," + b"123 " * 15_000 + b"x,a\n2,3,b\n", None),
    "blank.dat": (lambda: b" " * 1_000_000, "blank"),
    "newlines.csv": (lambda: b"\n" * 1_000_000, "blank"),
    "page.parquet": (damaged_parquet, "a page of -64 values"),
    "values.parquet": (long_parquet, "more than the limit"),
}  # a file's content, and what is said against it; None if it is read


def test_files_made_to_hurt(tmp_path):
    """Read all of these files in one process with limits, and look at what came of each."""
    (files := tmp_path / "files").mkdir()
    for name, (content, _) in BOMBS.items():
        (files / name).write_bytes(content())
    done = subprocess.run(
        [*campaign.COMMAND, "use", "readers", files, tmp_path / "work"],
        capture_output=True,
        text=True,
        check=False,
        env=campaign.environment(),
    )
    found = {name: said for name, *said in map(json.loads, done.stdout.splitlines())}
    for name, (outcome, seconds, grown, said) in found.items():
        print(f"{name}: {seconds:.2f} s, {grown >> 20} MB, {outcome} {said}")
    missing = [name for name in sorted(BOMBS) if name not in found]
    assert not missing, f"the process ended while it read {missing[0]}: {done.stderr[-3000:]}"
    for name, (_, expected) in BOMBS.items():
        outcome, _, _, said = found[name]
        assert outcome == ("accepted" if expected is None else "refused"), (name, said)
        assert expected is None or expected in said, name


def test_a_database_without_end(tmp_path, monkeypatch):
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as base:
        base.execute(
            "CREATE VIEW visits AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 "
            "FROM n) SELECT id, 'flu' AS item FROM n"
        )
    monkeypatch.setattr(containers, "QUERY_SECONDS", 0.5)
    with pytest.raises(InputError, match="runs for more than"):
        setveil.read(path)


# --- What the campaign found ---------------------------------------------------------------------


def test_the_number_of_a_field_that_no_line_has(tmp_path):
    """As many columns were made as the number says."""
    path = tmp_path / "a.csv"
    path.write_text("P1;flu\nP2;gout;flu\n")
    for number in ("4", "99999999", "9" * 5000):
        with pytest.raises(InputError, match="lines have up to 3 fields"):
            setveil.read(path, "basket", id=number, delimiter=";")
    assert setveil.read(path, "basket", id="1", delimiter=";").to_rows() == [
        ["flu"],
        ["flu", "gout"],
    ]


@pytest.mark.parametrize("form", ["basket", "long"])
def test_a_layout_of_parquet_for_a_text(tmp_path, form):
    """Such a layout names no delimiter, and nothing separates nothing."""
    rows = setveil.TransactionTable.from_rows([["flu", "gout"], ["flu"]])
    setveil.write(rows, tmp_path / "a.parquet", form)
    layout = setveil.read(tmp_path / "a.parquet").reading.layout
    assert isinstance(layout, Layout)
    (tmp_path / "a.csv").write_text("id,item\n1,flu\n")
    with pytest.raises(InputError, match="names no delimiter"):
        setveil.read(tmp_path / "a.csv", layout=layout)


def test_a_database_whose_own_statements_are_no_text(tmp_path):
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE visits (id TEXT, item TEXT)")
        base.execute("INSERT INTO visits VALUES ('1', 'flu')")
        base.commit()
    content = path.read_bytes()
    path.write_bytes(content.replace(b"visits", b"vi\xa2its"))
    with pytest.raises(InputError, match="cannot be read as SQLite database"):
        setveil.read(path)


def test_a_header_longer_than_the_first_look(tmp_path):
    """It was taken for a header without records."""
    path = tmp_path / "a.csv"
    items = [f"item number {i}" for i in range(8_000)]
    rows = "".join(
        f"{n}," + ",".join("1" if i % 3 == n else "0" for i in range(8_000)) + "\n"
        for n in range(3)
    )
    path.write_text(f"id,{','.join(items)}\n{rows}")
    table = setveil.read(path)
    assert table.reading.format == "one-hot"
    assert table.to_rows() == [sorted(items[n::3]) for n in range(3)]


def test_parquet_of_other_programs(tmp_path):
    """The look at the pages passes whatever is whole."""
    path = tmp_path / "a.parquet"
    lists = [["flu", "gout"][: n % 3] for n in range(2_000)]
    table = pa.table({"id": range(2_000), "items": lists, "none": [None] * 2_000})
    for version in ("1.0", "2.0"):
        for packing in ("none", "snappy", "gzip", "zstd", "brotli", "lz4"):
            for more in (True, False):
                pq.write_table(
                    table, path, data_page_version=version, compression=packing,
                    use_dictionary=more, write_page_index=more, data_page_size=500,
                    row_group_size=700,
                )  # fmt: skip
                assert setveil.read(path).to_rows() == lists


def test_a_family_of_columns_that_are_set_aside(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,Dx1,Dx2,drug\n7,flu,gout,aspirin\n7,flu,,statin\n8,gout,,statin\n")
    table = setveil.read(path, ignore=["Dx1", "Dx2"])
    assert table.to_rows() == [["aspirin", "statin"], ["statin"]]


def test_a_word_among_numbered_lines_of_numbers(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{n} {n % 3} 7\n" for n in range(1, 20)) + "20 s\n")
    with pytest.raises(InputError, match=r"line 20, column 4: 's'"):
        setveil.read(path)


def test_a_line_of_very_many_dashes(tmp_path):
    """Whether it is the rule of a drawn table was tried in cubically many ways."""
    path = tmp_path / "a.csv"
    path.write_text("-" * 100_000 + "x,flu\n" + "y,gout\n" * 3)
    assert len(setveil.read(path, "basket", delimiter=",")) == 4
    path.write_text("| id | item |\n|----|------|\n| 1 | flu |\n")
    with pytest.raises(InputError, match="a table drawn with lines"):
        setveil.read(path)
