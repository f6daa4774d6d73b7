"""A method knows itself: no table of registered names stands outside the classes."""

import ast
from pathlib import Path

import pytest

import setveil
from setveil.core import registry

PACKAGE = Path(setveil.__file__).parent
NAMES = {kind: {entry.name for entry in registry.entries(kind)} for kind in registry.KINDS}
WORDS = {"random", "prior", "release", "web", "corpus", "inference", "linkage"}
"""Names that are words of other meanings too: two of these alone are no table."""


CHOICES = {"attack/reassociation/vertical_partitioning.py", "cli/table.py"}
"""Modules with an option of a few choices that are names."""


def tables(tree: ast.AST) -> list[tuple[int, list[str]]]:
    """Return the displays of a module that hold two and more registered names of a kind."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Set | ast.Tuple | ast.List):
            parts = node.elts
        elif isinstance(node, ast.Dict):
            parts = [part for part in node.keys if part is not None]
        else:
            continue
        texts = {part.value for part in parts if isinstance(part, ast.Constant)}
        for names in NAMES.values():
            held = texts & names
            if len(held) > 1 and held - WORDS:
                found.append((node.lineno, sorted(held)))
    return found


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_no_table_of_names(path):
    if str(path.relative_to(PACKAGE)) in CHOICES:
        return
    assert not tables(ast.parse(path.read_text(encoding="utf-8")))


def test_tables_are_seen():
    assert tables(ast.parse('KNOWN = {"clump", "gather"}'))
    assert tables(ast.parse('def f():\n    return {"rba": 1, "ec": 2}'))
    assert not tables(ast.parse('KINDS = ("random", "prior")\nx = "clump"'))
