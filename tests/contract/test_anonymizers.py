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
from tests.contract.cases import JOINT, Case, Meaning, cases, published_ids
from tests.reference import disassociation_worlds
from tests.reference.cahd import has_degree
from tests.reference.coherence import is_coherent
from tests.reference.disassociation import is_km
from tests.reference.k_anonymity import is_k_anonymous
from tests.reference.km import is_km_anonymous
from tests.reference.rho import violations
from tests.reference.support_constraints import rare_parts

from setveil import Taxonomy, TransactionTable
from setveil.core import registry
from setveil.core.errors import InfeasibleError, InputError, ParameterError, SetveilError
from setveil.core.params import usual_values
from setveil.guarantee import (
    Coherence,
    Disassociated,
    KAnonymity,
    KmAnonymity,
    PrivacyDegree,
    RhoUncertainty,
    SafeDisassociated,
    SupportConstraints,
    from_manifest,
)
from setveil.measure import measure_all
from setveil.release import GeneralizedRelease
from setveil.release.set_generalized import members_of
from setveil.release.store import load_key, load_manifest, load_release, save, save_key

# Parameters that change the way a method goes; every method is also tested with its defaults.
VARIANTS = {
    "clump": [{"distinct": True}, {"objective": "increment"}, {"r": None}],
    "gather": [{"effort": "fast"}],
    "direct-km": [{"m": 3}],
    "apriori-km": [{"m": 3}],
    "coat": [{"objective": "ul"}, {"constrained": "1/2"}],
    "pcta": [{"constrained": "1/20"}],
    "disassociate": [{"max_cluster_size": 5}, {"m": 3, "refine": False}],
    "safe-disassociate": [{"max_cluster_size": 5, "max_share": "0.7"}, {"m": 3, "refine": False}],
    "cahd": [{"p": 2, "alpha": 1}],
    "anatomy": [{"l": 2}],
    "permutation": [{"p": 2}],
    "coherence": [{"p": 3, "h": "0.4"}],
    "suppress-control": [{"rho": "0.3", "prior": False}],
    "td-control": [{"rho": "0.3", "prior": False}],
    "rho-family": [{"rho": "0.7", "prior": False}],
    "split-personality": [{"topics": 2}],
    "select-a-size": [{"beta": "0.9"}],
}
ENTRIES = registry.entries("anonymizer")


def methods(*needs):
    """Return a mark that runs a test for each method and variant that has what is needed."""
    found = [
        pytest.param(entry.target, params, id=" ".join([entry.name, *map(str, params.values())]))
        for entry in ENTRIES
        for given in [{}, *VARIANTS.get(entry.name, [])]
        for params in [{**usual_values(entry.target), **given}]
        if {*entry.target.requires, *entry.target.__dataclass_fields__} >= set(needs)
    ]
    return pytest.mark.parametrize(("method", "params"), found)


every_method = methods()


def images_in(rows):
    """Return for each item the generalized item that it is published with."""
    return {item: label for row in rows for label in row for item in members_of(label)}


PROMISES = {
    KAnonymity: lambda promise, rows: is_k_anonymous(rows, promise.k),
    KmAnonymity: lambda promise, rows: is_km_anonymous(rows, promise.k, promise.m),
    Coherence: lambda promise, rows: is_coherent(
        rows, promise.sensitive, promise.h, promise.k, promise.p
    ),
    SupportConstraints: lambda promise, rows: (
        not rare_parts(rows, images_in(rows), promise.itemsets, promise.k)
    ),
    RhoUncertainty: lambda promise, rows: (
        not violations(rows, promise.rho, promise.sensitive, prior=promise.prior)
    ),
}


FEW_WAYS = 2_000
"""Placements up to which all worlds of a disassociated release are gone through."""


def keeps_apart(promise, release):
    """Tell whether clusters are large enough, chunks anonymous, and no set is narrowed down."""
    if any(cluster.size < promise.k for cluster in release.clusters):
        return False
    chunks = [chunk for cluster in release.clusters for chunk in cluster.chunks]
    if not all(is_km(c.subrecords, promise.k, promise.m) for c in [*chunks, *release.shared]):
        return False
    if disassociation_worlds.count_ways(release) > FEW_WAYS:
        return True
    return not disassociation_worlds.breaches(release, promise.k, promise.m)


def gives_nothing_away(promise, release):
    """Tell whether, besides, no item is linked across chunks for certain or too likely."""
    if not keeps_apart(promise, release):
        return False
    starts = release.cluster_starts.tolist()
    for chunk in [*(c for cluster in release.clusters for c in cluster.chunks), *release.shared]:
        records = starts[chunk.last] - starts[chunk.first]
        cluster = release.cluster(chunk.first)
        alone = not chunk.is_shared and len(cluster.chunks) == 1 and not cluster.terms
        for item in {item for row in chunk.subrecords for item in row}:
            held = sum(item in row for row in chunk.subrecords)
            if not alone and held > promise.max_share * records:
                return False
    if disassociation_worlds.count_ways(release) > FEW_WAYS:
        return True
    return not disassociation_worlds.certain_links(release)


def has_small_shares(promise, release):
    """Tell whether no record shows a sensitive item, and few records of a group hold each."""
    groups = list(release.groups)
    if any(set(row) & set(promise.sensitive) for group in groups for row in group.rows):
        return False
    return all(
        sum(count for part, count in group.parts if item in part) * promise.p <= len(group.rows)
        for group in groups
        for item in promise.sensitive
    )


WHOLE_PROMISES = {
    Disassociated: keeps_apart,
    PrivacyDegree: has_small_shares,
    SafeDisassociated: gives_nothing_away,
}
"""Promises that rows alone do not tell."""

NO_PROMISE = {"TokenHashing", "SecretSharing", "SplitPersonality", "SelectASize"}
"""Methods that say in words what little they do; all others promise something."""

UNSAID = {
    "split": {"records_kept"},
    "perturbed": {
        "ggd", "ggd_share", "ncp", "average_loss", "items_kept", "items_true", "perturbation_loss",
    },
    "disassociated": {
        "ggd", "ggd_share", "ncp", "average_loss", "length_mean", "items_kept", "items_exact",
        "tkd_ml2", "re", "tlost",
    },
}  # fmt: skip
"""Measures that a form has no meaning for, or that need more than the contract gives."""


def some_are_empty(table, k):
    return 0 < np.sum(table.lengths == 0) < len(table) and k > 1


def few_have_items(table, k):
    return 0 < np.count_nonzero(table.lengths) < k


def any_is_empty(table, k):  # whatever k is
    return np.any(table.lengths == 0)


MAY_REFUSE = {
    "Disassociate": any_is_empty,
    "SafeDisassociate": any_is_empty,
    "Partition": some_are_empty,
    "OptimalKm": few_have_items,
    "DirectKm": few_have_items,
    "AprioriKm": few_have_items,
    "LRA": few_have_items,
    "VPAKm": few_have_items,
    "Coat": few_have_items,
    "PCTA": few_have_items,
}


def too_frequent(case, method):
    """Tell whether too many records hold a sensitive item for any grouping of this degree."""
    degree = getattr(method, "l", getattr(method, "p", 1))
    return not has_degree([case.table.to_rows()], case.sensitive, degree)


GROUPING = {"Anatomy", "CAHD", "Permutation"}
"""Methods that refuse a table only where :func:`too_frequent` does."""


def run(method, params, case):
    """Anonymize; None where the case does not suit, or the method refuses it in good form."""
    if not case.suits(method):
        return None
    made_by = case.method(method, params)
    try:
        return made_by.anonymize(case.table, **case.inputs(method))
    except InfeasibleError as error:
        if method.__name__ in GROUPING:
            allowed = too_frequent(case, made_by)
        else:
            allowed = MAY_REFUSE.get(method.__name__, lambda *_: False)(case.table, case.k)
        if not allowed or not error.fix:
            raise
        return None


def folder_bytes(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


# --- what is promised is kept ---------------------------------------------------------------------


@every_method
@settings(max_examples=40, deadline=None)
@given(case=cases())
def test_the_promise_holds(method, params, case):
    made = run(method, params, case)
    if made is None:
        return
    assert (made.promise is None) == (method.__name__ in NO_PROMISE)
    if made.promise is None:
        return
    kind = type(made.promise)
    assert kind in {*PROMISES, *WHOLE_PROMISES}, "write a brute-force check of this promise"
    if kind in WHOLE_PROMISES:
        assert WHOLE_PROMISES[kind](made.promise, made.release)
    else:
        assert PROMISES[kind](made.promise, published_ids(made.release))
    said = made.promise.params()
    if "k" in method.__dataclass_fields__:
        assert said["k"] == case.k
    if "sensitive" in said:  # all that are published, and none that is not
        published = {item for row in made.release.to_rows() for item in row}
        assert set(said["sensitive"]) == published.intersection(case.sensitive)
    verdict = made.promise.check(made.release)
    assert (verdict.holds, verdict.exact) == (True, True)


@every_method
@settings(max_examples=30, deadline=None)
@given(case=cases())
def test_the_release_is_consistent_with_the_original(method, params, case):
    made = run(method, params, case)
    if made is None:
        return
    records = made.key.records.tolist()
    if isinstance(made.release, JOINT):
        assert set(records) == set(range(len(case.table)))
        assert made.release.is_consistent_with(case.table, made.key)
        return
    meaning = Meaning(made.release, case, method)
    assert sorted(records) == list(range(len(case.table)))
    for place, record in enumerate(records):
        assert meaning.allows(place, meaning.originals[record])
    assert made.release.is_consistent_with(case.table, made.key, meaning.tree)


@every_method
@settings(max_examples=30, deadline=None)
@given(
    case=cases(max_nodes=6, max_rows=4, max_length=4),
    seed=st.integers(0, 2**32 - 1),
    data=st.data(),
)
def test_bounds_and_samples_agree_with_all_worlds(method, params, case, seed, data):
    made = run(method, params, case)
    if made is None or isinstance(made.release, JOINT):
        return
    meaning = Meaning(made.release, case, method)
    if not meaning.domain:
        return
    itemset = data.draw(st.sets(st.sampled_from(meaning.domain), max_size=3))
    possible = [meaning.worlds(place) for place in range(len(made.release))]
    names = meaning.names(itemset)
    bounds = made.release.support_bounds(names, meaning.tree)
    assert bounds.low == sum(all(itemset <= t for t in row) for row in possible)
    assert bounds.high == sum(any(itemset <= t for t in row) for row in possible)
    assert bounds.tight
    assert bounds.low <= sum(itemset <= t for t in meaning.originals) <= bounds.high
    world = made.release.sample_world(np.random.default_rng(seed), meaning.tree)
    for t, row in zip(meaning.items_of(world), possible, strict=True):
        assert t in row
    candidates = set(made.release.matches(names, meaning.tree).records.tolist())
    assert candidates == {
        place for place, row in enumerate(possible) if any(itemset <= t for t in row)
    }


# --- nothing else happens -------------------------------------------------------------------------


@every_method
@settings(max_examples=20, deadline=None)
@given(case=cases())
def test_inputs_stay_as_they_are(method, params, case):
    table, tree = case.table, case.tree
    arrays = [table.offsets.copy(), table.items.copy()]
    mine = TransactionTable(offsets=arrays[0], items=arrays[1], vocabulary=table.vocabulary)
    before = [tree.parents.tobytes(), tree.leaves.tobytes(), tree.pseudo.tobytes(), tree.ids]
    run(method, params, Case(mine, tree, case.k, case.sensitive))
    assert arrays[0].tolist() == table.offsets.tolist()
    assert arrays[1].tolist() == table.items.tolist()
    after = [tree.parents.tobytes(), tree.leaves.tobytes(), tree.pseudo.tobytes(), tree.ids]
    assert after == before


@every_method
@settings(max_examples=20, deadline=None)
@given(case=cases(), random=st.randoms(use_true_random=False))
def test_permuting_the_rows_changes_no_byte(tmp_path_factory, method, params, case, random):
    table = case.table
    folders = []
    for order in (list(range(len(table))), random.sample(range(len(table)), len(table))):
        rows = [table[i] for i in order]
        shuffled = TransactionTable.from_rows([random.sample(row, len(row)) for row in rows])
        secret = tuple(random.sample(case.sensitive, len(case.sensitive)))
        made = run(method, params, Case(shuffled, case.tree, case.k, secret))
        if made is None:
            return
        folders.append(tmp_path_factory.mktemp("release"))
        name = registry.name_of(method)
        save(made.release, folders[-1], method=name, params=params, promise=made.promise)
    assert folder_bytes(folders[0]) == folder_bytes(folders[1])


@every_method
@settings(max_examples=20, deadline=None)
@given(case=cases(), ending=st.sampled_from(["parquet", "jsonl", "csv"]))
def test_save_load_verify(tmp_path_factory, method, params, case, ending):
    made = run(method, params, case)
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
        again = from_manifest(promise["name"], promise["params"])
        assert again.params() == made.promise.params()
        verdict = again.check(loaded)
        assert (verdict.holds, verdict.exact) == (True, True)
    private = tmp_path_factory.mktemp("private") / "key"
    save_key(made.key, private)
    tree = case.whole_tree(method) if "taxonomy" in method.requires else None
    assert loaded.is_consistent_with(case.table, load_key(private), tree)
    measured = [
        measure_all(release, case.table, key=key, taxonomy=tree, sensitive=case.secret(method))
        for release, key in ((loaded, load_key(private)), (made.release, made.key))
    ]
    assert measured[0] == measured[1]


@every_method
@settings(max_examples=20, deadline=None)
@given(case=cases())
def test_the_release_names_nothing_beyond_what_it_publishes(method, params, case):
    made = run(method, params, case)
    if made is None:
        return
    published = {node_id for row in published_ids(made.release) for node_id in row}
    if not isinstance(made.release, GeneralizedRelease):
        assert set(made.release.vocabulary.names) == published
        return
    parent = dict(zip(made.release.tree.ids, made.release.tree.parents.tolist(), strict=True))
    ids = made.release.tree.ids
    shown = {ids[0]}
    for node_id in published:
        while node_id not in shown:
            shown.add(node_id)
            node_id = ids[parent[node_id]]  # noqa: PLW2901  (walks up to the root)
    assert set(ids) == shown


@every_method
@settings(max_examples=20, deadline=None)
@given(case=cases())
def test_measures_are_shares(method, params, case):
    made = run(method, params, case)
    if made is None or not len(case.table.items):
        return
    figures = measure_all(
        made.release,
        case.table,
        key=made.key,
        taxonomy=case.given_tree(method) if "taxonomy" in method.requires else None,
        sensitive=case.secret(method),
    )
    unsaid = {name for name, value in figures.items() if value is None}
    assert unsaid <= {"level_mean", "rules_kept", "rules_exact", *UNSAID.get(made.release.form, ())}
    for name in ("ggd_share", "ncp", "average_loss", "records_kept", "items_kept", "items_exact"):
        assert name in unsaid or 0 <= figures[name] <= 1
    assert 0 <= figures["tkd"] <= 1
    if "items_kept" not in unsaid:
        assert figures["items_kept"] + figures["items_suppressed"] == pytest.approx(1)


# --- bad input ------------------------------------------------------------------------------------

FEW = Case(
    table=TransactionTable.from_rows([["a"], ["a", "b"], ["b", "c"]]),
    tree=Taxonomy.balanced(["a", "b", "c"]),
    k=2,
    sensitive=("c",),
)


@methods("k")
def test_more_than_there_are(method, params):
    with pytest.raises(InfeasibleError, match="only 3 records") as caught:
        method(k=4, **params).anonymize(FEW.table, **FEW.inputs(method))
    assert "at most 3" in caught.value.fix


@methods("k")
@pytest.mark.parametrize("k", [0, -3, 1.5, "2", None, True])
def test_k_that_means_nothing(method, params, k):
    with pytest.raises(ParameterError, match="k is"):
        method(k=k, **params).anonymize(FEW.table, **FEW.inputs(method))


@methods("m")
@pytest.mark.parametrize("m", [0, -1, 1.5, "2", True])
def test_m_that_means_nothing(method, params, m):
    with pytest.raises(ParameterError, match="m is"):
        method(**{**params, "m": m})


@methods("rho")
@pytest.mark.parametrize("rho", [0, -0.1, 1.01, "high", None, True, float("nan")])
def test_rho_that_means_nothing(method, params, rho):
    with pytest.raises(ParameterError, match="rho is"):
        method(**{**params, "rho": rho})


@every_method
def test_no_data(method, params):
    inputs = FEW.inputs(method)
    said = "no records|do not occur" if "sensitive" in inputs else "no records"
    with pytest.raises(SetveilError, match=said):
        FEW.method(method, params).anonymize(TransactionTable.from_rows([]), **inputs)


@methods("taxonomy")
def test_items_that_are_not_in_the_tree(method, params):
    table = TransactionTable.from_rows([["a"], ["a", "stone"], ["glass", "c"]])
    with pytest.raises(InputError, match=r"2 of \d items are not in the taxonomy") as caught:
        FEW.method(method, params).anonymize(table, **FEW.inputs(method))
    assert "'stone'" in str(caught.value)
    assert "'glass'" in str(caught.value)


@methods("sensitive")
def test_sensitive_items_that_do_not_occur(method, params):
    inputs = {**FEW.inputs(method), "sensitive": ["c", "zinc"]}
    with pytest.raises(InputError, match="1 of 2 sensitive items do not occur") as caught:
        FEW.method(method, params).anonymize(FEW.table, **inputs)
    assert "'zinc'" in str(caught.value)


@methods("sensitive")
@pytest.mark.parametrize("sensitive", [[], "c"])
def test_sensitive_items_that_are_none(method, params, sensitive):
    with pytest.raises(SetveilError, match="sensitive"):
        FEW.method(method, params).anonymize(
            FEW.table, **{**FEW.inputs(method), "sensitive": sensitive}
        )


@methods("sensitive", "taxonomy")
def test_sensitive_items_inside_the_tree_of_the_others(method, params):
    with pytest.raises(InputError, match="'c'") as caught:
        FEW.method(method, params).anonymize(FEW.table, taxonomy=FEW.tree, sensitive=["c"])
    assert "tree" in str(caught.value) or "taxonomy" in str(caught.value)


@every_method
def test_records_without_any_item(method, params):
    if "sensitive" in method.requires:  # there would be none
        return
    table = TransactionTable.from_rows([[], [], []])
    case = Case(table, FEW.tree, 3)
    made = run(method, params, case)
    if made is None:  # it has no place for them, and says so
        return
    assert made.release.to_rows() == [[], [], []]
    assert made.promise is None or made.promise.check(made.release).holds


@every_method
def test_equal_records_lose_nothing(method, params):
    if "sensitive" in method.requires:  # equal records give their sensitive items away
        return
    table = TransactionTable.from_rows([["a", "c"]] * 6)
    case = Case(table, FEW.tree, 3)
    made = case.method(method, params).anonymize(table, **case.inputs(method))
    # Elsewhere all items become tags, whoever holds them, or are kept by chance.
    if made.release.form not in {"encoded", "perturbed"}:
        assert made.release.to_rows() == [["a", "c"]] * 6


@every_method
def test_progress_goes_from_nothing_to_all(method, params):
    told = []
    rows = [[name] for name in "abaabbababc" * 6]  # few are sensitive
    FEW.method(method, params).anonymize(
        TransactionTable.from_rows(rows),
        **FEW.inputs(method),
        progress=lambda stage, done, total: told.append((stage, done, total)),
    )
    assert all(stage and 0 <= done <= total for stage, done, total in told)
