"""WordNet's nouns: senses of words, the tree of their first hypernyms, likeness in that tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from setveil.core.errors import InputError, ParameterError, SetveilError
from setveil.core.files import keep_arrays, load_arrays
from setveil.core.missing_items import FIX, check_missing, complete
from setveil.core.table import frozen
from setveil.core.taxonomy import Taxonomy
from setveil.core.words import counted, fresh_id
from setveil.io.wordnet_files import Nouns, content_key, find_place, parse, read_files

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from setveil.core.arrays import FloatArray, Int32Array, Int64Array
    from setveil.core.missing_items import MissingReport
    from setveil.io.embeddings import Vectors


CACHE_VERSION = 1
PLURALS = (
    ("s", ""),
    ("ses", "s"),
    ("ves", "f"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
)
"""WordNet's rules of detachment for nouns, in its order."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WordNet:
    """The nouns of WordNet: a tree of synsets, and the synsets that each word may stand for.

    A synset is a node of `tree`, where it lies below its first hypernym; its id is the usual
    name (``dog.n.01``), its name the first word.

    Parameters
    ----------
    tree
        All synsets, in preorder.
    lemmas
        Words in base form, lower case, with underscores for spaces.
    starts, senses
        The synsets of lemma i are ``senses[starts[i]:starts[i + 1]]``, most frequent first.
    exceptions
        Irregular plurals and their singulars.

    References
    ----------
    C. Fellbaum (ed.): WordNet, an Electronic Lexical Database. MIT Press, 1998.

    Examples
    --------
    >>> senses = {"dog": ["dog.n.01", "andiron.n.01"], "puppy": ["puppy.n.01"]}
    >>> wordnet = WordNet.from_senses(senses,
    ...     parents={"puppy.n.01": "dog.n.01", "dog.n.01": "entity.n.01",
    ...              "andiron.n.01": "entity.n.01"})
    >>> [wordnet.tree.ids[v] for v in wordnet.senses_of("dogs")]
    ['dog.n.01', 'andiron.n.01']
    >>> "Puppies" in wordnet, "cat" in wordnet
    (True, False)
    >>> wordnet.likeness(["dog"], ["puppy", "cat"])
    array([[0.8, nan]])
    """

    tree: Taxonomy
    lemmas: tuple[str, ...]
    starts: Int64Array
    senses: Int32Array
    exceptions: Mapping[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "starts", frozen(self.starts, np.int64))
        object.__setattr__(self, "senses", frozen(self.senses, np.int32))
        if len(self.starts) != len(self.lemmas) + 1 or self.starts[-1] != len(self.senses):
            raise ParameterError("each lemma needs its run of senses")
        if len(self.senses) and not 0 <= self.senses.min() <= self.senses.max() < len(self.tree):
            raise ParameterError("a sense is no node of the tree")

    # --- where it comes from ------------------------------------------------------------------

    @classmethod
    def find(cls, directory: str | os.PathLike[str] | None = None) -> WordNet:
        """Read WordNet from a folder or an archive (.tar.gz, .zip), or from where it usually lies.

        Without a `directory` it is looked for in ``$WNSEARCHDIR``, ``$WNHOME/dict``, Debian's
        ``/usr/share/wordnet`` and NLTK's data. What was read is kept in the user's cache
        directory, under a key of its content, and taken from there the next time.

        >>> WordNet.find("nowhere")
        Traceback (most recent call last):
        setveil.core.errors.InputError: nowhere: there is no WordNet here. To fix: ...
        """
        place = find_place(directory)
        key = content_key(place)
        name = f"wordnet-{CACHE_VERSION}-{key}"
        kept = load_arrays(name)
        if kept is not None:
            try:
                return _from_arrays(kept)
            except (LookupError, TypeError, ValueError, SetveilError):
                pass  # a damaged cache is worth no more than none
        files = read_files(place, key)
        try:
            wordnet = _from_nouns(parse(files))
        except InputError as error:
            raise InputError(error.what, where=error.where or files.name, fix=error.fix) from None
        keep_arrays(name, _arrays(wordnet))
        return wordnet

    @classmethod
    def from_senses(
        cls,
        senses: Mapping[str, Sequence[str]],
        *,
        parents: Mapping[str, str | None],
        exceptions: Mapping[str, tuple[str, ...]] | None = None,
    ) -> WordNet:
        """Build a small lexicon of your own: word → its synsets, synset → the one above it.

        >>> WordNet.from_senses({"pug": ["pug.n.01"]}, parents={"pug.n.01": "dog.n.01"}).tree.names
        ('dog', 'pug')
        """
        ids = list(dict.fromkeys([*parents, *filter(None, parents.values())]))
        place = {synset: i for i, synset in enumerate(ids)}
        unknown = sorted(set(chain.from_iterable(senses.values())) - set(place))
        if unknown:
            raise InputError(
                f"the synset {unknown[0]!r} has no place in the tree", fix="give it a parent"
            )
        return _from_nouns(
            Nouns(
                ids=ids,
                names=[synset.split(".")[0].replace("_", " ") for synset in ids],
                parents=[-1 if (up := parents.get(i)) is None else place[up] for i in ids],
                senses={
                    _key(word): [place[synset] for synset in found]
                    for word, found in senses.items()
                },
                exceptions=dict(exceptions or {}),
            )
        )

    # --- words --------------------------------------------------------------------------------

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {lemma: i for i, lemma in enumerate(self.lemmas)}

    def bases(self, word: str) -> list[str]:
        """Return the lemmas that a word may be a form of: itself, then its singulars.

        >>> tiny = WordNet.from_senses({"ox": ["ox.n.01"], "box": ["box.n.01"]},
        ...     parents={"ox.n.01": None, "box.n.01": None}, exceptions={"oxen": ("ox",)})
        >>> tiny.bases("oxen"), tiny.bases("Boxes"), tiny.bases("fox")
        (['ox'], ['box'], [])
        """
        form = _key(word)
        singulars = self.exceptions.get(form) or [
            form[: -len(ending)] + base for ending, base in PLURALS if form.endswith(ending)
        ]
        return [base for base in dict.fromkeys([form, *singulars]) if base in self._numbers]

    def lemma(self, word: str) -> str | None:
        """Return the base form under which a word is listed; None if it is not.

        As WordNet does, a word with hyphens is also looked for with spaces and joined.

        >>> tiny = WordNet.from_senses({"ice cream": ["ice_cream.n.01"]},
        ...                            parents={"ice_cream.n.01": None})
        >>> tiny.lemma("ice-creams"), tiny.lemma("cream")
        ('ice_cream', None)
        """
        form = _key(word)
        spelt = [form, form.replace("-", "_"), form.replace("_", "-")]
        joined = form.replace("-", "").replace("_", "")
        for variant in dict.fromkeys([*spelt, joined] if "-" in form else spelt):
            bases = self.bases(variant) if variant else []
            if bases:
                return bases[0]
        return None

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.lemma(word) is not None

    def senses_of(self, word: str) -> Int32Array:
        """Return the nodes that a word may stand for, most frequent first; none if unknown.

        >>> tiny = WordNet.from_senses({"pug": ["pug.n.01"]}, parents={"pug.n.01": "dog.n.01"})
        >>> tiny.senses_of("pugs").tolist(), tiny.senses_of("cat").tolist()
        ([1], [])
        """
        lemma = self.lemma(word)
        if lemma is None:
            return self.senses[:0]
        number = self._numbers[lemma]
        return self.senses[self.starts[number] : self.starts[number + 1]]

    # --- likeness -----------------------------------------------------------------------------

    def wu_palmer(self, a: npt.ArrayLike, b: npt.ArrayLike) -> FloatArray:
        """Return 2·depth(lca) / (depth(a) + depth(b)) for each pair of nodes; the root has depth 1.

        >>> tiny = WordNet.from_senses({}, parents={"pug.n.01": "dog.n.01", "tom.n.01": "dog.n.01"})
        >>> tiny.wu_palmer([1, 1], [1, 2]).tolist()
        [1.0, 0.5]
        """
        first, second = np.broadcast_arrays(np.asarray(a), np.asarray(b))
        depths = self.tree.depths.astype(np.float64)
        shared = depths[self.tree.lca(first, second)]
        return np.asarray(2 * shared / (depths[first] + depths[second]))

    def path_similarity(self, a: npt.ArrayLike, b: npt.ArrayLike) -> FloatArray:
        """Return 1 / (1 + edges between a and b) for each pair of nodes.

        >>> tiny = WordNet.from_senses({}, parents={"pug.n.01": "dog.n.01", "tom.n.01": "dog.n.01"})
        >>> tiny.path_similarity([0, 1], [1, 2]).round(2).tolist()
        [0.5, 0.33]
        """
        first, second = np.broadcast_arrays(np.asarray(a), np.asarray(b))
        depths = self.tree.depths.astype(np.float64)
        edges = depths[first] + depths[second] - 2 * depths[self.tree.lca(first, second)]
        return np.asarray(1 / (1 + edges))

    def likeness(
        self,
        rows: Iterable[str],
        columns: Iterable[str],
        *,
        measure: Literal["wu-palmer", "path"] = "wu-palmer",
    ) -> FloatArray:
        """Return the likeness of words, best over their senses; NaN where a word is unknown.

        >>> tiny = WordNet.from_senses({"pug": ["pug.n.01"], "dog": ["dog.n.01"]},
        ...                            parents={"pug.n.01": "dog.n.01"})
        >>> tiny.likeness(["pug"], ["dog", "pug"], measure="path")
        array([[0.5, 1. ]])
        """
        measures = {"wu-palmer": self.wu_palmer, "path": self.path_similarity}
        if measure not in measures:
            raise ParameterError(
                f"measure={measure!r} is not known", fix=f"use one of {', '.join(measures)}"
            )
        left = [self.senses_of(word) for word in rows]
        right = [self.senses_of(word) for word in columns]
        result = np.full((len(left), len(right)), np.nan)
        across = [j for j, nodes in enumerate(right) if len(nodes)]
        if not across:
            return result
        seconds = np.concatenate([right[j] for j in across])
        begins = np.cumsum([0] + [len(right[j]) for j in across[:-1]])
        # One row of words at a time: memory stays that of one block, whatever the number of rows.
        for i, nodes in enumerate(left):
            if len(nodes):
                pairs = measures[measure](nodes[:, None], seconds[None, :])
                result[i, across] = np.maximum.reduceat(pairs.max(axis=0), begins)
        return result

    def __repr__(self) -> str:
        return f"<WordNet: {len(self.tree):,} synsets, {len(self.lemmas):,} lemmas>"


def _key(word: str) -> str:
    return "_".join(word.lower().split())


def _from_nouns(nouns: Nouns) -> WordNet:
    tree = Taxonomy.from_nodes(nouns.ids, nouns.names, nouns.parents)
    node_of = {synset: v for v, synset in enumerate(tree.ids)}
    numbers = np.array([node_of[synset] for synset in nouns.ids], dtype=np.int32)
    lemmas = sorted(nouns.senses)
    flat = [synset for lemma in lemmas for synset in nouns.senses[lemma]]
    return WordNet(
        tree=tree,
        lemmas=tuple(lemmas),
        starts=np.cumsum([0] + [len(nouns.senses[lemma]) for lemma in lemmas]),
        senses=numbers[flat] if flat else np.empty(0, dtype=np.int32),
        exceptions=nouns.exceptions,
    )


# --- the cache: names as bytes, as nothing is ever unpickled --------------------------------------


def _arrays(wordnet: WordNet) -> dict[str, npt.NDArray[Any]]:
    return {
        "ids": _pack(wordnet.tree.ids),
        "names": _pack(wordnet.tree.names),
        "parents": wordnet.tree.parents,
        "leaves": wordnet.tree.leaves,
        "lemmas": _pack(wordnet.lemmas),
        "starts": wordnet.starts,
        "senses": wordnet.senses,
        "exceptions": _pack([" ".join((a, *b)) for a, b in wordnet.exceptions.items()]),
    }


def _from_arrays(kept: Mapping[str, npt.NDArray[Any]]) -> WordNet:
    exceptions = (line.split(" ") for line in _unpack(kept["exceptions"]))
    return WordNet(
        tree=Taxonomy(
            ids=_unpack(kept["ids"]),
            names=_unpack(kept["names"]),
            parents=kept["parents"],
            leaves=kept["leaves"],
            pseudo=np.zeros(len(kept["parents"]), dtype=bool),
        ),
        lemmas=_unpack(kept["lemmas"]),
        starts=kept["starts"],
        senses=kept["senses"],
        exceptions={form: tuple(bases) for form, *bases in exceptions},
    )


def _pack(words: Sequence[str]) -> npt.NDArray[np.uint8]:
    return np.frombuffer("\n".join(words).encode(), dtype=np.uint8)


def _unpack(raw: npt.NDArray[np.uint8]) -> tuple[str, ...]:
    text = raw.tobytes().decode()
    return tuple(text.split("\n")) if text else ()


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
    >>> from setveil.core.missing_items import MissingReport
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
