"""What a notebook shows of tables, releases, verdicts and runs: short, and all text escaped."""

import numpy as np
import pytest

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import CAHD, Coat, Disassociate, Gather, SelectASize, TokenHashing
from setveil.audit import run_method
from setveil.core.notebook import ITEMS, ROWS, html_of_records, html_table
from setveil.guarantee import KAnonymity
from setveil.guarantee.base import Verdict

EVIL = "<script>alert(1)</script>"
SAFE = "&lt;script&gt;alert(1)&lt;/script&gt;"
TABLE = TransactionTable.from_rows(
    [[EVIL, "flu"], [EVIL], ["flu", "gout"], ["flu"], [EVIL, "gout"]]
)
TREE = Taxonomy.from_parents({EVIL: "illness", "flu": "illness", "gout": "illness"})


def made(method):
    given = {}
    if "taxonomy" in method.requires:
        given["taxonomy"] = TREE
    if "sensitive" in method.requires:
        given["sensitive"] = ["gout"]
    if isinstance(method, SelectASize):
        given["rng"] = np.random.default_rng(0)
    return method.anonymize(TABLE, **given)


def test_a_table_shows_its_first_records():
    page = TABLE._repr_html_()
    assert "5 records, 3 items" in page
    assert SAFE in page
    assert EVIL not in page


@pytest.mark.parametrize(
    "method",
    [
        Gather(k=2),
        Disassociate(k=2, m=1),
        CAHD(p=2),
        Coat(k=2, constrained=1),
        SelectASize(beta=0.1),
        TokenHashing(),
    ],
    ids=lambda method: type(method).__name__,
)
def test_every_form_shows_itself_escaped(method):
    result = made(method)
    for page in (result.release._repr_html_(), result._repr_html_()):
        assert page.startswith("<table>")
        assert type(result.release).__name__ in page
        assert EVIL not in page
    assert "promise: " in result._repr_html_()


def test_a_verdict_shows_what_breaks_it():
    verdict = KAnonymity(k=2).check(TABLE)
    page = verdict._repr_html_()
    assert "VIOLATED" in page
    assert "at least 2" in page
    assert SAFE in page
    assert EVIL not in page


def test_a_verdict_that_holds_is_a_sentence_and_says_when_it_is_not_certain():
    sure = Verdict(holds=True, exact=True, reason="a < b", checked=1)
    assert sure._repr_html_() == "<p>holds: a &lt; b</p>"
    unsure = Verdict(holds=True, exact=False, reason="gave up", checked=1)
    assert unsure._repr_html_() == "<p>holds (not certain): gave up</p>"


def test_a_run_shows_its_measures():
    page = run_method("gather", {"k": 2}, TABLE, TREE)._repr_html_()
    assert "gather, k = 2" in page
    assert "ggd_share" in page


def test_long_tables_and_records_are_cut():
    rows = [[f"item {i}" for i in range(ITEMS + 3)]] * (ROWS + 10)
    page = html_of_records("many", rows, len(rows))
    assert page.count("<tr>") == 1 + ROWS + 1
    assert "(3 more)" in page
    assert "(10 more)" in page


def test_cells():
    page = html_table("", ["a"], [[None], [0.123456], [7], [True]])
    assert "n/a" in page
    assert "0.1235" in page
    assert page.count("text-align: right") == 2
