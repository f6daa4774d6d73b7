"""Which members of generalized items an attack believes to have been added."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from heapq import nlargest
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from setveil.attack.elimination.distance_tables import Contexts, most_informative
from setveil.attack.guess import Guess, first_items
from setveil.core.errors import ParameterError
from setveil.core.params import is_whole
from setveil.core.table import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from setveil.attack.elimination.elimination_score import PartScore
    from setveil.core.arrays import FloatArray, Int64Array
    from setveil.core.interval import Rate
    from setveil.core.table import TransactionTable
    from setveil.relatedness.base import Relatedness
    from setveil.release.base import Key, Release
    from setveil.release.set_generalized import SetGeneralizedRelease

REASONS = 8
"""Rows of a table of distances that an example shows."""


class Elimination(NamedTuple):
    """A member that is believed not to have been in a record.

    Parameters
    ----------
    record
        Number of the record in the release.
    group
        Number of the generalized item in the release.
    member
        The member that was eliminated from it.
    score
        What decided: a distance, a vulnerability, or a probability, as the attack has it.
    """

    record: int
    group: int
    member: str
    score: float


@dataclass(frozen=True, kw_only=True, eq=False)
class TableGuess:
    """What an attack believes about one generalized item, in all records that it could attack.

    Parameters
    ----------
    group, members
        The generalized item's number in the release, and its members: one column each.
    records
        Numbers of the attacked records in the release: one row each.
    scores
        For each cell how much speaks for its having been added: a higher score, a likelier
        addition. Comparable over all tables of a guess.
    eliminated
        Rows and columns of the eliminated cells, in order: an array of two columns.
    decided
        For each eliminated cell the number that decided.
    threshold
        What that number had to exceed, if the attack has a threshold.
    probabilities
        For each cell the chance that it was added, if the attack gives one.

    Examples
    --------
    >>> table = TableGuess(group=1, members=("flu", "gout"), records=[0, 4],
    ...                    scores=[[0.1, 0.9], [0.4, 0.3]], eliminated=[[0, 1]], decided=[0.9])
    >>> list(table.eliminations())
    [Elimination(record=0, group=1, member='gout', score=0.9)]
    >>> table.is_eliminated.tolist()
    [[False, True], [False, False]]
    """

    group: int
    members: tuple[str, ...]
    records: Int64Array
    scores: FloatArray
    eliminated: Int64Array
    decided: FloatArray
    threshold: float | None = None
    probabilities: FloatArray | None = None

    def __post_init__(self) -> None:
        if not is_whole(self.group):
            raise ParameterError("a generalized item is named by its number")
        object.__setattr__(self, "members", _texts(self.members, "members"))
        object.__setattr__(self, "records", _array(self.records, "iu", 1, "records"))
        shape = (len(self.records), len(self.members))
        pairs = _array(self.eliminated, "iu", 2, "eliminated cells")
        pairs = pairs if pairs.size else pairs.reshape(0, 2)
        object.__setattr__(self, "eliminated", pairs)
        for name, dimensions in (("scores", 2), ("decided", 1), ("probabilities", 2)):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _array(value, "iuf", dimensions, name))
        threshold = 0.0 if self.threshold is None else self.threshold
        if not isinstance(threshold, int | float) or not np.isfinite(threshold):
            raise ParameterError("a threshold is a number")
        if (self.records < 0).any():
            raise ParameterError("records are counted from 0")
        if self.scores.shape != shape or not np.isfinite(self.scores).all():
            raise ParameterError("a table of scores does not fit its rows and columns")
        fits = pairs.shape[1] == len(shape)
        inside = fits and (pairs >= 0).all() and (pairs < np.array(shape)).all()
        if not inside or len(np.unique(pairs, axis=0)) != len(pairs):
            raise ParameterError("an eliminated cell is not in its table, or is eliminated twice")
        if self.decided.shape != (len(pairs),) or not np.isfinite(self.decided).all():
            raise ParameterError("each eliminated cell has one number that decided")
        chances = self.probabilities
        if chances is not None and not (
            chances.shape == shape and (chances >= 0).all() and (chances <= 1).all()
        ):
            raise ParameterError("a probability of each cell lies between 0 and 1")

    @property
    def is_eliminated(self) -> npt.NDArray[np.bool_]:
        """For each cell whether it was eliminated."""
        gone = np.zeros(self.scores.shape, dtype=bool)
        gone[self.eliminated[:, 0], self.eliminated[:, 1]] = True
        return gone

    def eliminations(self) -> Iterator[Elimination]:
        """Return the eliminated cells in order."""
        for (row, column), score in zip(
            self.eliminated.tolist(), self.decided.tolist(), strict=True
        ):
            yield Elimination(int(self.records[row]), self.group, self.members[column], score)

    def to_json(self) -> dict[str, Any]:
        """Return the table as JSON values."""
        chances = self.probabilities
        return {
            "group": self.group,
            "members": list(self.members),
            "records": self.records.tolist(),
            "scores": self.scores.tolist(),
            "eliminated": self.eliminated.tolist(),
            "decided": self.decided.tolist(),
            "threshold": self.threshold,
            "probabilities": None if chances is None else chances.tolist(),
        }


def _array(value: object, kinds: str, dimensions: int, name: str) -> npt.NDArray[Any]:
    """Return numbers as an array that cannot be changed, if they are numbers of the right kind."""
    found = np.asarray(value)
    if found.size and (found.dtype.kind not in kinds or found.ndim != dimensions):
        raise ParameterError(f"the {name} are not numbers as they should be")
    return frozen(found, np.float64 if "f" in kinds else np.int64)


def _texts(value: object, name: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise ParameterError(f"the {name} are not texts")
    return tuple(value)


@dataclass(frozen=True, kw_only=True, eq=False)
class EliminationGuess(Guess):
    """Which members of generalized items an attack believes to have been added.

    Parameters
    ----------
    tables
        One for each generalized item that could be attacked.
    notes
        What a reader should know: terms that were unknown, records that could not be attacked.
    control
        What the same attack says when contexts are exchanged between records, so that there is
        nothing to find in them.

    Examples
    --------
    >>> table = TableGuess(group=1, members=("flu", "gout"), records=[0, 4],
    ...                    scores=[[0.1, 0.9], [0.4, 0.3]], eliminated=[[0, 1]], decided=[0.9])
    >>> guess = EliminationGuess(attack="mda", tables=(table,))
    >>> [cell.member for cell in guess.eliminations()]
    ['gout']
    >>> EliminationGuess.from_json(guess.to_json()).to_json() == guess.to_json()
    True
    """

    kind: ClassVar[str] = "elimination"
    score_words: ClassVar[dict[str, str]] = {
        "auc": "chance that an added cell is ranked above an original one",
        "kept_f1": "harmonic mean of the next two: original cells recognised",
        "kept_precision": "share of the cells it kept that are original",
        "kept_recall": "share of the original cells that it kept",
        "f1": "harmonic mean of the next two: added cells found",
        "precision": "share of the cells it eliminated that were added",
        "recall": "share of the added cells that it eliminated",
        "ece": "expected calibration error of its probabilities",
        "sure": "share of the cells that it calls added with a chance of 0.95 and more",
        "sure_precision": "share of these that were added",
        "cell_density": "share of the attacked cells that are original",
        "attacked": "share of all cells that it could attack",
    }
    beside: ClassVar[tuple[str, ...]] = ("ra", "all", "control")

    tables: tuple[TableGuess, ...]
    notes: tuple[str, ...] = ()
    control: EliminationGuess | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "tables", tuple(self.tables))
        object.__setattr__(self, "notes", _texts(self.notes, "notes"))
        groups = [table.group for table in self.tables]
        if len(set(groups)) < len(groups):
            raise ParameterError("a guess has one table for each generalized item")

    def eliminations(self) -> Iterator[Elimination]:
        """Return the eliminated cells: table by table, in order within each."""
        for table in self.tables:
            yield from table.eliminations()

    def to_json(self) -> dict[str, Any]:
        """Return the guess as JSON values."""
        return {
            "attack": self.attack,
            "about": self.about,
            "notes": list(self.notes),
            "tables": [table.to_json() for table in self.tables],
            "control": None if self.control is None else self.control.to_json(),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Return the guess that :meth:`to_json` described."""
        control = content["control"]
        return cls(
            attack=content["attack"],
            about=content.get("about"),
            tables=tuple(TableGuess(**table) for table in content["tables"]),
            notes=content["notes"],
            control=None if control is None else cls.from_json(control),
        )

    def rates(
        self, *, release: Release, original: TransactionTable, key: Key
    ) -> dict[str, Rate | None]:
        """Return how right the eliminations were, beside two baselines and a control."""
        from setveil.attack.elimination.elimination_score import elimination_rates

        return elimination_rates(self, release=release, original=original, key=key)

    def part_scores(
        self, by: str, *, release: Release, original: TransactionTable, key: Key
    ) -> list[PartScore]:
        """Return the scores of each generalized item (``"item"``) or ``"record"``."""
        from setveil.attack.elimination.elimination_score import score_items, score_records

        judge = score_items if by == "item" else score_records
        return judge(self, release=release, original=original, key=key)

    def examples(
        self,
        *,
        release: Release,
        original: TransactionTable,
        key: Key,
        relatedness: Relatedness | None = None,
        count: int = 3,
    ) -> list[dict[str, Any]]:
        """Return the records from which the most was rightly eliminated: see :class:`Guess`."""
        sets = release.as_sets()
        gone: dict[int, list[str]] = {}
        for cell in self.eliminations():
            gone.setdefault(cell.record, []).append(cell.member)
        value = Counter[int]()
        for record, members in gone.items():
            truth = set(original[int(key.records[record])])
            value[record] = sum(-1 if member in truth else 1 for member in members)
        best = nlargest(count, value, key=lambda record: (value[record], -record))
        rows = release.to_rows()
        found = []
        for record in best:
            if value[record] <= 0:
                continue
            start, end = sets.offsets[record : record + 2].tolist()
            groups = sets.items[start:end].tolist()
            members = [item for group in groups for item in sets.members(group)]
            example: dict[str, Any] = {
                "published": first_items(rows[record]),
                "guessed": first_items(item for item in members if item not in set(gone[record])),
                "original": first_items(original[int(key.records[record])]),
            }
            if relatedness is not None:
                spoken = reasons(self, sets, record, relatedness=relatedness, most=1)
                example["why"] = [
                    [each.member, each.context, each.distance, each.others]
                    for each in spoken
                    if each.context is not None
                ][:REASONS]
            found.append(example)
        return found


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
