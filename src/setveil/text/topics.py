"""Topics of records or documents, by non-negative matrix factorisation of their TF-IDF weights."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from setveil.core.errors import InputError, ParameterError
from setveil.core.table import TransactionTable, frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.core.arrays import FloatArray, Int64Array


PASSES = 400
ENOUGH = 1e-3
"""Relative progress below which the factorisation stops."""

NOTICEABLE = 0.01


class HasText(Protocol):
    """A document: anything with a text."""

    @property
    def text(self) -> str:
        """What it says."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Topics:
    """Topics 1, 2, …, from the one with most records on.

    Parameters
    ----------
    weights
        How much of each record is about each topic: a row per record, which sums to 1 (to 0 for
        a record that shares no item with another one), and topic t in column t − 1.
    terms
        How much each item belongs to each topic: a row per topic, which sums to 1.
    names
        The items behind the columns of `terms`.
    converged
        Whether the factorisation had settled when it stopped.
    """

    weights: FloatArray
    terms: FloatArray
    names: tuple[str, ...]
    converged: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", frozen(self.weights, np.float64))
        object.__setattr__(self, "terms", frozen(self.terms, np.float64))

    def __len__(self) -> int:
        return len(self.terms)

    def __repr__(self) -> str:
        return f"<Topics: {len(self):,} over {len(self.weights):,} records>"

    @cached_property
    def topic_of(self) -> Int64Array:
        """The main topic of each record; 0 for a record that has none."""
        main = np.argmax(self.weights, axis=1) + 1
        return frozen(np.where(self.weights.any(axis=1), main, 0), np.int64)

    @cached_property
    def sizes(self) -> Int64Array:
        """Number of records whose main topic is 1, 2, …."""
        return np.bincount(self.topic_of, minlength=len(self) + 1)[1:]

    def top_words(self, topic: int, count: int = 10) -> tuple[str, ...]:
        """Return the items that belong most to a topic, the strongest first, ties by name.

        Items with less than a hundredth of the strongest one's weight are left out.

        >>> found = Topics(weights=np.eye(2), terms=np.array([[0.1, 0.9], [1, 0]]),
        ...                names=("flu", "rash"), converged=True)
        >>> found.top_words(1), found.top_words(2)
        (('rash', 'flu'), ('flu',))
        """
        row = self.terms[self._check(topic) - 1]
        strongest = np.argsort(-row, kind="stable")[:count]
        least = max(NOTICEABLE * row.max(), np.finfo(np.float64).tiny)
        return tuple(self.names[i] for i in strongest.tolist() if row[i] >= least)

    def records(
        self,
        topics: Iterable[int] | None = None,
        *,
        per_topic: int | None = None,
        least: float = 0.0,
    ) -> Int64Array:
        """Return the places of the records whose main topic is one of `topics`.

        Parameters
        ----------
        topics
            The topics; None for all of them.
        per_topic
            Greatest number of records of a topic: those that are most about it, earlier ones
            first among equals. None for all.
        least
            Least weight of the main topic in a record, from 0 to 1.

        Examples
        --------
        >>> found = Topics(weights=np.array([[0.6, 0.4], [0.2, 0.8], [0.9, 0.1]]),
        ...                terms=np.eye(2), names=("flu", "rash"), converged=True)
        >>> found.records([1]).tolist(), found.records(per_topic=1).tolist()
        ([0, 2], [1, 2])
        >>> found.records(least=0.7).tolist()
        [1, 2]
        """
        if per_topic is not None and per_topic < 1:
            raise ParameterError(f"per_topic is {per_topic}", fix="take at least one record")
        if not 0 <= least <= 1:
            raise ParameterError(f"least is {least}", fix="use a share from 0 to 1")
        wanted = range(1, len(self) + 1) if topics is None else dict.fromkeys(topics)
        found = []
        for topic in wanted:
            column = self.weights[:, self._check(topic) - 1]
            about = np.flatnonzero((self.topic_of == topic) & (column >= least))
            found.append(about[np.argsort(-column[about], kind="stable")][:per_topic])
        return np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *found]))

    def _check(self, topic: int) -> int:
        if not 1 <= topic <= len(self):
            raise ParameterError(
                f"there is no topic {topic}", fix=f"choose from the topics 1 to {len(self)}"
            )
        return topic


def topics(source: TransactionTable | Iterable[HasText | str], n: int, seed: int = 0) -> Topics:
    """Find `n` topics of records or documents.

    Each record is a vector of TF-IDF weights of length 1. Their matrix is approximated by a
    product of two matrices without negative entries: how much of each topic a record has, and
    how much of each item a topic has. Items of a single record connect nothing and are left out.

    Parameters
    ----------
    source
        A table, or documents (or their texts), which are turned into tokens first.
    n
        Number of topics; at most as many as there are records, and items of two or more records.
    seed
        Seed of the factorisation's start. The same bag of records gives the same topics in any
        order; they are computed on one core, so that the number of cores changes nothing.

    Returns
    -------
    Topics
        The topics, that with most records first.

    Raises
    ------
    ParameterError
        If `n` is out of range, or scikit-learn is not installed.

    Examples
    --------
    >>> rows = [["flu", "fever"], ["flu", "cough", "fever"], ["cough", "flu"],
    ...         ["rash", "itch"], ["itch", "rash", "eczema"]]
    >>> found = topics(TransactionTable.from_rows(rows), 2)
    >>> found.topic_of.tolist(), found.top_words(2)
    ([1, 1, 1, 2, 2], ('itch', 'rash'))

    Notes
    -----
    The paper names the factorisation and not its details. Here: smoothed inverse document
    frequencies, Frobenius norm, coordinate descent from NNDSVDa, no regularisation.

    References
    ----------
    A. AlShuhail, J. Shao, "Semantic attack on disassociated transaction data", 2023, "Dataset
    preparation". D. D. Lee, H. S. Seung, "Learning the parts of objects by non-negative matrix
    factorization", Nature 401, 1999.
    """
    if n < 1:
        raise ParameterError(f"the number of topics is {n}", fix="ask for at least one")
    if not 0 <= seed < 2**32:
        raise ParameterError(f"the seed is {seed}", fix="use a number from 0 to 4294967295")
    table = _table_of(source)
    shared = np.flatnonzero(table.supports() >= 2)
    most = min(len(table), len(shared))
    if n > most:
        raise ParameterError(
            f"{n:,} topics cannot be told apart in {len(table):,} records with {len(shared):,} "
            "items that two or more of them hold",
            fix=f"ask for at most {most:,}" if most else "give more records, or longer ones",
        )
    order = table.canonical_order()
    in_records, in_topics, converged = _factors(table.take(order), shared, n, seed)
    weights = np.zeros((len(table), n))
    weights[order] = in_records
    return _largest_first(
        Topics(
            weights=weights,
            terms=in_topics,
            names=tuple(table.vocabulary[i] for i in shared.tolist()),
            converged=converged,
        )
    )


def _table_of(source: TransactionTable | Iterable[HasText | str]) -> TransactionTable:
    if isinstance(source, TransactionTable):
        return source
    if isinstance(source, str):
        raise InputError("this is one text, not several documents", fix="pass a list of texts")
    from setveil.text.noun_phrases import tokens

    return TransactionTable.from_rows(
        tokens(each if isinstance(each, str) else each.text) for each in source
    )


def _factors(
    table: TransactionTable, shared: Int64Array, n: int, seed: int
) -> tuple[FloatArray, FloatArray, bool]:
    """Return the two factors, rows of each summing to 1, and whether they had settled."""
    try:
        from scipy.sparse import csr_matrix
        from sklearn.decomposition import NMF
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.feature_extraction.text import TfidfTransformer
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
    except ImportError:
        raise ParameterError(
            "topics need scikit-learn, which is not installed", fix="pip install 'setveil[text]'"
        ) from None
    counts = csr_matrix(
        (np.ones(len(table.items)), table.items, table.offsets),
        shape=(len(table), table.n_items),
        copy=True,
    )
    counts.sum_duplicates()
    # It stops by progress relative to the start: NNDSVD without its zeros filled can start at the
    # optimum, and would then never be done.
    factorisation = NMF(
        n_components=n, init="nndsvda", tol=ENOUGH, max_iter=PASSES, random_state=seed
    )
    with threadpool_limits(1), warnings.catch_warnings():
        # Not having settled is told by `converged`.
        warnings.simplefilter("ignore", ConvergenceWarning)
        weighted = TfidfTransformer().fit_transform(counts[:, shared])
        in_records = factorisation.fit_transform(weighted)
    in_topics = factorisation.components_
    # A topic's scale can stand in either factor; put all of it where records are compared.
    in_records = in_records * in_topics.sum(axis=1)
    return _summing_to_1(in_records), _summing_to_1(in_topics), factorisation.n_iter_ < PASSES


def _summing_to_1(rows: FloatArray) -> FloatArray:
    sums = rows.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(rows, sums, out=np.zeros_like(rows), where=sums > 0))


def _largest_first(found: Topics) -> Topics:
    order = np.lexsort((-found.weights.sum(axis=0), -found.sizes))
    return Topics(
        weights=found.weights[:, order],
        terms=found.terms[order],
        names=found.names,
        converged=found.converged,
    )
