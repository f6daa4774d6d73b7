"""Elimination on cells of a wished density, with consistent sets, and its time (paper 000)."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.density_report import DENSITIES, KS, claims, report
from experiments.elimination import DISTANCE_ATTACKS, FIGURES, Remembered
from experiments.noun_texts import documents_of, glosses, glove, split, topics_of, word_net
from experiments.wished_density import WishedDensity
from setveil.anonymize import Coat
from setveil.attack import EC, RA, Shadow
from setveil.core.errors import NotApplicable
from setveil.measure import score
from setveil.relatedness import NGD, Combined, build_index

if TYPE_CHECKING:
    from collections.abc import Iterator

    from experiments.noun_texts import Split
    from setveil import TransactionTable
    from setveil.attack.elimination.elimination_guess import EliminationGuess
    from setveil.attack.elimination.shadow import Method
    from setveil.relatedness import Relatedness
    from setveil.release.base import Anonymization

    Row = dict[str, Any]

__all__ = ["NAME", "TITLE", "claims", "report", "run", "units"]

NAME = "density"
TITLE = "Elimination: cell density, consistent sets, time"
CONSTRAINED = Fraction(4, 100)
FEW_TOPICS = "Wikipedia, eight topics"
COLLECTIONS = {"Wikipedia": 0.22, "MedQuAD": 0.28, FEW_TOPICS: 0.55}
"""The densities of the paper's three datasets, each for the collection most like it."""
TOPICS = 8
RECORDS = 300
"""Private records, at most."""
SMALL = 80
MIDDLE = 4
LEARNED = (2, 4, 6)
"""For these k also the attack that learns, which takes longest."""
SHAPES = (10, 20, 40, 80, 160)
"""Rows, and as many columns, of the tables that are timed."""
REPEATED = 3


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One part on one split of one collection; `records` bounds the private records."""

    part: str
    collection: str
    seed: int
    records: int = RECORDS


def units(seeds: int, *, small: bool = False) -> list[Unit]:
    """Return what there is to do.

    >>> len(units(5))
    30
    """
    found = []
    records = SMALL if small else RECORDS
    for seed in range(seeds):
        parts = [("k", name) for name in (("Wikipedia",) if small else COLLECTIONS)]
        parts += [(part, "Wikipedia") for part in ("density", "utility", "time")]
        found += [
            Unit(part=part, collection=name, seed=seed, records=records) for part, name in parts
        ]
    return found


def run(unit: Unit) -> list[Row]:
    """Return the scores of every attack in one part, or their times."""
    setting = {"part": unit.part, "collection": unit.collection, "seed": unit.seed}
    if unit.part == "time":
        rows = timed(unit.seed, SHAPES if unit.records == RECORDS else SHAPES[:3])
        return [setting | _blank() | row for row in rows]
    parts = _split(unit)
    small = unit.records < RECORDS
    with tempfile.TemporaryDirectory() as folder:
        ngd = NGD(build_index([*parts.near, *glosses()], Path(folder, "near.index")))
        return [
            setting | _blank() | case.named | row
            for case in _cases(unit, parts.table)
            for row in case.attacked(ngd, learned=not small and case.learned)
        ]


def _blank() -> Row:
    """Return the columns that only some parts fill."""
    return dict.fromkeys(
        ("k", "wished", "utility", "attack", *FIGURES, "cells", "microseconds", "members")
    )


def _split(unit: Unit) -> Split:
    if unit.collection != FEW_TOPICS:
        texts, rows = documents_of(unit.collection)
        return split(texts, rows, unit.seed, most=unit.records)
    texts, rows = documents_of("Wikipedia")
    topics = topics_of("Wikipedia")
    rng = np.random.default_rng([unit.seed, 8])
    names = set(rng.choice(sorted(set(topics)), TOPICS, replace=False).tolist())
    inside = [place for place, topic in enumerate(topics) if topic in names]
    found = split([texts[i] for i in inside], [rows[i] for i in inside], unit.seed)
    others = [text for text, topic in zip(texts, topics, strict=True) if topic not in names]
    found.near.extend(others)
    return found


def _cases(unit: Unit, table: TransactionTable) -> Iterator[Case]:
    seed = unit.seed
    if unit.part == "k":
        for k in KS:
            method = WishedDensity(
                k=k, density=COLLECTIONS[unit.collection], constrained=CONSTRAINED
            )
            yield Case.of(method, table, seed, k=k, wished=method.density)
    elif unit.part == "density":
        for density in DENSITIES:
            method = WishedDensity(k=MIDDLE, density=density, constrained=CONSTRAINED)
            yield Case.of(method, table, seed, k=MIDDLE, wished=density)
    else:
        for k in LEARNED:
            coat = Coat(k=k, constrained=CONSTRAINED, objective="ul_gaining", s=Fraction(1))
            for name, utility in (("any", None), ("consistent", word_net())):
                rng = np.random.default_rng([seed, k])
                made = coat.anonymize(table, utility=utility, rng=rng)
                yield Case(made=made, table=table, method=coat, seed=seed,
                           named={"k": k, "utility": name})  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Case:
    """A release, what it was made from and how, and what it is called in the results."""

    made: Anonymization
    table: TransactionTable
    method: Method
    seed: int
    named: Row

    @classmethod
    def of(
        cls, method: WishedDensity, table: TransactionTable, seed: int, *, k: int, wished: float
    ) -> Case:
        """Return sets of a wished density, found to keep their promise."""
        made = method.anonymize(table, rng=np.random.default_rng([seed, k]))
        verdict = made.promise.check(made.release) if made.promise else None
        if verdict is None or not verdict.holds:
            raise AssertionError(verdict)
        return cls(made=made, table=table, method=method, seed=seed,
                   named={"k": k, "wished": wished})  # fmt: skip

    @property
    def learned(self) -> bool:
        """Whether the attack that learns is run, too."""
        return self.named["k"] in LEARNED

    def attacked(self, ngd: Relatedness, *, learned: bool) -> Iterator[Row]:
        """Yield the scores of every attack, all with the same distances."""
        release = self.made.release
        rng = np.random.default_rng([self.seed, 1])
        yield self._scored(RA().run(release, rng=rng))
        remembered = Remembered(ngd)
        for attack in DISTANCE_ATTACKS.values():
            yield self._scored(attack().run(release, relatedness=remembered))
        both = Combined(parts=((1, ngd), (1, glove())))
        yield self._scored(EC().run(release, relatedness=both))
        if learned:
            rng = np.random.default_rng([self.seed, 2])
            try:
                guess = Shadow().run(release, relatedness=both, anonymizer=self.method, rng=rng)
            except NotApplicable:  # too little is left in clear to rehearse on
                return
            yield self._scored(guess)

    def _scored(self, guess: EliminationGuess) -> Row:
        rates = score(guess, release=self.made.release, original=self.table, key=self.made.key)
        figures = {name: rates[name].value if rates[name] else None for name in FIGURES}
        sets = [len(group) for group in self.made.release.groups if len(group) > 1]
        return {"attack": guess.attack, "members": float(np.mean(sets)), **figures}


def timed(seed: int, shapes: tuple[int, ...]) -> Iterator[Row]:
    """Yield how long each attack takes for a table of so many cells, distances being known."""
    rng = np.random.default_rng(seed)
    for name, kind in DISTANCE_ATTACKS.items():
        kind().eliminate(rng.random((4, 4)))  # compiled before it is timed
        for size in shapes:
            distances = rng.random((size, size))
            taken = []
            for _ in range(REPEATED):
                started = time.process_time()
                kind().eliminate(distances)
                taken.append(time.process_time() - started)
            yield {"attack": name, "cells": size * size, "microseconds": median(taken) * 1e6}
