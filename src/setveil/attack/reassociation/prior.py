"""Prior: put pieces where most records would hold them by counting alone, without any meaning."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from math import lgamma
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from setveil.attack.base import AuditRole, check_applies
from setveil.attack.reassociation.blocks import BlockAttack
from setveil.attack.reassociation.piece_scores import rounded
from setveil.attack.reassociation.pieces import (
    SAMPLE_DOC,
    assembled,
    draw_clusters,
    pairs_in_rows,
    place_at_random,
    pools,
    reassociation_role,
)
from setveil.attack.reassociation.reassociation_guess import ReassociationGuess
from setveil.core.params import count
from setveil.core.registry import name_of, register

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.attack.reassociation.pieces import Placed, Pool
    from setveil.core.arrays import FloatArray, Int64Array
    from setveil.release.disassociated import DisassociatedRelease


COPIES_DOC = "rows that a term of the term chunk is attached to"
CACHED = 4096


class Placing(NamedTuple):
    """Where an attack puts the pieces.

    Parameters
    ----------
    placed
        For each pool the rows of its pieces.
    notes
        What a reader should know.
    pairs
        Which terms are said to come from one record; without them those that stand in one row.
    """

    placed: Sequence[Placed]
    notes: Sequence[str] = ()
    pairs: Sequence[tuple[int, str, str]] | None = None


class ReassociationAttack(BlockAttack):
    """What the attacks on chunks share: clusters are drawn, pieces placed, baselines put beside.

    An attack has the parameters `term_copies` (how many rows a term of the term chunk is attached
    to) and `sample` (how many clusters are drawn to be attacked), and says by :meth:`place` where
    the pieces go.
    """

    requires: ClassVar[frozenset[str]] = frozenset()

    term_copies: int
    sample: int | None

    def run(
        self,
        release: DisassociatedRelease,
        *,
        rng: np.random.Generator | None = None,
        **known: Any,
    ) -> ReassociationGuess:
        """Return the records put together, beside what chance and counts put together.

        Parameters
        ----------
        release
            What is attacked.
        rng
            Draws clusters and baselines and breaks ties; without it always the same way.
        known
            What the attack requires or accepts, as :meth:`place` has it.

        Raises
        ------
        NotApplicable
            What is known cannot tell any row from another.
        """
        name = name_of(type(self))
        check_applies(name, self.applies_to, release)
        rng = np.random.default_rng(0) if rng is None else rng
        sample = draw_clusters(release, self.sample, rng)
        found = pools(release, sample, rng)
        made = self.place(release, found, rng, **known)
        copies = self.term_copies
        by_chance = [place_at_random(pool, rng, term_copies=copies) for pool in found]
        by_counts = [place_by_prior(pool, rng, term_copies=copies) for pool in found]
        said = () if sample is None else (sample.sentence(release),)
        return _guess(
            name,
            found,
            made.placed,
            made.pairs,
            baselines={
                "random": _guess("random", found, by_chance),
                "prior": _guess("prior", found, by_counts),
            },
            notes=(*said, *made.notes),
            draws=() if sample is None else tuple(sample.draws.tolist()),
        )

    def draws_clusters(self, release: DisassociatedRelease) -> bool:
        """Tell whether only some clusters of a release are attacked."""
        return self.sample is not None and self.sample < len(release.sizes)

    def place(self, *given: Any, **known: Any) -> Placing:
        """Return rows for the pieces of pools.

        It is given the release, its pools and the generator, and what else :meth:`run` was.
        """
        raise NotImplementedError


def _guess(
    attack: str,
    found: Sequence[Pool],
    placed: Sequence[Placed],
    pairs: Sequence[tuple[int, str, str]] | None = None,
    **beside: Any,
) -> ReassociationGuess:
    together = list(zip(found, placed, strict=True))
    if pairs is None:
        pairs = [pair for pool, rows in together for pair in pairs_in_rows(pool, rows)]
    clusters = (cluster for pool, rows in together for cluster in assembled(pool, rows))
    return ReassociationGuess(attack=attack, clusters=tuple(clusters), pairs=tuple(pairs), **beside)


@register("attack", "prior", paper="setveil")
@dataclass(frozen=True, kw_only=True)
class Prior(ReassociationAttack):
    """Attach pieces to the anchors that most records show: counts alone, no meaning.

    In a cluster of n records an anchor stands in m rows, and a piece in c records. If pieces were
    put anywhere, the number of the anchor's rows that hold the piece would be binomial, m times a
    chance of c / n. Copies are given out by the largest chances that an anchor holds at least
    one, two, … of them; a row takes one piece of a chunk.

    Parameters
    ----------
    term_copies
        How many rows a term of the term chunk is attached to; a release does not say how many
        records held it. More copies find more, and more of them are wrong.
    sample
        How many clusters are drawn to be attacked; all of them by default.

    Notes
    -----
    Whatever an attack finds by the meaning of terms, it should find more than this one.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release.chunk_plan import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a", "b", "t"], ["a", "c"], ["a", "b", "c"]])
    >>> plan = Plan(records=[0, 1, 2], domains=((0, 1), (2,)), terms=(3,))
    >>> release, _ = publish_disassociated(table, [plan])
    >>> guess = Prior().run(release, rng=np.random.default_rng(4))
    >>> sorted(guess.clusters[0].records())
    [('a', 'b', 'c'), ('a', 'b', 't'), ('a', 'c')]
    """

    role: ClassVar[AuditRole] = reassociation_role(cost=1)

    term_copies: int = count(1, doc=COPIES_DOC)
    sample: int | None = count(None, doc=SAMPLE_DOC)

    def place(
        self, release: DisassociatedRelease, found: Sequence[Pool], rng: np.random.Generator
    ) -> Placing:
        """Return rows by counts."""
        return Placing([place_by_prior(pool, rng, term_copies=self.term_copies) for pool in found])


def place_by_prior(
    pool: Pool,
    rng: np.random.Generator,
    *,
    term_copies: int = 1,
    kinds: Sequence[str] = ("record", "shared", "term"),
) -> Placed:
    """Return rows for each piece by counts; for pieces of other kinds none.

    >>> from setveil.attack.reassociation.pieces import Piece, Pool
    >>> pool = Pool(numbers=(0,), starts=np.array([0, 3]), anchors=(("a",), ("b",), ("b",)),
    ...             values=np.array([0, 1, 1]), pieces=(
    ...     Piece(kind="record", terms=("x",), copies=2, chunk=0, low=0, high=3),))
    >>> rows, = place_by_prior(pool, np.random.default_rng(1))
    >>> sorted(pool.values[rows].tolist())
    [0, 1]
    """
    placed: list[Int64Array] = [np.empty(0, np.int64)] * len(pool.pieces)
    terms: dict[int, list[int]] = {}
    for places in pool.chunks().values():
        piece = pool.pieces[places[0]]
        if piece.kind not in kinds:
            continue
        if piece.kind == "term":
            terms.setdefault(piece.low, []).extend(places)
            continue
        for place, own in _fill(pool, places, rng).items():
            placed[place] = np.array(own, dtype=np.int64)
    for low, places in terms.items():
        values = pool.values[low : pool.pieces[places[0]].high]
        chances = np.full((1, len(values)), 1 / len(values))
        found = rows_of_terms(chances, values, term_copies, rng, terms=len(places))
        for place, rows in zip(places, found, strict=True):
            placed[place] = low + rows
    return placed


def rows_of_terms(
    chances: FloatArray,
    values: Int64Array,
    copies: int,
    rng: np.random.Generator,
    *,
    terms: int | None = None,
) -> list[Int64Array]:
    """Return the rows that each term of a term chunk is attached to: by the largest tails.

    Parameters
    ----------
    chances
        For each term, and each row of the cluster, the chance that it holds the term, above 0.
    values
        For each row a number: equal ones for equal anchors. Of these, the rows of the greatest
        chances are taken.
    copies
        How many rows are wanted, at most.
    rng
        Breaks ties.
    terms
        How many terms there are, where all have the chances of the one row that is given.

    Examples
    --------
    >>> chances = np.array([[0.3, 0.4, 0.3]])
    >>> rows_of_terms(chances, np.array([1, 1, 0]), 1, np.random.default_rng(0))
    [array([1])]
    """
    chances = rounded(chances)
    by_value = np.argsort(values, kind="stable")
    _, start, sizes = np.unique(values[by_value], return_index=True, return_counts=True)
    means = rounded(np.add.reduceat(chances[:, by_value], start, axis=1) / sizes)
    anchor = np.repeat(np.arange(len(sizes)), sizes)
    all_tails = np.concatenate(
        [tails_of(size, mean) for size, mean in zip(sizes.tolist(), means.T, strict=True)], axis=1
    )
    # Only the largest tails are looked at more closely: sorting all takes long.
    leasts = np.partition(all_tails, -copies)[:, -copies] if copies < len(values) else None
    larges = [
        np.arange(len(values)) if leasts is None else np.flatnonzero(tails >= leasts[place])
        for place, tails in enumerate(all_tails)
    ]
    found = []
    for term in range(len(chances) if terms is None else terms):
        place = term % len(chances)
        row, tails, large = chances[place], all_tails[place], larges[place]
        best = large[np.lexsort((rng.random(len(large)), -tails[large]))[:copies]]
        rows = []
        # How many rows each value gives: its likeliest ones, also where tails near 1 are equal.
        for value, number in Counter(anchor[best].tolist()).items():
            own = by_value[start[value] : start[value] + sizes[value]]
            own = rng.permutation(own) if number > 1 else np.roll(own, rng.integers(len(own)))
            rows += own[np.argsort(-row[own], kind="stable")[:number]].tolist()
        found.append(np.array(rows, dtype=np.int64))
    return found


def _fill(pool: Pool, places: Sequence[int], rng: np.random.Generator) -> dict[int, list[int]]:
    """Return the rows of the pieces of one chunk: the largest tails first, one piece per row."""
    low, high = pool.pieces[places[0]].low, pool.pieces[places[0]].high
    free = pool.rows_of_values(low, high)
    for rows in free:
        rng.shuffle(rows)
    copies = [pool.pieces[place].copies for place in places]
    sizes = [len(rows) for rows in free]
    # A piece offers its copies to each anchor in turn; pieces of as many copies offer the same.
    tails, anchors = {}, {}
    for number in set(copies):
        own = [upper_tails(size, number / (high - low))[:number] for size in sizes]
        tails[number] = np.array([tail for each in own for tail in each])
        anchors[number] = np.repeat(np.arange(len(own)), [len(each) for each in own])
    chances = np.concatenate([tails[number] for number in copies])
    offered = np.concatenate([anchors[number] for number in copies])
    piece = np.repeat(np.arange(len(places)), [len(tails[number]) for number in copies])
    order = np.lexsort((rng.random(len(chances)), -chances))
    found: list[list[int]] = [[] for _ in places]
    left, still = list(copies), min(sum(copies), high - low)
    # The tails of one anchor fall: its next copy is never offered before the one it follows.
    for place, anchor in zip(piece[order].tolist(), offered[order].tolist(), strict=True):
        if left[place] and free[anchor]:
            left[place] -= 1
            found[place].append(free[anchor].pop())
            still -= 1
            if not still:
                break
    return dict(zip(places, found, strict=True))


@lru_cache(maxsize=CACHED)
def upper_tails(rows: int, chance: float) -> tuple[float, ...]:
    """Return the chances that at least 1, 2, … of some rows hold a piece, to 12 digits.

    Parameters
    ----------
    rows
        How many rows an anchor has.
    chance
        Chance that one of them holds the piece, above 0; taken as 1 where it is more.

    Examples
    --------
    >>> [round(each, 4) for each in upper_tails(2, 1 / 4)]
    [0.4375, 0.0625]
    """
    return tuple(tails_of(rows, np.array([chance]))[0].tolist())


@lru_cache(maxsize=256)
def log_factorials(most: int) -> FloatArray:
    """Return log 0!, log 1!, … up to that of a number.

    >>> log_factorials(3).round(3).tolist()
    [0.0, 0.0, 0.693, 1.792]
    """
    return np.array([lgamma(number + 1) for number in range(most + 1)])


def tails_of(rows: int, chances: FloatArray) -> FloatArray:
    """Return :func:`upper_tails` for each of some chances.

    >>> tails_of(2, np.array([1 / 4, 2.0])).round(4).tolist()
    [[0.4375, 0.0625], [1.0, 1.0]]
    """
    sure = chances >= 1
    chance = np.where(sure, 0.5, chances)[:, None]
    held = np.arange(1, rows + 1)
    logs = log_factorials(rows)
    ways = logs[rows] - (logs[held] + logs[rows - held])
    exactly = np.exp(ways + held * np.log(chance) + (rows - held) * np.log(1 - chance))
    tails = rounded(np.cumsum(exactly[:, ::-1], axis=1)[:, ::-1])
    tails[sure] = 1.0
    return tails
