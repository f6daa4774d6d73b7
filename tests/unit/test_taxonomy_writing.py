"""Writing trees: what is written reads back as the same tree, or nothing is written."""

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.taxonomy import assert_same
from tests.strategies import taxonomies

from setveil import Taxonomy
from setveil.core.errors import InputError

FOOD = {"apple": "fruit", "pear": "fruit", "beef": "meat", "fruit": "food", "meat": "food"}


def writable(tree):
    return not any("\0" in node for node in tree.ids)


@given(tree=taxonomies(min_nodes=1).filter(writable), data=st.data())
def test_edges_round_trip(tree, data, tmp_path_factory):
    items = data.draw(st.lists(st.sampled_from(tree.ids), unique=True))
    tree = tree.for_items(items)
    path = tmp_path_factory.mktemp("tree") / "tree.csv"
    tree.write(path)
    assert_same(Taxonomy.read(path, delimiter=","), tree)


@given(tree=taxonomies(min_nodes=1).filter(writable), data=st.data())
def test_names_round_trip(tree, data, tmp_path_factory):
    shown = [data.draw(st.sampled_from(["n", "m o", ' "p" '])) for _ in tree.ids]
    tree = Taxonomy.from_nodes(tree.ids, shown, tree.parents.tolist())
    tree = tree.for_items(data.draw(st.lists(st.sampled_from(tree.ids), unique=True)))
    path = tmp_path_factory.mktemp("tree") / "tree.csv"
    tree.write(path)
    assert_same(Taxonomy.read(path, delimiter=","), tree)


@given(tree=taxonomies(min_nodes=1).filter(writable), data=st.data())
def test_arx_round_trip(tree, data, tmp_path_factory):
    tree = tree.for_items(data.draw(st.lists(st.sampled_from(tree.ids), unique=True)))
    path = tmp_path_factory.mktemp("tree") / "tree.csv"
    tree.write_arx(path)
    assert_same(Taxonomy.read(path, format="paths", delimiter=";", header=False), tree)
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter=";", skipinitialspace=True))
    assert {len(row) for row in rows} == {tree.height + 1}
    assert len(rows) == tree.n_leaves
    assert {row[-1] for row in rows} == {tree.ids[0]}
    # ARX wants hierarchies in which equal values stay equal on every higher level.
    for column in range(tree.height):
        assert len({row[column] for row in rows}) == len({tuple(row[column:]) for row in rows})


def test_arx_is_guessed_and_keeps_items(tmp_path):
    tree = Taxonomy.from_parents(FOOD).for_items(["fruit", "food"])
    path = tmp_path / "tree.csv"
    tree.write_arx(path)
    assert path.read_text().splitlines() == [
        "food;food;food", "apple;fruit;food", "fruit;fruit;food", "pear;fruit;food",
        "beef;meat;food",
    ]  # fmt: skip
    assert_same(Taxonomy.read(path), tree)
    small = Taxonomy.from_parents({"a": "b"}).for_items(["b"])
    small.write_arx(path)
    assert_same(Taxonomy.read(path), small)


def test_arx_with_names(tmp_path):
    ids, names = ["1", "2", "3", "4", "5"], ["food", "jam", "red", "red", "5"]
    tree = Taxonomy.from_nodes(ids, names, [-1, 0, 1, 1, 0]).for_items(["2"])
    tree.write_arx(tmp_path / "tree.csv", names=True)
    assert (tmp_path / "tree.csv").read_text().splitlines() == [
        "5;5;food", "jam;jam;food", "3;jam;food", "4;jam;food",
    ]  # fmt: skip


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "tree.csv"
    path.write_text("old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InputError, match="No space left"):
        Taxonomy.from_parents(FOOD).write(path)
    assert [p.name for p in tmp_path.iterdir()] == ["tree.csv"]
    assert path.read_text() == "old"


def test_what_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        Taxonomy.from_parents(FOOD).write(tmp_path / "none" / "tree.csv")
    with pytest.raises(InputError, match="no character of Unicode"):
        Taxonomy.from_parents({"\ud800": "a"}).write(tmp_path / "tree.csv")
    assert list(tmp_path.iterdir()) == []
