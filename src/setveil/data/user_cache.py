"""The user's cache directory: what was worked out once and can be worked out again."""

from __future__ import annotations

import io
import os
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import SetveilError
from setveil.core.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt


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

    >>> import tempfile, unittest.mock
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with unittest.mock.patch.dict(os.environ, {"XDG_CACHE_HOME": folder}):
    ...         keep_arrays("counts", {"n": np.array([1, 2])})
    ...         load_arrays("counts")["n"].tolist()
    [1, 2]
    """
    place = user_cache()
    if not place.is_absolute():  # no home: the name would lead into the working directory
        return
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    with suppress(OSError, SetveilError):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(place / f"{name}.npz", content.getvalue())
