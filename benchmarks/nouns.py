"""The nouns of real texts with the tree of WordNet over them, as the thesis' query log had."""

from __future__ import annotations

from typing import TYPE_CHECKING

from setveil import Taxonomy, TransactionTable
from setveil.io.wordnet import WordNet
from setveil.text.documents import Documents
from setveil.text.extract import extract

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = {
    "Wikipedia nouns": "wikipedia_squad2_dev_35topics.jsonl.gz",
    "MedQuAD nouns": "medquad.jsonl.gz",
}


def noun_datasets(data: Path, *, small: bool) -> dict[str, tuple[TransactionTable, Taxonomy]]:
    """Return the nouns that WordNet knows, per document, and their first-sense tree.

    At a small size MedQuAD is left out: its 3.3 million words take a minute to tag.
    """
    wordnet = WordNet.find(data / "wordnet-3.0-dict.tar.gz")
    found = {}
    for name, file in TEXTS.items():
        if small and name == "MedQuAD nouns":
            continue
        nouns = extract(Documents(path=data / file), method="nouns").table
        known = {word for word in nouns.vocabulary.names if word in wordnet}
        rows = [[word for word in row if word in known] for row in nouns.to_rows()]
        table = TransactionTable.from_rows(row for row in rows if row)
        found[name] = (table, Taxonomy.from_wordnet(table.vocabulary.names, wordnet))
    return found
