"""Cells are the same whether plain Python or compiled loops read them."""

from __future__ import annotations

import gzip
import random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from setveil.core import table
from setveil.core.errors import InputError, ParameterError, Problems
from setveil.io import cells as module
from setveil.io.cells import Cells, TextPool, pairs_of_codes, read_cells, rows_of_codes
from setveil.io.delimited import records
from setveil.io.sources import Source, text_lines

PIECES = st.sampled_from(
    [
        *(b"a", b"b", b"long enough for two words", b'"', b'""', b'"x"', b'"x""y"', b"0"),
        *(b",", b"::", b":", "é".encode(), b" ", b"\t", b"\n", b"\n", b"\r\n", b"\r", b",,"),
        *(b'"open', b'close"', b'"in\nside"', b"\xff", b"\0", b"\xc3", b"\xef\xbb\xbf"),
        *("日本".encode(), b"\x0c", b"\xc2\xa0", b"a,b\n", b"a,b\r\n", b"a::b\n", b",a\n"),
    ]
)
CLEAN = st.sampled_from(
    [b"a", b"bc", b"item 12345", b",", b",", b" ", b"\n", b"\n", b'"x, y"', "é".encode(), b"\r\n"]
)
TEXTS = st.one_of(
    st.lists(PIECES, max_size=40).map(b"".join), st.lists(CLEAN, max_size=60).map(b"".join)
)
DELIMITERS = st.sampled_from([",", "::", "é", " ", "\t", "\t ", ";"])


@st.composite
def layouts(draw):
    """Draw what `read_cells` may be asked for."""
    options = {"skip_lines": draw(st.integers(0, 3)), "lines": draw(st.booleans())}
    if draw(st.booleans()):
        width = draw(st.integers(1, 4))
        columns = draw(st.lists(st.integers(0, width - 1), unique=True, min_size=1))
        options |= {"width": width, "short": draw(st.sampled_from(["error", "pad"]))}
        if draw(st.booleans()):
            options["columns"] = columns
            if draw(st.booleans()):
                options["required"] = {columns[0]: "id"}
    return options


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("cells") / "a.csv"


def outcome(path, delimiter, on_error, options):
    """Return all that reading says, or its error."""
    problems = Problems(name="a.csv", on_error=on_error)
    try:
        with Source(path) as source:
            cells = read_cells(source, delimiter, problems, **options)
    except InputError as error:
        return str(error)
    assert cells.codes.dtype == np.int32
    assert cells.ends.dtype == np.int64
    assert len(cells.ends) == len(cells) + 1
    texts = cells.pool.texts()
    assert texts[0] == ""
    assert len(set(texts)) == len(cells.pool)
    return {
        "codes": cells.codes.tolist(),
        "ends": cells.ends.tolist(),
        "texts": texts,
        "counts": (cells.blank, cells.padded, cells.trimmed),
        "lines": None if cells.lines is None else cells.lines.tolist(),
        "problems": (problems.count, problems.skipped),
    }


def both(path, delimiter, on_error, options, *, block=1 << 18, careful=1 << 14):
    """Read in plain Python, then by compiled loops; both must say the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PLAIN_LIMIT", 1 << 40)
        plain = outcome(path, delimiter, on_error, options)
        patch.setattr(module, "PLAIN_LIMIT", -1)
        patch.setattr(module, "BLOCK", block)
        patch.setattr(module, "CAREFUL", careful)
        compiled = outcome(path, delimiter, on_error, options)
    assert compiled == plain
    return plain


@settings(max_examples=600)
@given(
    text=TEXTS,
    delimiter=DELIMITERS,
    on_error=st.sampled_from(["raise", "skip"]),
    options=layouts(),
    block=st.sampled_from([1, 7, 40, 1 << 18]),
    careful=st.sampled_from([1, 9, 1 << 14]),
)
@example(b'a,"b\n\xff\nc"\n"', ",", "skip", {}, 1, 1)
@example(b'"a""b","\n",x\r\n\n ,\t\n', ",", "skip", {"width": 2, "short": "pad"}, 7, 1)
@example(b'"a","b""c",\n"', ",", "skip", {"width": 2}, 1 << 18, 1)
def test_plain_python_and_compiled_loops_agree(  # noqa: PLR0917  (examples)
    path, text, delimiter, on_error, options, block, careful
):
    path.write_bytes(text)
    both(path, delimiter, on_error, options, block=block, careful=careful)


@given(text=TEXTS, delimiter=DELIMITERS, block=st.sampled_from([1, 40, 1 << 18]))
def test_baskets_are_the_records(path, text, delimiter, block):
    path.write_bytes(text)
    done = both(path, delimiter, "skip", {"lines": True}, block=block)
    problems = Problems(name="a.csv", on_error="skip")
    with Source(path) as source:
        expected = list(records(text_lines(source, problems), delimiter, problems))
    rows = [
        [done["texts"][code] for code in done["codes"][a:b]]
        for a, b in zip(done["ends"], done["ends"][1:], strict=False)
    ]
    assert rows == [fields for _, _, fields in expected]
    assert done["lines"] == [number for number, _, _ in expected]
    assert done["problems"] == (problems.count, problems.skipped)


def test_more_than_65536_texts_and_rows(path):
    rng = random.Random(3)
    rows = [[f"n{rng.randrange(90_000)}", f"long text number {i}"] for i in range(80_000)]
    path.write_text("".join(f"{a},{b}\n" for a, b in rows), encoding="utf-8")
    done = both(path, ",", "raise", {"width": 2})
    numbers = {"": 0}
    codes = [numbers.setdefault(text, len(numbers)) for row in rows for text in row]
    assert done["codes"] == codes
    assert done["texts"] == list(numbers)


def test_many_codes_collide_without_being_merged(path, monkeypatch):
    monkeypatch.setattr(module.secrets, "randbits", lambda _: 0)  # weak keys: 0, 1 and 1
    rows = [f"{i:016d}" for i in range(3000)]
    path.write_text("\n".join(rows), encoding="utf-8")
    assert both(path, ",", "raise", {})["texts"] == ["", *rows]


def test_the_keys_do_not_show(path, monkeypatch):
    rng = random.Random(5)
    text = "\n".join(",".join(str(rng.randrange(5000)) for _ in range(9)) for _ in range(2000))
    path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(module, "PLAIN_LIMIT", -1)
    seen = []
    for key in (1, 12345678901234567, 2**64 - 1):
        monkeypatch.setattr(module.secrets, "randbits", lambda _, key=key: key)
        seen.append(outcome(path, ",", "raise", {}))
    assert seen[0] == seen[1] == seen[2]


def test_clean_text_is_not_read_in_plain_python(path, monkeypatch):
    path.write_text('a,"b, ""c"""\r\n\n"new\nline",d\n' * 500, encoding="utf-8")
    expected = both(path, ",", "raise", {"width": 2})
    monkeypatch.setattr(module, "PLAIN_LIMIT", -1)
    monkeypatch.setattr(module, "BLOCK", 100)
    monkeypatch.setattr(module._Compiled, "_read_carefully", None)
    assert outcome(path, ",", "raise", {"width": 2}) == expected


@given(st.lists(st.lists(st.sampled_from(["", "b", "a", "é", "10", "9"]), max_size=9), max_size=9))
def test_rows_of_codes_are_sets_of_texts(rows):
    for limit in (1, 1000):
        texts = ["", "é", "10", "b", "9", "a"]
        codes = np.array([texts.index(text) for row in rows for text in row], dtype=np.int32)
        ends = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        cells = Cells(codes=codes, pool=TextPool.of(texts), row_ends=ends)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "COMPILED", limit)
            done = rows_of_codes(cells)
        assert done.table.to_rows() == [sorted(set(row) - {""}) for row in rows]
        filled = sum(text != "" for row in rows for text in row)
        assert done.duplicates == filled - len(done.table.items)


PAIRS = st.tuples(st.sampled_from(["p1", "p2", "b"]), st.sampled_from(["", "b", "a", "NA", "p1"]))


@given(st.lists(PAIRS, max_size=30))
def test_pairs_of_codes_are_the_records_of_their_ids(pairs):
    expected = {}
    for record, item in pairs:
        expected.setdefault(record, []).extend([item] if item else [])
    texts = ["", "NA", "p2", "b", "a", "p1"]
    for limit in (1, 1000):
        codes = np.array([texts.index(text) for pair in pairs for text in pair], dtype=np.int32)
        cells = Cells(codes=codes, pool=TextPool.of(texts), width=2)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "COMPILED", limit)
            patch.setattr(table, "COMPILED", limit)
            done = pairs_of_codes(cells)
        assert done.table.to_rows() == [sorted(set(items)) for items in expected.values()]
        assert done.duplicates == sum(map(len, expected.values())) - len(done.table.items)
        held = {item for items in expected.values() for item in items}
        assert done.table.vocabulary.names == tuple(sorted(held))


def test_a_quoted_cell_may_span_many_blocks(path):
    long = "line\n" * 5000
    path.write_text(f'a,"{long}"\nb,c\n', encoding="utf-8")
    done = both(path, ",", "raise", {"width": 2, "lines": True}, block=100)
    assert done["texts"] == ["", "a", long, "b", "c"]
    assert done["lines"] == [1, 5002]


def test_a_quote_that_is_never_closed_costs_one_line(path):
    path.write_text('a,b\nx,"y\n' + "c,d\n" * 1000, encoding="utf-8")
    done = both(path, ",", "skip", {"width": 2}, block=300, careful=50)
    assert len(done["codes"]) == 2002
    assert done["problems"] == (
        1,
        [("a.csv, line 2, column 3", "',\"y'", "opens a quote that is never closed")],
    )


def test_rows_are_padded_beyond_the_bytes_there_are(path):
    path.write_text("a\n" * 3000, encoding="utf-8")
    done = both(path, ",", "raise", {"width": 200, "short": "pad"}, block=1000)
    assert done["counts"] == (0, 3000, 0)
    assert len(done["codes"]) == 600_000


def test_rows_of_nothing_but_delimiters(path):
    path.write_bytes(b",,,,,,,,,,,,,,,,,,,\n" * 2000)
    assert len(both(path, ",", "raise", {})["codes"]) == 40_000


def test_what_is_wrong_is_told_with_its_place(path):
    path.write_text("id,item\np1,flu\n\np2\np3,a,b\n,x\np4,flu,,\n", encoding="utf-8")
    options = {"width": 2, "columns": [0, 1], "required": {0: "id"}, "skip_lines": 1}
    done = both(path, ",", "skip", options)
    assert done["counts"] == (1, 0, 1)
    assert done["problems"][1] == [
        ("a.csv, line 4, column 1", "'p2'", "has 1 field where the header has 2"),
        ("a.csv, line 5, column 6", "'p3,a,b'", "has 3 fields where the header has 2"),
        ("a.csv, line 6, column 1", "',x'", "has no 'id'"),
    ]


def test_columns_that_are_not_kept_are_not_in_the_pool(path):
    path.write_text("".join(f"{i},note {i},x\n" for i in range(100)), encoding="utf-8")
    done = both(path, ",", "raise", {"width": 3, "columns": [2, 0]})
    assert done["texts"][:4] == ["", "x", "0", "1"]
    assert len(done["texts"]) == 102


def test_compressed_text_and_a_byte_order_mark(path):
    path.write_bytes(gzip.compress(b"\xef\xbb\xbfa,b\n" * 1))
    assert both(path, ",", "raise", {})["texts"] == ["", "a", "b"]


@pytest.mark.parametrize(
    "options",
    [
        {"width": 2, "columns": [0, 0]},
        {"width": 2, "columns": [2]},
        {"width": 2, "columns": [0], "required": {1: "id"}},
        {"columns": [0]},
        {"short": "pad"},
        {"width": 2, "short": "maybe"},
    ],
)
def test_what_cannot_be_asked_for(path, options):
    path.write_bytes(b"a\n")
    with Source(path) as source, pytest.raises(ParameterError):
        read_cells(source, ",", Problems(name="x"), **options)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), unique=True))
def test_a_pool_gives_back_its_texts(texts):
    pool = TextPool.of(texts)
    assert pool.texts() == texts
    order = list(range(len(texts)))[::-1]
    assert pool.texts(order) == texts[::-1]
