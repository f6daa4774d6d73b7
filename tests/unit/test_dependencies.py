"""What is imported is installed: by everybody, or the error says which extra brings it."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

import setveil

PACKAGE = Path(setveil.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
PROJECT = PACKAGE.parents[1] / "pyproject.toml"
IMPORTED_AS = {"vl_convert_python": "vl_convert", "python_stdnum": "stdnum"}
PUBLIC_PARTS = {"jinja2": "markupsafe", "numba": "llvmlite"}
"""What a package says it is made of, for others to use."""

SPARK = {"pyspark", "py4j", "pyarrow"}
"""Whoever comes this far has a session, or was told what is missing by the engine."""


def core() -> set[str]:
    """Return what everybody has, by the names it is imported by."""
    wanted = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]
    names = {re.split(r"[<>=\[ ]", one)[0].replace("-", "_") for one in wanted}
    parts = {PUBLIC_PARTS[name] for name in names & PUBLIC_PARTS.keys()}
    return {IMPORTED_AS.get(name, name) for name in names} | parts


def unguarded(source: str) -> set[str]:
    """Return the packages imported where their absence is not answered for."""
    tree = ast.parse(source)
    fine: set[ast.AST] = set()
    for node in ast.walk(tree):
        typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        guarded = isinstance(node, ast.Try) and any(
            handler.type is not None and "ImportError" in ast.dump(handler.type)
            for handler in node.handlers
        )
        if typing or guarded:
            fine.update(inner for child in node.body for inner in ast.walk(child))
    names = set()
    for node in ast.walk(tree):
        if node in fine:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    packages = {name.split(".")[0] for name in names}
    return packages - sys.stdlib_module_names - {"setveil"}


def test_the_walk_sees_what_it_should():
    source = (
        "import numpy.linalg, os\n"
        "def f():\n    from scipy import sparse\n"
        "try:\n    import ot\nexcept ImportError:\n    raise\n"
        "try:\n    import nltk\nexcept ValueError:\n    import sklearn\n"
    )
    assert unguarded(source) == {"numpy", "scipy", "nltk", "sklearn"}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_every_import_is_of_the_core_or_guarded(path):
    extra = SPARK if path.parent.name == "spark" or path.name.startswith("spark") else set()
    missing = unguarded(path.read_text(encoding="utf-8")) - core() - extra
    assert not missing, f"{path}: a plain `pip install setveil` does not bring {sorted(missing)}"
