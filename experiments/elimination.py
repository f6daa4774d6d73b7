"""Attacks on set-generalized nouns: what each finds, with corpora near and far (paper 000)."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.elimination_report import KS, MIDDLE, claims, report
from experiments.noun_texts import FILES, documents_of, glosses, glove, split, texts_of, word_net
from setveil.anonymize import Coat
from setveil.attack import EC, GBA, MDA, RA, RBA, TBA, WBA, Shadow
from setveil.measure import score
from setveil.relatedness import NGD, PMI, Combined, Embedding, Training, WuPalmer, build_index

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from setveil import TransactionTable
    from setveil.attack.elimination.elimination_guess import EliminationGuess
    from setveil.core.arrays import BoolArray, FloatArray
    from setveil.relatedness import CorpusIndex, Relatedness
    from setveil.release.base import Anonymization

    Row = dict[str, Any]

__all__ = ["NAME", "TITLE", "claims", "report", "run", "units"]

NAME = "elimination"
TITLE = "Elimination: which members of a generalized item were added"
SHARES = (Fraction(4, 100), Fraction(10, 100))
SAMPLE = 602
"""Records of the smaller MedQuAD table: as many as half of the Wikipedia paragraphs are."""
SMALL = 150
FIGURES = (
    "precision", "recall", "f1", "kept_f1", "auc", "ece", "sure", "sure_precision",
    "auc_control", "f1_all", "kept_f1_ra", "cell_density",
)  # fmt: skip
DISTANCE_ATTACKS = {"mda": MDA, "tba": TBA, "wba": WBA, "gba": GBA, "rba": RBA}


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One split of one collection: what a process works on at a time.

    `most` bounds the private records, `objective` is COAT's.
    """

    collection: str
    seed: int
    objective: str = "ul_per_gain"
    most: int | None = None

    @property
    def whole(self) -> bool:
        """Whether everything is measured: the others are for one comparison each."""
        return self.objective == "ul_per_gain" and self.most is None

    @property
    def name(self) -> str:
        """What the results call the collection."""
        return self.collection + (f", {self.most} records" if self.most else "")


def units(seeds: int, *, small: bool = False) -> list[Unit]:
    """Return what there is to do.

    >>> len(units(5))
    20
    """
    if small:
        return [Unit(collection="Wikipedia", seed=seed, most=SMALL) for seed in range(seeds)]
    return [
        Unit(collection=collection, seed=seed, objective=objective, most=most)
        for collection, objective, most in (
            ("Wikipedia", "ul_per_gain", None),
            ("MedQuAD", "ul_per_gain", None),
            ("Wikipedia", "ul_gaining", None),
            ("MedQuAD", "ul_per_gain", SAMPLE),
        )
        for seed in range(seeds)
    ]


def run(unit: Unit) -> list[Row]:
    """Return the scores of every attack and source on one split."""
    texts, rows = documents_of(unit.collection)
    parts = split(texts, rows, unit.seed, most=unit.most)
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        near = build_index([*parts.near, *glosses()], Path(folder, "near.index"))
        corpora = {"near": Sources.of(near)}
        if unit.whole:
            corpora["far"] = Sources.of(_far(unit.collection, folder))
        for share in SHARES if unit.objective == "ul_per_gain" else SHARES[:1]:
            for k in (MIDDLE,) if unit.most else KS:
                coat = Coat(k=k, constrained=share, objective=unit.objective)
                made = coat.anonymize(parts.table, rng=np.random.default_rng([unit.seed, k]))
                setting = {
                    "collection": unit.name, "objective": unit.objective, "seed": unit.seed,
                    "share": float(share), "k": k,
                }  # fmt: skip
                scene = Scene(made=made, table=parts.table, coat=coat, seed=unit.seed)
                for corpus, sources in corpora.items():
                    if corpus == "far" and k != MIDDLE:
                        continue  # one k is enough to see what nearness is worth
                    found += [setting | row for row in scene.attacked(sources, corpus)]
    return found


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What an adversary with a corpus knows of words."""

    ngd: Relatedness
    pmi: Relatedness
    trained: Relatedness

    @classmethod
    def of(cls, index: CorpusIndex) -> Sources:
        """Train vectors on a corpus, and count in it."""
        return cls(ngd=NGD(index), pmi=PMI(index), trained=Embedding(Training().train(index)))

    @property
    def each(self) -> dict[str, Relatedness]:
        """The sources by name."""
        return {"ngd": self.ngd, "pmi": self.pmi, "trained": self.trained}


@dataclass(frozen=True)
class Remembered:
    """A source that is asked once for each table: all attacks see the same distances."""

    source: Relatedness
    said: dict[tuple[tuple[str, ...], tuple[str, ...]], FloatArray] = field(default_factory=dict)

    def distances(self, rows: Sequence[str], columns: Sequence[str]) -> FloatArray:
        """Return what the source says, and keep it."""
        key = tuple(rows), tuple(columns)
        if key not in self.said:
            self.said[key] = self.source.distances(rows, columns)
        return self.said[key].copy()

    def known(self, terms: Sequence[str]) -> BoolArray:
        """Tell which terms the source knows."""
        return self.source.known(terms)

    def fingerprint(self) -> str:
        """Return the source's own."""
        return self.source.fingerprint()


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A release, what it was made from, and how."""

    made: Anonymization
    table: TransactionTable
    coat: Coat
    seed: int

    def attacked(self, sources: Sources, corpus: str) -> Iterator[Row]:
        """Yield the scores of every attack with what an adversary with this corpus knows."""
        release = self.made.release
        if corpus == "near":  # these know nothing of a corpus: once is enough
            rng = np.random.default_rng([self.seed, 1])
            yield self._scored(RA().run(release, rng=rng), "chance", "any")
            vectors = Remembered(glove())
            for attack in DISTANCE_ATTACKS.values():
                yield self._scored(attack().run(release, relatedness=vectors), "glove", "any")
            alike = WuPalmer(word_net())
            yield self._scored(RBA().run(release, relatedness=alike), "wordnet", "any")
        for source, related in sources.each.items():
            remembered = Remembered(related)
            for attack in DISTANCE_ATTACKS.values():
                yield self._scored(attack().run(release, relatedness=remembered), source, corpus)
        both = Combined(parts=((1, sources.ngd), (1, glove())))
        yield self._scored(EC().run(release, relatedness=both), "corpus and glove", corpus)
        every = Combined(parts=((1, sources.ngd), (1, glove()), (1, sources.trained)))
        rng = np.random.default_rng([self.seed, 2])
        guess = Shadow().run(release, relatedness=every, anonymizer=self.coat, rng=rng)
        yield self._scored(guess, "corpus, glove and trained", corpus)

    def _scored(self, guess: EliminationGuess, source: str, corpus: str) -> Row:
        rates = score(guess, release=self.made.release, original=self.table, key=self.made.key)
        figures = {name: rates[name].value if rates[name] else None for name in FIGURES}
        return {"corpus": corpus, "attack": guess.attack, "source": source, **figures}


def _far(name: str, folder: str) -> CorpusIndex:
    other = next(each for each in FILES if each != name)
    return build_index([*texts_of(other), *glosses()], Path(folder, "far.index"))
