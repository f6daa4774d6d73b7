"""Imports go one way, the judge never imports the judged, and starting up imports little."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import setveil
from setveil.cli import COMMANDS

PACKAGE = Path(setveil.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
HEAVY = (
    "numba",
    "polars",
    "scipy",
    "sklearn",
    "textblob",
    "nltk",
    "jinja2",
    "vl_convert",
    "pandas",
    "pyarrow",
    "pyspark",
)

# What each part may import besides itself; read it from top to bottom as the data's way.
ALLOWED = {
    "core": {"kernels"},
    "kernels": set(),
    "io": {"kernels"},
    "synthetic": set(),
    "text": {"kernels", "io", "engine"},
    "release": {"kernels"},
    "guarantee": {"kernels", "io", "release"},
    "engine": {"kernels"},
    "anonymize": {"kernels", "io", "release", "guarantee", "engine"},
    "relatedness": {"kernels", "io", "text", "release"},
    "attack": {"kernels", "io", "release", "relatedness"},
    "measure": {"kernels", "release", "guarantee", "attack"},
    "tabular": {
        "io", "kernels", "release", "guarantee", "engine", "anonymize", "attack", "measure",
    },
    "spark": {
        "io", "kernels", "release", "guarantee", "engine", "anonymize", "attack", "measure",
        "relatedness", "text",
    },
    "audit": {
        "kernels", "release", "guarantee", "engine", "anonymize", "relatedness", "attack",
        "measure",
    },
    "report": {
        "kernels", "release", "guarantee", "engine", "anonymize", "relatedness", "attack",
        "measure", "audit",
    },
}  # fmt: skip
BASE = {"core"}
"""What everything may import."""
# Annotations that are never imported when running.
TYPES_ONLY = {"core": {"io"}, "release": {"guarantee"}}
# Constructors such as Taxonomy.read and TransactionTable.from_frame load their readers when called.
CONSTRUCTORS = {"core/table.py": {"io"}, "core/taxonomy.py": {"io"}}


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_names(path: Path) -> set[str]:
    """Return the modules of setveil a file imports, for types too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {node.module or "", *(name for name in names if is_kernels(name))}
    return {name for name in found if name.startswith("setveil.")}


def imported_parts(path: Path, *, types: bool) -> set[str]:
    """Return the parts of setveil a file imports, with or without imports for types only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            skipped.update(inner for child in node.body for inner in ast.walk(child))
    names = []
    for node in ast.walk(tree):
        if (node in skipped) != types:
            continue
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides where it leads"
            names.append(node.module or "")
            if node.module == "setveil":
                names += [f"setveil.{a.name}" for a in node.names if a.name != "__version__"]
        elif isinstance(node, ast.Call) and "import_module" in ast.dump(node.func):
            names += [
                arg.value
                for arg in node.args
                if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
            ]
    return {name.split(".")[1] for name in names if name.startswith("setveil.")}


def test_every_part_has_its_place():
    parts = {part_of(path) for path in MODULES} - {"__init__", "cli", "__main__"}
    assert parts <= set(ALLOWED)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_one_way(path):
    part = part_of(path)
    if part in {"__init__", "cli", "__main__"}:  # the package's front and its edge see everything
        return
    found = imported_parts(path, types=False) - {part}
    allowed = ALLOWED[part] | BASE | CONSTRUCTORS.get(path.relative_to(PACKAGE).as_posix(), set())
    assert found <= allowed, f"{part} may not import {sorted(found - allowed)}"
    typed = imported_parts(path, types=True) - {part}
    allowed |= TYPES_ONLY.get(part, set())
    assert typed <= allowed, f"{part} may not even name {sorted(typed - allowed)}"


def is_kernels(module: str | Path) -> bool:
    name = module.stem if isinstance(module, Path) else module.rsplit(".", 1)[-1]
    return name == "kernels" or name.endswith("_kernels")


@pytest.mark.parametrize(
    "path",
    [path for path in MODULES if is_kernels(path)],
    ids=lambda p: str(p.relative_to(PACKAGE)),
)
def test_kernels_stand_beside_whom_they_serve(path):
    """Kernels import shared kernels and those of their own folder: judge and judged share none."""
    own = ".".join(("setveil", *path.parent.relative_to(PACKAGE).parts))
    for name in imported_names(path):
        if name.startswith("setveil."):
            assert (
                name == "setveil.core.arrays"
                or name.startswith("setveil.kernels.")
                or (name.rpartition(".")[0] == own and is_kernels(name))
            ), f"{path.name} may not import {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_nobody_but_spark_uses_kernels_of_another_part(path):
    if part_of(path) == "spark":  # the methods and guarantees of one machine, on its workers
        return
    borrowed = [
        name
        for name in imported_names(path)
        if is_kernels(name) and name.split(".")[1] not in {part_of(path), "kernels"}
    ]
    assert not borrowed


@pytest.mark.parametrize("judge", ["guarantee", "attack", "measure"])
def test_the_judge_never_loads_the_judged(judge):
    loaded = modules_after(f"import setveil.{judge}")
    assert not [name for name in loaded if name.startswith("setveil.anonymize")]


def test_tables_and_taxonomies_load_no_reader_before_they_need_one():
    loaded = modules_after("import setveil.core.table, setveil.core.taxonomy")
    assert not [name for name in loaded if name.startswith("setveil.io")]


def test_the_walk_sees_what_it_should(tmp_path):
    file = tmp_path / "x.py"
    file.write_text(
        "from typing import TYPE_CHECKING\nimport setveil.core.table\n"
        "def f():\n    from setveil import measure\n"
        "if TYPE_CHECKING:\n    from setveil.guarantee.base import Guarantee\n"
    )
    assert imported_parts(file, types=False) == {"core", "measure"}
    assert imported_parts(file, types=True) == {"guarantee"}


def modules_after(code: str) -> set[str]:
    """Return the names of the modules that a fresh interpreter holds after running `code`."""
    script = f"{code}\nimport sys; sys.stderr.write(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def test_importing_setveil_loads_nothing_heavy():
    assert not modules_after("import setveil") & {*HEAVY, "numpy", "typer", "rich"}


def test_help_loads_nothing_heavy_and_no_command():
    loaded = modules_after(
        "import setveil.cli\ntry:\n    setveil.cli.app(['--help'])\nexcept SystemExit: pass"
    )
    assert not loaded & {*HEAVY, "numpy", "rich", "pydantic", "setveil.core.registry"}
    assert "setveil.cli.anonymize" not in loaded


@pytest.mark.parametrize("module", sorted({lazy.module for lazy in COMMANDS.values()}))
def test_a_commands_help_loads_nothing_heavy(module):
    assert not modules_after(f"import {module}") & {*HEAVY, "numpy", "rich"}


@pytest.mark.parametrize("name", setveil.__all__)
def test_public_names_are_there(name):
    assert getattr(setveil, name) is not None
    assert name in dir(setveil)


def test_all_modules_of_a_package_are_imported_but_kernels(tmp_path, monkeypatch):
    from setveil.core.registry import import_modules

    family = tmp_path / "planted" / "family"
    family.mkdir(parents=True)
    for path in (family.parent, family):
        (path / "__init__.py").touch()
    (family / "method.py").touch()
    (family / "method_kernels.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    import_modules("planted")
    assert "planted.family.method" in sys.modules
    assert "planted.family.method_kernels" not in sys.modules


@pytest.mark.parametrize("package", ["setveil.anonymize", "setveil.attack"])
def test_the_stub_names_every_method(package):
    from website.method_names import stub, stub_path

    written = stub_path(package).read_text(encoding="utf-8")
    assert written == stub(package), "run `python -m website.method_names`"


def test_methods_can_be_imported_from_their_package():
    from setveil import anonymize, attack

    assert {"Anonymizer", "Clump", "TDControl"} <= set(dir(anonymize))
    assert {"Attack", "RBA", "SemanticPrior", "TokenGuess", "Targets"} <= set(dir(attack))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        anonymize.Nothing  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'Nothing'"):
        from setveil.anonymize import Nothing  # noqa: F401


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        setveil.nothing  # noqa: B018
