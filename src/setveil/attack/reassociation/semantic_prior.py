"""Semantic prior: counts and meaning together, learned from the release itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from setveil.attack.logistic import Logistic
from setveil.attack.reassociation.blocks import gathered
from setveil.attack.reassociation.piece_scores import check_known
from setveil.attack.reassociation.pieces import (
    SAMPLE_DOC,
    pools,
    reassociation_role,
)
from setveil.attack.reassociation.prior import (
    COPIES_DOC,
    Placing,
    ReassociationAttack,
    place_by_prior,
    rows_of_terms,
)
from setveil.attack.reassociation.term_evidence import (
    TermEvidence,
    centred,
    clustered,
    likeness,
    over_anchors,
    shared_out,
)
from setveil.core.params import count, flag
from setveil.core.registry import register

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from setveil.attack.base import AuditRole
    from setveil.attack.reassociation.pieces import Pool
    from setveil.core.arrays import FloatArray, Int64Array
    from setveil.core.threads import Progress
    from setveil.relatedness.base import Relatedness
    from setveil.release import Chunk, Cluster, DisassociatedRelease
    from setveil.release.base import Release


SHARPNESS = 0.5
"""How far what was learned inside chunks is believed for term chunks, where links are weaker."""
TRUST = 0.003
"""How far the release is trusted against weights of zero (C of a logistic regression)."""
FOR_ANCHORS = 1.0
"""How much the likeness of terms counts beside their anchors, where rows are chosen."""
FOR_LINKS = 16.0
"""How much it counts where terms of one record are told."""
LESSONS = 400
"""Clusters whose chunks teach how much evidence counts, where not all clusters are attacked."""
LARGEST = 10_000
"""Terms times rows of a cluster beyond which its terms are not clustered, in a sample."""
STARTS = 2
"""How often these are clustered anew: with so much weight there are several outcomes."""


@register("attack", "semantic-prior", paper="setveil")
@dataclass(frozen=True, kw_only=True)
class SemanticPrior(ReassociationAttack):
    """Attach terms by counts and meaning together; what meaning is worth is learned.

    Like :class:`~setveil.attack.reassociation.prior.Prior`, but the chance that a row holds a term
    of the term chunk depends on how well the term fits the row's anchor: by each source of
    relatedness, and by what the release itself shows in one sub-record or cluster elsewhere. How
    much each of these counts is learned from the record chunks: one term at a time is hidden, and a
    logistic regression tells the rows that held it from the others. Nothing of the original is
    seen.

    Terms of one record are also like each other. With `clustering`, rows draw terms that are
    like those they hold, until each row has its share; that also says which pairs of terms of
    the term chunk come from one record.

    Sub-records of record and shared chunks are attached as Prior does: cutting has separated
    what goes together, so meaning misleads there.

    Parameters
    ----------
    clustering
        Whether terms of the term chunk are clustered.
    term_copies
        How many rows a term of the term chunk is attached to.
    sample
        How many clusters are drawn to be attacked; all of them by default. What evidence counts
        is then learned from at most 400 clusters drawn at random, and a term chunk is clustered
        if its terms times the records are at most 30,000.

    Notes
    -----
    Name several sources for the best result, such as ``corpus:INDEX+glove:FILE``; each is asked
    by itself, weights are not used.

    Examples
    --------
    >>> SemanticPrior(term_copies=0)
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: term_copies is 0. To fix: use a whole number of at least 1.
    """

    requires: ClassVar[frozenset[str]] = frozenset({"relatedness"})
    accepts: ClassVar[frozenset[str]] = frozenset({"progress"})
    role: ClassVar[AuditRole] = reassociation_role(
        cost=2,
        # Clustering tells which terms come from one record, and hardly changes how many are
        # attached rightly, which is what counts; its time grows with the cube of a cluster.
        params={"clustering": False},
    )

    clustering: bool = flag(True, doc="cluster the terms of term chunks by how like they are")
    term_copies: int = count(1, doc=COPIES_DOC)
    sample: int | None = count(None, doc=SAMPLE_DOC)

    def place(
        self,
        release: DisassociatedRelease,
        found: Sequence[Pool],
        rng: np.random.Generator,
        *,
        relatedness: Relatedness,
        progress: Progress | None = None,
        studied: Studied | None = None,
    ) -> Placing:
        """Return rows by counts and meaning.

        Parameters
        ----------
        release, found, rng
            As :meth:`run` gives them; the generator also starts the clustering.
        relatedness
            What is known of terms; each part of a sum is asked by itself.
        progress
            Told how many clusters are done.
        studied
            What a whole release teaches, where a part of it is attacked.

        Raises
        ------
        NotApplicable
            The source of relatedness knows no anchor, or nothing that is to be attached.
        """
        if progress is not None:
            progress("learning", 0, len(found))
        if studied is None:
            lessons = draw_lessons(release, rng) if self.draws_clusters(release) else None
            studied = study(release, relatedness, found, lessons)
        evidence, learned, notes = studied
        placed, pairs = [], list[tuple[int, str, str]]()
        large = 0
        for number, pool in enumerate(found):
            rows = list(place_by_prior(pool, rng, kinds=("record", "shared")))
            terms = _terms(pool)
            for cluster, low, high in pool.clusters():
                if low not in terms:
                    continue
                task = _task(pool, low, high, terms[low])
                fits = self.sample is None or len(task.terms) * (high - low) <= LARGEST
                large += self.clustering and not fits
                clustering = self.clustering and fits
                made = self._placed(
                    task, release.cluster(cluster), evidence, learned, rng, clustering=clustering
                )
                for place, own in zip(task.places, made.rows, strict=True):
                    rows[place] = low + own
                pairs += [(cluster, *pair) for pair in made.pairs]
            placed.append(rows)
            if progress is not None:
                progress("attaching terms", number + 1, len(found))
        if large:
            notes = (*notes, f"in {large:,} large clusters terms were attached without clustering")
        return Placing(placed, notes, pairs if self.clustering else None)

    def learn(self, release: Release, known: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Return what the whole release teaches, which is studied in one place."""
        studied = study(gathered(release), known["relatedness"])
        return {**known, "studied": studied}, list(studied.notes)

    def _placed(
        self,
        task: Task,
        cluster: Cluster,
        evidence: TermEvidence,
        learned: Learned,
        rng: np.random.Generator,
        *,
        clustering: bool,
    ) -> TermRows:
        fit = SHARPNESS * learned.fit(task, cluster, evidence)[:, task.value_of]
        if not clustering or len(task.terms) < 2:
            chances = np.exp(fit - fit.max(axis=1, keepdims=True))
            chances /= chances.sum(axis=1, keepdims=True)
            return TermRows(_best_rows(chances, task.value_of, self.term_copies, rng), [])
        alike = likeness(evidence.pairs(cluster, task.terms, task.terms))
        chances = clustered(fit, alike, FOR_ANCHORS, rng)
        linked = shared_out(clustered(fit, alike, FOR_LINKS, rng, starts=STARTS))
        first, second = np.nonzero(np.triu(linked[:, None] == linked[None, :], k=1))
        pairs = [
            (task.terms[i], task.terms[j])
            for i, j in zip(first.tolist(), second.tolist(), strict=True)
        ]
        return TermRows(_best_rows(chances, task.value_of, self.term_copies, rng), pairs)


class TermRows(NamedTuple):
    """The rows of each term of a term chunk, and the terms that are said to be of one record."""

    rows: list[Int64Array]
    pairs: list[tuple[str, str]]


class Task(NamedTuple):
    """The term chunk of a cluster, and the anchors of its rows.

    Parameters
    ----------
    places, terms
        The pieces, sorted by name.
    anchors
        The distinct anchors.
    value_of
        For each row which anchor it has.
    """

    places: list[int]
    terms: list[str]
    anchors: list[tuple[str, ...]]
    value_of: Int64Array


def _terms(pool: Pool) -> dict[int, list[tuple[str, int]]]:
    """Return the terms of each term chunk and their places, by the first row of the cluster."""
    found: dict[int, list[tuple[str, int]]] = {}
    for place, piece in enumerate(pool.pieces):
        if piece.kind == "term":
            found.setdefault(piece.low, []).append((piece.terms[0], place))
    return {low: sorted(terms) for low, terms in found.items()}


def _task(pool: Pool, low: int, high: int, there: Sequence[tuple[str, int]]) -> Task:
    values, first, value_of = np.unique(
        pool.values[low:high], return_index=True, return_inverse=True
    )
    return Task(
        places=[place for _, place in there],
        terms=[term for term, _ in there],
        anchors=[pool.anchors[low + int(first[i])] for i in range(len(values))],
        value_of=value_of.astype(np.int64),
    )


def _best_rows(
    chances: FloatArray, values: Int64Array, copies: int, rng: np.random.Generator
) -> list[Int64Array]:
    """Return for each term the rows it is attached to."""
    chances = np.maximum(chances, np.finfo(np.float64).tiny)
    return rows_of_terms(chances, values, copies, rng)


# --- learning ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """How much each kind of evidence counts.

    Parameters
    ----------
    weights
        At least 0, of evidence brought to deviation 1.
    deviations
        Of the evidence that it was learned from.
    """

    weights: FloatArray
    deviations: FloatArray

    def fit(self, task: Task, cluster: Cluster, evidence: TermEvidence) -> FloatArray:
        """Return how well each term fits each anchor, as log-odds."""
        shape = (len(task.terms), len(task.anchors))
        names = sorted({term for anchor in task.anchors for term in anchor})
        if not names or not self.weights.any():
            return np.zeros(shape)
        cells = over_anchors(
            evidence.pairs(cluster, names, task.terms), _holds(task.anchors, names)
        )
        sizes = np.bincount(task.value_of, minlength=len(task.anchors)).astype(np.float64)
        return np.asarray(
            np.tensordot(self.weights / self.deviations, centred(cells, sizes), axes=1).T
        )


class Studied(NamedTuple):
    """What a release teaches: evidence for pairs of terms, what it counts, what to say of it."""

    evidence: TermEvidence
    learned: Learned
    notes: tuple[str, ...]


def draw_lessons(release: DisassociatedRelease, rng: np.random.Generator) -> list[int]:
    """Draw the clusters that teach how much evidence counts, where only some are attacked."""
    clusters = len(release.sizes)
    return sorted(rng.choice(clusters, min(LESSONS, clusters), replace=False).tolist())


def study(
    release: DisassociatedRelease,
    relatedness: Relatedness,
    found: Sequence[Pool] | None = None,
    lessons: Sequence[int] | None = None,
) -> Studied:
    """Learn from a release what is needed to attack its clusters.

    Parameters
    ----------
    release, relatedness
        What is attacked, and what is known of terms.
    found
        What is to be put together; without it the whole release.
    lessons
        The clusters whose chunks are learned from; without it all.

    Raises
    ------
    NotApplicable
        The source of relatedness knows no anchor, or nothing that is to be attached.
    """
    notes = check_known(pools(release) if found is None else found, relatedness)
    evidence = TermEvidence.of(relatedness, release)
    learned = learn(release, evidence, lessons)
    if not learned.weights.any():
        said = "the record chunks teach nothing: terms are attached by counts alone"
        notes = (*notes, said)
    return Studied(evidence, learned, notes)


def learn(
    release: DisassociatedRelease, evidence: TermEvidence, lessons: Sequence[int] | None = None
) -> Learned:
    """Learn from record chunks how evidence tells the rows that hold a term from the others.

    Evidence that would count against a term is left out: nothing says that terms of one record
    are less like than others, so such a weight is chance.

    Parameters
    ----------
    release
        Whose record chunks are learned from; those of one term teach nothing.
    evidence
        Made ready for it.
    lessons
        The clusters to learn from; without it all.
    """
    features, truth = [], []
    clusters = range(len(release.sizes)) if lessons is None else lessons
    for cluster in map(release.cluster, clusters):
        for chunk in cluster.chunks:
            terms = release.domain(chunk)
            if len(terms) > 1:
                shown, held = hidden_terms(chunk, terms, evidence.pairs(cluster, terms, terms))
                features.append(shown)
                truth.append(held)
    kinds = len(evidence.names)
    weights, deviations = np.zeros(kinds), np.ones(kinds)
    cells = np.concatenate([np.empty((0, kinds)), *features])
    held = np.concatenate([np.empty(0, bool), *truth])
    used = list(range(kinds)) if 0 < held.sum() < len(held) else []
    while used:
        model = Logistic.fit(cells[:, used], held, trust=TRUST)
        if model.weights.min() >= 0:
            weights[used], deviations[used] = model.weights, model.deviations
            break
        used.pop(int(model.weights.argmin()))
    return Learned(weights=weights, deviations=deviations)


def hidden_terms(
    chunk: Chunk, terms: Sequence[str], pairs: FloatArray
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Return the evidence for each sub-record and term while the term is hidden, and the truth.

    A sub-record that has nothing else is left out.

    Parameters
    ----------
    chunk, terms
        A record chunk and its domain.
    pairs
        Kinds of evidence by terms by terms.

    Examples
    --------
    >>> from setveil.release import Chunk
    >>> chunk = Chunk((("a", "b"), ("b",)), 0, 1)
    >>> cells, held = hidden_terms(chunk, ["a", "b"], np.array([[[0.0, 1.0], [3.0, 0.0]]]))
    >>> cells.tolist(), held.tolist()
    ([[0.0], [0.0], [0.0]], [True, True, False])
    """
    counted = Counter(chunk.subrecords)
    holds = _holds(list(counted), terms)
    copies = np.array(list(counted.values()), dtype=np.int64)
    cells = centred(over_anchors(pairs, holds, hidden=True), copies.astype(np.float64))
    others = holds.sum(axis=1)[:, None] > holds
    rows = np.repeat(np.arange(len(copies)), copies)
    asked = others[rows]
    return cells[:, rows][:, asked].T, holds[rows][asked]


def _holds(anchors: Sequence[Sequence[str]], terms: Sequence[str]) -> npt.NDArray[np.bool_]:
    place = {term: i for i, term in enumerate(terms)}
    found = np.zeros((len(anchors), len(terms)), dtype=bool)
    for row, anchor in enumerate(anchors):
        found[row, [place[term] for term in anchor]] = True
    return found
