"""Items that a taxonomy lacks: refused, left out, put beside the most similar, or at the root."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from setveil.core.arrays import kept_offsets
from setveil.core.errors import InputError, ParameterError
from setveil.core.spelling import Spellings
from setveil.core.table import TransactionTable, Vocabulary
from setveil.core.words import plural, some

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from setveil.core.taxonomy import Taxonomy
    from setveil.io.embeddings import Vectors

ERROR, DROP, NEAREST, ROOT = "error", "drop", "nearest", "attach-to-root"
CHOICES = (ERROR, DROP, NEAREST, ROOT)
LISTED = 40
"""How many places of items are printed; all are in the JSON."""
LACK = "are not in the taxonomy"
FIX = (
    'put each beside the most similar item with missing="nearest" (--missing nearest), or leave '
    'them out with missing="drop" (--missing drop)'
)


class Placement(NamedTuple):
    """Where an item was put that the taxonomy lacks.

    Parameters
    ----------
    item
        The item.
    like
        The item of the tree that is most similar to it.
    parent
        Name of the node above that one, and now above both.
    similarity
        From above 0 to 1: of the names (:class:`~setveil.core.spelling.Spellings`), or the cosine
        of the vectors.
    by
        What was compared: ``"name"`` or ``"vector"``.
    root
        Whether the node above is the root of the tree.
    """

    item: str
    like: str
    parent: str
    similarity: float
    by: str
    root: bool


@dataclass(frozen=True, kw_only=True)
class MissingReport:
    """What was done with the items that a taxonomy lacks.

    Parameters
    ----------
    choice
        One of :data:`CHOICES`.
    items
        The items that are not in the taxonomy.
    of_items
        How many items were looked for.
    records
        For each of `items` how many records hold it; None where nobody counted.
    occurrences
        How often all items that were looked for occur, each counted once in a record.
    placements
        With ``"nearest"`` where each item was put.
    emptied
        Records that lost all their items.

    Examples
    --------
    >>> report = MissingReport(choice="drop", items=("gout",), of_items=4, records=(2,),
    ...                        occurrences=20)
    >>> print(report.sentences()[0])
    1 item is not in the taxonomy ('gout'), with 2 of 20 occurrences. It is left out.
    """

    choice: str
    items: tuple[str, ...]
    of_items: int
    records: tuple[int, ...] | None = None
    occurrences: int = 0
    placements: tuple[Placement, ...] = ()
    emptied: int = 0

    def sentences(self, *, limit: int = LISTED) -> list[str]:
        """Return what was done, for a person; at most `limit` places, the least similar first."""
        if not self.items:
            return []
        one = len(self.items) == 1
        head = (
            f"{plural(len(self.items), 'item')} {'is' if one else 'are'} not in the taxonomy "
            f"({some(self.items)}){self.share(', with ')}."
        )
        it = "It is" if one else "They are"
        if self.choice == DROP:
            lost = "is" if self.emptied == 1 else "are"
            left = f" {plural(self.emptied, 'record')} {lost} left without items."
            return [f"{head} {it} left out.{left if self.emptied else ''}"]
        if self.choice == ROOT:
            return [f"{head} {it} attached to the root."]
        put = f"{head} {'It is' if one else 'Each is'} put beside the most similar item"
        if not limit:
            return [f"{put}."]
        said = [f"{put}. Check the places, the least similar first:"]
        ordered = sorted(self.placements, key=lambda each: each.similarity)
        said += [
            f"  {each.item!r}: below {each.parent!r}, beside {each.like!r} "
            f"(similarity of the {each.by}s {each.similarity:.2f})"
            for each in ordered[:limit]
        ]
        if len(ordered) > limit:
            said.append(f"  ... {len(ordered) - limit:,} more with --json")
        return said

    def warning(self, *, k: int | None = None) -> str:
        """Return what rare items directly below the root do to a release; "" where there are none.

        Parameters
        ----------
        k
            How many records an item needs to be published as it is, where that is known.

        Examples
        --------
        >>> report = MissingReport(choice="attach-to-root", items=("gout",), of_items=4,
        ...                        records=(2,), occurrences=20)
        >>> report.warning(k=2)
        ''
        >>> print(report.warning(k=5))
        Warning: 1 item with fewer than 5 records (k = 5) hangs directly under the root. A method \
that generalizes an item alike in all records and deletes none, such as apriori-km, then publishes \
the root for every item. Use --missing nearest, or --missing drop (it costs 2 of 20 occurrences).
        """
        at_root = self._records_at_root()
        rare = at_root if k is None else [count for count in at_root if count < k]
        if not rare:
            return ""
        verb = "hangs" if len(rare) == 1 else "hang"
        if k is None:
            few = f", the rarest in {plural(min(rare), 'record')},"
        else:
            few = f" with fewer than {k:,} records (k = {k:,})"
        how = "Use --missing nearest, or" if self.choice == ROOT else "Add them to the tree, or use"
        larger = "" if k is not None else " with a larger k"
        return (
            f"Warning: {plural(len(rare), 'item')}{few} {verb} directly under the root. "
            f"A method{larger} that generalizes an item alike in all records and deletes none, "
            f"such as apriori-km, then publishes the root for every item. {how} --missing drop"
            f"{self.share(' (it costs ', ')')}."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "choice": self.choice,
            "items": list(self.items),
            "records": None if self.records is None else list(self.records),
            "occurrences": None if self.records is None else sum(self.records),
            "emptied": self.emptied,
            "placements": [each._asdict() for each in self.placements],
        }

    def share(self, before: str, after: str = "") -> str:
        """Return which share of the occurrences the items have, in words; "" if nobody counted."""
        if self.records is None:
            return ""
        return f"{before}{sum(self.records):,} of {self.occurrences:,} occurrences{after}"

    def _records_at_root(self) -> list[int]:
        if self.records is None:
            return []
        if self.choice == ROOT:
            return list(self.records)
        count = dict(zip(self.items, self.records, strict=True))
        return [count[each.item] for each in self.placements if each.root]


def check_missing(missing: str) -> None:
    """Refuse a choice that is not known.

    >>> check_missing("nearest")
    """
    if missing not in CHOICES:
        raise ParameterError(
            f"missing={missing!r} is not known", fix=f"use {', '.join(map(repr, CHOICES))}"
        )


def complete(
    taxonomy: Taxonomy,
    items: Iterable[str],
    *,
    missing: str = ERROR,
    records: Mapping[str, int] | None = None,
    vectors: Vectors | None = None,
    absent: Collection[str] | None = None,
    lack: str = LACK,
    fix: str = f"add them to the tree, {FIX}",
) -> tuple[Taxonomy, MissingReport]:
    """Return a tree with a leaf for every item, or for those it has, and what was done.

    Parameters
    ----------
    taxonomy
        The tree.
    items
        Item names (ids, or names that only one node bears).
    missing
        What to do with items that are not in the tree. ``"error"`` names them. ``"drop"`` leaves
        them out; records must lose them, too (:func:`cover`). ``"nearest"`` puts each beside the
        most similar item, below the same node. ``"attach-to-root"`` puts them below the root,
        where an item that must be generalized takes all others with it.
    records
        How many records hold each item, for the report.
    vectors
        Vectors of items, to compare items by meaning and not by name, where both have one.
    absent
        The items that are not in the tree, if it is not enough to look for them there.
    lack, fix
        How an error says what is wrong with them, and what to do.

    Examples
    --------
    >>> from setveil import Taxonomy
    >>> pets = Taxonomy.from_parents({"pug": "dog", "tabby cat": "cat"})
    >>> tree, report = complete(pets, ["pug", "wild cat"], missing="nearest")
    >>> tree.names
    ('*', 'cat', 'tabby cat', 'wild cat', 'dog', 'pug')
    >>> report.placements[0].like, report.placements[0].parent
    ('tabby cat', 'cat')
    """
    check_missing(missing)
    wanted = list(dict.fromkeys(items))
    gone = set() if absent is None else set(absent)
    found, unknown = taxonomy.resolve(item for item in wanted if item not in gone)
    outside = unknown if absent is None else list(absent)
    report = MissingReport(
        choice=missing,
        items=tuple(outside),
        of_items=len(wanted),
        records=None if records is None else tuple(records[item] for item in outside),
        occurrences=0 if records is None else sum(records[item] for item in wanted),
    )
    if outside and missing == ERROR:
        raise refusal(report, lack=lack, fix=fix)
    # Without any item in the tree nothing would be left, or nothing is there to be similar to.
    if outside and not found and (missing == DROP or (missing == NEAREST and absent is not None)):
        raise refusal(report, lack=lack, fix="use a tree that has items of the data")
    if missing == NEAREST and outside:
        above, placements = _nearest(taxonomy, found, outside, vectors)
        report = replace(report, placements=placements)
    else:
        above = [0] * len(outside)
    added = [] if missing == DROP else outside
    return taxonomy.with_leaves(found, added, above[: len(added)]), report


def refusal(report: MissingReport, *, lack: str = LACK, fix: str) -> InputError:
    """Return the error that names the items, how often they occur, and what can be done."""
    share = report.share(" (", ")")
    return InputError(
        f"{len(report.items):,} of {report.of_items:,} items {lack}{share}: {some(report.items)}",
        fix=fix,
    )


def _nearest(
    taxonomy: Taxonomy, found: Mapping[int, str], outside: Sequence[str], vectors: Vectors | None
) -> tuple[list[int], tuple[Placement, ...]]:
    """Return the node above the most similar item of the tree, for each item outside it."""
    leaves = np.flatnonzero(taxonomy.is_leaf).tolist()
    # A category that is an item stands, as an item, below itself.
    inner = sorted(v for v in found if not taxonomy.is_leaf[v])
    nodes = [*leaves, *inner]
    above = [*(max(int(taxonomy.parents[v]), 0) for v in leaves), *inner]
    spelled = [(taxonomy.names[v], i) for i, v in enumerate(nodes)]
    spelled += [
        (taxonomy.ids[v], i)
        for i, v in enumerate(nodes)
        if taxonomy.ids[v] != taxonomy.names[v] and not taxonomy.pseudo[v]
    ]
    spellings = Spellings([name for name, _ in spelled])
    meant = _by_vector(vectors, [taxonomy.names[v] for v in nodes], outside)
    parents, placements, strange = [], [], []
    for item in outside:
        place, similarity = meant.get(item, (-1, 0.0))
        by = "vector"
        if place < 0:
            at, similarity = spellings.nearest(item)
            place, by = (spelled[at][1] if at >= 0 else -1), "name"
        if place < 0:
            strange.append(item)
            continue
        parent = above[place]
        parents.append(parent)
        placements.append(
            Placement(
                item=item,
                like=taxonomy.names[nodes[place]],
                parent=taxonomy.names[parent],
                similarity=similarity,
                by=by,
                root=parent == 0,
            )
        )
    if strange:
        raise InputError(
            f"{len(strange):,} of {len(outside):,} items that are not in the taxonomy are similar "
            f"to no item of it: {some(strange)}",
            fix='add them to the tree, or leave all of them out with missing="drop" '
            "(--missing drop)",
        )
    return parents, tuple(placements)


def _by_vector(
    vectors: Vectors | None, names: Sequence[str], outside: Sequence[str]
) -> dict[str, tuple[int, float]]:
    """Return the place of the name whose vector has the largest cosine, if that is above 0."""
    if vectors is None:
        return {}
    known, wanted = (vectors.directions(terms)[0] for terms in (names, outside))
    result = {}
    for item, row in zip(outside, wanted, strict=True):
        # Rounded, so that ties do not hang on the order in which a product was summed up.
        cosines = np.round(known @ row, 12)
        best = int(np.argmax(cosines))
        if cosines[best] > 0:
            result[item] = (best, float(min(cosines[best], 1.0)))
    return result


class Covered(NamedTuple):
    """A tree and records that fit together, and what was done with items outside the tree."""

    tree: Taxonomy
    table: TransactionTable
    report: MissingReport


def cover(
    taxonomy: Taxonomy,
    table: TransactionTable,
    *,
    missing: str = ERROR,
    apart: Collection[str] = (),
    records: Mapping[str, int] | None = None,
    vectors: Vectors | None = None,
) -> Covered:
    """Return a tree with a leaf for every item of a table, and the table that it covers.

    Parameters
    ----------
    taxonomy, table
        The tree and the records.
    missing, vectors
        As for :func:`complete`. With ``"drop"`` the records lose the items that are not in the
        tree; a record that loses all of them stays, as an empty one.
    apart
        Items that need no leaf, such as sensitive ones that are published beside the tree.
    records
        How many records hold each item, where the table is only a part of the data.

    Examples
    --------
    >>> from setveil import Taxonomy
    >>> pets = Taxonomy.from_parents({"pug": "dog", "tabby": "cat"})
    >>> table = TransactionTable.from_rows([["pug", "gerbil"], ["tabby"], ["gerbil"]])
    >>> covered = cover(pets, table, missing="drop")
    >>> covered.table.to_rows()
    [['pug'], ['tabby'], []]
    >>> covered.report.sentences()[0]
    "1 item is not in the taxonomy ('gerbil'), with 2 of 4 occurrences. It is left out. 1 record \
is left without items."
    """
    supports = table.supports()
    held = {
        name: int(supports[i]) if records is None else records[name]
        for i in np.flatnonzero(supports).tolist()
        if (name := table.vocabulary[i]) not in apart
    }
    tree, report = complete(taxonomy, held, missing=missing, records=held, vectors=vectors)
    if missing != DROP or not report.items:
        return Covered(tree, table, report)
    left = without_items(table, report.items)
    emptied = int(np.count_nonzero((left.lengths == 0) & (table.lengths > 0)))
    return Covered(tree, left, replace(report, emptied=emptied))


def without_items(table: TransactionTable, items: Iterable[str]) -> TransactionTable:
    """Return the records without these items; those that hold nothing else stay, empty.

    >>> without_items(TransactionTable.from_rows([["a", "b"], ["b"]]), ["b", "c"]).to_rows()
    [['a'], []]
    """
    gone = set(items)
    stays = np.array([name not in gone for name in table.vocabulary.names], dtype=bool)
    kept = stays[table.items] if len(table.items) else np.zeros(0, dtype=bool)
    place = np.cumsum(stays, dtype=np.int64) - 1
    return TransactionTable(
        offsets=kept_offsets(table.offsets, kept),
        items=place[table.items[kept]].astype(np.int32),
        vocabulary=Vocabulary(names=tuple(n for n in table.vocabulary.names if n not in gone)),
        reading=table.reading,
    )
