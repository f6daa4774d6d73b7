"""Documents from folders, text files, JSON lines and tables."""

import gzip
import json
import os

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from setveil.core.errors import InputError, ParameterError, SetveilError
from setveil.text.documents import FORMATS, Documents


def texts(path, **options):
    return [document.text for document in Documents(path=path, **options)]


def write(folder, name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_folder_gives_its_text_files_by_name(tmp_path):
    write(tmp_path, "b.txt", "two")
    write(tmp_path, "a/z.md", "one")
    write(tmp_path, "c.txt.gz", gzip.compress(b"three"))
    write(tmp_path, "d.zst", zstandard.compress(b"four"))
    write(tmp_path, ".hidden", "no")
    write(tmp_path, ".git/x", "no")
    write(tmp_path, "e.html", "<html><p>five</p>")
    write(tmp_path, "pic.png", b"\x89PNG\r\n\x1a\n\0\0")
    write(tmp_path, "f.pdf", "%PDF-1.7")
    write(tmp_path, "g.csv", "text\nx")
    write(tmp_path, "broken.gz", b"\x1f\x8bxx")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe")
    documents = Documents(path=tmp_path)
    found = [(document.name, document.text) for document in documents]
    assert found == [
        ("b.txt", "two"),
        ("c.txt.gz", "three"),
        ("d.zst", "four"),
        ("e.html", "five"),
        ("a/z.md", "one"),
    ]
    assert documents.counts.files_skipped == 5
    assert documents.counts.html == 1
    assert len(documents.problems.skipped) == 5


def test_a_folder_without_text_is_an_error(tmp_path):
    write(tmp_path, "pic.png", b"\0")
    with pytest.raises(InputError, match="no text file"):
        texts(tmp_path)


def test_bad_bytes_are_replaced_and_counted(tmp_path):
    write(tmp_path, "latin.txt", b"caf\xe9 visit")
    write(tmp_path, "utf16.txt", "caf\u00e9".encode("utf-16"))
    write(tmp_path, "mark.txt", b"\xef\xbb\xbfone")
    documents = Documents(path=tmp_path)
    assert [d.text for d in documents] == ["caf\ufffd visit", "one", "caf\u00e9"]
    assert documents.counts.bad_encoding == 1


def test_empty_documents_are_counted(tmp_path):
    path = write(tmp_path, "a.jsonl", '{"text": ""}\n{"text": null}\n\n{"text": "<p> <br>"}\n')
    documents = Documents(path=path)
    assert [d.text for d in documents] == ["", "", ""]
    assert documents.counts.empty == 3


@pytest.mark.parametrize("field", ["text", "body", "content"])
def test_the_text_field_is_guessed(tmp_path, field):
    path = write(tmp_path, "a.jsonl", json.dumps({"id": 3, "x": "no", field: "yes"}))
    (document,) = Documents(path=path)
    assert (document.name, document.text) == ("3", "yes")
    table = write(tmp_path, "a.csv", f"x,{field.upper()}\nno,yes\n")
    assert texts(table) == ["yes"]


def test_json_lines_by_content_and_by_field(tmp_path):
    path = write(tmp_path, "notes", b'{"note": "caf\xe9", "text": 1}\n{"note": "\\ud800"}')
    assert texts(path, text_field="note") == ["caf\ufffd", "?"]


def test_half_a_character_in_a_name(tmp_path):
    path = write(tmp_path, "notes.jsonl", b'{"id": "\\ud8007", "text": "flu"}')
    assert [document.name for document in Documents(path=path)] == ["?7"]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("[1]", "not a JSON object"),
        ("{", "not JSON"),
        ('{"x": 1}', "no field 'text'"),
        ('{"text": 7}', "no text in the field"),
    ],
)
def test_malformed_json_lines(tmp_path, line, what):
    path = write(tmp_path, "a.jsonl", f'{{"text": "one"}}\n{line}\n{{"text": "two"}}\n')
    with pytest.raises(InputError, match=what) as caught:
        texts(path)
    assert "line 2" in str(caught.value)
    documents = Documents(path=path, on_error="skip")
    assert [d.text for d in documents] == ["one", "two"]
    assert documents.problems.count == 1


def test_tables_with_quotes_tabs_and_short_lines(tmp_path):
    path = write(tmp_path, "a.csv", 'id,text\n7,"one, with\na ""line"""\n\n8,two,\n9,three\n')
    with pytest.raises(InputError, match="has 3 columns, not 2"):
        texts(path)
    documents = Documents(path=path, on_error="skip")
    found = [(d.name, d.text) for d in documents]
    assert found == [("7", 'one, with\na "line"'), ("9", "three")]
    assert texts(write(tmp_path, "a.tsv", "text\tx\na, b\t1\n")) == ["a, b"]
    assert texts(write(tmp_path, "b", "text;x\na, b;1\n"), format="csv", delimiter=";") == ["a, b"]


def test_a_table_without_the_column_lists_what_there_is(tmp_path):
    path = write(tmp_path, "a.csv", "id,note\n1,x\n")
    with pytest.raises(InputError, match="--text-field: id, note"):
        texts(path)
    with pytest.raises(InputError, match="no column 'words'"):
        texts(path, text_field="words")


def test_headers_and_footers_are_cut(tmp_path):
    text = "Clinic\nREPORT\nA fever. Regards to all.\nRegards\nDr. X"
    path = write(tmp_path, "a.txt", text)
    documents = Documents(path=path, header_pattern="^REPORT$", footer_pattern="^Regards")
    assert [d.text for d in documents] == ["A fever. Regards to all."]
    assert (documents.counts.headers_cut, documents.counts.footers_cut) == (1, 1)
    assert texts(path, header_pattern="NOTHING") == [text]


@pytest.mark.parametrize(
    "options",
    [
        {"format": "pdf"},
        {"header_pattern": "("},
        {"footer_pattern": "*"},
        {"delimiter": ""},
        {"on_error": "x"},
    ],
)
def test_bad_parameters_are_refused_at_once(options):
    with pytest.raises(ParameterError):
        Documents(path="nowhere", **options)


@pytest.mark.parametrize("content", [b"", b"%PDF-1", b"PK\x03\x04", b"a\0b"])
def test_a_file_that_is_no_text_is_an_error(tmp_path, content):
    with pytest.raises(InputError):
        texts(write(tmp_path, "a.txt", content))


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        texts(tmp_path / "nowhere")


fragments = [
    b'{"text": "a"}',
    b"text,x",
    b'"',
    b"\n",
    b"\xff",
    b"\0",
    b",",
    b"\\u",
    b"{",
    b"a",
    b"\r",
]


@given(st.lists(st.sampled_from(fragments) | st.binary(max_size=3), max_size=12).map(b"".join))
def test_any_bytes_are_read_or_refused_with_a_reason(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("x") / "a"
    path.write_bytes(content)
    for name in (None, *FORMATS):
        for on_error in ("raise", "skip"):
            try:
                found = list(Documents(path=path, format=name, on_error=on_error))
            except SetveilError:
                continue
            assert all(isinstance(document.text, str) for document in found)
            "".join(document.text for document in found).encode()
