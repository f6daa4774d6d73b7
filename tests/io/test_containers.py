"""Grids from Parquet files, workbooks and databases; strangers' files do no harm."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import sqlite3
import stat
import subprocess
import sys
import tempfile
import zipfile
from decimal import Decimal
from pathlib import Path

import openpyxl
import polars as pl
import pytest
import xlsxwriter
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import Table, TableCell, TableRow
from odf.text import P

from setveil.core import untrusted
from setveil.core.errors import InputError
from setveil.io import containers
from setveil.io.containers import load_grid, sniff_container
from setveil.io.sources import Source


def load(path, **options):
    with Source(path) as source:
        return load_grid(source, **options)


def rows(path, **options):
    return load(path, **options).frame.rows()


def refused(path, match, **options):
    with pytest.raises(InputError, match=match) as caught:
        load(path, **options)
    assert caught.value.fix
    assert str(path) in caught.value.where
    return caught.value


# --- Parquet ------------------------------------------------------------------------------------


def test_parquet_cells_are_texts(tmp_path):
    path = tmp_path / "a[1].parquet"
    day = dt.date(2024, 1, 2)
    pl.DataFrame(
        {
            "int": [1, None, -3],
            "float": [1.0, 2.5, float("nan")],
            "large": [1e15, 1e20, -0.0],
            "text": ["x", "", None],
            "flag": [True, False, None],
            "day": [day, None, day],
            "when": [
                dt.datetime.fromisoformat("2024-01-02T00:00:00"),
                dt.datetime.fromisoformat("2024-01-02T03:04:05.600000"),
                None,
            ],
            "price": [Decimal("1.50"), Decimal("2.00"), None],
            "list": [["a", None], [], None],
            "numbers": [[1.0, 2.5], None, []],
            "kind": pl.Series(["p", "q", ""], dtype=pl.Categorical),
            "nothing": [None, None, None],
        }
    ).write_parquet(path)
    grid = load(path)
    assert (grid.kind, grid.header, grid.notes) == ("parquet", tuple(grid.frame.columns), ())
    assert {
        name: grid.frame[name].to_list() for name in grid.frame.columns
    } == {
        "int": ["1", None, "-3"],
        "float": ["1", "2.5", None],
        "large": ["1000000000000000", grid.frame["large"][1], "0"],
        "text": ["x", None, None],
        "flag": ["true", "false", None],
        "day": ["2024-01-02", None, "2024-01-02"],
        "when": ["2024-01-02", "2024-01-02 03:04:05.6", None],
        "price": ["1.5", "2", None],
        "list": [["a", None], [], None],
        "numbers": [["1", "2.5"], None, []],
        "kind": ["p", "q", None],
        "nothing": [None, None, None],
    }  # fmt: skip
    assert float(grid.frame["large"][1]) == 1e20
    assert set(grid.frame.dtypes) == {pl.String, pl.List(pl.String)}
    assert rows(path, columns=["text", "int"], rows=1) == [("x", "1")]
    refused(path, "no column 'txet'; did you mean 'text'", columns=["txet"])
    refused(path, "one table", table="a")
    refused(path, "a query is for databases", query="SELECT 1")


def test_parquet_structures_are_left_out(tmp_path):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"id": [1], "deep": [{"a": 1}], "raw": [b"x"], "many": [[[1]]]}).write_parquet(
        path
    )
    grid = load(path)
    assert grid.header == ("id",)
    assert grid.notes == (
        "The columns 'deep', 'raw', 'many' hold structures or binary data and were left out.",
    )
    refused(path, "'deep' is of type Struct", columns=["id", "deep"])
    assert load(path, columns=["id"]).notes == ()


def test_parquet_from_standard_input_compressed_and_damaged(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"id": [1, 2]}).write_parquet(path)
    content = path.read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert rows("-") == [("1",), ("2",)]
    packed = tmp_path / "a.parquet.gz"
    packed.write_bytes(gzip.compress(content))
    with Source(packed) as source:  # a second look, as detection does
        assert load_grid(source, rows=1).frame.rows() == [("1",)]
        assert load_grid(source).frame.rows() == [("1",), ("2",)]
    path.write_bytes(content[:-20])
    refused(path, "cannot be read as Parquet file")


# --- workbooks ----------------------------------------------------------------------------------


@pytest.fixture
def book(tmp_path):
    """Return a maker of workbooks: sheets by name, each a dict of cells or a list of rows."""

    def make(sheets, name="a.xlsx", merges=(), hidden=()):
        path = tmp_path / name
        with xlsxwriter.Workbook(path) as file:
            for title, cells in sheets.items():
                sheet = file.add_worksheet(title)
                if title in hidden:
                    sheet.hide()
                for merge in merges:
                    sheet.merge_range(merge, "")
                listed = cells.items() if isinstance(cells, dict) else (
                    ((r, c), cell) for r, row in enumerate(cells) for c, cell in enumerate(row)
                )  # fmt: skip
                for (r, c), cell in listed:
                    if cell is not None:
                        sheet.write(r, c, cell)
        return path

    return make


def test_cells_as_a_person_sees_them(tmp_path):
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as file:
        sheet = file.add_worksheet()
        day = file.add_format({"num_format": "dd.mm.yyyy"})
        when = file.add_format({"num_format": "yyyy-mm-dd hh:mm"})
        clock = file.add_format({"num_format": "hh:mm"})
        sheet.write_row(0, 0, [1.0, 1.5, 0.1 + 0.2, "007", "12.0", " x ", "  ", 12345678901])
        sheet.write_row(1, 0, [True, False, -3])
        sheet.write_datetime(1, 3, dt.datetime.fromisoformat("2024-01-02T00:00:00"), day)
        sheet.write_datetime(1, 4, dt.datetime.fromisoformat("2024-01-02T03:04:00"), when)
        sheet.write_datetime(1, 5, dt.time(3, 4), clock)
        sheet.write_formula(1, 6, "=1/0", value="#DIV/0!")
        sheet.write_formula(1, 7, "=1+1", value=2)
    grid = load(path)
    assert (grid.kind, grid.header, grid.chosen, grid.tables) == (
        *("excel", None, "Sheet1"),
        ("Sheet1",),
    )
    assert grid.frame.rows() == [
        ("1", "1.5", "0.3", "007", "12.0", " x ", None, "12345678901"),
        ("true", "false", "-3", "2024-01-02", "2024-01-02 03:04:00", "03:04:00", None, "2"),
    ]
    assert grid.frame.columns == list("ABCDEFGH")
    assert grid.notes == ()


def test_sheets_are_chosen(book):
    table = [["id", "item"], [1, "x"]]
    one = book({"Empty": [], "Data": table, "Blank": [["", " "]]})
    grid = load(one)
    assert (grid.chosen, grid.tables) == ("Data", ("Empty", "Data", "Blank"))
    assert grid.notes == ("The sheet 'Data' was read.",)
    two = book({"2023": table, "New Data": [["a", "b"]], "Empty": []}, "b.xlsx")
    error = refused(two, "more than one sheet holds data: '2023', 'New Data'")
    assert error.fix == "choose one with --table, e.g. --table 'New Data'"
    assert rows(two, table="New Data") == [("a", "b")]
    refused(two, "there is no sheet 'new data'; did you mean 'New Data'", table="new data")
    refused(two, "the sheet 'Empty' is empty", table="Empty")
    refused(two, "a query is for databases", query="SELECT 1")
    refused(book({"A": [], "B": []}, "c.xlsx"), "no sheet holds data")
    secret = book({"Data": table, "Secret": table}, "d.xlsx", hidden=["Secret"])
    assert load(secret).notes[1] == "The hidden sheet 'Secret' was not read."
    assert load(secret, table="Secret").chosen == "Secret"


HEADER = ["id", "dx", "rx"]
BODY = [[1, "a", "b"], [2, "c", "d"], [3, "e", "f"]]
READ = [("id", "dx", "rx"), ("1", "a", "b"), ("2", "c", "d"), ("3", "e", "f")]


def test_empty_edges_are_cut_off(book):
    cells = {(r + 3, c + 2): v for r, row in enumerate([HEADER, *BODY]) for c, v in enumerate(row)}
    path = book({"A": {**cells, (20, 9): " ", (0, 0): ""}})
    grid = load(path)
    assert grid.frame.rows() == READ
    assert grid.frame.columns == ["C", "D", "E"]
    assert grid.notes == ()


@pytest.mark.parametrize(
    ("above", "merges", "note"),
    [
        ([["Report 2024"]], ["A1:C1"], "Row 1 above the header was passed over."),
        ([["Report 2024"]], [], "Row 1 above the header was passed over."),
        ([["Report"], []], [], "Row 1 above the header was passed over."),
        ([["Report"], ["Ward", 7], []], [], "Rows 1 to 2 above the header were passed over."),
        ([["Report"], ["of May"], []], [], "Rows 1 to 2 above the header were passed over."),
        ([["R"], [], ["Who", "What"]], ["A1:C1", "B3:C3"], "Rows 1 to 3 above the header were"),
        ([[None, "Codes"]], ["B1:C1"], "Row 1 above the header was passed over."),
    ],
)
def test_titles_are_passed_over(book, above, merges, note):
    grid = load(book({"A": [*above, HEADER, *BODY]}, merges=merges))
    assert grid.frame.rows() == READ
    assert grid.notes[0].startswith(note)


def test_names_merged_with_the_row_of_groups(book):
    table = [["id", "Codes", None], [None, "dx", "rx"], *BODY]
    grid = load(book({"A": table}, merges=["A1:A2", "B1:C1"]))
    assert grid.frame.rows() == READ


def test_merged_cells_count_for_their_rows(book):
    cells = {(r, c): v for r, row in enumerate([HEADER, *BODY]) for c, v in enumerate(row)}
    shifted = {(r + 2, c + 1): v for (r, c), v in cells.items() if (r, c) not in {(2, 0), (3, 0)}}
    grid = load(book({"A": shifted}, merges=["B4:B6"]))
    assert grid.frame["B"].to_list() == ["id", "1", "1", "1"]
    assert "Merged cells count for every row that they span." in grid.notes


@pytest.mark.parametrize(
    "table",
    [
        [["milk"], ["milk", "bread"], ["eggs", "milk", "tea"]],
        [["milk"], ["milk", "bread", "tea"], ["eggs"]],
        [["id", "item"], ["1", "x"]],
        [["item"], ["x"], ["y"]],
        [["x"]],
    ],
)
def test_rows_that_are_no_titles_stay(book, table):
    frame = load(book({"A": table})).frame
    assert [[cell for cell in row if cell] for row in frame.rows()] == table


def test_rows_for_detection_and_then_all(book):
    path = book({"A": [["T"], [], HEADER, *BODY]})
    with Source(path) as source:
        assert load_grid(source, rows=2).frame.rows() == READ[:2]
        assert load_grid(source).frame.rows() == READ
        with pytest.raises(InputError, match="letters, not names"):
            load_grid(source, columns=["id"])


def test_workbooks_from_standard_input_and_compressed(book, tmp_path, monkeypatch):
    content = book({"A": [HEADER, *BODY]}).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert rows("-") == READ
    packed = tmp_path / "b.xlsx.gz"
    packed.write_bytes(gzip.compress(content))
    with Source(packed) as source:
        assert load_grid(source, rows=1).frame.rows() == READ[:1]
        assert load_grid(source).frame.rows() == READ


def test_workbooks_of_openpyxl(tmp_path):
    path = tmp_path / "a.xlsm"
    file = openpyxl.Workbook()
    sheet = file.active
    for row in [["Title"], HEADER, *BODY]:
        sheet.append(row)
    sheet.merge_cells("A1:C1")
    file.save(path)
    assert rows(path) == READ


def ods(path, table, *, repeated=None):
    file = OpenDocumentSpreadsheet()
    sheet = Table(name="One")
    file.spreadsheet.addElement(sheet)
    for row in table:
        line = TableRow(**(repeated or {}).get("row", {}))
        for cell in row:
            more = (repeated or {}).get("cell", {})
            kind = "float" if isinstance(cell, float) else "string"
            value = {"value": cell} if isinstance(cell, float) else {}
            held = TableCell(valuetype=kind, **value, **more)
            held.addElement(P(text=str(cell)))
            line.addElement(held)
        sheet.addElement(line)
    file.save(path)
    return path


def test_ods(tmp_path):
    path = ods(tmp_path / "a.ods", [["T"], [], HEADER, [1.0, "a", "b"], [2.5, "c", "d"]])
    grid = load(path)
    assert (grid.kind, grid.chosen) == ("ods", "One")
    assert grid.frame.rows() == [("id", "dx", "rx"), ("1", "a", "b"), ("2.5", "c", "d")]


# --- files of strangers -------------------------------------------------------------------------


def rewritten(path, change, name="bomb.xlsx"):
    """Copy a workbook with some parts changed by a function of name and content."""
    target = path.with_name(name)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.namelist():
            new.writestr(part, change(part, old.read(part)))
    return target


def test_entities_are_not_expanded(book):
    def bomb(part, content):
        if part != "xl/sharedStrings.xml":
            return content
        more = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
        kinds = f'<!DOCTYPE sst [<!ENTITY a0 "lol">{more}]><sst'.encode()
        return content.replace(b"<sst", kinds, 1).replace(b"<t>x</t>", b"<t>&a9;</t>")

    refused(rewritten(book({"A": [["x", "y"]]}), bomb), "unrecognized entity")

    def bomb_list(part, content):
        if part != "xl/workbook.xml":
            return content
        more = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
        kinds = f'<!DOCTYPE workbook [<!ENTITY a0 "lol">{more}]><workbook'.encode()
        content = content.replace(b"<workbook", kinds, 1)
        return content.replace(b'name="A"', b'name="&a9;"')

    refused(rewritten(book({"A": [["x", "y"]]}), bomb_list), "cannot be read|no sheet")


def test_archives_that_unpack_to_much(book, monkeypatch):
    path = book({"A": [HEADER, *BODY]})

    def padded(part, content):
        return content + b" " * (70 << 20) if part == "docProps/app.xml" else content

    bomb = rewritten(path, padded)
    assert bomb.stat().st_size < 1 << 20
    refused(bomb, "more than 200 times")
    monkeypatch.setattr(containers, "ARCHIVE_LIMIT", 1 << 20)
    refused(bomb, "more than 1,048,576")
    monkeypatch.setattr(untrusted, "ENTRIES_LIMIT", 5)
    refused(path, "files, more than 5")


def test_archives_that_lie_about_sizes(book):
    path = rewritten(
        book({"A": [HEADER, *BODY]}),
        lambda part, content: content + b" " * 100_000 if part == "docProps/app.xml" else content,
    )
    content = bytearray(path.read_bytes())
    place = content.rfind(b"docProps/app.xml")  # in the list at the end
    content[place - 22 : place - 18] = (50).to_bytes(4, "little")
    path.write_bytes(content)
    refused(path, "unpacks to more than the 50 bytes")


def test_large_workbooks_that_compress_well_are_read(book):
    path = book({"A": [["id", "item"], *([i, "always the same text"] for i in range(30_000))]})
    assert load(path).frame.height == 30_001


def test_stray_cells_far_away(book):
    refused(book({"A": {(0, 0): "a", (1_048_575, 16_383): "b"}}), "reaches to cell XFD1048576")
    refused(book({"A": {(0, 0): "a", (1_048_575, 30): "b"}}, "b.xlsx"), "delete the stray cells")
    assert load(book({"A": {(0, 0): "a", (5000, 30): "b"}}, "c.xlsx")).frame.shape == (5001, 31)


def test_repeated_cells_of_ods(tmp_path):
    many = {"row": {"numberrowsrepeated": 1_000_000}, "cell": {"numbercolumnsrepeated": 16_000}}
    refused(ods(tmp_path / "a.ods", [["x"]], repeated=many), "Cell limit exceeded")


def test_damaged_and_protected_workbooks(book, tmp_path):
    path = book({"A": [HEADER, *BODY]})
    content = path.read_bytes()
    for end in range(5000, len(content), 97):
        path.write_bytes(content[:end])
        refused(path, "damaged")
    path.write_bytes(content[:3000] + bytes(200) + content[3200:])
    refused(path, "cannot be read|damaged")
    old = tmp_path / "a.xls"
    magic = bytes.fromhex("d0cf11e0a1b11ae1")
    old.write_bytes(magic + bytes(1000))
    refused(old, "cannot be read as Excel workbook")
    old.write_bytes(magic + bytes(1000) + "EncryptedPackage".encode("utf-16-le") + bytes(500))
    refused(old, "protected by a password")
    flagged = bytearray(content)
    place = flagged.rfind(b"PK\x01\x02")
    flagged[place + 8] |= 1
    path.write_bytes(flagged)
    refused(path, "protected by a password")


def test_any_damage_is_an_error_of_ours(book):
    path = book({"A": [HEADER, *BODY]}, merges=["E1:F2"])
    content = path.read_bytes()
    for place in range(0, len(content), 61):
        changed = bytearray(content)
        changed[place] ^= 0xFF
        path.write_bytes(changed)
        with Source(path) as source:
            if sniff_container(source.head):
                try:
                    load_grid(source)
                except InputError as error:
                    str(error).encode()


def test_what_reads_workbooks_is_missing(book, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    error = refused(book({"A": [HEADER]}), "not installed")
    assert error.fix.startswith("pip install 'setveil[excel]'")


# --- what is what -------------------------------------------------------------------------------


def test_sniffing(book, tmp_path):
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl.txt", "xl/workbook.xml")
    document = tmp_path / "a.docx"
    with zipfile.ZipFile(document, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("[Content_Types].xml", "<a>wordprocessingml</a>")
        file.writestr("word/document.xml", "<a/>")
    late = tmp_path / "late.xlsx"
    with zipfile.ZipFile(late, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("[Content_Types].xml", "<a>x-spreadsheetml.sheet.main+xml</a>")
    cases = {
        book({"A": [["a"]]}): "excel",
        ods(tmp_path / "a.ods", [["a"]]): "ods",
        archive: "",
        document: "",
        late: "excel",
    }
    for path, kind in cases.items():
        with Source(path) as source:
            assert sniff_container(source.head) == kind
    assert sniff_container(b"SQLite format 3\0...") == "sqlite"
    assert sniff_container(b"PAR1") == "parquet"
    assert sniff_container(b"") == sniff_container(b"id,item\n") == ""


def test_tables_and_queries_of_texts_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,item\n")
    refused(path, "neither Parquet, a workbook nor a database, so that a table", table="x")
    refused(path, "so that a query cannot be chosen", query="SELECT 1")
    refused(path, "neither Parquet")


# --- databases ----------------------------------------------------------------------------------


@pytest.fixture
def base(tmp_path):
    def make(*statements, name="a.db"):
        path = tmp_path / name
        with sqlite3.connect(path) as connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()
        return path

    return make


VISITS = (
    "CREATE TABLE visits (id INTEGER, code TEXT, price REAL, scan BLOB)",
    "INSERT INTO visits VALUES (1, 'a', 2.0, x'00'), (2, '', 2.5, NULL), (3, NULL, NULL, NULL)",
)


def test_sqlite_tables(base):
    grid = load(base(*VISITS, name="odd #1?.db"))
    assert (grid.kind, grid.chosen, grid.tables) == ("sqlite", "visits", ("visits",))
    assert grid.header == ("id", "code", "price")
    assert grid.frame.rows() == [("1", "a", "2"), ("2", None, "2.5"), ("3", None, None)]
    assert grid.notes == ("The column 'scan' holds binary data (BLOBs) and was left out.",)


def test_sqlite_choices(base):
    path = base(
        *VISITS,
        'CREATE TABLE "odd ""name" (x)',
        "CREATE VIEW codes AS SELECT id, code FROM visits WHERE code <> ''",
    )
    error = refused(path, "several tables: 'odd \"name', 'visits', 'codes'")
    assert "--table" in error.fix
    assert "--query" in error.fix
    assert rows(path, table="codes") == [("1", "a")]
    assert load(path, table='odd "name').frame.shape == (0, 1)
    assert rows(path, table="visits", columns=["code"], rows=2) == [("a",), (None,)]
    refused(path, "no table 'visit'; did you mean 'visits'", table="visit")
    refused(path, "no column 'cod'; did you mean 'code'", table="visits", columns=["cod"])
    refused(path, "'scan' holds binary data", table="visits", columns=["id", "scan"])
    refused(path, "both a table and a query", table="visits", query="SELECT 1")
    assert rows(base("CREATE VIEW v AS SELECT 1 AS one", name="v.db")) == [("1",)]
    refused(base("CREATE TABLE t (x)", "DROP TABLE t", name="n.db"), "no table in it")


def test_sqlite_queries(base):
    path = base(*VISITS)
    grid = load(path, query="-- all\nWITH v AS (SELECT id, upper(code) AS c FROM visits) "
                            "SELECT * FROM v ORDER BY id;")  # fmt: skip
    assert (grid.header, grid.frame.rows(), grid.chosen) == (
        *(("id", "c"), [("1", "A"), ("2", None), ("3", None)]),
        "",
    )
    assert rows(path, query="SELECT id, code FROM visits", columns=["code"], rows=1) == [("a",)]
    mixed = "SELECT 1 AS x UNION ALL SELECT 2.5 UNION ALL SELECT 'a' UNION ALL SELECT NULL"
    assert rows(path, query=mixed) == [("1",), ("2.5",), ("a",), (None,)]


@pytest.mark.parametrize(
    "query",
    [
        *["DELETE FROM visits", "PRAGMA user_version = 7", "ATTACH 'other.db' AS o", "", ";"],
        *["SELECT 1; DELETE FROM visits", "WITH x AS (SELECT 1) DELETE FROM visits"],
        *["SELECT load_extension('x')", "VACUUM INTO 'copy.db'", "SELECT", "SELECT nothing"],
        *["SELECT * FROM pragma_user_version('x')", "SELECT id, id FROM visits"],
        *["/* SELECT */ DROP TABLE visits", "select writefile('x', 'y')"],
    ],
)
def test_queries_that_are_refused(base, query, tmp_path):
    path = base(*VISITS)
    before = path.read_bytes()
    refused(path, ".", query=query)
    assert path.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.db"]


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT {} FROM n"


def test_queries_without_end(base, monkeypatch):
    path = base(*VISITS, f"CREATE VIEW endless AS {ENDLESS.format('x')}")
    monkeypatch.setattr(containers, "QUERY_SECONDS", 0.5)
    refused(path, "more than 0 seconds|more than 1 second", query=ENDLESS.format("count(*)"))
    refused(path, "runs for more than", query=ENDLESS.format("x"))
    refused(path, "runs for more than", table="endless")
    monkeypatch.setattr(containers, "QUERY_SECONDS", 60)
    monkeypatch.setattr(containers, "QUERY_CELLS", 100_000)
    refused(path, "more than 100,000 cells", query=ENDLESS.format("x"))
    assert rows(path, table="endless", rows=2) == [("1",), ("2",)]


def test_sqlite_from_standard_input_and_compressed(base, tmp_path, monkeypatch):
    path = base(*VISITS)
    seen = []
    opened = sqlite3.connect

    def watched(address, **options):
        spooled = list(Path(tempfile.gettempdir()).glob("*.sqlite"))
        seen.extend(spooled)
        assert all(stat.S_IMODE(each.stat().st_mode) == 0o600 for each in spooled)
        return opened(address, **options)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sqlite3, "connect", watched)
    packed = tmp_path / "a.db.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert rows(packed, columns=["id"]) == [("1",), ("2",), ("3",)]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert rows("-", columns=["id"]) == [("1",), ("2",), ("3",)]
    assert len(seen) == 2
    assert not any(each.exists() for each in seen)


def test_databases_that_are_damaged_or_in_use(base):
    path = base(*VISITS)
    content = path.read_bytes()
    path.write_bytes(content[:200])
    refused(path, "cannot be read as SQLite database")
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    refused(path, "cannot be read as SQLite database")
    path.write_bytes(content)
    path.with_name("a.db-wal").write_bytes(b"x")
    refused(path, "changes are still in a.db-wal")


def test_a_database_that_may_not_be_written(base):
    path = base(*VISITS)
    path.chmod(0o444)
    folder = path.parent
    folder.chmod(0o555)
    try:
        assert load(path, columns=["id"]).frame.height == 3
    finally:
        folder.chmod(0o755)
    assert [each.name for each in folder.iterdir()] == ["a.db"]


def test_texts_import_nothing_heavy():
    code = (
        "import sys; from setveil.io.containers import sniff_container; sniff_container(b'a'); "
        "print({'polars', 'fastexcel', 'numba'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
