"""Releases that are large: memory, and questions that would take hours."""

import io

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setveil.errors import ReleaseError
from setveil.release import encoding
from setveil.release.encoding import FORMATS, decode, encode
from setveil.release.records import Records

ROWS = st.lists(st.lists(st.sampled_from(["flu", "gout", "é\u2028\n", '"', "mumps"]), max_size=5))


def lines(pairs):
    """Return lines of a record and an item as a data file."""
    sink = io.BytesIO()
    schema = {"record": pl.Int64, "item": pl.String}
    pl.DataFrame(pairs, schema=schema, orient="row").write_parquet(sink)
    return sink.getvalue()


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("block", [1, 2, 3, 1 << 20])
@settings(max_examples=25)
@given(rows=ROWS)
def test_records_survive_being_read_in_blocks(name, block, rows):
    records = Records.of(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "ROW_GROUP", block)
        patch.setattr("setveil.release.records.BLOCK", block)
        read = decode(encode(records, name), name)
    assert list(read.rows()) == rows
    assert read.labels == tuple(sorted({label for row in rows for label in row}))
    assert np.array_equal(read.items, records.items)


@pytest.mark.parametrize("block", [1, 2, 3, 1 << 20])
@pytest.mark.parametrize(
    ("pairs", "record"),
    [
        ([(1, "flu")], 1),
        ([(-1, "flu")], -1),
        ([(0, "flu"), (2, "flu")], 2),
        ([(0, "flu"), (1, "flu"), (0, "gout")], 0),
        ([(0, None), (0, "flu")], 0),
        ([(0, "flu"), (0, None)], 0),
        ([(0, None), (0, None)], 0),
        ([(0, "flu"), (0, "gout"), (1, None), (1, "flu"), (2, "flu")], 1),
    ],
)
def test_a_line_in_the_wrong_place_is_refused_where_blocks_end(monkeypatch, block, pairs, record):
    monkeypatch.setattr(encoding, "ROW_GROUP", block)
    with pytest.raises(ReleaseError, match=f"record {record} of the data file stands in the wrong"):
        decode(lines(pairs), "parquet")


def test_the_place_of_a_wrong_byte_is_that_in_the_file():
    for name, line in (("csv", b'"flu"\n'), ("jsonl", b'["flu"]\n')):
        with pytest.raises(ReleaseError, match=f"byte {len(line) * 5_000 + line.index(b'l')}"):
            decode(line * 5_000 + line.replace(b"l", b"\xff"), name)
