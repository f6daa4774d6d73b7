"""Folders for recipients appear whole or not at all, and are compared with their certificate."""

import json
import os

import pytest

from setveil.core.errors import ReleaseError
from setveil.release import public_folder
from setveil.release.public_folder import (
    check_replaceable,
    file_hashes,
    folder_faults,
    write_folder,
)

FILES = {"README.md": b"read me", "data/records.csv": b"record,item\n"}


def with_certificate(files):
    content = {"setveil": "certificate", "files": file_hashes(files)}
    return {**files, "certificate.json": json.dumps(content).encode()}


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_replaces_a_folder_whole(tmp_path):
    out = tmp_path / "out"
    write_folder(out, with_certificate(FILES))
    check_replaceable(out)
    write_folder(out, {"other.md": b"new"})
    assert names(tmp_path) == ["out", "out/other.md"]


def test_an_error_leaves_the_old_folder_and_nothing_else(tmp_path, monkeypatch):
    out = tmp_path / "out"
    write_folder(out, FILES)
    before = names(tmp_path)
    for failing in ("fsync", "rename"):

        def fail(*_args):
            raise OSError(28, "No space left on device")

        target = os if failing == "fsync" else type(out)
        with monkeypatch.context() as patch:
            patch.setattr(target, failing, fail)
            with pytest.raises(ReleaseError, match="No space left"):
                write_folder(out, {"other.md": b"new"})
        assert names(tmp_path) == before


def test_a_failed_second_rename_brings_the_old_folder_back(tmp_path, monkeypatch):
    out = tmp_path / "out"
    write_folder(out, FILES)
    rename, calls = type(out).rename, []

    def failing(path, target):
        calls.append(path)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(type(out), "rename", failing)
    with pytest.raises(KeyboardInterrupt):
        write_folder(out, {"other.md": b"new"})
    assert names(tmp_path) == ["out", "out/README.md", "out/data", "out/data/records.csv"]


def test_leftovers_of_killed_runs_are_removed_and_those_of_others_stay(tmp_path):
    dead = tmp_path / ".out.0123456789abcdef.part"
    other = tmp_path / ".outer.0123456789abcdef.part"
    at_work = tmp_path / ".out.fedcba9876543210.part"
    for folder in (dead, other, at_work):
        (folder / "data").mkdir(parents=True)
    with public_folder.locked_if_free(at_work) as free:
        assert free
        write_folder(tmp_path / "out", FILES)
    assert not dead.exists()
    assert other.exists()
    assert at_work.exists()


def test_every_difference_from_the_certificate_is_found(tmp_path):
    out = tmp_path / "out"
    write_folder(out, with_certificate(FILES))
    assert folder_faults(out) == ([], [])
    (out / "README.md").write_bytes(b"read me too")
    (out / "data" / "records.csv").unlink()
    (out / "data" / "visits.csv").write_bytes(b"private")
    (out / "link").symlink_to("README.md")
    assert folder_faults(out) == (
        ["data/visits.csv", "link"],
        ["README.md", "data/records.csv"],
    )
    with pytest.raises(ReleaseError, match=r"visits\.csv"):
        check_replaceable(out)


def test_a_link_in_the_place_of_a_file_counts_as_changed(tmp_path):
    out = tmp_path / "out"
    write_folder(out, with_certificate(FILES))
    (tmp_path / "same").write_bytes(FILES["README.md"])
    (out / "README.md").unlink()
    (out / "README.md").symlink_to(tmp_path / "same")
    assert folder_faults(out) == ([], ["README.md"])


DAMAGED = [
    b"", b"[]", b"{", b"\xff", b"[" * 100_000, b'{"setveil": "release", "files": {}}',
    b'{"setveil": "certificate"}', b'{"setveil": "certificate", "files": {"a": 1}}',
]  # fmt: skip


@pytest.mark.parametrize("text", DAMAGED)
def test_what_is_no_certificate_is_said_to_be_none(tmp_path, text):
    (tmp_path / "certificate.json").write_bytes(text)
    with pytest.raises(ReleaseError, match="certificate"):
        folder_faults(tmp_path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are killed by hand")
@pytest.mark.parametrize("step", range(1, 8))
def test_a_kill_at_any_step_leaves_the_old_folder_the_new_one_or_none(tmp_path, step):
    """Kill a process at its n-th call to the disk; the next write makes everything right."""
    out, new = tmp_path / "out", {"other.md": b"new", "data/more.csv": b"x"}
    write_folder(out, FILES)
    child = os.fork()
    if child == 0:
        calls = iter(range(step - 1))

        def counted(call):
            def killing(*args):
                if next(calls, None) is None:
                    os._exit(9)
                return call(*args)

            return killing

        os.fsync = counted(os.fsync)
        type(out).rename = counted(type(out).rename)
        public_folder.shutil.rmtree = lambda *_args, **_more: os._exit(9)
        write_folder(out, new)
        os._exit(0)
    os.waitpid(child, 0)
    there = {path.relative_to(out).as_posix(): path.read_bytes()
             for path in out.rglob("*") if path.is_file()}  # fmt: skip
    assert there in (FILES, new, {})
    assert bool(there) == out.exists()
    write_folder(out, new)
    assert names(tmp_path) == ["out", "out/data", "out/data/more.csv", "out/other.md"]
