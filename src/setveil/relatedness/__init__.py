"""Sources of relatedness: how far apart two terms are, each with the same three questions."""

from setveil.relatedness.base import (
    Counts,
    Coverage,
    Relatedness,
    coverage,
    parse_relatedness,
)
from setveil.relatedness.combined import Combined
from setveil.relatedness.cooccurrence import NGD, PMI, ngd, pmi
from setveil.relatedness.embedding import Embedding
from setveil.relatedness.from_release import RecordCounts, WithinRelease
from setveil.relatedness.index import CorpusIndex
from setveil.relatedness.index_build import build_index
from setveil.relatedness.training import Trained, Training
from setveil.relatedness.web import Web, WebCounts
from setveil.relatedness.web_config import WebConfig
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
