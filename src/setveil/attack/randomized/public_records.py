"""Finding behind each randomized record the public record that it most likely was."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from setveil.attack.base import LINKAGE, AuditRole, Finding, check_applies
from setveil.attack.guess import Guess
from setveil.core.arrays import distinct_in_rows
from setveil.core.errors import InputError, ParameterError
from setveil.core.interval import Rate, mean
from setveil.core.params import count
from setveil.core.registry import register

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from setveil.core.arrays import FloatArray, Int64Array
    from setveil.core.table import TransactionTable
    from setveil.release.base import Key, Release
    from setveil.release.perturbed import PerturbedRelease

BLOCK = 4_000_000
"""Pairs of a record and a candidate, or cells, that are looked at at a time."""


@dataclass(frozen=True, kw_only=True)
class PublicRecordsGuess(Guess):
    """Which public record is believed to stand behind each randomized one.

    Parameters
    ----------
    candidates
        The different public records, as sets of items.
    copies
        How many public records each of them is.
    records
        The attacked records of the release.
    named
        For each of these the place of the likeliest candidate; the first of equally likely ones.
    chances
        How likely one of its copies is, if the original is among the candidates; 0 where none can
        be.
    notes
        What else is to be known.
    """

    kind: ClassVar[str] = "public-records"
    score_words: ClassVar[dict[str, str]] = {
        "first": "share of the records whose original is named first among the candidates",
        "rank": "mean share of the other candidates that are ranked above the original",
        "among": "share of the attacked records whose original is among the candidates",
        "sure": "share of these that it names with a chance of 0.9 and more",
        "precision": "share of those that it names rightly",
        "sure_absent": "share of the records it is sure of although their original is not there",
    }
    beside: ClassVar[tuple[str, ...]] = ("random", "control")

    candidates: tuple[tuple[str, ...], ...]
    copies: tuple[int, ...]
    records: tuple[int, ...]
    named: tuple[int, ...]
    chances: tuple[float, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "candidates", tuple(tuple(row) for row in self.candidates))
        for name in ("copies", "records", "named", "chances", "notes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if not all(isinstance(item, str) for row in self.candidates for item in row):
            raise ParameterError("a guess names the items of its candidates")
        if not len(self.records) == len(self.named) == len(self.chances):
            raise ParameterError("a guess names a candidate for each record")
        counted = min(self.copies, default=1) >= 1 and sum(self.copies) < 2**63
        if len(self.copies) != len(self.candidates) or not counted:
            raise ParameterError("a guess says how often there is each candidate")
        if not all(0 <= place < len(self.candidates) for place in self.named):
            raise ParameterError("a guess names candidates that it has")
        if min(self.records, default=0) < 0 or not all(0 <= c <= 1 for c in self.chances):
            raise ParameterError("a guess names records, and chances between 0 and 1")

    def rates(
        self, *, release: Release, original: TransactionTable, key: Key
    ) -> dict[str, Rate | None]:
        """Return how well the originals were found among the candidates.

        Returns
        -------
        dict of str to Rate or None
            What :func:`score_ranks` says of the records whose original is among the candidates; a
            record is recognised by its items, and equal ones are interchangeable. ``among``: share
            of the attacked records of which that is so. ``precision``: share of the records named
            with a chance of 0.9 and more that are right; ``sure``: share of the records with such a
            chance; ``sure_absent``: the same of records whose original is not among the candidates,
            where whatever is named is wrong.

        Examples
        --------
        >>> from setveil.attack import PublicRecords
        >>> from setveil import TransactionTable
        >>> from setveil.release import ItemChannel, publish_perturbed
        >>> table = TransactionTable.from_rows([["flu", "gout"], ["hiv", "pox"], ["flu", "pox"]])
        >>> drawn = TransactionTable.from_rows([["flu", "gout"], ["flu", "pox"], ["flu", "pox"]])
        >>> release, key = publish_perturbed(drawn, ItemChannel(beta="1/10", domain=4))
        >>> guess = PublicRecords().run(release, candidates=table)
        >>> rates = guess.score(release=release, original=table, key=key)
        >>> round(rates["first"].value, 4), round(rates["first_random"].value, 4)
        (0.6667, 0.3333)
        """
        form = same_release(self, release, original, key)
        if max(self.records, default=-1) >= len(form):
            raise InputError("the self is about another release", fix="attack this release")
        places = {row: place for place, row in enumerate(self.candidates)}
        records = np.array(self.records, dtype=np.int64)
        truth = np.array(
            [places.get(tuple(sorted(set(original[int(r)]))), -1) for r in key.records[records]],
            dtype=np.int64,
        )
        among = truth >= 0
        copies = np.array(self.copies, dtype=np.int64)
        right = truth[among]
        other = np.random.default_rng(0).permutation(right)
        ranks, firsts, control = np.zeros(len(right)), np.zeros(len(right)), np.zeros(len(right))
        start = 0
        for logs in likelihoods(form, self.candidates, records[among]):
            own = slice(start, start + len(logs))
            ranks[own], firsts[own] = place_of_truth(logs, right[own], copies)
            control[own] = place_of_truth(logs, other[own], copies)[1]
            start += len(logs)
        rates = dict(score_ranks(ranks, firsts, int(copies.sum()), control=control))
        sure = np.array(self.chances) >= SURE
        found = np.array(self.named, dtype=np.int64) == truth
        rates["among"] = mean(among)
        rates["sure"] = mean(sure[among])
        rates["precision"] = mean(found[sure & among])
        rates["sure_absent"] = mean(sure[~among])
        return rates


@register(
    "attack",
    "public-records",
    paper="Aggarwal 2007",
    bibtex="""
    @inproceedings{aggarwal2007randomization,
      author    = {Aggarwal, Charu C.},
      title     = {On Randomization, Public Information and the Curse of Dimensionality},
      booktitle = {Proceedings of the 23rd IEEE International Conference on Data Engineering},
      pages     = {136--145}, year = {2007}
    }""",
)
@dataclass(frozen=True, kw_only=True)
class PublicRecords:
    """Find the public record that a randomized one most likely comes from.

    The adversary has a list of records, say of what named people are known to hold, and the
    mechanism, which is public. It says how likely each candidate gives the published record: by
    the items that were kept, lost and added. The more items there are, the fewer candidates come
    close to the right one: this is why noise that hides an item does not hide a record. For
    numeric columns with noise see :mod:`setveil.tabular.noise_attacks`.

    Parameters
    ----------
    most
        How many records are attacked; more are drawn from.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release import ItemChannel, publish_perturbed
    >>> drawn = TransactionTable.from_rows([["flu", "gout", "pox"], ["gout"]])
    >>> release, _ = publish_perturbed(drawn, ItemChannel(beta="1/10", domain=4))
    >>> public = TransactionTable.from_rows([["flu", "gout"], ["gout", "hiv"], ["gout"]])
    >>> guess = PublicRecords().run(release, candidates=public)
    >>> [guess.candidates[place] for place in guess.named]
    [('flu', 'gout'), ('gout',)]
    >>> [round(chance, 3) for chance in guess.chances]
    [0.89, 0.818]

    References
    ----------
    C. C. Aggarwal: On randomization, public information and the curse of dimensionality, ICDE
    2007.
    """

    applies_to: ClassVar[frozenset[str]] = frozenset({"perturbed"})
    requires: ClassVar[frozenset[str]] = frozenset({"candidates"})
    role: ClassVar[AuditRole] = AuditRole(
        family="public records",
        findings=(
            Finding(
                risk=LINKAGE,
                figure="first",
                baseline="first_random",
                baseline_name="naming any candidate",
                control="first_control",
                advantage="",
                label="Find the original of a record",
                says="An attacker who knows {knows} names the right original for {count} of 1,000 "
                "records.",
                outright=True,
            ),
        ),
        cost=1,
        knows="all original records, but not which is whose",
    )

    most: int = count(1000, doc="how many records are attacked")

    def run(
        self,
        release: PerturbedRelease,
        *,
        candidates: TransactionTable,
        rng: np.random.Generator | None = None,
    ) -> PublicRecordsGuess:
        """Return the likeliest candidate for each record.

        Parameters
        ----------
        release
            Randomized records.
        candidates
            Public records; some of them may be the originals.
        rng
            Draws the records that are attacked, where there are more; always the same without it.
        """
        check_applies("public-records", self.applies_to, release)
        if not len(candidates):
            raise InputError("there are no candidates", fix="give public records to compare with")
        rng = np.random.default_rng(0) if rng is None else rng
        records = np.arange(len(release), dtype=np.int64)
        if len(records) > self.most:
            records = np.sort(rng.choice(records, self.most, replace=False))
        sets, copies = distinct_sets(candidates)
        named: list[int] = []
        chances: list[float] = []
        for logs in likelihoods(release, sets, records):
            best = np.argmax(logs, axis=1)
            top = logs[np.arange(len(logs)), best]
            whole = np.exp(logs - np.where(np.isfinite(top), top, 0.0)[:, None]) @ copies
            named += best.tolist()
            sure = np.where(np.isfinite(top), copies[best] / np.maximum(whole, 1e-300), 0.0)
            chances += np.minimum(sure, 1.0).tolist()
        lost = sum(chance == 0 for chance in chances)
        notes = (f"{lost} of {len(records)} records can come from no candidate",) if lost else ()
        return PublicRecordsGuess(
            attack="public-records",
            candidates=tuple(sets),
            copies=tuple(copies.tolist()),
            records=tuple(records.tolist()),
            named=tuple(named),
            chances=tuple(chances),
            notes=notes,
        )


def distinct_sets(table: TransactionTable) -> tuple[list[tuple[str, ...]], Int64Array]:
    """Return the different records as sets of names, sorted, and how often there is each.

    >>> from setveil import TransactionTable
    >>> sets, copies = distinct_sets(TransactionTable.from_rows([["b", "a"], ["c"], ["a", "b"]]))
    >>> sets, copies.tolist()
    ([('a', 'b'), ('c',)], [2, 1])
    """
    offsets, items = distinct_in_rows(table.offsets, table.items)
    names = table.vocabulary.names
    bounds = offsets.tolist()
    flat = items.tolist()
    counts: dict[tuple[str, ...], int] = {}
    for a, b in pairwise(bounds):
        row = tuple(names[i] for i in flat[a:b])
        counts[row] = counts.get(row, 0) + 1
    ordered = sorted(counts)
    return ordered, np.array([counts[row] for row in ordered], dtype=np.int64)


def likelihoods(
    release: PerturbedRelease, candidates: Sequence[tuple[str, ...]], records: Int64Array
) -> Iterator[FloatArray]:
    """Yield, some records at a time, how likely each candidate gives each record, as logarithms.

    A candidate with an item that is certainly not in the domain gives none.

    >>> from setveil import TransactionTable
    >>> from setveil.release import ItemChannel, publish_perturbed
    >>> drawn = TransactionTable.from_rows([["flu", "gout"]])
    >>> release, _ = publish_perturbed(drawn, ItemChannel(beta="1/4", domain=2))
    >>> [logs] = likelihoods(release, [("flu",), ("hiv",)], [0])
    >>> np.exp(logs).round(6).tolist()
    [[0.1875, 0.0]]
    """
    vocabulary, width = release.vocabulary, len(release.vocabulary)
    held = [[vocabulary.number(i) for i in row if i in vocabulary] for row in candidates]
    lengths = np.array([len(row) for row in candidates], dtype=np.int64)
    strange = lengths - [len(row) for row in held]
    chosen = np.asarray(records, dtype=np.int64)
    shown = np.diff(release.offsets)[chosen]
    step = max(1, BLOCK // max(len(candidates), width, 1))
    part = max(1, BLOCK // max(width, 1))
    for first in range(0, len(chosen), step):
        block = chosen[first : first + step]
        cells = np.zeros((len(block), width), dtype=np.float32)
        for place, record in enumerate(block.tolist()):
            cells[place, release.items[slice(*release.offsets[record : record + 2])]] = 1
        common = np.empty((len(block), len(candidates)), dtype=np.int64)
        for start in range(0, len(candidates), part):
            some = held[start : start + part]
            theirs = np.zeros((len(some), width), dtype=np.float32)
            for place, row in enumerate(some):
                theirs[place, row] = 1
            common[:, start : start + len(some)] = np.rint(cells @ theirs.T)
        logs = release.channel.log_likelihood(
            lengths[None, :], shown[first : first + step, None], common
        )
        yield np.where(strange[None, :] <= release.unseen, logs, -np.inf)


def place_of_truth(
    logs: FloatArray, truth: Int64Array, copies: Int64Array
) -> tuple[FloatArray, FloatArray]:
    """Return the rank of the right candidate in each row, and its chance of being named first.

    Equally likely candidates share their ranks, and are named first with equal chances.

    Parameters
    ----------
    logs
        How likely each candidate is, one row per record.
    truth
        The place of the right candidate in each row.
    copies
        How many records each candidate is.

    Examples
    --------
    >>> logs = np.array([[-1.0, -1.0, -5.0]])
    >>> ranks, firsts = place_of_truth(logs, np.array([0]), np.array([1, 1, 1]))
    >>> ranks.tolist(), firsts.tolist()
    ([1.5], [0.5])
    """
    own = logs[np.arange(len(logs)), truth][:, None]
    # Sums of many logarithms in another order differ in the last digits.
    near = np.isclose(logs, own, rtol=1e-9, atol=1e-9)
    above = ((logs > own) & ~near) @ copies
    equal = near @ copies
    ranks = 1 + above + (equal - 1) / 2
    return ranks, np.where(above == 0, 1 / np.maximum(equal, 1), 0.0)


SURE = 0.9
"""A chance from which on an attack counts as sure."""


def score_ranks(
    ranks: npt.ArrayLike,
    firsts: npt.ArrayLike,
    candidates: int,
    *,
    control: npt.ArrayLike | None = None,
) -> Mapping[str, Rate | None]:
    """Return rates about the ranks of the right candidates.

    Parameters
    ----------
    ranks, firsts
        See :func:`setveil.attack.randomized.public_records.place_of_truth`, or
        :func:`setveil.tabular.noise_attacks.public_ranks`.
    candidates
        How many there were.
    control
        The chances of being named first where the truth was exchanged between the records.

    Returns
    -------
    mapping of str to Rate or None
        ``first``: share of the records whose right candidate is named first (equally likely ones
        share it); ``first_random``: of candidates named blindly; ``first_control``: with the truth
        exchanged; both should agree. ``rank``: mean share of the other candidates that are ranked
        above the right one; ½ for blind ranking.

    Examples
    --------
    >>> rates = score_ranks([1, 3], [1.0, 0.0], 5)
    >>> rates["first"].value, rates["first_random"].value, rates["rank"].value
    (0.5, 0.2, 0.25)
    """
    place = np.asarray(ranks, dtype=np.float64)
    if not len(place):
        return dict.fromkeys(("first", "first_random", "first_control", "rank"))
    others = max(candidates - 1, 1)
    return {
        "first": mean(firsts),
        "first_random": Rate.counted(1 / candidates),
        "first_control": None if control is None else mean(control),
        "rank": mean((place - 1) / others),
    }


def same_release(
    guess: Guess, release: Release, original: TransactionTable, key: Key
) -> PerturbedRelease:
    """Return a release of randomized records, or say why it is not the one that is meant."""
    randomized = release.as_randomized()
    if not release.is_consistent_with(original, key):
        raise InputError(
            "the key does not belong to this release and this original",
            fix="give the key that was written with the release, and its original",
        )
    return randomized
