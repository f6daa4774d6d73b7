"""Every example in the README and the docs runs, and every command and option is documented."""

import doctest
import importlib
import os
import pkgutil
import re
import tomllib
from pathlib import Path

import pytest
import typer
from tests.docs.pages import SHELLS, Block, agrees, blocks_of, commands_of, run_shell, shell_line

import setveil
from setveil.cli import COMMANDS, app
from setveil.core.errors import SetveilError

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = sorted(
    module.name for module in pkgutil.walk_packages(setveil.__path__, prefix="setveil.")
)
UPDATE = "UPDATE_DOCS"


def case(page: Path):
    """Return a page as a case of a test; that about Spark shares the session of other tests."""
    marks = [pytest.mark.spark] if page.name == "spark.md" else []
    return pytest.param(page, marks=marks, id=str(page.relative_to(ROOT)))


@pytest.mark.parametrize("page", [case(page) for page in PAGES])
def test_examples_of_a_page(page, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    if page.name == "spark.md":
        request.getfixturevalue("spark")  # without Java it is skipped
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks_of(page):
        if block.file:
            (tmp_path / block.file).write_text(block.body, encoding="utf-8")
        elif block.language == "python":
            run_python(page, block, namespace)
        elif block.language in SHELLS:
            run_console(page, block, tmp_path)


def run_python(page: Path, block: Block, namespace: dict[str, object]) -> None:
    """Run a block; one with prompts is a doctest, and its outputs are compared."""
    if not block.body.lstrip().startswith(">>>"):
        code = compile("\n" * block.line + block.body, page.name, "exec")
        exec(code, namespace)
        return
    test = doctest.DocTestParser().get_doctest(
        block.body, namespace, page.name, str(page), block.line
    )
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(test, clear_globs=False)
    namespace.update(test.globs)
    assert runner.summarize(verbose=False).failed == 0, f"{page.name}, line {block.line}"


def run_console(page: Path, block: Block, folder: Path) -> None:
    for command in commands_of(block):
        line = shell_line(command.text)
        if line is None:
            continue
        done = run_shell(line, folder)
        shown = done.stdout.rstrip()
        if command.expected and not agrees(command.expected, shown) and os.environ.get(UPDATE):
            text = page.read_text(encoding="utf-8")
            old = f"$ {command.text}\n{command.expected}\n"
            page.write_text(text.replace(old, f"$ {command.text}\n{shown}\n"), encoding="utf-8")
            continue
        where = f"{page.name}, line {block.line}: $ {line}\n{shown}"
        # A page shows failures too (a violated promise), but only on purpose: with their output.
        assert done.returncode == 0 or command.expected, where
        assert "Traceback" not in shown, where
        if command.expected:
            assert agrees(command.expected, shown), where


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def test_make_demo_runs_the_command_that_stands_for_it():
    recipe = re.search(r"^demo:.*\n\t(.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    assert recipe[1].endswith("setveil demo")


def anchors(page: Path) -> set[str]:
    """Return the names of a page's headings as links spell them."""
    headings = re.findall(r"^#+ +(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    words = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {word.strip().replace(" ", "-") for word in words}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if link.startswith(("http", "mailto:")):
            continue
        file, _, anchor = link.partition("#")
        target = page if not file else page.parent / file
        if target.name == "performance.md":  # written by `make bench`
            continue
        assert target.exists(), f"{page.name} leads to {link}"
        if anchor:
            assert anchor in anchors(target), f"{page.name} leads to {link}"


# --- every command and option is documented ---------------------------------------------------


def commands() -> dict[str, object]:
    """Return every command that does something, by its full name."""
    found = {}

    def walk(command, name):
        context = typer.Context(command, info_name=name)
        if not hasattr(command, "list_commands"):
            found[name] = command
            return
        for inner in command.list_commands(context):
            walk(command.get_command(context, inner), f"{name} {inner}")

    walk(typer.main.get_command(app), "setveil")
    return found


def section(title: str) -> str:
    """Return the part of docs/cli.md below a heading, up to the next one of any level."""
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    parts = re.split(r"^#+ +`?([^`\n]+)`?\n", text, flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert title in found, f"docs/cli.md has no section {title!r}"
    return found[title]


def test_every_command_and_option_is_documented():
    for name, command in commands().items():
        text = section(name)
        if name.startswith(("setveil anonymize ", "setveil attack ", "setveil table ")):
            text += section(name.rpartition(" ")[0])  # what all methods share stands above them
        if "options of reading" in text:
            text += section("How DATA is read")
        for param in command.params:
            for option in [*param.opts, *param.secondary_opts]:
                if option.startswith("--"):
                    assert option in text, f"docs/cli.md, {name}: nothing on {option}"


def test_the_page_of_the_command_line_is_the_generated_one():
    from website.cli_pages import PAGE, TEXT, render

    page, text = (each.read_text(encoding="utf-8") for each in (PAGE, TEXT))
    assert page == render(text), "run `python -m website.cli_pages`"


def test_a_command_without_a_heading_is_on_the_page_all_the_same():
    from website.cli_pages import render

    page = render("# Title\n\n## `setveil attack`\n\nWords.\n\n## `setveil verify`\n")
    assert page.index("Words.") < page.index("#### `setveil attack rba`") < page.index("verify`")
    assert "--context" in page


def test_help_lines_are_those_of_the_commands():
    for name, lazy in COMMANDS.items():
        target = getattr(importlib.import_module(lazy.module), lazy.name)
        if isinstance(target, typer.Typer):
            help_text = typer.main.get_group(target).help
        else:
            help_text = target.__doc__
        assert help_text.strip().partition("\n")[0] == lazy.help, name


def test_every_method_is_named_in_the_cli_page():
    from setveil.core.registry import entries

    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for entry in [*entries("anonymizer"), *entries("guarantee")]:
        assert entry.name in text


def test_errors_are_of_one_family():
    from setveil.core import errors

    for name, value in vars(errors).items():
        if isinstance(value, type) and issubclass(value, Exception):
            assert issubclass(value, SetveilError), name


# --- what stands in two places says the same ----------------------------------------------------


def test_every_dependency_is_explained_with_its_bounds():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    project = settings["project"]
    groups = [
        settings["build-system"]["requires"],
        project["dependencies"],
        *project["optional-dependencies"].values(),
        *settings["dependency-groups"].values(),
    ]
    for requirement in (each for group in groups for each in group):
        name, low, high = re.fullmatch(r"([\w-]+)>=([\d.]+)(?:,<([\d.]+))?", requirement).groups()
        bounds = f"≥ {low}" + (f", < {high}" if high else "")
        lines = [line for line in page.splitlines() if name in line and bounds in line]
        assert lines, f"docs/dependencies.md does not explain {requirement}"


def test_one_version():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert settings["project"]["version"] == setveil.__version__
    assert f"\nversion: {setveil.__version__}\n" in citation
