"""Generated data: published figures, heavy tails, topics, and the same table for the same seed."""

import numpy as np
import pytest
from benchmarks.synthetic import BEGIN, END, rewritten, tables
from hypothesis import given, settings
from hypothesis import strategies as st

from setveil.core.errors import ParameterError
from setveil.synthetic import LOOKALIKES, clinic, lookalike
from setveil.synthetic.clinic import (
    BRINGS,
    CONDITIONS,
    EVERYDAY,
    SENSITIVE,
    TREE,
    VAGUE,
    clinic_taxonomy,
)
from setveil.synthetic.lookalike import NODES, noun_tree

# As printed in the papers; LOOKALIKES must not be its own judge.
PUBLISHED = {
    "bms-pos": (515_597, 1_657, 6.5, 164),
    "bms-webview-1": (59_602, 497, 2.5, 267),
    "bms-webview-2": (77_512, 3_340, 5.0, 161),
}


def same(a, b):
    return (
        np.array_equal(a.table.offsets, b.table.offsets)
        and np.array_equal(a.table.items, b.table.items)
        and a.table.vocabulary == b.table.vocabulary
    )


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_figures_at_full_size(name):
    rows, items, mean, longest = PUBLISHED[name]
    table = lookalike(name).table
    assert len(table) == rows
    assert np.count_nonzero(table.supports()) == table.n_items == items
    assert table.lengths.mean() == pytest.approx(mean, rel=0.01)
    assert table.lengths.max() == longest
    assert table.lengths.min() >= 1
    assert not table.is_bag


def test_the_query_log_at_full_size():
    data = lookalike("aol")
    assert len(data.table) == 53_058
    assert data.table.lengths.mean() == pytest.approx(20.93, rel=0.01)
    # The thesis prints a density of 0.11% (items per record over leaf items).
    tree = data.taxonomy.for_items(data.table.vocabulary.names)
    density = len(data.table.items) / (len(data.table) * tree.n_leaves)
    assert round(100 * density, 2) == 0.11


def test_the_tree_of_nouns():
    tree = noun_tree()
    assert len(tree) == sum(NODES) == 25_645
    assert tree.height == 18
    families = np.bincount(tree.parents[1:])
    families = families[families > 0]
    assert np.median(families) == 1
    assert families.max() > 100
    depths = tree.depths - 1
    assert 0.8 < np.mean((depths >= 5) & (depths <= 10)) < 0.95
    assert np.bincount(depths).tolist() == list(NODES)
    assert np.count_nonzero(depths == 1) == 2


def test_some_nouns_are_interior_nodes():
    data = lookalike("aol", n=5000)
    inner = [
        v for v in data.table.vocabulary.names if not data.taxonomy.is_leaf[data.taxonomy.node(v)]
    ]
    assert len(inner) > 500


@pytest.mark.parametrize("name", LOOKALIKES)
def test_popularity_has_a_heavy_tail(name):
    supports = np.sort(lookalike(name, n=20_000).table.supports())[::-1]
    tenth = len(supports) // 10
    assert supports[:tenth].sum() > 0.4 * supports.sum()
    assert supports[0] > 10 * np.median(supports)


@pytest.mark.parametrize("name", LOOKALIKES)
def test_lengths_have_a_heavy_tail(name):
    lengths = lookalike(name, n=20_000).table.lengths
    assert lengths.mean() == pytest.approx(LOOKALIKES[name].mean, rel=0.02)
    assert np.median(lengths) < 0.75 * lengths.mean()
    assert lengths.max() > 12 * lengths.mean()


@pytest.mark.parametrize("name", LOOKALIKES)
def test_items_of_a_record_come_from_few_subtrees(name):
    data = lookalike(name, n=4000, seed=2)
    table, tree = data.table, data.taxonomy
    nodes = [tree.node(item) for item in table.vocabulary.names]
    rng = np.random.default_rng(0)
    long_enough = np.flatnonzero(table.lengths >= 2)
    together = apart = 0
    for record in rng.choice(long_enough, 2000).tolist():
        row = table.items[table.offsets[record] : table.offsets[record + 1]]
        a, b = rng.choice(row, 2, replace=False)
        c = rng.choice(table.items)
        together += are_near(tree, nodes[a], nodes[b])
        apart += are_near(tree, nodes[a], nodes[c])
    assert together > 1.6 * apart


def are_near(tree, a, b):
    """Tell whether two nodes lie in one subtree of at most 100 leaves."""
    small = {v for v in tree.ancestors(a) if tree.leaves[v] <= 100}
    return not small.isdisjoint(tree.ancestors(b))


@pytest.mark.parametrize("name", LOOKALIKES)
def test_every_item_has_its_place_in_the_tree(name):
    data = lookalike(name, n=300)
    assert len(data.taxonomy.for_items(data.table.vocabulary.names)) >= len(data.taxonomy)
    assert (data.table.supports() > 0).all()


@settings(max_examples=25)
@given(st.sampled_from(sorted(LOOKALIKES)), st.integers(1, 400), st.integers(0, 2**40))
def test_any_size_and_seed_gives_sets(name, n, seed):
    table = lookalike(name, n=n, seed=seed).table
    assert len(table) == n
    assert not table.is_bag
    assert table.lengths.min() >= 1


def test_more_records_than_published():
    table = lookalike("bms-webview-1", n=100_000).table
    assert (len(table), table.n_items, table.lengths.max()) == (100_000, 497, 267)
    assert table.lengths.mean() == pytest.approx(2.5, rel=0.01)


def test_the_seed_decides_the_records_and_only_them():
    first, again, other = (lookalike("aol", n=500, seed=s) for s in (1, 1, 2))
    assert same(first, again)
    assert not same(first, other)
    assert first.taxonomy.ids == other.taxonomy.ids
    assert same(clinic(300, seed=1), clinic(300, seed=1))
    assert not same(clinic(300, seed=1), clinic(300, seed=2))


@pytest.mark.parametrize("make", [clinic, lambda **k: lookalike("aol", **k)])
@pytest.mark.parametrize("wrong", [{"n": 0}, {"n": -3}, {"n": 5, "seed": -1}])
def test_wrong_sizes_and_seeds_are_refused(make, wrong):
    with pytest.raises(ParameterError, match="To fix"):
        make(**wrong)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ParameterError, match="bms-pos, bms-webview-1, bms-webview-2, aol"):
        lookalike("netflix")


# --- the clinic -------------------------------------------------------------------------------


def test_all_the_clinic_speaks_of_is_in_its_tree():
    tree = clinic_taxonomy()
    spoken = {*CONDITIONS, *EVERYDAY, *VAGUE}
    spoken |= {item for brought in BRINGS.values() for item in brought}
    spoken |= {*SENSITIVE}
    assert spoken <= set(tree.ids)
    leaves = {tree.ids[v] for v in range(len(tree)) if tree.is_leaf[v]}
    assert leaves <= spoken
    lines = TREE.strip().splitlines()
    assert len(lines) == len(tree) == len({line.strip() for line in lines})


def test_the_clinic_is_plausible():
    data = clinic(n=20_000, seed=4)
    table = data.table
    supports = table.supports()
    assert (supports > 0).all()
    assert table.lengths.min() >= 1
    assert 3 < table.lengths.mean() < 8
    assert set(data.sensitive) <= set(table.vocabulary.names)
    assert not data.taxonomy.is_leaf[data.taxonomy.node("diabetes")]
    assert supports[table.vocabulary.number("diabetes")] > 0

    def holders(*items):
        return {i for i, row in enumerate(table) if set(items) & set(row)}

    diabetes = holders("diabetes", "type 2 diabetes", "type 1 diabetes")
    obesity = holders("obesity")
    assert len(diabetes & obesity) * len(table) > 2 * len(diabetes) * len(obesity)
    # What gives away: an antiretroviral drug means HIV, and nearly nothing else does.
    assert holders("antiretroviral drug") <= holders("HIV infection")
    # Nobody is pregnant with an enlarged prostate.
    assert not holders("pregnancy") & holders("enlarged prostate")


def test_one_patient():
    data = clinic(n=1)
    assert len(data.table) == 1
    assert data.table.lengths[0] >= 1


# --- the page ---------------------------------------------------------------------------------


def test_the_page_is_rewritten_between_its_marks():
    page = f"# Title\n{BEGIN}old\n{END}rest\n"
    assert rewritten(page, "new\n") == f"# Title\n{BEGIN}new\n{END}rest\n"
    with pytest.raises(SystemExit, match="lacks the line"):
        rewritten("# Title\n", "new\n")


def test_the_tables_name_every_look_alike(capsys):
    text = tables(scale=0.005)
    assert all(f"| {name} |" in text for name in LOOKALIKES)
    assert all(f"| {shape.title} | published |" in text for shape in LOOKALIKES.values())
    assert "aol: " in capsys.readouterr().out
