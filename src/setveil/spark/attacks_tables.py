"""Elimination attacks on distributed records: the table of each generalized item on a worker.

A distance table belongs to one generalized item: its rows are the records that hold it. Tables
have nothing to do with each other, so the records are sent to the tables of their items, cut down
to what they show in clear.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.attack.elimination.distance_attacks import (
    EC,
    DistanceAttack,
    Eliminated,
    guess_table,
    guessed,
)
from setveil.attack.elimination.distance_tables import (
    CellRows,
    Contexts,
    DistanceTable,
    Gaps,
    Target,
    distance_table,
)
from setveil.attack.elimination.elimination_guess import EliminationGuess, TableGuess
from setveil.attack.elimination.evidence import Evidence, Shown
from setveil.core.arrays import Int64Array, kept_offsets
from setveil.core.errors import NotApplicable
from setveil.core.registry import name_of
from setveil.engine.spark import spoken_errors
from setveil.release.set_generalized import SetGeneralizedRelease
from setveil.spark.batches import Batch, apply_groups, lists_of, map_batches, rows_of
from setveil.spark.risk_drawing import numbered
from setveil.spark.table import ITEMS, RECORD

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    import pyarrow as pa
    from pyspark import Broadcast
    from pyspark.sql import DataFrame, Row

    from setveil.relatedness.base import Relatedness
    from setveil.spark.measures_parts import DistributedRelease

GROUP, GIVER = "part", "giver"
SEEN = f"{RECORD} bigint, groups array<int>, context array<int>, shown int"
TABLES = (
    "part int, records array<bigint>, cells array<double>, rows array<int>, "
    "columns array<int>, decided array<double>, threshold double, "
    "asked bigint, bare bigint, unknown bigint"
)


class Knowledge(NamedTuple):
    """What every worker knows of the release, and of terms.

    Parameters
    ----------
    attack, source
        Who attacks, and by what: a relatedness, or for ``ec`` what evidence it gives.
    members
        What each generalized item may stand for.
    clear
        For each generalized item its place among those in clear, or -1.
    names, familiar
        The items in clear, and whether the source knows them.
    """

    attack: DistanceAttack | EC
    source: Relatedness | Evidence
    members: tuple[tuple[str, ...], ...]
    clear: Int64Array
    names: tuple[str, ...]
    familiar: npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DistributedElimination:
    """What became of the table of each generalized item, over many machines.

    Parameters
    ----------
    frame
        A row for each generalized item of several members: its number (``part``), the records,
        their cells row by row (distances, or for ``ec`` what speaks against them), those that
        are eliminated in order with what decided each, and how many rows were asked for, had no
        context, and had an unknown one.
    control
        The same with contexts exchanged between records; None if it was not asked for.
    attack
        Its name.
    members
        What the generalized items may stand for.
    unknown
        Items in clear, and members, that the source does not know.
    """

    frame: DataFrame
    control: DataFrame | None
    attack: str
    members: tuple[tuple[str, ...], ...]
    unknown: tuple[tuple[str, ...], tuple[str, ...]]

    def __repr__(self) -> str:
        return f"<DistributedElimination of {self.attack}>"

    def collect(self) -> EliminationGuess:
        """Return the guess here; for releases that fit."""
        mixed = None if self.control is None else self._guess(self.control, None)
        return self._guess(self.frame, mixed)

    def _guess(self, frame: DataFrame, control: EliminationGuess | None) -> EliminationGuess:
        with spoken_errors():
            rows = frame.orderBy(GROUP).collect()
        found = [self._table(row) for row in rows if row["records"]]
        tables = tuple(found) if self.attack == "ec" else _by_distance(found)
        asked, bare, unknown = (
            sum(row[name] for row in rows) for name in ("asked", "bare", "unknown")
        )
        gaps = Gaps(
            rows=asked,
            without_context=bare,
            context_unknown=unknown,
            without_distance=asked - bare - unknown - sum(len(table.records) for table in found),
            unknown_context=self.unknown[0],
            unknown_members=self.unknown[1],
        )
        return EliminationGuess(
            attack=self.attack,
            tables=tables,
            notes=gaps.sentences(),
            control=control,
        )

    def _table(self, row: Row) -> TableGuess:
        members = self.members[row[GROUP]]
        return TableGuess(
            group=row[GROUP],
            members=members,
            records=np.array(row["records"], dtype=np.int64),
            scores=np.array(row["cells"]).reshape(-1, len(members)),
            eliminated=np.array([row["rows"], row["columns"]], dtype=np.int64).T,
            decided=np.array(row["decided"]),
            threshold=row["threshold"],
        )


def _by_distance(found: Sequence[TableGuess]) -> tuple[TableGuess, ...]:
    """Return guesses whose scores are distances as the attacks here score them."""
    tables = [
        DistanceTable(
            group=each.group,
            members=each.members,
            records=each.records,
            contexts=(),
            distances=each.scores,
        )
        for each in found
    ]
    return guessed(
        tables, [Eliminated(each.eliminated, each.decided, each.threshold) for each in found]
    )


def eliminate_distributed(
    attack: DistanceAttack | EC,
    release: DistributedRelease,
    *,
    relatedness: Relatedness,
    rng: np.random.Generator | None = None,
    control: bool = True,
) -> DistributedElimination:
    """Attack a distributed set-generalized release, table by table.

    Parameters
    ----------
    attack
        ``mda``, ``tba``, ``wba``, ``gba``, ``rba`` or ``ec``: those that look at one table at a
        time.
    release
        What is attacked; a table must fit a worker.
    relatedness
        How far apart terms are; it is sent to the workers.
    rng
        Exchanges the contexts for the control, as the attack here does.
    control
        Whether contexts are exchanged and attacked too. The numbers of the records that show
        something in clear are then brought here.

    Returns
    -------
    DistributedElimination
        Collected, it is the guess of the attack here.

    Raises
    ------
    NotApplicable
        The attack looks at more than one table, or the release has another form.
    """
    if not isinstance(attack, DistanceAttack | EC):
        raise NotApplicable(
            f"{name_of(type(attack))} does not look at one table at a time",
            fix="use --engine local",
        )
    table, sketch = release.records()
    form = sketch.release
    if not isinstance(form, SetGeneralizedRelease):
        raise NotApplicable(f"a release of the form {form.form!r} has no generalized items")
    knowledge, unknown = _known(attack, form, relatedness)
    if isinstance(attack, EC):
        shown = Shown(form.groups, table.supports(), table.n_records)
        knowledge = knowledge._replace(source=Evidence.of(relatedness, shown))
    table = numbered(table)
    shared = table.broadcast(knowledge)
    seen = map_batches(table.frame.select(ITEMS, RECORD), partial(see, shared=shared), SEEN)
    rng = np.random.default_rng(0) if rng is None else rng
    return DistributedElimination(
        frame=_attacked(seen, shared),
        control=_attacked(_exchanged(seen, rng), shared) if control else None,
        attack=name_of(type(attack)),
        members=knowledge.members,
        unknown=unknown,
    )


def _known(
    attack: DistanceAttack | EC, form: SetGeneralizedRelease, relatedness: Relatedness
) -> tuple[Knowledge, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Ask the source which terms it knows; refuse one that knows no member."""
    names = tuple(group[0] for group in form.groups if len(group) == 1)
    members = [name for group in form.groups if len(group) > 1 for name in group]
    familiar = np.asarray(relatedness.known(names), dtype=bool)
    known = np.asarray(relatedness.known(members), dtype=bool)
    if members and not known.any():
        raise NotApplicable(
            "the source of relatedness knows no member of any generalized item",
            fix="name a source that knows them",
        )
    clear = np.where(form.is_trivial, np.cumsum(form.is_trivial) - 1, -1)
    unknown = (
        tuple(name for name, there in zip(names, familiar.tolist(), strict=True) if not there),
        tuple(sorted(name for name, there in zip(members, known.tolist(), strict=True)
                     if not there)),
    )  # fmt: skip
    return Knowledge(attack, relatedness, form.groups, clear, names, familiar), unknown


def _attacked(seen: DataFrame, shared: Broadcast[Knowledge]) -> DataFrame:
    from pyspark.sql import functions as sql

    cells = seen.select(sql.explode("groups").alias(GROUP), RECORD, "context", "shown")
    return apply_groups(cells, GROUP, partial(attack_table, shared=shared), TABLES)


def _exchanged(seen: DataFrame, rng: np.random.Generator) -> DataFrame:
    """Hand the contexts on between records, in the circle in which the attack here does."""
    import pyarrow as pa
    from pyspark.sql import functions as sql

    with spoken_errors():
        having = np.sort(seen.where("shown > 0").select(RECORD).toArrow()[RECORD].to_numpy())
    order = rng.permutation(having)
    if not len(order):
        return seen
    circle = pa.table({RECORD: order, GIVER: np.roll(order, 1)})
    links = seen.sparkSession.createDataFrame(circle)
    given = seen.select(sql.col(RECORD).alias(GIVER), "context", "shown")
    mixed = seen.select(RECORD, "groups").join(links, RECORD, "left").join(given, GIVER, "left")
    nothing = sql.array().cast("array<int>")
    return mixed.select(
        RECORD,
        "groups",
        sql.coalesce("context", nothing).alias("context"),
        sql.coalesce("shown", sql.lit(0)).alias("shown"),
    )


# --- on the workers -------------------------------------------------------------------------------


def see(table: pa.Table, shared: Broadcast[Knowledge]) -> pa.Table:
    """Return what records show: their generalized items, and what is known of those in clear."""
    import pyarrow as pa

    known = shared.value
    batch = rows_of(table[ITEMS])
    place = known.clear[batch.items]
    in_clear = place >= 0
    familiar = in_clear.copy()
    familiar[in_clear] = known.familiar[place[in_clear]]
    shown = np.diff(kept_offsets(batch.offsets, in_clear))
    return pa.table(
        {
            RECORD: table[RECORD],
            "groups": lists_of(*_kept(batch, ~in_clear)),
            "context": lists_of(*_kept(Batch(batch.offsets, place.astype(np.int32)), familiar)),
            "shown": shown.astype(np.int32),
        }
    )


def _kept(batch: Batch, chosen: npt.NDArray[np.bool_]) -> Batch:
    offsets = kept_offsets(batch.offsets, chosen)
    return Batch(offsets, batch.items[chosen])


def attack_table(cells: pa.Table, shared: Broadcast[Knowledge]) -> pa.Table:
    """Attack the table of one generalized item."""
    import pyarrow as pa

    known = shared.value
    cells = cells.sort_by(RECORD)
    group = cells[GROUP][0].as_py()
    offsets, items = rows_of(cells["context"])
    used = [row.astype(np.int64) for row in np.split(items, offsets[1:-1])]
    target = Target(group=group, members=known.members[group], records=cells[RECORD].to_numpy())
    made = _guessed_table(known, target, used)
    bare = int(np.count_nonzero(cells["shown"].to_numpy() == 0))
    empty = int(np.count_nonzero(np.diff(offsets) == 0))
    row = {
        "part": group,
        "records": made.records.tolist(),
        "cells": made.scores.ravel().tolist(),
        "rows": made.eliminated[:, 0].tolist(),
        "columns": made.eliminated[:, 1].tolist(),
        "decided": made.decided.tolist(),
        "threshold": None if made.threshold is None else float(made.threshold),
        "asked": len(used),
        "bare": bare,
        "unknown": empty - bare,
    }
    whole, real, count = pa.list_(pa.int32()), pa.list_(pa.float64()), pa.int64()
    kinds = (
        pa.int32(), pa.list_(count), real, whole, whole, real, pa.float64(), count, count, count,
    )  # fmt: skip
    return pa.Table.from_pylist([row], pa.schema(list(zip(row, kinds, strict=True))))


def _guessed_table(known: Knowledge, target: Target, used: list[Int64Array]) -> TableGuess:
    """Attack a table; of a distance attack the scores are the distances as they are."""
    if isinstance(known.attack, EC):
        assert isinstance(known.source, Evidence), "ec was given evidence"
        there = np.array([len(own) > 0 for own in used], dtype=bool)
        rows = CellRows(
            group=target.group,
            members=target.members,
            records=target.records[there],
            contexts=tuple(own for own in used if len(own)),
        )
        none = np.zeros(0, dtype=np.int64)
        names = Contexts(names=known.names, offsets=np.zeros(1, dtype=np.int64), items=none)
        if len(rows.records):
            return guess_table(rows, known.source, names)
        return _nothing(target)
    assert not isinstance(known.source, Evidence), "distances come from a relatedness"
    made = distance_table(
        target, used, known.names, relatedness=known.source, context=known.attack.context
    )
    if not len(made.records):
        return _nothing(target)
    result = known.attack.eliminate(made.distances)
    return TableGuess(
        group=target.group,
        members=target.members,
        records=made.records,
        scores=made.distances,
        eliminated=result.cells,
        decided=result.decided,
        threshold=result.threshold,
    )


def _nothing(target: Target) -> TableGuess:
    """Return the guess about a table without a row that can be attacked."""
    return TableGuess(
        group=target.group,
        members=target.members,
        records=np.zeros(0, dtype=np.int64),
        scores=np.zeros((0, len(target.members))),
        eliminated=np.zeros((0, 2), dtype=np.int64),
        decided=np.zeros(0),
    )
