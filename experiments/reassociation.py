"""Attacks on disassociated nouns: which pieces belong together again (paper 001)."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from functools import cache
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.noun_texts import FILES, GLOVE, data_folder, glosses, noun_rows, split, texts_of
from experiments.tables import chosen, markdown, over_seeds
from setveil.anonymize import Disassociate
from setveil.attack import ABA, MRA, RGA, VPA, SemanticPrior
from setveil.data.embeddings import Vectors
from setveil.measure.reassociation import score_reassociation
from setveil.relatedness import NGD, Combined, Embedding, build_index

if TYPE_CHECKING:
    from collections.abc import Iterator

    from setveil.attack.reassociation_guess import ReassociationGuess
    from setveil.data import TransactionTable
    from setveil.relatedness import Relatedness
    from setveil.release.base import Anonymization

    Row = dict[str, Any]

NAME = "reassociation"
TITLE = "Re-association: which pieces of a disassociated release belong together"
RECORDS = 400
"""Private records of each collection, of the half that is not the corpus."""
M = 2
SIZES = {2: (4, 8, 16), 3: (9, 27, 81), 4: (16, 64), 5: (25, 125)}
"""For each k the largest clusters: k², k³, and k⁴ where the data is much larger than that."""
FIGURES = (
    "accuracy", "accuracy_records", "accuracy_terms", "precision", "transaction_breakage",
    "km_breakage", "term_pair_precision", "wmd",
)  # fmt: skip
BASELINES = ("random", "prior")


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One split of one collection."""

    collection: str
    seed: int


def units(seeds: int) -> list[Unit]:
    """Return what there is to do.

    >>> len(units(5))
    10
    """
    return [Unit(collection=name, seed=seed) for seed in range(seeds) for name in FILES]


def run(unit: Unit) -> list[Row]:
    """Return the scores of every attack on one split, for each k and cluster size."""
    texts, rows = _collection(unit.collection)
    parts = split(texts, rows, unit.seed, most=RECORDS)
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        ngd = NGD(build_index([*parts.near, *glosses()], Path(folder, "near.index")))
        for k, sizes in SIZES.items():
            for size in sizes:
                method = Disassociate(k=k, m=M, max_cluster_size=size, refine=False)
                scene = Scene(
                    made=method.anonymize(parts.table), table=parts.table, method=method,
                    seed=unit.seed,
                )  # fmt: skip
                setting = {
                    "collection": unit.collection, "seed": unit.seed, "k": k, "size": size,
                    "clusters": len(scene.made.release.sizes),
                }  # fmt: skip
                found += [setting | row for row in scene.attacked(ngd)]
    return found


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A release, what it was made from, and how."""

    made: Anonymization
    table: TransactionTable
    method: Disassociate
    seed: int

    def attacked(self, ngd: Relatedness) -> Iterator[Row]:
        """Yield the scores of the baselines, then of every attack."""
        glove = _glove()
        both = Combined(parts=((1, ngd), (1, glove)))
        for attack, source, related in (
            (ABA(), "glove", glove),
            (ABA(), "ngd", ngd),
            (RGA(), "ngd", ngd),
            (MRA(), "ngd", ngd),
            (VPA(), "ngd", ngd),
            (SemanticPrior(clustering=False), "ngd and glove", both),
            (SemanticPrior(), "ngd and glove", both),
        ):
            known = {"anonymizer": self.method} if isinstance(attack, VPA) else {}
            rng = np.random.default_rng([self.seed, self.method.k])
            guess = attack.run(self.made.release, relatedness=related, rng=rng, **known)
            yield from self._scored(guess, attack, source)

    def _scored(self, guess: ReassociationGuess, attack: Any, source: str) -> Iterator[Row]:  # noqa: ANN401
        moved = isinstance(attack, SemanticPrior) and attack.clustering
        # The baselines are the same beside every attack: once is enough.
        said = guess if moved else replace(guess, baselines={})
        rates = score_reassociation(
            said, release=self.made.release, original=self.table, key=self.made.key,
            k=self.method.k, m=M, relatedness=_glove() if moved and self.method.k == 2 else None,
        )  # fmt: skip
        name = guess.attack + (" without clustering" if _unclustered(attack) else "")
        for suffix, who, by in (("", name, source), *((f"_{b}", b, "") for b in BASELINES)):
            if suffix and not moved:
                continue
            values = {f: rates.get(f + suffix) for f in FIGURES}
            yield {
                "attack": who,
                "source": by or "none",
                **{f: rate.value if rate else None for f, rate in values.items()},
            }


def _unclustered(attack: Any) -> bool:  # noqa: ANN401
    return isinstance(attack, SemanticPrior) and not attack.clustering


@cache
def _collection(name: str) -> tuple[list[str], list[list[str]]]:
    texts = texts_of(name)
    return texts, noun_rows(texts)


@cache
def _glove() -> Embedding:
    return Embedding(Vectors.read(data_folder() / GLOVE))


# --- what is said about it ------------------------------------------------------------------------

OURS = "semantic-prior"
LEAST_GAIN = 0.03
LEAST_PAIRS = 1.3
ORDER = ("random", "prior", "aba", "rga", "mra", "vpa", f"{OURS} without clustering", OURS)


def report(rows: list[Row]) -> str:
    """Return the part of docs/results.md about these figures."""
    return "\n\n".join([_intro(rows), _goals(rows), *_by_collection(rows)])


def _intro(rows: list[Row]) -> str:
    seeds = len({row["seed"] for row in rows})
    return (
        f"Records are the sets of nouns of {RECORDS} documents, drawn anew for each of {seeds} "
        f"seeds; disassociation with m = {M} and without refining. NGD counts in the other half "
        "of the collection with WordNet's glosses. *Random* attaches pieces at random; *prior* "
        "uses only how often an anchor and a piece occur, and no meaning at all: what a semantic "
        "attack adds is what it has above the prior. Breakage saturates: Random reaches much of "
        "it. Each figure is the mean over the seeds with its 95% interval (Student's t). Some "
        "constants of `semantic-prior` were chosen on parts of these collections, with other "
        "splits."
    )


def _settings(rows: list[Row]) -> list[tuple[int, int]]:
    return list(dict.fromkeys((row["k"], row["size"]) for row in rows))


def _goals(rows: list[Row]) -> str:
    lines = []
    for collection in dict.fromkeys(row["collection"] for row in rows):
        for k, size in _settings(rows):
            here = chosen(rows, collection=collection, k=k, size=size)
            gain = over_seeds(_beside(here, "accuracy", "prior", minus=True), "value")
            pairs = over_seeds(_beside(here, "term_pair_precision", "random", minus=False), "value")
            goal = LEAST_GAIN if k == 2 else 0.0
            lines.append(
                [collection, str(k), str(size), gain.text(), f"≥ {goal:.2f}",
                 _met(gain.value, goal), pairs.text(), f"≥ {LEAST_PAIRS}",
                 _met(pairs.value, LEAST_PAIRS)]
            )  # fmt: skip
    head = ["collection", "k", "largest cluster", "accuracy above prior", "wanted", "",
            "term pairs right, times Random", "wanted", ""]  # fmt: skip
    return f"### Goals of `{OURS}`\n\n" + markdown(head, lines)


def _met(value: float, goal: float) -> str:
    if not isfinite(value):
        return "n/a"
    return "reached" if value >= goal else "not reached"


def _beside(rows: list[Row], figure: str, baseline: str, *, minus: bool) -> list[Row]:
    """Return for each seed what our attack has above a baseline, or how many times as much."""
    found = []
    for row in chosen(rows, attack=OURS):
        (other,) = chosen(rows, attack=baseline, seed=row["seed"])
        own, base = row[figure], other[figure]
        if own is None or base is None or (not minus and base == 0):
            continue
        found.append({"seed": row["seed"], "value": own - base if minus else own / base})
    return found


def _by_collection(rows: list[Row]) -> Iterator[str]:
    titles = {
        "accuracy": "accuracy", "accuracy_records": "record chunks", "accuracy_terms":
        "term chunks", "transaction_breakage": "records broken", "km_breakage":
        "protected pairs broken", "term_pair_precision": "precision of term pairs",
    }  # fmt: skip
    for collection in dict.fromkeys(row["collection"] for row in rows):
        for k, size in _settings(rows):
            here = chosen(rows, collection=collection, k=k, size=size)
            keys = dict.fromkeys((row["attack"], row["source"]) for row in here)
            lines = [
                [attack, "–" if source == "none" else source]
                + [
                    over_seeds(chosen(here, attack=attack, source=source), figure).text()
                    for figure in titles
                ]
                for attack, source in sorted(keys, key=lambda key: (ORDER.index(key[0]), key[1]))
            ]
            clusters = over_seeds(here, "clusters").value
            moved = [
                f"{attack} {over_seeds(chosen(here, attack=attack), 'wmd').text()}"
                for attack in ("random", "prior", OURS)
            ]
            distance = f" Word mover's distance (GloVe): {', '.join(moved)}." if k == 2 else ""
            yield (
                f"### {collection}, k = {k}, clusters of up to {size}\n\n{clusters:.0f} clusters."
                f"{distance}\n\n" + markdown(["attack", "source", *titles.values()], lines)
            )
