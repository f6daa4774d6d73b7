"""The page of the command line: the text of website/cli.md, and below it what the commands say.

A heading of website/cli.md that is the name of a command (``## `setveil verify` ``) gets the
command's usage, description and options right below it. Commands without a heading come at the end
of their group's section, so a method of another package is on the page as soon as it is registered.

``python -m website.cli_pages`` writes docs/cli.md; a test compares the page with what it writes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import typer

from setveil.cli import app, reading
from website.pages import ROOT, slug

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT = ROOT / "website" / "cli.md"
PAGE = ROOT / "docs" / "cli.md"
READING = "| [options of reading](#how-data-is-read) | How DATA is read. |"
FULL = "setveil inspect"
"""The command whose section shows the options of reading one by one."""

_HEADING = re.compile(r"^(?P<level>#+) `(?P<name>setveil[^`]*)`$", re.MULTILINE)
_HELP = "-h, --help"


def contexts() -> dict[str, typer.Context]:
    """Return every command and group by its full name, in the order of ``--help``.

    >>> list(contexts())[:3]
    ['setveil', 'setveil demo', 'setveil inspect']
    """
    return dict(_walk(typer.Context(typer.main.get_command(app), info_name="setveil")))


def _walk(context: typer.Context) -> Iterator[tuple[str, typer.Context]]:
    yield context.command_path, context
    group: Any = context.command
    for inner in _inner(context):
        command = group.get_command(context, inner)
        yield from _walk(typer.Context(command, info_name=inner, parent=context))


def _inner(context: typer.Context) -> list[str]:
    command: Any = context.command
    return command.list_commands(context) if hasattr(command, "list_commands") else []


def render(text: str) -> str:
    """Return the page for a text with headings."""
    known = contexts()
    headings = [match["name"] for match in _HEADING.finditer(text)]
    parts = _HEADING.split(text)  # text before, then level, name and text of each heading
    page = [parts[0]]
    sections = list(zip(parts[1::3], parts[2::3], parts[3::3], strict=True))
    for place, (level, name, prose) in enumerate(sections):
        page.append(f"{level} `{name}`\n\n{_section(known[name], known, headings)}{prose}")
        following = [each for _, each, _ in sections[place + 1 :]]
        group = name if name in headings and _inner(known[name]) else name.rpartition(" ")[0]
        if group != "setveil" and not any(each.startswith(f"{group} ") for each in following):
            page += [
                f"#### `{each}`\n\n{_section(known[each], known, headings)}\n\n"
                for each in known
                if each.startswith(f"{group} ") and each not in headings
            ]
    return "".join(page).rstrip("\n") + "\n"


def _section(context: typer.Context, known: dict[str, typer.Context], headings: list[str]) -> str:
    """Return usage, description and options of a command; of a group also its commands."""
    name = context.command_path
    group = name.rpartition(" ")[0]
    shared = _shared(group, known) if group in headings and group != "setveil" else []
    usage = " ".join([name, *context.command.collect_usage_pieces(context)])
    parts = ["" if shared else f"```text\n{usage}\n```", _description(context)]
    rows = [row for row in _rows(context, full=name == FULL) if row not in shared]
    if inner := _inner(context):
        commands = [
            f"| {_link(f'{name} {each}', headings)} | {_first_line(known[f'{name} {each}'])} |"
            for each in inner
        ]
        parts.append("\n".join(["| command | what it does |", "|---|---|", *commands]))
        if common := [] if name == "setveil" else _shared(name, known):
            rows = common
            parts.append("Options that all of them share:")
    if rows:
        parts.append("\n".join(["| option | meaning |", "|---|---|", *rows]))
    return "\n\n".join(filter(None, parts))


def _link(name: str, headings: list[str]) -> str:
    """Return a link to the section of a command, or to that of its first command."""
    below = next((each for each in headings if each.startswith(f"{name} ")), name)
    first = name if name in headings else below
    return f"[`{name.rpartition(' ')[2]}`](#{slug(first)})"


def _shared(group: str, known: dict[str, typer.Context]) -> list[str]:
    """Return the rows that all commands of a group have."""
    tables = [_rows(known[each]) for each in known if each.startswith(f"{group} ")]
    return [row for row in tables[0] if all(row in table for table in tables)]


def _rows(context: typer.Context, *, full: bool = False) -> list[str]:
    """Return a row for each argument and option; the options of reading are one row."""
    rows = []
    params: list[Any] = [p for p in context.command.params if p.get_help_record(context)]
    params.sort(key=lambda param: param.param_type_name != "argument")
    reads = not full and set(reading.READING) <= {param.name for param in params}
    for param in params:
        if reads and param.name in reading.READING:
            if READING not in rows:
                rows.append(READING)
            continue
        names, said = param.get_help_record(context)
        if names != _HELP:
            names = re.sub(r"^([A-Z]+) <[^>]*>$", r"\1", names.strip())
            cells = (f"`{names}`", " ".join(said.split()))
            rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return rows


def _description(context: typer.Context) -> str:
    """Return the help of a command as Markdown, with its example as a line to copy."""
    help_text = "\n".join(line.strip() for line in (context.command.help or "").splitlines())
    said = f"{help_text}\n\n{context.command.epilog or ''}"
    parts = [" ".join(part.split()) for part in said.split("\n\n") if part.strip()]
    return "\n\n".join(re.sub(r"^Example: (.*)$", r"Example: `\1`", part) for part in parts)


def _first_line(context: typer.Context) -> str:
    return (context.command.help or "").strip().partition("\n")[0]


if __name__ == "__main__":
    PAGE.write_text(render(TEXT.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"written: {PAGE.relative_to(ROOT)}")
