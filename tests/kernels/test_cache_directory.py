"""Where compiled kernels are kept between runs."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path


def place_chosen(**environment) -> Path:
    """Return where a fresh process keeps its kernels; it must not need numba to decide."""
    code = (
        "import os, sys, setveil.kernels; "
        "print(os.environ['NUMBA_CACHE_DIR'], 'numba' in sys.modules)"
    )
    kept = {k: v for k, v in os.environ.items() if k not in {"NUMBA_CACHE_DIR", "XDG_CACHE_HOME"}}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    place, numba = done.stdout.rsplit(maxsplit=1)
    assert numba == "False"
    return Path(place)


def test_the_users_cache_directory_for_its_owner_only(tmp_path):
    place = place_chosen(XDG_CACHE_HOME=str(tmp_path))
    assert place == tmp_path / "setveil" / "numba"
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_the_home_directory_by_default(tmp_path):
    assert place_chosen(HOME=str(tmp_path)) == tmp_path / ".cache" / "setveil" / "numba"


def test_numbas_own_variable_wins(tmp_path):
    assert place_chosen(NUMBA_CACHE_DIR=str(tmp_path)) == tmp_path


def test_without_a_home_a_private_place_that_is_removed(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    for wrong in (str(blocked), "relative"):
        place = place_chosen(XDG_CACHE_HOME=wrong, TMPDIR=str(tmp_path))
        assert place.parent == tmp_path
        assert not place.exists()


def test_numba_takes_the_place_even_if_it_was_imported_first(tmp_path):
    code = (
        "import numba, numba.core.config as c, setveil.kernels, os; "
        "print(c.CACHE_DIR == os.environ['NUMBA_CACHE_DIR'])"
    )
    kept = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "True"
