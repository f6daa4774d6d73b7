"""Files that appear whole or not at all, and directories into which one process writes."""

from __future__ import annotations

import os
import secrets
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from setveil.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator


def shown_name(path: str | os.PathLike[str]) -> str:
    """Return how a path is written in messages.

    >>> shown_name("-")
    'standard input'
    """
    name = os.fspath(path)
    # A file name need not be valid Unicode; a message must be.
    return "standard input" if name == "-" else name.encode("utf-8", "backslashreplace").decode()


@contextmanager
def output_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing; it takes its name only when the block ends without an error.

    The bytes go to a new file beside it, are flushed to the disk, and replace what was there in
    one step. ``-`` writes to standard output; a device or a pipe is written directly.

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
            with replacing(target) as out:
                yield out
    except OSError as error:
        raise _unwritable(path, error) from None


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a text (as UTF-8) or bytes to a file that appears whole or not at all.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(pathlib.Path(folder, "a.txt"), "né")
    ...     pathlib.Path(folder, "a.txt").read_text(encoding="utf-8")
    'né'
    """
    data = content.encode() if isinstance(content, str) else content
    with output_file(path) as out:
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
    in ``.part``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "a.key"), mode=0o600) as out:
    ...         _ = out.write(b"secret")
    ...     Path(folder, "a.key").read_bytes()
    b'secret'
    """
    # Opened by hand and not by tempfile, so that the user's umask decides who may read it.
    beside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(beside, flags, mode), "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
            beside.replace(target)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
    _flush_directory(target.parent)


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
        while os.name == "posix" and not _lock(folder, locks):
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


def _lock(folder: Path, locks: list[int]) -> bool:
    """Wait for the lock of a directory; False if its holder removed the directory meanwhile."""
    import fcntl  # noqa: PLC0415  (POSIX only)

    try:
        locks.append(os.open(folder, os.O_RDONLY))
        fcntl.flock(locks[-1], fcntl.LOCK_EX)
        return os.path.samestat(os.fstat(locks[-1]), folder.stat())
    except FileNotFoundError:
        return False


def _check_unlocked(locks: list[int]) -> None:
    """Raise BlockingIOError if another process holds the lock that we were waiting for."""
    if locks:
        import fcntl  # noqa: PLC0415  (POSIX only)

        fcntl.flock(locks[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
