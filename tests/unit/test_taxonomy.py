"""The tree in memory: shape, look-up, cuts and losses, against plain dictionaries."""

import itertools
import math
import pickle
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import taxonomy as reference
from tests.strategies import names, occurring, tables_with_taxonomy, taxonomies

from setveil import Taxonomy
from setveil.core.errors import InputError, NotApplicable, ParameterError
from setveil.core.tree import Tree

PETS = {"poodle": "dog", "pug": "dog", "tabby": "cat", "dog": "animal", "cat": "animal"}


@st.composite
def named_trees(draw):
    """Draw a tree whose names repeat."""
    ids = draw(names(min_size=1, max_size=12))
    shown = [draw(st.sampled_from("abc")) for _ in ids]
    parents = [-1] + [draw(st.integers(0, i - 1)) for i in range(1, len(ids))]
    order = draw(st.permutations(range(len(ids))))
    place = {old: new for new, old in enumerate(order)}
    above = [place[parents[i]] if parents[i] >= 0 else -1 for i in order]
    return Taxonomy.from_nodes([ids[i] for i in order], [shown[i] for i in order], above)


# --- shape ------------------------------------------------------------------------------------


@given(tree=named_trees())
def test_shape(tree):
    parents = reference.as_dict(tree)
    shown = dict(zip(tree.ids, tree.names, strict=True))
    assert list(tree.ids) == reference.preorder(parents, shown)
    below = reference.children(parents)
    total = len(reference.leaves(parents, tree.ids[0]))
    for v, node in enumerate(tree.ids):
        way = reference.ancestors(parents, node)
        count = len(reference.leaves(parents, node))
        assert [tree.ids[u] for u in tree.ancestors(v)] == way
        assert tree.depths[v] == len(way)
        assert tree.leaves[v] == count
        assert tree.is_leaf[v] == (not below[node])
        inside = {tree.ids[u] for u in range(v, tree.ends[v])}
        assert inside == {
            other for other in tree.ids if node in reference.ancestors(parents, other)
        }
        assert tree.ncp()[v] == (count / total if below[node] else 0)
        assert tree.loss_metric()[v] == ((count - 1) / (total - 1) if total > 1 else 0)
    assert tree.n_leaves == total
    assert tree.height == max(tree.depths) - 1


@given(tree=taxonomies(min_nodes=1))
def test_lowest_common_ancestors(tree):
    parents = reference.as_dict(tree)
    both = [(a, b) for a in range(len(tree)) for b in range(len(tree))]
    wanted = [tree.node(reference.lca(parents, tree.ids[a], tree.ids[b])) for a, b in both]
    assert [tree.lca(a, b) for a, b in both] == wanted
    left, right = np.array(both).T
    assert tree.lca(left, right).tolist() == wanted
    assert tree.lca(left.reshape(-1, len(tree)), 0).tolist() == [[0] * len(tree)] * len(tree)


def test_lca_of_numbers_is_a_plain_number():
    tree = Taxonomy.from_parents(PETS)
    assert type(tree.lca(1, 2)) is int
    assert tree.lca(np.array([], dtype=np.int32), []).shape == (0,)


@given(tree=taxonomies(min_nodes=1, max_nodes=9))
@settings(max_examples=60)
def test_cuts(tree):
    parents = reference.as_dict(tree)
    cuts = reference.cuts(parents)
    assert tree.number_of_cuts() == len(cuts) == reference.number_of_cuts(parents)
    for cut in cuts:
        nodes = [tree.node(node) for node in cut]
        assert tree.is_cut(nodes)
        image = tree.image(nodes)
        for v, node in enumerate(tree.ids):
            above = reference.image(parents, cut, node)
            assert image[v] == (-1 if above is None else tree.node(above))


@given(tree=taxonomies(min_nodes=1, max_nodes=9), data=st.data())
def test_what_is_no_cut(tree, data):
    nodes = data.draw(st.lists(st.sampled_from(range(len(tree))), max_size=6))
    cuts = reference.cuts(reference.as_dict(tree))
    is_one = len(set(nodes)) == len(nodes) and {tree.ids[v] for v in nodes} in cuts
    assert tree.is_cut(nodes) == is_one
    if not is_one:
        with pytest.raises(ParameterError, match="no cut"):
            tree.image(nodes)


@given(tree=taxonomies(min_nodes=1))
def test_cuts_at_levels(tree):
    for level in range(1, tree.height + 3):
        cut = tree.cut_at(level)
        assert tree.is_cut(cut)
        assert all(tree.depths[v] == level or tree.is_leaf[v] for v in cut)
        assert max(tree.depths[cut]) == min(level, tree.height + 1)
    with pytest.raises(ParameterError, match="level 0"):
        tree.cut_at(0)


def test_number_of_cuts_is_exact_and_needs_no_recursion():
    items = [f"{i:05}" for i in range(2**12)]
    cuts = 1
    for _ in range(12):
        cuts = cuts**2 + 1
    assert Taxonomy.balanced(items, fanout=2).number_of_cuts() == cuts
    deep = 4000
    chain = Taxonomy.from_nodes(items[:deep], items[:deep], [-1, *range(deep - 1)])
    assert (chain.height, chain.number_of_cuts()) == (len(chain) - 1, len(chain))


def test_cuts_of_a_published_part_cannot_be_counted():
    part, _ = Taxonomy.from_parents(PETS).pruned([1])
    with pytest.raises(NotApplicable, match="published part"):
        part.number_of_cuts()


# --- building ---------------------------------------------------------------------------------


@given(tree=named_trees(), seed=st.integers(0, 1000))
def test_the_order_of_nodes_does_not_matter(tree, seed):
    order = list(range(len(tree)))
    random.Random(seed).shuffle(order)
    place = {old: new for new, old in enumerate(order)}
    again = Taxonomy.from_nodes(
        [tree.ids[i] for i in order],
        [tree.names[i] for i in order],
        [place[tree.parents[i]] if i else -1 for i in order],
    )
    assert (again.ids, again.names) == (tree.ids, tree.names)
    assert again.parents.tolist() == tree.parents.tolist()


def test_several_tops_get_a_root():
    tree = Taxonomy.from_parents({"a": None, "*": None, "b": "*"})
    assert tree.ids == ("**", "*", "b", "a")
    assert tree.names[0] == "*"
    assert Taxonomy.from_parents({"a": None}).ids == ("a",)


@given(
    parents=st.lists(st.integers(-1, 9), min_size=1, max_size=10).map(
        lambda drawn: [p if p < len(drawn) else -1 for p in drawn]
    )
)
def test_cycles_are_found_and_named(parents):
    ids = [f"n{i}" for i in range(len(parents))]

    def leads_to_a_top(i):
        for _ in parents:
            i = parents[i] if i >= 0 else -1
        return i < 0

    if all(map(leads_to_a_top, range(len(parents)))):
        Taxonomy.from_nodes(ids, ids, parents)
        return
    with pytest.raises(InputError, match="cycle: ") as caught:
        Taxonomy.from_nodes(ids, ids, parents)
    loop = [int(node[1:]) for node in caught.value.what.partition(": ")[2].split(" → ")]
    assert loop[0] == loop[-1]
    assert all(parents[a] == b for a, b in itertools.pairwise(loop))


def test_a_long_cycle_is_shortened():
    ids = [str(i) for i in range(1000)]
    with pytest.raises(InputError, match=r"0 → 999 → .* → … → 0\. To fix"):
        Taxonomy.from_nodes(ids, ids, [999, *range(999)])


@pytest.mark.parametrize(
    ("ids", "parents", "message"),
    [
        ([], [], "at least one node"),
        (["a", "a"], [-1, 0], "two nodes have the id 'a'"),
        (["a"], [-1, 0], "each node needs"),
        (["a", "b"], [-1, 2], "each node needs"),
        (["a"], [0], "cycle: a → a"),
    ],
)
def test_bad_nodes(ids, parents, message):
    with pytest.raises((InputError, ParameterError), match=message):
        Taxonomy.from_nodes(ids, ids, parents)


@pytest.mark.parametrize(
    ("parents", "leaves", "message"),
    [
        ([], [], "at least one node"),
        ([-1, 0], [1], "2 parents and 1"),
        ([-1, -1], [1, 1], "only root"),
        ([0], [1], "only root"),
        ([-1, 2, 0], [1, 1, 1], "preorder"),
        ([-1, 0, 0, 1], [2, 1, 1, 1], "preorder"),
        ([-1, 0, 0], [1, 1, 1], "fewer leaves"),
        ([-1, 0], [1, 0], "fewer leaves"),
    ],
)
def test_bad_arrays(parents, leaves, message):
    with pytest.raises((InputError, ParameterError), match=message):
        Tree(parents=parents, leaves=leaves)


def test_arrays_cannot_be_changed_and_trees_travel():
    tree = pickle.loads(pickle.dumps(Taxonomy.from_parents(PETS).for_items(["dog"])))
    assert tree.ids == ("animal", "cat", "tabby", "dog", "dog (itself)", "poodle", "pug")
    given_parents = np.array([-1, 0], dtype=np.int32)
    small = Tree(parents=given_parents, leaves=[1, 1])
    with pytest.raises(ValueError, match="read-only"):
        small.parents[1] = 5
    given_parents[1] = 0


@given(items=names(min_size=1, max_size=30), fanout=st.integers(2, 5))
def test_balanced(items, fanout):
    tree = Taxonomy.balanced(items, fanout=fanout)
    below = reference.children(reference.as_dict(tree))
    assert {node for node in tree.ids if not below[node]} == set(items)
    assert all(len(inner) in range(2, fanout + 1) for inner in below.values() if inner)
    assert tree.height == math.ceil(round(math.log(len(items), fanout), 9))
    for node in below:  # each node holds neighbours of the list
        places = sorted(
            items.index(leaf) for leaf in reference.leaves(reference.as_dict(tree), node)
        )
        assert places == list(range(places[0], places[-1] + 1))


def test_balanced_names_stay_distinct():
    assert len(Taxonomy.balanced(["a", "b … c", "a … b", "c", "a … b … c"], fanout=2)) == 9
    with pytest.raises(ParameterError, match="fanout is 1"):
        Taxonomy.balanced(["a"], fanout=1)
    with pytest.raises(InputError, match="at least one item"):
        Taxonomy.balanced([])


# --- items ------------------------------------------------------------------------------------


@given(tree=taxonomies(min_nodes=1), data=st.data())
def test_every_item_gets_a_leaf(tree, data):
    known = data.draw(st.lists(st.sampled_from(tree.ids), unique=True))
    absent = data.draw(st.lists(st.sampled_from(["new 1", "new 2", "new 3"]), unique=True))
    full = tree.for_items([*known, *absent], missing="attach-to-root")
    found = full.leaf_of([*known, *absent])
    assert len(set(found.tolist())) == len(found)
    assert all(full.is_leaf[found])
    assert full.missing([*known, *absent]) == []
    for item, leaf in zip(known, found.tolist(), strict=False):
        assert full.names[leaf] == item
        private = bool(full.pseudo[leaf])
        assert private == (not tree.is_leaf[tree.node(item)] or (len(tree) == 1 and absent != []))
        assert not private or full.ids[full.parents[leaf]] == item
    for leaf in found[len(known) :]:
        assert full.parents[leaf] == 0
    kept = {node: above for node, above in reference.as_dict(full).items() if node in tree.ids}
    assert kept == reference.as_dict(tree)
    assert full.for_items(known) is full
    if absent:
        with pytest.raises(
            InputError, match=f"{len(absent)} of .*'{absent[0]}'.*--missing nearest"
        ):
            tree.for_items([*known, *absent])


def test_an_item_may_bear_the_id_of_a_private_leaf():
    tree = Taxonomy.from_parents(PETS).for_items(["dog"])
    assert tree.missing(["dog (itself)"]) == ["dog (itself)"]
    full = tree.for_items(["dog (itself)", "dog"], missing="attach-to-root")
    one, other = full.leaf_of(["dog (itself)", "dog"]).tolist()
    assert (full.parents[one], full.pseudo[one]) == (0, False)
    assert (full.ids[full.parents[other]], full.pseudo[other]) == ("dog", True)
    both = Taxonomy.from_parents(PETS).for_items(["dog (itself)", "dog"], missing="attach-to-root")
    assert both.n_leaves == 5


def test_look_up_by_name():
    tree = Taxonomy.from_nodes(
        ["1", "2", "3", "4", "5"], ["food", "fruit", "jam", "jam", "jam"], [-1, 0, 1, 0, 3]
    )
    assert tree.node("fruit") == tree.node("2")
    with pytest.raises(InputError, match=r"'jam' stands for 3 nodes .*use the node's id"):
        tree.node("jam")
    one_leaf = Taxonomy.from_nodes(["1", "2", "3"], ["food", "jam", "jam"], [-1, 0, 1])
    assert one_leaf.ids[one_leaf.node("jam")] == "3"
    with pytest.raises(InputError, match="'beer' is not in the taxonomy"):
        tree.node("beer")
    with pytest.raises(InputError, match="'beer' is not in the taxonomy"):
        tree.leaf_of(["fruit", "beer"])
    with pytest.raises(InputError, match="interior node without a leaf"):
        tree.leaf_of(["fruit"])
    with pytest.raises(InputError, match="'2' and 'fruit' are one node"):
        tree.for_items(["2", "fruit"])
    with pytest.raises(ParameterError, match="missing='maybe'"):
        tree.for_items(["fruit"], missing="maybe")
    assert tree.leaf_of([]).shape == (0,)


# --- published parts --------------------------------------------------------------------------


@given(tree=taxonomies(min_nodes=1), data=st.data())
def test_pruned(tree, data):
    nodes = data.draw(st.lists(st.sampled_from(range(len(tree)))))
    part, place = tree.pruned(nodes)
    parents = reference.as_dict(tree)
    kept = {tree.ids[0]}.union(*(reference.ancestors(parents, tree.ids[v]) for v in nodes))
    assert set(part.ids) == kept
    assert reference.as_dict(part) == {node: parents[node] for node in kept}
    for v, node in enumerate(tree.ids):
        assert place[v] == (part.ids.index(node) if node in kept else -1)
        assert node not in kept or part.leaves[place[v]] == tree.leaves[v]
    assert part.n_leaves == tree.n_leaves
    assert not any(part.is_leaf[place[v]] for v in set(nodes) if tree.leaves[v] > 1)


# --- without some items ---------------------------------------------------------------------------


@settings(max_examples=100)
@given(tables_with_taxonomy(min_rows=1), st.data())
def test_without_some_items(case, data):
    table, tree = case
    items = occurring(table)
    if not items:
        return
    gone = data.draw(st.sets(st.sampled_from(items), min_size=1))
    leaves = {tree.ids[v] for v in range(len(tree)) if tree.is_leaf[v]}
    if leaves <= gone:
        with pytest.raises(InputError, match="nothing is left"):
            tree.without(gone)
        return
    less = tree.without(gone)
    assert not gone.intersection(less.ids)
    # The leaves are the old ones, and who is above whom has not changed.
    assert {less.ids[v] for v in range(len(less)) if less.is_leaf[v]} == leaves - gone
    for node_id in set(less.ids).intersection(tree.ids):
        above = [less.ids[u] for u in less.ancestors(less.ids.index(node_id))]
        before = [tree.ids[u] for u in tree.ancestors(tree.ids.index(node_id))]
        assert [u for u in above if u in before] == [u for u in before if u not in gone]
    assert set(less.missing(gone)) == gone


def test_without_takes_private_leaves_along():
    tree = Taxonomy.from_parents({"pug": "dog", "dog": "pet", "cat": "pet"}).for_items(["dog"])
    assert tree.without(["dog"]).ids == ("pet", "cat", "pug")
    assert tree.without(["nobody's"]) is tree
