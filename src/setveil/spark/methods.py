"""Anonymizing distributed records: what each way of doing it looks like on many machines.

A method says on its class which of these functions works for it (`distributed`). There are three
ways. *Group by group*: like records go to one worker, which solves them with the method itself;
this keeps every promise that holds of a union if it holds of its parts. *The driver searches, the
workers count*: :mod:`setveil.spark.apriori`. *Item by item*: what becomes of an item is decided
here, and is the same in all records.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from setveil.anonymize.base import check_enough
from setveil.anonymize.disassociation.cluster_chunks import check_filled
from setveil.anonymize.km.km_method import check_recodable
from setveil.core.arrays import kept_offsets
from setveil.core.errors import NotApplicable, ParameterError
from setveil.core.params import check_whole
from setveil.core.records import Rows
from setveil.core.registry import distributed_methods, name_of
from setveil.core.table import TransactionTable, take_rows
from setveil.core.taxonomy import Taxonomy
from setveil.engine import Local
from setveil.engine.spark import spoken_errors
from setveil.guarantee.k_anonymity import KAnonymity
from setveil.release.base import Step
from setveil.release.disassociated import DisassociatedRelease
from setveil.release.generalized import GeneralizedRelease
from setveil.release.manifest import describe_tree
from setveil.release.set_generalized import SetGeneralizedRelease, set_label
from setveil.release.suppressed import SuppressedRelease
from setveil.spark.batches import apply_groups, lists_of, map_batches, rows_of
from setveil.spark.chunks import SCHEMA, DistributedChunks, blocks_of
from setveil.spark.release import DistributedRelease, check
from setveil.spark.splitting import BUCKET, Limits, make_buckets, make_parts
from setveil.spark.table import ITEMS, RECORD, DistributedTable, sorted_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from setveil.anonymize import LRA, Clump, Gather, Partition, SimpleSuppression, VPAKm
    from setveil.anonymize.base import Anonymizer, Decision
    from setveil.anonymize.disassociation.disassociate import DisassociationMethod
    from setveil.anonymize.set_generalization.coat import ConstrainedMethod
    from setveil.core.arrays import BoolArray, Int32Array, Int64Array
    from setveil.core.records import Shared
    from setveil.core.table import Vocabulary
    from setveil.guarantee.base import Guarantee, Verdict
    from setveil.io.wordnet import WordNet
    from setveil.spark.splitting import Questions

GROUP = "part"


@dataclass(frozen=True, kw_only=True, eq=False)
class DistributedAnonymization:
    """A distributed release, the promise it keeps, and how it was made.

    Parameters
    ----------
    release
        What may be published.
    promise
        The guarantee it keeps.
    key
        Private: for each record of a table that names its records (``record``) what it was
        published as (``items``: numbers of the whole tree, or of the release's labels). None where
        records have no names, or where a method keeps none.
    log
        The decisions.
    figures
        Numbers about the run.
    """

    release: DistributedRelease
    promise: Guarantee
    key: DataFrame | None = None
    log: tuple[Step, ...] = ()
    figures: dict[str, Any] = field(default_factory=dict)

    def check(self) -> Verdict:
        """Check the promise, without collecting anything."""
        return check(self.promise, self.release)


def anonymize(
    method: Anonymizer, records: DistributedTable | DataFrame, *, most: int = BUCKET, **inputs: Any
) -> DistributedAnonymization:
    """Anonymize distributed records where they are; the release is distributed too.

    Parameters
    ----------
    method
        One that says where it works on distributed records, with its parameters.
    records
        A table, or a DataFrame with a column ``items`` of lists of texts.
    most
        Most records that one worker gets at a time, where records are solved group by group; with
        a taxonomy also 32 times as many items. Up to so many records, releases are the same as
        local ones. Methods that only count are the same whatever it is.
    **inputs
        What the method takes beside its records: ``taxonomy``, ``sensitive``, ``privacy``,
        ``utility``, ``rng``.

    Raises
    ------
    NotApplicable
        The method needs all records in one place.
    """
    name, place = name_of(type(method)), getattr(method, "distributed", None)
    if place is None:
        raise NotApplicable(
            f"{name} needs all records in one place",
            fix=f"use one of {', '.join(distributed_methods())}, or read the records with "
            "setveil.read",
        )
    check_whole("most", most)
    given = {key: value for key, value in inputs.items() if value is not None}
    _check_inputs(name, method, given)
    table = (
        records if isinstance(records, DistributedTable) else DistributedTable.from_frame(records)
    )
    ours = not table.frame.is_cached  # read once: every pass would number the items again
    used = table.persist() if ours else table
    try:
        made: DistributedAnonymization = resolve_name(place)(method, used, most=most, **given)
        return made
    finally:
        if ours:
            used.unpersist()


def _check_inputs(name: str, method: Anonymizer, given: dict[str, Any]) -> None:
    """Refuse what a method does not take, and the lack of what it needs."""
    accepts: frozenset[str] = getattr(method, "accepts", frozenset())
    for key in given:
        if key not in method.requires | accepts:
            what = "tree" if key == "taxonomy" else f"{key} items" if key == "sensitive" else key
            raise ParameterError(f"{name} uses no {what}", fix=f"leave out {key}=")
    if "taxonomy" in method.requires and not isinstance(given.get("taxonomy"), Taxonomy):
        raise ParameterError(
            f"taxonomy is {given.get('taxonomy')!r}",
            fix="pass a Taxonomy, for example Taxonomy.read(path)",
        )
    for key in method.requires - given.keys():
        raise ParameterError(f"{name} needs {key} items", fix=f"pass {key}=")


# --- what the ways have in common -----------------------------------------------------------------


def kept(frame: DataFrame) -> DataFrame:
    """Keep what is costly to compute, in memory and on disk, until the session ends."""
    from pyspark import StorageLevel

    return frame.persist(StorageLevel.MEMORY_AND_DISK)


def count_empty(table: DistributedTable) -> int:
    """Return how many records have no items."""
    from pyspark.sql import functions as sql

    with spoken_errors():
        return table.frame.where(sql.size(ITEMS) == 0).count()


def items_in_tree(table: DistributedTable, taxonomy: Taxonomy) -> tuple[Taxonomy, Int32Array]:
    """Return the tree with a leaf for every item that occurs, and the leaf of each item."""
    occurring = np.flatnonzero(table.supports())
    names = [table.vocabulary[i] for i in occurring.tolist()]
    tree = taxonomy.for_items(names)
    leaf = np.full(table.n_items, -1, dtype=np.int32)
    leaf[occurring] = tree.leaf_of(names)
    return tree, leaf


def _named_columns(table: DistributedTable) -> tuple[list[str], str]:
    """Return the columns of a table in their order, and the schema of all but the items."""
    if not table.has_ids:
        return [ITEMS], ""
    return [ITEMS, RECORD], f", {RECORD} {dict(table.frame.dtypes)[RECORD]}"


def published_nodes(
    frame: DataFrame, tree: Taxonomy, *, hides: bool
) -> tuple[DistributedRelease, DataFrame | None]:
    """Return the release of rows of nodes of a whole tree, and its key where rows have names."""

    def structure(used: Int64Array) -> dict[str, Any]:
        return {"hides": hides, "whole": False, "nodes": describe_tree(tree.pruned(used)[0])}

    form = GeneralizedRelease.form
    release = DistributedRelease.of_rows(frame, tree.ids, form, structure, bags=hides)
    return release, frame if RECORD in frame.columns else None


def recoded(table: DistributedTable, image: Int32Array) -> DataFrame:
    """Return the records with the image of each item instead, each once; below 0 it is left out."""
    columns, ids = _named_columns(table)
    shared = table.share(image)
    return kept(
        map_batches(
            table.frame.select(columns), partial(recode, image=shared), f"{ITEMS} array<int>{ids}"
        )
    )


def solved_groups(
    table: DistributedTable,
    route: Callable[[Rows], Int64Array],
    solve: Callable[[pa.Table], pa.Table],
    schema: str,
) -> DataFrame:
    """Send records to their groups, and let a worker solve each group."""
    columns, ids = _named_columns(table)
    routed = map_batches(
        table.frame.select(columns),
        partial(send, route=route),
        f"{ITEMS} array<int>{ids}, {GROUP} int",
    )
    return kept(apply_groups(routed, GROUP, solve, schema))


# --- group by group: buckets of like records ------------------------------------------------------


def bucketed(
    method: Clump | Gather, table: DistributedTable, *, taxonomy: Taxonomy, most: int = BUCKET
) -> DistributedAnonymization:
    """Return the k-anonymous release that a method makes of buckets of like records.

    The release depends on `most` and on nothing else of the cluster; of records that are no more
    than this it is the same as local.
    """
    check_enough(range(table.n_records), method.k)
    return _by_buckets(method, table, taxonomy, most, KAnonymity(k=method.k), hides=True)


def partitioned(
    method: Partition, table: DistributedTable, *, taxonomy: Taxonomy, most: int = BUCKET
) -> DistributedAnonymization:
    """Return the release of Partition: records without items are a bucket of their own."""
    check_enough(range(table.n_records), method.k)
    n_empty = count_empty(table)
    method.check_empty(n_empty, table.n_records - n_empty)
    promise = KAnonymity(k=method.k)
    return _by_buckets(method, table, taxonomy, most, promise, n_empty=n_empty, apart=True)


def sliced(
    method: LRA | VPAKm, table: DistributedTable, *, taxonomy: Taxonomy, most: int = BUCKET
) -> DistributedAnonymization:
    """Return the k^m-anonymous release of a method that repairs each bucket by itself.

    In each bucket a set of published nodes is in k records or none, and supports add up: so it is
    in the whole, as with LRA's slices on one machine.
    """
    n_empty = count_empty(table)
    check_recodable(table.n_records, table.n_records - n_empty, method.k)
    return _by_buckets(method, table.distinct(), taxonomy, most, method.promise, n_empty=n_empty)


def _by_buckets(
    method: Clump | Gather | Partition | LRA | VPAKm,
    table: DistributedTable,
    taxonomy: Taxonomy,
    most: int,
    promise: Guarantee,
    *,
    n_empty: int = 0,
    apart: bool = False,
    hides: bool = False,
) -> DistributedAnonymization:
    """Solve buckets of like records with the method itself.

    Parameters
    ----------
    n_empty
        Records without items that do not count towards k; they go to the last bucket if they are
        `apart`, else to the first.
    hides
        Whether the method leaves out items.
    """
    tree, leaf = items_in_tree(table, taxonomy)
    limits = Limits.of(method.k, max(most, 4 * method.k))
    buckets = make_buckets(table, tree, leaf, limits, n_empty=n_empty)
    sizes = buckets.sizes
    if n_empty and apart:
        sizes = np.append(sizes[sizes > 0], n_empty)
        buckets = replace(buckets, empty=len(sizes) - 1)
    elif n_empty:
        sizes = np.append(sizes[0] + n_empty, sizes[1:])
        buckets = replace(buckets, empty=0)
    shared = table.share(Task(method, table.vocabulary, tree, table.n_records - n_empty))
    _, ids = _named_columns(table)
    solved = solved_groups(
        table, buckets.route, partial(solve_bucket, task=shared), f"{ITEMS} array<int>{ids}"
    )
    release, key = published_nodes(solved, tree, hides=hides)
    step = Step(
        action="bucket",
        subject=_in_words(sizes, "buckets"),
        reason="records of like lengths and topics are solved together, by one worker",
    )
    return DistributedAnonymization(
        release=release, promise=promise, key=key, log=(step,), figures={"buckets": len(sizes)}
    )


def _in_words(sizes: Int64Array, groups: str) -> str:
    return (
        f"{sizes.sum():,} records in {len(sizes):,} {groups} of {sizes.min():,} to {sizes.max():,}"
    )


# --- group by group: parts with the same frequent items -------------------------------------------


def disassociated(
    method: DisassociationMethod, table: DistributedTable, *, most: int = BUCKET
) -> DistributedAnonymization:
    """Return the disassociated release of distributed records.

    Records are split by items as on one machine until a part has fewer than `most`; a worker cuts
    it into clusters and chunks. Clusters do not depend on `most`; which of them share chunks does,
    since that is decided within a part.
    """
    check_enough(range(table.n_records), method.k)
    check_filled(table.n_records, count_empty(table), is_bag=table.bags)
    splits = make_parts(table, k=method.k, most=max(most, 2 * method.split_from))
    used = [part.used for part in splits.groups]
    shared = table.share((method, table.vocabulary, used))
    blocks = solved_groups(
        replace(table, frame=table.frame.select(ITEMS)),
        partial(route_by_questions, questions=table.share(splits.questions)),
        partial(solve_part, task=shared),
        SCHEMA,
    )
    step = Step(
        action="part",
        subject=_in_words(splits.loads[:, 0], "parts"),
        reason="each is cut into clusters and chunks by one worker",
    )
    chunks = DistributedChunks(frame=blocks, vocabulary=table.vocabulary)
    return DistributedAnonymization(
        release=DistributedRelease.of_chunks(chunks),
        promise=method.promise,
        log=(step,),
        figures={"parts": len(used)},
    )


# --- item by item: the same in all records --------------------------------------------------------


def suppressed(
    method: SimpleSuppression,
    table: DistributedTable,
    *,
    sensitive: Iterable[str],
    most: int = BUCKET,
) -> DistributedAnonymization:
    """Return the records without their sensitive items: the same release as local."""
    decision = method.decide(table, sensitive)
    return _by_labels(table, decision, table.vocabulary.names, SuppressedRelease.form)


def set_generalized(
    method: ConstrainedMethod,
    table: DistributedTable,
    *,
    privacy: Iterable[Iterable[str]] | None = None,
    utility: Iterable[Iterable[str]] | WordNet | None = None,
    rng: np.random.Generator | None = None,
    most: int = BUCKET,
) -> DistributedAnonymization:
    """Return the release of COAT or PCTA, the same as local, where constraints are single items.

    The driver gets the records with an item that fewer than k hold: k times the number of items
    at most.
    """
    check_enough(range(table.n_records), method.k)
    decision = method.decide(
        table,
        privacy=privacy,
        utility=utility,
        rng=rng,
        read=partial(rare_records, table, method.k),
    )
    members: dict[int, list[int]] = {}
    for item in np.flatnonzero((decision.image >= 0) & (table.supports() > 0)).tolist():
        members.setdefault(int(decision.image[item]), []).append(item)
    image = np.full(table.n_items, -1, dtype=np.int32)
    for place, items in enumerate(members.values()):
        image[items] = place
    labels = [set_label(table.vocabulary[i] for i in items) for items in members.values()]
    own = replace(decision, image=image)
    return _by_labels(table, own, labels, SetGeneralizedRelease.form)


def rare_records(table: DistributedTable, k: int, itemsets: Sequence[Sequence[str]]) -> Rows:
    """Bring the records here that hold an item of fewer than `k` records."""
    if any(len(itemset) > 1 for itemset in itemsets):
        raise NotApplicable(
            "to protect sets of several items, all records must be in one place",
            fix="protect single items, or use --engine local",
        )
    supports = table.supports()
    rare = table.share((supports > 0) & (supports < k))
    return table.distinct().fold(partial(rows_with, wanted=rare), join_rows, NO_ROWS)


def _by_labels(
    table: DistributedTable,
    decision: Decision,
    labels: Sequence[str],
    form: str,
) -> DistributedAnonymization:
    """Publish each item as a label, the same in all records."""
    frame = recoded(table, decision.image)
    return DistributedAnonymization(
        release=DistributedRelease.of_rows(frame, labels, form, lambda _: {}, bags=False),
        promise=decision.promise,
        key=frame if table.has_ids else None,
        log=decision.log,
        figures=decision.figures,
    )


# --- functions that run on the workers ------------------------------------------------------------


class Task(NamedTuple):
    """What a worker needs to solve a bucket: the method, the names of items and their tree.

    `records` is the number of all records that count.
    """

    method: Clump | Gather | Partition | LRA | VPAKm
    vocabulary: Vocabulary
    tree: Taxonomy
    records: int


def send(table: pa.Table, route: Callable[[Rows], Int64Array]) -> pa.Table:
    """Add the group of each record."""
    import pyarrow as pa

    group = route(rows_of(table[ITEMS]))
    return table.append_column(GROUP, pa.array(group.astype(np.int32)))


def route_by_questions(rows: Rows, questions: Shared[Questions]) -> Int64Array:
    """Return where questions about items lead records."""
    return questions.value.route(*rows)


def recode(table: pa.Table, image: Shared[Int32Array]) -> pa.Table:
    """Replace items by their images, each once; leave out those whose image is below 0."""
    offsets, items = rows_of(table[ITEMS])
    images = image.value[items] if len(items) else items
    kept_places = images >= 0
    rows = sorted_rows(
        kept_offsets(offsets, kept_places),
        images[kept_places],
        int(image.value.max(initial=0)) + 1,
    )
    return table.set_column(table.schema.get_field_index(ITEMS), ITEMS, lists_of(*rows))


def solve_bucket(table: pa.Table, task: Shared[Task]) -> pa.Table:
    """Anonymize one bucket; records come back as nodes of the whole tree."""
    import pyarrow as pa

    method, vocabulary, tree, total = task.value
    offsets, items = rows_of(table[ITEMS])
    records = TransactionTable(offsets=offsets, items=items, vocabulary=vocabulary)
    if hasattr(method, "share_of_slices"):
        method = method.share_of_slices(int(np.count_nonzero(records.lengths)), total)
    made = method.anonymize(records, taxonomy=tree, engine=Local(workers=1))
    release = made.release
    assert isinstance(release, GeneralizedRelease)
    place = np.array([tree.node(node_id) for node_id in release.tree.ids], dtype=np.int32)
    columns = {ITEMS: lists_of(release.offsets, place[release.nodes])}
    if RECORD in table.column_names:
        columns[RECORD] = table[RECORD].take(pa.array(made.key.records))
    return pa.table(columns)


def solve_part(
    table: pa.Table,
    task: Shared[tuple[DisassociationMethod, Vocabulary, list[tuple[int, ...]]]],
) -> pa.Table:
    """Cut one part into clusters and chunks, as the method does here."""
    method, vocabulary, used = task.value
    offsets, items = rows_of(table[ITEMS])
    records = TransactionTable(offsets=offsets, items=items, vocabulary=vocabulary)
    made = method.cut(records, engine=Local(workers=1), used=used[table[GROUP][0].as_py()])
    release = made.release
    assert isinstance(release, DisassociatedRelease)
    names = release.vocabulary.names
    numbers = np.array([vocabulary.number(name) for name in names], dtype=np.int32)
    return blocks_of(release, numbers)


NO_ROWS = Rows(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32))


def rows_with(rows: Rows, wanted: Shared[BoolArray]) -> Rows:
    """Return the records that hold one of some items."""
    holds = np.zeros(len(rows.offsets) - 1, dtype=bool)
    row = np.repeat(np.arange(len(holds)), np.diff(rows.offsets))
    holds[row[wanted.value[rows.items]]] = True
    return Rows(*take_rows(*rows, np.flatnonzero(holds)))


def join_rows(one: Rows, other: Rows) -> Rows:
    """Put records behind others."""
    return Rows(
        np.concatenate([one.offsets, other.offsets[1:] + one.offsets[-1]]),
        np.concatenate([one.items, other.items]),
    )
