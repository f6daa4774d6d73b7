"""Distance tables against plain loops, and what is said about their gaps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setveil import TransactionTable
from setveil.attack.elimination.distance_tables import Contexts, distance_tables, targets
from setveil.core.errors import NotApplicable, ParameterError
from setveil.relatedness import NGD, RecordCounts, WithinRelease
from setveil.release.set_generalized import publish_sets

ITEMS = "abcdefgh"


class Numbers:
    """Distances by a rule, some terms and some pairs unknown."""

    def __init__(self, unknown="", apart=""):
        self.unknown, self.apart = unknown, apart

    def distances(self, rows, columns):
        return np.array(
            [[self.distance(row, column) for column in columns] for row in rows], dtype=float
        ).reshape(len(rows), len(columns))

    def distance(self, row, column):
        if row in self.unknown or column in self.unknown or {row, column} == set(self.apart):
            return np.nan
        return ((ord(row) * 31 + ord(column) * 17) % 23) / 10

    def known(self, terms):
        return np.array([term not in self.unknown for term in terms], dtype=bool)


@st.composite
def releases(draw):
    rows = draw(st.lists(st.sets(st.sampled_from(ITEMS), min_size=1), min_size=1, max_size=8))
    table = TransactionTable.from_rows(map(sorted, rows))
    group = draw(st.lists(st.integers(0, 4), min_size=table.n_items, max_size=table.n_items))
    return publish_sets(table, group)[0]


@given(
    release=releases(),
    unknown=st.sets(st.sampled_from(ITEMS), max_size=4).map("".join),
    apart=st.sampled_from(["", "ab", "cd", "eh"]),
)
def test_as_plain_loops(release, unknown, apart):
    source = Numbers(unknown, apart)
    members = [m for g in release.groups if len(g) > 1 for m in g]
    if members and not source.known(members).any():
        with pytest.raises(NotApplicable, match="knows no member"):
            distance_tables(release, source)
        return
    made = distance_tables(release, source)
    expected = {}
    bare = lost = apart_from_all = 0
    for record, labels in enumerate(release.to_rows()):
        groups = [release.members(release.vocabulary.number(label)) for label in labels]
        context = [group[0] for group in groups if len(group) == 1]
        for group in groups:
            if len(group) == 1:
                continue
            cells = []
            for member in group:
                there = [source.distance(c, member) for c in context]
                there = [d for d in there if not np.isnan(d)]
                cells.append(np.mean(there) if there else np.nan)
            if np.isnan(cells).all():
                familiar = source.known(context).any()
                bare += not context
                lost += bool(context) and not familiar
                apart_from_all += familiar
                continue
            mean = np.nanmean(cells)
            expected[group, record] = [mean if np.isnan(d) else d for d in cells]
    got = {
        (table.members, int(record)): row.tolist()
        for table in made
        for record, row in zip(table.records, table.distances, strict=True)
    }
    assert got.keys() == expected.keys()
    for key, row in expected.items():
        assert got[key] == pytest.approx(row)
    gaps = made.gaps
    assert (gaps.without_context, gaps.context_unknown) == (bare, lost)
    assert gaps.without_distance == apart_from_all
    assert gaps.rows == len(expected) + bare + lost + apart_from_all
    assert set(made.gaps.unknown_members) == {m for m in members if m in unknown}


@given(release=releases(), most=st.integers(1, 3))
def test_the_most_informative_vary_the_most(release, most):
    source = Numbers()
    whole = distance_tables(release, source)
    made = distance_tables(release, source, context=most)
    for table, full in zip(made, whole, strict=True):
        for used, all_of_them, distances in zip(
            table.contexts, full.contexts, table.distances, strict=True
        ):
            terms = [made.contexts.names[i] for i in all_of_them]
            spread = {t: np.var([source.distance(t, m) for m in table.members]) for t in terms}
            chosen = [made.contexts.names[i] for i in used]
            assert len(chosen) == min(most, len(terms))
            worst = min(spread[t] for t in chosen)
            assert all(spread[t] <= worst + 1e-12 for t in terms if t not in chosen)
            mean = [np.mean([source.distance(t, m) for t in chosen]) for m in table.members]
            assert distances.tolist() == pytest.approx(mean)


def test_the_release_itself_cannot_rank_members():
    table = TransactionTable.from_rows([["fever", "flu"], ["toe", "gout"]])
    release, _ = publish_sets(table, [0, 1, 1, 2])
    with pytest.raises(NotApplicable, match="knows no member") as error:
        distance_tables(release, WithinRelease.from_spec("", release=release))
    assert "within the release all members are alike" in str(error.value)


@pytest.mark.parametrize("context", [0, -1, True])
def test_a_context_of_no_items_is_refused(context):
    release, _ = publish_sets(TransactionTable.from_rows([["a"]]), [0])
    with pytest.raises(ParameterError, match="context is"):
        distance_tables(release, Numbers(), context=context)


def test_nothing_to_attack():
    release, _ = publish_sets(TransactionTable.from_rows([["a", "b"]]), [0, 1])
    made = distance_tables(release, Numbers())
    assert len(made) == len(targets(release)) == 0
    assert made.gaps.sentences() == ()


def test_members_that_are_unknown_are_not_taken_for_unknown_context():
    table = TransactionTable.from_rows([["a", "c", "e"], ["b", "d", "e"], ["b", "f"]])
    release, _ = publish_sets(table, [0, 0, 1, 1, 2, 3])
    said = distance_tables(release, Numbers("abf")).gaps.sentences()
    assert said[:2] == (
        "1 of 5 rows have only unknown context: left out",
        "2 of 5 rows have no member with a distance to their context: left out",
    )


def test_a_record_in_several_tables():
    table = TransactionTable.from_rows([["a", "c", "e"], ["b", "d", "e"]])
    release, _ = publish_sets(table, [0, 0, 1, 1, 2])
    first, second = distance_tables(release, Numbers())
    assert first.records.tolist() == second.records.tolist() == [0, 1]


@given(release=releases(), seed=st.integers(0, 99))
def test_exchanged_contexts_are_those_of_others(release, seed):
    contexts = Contexts.of(release)
    mixed = contexts.exchanged(np.random.default_rng(seed))
    before = [contexts.terms(record) for record in range(len(contexts))]
    after = [mixed.terms(record) for record in range(len(mixed))]
    assert sorted(before) == sorted(after)
    assert [bool(terms) for terms in before] == [bool(terms) for terms in after]
    if len(set(before) - {()}) == sum(map(bool, before)) > 1:
        assert all(a != b for a, b in zip(before, after, strict=True) if a)


def test_distances_of_a_corpus():
    table = TransactionTable.from_rows([["fever", "flu"], ["toe", "gout"]])
    release, _ = publish_sets(table, [0, 1, 1, 2])
    corpus = [["fever", "flu"], ["flu"], ["toe", "gout"], ["gout"], ["fever", "toe"]]
    (made,) = distance_tables(release, NGD(RecordCounts.from_rows(corpus)))
    assert made.distances[0, 0] < made.distances[0, 1]
    assert made.distances[1, 1] < made.distances[1, 0]
