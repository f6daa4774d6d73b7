"""A tree over words from WordNet: each below the synset of its most frequent sense."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import InputError
from setveil.data.missing import FIX, check_missing, complete
from setveil.data.naming import counted, fresh_id
from setveil.data.taxonomy import Taxonomy
from setveil.data.wordnet import WordNet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from setveil.data.embeddings import Vectors
    from setveil.data.missing_report import MissingReport


@dataclass(frozen=True, kw_only=True)
class WordTreeReport:
    """How the items of a tree were found in WordNet.

    Parameters
    ----------
    items
        Number of items.
    forms
        Items that were found in another form, with that form: plurals, other spellings.
    heads
        Phrases that stand below their head noun, with that noun.
    missing
        The items that WordNet does not know, and what was done with them.

    Examples
    --------
    >>> from setveil.data.missing_report import MissingReport
    >>> unknown = MissingReport(choice="attach-to-root", items=("xyz",), of_items=3)
    >>> for sentence in WordTreeReport(items=3, forms=(("dogs", "dog"),), heads=(),
    ...                                missing=unknown).sentences():
    ...     print(sentence)
    3 items, found in WordNet: 2.
    Found in another form: 1 item ('dogs → dog').
    """

    items: int
    forms: tuple[tuple[str, str], ...]
    heads: tuple[tuple[str, str], ...]
    missing: MissingReport

    def sentences(self) -> list[str]:
        """Return how the known items were found, as sentences for a person."""
        found = self.items - len(self.missing.items)
        said = [f"{self.items:,} items, found in WordNet: {found:,}."]
        if self.forms:
            shown = [f"{item} → {lemma}" for item, lemma in self.forms]
            said.append(f"Found in another form: {counted(shown, 'item')}.")
        if self.heads:
            shown = [f"{item} → {lemma}" for item, lemma in self.heads]
            said.append(f"Placed below the head noun: {counted(shown, 'phrase')}.")
        return said


def word_tree(
    items: Iterable[str],
    wordnet: WordNet | None = None,
    *,
    missing: str = "error",
    heads: bool = False,
    records: Mapping[str, int] | None = None,
    vectors: Vectors | None = None,
) -> tuple[Taxonomy, WordTreeReport]:
    """Return the tree of first senses over these items, and how they were found.

    The nodes above items are synsets and bear WordNet's names, whatever the items are called: a
    release shows the names of all nodes above a published one, and they must not tell which words
    the data holds. An item whose synset has others below it, or shares it with a synonym, is a
    leaf of its own below it; it costs nothing when it is published as it is.

    Parameters
    ----------
    items
        Words and phrases.
    wordnet
        Where their senses are looked up; if None, what ``WordNet.find`` finds.
    missing
        What to do with unknown items: ``"error"`` names them, ``"nearest"`` puts each beside the
        most similar item, ``"drop"`` leaves them out, ``"attach-to-root"`` puts them below the
        root.
    heads
        Whether an unknown phrase is put below its head: its longest ending that is known.
    records
        How many records hold each item, for the report.
    vectors
        Vectors of items, to look for the most similar one by meaning and not by name.

    Examples
    --------
    >>> senses = {"dog": ["dog.n.01"], "hound": ["dog.n.01"], "pug": ["pug.n.01"]}
    >>> tiny = WordNet.from_senses(senses,
    ...     parents={"pug.n.01": "dog.n.01", "dog.n.01": "animal.n.01"})
    >>> tree, report = word_tree(["hound", "pugs", "lazy dog"], tiny, heads=True)
    >>> tree.ids
    ('animal.n.01', 'dog.n.01', 'hound', 'lazy dog', 'pugs')
    >>> tree.names
    ('animal', 'dog', 'hound', 'lazy dog', 'pugs')
    >>> report.forms, report.heads
    ((('pugs', 'pug'),), (('lazy dog', 'dog'),))
    """
    check_missing(missing)
    words = sorted(set(items))
    if not words:
        raise InputError("a taxonomy needs at least one item", fix="give data with items")
    wordnet = wordnet or WordNet.find()
    lemma_of = {word: wordnet.lemma(word) for word in words}
    head_of = {
        word: _head(word, wordnet) for word, found in lemma_of.items() if heads and found is None
    }
    node_of = {
        word: int(wordnet.senses_of(found)[0])
        for word, lemma in lemma_of.items()
        if (found := lemma or head_of.get(word)) is not None
    }
    absent = [word for word in words if word not in node_of]
    placed = {word: word not in head_of for word in node_of}
    tree, unknown = complete(
        _tree(wordnet.tree, node_of, placed, absent),
        words,
        missing=missing,
        records=records,
        vectors=vectors,
        absent=absent,
        lack="are no nouns of WordNet",
        fix=FIX if heads else f"put phrases below their head noun with heads=True (--heads), {FIX}",
    )
    report = WordTreeReport(
        items=len(words),
        forms=tuple((w, f) for w, f in lemma_of.items() if f and f != w.replace(" ", "_")),
        heads=tuple((word, lemma) for word, lemma in head_of.items() if lemma),
        missing=unknown,
    )
    return tree, report


def _head(phrase: str, wordnet: WordNet) -> str | None:
    """Return the longest known ending of a phrase: in English the head noun stands last."""
    parts = phrase.replace("_", " ").split()
    endings = (" ".join(parts[start:]) for start in range(1, len(parts)))
    return next((lemma for end in endings if (lemma := wordnet.lemma(end))), None)


def _tree(
    synsets: Taxonomy, node_of: dict[str, int], exact: dict[str, bool], absent: list[str]
) -> Taxonomy:
    """Join items and the synsets above them; known and absent items keep their names as ids."""
    part, place = synsets.pruned(list(node_of.values()))
    held: dict[int, list[str]] = {}
    for word, synset in node_of.items():
        held.setdefault(int(place[synset]), []).append(word)
    childless = part.ends == np.arange(1, len(part) + 1)
    taken = {*node_of, *absent}
    ids = [fresh_id(synset, taken, "'") for synset in part.ids]
    names = list(part.names)
    parents = part.parents.tolist()
    for v, words in held.items():
        if v and childless[v] and len(words) == 1 and exact[words[0]]:
            ids[v] = names[v] = words[0]  # the only word at the end of a branch is the leaf itself
        else:
            ids += words
            names += words
            parents += [v] * len(words)
    return Taxonomy.from_nodes(ids, names, parents)
