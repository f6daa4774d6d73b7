"""Malformed input: where, what, how to fix; or skipped, counted and listed."""

from __future__ import annotations

import pytest
from tests.io.reported import read_reported

from setveil.core.errors import InputError
from setveil.io import number_lines as formats_numbers
from setveil.io.readers import read

# name, options, text, line, column, offending text, problem, records left when skipping
MALFORMED = [
    ("a.dat", {}, "1 2\n3 -4\n5\n6\n", 2, 3, "-4", "whole number", 3),
    ("a.dat", {}, "1 2\n3\n4 milk\n", 3, 3, "milk", "whole number", 2),
    ("a.dat", {}, "1\n2 \t 007\n3\n", 2, 5, "007", "leading zero", 2),
    ("a.dat", {}, "1\n1234567890123456789\n", 2, 1, "1234567890123456789", "18 digits", 1),
    ("a.dat", {}, "1\n2 3\r4\n5\n", 2, 3, "3\\r4", "whole number", 2),
    ("a.dat", {"format": "fimi"}, "1\nx²\n", 2, 1, "x²", "whole number", 1),
    ("a.csv", {}, 'a,"b"c\nd\n', 1, 6, '"c', "closing quote", 1),
    ("a.csv", {}, 'a,b\nc,"d\ne\nf,g\n', 2, 3, '"d', "never closed", 3),
    ("a.csv", {}, "a,b\rc\nd\n", 1, 4, "b\\rc", "carriage return", 1),
    ("a.csv", {}, b"a\n" * 40_000 + b"c\xe9,\xff\nd,e\n", 40_001, 2, "xe9", "UTF-8", 40_001),
    ("a.csv", {}, b"a\n" * 40_000 + "éx\0\n".encode(), 40_001, 3, "x", "zero", 40_000),
    ("a.csv", {"format": "long"}, "id,item\n1,x\n2\n3,y\n", 3, 1, "2", "1 field where", 2),
    ("a.csv", {"format": "long"}, "id,item\n1,x\n2,y,z\n", 3, 5, "2,y,z", "3 fields where", 1),
    ("a.csv", {}, "id,item\n1,x\n,y\n", 3, 1, ",y", "has no 'id'", 1),
    ("a.csv", {}, "x,y\n" + "1,1\n" * 2000 + "0,2\n", 2002, 0, "2", "neither 0 nor 1", 2000),
    ("a.csv", {"format": "one-hot"}, 'id,x,"y\nz"\n1,0,0\n2,0,maybe\n', 4, 0, "maybe", "nor 1", 1),
    ("a.jsonl", {}, '["a"]\n["b"\n', 2, 5, '"b"', "not JSON", 1),
    ("a.jsonl", {}, '["a"]\n{"x": 1}\n', 2, 1, '"x"', "no field 'items'", 1),
    ("a.jsonl", {}, '["a"]\n"b"\n', 2, 1, "b", "neither an array", 1),
    ("a.jsonl", {}, '["a"]\n["b", null]\n', 2, 1, "null", "null", 1),
    ("a.jsonl", {}, '["a"]\n[1.5]\n', 2, 1, "1.5", "fraction", 1),
    ("a.jsonl", {}, '["a"]\n["\\ud800"]\n', 2, 3, "ud800", "surrogate", 1),
    ("a.jsonl", {}, '["a"]\n' + "[" * 100_000 + "\n", 2, 1, "[[[", "deep", 1),
    ("a.jsonl", {}, '["a"]\n[' + "9" * 10_000 + "]\n", 2, 1, "999", "large", 1),
    ("a.spmf", {}, "1 2\n3:5:1\n", 2, 1, "3:5:1", "utility", 1),
    ("a.spmf", {}, "@ITEM=1=a\n1\n1 2\n", 3, 3, "2", "no name", 1),
    ("a.spmf", {}, "@ITEM=1=a\n@ITEM=2=a\n1\n", 2, 1, "@ITEM=2=a", "one name", 1),
    ("a.spmf", {}, "@ITEM=1=a\n@ITEM=1=b\n1\n", 2, 1, "@ITEM=1=b", "again", 1),
    ("a.spmf", {}, "@ITEM=x\n1\n", 1, 1, "@ITEM=x", "not name", 1),
]  # fmt: skip


@pytest.mark.parametrize("case", MALFORMED)
def test_errors_say_where_and_what(file, case):
    name, options, text, line, column, shown, what, _ = case
    path = file(name, text)
    with pytest.raises(InputError) as caught:
        read(path, **options)
    error = caught.value
    assert error.where == f"{path}, line {line}" + f", column {column}" * (column > 0)
    assert shown in error.what
    assert what in error.what
    assert error.fix
    assert len(str(error)) < len(str(path)) + 400


@pytest.mark.parametrize("case", MALFORMED)
def test_skipping_counts_and_lists(file, case):
    name, options, text, line, column, shown, what, left = case
    path = file(name, text)
    table, report = read_reported(path, on_error="skip", **options)
    assert len(table) == report.records == left
    assert report.skipped_count == len(report.skipped) == 1
    where, said, problem = report.skipped[0]
    assert where == f"{path}, line {line}" + f", column {column}" * (column > 0)
    assert shown in said
    assert what in problem or what in said
    assert any(where in sentence for sentence in report.sentences())


@pytest.mark.parametrize("limit", [0, 1 << 30])
def test_compiled_and_plain_numbers_report_alike(file, monkeypatch, limit):
    monkeypatch.setattr(formats_numbers, "PLAIN_LIMIT", limit)
    path = file("a.dat", "1 2\n" * 300_000 + "3 x\n" + "4\n")  # several blocks
    with pytest.raises(InputError, match="line 300001, column 3: 'x' is not a whole number"):
        read(path)
    table, report = read_reported(path, on_error="skip")
    assert (len(table), report.skipped_count) == (300_001, 1)
    assert table[300_000] == ("4",)
    assert table.vocabulary.names == ("1", "2", "4")


def test_many_skipped_lines_are_counted_but_not_all_listed(file):
    path = file("a.dat", "1\n" * 6000 + "x\n" * 1500)
    _, report = read_reported(path, "fimi", on_error="skip")
    assert (report.skipped_count, len(report.skipped)) == (1500, 1000)
    assert report.sentences()[-1] == "  and 1,490 more"


@pytest.mark.parametrize(
    ("name", "options", "text", "message"),
    [
        ("a.csv", {"id": "x"}, "id,item\n1,a\n", "there is no column 'x' among 'id', 'item'"),
        ("a.csv", {"format": "long"}, "a,b\n1,a\n", "no column is known to hold the record"),
        ("a.csv", {"format": "long"}, "\n\n", "no header"),
        ("a.csv", {}, "id,item\n", "no record in it"),
        ("a.csv", {"format": "one-hot"}, "x,x\n1,0\n", "2 of 2 columns are called 'x'"),
        ("a.csv", {"format": "one-hot"}, "x,,\n1,0,0\n", "2 of 3 columns have no name"),
        ("a.dat", {"format": "fimi", "on_error": "skip"}, "a\nb\n", "all 2 lines are malformed"),
        ("a.dat", {}, "", "nothing in it"),
        ("a.csv", {}, "a\0b\n", "binary"),
        ("a.xlsx", {}, b"PK\x03\x04rest", "zip archive"),
    ],
)
def test_whole_files_that_cannot_be(file, name, options, text, message):
    if options.get("id") == "x":
        options = {**options, "format": "long"}
    with pytest.raises(InputError, match=message):
        read(file(name, text), **options)


def test_paths_that_are_no_files(tmp_path):
    with pytest.raises(InputError, match="directory"):
        read(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "missing.dat")
    for strange in ("a\0b", "x" * 5000, tmp_path / "missing" / "a.dat"):
        with pytest.raises(InputError):
            read(strange)
    odd = tmp_path / "caf\udce9.dat"  # a name that is not valid UTF-8
    with pytest.raises(InputError) as caught:
        read(odd)
    assert str(caught.value).encode()
