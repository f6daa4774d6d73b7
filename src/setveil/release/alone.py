"""Directories into which one process at a time writes."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Make a directory and let other processes that save into it wait until this one is done.

    After an error a directory that was made for nothing is removed.

    >>> import tempfile
    >>> from pathlib import Path
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
