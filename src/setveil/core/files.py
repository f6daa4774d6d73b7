"""Files that appear whole or not at all, directories of one writer, and the user's cache."""

from __future__ import annotations

import io
import os
import re
import secrets
import sys
import zipfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from setveil.core.errors import InputError, SetveilError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

ENDING = r"\.[0-9a-f]{16}\.part"
"""How the names of files end that are being written; before it stand a dot and the file's name."""
LONGEST = 100
"""Characters of a file's name in the name of the file that is to replace it."""


def shown_name(path: str | os.PathLike[str]) -> str:
    """Return how a path is written in messages.

    >>> shown_name("-")
    'standard input'
    """
    name = os.fspath(path)
    # A file name need not be valid Unicode; a message must be.
    return "standard input" if name == "-" else name.encode("utf-8", "backslashreplace").decode()


@contextmanager
def output_file(path: str | os.PathLike[str], *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a file for writing; it takes its name only when the block ends without an error.

    The bytes go to a new file beside it, are flushed to the disk, and replace what was there in
    one step. ``-`` writes to standard output; a device or a pipe is written directly. `mode` says
    who may read the file, as far as the user's umask allows it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder, "a.txt")
    ...     with output_file(target) as out:
    ...         _ = out.write(b"done")
    ...     target.read_bytes(), [p.name for p in Path(folder).iterdir()]
    (b'done', ['a.txt'])
    """
    if os.fspath(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        target = Path(os.path.realpath(path))  # a link stays a link to the new content
        if target.is_dir():
            raise InputError("this is a directory", where=shown_name(path), fix="name a file")
        direct = target.exists() and not target.is_file()
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None
    try:
        if direct:
            with target.open("wb") as out:
                yield out
        else:
            with replacing(target, mode=mode) as out:
                yield out
    except OSError as error:
        raise _unwritable(path, error) from None


def write_whole(path: str | os.PathLike[str], content: str | bytes, *, mode: int = 0o666) -> None:
    """Write a text (as UTF-8) or bytes to a file that appears whole or not at all.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(pathlib.Path(folder, "a.txt"), "né")
    ...     pathlib.Path(folder, "a.txt").read_text(encoding="utf-8")
    'né'
    """
    data = content.encode() if isinstance(content, str) else content
    with output_file(path, mode=mode) as out:
        out.write(data)


def _unwritable(path: str | os.PathLike[str], error: Exception) -> InputError:
    reason = getattr(error, "strerror", None) or str(error)
    return InputError(
        f"cannot be written: {reason}",
        where=shown_name(path),
        fix="check that the directory exists, can be written to and has room",
    )


@contextmanager
def replacing(target: Path, *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a new file beside `target` that takes its place when the block ends without an error.

    Errors of the system go through as they are. A run that is killed may leave a file that ends
    in ``.part``; the next one that writes to `target` removes it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "a.key"), mode=0o600) as out:
    ...         _ = out.write(b"secret")
    ...     Path(folder, "a.key").read_bytes()
    b'secret'
    """
    with staged_file(target, mode=mode) as staged:
        yield staged.out
        staged.flush()
        staged.place()


@dataclass(frozen=True)
class StagedFile:
    """A new file beside its place; :meth:`place` moves it there, and nothing else does."""

    out: BinaryIO
    beside: Path
    target: Path

    def flush(self) -> None:
        """Bring everything that was written to the disk."""
        self.out.flush()
        os.fsync(self.out.fileno())

    def place(self) -> None:
        """Move the file to its place; doing it twice does no harm."""
        if self.beside.exists():
            self.beside.replace(self.target)
            _flush_directory(self.target.parent)


@contextmanager
def staged_file(target: Path, *, mode: int = 0o666) -> Iterator[StagedFile]:
    """Open a new file beside `target`; what was not moved to its place is removed at the end.

    It is locked for as long as the block runs: :func:`dead_parts` tells by this what a killed
    process left behind. Such files for the same target are removed first.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with staged_file(Path(folder, "a.key")) as staged:
    ...         [part for part in dead_parts(Path(folder, "a.key"))]
    ...     list(Path(folder).iterdir())
    []
    []
    """
    for part in dead_parts(target):
        with suppress(OSError):
            part.unlink()
    beside = target.with_name(f".{target.name[:LONGEST]}.{secrets.token_hex(8)}.part")
    try:
        with os.fdopen(_open_locked(beside, mode), "wb") as out:
            yield StagedFile(out, beside, target)
    finally:
        if beside.exists():
            with suppress(OSError):
                beside.unlink()


def dead_parts(target: Path) -> Iterator[Path]:
    """Yield the files beside `target` that processes left which were killed while writing it.

    Each is locked until the next one is asked for; files of running processes are passed over.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, ".a.csv.0123456789abcdef.part").touch()
    ...     Path(folder, ".a.csv.part").touch()  # somebody else's
    ...     [part.name for part in dead_parts(Path(folder, "a.csv"))]
    ['.a.csv.0123456789abcdef.part']
    """
    yield from _dead_parts(target.parent, re.escape(target.name[:LONGEST]))


def remove_dead_parts(folder: Path) -> None:
    """Remove the files that killed processes left in a directory, whatever they wrote there.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, ".a.csv.0123456789abcdef.part").touch()
    ...     remove_dead_parts(Path(folder))
    ...     list(Path(folder).iterdir())
    []
    """
    for part in _dead_parts(folder, ".+"):
        with suppress(OSError):
            part.unlink()


def _dead_parts(folder: Path, names: str) -> Iterator[Path]:
    pattern = re.compile(rf"\.{names}{ENDING}", re.DOTALL)
    try:
        found = sorted(path for path in folder.iterdir() if pattern.fullmatch(path.name))
    except OSError:
        return
    for part in found:
        with locked_if_free(part) as dead:
            if dead and part.is_file():
                yield part


def _open_locked(beside: Path, mode: int) -> int:
    """Open a new file for writing and lock it."""
    # Opened by hand and not by tempfile, so that the user's umask decides who may read it.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        handle = os.open(beside, flags, mode)
        try:
            _lock(handle)
            if beside.exists():
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # somebody who looks for leftovers was faster than our lock


def _lock(handle: int, *, wait: bool = True) -> bool:
    """Lock a file or a directory; tell whether that can be and nobody else holds it."""
    if os.name != "posix":
        return True  # an open file cannot be removed there
    import fcntl  # POSIX only

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # held, or a file system without locks
        return False
    return True


@contextmanager
def locked_if_free(path: Path) -> Iterator[bool]:
    """Lock a file or a directory for the block, unless a process at work holds it: then False.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked_if_free(Path(folder)) as free:
    ...     with locked_if_free(Path(folder)) as twice:
    ...         free, twice
    (True, False)
    """
    try:
        # Whatever may bear the name: no link is followed, no pipe waited for.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        handle = os.open(path, flags)
    except OSError:
        yield False
        return
    try:
        yield _lock(handle, wait=False)
    finally:
        os.close(handle)


def _flush_directory(directory: Path) -> None:
    """Make the new name last through a power cut, where directories can be opened."""
    with suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Make a directory and let other processes that save into it wait until this one is done.

    After an error a directory that was made for nothing is removed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with suppress(KeyboardInterrupt), alone_in(Path(place, "a", "b")):
    ...         raise KeyboardInterrupt
    ...     list(Path(place).iterdir())
    []
    """
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    locks: list[int] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        while os.name == "posix" and not _lock_directory(folder, locks):
            folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        with suppress(OSError):  # up to the first directory that others use
            _check_unlocked(locks)
            for each in made:
                with suppress(FileNotFoundError):
                    each.rmdir()
        raise
    finally:
        for handle in locks:
            os.close(handle)


def _lock_directory(folder: Path, locks: list[int]) -> bool:
    """Wait for the lock of a directory; False if its holder removed the directory meanwhile."""
    try:
        locks.append(os.open(folder, os.O_RDONLY))
        _lock(locks[-1])
        return os.path.samestat(os.fstat(locks[-1]), folder.stat())
    except FileNotFoundError:
        return False


def _check_unlocked(locks: list[int]) -> None:
    """Raise BlockingIOError if another process holds the lock that we were waiting for."""
    if locks and not _lock(locks[-1], wait=False):
        raise BlockingIOError


def user_cache(environment: Mapping[str, str] = os.environ) -> Path:
    """Return setveil's folder in the user's cache directory; it need not exist.

    >>> user_cache({"XDG_CACHE_HOME": "/somewhere"}).as_posix()
    '/somewhere/setveil'
    """
    home = environment.get("XDG_CACHE_HOME") or os.path.join("~", ".cache")  # noqa: PTH118  (expanded below)
    return Path(os.path.expanduser(home)) / "setveil"  # noqa: PTH111  (keeps "~" when there is no home)


def load_arrays(name: str) -> dict[str, npt.NDArray[Any]] | None:
    """Return the arrays that were kept under this name; None if there are none that can be read.

    >>> load_arrays("nothing-of-this-name") is None
    True
    """
    import numpy as np

    try:
        # Opened here: NumPy leaves a damaged file open.
        with (
            (user_cache() / f"{name}.npz").open("rb") as file,
            np.load(file, allow_pickle=False) as kept,
        ):
            return {key: kept[key] for key in kept.files}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def keep_arrays(name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Keep arrays under a name; where the cache cannot be written, nothing is kept.

    >>> import numpy as np, tempfile, unittest.mock
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with unittest.mock.patch.dict(os.environ, {"XDG_CACHE_HOME": folder}):
    ...         keep_arrays("counts", {"n": np.array([1, 2])})
    ...         load_arrays("counts")["n"].tolist()
    [1, 2]
    """
    import numpy as np

    place = user_cache()
    if not place.is_absolute():  # no home: the name would lead into the working directory
        return
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    with suppress(OSError, SetveilError):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(place / f"{name}.npz", content.getvalue())
