"""The guide's notebook runs from top to bottom and shows what it says that it shows."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
GUIDE = Path(__file__).parents[2] / "docs" / "guide.ipynb"

# In a process of its own: what Jupyter's packages warn of is not ours to fail by.
RUN = """
import sys
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=300, kernel_name="python3", record_timing=False,
               coalesce_streams=True).execute()
nbformat.write(notebook, sys.argv[2])
"""


def shown(notebook):
    """Return what each code cell shows, without what counts or warns."""
    return {
        cell.id: [
            output.get("data", output.get("text"))
            for output in cell.outputs
            if output.get("name") != "stderr"
        ]
        for cell in notebook.cells
        if cell.cell_type == "code"
    }


def test_the_guide_as_a_notebook(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN, str(GUIDE), "run.ipynb"],
        cwd=tmp_path,
        env={**os.environ, "IPYTHONDIR": str(tmp_path), "JUPYTER_PLATFORM_DIRS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    ran = nbformat.read(tmp_path / "run.ipynb", as_version=4)
    if os.environ.get("UPDATE_DOCS"):
        for cell in ran.cells:
            if cell.cell_type == "code":
                cell.execution_count = None
                cell.outputs = [each for each in cell.outputs if each.get("name") != "stderr"]
                for output in cell.outputs:
                    if "execution_count" in output:
                        output.execution_count = None
        nbformat.write(ran, GUIDE)
    assert shown(nbformat.read(GUIDE, as_version=4)) == shown(ran)


def test_the_notebook_has_no_cell_that_was_left_unrun():
    notebook = nbformat.read(GUIDE, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    silent = [cell.id for cell in cells if not cell.outputs]
    assert silent == [cells[-1].id]  # it writes files
