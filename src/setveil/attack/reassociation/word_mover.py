"""Word mover's distance: how far the terms of one record must travel to become another's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from setveil.core.arrays import FloatArray


class Distances(Protocol):
    """Whatever tells how far apart terms are: any source of relatedness."""

    def distances(self, rows: Sequence[str], columns: Sequence[str]) -> FloatArray:
        """Return the distance of each row term to each column term; NaN where there is none."""
        ...


class WordMover:
    """The distances between the terms of some records, and how to move one record into another.

    Each term of a record holds an equal share of it, and the cost of moving a share is its size
    times the distance; the word mover's distance is the least cost. A term that the source does
    not know is left out of its record.

    Parameters
    ----------
    relatedness
        How far apart terms are.
    terms
        All terms that occur.

    Raises
    ------
    ParameterError
        The package POT, which solves the transport problem, is not installed.

    Examples
    --------
    >>> class Letters:
    ...     def distances(self, rows, columns):
    ...         return np.array([[abs(ord(a) - ord(b)) for b in columns] for a in rows], float)
    >>> mover = WordMover(Letters(), "abc")
    >>> round(mover.distance(("a", "b"), ("a", "c")), 9), mover.distance("ab", "ba")
    (0.5, 0.0)
    >>> mover.longest
    2.0

    References
    ----------
    M. Kusner, Y. Sun, N. Kolkin, K. Weinberger: From word embeddings to document distances.
    ICML 2015.
    """

    def __init__(self, relatedness: Distances, terms: Iterable[str]) -> None:
        self._emd2: Callable[..., Any] = _transport()
        names = sorted(set(terms))
        apart = np.array(relatedness.distances(names, names), dtype=np.float64)
        apart = apart.reshape(len(names), len(names))
        known = np.isfinite(apart.diagonal())
        # Sources that count may say less than 0 of terms that attract; staying must be best.
        apart = np.maximum(apart[np.ix_(known, known)], 0.0)
        np.fill_diagonal(apart, 0.0)
        self._apart = apart
        kept = (name for name, is_known in zip(names, known, strict=True) if is_known)
        self._place = {name: place for place, name in enumerate(kept)}
        self._found: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}

    @property
    def longest(self) -> float:
        """The greatest distance between two terms, which no record exceeds."""
        return float(self._apart.max(initial=0.0))

    def distance(self, first: Collection[str], second: Collection[str]) -> float | None:
        """Return the distance of two records; None where one of them has no known term.

        Equal records have the distance 0, even where nothing is known of their terms.
        """
        if set(first) == set(second):
            return 0.0
        pair = self._places(first), self._places(second)
        if not all(pair):
            return None
        if pair not in self._found:
            weights = [np.full(len(places), 1 / len(places)) for places in pair]
            cost = self._emd2(*weights, self._apart[np.ix_(*pair)], check_marginals=False)
            self._found[pair] = float(cost)
        return self._found[pair]

    def _places(self, terms: Collection[str]) -> tuple[int, ...]:
        return tuple(sorted(self._place[term] for term in terms if term in self._place))


def _transport() -> Callable[..., Any]:
    """Return POT's solver, or say what to install."""
    try:
        from ot import emd2
    except ImportError:
        raise ParameterError(
            "word mover's distance needs the package POT, which is not installed",
            fix="pip install 'setveil[attack]'",
        ) from None
    solver: Callable[..., Any] = emd2
    return solver
