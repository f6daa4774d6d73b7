"""What an owner is told about a release, against what a plain count over sets finds."""

import json
import re
from collections import Counter

import numpy as np
import pytest

from setveil import Taxonomy, TransactionTable
from setveil.audit import run_method
from setveil.audit.contents import describe_contents, invent_record, setting_in_words, title_of
from setveil.core import registry
from setveil.core.params import main_param
from setveil.guarantee import SupportConstraints
from setveil.measure.queries import errors_by_size

ITEMS = [f"{letter}{number}" for letter in "abc" for number in (1, 2, 3)]
TREE = Taxonomy.from_parents(
    {item: item[0].upper() for item in ITEMS} | dict.fromkeys("ABC", "all"),
)
SENSITIVE = ("a1", "b1")
METHODS = [entry.name for entry in registry.entries("anonymizer")]
ASKED = {
    "coat": {"constrained": 1, "s": 1},
    "pcta": {"constrained": 1},
    "anatomy": {"l": 2},
    "cahd": {"p": 2},
    "permutation": {"p": 2},
}
"""Parameters with which a method ends well on small data."""


def random_table(seed, records=40):
    rng = np.random.default_rng(seed)
    chances = rng.uniform(0.05, 0.5, len(ITEMS))
    chances[[ITEMS.index(item) for item in SENSITIVE]] = 0.2  # few enough for groups
    rows = [[i for i, p in zip(ITEMS, chances, strict=True) if rng.random() < p]
            for _ in range(records)]  # fmt: skip
    rows += [["a1"], ["b1"], *([item] for item in ITEMS)]  # every item occurs
    return TransactionTable.from_rows([row for row in rows if row])


def run_on(method, table, **params):
    return run_method(
        method, {**ASKED.get(method, {}), **params}, table, TREE, sensitive=SENSITIVE,
        rng=np.random.default_rng(0),
    )  # fmt: skip


def fates(run, table):
    """Return for each item in how many records it stands itself, behind others, not at all."""
    found = {item: Counter() for item in table.vocabulary.names}
    for record, row in enumerate(table.to_rows()):
        for item in row:
            found[item][WHERE[run.release.form](run, record, item)] += 1
    return found


def published(run, record):
    places = np.flatnonzero(run.key.records == record).tolist()
    return [item for place in places for item in run.release.to_rows()[place]]


def below(run, node):
    tree = run.taxonomy
    place = tree.names.index(node)
    return {tree.names[v] for v in range(place, int(tree.ends[place])) if tree.is_leaf[v]}


def in_tree(run, record, item):
    shown = published(run, record)
    if any(below(run, node) == {item} for node in shown):
        return "kept"
    return "coarser" if any(item in below(run, node) for node in shown) else "gone"


def in_sets(run, record, item):
    group = run.release.group_of(item)
    if group is None:
        return "gone"
    assert run.release.vocabulary[group] in published(run, record)
    return "kept" if run.release.members(group) == (item,) else "coarser"


def as_item(run, record, item):
    return "kept" if item in published(run, record) else "gone"


def in_groups(run, record, item):
    return "coarser" if item in run.release.sensitive else as_item(run, record, item)


def in_codes(run, record, item):
    names = dict(zip(run.release.vocabulary.names, run.release.readable.tolist(), strict=True))
    return "kept" if names.get(item) and item in published(run, record) else "coarser"


WHERE = {
    "generalized": in_tree,
    "set-generalized": in_sets,
    "suppressed": as_item,
    "split": as_item,
    "perturbed": as_item,
    "grouped": in_groups,
    "encoded": in_codes,
    "shared": in_codes,
}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("method", METHODS)
def test_counts_of_what_became_of_items_are_those_of_a_plain_count(method, seed):
    table = random_table(seed)
    run = run_on(method, table)
    account = run.release.account(table, run.key, run.taxonomy)
    assert np.array_equal(account.kept + account.coarser + account.gone, account.records)
    if run.release.form == "disassociated":
        pieces = Counter(
            item
            for cluster in run.release.clusters
            for chunk in cluster.chunks
            for row in chunk.subrecords
            for item in row
        )
        pieces.update(
            item for chunk in run.release.shared for row in chunk.subrecords for item in row
        )
        deleted = Counter(name for _, name in run.key.removed)
        truth = {name: (pieces[name], deleted[name]) for name in account.names}
        told = zip(account.kept.tolist(), account.gone.tolist(), strict=True)
        assert dict(zip(account.names, told, strict=True)) == truth
        return
    truth = fates(run, table)
    for place, name in enumerate(account.names):
        told = {
            "kept": int(account.kept[place]),
            "coarser": int(account.coarser[place]),
            "gone": int(account.gone[place]),
        }
        assert Counter(told) == truth[name], (name, account.became[place])


@pytest.mark.parametrize("method", METHODS)
def test_every_method_says_what_is_in_its_release(method):
    table = random_table(7)
    run = run_on(method, table)
    said = describe_contents(run, table, SENSITIVE)
    assert json.loads(json.dumps(said)) == said
    texts = [said["headline"], *said["computable"], *said["unprotected"]]
    texts += [text for text in (said["stays"], said["coarser"], said["gone"]) if text]
    assert said["stays"] or said["coarser"] or said["gone"]
    for text in texts:
        assert text[0].isupper() or text[0] in "'0123456789", text
        assert re.fullmatch(r"(?!.*(  |\.\.)).*\.", text), text
        assert not re.search(r"\b1 (items|records|entries|people)\b|\b0 (people|records)\b", text)
    held = dict(zip(table.vocabulary.names, table.supports().tolist(), strict=True))
    assert [records for _, records, _ in said["affected"]] == sorted(
        (held[item] for item, _, _ in said["affected"]), reverse=True
    )
    assert said["unprotected"]
    assert all(said["example"].values())
    assert sorted(said["example"]["before"]) not in [sorted(row) for row in table.to_rows()]


def test_the_number_that_separates_kept_from_removed_items_is_named():
    table = TransactionTable.from_rows([["flu", "gout"]] * 3 + [["flu", "hiv"], ["rash"]])
    run = run_method("coat", {"k": 3, "s": 1, "constrained": 1, "utility": "alone"}, table)
    said = describe_contents(run, table)
    assert said["headline"] == (
        "Keeps the 2 items that at least 3 records share as they are and removes the other 2."
    )
    assert said["gone"] == (
        "'hiv' and 'rash' are removed from every record. 1 of 5 records is left without any item."
    )
    assert said["affected"] == [["hiv", 1, "removed"], ["rash", 1, "removed"]]
    assert said["computable"][:2] == [
        "Exactly: counts of the 2 items that stay, alone or in any combination.",
        "Nothing about the 2 removed items.",
    ]


def test_entries_of_records_that_were_made_equal_add_up():
    table = random_table(5)
    for method in ("gather", "clump", "partition"):
        headline = describe_contents(run_on(method, table), table)["headline"]
        assert headline.startswith("Makes similar records equal, at least ")
        total, *parts = [int(n.replace(",", "")) for n in re.findall(r"[\d,]+\d|\d", headline)][1:]
        entries = sum(len(set(row)) for row in table.to_rows())
        parts = [
            int(n.replace(",", ""))
            for n in re.findall(r"([\d,]+) (?:stay|become|is|are)", headline.split("record), ")[1])
        ]
        assert (total, sum(parts)) == (entries, entries), headline


def test_pieces_hold_all_items_of_the_example():
    table = random_table(3)
    run = run_on("disassociate", table)
    example = describe_contents(run, table)["example"]
    shown = [item for line in example["after"] for item in line.partition(": ")[2].split(", ")]
    assert sorted(shown) == sorted(example["before"])


def test_an_invented_record_is_nobodys_and_has_what_is_asked_for():
    table = TransactionTable.from_rows([["a"], ["b"], ["a", "b"], ["a", "c"]])
    for seed in range(20):
        rng = np.random.default_rng(seed)
        made = invent_record(table, include=["c"], rng=rng)
        assert "c" in made
        assert set(made) not in [set(row) for row in table.to_rows()]
    assert invent_record(TransactionTable.from_rows([["a"], ["a"]])) == ()
    assert invent_record(TransactionTable.from_rows([[], []])) == ()


def test_every_method_has_a_title_of_its_own():
    titles = {entry.name: entry.target.called for entry in registry.entries("anonymizer")}
    assert len(set(titles.values())) == len(titles)
    for method, title in titles.items():
        assert re.fullmatch(r"\S.*\S", title)
        assert method not in title
        main = main_param(registry.find("anonymizer", method).target)
        size = {} if main is None else {main.name: 7}
        assert title_of(method, size) == title + (f", {main.symbol} = 7" if main else "")


def test_a_setting_is_said_in_words():
    params = {"k": 100, "s": 1, "constrained": 1, "utility": "alone"}
    assert title_of("coat", params) == "common items only, k = 100"
    assert title_of("coat", {**params, "constrained": 0.5}) == "some rare items removed, k = 100"
    assert "nothing may be joined" in setting_in_words("coat", params)
    assert "5% of the items" in setting_in_words("pcta", {"constrained": 0.05})
    assert title_of("td-control", {"rho": 0.3}).endswith(", ρ = 0.3")


def test_what_is_left_open_depends_on_what_is_promised_and_shown():
    singles = SupportConstraints(itemsets=[["a"], ["b"]], k=3)
    assert singles.unprotected(["a", "b"])[0].startswith("Only single items are protected")
    assert "1 of the 3 items shown" in singles.unprotected(["a", "b", "c"])[0]
    pairs = SupportConstraints(itemsets=[["a", "b"]], k=3)
    assert "other than the 1 protected" in pairs.unprotected(["a", "b"])[0]
    run = run_on("hghs", random_table(1), k=2, m=None)
    said = describe_contents(run, random_table(1))["unprotected"]
    assert not any("or more items" in text for text in said)  # nobody has more items than that


def test_counts_of_three_items_are_drawn_from_records_that_have_three():
    table = TransactionTable.from_rows([["a", "b"], ["a", "b"], ["a"]])
    run = run_method("split-personality", {}, table)
    assert errors_by_size(run.release, table)[3] is None
