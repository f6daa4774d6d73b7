"""What every anonymizer shares: the order of work and the checks before it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from setveil.core.arrays import distinct_in_rows, kept_offsets, offsets_of
from setveil.core.errors import InfeasibleError, InputError, ParameterError
from setveil.core.taxonomy import Taxonomy
from setveil.core.words import some
from setveil.guarantee.base import distinct_names
from setveil.release.base import Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence, Sized

    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.core.records import Records
    from setveil.core.table import TransactionTable
    from setveil.guarantee.base import Guarantee
    from setveil.release.base import Anonymization

LOGGED = 1000
"""Steps of a log that are kept one by one."""


@dataclass(frozen=True, kw_only=True)
class MethodRole:
    """How an audit uses an anonymizer: the class variable `role` of one that says more than this.

    Parameters
    ----------
    place
        Place among the methods that an audit tries by itself, beginning with the lowest; None for
        one that is tried where it is named, or with ``all``.
    only_named
        Whether even ``all`` leaves it out: it promises nothing, or nothing about a release.
    needs_meaning
        Whether its releases can be judged only with a source of relatedness.
    """

    place: int | None = None
    only_named: bool = False
    needs_meaning: bool = False


def method_role(target: type) -> MethodRole:
    """Return how an audit uses a class of anonymizers.

    >>> from setveil.anonymize import Gather
    >>> method_role(Gather).place
    1
    """
    found: MethodRole = getattr(target, "role", MethodRole())
    return found


@runtime_checkable
class Anonymizer(Protocol):
    """A method with its parameters; `requires` names the inputs it cannot do without.

    A method may also have a set `accepts` of inputs that it takes but can do without: ``rng``,
    where it draws at random (from the operating system, if it gets none), and ``secret``. One that
    works on distributed records says in `distributed` which function does it there
    (``module:function``); all others need their records in one place.
    """

    requires: ClassVar[frozenset[str]]

    def anonymize(self, table: TransactionTable, **inputs: Any) -> Anonymization:
        """Turn a table into a release, its private key and the promise that holds for it."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Decision:
    """What becomes of each item, where that is the same in all records.

    Parameters
    ----------
    image
        For each item of the vocabulary the number of what it is published as, or -1.
    promise, log, figures
        As in an :class:`~setveil.release.base.Anonymization`.
    """

    image: Int32Array
    promise: Guarantee
    log: tuple[Step, ...]
    figures: dict[str, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class LeafRows:
    """The records in canonical order, as sorted rows of taxonomy leaves.

    ``order[i]`` is the place of row `i` in the table that was given.
    """

    order: Int64Array
    offsets: Int64Array
    leaves: Int32Array
    taxonomy: Taxonomy

    def __len__(self) -> int:
        return len(self.order)


def check_enough(table: Sized, k: int) -> None:
    """Refuse data that no group of `k` records can be made of."""
    if len(table) == 0:
        raise InputError("the data has no records", fix="check the file and its format")
    if len(table) < k:
        raise InfeasibleError(
            f"k is {k}, but the data has only {len(table)} records",
            fix=f"use k of at most {len(table)}",
        )


def check_sensitive(table: Records, sensitive: Iterable[str]) -> tuple[str, ...]:
    """Return the sensitive items sorted and once each, or say what is wrong with them.

    >>> from setveil import TransactionTable
    >>> check_sensitive(TransactionTable.from_rows([["hiv", "flu"]]), ["hiv", "hiv"])
    ('hiv',)
    """
    names = distinct_names(sensitive)
    if not names:
        raise InputError(
            "no sensitive items are given", fix="name at least one, or use a method without them"
        )
    if table.n_records == 0:
        raise InputError("the data has no records", fix="check the file and its format")
    supports, known = table.supports(), table.vocabulary
    absent = [name for name in names if name not in known or not supports[known.number(name)]]
    if absent:
        raise InputError(
            f"{len(absent)} of {len(names)} sensitive items do not occur in the data: "
            f"{some(absent)}",
            fix="check their spelling; `setveil inspect` lists the items",
        )
    return names


def leaf_rows(table: TransactionTable, taxonomy: Taxonomy) -> LeafRows:
    """Sort the records canonically and map their items to leaves of the taxonomy."""
    if not isinstance(taxonomy, Taxonomy):
        raise ParameterError(
            f"taxonomy is {taxonomy!r}", fix="pass a Taxonomy, for example Taxonomy.read(path)"
        )
    occurring = np.flatnonzero(table.supports())
    names = [table.vocabulary[i] for i in occurring.tolist()]
    tree = taxonomy.for_items(names)
    leaf = np.full(table.n_items, -1, dtype=np.int32)
    leaf[occurring] = tree.leaf_of(names)
    order = table.canonical_order()
    ordered = table.take(order)
    rows = np.repeat(np.arange(len(ordered), dtype=np.int64), ordered.lengths)
    keys = rows * len(tree) + leaf[ordered.items]
    keys.sort()
    return LeafRows(
        order=order,
        offsets=ordered.offsets,
        leaves=(keys % len(tree)).astype(np.int32),
        taxonomy=tree,
    )


def rows_of_items(table: TransactionTable, items: Int64Array) -> tuple[Int64Array, Int32Array]:
    """Return the records with these items only, numbered by their places, sorted, once each.

    >>> from setveil import TransactionTable
    >>> rows = rows_of_items(TransactionTable.from_rows([["a", "b"], ["c"]]), np.array([1, 0]))
    >>> rows[0].tolist(), rows[1].tolist()
    ([0, 2, 2], [0, 1])
    """
    place = np.full(table.n_items, -1, dtype=np.int64)
    place[items] = np.arange(len(items))
    own = place[table.items]
    width = np.int64(max(len(items), 1))
    record = np.repeat(np.arange(len(table), dtype=np.int64), table.lengths)
    keys = np.sort(record[own >= 0] * width + own[own >= 0])
    offsets = kept_offsets(table.offsets, own >= 0)
    return distinct_in_rows(offsets, (keys % width).astype(np.int32))


def as_sets(table: TransactionTable, k: int = 1) -> TransactionTable:
    """Return the records as sets, without the items that fewer than `k` of them hold.

    >>> from setveil import TransactionTable
    >>> as_sets(TransactionTable.from_rows([["a", "a", "b"], ["a"]]), 2).to_rows()
    [['a'], ['a']]
    """
    kept = np.flatnonzero(table.supports() >= max(k, 1))
    names = [table.vocabulary[i] for i in kept.tolist()]
    return type(table).from_csr(*rows_of_items(table, kept), names)


def occurrences_below(tree: Taxonomy, leaves: Int32Array) -> Int64Array:
    """Return how often leaves at or below each node of the taxonomy occur.

    >>> tree = Taxonomy.balanced(["a", "b", "c", "d"], fanout=2)
    >>> occurrences_below(tree, tree.leaf_of(["a", "a", "d"])).tolist()
    [3, 2, 2, 0, 1, 0, 1]
    """
    # In preorder all that is below a node is one run, so that running sums give its total.
    running = offsets_of(np.bincount(leaves, minlength=len(tree)))
    total: Int64Array = running[tree.ends] - running[:-1]
    return total


def price_of_nodes(tree: Taxonomy) -> Int64Array:
    """Return what publishing an occurrence as each node costs: NCP, in units of 1 / all leaves.

    >>> price_of_nodes(Taxonomy.balanced(["a", "b", "c", "d"], fanout=2)).tolist()
    [4, 2, 0, 0, 2, 0, 0]
    """
    return np.where(tree.is_leaf, 0, tree.leaves)


def silent(stage: str, done: int, total: int) -> None:
    """Report no progress: what methods call where nobody asked to be told."""


def shorten_log(log: Sequence[Step]) -> tuple[Step, ...]:
    """Return the log of a method; what comes after the first thousand steps is summed up."""
    if len(log) <= LOGGED:
        return tuple(log)
    rest = log[LOGGED:]
    summary = Step(
        action="and more",
        subject=f"{len(rest):,} further steps",
        reason="not listed one by one",
        cost=sum(step.cost for step in rest),
    )
    return (*log[:LOGGED], summary)
