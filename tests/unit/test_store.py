import hashlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import published

from setveil import Taxonomy, TransactionTable
from setveil.core.errors import ParameterError, ReleaseError, SetveilError
from setveil.guarantee import KAnonymity
from setveil.release import GeneralizedRelease, Key, publish_groups, publish_sets
from setveil.release.store import load_key, load_manifest, load_release, save, save_key

FORMATS = ["parquet", "jsonl", "csv"]
LETTERS = Taxonomy.balanced([f"i{n}" for n in range(8)], fanout=2)


def release_of(tree, groups, group_of, *, hides=True):
    return publish_groups(
        tree,
        group_offsets=np.cumsum([0, *map(len, groups)]),
        group_nodes=[v for group in groups for v in group],
        group_of=group_of,
        hides=hides,
    )[0]


SMALL = release_of(LETTERS, [[1, 3, 4], [0], []], [0, 0, 1, 1, 2, 2])
OTHER = release_of(LETTERS, [[2, 2], [9]], [0, 0, 1, 1])


def put(release, folder, **options):
    return save(
        release, folder, method="clump", params={"k": 2}, promise=KAnonymity(k=2), **options
    )


def same(a, b):
    return (
        a.to_rows(ids=True) == b.to_rows(ids=True)
        and a.to_rows() == b.to_rows()
        and a.hides == b.hides
        and a.tree.ids == b.tree.ids
        and a.tree.names == b.tree.names
        and a.tree.parents.tolist() == b.tree.parents.tolist()
        and a.tree.leaves.tolist() == b.tree.leaves.tolist()
        and a.tree.pseudo.tolist() == b.tree.pseudo.tolist()
    )


def content(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


# --- round trips ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", FORMATS)
@settings(max_examples=40)
@given(case=published())
def test_round_trip(tmp_path_factory, ending, case):
    tree, groups, group_of, hides = case
    items = [tree.ids[v] for v in range(len(tree)) if v % 2]
    release = release_of(tree, groups, group_of, hides=hides)
    folder = tmp_path_factory.mktemp("release")
    manifest = put(release, folder, format=ending)
    assert same(load_release(folder), release)
    assert load_manifest(folder) == manifest
    inner = tree.for_items(items)
    own = release_of(inner, [inner.leaf_of(items).tolist()], [0, 0])
    put(own, folder, format=ending, force=True)
    assert same(load_release(folder), own)


@pytest.mark.parametrize("ending", FORMATS)
def test_awkward_ids_survive(tmp_path, ending):
    ids = [
        "",
        "a\nb",
        "a\r\nb",
        "a,b",
        '"',
        "\u2028",
        "\x85",
        "null",
        "日本",
        "\x00",
        " ",
        "[]",
        "'",
    ]
    tree = Taxonomy.balanced(ids)
    groups = [tree.leaf_of([i]).tolist() for i in ids] + [tree.leaf_of(ids).tolist(), []]
    release = release_of(tree, groups, list(range(len(groups))))
    put(release, tmp_path, format=ending)
    assert load_release(tmp_path).to_rows(ids=True) == release.to_rows(ids=True)


def test_the_directory_and_what_the_manifest_says(tmp_path):
    folder = tmp_path / "deep" / "release"
    put(SMALL, folder)
    files = content(folder)
    (data_file,) = set(files) - {"manifest.json"}
    digest = hashlib.sha256(files[data_file]).hexdigest()
    assert data_file == f"release-{digest[:16]}.parquet"
    manifest = json.loads(files["manifest.json"])
    assert manifest["promise"] == {
        "name": "k-anonymity",
        "params": {"k": 2},
        "says": "every published record occurs at least 2 times",
    }
    assert manifest["counts"] == {"records": 6, "occurrences": 8}
    assert manifest["data"]["sha256"] == digest
    assert [node["id"] for node in manifest["structure"]["nodes"]] == list(SMALL.tree.ids)
    assert str(tmp_path).encode() not in b"".join(files.values())


def test_parquet_is_a_long_table_others_can_read(tmp_path):
    manifest = put(SMALL, tmp_path)
    frame = pl.read_parquet(tmp_path / manifest.file)
    assert frame.columns == ["record", "item"]
    assert frame.filter(pl.col("record") == 5).rows() == [(5, None)]


def test_bytes_do_not_depend_on_threads_or_hash_seeds(tmp_path):
    script = "import sys; from tests.unit.test_store import put, OTHER; put(OTHER, sys.argv[1])"
    folders = [tmp_path / str(n) for n in (1, 4)]
    for folder, threads in zip(folders, "14", strict=True):
        env = os.environ | {"POLARS_MAX_THREADS": threads, "PYTHONHASHSEED": threads}
        subprocess.run(
            [sys.executable, "-c", script, str(folder)],
            check=True,
            env=env,
            cwd=Path(__file__).parents[2],
        )
    assert content(folders[0]) == content(folders[1])


# --- writing: all or nothing ----------------------------------------------------------------------


def test_second_write_needs_force_and_leaves_one_release(tmp_path):
    put(SMALL, tmp_path)
    with pytest.raises(ReleaseError, match="force"):
        put(OTHER, tmp_path)
    assert same(load_release(tmp_path), SMALL)
    put(OTHER, tmp_path, force=True)
    assert same(load_release(tmp_path), OTHER)
    assert len(content(tmp_path)) == 2


class Killed(BaseException):
    pass


def kill_after(monkeypatch, steps):
    """Let the process die at one of its calls to the system; nothing works from then on."""
    left = [steps]
    real = {name: getattr(os, name) for name in ("open", "fsync", "replace", "unlink", "mkdir")}

    def dying(name):
        def call(*args, **kwargs):
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return real[name](*args, **kwargs)

        return call

    for name in real:
        monkeypatch.setattr(os, name, dying(name))


STEPS = 15
"""Calls to the system that replacing a release takes.

Two looks at the manifest, mkdir, the lock, two files of 5, unlink."""


@pytest.mark.parametrize("steps", range(STEPS + 1))
def test_a_killed_write_leaves_the_old_release_or_the_new(tmp_path, monkeypatch, steps):
    put(SMALL, tmp_path)
    with monkeypatch.context() as patch:
        kill_after(patch, steps)
        try:
            put(OTHER, tmp_path, force=True)
            finished = True
        except Killed:
            finished = False
    assert finished == (steps >= STEPS)
    loaded = load_release(tmp_path)
    assert same(loaded, OTHER) or (not finished and same(loaded, SMALL))
    put(SMALL, tmp_path, force=True)
    assert same(load_release(tmp_path), SMALL)
    assert len(content(tmp_path)) == 2, "leftovers are removed by the next write"


@pytest.mark.parametrize("steps", [1, 3, 5, 7])
def test_a_killed_first_write_leaves_nothing_that_loads(tmp_path, monkeypatch, steps):
    folder = tmp_path / "new"
    with monkeypatch.context() as patch:
        kill_after(patch, steps)
        with pytest.raises(Killed):
            put(SMALL, folder)
    if (folder / "manifest.json").exists():
        assert same(load_release(folder), SMALL)
    else:
        with pytest.raises(ReleaseError, match="no release is here"):
            load_release(folder)
    put(SMALL, folder, force=True)
    assert len(content(folder)) == 2


def test_a_failed_write_says_so_and_cleans_up(tmp_path, monkeypatch):
    put(SMALL, tmp_path)
    before = content(tmp_path)

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ReleaseError, match="No space left"):
        put(OTHER, tmp_path, force=True)
    assert content(tmp_path) == before


def test_places_that_are_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ReleaseError, match="directory"):
        put(SMALL, tmp_path / "file")
    with pytest.raises(ReleaseError, match="cannot write"):
        put(SMALL, tmp_path / "file" / "below")
    with pytest.raises(ReleaseError, match="cannot write the key") as caught:
        put(SMALL, tmp_path / "a", key=Key(records=[0]), key_file=tmp_path / "no" / "k")
    assert caught.value.where == str(tmp_path / "no" / "k")
    assert caught.value.fix
    (tmp_path / "manifest.json").write_text('{"name": "somebody else\'s"}')
    with pytest.raises(ReleaseError, match="not setveil's"):
        put(SMALL, tmp_path, force=True)


def test_parameters_that_are_refused(tmp_path):
    with pytest.raises(ParameterError, match="xlsx"):
        put(SMALL, tmp_path / "a", format="xlsx")
    with pytest.raises(ParameterError, match="JSON"):
        save(SMALL, tmp_path / "a", method="m", params={"x": object()}, promise=None)
    with pytest.raises(ParameterError, match="JSON"):
        save(SMALL, tmp_path / "a", method="m", params={"x": float("nan")}, promise=None)
    lone = Taxonomy.balanced(["\ud800"])
    with pytest.raises(ReleaseError, match="UTF-8"):
        put(release_of(lone, [[0]], [0]), tmp_path / "a", format="csv")
    assert not (tmp_path / "a").exists()


# --- loading: damage is named ---------------------------------------------------------------------


def rewrite(folder, change):
    path = folder / "manifest.json"
    raw = json.loads(path.read_text())
    change(raw)
    text = json.dumps(raw["structure"], sort_keys=True)
    raw["structure_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(raw))


def replace_data(folder, data, **changes):
    """Put other content behind a manifest that is right about its hash."""
    digest = hashlib.sha256(data).hexdigest()
    manifest = load_manifest(folder)
    name = f"release-{digest[:16]}.{manifest.format}"
    (folder / name).write_bytes(data)
    rewrite(folder, lambda raw: raw["data"].update(file=name, sha256=digest))
    rewrite(folder, lambda raw: raw["counts"].update(changes))


def test_nothing_there(tmp_path):
    with pytest.raises(ReleaseError, match="no release is here"):
        load_release(tmp_path)
    with pytest.raises(ReleaseError, match="no release is here"):
        load_release(tmp_path / "missing")


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("place", [0, 10, -1])
def test_a_flipped_bit_is_noticed(tmp_path, ending, place):
    manifest = put(SMALL, tmp_path, format=ending)
    data = bytearray((tmp_path / manifest.file).read_bytes())
    data[place] ^= 1
    (tmp_path / manifest.file).write_bytes(data)
    with pytest.raises(ReleaseError, match="does not match its hash"):
        load_release(tmp_path)


@pytest.mark.parametrize("ending", FORMATS)
def test_a_missing_or_cut_data_file_is_noticed(tmp_path, ending):
    manifest = put(SMALL, tmp_path, format=ending)
    data = (tmp_path / manifest.file).read_bytes()
    (tmp_path / manifest.file).write_bytes(data[:-1])
    with pytest.raises(ReleaseError, match="hash"):
        load_release(tmp_path)
    (tmp_path / manifest.file).unlink()
    with pytest.raises(ReleaseError, match="missing"):
        load_release(tmp_path)


@pytest.mark.parametrize(
    "name",
    ["../secret.csv", "/etc/passwd", "release-.csv", "x/release-0123456789abcdef.csv", "", "."],
)
def test_data_files_elsewhere_are_refused(tmp_path, name):
    put(SMALL, tmp_path, format="csv")
    rewrite(tmp_path, lambda raw: raw["data"].update(file=name))
    with pytest.raises(ReleaseError, match="impossible data file"):
        load_release(tmp_path)


def nodes_of(raw):
    return raw["structure"]["nodes"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: raw.update(version=2), "format version 2"),
        (lambda raw: raw.update(setveil="x"), "does not describe a release"),
        (lambda raw: raw.update(form="cloud"), "form 'cloud' is not known"),
        (lambda raw: raw.pop("method"), "'method' is missing"),
        (lambda raw: raw.update(promise=[]), "'promise' is missing"),
        (lambda raw: raw.pop("promise"), "'promise' is missing"),
        (lambda raw: raw["counts"].update(records=True), "'records' is missing"),
        (lambda raw: raw["counts"].update(records=7), "the manifest says"),
        (lambda raw: raw["structure"].update(hides=1), "hidden"),
        (lambda raw: raw["structure"].update(nodes={}), "not a list of nodes"),
        (lambda raw: nodes_of(raw)[0].update(leaves=1), "fewer leaves"),
        (lambda raw: nodes_of(raw)[0].update(leaves=10**30), "too large"),
        (lambda raw: nodes_of(raw)[1].update(leaves="2"), "'leaves'"),
        (lambda raw: nodes_of(raw)[1].update(id="*"), "only root"),
        (lambda raw: nodes_of(raw)[1].update(parent=None), "only root"),
        (lambda raw: nodes_of(raw)[1].update(id=nodes_of(raw)[0]["id"]), "damaged"),
        (lambda raw: nodes_of(raw).pop(), "not in the release's tree"),
        (lambda raw: nodes_of(raw).clear(), "at least one node"),
        (
            lambda raw: nodes_of(raw).append(
                {"id": "z", "name": "z", "parent": nodes_of(raw)[0]["id"], "leaves": 1}
                | {"pseudo": False}
            ),
            "no record publishes",
        ),
    ],
)
def test_damaged_manifests_are_named(tmp_path, change, message):
    put(SMALL, tmp_path)
    rewrite(tmp_path, change)
    with pytest.raises(ReleaseError, match=message):
        load_release(tmp_path)


def test_nodes_out_of_preorder_are_refused(tmp_path):
    put(release_of(LETTERS, [[3, 4, 6]], [0, 0]), tmp_path)

    def swap(raw):
        nodes = nodes_of(raw)
        nodes[-1]["parent"], nodes[-3]["parent"] = nodes[-3]["parent"], nodes[-1]["parent"]

    rewrite(tmp_path, swap)
    with pytest.raises(ReleaseError, match="preorder"):
        load_release(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\x00", "[" * 100_000])
def test_manifests_that_are_no_manifest(tmp_path, text):
    put(SMALL, tmp_path)
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(ReleaseError, match=r"manifest\.json"):
        load_release(tmp_path)
    (tmp_path / "manifest.json").write_bytes(b"\xff\xfe")
    with pytest.raises(ReleaseError, match="UTF-8"):
        load_release(tmp_path)


def test_a_changed_structure_is_noticed(tmp_path):
    put(SMALL, tmp_path)
    path = tmp_path / "manifest.json"
    path.write_text(path.read_text().replace('"leaves": 8', '"leaves": 9'))
    with pytest.raises(ReleaseError, match="structure does not match its hash"):
        load_release(tmp_path)


def test_a_changed_form_is_noticed(tmp_path):
    table = TransactionTable.from_rows([["a", "b"], ["b"]])
    save(publish_sets(table, [0, 0])[0], tmp_path, method="m", params={}, promise=None)
    path = tmp_path / "manifest.json"
    path.write_text(path.read_text().replace('"set-generalized"', '"suppressed"'))
    with pytest.raises(ReleaseError, match="form or structure does not match its hash"):
        load_release(tmp_path)


def test_the_hash_of_the_first_versions_is_read(tmp_path):
    put(SMALL, tmp_path)
    rewrite(tmp_path, lambda _: None)
    assert load_release(tmp_path).to_rows() == SMALL.to_rows()


@pytest.mark.parametrize(
    ("ending", "data", "message"),
    [
        ("csv", b'"a\n', "not CSV"),
        ("csv", b"\xff\n", "not UTF-8"),
        ("jsonl", b"{}\n", "line 1"),
        ("jsonl", b"[]\n[1]\n", "line 2"),
        ("jsonl", b"[\n", "line 1"),
        ("parquet", b"PAR1", "as Parquet"),
        ("csv", b'"nobody"\n', "'nobody'"),
    ],
)
def test_data_that_cannot_be_read_is_named(tmp_path, ending, data, message):
    put(SMALL, tmp_path, format=ending)
    replace_data(tmp_path, data)
    with pytest.raises(ReleaseError, match=message):
        load_release(tmp_path)


def test_records_out_of_order_are_refused(tmp_path):
    put(OTHER, tmp_path, format="csv")
    lines = (tmp_path / load_manifest(tmp_path).file).read_bytes().splitlines(keepends=True)
    replace_data(tmp_path, b"".join(reversed(lines)))
    with pytest.raises(ReleaseError, match="canonical order"):
        load_release(tmp_path)


@pytest.mark.parametrize(
    "records",
    [[0, 1, 1, 3], [1, 1, 1, 1], [0, 0, None, 1]],
)
def test_parquet_lines_in_the_wrong_place(tmp_path, records):
    put(OTHER, tmp_path)
    frame = pl.DataFrame(
        {"record": records, "item": ["i0"] * 4}, schema_overrides={"record": pl.Int64}
    )
    frame.write_parquet(tmp_path / "x")
    replace_data(tmp_path, (tmp_path / "x").read_bytes())
    with pytest.raises(ReleaseError, match="record"):
        load_release(tmp_path)


# --- keys -----------------------------------------------------------------------------------------


@given(st.permutations(range(20)))
def test_keys_round_trip(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("key") / "secret"
    save_key(Key(records=records), path)
    assert load_key(path).records.tolist() == records


def test_keys_are_private(tmp_path):
    path = tmp_path / "k"
    path.touch(mode=0o644)
    save_key(Key(records=[0]), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert content(tmp_path).keys() == {"k"}
    put(SMALL, tmp_path / "release")
    with pytest.raises(ParameterError, match="beside a release"):
        save_key(Key(records=[0]), tmp_path / "release" / "k")


def test_damaged_keys(tmp_path):
    path = tmp_path / "k"
    with pytest.raises(ReleaseError, match="cannot be read"):
        load_key(path)
    with pytest.raises(ReleaseError, match="cannot write"):
        save_key(Key(records=[0]), tmp_path / "nowhere" / "k")
    save_key(Key(records=list(range(100))), path)
    whole = path.read_bytes()
    for damaged in (b"", b"hello", whole[:-30], whole[:40] + b"\x00" * 20 + whole[60:]):
        path.write_bytes(damaged)
        with pytest.raises(ReleaseError, match="damaged"):
            load_key(path)
    for wrong in ({"x": np.arange(3)}, {"records": np.ones(3)}, {"records": np.array([-1])}):
        with path.open("wb") as sink:
            np.savez(sink, **wrong)
        with pytest.raises(ReleaseError, match="damaged"):
            load_key(path)
    with path.open("wb") as sink:
        np.savez(sink, records=np.array([{}], dtype=object))
    with pytest.raises(ReleaseError, match="damaged"):
        load_key(path)
    with path.open("wb") as sink:
        np.savez(sink, records=np.array([1, 1]))
    with pytest.raises(SetveilError, match="at most once"):
        load_key(path)


def test_nothing_of_the_order_reaches_the_disk(tmp_path):
    rng = np.random.default_rng(3)
    groups = [sorted(rng.choice(len(LETTERS), 3).tolist()) for _ in range(5)]
    group_of = rng.integers(0, 5, 40)
    put(release_of(LETTERS, groups, group_of), tmp_path / "a")
    put(release_of(LETTERS, groups, rng.permutation(group_of)), tmp_path / "b")
    assert content(tmp_path / "a") == content(tmp_path / "b")
    assert isinstance(load_release(tmp_path / "a"), GeneralizedRelease)
