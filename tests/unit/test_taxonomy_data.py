"""The real taxonomies load, untidy as they are."""

import csv
import gzip

import pytest
from tests.reference import taxonomy as reference

from setveil import Taxonomy
from setveil.core.errors import InputError
from setveil.io.taxonomy_files import read_taxonomy


def test_groceries(data_dir):
    tree, report = read_taxonomy(data_dir / "groceries_taxonomy.csv")
    assert (report.format, report.header, len(report.tops)) == ("paths", True, 10)
    with (data_dir / "groceries_taxonomy.csv").open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert tree.n_leaves == len(rows) == 169
    wanted = {item: ("*", *way) for item, way in reference.of_paths(rows).items()}
    assert reference.ways(tree) == wanted
    assert {"sausage", "perfumery", "detergent"} < set(report.collapsed)
    items = [row[0] for row in rows]
    assert tree.for_items(items) is tree
    sausage = tree.leaf_of(["sausage"])[0]
    assert (tree.names[tree.parents[sausage]], bool(tree.pseudo[sausage])) == ("sausage", True)
    assert tree.number_of_cuts() == reference.number_of_cuts(reference.as_dict(tree))


def test_disease_ontology(data_dir):
    path = data_dir / "disease_ontology.tsv.gz"
    with pytest.raises(InputError, match="'DOID:0050169' has several parents") as caught:
        read_taxonomy(path)
    assert caught.value.where.endswith("disease_ontology.tsv.gz, line 65")
    tree, report = read_taxonomy(path, parents="first")
    assert (len(tree), report.several_parents, report.tops) == (6574, 340, ())
    assert tree.names[0] == "disease"
    assert tree.names[tree.node("DOID:840")] == "cork-handlers' disease"


def test_icd(data_dir):
    path = data_dir / "icd10cm_2026.tsv.gz"
    tree, report = read_taxonomy(path)
    with gzip.open(path, "rt", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    parents = {row["code"]: row["parent"] for row in rows}
    assert len(rows) == 98505
    assert set(tree.ids) - {"*"} == set(parents)  # 39 codes stand in two lines
    assert {c for c, p in parents.items() if c == p} == set(report.collapsed)
    found = reference.as_dict(tree)
    assert all(found[c] == (p if p not in {"", c} else "*") for c, p in parents.items())
    full = tree.for_items(parents)
    assert (full.n_leaves, int(full.pseudo.sum())) == (98466, 98466 - tree.n_leaves)
    assert full.number_of_cuts() == reference.number_of_cuts(reference.as_dict(full))


def test_shopify(data_dir, tmp_path):
    tree, report = read_taxonomy(data_dir / "product_taxonomy_shopify.tsv.gz")
    assert (len(tree), len(report.tops), report.format) == (14607, 26, "nodes")
    path = tmp_path / "tree.csv"
    tree.write(path)
    reference.assert_same(Taxonomy.read(path), tree)
    tree.write_arx(path)
    again = Taxonomy.read(path)
    assert reference.as_dict(again) == reference.as_dict(tree)
