"""Whether the chances that Shadow states come true as often as it says."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.elimination import SAMPLE, SMALL, Sources
from experiments.noun_texts import documents_of, glosses, glove, split
from experiments.tables import chosen, markdown, over_seeds
from setveil.anonymize import Coat
from setveil.attack import Shadow
from setveil.attack.elimination.elimination_score import AttackedCells
from setveil.core.interval import clustered_share
from setveil.measure import score
from setveil.relatedness import Combined, build_index

if TYPE_CHECKING:
    from collections.abc import Iterator

    from experiments.claims import Claim
    from setveil.core.arrays import BoolArray, FloatArray, Int64Array
    from setveil.core.interval import Rate

    Row = dict[str, Any]

NAME = "calibration"
TITLE = "Elimination: how often Shadow's stated chances come true"
K = 4
PERCENTS = {"Wikipedia": (10,), "MedQuAD": (4, 10)}
"""Constrained items, of 100."""
FIRST = {"Wikipedia": 5, "MedQuAD": 0}
"""The first seed: settings of Shadow were chosen while looking at seed 0 of Wikipedia."""
EXTRA = {"Wikipedia": 0, "MedQuAD": 1}
"""Seeds beyond those asked for: the smaller table gets one more."""
ALL = "all"
RANGES = ("≤ .01", ".01–.05", ".05–.95", ".95–.99", "≥ .99")
"""Of stated chances; a bound belongs to the range that is nearer to 0 or 1."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One split of one collection; `most` bounds the private records."""

    collection: str
    seed: int
    most: int | None = None


def units(seeds: int, *, small: bool = False) -> list[Unit]:
    """Return what there is to do.

    >>> len(units(5))
    11
    """
    if small:
        return [Unit(collection="Wikipedia", seed=seed, most=SMALL) for seed in range(seeds)]
    return [
        Unit(collection=collection, seed=FIRST[collection] + number, most=most)
        for collection, most in (("Wikipedia", None), ("MedQuAD", SAMPLE))
        for number in range(seeds + EXTRA[collection])
    ]


def run(unit: Unit) -> list[Row]:
    """Return what Shadow states on one split, and what is true, for each share of constraints."""
    parts = split(*documents_of(unit.collection), unit.seed, most=unit.most)
    name = unit.collection + (f", {unit.most} records" if unit.most else "")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        sources = Sources.of(build_index([*parts.near, *glosses()], Path(folder, "near.index")))
        every = Combined(parts=((1, sources.ngd), (1, glove()), (1, sources.trained)))
        for percent in PERCENTS[unit.collection]:
            coat = Coat(k=K, constrained=Fraction(percent, 100))
            made = coat.anonymize(parts.table, rng=np.random.default_rng([unit.seed, K]))
            guess = Shadow().run(
                made.release, relatedness=every, anonymizer=coat,
                rng=np.random.default_rng([unit.seed, 2]),
            )  # fmt: skip
            truth: dict[str, Any] = {
                "release": made.release,
                "original": parts.table,
                "key": made.key,
            }
            auc = score(guess, **truth)["auc"]
            setting = {
                "collection": name, "percent": percent, "seed": unit.seed,
                "auc": auc.value if auc else None,
            }  # fmt: skip
            rows += [setting | row for row in count_ranges(AttackedCells.of(guess, **truth))]
    return rows


def count_ranges(cells: AttackedCells) -> Iterator[Row]:
    """Yield for each range how many generalized items have so many cells in it, so many added.

    `stated` is the mean of the stated chances of these cells. Items of equal counts share a row:
    what the intervals need, in a tenth of the lines.
    """
    chances = cells.probabilities
    if chances is None:
        return
    place = range_of(chances)
    for number, name in enumerate((*RANGES, ALL)):
        inside = np.ones_like(cells.added) if name == ALL else place == number
        for (size, added), (items, stated) in _items_by_count(cells, chances, inside).items():
            yield {
                "range": name, "cells": size, "added": added, "items": items,
                "stated": stated / (size * items),
            }  # fmt: skip


def range_of(chances: FloatArray) -> Int64Array:
    """Return the number of the range that each chance falls in.

    >>> range_of(np.array([0.01, 0.011, 0.05, 0.5, 0.949, 0.95, 0.98, 0.99, 1.0])).tolist()
    [0, 1, 1, 2, 2, 3, 3, 4, 4]
    """
    low = np.searchsorted([0.01, 0.05], chances, side="left")
    return np.asarray(low + np.searchsorted([0.95, 0.99], chances, side="right"))


def _items_by_count(
    cells: AttackedCells, chances: FloatArray, inside: BoolArray
) -> dict[tuple[int, int], tuple[int, float]]:
    """Return by cells and added cells how many items have these, and the sum of their chances."""
    columns = (inside, inside & cells.added, np.where(inside, chances, 0.0))
    sums = (np.bincount(cells.table, column, cells.tables).tolist() for column in columns)
    items: Counter[tuple[int, int]] = Counter()
    stated: Counter[tuple[int, int]] = Counter()
    for size, added, chance in zip(*sums, strict=True):
        if size:
            items[int(size), int(added)] += 1
            stated[int(size), int(added)] += chance
    return {counts: (items[counts], stated[counts]) for counts in sorted(items)}


# --- what is said about it ------------------------------------------------------------------------


def claims(rows: list[Row]) -> list[Claim]:
    """Return nothing: no paper claims anything about these chances."""
    return []


def report(rows: list[Row], page: Path) -> str:
    """Return the part of the page about these figures."""
    settings = sorted({(row["collection"], row["percent"]) for row in rows})
    own = [chosen(rows, collection=name, percent=percent) for name, percent in settings]
    names = [f"{name}, {percent}% constrained" for name, percent in settings]
    runs = [len({row["seed"] for row in each}) for each in own]
    whole = [
        [name, str(count), *_figures(chosen(each, range=ALL)), over_seeds(each, "auc").text()]
        for name, count, each in zip(names, runs, own, strict=True)
    ]
    lines = [
        [name, stated, *_figures(chosen(each, range=stated))]
        for name, each in [("all of these", rows), *zip(names, own, strict=True)]
        for stated in RANGES
    ]
    head = ["generalized items", "cells", "added", "mean stated", "share added", "95% interval"]
    tables = (
        markdown(["setting", "runs", *head, "AUC"], whole),
        markdown(["setting", "stated chance", *head], lines),
    )
    return "\n\n".join([_intro(sum(runs)), tables[0], "### By stated chance", tables[1]])


def _intro(runs: int) -> str:
    return (
        "Shadow states for each cell the chance that it was added. Records, corpus and sources are "
        f"those of the experiment `elimination`, near; COAT, k = {K}; {runs} runs. Splits of "
        f"Wikipedia start at seed {FIRST['Wikipedia']}. If the chances are right, *mean stated* "
        "lies in the *95% interval* of the *share added* in most rows. The intervals count "
        "generalized items, as cells of one item depend on each other. They treat the runs as "
        "independent, though splits of one collection share documents, so they may be too narrow. "
        "Trial versions of the calibration were run on the same splits with 4% constrained: these "
        "documents are not untouched evidence. AUC is the mean over seeds with its 95% interval "
        "(Student's t)."
    )


def _figures(rows: list[Row]) -> list[str]:
    """Return the columns of a table about some rows."""
    share = added_share(rows)
    if share is None:
        return ["0", "0", "0", "n/a", "n/a", "n/a"]
    items = sum(row["items"] for row in rows)
    cells, added = (sum(row["items"] * row[name] for row in rows) for name in ("cells", "added"))
    stated = sum(row["items"] * row["cells"] * row["stated"] for row in rows) / cells
    counts = [f"{count:,}" for count in (items, cells, added)]
    ends = f"{np.floor(share.low * 1e4) / 1e4:.4f} to {np.ceil(share.high * 1e4) / 1e4:.4f}"
    return [*counts, f"{stated:.4f}", f"{share.value:.4f}", ends]


def added_share(rows: list[Row]) -> Rate | None:
    """Return the share of added cells, its interval by generalized items.

    >>> rows = [{"items": 3, "cells": 4, "added": 1}, {"items": 1, "cells": 2, "added": 2}]
    >>> round(added_share(rows).value, 3)
    0.357
    """
    items = [row["items"] for row in rows]
    part, size = (np.repeat([row[name] for row in rows], items) for name in ("added", "cells"))
    return clustered_share(part, size)
