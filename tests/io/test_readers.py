"""Every format reads as it should, plain and compressed, from files and from standard input."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys

import numpy as np
import pytest
import zstandard
from tests.io.reported import read_reported

from setveil.core.errors import ParameterError
from setveil.io import number_lines as formats_numbers
from setveil.io.readers import read

FORMATS = [
    ("fimi", "a.dat", "3 10\n\n7 3\n", [["10", "3"], [], ["3", "7"]]),
    ("basket", "a.csv", 'x, y ,"a, b"\n\nz\n', [["a, b", "x", "y"], [], ["z"]]),
    ("basket", "a.csv", "x;y\nz;\n", [["x", "y"], ["z"]]),
    ("basket", "a.tsv", "p q\tr\ns\n", [["p q", "r"], ["s"]]),
    ("basket", "a.txt", "milk bread\nmilk\n", [["bread", "milk"], ["milk"]]),
    ("long", "a.csv", "id,item\n1,x\n2,\n1,y\n", [["x", "y"], []]),
    ("long", "a.tsv", "When\tItem\tTID\nmay\tx\t7\njune\ty\t8\n", [["x"], ["y"]]),
    ("one-hot", "a.csv", "x,y\n1,0\n0,0\n1,1\n", [["x"], [], ["x", "y"]]),
    ("one-hot", "a.csv", "id,x,y\n7,True,no\n8,,YES\n", [["x"], ["y"]]),
    ("jsonl", "a.jsonl", '["x", "y"]\n[]\n[3]\n', [["x", "y"], [], ["3"]]),
    ("jsonl", "a.txt", '{"id": 1, "items": ["x"]}\n\n{"items": []}\n', [["x"], []]),
    ("spmf", "a.txt", "@CONVERTED_FROM_TEXT\n@ITEM=1=a b\n@ITEM=2=c\n% no\n1 2\n2\n",
     [["a b", "c"], ["c"]]),
    ("spmf", "a.spmf", "# comment\n1 3\n\n2\n", [["1", "3"], [], ["2"]]),
    ("spmf", "a.txt", "1 -1 2 3 -1 -2\n4 -1 -2\n", [["1", "2", "3"], ["4"]]),
]  # fmt: skip


@pytest.mark.parametrize("packed", ["", ".gz", ".zst"])
@pytest.mark.parametrize("case", FORMATS)
def test_formats_are_guessed_and_read(file, case, packed):
    kind, name, text, rows = case
    data = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}[packed](text.encode())
    table, report = read_reported(file(name + packed, data))
    assert table.to_rows() == rows
    assert (report.format, report.guessed) == (kind, True)
    assert report.why
    assert report.records == len(rows)
    assert report.occurrences == sum(map(len, rows))
    assert report.empty_records == rows.count([])


@pytest.mark.parametrize("case", FORMATS)
@pytest.mark.parametrize("change", ["bom", "crlf", "no last newline"])
def test_line_ends_and_byte_order_mark_do_not_matter(file, case, change):
    kind, name, text, rows = case
    if change == "bom":
        text = "\ufeff" + text
    elif change == "crlf":
        text = text.replace("\n", "\r\n")
    else:
        text = text.removesuffix("\n")
    table, report = read_reported(file(name, text))
    assert (report.format, table.to_rows()) == (kind, rows)
    assert read(file("other", text), kind).to_rows() == rows


def test_the_suffix_does_not_decide_about_compression(file):
    assert read(file("a.dat", gzip.compress(b"1 2\n"))).to_rows() == [["1", "2"]]
    assert read(file("a.dat.gz", b"1 2\n")).to_rows() == [["1", "2"]]


def test_several_compressed_parts_are_one_file(file):
    assert len(read(file("a.dat.gz", gzip.compress(b"1\n") + gzip.compress(b"2\n")))) == 2
    assert (
        len(read(file("a.dat.zst", zstandard.compress(b"1\n") + zstandard.compress(b"2\n")))) == 2
    )


def test_names_with_newlines_quotes_and_unicode(file):
    text = '"two\nlines","say ""hi""",日本語\n5" pipe , \u00e9\n'
    assert read(file("a.csv", text)).to_rows() == [
        ['say "hi"', "two\nlines", "日本語"],
        ['5" pipe', "é"],
    ]


def test_quoted_newline_keeps_its_carriage_return(file):
    assert read(file("a.csv", '"a\r\nb",c\r\nd\r\n')).to_rows() == [["a\r\nb", "c"], ["d"]]


def test_duplicates_are_merged_and_said(file):
    table, report = read_reported(file("a.csv", "x,y,x\nx,x,x\n"))
    assert table.to_rows() == [["x", "y"], ["x"]]
    assert report.duplicates_merged == 3
    assert "3 repeated items within records were merged." in report.sentences()


def test_options_choose_columns_and_delimiter(file):
    path = file("a.txt", "who|what|when\nann|x|1\nbob|y|2\nann|y|3\n")
    table, report = read_reported(path, id="who", item="what")
    assert (report.format, table.to_rows()) == ("long", [["x", "y"], ["y"]])
    assert read(path, "long", id="when", item="who", delimiter="|").to_rows() == [
        ["ann"],
        ["bob"],
        ["ann"],
    ]
    assert read(file("b", "a::b\nc\n"), "basket", delimiter="::").to_rows() == [["a", "b"], ["c"]]
    assert read(file("c", "a\tb c\n"), "basket", delimiter="tab").to_rows() == [["a", "b c"]]
    assert read(file("d", '{"codes": ["x"]}\n'), item="codes").to_rows() == [["x"]]


def test_one_hot_id_column_by_name(file):
    path = file("a.csv", "x,who,y\n1,ann,0\n1,bob,1\n")
    assert read(path, "one-hot", id="who").to_rows() == [["x"], ["x", "y"]]


@pytest.mark.parametrize("limit", [0, 1 << 30])
def test_numbers_read_the_same_compiled_or_not(file, monkeypatch, limit):
    monkeypatch.setattr(formats_numbers, "PLAIN_LIMIT", limit)
    rng = np.random.default_rng(1)
    rows = [rng.integers(0, 300, n).tolist() for n in rng.integers(0, 100, 400)]
    rows += [[10**17 + 5, 3], [999_999_999_999]]
    text = "".join(" ".join(map(str, row)) + "\n" for row in rows)
    for content, expected in [
        (text, [sorted({str(i) for i in row}) for row in rows]),
        ("5 4\n" * 3, [["4", "5"]] * 3),
        ("\n\n", [[], []]),
    ]:
        table, report = read_reported(file("a.dat", content), "fimi")
        assert table.to_rows() == expected
        given = sum(len(line.split()) for line in content.split("\n"))
        assert report.duplicates_merged == given - sum(map(len, expected))


@pytest.mark.parametrize("size", [3, 7, 64])
def test_blocks_cut_lines_nowhere(file, monkeypatch, size):
    from setveil.io import sources

    whole = sources.Source.blocks
    monkeypatch.setattr(sources, "HEAD", 5)
    monkeypatch.setattr(sources.Source, "blocks", lambda self, *_: whole(self, size))
    text = '"a\nb",long name number one,c\n\nd\n' * 3
    assert (
        read(file("a.csv", text), "basket").to_rows()
        == [
            ["a\nb", "c", "long name number one"],
            [],
            ["d"],
        ]
        * 3
    )


def test_standard_input(monkeypatch):
    for data in (b"1 2\n3\n", gzip.compress(b"1 2\n3\n")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        table, report = read_reported("-")
        assert table.to_rows() == [["1", "2"], ["3"]]
        assert report.name == "standard input"


def test_small_files_import_neither_numba_nor_polars(file):
    path = file("a.dat", "1 2\n" * 1000)
    code = (
        "import sys; from setveil.io.readers import read; read(sys.argv[1]); "
        "print({'numba', 'polars', 'zstandard'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


def test_unknown_format_delimiter_and_policy(file):
    path = file("a.dat", "1\n")
    for wrong in ({"format": "xml"}, {"delimiter": '"'}, {"delimiter": ""}, {"on_error": "ignore"}):
        with pytest.raises(ParameterError):
            read(path, **wrong)


def test_real_files(data_dir):
    table, report = read_reported(data_dir / "groceries.basket.csv")
    assert (report.format, len(table), table.n_items) == ("basket", 9835, 169)
    assert (len(table.items), table.lengths.max()) == (43367, 32)
    table, report = read_reported(data_dir / "online_retail.dat.gz")
    assert (report.format, len(table), table.n_items) == ("fimi", 19773, 3791)
    assert table.lengths.max() == 1106
    assert round(table.lengths.mean(), 1) == 26.2
