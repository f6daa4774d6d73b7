"""Text of HTML: recognised by its tags, and stripped of them.

The standard library's parser takes quadratic time over markup that is never closed (8,000 times
``<a `` cost it six seconds) and fails on some declarations; here one pass goes over the text.
"""

from __future__ import annotations

import html
import re

_BLOCKS = (
    "address article aside blockquote body br caption center dd details div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main nav ol option "
    "p pre section summary table tbody td tfoot th thead title tr ul"
)
_INLINE = "a abbr b cite code em font i img q s small span strong sub sup tt u"
_HIDDEN = ("script", "style", "noscript", "template", "svg", "head")

_BLOCK = frozenset(_BLOCKS.split())
_START = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_KNOWN = re.compile(
    rf"<(?:/(?:{'|'.join([*_BLOCKS.split(), *_INLINE.split()])})\s*|(?:br|hr)\s*/?|"
    rf"(?:{'|'.join(_BLOCKS.split())})(?:\s+[a-z-]+\s*=[^<>]*)?)>",
    re.IGNORECASE,
)
# Possessive: what a tag's inside has taken is never given back, so a failure costs its length once.
_TAG = re.compile(r"""<(/?)([a-zA-Z][a-zA-Z0-9:-]*+)((?:[^<>"']|"[^"<]*"|'[^'<]*')*+)>""")
_DECLARATION = re.compile(r"<[!?][^<>]*+>")
_BLANKS = re.compile(r"[ \t\f\v]+")
_LINES = re.compile(r"\s*\n\s*\n\s*")
ENOUGH = 2  # tags in a text that make it HTML; a single one may stand in any text


def looks_like_html(text: str) -> bool:
    """Tell whether a text is HTML: it begins like a page, or holds two or more of its tags.

    >>> looks_like_html("<p>fever</p>"), looks_like_html("a <b and c> d <br> e")
    (True, False)
    """
    if "<" not in text:
        return False
    if _START.match(text):
        return True
    tags = _KNOWN.finditer(text)
    return sum(1 for _ in zip(tags, range(ENOUGH), strict=False)) == ENOUGH


def html_to_text(text: str) -> str:
    r"""Return the words a browser would show; a block ends with a blank line.

    >>> html_to_text("<h1>Flu</h1><p>High <b>fe</b>ver &amp; cough<script>x < 1</script></p>")
    'Flu\n\nHigh fever & cough'
    """
    parts: list[str] = []
    place = 0
    while True:
        start = text.find("<", place)
        if start < 0:
            parts.append(text[place:])
            break
        parts.append(text[place:start])
        shown, place = _markup(text, start)
        parts.append(shown)
    plain = html.unescape("".join(parts))
    return _LINES.sub("\n\n", _BLANKS.sub(" ", plain)).strip()


def _markup(text: str, start: int) -> tuple[str, int]:
    """Return what the markup at a ``<`` shows, and where the text goes on."""
    if text.startswith("<!--", start):
        end = text.find("-->", start + 4)
        return " ", len(text) if end < 0 else end + 3
    declaration = _DECLARATION.match(text, start)
    if declaration:
        return " ", declaration.end()
    tag = _TAG.match(text, start)
    if not tag:
        return "<", start + 1
    closing, name = tag[1], tag[2].lower()
    if name in _HIDDEN and not closing and not tag[3].endswith("/"):
        return " ", _after_hidden(text, name, tag.end())
    return "\n\n" if name in _BLOCK else "", tag.end()


def _after_hidden(text: str, name: str, start: int) -> int:
    """Return the place behind the end tag of an element that shows nothing."""
    end = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(text, start)
    return len(text) if end is None else end.end()
