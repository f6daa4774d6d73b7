"""What every registered anonymizer owes, whatever it does inside.

A new method is tested here as soon as it is registered. It may refuse a table with
InfeasibleError only where it says so below (MAY_REFUSE); a new promise needs its brute-force
check in PROMISES.
"""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import worlds
from tests.reference.k_anonymity import is_k_anonymous
from tests.strategies import occurring, tables_with_taxonomy

from setveil import registry
from setveil.data import Taxonomy, TransactionTable
from setveil.errors import InfeasibleError, InputError, ParameterError, SetveilError
from setveil.guarantee import KAnonymity, from_manifest
from setveil.measure import measure_all
from setveil.release.store import load_key, load_manifest, load_release, save, save_key

# Parameters that change the way a method goes; every method is also tested with its defaults.
VARIANTS = {
    "clump": [{"distinct": True}, {"objective": "increment"}, {"r": None}],
    "gather": [{"effort": "fast"}],
}
METHODS = [
    pytest.param(entry.target, params, id=" ".join([entry.name, *map(str, params.values())]))
    for entry in registry.entries("anonymizer")
    for params in [{}, *VARIANTS.get(entry.name, [])]
]
PROMISES = {KAnonymity: lambda promise, rows: is_k_anonymous(rows, promise.k)}
MAY_REFUSE = {"Partition": lambda table, k: 0 < np.sum(table.lengths == 0) < len(table) and k > 1}

every_method = pytest.mark.parametrize(("method", "params"), METHODS)


@st.composite
def cases(draw, **sizes):
    """Draw a table, its tree as a user gives it, and a k that fits."""
    table, tree = draw(tables_with_taxonomy(min_rows=1, **sizes))
    return table, tree, draw(st.integers(1, min(len(table), 5)))


def run(method, params, table, tree, k):
    """Anonymize; None where the method may refuse this table and does so in good form."""
    inputs = {"taxonomy": tree}
    assert method.requires <= set(inputs), f"say here how to make {method.requires}"
    try:
        return method(k=k, **params).anonymize(table, taxonomy=tree)
    except InfeasibleError as error:
        allowed = MAY_REFUSE.get(method.__name__, lambda *_: False)
        if not allowed(table, k) or not error.fix:
            raise
        return None


def in_tree(release, tree):
    """Return the published rows as node numbers of the whole tree."""
    place = {node_id: v for v, node_id in enumerate(tree.ids)}
    return [[place[node_id] for node_id in row] for row in release.to_rows(ids=True)]


def as_leaves(table, tree):
    return [tree.leaf_of(row).tolist() for row in table]


def folder_bytes(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


# --- what is promised is kept ---------------------------------------------------------------------


@every_method
@settings(max_examples=60)
@given(case=cases())
def test_the_promise_holds(method, params, case):
    made = run(method, params, *case)
    if made is None or made.promise is None:
        return
    rows = made.release.to_rows(ids=True)
    assert type(made.promise) in PROMISES, "write a brute-force check of this promise"
    assert PROMISES[type(made.promise)](made.promise, rows)
    assert made.promise.params()["k"] == case[2]
    verdict = made.promise.check(made.release)
    assert (verdict.holds, verdict.exact) == (True, True)


@every_method
@settings(max_examples=60)
@given(case=cases())
def test_the_release_is_consistent_with_the_original(method, params, case):
    table, given_tree, _ = case
    made = run(method, params, *case)
    if made is None:
        return
    tree = given_tree.for_items(occurring(table))
    originals = as_leaves(table, tree)
    published = in_tree(made.release, tree)
    records = made.key.records.tolist()
    assert sorted(records) == list(range(len(table)))
    for row, record in zip(published, records, strict=True):
        assert worlds.allows(tree, row, originals[record], hides=made.release.hides)
    assert made.release.is_consistent_with(table, made.key, tree)


@every_method
@settings(max_examples=40)
@given(
    case=cases(max_nodes=6, max_rows=4, max_length=4),
    seed=st.integers(0, 2**32 - 1),
    data=st.data(),
)
def test_bounds_and_samples_agree_with_all_worlds(method, params, case, seed, data):
    table, given_tree, _ = case
    made = run(method, params, *case)
    if made is None:
        return
    tree = given_tree.for_items(occurring(table))
    leaves = worlds.all_leaves(tree)
    itemset = data.draw(st.sets(st.sampled_from(leaves), max_size=3))
    possible = [
        worlds.worlds(tree, row, hides=made.release.hides) for row in in_tree(made.release, tree)
    ]
    # A private leaf is asked for by the name of its item.
    names = [tree.ids[tree.parents[v] if tree.pseudo[v] else v] for v in itemset]
    bounds = made.release.support_bounds(names, tree)
    assert bounds.low == sum(all(itemset <= t for t in row) for row in possible)
    assert bounds.high == sum(any(itemset <= t for t in row) for row in possible)
    assert bounds.tight
    true = sum(itemset <= set(t) for t in as_leaves(table, tree))
    assert bounds.low <= true <= bounds.high
    world = made.release.sample_world(np.random.default_rng(seed), tree)
    for t, row in zip(as_leaves(world, tree), possible, strict=True):
        assert frozenset(t) in row
    candidates = set(made.release.matches(names, tree).records.tolist())
    assert candidates == {
        place for place, row in enumerate(possible) if any(itemset <= t for t in row)
    }


# --- nothing else happens -------------------------------------------------------------------------


@every_method
@settings(max_examples=30)
@given(case=cases())
def test_inputs_stay_as_they_are(method, params, case):
    table, tree, k = case
    arrays = [table.offsets.copy(), table.items.copy()]
    mine = TransactionTable(offsets=arrays[0], items=arrays[1], vocabulary=table.vocabulary)
    before = [tree.parents.tobytes(), tree.leaves.tobytes(), tree.pseudo.tobytes(), tree.ids]
    run(method, params, mine, tree, k)
    assert arrays[0].tolist() == table.offsets.tolist()
    assert arrays[1].tolist() == table.items.tolist()
    after = [tree.parents.tobytes(), tree.leaves.tobytes(), tree.pseudo.tobytes(), tree.ids]
    assert after == before


@every_method
@settings(max_examples=30)
@given(case=cases(), random=st.randoms(use_true_random=False))
def test_permuting_the_rows_changes_no_byte(tmp_path_factory, method, params, case, random):
    table, tree, k = case
    folders = []
    for order in (list(range(len(table))), random.sample(range(len(table)), len(table))):
        rows = [table[i] for i in order]
        shuffled = TransactionTable.from_rows([random.sample(row, len(row)) for row in rows])
        made = run(method, params, shuffled, tree, k)
        if made is None:
            return
        folders.append(tmp_path_factory.mktemp("release"))
        name = registry.name_of(method)
        save(made.release, folders[-1], method=name, params=params, promise=made.promise)
    assert folder_bytes(folders[0]) == folder_bytes(folders[1])


@every_method
@settings(max_examples=30)
@given(case=cases(), ending=st.sampled_from(["parquet", "jsonl", "csv"]))
def test_save_load_verify(tmp_path_factory, method, params, case, ending):
    table, given_tree, _ = case
    made = run(method, params, *case)
    if made is None:
        return
    folder = tmp_path_factory.mktemp("release")
    name = registry.name_of(method)
    save(made.release, folder, method=name, params=params, promise=made.promise, format=ending)
    loaded = load_release(folder)
    assert loaded.to_rows() == made.release.to_rows()
    promise = load_manifest(folder).promise
    if made.promise is None:
        assert promise is None
    else:
        verdict = from_manifest(promise["name"], promise["params"]).check(loaded)
        assert (verdict.holds, verdict.exact) == (True, True)
    private = tmp_path_factory.mktemp("private") / "key"
    save_key(made.key, private)
    tree = given_tree.for_items(occurring(table))
    assert loaded.is_consistent_with(table, load_key(private), tree)
    figures = measure_all(loaded, table, key=load_key(private), taxonomy=given_tree)
    assert figures == measure_all(made.release, table, key=made.key, taxonomy=given_tree)


@every_method
@settings(max_examples=30)
@given(case=cases())
def test_the_release_names_nothing_beyond_what_it_publishes(method, params, case):
    made = run(method, params, *case)
    if made is None:
        return
    parent = dict(zip(made.release.tree.ids, made.release.tree.parents.tolist(), strict=True))
    ids = made.release.tree.ids
    shown = {ids[0]}
    for node_id in {node_id for row in made.release.to_rows(ids=True) for node_id in row}:
        while node_id not in shown:
            shown.add(node_id)
            node_id = ids[parent[node_id]]  # noqa: PLW2901  (walks up to the root)
    assert set(ids) == shown


@every_method
@settings(max_examples=30)
@given(case=cases())
def test_measures_are_shares(method, params, case):
    table, tree, _ = case
    made = run(method, params, *case)
    if made is None or not len(table.items):
        return
    figures = measure_all(made.release, table, key=made.key, taxonomy=tree)
    assert None not in figures.values() or not len(made.release.nodes)
    for name in ("ggd_share", "ncp", "records_kept", "items_kept", "items_exact"):
        assert 0 <= figures[name] <= 1
    assert figures["items_kept"] + figures["items_suppressed"] == pytest.approx(1)


# --- bad input ------------------------------------------------------------------------------------

TREE = Taxonomy.balanced(["a", "b", "c"])
TABLE = TransactionTable.from_rows([["a"], ["a", "b"], ["b", "c"]])


@every_method
def test_more_than_there_are(method, params):
    with pytest.raises(InfeasibleError, match="only 3 records") as caught:
        method(k=4, **params).anonymize(TABLE, taxonomy=TREE)
    assert "at most 3" in caught.value.fix


@every_method
@pytest.mark.parametrize("k", [0, -3, 1.5, "2", None, True])
def test_k_that_means_nothing(method, params, k):
    with pytest.raises(ParameterError, match="k is"):
        method(k=k, **params).anonymize(TABLE, taxonomy=TREE)


@every_method
def test_no_data(method, params):
    with pytest.raises(SetveilError, match="no records"):
        method(k=2, **params).anonymize(TransactionTable.from_rows([]), taxonomy=TREE)


@every_method
def test_items_that_are_not_in_the_tree(method, params):
    table = TransactionTable.from_rows([["a"], ["a", "stone"], ["glass"]])
    with pytest.raises(InputError, match="2 of 3 items are not in the taxonomy") as caught:
        method(k=2, **params).anonymize(table, taxonomy=TREE)
    assert "'stone'" in str(caught.value)
    assert "'glass'" in str(caught.value)


@every_method
def test_records_without_any_item(method, params):
    table = TransactionTable.from_rows([[], [], []])
    made = method(k=3, **params).anonymize(table, taxonomy=TREE)
    assert made.release.to_rows() == [[], [], []]
    assert made.promise is None or made.promise.check(made.release).holds


@every_method
def test_equal_records_lose_nothing(method, params):
    table = TransactionTable.from_rows([["a", "c"]] * 6)
    made = method(k=3, **params).anonymize(table, taxonomy=TREE)
    assert made.release.to_rows() == [["a", "c"]] * 6


@every_method
def test_progress_goes_from_nothing_to_all(method, params):
    told = []
    rows = [[name] for name in "abc" * 20]
    method(k=2, **params).anonymize(
        TransactionTable.from_rows(rows),
        taxonomy=TREE,
        progress=lambda stage, done, total: told.append((stage, done, total)),
    )
    assert all(stage and 0 <= done <= total for stage, done, total in told)
