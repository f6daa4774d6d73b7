"""Attacks on chunks: what a sample of clusters saves, and whether it says the same as all."""

from __future__ import annotations

import os
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.row import Row
from setveil import read
from setveil.anonymize import Disassociate
from setveil.attack import ABA, VPA, Prior, SemanticPrior
from setveil.measure import score_reassociation
from setveil.relatedness import NGD, RecordCounts
from setveil.synthetic import lookalike

if TYPE_CHECKING:
    from setveil import TransactionTable
    from setveil.attack import ReassociationGuess
    from setveil.measure import Rate
    from setveil.release.base import Anonymization

METHOD = Disassociate(k=5, m=2)
ATTACKS = (Prior, ABA, SemanticPrior, VPA)
DRAWS = 100
"""Clusters that are drawn."""
SAMPLES = 20
"""Samples whose intervals are compared with the rate of all clusters."""


@cache
def case(name: str, n: int | None) -> tuple[TransactionTable, Anonymization]:
    """Return a look-alike, all of it for None, and its release."""
    table = lookalike(name, n=n).table
    return table, METHOD.anonymize(table)


def attacked(attack: Any, made: Anonymization, seed: int = 1) -> ReassociationGuess:  # noqa: ANN401
    """Return what an attack says that knows nothing but the release."""
    known: dict[str, Any] = {"anonymizer": METHOD}
    if "relatedness" in attack.requires:
        known["relatedness"] = NGD(RecordCounts.of(made.release))
    told = {name: known[name] for name in attack.requires}
    return attack.run(made.release, rng=np.random.default_rng(seed), **told)


def scored(
    guess: ReassociationGuess, table: TransactionTable, made: Anonymization
) -> dict[str, Rate | None]:
    """Return how right it is."""
    return score_reassociation(guess, release=made.release, original=table, key=made.key)


def seconds(attack: Any, table: TransactionTable, made: Anonymization) -> float:  # noqa: ANN401
    """Return the processor time of an attack and its score."""
    start = time.process_time()
    scored(attacked(attack, made), table, made)
    return time.process_time() - start


def samples(*, small: bool) -> list[Row]:
    """Time of each attack with its score, on a sample of clusters and on all."""
    table, made = case("bms-webview-2", 2_000 if small else None)
    what = f"WebView-2 look-alike, {len(table):,} records, {len(made.release.sizes):,} clusters"
    draws = 10 if small else DRAWS
    rows = []
    for attack in ATTACKS:
        few = seconds(attack(sample=draws), table, made)
        title = f"{what}: {attack.__name__} and its score"
        rows.append(
            Row(name=f"{title}, {draws} draws of a cluster", value=few, unit="CPU s",
                most=None if small else 20)
        )  # fmt: skip
        if attack is Prior:
            every = seconds(attack(), table, made)
            name = f"{title}, all clusters against {draws} draws"
            rows.append(
                Row(name=name, value=every / few, unit="×", least=None if small else 5)
            )  # fmt: skip
    return rows


def growth(*, small: bool) -> list[Row]:
    """Time of the same sample when the data is nearly seven times as large."""
    sizes = (("bms-webview-2", 2_000), ("bms-pos", 4_000))
    cases = [case(name, n if small else None) for name, n in sizes]
    draws = 10 if small else DRAWS
    times = []
    for table, made in cases:
        scored(attacked(Prior(sample=2), made), table, made)  # what is checked once
        times.append(seconds(Prior(sample=draws), table, made))
    before, after = (f"{len(table):,}" for table, _ in cases)
    name = f"prior and its score, {draws} draws: time from {before} to {after} records"
    return [Row(name=name, value=times[1] / times[0], unit="×", most=None if small else 4)]


def agreement(*, small: bool) -> list[Row]:
    """How often the interval of a sample holds the accuracy of all clusters."""
    folder = os.environ.get("SETVEIL_DATA")
    if small or not folder:
        return []
    table = read(Path(folder) / "groceries.basket.csv")
    made = METHOD.anonymize(table)
    rows = []
    for attack in ATTACKS:
        whole = scored(attacked(attack(), made), table, made)
        found = [
            scored(attacked(attack(sample=DRAWS), made, seed=seed), table, made)
            for seed in range(SAMPLES)
        ]
        for figure in ("accuracy", "precision"):
            truth, rates = whole[figure], [rates[figure] for rates in found]
            there = [rate for rate in rates if rate is not None]
            if truth is None or not there:
                continue
            name = f"groceries, {attack.__name__}: {figure}"
            held = sum(rate.low <= truth.value <= rate.high for rate in there) / len(there)
            mean = float(np.mean([rate.value for rate in there]))
            rows += [
                Row(name=f"{name} of all clusters", value=truth.value, unit=""),
                Row(name=f"{name} of {DRAWS} draws, mean of {SAMPLES} samples", value=mean,
                    unit=""),
                Row(name=f"{name}, share of the samples whose interval holds that of all clusters",
                    value=held, unit="", least=0.85),
            ]  # fmt: skip
    return rows


def run(*, small: bool = False) -> list[Row]:
    """Return all figures."""
    return [*samples(small=small), *growth(small=small), *agreement(small=small)]
