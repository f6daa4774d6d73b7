"""A release that shows the original as it is scores what the original scores, in every form."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import linkage as reference

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import SecretSharing
from setveil.attack import Inference, Linkage
from setveil.measure import draw_questions, draw_targets, score
from setveil.release import (
    ItemChannel,
    Key,
    Plan,
    SplitRelease,
    publish_disassociated,
    publish_encoded,
    publish_grouped,
    publish_groups,
    publish_perturbed,
    publish_recoded,
    publish_sets,
    publish_suppressed,
)
from setveil.release.base import FORMS

ITEMS = "abcdef"
tables = st.lists(
    st.sets(st.sampled_from(ITEMS), min_size=1, max_size=4), min_size=2, max_size=9
).map(TransactionTable.from_rows)


def tree_of(table):
    return Taxonomy.balanced(list(table.vocabulary.names), fanout=2)


def leaves_of(tree):
    return {tree.ids[v]: v for v in np.flatnonzero(tree.is_leaf).tolist()}


def numbers(table, record):
    return table.items[table.offsets[record] : table.offsets[record + 1]].tolist()


def every_item(table):
    return np.ones(table.n_items, dtype=bool)


def generalized(table):
    tree = tree_of(table)
    leaves = leaves_of(tree)
    rows = [sorted(leaves[item] for item in row) for row in table]
    flat = [node for row in rows for node in row]
    offsets = np.cumsum([0, *map(len, rows)])
    return publish_groups(
        tree, group_offsets=offsets, group_nodes=flat, group_of=range(len(table)), hides=False
    )


def recoded(table):
    tree = tree_of(table)
    leaves = leaves_of(tree)
    return publish_recoded(tree, table, [leaves[item] for item in table.vocabulary.names])


def in_clusters(table, size):
    """Cut the records into clusters of one chunk each, which shows them whole."""
    plans = []
    for start in range(0, len(table), size):
        records = list(range(start, min(start + size, len(table))))
        domain = sorted({item for record in records for item in numbers(table, record)})
        plans.append(Plan(records=records, domains=(tuple(domain),), terms=()))
    return publish_disassociated(table, plans)


def one_record_clusters(table):
    """Give each record a cluster of its own, cut into as many pieces as there are items."""
    plans = []
    for record in range(len(table)):
        first, *others = numbers(table, record)
        terms = tuple(others[:1])
        domains = tuple((item,) for item in [first, *others[1:]])
        plans.append(Plan(records=[record], domains=domains, terms=terms))
    return publish_disassociated(table, plans)


def one_shared_chunk(table):
    """Let a joint cluster of two share one chunk, which shows all records whole."""
    half = len(table) // 2
    plans = [
        Plan(records=list(records), domains=(), terms=())
        for records in (range(half), range(half, len(table)))
    ]
    domain = tuple(range(table.n_items))
    return publish_disassociated(table, plans, [(0, 2, domain)])


def alike_in_groups(table):
    """Group the records that differ in sensitive items only, and list these as whole parts."""
    secret = [item for item in "ab" if item in table.vocabulary]
    shown = [tuple(sorted(set(row) - set(secret))) for row in table]
    groups = {row: number for number, row in enumerate(dict.fromkeys(shown))}
    return publish_grouped(table, [groups[row] for row in shown], secret, whole=True)


def split(table):
    release, key = publish_suppressed(table, every_item(table))
    made = SplitRelease(vocabulary=release.vocabulary, offsets=release.offsets, items=release.items)
    return made, Key(records=key.records, parts=True)


def shared(table):
    made = SecretSharing(k=1).anonymize(table, secret=b"only for this test")
    return made.release, made.key


SHOWS = {
    "suppressed": lambda t: publish_suppressed(t, every_item(t)),
    "set-generalized": lambda t: publish_sets(t, np.arange(t.n_items)),
    "generalized": generalized,
    "generalized, recoded": recoded,
    "disassociated, one cluster": lambda t: in_clusters(t, len(t)),
    "disassociated, small clusters": lambda t: in_clusters(t, 3),
    "disassociated, one record each": one_record_clusters,
    "disassociated, shared chunk": one_shared_chunk,
    "grouped, nothing sensitive": lambda t: publish_grouped(t, np.zeros(len(t), int), []),
    "grouped, one record each": lambda t: publish_grouped(t, range(len(t)), ["a", "b"]),
    "grouped, whole records": lambda t: publish_grouped(
        t, np.zeros(len(t), int), t.vocabulary.names, whole=True
    ),
    "grouped, alike": alike_in_groups,
    "encoded": lambda t: publish_encoded(
        t, {name: name for name in t.vocabulary.names}, readable=t.vocabulary.names
    ),
    "shared": shared,
}
"""Ways to publish a table as it is, by form."""
NEARLY = {
    "split": split,
    "perturbed": lambda t: publish_perturbed(t, ItemChannel(beta="1e-12", domain=t.n_items)),
}
"""Forms that never say that nothing was changed: the right record is the likeliest all the same."""


def test_every_form_is_here():
    assert {name.partition(",")[0] for name in (*SHOWS, *NEARLY)} == set(FORMS)


def truth(table, targets):
    """Return what linkage scores on the original, by plain sets."""
    rows = [set(row) for row in table]
    everything = set(table.vocabulary.names)
    found = []
    for known in targets.known:
        places = reference.candidates(rows, everything, known)
        found.append((len(places), reference.learned(rows, places, known)))
    return found


@pytest.mark.parametrize("how", [*SHOWS, *NEARLY])
@given(table=tables, m=st.integers(1, 3), knowledge=st.sampled_from(["random", "rarest"]))
def test_linkage_is_that_of_the_original(how, table, m, knowledge):
    release, key = {**SHOWS, **NEARLY}[how](table)
    targets = draw_targets(table, m=m, knowledge=knowledge)
    guess = Linkage(k=3).run(release, targets=targets, taxonomy=tree_of(table))
    rates = score(guess, release=release, original=table, key=key)
    found = truth(table, targets)
    assert rates["named"].value == pytest.approx(np.mean([1 / n for n, _ in found]))
    if how in NEARLY:
        return
    assert [link.candidates for link in guess.links] == [n for n, _ in found]
    assert [set(link.learned) for link in guess.links] == [items for _, items in found]
    assert [link.chance for link in guess.links] == pytest.approx([1 / n for n, _ in found])
    assert all(link.candidates == 0 for link in guess.strangers)
    assert rates["below_k"].value == pytest.approx(np.mean([n < 3 for n, _ in found]))


@pytest.mark.parametrize("how", [*SHOWS, "perturbed"])
@given(table=tables, m=st.integers(1, 2))
def test_inference_is_that_of_the_original(how, table, m):
    secret = [item for item in "ab" if item in table.vocabulary]
    if not secret:
        return
    release, key = {**SHOWS, **NEARLY}[how](table)
    targets = draw_questions(table, sensitive=secret, m=m)
    guess = Inference().run(release, targets=targets, taxonomy=tree_of(table))
    rates = score(guess, release=release, original=table, key=key)
    rows = [set(row) for row in table]
    support = Counter(item for row in rows for item in row)
    believed, before = [], []
    for target, known in zip(targets.records, targets.known, strict=True):
        held = [item for item in secret if item in rows[target]]
        alike = [row for row in rows if row.issuperset(known)]
        if held:
            believed.append(np.mean([sum(i in row for row in alike) / len(alike) for i in held]))
            before.append(np.mean([support[item] / len(rows) for item in held]))
    if not believed:
        assert rates["believed"] is None
        return
    assert rates["believed"].value == pytest.approx(np.mean(believed))
    assert rates["believed_before"].value == pytest.approx(np.mean(before))
