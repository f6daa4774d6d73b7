"""Attacks on releases that are here, with the work on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.attack.elimination.distance_attacks import EC, DistanceAttack
from setveil.attack.linkage.linkage import Linkage
from setveil.attack.reassociation.pieces import DISASSOCIATED
from setveil.core.errors import NotApplicable
from setveil.core.registry import name_of
from setveil.spark.attacks import reassociate
from setveil.spark.attacks_tables import eliminate_distributed
from setveil.spark.chunks import DistributedChunks
from setveil.spark.measures_parts import DistributedRelease
from setveil.spark.risk import link_distributed

if TYPE_CHECKING:
    from setveil.attack.guess import Guess
    from setveil.engine.spark import Spark
    from setveil.release.base import Release

SEEDS = 1 << 62


def check_parts(attack: Any) -> None:  # noqa: ANN401  (any attack)
    """Refuse, before any work, an attack that looks at a release as a whole.

    >>> from setveil.attack import RA
    >>> check_parts(RA())
    Traceback (most recent call last):
    setveil.core.errors.NotApplicable: ra does not look at parts of a release by themselves. To \
fix: ...
    """
    in_parts = (
        isinstance(attack, DistanceAttack | EC | Linkage) or attack.applies_to == DISASSOCIATED
    )
    if not in_parts:
        raise NotApplicable(
            f"{name_of(type(attack))} does not look at parts of a release by themselves",
            fix="use --engine local",
        )


def run_attack(
    attack: Any,  # noqa: ANN401
    release: Release,
    engine: Spark,
    *,
    rng: np.random.Generator | None = None,
    **known: Any,
) -> Guess:
    """Attack a release part by part on Spark's workers.

    Parameters
    ----------
    attack
        One that looks at tables (``mda``, ``tba``, ``wba``, ``gba``, ``rba``, ``ec``), at clusters
        (those on disassociated releases) or at records (``linkage``).
    release
        What is attacked.
    engine
        Where.
    rng
        Draws; of clusters each has a generator of its own, whose seed this one draws.
    known
        What the attack is told.

    Raises
    ------
    NotApplicable
        The attack looks at the release as a whole.
    """
    check_parts(attack)
    rng = np.random.default_rng(0) if rng is None else rng
    known = {name: each for name, each in known.items() if name != "progress"}
    if attack.applies_to == DISASSOCIATED:
        chunks = DistributedChunks.from_release(release, engine)  # type: ignore[arg-type]
        seed = int(rng.integers(SEEDS))
        return reassociate(attack, chunks, seed=seed, **known).collect()
    there = DistributedRelease.from_release(release, engine)
    if isinstance(attack, Linkage):
        return link_distributed(there, k=attack.k, rng=rng, **known)
    return eliminate_distributed(attack, there, rng=rng, **known).collect()
