"""Trees from other tools: OBO ontologies and Amnesia's hierarchies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setveil import Taxonomy
from setveil.core.errors import InputError, ParameterError
from setveil.io.taxonomy_files import read_taxonomy
from setveil.io.taxonomy_formats import dialect_of

OBO = """\
format-version: 1.2
data-version: releases/2024
ontology: doid

[Term]
id: DOID:4
name: disease
def: "A disease: as such." [url:http\\://x]

[Term]
id: DOID:14566
name: disease of cellular proliferation
is_a: DOID:4 ! disease

[Term]
id: DOID:162
name: cancer \\(any\\)
synonym: "malignant tumor" EXACT []
is_a: DOID:14566 {source="ICD:1"} ! disease of cellular proliferation
is_a: DOID:99 ! elsewhere

[Term]
id: DOID:1
name: old
is_obsolete: true

[Typedef]
id: part_of
name: part of
is_a: DOID:4
"""
AMNESIA = """\
distinct
name food
type string
height 3

fruit has apple pear\x20
meat has beef\x20

food has fruit meat\x20

"""


def saved(folder, text, name="tree.txt"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_obo(tmp_path):
    path = saved(tmp_path, OBO)
    with pytest.raises(InputError, match="'DOID:162' has several parents") as caught:
        read_taxonomy(path)
    assert caught.value.where.endswith("tree.txt, line 15")
    tree, report = read_taxonomy(path, parents="first")
    assert tree.ids == ("DOID:4", "DOID:14566", "DOID:162")
    assert tree.names == ("disease", "disease of cellular proliferation", "cancer (any)")
    assert (report.format, report.guessed, report.obsolete) == ("obo", True, ("DOID:1",))
    assert report.dropped == (("DOID:162", "DOID:99"),)
    assert report.sentences()[-1] == "Left out, as they are obsolete: 1 term ('DOID:1')."


def test_obo_with_windows_ends_of_line_and_an_unknown_parent(tmp_path):
    text = "[Term]\r\nid: A:2\r\nname: flu\r\nis_a: A:1\r\n"
    tree, report = read_taxonomy(saved(tmp_path, text))
    assert (tree.ids, report.undefined) == (("A:1", "A:2"), ("A:1",))


def test_amnesia(tmp_path):
    tree, report = read_taxonomy(saved(tmp_path, AMNESIA))
    wanted = Taxonomy.from_parents(
        {"apple": "fruit", "pear": "fruit", "beef": "meat", "fruit": "food", "meat": "food"}
    )
    assert (tree.ids, tree.parents.tolist()) == (wanted.ids, wanted.parents.tolist())
    assert (report.format, report.delimiter, report.header) == ("amnesia", "", False)
    crlf = saved(tmp_path, AMNESIA.replace("\n", "\r\n"), "crlf.txt")
    assert read_taxonomy(crlf)[0].ids == wanted.ids


@given(ups=st.lists(st.integers(0, 20), min_size=1, max_size=20))
def test_both_dialects_hold_any_tree(tmp_path_factory, ups):
    folder = tmp_path_factory.mktemp("trees")
    parents = {f"n{i}": f"n{up % i}" for i, up in enumerate(ups, 1)}
    wanted = Taxonomy.from_parents(parents)
    obo = "format-version: 1.2\n[Term]\nid: n0\n" + "".join(
        f"\n[Term]\nid: {node}\nname: {node}\nis_a: {up} ! {up}\n" for node, up in parents.items()
    )
    inner = dict.fromkeys(parents.values())
    amnesia = "distinct\nname x\ntype string\nheight 3\n\n" + "".join(
        f"{up} has {' '.join(n for n, above in parents.items() if above == up)} \n" for up in inner
    )
    for text in (obo, amnesia):
        tree = Taxonomy.read(saved(folder, text))
        assert (tree.ids, tree.parents.tolist()) == (wanted.ids, wanted.parents.tolist())


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        (OBO, "obo"),
        ("[Term]\nid: A\n", "obo"),
        (AMNESIA, "amnesia"),
        ("distinct,animal\nname,animal\n", None),
        ("distinct\nvalues\n", None),
        ("format-version: 1.2\nname: x\n", None),
        ("", None),
    ],
)
def test_guess(text, dialect):
    assert dialect_of(text) == dialect


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("[Term]\nname: no id\n", {}, "line 1: this term has no id"),
        ("x: y\n", {"format": "obo"}, r"there is no \[Term\]"),
        (AMNESIA.replace("distinct", "range"), {}, "hierarchy of ranges"),
        ("apple,fruit\n", {"format": "amnesia"}, "no hierarchy of Amnesia"),
        (AMNESIA + "red wine has merlot\n", {}, "line 11: 'red wine has merlot' is not of the"),
        (AMNESIA + "food has\n", {}, "line 11"),
        (AMNESIA + "meat has food\n", {}, "has a cycle"),
        (AMNESIA + "meat has apple\n", {}, "'apple' has several parents"),
    ],
)
def test_damaged(tmp_path, text, options, message):
    with pytest.raises(InputError, match=message) as caught:
        read_taxonomy(saved(tmp_path, text), **options)
    assert "tree.txt" in caught.value.where
    assert caught.value.fix


def test_tables_options_are_refused(tmp_path):
    path = saved(tmp_path, OBO)
    for options in ({"id": "id"}, {"delimiter": ","}, {"header": True}):
        with pytest.raises(ParameterError, match="this is obo"):
            read_taxonomy(path, **options)


def test_arx_hierarchies(tmp_path):
    """ARX writes all lines with one length, often with a star as the root."""
    path = saved(tmp_path, "apple;fruit;*\npear;fruit;*\nbeef;meat;*\nsalt;salt;*\n")
    tree, report = read_taxonomy(path)
    assert report.format == "paths"
    assert tree.ids == ("*", "fruit", "apple", "pear", "meat", "beef", "salt")
