"""Why a member was eliminated: which items of the record's context spoke against it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.attack.tables import Contexts
from setveil.errors import ParameterError

if TYPE_CHECKING:
    from setveil.attack.elimination_guess import EliminationGuess
    from setveil.relatedness.base import Relatedness
    from setveil.release.set_generalized import SetGeneralizedRelease


class Reason(NamedTuple):
    """What one item of a context says about an eliminated member.

    Parameters
    ----------
    group
        Number of the generalized item in the release.
    member
        The eliminated member.
    score
        The number that decided on its elimination.
    context
        An item that the record shows in clear.
    distance
        How far the member is from it.
    others
        How far the members that were kept are from it, on average.
    """

    group: int
    member: str
    score: float
    context: str
    distance: float
    others: float


def reasons(
    guess: EliminationGuess,
    release: SetGeneralizedRelease,
    record: int,
    *,
    relatedness: Relatedness,
    most: int = 3,
) -> tuple[Reason, ...]:
    """Return for each eliminated member of a record the items that spoke most against it.

    An item speaks against a member as far as the member is farther from it than those members are
    that the attack kept in this record.

    Parameters
    ----------
    guess
        What an attack said about `release`.
    release
        The release.
    record
        Number of a record in it, counted from 0.
    relatedness
        Where the attack had its distances from.
    most
        How many items are named for each member.

    Examples
    --------
    >>> from setveil.attack import MDA
    >>> from setveil.data import TransactionTable
    >>> from setveil.relatedness import NGD, RecordCounts
    >>> from setveil.release.set_generalized import publish_sets
    >>> table = TransactionTable.from_rows([["fever", "flu"], ["toe", "gout"]])
    >>> release, _ = publish_sets(table, [0, 1, 1, 2])
    >>> corpus = [["fever", "flu"], ["flu"], ["toe", "gout"], ["gout"], ["fever", "toe"]]
    >>> ngd = NGD(RecordCounts.from_rows(corpus))
    >>> guess = MDA().run(release, relatedness=ngd)
    >>> (reason,) = reasons(guess, release, 0, relatedness=ngd)
    >>> reason.member, reason.context, reason.distance, round(reason.others, 2)
    ('gout', 'fever', 1.0, 0.76)
    """
    if isinstance(record, bool) or not 0 <= record < len(release):
        raise ParameterError(
            f"there is no record {record!r}", fix=f"the release has records 0 to {len(release) - 1}"
        )
    context = Contexts.of(release).terms(record)
    found: list[Reason] = []
    for table in guess.tables:
        rows = np.flatnonzero(table.records == record)
        if not len(rows):
            continue
        gone = table.is_eliminated[rows[0]]
        distances = relatedness.distances(context, table.members)
        for (row, column), score in zip(
            table.eliminated.tolist(), table.decided.tolist(), strict=True
        ):
            if row != rows[0]:
                continue
            against = _against(distances[:, column], distances[:, ~gone])
            found += [
                Reason(
                    group=table.group,
                    member=table.members[column],
                    score=score,
                    context=context[place],
                    distance=float(distances[place, column]),
                    others=others,
                )
                for place, others in against[:most]
            ]
    return tuple(found)


def _against(
    distances: np.ndarray[tuple[int], np.dtype[np.float64]],
    kept: np.ndarray[tuple[int, int], np.dtype[np.float64]],
) -> list[tuple[int, float]]:
    """Return the places of the items that are nearer to what was kept, most against first."""
    there = np.isfinite(kept)
    others = np.where(there, kept, 0).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    excess = np.where(there.any(axis=1), distances - others, np.nan)
    order = np.argsort(-excess, kind="stable")  # what is not a number comes last
    return [(place, float(others[place])) for place in order.tolist() if excess[place] > 0]
