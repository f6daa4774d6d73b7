"""Re-association by the share of distinct terms, by k and by the size of clusters (paper 001)."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.distinct_terms_report import BASELINES, FIGURES, SCOPES, claims, report
from experiments.noun_texts import documents_of, glosses, glove, split
from setveil.anonymize import Disassociate
from setveil.attack import ABA, MRA, RGA, VPA
from setveil.core.errors import InfeasibleError
from setveil.measure import score_reassociation
from setveil.relatedness import NGD, build_index
from setveil.text.selection import with_ttr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from setveil import TransactionTable
    from setveil.attack.reassociation.reassociation_guess import ReassociationGuess
    from setveil.relatedness import Relatedness

    Row = dict[str, Any]

__all__ = ["NAME", "TITLE", "claims", "report", "run", "units"]

NAME = "distinct_terms"
TITLE = "Re-association: distinct terms, k and cluster size"
RECORDS = 120
SMALL = 80
M = 2
LENGTHS = {"MedQuAD": 20, "Wikipedia": 25}
"""Longest records: with these the widest range of ratios is in reach of 120 records."""
RATIOS = {"MedQuAD": (0.2, 0.3, 0.4, 0.5, 0.6), "Wikipedia": (0.4, 0.5, 0.6, 0.7)}
MIDDLE = 0.5
"""The ratio at which k and the size of clusters are varied."""
KS = (2, 3, 4, 5)
LARGEST = 25
"""Largest cluster for every k: the square of the largest k."""
SIZES = (4, 8, 16, 32, 64)
"""Largest clusters at k = 2: its second power and on, to half of the records."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One axis on one split of one collection."""

    axis: str
    collection: str
    seed: int
    records: int = RECORDS


def units(seeds: int, *, small: bool = False) -> list[Unit]:
    """Return what there is to do.

    >>> len(units(5))
    30
    """
    if small:
        return [
            Unit(axis=axis, collection="Wikipedia", seed=seed, records=SMALL)
            for seed in range(seeds)
            for axis in ("ttr", "k")
        ]
    return [
        Unit(axis=axis, collection=collection, seed=seed)
        for seed in range(seeds)
        for collection in RATIOS
        for axis in ("ttr", "k", "size")
    ]


def run(unit: Unit) -> list[Row]:
    """Return the scores of every attack at each place of one axis."""
    texts, rows = documents_of(unit.collection)
    parts = split(texts, rows, unit.seed)
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        ngd = NGD(build_index([*parts.near, *glosses()], Path(folder, "near.index")))
        for value, ratio, k, size in _places(unit):
            table = _chosen(unit, parts.table, ratio)
            if table is None:
                continue
            scene = Scene(table=table, method=_method(k, size), seed=unit.seed)
            setting = {
                "axis": unit.axis, "collection": unit.collection, "seed": unit.seed,
                "value": value, "ttr": table.n_items / len(table.items), "k": k, "size": size,
            }  # fmt: skip
            found += [setting | row for row in scene.attacked({"ngd": ngd, "glove": glove()})]
    return found


def _method(k: int, size: int) -> Disassociate:
    return Disassociate(k=k, m=M, max_cluster_size=size, refine=False)


def _places(unit: Unit) -> Iterator[tuple[float, float, int, int]]:
    """Yield the places of an axis: its value, the ratio, k and the largest cluster."""
    step = 1 if unit.records == RECORDS else 3  # a quick look takes the ends
    if unit.axis == "ttr":
        for ratio in RATIOS[unit.collection][::-step]:
            yield ratio, ratio, 3, 9
    elif unit.axis == "k":
        for k in KS[::step]:
            yield k, MIDDLE, k, LARGEST
    else:
        for size in SIZES:
            yield size, MIDDLE, 2, size


def _chosen(unit: Unit, table: TransactionTable, ratio: float) -> TransactionTable | None:
    """Return records of the wished ratio; None where this split has none."""
    rng = np.random.default_rng([unit.seed, round(100 * ratio)])
    try:
        return with_ttr(
            table, ratio, size=unit.records, length=LENGTHS[unit.collection], rng=rng
        ).table  # fmt: skip
    except InfeasibleError:
        return None


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Records, and how they were cut."""

    table: TransactionTable
    method: Disassociate
    seed: int

    def attacked(self, sources: dict[str, Relatedness]) -> Iterator[Row]:
        """Yield the scores of the paper's attacks with each source, and of the baselines."""
        made = self.method.anonymize(self.table)
        first = True
        for source, related in sources.items():
            # VPA starts from ABA's order and takes by far the longest: one source is enough.
            attacks = (ABA(), RGA(), MRA(), *([VPA()] if first else []))
            for attack in attacks:
                known = {"anonymizer": self.method} if isinstance(attack, VPA) else {}
                rng = np.random.default_rng([self.seed, self.method.k])
                guess = attack.run(made.release, relatedness=related, rng=rng, **known)
                said: ReassociationGuess = guess if first else replace(guess, baselines={})
                rates = score_reassociation(
                    said, release=made.release, original=self.table, key=made.key,
                    k=self.method.k, m=M, relatedness=glove(),
                )  # fmt: skip
                yield {"attack": guess.attack, "source": source, **_figures(rates, "")}
                if first:  # the baselines are the same beside every attack
                    for name in BASELINES:
                        yield {"attack": name, "source": "none", **_figures(rates, f"_{name}")}
                first = False


def _figures(rates: dict[str, Any], suffix: str) -> Row:
    names = [figure + scope for figure in FIGURES for scope in SCOPES]
    values = {name: rates.get(name + suffix) for name in names}
    return {name: rate.value if rate else None for name, rate in values.items()}
