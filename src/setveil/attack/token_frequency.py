"""Reading tags by how often they occur and with which others, next to records in clear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.attack.base import INFERENCE, AuditRole, Finding, check_applies
from setveil.attack.guess import Guess
from setveil.attack.matching import Side, match
from setveil.core.errors import InputError, ParameterError
from setveil.core.params import count, is_whole
from setveil.core.registry import register
from setveil.core.table import TransactionTable

if TYPE_CHECKING:
    from setveil.core.arrays import Int64Array
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
    (:func:`~setveil.attack.matching.match`). In a release of secret shares, the items that can
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
