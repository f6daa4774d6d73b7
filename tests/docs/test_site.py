"""The docs as a site: every page has its place, it builds without a warning, and stays offline."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from website import docstrings, gallery, pages

from setveil.core.registry import entries

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SECTIONS = ("What it promises", "When to use it", "What it costs", "What breaks it")
# Methods that share a page; all others have one of their own.
SHARED_PAGES = dict.fromkeys(("token-hashing", "secret-sharing", "split-personality"), "query-logs")


# --- every page has its place, and says what it must -----------------------------------------


def test_every_page_is_in_the_navigation_once():
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = re.findall(r"[\w/-]+\.md", nav)
    there = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    made = {*pages.TOP_FILES.values(), pages.NOTEBOOK_PAGE}
    missing = sorted(there - set(listed))
    assert not missing, f"mkdocs.yml: `nav` lacks {', '.join(missing)}"
    assert sorted(listed) == sorted(there | made)


@pytest.mark.parametrize("name", [entry.name for entry in entries("anonymizer")])
def test_the_page_of_a_method_has_its_sections(name):
    page = DOCS / "methods" / f"{SHARED_PAGES.get(name, name)}.md"
    assert page.exists(), f"{name} has no page docs/methods/{name}.md"
    text = page.read_text(encoding="utf-8")
    for title in SECTIONS:
        [body] = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        assert len(body.split()) >= 8, f"{page.name}: nothing below {title!r}"


def glossary_words():
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    return {word for line in re.findall(r"^\| (.*?) \|", text, re.MULTILINE)
            for word in re.findall(r"[\w-]+", line)}  # fmt: skip


def test_the_glossary_knows_every_promise_attack_form_and_score():
    from setveil.release.base import FORMS

    words = glossary_words()
    asked = {entry.name for kind in ("guarantee", "attack") for entry in entries(kind)}
    asked |= set(FORMS)
    asked |= {"ggd_share", "ncp", "average_loss", "are", "tkd", "rules_kept", "ul", "kl"}
    asked |= {"named", "kept_f1", "accuracy", "auc", "ece", "wmd", "equivocation"}
    asked |= {"adversary", "baseline", "control", "gain", "risk", "target", "loss", "key"}
    assert not asked - words, f"docs/glossary.md lacks {sorted(asked - words)}"


def test_the_api_lists_every_package_that_users_meet():
    import setveil

    parts = {name for name in setveil.__all__ if name.islower()}
    packages = {name for name in parts if (ROOT / "src" / "setveil" / name).is_dir()}
    assert packages <= set(pages.PACKAGES)
    for name in pages.PACKAGES:
        assert (ROOT / "src" / "setveil" / name).is_dir()


# --- what is made while it is built ------------------------------------------------------------


@pytest.mark.parametrize("module", [pages, docstrings, gallery], ids=lambda each: each.__name__)
def test_examples_of_the_website(module):
    import doctest

    assert doctest.testmod(module).failed == 0


def test_a_notebooks_outputs_are_shown_as_text_unless_they_are_html():
    def code(output):
        return {"cell_type": "code", "source": "x", "outputs": [output]}

    shown = pages.notebook_page(
        {
            "cells": [
                code({"output_type": "stream", "text": ["a <b>\n"]}),
                code(
                    {"output_type": "display_data", "data": {"text/html": "<p>1</p>\n\n<p>2</p>"}}
                ),
            ]
        }
    )
    assert '<pre class="shown">a &lt;b&gt;</pre>' in shown
    assert '<div class="shown"><p>1</p>\n<p>2</p></div>' in shown


def test_the_gallery_is_drawn_by_its_command(tmp_path):
    files = gallery.write(tmp_path, records=120)
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert [file.stem for file in files] == re.findall(r"img/gallery/([\w-]+)\.svg", text)
    for file in files:
        svg = file.read_text(encoding="utf-8")
        assert svg.startswith("<svg")
        assert "var(--" not in svg
        assert "currentColor" not in svg
        assert (gallery.HOME / file.name).exists()


# --- the site itself -----------------------------------------------------------------------------


class Content(HTMLParser):
    """Counts the elements of an article, and notes what a page loads."""

    COUNTED = ("li", "table", "tr", "td", "h2", "h3", "pre", "strong")

    def __init__(self, text, *, whole):
        super().__init__()
        self.inside = whole
        self.counts = dict.fromkeys(self.COUNTED, 0)
        self.loads = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "article":
            self.inside = True
        if self.inside and tag in self.counts:
            self.counts[tag] += 1
        if tag in {"script", "img", "iframe", "source"}:
            self.loads.append(given.get("src") or "")
        if tag == "link" and given.get("rel") != "canonical":
            self.loads.append(given.get("href") or "")

    def handle_endtag(self, tag):
        if tag == "article":
            self.inside = False


def test_the_site_builds_offline_and_shows_what_the_pages_say(tmp_path):
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert built.returncode == 0, built.stderr
    sources = {str(page.relative_to(DOCS)): page.read_text("utf-8") for page in DOCS.rglob("*.md")}
    sources |= dict(pages.top_pages())
    reader = MarkdownIt("commonmark").enable("table")  # reads as GitHub does
    for name, text in sources.items():
        html = (tmp_path / name).with_suffix(".html").read_text(encoding="utf-8")
        meant = Content(reader.render(text), whole=True).counts
        assert Content(html, whole=False).counts == meant, name
    for file in tmp_path.rglob("*.html"):
        loads = Content(file.read_text(encoding="utf-8"), whole=False).loads
        away = [link for link in loads if re.match(r"(https?:)?//", link)]
        assert not away, f"{file.name} loads {away}"
    for file in tmp_path.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", file.read_text(encoding="utf-8")), file
    for package in pages.PACKAGES:
        shown = (tmp_path / "api" / f"{package}.html").read_text(encoding="utf-8")
        assert f'id="setveil.{package}.' in shown, f"the API page of {package} is empty"
        assert "&gt;&gt;&gt; <" not in shown.replace('<span class="gp">&gt;&gt;&gt; <', "")
