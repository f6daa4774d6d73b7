"""Attacks that put disassociated records together, against plain definitions."""

from collections import Counter
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import reassociation_attacks as plain
from tests.unit.disassociated_instances import releases

from setveil import TransactionTable
from setveil.attack import (
    ABA,
    MRA,
    RGA,
    VPA,
    ClusterGuess,
    Prior,
    Random,
    ReassociationGuess,
    SemanticPrior,
    load_guess,
    save_guess,
)
from setveil.attack.reassociation.pieces import Piece, Pool, place_at_random, pools
from setveil.attack.reassociation.prior import place_by_prior
from setveil.attack.reassociation.vertical_partitioning import combined, parted, ranked
from setveil.core.errors import InputError, NotApplicable, ParameterError
from setveil.relatedness import NGD, RecordCounts, parse_relatedness
from setveil.release import Plan, publish_disassociated, publish_suppressed

DISTANCES = {
    frozenset(pair): (ord(pair[0]) * 7 + ord(pair[1]) * 13) % 11 / 10 for pair in ("ab", "ac", "ad",
    "ae", "bc", "bd", "be", "cd", "ce", "de")
}  # fmt: skip


class Letters:
    """A source of relatedness that knows some letters, at arbitrary distances."""

    def __init__(self, known="abcde"):
        self.letters = known

    def distance(self, a, b):
        return DISTANCES[frozenset({a, b})] if {a, b} <= set(self.letters) else None

    def distances(self, rows, columns):
        return np.array(
            [
                [0.0 if a == b else np.nan if (d := self.distance(a, b)) is None else d
                 for b in columns]
                for a in rows
            ]
        )  # fmt: skip

    def known(self, terms):
        return np.array([term in self.letters for term in terms])

    def fingerprint(self):
        return self.letters


def published(rows, *plans, joints=()):
    table = TransactionTable.from_rows(map(list, rows))
    numbers = {name: i for i, name in enumerate(table.vocabulary.names)}
    made = [
        Plan(
            records=records,
            domains=tuple(tuple(numbers[t] for t in domain) for domain in domains),
            terms=tuple(numbers[t] for t in terms),
        )
        for records, domains, terms in plans
    ]
    shared = [(a, b, tuple(numbers[t] for t in domain)) for a, b, domain in joints]
    return publish_disassociated(table, made, shared)[0]


def small_release():
    """Records ab, ab, a with c, c in a chunk of their own and the terms d, e."""
    rows = ["abcd", "ab", "ace"]
    return published(rows, ([0, 1, 2], ("ab", "c"), "de"))


# --- pieces -----------------------------------------------------------------------------------


@given(releases(clusters=3, joint=True))
def test_every_sub_record_and_term_is_an_anchor_or_a_piece(release):
    found = pools(release)
    assert sum(len(pool) for pool in found) == len(release)
    shown = Counter(tuple(row) for row in release.to_rows())
    for terms in (cluster.terms for cluster in release.clusters):
        shown -= Counter([terms] if terms else [])
        shown += Counter((term,) for term in terms)
    there = Counter(anchor for pool in found for anchor in pool.anchors if anchor)
    for pool in found:
        for piece in pool.pieces:
            there[piece.terms] += piece.copies
            assert 0 <= piece.low < piece.high <= len(pool)
            assert piece.copies <= piece.high - piece.low
    assert there == shown


@given(releases(clusters=3, joint=True), st.integers(1, 3))
def test_a_random_world_has_every_piece(release, copies):
    rng = np.random.default_rng(0)
    for pool in pools(release):
        placed = place_at_random(pool, rng, term_copies=copies)
        for places in pool.chunks().values():
            rows = np.concatenate([placed[place] for place in places])
            assert len(set(rows.tolist())) == len(rows)
        for piece, rows in zip(pool.pieces, placed, strict=True):
            size = piece.high - piece.low
            assert len(rows) == (min(copies, size) if piece.kind == "term" else piece.copies)
            assert all(piece.low <= row < piece.high for row in rows.tolist())


def test_the_anchor_is_the_chunk_of_most_terms():
    release = published(["xab", "xb", "xa", "x"], ([0, 1, 2, 3], ("x", "ab"), ""))
    (pool,) = pools(release)
    assert Counter(pool.anchors) == Counter([("a", "b"), ("a",), ("b",), ()])
    assert [(piece.terms, piece.copies) for piece in pool.pieces] == [(("x",), 4)]


def test_shared_pieces_may_join_any_member():
    rows = ["as", "at", "bs", "bt"]
    release = published(rows, ([0, 1], ("a",), ""), ([2, 3], ("b",), ""), joints=[(0, 2, "st")])
    guesses = [
        Random().run(release, rng=np.random.default_rng(seed)).clusters for seed in range(40)
    ]
    clusters = {
        cluster.cluster
        for guess in guesses
        for cluster in guess
        for row in cluster.attached
        if ("shared", "s") in row
    }
    assert clusters == {0, 1}
    assert all(sum(len(row) for c in guess for row in c.attached) == 4 for guess in guesses)


# --- scores -----------------------------------------------------------------------------------


@pytest.mark.parametrize("attack", [ABA(), RGA(everywhere=True), MRA(everywhere=True)])
@given(release=releases(clusters=2, joint=True), known=st.sampled_from(["abcde", "abcd", "bce"]))
@settings(max_examples=60)
def test_pieces_go_to_the_rows_of_best_scores(attack, release, known):
    source = Letters(known)
    name = type(attack).__name__.lower()

    def near(a, b):
        distance = source.distance(a, b)
        return None if distance is None else -distance

    try:
        guess = attack.run(release, relatedness=source)
    except NotApplicable:
        return
    rows_of = {cluster.cluster: cluster for cluster in guess.clusters}
    for pool in pools(release):
        anchors = pool.anchors
        attached = [row for cluster, _, _ in pool.clusters() for row in rows_of[cluster].attached]
        for places in pool.chunks().values():
            pieces = [pool.pieces[place] for place in places]
            if len(pieces) > 1:
                continue  # several may stand in one row, and then cannot be told apart
            (piece,) = pieces
            scores = {
                row: plain.score(name, piece.terms, anchors[row], near)
                for row in range(piece.low, piece.high)
                if anchors[row]
            }
            there = [score for score in scores.values() if score is not None]
            usual = sum(there) / len(there) if there else 0.0
            scores = {row: usual if score is None else score for row, score in scores.items()}
            ranks = [scores.get(row, -np.inf) for row in range(piece.low, piece.high)]
            held = [
                ranks[row - piece.low]
                for row in range(piece.low, piece.high)
                if (piece.kind, piece.terms[0]) in attached[row]
            ]
            best = sorted(ranks, reverse=True)[: piece.copies]
            assert sorted(held, reverse=True) == pytest.approx(best)


def test_rga_and_mra_leave_sub_records_to_aba():
    # Sub-record c: b's row is nearer on average, a's by its nearest term.
    class Source(Letters):
        def distance(self, a, b):
            return {"ax": 0.1, "bx": 0.9, "cx": 0.4}["".join(sorted(a + b))]

        def known(self, terms):
            return np.ones(len(terms), dtype=bool)

    release = published(["abx", "c"], ([0, 1], ("abc", "x"), ""))
    rng = np.random.default_rng(0)
    for attack, row in ((ABA(), "c"), (MRA(), "c"), (MRA(everywhere=True), "ab")):
        guess = attack.run(release, relatedness=Source(), rng=rng)
        records = guess.clusters[0].records()
        assert tuple(sorted(f"{row}x")) in records


def test_equal_rows_are_interchangeable():
    release = published(["ad", "a", "a"], ([0, 1, 2], ("a",), "d"))
    rows = Counter()
    for seed in range(300):
        for attack in (Random(), Prior()):
            guess = attack.run(release, rng=np.random.default_rng(seed))
            rows[type(attack), [len(row) for row in guess.clusters[0].attached].index(1)] += 1
    assert all(60 < count < 140 for count in rows.values())
    assert len(rows) == 6


def test_what_a_source_cannot_rank_is_said():
    release = small_release()
    with pytest.raises(NotApplicable, match="no term of any anchor"):
        ABA().run(release, relatedness=Letters("cde"))
    with pytest.raises(NotApplicable, match="no term of any piece"):
        MRA().run(release, relatedness=Letters("ab"))
    far = NGD(RecordCounts.from_rows([[letter] for letter in "abcde"]))
    with pytest.raises(NotApplicable, match="equally related to all rows"):
        RGA().run(release, relatedness=far)
    guess = ABA().run(release, relatedness=Letters("abcd"))
    assert guess.notes == ("1 of 5 terms are unknown: e",)
    other, _ = publish_suppressed(TransactionTable.from_rows([["a"]]), [True])
    for attack in (Random(), Prior(), ABA(), VPA(), SemanticPrior()):
        knowledge = dict.fromkeys(attack.requires)
        with pytest.raises(NotApplicable, match="does not attack"):
            attack.run(other, **knowledge)


def test_nothing_to_choose_is_not_the_sources_fault():
    release = published(["ab", "ab"], ([0, 1], ("ab",), ""))
    guess = ABA().run(release, relatedness=Letters())
    assert guess.clusters[0].records() == (("a", "b"), ("a", "b"))
    assert not guess.pairs


def test_the_release_is_a_source():
    # Cluster 0 parts a and c, which cluster 1 shows together.
    rows = ["ac", "b", "b", "ac", "ac", "d"]
    release = published(rows, ([0, 1, 2], ("ab",), "c"), ([3, 4, 5], ("ac", "d"), ""))
    source = parse_relatedness("release", release=release)
    assert source.distances(["a"], ["c"])[0, 0] < source.distances(["b"], ["c"])[0, 0]
    place = next(c.number for c in release.clusters if c.terms)
    guess = ABA().run(release, relatedness=source)
    assert ("a", "c") in guess.clusters[place].records()


@pytest.mark.parametrize("copies", [0, -1, 1.5, True, None])
def test_wrong_parameters_are_refused(copies):
    for attack in (Random, Prior, ABA, RGA, MRA, VPA, SemanticPrior):
        with pytest.raises(ParameterError, match="term_copies"):
            attack(term_copies=copies)
    with pytest.raises(ParameterError, match="combinations"):
        VPA(combinations=copies)
    with pytest.raises(ParameterError, match="terms is 'no'"):
        VPA(terms="no")


# --- prior ------------------------------------------------------------------------------------


@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    st.integers(0, 99),
)
def test_prior_takes_the_largest_tails(copies, rooms, seed):
    while sum(copies) > sum(rooms):
        copies = copies[:-1]
    if not copies:
        return
    size = sum(rooms)
    pool = Pool(
        numbers=(0,),
        starts=np.array([0, size]),
        anchors=tuple((str(v),) for v, room in enumerate(rooms) for _ in range(room)),
        values=np.repeat(np.arange(len(rooms)), rooms),
        pieces=tuple(
            Piece(kind="record", terms=(f"p{i}",), copies=c, chunk=0, low=0, high=size)
            for i, c in enumerate(copies)
        ),
    )
    placed = place_by_prior(pool, np.random.default_rng(seed))
    assert len(set(np.concatenate(placed).tolist())) == sum(copies)
    counts = tuple(
        tuple(np.bincount(pool.values[rows], minlength=len(rooms)).tolist()) for rows in placed
    )
    assert counts in plain.greedy_spreads(copies, rooms)


def test_terms_go_to_the_most_frequent_anchor():
    release = published(["abx", "ab", "a", "ab"], ([0, 1, 2, 3], ("ab",), "x"))
    for seed in range(5):
        guess = Prior().run(release, rng=np.random.default_rng(seed))
        assert ("a", "b", "x") in guess.clusters[0].records()
    several = Prior(term_copies=2).run(release).clusters[0].records()
    assert several.count(("a", "b", "x")) + several.count(("a", "x")) == 2


# --- vpa --------------------------------------------------------------------------------------


@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    st.integers(0, 10_000),
)
def test_all_combinations_come_once_the_best_first(copies, room, seed):
    while sum(copies) > sum(room):
        copies = copies[:-1]
    if not copies:
        return
    scores = np.random.default_rng(seed).integers(0, 6, (len(copies), len(room))) / 5
    found = list(ranked(scores, np.array(copies), np.array(room)))
    wanted = {table.tobytes() for table in plain.all_ways(copies, room)}
    assert {table.tobytes() for table in found} == wanted
    assert len(found) == len(wanted)
    totals = [(table * scores).sum() for table in found]
    assert all(a >= b - 1e-9 for a, b in pairwise(totals))


@given(
    st.lists(st.frozensets(st.sampled_from("abcde"), min_size=1), min_size=1, max_size=7),
    st.integers(2, 3),
    st.integers(1, 3),
)
def test_parting_again_is_as_defined(records, k, m):
    assert parted(records, k, m) == plain.parted(records, k, m)


def test_vpa_finds_what_is_parted_into_the_published_chunks():
    rows = ["abc", "ab", "ac", "a"]
    release = published(rows, ([0, 1, 2, 3], ("ab", "c"), ""))
    method = SimpleNamespace(k=2, m=2)

    class Near(Letters):
        """B and c are near: ABA puts both c beside b, which is never cut."""

        def distance(self, a, b):
            return 0.1 if {a, b} == {"b", "c"} else 0.9

    aba = ABA().run(release, relatedness=Near()).clusters[0].records()
    assert aba.count(("a", "b", "c")) == 2
    guess = VPA().run(release, relatedness=Near(), anonymizer=method)
    assert sorted(guess.clusters[0].records()) == sorted(tuple(row) for row in rows)
    assert guess.notes == ()
    for attack in (VPA(combinations=1), VPA(largest=1)):
        bounded = attack.run(release, relatedness=Near(), anonymizer=method)
        assert "for 1 of 1 chunks none of the combinations tried" in bounded.notes[0]
        assert bounded.clusters[0].records().count(("a", "b", "c")) == 2
    # Two copies of a piece, two different rows.
    assert VPA(largest=4).run(release, relatedness=Near(), anonymizer=method).notes == ()
    with pytest.raises(ParameterError, match="largest is -1"):
        VPA(largest=-1)


@given(releases(clusters=2, max_size=6), st.integers(0, 9))
@settings(max_examples=60)
def test_vpa_combines_every_chunk_row_by_row(release, seed):
    for pool in pools(release):
        scores = [np.zeros(piece.high - piece.low) for piece in pool.pieces]
        made = combined(pool, scores, np.random.default_rng(seed), k=2, m=2, most=5)
        for places in pool.chunks().values():
            if pool.pieces[places[0]].kind != "record":
                continue
            rows = np.concatenate([made.placed[place] for place in places])
            assert len(set(rows.tolist())) == len(rows)
            assert [len(made.placed[p]) for p in places] == [pool.pieces[p].copies for p in places]


def test_vpa_needs_the_anonymizers_parameters():
    with pytest.raises(ParameterError, match="no k and m"):
        VPA().run(small_release(), relatedness=Letters(), anonymizer=SimpleNamespace(k=2))


def test_vpa_may_leave_terms_to_chance():
    method = SimpleNamespace(k=2, m=2)
    rows = {
        tuple(len(row) for row in guess.clusters[0].attached)
        for guess in (
            VPA(terms="random").run(
                small_release(), relatedness=Letters(), anonymizer=method,
                rng=np.random.default_rng(seed),
            )
            for seed in range(20)
        )
    }  # fmt: skip
    assert len(rows) > 2


# --- guesses ----------------------------------------------------------------------------------


def test_guesses_stand_beside_their_baselines(tmp_path):
    release = small_release()
    guess = ABA(term_copies=2).run(release, relatedness=Letters())
    assert set(guess.baselines) == {"random", "prior"}
    for each in (guess, *guess.baselines.values()):
        kinds = Counter(kind for row in each.clusters[0].attached for kind, _ in row)
        assert kinds == {"record": 2, "term": 4}
        assert each.pairs in {(), ((0, "d", "e"),)}
    save_guess(guess, tmp_path / "guess.json")
    assert load_guess(tmp_path / "guess.json") == guess


def test_same_generator_same_guess():
    release = small_release()
    for attack in (Random(), Prior(), ABA(), RGA(), MRA(), SemanticPrior()):
        knowledge = {"relatedness": Letters()} if attack.requires else {}
        first, second = (
            attack.run(release, rng=np.random.default_rng(3), **knowledge) for _ in range(2)
        )
        assert first == second
        assert attack.run(release, **knowledge) == attack.run(release, **knowledge)


@pytest.mark.parametrize(
    "wrong",
    [
        {"cluster": -1},
        {"cluster": True},
        {"anchors": [["a"]]},
        {"attached": [[["term", "a"]], []]},
        {"attached": [[["gossip", "x"]], []]},
        {"attached": [[["term", "x"], ["record", "x"]], []]},
        {"attached": [[["term", 5]], []]},
    ],
)
def test_damaged_clusters_are_refused(wrong):
    right = {"cluster": 0, "anchors": [["a"], []], "attached": [[["term", "x"]], []]}
    ClusterGuess(**right)
    with pytest.raises(ParameterError):
        ClusterGuess(**(right | wrong))


def test_damaged_guesses_are_refused(tmp_path):
    one = ClusterGuess(cluster=0, anchors=[["a"]], attached=[[["term", "x"], ["term", "y"]]])
    for wrong in (
        {"clusters": (one, one)},
        {"pairs": [(0, "y", "x")]},
        {"pairs": [(1, "x", "y")]},
        {"pairs": [(0, "x", "y"), (0, "x", "y")]},
    ):
        with pytest.raises(ParameterError):
            ReassociationGuess(**({"attack": "aba", "clusters": (one,)} | wrong))
    guess = ReassociationGuess(attack="aba", clusters=(one,))
    with pytest.raises(ParameterError, match="no baselines"):
        ReassociationGuess(
            attack="aba",
            clusters=(one,),
            baselines={"prior": ReassociationGuess(
                attack="prior", clusters=(one,), baselines={"random": guess})},
        )  # fmt: skip
    save_guess(guess, tmp_path / "guess.json")
    text = (tmp_path / "guess.json").read_text()
    (tmp_path / "guess.json").write_text(text.replace('"anchors": [["a"]]', '"anchors": []'))
    with pytest.raises(InputError, match="the guess is damaged"):
        load_guess(tmp_path / "guess.json")
