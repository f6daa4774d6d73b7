"""The tables of AlShuhail and Shao, and clusters whose size is the trouble."""

import json
from pathlib import Path

import pytest

from setveil import TransactionTable
from setveil.anonymize import Disassociate
from setveil.guarantee.disassociated import Disassociated
from setveil.release.chunk_plan import Plan, publish_disassociated

FACTS = json.loads((Path(__file__).parent / "disassociation.json").read_text(encoding="utf-8"))


def domains(cluster):
    return [sorted({item for row in chunk.subrecords for item in row}) for chunk in cluster.chunks]


@pytest.mark.parametrize("most", [FACTS["max_cluster_size"], 4, None])
def test_table_five(most):
    """Also where the four records are to be split: the part below k is reunited with the rest."""
    table = TransactionTable.from_rows(FACTS["transactions"])
    made = Disassociate(k=FACTS["k"], m=FACTS["m"], max_cluster_size=most).anonymize(table)
    assert len(made.release.clusters) == FACTS["clusters"]
    (cluster,) = made.release.clusters
    assert domains(cluster) == FACTS["record_chunk_domains"]
    assert list(cluster.terms) == FACTS["term_chunk"]
    assert made.promise.check(made.release).holds
    assert made.release.is_consistent_with(table, made.key)


def test_the_unsafe_cluster_is_refused_and_mended():
    facts = FACTS["unsafe_cluster"]
    table = TransactionTable.from_rows(facts["rows"])
    plan = Plan(records=[0, 1, 2], domains=((0,), (1,)), terms=())
    unsafe, _ = publish_disassociated(table, [plan])
    assert not Disassociated(k=facts["k"], m=facts["m"]).check(unsafe).holds
    made = Disassociate(k=facts["k"], m=facts["m"]).anonymize(table)
    (cluster,) = made.release.clusters
    assert (domains(cluster), cluster.terms) == ([["a"]], ("b",))
    assert made.promise.check(made.release).holds
    assert "1 items of record chunks" in " ".join(step.subject for step in made.log)


def test_six_records_in_two_clusters():
    rows = [["a", "b"], ["a", "b", "c"], ["a", "c"], ["b", "d"], ["c", "d"], ["d"]]
    made = Disassociate(k=2, m=2, max_cluster_size=4, refine=False).anonymize(
        TransactionTable.from_rows(rows)
    )
    found = {
        (cluster.size, *(chunk.subrecords for chunk in cluster.chunks), cluster.terms)
        for cluster in made.release.clusters
    }
    assert found == {
        (3, (("a", "b"), ("a", "b"), ("a",)), (("c",), ("c",)), ()),
        (3, (("d",), ("d",), ("d",)), ("b", "c")),
    }
