"""Crafted releases against brute force: no verdict is wrong, and nothing but refusals is raised.

``python -m tests.adversarial.crafted`` prints the figures that docs/guarantees.md shows.
"""

from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from tests.adversarial.crafted import drawing, truth
from tests.adversarial.crafted.__main__ import COLUMNS
from tests.adversarial.crafted.forms import FORMS, Tally, alone
from tests.adversarial.crafted.writing import generalized, node
from tests.reference import coherence as coherence_reference
from tests.reference import rho as rho_reference

from setveil.core.errors import NotApplicable
from setveil.guarantee import KAnonymity, Verdict
from setveil.release import base
from setveil.release.set_generalized import members_of

SHARE = 0.003


def check(form, tally, least):
    assert not tally.disagreements, "\n".join(tally.disagreements[:20])
    assert tally.crafted >= least
    assert 0 < tally.refused < 0.75 * least
    assert tally.verdicts > 0.8 * least
    if form.form != "perturbed":
        assert min(tally.held, tally.broken) > 0.15 * least


def test_some_of_all_forms():
    for form in FORMS:
        check(form, form.run(SHARE), round(form.count * SHARE))


ONCE_WRONG = {
    "generalized": (
        *(1324, 2859, 16657, 19754, 22269, 31085, 31096, 35484, 55348, 63335, 71599, 85517),
    )
}
"""Releases about which the checks were wrong before, by their numbers."""


def test_what_was_once_wrong():
    tally = Tally()
    for form in FORMS:
        for number in ONCE_WRONG.get(form.form, ()):
            form.judge_one(number, tally)
    assert not tally.disagreements, "\n".join(tally.disagreements)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.form)
def test_all_of(form):
    check(form, form.run(), form.count)


def test_no_form_is_left_out():
    assert sorted(form.form for form in FORMS) == sorted(base.FORMS)
    assert min(form.count for form in FORMS) >= 100_000


def test_the_page_shows_what_is_run():
    page = Path(__file__).parents[3] / "docs" / "guarantees.md"
    rows = [line.strip("| ").split(" | ") for line in page.read_text("utf-8").splitlines()]
    shown = {row[0]: row for row in rows if len(row) == len(COLUMNS)}
    assert shown["form"] == list(COLUMNS)
    for form in FORMS:
        _, compared, crafted, *_, wrong = shown[form.form]
        assert (compared, wrong) == (form.compared, "0")
        # The page may show the figures of a share of it, and then says so.
        assert 1_000 <= int(crafted.replace(",", "")) <= form.count


# --- the brute force itself -----------------------------------------------------------------------


class Said(KAnonymity):
    """A promise with a given answer."""

    def check(self, published):
        if isinstance(published, Exception):
            raise published
        holds, exact = published
        return Verdict(holds=holds, exact=exact, reason="", checked=0)


@pytest.mark.parametrize(
    ("said", "state", "wrong"),
    [
        ((True, True), truth.HOLDS, False),
        ((True, True), truth.OPEN, True),
        ((True, True), truth.UNKNOWN, True),
        ((True, True), truth.BROKEN, True),
        ((False, True), truth.HOLDS, True),
        ((False, True), truth.OPEN, True),
        ((False, True), truth.BROKEN, False),
        ((False, True), truth.UNKNOWN, False),
        ((True, False), truth.BROKEN, True),
        ((True, False), truth.OPEN, True),
        ((True, False), truth.HOLDS, False),
        ((False, False), truth.OPEN, False),
        (NotApplicable("no answer"), truth.OPEN, False),
        (TypeError("a traceback"), truth.HOLDS, True),
    ],
)
def test_wrong_verdicts_are_noticed(said, state, wrong):
    tally = Tally()
    tally.compare(Said(k=1), said, state, "")
    assert bool(tally.disagreements) == wrong


SICK = [["(HIV, gout)", "tea"], ["(HIV, gout)", "tea"], ["tea"], ["tea"], ["tea"]]


@pytest.mark.parametrize(
    ("names", "share", "state"),
    [
        (["HIV"], "1/2", truth.OPEN),  # nobody says which of the two
        (["HIV", "gout"], "1/2", truth.BROKEN),  # one of them is half of both records
        (["HIV", "gout"], "0.6", truth.OPEN),  # one in each
        (["tea"], "1", truth.BROKEN),
    ],
)
def test_sets_by_hand(names, share, state):
    records, bit = truth.of_sets(SICK, members_of)
    masks = [bit[name] for name in names]
    assert truth.rho(records, masks, Fraction(share), prior=False) == state


@pytest.mark.parametrize(
    ("rows", "state"),
    [
        ([["*", "*"], ["HIV"]], truth.BROKEN),  # both leaves
        ([["*"], ["*"], ["HIV"], ["flu"], ["flu"]], truth.OPEN),
        ([["*", "*", "*"], ["HIV"], ["flu"], ["flu"]], truth.OPEN),  # no set can stand behind it
        ([["flu"], ["flu"], ["HIV"]], truth.HOLDS),
    ],
)
def test_bags_by_hand(rows, state):
    structure = generalized(node("*", leaves=2), node("HIV", "*"), node("flu", "*"))
    records, tree = truth.of_nodes(rows, structure)
    (mask,) = tree.readings("HIV", tree.masks[0])
    assert truth.rho(records, [mask], Fraction("1/2"), prior=True) == state


def test_what_a_text_may_mean():
    tree = truth.Tree(
        [node("*", leaves=5), node("7", "*", 2, name="HIV"), node("HIV", "7"), node("flu", "*", 2)]
    )
    assert tree.n_leaves == 5
    assert tree.readings("HIV", 0) == {tree.masks[2]}
    assert tree.readings("flu", 0) == {tree.masks[3], 0} | {
        bit for bit in tree.unnamed if bit & tree.masks[3]
    }
    assert tree.readings("gout", tree.masks[1]) == {0, tree.masks[1] & ~tree.masks[2]}
    assert (tree.located("HIV"), tree.located("flu")) == (tree.masks[2], 0)


def test_of_plain_items_it_is_the_definition():
    rng = Random(6)
    seen = set()
    for _ in range(300):
        rows = drawing.draw_rows(rng, drawing.draw_items(rng))
        records, bit = truth.of_sets(rows, alone)
        secrets = rng.sample(sorted(bit), rng.randint(1, len(bit)))
        masks = [bit[name] for name in secrets]
        share, prior = Fraction(rng.randint(1, 6), 6), rng.random() < 0.5
        broken = rho_reference.violations(rows, share, secrets, prior=prior)
        state = truth.rho(records, masks, share, prior=prior)
        assert state == (truth.BROKEN if broken else truth.HOLDS)
        k, p = rng.randint(1, 2), rng.randint(1, 3)
        kept = coherence_reference.is_coherent(rows, secrets, share, k, p)
        found = truth.coherence(records, masks, masks, h=share, k=k, p=p)
        assert found == (truth.HOLDS if kept else truth.BROKEN)
        seen |= {state, found}
    assert seen == {truth.HOLDS, truth.BROKEN}
