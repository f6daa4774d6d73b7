"""Terms are close whose word vectors point the same way, read from a file or made from a corpus.

References
----------
.. [1] J. Pennington, R. Socher, C. Manning: GloVe: global vectors for word representation. EMNLP
   2014.
.. [2] O. Levy, Y. Goldberg, I. Dagan: Improving distributional similarity with lessons learned
   from word embeddings. TACL 3, 2015.
.. [3] N. Halko, P. G. Martinsson, J. Tropp: Finding structure with randomness. SIAM Review 53
   (2), 2011.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from setveil.core.errors import InfeasibleError, ParameterError, SetveilError
from setveil.core.files import keep_arrays, load_arrays
from setveil.core.registry import register
from setveil.io.embeddings import Vectors
from setveil.relatedness.base import place_of
from setveil.relatedness.index import CorpusIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from setveil.core.arrays import BoolArray, FloatArray
    from setveil.relatedness.base import IntArray
    from setveil.release.base import Release

ROUNDING = 1e-12


@register("relatedness", "glove", paper="Pennington, Socher & Manning 2014")
@dataclass(frozen=True, eq=False)
class Embedding:
    """One minus the cosine of two terms' vectors: 0 the same direction, 1 unrelated, 2 opposite.

    A phrase is the mean of the vectors of its known words. A term without a known word is
    unknown, and so is one whose vector is zero, as that has no direction.

    Parameters
    ----------
    vectors
        The words and their vectors.

    Examples
    --------
    >>> vectors = Vectors(words=("flu", "cold", "rock"), vectors=[[1, 0], [1, 1], [0, -1]])
    >>> Embedding(vectors).distances(["flu"], ["cold", "rock", "flu cold", "x"]).round(3).tolist()
    [[0.293, 1.0, 0.106, nan]]
    """

    vectors: Vectors

    @classmethod
    def from_spec(cls, place: str, *, release: Release | None = None) -> Self:
        """Return the distance by the vectors of a file; of a text only what a release needs."""
        path = place_of("glove", place, "FILE")
        return cls(Vectors.read(path, terms=None if release is None else terms_of(release)))

    def distances(self, rows: Sequence[str], columns: Sequence[str]) -> FloatArray:
        """Return the distance of each row term to each column term; NaN where one is unknown."""
        (down, down_known), (across, across_known) = map(self.vectors.directions, (rows, columns))
        distance = np.clip(1 - down @ across.T, 0, 2)
        both = down_known[:, None] & across_known[None, :]
        # The product of a direction with itself is 1 only up to a rounding.
        distance[distance < ROUNDING] = 0
        return np.where(both, distance, np.nan)

    def known(self, terms: Sequence[str]) -> BoolArray:
        """Tell for each term whether it has a direction."""
        return self.vectors.directions(terms)[1]

    def fingerprint(self) -> str:
        """Return a text that is the same exactly when all distances are."""
        return f"cosine({self._digest})"

    @cached_property
    def _digest(self) -> str:
        digest = hashlib.blake2b("\n".join(self.vectors.words).encode(), digest_size=16)
        digest.update(np.ascontiguousarray(self.vectors.vectors).tobytes())
        return digest.hexdigest()


def terms_of(release: Release) -> list[str]:
    """Return all original items that a release shows, in clear or as members, sorted.

    >>> from setveil import TransactionTable
    >>> from setveil.release.set_generalized import publish_sets
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["mumps"]])
    >>> release, _ = publish_sets(table, [0, 0, 1])
    >>> terms_of(release)
    ['flu', 'gout', 'mumps']
    """
    return release.original_items()


VERSION = 1
"""Of the way vectors are made; kept vectors of another are not used."""
WORDS_PER_DIMENSION = 4
SPARE = 20
"""Directions searched for beyond those wanted, which makes the wanted ones exact enough."""
ROUNDS = 4


@dataclass(frozen=True, kw_only=True)
class Training:
    """How word vectors are made from an index: PPMI of words by documents, then a truncated SVD.

    A word is described by the words that stand in the same documents more often than chance: one
    number, max(0, log(f(w,c)·N / (f(w)·f(c)))), per context word c. The SVD squeezes these into
    `dimensions` numbers; singular values are left out, which gives each direction the same say
    and ranked best of the usual ways (with the values, or their square roots).

    Parameters
    ----------
    dimensions
        Numbers per word; fewer where there are fewer than four words for each.
    words
        Most words that get a vector: those in most documents.
    contexts
        Most words that describe others; words in more than `common` of the documents do not.
    common
        Share of the documents above which a word is too common to describe another.
    least
        Fewest documents of a word that gets a vector.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from setveil.relatedness import build_index
    >>> notes = ["flu fever", "flu cough fever", "cold cough fever", "rock sand", "sand rock dust"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     index = build_index(notes, pathlib.Path(folder, "notes.index"))
    ...     vectors = Training(dimensions=2, common=1).train(index)
    >>> Embedding(vectors).distances(["flu"], ["cough", "sand"]).round(1).tolist()
    [[0.0, 1.0]]
    """

    dimensions: int = 100
    words: int = 60_000
    contexts: int = 5_000
    common: float = 0.3
    least: int = 1

    def __post_init__(self) -> None:
        for name in ("dimensions", "words", "contexts", "least"):
            if getattr(self, name) < 1:
                raise ParameterError(
                    f"{name}={getattr(self, name)} is below 1", fix=f"give {name} of 1 or more"
                )
        if not 0 < self.common <= 1:
            raise ParameterError(
                f"common={self.common} is no share", fix="give a number above 0 and up to 1"
            )

    def train(self, index: CorpusIndex) -> Vectors:
        """Return the vectors of an index; the same index gives the same vectors.

        Raises
        ------
        InfeasibleError
            Too few words stand in enough documents.
        """
        held = np.diff(index.arrays["posting_starts"])
        chosen = np.sort(_most_frequent(held, np.flatnonzero(held >= self.least), self.words))
        usual = np.flatnonzero((held >= self.least) & (held <= self.common * index.total))
        contexts = _most_frequent(held, usual, self.contexts)
        if len(chosen) < 2 or len(contexts) < 2:
            raise InfeasibleError(
                f"{len(chosen)} words stand in {self.least} or more documents, "
                f"{len(contexts)} of them in no more than {self.common:.0%}",
                where=index.path,
                fix="index a larger corpus",
            )
        matrix = _information(index, chosen, contexts)
        vectors = _left_directions(matrix, self.dimensions)
        names = index.words()
        return Vectors(
            words=tuple(names[i] for i in chosen.tolist()), vectors=vectors.astype(np.float32)
        )


def _most_frequent(held: IntArray, among: IntArray, most: int) -> IntArray:
    order = np.argsort(-held[among], kind="stable")
    return among[order[:most]]


def _information(index: CorpusIndex, words: IntArray, contexts: IntArray) -> Any:  # noqa: ANN401
    """Return the positive pointwise mutual information of words and context words, sparse."""
    from scipy import sparse

    starts, postings = index.arrays["posting_starts"], index.arrays["postings"]
    ones = np.ones(len(postings), dtype=np.float32)
    # Numbers of documents are below 2**31 wherever a matrix of them fits into memory.
    by_word = sparse.csr_array(
        (ones, postings.astype(np.int32), starts), shape=(index.n_words, index.total)
    )
    held = np.diff(starts).astype(np.float64)
    together = (by_word[words] @ by_word[contexts].T).tocoo()
    rows, columns = together.coords
    expected = held[words][rows] * held[contexts][columns] / index.total
    information = np.log(together.data / expected)
    # A word is no context of itself: it always stands with itself.
    useful = (information > 0) & (words[rows] != contexts[columns])
    content = information[useful].astype(np.float32)
    return sparse.csr_array((content, (rows[useful], columns[useful])), shape=together.shape)


def _left_directions(matrix: Any, dimensions: int) -> FloatArray:  # noqa: ANN401
    """Return the left singular vectors of the largest singular values, by a randomized method."""
    # With as many directions as words, every word would be as far from each other: with few
    # words, few directions.
    wanted = min(dimensions, max(2, min(matrix.shape) // WORDS_PER_DIMENSION), *matrix.shape)
    rng = np.random.default_rng(0)  # any start will do; a fixed one gives the same vectors again
    start = rng.standard_normal((matrix.shape[1], min(wanted + SPARE, *matrix.shape)))
    basis = _orthogonal(matrix @ start.astype(np.float32))
    for _ in range(ROUNDS):
        basis = _orthogonal(matrix @ _orthogonal(matrix.T @ basis))
    left, values, _ = np.linalg.svd((matrix.T @ basis).T.astype(np.float64), full_matrices=False)
    # Directions of no length are noise.
    kept = np.flatnonzero(values[:wanted] > values[0] * 1e-6)
    return np.asarray(basis @ left[:, kept])


def _orthogonal(block: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return orthonormal columns that span the same space.

    By the eigenvectors of the small matrix of products, many times faster than a QR of a tall
    block; the second pass takes out what rounding left in the first.
    """
    for _ in range(2):
        tall = block.astype(np.float64)
        values, turned = np.linalg.eigh(tall.T @ tall)
        there = values > values[-1] * 1e-10
        block = (tall @ (turned[:, there] / np.sqrt(values[there]))).astype(np.float32)
    return block


@register("relatedness", "trained", paper="Levy, Goldberg & Dagan 2015")
@dataclass(frozen=True, eq=False)
class Trained(Embedding):
    """One minus the cosine of word vectors that are made from the user's own corpus.

    Made vectors are kept in the user's cache directory, under a hash of the index.

    Examples
    --------
    >>> Trained.from_spec("")
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: trained needs to know where. To fix: write trained:INDEX.
    """

    @classmethod
    def from_spec(cls, place: str, *, release: Release | None = None) -> Self:
        """Return the distance by vectors made from the index that a path names."""
        del release
        return cls.of(CorpusIndex.open(place_of("trained", place, "INDEX")))

    @classmethod
    def of(cls, index: CorpusIndex, training: Training | None = None) -> Self:
        """Return the distance by vectors made from an index, or kept from the last time."""
        how = training or Training()
        settings = f"{how.dimensions}-{how.words}-{how.contexts}-{how.common:g}-{how.least}"
        name = f"vectors-{VERSION}-{index.fingerprint()}-{settings}"
        kept = load_arrays(name)
        if kept is not None:
            try:
                words = kept["words"].tobytes().decode().split("\n")
                return cls(Vectors(words=tuple(words), vectors=kept["vectors"]))
            except (LookupError, ValueError, SetveilError):
                pass  # a damaged cache is worth no more than none
        vectors = how.train(index)
        text = np.frombuffer("\n".join(vectors.words).encode(), dtype=np.uint8)
        keep_arrays(name, {"words": text, "vectors": vectors.vectors})
        return cls(vectors)
