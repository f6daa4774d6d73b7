"""The two collections of texts as noun transactions, split into private records and a corpus."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from setveil import TransactionTable
from setveil.core.errors import InputError
from setveil.io.embeddings import Vectors
from setveil.io.wordnet import WordNet
from setveil.relatedness import Embedding
from setveil.text.documents import Documents
from setveil.text.noun_phrases import nouns

if TYPE_CHECKING:
    from collections.abc import Sequence

FILES = {
    "Wikipedia": "wikipedia_squad2_dev_35topics.jsonl.gz",
    "MedQuAD": "medquad.jsonl.gz",
}
GLOSSES = "wordnet30_glosses.jsonl.gz"
GLOVE = "glove_100d_small_f16.npz"
WORDNET = "wordnet-3.0-dict.tar.gz"


def data_folder() -> Path:
    """Return the folder of the real data, which SETVEIL_DATA names."""
    folder = os.environ.get("SETVEIL_DATA")
    if not folder:
        raise InputError(
            "the experiments need the real data",
            fix="set SETVEIL_DATA to the folder that holds it",
        )
    return Path(folder)


def texts_of(collection: str) -> list[str]:
    """Return the documents of a collection as they stand in its file."""
    return [document.text for document in Documents(path=data_folder() / FILES[collection])]


def topics_of(collection: str) -> list[str]:
    """Return what each document of a collection is about, where its file says so."""
    topics = Documents(path=data_folder() / FILES[collection], text_field="topic")
    return [document.text for document in topics]


def glosses() -> list[str]:
    """Return what WordNet says about each of its words."""
    return [document.text for document in Documents(path=data_folder() / GLOSSES)]


def noun_rows(texts: Sequence[str]) -> list[list[str]]:
    """Return the nouns of each text: what the tagger calls a noun and WordNet knows as one."""
    wordnet = word_net()
    rows = [sorted(set(nouns(text))) for text in texts]
    known = {word for word in {word for row in rows for word in row} if word in wordnet}
    return [[word for word in row if word in known] for row in rows]


@cache
def documents_of(name: str) -> tuple[list[str], list[list[str]]]:
    """Return the documents of a collection and the nouns of each, found once in a process."""
    texts = texts_of(name)
    return texts, noun_rows(texts)


@cache
def glove() -> Embedding:
    """Return what GloVe's vectors say of words."""
    return Embedding(Vectors.read(data_folder() / GLOVE))


@cache
def word_net() -> WordNet:
    """Return WordNet's words and what they are kinds of."""
    return WordNet.find(data_folder() / WORDNET)


@dataclass(frozen=True, kw_only=True)
class Split:
    """A collection cut in two at random: private records, and texts for a corpus near to them."""

    table: TransactionTable
    near: list[str]


def split(
    texts: Sequence[str], rows: Sequence[list[str]], seed: int, *, most: int | None = None
) -> Split:
    """Return the first half of a random order as records and the second half as texts.

    Parameters
    ----------
    texts, rows
        The documents and their nouns.
    seed
        Of the order.
    most
        How many of the first half become records; all where None.
    """
    order = np.random.default_rng(seed).permutation(len(texts))
    half = len(texts) // 2
    private = order[:half][:most]
    return Split(
        table=TransactionTable.from_rows(rows[i] for i in private.tolist() if rows[i]),
        near=[texts[i] for i in order[half:].tolist()],
    )
