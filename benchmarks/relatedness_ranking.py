"""How often a source of relatedness ranks a record's own item above one of another record."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.row import Row
from setveil.io.embeddings import Vectors
from setveil.io.wordnet import WordNet
from setveil.relatedness import (
    NGD,
    PMI,
    Combined,
    Embedding,
    Training,
    WuPalmer,
    build_index,
)
from setveil.text.documents import Documents
from setveil.text.noun_phrases import nouns

if TYPE_CHECKING:
    from setveil.relatedness import Relatedness

RECORDS = 300
DRAWS = 10
COLLECTIONS = {
    "Wikipedia": "wikipedia_squad2_dev_35topics.jsonl.gz",
    "MedQuAD": "medquad.jsonl.gz",
}


def run(*, small: bool) -> list[Row]:
    """Return the share for each source on both collections, where SETVEIL_DATA names them.

    Half of the documents give the records, the other half and WordNet's glosses the corpus.
    """
    folder = os.environ.get("SETVEIL_DATA")
    if small or not folder:
        return []
    data = Path(folder)
    glosses = [each.text for each in Documents(path=data / "wordnet30_glosses.jsonl.gz")]
    glove = Embedding(Vectors.read(data / "glove_100d_small_f16.npz"))
    wordnet = WuPalmer(WordNet.find(data / "wordnet-3.0-dict.tar.gz"))
    rows = []
    for name, file in COLLECTIONS.items():
        texts = [each.text for each in Documents(path=data / file)]
        np.random.default_rng(0).shuffle(texts)
        half = len(texts) // 2
        records = [nouns(text)[:40] for text in texts[:RECORDS]]
        with tempfile.TemporaryDirectory() as place:
            index = build_index([*texts[half:], *glosses], Path(place, "near.index"))
            start = time.perf_counter()
            trained = Embedding(Training().train(index))
            took = time.perf_counter() - start
            both = Combined(parts=((0.5, NGD(index)), (0.5, trained)))
            sources = {
                "NGD": NGD(index),
                "PMI": PMI(index),
                "vectors trained on the corpus": trained,
                "NGD and trained vectors": both,
                "GloVe": glove,
                "WordNet": wordnet,
            }
            for source, relatedness in sources.items():
                share = ranked_right(relatedness, records)
                rows.append(Row(name=f"{name}: own item nearer, by {source}", value=share, unit=""))
            rows.append(Row(name=f"{name}: training on {index.total:,} documents", value=took,
                            unit="s", most=180))  # fmt: skip
    return rows


def ranked_right(relatedness: Relatedness, records: list[list[str]]) -> float:
    """Return how often a record's item is nearer to the rest of it than an item drawn elsewhere.

    An unknown item counts as a tie, so that a source gains nothing by knowing little.
    """
    rng = np.random.default_rng(1)
    anywhere = [item for record in records for item in record]
    wins = []
    for record in records:
        for _ in range(DRAWS if len(record) > 2 else 0):
            own = record[rng.integers(len(record))]
            other = anywhere[rng.integers(len(anywhere))]
            if other in record:
                continue
            context = [item for item in record if item != own]
            found = relatedness.distances(context, [own, other])
            known = ~np.isnan(found)
            if not known.any(axis=0).all():
                wins.append(0.5)
                continue
            near, far = np.nansum(found, axis=0) / known.sum(axis=0)
            wins.append(0.5 * (near == far) + (near < far))
    return float(np.mean(wins))
