"""Compile a loop, and share its machine code with other processes.

Numba keeps what it compiled in numbered files and an index of them. Two processes that compile one
function for different types at once may take the same number, and then one runs the other's code.
Here whoever writes is alone, and nobody reads meanwhile; so any number of processes (of an audit,
of Spark, of a user) share one directory, and what one has compiled the others only load.

Numba recognizes a function by the path and the time of its file, and does not see when a function
that it calls has changed. Here it is the content that counts, of the file and of all kernels that
it may import: those beside it and those of this folder. So machine code survives a reinstallation,
copies of the program share it, and no change of a callee goes unseen.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

try:
    import fcntl
except ImportError:  # Windows: numba's own care must do
    fcntl = None

__all__ = ["compiled"]

Loop = TypeVar("Loop", bound="Callable[..., Any]")


def compiled(function: Loop) -> Loop:
    """Compile a function that needs no Python objects, and keep its machine code.

    >>> from setveil.kernels.rows import row_pairs
    >>> type(row_pairs).__name__
    'CPUDispatcher'
    """
    dispatcher: Any = njit(nogil=True)(function)
    dispatcher._cache = _SharedCache(function)  # noqa: SLF001  (as with `cache=True`, but ours)
    return dispatcher  # type: ignore[no-any-return]


class _SharedCache(FunctionCache):
    """Numba's cache of one function, in files that are locked."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        file = Path(function.__code__.co_filename)
        content = _content_of(file)
        place = Path(self._cache_path).parent / f"{file.parent.name}-{content}"
        self._cache_path = str(place)
        vars(self._impl.locator)["_cache_path"] = str(place)  # where it makes the directory
        self._cache_file = _LockedFiles(  # type: ignore[no-untyped-call]
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=content,
        )


@lru_cache
def _content_of(file: Path) -> str:
    """Return a hash of all that the machine code of a file's functions depends on."""
    mixed = hashlib.sha256()
    shared = Path(__file__).parent.glob("*.py")
    for source in sorted({file, *file.parent.glob("*kernels.py"), *shared}):
        mixed.update(source.read_bytes())
    return mixed.hexdigest()[:16]


class _LockedFiles(IndexDataCacheFile):
    """The index and data of one function, under a lock of their directory."""

    def save(self, key: Any, data: Any) -> None:
        with _locked(self._cache_path, alone=True):
            super().save(key, data)  # type: ignore[no-untyped-call]

    def load(self, key: Any) -> Any:
        with _locked(self._cache_path, alone=False):
            return super().load(key)  # type: ignore[no-untyped-call]


@contextmanager
def _locked(folder: str, *, alone: bool) -> Iterator[None]:
    """Lock a folder while the context lasts; without a lock where there can be none."""
    try:
        handle = os.open(Path(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:  # nothing is kept yet, or this place cannot be written
        yield
        return
    try:
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
    finally:
        os.close(handle)
