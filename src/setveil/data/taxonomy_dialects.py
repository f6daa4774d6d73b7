"""Trees in the files of other tools: OBO ontologies, and Amnesia's hierarchies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from setveil.core.errors import InputError
from setveil.data.taxonomy_formats import Link

if TYPE_CHECKING:
    from collections.abc import Callable

OBO_START = re.compile(r"^(?:format-version:|\[Term\]\s*$)", re.MULTILINE)
AMNESIA_START = re.compile(r"(?:distinct|range)\s*\n(?:(?:name|type|height)\b.*\n)+", re.IGNORECASE)
HEAD = 1 << 16  # characters that tell a dialect


def dialect_of(text: str) -> str | None:
    r"""Return the tool in whose own format a text is written; None if it is a table.

    >>> dialect_of("format-version: 1.2\n\n[Term]\nid: A\n"), dialect_of("apple,fruit\n")
    ('obo', None)
    """
    if AMNESIA_START.match(text):
        return "amnesia"
    return "obo" if OBO_START.search(text[:HEAD]) and "[Term]" in text else None


def obo_links(text: str, where: str) -> tuple[list[Link], list[str]]:
    r"""Return the terms of an OBO ontology with their ``is_a`` parents, and the obsolete ones.

    >>> links, obsolete = obo_links("[Term]\nid: A:2\nname: flu\nis_a: A:1 ! illness\n", "x.obo")
    >>> links[0].id, links[0].name, links[0].parents, obsolete
    ('A:2', 'flu', ['A:1'], [])
    """
    links: list[Link] = []
    obsolete: list[str] = []
    stanza: dict[str, list[str]] | None = None
    start = 0

    def close() -> None:
        if stanza is None:
            return
        if not stanza.get("id"):
            raise InputError(
                "this term has no id", where=f"{where}, line {start}", fix="give it an id"
            )
        term = stanza["id"][0].split(" ")[0]
        if "true" in stanza.get("is_obsolete", []):
            obsolete.append(term)
            return
        name = re.sub(r"\\(.)", r"\1", stanza.get("name", [""])[0])
        # What follows the id is a comment or a modifier: "DOID:4 {source="x"} ! disease".
        links.append(Link(start, term, name, [p.split(" ")[0] for p in stanza.get("is_a", [])]))

    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if line.startswith("["):
            close()
            stanza, start = ({} if line == "[Term]" else None), number
        elif stanza is not None and ":" in line:
            key, _, value = line.partition(":")
            stanza.setdefault(key, []).append(value.strip())
    close()
    if not links:
        raise InputError("there is no [Term] in it", where=where, fix="give an OBO ontology")
    return links, obsolete


def amnesia_links(text: str, where: str) -> tuple[list[Link], list[str]]:
    r"""Return the nodes of an Amnesia hierarchy: ``parent has child child …`` on each line.

    >>> text = "distinct\nname food\ntype string\nheight 2\n\nfruit has apple pear \n"
    >>> [(link.id, link.parents) for link in amnesia_links(text, "food.txt")[0]]
    [('apple', ['fruit']), ('pear', ['fruit'])]
    """
    head = AMNESIA_START.match(text)
    if head is None or text.lower().startswith("range"):
        raise InputError(
            "this is a hierarchy of ranges" if head else "this is no hierarchy of Amnesia",
            where=where,
            fix='give one that starts with "distinct", then name, type and height',
        )
    links = []
    lines = text.split("\n")
    for number in range(text.count("\n", 0, head.end()), len(lines)):
        words = lines[number].split()
        if not words:
            continue
        if len(words) < 3 or words[1] != "has":
            raise InputError(
                f"{' '.join(words)[:60]!r} is not of the form: parent has child child",
                where=f"{where}, line {number + 1}",
                fix="names in Amnesia's hierarchies hold no spaces; write them with underscores",
            )
        links += [Link(number + 1, child, "", [words[0]]) for child in words[2:]]
    return links, []


DIALECTS: dict[str, Callable[[str, str], tuple[list[Link], list[str]]]] = {
    "obo": obo_links,
    "amnesia": amnesia_links,
}
