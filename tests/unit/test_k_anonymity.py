import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.k_anonymity import rare_rows
from tests.strategies import published, tables

from setveil import Taxonomy, TransactionTable
from setveil.core.errors import ParameterError
from setveil.core.registry import find
from setveil.guarantee import Guarantee, KAnonymity, from_manifest, parse
from setveil.release import GeneralizedRelease, Release, publish_groups


@given(tables(max_rows=20, max_items=3, max_length=3), st.integers(1, 6))
def test_tables_against_the_reference(table, k):
    verdict = KAnonymity(k=k).check(table)
    rare = rare_rows(table.to_rows(), k)
    assert verdict.exact
    assert verdict.holds == (not rare)
    assert verdict.checked == len(table)
    assert {w.items for w in verdict.witnesses} <= rare
    assert len(verdict.witnesses) == min(len(rare), 20)


@given(published(max_groups=5), st.integers(1, 4))
def test_releases_against_the_reference(case, k):
    tree, groups, group_of, hides = case
    release, _ = publish_groups(
        tree,
        group_offsets=np.cumsum([0, *map(len, groups)]),
        group_nodes=[v for group in groups for v in group],
        group_of=group_of,
        hides=hides,
    )
    rare = rare_rows(release.to_rows(ids=True), k)
    verdict = KAnonymity(k=k).check(release)
    assert verdict.holds == (not rare)
    assert {tuple(sorted(w.items)) for w in verdict.witnesses} <= rare


def test_witnesses_come_rarest_first_and_are_a_sample():
    rows = [[f"i{n}"] for n in range(30)] + [[f"i{n}"] for n in range(10)] + [["x"]] * 5
    verdict = KAnonymity(k=3).check(TransactionTable.from_rows(rows))
    assert verdict.reason == (
        "30 of 31 distinct records occur fewer than 3 times, the rarest 1 time"
    )
    supports = [w.support for w in verdict.witnesses]
    assert supports == [1] * 20
    assert verdict.witnesses[0].required == "at least 3"


def test_bags_differ_from_sets():
    table = TransactionTable.from_rows([["a", "a"], ["a"]], bags=True)
    assert not KAnonymity(k=2).check(table).holds


def test_equal_names_of_different_nodes_differ():
    tree = Taxonomy.from_nodes(["r", "1", "2"], ["r", "x", "x"], [-1, 0, 0])
    release = GeneralizedRelease(tree=tree, offsets=[0, 1, 2], nodes=[1, 2], hides=True)
    assert release.to_rows() == [["x"], ["x"]]
    assert not KAnonymity(k=2).check(release).holds


def test_a_form_it_has_never_seen_is_judged_by_its_rows():
    class Other(Release):
        form = "other"

        def to_rows(self):
            return [["b", "a"], ["a", "b"], ["c"]]

    verdict = KAnonymity(k=2).check(Other())
    assert [w.items for w in verdict.witnesses] == [("c",)]


def test_nobody_is_in_an_empty_release():
    verdict = KAnonymity(k=5).check(TransactionTable.from_rows([]))
    assert (verdict.holds, verdict.exact, verdict.checked) == (True, True, 0)
    assert "no records" in verdict.reason


@pytest.mark.parametrize("k", [0, -1, 2.5, "3", None, True])
def test_impossible_k(k):
    with pytest.raises(ParameterError, match="k is"):
        KAnonymity(k=k)


def test_half_a_million_records_in_seconds():
    rng = np.random.default_rng(0)
    n, length = 500_000, 6
    items = np.sort(rng.integers(0, 1000, (n, length), dtype=np.int32), axis=1).ravel()
    table = TransactionTable.from_csr(
        np.arange(n + 1) * length, items, [f"{i:04}" for i in range(1000)], bags=True
    )
    start = time.perf_counter()
    assert not KAnonymity(k=2).check(table).holds
    assert time.perf_counter() - start < 15


# --- by name --------------------------------------------------------------------------------------


def test_registered_and_described():
    entry = find("guarantee", "k-anonymity")
    assert entry.target is KAnonymity
    assert "sweeney2002kanonymity" in entry.bibtex
    assert isinstance(KAnonymity(k=2), Guarantee)
    assert KAnonymity(k=2).describe() == "every published record occurs at least 2 times"


def test_parsing():
    assert parse("k-anonymity:k=7") == KAnonymity(k=7)
    assert parse(" k-anonymity : k = 7 ".replace(" : ", ":")) == KAnonymity(k=7)
    assert parse("k-anonymity") == KAnonymity()
    assert from_manifest("k-anonymity", {"k": 3}) == KAnonymity(k=3)


@pytest.mark.parametrize(
    "text", ["kn", "k-anonymity:m=2", "k-anonymity:k", "k-anonymity:k=2,k=3", "k-anonymity:k=x", ""]
)
def test_parsing_nonsense(text):
    with pytest.raises(ParameterError):
        parse(text)


@pytest.mark.parametrize("params", [{"k": 0}, {"k": "5"}, {"j": 1}])
def test_manifests_with_nonsense(params):
    with pytest.raises(ParameterError):
        from_manifest("k-anonymity", params)
