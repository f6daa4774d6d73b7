"""What an attack on a disassociated release says: which pieces came from one record."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import nlargest
from operator import lt
from typing import TYPE_CHECKING, Any, ClassVar, Self

from setveil.attack.guess import Guess, first_items
from setveil.core.errors import ParameterError
from setveil.core.params import is_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from setveil.attack.reassociation.rebuilt_records import Row
    from setveil.attack.reassociation.word_mover import Distances
    from setveil.core.arrays import FloatArray
    from setveil.core.interval import Rate
    from setveil.core.table import TransactionTable
    from setveil.relatedness.base import Relatedness
    from setveil.release.base import Key, Release

PIECES = ("record", "shared", "term")
"""Where an attached term was published: in a record chunk, a shared chunk, or the term chunk."""

Content = tuple[str, ...]
Attached = tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class ClusterGuess:
    """The records of one cluster, put together again.

    Parameters
    ----------
    cluster
        Its number in the release.
    anchors
        For each of its records the sub-record that it is known by: that of the anchor chunk.
        Records beyond the anchor chunk's sub-records have an empty one. Rows with equal content
        stand for the same records in any order.
    attached
        For each of its records the terms that are said to belong to it besides, each with the
        kind of chunk that published it (see :data:`PIECES`), sorted.

    Examples
    --------
    >>> said = ClusterGuess(cluster=0, anchors=[["flu"], []],
    ...                     attached=[[["record", "rash"], ["term", "gout"]], []])
    >>> said.records()
    (('flu', 'gout', 'rash'), ())
    """

    cluster: int
    anchors: tuple[Content, ...]
    attached: tuple[Attached, ...]

    def __post_init__(self) -> None:
        anchors = tuple(tuple(content) for content in self.anchors)
        attached = tuple(tuple((kind, term) for kind, term in row) for row in self.attached)
        object.__setattr__(self, "anchors", anchors)
        object.__setattr__(self, "attached", attached)
        if not is_whole(self.cluster, 0):
            raise ParameterError(f"a cluster has the number {self.cluster!r}")
        if len(anchors) != len(attached):
            raise ParameterError(
                f"cluster {self.cluster} has {len(anchors)} anchors, and {len(attached)} rows of "
                "what is attached to them"
            )
        for content, row in zip(anchors, attached, strict=True):
            terms = [*content, *(term for _, term in row)]
            if not all(isinstance(term, str) for term in terms) or len(set(terms)) < len(terms):
                raise ParameterError(f"a record of cluster {self.cluster} is not a set of terms")
            if any(kind not in PIECES for kind, _ in row):
                raise ParameterError(
                    f"a term of cluster {self.cluster} comes from none of {', '.join(PIECES)}"
                )

    def records(self) -> tuple[Content, ...]:
        """Return the records as the attack believes them to have been, each sorted."""
        return tuple(
            tuple(sorted([*content, *(term for _, term in row)]))
            for content, row in zip(self.anchors, self.attached, strict=True)
        )

    def to_json(self) -> dict[str, Any]:
        """Return the cluster as JSON values."""
        return {
            "cluster": self.cluster,
            "anchors": [list(content) for content in self.anchors],
            "attached": [[list(pair) for pair in row] for row in self.attached],
        }


SCORES = {
    "accuracy": "share of what belongs to each record besides its anchor that was attached to it",
    "precision": "share of what was attached that belongs there",
    "transaction_breakage": "share of the records with at least one term attached rightly",
    "km_breakage": "share of the protected itemsets that stand together in a record again",
    "wmd": "mean word mover's distance of rebuilt from true records",
    "term_pair_precision": "share of the pairs of term-chunk terms that do come from one record",
    "gain": "accuracy above that of the baseline prior",
    "advantage": "share of what attaching at random misses that the attack gets",
}
"""What each score says; also of the parts of a release that PARTS names."""
PARTS = {"records": "the same for record and shared chunks", "terms": "the same for term chunks"}


@dataclass(frozen=True, kw_only=True)
class ReassociationGuess(Guess):
    """Which pieces of a disassociated release an attack believes to come from one record.

    Parameters
    ----------
    clusters
        One for each cluster that was attacked, in the order of the release: for all, or for a
        sample.
    pairs
        A cluster and two terms of its term chunk that are said to come from one record, the
        first before the second by name.
    baselines
        What guessing without the attack says of the same release: ``"random"``, and ``"prior"``,
        which counts but knows no meaning. They have none themselves.
    notes
        What a reader should know: terms that were unknown, what could not be decided.
    draws
        For a sample how often each of its clusters was drawn, as
        :func:`~setveil.attack.reassociation.pieces.draw_clusters` does; empty where all
        were attacked.

    Examples
    --------
    >>> said = ClusterGuess(cluster=0, anchors=[["flu"], []],
    ...                     attached=[[["term", "gout"], ["term", "rash"]], []])
    >>> guess = ReassociationGuess(attack="aba", clusters=(said,), pairs=((0, "gout", "rash"),))
    >>> ReassociationGuess.from_json(guess.to_json()) == guess
    True
    """

    kind: ClassVar[str] = "reassociation"
    score_words: ClassVar[dict[str, str]] = SCORES | {
        f"{name}_{part}": words for name in SCORES for part, words in PARTS.items()
    }
    beside: ClassVar[tuple[str, ...]] = ("random", "prior")
    scored_with: ClassVar[frozenset[str]] = frozenset({"k", "m", "relatedness", "weights"})

    clusters: tuple[ClusterGuess, ...]
    pairs: tuple[tuple[int, str, str], ...] = ()
    baselines: Mapping[str, ReassociationGuess] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    draws: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "clusters", tuple(self.clusters))
        object.__setattr__(self, "notes", tuple(self.notes))
        pairs = tuple(map(tuple, self.pairs))
        object.__setattr__(self, "pairs", pairs)
        numbers = [guess.cluster for guess in self.clusters]
        if numbers != sorted(set(numbers)):
            raise ParameterError("a guess has its clusters once each, in order")
        # There may be millions of pairs: columns are compared, not one pair after the other.
        clusters, first, second = zip(*pairs, strict=True) if pairs else ((), (), ())
        texts = (*first, *second, *self.notes)
        if (
            not all(isinstance(text, str) for text in texts)
            or len(set(pairs)) < len(pairs)
            or not set(clusters) <= set(numbers)
            or not all(map(lt, first, second))
        ):
            raise ParameterError(
                "a pair is two terms in order of one cluster, said once, and a note is a text"
            )
        if any(each.baselines for each in self.baselines.values()):
            raise ParameterError("a baseline has no baselines")
        draws = tuple(self.draws)
        object.__setattr__(self, "draws", draws)
        if draws and (len(draws) != len(numbers) or not all(is_whole(n, 1) for n in draws)):
            raise ParameterError("a sample says of each of its clusters how often it was drawn")

    @property
    def tested(self) -> int:
        """How many clusters the rates rest on: those of the release, or the draws of a sample."""
        return sum(self.draws) or len(self.clusters)

    def to_json(self) -> dict[str, Any]:
        """Return the guess as JSON values."""
        return {
            "attack": self.attack,
            "about": self.about,
            "notes": list(self.notes),
            "clusters": [cluster.to_json() for cluster in self.clusters],
            "pairs": [list(pair) for pair in self.pairs],
            "draws": list(self.draws),
            "baselines": {name: each.to_json() for name, each in self.baselines.items()},
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Return the guess that :meth:`to_json` described."""
        return cls(
            attack=content["attack"],
            about=content.get("about"),
            clusters=tuple(ClusterGuess(**cluster) for cluster in content["clusters"]),
            pairs=content["pairs"],
            baselines={name: cls.from_json(each) for name, each in content["baselines"].items()},
            notes=content["notes"],
            draws=content.get("draws", ()),
        )

    def rates(
        self,
        *,
        release: Release,
        original: TransactionTable,
        key: Key,
        k: int | None = None,
        m: int | None = None,
        relatedness: Distances | None = None,
        weights: FloatArray | None = None,
    ) -> dict[str, Rate | None]:
        """Return how right the records are that were put together, beside two baselines."""
        from setveil.attack.reassociation.reassociation_score import reassociation_rates

        return reassociation_rates(
            self,
            release=release,
            original=original,
            key=key,
            k=k,
            m=m,
            relatedness=relatedness,
            weights=weights,
        )

    def examples(
        self,
        *,
        release: Release,
        original: TransactionTable,
        key: Key,
        relatedness: Relatedness | None = None,
        count: int = 3,
    ) -> list[dict[str, Any]]:
        """Return the records that were put together best: see :class:`Guess`."""
        from setveil.attack.reassociation.rebuilt_records import rebuilt_records

        pairs: list[tuple[int, int, Row, Row]] = []
        for cluster in rebuilt_records(self, release=release, original=original, key=key):
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
                "published": first_items(sorted(row.anchor)),
                "guessed": first_items(sorted(row.whole(""))),
                "original": first_items(sorted(twin.whole(""))),
            }
            for _, _, row, twin in nlargest(count, pairs, key=lambda each: each[:2])
        ]
