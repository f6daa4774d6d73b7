"""The cells that an elimination attack spoke about, with the truth.

A *cell* is a member of a generalized item in a record that holds it: *original* where the record
held the member, *added* where generalizing put it there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from setveil.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.attack.elimination.elimination_guess import EliminationGuess, TableGuess
    from setveil.core.arrays import BoolArray, FloatArray, Int64Array
    from setveil.core.table import TransactionTable
    from setveil.release.base import Key, Release
    from setveil.release.set_generalized import SetGeneralizedRelease


@dataclass(frozen=True, kw_only=True, eq=False)
class AttackedCells:
    """The attacked cells of a release, one after another, table by table.

    Parameters
    ----------
    table
        For each cell the place of its table in the guess.
    record
        For each cell its record in the release.
    added
        Whether it was added.
    eliminated
        Whether the guess eliminated it.
    scores
        How much spoke for its having been added.
    probabilities
        The chance of that; None where the guess gives none.
    share
        The share of all cells of the release that were attacked; None where it has none.
    """

    table: Int64Array
    record: Int64Array
    added: BoolArray
    eliminated: BoolArray
    scores: FloatArray
    probabilities: FloatArray | None
    share: float | None

    @classmethod
    def of(
        cls, guess: EliminationGuess, *, release: Release, original: TransactionTable, key: Key
    ) -> AttackedCells:
        """Line a guess up with the truth.

        Raises
        ------
        NotApplicable
            The release has no generalized items.
        InputError
            Guess, release, original and key do not belong together.

        Examples
        --------
        >>> from setveil.attack import TableGuess, EliminationGuess
        >>> from setveil import TransactionTable
        >>> from setveil.release.set_generalized import publish_sets
        >>> table = TransactionTable.from_rows([["flu"], ["gout"]])
        >>> release, key = publish_sets(table, [0, 0])
        >>> said = TableGuess(group=0, members=("flu", "gout"), records=[0, 1],
        ...                   scores=[[0.1, 0.9], [0.4, 0.3]], eliminated=[[0, 1]], decided=[0.9])
        >>> guess = EliminationGuess(attack="mda", tables=(said,))
        >>> cells = AttackedCells.of(guess, release=release, original=table, key=key)
        >>> cells.added.tolist(), cells.eliminated.tolist()
        ([False, True, True, False], [False, True, False, False])
        """
        published = _checked(guess, release, original, key)
        tables = guess.tables
        ordered = original.take(key.records)
        chances = [table.probabilities for table in tables if table.probabilities is not None]
        attacked = sum(table.scores.size for table in tables)
        whole = int(published.sizes[published.items][_hidden(published)].sum())
        return cls(
            table=np.repeat(np.arange(len(tables)), [table.scores.size for table in tables]),
            record=_joined((np.repeat(t.records, len(t.members)) for t in tables), np.int64),
            added=_joined((~_held(t, ordered) for t in tables), bool),
            eliminated=_joined((t.is_eliminated for t in tables), bool),
            scores=_joined((t.scores for t in tables), float),
            probabilities=_joined(chances, float) if len(chances) == len(tables) else None,
            share=attacked / whole if whole else None,
        )

    @property
    def tables(self) -> int:
        """Number of generalized items that were attacked."""
        return int(self.table[-1]) + 1 if len(self.table) else 0


def _joined(parts: Iterable[npt.NDArray[Any]], kind: type) -> npt.NDArray[Any]:
    return np.concatenate([np.empty(0, dtype=kind), *(part.ravel() for part in parts)])


def _hidden(release: SetGeneralizedRelease) -> BoolArray:
    """Return for each item of each record whether it is a generalized one of several members."""
    return np.asarray(~release.is_trivial[release.items])


def _held(table: TableGuess, original: TransactionTable) -> BoolArray:
    """Return for each cell whether the record held the member; records in the release's order."""
    column = np.full(original.n_items, -1, dtype=np.int64)
    for place, member in enumerate(table.members):
        column[original.vocabulary.number(member)] = place
    held = np.zeros(table.scores.shape, dtype=bool)
    for row, record in enumerate(table.records.tolist()):
        places = column[original.items[original.offsets[record] : original.offsets[record + 1]]]
        held[row, places[places >= 0]] = True
    return held


def _checked(
    guess: EliminationGuess, release: Release, original: TransactionTable, key: Key
) -> SetGeneralizedRelease:
    """Return the release, or say what does not fit."""
    sets = release.as_sets()
    if not release.is_consistent_with(original, key):
        raise InputError(
            "the release cannot come from this original by this key",
            fix="name the data and the key that `setveil anonymize` read and wrote",
        )
    guess.check_about(release)
    known = {sets.members(g): g for g in np.flatnonzero(~sets.is_trivial).tolist()}
    record_of = np.repeat(np.arange(len(release)), np.diff(sets.offsets))
    order = np.argsort(sets.items, kind="stable")
    ends = np.searchsorted(sets.items[order], np.arange(len(sets.groups) + 1))
    for table in guess.tables:
        group = known.get(table.members, -1)
        holders = record_of[order[ends[group] : ends[group + 1]]] if group >= 0 else ()
        rows = table.records
        if (
            group != table.group
            or len(np.unique(rows)) < len(rows)
            or np.setdiff1d(rows, holders).size
        ):
            raise InputError(
                "the guess is about another release",
                fix="attack this release, or name the one that was attacked",
            )
    return sets
