"""Disassociated releases that a cluster of machines wrote, read here."""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.disassociated_instances import releases, same

from setveil import TransactionTable
from setveil.anonymize import Disassociate
from setveil.core.errors import ReleaseError, SetveilError
from setveil.release.chunk_blocks import COLUMNS, NAMED, block_lists
from setveil.release.data_file import PARTS, file_content
from setveil.release.manifest import Manifest
from setveil.release.store import load_release, write, write_parts

KINDS = {name: pl.List(pl.String if name in NAMED else pl.Int32) for name in COLUMNS}


def frame_of(release):
    """Return the blocks of a release, with names."""
    lists = block_lists(release)
    for name in NAMED:
        lists[name] = [[release.vocabulary[i] for i in row] for row in lists[name]]
    return pl.DataFrame(lists, schema=KINDS)


def put(folder, release, *parts):
    """Write a release of these parts, as Spark does; of none, as one file that is no directory."""
    staged = folder.with_suffix(".staged")
    staged.mkdir(parents=True)
    for number, part in enumerate(parts):
        part.write_parquet(staged / PARTS.format(number))
    data = file_content(staged)
    digest = hashlib.sha256(data).hexdigest() if parts else hashlib.sha256(b"").hexdigest()
    manifest = Manifest(
        form=release.form,
        method="disassociate",
        params={},
        promise=None,
        records=len(release),
        occurrences=len(release.items) + len(release.terms),
        tool="setveil",
        file=f"release-{digest[:16]}.parquet",
        format="parquet",
        sha256=digest,
        structure={"parts": True},
    )
    if not parts:
        write(folder, manifest, b"")
        return folder
    with write_parts(folder) as commit:
        commit(manifest, staged)
    return folder


@settings(max_examples=60)
@given(release=releases(), seed=st.integers(0, 99), n_parts=st.integers(1, 3))
def test_parts_in_any_order_are_the_release(tmp_path_factory, release, seed, n_parts):
    blocks = frame_of(release).sample(fraction=1, shuffle=True, seed=seed)
    parts = [blocks[number::n_parts] for number in range(n_parts)]
    assert same(
        load_release(put(tmp_path_factory.mktemp("parts") / "release", release, *parts)), release
    )


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(4)
    rows = [[f"i{i}" for i in rng.choice(9, rng.integers(1, 5), replace=False)] for _ in range(60)]
    release = (
        Disassociate(k=3, m=2, max_cluster_size=8)
        .anonymize(TransactionTable.from_rows(rows))
        .release
    )
    assert release.n_record_chunks < len(release.chunk_first)  # there are shared chunks
    return release


def changed(frame, name, change):
    lists = frame[name].to_list()
    place = next(place for place, numbers in enumerate(lists) if numbers)
    lists[place] = change(lists[place])
    return frame.with_columns(pl.Series(name, lists, dtype=KINDS[name]))


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("sizes", lambda numbers: [*numbers, 1], "do not fit each other"),
        ("sizes", lambda numbers: [-1, *numbers[1:]], "do not fit each other"),
        ("sizes", lambda numbers: [2**31 - 1, *numbers[1:]], "too many for"),
        ("sizes", lambda _: None, "is missing"),
        ("items", lambda names: [None, *names[1:]], "is missing"),
        ("items", lambda names: names[1:], "do not fit each other"),
        ("items", lambda names: ["zebra", *names[1:]], "To fix"),
        ("first", lambda numbers: [9, *numbers[1:]], "do not fit each other"),
        ("last", lambda numbers: [0, *numbers[1:]], "do not fit each other"),
        ("lengths", lambda numbers: [0, numbers[0] + numbers[1], *numbers[2:]], "is empty"),
        ("terms", lambda names: names[::-1] * 2, "do not fit each other"),
    ],
)
def test_damage_is_told(tmp_path, made, name, change, said):
    frame = changed(frame_of(made), name, change)
    with pytest.raises(ReleaseError, match=said):
        load_release(put(tmp_path / "release", made, frame))


def test_overlapping_joint_clusters_are_told(tmp_path):
    rows = {
        "sizes": [2, 2, 2],
        "first": [0, 1],
        "last": [2, 3],
        "rows": [2, 2],
        "lengths": [1, 1, 1, 1],
        "items": ["a", "a", "b", "b"],
        "term_lengths": [1, 1, 1],
        "terms": ["c", "c", "c"],
    }
    frame = pl.DataFrame({name: [numbers] for name, numbers in rows.items()}, schema=KINDS)
    table = TransactionTable.from_rows([["a", "c"]] * 6)
    whole = Disassociate(k=2, m=2).anonymize(table).release
    with pytest.raises(ReleaseError, match="neither is part of the other"):
        load_release(put(tmp_path / "release", whole, frame))


def test_other_columns_and_counts_are_told(tmp_path, made):
    frame = frame_of(made)
    with pytest.raises(ReleaseError, match="must have the columns sizes"):
        load_release(put(tmp_path / "columns", made, frame.drop("terms")))
    with pytest.raises(ReleaseError, match="the manifest says 60"):
        load_release(put(tmp_path / "counts", made, frame[1:]))
    with pytest.raises(ReleaseError, match="the data is one file"):
        load_release(put(tmp_path / "file", made))


@settings(max_examples=80)
@given(data=st.data())
def test_whatever_is_changed_is_a_release_or_told(tmp_path_factory, made, data):
    frame = frame_of(made)
    name = data.draw(st.sampled_from(COLUMNS))
    values = st.sampled_from(["i0", "i5", "z"]) if name in NAMED else st.integers(-1, 5)

    def change(numbers):
        place = data.draw(st.integers(0, len(numbers) - 1))
        return [*numbers[:place], data.draw(values), *numbers[place + 1 :]]

    folder = put(tmp_path_factory.mktemp("changed") / "release", made, changed(frame, name, change))
    try:
        release = load_release(folder)
    except SetveilError as error:
        assert isinstance(error, ReleaseError)  # noqa: PT017  (either is fine, a crash is not)
    else:
        assert len(release) == 60
