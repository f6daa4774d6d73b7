"""A release that a stranger crafted is refused, judged by what it implies, or left undecided.

It never "holds" by mistake: not what a manifest calls things decides, but which original items
stand behind them.
"""

from itertools import permutations

import pytest
from tests.adversarial.crafted.writing import (
    generalized,
    load_crafted,
    node,
    write_crafted,
)
from typer.testing import CliRunner

from setveil import Taxonomy, TransactionTable
from setveil.cli import app
from setveil.core.errors import NotApplicable, ParameterError, ReleaseError
from setveil.guarantee import PrivacyDegree, RhoUncertainty, max_confidence, parse
from setveil.release import deal, publish_grouped, publish_recoded
from setveil.release.manifest import describe_tree, rebuild_tree

HOLDS, VIOLATED, REFUSED, UNDECIDED = 0, 1, 2, 3
RHO = "rho-uncertainty:rho=0.5,sensitive=HIV"
ROOT = node("*", leaves=9)
VENEREAL = (ROOT, node("flu", "*"), node("venereal", "*", 2), node("HIV", "venereal"))

CASES = {
    "two private leaves under one parent": (
        generalized(
            ROOT,
            node("HIV", "*", 2),
            node("HIV 1", "HIV", name="HIV", pseudo=True),
            node("HIV 2", "HIV", name="HIV", pseudo=True),
            node("flu", "*"),
        ),
        [["HIV 1", "flu"]] * 8 + [["HIV 2"]] + [["flu"]],
        RHO,
        REFUSED,
    ),
    "an id and another's name": (
        generalized(
            ROOT, node("7", "*", name="HIV"), node("HIV", "*", name="tea"), node("flu", "*")
        ),
        [["7", "flu"]] * 8 + [["HIV"], ["flu"]],
        RHO,
        REFUSED,
    ),
    "an id that a category is called by": (
        generalized(
            ROOT, node("7", "*", 2, name="HIV"), node("HIV", "*", name="tea"), node("flu", "*")
        ),
        [["7", "flu"]] * 8 + [["HIV"], ["flu"]],
        RHO,
        REFUSED,
    ),
    "a category called like the item": (
        generalized(ROOT, node("HIV", "*", 2), node("flu", "*")),
        [["HIV", "flu"]] * 8 + [["flu"]],
        RHO,
        UNDECIDED,
    ),
    "below a category called like an item elsewhere": (
        generalized(
            ROOT,
            node("7", "*", name="HIV"),
            node("HIV", "*", 3),
            node("syphilis", "HIV"),
            node("flu", "*"),
        ),
        [["7"], ["syphilis", "flu"]] + [["flu"]] * 3,
        RHO,
        UNDECIDED,
    ),
    "one item under two names": (
        generalized(ROOT, node("flu", "*"), node("virus", "*"), node("HIV", "virus"), hides=False),
        [["virus", "flu"], ["HIV"], ["HIV"], ["HIV"], ["flu"], ["flu"]],
        "rho-uncertainty:rho=0.9,sensitive=HIV|flu",
        UNDECIDED,
    ),
    "a category called like an item elsewhere": (
        generalized(ROOT, node("7", "*", 2, name="HIV"), node("HIV", "*"), node("flu", "*")),
        [["7", "flu"]] * 8 + [["HIV"], ["flu"]],
        RHO,
        UNDECIDED,
    ),
    "a bag that takes all leaves": (
        generalized(*VENEREAL),
        [["flu", "venereal", "venereal"]] * 8 + [["HIV"], ["flu"]],
        RHO,
        VIOLATED,
    ),
    "a category of one leaf": (
        generalized(ROOT, node("flu", "*"), node("immune", "*"), node("HIV", "immune")),
        [["flu", "immune"]] * 8 + [["HIV"], ["flu"]],
        RHO,
        VIOLATED,
    ),
    "a category that may be the item": (
        generalized(*VENEREAL),
        [["flu", "venereal"]] * 8 + [["HIV"], ["flu"]],
        RHO,
        UNDECIDED,
    ),
    "an item that the tree does not place": (
        generalized(ROOT, node("flu", "*"), node("venereal", "*", 2)),
        [["flu", "venereal"]] * 8 + [["flu"]],
        RHO,
        UNDECIDED,
    ),
    "two leaves, both sensitive": (
        generalized(*VENEREAL, node("lues", "venereal")),
        [["flu", "venereal"]] * 7 + [["HIV"], ["flu"], ["flu"], ["lues"]],
        RHO + "|lues",
        VIOLATED,
    ),
    "the same for coherence, a bag": (
        generalized(*VENEREAL),
        [["flu", "venereal", "venereal"]] * 8 + [["flu"]] * 2 + [["HIV"]],
        "coherence:h=0.5,k=1,p=1,sensitive=HIV",
        VIOLATED,
    ),
    "the same for coherence, one leaf": (
        generalized(ROOT, node("flu", "*"), node("immune", "*"), node("HIV", "immune")),
        [["flu", "immune"]] * 8 + [["HIV"], ["flu"]],
        "coherence:h=0.5,k=1,p=1,sensitive=HIV",
        VIOLATED,
    ),
    "the same for coherence, perhaps": (
        generalized(*VENEREAL),
        [["flu", "venereal"]] * 8 + [["HIV"], ["flu"]],
        "coherence:h=0.5,k=1,p=1,sensitive=HIV",
        UNDECIDED,
    ),
}


def canonical(rows, structure):
    """Return rows in the order that a release must have."""
    place = {each["id"]: v for v, each in enumerate(structure["nodes"])}
    rows = [sorted(row, key=place.__getitem__) for row in rows]
    return sorted(rows, key=lambda row: (-len(row), [place[i] for i in row]))


def verified(folder, spec):
    done = CliRunner().invoke(app, ["verify", str(folder), "-g", spec])
    return done.exit_code, f"{done.output}{done.exception or ''}"


@pytest.mark.parametrize("name", CASES)
def test_trees(name, tmp_path):
    structure, rows, spec, expected = CASES[name]
    write_crafted(tmp_path / "r", "generalized", canonical(rows, structure), structure)
    code, said = verified(tmp_path / "r", spec)
    assert code == expected, said
    assert "  holds" not in said
    if expected == REFUSED:
        assert "ambiguous" in said


@pytest.mark.parametrize("parent", [[], {}, 7, "nobody", None])
@pytest.mark.parametrize("place", [0, 1])
def test_parents_that_are_none(parent, place):
    nodes = [node("*", leaves=2), node("flu", "*")]
    nodes[place]["parent"] = parent
    if parent is None and place == 0:
        assert rebuild_tree(nodes).ids == ("*", "flu")
        return
    with pytest.raises(ReleaseError, match="damaged"):
        rebuild_tree(nodes)


def test_counts_of_leaves_that_cannot_be():
    for leaves in (0, -1, 2**31, 10**30):
        with pytest.raises(ReleaseError, match="damaged"):
            rebuild_tree([node("*", leaves=leaves)])


@pytest.mark.parametrize(
    "nodes",
    [
        (ROOT, node("p", "*", 2, pseudo=True, name="*")),  # a private leaf of two leaves
        (ROOT, node("p", "*", pseudo=True, name="flu")),  # that is called otherwise
        ({**ROOT, "pseudo": True}, node("p", "*")),
    ],
)
def test_private_leaves_that_are_none(nodes):
    with pytest.raises(ParameterError, match="ambiguous: the private leaf"):
        load_crafted("generalized", [[nodes[1]["id"]]], generalized(*nodes))


def test_what_methods_write_is_read():
    """Equal names in different branches, and an item with items below it, are no fault."""
    tree = Taxonomy.from_nodes(
        ["r", "fish / bass", "music / bass", "bass", "cod", "lute", "horn"],
        ["r", "bass", "bass", "bass", "cod", "lute", "horn"],
        [-1, 0, 0, 1, 1, 2, 2],
    ).for_items(["bass", "cod", "lute", "r"])
    table = TransactionTable.from_rows([["bass"], ["cod"], ["lute", "r"]])
    image = dict(zip(table.vocabulary.names, tree.leaf_of(table.vocabulary.names), strict=True))
    image["lute"] = tree.node("music / bass")
    release, _ = publish_recoded(tree, table, [image[name] for name in table.vocabulary.names])
    loaded = load_crafted(
        "generalized", release.to_rows(ids=True), generalized(*describe_tree(release.tree))
    )
    assert loaded.tree.ids == release.tree.ids
    assert RhoUncertainty(rho=0.5, sensitive=["cod", "r"]).check(loaded).holds is False
    assert RhoUncertainty(rho=0.5, sensitive=["cod"]).check(loaded).holds


def test_methods_do_not_write_what_cannot_be_read():
    tree = Taxonomy.from_nodes(["*", "HIV", "7"], ["*", "flu", "HIV"], [-1, 0, 0])
    table = TransactionTable.from_rows([["HIV"], ["7"]])
    with pytest.raises(ParameterError, match="'HIV' is the id of the item 'flu' and the name"):
        publish_recoded(tree, table, tree.leaf_of(table.vocabulary.names))


# --- sets, tags and profiles ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sensitive", "expected"),
    [("HIV|gout", VIOLATED), ("HIV", UNDECIDED), ("HIV|gout|tea", VIOLATED), ("mumps", HOLDS)],
)
def test_sets_of_sensitive_items(sensitive, expected, tmp_path):
    rows = [["(HIV, gout)", "tea"]] * 3 + [["tea"]] * 6
    write_crafted(tmp_path / "r", "set-generalized", rows, {})
    code, said = verified(tmp_path / "r", f"rho-uncertainty:rho=0.5,sensitive={sensitive}")
    assert code == expected, said


def test_an_item_written_like_a_set(tmp_path):
    rows = [['"(HIV, gout)"', "(HIV, gout)"]] * 3 + [["(HIV, gout)"]] * 6
    rows = [sorted(row) for row in rows]
    write_crafted(tmp_path / "r", "set-generalized", rows, {})
    (tmp_path / "items").write_text("(HIV, gout)\n")
    for rho, expected in (("0.3", VIOLATED), ("0.4", HOLDS)):
        spec = f"rho-uncertainty:rho={rho},sensitive=@{tmp_path / 'items'}"
        assert verified(tmp_path / "r", spec)[0] == expected


@pytest.mark.parametrize("readable", [[], ["tea"], ["HIV", "tea"]])
@pytest.mark.parametrize("spec", [RHO, "coherence:h=0.5,k=1,p=1,sensitive=HIV"])
def test_tags_are_not_applicable(readable, spec, tmp_path):
    rows = [["7f", "HIV", "tea"]] * 8 + [["7f"]]
    write_crafted(tmp_path / "r", "encoded", rows, {"readable": readable})
    code, said = verified(tmp_path / "r", spec)
    assert code == REFUSED
    assert "tag" in said


def test_an_item_behind_a_tag_is_no_absent_item(tmp_path):
    write_crafted(tmp_path / "r", "encoded", [["7f", "tea"], ["tea"]], {"readable": ["tea"]})
    assert verified(tmp_path / "r", "support-constraints:itemsets=tea,k=2")[0] == HOLDS
    code, said = verified(tmp_path / "r", "support-constraints:itemsets=HIV,k=2")
    assert code == REFUSED
    assert "which tag" in said


@pytest.mark.parametrize("readable", [[["tea"]], [7], "tea", None, ["beer"]])
def test_what_can_be_read_must_be_said(readable):
    with pytest.raises(ReleaseError, match="what can be read"):
        load_crafted("encoded", [["['tea']", "7", "tea"]], {"readable": readable})


def test_profiles_say_nothing_of_persons():
    release = load_crafted("split", [["HIV"], ["flu"], ["tea"]], {})
    with pytest.raises(NotApplicable, match="profiles"):
        parse(RHO).check(release)


def test_the_greatest_confidence_is_a_bound_where_it_is_unknown():
    release = load_crafted("set-generalized", [["(HIV, gout)", "tea"], ["tea"]], {})
    found = max_confidence(release, ["HIV", "tea"], prior=False)
    assert (found.value, found.exact) == (1, False)


# --- groups ---------------------------------------------------------------------------------------


def listed(rows, secrets, groups):
    table = TransactionTable.from_rows(rows)
    return publish_grouped(table, groups, secrets, whole=True)[0]


def test_a_deal_that_was_chosen_is_not_called_safe(tmp_path):
    """Of all deals just one follows from the groups; the true one is seldom that."""
    release = listed([["a", "HIV"], ["b", "flu"], ["c"], ["d"]], ["HIV", "flu"], [0] * 4)
    fair = deal(release).to_rows()
    promise = PrivacyDegree(p=2, sensitive=("HIV", "flu"))
    seen = 0
    for order in permutations([["HIV"], ["flu"], [], []]):
        rows = [sorted([name, *part]) for name, part in zip("abcd", order, strict=True)]
        crafted = load_crafted("grouped", rows, {"sizes": [4], "sensitive": ["HIV", "flu"]})
        verdict = promise.check(crafted)
        assert (verdict.holds, verdict.exact) == (rows == fair, rows == fair)
        seen += rows == fair
    assert seen == 2  # the two records without a part may change places
    rows = [["HIV", "a"], ["b", "flu"], ["c"], ["d"]]
    write_crafted(tmp_path / "r", "grouped", rows, {"sizes": [4], "sensitive": ["HIV", "flu"]})
    code, said = verified(tmp_path / "r", "privacy-degree:p=2,sensitive=HIV|flu")
    assert code == UNDECIDED
    assert "beside the very record" in said


@pytest.mark.parametrize("named", [["flu"], [], ["mumps"]])
def test_what_stands_apart_is_sensitive_also_where_the_promise_leaves_it_out(named, tmp_path):
    release = listed([["a", "HIV"], ["b", "HIV"], ["c", "flu"], ["d"]], ["HIV", "flu"], [0] * 4)
    verdict = PrivacyDegree(p=4, sensitive=named).check(release)
    assert (verdict.holds, verdict.exact) == (False, True)
    rows = [["a"], ["b"], ["c"], ["d"], ["HIV"], ["flu"]]
    structure = {"sizes": [4], "parts": [2], "counts": [3, 1], "whole": True}
    promise = {"name": "privacy-degree", "params": {"p": 4, "sensitive": named}, "says": "safe"}
    write_crafted(tmp_path / "r", "grouped", rows, structure, promise=promise, records=4)
    done = CliRunner().invoke(app, ["verify", str(tmp_path / "r")])
    assert done.exit_code == VIOLATED, done.output


def test_a_promise_that_names_nothing_says_so(tmp_path):
    promise = {"name": "rho-uncertainty", "params": {"rho": 0.5, "sensitive": []}, "says": "safe"}
    write_crafted(tmp_path / "r", "suppressed", [["HIV"]] * 9, {}, promise=promise)
    done = CliRunner().invoke(app, ["verify", str(tmp_path / "r")])
    assert done.exit_code == HOLDS
    assert "no sensitive item is named" in done.output
