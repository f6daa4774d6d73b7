"""Modules that lie beside the data are never imported, in no process that setveil starts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import setveil

PLANTED = ("numpy", "polars", "numba", "scipy", "pickle", "selectors", "json", "random", "setveil")
"""Names that our processes import; `random` and `json` are Python's own."""
CODE = "from pathlib import Path\nPath(__file__).with_suffix('.was-imported').touch()\n"


@pytest.fixture
def folder(tmp_path):
    """Return a folder of data with modules beside it that tell when they are imported."""
    for name in PLANTED:
        (tmp_path / f"{name}.py").write_text(CODE)
    rows = ["flu,gout", "flu,rash", "flu", "gout,rash"] * 6
    (tmp_path / "visits.csv").write_text("".join(f"{row}\n" for row in rows))
    return tmp_path


def run(folder, *arguments, **environment):
    """Run setveil as its command does, in a folder."""
    here = str(Path(setveil.__file__).parents[1])
    code = f"import sys; sys.path[:] = [p for p in sys.path if p]; sys.path.insert(0, {here!r})"
    code += "; from setveil.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-P", "-c", code, *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def imported(folder):
    return sorted(path.stem for path in folder.glob("*.was-imported"))


@pytest.mark.parametrize("environment", [{}, {"PYTHONSTARTUP": "json.py"}])
def test_workers_of_an_audit(folder, environment):
    found = run(
        folder, "audit", "visits.csv", "--format", "basket", "--methods", "disassociate:k=2",
        "--attacks", "linkage", "--known", "1", "--target", "0.9", "--workers", "1", "-o", "out",
        "--quiet", **environment,
    )  # fmt: skip
    assert found.returncode == 3, found.stderr  # linkage alone decides nothing
    assert "disassociate" in found.stdout
    assert imported(folder) == []


def test_processes_that_extract_items(folder):
    notes = folder / "notes"
    notes.mkdir()
    for number in range(80):
        (notes / f"{number}.txt").write_text("The patient has a cough and a high fever. " * 40)
    found = run(folder, "extract", "notes", "-o", "items.jsonl", "--workers", "2", "--quiet")
    assert found.returncode == 0, found.stderr
    assert imported(folder) == []


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("environment", [{}, {"PYTHONPATH": "", "PYTHONSTARTUP": "json.py"}])
def test_spark_and_its_workers(folder, environment):
    (folder / "pyspark.py").write_text(CODE)
    (folder / "py4j.py").write_text(CODE)
    found = run(
        folder, "audit", "visits.csv", "--format", "basket", "--methods", "disassociate:k=2",
        "--attacks", "linkage", "--known", "1", "--target", "0.9", "--engine", "spark", "-o", "out",
        "--quiet", **environment,
    )  # fmt: skip
    assert found.returncode == 3, found.stderr  # linkage alone decides nothing
    assert "disassociate" in found.stdout
    assert "failed" not in found.stdout
    assert imported(folder) == []
