"""A release as plain tables: complete, explained, and counted with as its example says."""

import io
import json
import re
from contextlib import redirect_stdout

import polars as pl
import pytest
from tests.published_forms import HIDDEN, TABLE, releases

from setveil.release.export import table_bytes, table_files
from setveil.release.store import load_release, save

FORMS = releases()


@pytest.fixture(params=FORMS)
def release(request):
    return FORMS[request.param]


def expected(code):
    """Return what the comments of a program say that it prints."""
    return [line.rpartition("  # ")[2] for line in code.splitlines() if line.startswith("print(")]


def test_examples_print_what_they_say(release, tmp_path, monkeypatch):
    found = release.export()
    save(release, tmp_path / "release", method="made by hand", params={}, promise=None)
    (tmp_path / "data").mkdir()
    for name, content in table_files(found.tables, ["parquet"]).items():
        (tmp_path / "data" / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    for code in found.example:
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(code, "example", "exec"), {})
        assert printed.getvalue().splitlines() == expected(code) != []


def test_tables_hold_what_the_release_shows(release):
    found = release.export()
    shown = {item for table in found.tables if "item" in table.columns
             for item in table.frame["item"].drop_nulls().to_list()}  # fmt: skip
    assert shown == {term.term for term in found.terms}
    for table in [*found.tables, *found.dictionary()]:
        assert set(table.columns) == set(table.frame.columns)
        assert all(meaning.endswith(".") for meaning in table.columns.values())
        csv = pl.read_csv(io.BytesIO(table_bytes(table.frame, "csv")), schema=table.frame.schema)
        assert csv.equals(table.frame)
        lines = table_bytes(table.frame, "jsonl").decode().splitlines()
        assert [tuple(json.loads(line).values()) for line in lines] == table.frame.rows()


def test_no_hidden_item_is_exported(release):
    found = release.export()
    files = table_files([*found.tables, *found.dictionary()], ["csv", "jsonl"])
    assert not any(HIDDEN.encode() in content for content in files.values())


def test_records_of_terms_are_counted(release):
    """Compare with a count over the rows, where a form has rows of whole records."""
    found = release.export()
    if [table.name for table in found.tables] != ["records"] or "group" in found.tables[0].columns:
        return
    frame = found.tables[0].frame
    for term in found.terms:
        rows = frame.filter(pl.col("item") == term.term)["record"].n_unique()
        assert term.least == term.most == rows


def test_terms_of_chunks_and_groups_have_bounds_that_hold():
    for name in ("disassociated", "joint", "grouped", "grouped-parts", "dealt"):
        for term in FORMS[name].export().terms:
            rows = sum(term.term in row for row in TABLE)
            if term.term != "flu":  # the table behind these forms gives empty records a flu
                assert term.least <= rows <= term.most
            else:
                assert term.most > rows


def test_the_same_release_gives_the_same_bytes(release, tmp_path):
    save(release, tmp_path / "a", method="made by hand", params={}, promise=None)
    again = load_release(tmp_path / "a")
    one, two = (
        table_files([*found.tables, *found.dictionary()], ["parquet", "csv", "jsonl"])
        for found in (release.export(), again.export())
    )
    assert one == two


def test_a_name_cannot_leave_its_literal():
    from setveil import TransactionTable
    from setveil.release import publish_suppressed

    evil = "'''\n```\u202e\U000e0100\"); raise SystemExit  # "
    release, _ = publish_suppressed(TransactionTable.from_rows([[evil], [evil]]), [True])
    code = release.export().example.polars
    assert re.search(r"^```", code, re.MULTILINE) is None
    literal = re.search(r"== (.*)\)$", code, re.MULTILINE)[1]
    assert eval(literal) == evil
    assert literal.isascii()
