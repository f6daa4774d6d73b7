"""Compiled loops over plain arrays, and where their machine code is kept between runs.

Compiling is the price of these functions (seconds, once), so their code goes to the user's cache
directory and not beside the source: it then survives a reinstallation and a read-only package.
``NUMBA_CACHE_DIR`` overrides the place. This module itself does not import numba.

>>> str(cache_directory({"XDG_CACHE_HOME": "/somewhere"}))
'/somewhere/setveil/numba'
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["cache_directory"]


def cache_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the directory for compiled kernels.

    >>> cache_directory({"NUMBA_CACHE_DIR": "here"}).name
    'here'
    """
    chosen = environment.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    home = environment.get("XDG_CACHE_HOME") or os.path.join("~", ".cache")  # noqa: PTH118  (expanded below)
    return Path(os.path.expanduser(home)) / "setveil" / "numba"  # noqa: PTH111  (keeps "~" when there is no home)


def _usable(directory: Path) -> bool:
    """Create the directory, for its owner only: numba loads code from what lies in it."""
    if not directory.is_absolute():
        return False
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(directory, os.W_OK)


def _place_cache() -> None:
    """Point numba at the cache directory, before its first use wherever that is possible."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return
    place = cache_directory()
    if not _usable(place):
        # A read-only home: a private directory that lives as long as the process. A fixed name
        # in a shared directory would let another user plant code there.
        place = Path(tempfile.mkdtemp(prefix="setveil-numba-"))
        atexit.register(shutil.rmtree, place, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = str(place)  # worker processes inherit it
    loaded = sys.modules.get("numba.core.config")
    if loaded is not None:
        vars(loaded)["CACHE_DIR"] = str(place)  # numba had read its settings already


_place_cache()
