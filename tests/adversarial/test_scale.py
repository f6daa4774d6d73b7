"""Releases that are large: memory, and questions that would take hours."""

import io

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.disassociated_instances import instances, releases

from setveil.errors import ReleaseError
from setveil.guarantee import Disassociated
from setveil.release import encoding, publish_disassociated
from setveil.release.encoding import FORMATS, decode, encode
from setveil.release.forms import form_of
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


@settings(max_examples=60)
@given(releases(), st.integers(2, 4), st.integers(1, 3))
def test_clusters_keep_a_promise_in_parts_just_as_they_do_together(release, k, m):
    promise = Disassociated(k=k, m=m)
    whole = promise.check(release)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("setveil.release.disassociated.PART", 1)
        assert promise.check(release) == whole
        assert sum(len(part) for _, part in release.parts()) == len(release)


@settings(max_examples=40)
@given(instances())
def test_records_cut_in_batches_give_the_same_release(case):
    whole, key = publish_disassociated(*case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("setveil.release.disassociating.CLUSTERS", 1)
        patch.setattr("setveil.data.table.AT_ONCE", 2)
        patch.setattr("setveil.release.rows.AT_ONCE", 2)
        patch.setattr("setveil.release.disassociated.PART", 1)
        parts, again = publish_disassociated(*case)
    form = form_of(whole)
    assert encode(form.records(parts), "jsonl") == encode(form.records(whole), "jsonl")
    assert form.structure(parts) == form.structure(whole)
    assert np.array_equal(again.records, key.records)
