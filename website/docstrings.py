"""Docstrings as the site shows them: examples as code, and no marks of Sphinx."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import griffe

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROLE = re.compile(r":(?:class|func|meth|attr|mod|exc|data):`~?([^`]+)`")


class Readable(griffe.Extension):
    """Rewrite every docstring before it is parsed; MkDocs finds this class by itself."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = readable(obj.docstring.value)


def readable(text: str) -> str:
    r"""Return a docstring as Markdown.

    >>> readable("Add :func:`~a.plus`.\n\n>>> 1 + 1\n2\n\nThat is all.").splitlines()
    ['Add `a.plus`.', '', '```pycon', '>>> 1 + 1', '2', '```', '', 'That is all.']
    """
    return "\n".join(_fenced(_ROLE.sub(r"`\1`", text).splitlines()))


def _fenced(lines: list[str]) -> Iterator[str]:
    """Put what stands from a prompt to the next empty line between fences."""
    inside = False
    for line in lines:
        if not inside and line.lstrip().startswith(">>>"):
            inside = True
            yield "```pycon"
        elif inside and not line.strip():
            inside = False
            yield "```"
        yield line
    if inside:
        yield "```"
