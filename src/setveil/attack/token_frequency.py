"""Reading tags by how often they occur and with which others, next to records in clear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.attack.base import INFERENCE, AuditRole, Finding, check_applies
from setveil.attack.guess import Guess
from setveil.core.errors import InputError, ParameterError
from setveil.core.interval import Rate, clustered_share
from setveil.core.params import count, is_whole
from setveil.core.registry import register
from setveil.core.table import TransactionTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from setveil.core.arrays import FloatArray, Int64Array
    from setveil.release.base import Key, Release
    from setveil.release.encoded import EncodedRelease

MARGIN = 1.25
"""Candidates per tag: ranks differ a little between two sets of records."""


@dataclass(frozen=True, kw_only=True)
class TokenGuess(Guess):
    """What each tag is believed to stand for.

    Parameters
    ----------
    names
        For each attacked tag the name it is believed to stand for.
    chances
        How sure the attack is of each, between 0 and 1.
    by_frequency
        The baseline: the most frequent tag is the most frequent name, and so on.
    control
        The same attack with a reference whose names were exchanged at random: what it gets where
        there is nothing to find.
    candidates
        How many names there were to choose from.
    """

    kind: ClassVar[str] = "tokens"
    score_words: ClassVar[dict[str, str]] = {
        "accuracy": "share of what was attacked that the guess has right",
        "accuracy_frequency": "the same by frequency rank alone",
        "accuracy_random": "the same by names drawn at random",
        "accuracy_control": "the same by the attack with a reference that is unrelated",
        "precision": "share of the guesses it was sure of (chance 0.9 and more) that are right",
        "sure": "share of what was attacked that it was sure of",
        "tags_read": "share of all tags that were read",
        "occurrences_read": "share of the tags' occurrences in the records that were read",
    }

    names: dict[str, str]
    chances: dict[str, float]
    by_frequency: dict[str, str]
    control: dict[str, str]
    candidates: int

    def __post_init__(self) -> None:
        super().__post_init__()
        for said in (self.names, self.by_frequency, self.control):
            if not all(isinstance(text, str) for pair in said.items() for text in pair):
                raise ParameterError("a guess maps tags to names")
        if set(self.chances) != set(self.names):
            raise ParameterError("a guess says of every tag how sure it is")
        for chance in self.chances.values():
            real = isinstance(chance, int | float) and not isinstance(chance, bool)
            if not real or not 0 <= chance <= 1:
                raise ParameterError("a chance is a number between 0 and 1")
        candidates = self.candidates
        if not is_whole(candidates, 0):
            raise ParameterError("the candidates are counted")

    def rates(
        self, *, release: Release, original: TransactionTable, key: Key
    ) -> dict[str, Rate | None]:
        """Return how many tags were read rightly, beside what guessing gets.

        Returns
        -------
        dict of str to Rate or None
            ``accuracy``: share of the attacked tags whose name is right; ``accuracy_frequency``:
            the same by frequency rank alone; ``accuracy_random``: by names drawn at random;
            ``accuracy_control``: by the attack with an unrelated reference. ``precision``: share of
            the names it was sure of (chance of at least 0.9) that are right; ``sure``: share of the
            attacked tags it was sure of. ``tags_read``: share of all tags, attacked or not, that
            were read; ``occurrences_read``: share of what stands in the records as a tag.

        Examples
        --------
        >>> from setveil import TransactionTable
        >>> from setveil.release import publish_encoded
        >>> table = TransactionTable.from_rows([["flu", "hiv"], ["flu"]])
        >>> release, key = publish_encoded(table, {"flu": "4a", "hiv": "c1"})
        >>> guess = TokenGuess(attack="token-frequency", names={"4a": "flu", "c1": "gout"},
        ...                    chances={"4a": 0.95, "c1": 0.2}, by_frequency={}, control={},
        ...                    candidates=8)
        >>> rates = guess.score(release=release, original=table, key=key)
        >>> rates["accuracy"].value, rates["precision"].value, rates["accuracy_random"].value
        (0.5, 1.0, 0.125)
        """
        tags = release.as_tags()
        if not release.is_consistent_with(original, key) or not key.names:
            raise InputError(
                "the key does not say what the tags of this release stand for",
                fix="give the key that was written with the release, and its original",
            )
        truth = {
            tag: name
            for tag, name, clear in zip(
                tags.vocabulary.names, key.names, tags.readable.tolist(), strict=True
            )
            if not clear
        }
        if not set(self.names) <= set(truth):
            raise InputError(
                "the self is about tags that are not in this release",
                fix="attack this release, or name the one that was attacked",
            )
        if not truth:
            return dict.fromkeys(NAMES)
        attacked = list(self.names)
        sure = [tag for tag in attacked if self.chances[tag] >= SURE]
        right = _right(self.names, truth)
        return {
            "accuracy": _share(right, attacked),
            "accuracy_frequency": _share(_right(self.by_frequency, truth), attacked),
            "accuracy_random": Rate.counted(1 / self.candidates) if self.candidates else None,
            "accuracy_control": _share(_right(self.control, truth), attacked),
            "precision": _share(right, sure),
            "sure": _share(set(sure), attacked),
            "tags_read": _share(right, list(truth)),
            "occurrences_read": _occurrences(tags, truth, right),
        }


@register(
    "attack",
    "token-frequency",
    paper="Kumar, Novak, Pang & Tomkins 2007",
    bibtex="""
    @inproceedings{kumar2007anonymizing,
      author    = {Kumar, Ravi and Novak, Jasmine and Pang, Bo and Tomkins, Andrew},
      title     = {On Anonymizing Query Logs via Token-based Hashing},
      booktitle = {Proceedings of the 16th International Conference on World Wide Web},
      pages     = {629--638}, year = {2007}
    }""",
)
@dataclass(frozen=True, kw_only=True)
class TokenFrequency:
    """Read hashed items by their frequencies and neighbours, from similar records in clear.

    The adversary has a reference: records of other people, or an earlier log, that can be read.
    An item is about as frequent there as in the release, and stands beside the same others as
    often. The attack looks for the naming of tags under which all these numbers agree best
    (:func:`match`). In a release of secret shares, the items that can
    be read are fixed points.

    Parameters
    ----------
    most
        How many tags are attacked, the most frequent first; rare ones have too few neighbours.
    rounds
        How often the naming is improved.

    Examples
    --------
    >>> from setveil.anonymize import TokenHashing
    >>> rows = [["tom", "cruise"]] * 5 + [["new", "york"]] * 3 + [["new", "car"]] * 2 + [["tom"]]
    >>> table = TransactionTable.from_rows(rows)
    >>> made = TokenHashing().anonymize(table)
    >>> guess = TokenFrequency().run(made.release, reference=table)
    >>> {name: guess.names[tag] for tag, name in zip(made.release.vocabulary.names,
    ...                                               made.key.names)} == {
    ...     name: name for name in table.vocabulary.names}
    True

    References
    ----------
    R. Kumar, J. Novak, B. Pang, A. Tomkins: On anonymizing query logs via token-based hashing.
    WWW 2007.

    Departures: the paper matches tokens one after the other by hand-made statistics of their
    neighbours; here all are matched at once, under one model of how far counts may differ.
    """

    applies_to: ClassVar[frozenset[str]] = frozenset({"encoded", "shared"})
    requires: ClassVar[frozenset[str]] = frozenset({"reference"})
    role: ClassVar[AuditRole] = AuditRole(
        family="token frequency",
        findings=(
            Finding(
                risk=INFERENCE,
                figure="accuracy",
                baseline="accuracy_random",
                baseline_name="naming items at random",
                control="accuracy_control",
                advantage="",
                label="Read a coded item",
                says="An attacker who knows {knows} reads {count} of 1,000 coded items.",
                outright=True,
            ),
        ),
        cost=1,
        knows="other records of the same kind",
    )

    most: int = count(1000, doc="how many of the frequent tags are attacked")
    rounds: int = count(20, most=1000, doc="how often the naming is improved")

    def run(
        self,
        release: EncodedRelease,
        *,
        reference: TransactionTable,
        rng: np.random.Generator | None = None,
    ) -> TokenGuess:
        """Return the naming of the tags that agrees best with `reference`.

        Parameters
        ----------
        release
            Records of tags.
        reference
            Records like the originals, in clear.
        rng
            Exchanges the names for the control; without it always the same way.
        """
        check_applies("token-frequency", self.applies_to, release)
        if not len(reference.items):
            raise InputError("the reference has no items", fix="give records to compare with")
        rng = np.random.default_rng(0) if rng is None else rng
        tags = self._tags(release)
        known = [
            int(i)
            for i in np.flatnonzero(release.readable)
            if release.vocabulary[int(i)] in reference.vocabulary
        ]
        fixed = [release.vocabulary[i] for i in known]
        hidden = Side.of(release.to_table(), tags, known)
        names, chances = self._name(hidden, reference, fixed)
        shuffled = _exchanged(reference, fixed, rng)
        control, _ = self._name(hidden, shuffled, fixed)
        ranked = _by_frequency(reference, fixed)
        labels = [release.vocabulary[i] for i in tags.tolist()]
        return TokenGuess(
            attack="token-frequency",
            names={labels[i]: name for i, name in names.items()},
            chances={labels[i]: chances[i] for i in names},
            by_frequency={
                tag: reference.vocabulary[i]
                for tag, i in zip(labels, ranked.tolist(), strict=False)
            },
            control={labels[i]: name for i, name in control.items()},
            candidates=len(ranked),
        )

    def _tags(self, release: EncodedRelease) -> Int64Array:
        supports = release.supports()
        supports[release.readable] = 0
        order = np.argsort(-supports, kind="stable")[: self.most]
        return order[supports[order] > 0]

    def _name(
        self, hidden: Side, reference: TransactionTable, fixed: list[str]
    ) -> tuple[dict[int, str], dict[int, float]]:
        """Return for each place of a tag its name and how sure that is."""
        ranked = _by_frequency(reference, fixed)[: int(MARGIN * len(hidden.shares)) + 1]
        known = [reference.vocabulary.number(name) for name in fixed]
        clear = Side.of(reference, ranked, known)
        found, chances = match(hidden, clear, rounds=self.rounds)
        names = {
            i: reference.vocabulary[int(ranked[w])] for i, w in enumerate(found.tolist()) if w >= 0
        }
        return names, {i: float(chances[i]) for i in names}


def _by_frequency(reference: TransactionTable, fixed: list[str]) -> Int64Array:
    """Return the items of a reference, without those that can be read, most frequent first."""
    supports = reference.supports()
    supports[[reference.vocabulary.number(name) for name in fixed]] = 0
    order = np.argsort(-supports, kind="stable")
    return order[supports[order] > 0]


def _exchanged(
    reference: TransactionTable, fixed: list[str], rng: np.random.Generator
) -> TransactionTable:
    """Return the reference with the names of its items exchanged at random, but the fixed ones."""
    apart = set(fixed)
    free = [name for name in reference.vocabulary.names if name not in apart]
    drawn = iter(rng.permutation(len(free)).tolist())
    names = [name if name in apart else free[next(drawn)] for name in reference.vocabulary.names]
    return TransactionTable.from_csr(reference.offsets, reference.items, names)


SURE = 0.9


NAMES = (
    "accuracy",
    "accuracy_frequency",
    "accuracy_random",
    "accuracy_control",
    "precision",
    "sure",
    "tags_read",
    "occurrences_read",
)


def _right(said: Mapping[str, str], truth: Mapping[str, str]) -> set[str]:
    return {tag for tag, name in said.items() if truth.get(tag) == name}


def _share(good: set[str], of: list[str]) -> Rate | None:
    return Rate.sampled(sum(tag in good for tag in of), len(of)) if of else None


def _occurrences(release: EncodedRelease, truth: Mapping[str, str], right: set[str]) -> Rate | None:
    """Return the share of occurrences that were read: those of one tag are read all or none."""
    numbers = [release.vocabulary.number(tag) for tag in truth]
    occurrences = release.supports()[numbers].astype(np.float64)
    return clustered_share(occurrences * [tag in right for tag in truth], occurrences)


BLOCK = 4096
"""Records whose pairs are counted at once."""
WARM, COLD = (0.005, 0.05, 0.2), 0.5
"""How much of the evidence is believed in the first round, of each try, and in the last."""
FIRST = 0.3
"""How much of it is believed before the first round."""
GREATEST = 50
"""Co-occurrences of an item that are compared before anything is named."""
BALANCING = 10
"""How often rows and columns are brought to one in turn."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Side:
    """Items of one set of records: how often they occur, and with which others.

    Parameters
    ----------
    records
        Number of records.
    shares
        For each item the share of records that hold it.
    pairs
        For each two items the share of records that hold both; 0 on the diagonal.
    fixed
        The same for each item and each fixed point, an item that is known on both sides.
    fixed_shares
        For each fixed point the share of records that hold it.
    """

    records: int
    shares: FloatArray
    pairs: FloatArray
    fixed: FloatArray
    fixed_shares: FloatArray

    @classmethod
    def of(cls, table: TransactionTable, items: Int64Array, fixed: Sequence[int]) -> Side:
        """Count the items of these numbers, and the fixed points, in a table.

        >>> from setveil import TransactionTable
        >>> table = TransactionTable.from_rows([["a", "b"], ["a"]])
        >>> Side.of(table, np.array([0, 1]), []).pairs.tolist()
        [[0.0, 0.5], [0.5, 0.0]]
        """
        wanted = np.concatenate([items, np.array(fixed, dtype=np.int64)])
        place = np.full(table.n_items, -1, dtype=np.int64)
        place[wanted] = np.arange(len(wanted))
        places = place[table.items]
        counts = np.zeros((len(items), len(wanted)))
        for start in range(0, len(table), BLOCK):
            stop = min(start + BLOCK, len(table))
            part = places[table.offsets[start] : table.offsets[stop]]
            rows = np.repeat(np.arange(stop - start), table.lengths[start:stop])
            held = np.zeros((stop - start, len(wanted)), dtype=np.float32)
            held[rows[part >= 0], part[part >= 0]] = 1.0
            counts += held[:, : len(items)].T @ held
        counts /= max(len(table), 1)
        shares = counts.diagonal().copy()
        np.fill_diagonal(counts, 0.0)
        return cls(
            records=len(table),
            shares=shares,
            pairs=counts[:, : len(items)],
            fixed=counts[:, len(items) :],
            fixed_shares=table.supports()[wanted[len(items) :]] / max(len(table), 1),
        )

    def surplus(self) -> tuple[FloatArray, float]:
        """Return co-occurrences beyond what the frequencies give, and how far to trust them.

        The trust is the part of their squares that is more than sampling makes of nothing, times
        two: what is more than chance is found in few pairs, which all the others would drown.
        """
        expected = np.outer(self.shares, self.shares)
        np.fill_diagonal(expected, 0.0)
        seen = beyond(self.pairs, expected, self.records)
        # The variance of each is 1 / (4 records), and less where hardly a record is expected.
        chance = np.minimum(0.25 / max(self.records, 1), expected / 2).sum()
        found = (seen**2).sum()
        return seen, float(np.clip(2 * (1 - chance / found), 0, 1)) if found else 0.0

    def fixed_surplus(self) -> FloatArray:
        """Return co-occurrences with fixed points beyond what the frequencies give."""
        return beyond(self.fixed, np.outer(self.shares, self.fixed_shares), self.records)


def beyond(shares: FloatArray, expected: FloatArray, records: int) -> FloatArray:
    """Return the roots of shares of records, less the roots of what is expected.

    By Freeman and Tukey, as the plain root is too coarse for counts of none or one.

    >>> beyond(np.array([0.25, 0.16]), np.array([0.16, 0.16]), 10**6).round(3).tolist()
    [0.1, 0.0]
    """
    step = 1.0 / max(records, 1)
    return np.asarray((np.sqrt(shares) + np.sqrt(shares + step) - np.sqrt(4 * expected + step)) / 2)


def match(hidden: Side, clear: Side, *, rounds: int) -> tuple[Int64Array, FloatArray]:
    """Name the items of one side by those of the other, each by another one.

    Counts are Poisson in both; the root of a share has the same variance everywhere,
    1 / (4 records), so that squared differences of roots add up to a likelihood. That of naming
    item t by w is expected under the present chances P of all other items:

        cost(t, w) = (√f_t - √f_w)² + ½ Σ_a Σ_v P_av (x_ta - y_wv)²

    with x the surplus of a co-occurrence over what frequencies alone would give, and y the same of
    the other side times the trust in it. Raw co-occurrences would count an item's frequency once
    more with each of its neighbours, and be sure of what is chance; so, where items occur
    independently of each other, y is 0 and the frequencies decide.

    New chances are exp(-cost / 2 variance), balanced so that each item has one name and each name
    at most one item; less of the evidence is believed in the first rounds than in the last. The
    first chances compare each item's frequency and its greatest co-occurrences, whoever they are
    with. Which part of the evidence to believe at the start depends on the records: several are
    tried, and the naming under which the counts agree best is kept; naming by rank of frequency
    is one of them.

    Parameters
    ----------
    hidden, clear
        The two sides; the clear one should have at least as many items.
    rounds
        How often the chances are improved.

    Returns
    -------
    tuple of array and array
        For each hidden item the number of a clear one (-1 where none is left), and its chance.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["a", "b"], ["a", "b"], ["a"], ["c", "b"], ["c"]])
    >>> side = Side.of(table, np.array([0, 1, 2]), [])
    >>> turned = Side.of(table, np.array([2, 0, 1]), [])
    >>> match(turned, side, rounds=20)[0].tolist()
    [2, 0, 1]

    References
    ----------
    S. Gold, A. Rangarajan: A graduated assignment algorithm for graph matching. IEEE Transactions
    on Pattern Analysis and Machine Intelligence 18(4), 1996.
    """
    scale = 2.0 / (1.0 / max(hidden.records, 1) + 1.0 / max(clear.records, 1))
    alone = (np.sqrt(hidden.shares)[:, None] - np.sqrt(clear.shares)) ** 2
    alone += _squared_distances(hidden.fixed_surplus(), clear.fixed_surplus())
    x, (y, trust) = hidden.surplus()[0], clear.surplus()
    y *= trust
    own = (x**2).sum(axis=1)[:, None]
    most = min(GREATEST, len(x), len(y))
    alike = alone + _squared_distances(
        -np.sort(-np.sqrt(hidden.pairs))[:, :most], -np.sort(-np.sqrt(clear.pairs))[:, :most]
    )
    best = _ranked(hidden, clear, _balanced(-2 * COLD * scale * alone))
    least = _misfit(best[0], alone, x, y)
    for warm in WARM:
        chances = _balanced(-FIRST * scale * alike)
        for believed in np.geomspace(warm, COLD, rounds):
            together = own - 2.0 * (x @ (chances @ y.T)) + y**2 @ chances.sum(axis=0)
            # A pair speaks twice, for each of its items; a frequency once.
            chances = _balanced(-believed * scale * (2 * alone + together))
        found = _assigned(chances)
        misfit = _misfit(found[0], alone, x, y)
        if misfit < least:
            least, best = misfit, found
    return best


def _ranked(hidden: Side, clear: Side, chances: FloatArray) -> tuple[Int64Array, FloatArray]:
    """Name the most frequent item by the most frequent one, and so on."""
    rows, columns = (np.argsort(-side.shares, kind="stable") for side in (hidden, clear))
    both = min(len(rows), len(columns))
    found, sure = np.full(len(rows), -1, dtype=np.int64), np.zeros(len(rows))
    found[rows[:both]] = columns[:both]
    sure[rows[:both]] = chances[rows[:both], columns[:both]]
    return found, sure


def _misfit(found: Int64Array, alone: FloatArray, x: FloatArray, y: FloatArray) -> float:
    """Return how far the counts of the named items are from those of their names."""
    named = np.flatnonzero(found >= 0)
    names = found[named]
    apart = (x[np.ix_(named, named)] - y[np.ix_(names, names)]) ** 2
    return float(alone[named, names].sum() + apart.sum() / 2)


def _squared_distances(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray((a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2.0 * (a @ b.T))


def _balanced(logits: FloatArray) -> FloatArray:
    """Return chances whose rows sum to 1 and whose columns to at most about 1."""
    chances = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-np.inf))
    for _ in range(BALANCING):
        chances /= chances.sum(axis=1, keepdims=True)
        chances /= np.maximum(chances.sum(axis=0), 1.0)
    return np.asarray(chances / np.maximum(chances.sum(axis=1, keepdims=True), 1e-300))


def _assigned(chances: FloatArray) -> tuple[Int64Array, FloatArray]:
    """Give each row a column of its own, the surest first."""
    found = np.full(len(chances), -1, dtype=np.int64)
    sure = np.zeros(len(chances))
    taken = np.zeros(chances.shape[1], dtype=bool)
    for row in np.argsort(-chances.max(axis=1, initial=0.0), kind="stable").tolist():
        left = np.where(taken, -1.0, chances[row])
        best = int(np.argmax(left))
        if not taken[best]:
            found[row], sure[row], taken[best] = best, chances[row, best], True
    return found, sure
