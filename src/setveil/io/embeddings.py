"""Word vectors from files: GloVe's and word2vec's text, or arrays of NumPy."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from setveil.core.errors import InputError, ParameterError, SetveilError, shortened
from setveil.core.files import shown_name
from setveil.core.missing_items import FIX, ROOT, check_missing, complete
from setveil.core.params import is_whole
from setveil.core.table import frozen
from setveil.core.taxonomy import ADDED_ROOT, Taxonomy
from setveil.core.untrusted import TABLE_LIMIT, read_arrays
from setveil.core.words import fresh_id
from setveil.io.sources import Source

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from setveil.core.missing_items import MissingReport

Float32Array = npt.NDArray[np.float32]

PARTS = re.compile(r"[\s_-]+")
ZIP_MAGIC = b"PK\x03\x04"


@dataclass(frozen=True, kw_only=True, eq=False)
class Vectors:
    """Words and their vectors; a phrase has the mean of the vectors of its known words.

    Parameters
    ----------
    words
        The words, in any order; of a repeated one the first counts.
    vectors
        One row per word.

    Examples
    --------
    >>> vectors = Vectors(words=("sweet", "pea", "rock"), vectors=[[1, 0], [0, 1], [5, 5]])
    >>> rows, known = vectors.of(["Sweet pea", "rock", "unheard-of"])
    >>> rows.tolist(), known.tolist()
    ([[0.5, 0.5], [5.0, 5.0], [0.0, 0.0]], [True, True, False])
    """

    words: tuple[str, ...]
    vectors: Float32Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "vectors", frozen(self.vectors, np.float32))
        if self.vectors.ndim != 2 or len(self.vectors) != len(self.words):
            raise ParameterError("each word needs one row of numbers")
        if not np.all(np.isfinite(self.vectors)):
            raise InputError("a vector holds something that is no number", fix="check the vectors")

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, terms: Iterable[str] | None = None) -> Vectors:
        r"""Read vectors: text (GloVe, word2vec), plain or compressed, or .npz.

        Text has a word and its numbers on each line; a first line with two numbers, as word2vec
        writes it, is passed over. An .npz holds `words` and `vectors`.

        Parameters
        ----------
        path
            The file.
        terms
            What will be looked up; of a text, only the lines that this needs are kept.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "glove.txt")
        ...     _ = file.write_text("flu 0.5 1\ncold 0.25 1\n")
        ...     Vectors.read(file), Vectors.read(file, terms=["cold"]).words
        (<Vectors: 2 words, 2 dimensions>, ('cold',))
        """
        wanted = None if terms is None else {form.encode() for t in terms for form in _forms(t)}
        with Source(path, waits=False) as source:
            if not source.head.startswith(ZIP_MAGIC):
                source.refuse_foreign()
                return _from_text(source, wanted)
        return _from_npz(path)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: i for i, word in reversed(list(enumerate(self.words)))}

    def of(self, terms: Collection[str]) -> tuple[Float32Array, npt.NDArray[np.bool_]]:
        """Return one row per term, and which terms are known; the others' rows are zero.

        A term is looked for as it is, with underscores, and in lower case; else its words are.
        """
        rows = np.zeros((len(terms), self.vectors.shape[1]), dtype=np.float32)
        known = np.zeros(len(terms), dtype=bool)
        for i, term in enumerate(terms):
            places = self._places(term)
            if places:
                rows[i] = self.vectors[places].mean(axis=0)
                known[i] = True
        return rows, known

    def directions(
        self, terms: Collection[str]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Return the vectors of terms at length 1, and which terms have one; other rows are zero.

        >>> vectors = Vectors(words=("flu", "rock"), vectors=[[3, 4], [0, 0]])
        >>> vectors.directions(["flu", "rock"])[1].tolist()
        [True, False]
        """
        rows = self.of(terms)[0].astype(np.float64)
        lengths = np.linalg.norm(rows, axis=1)
        known = lengths > 0
        return rows / np.where(known, lengths, 1)[:, None], known

    def _places(self, term: str) -> list[int]:
        numbers = self._numbers
        for form in _whole_forms(term):
            if form in numbers:
                return [numbers[form]]
        found = (numbers.get(w, numbers.get(w.lower())) for w in PARTS.split(term))
        return [place for place in found if place is not None]

    def __repr__(self) -> str:
        n, d = self.vectors.shape
        return f"<Vectors: {n:,} words, {d} dimensions>"


def _whole_forms(term: str) -> list[str]:
    joined = "_".join(term.split())
    return list(dict.fromkeys([term, joined, term.lower(), joined.lower()]))


def _forms(term: str) -> Iterator[str]:
    yield from _whole_forms(term)
    for word in PARTS.split(term):
        yield word
        yield word.lower()


def _lines(source: Source) -> Iterator[tuple[int, bytes]]:
    before = 0
    for block in source.blocks():
        lines = block.removesuffix(b"\n").split(b"\n")
        yield from enumerate(map(bytes.strip, lines), before + 1)
        before += len(lines)


def _from_text(source: Source, wanted: set[bytes] | None) -> Vectors:
    words: list[str] = []
    rows: list[Float32Array] = []
    width = 0
    for number, line in _lines(source):
        word, _, rest = line.partition(b" " if b" " in line else b"\t")
        if not line or (number == 1 and word.isdigit() and rest.strip().isdigit()):
            continue
        numbers = rest.split()
        width = width or len(numbers)
        if wanted is not None and word not in wanted and len(numbers) == width:
            continue
        extra = len(numbers) - width  # a word of GloVe's may hold spaces
        if extra > 0:
            word, numbers = b" ".join([word, *numbers[:extra]]), numbers[extra:]
        rows.append(_row(numbers, width, line, f"{source.name}, line {number}"))
        words.append(word.decode(errors="replace"))
    if not width:
        raise InputError("there are no vectors in it", where=source.name, fix="give word vectors")
    matrix = np.array(rows, dtype=np.float32).reshape(len(rows), width)
    return Vectors(words=tuple(words), vectors=matrix)


def _row(numbers: list[bytes], width: int, line: bytes, where: str) -> Float32Array:
    try:
        row = np.array(numbers, dtype=np.bytes_).astype(np.float32)
    except ValueError:
        row = np.empty(0, dtype=np.float32)
    if len(row) != width or not width or not np.all(np.isfinite(row)):
        shown = shortened(line[:200].decode(errors="replace"))
        raise InputError(
            f"{shown} is not a word and {width or 'its'} numbers",
            where=where,
            fix="give vectors as text: a word and its numbers on each line",
        )
    return row


def _from_npz(path: str | os.PathLike[str]) -> Vectors:
    fix = "save it by numpy.savez(file, words=array_of_text, vectors=matrix)"
    try:
        held = read_arrays(path, ["words", "vectors"], limit=TABLE_LIMIT)
        words, vectors = held["words"], held["vectors"]
        shown = words.astype(np.str_).tolist() if words.dtype.kind == "U" else _decode_words(words)
    except KeyError as error:
        raise InputError(
            f"no words and vectors can be read from it: there are no {error.args[0]}",
            where=shown_name(path),
            fix=fix,
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(
            f"no words and vectors can be read from it: {error}",
            where=shown_name(path),
            fix=f"copy it again, as it may be damaged; or {fix}",
        ) from None
    if words.ndim != 1 or words.dtype.kind not in "US" or vectors.dtype.kind not in "fiu":
        raise InputError(
            "its words are no list of text, or its vectors no numbers",
            where=shown_name(path),
            fix=fix,
        )
    try:
        return Vectors(words=tuple(shown), vectors=vectors.astype(np.float32))
    except (ParameterError, InputError) as error:
        raise InputError(error.what, where=shown_name(path), fix=fix) from None


def _decode_words(words: npt.NDArray[np.bytes_]) -> list[str]:
    given = words.tolist() if words.dtype.kind == "S" and words.ndim == 1 else []
    return [word.decode(errors="replace") for word in given]


LARGEST = 4000
"""Items that are joined pair by pair: beyond, distances of all pairs would fill the memory."""


@dataclass(kw_only=True)
class Dendrogram:
    """A binary tree: items 0 … n - 1, then pairs, each with the distance at which it was joined."""

    n_items: int
    pairs: list[tuple[int, int]] = field(default_factory=list)
    distances: list[float] = field(default_factory=list)

    def join(self, left: int, right: int, distance: float) -> int:
        """Add the pair of two nodes and return its number."""
        self.pairs.append((left, right))
        self.distances.append(distance)
        return self.n_items + len(self.pairs) - 1

    def children(self, node: int, fanout: int) -> list[int]:
        """Return up to `fanout` nodes below a node: the widest pairs are opened first.

        >>> tree = Dendrogram(n_items=3, pairs=[(0, 1), (3, 2)], distances=[0.1, 0.7])
        >>> tree.children(4, 2), tree.children(4, 3)
        ([3, 2], [2, 0, 1])
        """
        below = list(self.pairs[node - self.n_items])
        while len(below) < fanout:
            open_ones = [v for v in below if v >= self.n_items]
            if not open_ones:
                break
            widest = max(open_ones, key=lambda v: (self.distances[v - self.n_items], v))
            below.remove(widest)
            below += self.pairs[widest - self.n_items]
        return below


def embedding_tree(
    items: Iterable[str],
    vectors: Vectors,
    *,
    fanout: int = 4,
    named: Collection[str] = (),
    missing: str = "error",
    records: Mapping[str, int] | None = None,
) -> tuple[Taxonomy, MissingReport]:
    """Return a tree that joins items with like vectors, and what was done with the others.

    Needs the extra ``[text]``.

    Parameters
    ----------
    items
        Words and phrases.
    vectors
        Their vectors.
    fanout
        Most children of a node.
    named
        Items after which nodes may be named: each after its most central one (``like flu``). A
        release shows the names of all nodes above a published one, so name only items that may
        be known to occur. Other nodes are called ``group 1``, ``group 2`` …
    missing
        What to do with items without a vector: ``"error"`` names them, ``"nearest"`` puts each
        beside the item with the most similar name, ``"drop"`` leaves them out,
        ``"attach-to-root"`` puts them below the root.
    records
        How many records hold each item, for the report.

    Examples
    --------
    >>> from setveil.io.embeddings import Vectors
    >>> vectors = Vectors(words=("cat", "dog", "oak"), vectors=[[1, 0.1], [1, 0.2], [0, 1]])
    >>> tree, _ = embedding_tree(["oak", "dog", "cat"], vectors, fanout=2, named=["dog"])
    >>> tree.ids
    ('group 1', 'group 2', 'cat', 'dog', 'oak')
    >>> tree.names
    ('like dog', 'like dog', 'cat', 'dog', 'oak')
    """
    if not is_whole(fanout, 2):
        raise ParameterError(f"fanout is {fanout!r}", fix="use a whole number of 2 or more")
    check_missing(missing)
    words = sorted(set(items))
    if not words:
        raise InputError("a taxonomy needs at least one item", fix="give data with items")
    rows, has_vector = vectors.directions(words)
    known = np.flatnonzero(has_vector)
    matrix = rows[known]
    nodes = _Nodes(words=[words[i] for i in known], matrix=matrix, named=frozenset(named))
    nodes.grow(dendrogram(matrix), fanout, taken=set(words))
    absent = [words[i] for i in np.flatnonzero(~has_vector)]
    return complete(
        Taxonomy.from_nodes(*nodes.rooted(apart=bool(absent) and missing == ROOT)),
        words,
        missing=missing,
        records=records,
        absent=absent,
        lack="have no vector",
        fix=FIX,
    )


def dendrogram(matrix: npt.NDArray[np.float64]) -> Dendrogram:
    """Join rows of unit length pair by pair, by the greatest cosine distance between two parts.

    The greatest, and not the mean: it gives even trees, and in a deep tree of outliers much is
    lost by climbing. More than `LARGEST` rows are first halved, again and again, along the
    direction in which they differ most.

    >>> dendrogram(np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])).pairs
    [(1, 2), (0, 3)]
    """
    tree = Dendrogram(n_items=len(matrix))
    # Halves wait on the stack until both of their own halves are joined.
    waiting: list[tuple[npt.NDArray[np.intp], bool]] = []
    if len(matrix):
        waiting.append((np.arange(len(matrix)), False))
    done: list[int] = []
    while waiting:
        places, halved = waiting.pop()
        if halved:
            right, left = done.pop(), done.pop()
            done.append(tree.join(left, right, 2.0 + len(places)))  # wider than any distance
        elif len(places) <= LARGEST:
            done.append(_agglomerate(tree, matrix, places))
        else:
            left_half, right_half = _halves(matrix, places)
            waiting += [(places, True), (right_half, False), (left_half, False)]
    return tree


def _halves(
    matrix: npt.NDArray[np.float64], places: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    rows = matrix[places]
    centred = rows - rows.mean(axis=0)
    direction = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    # The sign of a direction is arbitrary: the largest part decides it.
    direction = direction * np.sign(direction[np.argmax(np.abs(direction))])
    order = np.argsort(centred @ direction, kind="stable")
    middle = len(order) // 2
    return np.sort(places[order[:middle]]), np.sort(places[order[middle:]])


def _agglomerate(
    tree: Dendrogram, matrix: npt.NDArray[np.float64], places: npt.NDArray[np.intp]
) -> int:
    """Join the rows at these places and return the node that holds them all."""
    if len(places) == 1:
        return int(places[0])
    try:
        from sklearn.cluster import AgglomerativeClustering
    except ImportError:
        raise SetveilError(
            "a tree from vectors needs scikit-learn", fix="pip install 'setveil[text]'"
        ) from None
    rows = matrix[places]
    # Rounded, so that ties do not hang on the order in which a product was summed up.
    distances = np.maximum(np.round(1 - rows @ rows.T, 12), 0)
    np.fill_diagonal(distances, 0)
    found = AgglomerativeClustering(
        n_clusters=None, distance_threshold=0.0, metric="precomputed", linkage="complete"
    ).fit(distances)
    numbers = places.tolist()
    for (left, right), distance in zip(
        found.children_.tolist(), found.distances_.tolist(), strict=True
    ):
        numbers.append(tree.join(numbers[left], numbers[right], distance))
    return int(numbers[-1])


@dataclass(kw_only=True)
class _Nodes:
    """The nodes of the tree to be: the known items first, then groups from the root down."""

    words: list[str]
    matrix: npt.NDArray[np.float64]
    named: frozenset[str]

    def __post_init__(self) -> None:
        self.ids = list(self.words)
        self.names = list(self.words)
        self.parents = [-1] * len(self.words)

    def grow(self, tree: Dendrogram, fanout: int, taken: set[str]) -> None:
        """Add a group for each node of the dendrogram that is kept."""
        members = _members(tree)
        nameable = np.array([word in self.named for word in self.words], dtype=bool)
        waiting = [(tree.n_items + len(tree.pairs) - 1, -1)] if tree.pairs else []
        width = len(str(len(tree.pairs)))
        while waiting:
            node, above = waiting.pop()
            if node < tree.n_items:
                self.parents[node] = above
                continue
            number = len(self.ids)
            group = f"group {number - tree.n_items + 1:0{width}}"
            self.ids.append(fresh_id(group, taken, "'"))
            self.parents.append(above)
            self.names.append(self._name(members[node - tree.n_items], nameable) or self.ids[-1])
            waiting += [(child, number) for child in reversed(tree.children(node, fanout))]

    def _name(self, members: npt.NDArray[np.intp], nameable: npt.NDArray[np.bool_]) -> str | None:
        """Return the name after the most central member that may be named, if there is one."""
        candidates = members[nameable[members]]
        if not len(candidates):
            return None
        centre = self.matrix[members].sum(axis=0)
        return f"like {self.words[candidates[np.argmax(self.matrix[candidates] @ centre)]]}"

    def rooted(self, *, apart: bool) -> tuple[list[str], list[str], list[int]]:
        """Return the nodes; below a root of their own where other items will hang `apart`.

        A single known item is no category: beside others it needs a root above it, and so do
        others where no item is known.
        """
        if len(self.ids) > len(self.words) or (self.words and not apart):
            return self.ids, self.names, self.parents
        place = len(self.ids)
        return (
            [*self.ids, fresh_id(ADDED_ROOT, set(self.ids), ADDED_ROOT)],
            [*self.names, ADDED_ROOT],
            [*([place] * place), -1],
        )


def _members(tree: Dendrogram) -> list[npt.NDArray[np.intp]]:
    """Return the items below each pair, in the items' order."""
    found: list[npt.NDArray[np.intp]] = []

    def below(node: int) -> npt.NDArray[np.intp]:
        return np.array([node]) if node < tree.n_items else found[node - tree.n_items]

    for left, right in tree.pairs:
        found.append(np.sort(np.concatenate([below(left), below(right)])))
    return found
