"""The example texts of Shao and Ong (2017), Figs. 10 to 12: what agrees and what does not."""

import json
from pathlib import Path

import pytest

from setveil.text.noun_phrases import noun_phrases, without_contained

FACTS = json.loads((Path(__file__).parent / "text.json").read_text(encoding="utf-8"))


def test_fig_10_a_discharge_report():
    facts = FACTS["fig10"]
    found = set(noun_phrases(facts["text"]))
    printed = set(facts["printed"])
    assert printed - found == set(facts["not_found"])
    assert found - printed == set(facts["found_besides"])
    assert len(printed & found) == 13


@pytest.mark.parametrize("query", FACTS["fig11"]["queries"])
def test_fig_11_queries(query):
    facts = FACTS["fig11"]
    printed = facts["queries"][query]
    different = facts["differences"].get(query)
    assert noun_phrases(query) == (different["found"] if different else printed)


@pytest.mark.parametrize("item", FACTS["fig11"]["printed_without_their_queries"])
def test_fig_11_items_are_items_to_us(item):
    assert noun_phrases(item) == [item]


@pytest.mark.parametrize("item", FACTS["fig12"]["printed"])
def test_fig_12_items_are_found_in_a_sentence(item):
    facts = FACTS["fig12"]
    different = facts["differences"].get(item)
    found = noun_phrases(facts["sentence"].format(item=item))
    assert found == (different["found"] if different else [item])


def test_fig_12_breaks_the_papers_own_rule_on_contained_items():
    printed = FACTS["fig12"]["printed"]
    dropped = set(printed) - set(without_contained(printed))
    assert dropped == set(FACTS["fig12"]["against_the_papers_own_rule"])
