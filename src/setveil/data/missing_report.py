"""What was done with items that a taxonomy lacks, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from setveil.core.words import plural
from setveil.data.naming import some

ERROR, DROP, NEAREST, ROOT = "error", "drop", "nearest", "attach-to-root"
CHOICES = (ERROR, DROP, NEAREST, ROOT)
LISTED = 40
"""How many places of items are printed; all are in the JSON."""


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
        From above 0 to 1: of the names (:class:`~setveil.data.spelling.Spellings`), or the cosine
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
