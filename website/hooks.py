"""What MkDocs calls while it builds the site; the work is done in :mod:`website.pages`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parents[1]))  # MkDocs runs this file by its path

from website import pages

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

API = "api"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Spell anchors as GitHub does, and list the pages of the API."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = pages.slug
    config.nav = _with_api(config.nav)
    return config


def _with_api(nav: Any) -> Any:  # noqa: ANN401  (lists, dicts and texts, as deep as the YAML)
    if isinstance(nav, list):
        return [_with_api(each) for each in nav]
    if isinstance(nav, dict):
        return {
            title: [name for name, _ in pages.api_pages()] if below == API else _with_api(below)
            for title, below in nav.items()
        }
    return nav


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that do not stand in docs/."""
    made = [*pages.top_pages(), *pages.api_pages()]
    made.append((pages.NOTEBOOK_PAGE, pages.notebook_page(pages.read_notebook())))
    for name, text in made:
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Translate from what GitHub reads to what Python-Markdown reads."""
    return pages.adapted(pages.relinked(markdown))
