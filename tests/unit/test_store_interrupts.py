"""Ctrl-C at each call to the system that saving takes: afterwards all is there, or nothing."""

import itertools
import os
import stat
from pathlib import Path

import pytest

from setveil import Taxonomy
from setveil.core.errors import ParameterError, ReleaseError
from setveil.guarantee import KAnonymity
from setveil.release import Key, publish_groups
from setveil.release.store import load_key, load_release, save

TREE = Taxonomy.balanced(["a", "b", "c"])
CALLS = ("open", "fsync", "replace", "unlink", "mkdir", "close")
STEPS = 40
"""More calls than saving a release and its key takes."""


def put(node, folder, **options):
    release, _ = publish_groups(
        TREE, group_offsets=[0, 1], group_nodes=[node], group_of=[0, 0], hides=True
    )
    promise = KAnonymity(k=2)
    return save(release, folder, method="clump", params={"k": 2}, promise=promise, **options)


def interrupt(monkeypatch, step, *, after):
    """Raise KeyboardInterrupt once, before or after one call to the system; the others work."""
    count = itertools.count()

    def interrupted(real):
        def call(*args, **kwargs):
            now = next(count) == step
            if now and not after:
                raise KeyboardInterrupt
            result = real(*args, **kwargs)
            if now:
                raise KeyboardInterrupt
            return result

        return call

    for name in CALLS:
        monkeypatch.setattr(os, name, interrupted(getattr(os, name)))


def files(place: Path):
    return {str(path.relative_to(place)) for path in place.rglob("*")}


@pytest.mark.parametrize("after", [False, True])
def test_a_first_save_leaves_everything_or_nothing(tmp_path, monkeypatch, after):
    seen = set()
    for step in range(STEPS):
        place = tmp_path / f"{step}"
        place.mkdir()
        folder, key_file = place / "new" / "release", place / "visits.key"
        with monkeypatch.context() as patch:
            interrupt(patch, step, after=after)
            try:
                put(1, folder, key=Key(records=[1, 0]), key_file=key_file)
                finished = True
            except KeyboardInterrupt:
                finished = False
        seen.add((finished, whole := key_file.exists()))
        if whole:
            assert len(load_release(folder)) == 2
            assert load_key(key_file).records.tolist() == [1, 0]
            assert len(files(place)) == 5, step
        else:
            assert not files(place), step
    assert seen == {(True, True), (False, True), (False, False)}


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("node", [1, 2])  # the same data as before; other data
def test_a_replaced_release_has_the_key_that_fits(tmp_path, monkeypatch, after, node):
    for step in range(STEPS):
        place = tmp_path / f"{step}"
        place.mkdir()
        folder, key_file = place / "release", place / "visits.key"
        put(1, folder, key=Key(records=[0, 1]), key_file=key_file)
        old = load_release(folder).to_rows()
        with monkeypatch.context() as patch:
            interrupt(patch, step, after=after)
            try:
                put(node, folder, key=Key(records=[1, 0]), key_file=key_file, force=True)
                finished = True
            except KeyboardInterrupt:
                finished = False
        new = load_key(key_file).records.tolist() == [1, 0]
        assert new or not finished
        if node != 1:
            assert (load_release(folder).to_rows() != old) == new, step
        assert len(files(place)) == 4, step


def test_a_full_disk_leaves_no_empty_directory(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ReleaseError, match="No space left"):
        put(1, tmp_path / "a" / "b")
    assert not files(tmp_path)


def test_a_directory_of_the_users_stays(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    interrupt(monkeypatch, 3, after=True)
    with pytest.raises(KeyboardInterrupt):
        put(1, tmp_path / "mine")
    assert files(tmp_path) == {"mine"}


def test_a_directory_that_vanishes_while_we_wait_is_made_again(tmp_path, monkeypatch):
    import fcntl

    folder = tmp_path / "release"
    real, waits = fcntl.flock, []

    def flock(handle, how):
        real(handle, how)
        if not waits:
            folder.rmdir()  # as the process does that was interrupted while we waited for it
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            waits.append(handle)

    monkeypatch.setattr(fcntl, "flock", flock)
    put(1, folder)
    assert len(waits) == 2
    assert load_release(folder).to_rows() == [["a"], ["a"]]


def test_a_key_in_the_release_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="must not lie"):
        put(1, tmp_path / "new", key=Key(records=[1, 0]), key_file=tmp_path / "new" / "a.key")
    assert not files(tmp_path)


def test_who_waits_for_another_process_leaves_its_directory(tmp_path, monkeypatch):
    import fcntl

    folder = tmp_path / "release"
    real, held = fcntl.flock, []

    def flock(handle, how):
        if not held:  # another process was faster, and we are interrupted while waiting
            held.append(os.open(folder, os.O_RDONLY))
            real(held[0], fcntl.LOCK_EX)
            raise KeyboardInterrupt
        real(handle, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(KeyboardInterrupt):
        put(1, folder)
    assert files(tmp_path) == {"release"}
    os.close(held[0])
