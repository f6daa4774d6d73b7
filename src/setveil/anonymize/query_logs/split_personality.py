"""Split personality: every person is published as several, one per interest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.anonymize.base import MethodRole, as_sets, check_enough
from setveil.core.literature import ADAR_2007
from setveil.core.params import count, group_size
from setveil.core.registry import register
from setveil.core.table import TransactionTable, canonical_order, take_rows
from setveil.release.base import Anonymization, Key, Step
from setveil.release.split import SplitRelease

if TYPE_CHECKING:
    from setveil.core.arrays import Int64Array
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine

ROUNDS = 30
"""How often items may change their topic."""
PRIOR = 2.0
"""How many neighbours of an item the topics' sizes weigh as much as."""

WARNING = Step(
    action="warn",
    subject="split-personality promises nothing",
    reason="a profile may name a person all by itself, and profiles of one person may be joined "
    "by whoever knows which interests go together",
)


@register(
    "anonymizer",
    "split-personality",
    paper="Adar 2007",
    bibtex=ADAR_2007,
)
@dataclass(frozen=True, kw_only=True)
class SplitPersonality:
    """Publish every person's record as separate profiles, one per topic; promises nothing.

    Items are grouped into topics by who holds them together (:func:`item_topics`). What a record
    holds of each topic becomes a profile of its own, and nothing links the profiles. The items
    are all there, but what a person does in two fields cannot be correlated any more, neither by
    an adversary nor by a researcher.

    Parameters
    ----------
    topics
        Greatest number of topics.
    k
        Items that fewer than this many persons hold are left out first; persons are counted, not
        profiles, since a person may become several.

    Examples
    --------
    >>> table = TransactionTable.from_rows([["golf", "tennis", "opera"], ["golf", "tennis"],
    ...                                     ["opera", "ballet"], ["ballet", "opera"]])
    >>> made = SplitPersonality(topics=2).anonymize(table)
    >>> made.release.to_rows()
    [['ballet', 'opera'], ['ballet', 'opera'], ['golf', 'tennis'], ['golf', 'tennis'], ['opera']]
    >>> made.key.records.tolist()
    [2, 3, 0, 1, 0]

    References
    ----------
    E. Adar: User 4XXXXX9: Anonymizing query logs. Query Log Analysis Workshop, WWW 2007.

    Departures: the paper compares queries by the pages that a search engine finds for them;
    here topics come from the records themselves, so that no other data is needed.
    """

    called: ClassVar[str] = "one profile for each topic"
    role: ClassVar[MethodRole] = MethodRole(only_named=True)
    requires: ClassVar[frozenset[str]] = frozenset()

    topics: int = count(8, doc="greatest number of topics")
    k: int = group_size(1, doc="items that fewer persons hold are left out; 1 keeps all")

    def anonymize(
        self,
        table: TransactionTable,
        *,
        engine: Engine | None = None,  # there is nothing to distribute
        progress: Progress | None = None,
    ) -> Anonymization:
        """Return the profiles, and the key that says whose each is."""
        check_enough(table, self.k)
        order = table.canonical_order()
        kept = as_sets(table.take(order), self.k)
        topic_of = item_topics(kept, self.topics, progress=progress)
        person, profiles = _profiles(kept, topic_of)
        by_content = canonical_order(profiles.offsets, profiles.items)
        offsets, items = take_rows(profiles.offsets, profiles.items, by_content)
        release = SplitRelease(vocabulary=profiles.vocabulary, offsets=offsets, items=items)
        lost = len(table.items) - len(kept.items)
        return Anonymization(
            release=release,
            key=Key(records=order[person[by_content]], parts=True),
            promise=None,
            log=(WARNING,),
            figures={
                "topics": len(np.unique(topic_of)),
                "profiles_per_person": len(release) / len(table),
                "occurrences_left_out": lost,
            },
        )


def item_topics(
    table: TransactionTable,
    topics: int,
    *,
    progress: Progress | None = None,
) -> Int64Array:
    """Group the items of a table of sets into topics by which records hold them together.

    The first topic starts with the most frequent item, each further one with the item that most
    records hold of those that hold no start yet. Then each other item goes to the topic that is
    most over-represented among its neighbours (the other items of its records), again and again,
    until nothing changes. Ties go to the earlier topic; no chance is involved.

    Parameters
    ----------
    table
        Records in canonical order, without repetitions.
    topics
        Greatest number of topics.
    progress
        Called with (stage, done, total).

    Returns
    -------
    array of int
        The topic of each item of the vocabulary.

    Examples
    --------
    >>> table = TransactionTable.from_rows([["a", "b"], ["a", "b"], ["c", "d"], ["a", "b", "c"]])
    >>> item_topics(table, 2).tolist()
    [0, 0, 1, 1]
    """
    rows = np.repeat(np.arange(len(table)), table.lengths)
    topic_of = np.full(table.n_items, -1, dtype=np.int64)
    free = np.ones(len(table), dtype=bool)
    starts: list[int] = []
    while len(starts) < topics:
        supports = np.bincount(table.items[free[rows]], minlength=table.n_items)
        if not supports.any():
            break
        start = int(np.argmax(supports))
        topic_of[start] = len(starts)
        free[rows[table.items == start]] = False
        starts.append(start)
    count = len(starts)
    for done in range(ROUNDS if count else 0):
        if progress:
            progress("finding topics", done, ROUNDS)
        better = _most_typical(table, rows, topic_of, count)
        better[starts] = np.arange(count)
        if np.array_equal(better, topic_of):
            break
        topic_of = better
    # What never occurs with anything that has a topic is a topic of its own.
    topic_of[topic_of < 0] = count
    return topic_of


def _most_typical(
    table: TransactionTable, rows: Int64Array, topic_of: Int64Array, count: int
) -> Int64Array:
    """Return for each item the topic that its neighbours hold most beyond its usual share."""
    mine = topic_of[table.items]
    placed = mine >= 0
    held = np.zeros((len(table), count))
    np.add.at(held, (rows[placed], mine[placed]), 1.0)
    near = np.zeros((table.n_items, count))
    for topic in range(count):
        near[:, topic] = np.bincount(
            table.items, weights=held[rows, topic], minlength=table.n_items
        )
    own = np.flatnonzero(topic_of >= 0)
    near[own, topic_of[own]] -= np.bincount(table.items, minlength=table.n_items)[own]
    total = near.sum(axis=1)
    usual = near.sum(axis=0) / max(float(near.sum()), 1.0)
    usual = np.where(usual > 0, usual, 1.0)
    typical = (near + PRIOR * usual) / (total[:, None] + PRIOR) / usual
    best = np.argmax(typical, axis=1)
    return np.where(total > 0, best, topic_of)


def _profiles(table: TransactionTable, topic_of: Int64Array) -> tuple[Int64Array, TransactionTable]:
    """Return whose each profile is, and the profiles; a record without items is one profile."""
    rows = np.repeat(np.arange(len(table), dtype=np.int64), table.lengths)
    width = np.int64(topic_of.max(initial=0) + 1)
    profile = rows * width + topic_of[table.items]
    empty = np.flatnonzero(table.lengths == 0) * width
    numbers = np.unique(np.concatenate([profile, empty]))
    order = np.argsort(profile, kind="stable")
    offsets = np.searchsorted(profile[order], np.append(numbers, numbers[-1:] + 1))
    return numbers // width, TransactionTable(
        offsets=offsets, items=table.items[order], vocabulary=table.vocabulary
    )
