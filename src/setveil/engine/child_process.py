"""How setveil starts Python again: with its own modules, and nobody else's."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HOME = Path(__file__).resolve().parents[2]
"""The folder that setveil is imported from."""
SAFE_PATH = "PYTHONSAFEPATH"
"""The variable that says ``-P`` to a Python that somebody else starts, as Spark does."""
HARMLESS = ("PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONIOENCODING", "PYTHONUTF8")
"""Variables of Python that change nothing about what is imported or run."""


def python_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs one of our modules in another process.

    ``-P``: the folder that the user happens to stand in is no place to import from.

    >>> python_command("setveil.engine.worker", "7")[1:]
    ['-P', '-m', 'setveil.engine.worker', '7']
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def python_environment(**more: str) -> dict[str, str]:
    """Return the environment of such a process, and some variables more.

    Variables by which Python would import other modules, or run other code, are left out; modules
    are found where this process finds them, but not in the current folder.

    >>> before = dict(os.environ)
    >>> os.environ |= {"PYTHONSTARTUP": "evil.py", "PYTHONPATH": "evil"}
    >>> made = python_environment(PYTHONIOENCODING="utf-8")
    >>> "PYTHONSTARTUP" in made, "evil" in made["PYTHONPATH"].split(os.pathsep)
    (False, False)
    >>> os.environ.clear(); os.environ.update(before)
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTHON") or name in HARMLESS
    }
    return kept | {"PYTHONPATH": os.pathsep.join(import_places())} | more


def import_places() -> list[str]:
    """Return the folders that modules are imported from, without the current one.

    >>> os.getcwd() in import_places() and str(HOME) != os.getcwd()
    False
    """
    here = Path.cwd().resolve()
    return [
        place
        for place in sys.path
        if Path(place).is_absolute() and (Path(place).resolve() != here or here == HOME)
    ]
