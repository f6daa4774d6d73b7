"""Fenced blocks of a Markdown page, and how each kind is run.

``python`` blocks run one after another in one namespace; ``console`` blocks run the lines after
``$`` in a shell and compare what they print, where the page shows it; a block such as
``csv visits.csv`` writes that file. A line ``...`` in an output stands for any lines, and ``...``
inside a line for any characters.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
SHELLS = {"console", "sh", "bash", "shell"}


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file it names (if any), its text and its first line."""

    language: str
    file: str
    body: str
    line: int


@dataclass(frozen=True)
class Command:
    """A command line of a page and what the page says that it prints."""

    text: str
    expected: str


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        language, _, file = match["info"].strip().partition(" ")
        line = text.count("\n", 0, match.start("body")) + 1
        found.append(Block(language=language, file=file.strip(), body=match["body"], line=line))
    return found


def commands_of(block: Block) -> list[Command]:
    """Split a console block into its commands; a command goes on after a backslash."""
    found: list[list[list[str]]] = []
    continued = False
    for line in block.body.splitlines():
        if line.startswith("$ "):
            found.append([[line[2:]], []])
        elif continued:
            found[-1][0].append(line.removeprefix("> "))
        elif found:
            found[-1][1].append(line)
        continued = line.endswith("\\") and bool(found) and not found[-1][1]
    return [Command("\n".join(text), "\n".join(shown).rstrip()) for text, shown in found]


def shell_line(command: str) -> str | None:
    """Return what to run for a command of a page, or None for what a test must not do.

    ``make demo`` installs setveil, which has been done, and runs ``setveil demo``; installing,
    cloning and running the tests (from a test) are left out.
    """
    if command.startswith("make demo"):
        return command.replace("make demo", "setveil demo", 1)
    if re.match(r"(make|git|pip|cd|pre-commit|\.ci/run)\b", command) or command.startswith(".ci/"):
        return None
    return command


def run_shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "80",
        "NO_COLOR": "1",
    }
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )


def agrees(expected: str, got: str) -> bool:
    """Compare an output with what a page shows of it.

    >>> agrees("a\\n...\\nc", "a\\nb\\nc\\n"), agrees("took ... s", "took 3 s"), agrees("a", "b")
    (True, True, False)
    """
    pattern = ""
    for line in expected.strip("\n").splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part.rstrip()) for part in line.split("...")) + r"\s*\n"
    printed = "".join(f"{line.rstrip()}\n" for line in got.strip("\n").splitlines())
    return re.fullmatch(pattern, printed) is not None
