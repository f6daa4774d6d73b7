"""Pages of the site that do not stand in docs/, and what Markdown must look like for the site.

GitHub and Python-Markdown read the same text differently in a few places. The files in docs/ are
written as GitHub reads them; :func:`adapted` translates.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import setveil

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]

# Files at the top of the repository that are pages of the site.
TOP_FILES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "reporting.md",
}
NOTEBOOK = "guide.ipynb"
NOTEBOOK_PAGE = "guide-notebook.md"

# What each package of the API is for, in the order of the data's way.
PACKAGES = {
    "core": "Records, taxonomies, errors, and the list of methods.",
    "synthetic": "Invented data: a clinic, a query log, look-alikes of benchmarks.",
    "io": "Files of records: how they are laid out, read, cleaned and written.",
    "text": "From texts and query logs to records.",
    "release": "What may be published, in each of its forms, and on disk.",
    "anonymize": "One class per published method.",
    "guarantee": "One class per promise, and the check of it.",
    "relatedness": "How much terms have to do with each other.",
    "attack": "One class per adversary.",
    "measure": "What was lost, and what an attack got.",
    "audit": "Many methods and settings, judged alike.",
    "report": "Runs on one page.",
}

# Modules of a package that are used by their own names.
MODULES = {
    "core": ("table", "taxonomy", "errors", "registry"),
    "io": ("readers", "layout", "detect", "tables", "identifiers", "writers"),
    "text": ("extract", "query_log", "topics", "selection"),
}

_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`\n]*)$")
_ITEM = re.compile(r"^(?P<indent> *)(?:[-*+]|\d+\.) ")


def slug(heading: str, separator: str = "-") -> str:
    """Return a heading's anchor as GitHub spells it.

    >>> slug("(h, k, p)-coherence"), slug("ρ-uncertainty"), slug("`setveil demo`")
    ('h-k-p-coherence', 'ρ-uncertainty', 'setveil-demo')
    """
    words = re.sub(r"[^\w\- ]", "", html.unescape(heading).lower())
    return words.strip().replace(" ", separator)


def top_pages() -> Iterator[tuple[str, str]]:
    """Yield the pages that are files at the top of the repository, with links as in docs/."""
    for file, page in TOP_FILES.items():
        text = (ROOT / file).read_text(encoding="utf-8")
        yield page, relinked(text, from_top=True)


def relinked(text: str, *, from_top: bool = False) -> str:
    """Return a page whose links lead to pages of the site.

    >>> relinked("[a](docs/guide.md#x) [b](CHANGELOG.md) [c](LICENSE)", from_top=True)
    '[a](guide.md#x) [b](changelog.md) c'
    >>> relinked("[a](../CONTRIBUTING.md#x) [b](guide.md)")
    '[a](contributing.md#x) [b](guide.md)'
    """
    pages = TOP_FILES if from_top else {f"../{file}": page for file, page in TOP_FILES.items()}
    for file, page in pages.items():
        text = re.sub(rf"\]\({re.escape(file)}(#[^)\s]*)?\)", rf"]({page}\1)", text)
    if not from_top:
        return text
    text = re.sub(r"\]\(docs/methods/?\)", "](guide.md#4-choose-what-to-promise)", text)
    text = text.replace("](docs/", "](")
    others = "|".join(re.escape(name) for name in ("LICENSE", "CITATION.cff"))
    return re.sub(rf"\[([^\]]*)\]\((?:{others})\)", r"\1", text)


def adapted(text: str) -> str:
    r"""Return Markdown that Python-Markdown reads as GitHub reads `text`.

    A file name beside a fence's language becomes its title; a list inside a list is indented by
    four; a list right after a line of text gets an empty line before it.

    >>> print(adapted("text\n- a\n  - b\n```csv x.csv\n1\n```"))
    text
    <BLANKLINE>
    - a
        - b
    ```csv title="x.csv"
    1
    ```
    """
    lines: list[str] = []
    fenced = listed = False
    for line in text.splitlines():
        fence = _FENCE.match(line)
        if fence or fenced:
            lines.append(_titled(fence) if fence and not fenced else line)
            fenced ^= fence is not None
            listed = False
            continue
        item = _ITEM.match(line)
        if item:
            if lines and lines[-1].strip() and not listed:
                lines.append("")
            indent = item["indent"]
            line = f"{'    ' * -(-len(indent) // 2)}{line[len(indent) :]}"  # noqa: PLW2901
        listed = bool(item) or (listed and bool(line.strip()))
        lines.append(line)
    return "\n".join(lines)


def _titled(fence: re.Match[str]) -> str:
    language, _, name = fence["info"].strip().partition(" ")
    title = f' title="{name.strip()}"' if name.strip() else ""
    return f"{fence['indent']}```{language}{title}"


def notebook_page(notebook: dict[str, Any], *, download: str = NOTEBOOK) -> str:
    """Return a notebook as a page: its text, its code, and what was shown.

    >>> code = {"cell_type": "code", "source": ["1 + 1"], "outputs": [
    ...     {"output_type": "execute_result", "data": {"text/plain": ["2"]}}]}
    >>> text = {"cell_type": "markdown", "source": ["# Sums"]}
    >>> page = notebook_page({"cells": [text, code]})
    >>> page.startswith("# Sums"), "1 + 1" in page, '<pre class="shown">2</pre>' in page
    (True, True, True)
    """
    parts = []
    for cell in notebook["cells"]:
        source = _joined(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_shown(output) for output in cell["outputs"]]
    parts.insert(1, f"[Download this notebook]({download}) and run it where setveil is installed.")
    return "\n\n".join(parts) + "\n"


def _shown(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    for kind in ("text/html", "image/svg+xml"):
        if kind in data:
            shown = re.sub(r"\n\s*\n", "\n", _joined(data[kind]))  # an empty line ends raw HTML
            return f'<div class="shown">{shown}</div>'
    plain = _joined(output["text"] if "text" in output else data.get("text/plain", ""))
    return f'<pre class="shown">{html.escape(plain.rstrip())}</pre>'


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)


def read_notebook() -> dict[str, Any]:
    """Return the guide's notebook."""
    found: dict[str, Any] = json.loads((ROOT / "docs" / NOTEBOOK).read_text(encoding="utf-8"))
    return found


def api_pages() -> Iterator[tuple[str, str]]:
    """Yield a page per package, and first the one that lists them.

    >>> [name for name, _ in api_pages()][:2]
    ['api/index.md', 'api/core.md']
    """
    rows = [f"| [`setveil.{name}`]({name}.md) | {use} |" for name, use in PACKAGES.items()]
    names = ", ".join(f"`setveil.{name}`" for name in setveil.__all__)
    first = (setveil.__doc__ or "").partition("\n")[0]
    may_change = "What is not listed here may change with any version."
    listed = [
        f"# API\n\n{first}\n\n{may_change} Examples are run by the tests.\n",
        "| package | for |\n|---|---|",
        *rows,
        f"\nUsed so often that they need no package: {names}.\n",
    ]
    yield "api/index.md", "\n".join(listed)
    for name, use in PACKAGES.items():
        parts = [f"# setveil.{name}\n\n{use}\n\n::: setveil.{name}\n"]
        for module in MODULES.get(name, ()):
            path = f"setveil.{name}.{module}"
            options = "    options:\n      heading_level: 3\n"
            parts.append(f"## {path}\n\n::: {path}\n{options}")
        yield f"api/{name}.md", "\n".join(parts)
