"""Invented patients of an invented clinic: the data of the demo, of examples and of tests."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from setveil.core.arrays import offsets_of
from setveil.core.table import TransactionTable
from setveil.core.taxonomy import Taxonomy
from setveil.synthetic import conditions
from setveil.synthetic.dataset import Synthetic, check_size_and_seed

Flags = npt.NDArray[np.bool_]


def clinic(n: int = 2000, seed: int = 0) -> Synthetic:
    """Generate patients with their conditions, drugs and symptoms.

    Age, smoking and the like (never recorded) and earlier conditions raise the chance of others,
    so that conditions come in co-morbid groups; each brings drugs and symptoms. Some records
    hold a general item, such as "diabetes", where a precise one would have been known. A patient
    with nothing at all came for a routine check-up.

    Parameters
    ----------
    n
        Number of patients.
    seed
        Draws the patients.

    Returns
    -------
    Synthetic
        With a hand-written tree of five levels and twelve sensitive conditions.

    Examples
    --------
    >>> data = clinic(n=500, seed=1)
    >>> len(data.table), data.taxonomy.height
    (500, 4)
    >>> "HIV infection" in data.sensitive
    True
    """
    check_size_and_seed(n, seed)
    rng = np.random.default_rng(seed)
    traits = {name: rng.random(n) < share for name, share in conditions.TRAITS.items()}
    traits["man"] = ~traits["woman"]
    held = _with_conditions(rng, n, traits)
    _add_drugs_and_symptoms(rng, n, held, traits)
    tree = clinic_taxonomy()
    _blur(rng, held, tree)
    healthy = ~np.any(list(held.values()), axis=0)
    held["routine check-up"] |= healthy
    names = [name for name, flags in held.items() if flags.any()]
    matrix = np.column_stack([held[name] for name in names])
    offsets = offsets_of(matrix.sum(axis=1))
    table = TransactionTable.from_csr(offsets, np.nonzero(matrix)[1], names)
    return Synthetic(
        table=table,
        taxonomy=tree,
        sensitive=tuple(item for item in conditions.SENSITIVE if item in table.vocabulary),
        description=f"{n:,} invented patients of a clinic: conditions, drugs and symptoms",
    )


@cache
def clinic_taxonomy() -> Taxonomy:
    """Return the clinic's tree of items.

    >>> tree = clinic_taxonomy()
    >>> [tree.names[v] for v in tree.ancestors(tree.node("type 2 diabetes"))]
    ['type 2 diabetes', 'diabetes', 'metabolism and hormones', 'condition', 'clinic record']
    """
    parents: dict[str, str | None] = {}
    way: list[str] = []
    for line in conditions.TREE.strip().splitlines():
        name = line.strip()
        level = (len(line) - len(name)) // 2
        way[level:] = [name]
        parents[name] = way[level - 1] if level else None
    return Taxonomy.from_parents(parents)


def _happens(
    rng: np.random.Generator,
    n: int,
    share: float,
    raised_by: dict[str, Flags],
    by: dict[str, float],
) -> Flags:
    """Draw who has something of this share, raised or lowered by what else they have."""
    chance = np.full(n, share)
    for cause, factor in by.items():
        chance[raised_by[cause]] *= factor
    drawn: Flags = rng.random(n) < np.minimum(chance, 0.95)
    return drawn


def _with_conditions(
    rng: np.random.Generator, n: int, traits: dict[str, Flags]
) -> dict[str, Flags]:
    known = dict(traits)
    for name, (share, by) in conditions.CONDITIONS.items():
        known[name] = _happens(rng, n, share, known, by)
    return {name: known[name] for name in conditions.CONDITIONS}


def _add_drugs_and_symptoms(
    rng: np.random.Generator, n: int, held: dict[str, Flags], traits: dict[str, Flags]
) -> None:
    nobody = np.zeros(n, dtype=bool)
    for item, (share, by) in conditions.EVERYDAY.items():
        held[item] = _happens(rng, n, share, traits, by)
    for condition, brought in conditions.BRINGS.items():
        for item, share in brought.items():
            held[item] = held.get(item, nobody) | (held[condition] & (rng.random(n) < share))


def _blur(rng: np.random.Generator, held: dict[str, Flags], tree: Taxonomy) -> None:
    """Write the general name instead of the precise one, now and then."""
    for general, share in conditions.VAGUE.items():
        node = tree.node(general)
        below = [tree.names[v] for v in range(node + 1, tree.ends[node])]
        vague = rng.random(len(next(iter(held.values())))) < share
        precise = [name for name in below if name in held]
        held[general] = np.any([held[name] for name in precise], axis=0) & vague
        for name in precise:
            held[name] &= ~vague
