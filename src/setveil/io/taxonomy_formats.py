"""Three ways in which a text file holds a tree: edges, leaf-to-root paths, a table of nodes."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from setveil.core.errors import InputError, shortened
from setveil.core.words import fresh_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

DELIMITERS = "\t;,|"
SAMPLE = 200  # rows that the delimiter is guessed from

ID_WORDS = {"id", "code", "node", "node_id", "identifier", "key", "child", "item", "leaf"}
NAME_WORDS = {"name", "label", "description", "title", "term"}
PARENT_WORDS = {"parent", "parents", "parent_id", "parent_ids", "parent_code", "is_a", "broader"}
LEVEL = re.compile(r"(level|category|group|class|generali[sz]ation|root|top|value)_?\d*")


class Row(NamedTuple):
    """The cells of a line (or of several, where a quoted cell holds a newline)."""

    line: int
    cells: list[str]


class Link(NamedTuple):
    """What a line says of one node."""

    line: int
    id: str
    name: str
    parents: list[str]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How to read the rows of a file.

    Parameters
    ----------
    format
        ``"edges"``, ``"paths"`` or ``"nodes"``.
    header
        Whether the first row names the columns.
    id, name, parent
        Columns of edges and of nodes; a `name` of -1 means that the id is shown.
    width
        Number of columns of edges and of nodes.
    why
        What the choice rests on.
    """

    format: str
    header: bool
    id: int = 0
    name: int = -1
    parent: int = 1
    width: int = 2
    why: str = ""


@dataclass(kw_only=True)
class Nodes:
    """The nodes of a file, with what had to be tidied up; `items` need a leaf of their own."""

    ids: list[str]
    names: list[str]
    parents: list[int]
    items: list[str]
    dropped: list[tuple[str, str]] = field(default_factory=list)
    collapsed: list[str] = field(default_factory=list)
    own_parents: list[str] = field(default_factory=list)
    undefined: list[str] = field(default_factory=list)


# --- rows -------------------------------------------------------------------------------------


def guess_delimiter(text: str) -> str:
    r"""Return the delimiter that splits most lines, and splits them most evenly.

    >>> guess_delimiter("apple;fruit, fresh\nbeef;meat\n")
    ';'
    """
    best, best_score = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        lengths: Counter[int] = Counter()
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        try:
            for cells, _ in zip(reader, range(SAMPLE), strict=False):
                lengths[len(cells)] += bool(cells)
        except csv.Error:
            continue
        split = sum(count for length, count in lengths.items() if length > 1)
        score = (split / max(lengths.total(), 1), -len(lengths))
        if score > best_score and split:
            best, best_score = delimiter, score
    return best


class _Lines:
    """Lines for the csv module that remember whether a row held a quote."""

    def __init__(self, text: str) -> None:
        self._lines = io.StringIO(text, newline="")
        self.quoted = False

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.quoted = self.quoted or '"' in line
            yield line


def rows_of(text: str, delimiter: str, where: str) -> Iterator[Row]:
    r"""Yield the rows that are not empty; space around cells counts only in rows with quotes.

    >>> list(rows_of('a, b \n" c",d\n', ",", "x.csv"))
    [Row(line=1, cells=['a', 'b']), Row(line=2, cells=[' c', 'd'])]
    """
    lines = _Lines(text)
    reader = csv.reader(iter(lines), delimiter=delimiter, skipinitialspace=True, strict=True)
    while True:
        line = reader.line_num + 1
        lines.quoted = False
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            long = f"a cell is longer than {csv.field_size_limit():,} characters"
            raise InputError(
                long if "limit" in str(error) else f"the quotes do not match: {error}",
                where=f"{where}, line {line}",
                fix='close the quoted cell, and write a quote within one twice ("")',
            ) from None
        if not lines.quoted:
            cells = [cell.strip() for cell in cells]
        if any(cells):
            yield Row(line, cells)


# --- what the columns mean --------------------------------------------------------------------


def guess_layout(rows: Sequence[Row], *, format: str | None, header: bool | None) -> Layout:
    """Tell how to read the rows; what is not None is given, the rest is guessed.

    >>> guess_layout([Row(1, ["apple", "fruit"]), Row(2, ["fruit", "food"])],
    ...              format=None, header=None).format
    'edges'
    """
    first = [_word(cell) for cell in rows[0].cells]
    if header is not False and format != "paths" and len(first) > 1:
        columns = _parent_header(first, rows, given=bool(header))
        if columns is not None:
            kind = format or ("edges" if len(first) == 2 else "nodes")
            shown = ", ".join(rows[0].cells)
            return Layout(format=kind, header=True, why=f"the header says {shown}", **columns)
    if header is None:
        header = _is_header(rows)
    body = rows[1:] if header else rows
    width = max((len(row.cells) for row in body), default=0)
    tops = {row.cells[1] for row in body if len(row.cells) > 1 and row.cells[0] != row.cells[1]}
    if width > 2:
        kind, why = "paths", f"lines have up to {width} columns and no header names a parent"
    elif any(row.cells[0] in tops for row in body if row.cells[0] != row.cells[-1]):
        kind, why = "edges", "lines have two columns, and some parents are children elsewhere"
    else:
        kind, why = "paths", "lines have two columns, and no parent is a child"
    return Layout(format=format or kind, header=header, why=why)


def named_layout(
    header: Sequence[str],
    *,
    id: str | None,
    name: str | None,
    parent: str | None,
    where: str,
) -> Layout:
    """Return the layout of a table of nodes whose columns are named by the caller.

    >>> named_layout(["who", "boss"], id="who", name=None, parent="boss", where="x.csv").parent
    1
    """
    guessed = _parent_header([_word(cell) for cell in header], [Row(1, list(header))], given=True)
    found = guessed or {"id": -1, "name": -1, "parent": -1, "width": len(header)}
    for role, column in (("id", id), ("name", name), ("parent", parent)):
        if column is not None and column not in header:
            raise InputError(
                f"there is no column {column!r}",
                where=f"{where}, line 1",
                fix=f"the columns are: {', '.join(header)}",
            )
        if column is not None:
            found[role] = header.index(column)
    if found["parent"] < 0 or found["id"] < 0:
        raise InputError(
            f"no column of {', '.join(header)} is called id or parent",
            where=f"{where}, line 1",
            fix="name the columns: id=..., parent=... (--id, --parent)",
        )
    return Layout(format="nodes", header=True, why="the columns were named", **found)


def _word(cell: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", cell.casefold()).strip("_")


def _parent_header(
    first: Sequence[str], rows: Sequence[Row], *, given: bool
) -> dict[str, int] | None:
    """Return the columns that a header names; None if it names no parent or is no header."""
    parent = next((i for i, word in enumerate(first) if word in PARENT_WORDS), None)
    if parent is None:
        return None
    recurs = any(rows[0].cells[parent] in row.cells for row in rows[1:])
    if recurs and not given and not all(map(_is_word, first)):
        return None
    others = [i for i in range(len(first)) if i != parent]
    name = next((i for i in others if first[i] in NAME_WORDS), -1)
    ids = [i for i in others if first[i] in ID_WORDS] or others
    name = -1 if name == ids[0] else name
    return {"id": ids[0], "name": name, "parent": parent, "width": len(first)}


def _is_word(word: str) -> bool:
    return word in ID_WORDS | NAME_WORDS | PARENT_WORDS or bool(LEVEL.fullmatch(word))


def _is_header(rows: Sequence[Row]) -> bool:
    """Tell whether the first row has nothing to do with the others.

    Either its cells are words for columns, or it is the only row that shares no cell with another.
    """
    seen = Counter(cell for row in rows for cell in set(row.cells))
    alone = [all(seen[cell] == 1 for cell in row.cells if cell) for row in rows]
    if len(rows) < 2 or not alone[0]:
        return False
    return all(_is_word(_word(cell)) for cell in rows[0].cells) or sum(alone) == 1


# --- nodes ------------------------------------------------------------------------------------


def links_of(rows: Sequence[Row], layout: Layout, separator: str, where: str) -> list[Link]:
    """Return what each row of edges or of a table of nodes says."""
    ids = {row.cells[layout.id] for row in rows if len(row.cells) > layout.id}
    # A top may stand alone among edges; in a table a short line is a broken one.
    least = layout.id if layout.format == "edges" else max(layout.id, layout.parent)
    links = []
    for line, cells in rows:
        if len(cells) <= least or any(cells[layout.width :]):
            raise InputError(
                f"{shortened(' | '.join(cells))} has {len(cells)} columns, not {layout.width}",
                where=f"{where}, line {line}",
                fix="quote cells that hold the delimiter, or name the format or the delimiter",
            )
        above = cells[layout.parent] if len(cells) > layout.parent else ""
        # An id may hold the separator itself: a cell that is an id as it stands is not split.
        split = layout.format == "nodes" and above not in ids
        parents = [p.strip() for p in above.split(separator)] if split else [above]
        name = cells[layout.name] if 0 <= layout.name < len(cells) else ""
        links.append(Link(line, cells[layout.id], name, [p for p in parents if p]))
    return links


def nodes_of_links(links: Iterable[Link], *, first: bool, where: str) -> Nodes:
    """Join what lines say of nodes; a second parent is an error unless the `first` is kept.

    A line that names a node as its own parent makes it a top, if no other line speaks of it, and
    else an item of its own besides its category.

    >>> nodes = nodes_of_links([Link(1, "a", "", ["b"]), Link(2, "a", "", ["c"])], first=True,
    ...                        where="x.csv")
    >>> nodes.ids, nodes.parents, nodes.dropped
    (['a', 'b'], [1, -1], [('a', 'c')])
    """
    above: dict[str, str | None] = {}
    names: dict[str, str] = {}
    selves: dict[str, None] = {}
    spoken: set[str] = set()
    dropped: dict[tuple[str, str], None] = {}
    for line, node, name, given in links:
        if not node:
            raise InputError("no id", where=f"{where}, line {line}", fix="give the node an id")
        others = [p for p in given if p != node]
        if len(others) < len(given):
            selves[node] = None
        if others or not given:
            spoken.add(node)
        if name:
            names.setdefault(node, name)
        above.setdefault(node, None)
        for p in others:
            kept = above[node]
            if kept is None:
                above[node] = p
            elif p != kept and first:
                dropped[node, p] = None
            elif p != kept:
                raise _several(node, kept, p, f"{where}, line {line}")
    undefined = [p for p in dict.fromkeys(above.values()) if p is not None and p not in above]
    ids = [*above, *undefined]
    place = {node: i for i, node in enumerate(ids)}
    return Nodes(
        ids=ids,
        names=[names.get(node, node) for node in ids],
        parents=[-1 if (up := above.get(node)) is None else place[up] for node in ids],
        items=[node for node in selves if node in spoken],
        dropped=list(dropped),
        collapsed=list(selves),
        own_parents=[node for node in selves if node not in spoken],
        undefined=undefined,
    )


def nodes_of_paths(rows: Iterable[Row], *, first: bool, where: str) -> Nodes:
    """Join leaf-to-root paths; the first cell of each is an item.

    A name that stands twice on a path is one node: the way between is left out. Nodes that are no
    items are identified by their path, so equal names in different branches stay apart.

    >>> nodes = nodes_of_paths([Row(1, ["veal", "sausage", "meat"]),
    ...                         Row(2, ["sausage", "sausage", "meat"])], first=False, where="x")
    >>> nodes.ids, nodes.parents, nodes.items, nodes.collapsed
    (['meat', 'sausage', 'veal'], [-1, 0, 1], ['veal', 'sausage'], ['sausage'])
    """
    ways: dict[str, list[str]] = {}
    dropped: dict[tuple[str, str], None] = {}
    collapsed: dict[str, None] = {}
    for line, cells in rows:
        if not cells[0]:
            raise InputError(
                "this line has no item in its first column",
                where=f"{where}, line {line}",
                fix="write paths from the leaf to the root",
            )
        way: list[str] = []
        for name in reversed([cell for cell in cells if cell]):
            if name in way:
                collapsed[name] = None
                del way[way.index(name) + 1 :]
            else:
                way.append(name)
        kept = ways.setdefault(cells[0], way)
        if kept != way:
            before, here = (" → ".join(reversed(w[:-1])) or "none" for w in (kept, way))
            if not first:
                raise _several(cells[0], before, here, f"{where}, line {line}")
            dropped[cells[0], here] = None
    nodes = _trie(ways)
    nodes.dropped = list(dropped)
    # A repeated item that is no category is nothing but a path filled up to the length of others.
    categories = {nodes.names[above] for above in nodes.parents if above >= 0}
    nodes.collapsed = [name for name in collapsed if name in categories]
    return nodes


def _trie(ways: dict[str, list[str]]) -> Nodes:
    """Return the nodes of root-to-item paths, each identified by its own path."""
    places: dict[tuple[int, str], int] = {}
    parents: list[int] = []
    names: list[str] = []
    item_at: set[int] = set()
    for way in ways.values():
        node = -1
        for name in way:
            above, node = node, places.setdefault((node, name), len(names))
            if node == len(names):
                names.append(name)
                parents.append(above)
        item_at.add(node)
    bearers = Counter(names)
    plain = [node in item_at or bearers[name] == 1 for node, name in enumerate(names)]
    taken = set(compress(names, plain))
    ids: list[str] = []
    paths: list[str] = []
    for name, above, short in zip(names, parents, plain, strict=True):
        paths.append(name if above < 0 else f"{paths[above]} / {name}")
        ids.append(name if short else fresh_id(paths[-1], taken, " /"))
    return Nodes(ids=ids, names=names, parents=parents, items=list(ways))


def _several(node: str, one: str, other: str, where: str) -> InputError:
    return InputError(
        f"{node!r} has several parents: {shortened(one)} and {shortened(other)}",
        where=where,
        fix='keep one of them, or pass parents="first" (--parents first); '
        "paths run from the leaf to the root",
    )


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
