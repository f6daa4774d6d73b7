"""Figures of the house: how much code there is, and how far one has to look to understand it.

    python -m benchmarks.house              the table, for this source tree
    python -m benchmarks.house --src DIR    for another one, such as /tmp/before/src
    python -m benchmarks.house --names      and the names behind the last two lines

Lines of code are lines that hold a token other than a comment; docstrings, also those of
attributes, are not code. A command touches a module if it calls a function of it, not counting
what runs while modules are imported (compiled loops do not count either); it loads a module if the
process holds it at the end. A method's files are those that name its class or, as a text, its
registered name: its own, and each that somebody who adds a method may have to edit.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

SMALL = Path(__file__).parents[1] / "tests" / "contract" / "same_releases"
"""Invented patients and their tree, on which the commands run."""
PRAGMAS = ("# noqa", "# type:", "# fmt:", "# pragma:")
LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip
GOALS = {
    "files in src": "≤ 280",
    "lines of code in src": "≤ 43,000",
    "all lines of files about Spark": "≤ 4,000",
    "noqa in src": "≤ 150",
    "modules touched (loaded) by one anonymize": "≤ 28",
    "modules touched (loaded) by one audit": "≤ 55",
    "files that name an anonymizer (median)": "1",
    "files that name an attack (median)": "1",
    "comment lines per 100 of code in kernels": "≥ 6",
    "modules used by exactly one sibling": "",
    "file names in several packages": "",
}


@dataclass(frozen=True)
class Module:
    """A file of setveil, read once."""

    path: Path
    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Return what the file says, parsed."""
        return ast.parse(self.text)

    @cached_property
    def docstring_lines(self) -> set[int]:
        """Return the lines of texts that stand as statements of their own."""
        return {
            line
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if isinstance(node.value.value, str)
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }

    @cached_property
    def lines(self) -> tuple[int, int]:
        """Return how many lines hold code, and how many a comment for a reader."""
        code, comments = set(), set()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type == tokenize.COMMENT and not token.string.startswith(PRAGMAS):
                comments.add(token.start[0])
            elif token.type not in LAYOUT:
                code.update(range(token.start[0], token.end[0] + 1))
        return len(code - self.docstring_lines), len(comments)

    @property
    def is_kernel(self) -> bool:
        """Tell whether it has compiled loops."""
        return any(
            isinstance(node, ast.FunctionDef)
            and any("njit" in ast.dump(d) or "compiled" in ast.dump(d) for d in node.decorator_list)
            for node in ast.walk(self.tree)
        )

    @cached_property
    def imports(self) -> set[str]:
        """Return what it imports of setveil, as dotted names of modules or of what is in them."""
        names: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
        return {name for name in names if name.startswith("setveil.")}

    @cached_property
    def words(self) -> set[str]:
        """Return the names it uses and the texts it holds outside docstrings."""
        found: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.alias):
                found.add(node.name.rpartition(".")[2])
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
        return found


def modules_of(source: Path) -> list[Module]:
    """Return all modules of setveil under a source folder."""
    found = []
    for path in sorted((source / "setveil").rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append(Module(path, name, path.read_text(encoding="utf-8")))
    return found


def users_of(modules: list[Module]) -> dict[str, set[str]]:
    """Return, for each module, which others import it or something of it."""
    names = {module.name for module in modules}
    users = defaultdict(set)
    for module in modules:
        for name in module.imports:
            target = name if name in names else name.rpartition(".")[0]
            if target in names and target != module.name:
                users[target].add(module.name)
    return users


def single_use(modules: list[Module]) -> list[str]:
    """Return the modules that one sibling uses and nobody else, with that sibling."""
    users = users_of(modules)
    packages = {module.name for module in modules if module.path.name == "__init__.py"}
    lone = []
    for module in modules:
        used_by = users[module.name]
        if module.name in packages or len(used_by) != 1:
            continue
        (user,) = used_by
        if user not in packages and user.rpartition(".")[0] == module.name.rpartition(".")[0]:
            lone.append(f"{module.name} <- {user.rpartition('.')[2]}")
    return lone


def repeated_names(modules: list[Module]) -> list[str]:
    """Return the names of files that occur in several packages."""
    counts = Counter(module.path.name for module in modules)
    return sorted(name for name, n in counts.items() if n > 1 and not name.startswith("__"))


WATCH = """
import atexit, json, sys
touched, importing = set(), 0

def watch(frame, event, _):
    global importing
    code = frame.f_code
    if "/setveil/" not in code.co_filename or not code.co_filename.endswith(".py"):
        return  # not ours, or a template of a page
    if code.co_name == "<module>":
        importing += {"call": 1, "return": -1}.get(event, 0)
    elif event == "call" and not importing:
        touched.add(code.co_filename)

def tell():
    sys.setprofile(None)
    loaded = [name for name in sys.modules if name.partition(".")[0] == "setveil"]
    sys.stderr.write("\\n" + json.dumps([len(touched), len(loaded)]))

from setveil.__main__ import main
atexit.register(tell)
sys.setprofile(watch)
main()
"""


def touched(source: Path, *command: str) -> str:
    """Run a command of setveil in a fresh process; return how many modules it calls and loads."""
    done = subprocess.run(  # noqa: S603  (our own command)
        [sys.executable, "-c", WATCH, *command],
        capture_output=True,
        text=True,
        check=False,  # the exit code of an audit is its verdict
        env={**os.environ, "PYTHONPATH": str(source)},
    )
    if done.returncode not in {0, 1, 3, 4}:
        raise SystemExit(done.stderr)
    called, loaded = json.loads(done.stderr.splitlines()[-1])
    return f"{called} ({loaded})"


def touched_by_commands(source: Path) -> tuple[str, str]:
    """Return how many modules one anonymize and one audit touch."""
    data, tree = str(SMALL / "patients.jsonl"), str(SMALL / "tree.csv")
    with tempfile.TemporaryDirectory() as folder:
        anonymize = touched(
            source, "anonymize", "gather", data, "--taxonomy", tree, "-o", f"{folder}/release"
        )
        audit = touched(
            source, "audit", data, "--taxonomy", tree, "--methods", "gather", "--workers", "0",
            "-o", f"{folder}/audit",
        )  # fmt: skip
    return anonymize, audit


def registered(modules: list[Module], kind: str) -> dict[str, str]:
    """Return the names under which classes are registered as this kind, with the classes."""
    found = {}
    for module in modules:
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.ClassDef):
                continue
            for call in node.decorator_list:
                if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("register"):
                    texts = [a.value for a in call.args if isinstance(a, ast.Constant)]
                    if texts[:1] == [kind]:
                        found[str(texts[1])] = node.name
    return found


def naming_files(modules: list[Module], kind: str) -> str:
    """Return in how many files a method of this kind is named: the median."""
    counts = [
        sum(bool(module.words & {name, target}) for module in modules)
        for name, target in registered(modules, kind).items()
    ]
    return f"{statistics.median(counts):g}" if counts else "none"


def figures(source: Path) -> dict[str, str]:
    """Return every figure of the table, as it is printed."""
    modules = modules_of(source)
    kernels = [module for module in modules if module.is_kernel]
    kernel_code = sum(module.lines[0] for module in kernels)
    kernel_comments = sum(module.lines[1] for module in kernels)
    spark = [module for module in modules if "spark" in str(module.path.relative_to(source))]
    anonymize, audit = touched_by_commands(source)
    values = [
        f"{len(modules)}",
        f"{sum(module.lines[0] for module in modules):,}",
        f"{sum(module.text.count(chr(10)) for module in spark):,}",
        f"{sum(module.text.count('# noqa') for module in modules)}",
        anonymize,
        audit,
        naming_files(modules, "anonymizer"),
        naming_files(modules, "attack"),
        f"{100 * kernel_comments / kernel_code:.1f} ({len(kernels)} files)",
        f"{len(single_use(modules))}",
        f"{len(repeated_names(modules))}",
    ]
    return dict(zip(GOALS, values, strict=True))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    here = Path(__file__).parents[1] / "src"
    parser.add_argument("--src", type=Path, default=here, help="a source folder with setveil in it")
    parser.add_argument("--names", action="store_true", help="list the modules and file names too")
    options = parser.parse_args()
    source = options.src.resolve()
    print("| figure | value | goal |\n|---|---|---|")
    for figure, value in figures(source).items():
        print(f"| {figure} | {value} | {GOALS[figure]} |")
    if options.names:
        modules = modules_of(source)
        print("", *single_use(modules), "", *repeated_names(modules), sep="\n")


if __name__ == "__main__":
    main()
