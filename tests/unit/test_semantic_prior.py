"""Semantic prior: what it learns from a release, how it clusters terms, what that is worth."""

from itertools import combinations
from math import log
from statistics import mean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.disassociated_instances import releases

from setveil import TransactionTable
from setveil.attack import ABA, VPA, Prior, SemanticPrior
from setveil.attack.reassociation.semantic_prior import hidden_terms, learn
from setveil.attack.reassociation.term_evidence import (
    TermEvidence,
    balanced,
    clustered,
    over_anchors,
    shared_out,
)
from setveil.core.errors import NotApplicable
from setveil.measure import score
from setveil.relatedness import NGD, Embedding, RecordCounts
from setveil.relatedness.base import Combined
from setveil.release import Chunk, Plan, publish_disassociated


def pmi(x, y, both, total):
    if min(x, y) <= 0:
        return None
    return log((min(both, x, y) + 0.5) / (x * y / max(total, 1) + 0.5))


def same(found, wanted):
    return np.isnan(found) if wanted is None else found == pytest.approx(wanted)


@given(releases(clusters=3))
def test_a_release_is_asked_without_the_cluster_itself(release):
    evidence = TermEvidence.of(NGD(RecordCounts.from_rows([["a"]])), release)
    names = evidence.names
    for cluster in release.clusters:
        terms = sorted({t for c in cluster.chunks for row in c.subrecords for t in row}
                       | set(cluster.terms))  # fmt: skip
        pairs = evidence.pairs(cluster, terms, terms)
        others = [other for other in release.clusters if other.number != cluster.number]
        rows = [set(row) for other in others for c in other.chunks for row in c.subrecords]
        rows += [{term} for other in others for term in other.terms]
        wholes = [
            {t for c in other.chunks for row in c.subrecords for t in row} | set(other.terms)
            for other in others
        ]
        for i, j in combinations(range(len(terms)), 2):
            a, b = terms[i], terms[j]
            for name, shown in (("records.pmi", rows), ("clusters.pmi", wholes)):
                alone = [sum(t in row for row in shown) for t in (a, b)]
                both = sum({a, b} <= row for row in shown)
                wanted = pmi(*alone, both, len(shown))
                assert same(pairs[names.index(name), i, j], wanted)


@given(
    st.lists(st.sets(st.sampled_from("abcd"), min_size=1), min_size=1, max_size=5),
    st.lists(st.sampled_from([0.1, 0.5, 0.9, None]), min_size=16, max_size=16),
)
def test_the_mean_over_an_anchor_without_the_hidden_term(rows, numbers):
    table = np.array([np.nan if n is None else n for n in numbers]).reshape(1, 4, 4)
    holds = np.array([[t in row for t in "abcd"] for row in rows])
    found = over_anchors(table, holds, hidden=True)[0]
    for r, row in enumerate(rows):
        for t, term in enumerate("abcd"):
            known = [
                table[0, "abcd".index(a), t]
                for a in row - {term}
                if np.isfinite(table[0, "abcd".index(a), t])
            ]
            assert same(found[r, t], mean(known) if known else None)


def test_hiding_leaves_out_what_has_nothing_else():
    chunk = Chunk((("a", "b"), ("a", "b"), ("a",)), 0, 1)
    cells, held = hidden_terms(chunk, ["a", "b"], np.zeros((2, 2, 2)))
    assert cells.shape == (5, 2)  # a and b in the pairs, b in the single
    assert held.tolist() == [True, True, True, True, False]


def two_worlds(n=30):
    """Return records about illness and about cars, of which each cluster mixes both."""
    ill, cars = ["flu", "fever", "cough"], ["wheel", "motor", "brake"]
    rng = np.random.default_rng(5)
    rows, plans = [], []
    for c in range(n):
        first = len(rows)
        for kind, side in (("ill", ill), ("car", cars)):
            for copy in range(3):
                own = sorted(rng.choice(side, 2, replace=False).tolist())
                rows.append([*own, f"{kind} {c} {copy} x", f"{kind} {c} {copy} y"])
        plans.append((first, len(rows)))
    table = TransactionTable.from_rows(rows)
    number = {name: i for i, name in enumerate(table.vocabulary.names)}
    domain = tuple(sorted(number[t] for t in ill + cars))
    made = [
        Plan(
            records=list(range(a, b)),
            domains=(domain,),
            terms=tuple(number[t] for t in sorted({t for row in rows[a:b] for t in row[2:]})),
        )
        for a, b in plans
    ]
    return table, *publish_disassociated(table, made)


class Sides:
    """Terms of one side are near, of one record nearer; no side knows the other."""

    def distances(self, rows, columns):
        def side(term):
            return "ill" if term.startswith(("ill", "f", "c")) and "car" not in term else "car"

        return np.array(
            [
                [0.1 if a[:-2] == b[:-2] else 0.3 if side(a) == side(b) else 1.0 for b in columns]
                for a in rows
            ]
        )

    def known(self, terms):
        return np.ones(len(terms), dtype=bool)

    def fingerprint(self):
        return "sides"


def test_meaning_is_learned_from_record_chunks():
    table, release, key = two_worlds()
    learned = learn(release, TermEvidence.of(Sides(), release))
    assert (learned.weights >= 0).all()
    assert learned.weights[0] > 0.1
    guess = SemanticPrior().run(release, relatedness=Sides())
    rates = score(guess, release=release, original=table, key=key)
    plain = SemanticPrior(clustering=False).run(release, relatedness=Sides())
    unclustered = score(plain, release=release, original=table, key=key)
    assert rates["accuracy_terms"].value > rates["accuracy_terms_prior"].value + 0.1
    assert unclustered["accuracy_terms"].value > rates["accuracy_terms_prior"].value + 0.1
    pairs = rates["term_pair_precision"].value
    assert pairs > 2 * rates["term_pair_precision_random"].value
    assert pairs > unclustered["term_pair_precision"].value


def test_where_nothing_can_be_learned_it_is_prior():
    rows = [["a", "x"], ["a"], ["b", "y"]]
    table = TransactionTable.from_rows(rows)
    plan = Plan(records=[0, 1, 2], domains=((0,), (1,)), terms=(2, 3))
    release, _ = publish_disassociated(table, [plan])
    corpus = NGD(RecordCounts.from_rows([["a", "x"], ["b", "y"], ["y"]]))
    guess = SemanticPrior(clustering=False).run(release, relatedness=corpus)
    assert "by counts alone" in guess.notes[-1]
    prior = Prior().run(release)
    for each in (guess, prior):
        records = each.clusters[0].records()
        assert sum("x" in record and "a" in record for record in records) == 1


def test_a_source_that_knows_nothing_is_refused():
    _, release, _ = two_worlds(2)
    with pytest.raises(NotApplicable, match="knows no term"):
        SemanticPrior().run(release, relatedness=NGD(RecordCounts.from_rows([["z"]])))


@given(st.integers(1, 9), st.integers(1, 6), st.integers(0, 99))
def test_terms_have_one_row_and_rows_their_share(terms, rows, seed):
    rng = np.random.default_rng(seed)
    chances = balanced(rng.standard_normal((terms, rows)))
    assert chances.sum(axis=1) == pytest.approx(1)
    alike = rng.standard_normal((terms, terms))
    found = clustered(np.zeros((terms, rows)), alike + alike.T, 3.0, rng, starts=2)
    assert np.isfinite(found).all()
    assert found.sum(axis=1) == pytest.approx(1)
    given_out = shared_out(found)
    assert np.bincount(given_out, minlength=rows).max() <= -(-terms // rows)


def test_wikipedia(data_dir):
    """The goals of the specification, on a part of the data: above Prior, and pairs told."""
    from setveil.anonymize import Disassociate
    from setveil.text.documents import Documents
    from setveil.text.extract import extract

    texts = Documents(path=data_dir / "wikipedia_squad2_dev_35topics.jsonl.gz")
    rows = [row for row in extract(texts, method="nouns").table.to_rows() if row]
    order = np.random.default_rng(7).permutation(len(rows))
    mine, others = ([rows[i] for i in part] for part in (order[:300], order[300:]))
    table = TransactionTable.from_rows(mine)
    method = Disassociate(k=2, m=2, max_cluster_size=8, refine=False)
    made = method.anonymize(table)
    source = Combined(
        parts=(
            (1.0, NGD(RecordCounts.from_rows(others))),
            (1.0, Embedding.from_spec(str(data_dir / "glove_100d_small_f16.npz"))),
        )
    )
    truth = {"release": made.release, "original": table, "key": made.key}
    guess = SemanticPrior().run(made.release, relatedness=source)
    rates = score(guess, **truth)
    assert rates["accuracy"].value > rates["accuracy_prior"].value + 0.03
    assert rates["accuracy_prior"].value > rates["accuracy_random"].value
    ratio = rates["term_pair_precision"].value / rates["term_pair_precision_random"].value
    assert ratio > 1.3
    for attack, more in ((ABA(), {}), (VPA(), {"anonymizer": method})):
        said = attack.run(made.release, relatedness=source, **more)
        assert score(said, **truth)["accuracy"].value < rates["accuracy"].value
