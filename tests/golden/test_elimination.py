"""Shao & Ong 2017, Figs. 1 to 9: GBA and RBA step by step, and all of it from the records on."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.reference import elimination as reference

from setveil import TransactionTable
from setveil.attack import GBA, MDA, RBA, TBA, WBA
from setveil.attack.elimination.elimination_kernels import eliminate_by_groups
from setveil.measure import score
from setveil.release.set_generalized import publish_sets

FACTS = json.loads((Path(__file__).parent / "elimination.json").read_text(encoding="utf-8"))
ROWS, COLUMNS, TABLE = FACTS["rows"], FACTS["columns"], np.array(FACTS["distances"])
RULES = {"gba": reference.Counting, "rba": reference.Redistributing}


def named(cells):
    return [[ROWS[row], COLUMNS[column]] for row, column in cells]


@pytest.mark.parametrize("name", ["gba", "rba"])
def test_the_kernel_step_by_step(name):
    facts = FACTS[name]
    cells, decided, threshold, weighted = eliminate_by_groups(TABLE, name == "rba")
    assert named(cells.tolist()) == facts["eliminated_in_order"]
    assert threshold == pytest.approx(FACTS["threshold"], abs=0.0005)
    assert decided[0] == pytest.approx(FACTS["gba"]["first_vulnerability"], abs=0.0005)
    assert (decided > threshold).all()
    final = np.array(facts["final_weighted"], dtype=float)
    np.testing.assert_array_equal(np.isnan(weighted), np.isnan(final))
    np.testing.assert_allclose(weighted, final, atol=FACTS["tolerance"])


@pytest.mark.parametrize("name", ["gba", "rba"])
def test_the_reference_too_and_where_it_stops(name):
    cells, _, _, stopped, _ = reference.by_groups(TABLE, RULES[name])
    assert named(cells) == FACTS[name]["eliminated_in_order"]
    assert stopped == pytest.approx(FACTS[name]["stops_at_vulnerability"], abs=0.0006)


@dataclass(frozen=True)
class Printed:
    """The distances of Fig. 4; other terms are unknown."""

    def distances(self, rows, columns):
        found = np.full((len(rows), len(columns)), np.nan)
        for i, row in enumerate(rows):
            for j, column in enumerate(columns):
                if row in ROWS and column in COLUMNS:
                    found[i, j] = TABLE[ROWS.index(row), COLUMNS.index(column)]
        return found

    def known(self, terms):
        return np.array([term in ROWS or term in COLUMNS for term in terms], dtype=bool)

    def fingerprint(self):
        return "Fig. 4"


@pytest.fixture(scope="module")
def published():
    """Fig. 2, made from Fig. 1."""
    table = TransactionTable.from_rows(FACTS["transactions"])
    groups = [-2 if name in COLUMNS else place for place, name in enumerate(table.vocabulary.names)]
    release, key = publish_sets(table, np.array(groups) + 2)
    (hidden,) = (group for group in release.groups if len(group) > 1)
    assert set(hidden) == set(COLUMNS)
    return table, release, key


def eliminated(guess, release):
    """Return the cells as the paper names them: the record's one known context, and the member."""
    rows = release.to_rows()
    return [
        [next(item for item in rows[cell.record] if item in ROWS), cell.member]
        for cell in guess.eliminations()
    ]


@pytest.mark.parametrize(("attack", "name"), [(GBA(), "gba"), (RBA(), "rba")])
def test_from_the_records_on(published, attack, name):
    table, release, key = published
    guess = attack.run(release, relatedness=Printed())
    assert eliminated(guess, release) == FACTS[name]["eliminated_in_order"]
    assert "4 items in clear are unknown: diabetes, dizziness, pain, weakness" in guess.notes
    rates = score(guess, release=release, original=table, key=key)
    if name == "rba":
        for figure in ("precision", "recall", "f1", "kept_f1", "auc"):
            assert rates[figure].value == 1.0
    assert rates["cell_density"].value == np.mean(FACTS["original"])


def test_the_older_attacks(published):
    _, release, _ = published
    mda = MDA().run(release, relatedness=Printed())
    assert eliminated(mda, release) == [["gangrene", "icd"]]
    tba = TBA().run(release, relatedness=Printed())
    above = [[ROWS[i], COLUMNS[j]] for i, j in reference.above(TABLE, TABLE.mean())]
    assert sorted(eliminated(tba, release)) == sorted(above)
    wba = WBA().run(release, relatedness=Printed())
    assert eliminated(wba, release) == named(reference.wba(TABLE)[0])
