"""What an attack said of a few records, beside what they were: for the owner's eyes only.

The records are those that the attack gave away most: they show what an adversary can get, not
what it gets on average.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from functools import singledispatch
from heapq import nlargest
from typing import TYPE_CHECKING, Any

from setveil.attack.elimination_guess import EliminationGuess
from setveil.attack.explain import reasons
from setveil.attack.linkage import LinkageGuess
from setveil.attack.reassociation_guess import ReassociationGuess
from setveil.core.errors import NotApplicable
from setveil.measure.rebuilt_records import rebuilt_records

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.attack.guess import Guess
    from setveil.core.table import TransactionTable
    from setveil.measure.rebuilt_records import Row
    from setveil.release.base import Key, Release

    Example = dict[str, Any]

SHOWN = 3
ITEMS = 40
"""Items of a record that are written down at most."""
REASONS = 8
"""Rows of a table of distances."""


@singledispatch
def examples_of(
    guess: Guess,
    *,
    release: Release,
    original: TransactionTable,
    key: Key,
    relatedness: Any = None,  # noqa: ANN401
    count: int = SHOWN,
) -> list[Example]:
    """Return what an attack said of the records that it gave away most, as JSON values.

    Parameters
    ----------
    guess, release, original, key
        What is compared.
    relatedness
        Where the attack had its distances from: what spoke against eliminated members is then
        told, too.
    count
        How many records, at most.

    Returns
    -------
    list of dict
        Lists of items: ``known`` (of the person), ``published``, ``guessed``, ``original``; those
        that a kind of attack has. ``why``: rows of an eliminated member, an item of the context,
        the distance between them, and that of the members that were kept. Empty for attacks that
        say nothing of single records, and where nothing was right.

    Examples
    --------
    >>> from setveil.attack import Linkage
    >>> from setveil import TransactionTable
    >>> from setveil.measure import draw_targets
    >>> from setveil.release import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu"], ["flu"]])
    >>> release, key = publish_suppressed(table, [True, True])
    >>> guess = Linkage().run(release, targets=draw_targets(table, m=1, knowledge="rarest"))
    >>> examples_of(guess, release=release, original=table, key=key, count=1)
    [{'known': ['gout'], 'published': ['flu', 'gout'], 'original': ['flu', 'gout']}]
    """
    return []


@examples_of.register(LinkageGuess)
def _of_linkage(
    guess: LinkageGuess,
    *,
    release: Release,
    original: TransactionTable,
    key: Key,
    relatedness: Any = None,  # noqa: ANN401
    count: int = SHOWN,
) -> list[Example]:
    behind = key.records
    right = [
        (link.chance, -place, link, target)
        for place, (target, link) in enumerate(zip(guess.targets, guess.links, strict=True))
        if any(int(behind[record]) == target for record in link.named)
    ]
    rows: list[list[str]] = []
    with suppress(NotApplicable):
        rows = release.rows_by_record()
    found = []
    for _, _, link, target in nlargest(count, right, key=lambda each: each[:2]):
        record = next(each for each in link.named if int(behind[each]) == target)
        example: Example = {"known": _some(link.known)}
        if rows:
            example["published"] = _some(rows[record])
        found.append({**example, "original": _some(original[target])})
    return found


@examples_of.register(EliminationGuess)
def _of_elimination(
    guess: EliminationGuess,
    *,
    release: Release,
    original: TransactionTable,
    key: Key,
    relatedness: Any = None,  # noqa: ANN401  (sources are no part of this package)
    count: int = SHOWN,
) -> list[Example]:
    sets = release.as_sets()
    gone: dict[int, list[str]] = {}
    for cell in guess.eliminations():
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
        example: Example = {
            "published": _some(rows[record]),
            "guessed": _some(item for item in members if item not in set(gone[record])),
            "original": _some(original[int(key.records[record])]),
        }
        if relatedness is not None:
            spoken = reasons(guess, sets, record, relatedness=relatedness, most=1)
            example["why"] = [
                [each.member, each.context, each.distance, each.others]
                for each in spoken
                if each.context is not None
            ][:REASONS]
        found.append(example)
    return found


@examples_of.register(ReassociationGuess)
def _of_reassociation(
    guess: ReassociationGuess,
    *,
    release: Release,
    original: TransactionTable,
    key: Key,
    relatedness: Any = None,  # noqa: ANN401
    count: int = SHOWN,
) -> list[Example]:
    pairs: list[tuple[int, int, Row, Row]] = []
    for cluster in rebuilt_records(guess, release=release, original=original, key=key):
        for true, said in cluster.by_anchor():
            held = [each.attached("") for each in true]
            for row in said:
                own = row.attached("")
                if not own:
                    continue
                shared = [len(each & own) for each in held]
                right = max(shared, default=0)
                if right:
                    value = 2 * right - len(own)  # what is wrong counts against it
                    twin = true[shared.index(right)]
                    pairs.append((value, -len(pairs), row, twin))
    return [
        {
            "published": _some(sorted(row.anchor)),
            "guessed": _some(sorted(row.whole(""))),
            "original": _some(sorted(twin.whole(""))),
        }
        for _, _, row, twin in nlargest(count, pairs, key=lambda each: each[:2])
    ]


def _some(items: Iterable[str]) -> list[str]:
    every = list(items)
    more = len(every) - ITEMS
    return [*every[:ITEMS], f"… and {more} more"] if more > 0 else every
