"""Reading trees: the three formats, what untidy files need, and what is refused."""

import csv
import gzip
import io

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import taxonomy as reference

from setveil import Taxonomy
from setveil.core.errors import InputError, ParameterError, SetveilError
from setveil.io.taxonomy_files import read_taxonomy

FOOD = {"apple": "fruit", "pear": "fruit", "beef": "meat", "fruit": "food", "meat": "food"}
EDGES = "apple,fruit\npear,fruit\nbeef,meat\nfruit,food\nmeat,food\n"
PATHS = "apple;fruit;food\npear;fruit;food\nbeef;meat;food\n"
NODES = (
    "id\tname\tparent\n1\tfood\t\n2\tfruit\t1\n3\tapple\t2\n4\tpear\t2\n5\tmeat\t1\n6\tbeef\t5\n"
)


@pytest.fixture
def read(tmp_path):
    def read_text(text, name="tree.csv", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_taxonomy(path, **options)

    return read_text


# --- the three formats, guessed ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "format_", "header"),
    [
        (EDGES, "edges", False),
        ("child,parent\n" + EDGES, "edges", True),
        ("thing,kind\n" + EDGES, "edges", True),
        (EDGES.replace(",", " , "), "edges", False),
        (EDGES.replace(",", "\t"), "edges", False),
        (EDGES.replace(",", "|"), "edges", False),
        (EDGES.replace("\n", "\r\n"), "edges", False),
        ("food,\n" + EDGES, "edges", False),
        ("food,food\n" + EDGES, "edges", False),
        ('"apple","fruit"\n"pear","fruit"\nbeef,meat\nfruit,food\n\nmeat,food', "edges", False),
        (PATHS, "paths", False),
        ("item;level2;level1\n" + PATHS, "paths", True),
        ("sku;shelf;shop\n" + PATHS, "paths", True),
        (PATHS.replace("apple;", "apple;apple;"), "paths", False),
        (PATHS.replace("food", "food;food;;"), "paths", False),
        (PATHS + "beef;meat;food\n", "paths", False),
    ],
)
def test_formats(read, text, format_, header):
    tree, report = read(text)
    reference.assert_same(tree, Taxonomy.from_parents(FOOD))
    assert (report.format, report.header, report.guessed) == (format_, header, True)
    assert (report.nodes, report.leaves, report.height, report.tops) == (6, 3, 2, ())
    assert f"read as {format_} (guessed: " in report.sentences()[0]


def test_parent_before_child(read):
    swapped = [line.split(",")[::-1] for line in ["child,parent", *EDGES.split()]]
    tree, report = read("".join(f"{a},{b}\n" for a, b in swapped))
    reference.assert_same(tree, Taxonomy.from_parents(FOOD))
    assert report.format == "edges"


def test_table_of_nodes(read):
    tree, report = read(NODES)
    assert tree.names == ("food", "fruit", "apple", "pear", "meat", "beef")
    assert tree.ids == ("1", "2", "3", "4", "5", "6")
    assert (report.format, report.delimiter) == ("nodes", "\t")
    again, _ = read(NODES.replace("id\tname\tparent", "no\twhat\tabove"), id="no", parent="above")
    assert again.names == again.ids == tree.ids
    again, report = read(NODES, id="id", name="name", parent="parent")
    reference.assert_same(again, tree)
    assert not report.guessed


def test_columns_are_found_by_their_names(read):
    text = "Parent ID;Code;Label;note\n;1;food;x\n1;2;fruit;\n2;3;apple;y\n"
    tree, _ = read(text)
    assert (tree.ids, tree.names) == (("1", "2", "3"), ("food", "fruit", "apple"))
    tree, _ = read("name,parent,note\napple,fruit,\nfruit,,\n")
    assert tree.names == tree.ids == ("fruit", "apple")


@pytest.mark.parametrize(
    "pack", [gzip.compress, zstandard.compress, lambda raw: b"\xef\xbb\xbf" + raw]
)
def test_compressed_and_marked_files(read, pack):
    tree, _ = read(pack(EDGES.encode()))
    reference.assert_same(tree, Taxonomy.from_parents(FOOD))


def test_stdin(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(EDGES.encode())))
    tree, report = read_taxonomy("-")
    reference.assert_same(tree, Taxonomy.from_parents(FOOD))
    assert report.name == "standard input"


def test_a_given_format_wins(read):
    tree, report = read("a,b\nb,c\n", format="paths")
    assert tree.names == ("*", "b", "a", "c", "b")
    assert not report.guessed
    assert report.sentences()[0].endswith("(as given).")
    tree, _ = read("item,group\nx,group\n", header=False)
    assert tree.names == ("group", "item", "x")
    tree, _ = read("x,group\ny,group\n", header=True)
    assert tree.names == ("group", "y")


# --- untidy files -----------------------------------------------------------------------------


def test_a_name_repeated_on_its_path_is_one_node(read):
    tree, report = read(
        "ham,sausage,meat\nsausage,sausage,meat\npork,pork,meat\nmeat,cold,meat\nbrawn,cold,meat\n"
    )
    assert tree.ids == (
        "meat", "cold", "brawn", "meat (itself)", "pork", "sausage", "ham", "sausage (itself)",
    )  # fmt: skip
    assert tree.names[3] == "meat"
    assert report.collapsed == ("sausage", "meat")
    assert "read as one node: 2 names" in " ".join(report.sentences())
    assert all(tree.is_leaf[tree.leaf_of(["ham", "sausage", "pork", "meat", "brawn"])])


def test_two_columns_with_an_item_under_itself(read):
    tree, report = read("ham,sausage\nsausage,sausage\n")
    assert report.format == "paths"
    assert tree.ids == ("sausage", "ham", "sausage (itself)")
    tree, report = read("child,parent\nham,sausage\nsausage,sausage\n")
    assert tree.ids == ("sausage", "ham")
    assert report.own_parents == ("sausage",)
    said = " ".join(report.sentences())
    assert "Made tops, as they are their own parent: 1 node ('sausage')." in said
    assert "Twice on a path" not in said
    tree, report = read("child,parent\nham,sausage\nsausage,sausage\nsausage,\n")
    assert tree.ids == ("sausage", "ham", "sausage (itself)")
    assert report.collapsed == ("sausage",)
    assert report.own_parents == ()
    assert "Twice on a path" in " ".join(report.sentences())


def test_a_cell_that_is_too_long(read):
    with pytest.raises(InputError, match="longer than 131,072 characters"):
        read(f"{'a' * 140_000},fruit\npear,fruit\n")


def test_equal_names_in_different_branches_stay_apart(read):
    tree, _ = read("mint,herbs,tea\nsage,herbs,food\ncard,gifts,shop\nherbs,gifts,shop\n")
    assert tree.names.count("herbs") == 3
    assert {i for i, n in zip(tree.ids, tree.names, strict=True) if n == "herbs"} == {
        "tea / herbs", "food / herbs", "herbs",
    }  # fmt: skip
    assert tree.ids[tree.leaf_of(["herbs"])[0]] == "herbs"
    tree, _ = read("a,x,y\nb,x,z\ny / x,w,w\n", format="paths")
    assert {"y / x", "y / x /", "z / x"} < set(tree.ids)


def test_several_tops_are_joined(read):
    tree, report = read("apple,fruit\npear,fruit\nbeef,meat\n")
    assert tree.names == ("*", "fruit", "apple", "pear", "meat", "beef")
    assert report.tops == ("fruit", "meat")


@pytest.mark.parametrize(
    ("text", "line", "pair", "dropped"),
    [
        ("a,b\nb,d\nc,d\na,c\n", 4, "'a' has several parents: 'b' and 'c'", ("a", "c")),
        (
            "a;b;d\nx;b;d\na;c;d\n",
            3,
            "'a' has several parents: 'b → d' and 'c → d'",
            ("a", "c → d"),
        ),
        (
            "id,name,parent\na,,b|c\nb,,\nc,,\n",
            2,
            "'a' has several parents: 'b' and 'c'",
            ("a", "c"),
        ),
    ],
)
def test_several_parents(read, text, line, pair, dropped):
    with pytest.raises(InputError, match="several parents") as caught:
        read(text)
    assert caught.value.where.endswith(f"tree.csv, line {line}")
    assert caught.value.what == pair
    assert "--parents first" in caught.value.fix
    tree, report = read(text, parents="first")
    assert tree.ids[tree.parents[tree.node("a")]] == "b"
    assert (report.dropped, report.several_parents) == ((dropped,), 1)
    assert "several parents: 1; the first was kept, and dropped 1 other (" in " ".join(
        report.sentences()
    )


def test_the_dropped_path_leaves_nothing_behind(read):
    tree, _ = read("a;b;d\na;c;d\n", parents="first")
    assert tree.ids == ("d", "b", "a")


def test_separators(read):
    text = "id,name,parent\na,,b+c\nb,,\nc,,\n"
    assert read(text)[1].undefined == ("b+c",)
    assert read(text, parents="first", separator="+")[1].dropped == (("a", "c"),)
    tree, report = read("id,name,parent\na,,b|c\nb|c,,\n")
    assert (tree.ids, report.dropped) == (("b|c", "a"), ())


def test_parents_without_a_line_of_their_own(read):
    tree, report = read("id,name,parent\n1,a,9\n")
    assert (tree.ids, report.undefined) == (("9", "1"), ("9",))
    assert "no line of their own: 1 parent ('9')" in report.sentences()[-1]


# --- bad files --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "options", "where", "message"),
    [
        ("", {}, "tree.csv", "nothing in it"),
        ("\n\n", {}, "tree.csv", "nothing in it"),
        ("child,parent\n", {}, "tree.csv", "at least one node"),
        ("apple\npear\n", {}, "tree.csv", "one column"),
        ("a,b\nb,a\n", {}, "tree.csv", "cycle: a → b → a"),
        ("a,b\nb,c\nc,d\nd,b\n", {}, "tree.csv", "cycle: b → c → d → b"),
        ('a,b\n"c,d\n', {}, "tree.csv, line 2", "quotes do not match"),
        ("a,b\n,c\nb,c\n", {}, "tree.csv, line 2", "no id"),
        ("a;b;c\n;b;c\n", {}, "tree.csv, line 2", "no item in its first column"),
        ("a,b\nc,d,e\n", {"format": "edges"}, "tree.csv, line 2", "has 3 columns"),
        ("x,parent,id\n1,,1\n2\n", {}, "tree.csv, line 3", "has 1 columns, not 3"),
        ("id,parent,x\n1\n", {}, "tree.csv, line 2", "has 1 columns, not 3"),
        ("id,parent,x\n1,2,a, b\n", {}, "tree.csv, line 2", "has 4 columns, not 3"),
        ("a,b\nb,c\n", {"format": "nodes"}, "tree.csv, line 1", "called id or parent"),
        ("id,parent\na,b\n", {"id": "code"}, "tree.csv, line 1", "no column 'code'"),
        (b"a,b\nb,\xff\n", {}, "tree.csv, line 2", "0xff is not UTF-8"),
        (b"PK\x03\x04zip", {}, "tree.csv", "zip archive"),
    ],
)
def test_bad_files(read, text, options, where, message):
    with pytest.raises(InputError, match=message) as caught:
        read(text, **options)
    assert caught.value.where.endswith(where)
    assert caught.value.fix


@pytest.mark.parametrize(
    "options",
    [
        {"format": "xml"},
        {"parents": "last"},
        {"delimiter": ""},
        {"delimiter": '"'},
        {"id": "id", "format": "paths"},
        {"id": "id", "header": False},
    ],
)
def test_bad_options(read, options):
    with pytest.raises(ParameterError):
        read(EDGES, **options)


def test_no_such_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        Taxonomy.read(tmp_path / "none.csv")


# --- any file ---------------------------------------------------------------------------------

words = st.sampled_from(["a", "b", "c", "d", "e f", 'q"t', "x;y", "new\nline", "日本", " s "])


@given(paths=st.lists(st.lists(words, min_size=1, max_size=5), min_size=1, max_size=12))
def test_paths(paths, tmp_path_factory):
    path = tmp_path_factory.mktemp("paths") / "tree.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=";", quoting=csv.QUOTE_ALL).writerows(paths)
    firsts = {}
    for each in paths:
        firsts.setdefault(each[0], each)
    wanted = reference.of_paths(firsts.values())
    tree, report = read_taxonomy(path, format="paths", delimiter=";", header=False, parents="first")
    added = 1 if report.tops else 0
    assert {item: way[added:] for item, way in reference.ways(tree).items()} == wanted
    clash = any(reference.of_paths([each])[each[0]] != wanted[each[0]] for each in paths)
    assert bool(report.dropped) == clash
    if clash:
        with pytest.raises(InputError, match="several parents"):
            read_taxonomy(path, format="paths", delimiter=";", header=False)


@given(
    edges=st.lists(st.tuples(words, st.one_of(words, st.just(""))), min_size=1, max_size=10),
)
def test_edges(edges, tmp_path_factory):
    path = tmp_path_factory.mktemp("edges") / "tree.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([("child", "parent"), *edges])
    first, extra, selves, spoken = {}, set(), set(), set()
    for child, parent in edges:
        if child == parent:
            selves.add(child)
            continue
        spoken.add(child)
        if parent and first.setdefault(child, parent) != parent:
            extra.add((child, parent))
    nodes = {child for child, _ in edges} | set(first.values())

    def loops(node):
        seen = []
        while node in first and node not in seen:
            seen.append(node)
            node = first[node]
        return node in seen

    if any(map(loops, nodes)):
        with pytest.raises(InputError, match="cycle"):
            read_taxonomy(path, parents="first", delimiter=",")
        return
    tree, report = read_taxonomy(path, parents="first", delimiter=",")
    found = reference.as_dict(tree)
    added = {tree.ids[0]} if report.tops else set()
    private = {tree.ids[v] for v in range(len(tree)) if tree.pseudo[v]}
    assert set(found) - added - private == nodes
    assert {n: p for n, p in found.items() if n in first} == first
    assert set(report.dropped) == extra
    interior = set(first.values())
    assert {found[node] for node in private} == selves & spoken & interior


@given(
    text=st.one_of(
        st.binary(max_size=60),
        st.text('ab|;,\t\n\r" ', max_size=60).map(str.encode),
        st.text('ab;\n"', max_size=60).map(lambda text: b"id;parent\n" + text.encode()),
    )
)
def test_whatever_stands_in_a_file(text, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "tree.csv"
    path.write_bytes(text)
    problem = None
    try:
        tree, report = read_taxonomy(path)
    except SetveilError as error:
        problem = error
    if problem is None:
        assert report.nodes == len(tree)
        assert len(report.sentences()) > 1
    else:
        assert str(path) in str(problem)
        assert problem.fix
