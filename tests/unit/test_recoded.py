from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import worlds as reference
from tests.strategies import occurring, tables_with_taxonomy

from setveil import Taxonomy, TransactionTable
from setveil.core.errors import InputError, NotApplicable, ParameterError, ReleaseError
from setveil.guarantee import Coherence, KAnonymity, RhoUncertainty
from setveil.measure import ggd, items_suppressed, level_mean, ncp
from setveil.release import GeneralizedRelease, Key, publish_recoded, published_rows
from setveil.release.store import load_release, save

FOOD = Taxonomy.from_parents(
    {
        "apple": "fruit",
        "orange": "fruit",
        "banana": "fruit",
        "beef": "meat",
        "chicken": "meat",
        "fruit": "food",
        "meat": "food",
    }
)


def image_of(table, tree, names):
    """Return the image of each item by names; items that are not named are suppressed."""
    return [tree.node(names[i]) if i in names else -1 for i in table.vocabulary.names]


@st.composite
def recodings(draw, **sizes):
    """Draw a table, a tree with its leaves, and an image: a cut of which nodes are suppressed."""
    table, tree = draw(tables_with_taxonomy(**sizes))
    tree = tree.for_items(occurring(table))
    cut = [0]
    for _ in range(draw(st.integers(0, 5))):
        v = draw(st.sampled_from(cut))
        children = np.flatnonzero(tree.parents == v).tolist()
        if children:
            cut = [u for u in cut if u != v] + children
    suppressed = draw(st.sets(st.sampled_from(cut), max_size=2))
    above = tree.image(cut)
    above[np.isin(above, list(suppressed))] = -1
    return table, tree, above[tree.leaf_of(table.vocabulary.names)]


def whole_rows(release, tree):
    """Return the published rows as node numbers of the whole tree."""
    place = {node_id: v for v, node_id in enumerate(tree.ids)}
    return [[place[i] for i in row] for row in release.to_rows(ids=True)]


def published_anywhere(release, tree):
    """Return the nodes that some record publishes, where hidden items are hidden everywhere."""
    return {v for row in whole_rows(release, tree) for v in row} if release.whole else None


def names_of(tree, leaves):
    """Return the items that leaves stand for: a private leaf is asked for by its item's name."""
    return [tree.ids[tree.parents[v] if tree.pseudo[v] else v] for v in leaves]


def as_leaves(table, tree):
    return [frozenset(tree.leaf_of(row).tolist()) for row in table]


# --- publishing -----------------------------------------------------------------------------------


@given(recodings())
def test_records_are_the_sets_of_their_items_images(case):
    table, tree, image = case
    release, key = publish_recoded(tree, table, image)
    assert sorted(key.records.tolist()) == list(range(len(table)))
    number = dict(zip(table.vocabulary.names, image.tolist(), strict=True))
    for row, record in zip(whole_rows(release, tree), key.records.tolist(), strict=True):
        assert row == sorted({number[i] for i in table[record]} - {-1})
    hidden = any(number[i] < 0 for i in occurring(table))
    assert (release.hides, release.whole) == (hidden, hidden)
    assert release.is_consistent_with(table, key, tree)


@given(recodings(), st.randoms(use_true_random=False))
def test_the_order_of_records_changes_nothing(case, random):
    table, tree, image = case
    release, _ = publish_recoded(tree, table, image)
    order = random.sample(range(len(table)), len(table))
    other, _ = publish_recoded(tree, table.take(order), image)
    assert other.tree.ids == release.tree.ids
    assert other.offsets.tolist() == release.offsets.tolist()
    assert other.nodes.tolist() == release.nodes.tolist()


def test_items_that_do_not_occur_do_not_matter():
    table = TransactionTable.from_csr([0, 1], [0], ["apple", "stone"])
    release, _ = publish_recoded(FOOD, table, [FOOD.node("fruit"), -1])
    assert (release.to_rows(), release.hides) == ([["fruit"]], False)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"apple": "fruit", "beef": "food"}, "'food' lies above another"),
        ({"apple": "meat", "beef": "meat"}, "'apple' .* 'meat' does not lie above it"),
        ({"apple": "fruit", "beef": "chicken"}, "'beef' .* does not lie above it"),
        ({"apple": "food"}, "'beef' .* below the image 'food' of others"),
    ],
)
def test_impossible_images_are_refused(names, message):
    table = TransactionTable.from_rows([["apple", "beef"]])
    with pytest.raises(ParameterError, match=message):
        publish_recoded(FOOD, table, image_of(table, FOOD, names))


@pytest.mark.parametrize(
    ("image", "message"),
    [
        ([0], "shape"),
        ([0.0, 0.0], "float64"),
        ([0, 99], "no node"),
        ([0, -2], "no node"),
        ([0, 2**32], "no node"),
    ],
)
def test_images_that_do_not_fit_are_refused(image, message):
    table = TransactionTable.from_rows([["apple", "beef"]])
    with pytest.raises(ParameterError, match=message):
        publish_recoded(FOOD, table, image)


def test_empty_table():
    release, key = publish_recoded(FOOD, TransactionTable.from_rows([]), [])
    assert (len(release), len(key), release.hides) == (0, 0, False)


@pytest.mark.parametrize(
    ("nodes", "hides", "message"),
    [
        ([[0], [1]], True, "'food' lies above another"),
        ([[1, 1]], True, "twice"),
        ([[1]], False, "hides nothing"),
    ],
)
def test_broken_whole_releases_are_refused(nodes, hides, message):
    with pytest.raises(ParameterError, match=message):
        GeneralizedRelease(
            tree=FOOD,
            offsets=np.cumsum([0, *map(len, nodes)]),
            nodes=np.concatenate(nodes),
            hides=hides,
            whole=True,
        )


# --- the verbs against all worlds -----------------------------------------------------------------

SMALL = {"max_nodes": 7, "max_rows": 4, "max_length": 4}


@settings(max_examples=200)
@given(recodings(**SMALL), st.integers(0, 2**32 - 1), st.data())
def test_bounds_and_samples_agree_with_all_worlds(case, seed, data):
    table, tree, image = case
    release, key = publish_recoded(tree, table, image)
    rows, anywhere = whole_rows(release, tree), published_anywhere(release, tree)
    possible = [reference.worlds(tree, row, hides=release.hides, anywhere=anywhere) for row in rows]
    leaves = data.draw(st.sets(st.sampled_from(reference.all_leaves(tree)), max_size=3))
    bounds = release.support_bounds(names_of(tree, leaves), tree)
    assert bounds.low == sum(all(leaves <= t for t in row) for row in possible)
    assert bounds.high == sum(any(leaves <= t for t in row) for row in possible)
    assert bounds.tight
    originals = as_leaves(table, tree)
    for row, record in zip(possible, key.records.tolist(), strict=True):
        assert originals[record] in row
    world = release.sample_world(np.random.default_rng(seed), tree)
    assert all(t in row for t, row in zip(as_leaves(world, tree), possible, strict=True))
    assert release.is_consistent_with(world, Key(records=np.arange(len(release))), tree)


@settings(max_examples=150)
@given(recodings(**SMALL), st.data())
def test_chances_equal_enumeration(case, data):
    table, tree, image = case
    release, _ = publish_recoded(tree, table, image)
    rows, anywhere = whole_rows(release, tree), published_anywhere(release, tree)
    leaves = data.draw(st.sets(st.sampled_from(reference.all_leaves(tree)), max_size=3))
    expected, weights = Fraction(0), {}
    for j, row in enumerate(rows):
        chances = reference.draws(tree, row)
        expected += sum(p for t, p in chances.items() if leaves <= t)
        weight = Fraction(1)
        for leaf in leaves:
            free = anywhere is not None and not any(
                leaf in reference.leaves_below(tree, v) for v in anywhere
            )
            weight *= 1 if free else sum(p for t, p in chances.items() if leaf in t)
        if weight:
            weights[j] = weight
    names = names_of(tree, leaves)
    assert release.expected_support(names, tree) == pytest.approx(float(expected))
    found = release.matches(names, tree)
    assert found.records.tolist() == list(weights)
    assert found.weights.tolist() == pytest.approx([float(w) for w in weights.values()])


@settings(max_examples=150)
@given(recodings(**SMALL), st.data())
def test_consistency_equals_the_definition(case, data):
    table, tree, image = case
    release, key = publish_recoded(tree, table, image)
    originals = [set(row) for row in as_leaves(table, tree)]
    # Change one record, so that about half of the originals fit.
    if originals:
        changed = data.draw(st.integers(0, len(originals) - 1))
        originals[changed] ^= {data.draw(st.sampled_from(reference.all_leaves(tree)))}
    anywhere = published_anywhere(release, tree)
    expected = all(
        reference.allows(tree, row, originals[record], hides=release.hides, anywhere=anywhere)
        for row, record in zip(whole_rows(release, tree), key.records.tolist(), strict=True)
    )
    other = TransactionTable.from_rows([names_of(tree, row) for row in originals])
    assert release.is_consistent_with(other, key, tree) == expected


def test_what_is_hidden_everywhere_says_nothing_about_a_record():
    table = TransactionTable.from_rows([["apple", "beef"], ["banana"], ["chicken"]])
    names = {"apple": "fruit", "banana": "fruit", "chicken": "chicken"}
    release, key = publish_recoded(FOOD, table, image_of(table, FOOD, names))
    assert release.to_rows() == [["fruit"], ["fruit"], ["chicken"]]
    assert release.matches(["beef"], FOOD).weights.tolist() == [1.0] * 3
    assert release.matches(["beef", "chicken"], FOOD).records.tolist() == [2]
    bounds = release.support_bounds(["beef", "apple"], FOOD)
    assert (bounds.low, bounds.high) == (0, 2)
    assert release.support_bounds(["chicken"], FOOD).low == 1
    # A fruit that a record does not show is not possible: fruits were never suppressed.
    wrong = TransactionTable.from_rows([["apple"], ["apple"], ["chicken", "banana"]])
    assert not release.is_consistent_with(wrong, key, FOOD)
    right = TransactionTable.from_rows([["apple", "beef"], ["apple"], ["chicken", "beef"]])
    assert release.is_consistent_with(right, key, FOOD)


# --- the uniform view -----------------------------------------------------------------------------


PETS = ["id,name,parent", "1,pet,", "2,dog,1", "3,poodle,2", "4,cat,1"]


def test_an_interior_item_is_judged_by_its_id_and_by_its_name(tmp_path):
    file = tmp_path / "pets.csv"
    file.write_text("\n".join(PETS))
    tree = Taxonomy.read(file).for_items(["2", "3", "4"])
    table = TransactionTable.from_rows([["2", "4"], ["2", "4"], ["4"], ["3"], ["3"]])
    release, _ = publish_recoded(tree, table, tree.leaf_of(table.vocabulary.names))
    for item in ("2", "dog"):
        assert not RhoUncertainty(rho=0.6, sensitive=[item]).check(release).holds
        assert not Coherence(k=1, h=0.5, p=1, sensitive=[item]).check(release).holds
        assert RhoUncertainty(rho=0.7, sensitive=[item]).check(release).holds


def test_an_item_may_be_called_like_a_private_leaf():
    secret = "dog (itself)"
    pets = Taxonomy.from_parents({"poodle": "dog", "cat": "pet", "dog": "pet"})
    tree = pets.for_items(["dog", "poodle", "cat"]).beside([secret])
    table = TransactionTable.from_rows(
        [["dog", secret], ["dog"], ["cat", secret], ["poodle"], ["dog"], ["poodle"]]
    )
    release, _ = publish_recoded(tree, table, tree.leaf_of(table.vocabulary.names))
    for guarantee in (
        RhoUncertainty(rho=0.6, sensitive=[secret]),
        RhoUncertainty(rho=0.4, sensitive=["dog"]),
        Coherence(h=0.6, k=1, p=1, sensitive=[secret]),
    ):
        here, there = guarantee.check(release), guarantee.check(table)
        assert (here.holds, here.exact) == (there.holds, there.exact) == (False, True)


@given(tables_with_taxonomy(min_rows=1))
@settings(max_examples=100, deadline=None)
def test_an_item_is_found_where_the_tree_has_it(drawn):
    table, taxonomy = drawn
    names = occurring(table)
    tree = taxonomy.for_items(names)
    image = np.full(table.n_items, -1, dtype=np.int32)
    image[[table.vocabulary.number(name) for name in names]] = tree.leaf_of(names)
    release, _ = publish_recoded(tree, table, image)
    rows = published_rows(release)
    for name in names:
        leaf = int(tree.leaf_of([name])[0])
        assert rows.ids[rows.number(name)] == tree.ids[leaf]


def test_published_rows_tell_items_from_categories():
    tree = FOOD.for_items(["fruit", "apple"])
    table = TransactionTable.from_rows([["fruit"], ["apple"], ["beef"]])
    image = tree.leaf_of(table.vocabulary.names)
    rows = published_rows(publish_recoded(tree, table, image)[0])
    assert rows.ids[rows.number("fruit")] == "fruit (itself)"
    assert rows.number("apple") is not None
    assert rows.number("fruit (itself)") is None, "a private leaf's id is nobody's item"
    above = publish_recoded(tree, table, [tree.node("food")] * 3)[0]
    rows = published_rows(above)
    assert [rows.names[i] for i in rows.items.tolist()] == ["food"] * 3
    assert rows.number("food") is None


def test_a_name_of_several_items_is_refused():
    tree = Taxonomy.from_nodes(["1", "2", "3"], ["top", "twin", "twin"], [-1, 0, 0])
    table = TransactionTable.from_rows([["2", "3"]])
    rows = published_rows(publish_recoded(tree, table, [1, 2])[0])
    assert rows.number("2") == 1
    with pytest.raises(InputError, match="'twin' stands for 2"):
        rows.number("twin")


# --- a tree beside which items stand --------------------------------------------------------------


def test_beside_keeps_the_tree_apart_from_the_items():
    tree = FOOD.beside(["hiv", "flu"])
    assert tree.names[0] == "*"
    assert [tree.names[v] for v in np.flatnonzero(tree.parents == 0)] == ["flu", "food", "hiv"]
    assert tree.leaves[tree.node("food")] == 5
    assert tree.n_leaves == 7
    assert FOOD.beside([]) is FOOD


def test_beside_keeps_private_leaves_and_takes_any_name():
    tree = FOOD.for_items(["fruit"]).beside(["*", "fruit (itself)"])
    assert tree.names[int(tree.leaf_of(["fruit"])[0])] == "fruit"
    assert tree.pseudo.sum() == 1
    assert len(set(tree.leaf_of(["fruit", "*", "fruit (itself)"]).tolist())) == 3
    assert tree.beside(["more"]).n_leaves == tree.n_leaves + 1


def test_items_in_the_tree_cannot_stand_beside_it():
    with pytest.raises(InputError, match=r"2 of the items .* 'beef', 'fruit'"):
        FOOD.beside(["beef", "hiv", "fruit"])


def test_untouched_items_beside_generalized_ones():
    tree = FOOD.beside(["hiv", "flu"])
    table = TransactionTable.from_rows([["apple", "hiv"], ["banana"], ["beef", "flu"]])
    names = dict.fromkeys(("apple", "banana", "beef"), "food") | {"flu": "flu"}
    release, key = publish_recoded(tree, table, image_of(table, tree, names))
    assert release.to_rows() == [["flu", "food"], ["food"], ["food"]]
    assert release.whole
    assert release.is_consistent_with(table, key, tree)
    assert release.support_bounds(["flu"]).low == 1
    assert release.support_bounds(["hiv"], tree).high == 3


# --- on disk and measured -------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv"])
@settings(max_examples=30)
@given(case=recodings(), random=st.randoms(use_true_random=False))
def test_round_trip_and_the_same_bytes(tmp_path_factory, ending, case, random):
    table, tree, image = case
    folders = [tmp_path_factory.mktemp("release") for _ in range(2)]
    mixed = table.take(random.sample(range(len(table)), len(table)))
    for folder, records in zip(folders, (table, mixed), strict=True):
        release, _ = publish_recoded(tree, records, image)
        promise = KAnonymity(k=1)
        save(release, folder, method="hghs", params={}, promise=promise, format=ending)
    loaded = load_release(folders[0])
    assert loaded.to_rows(ids=True) == release.to_rows(ids=True)
    assert (loaded.hides, loaded.whole) == (release.hides, release.whole)
    a, b = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
    assert a == b


def test_a_damaged_meaning_is_refused(tmp_path):
    from tests.unit.test_store import rewrite

    table = TransactionTable.from_rows([["apple"], ["beef"]])
    release, _ = publish_recoded(FOOD, table, image_of(table, FOOD, {"apple": "fruit"}))
    save(release, tmp_path, method="hghs", params={}, promise=None)
    rewrite(tmp_path, lambda raw: raw["structure"].update(hides=False))
    with pytest.raises(ReleaseError, match="hides nothing"):
        load_release(tmp_path)
    rewrite(tmp_path, lambda raw: raw["structure"].update(hides=True, whole="yes"))
    with pytest.raises(ReleaseError, match="whether items are hidden"):
        load_release(tmp_path)


def test_measures():
    table = TransactionTable.from_rows([["apple", "orange", "beef"], ["banana"], ["chicken"]])
    names = dict.fromkeys(("apple", "orange", "banana"), "fruit") | {"chicken": "chicken"}
    release, key = publish_recoded(FOOD, table, image_of(table, FOOD, names))
    assert ggd(release, table) == 2 * (2 / 4) + 2  # two fruits published, beef and one fruit not
    with pytest.raises(NotApplicable, match="key"):
        ncp(release, table)
    # Three items at 3/5, beef suppressed, chicken as it is.
    assert ncp(release, table, key=key, taxonomy=FOOD) == pytest.approx((3 * 3 / 5 + 1) / 5)
    assert items_suppressed(release, table) == 2 / 5
    assert level_mean(release) == (2 + 2 + 3) / 3
