"""A small clinic on disk, and two ways to run commands: in this process and in one of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from setveil.cli import app
from setveil.core.params import usual_values
from setveil.core.registry import entries

VISITS = [
    ["flu", "cough"],
    ["flu", "fever"],
    ["cold", "cough"],
    ["cold"],
    ["asthma", "cough", "flu"],
    ["asthma", "fever"],
    ["flu"],
    ["cold", "fever", "cough"],
]
TREE = [
    ("flu", "infection"),
    ("cold", "infection"),
    ("asthma", "chronic"),
    ("infection", "condition"),
    ("chronic", "condition"),
    ("cough", "symptom"),
    ("fever", "symptom"),
    ("condition", "finding"),
    ("symptom", "finding"),
]


class Clinic:
    """Files in a folder of their own, and commands run there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "visits.jsonl"
        self.data.write_text("".join(json.dumps(visit) + "\n" for visit in VISITS))
        self.tree = folder / "tree.csv"
        self.tree.write_text("".join(f"{child},{parent}\n" for child, parent in TREE))
        self.sensitive = folder / "sensitive.txt"
        self.sensitive.write_text("asthma\n")
        self.release = folder / "release"
        self.key = folder / "visits.key"

    def run(self, *args, stdin=None):
        """Run a command in this process."""
        return CliRunner().invoke(app, [str(arg) for arg in args], input=stdin)

    def anonymize(self, method="gather", *more, stdin=None):
        """Anonymize the visits; later options override earlier ones."""
        options = [*self.inputs_of(method), "-o", self.release, *more]
        data = "-" if stdin is not None else self.data
        return self.run("anonymize", method, data, *options, stdin=stdin)

    def inputs_of(self, method):
        """Return the options that name what a method needs, and a small k, p or l it may have."""
        found = [entry.target for entry in entries("anonymizer") if entry.name == method]
        needed = found[0].requires if found else {"taxonomy"}
        letter = next((name for name in "kpl" if not found or hasattr(found[0], name)), None)
        options = [f"--{letter}", 2] if letter else []
        for name, value in usual_values(found[0]).items() if found else ():
            options += [f"--{name}", value]
        if "taxonomy" in needed:
            options += ["--taxonomy", self.tree]
        if "sensitive" in needed:
            options += ["--sensitive", self.sensitive, "--sensitive-in-tree", "take-out"]
        return options

    def names(self):
        """Return what lies in the folder, hidden files too."""
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*"))


@pytest.fixture
def clinic(tmp_path):
    return Clinic(tmp_path)


@pytest.fixture
def script():
    """Return the installed command, as a list for subprocess."""
    return [str(Path(sys.executable).with_name("setveil"))]


@pytest.fixture
def run_script(script):
    """Run the installed command in a process of its own."""

    def run(*args, **kwargs):
        command = [*script, *(str(arg) for arg in args)]
        return subprocess.run(command, capture_output=True, text=True, check=False, **kwargs)

    return run
