"""Methods, checks and answers against brute force, release by release.

``python -m tests.campaign`` prints the figures that docs/guarantees.md shows.
"""

from itertools import combinations, permutations
from pathlib import Path
from random import Random

import numpy as np
import pytest
from tests.campaign import joint_families, record_families
from tests.campaign.__main__ import COLUMNS
from tests.campaign.drawing import draw_table
from tests.campaign.families import FAMILIES, TOTAL
from tests.campaign.tally import Tally
from tests.reference import block_worlds, disassociation_worlds, record_worlds, worlds

from setveil.core import registry
from setveil.guarantee import Verdict

NO_PROMISE = {"secret-sharing", "select-a-size", "split-personality", "token-hashing"}


def check(tally, least):
    assert not tally.disagreements, "\n".join(tally.disagreements)
    assert tally.releases >= least
    assert min(tally.methods, tally.random) > least / 4
    assert tally.broken > least / 20
    assert tally.answers > 2 * least
    assert tally.open <= least / 50


def test_some_of_all_families():
    for family in FAMILIES:
        check(family.run(0.01), round(family.count * 0.01))


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.guarantee)
def test_all_of(family):
    check(family.run(), family.count)


def test_nothing_is_left_out():
    assert TOTAL >= 100_000
    registered = {entry.name for entry in registry.entries("anonymizer")}
    judged = [name for family in FAMILIES for name in family.methods]
    assert sorted(judged) == sorted(registered - NO_PROMISE)


def test_the_page_shows_what_is_run():
    page = Path(__file__).parents[2] / "docs" / "guarantees.md"
    rows = [line.strip("| ").split(" | ") for line in page.read_text("utf-8").splitlines()]
    shown = {row[0]: row for row in rows if len(row) == len(COLUMNS)}
    assert shown["guarantee"] == list(COLUMNS)
    for family in FAMILIES:
        _, compared, methods, random, *_, disagreements = shown[family.guarantee]
        judged = sum(int(number.replace(",", "")) for number in (methods, random))
        assert (compared, judged, disagreements) == (family.compared, family.count, "0")


def test_disagreements_are_noticed():
    tally = Tally()
    holds, broken, unsure = (
        Verdict(holds=h, exact=e, reason="", checked=0) for h, e in ((1, 1), (0, 1), (1, 0))
    )
    tally.judge(False, holds, promised=True, where="")  # a broken promise and a false verdict
    tally.judge(True, broken, promised=False, where="")
    tally.judge(False, unsure, promised=False, where="")
    tally.answer((0, 2), (0, 3), "bounds", "")
    assert len(tally.disagreements) == 5
    assert (tally.methods, tally.random, tally.broken, tally.open) == (1, 2, 2, 1)


# --- the brute force itself -----------------------------------------------------------------------


def test_worlds_of_records_are_those_of_the_definition():
    rng = Random(1)
    for _ in range(150):
        rows, domain, table = draw_table(rng, most=3)
        tree = domain.whole
        release = (
            record_families.draw_groups(rng, domain, len(rows))
            if rng.random() < 0.5
            else record_families.draw_recoded(rng, domain, table)
        )
        shown = record_families.Shown(release, domain)
        place = {node_id: v for v, node_id in enumerate(tree.ids)}
        leaves = worlds.all_leaves(tree)
        every = {place[i] for row in shown.rows for i in row}
        for row, found in zip(shown.rows, shown.worlds, strict=True):
            truth = worlds.worlds(
                tree,
                [place[i] for i in row],
                hides=release.hides,
                anywhere=every if release.whole else None,
            )
            assert set(found) == {sum(1 << leaves.index(v) for v in t) for t in truth}
        for item, bit in domain.bit.items():
            leaf = tree.leaf_of([item])[0]
            assert bit == 1 << leaves.index(leaf)


def test_worlds_of_sets_are_those_of_the_definition():
    rng = Random(2)
    for _ in range(100):
        _, domain, table = draw_table(rng, most=4)
        release = record_families.draw_sets(rng, table)
        names = table.vocabulary.names
        shown = record_families.Shown(release, domain, names)
        groups = {group for row in release.to_rows() for group in [record_families.members_of(label)
                  for label in row]}  # fmt: skip
        for row, found in zip(release.to_rows(), shown.worlds, strict=True):
            published = [record_families.members_of(label) for label in row]
            truth = worlds.sets_worlds(groups, published, names)
            assert set(found) == {sum(1 << names.index(i) for i in t) for t in truth}


def test_worlds_of_chunks_are_those_of_the_definition():
    rng = Random(3)
    compared = 0
    while compared < 60:
        _, release, _ = joint_families.draw_chunks(rng)
        if disassociation_worlds.count_ways(release) > 2_000:
            continue
        compared += 1
        found = block_worlds.Worlds(release)
        names = release.vocabulary.names
        itemsets = [frozenset(s) for n in (1, 2, 3) for s in combinations(names, n)]
        truth = disassociation_worlds.supports(release, itemsets)
        certain = disassociation_worlds.certain_items(release)
        possible = disassociation_worlds.possible_clusters(release)
        for itemset in itemsets:
            mask = found.mask(itemset)
            assert found.supports(mask) == (min(truth[itemset]), max(truth[itemset]))
            assert found.clusters(mask) == possible.get(itemset, set())
            items = certain.get(itemset)
            assert found.certain(mask) == (None if items is None else found.mask(items))
        for k, m in ((2, 1), (2, 2), (3, 3)):
            breaches = disassociation_worlds.breaches(release, k, m)
            assert found.is_narrowed(k, m) == bool(breaches)
        assert found.gives_away() == bool(disassociation_worlds.certain_links(release))


def test_chances_are_those_of_the_definition():
    rng = Random(4)
    compared = 0
    while compared < 60:
        _, release, _ = joint_families.draw_chunks(rng)
        bare = not len(release.terms)
        if not bare or disassociation_worlds.count_ways(release) > 2_000:
            continue
        found = block_worlds.Worlds(release)
        names = release.vocabulary.names
        for block in found.blocks:
            for c in range(len(block.spans)):
                known, item = rng.choice(names), rng.choice(names)
                truth = disassociation_worlds.link_probability(
                    release, block.first + c, {known}, item
                )
                if truth is not None:
                    mask, bit = found.mask([known]), found.mask([item])
                    assert block.chance(c, mask, bit) == truth
                    compared += 1


def test_a_set_of_bits_is_matched_as_items_are():
    rng = np.random.default_rng(5)
    for _ in range(300):
        below = tuple(int(mask) for mask in rng.integers(1, 16, rng.integers(0, 4)))
        for items in range(16):
            owners = [[i for i in range(4) if mask >> i & items >> i & 1] for mask in below]
            truth = any(
                all(i in own for i, own in zip(chosen, owners, strict=True))
                for chosen in permutations(range(4), len(below))
            )
            assert record_worlds.can_match(below, items) == truth
