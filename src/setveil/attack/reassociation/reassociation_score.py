"""How many pieces of a disassociated release an attack put back together as they were."""

from __future__ import annotations

import itertools
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from setveil.attack.reassociation.pieces import cluster_chances
from setveil.attack.reassociation.rebuilt_records import (
    PARTS,
    ProtectedItemsets,
    Rebuilt,
    Row,
    rebuilt_records,
)
from setveil.attack.reassociation.word_mover import WordMover
from setveil.core.errors import InputError, NotApplicable
from setveil.core.interval import advantage, clustered_share, difference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from setveil.attack.reassociation.reassociation_guess import ReassociationGuess
    from setveil.attack.reassociation.word_mover import Distances
    from setveil.core.arrays import FloatArray
    from setveil.core.interval import Rate
    from setveil.core.table import TransactionTable
    from setveil.release.base import Key, Release
    from setveil.release.disassociated import DisassociatedRelease

    Rates = dict[str, Rate | None]
    from setveil.attack.reassociation.rebuilt_records import Rebuilt

BASELINES = ("random", "prior")
"""What stands beside every score: see :class:`~setveil.attack.ReassociationGuess`."""
SCORES = ("accuracy", "precision", "transaction_breakage", "km_breakage", "wmd")
"""What is said for every part of the release."""


def reassociation_rates(
    guess: ReassociationGuess,
    *,
    release: Release,
    original: TransactionTable,
    key: Key,
    k: int | None = None,
    m: int | None = None,
    relatedness: Distances | None = None,
    weights: FloatArray | None = None,
) -> dict[str, Rate | None]:
    """Return how right the records are that an attack put together, beside two baselines.

    Rows with equal anchors are interchangeable: each score takes the pairing of them with the
    true records that is best for the attack. Intervals count clusters: few say little. Where the
    attack drew some of the clusters, rates are estimates of those of the whole release, and
    intervals count draws.

    Parameters
    ----------
    guess, release, original, key
        What is compared.
    k, m
        The parameters of the release, for ``km_breakage``.
    relatedness
        How far apart terms are, for ``wmd``.
    weights
        For each cluster of the release how many people each of its people stands for, where large
        clusters were cut (:func:`~setveil.release.chunk_plan.cut_clusters`).

    Returns
    -------
    dict of str to Rate or None
        ``accuracy``: the share of the true attachments that were found, Σ min(P, N) / Σ N, where
        P and N count a term with an anchor in a cluster, as said and in truth. ``precision``: the
        same as a share of what was said. ``transaction_breakage``: the share of the records with
        at least one term re-attached rightly. ``km_breakage``: of the itemsets of m terms that
        fewer than k records hold and that the release separates, the share that stands together
        in a rebuilt record and in the true one; None for a sample, as one itemset may lie in
        several clusters. ``wmd``: the mean word mover's distance between
        rebuilt and true records; rows with equal anchors are paired so that they share as many
        terms as they can. Each also as ``_records``, for record and shared chunks alone, and as
        ``_terms``, for term chunks alone.

        ``term_pair_precision``: of the pairs of term-chunk terms that are said to come from one
        record, the share that does. ``gain``, ``gain_records``, ``gain_terms``: the accuracy
        above that of the baseline ``prior``. ``advantage``: the share of what attaching at random
        misses that the attack gets; its interval counts records, or the draws of a sample.

        The same for the baselines follows under the same names with ``_random``, which attaches
        at random (its accuracy is the exact mean over all draws), and ``_prior``, which counts but
        knows no meaning.

    Examples
    --------
    >>> from setveil.attack import ClusterGuess, ReassociationGuess
    >>> from setveil import TransactionTable
    >>> from setveil.release.chunk_plan import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu"], ["rash"]])
    >>> plan = Plan(records=[0, 1, 2], domains=((0,),), terms=(1, 2))
    >>> release, key = publish_disassociated(table, [plan])
    >>> said = ClusterGuess(cluster=0, anchors=[["flu"], ["flu"], []],
    ...                     attached=[[], [["term", "gout"], ["term", "rash"]], []])
    >>> guess = ReassociationGuess(attack="aba", clusters=(said,), pairs=((0, "gout", "rash"),))
    >>> rates = reassociation_rates(guess, release=release, original=table, key=key, k=2, m=2)
    >>> {name: round(rates[name].value, 2) for name in ("accuracy", "precision",
    ...  "transaction_breakage", "km_breakage", "term_pair_precision")}
    {'accuracy': 0.5, 'precision': 0.5, 'transaction_breakage': 0.33, 'km_breakage': 1.0, 'term_pair_precision': 0.0}

    References
    ----------
    A. AlShuhail, J. Shao: Semantic attack on disassociated transaction data. SN Computer Science
    4, 2023.
    """  # noqa: E501  (the doctest's result)
    runs = {"": guess, **{name: guess.baselines.get(name) for name in BASELINES}}
    rebuilt = {
        name: rebuilt_records(said, release=release, original=original, key=key)
        for name, said in runs.items()
        if said is not None
    }
    if any(
        [each.cluster for each in run] != [each.cluster for each in rebuilt[""]]
        for run in rebuilt.values()
    ):
        raise InputError(
            "the guess and its baselines are about different clusters",
            fix="attack this release again",
        )
    chunks = release.as_chunks()
    sampled = bool(guess.draws) or weights is not None
    protected = None if sampled else _protected(original, chunks, k, m)
    of_units = _of_units(guess, chunks, weights)
    moved = None if relatedness is None else _moved(rebuilt, relatedness)
    chance = _by_chance(rebuilt, chunks)
    found: Rates = {}
    shares: dict[str, dict[str, Share]] = {}
    for name, said in runs.items():
        if said is None:
            found |= {f"{each}_{name}": None for each in _names()}
            continue
        shares[name] = _counted(rebuilt[name], protected)
        if name == "random":
            clusters = len(rebuilt[name])
            shares[name] |= {part: each.of_clusters(clusters) for part, each in chance.items()}
        shares[name]["term_pair_precision"] = _pairs(said, rebuilt[name])
        if moved is not None:
            shares[name] |= moved.shares[name]
        end = f"_{name}" if name else ""
        for each in _names():
            share = shares[name].get(each)
            longest = 1.0 if moved is None or not each.startswith("wmd") else moved.longest
            found[f"{each}{end}"] = (
                None if share is None else clustered_share(*map(of_units, share), most=longest)
            )
    for part in PARTS:
        accuracy = _named("accuracy", part)
        own, prior = shares[""][accuracy], shares.get("prior", {}).get(accuracy)
        found[_named("gain", part)] = (
            None
            if prior is None
            else difference(
                *map(of_units, (own.part, prior.part, own.whole)),
                guessed_whole=of_units(prior.whole),
            )
        )
    pairs = chance.get("accuracy")
    if pairs is None:
        found["advantage"] = None
    elif guess.draws:
        clusters = len(guess.clusters)
        columns = (pairs.right, pairs.by_chance, pairs.true)
        found["advantage"] = advantage(
            *(
                of_units(np.bincount(pairs.cluster, each, clusters).astype(float))
                for each in columns
            )
        )
    else:
        own_weights = np.ones(len(pairs.true)) if weights is None else weights[pairs.cluster]
        found["advantage"] = advantage(
            *(own_weights * column for column in (pairs.right, pairs.by_chance, pairs.true))
        )
    return found


def _of_units(
    guess: ReassociationGuess, release: DisassociatedRelease, weights: FloatArray | None
) -> Callable[[FloatArray], FloatArray]:
    """Return what turns a figure for each cluster into one for each unit of an interval.

    Units are clusters, each with the weight of its people. Of a sample they are draws: a cluster
    counts as often as it was drawn, and each time by 1 over its chance, so that Σ part / Σ whole
    estimates that of the whole release.
    """
    clusters = [each.cluster for each in guess.clusters]
    own = np.ones(len(clusters)) if weights is None else weights[clusters]
    if not guess.draws:
        return lambda column: column * own
    own = own / (cluster_chances(release)[clusters] * len(release.sizes))
    return lambda column: np.repeat(column * own, guess.draws)


def _protected(
    original: TransactionTable, release: DisassociatedRelease, k: int | None, m: int | None
) -> ProtectedItemsets | None:
    """Return the itemsets that the release should keep apart; None where they are too many."""
    if k is None or m is None:
        return None
    with suppress(NotApplicable):
        return ProtectedItemsets(original, release, k=k, m=m)
    return None


def _by_chance(
    rebuilt: Mapping[str, Sequence[Rebuilt]], release: DisassociatedRelease
) -> dict[str, Attachments]:
    """Return for each accuracy what chance gets right on average, beside what the attack has."""
    if "random" not in rebuilt:
        return {}
    found = count_attachments(rebuilt[""], rebuilt["random"], release, PARTS)
    return {_named("accuracy", part): each for part, each in zip(PARTS, found, strict=True)}


def _named(name: str, part: str) -> str:
    return f"{name}_{part}" if part else name


def _names() -> list[str]:
    """Return the names of all scores of a run, in order."""
    return [*(_named(name, part) for name in SCORES for part in PARTS), "term_pair_precision"]


# --- counting ---------------------------------------------------------------------------------


def _counted(rebuilt: Sequence[Rebuilt], protected: ProtectedItemsets | None) -> dict[str, Share]:
    """Return the scores that need nothing but the records, cluster by cluster."""
    records = np.array([len(each.true) for each in rebuilt], dtype=float)
    found = {}
    for part in PARTS:
        counts = np.array([_attachments(each, part) for each in rebuilt], dtype=float)
        right, true, said, broken = counts.reshape(-1, 4).T
        found[_named("accuracy", part)] = Share(right, true)
        found[_named("precision", part)] = Share(right, said)
        found[_named("transaction_breakage", part)] = Share(broken, records)
        if protected is not None:
            # Records put together wrongly may be far longer than true ones: then it is "n/a".
            with suppress(NotApplicable):
                found[_named("km_breakage", part)] = Share(*protected.broken(rebuilt, part))
    return found


def _attachments(cluster: Rebuilt, part: str) -> tuple[int, int, int, int]:
    """Return how many attachments are right, true and said, and how many records are broken."""
    counts: list[Counter[tuple[frozenset[str], str]]] = [
        Counter((row.anchor, term) for row in rows for term in row.attached(part))
        for rows in (cluster.true, cluster.said)
    ]
    broken = 0
    for true, said in cluster.by_anchor():
        holders: dict[str, list[int]] = {}
        for place, row in enumerate(said):
            for term in row.attached(part):
                holders.setdefault(term, []).append(place)
        broken += largest_matching(
            [
                sorted({place for term in row.attached(part) for place in holders.get(term, ())})
                for row in true
            ]
        )
    right = counts[0] & counts[1]
    return right.total(), counts[0].total(), counts[1].total(), broken


def largest_matching(choices: Sequence[Sequence[int]]) -> int:
    """Return how many rows at most can each take one of their choices, no choice taken twice.

    >>> largest_matching([[0, 1], [0], [0]])
    2
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    ends = np.cumsum([0, *map(len, choices)])
    if not ends[-1]:
        return 0
    places = np.fromiter(itertools.chain.from_iterable(choices), dtype=np.int64, count=ends[-1])
    shape = (len(choices), int(places.max()) + 1)
    graph = csr_array((np.ones(len(places), dtype=bool), places, ends), shape=shape)
    return int((maximum_bipartite_matching(graph, perm_type="column") >= 0).sum())


def _pairs(guess: ReassociationGuess, rebuilt: Sequence[Rebuilt]) -> Share:
    """Return how many pairs of term-chunk terms came from one record, of those said to."""
    place = {each.cluster: i for i, each in enumerate(rebuilt)}
    holders: list[dict[str, set[int]]] = [{} for _ in rebuilt]
    for found, each in zip(holders, rebuilt, strict=True):
        for number, row in enumerate(each.true):
            for term in row.terms:
                found.setdefault(term, set()).add(number)
    nobody: set[int] = set()
    right, said = np.zeros(len(rebuilt)), np.zeros(len(rebuilt))
    for cluster, first, second in guess.pairs:
        here = place[cluster]
        said[here] += 1
        held = holders[here].get
        right[here] += not held(first, nobody).isdisjoint(held(second, nobody))
    return Share(right, said)


# --- word mover's distance --------------------------------------------------------------------


class Moved(NamedTuple):
    """Word mover's distances of some runs.

    Parameters
    ----------
    shares
        For each run and part the sum of the distances and their number, cluster by cluster.
    longest
        The greatest distance of two terms of a cluster.
    """

    shares: dict[str, dict[str, Share]]
    longest: float


def _moved(rebuilt: Mapping[str, Sequence[Rebuilt]], relatedness: Distances) -> Moved:
    """Return the distances of rebuilt from true records, for every run and part.

    Distances of terms are asked for cluster by cluster: those of all terms would not fit.
    """
    clusters = len(rebuilt[""])
    sums = {run: {part: np.zeros((2, clusters)) for part in PARTS} for run in rebuilt}
    longest = 0.0
    for place in range(clusters):
        here = {run: each[place] for run, each in rebuilt.items()}
        rows = (row for each in here.values() for row in (*each.true, *each.said))
        mover = WordMover(relatedness, (term for row in rows for term in row.whole("")))
        longest = max(longest, mover.longest)
        for run, each in here.items():
            for part in PARTS:
                distances = _distances(each, part, mover)
                sums[run][part][:, place] = sum(distances), len(distances)
    return Moved(
        {run: {_named("wmd", part): Share(*sums[run][part]) for part in PARTS} for run in sums},
        longest,
    )


def _distances(cluster: Rebuilt, part: str, mover: WordMover) -> list[float]:
    """Return the distance of each rebuilt record from its true one, where it can be said."""
    found = []
    for true, said in cluster.by_anchor():
        for i, j in _most_alike(true, said, part):
            distance = mover.distance(true[i].whole(part), said[j].whole(part))
            if distance is not None:
                found.append(distance)
    return found


def _most_alike(true: Sequence[Row], said: Sequence[Row], part: str) -> list[tuple[int, int]]:
    """Return the pairing that shares the most terms; it depends on the rows' content alone."""
    from scipy.optimize import linear_sum_assignment

    if len(true) == 1:
        return [(0, 0)]
    first, second = _in_order(true, part), _in_order(said, part)
    shared = [[len(true[i].attached(part) & said[j].attached(part)) for j in second] for i in first]
    rows, columns = linear_sum_assignment(np.array(shared), maximize=True)
    return [(first[i], second[j]) for i, j in zip(rows.tolist(), columns.tolist(), strict=True)]


def _in_order(rows: Sequence[Row], part: str) -> list[int]:
    return sorted(range(len(rows)), key=lambda i: sorted(rows[i].attached(part)))


# --- what chance gets right -----------------------------------------------------------------------


class Share(NamedTuple):
    """A count and what it is a share of, for each cluster: arrays of the same length."""

    part: FloatArray
    whole: FloatArray


class Attachments(NamedTuple):
    """Attachments counted for each true record that has any: arrays of the same length.

    Records with equal anchors cannot be told apart. Each has an equal share of what is right for
    all of them that hold a term.

    Parameters
    ----------
    cluster
        The place of its cluster in the guess.
    right
        How many of its attachments the attack has right.
    by_chance
        How many attaching at random gets right, on average over all its draws.
    true
        How many it has.
    """

    cluster: npt.NDArray[np.int64]
    right: FloatArray
    by_chance: FloatArray
    true: FloatArray

    def of_clusters(self, clusters: int) -> Share:
        """Return what chance gets right in each cluster, and of how many."""
        columns = (self.by_chance, self.true)
        part, whole = (np.bincount(self.cluster, each, minlength=clusters) for each in columns)
        return Share(part.astype(np.float64), whole.astype(np.float64))


class Spread(NamedTuple):
    """Where random attachment puts a term: into `copies` of `rows` rows."""

    rows: int
    copies: int


def count_attachments(
    rebuilt: Sequence[Rebuilt],
    at_random: Sequence[Rebuilt],
    release: DisassociatedRelease,
    parts: Sequence[str] = ("",),
) -> list[Attachments]:
    """Count what an attack has right beside the exact mean of what chance has right.

    A term goes to any of its rows alike. So the number of rows of an anchor that get it is
    hypergeometric, and of these as many are right as rows of the anchor hold it.

    Parameters
    ----------
    rebuilt
        What the attack said, beside the truth.
    at_random
        The same of one draw of random attachment, which tells how often a term is attached.
    release
        What was attacked.
    parts
        Which parts of it count: see :data:`~setveil.attack.reassociation.rebuilt_records.PARTS`.

    Returns
    -------
    list of Attachments
        One for each part.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.attack.reassociation.rebuilt_records import Rebuilt, Row
    >>> from setveil.release import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu"], ["rash"]])
    >>> plan = Plan(records=[0, 1, 2], domains=((0, 2),), terms=(1,))
    >>> release, _ = publish_disassociated(table, [plan])
    >>> none, gout = frozenset(), frozenset({"gout"})
    >>> true = [Row(frozenset({"flu"}), none, gout), Row(frozenset({"flu"}), none, none),
    ...         Row(frozenset({"rash"}), none, none)]
    >>> found, = count_attachments([Rebuilt(0, true, true)], [Rebuilt(0, true, true)], release)
    >>> found.right.tolist(), found.by_chance.round(3).tolist(), found.true.tolist()
    ([1.0], [0.667], [1.0])
    """
    spreads = _spreads(at_random, release)
    return [_expected_attachments(rebuilt, spreads, part) for part in parts]


def _expected_attachments(
    rebuilt: Sequence[Rebuilt], spreads: Sequence[Mapping[str, Spread]], part: str
) -> Attachments:
    held = list[tuple[int, int, int]]()  # a record that holds a term: cluster, record, question
    questions = list[tuple[int, int, int, int, int]]()
    record = 0
    for place, (each, spread) in enumerate(zip(rebuilt, spreads, strict=True)):
        for true, said in each.by_anchor():
            # Sorted: sums of floats depend on their order, and that of a set on the process.
            needed, given = (
                Counter(term for row in rows for term in sorted(row.attached(part)))
                for rows in (true, said)
            )
            number = {term: len(questions) + i for i, term in enumerate(needed)}
            for term, holders in needed.items():
                questions.append((*spread[term], len(true), holders, min(holders, given[term])))
            for row in true:
                held += [(place, record, number[term]) for term in sorted(row.attached(part))]
                record += 1
    cluster, owner, question = np.array(held, dtype=np.int64).reshape(-1, 3).T
    *asked, right = np.array(questions, dtype=np.int64).reshape(-1, 5).T
    alike = asked[-1]  # records that hold the term behind the anchor: at least one
    _, first, unit = np.unique(owner, return_index=True, return_inverse=True)
    return Attachments(
        cluster[first],
        *(
            np.bincount(unit, share[question], minlength=len(first)).astype(np.float64)
            for share in (right / alike, expected_hits(*asked) / alike, np.ones(len(right)))
        ),
    )


def expected_hits(
    rows: npt.ArrayLike, copies: npt.ArrayLike, own: npt.ArrayLike, most: npt.ArrayLike
) -> FloatArray:
    """Return the mean of min(X, most), where X of `own` rows are among `copies` drawn of `rows`.

    >>> expected_hits([3], [1], [2], [1]).round(3).tolist(), expected_hits([4], [2], [2], [1])
    ([0.667], array([0.83333333]))
    """
    from scipy.special import gammaln

    asked = np.stack([np.asarray(each, dtype=np.int64) for each in (rows, copies, own, most)])
    (population, drawn, marked, cap), which = np.unique(asked, axis=1, return_inverse=True)
    # Every X that can be, from `low` on, one question after the other.
    low = np.maximum(drawn + marked - population, 0)
    sizes = np.minimum(drawn, marked) - low + 1
    starts = np.cumsum(sizes) - sizes
    question = np.repeat(np.arange(len(sizes)), sizes)
    hits = np.arange(len(question)) - np.repeat(starts - low, sizes)
    ways = -sum(
        gammaln(each + 1.0)
        for each in (
            hits,
            marked[question] - hits,
            drawn[question] - hits,
            (population - drawn - marked)[question] + hits,
        )
    )
    if not len(sizes):
        return np.zeros(0)
    chances = np.exp(ways - np.maximum.reduceat(ways, starts)[question])
    sums = [
        np.add.reduceat(each, starts)
        for each in (chances * np.minimum(hits, cap[question]), chances)
    ]
    return np.asarray((sums[0] / sums[1])[which.ravel()])


def _spreads(
    at_random: Sequence[Rebuilt], release: DisassociatedRelease
) -> list[dict[str, Spread]]:
    """Return for each cluster to how many of how many rows each of its terms is attached."""
    sharing = release.shared_by(each.cluster for each in at_random)
    starts = release.cluster_starts
    shared = {}
    for chunk in sorted({chunk for chunks in sharing.values() for chunk in chunks}):
        records = int(starts[release.chunk_last[chunk]] - starts[release.chunk_first[chunk]])
        held = release.supports_in(chunk).items()
        shared[chunk] = {term: Spread(records, copies) for term, copies in held}
    found = []
    for drawn in at_random:
        own = _own_spreads(release, drawn)
        for chunk in sharing[drawn.cluster]:
            own |= shared[chunk]
        found.append(own)
    return found


def _own_spreads(release: DisassociatedRelease, drawn: Rebuilt) -> dict[str, Spread]:
    """Return for each term of a cluster's own chunks to how many of its rows it is attached."""
    cluster = release.cluster(drawn.cluster)
    attached = Counter(term for row in drawn.said for term in row.terms)
    held = Counter({term: attached[term] for term in cluster.terms})
    for chunk in cluster.chunks:
        held.update(term for row in chunk.subrecords for term in row)
    return {term: Spread(cluster.size, copies) for term, copies in held.items()}
