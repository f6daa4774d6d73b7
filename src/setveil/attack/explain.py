"""Why a member was eliminated: which items of the record's context spoke against it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.attack.tables import Contexts, most_informative
from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from setveil.attack.elimination_guess import EliminationGuess, TableGuess
    from setveil.core.arrays import FloatArray
    from setveil.relatedness.base import Relatedness
    from setveil.release.set_generalized import SetGeneralizedRelease


class Reason(NamedTuple):
    """What one item of a context says about an eliminated member, or that none says anything.

    Parameters
    ----------
    group
        Number of the generalized item in the release.
    member
        The eliminated member.
    score
        The number that decided on its elimination.
    context
        An item that the record shows in clear; None where no single item spoke against the member.
    distance
        How far the member is from it.
    others
        How far the members that were kept are from it, on average.
    known
        Whether the source has any distance of the member to the context; if not, the member took
        the mean of its row.
    """

    group: int
    member: str
    score: float
    context: str | None
    distance: float | None
    others: float | None
    known: bool = True


def reasons(
    guess: EliminationGuess,
    release: SetGeneralizedRelease,
    record: int,
    *,
    relatedness: Relatedness,
    context: int | None = None,
    most: int = 3,
) -> tuple[Reason, ...]:
    """Return for each eliminated member of a record the items that spoke most against it.

    An item speaks against a member as far as the member is farther from it than those members are
    that the attack kept in this record. A member that no single item spoke against, as other
    records decided, or that the source does not know, has one reason without an item.

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
    context
        How many items of a context the attack used, as in :func:`distance_tables`.
    most
        How many items are named for each member.

    Examples
    --------
    >>> from setveil.attack import MDA
    >>> from setveil import TransactionTable
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
    shown = Contexts.of(release).terms(record)
    familiar = np.asarray(relatedness.known(shown), dtype=bool)
    terms = [shown[place] for place in np.flatnonzero(familiar).tolist()]
    found: list[Reason] = []
    for table in guess.tables:
        if record not in table.records:
            continue
        distances = relatedness.distances(terms, table.members)
        used = np.arange(len(terms))
        if context is not None:
            (used,) = most_informative([used], distances, context)
        names = [terms[place] for place in used.tolist()]
        found += _spoken(table, record, names, distances[used], most)
    return tuple(found)


def _spoken(
    table: TableGuess, record: int, context: Sequence[str], distances: FloatArray, most: int
) -> Iterator[Reason]:
    """Return the reasons of each member of one generalized item that the record lost, in order."""
    row = int(np.flatnonzero(table.records == record)[0])
    kept = distances[:, ~table.is_eliminated[row]]
    for (place, column), score in zip(
        table.eliminated.tolist(), table.decided.tolist(), strict=True
    ):
        if place != row:
            continue
        own = distances[:, column]
        silent = Reason(
            group=table.group,
            member=table.members[column],
            score=score,
            context=None,
            distance=None,
            others=None,
            known=bool(np.isfinite(own).any()),
        )
        yield from [
            silent._replace(context=context[item], distance=float(own[item]), others=others)
            for item, others in _against(own, kept)[:most]
        ] or [silent]


def _against(distances: FloatArray, kept: FloatArray) -> list[tuple[int, float]]:
    """Return the places of the items that are nearer to what was kept, most against first."""
    there = np.isfinite(kept)
    others = np.where(there, kept, 0).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    excess = np.where(there.any(axis=1), distances - others, np.nan)
    order = np.argsort(-excess, kind="stable")  # what is not a number comes last
    return [(place, float(others[place])) for place in order.tolist() if excess[place] > 0]
