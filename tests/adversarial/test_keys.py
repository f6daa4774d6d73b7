"""A key and its release are one: what a kill leaves is finished or removed, never mixed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from setveil import TransactionTable
from setveil.cli import app
from setveil.core.errors import ReleaseError
from setveil.core.files import staged_file
from setveil.guarantee import KAnonymity
from setveil.release import Key, publish_suppressed
from setveil.release.store import load_key, load_manifest, load_release, save, save_key

OLD = TransactionTable.from_rows([["flu"], ["flu"]])
NEW = TransactionTable.from_rows([["gout"], ["gout"]])


def put(table, folder, records, key_file, **options):
    release, _ = publish_suppressed(table, [True])
    return save(
        release, folder, method="simple-suppression", params={}, promise=KAnonymity(k=2),
        key=Key(records=records), key_file=key_file, **options,
    )  # fmt: skip


def write_killed(folder, key_file, rows, before):
    """Write a release and end at a rename as SIGKILL would: no handler of ours runs."""
    real = os.replace

    def replace(source, target, **options):
        if os.fspath(target) == key_file or before == "True":
            os._exit(9)
        real(source, target, **options)

    os.replace = replace
    put(TransactionTable.from_rows(json.loads(rows)), folder, [1, 0], key_file, force=True)


def killed(folder, key_file, *, before, table=NEW):
    """Write another release in a process that dies before the commit, or right after it."""
    code = "import sys; from tests.adversarial.test_keys import *; write_killed(*sys.argv[1:])"
    rows = json.dumps(table.to_rows())
    process = [sys.executable, "-c", code, str(folder), str(key_file), rows, str(before)]
    assert subprocess.run(process, cwd=Path(__file__).parents[2], check=False).returncode == 9


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("first", [True, False])
def test_a_killed_commit_is_finished_or_undone_by_whoever_reads_the_key(tmp_path, before, first):
    folder, key_file = tmp_path / "release", tmp_path / "keys" / "visits.key"
    key_file.parent.mkdir()
    if not first:
        put(OLD, folder, [0, 1], key_file)
    killed(folder, key_file, before=before)
    assert len(list(key_file.parent.glob(".*.part"))) == 1
    if before and first:
        with pytest.raises(ReleaseError, match="cannot be read"):
            load_key(key_file)
        assert not list(key_file.parent.iterdir())
        return
    assert load_release(folder).to_rows()[0] == (["flu"] if before else ["gout"])
    key = load_key(key_file, folder)
    assert key.records.tolist() == ([0, 1] if before else [1, 0])
    assert [path.name for path in key_file.parent.iterdir()] == ["visits.key"]


def test_the_same_data_again_may_have_either_key(tmp_path):
    folder, key_file = tmp_path / "release", tmp_path / "visits.key"
    put(OLD, folder, [0, 1], key_file)
    killed(folder, key_file, before=False, table=OLD)
    assert load_key(key_file, folder).records.tolist() == [1, 0]


def test_a_key_of_a_release_that_moved_is_kept_until_it_can_be_judged(tmp_path):
    folder, key_file = tmp_path / "release", tmp_path / "visits.key"
    killed(folder, key_file, before=False)
    folder.rename(tmp_path / "elsewhere")
    with pytest.raises(ReleaseError, match="cannot be read"):
        load_key(key_file)
    (tmp_path / "elsewhere").rename(folder)
    assert load_key(key_file, folder).records.tolist() == [1, 0]


def test_files_of_a_process_at_work_are_left_alone(tmp_path):
    target = tmp_path / "visits.key"
    with staged_file(target) as staged:
        save_key(Key(records=[0]), target)
        assert staged.beside.exists()
        code = "import sys; from setveil.release.store import *; load_key(sys.argv[1])"
        subprocess.run([sys.executable, "-c", code, str(target)], check=True)
        assert staged.beside.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["visits.key"]


def test_files_that_only_look_like_leftovers_stay(tmp_path):
    others = [".visits.key.part", ".visits.key.0123.part", ".my-visits.key.0123456789abcdef.part"]
    for name in others:
        (tmp_path / name).write_text("mine")
    (tmp_path / ".visits.key.0123456789abcdef.part").symlink_to(tmp_path / others[0])
    (tmp_path / ".visits.key.00000000000000ff.part").mkdir()
    save_key(Key(records=[0]), tmp_path / "visits.key")
    assert len(list(tmp_path.iterdir())) == 6
    assert (tmp_path / others[0]).read_text() == "mine"


@pytest.mark.parametrize("written", ["text", "folder", "key"])
def test_only_a_key_is_replaced_by_a_key(tmp_path, written):
    folder, key_file = tmp_path / "release", tmp_path / "visits.key"
    if written == "text":
        key_file.write_text("flu,gout\n")
    elif written == "folder":
        key_file.mkdir()
    else:
        save_key(Key(records=[0]), key_file)
        with pytest.raises(ReleaseError, match="force"):
            put(OLD, folder, [0, 1], key_file)
        put(OLD, folder, [0, 1], key_file, force=True)
        return
    for force in (False, True):
        with pytest.raises(ReleaseError):
            put(OLD, folder, [0, 1], key_file, force=force)
    assert not folder.exists()
    assert key_file.is_dir() or key_file.read_text() == "flu,gout\n"


def test_a_key_of_another_release_is_refused(tmp_path):
    for name, table in (("old", OLD), ("new", NEW)):
        put(table, tmp_path / name, [0, 1], tmp_path / f"{name}.key")
        (tmp_path / f"{name}.csv").write_text("\n".join(",".join(r) for r in table.to_rows()))
    assert load_key(tmp_path / "old.key").release == load_manifest(tmp_path / "old").identity
    with pytest.raises(ReleaseError, match="the key belongs to another release"):
        load_key(tmp_path / "old.key", tmp_path / "new")
    asked = ["measure", str(tmp_path / "old"), "--original", str(tmp_path / "old.csv")]
    asked += ["--format", "basket", "--key"]
    right = CliRunner().invoke(app, [*asked, str(tmp_path / "old.key")])
    assert right.exit_code == 0, right.output
    wrong = CliRunner().invoke(app, [*asked, str(tmp_path / "new.key")])
    assert wrong.exit_code == 2
    assert "the key belongs to another release" in wrong.output


def test_a_key_without_a_release_fits_any(tmp_path):
    put(OLD, tmp_path / "old", [0, 1], tmp_path / "old.key")
    save_key(Key(records=[1, 0]), tmp_path / "alone.key")
    assert load_key(tmp_path / "alone.key", tmp_path / "old").release == ""
