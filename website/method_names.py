"""Which methods can be imported from their package, for type checkers and API pages.

``python -m website.method_names`` writes the stubs of the packages; a test compares the two.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

PACKAGES = ("setveil.anonymize", "setveil.attack")


def stub_path(package: str) -> Path:
    """Return where the stub of a package stands."""
    return Path(str(import_module(package).__file__)).with_suffix(".pyi")


def stub(package: str) -> str:
    """Return the names of a package, each with the module that defines it."""
    module = import_module(package)
    homes = _imported(package)
    for name in set(dir(module)) - set(homes):
        homes[name] = getattr(module, name).__module__
    lines = ["# Written by `python -m website.method_names`.", ""]
    for home in sorted(set(homes.values())):
        lines += _import(home, sorted((n for n in homes if homes[n] == home), key=_order))
    lines += ["", "__all__ = ["]
    return "\n".join([*lines, *(f'    "{name}",' for name in sorted(homes, key=_order)), "]", ""])


def _imported(package: str) -> dict[str, str]:
    """Return what the package itself imports from its modules, unless it is for its own use."""
    tree = ast.parse(stub_path(package).with_suffix(".py").read_text(encoding="utf-8"))
    shown = set(dir(import_module(package)))
    return {
        alias.name: str(node.module)
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(f"{package}.")
        for alias in node.names
        if alias.name in shown
    }


def _import(home: str, names: list[str]) -> list[str]:
    line = f"from {home} import {', '.join(names)}"
    return (
        [line]
        if len(line) <= 100
        else [line[: line.index(" import ") + 8] + "(", *(f"    {name}," for name in names), ")"]
    )


def _order(name: str) -> tuple[int, str]:
    """As ruff sorts names: constants in capitals first, then classes, then functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


if __name__ == "__main__":
    for package in PACKAGES:
        stub_path(package).write_text(stub(package), encoding="utf-8")
