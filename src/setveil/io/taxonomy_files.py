"""Taxonomies in files: reading what others wrote, writing what others read."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from setveil.core.errors import InputError, ParameterError
from setveil.core.files import write_whole
from setveil.core.taxonomy import Taxonomy
from setveil.core.words import counted
from setveil.io.sources import Source
from setveil.io.taxonomy_formats import (
    DIALECTS,
    Layout,
    Row,
    dialect_of,
    guess_delimiter,
    guess_layout,
    links_of,
    named_layout,
    nodes_of_links,
    nodes_of_paths,
    rows_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

FORMATS = ("edges", "paths", "nodes", "obo", "amnesia")


@dataclass(frozen=True, kw_only=True)
class TaxonomyReport:
    """What `read_taxonomy` found in a file.

    Parameters
    ----------
    name
        What was read.
    format, guessed, why
        The format it was read as, whether that was guessed, and what the guess rests on.
    delimiter, header
        What stands between columns, and whether the first line named them.
    nodes, leaves, height
        Size of the tree.
    tops
        The tops that were joined under an added root; empty if there was one.
    several_parents, dropped
        Number of nodes with several parents, and each pair of such a node and a parent that was
        not kept.
    collapsed
        Names of categories that stood twice on a path, and nodes that were their own parent; each
        was read as one node.
    own_parents
        Those of them that had no other parent; they became tops.
    undefined
        Parents in a table of nodes that have no line of their own; they became tops.
    obsolete
        Terms of an ontology that are marked as obsolete; they were left out.

    Examples
    --------
    >>> report = TaxonomyReport(name="food.csv", format="edges", guessed=True, why="two columns",
    ...                         delimiter=",", header=False, nodes=5, leaves=3, height=2,
    ...                         tops=("fruit", "meat"))
    >>> for sentence in report.sentences():
    ...     print(sentence)
    food.csv: read as edges (guessed: two columns).
    5 nodes, 3 leaves, height 2.
    Joined under an added root: 2 tops ('fruit', 'meat').
    """

    name: str
    format: str
    guessed: bool
    why: str
    delimiter: str
    header: bool
    nodes: int
    leaves: int
    height: int
    tops: tuple[str, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    collapsed: tuple[str, ...] = ()
    own_parents: tuple[str, ...] = ()
    undefined: tuple[str, ...] = ()
    obsolete: tuple[str, ...] = ()

    @property
    def several_parents(self) -> int:
        """Number of nodes of which a parent was dropped."""
        return len({node for node, _ in self.dropped})

    def sentences(self) -> list[str]:
        """Return the report as sentences for a person."""
        how = f"guessed: {self.why}" if self.guessed else "as given"
        said = [f"{self.name}: read as {self.format} ({how})."]
        if self.header and self.format != "nodes":
            said.append("Its first line was taken for the names of the columns.")
        said.append(f"{self.nodes:,} nodes, {self.leaves:,} leaves, height {self.height}.")
        if self.tops:
            said.append(f"Joined under an added root: {counted(self.tops, 'top')}.")
        if self.dropped:
            edges = [f"{node} → {parent}" for node, parent in self.dropped]
            said.append(
                f"Nodes with several parents: {self.several_parents:,}; the first was kept, "
                f"and dropped {counted(edges, 'other')}."
            )
        twice = [name for name in self.collapsed if name not in set(self.own_parents)]
        if twice:
            said.append(f"Twice on a path, read as one node: {counted(twice, 'name')}.")
        if self.own_parents:
            said.append(
                f"Made tops, as they are their own parent: {counted(self.own_parents, 'node')}."
            )
        if self.undefined:
            said.append(
                f"Made tops, as they have no line of their own: "
                f"{counted(self.undefined, 'parent')}."
            )
        if self.obsolete:
            said.append(f"Left out, as they are obsolete: {counted(self.obsolete, 'term')}.")
        return said


def read_taxonomy(
    path: str | Path,
    *,
    format: str | None = None,
    id: str | None = None,
    name: str | None = None,
    parent: str | None = None,
    parents: Literal["error", "first"] = "error",
    separator: str = "|",
    delimiter: str | None = None,
    header: bool | None = None,
) -> tuple[Taxonomy, TaxonomyReport]:
    r"""Read a tree, and report what was guessed, added, dropped and collapsed.

    Parameters
    ----------
    path
        A text file, plain or compressed (.gz, .zst); ``-`` is standard input.
    format
        ``"edges"`` (child, parent), ``"paths"`` (one leaf-to-root path per line, as ARX and
        others write them), ``"nodes"`` (a table with a column of ids and one of parents),
        ``"obo"`` (an ontology) or ``"amnesia"`` (Amnesia's own hierarchies); guessed if None.
    id, name, parent
        Columns of a table of nodes; guessed from its header if None.
    parents
        What to do with a node that has several parents: ``"error"``, or keep the ``"first"``.
    separator
        What stands between several parents in one cell of a table of nodes.
    delimiter
        What stands between columns; guessed if None.
    header
        Whether the first line names the columns; guessed if None.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "food.tsv")
    ...     _ = file.write_text("id\tname\tparent\n1\tfruit\t\n2\tapple\t1\n3\tmeat\t\n")
    ...     tree, report = read_taxonomy(file)
    >>> tree.names, report.format, report.tops
    (('*', 'fruit', 'apple', 'meat'), 'nodes', ('fruit', 'meat'))
    """
    if format is not None and format not in FORMATS:
        raise ParameterError(
            f"format={format!r} is not known", fix=f"use one of {', '.join(FORMATS)}"
        )
    if parents not in {"error", "first"}:
        raise ParameterError(f"parents={parents!r} is not known", fix='use "error" or "first"')
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise ParameterError(
            f"delimiter={delimiter!r} is not known", fix="give one character, no quote"
        )
    if not separator:
        raise ParameterError("separator is empty", fix='give a text such as "|"')
    with Source(path, waits=False) as source:
        source.refuse_foreign()
        where, text = source.name, _read_text(source)
    dialect = dialect_of(text) if format is None else format
    obsolete: list[str] = []
    if dialect in DIALECTS:
        _must_be_no_table(dialect, id, name, parent, delimiter, header)
        links, obsolete = DIALECTS[dialect](text, where)
        layout = Layout(format=dialect, header=False, why="it starts as such files do")
        nodes = nodes_of_links(links, first=parents == "first", where=where)
    else:
        delimiter = delimiter or guess_delimiter(text)
        rows = list(rows_of(text, delimiter, where))
        layout = _layout(rows, where, format=format, header=header, columns=(id, name, parent))
        body = rows[1:] if layout.header else rows
        if layout.format == "paths":
            nodes = nodes_of_paths(body, first=parents == "first", where=where)
        else:
            links = links_of(body, layout, separator, where)
            nodes = nodes_of_links(links, first=parents == "first", where=where)
    try:
        tree = Taxonomy.from_nodes(nodes.ids, nodes.names, nodes.parents)
    except InputError as error:  # a cycle, or nothing but a header
        raise InputError(error.what, where=where, fix=error.fix) from None
    tops = [nodes.names[i] for i, above in enumerate(nodes.parents) if above < 0]
    tree = tree.for_items(nodes.items)
    return tree, TaxonomyReport(
        name=where,
        format=layout.format,
        guessed=format is None and not any((id, name, parent)),
        why=layout.why,
        delimiter=delimiter or "",
        header=layout.header,
        nodes=len(tree),
        leaves=tree.n_leaves,
        height=tree.height,
        tops=tuple(tops) if len(tops) > 1 else (),
        dropped=tuple(nodes.dropped),
        collapsed=tuple(nodes.collapsed),
        own_parents=tuple(nodes.own_parents),
        undefined=tuple(nodes.undefined) if layout.format in {"nodes", "obo"} else (),
        obsolete=tuple(obsolete),
    )


def _must_be_no_table(dialect: str, *options: object) -> None:
    if any(option is not None for option in options):
        raise ParameterError(
            f"columns, delimiter and header are for tables, and this is {dialect}",
            fix="leave them out",
        )


def _read_text(source: Source) -> str:
    raw = source.read_all()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"byte 0x{raw[error.start]:02x} is not UTF-8",
            where=f"{source.name}, line {line}",
            fix="convert the file to UTF-8 text",
        ) from None


def _layout(
    rows: Sequence[Row],
    where: str,
    *,
    format: str | None,
    header: bool | None,
    columns: tuple[str | None, str | None, str | None],
) -> Layout:
    if not rows:
        raise InputError("there is nothing in it", where=where, fix="give a file with a tree")
    if format == "nodes" or any(columns):
        if format not in {None, "nodes"} or header is False:
            raise ParameterError(
                "columns can be named only in a table of nodes with a header",
                fix='leave out format and header, or pass format="nodes"',
            )
        node, name, parent = columns
        return named_layout(rows[0].cells, id=node, name=name, parent=parent, where=where)
    if format is None and max(len(row.cells) for row in rows) == 1:
        raise InputError(
            "its lines have one column: no tree",
            where=where,
            fix="write child and parent, or a path from leaf to root, or name the delimiter",
        )
    return guess_layout(rows, format=format, header=header)


# --- writing ----------------------------------------------------------------------------------


def write_edges(tree: Taxonomy, path: str | Path) -> None:
    """Write child and parent of each node; with a column of names where these differ from ids.

    A private leaf is written as its item under itself, which `read_taxonomy` understands.

    >>> tree = Taxonomy.from_parents({"poodle": "dog", "dog": "animal"}).for_items(["dog"])
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_edges(tree, Path(folder, "tree.csv"))
    ...     Path(folder, "tree.csv").read_text().split()
    ['child,parent', 'dog,animal', 'dog,dog', 'poodle,dog']
    """
    named = any(
        i != name for i, name, own in zip(tree.ids, tree.names, tree.pseudo, strict=True) if not own
    )
    label = _labels(tree, tree.ids)
    # A root that has children needs a line only for its name, or beside its private leaf.
    needs_root = named or len(tree) == 1 or bool(np.any(tree.parents[tree.pseudo] == 0))
    rows = [["id", "name", "parent"] if named else ["child", "parent"]]
    for v, above in enumerate(tree.parents.tolist()):
        if v or needs_root:
            name = [tree.names[v]] if named else []
            rows.append([label[v], *name, label[above] if v else ""])
    _write_rows(rows, ",", path)


def write_paths(tree: Taxonomy, path: str | Path, *, names: bool = False) -> None:
    """Write one leaf-to-root path per leaf, all of one length, separated by semicolons.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> tree = Taxonomy.from_parents({"poodle": "dog", "dog": "animal", "cat": "animal"})
    >>> with TemporaryDirectory() as folder:
    ...     write_paths(tree, Path(folder, "tree.csv"))
    ...     Path(folder, "tree.csv").read_text().split()
    ['cat;cat;animal', 'poodle;dog;animal']
    """
    shown = list(tree.ids)
    if names:
        pairs = list(zip(tree.ids, tree.names, tree.pseudo.tolist(), strict=True))
        bearers = Counter([*tree.ids, *(n for i, n, own in pairs if n != i and not own)])
        shown = [n if bearers[n] == 1 else i for i, n, _ in pairs]
    label = _labels(tree, shown)
    parents = tree.parents.tolist()
    length = tree.height + 1
    rows = []
    for leaf in np.flatnonzero(tree.ends == np.arange(1, len(tree) + 1)).tolist():
        way = [leaf]
        while way[-1]:
            way.append(parents[way[-1]])
        padding = [label[leaf]] * (length - len(way))
        rows.append(padding + [label[v] for v in way])
    _write_rows(rows, ";", path)


def _labels(tree: Taxonomy, shown: Sequence[str]) -> list[str]:
    """Return what each node is called in a file: a private leaf has the name of its item."""
    parents = tree.parents.tolist()
    return [shown[parents[v]] if own else shown[v] for v, own in enumerate(tree.pseudo.tolist())]


def _write_rows(rows: Iterable[Sequence[str]], delimiter: str, path: str | Path) -> None:
    text = io.StringIO(newline="")
    plain = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    quoted = csv.writer(text, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in rows:
        # Outer space is kept only in quotes, and a lone carriage return would end a line.
        awkward = any(cell != cell.strip() or "\r" in cell for cell in row)
        (quoted if awkward else plain).writerow(row)
    try:
        write_whole(path, text.getvalue().encode())
    except UnicodeEncodeError as error:
        raise InputError(
            f"a name holds {error.object[error.start]!r}, which is no character of Unicode",
            fix="replace it in the names",
        ) from None
