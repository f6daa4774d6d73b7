"""Sources of relatedness: how far apart two terms are, each with the same three questions."""

from setveil.relatedness.base import (
    Combined,
    Counts,
    Coverage,
    Relatedness,
    coverage,
    parse_relatedness,
)
from setveil.relatedness.cooccurrence import NGD, PMI, RecordCounts, WithinRelease, ngd, pmi
from setveil.relatedness.embedding import Embedding, Trained, Training
from setveil.relatedness.index import CorpusIndex, build_index
from setveil.relatedness.web import Web, WebConfig, WebCounts
from setveil.relatedness.wordnet import WuPalmer

__all__ = [
    "NGD",
    "PMI",
    "Combined",
    "CorpusIndex",
    "Counts",
    "Coverage",
    "Embedding",
    "RecordCounts",
    "Relatedness",
    "Trained",
    "Training",
    "Web",
    "WebConfig",
    "WebCounts",
    "WithinRelease",
    "WuPalmer",
    "build_index",
    "coverage",
    "ngd",
    "parse_relatedness",
    "pmi",
]
