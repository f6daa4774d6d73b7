"""JSON lines and documents: both parsers give the same records and say the same."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setveil.core.errors import InputError, Problems
from setveil.io import json_lines
from setveil.io.json_lines import list_fields, read_jsonl
from setveil.io.sources import Source


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("json")


def read(path, *, field="items", on_error="raise"):
    problems = Problems(name="a", on_error=on_error)
    with Source(path) as source:
        return read_jsonl(source, problems, field=field), problems


def both(path, content, **options):
    """Read by Python's parser alone, and by polars as far as it goes; return what they gave."""
    path.write_bytes(content)
    results = []
    usual = json_lines.PLAIN_LIMIT
    for limit in (1 << 30, -1):
        json_lines.PLAIN_LIMIT = limit
        try:
            done, problems = read(path, **options)
            results.append(
                (
                    done.table.to_rows(),
                    done.duplicates,
                    done.notes,
                    problems.skipped,
                    problems.count,
                )
            )
        except InputError as error:
            results.append((str(error),))
        finally:
            json_lines.PLAIN_LIMIT = usual
    return results


NUMBERS = st.sampled_from(
    ["0", "-0", "7", "-7", "007", "1.5", "1e3", "9" * 18, "9" * 19, "-", "NaN"]
)
TEXTS = st.one_of(
    st.sampled_from(['"a"', '""', '"12"', '"a, b"', '"[x]"', '"items"', r'"\u00e9"', r'"\ud800"']),
    st.sampled_from([r'"q\"q"', '"tab\there"', '"é日"', "'a'", '"a', r'"\x"', '"\\\\"', '":"']),
    st.text(max_size=4).map(json.dumps),
    st.text(max_size=4).map(lambda text: json.dumps(text, ensure_ascii=False)),
)
ENTRIES = st.one_of(TEXTS, NUMBERS, st.sampled_from(["true", "null", "[]", "{}", "", '{"a":[1]}']))
BLANKS = st.sampled_from(["", "", "", " ", "\t", "\r", "\x0b", "\u00a0"])


@st.composite
def lists(draw):
    blank = draw(BLANKS)
    inside = f"{draw(BLANKS)},{blank}".join(draw(st.lists(ENTRIES, max_size=4)))
    return f"[{blank}{inside}{draw(st.sampled_from(['', '', '', ',']))}]"


@st.composite
def objects(draw):
    keys = st.sampled_from(['"items"', '"items"', '"id"', '"x"', '"a.b"', r'"\u0069tems"', '":"'])
    pairs = draw(st.lists(st.tuples(keys, BLANKS, st.one_of(lists(), ENTRIES)), max_size=3))
    return "{" + ",".join(f"{key}{blank}:{blank}{value}" for key, blank, value in pairs) + "}"


LINES = st.one_of(lists(), objects(), st.sampled_from(["", " ", "\r", "[", "x"]))


@given(
    rows=st.lists(LINES, max_size=8),
    end=st.sampled_from(["\n", "", "\r\n"]),
    field=st.sampled_from(["items", "id", "a.b", ":", "x"]),
    on_error=st.sampled_from(["raise", "skip"]),
    size=st.sampled_from([1, 20, 1 << 20]),
)
def test_both_parsers_agree(folder, rows, end, field, *, on_error, size):
    usual, json_lines.PARSED_AT_ONCE = json_lines.PARSED_AT_ONCE, size
    try:
        # A first line that is sound keeps the rest from being taken for a document.
        text = "\n".join(["[]", *rows]) + end
        content = text.encode("utf-8", "surrogatepass")
        careful, fast = both(folder / "a.jsonl", content, field=field, on_error=on_error)
    finally:
        json_lines.PARSED_AT_ONCE = usual
    assert careful == fast


@given(
    st.lists(st.lists(st.one_of(st.text(max_size=5), st.integers()), max_size=5), min_size=1),
    st.booleans(),
    st.booleans(),
)
def test_sound_lines_are_read_as_written(folder, rows, ascii_only, as_objects):
    held = [{"id": i, "f": 0.5, "items": row} for i, row in enumerate(rows)] if as_objects else rows
    content = "".join(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in held)
    try:
        content.encode()
    except UnicodeEncodeError:
        return
    careful, fast = both(folder / "b.jsonl", content.encode(), on_error="skip")
    assert careful == fast
    sound = [row for row in rows if all(_encodes(str(entry)) for entry in row)]
    assert fast[0] == [sorted({str(entry) for entry in row}) for row in sound]


def _encodes(text):
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@pytest.mark.parametrize("as_objects", [False, True])
def test_large_files_with_a_few_strange_lines(tmp_path, as_objects):
    rows = [[f"item {i % 700}", f"b {i % 13}", "c"] for i in range(60_000)]
    rows[100] = ['say "hi"', 12]
    rows[59_000] = []
    lines = [json.dumps({"id": i, "items": r} if as_objects else r) for i, r in enumerate(rows)]
    lines[30_000] = '["half'
    lines[40_000] = "  "
    content = ("\n".join(lines) + "\n").encode()
    assert len(content) > json_lines.PLAIN_LIMIT
    careful, fast = both(tmp_path / "a.jsonl", content, on_error="skip")
    assert careful == fast
    assert len(fast[0]) == 59_998
    assert fast[0][100] == ["12", 'say "hi"']
    assert fast[3][0][0] == "a, line 30001, column 2"
    assert fast[2] == ["1 blank line left out."]
    careful, fast = both(tmp_path / "a.jsonl", content)
    assert careful == fast
    assert "line 30001, column 2" in fast[0]


def test_bytes_that_are_no_text_are_reported_by_line(tmp_path):
    content = b'["a"]\n' * 400_000 + b'["\xe9"]\n["b\0"]\n["z"]\n'
    careful, fast = both(tmp_path / "a.jsonl", content, on_error="skip")
    assert careful == fast
    assert len(fast[0]) == 400_001
    assert [place for place, _, _ in fast[3]] == [
        "a, line 400001, column 3",
        "a, line 400002, column 4",
    ]


def test_the_last_of_equal_keys_counts(tmp_path):
    content = b'{"items": ["a"], "items": ["b"]}\n{"items": 1, "items": ["c"]}\n'
    careful, fast = both(tmp_path / "a.jsonl", content)
    assert careful == fast
    assert fast[0] == [["b"], ["c"]]


def test_fields_inside_objects(tmp_path):
    content = b'{"visit": {"codes": ["a"]}, "items": ["x"]}\n{"visit.codes": ["b"]}\n'
    careful, fast = both(tmp_path / "a.jsonl", content, field="visit.codes")
    assert careful == fast
    assert fast[0] == [["a"], ["b"]]
    # A field of the same name inside another object is not the field.
    careful, fast = both(tmp_path / "a.jsonl", b'{"in": {"items": ["a"]}}\n')
    assert careful == fast
    assert "has no field 'items'" in fast[0]


DOCUMENTS = [
    ('[["a", 1],\n ["b"]]', [["1", "a"], ["b"]]),
    ('[["a"], []]', [["a"], []]),
    ('[\n  {"items": ["a"]},\n  {"items": []}\n]\n', [["a"], []]),
    ('[{"items": ["a"]}, {"items": ["b"]}]', [["a"], ["b"]]),
    ('\ufeff\n[\n\n["a"]]', [["a"]]),
]


@pytest.mark.parametrize(("text", "rows"), DOCUMENTS)
def test_documents(tmp_path, text, rows):
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    assert read(path)[0].table.to_rows() == rows


def test_malformed_documents(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('[\n["a"],\n["b"\n]')
    with pytest.raises(InputError, match=r"a, line 4, column 2: the JSON document is damaged"):
        read(path)
    path.write_text('[\n["a"],\n[null],\n"b"\n]')
    with pytest.raises(InputError, match="row 2: '\\[null\\]' holds null as an item"):
        read(path)
    done, problems = read(path, on_error="skip")
    assert done.table.to_rows() == [["a"]]
    assert [place for place, _, _ in problems.skipped] == ["a, row 2", "a, row 3"]


def test_lines_are_not_taken_for_a_document(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('["a"\n["b"]\n')
    with pytest.raises(InputError, match=r"line 1, column 5: .* is not JSON"):
        read(path)
    done, problems = read(path, on_error="skip")
    assert (done.table.to_rows(), problems.count) == ([["b"]], 1)
    path.write_text('[["a"]]\n["b"]\n')
    with pytest.raises(InputError, match=r"line 1, column 1: .* holds an array as an item"):
        read(path)
    path.write_text('[\n"a",\n"b"\n]\n')
    with pytest.raises(InputError, match=r"row 1: .* is neither an array nor an object with one"):
        read(path)


def test_large_documents_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(json_lines, "DOCUMENT_LIMIT", 100)
    path = tmp_path / "a.json"
    path.write_text("[\n" + '["a"],\n' * 50 + '["b"]]')
    with pytest.raises(InputError, match=r"more than 100 bytes.*JSON lines"):
        read(path)


def test_fields_that_hold_lists():
    lines = ['{"id": 1, "dx": ["a"], "rx": []}', "", "x", '["a"]', '{"rx": [1], "dx": "b"}']
    assert list_fields(lines) == ["rx"]
    assert list_fields(['{"a": {"b": ["x"], "c": 1}, "d": [[1]], "e": [true]}']) == ["a.b"]
    assert list_fields(["[1]", ""]) == []


def test_small_files_import_no_polars(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('["a"]\n' * 1000)
    code = (
        "import sys; from setveil.io.sources import Source; "
        "from setveil.core.errors import Problems; from setveil.io.json_lines import read_jsonl; "
        "read_jsonl(Source(sys.argv[1]), Problems(name='a')); "
        "print({'numba', 'polars', 'charset_normalizer'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
