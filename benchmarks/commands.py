"""How long a person waits for the command line."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.row import Row, timed
from setveil.synthetic import clinic


def command(*arguments: str) -> None:
    """Run a command of this environment to its end; Python keeps what it compiled, as it does."""
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(arguments, check=True, capture_output=True, env=kept)  # noqa: S603  (our own)


def run(*, small: bool) -> list[Row]:
    """Time the help page and a small anonymization, warm."""
    repeat = 5 if small else 15
    python = sys.executable
    setveil = str(Path(python).with_name("setveil"))
    bare, _ = timed(lambda: command(python, "-c", "pass"), repeat=repeat)
    helped, _ = timed(lambda: command(setveil, "--help"), repeat=repeat)
    with tempfile.TemporaryDirectory() as folder:
        made = clinic(n=500, seed=1)
        data, tree = Path(folder, "clinic.jsonl"), Path(folder, "tree.csv")
        from setveil.io.writers import write

        write(made.table, data)
        made.taxonomy.write(tree)
        anonymize = (
            setveil, "anonymize", "gather", str(data), "--taxonomy", str(tree),
            "-o", str(Path(folder, "release")), "--force", "--quiet",
        )  # fmt: skip
        command(*anonymize)
        small_file, _ = timed(lambda: command(*anonymize), repeat=max(repeat // 3, 2))
    return [
        Row(name="`setveil --help` over `python -c pass`", value=helped / bare, unit="×", most=12),
        Row(name="500 records anonymized, warm", value=small_file, unit="s", most=1.5),
    ]
