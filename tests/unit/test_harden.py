"""Hardening: what it recommends, against every setting there is, and what it says at its end."""

from itertools import product

import pytest

from setveil import Taxonomy, TransactionTable, load_release
from setveil.audit import audit, harden, load_audit, trials
from setveil.audit.run import build, run_method, utility_of
from setveil.audit.search import ladders_of
from setveil.core.errors import ParameterError
from setveil.core.registry import entries

ROWS = [["flu", "gout"], ["flu", "rash"], ["flu"], ["gout", "rash", "mumps"], ["flu", "mumps"]]
TABLE = TransactionTable.from_rows(ROWS * 8)
TREE = Taxonomy.from_parents(
    {"flu": "virus", "mumps": "virus", "gout": "joints", "virus": "any", "joints": "any",
     "rash": "skin", "skin": "any"}
)  # fmt: skip
METHOD = "disassociate:m=2"


def hardened(out, **rest):
    said = {"methods": [METHOD], "known": [2], "workers": 0, "seed": 1, "min_k": 2}
    return harden(TABLE, out=out, **{**said, **rest})


# --- ladders --------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", entries("anonymizer"), ids=lambda entry: entry.name)
def test_every_rung_of_every_method_can_be_built(entry):
    ladders = ladders_of(entry.name, records=10_000, taxonomy=TREE)
    assert ladders.rungs or entry.name in {"token-hashing", "select-a-size"}
    for position in product(*(range(len(rungs)) for rungs in ladders.rungs.values())):
        setting = ladders.at(position)
        build(setting.method, setting.params)


def test_what_is_given_stays_and_no_k_is_beyond_the_records():
    ladders = ladders_of("safe-disassociate:k=3,refine=false", records=40)
    assert set(ladders.rungs) == {"m", "max_cluster_size", "max_share"}
    assert ladders.at((1, 2, 0)).params == {
        "m": 2, "max_cluster_size": 16 * 2 * 9, "k": 3, "refine": False,
    }  # fmt: skip
    assert ladders_of("gather", records=40).rungs["k"] == (5, 10)
    assert ladders_of("gather", records=40, min_k=2).rungs["k"] == (2, 5, 10)


def test_levels_of_the_tree_are_utility_constraints():
    rungs = ladders_of("coat", records=40, taxonomy=TREE).rungs
    assert rungs["utility"] == (None, "tree:1", "alone")
    assert set(utility_of("tree:1", TABLE, TREE)) == {("flu", "mumps"), ("gout",), ("rash",)}
    assert utility_of("any", TABLE, None) == (("flu", "gout", "mumps", "rash"),)


def test_values_between_bars_are_a_ladder_of_ones_own():
    text = "safe-disassociate:k=5|20,m=2,max_share=1|0.25,refine=true|false,max_cluster_size=null"
    ladders = ladders_of(text, records=40)
    assert ladders.rungs == {"k": (5, 20), "refine": (True, False), "max_share": (1, 0.25)}
    assert ladders.at((1, 1, 0)).params == {"k": 20, "refine": False, "max_share": 1, "m": 2}
    with pytest.raises(ParameterError, match="max_share is 7"):
        ladders_of("safe-disassociate:max_share=1|7", records=40)
    with pytest.raises(ParameterError, match="no parameter 'depth'"):
        ladders_of("gather:depth=1|2", records=40)


def test_items_are_joined_only_below_one_node_or_not_at_all():
    rows = [["flu"]] * 6 + [["mumps"]] * 2 + [["gout"]] * 2 + [["rash"]] * 6
    table = TransactionTable.from_rows(rows)
    tight = {"k": 4, "constrained": 1, "s": 1}
    shown = {
        level: {item for row in _rows("coat", {**tight, "utility": level}, table) for item in row}
        for level in ("tree:1", "alone")
    }
    assert shown["tree:1"] == {"(flu, mumps)", "rash"}  # gout has no neighbour: left out
    assert shown["alone"] == {"flu", "rash"}


def _rows(method, params, table):
    return run_method(method, params, table, TREE).release.to_rows()


def test_utility_constraints_are_refused_where_they_mean_nothing():
    with pytest.raises(ParameterError, match="gather has no parameter 'utility'"):
        build("gather", {"utility": "alone"})
    with pytest.raises(ParameterError, match="utility is 'forest'"):
        build("coat", {"utility": "forest"})
    with pytest.raises(ParameterError, match="needs a taxonomy"):
        run_method("coat", {"utility": "tree:1"}, TABLE)


# --- the whole, on little data --------------------------------------------------------------------


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    """Every setting on the ladders, run without any search."""
    ladders = ladders_of(METHOD, records=len(TABLE), min_k=2)
    every = product(*(range(len(rungs)) for rungs in ladders.rungs.values()))
    texts = []
    for position in every:
        params = ladders.at(position).params
        listed = ",".join(f"{name}={str(value).lower()}" for name, value in params.items())
        texts.append(f"disassociate:{listed}")
    found = audit(
        TABLE, out=tmp_path_factory.mktemp("grid") / "out", methods=texts, known=[2], workers=0,
        seed=1, min_k=2, target=1.0,
    )  # fmt: skip
    assert len(found.runs) == len(texts)
    return {run.name: run for run in found.runs}


def worst(run):
    """Return the risk of a run from its scores alone."""
    gains = []
    for each in run.adversaries:
        name = "advantage_singled" if each.figure == "singled" else "advantage"
        if each.decides and each.rate is not None:
            gains.append(each.scores.get(f"{name}_high", each.scores[name]))
    return max(gains)


def test_the_recommended_setting_is_the_cheapest_of_those_tried_that_reach_the_target(
    grid, tmp_path
):
    risks = sorted({worst(run) for run in grid.values()})
    for number, target in enumerate([risks[0], risks[len(risks) // 2], risks[-1]]):
        found = hardened(tmp_path / str(number), target=target + 1e-9)
        tried = {run.name for run in found.runs}
        assert tried <= set(grid)
        fit = [name for name in tried if grid[name].verified and worst(grid[name]) <= target + 1e-9]
        assert found.chosen.name in fit
        assert round(found.chosen.loss, 3) == min(round(grid[name].loss, 3) for name in fit)
        assert f"{len(tried)} setting" in found.notes[0]
        assert "tried; the target was reached" in found.notes[0]


def test_every_setting_is_kept_with_its_release_and_read_again(tmp_path):
    found = hardened(tmp_path / "out", target=0.04)
    assert load_audit(tmp_path / "out") == found
    for run in found.runs:
        assert run.verified
        assert len(load_release(tmp_path / "out" / run.release)) == len(TABLE)


def test_where_no_setting_reaches_the_target_it_is_said(grid, tmp_path):
    least = min(worst(run) for run in grid.values())
    found = hardened(tmp_path, target=least / 2)
    assert found.recommended is None
    assert "the strongest setting was reached" in found.notes[0]
    assert found.reasons[0].startswith(f"None of {len(found.runs)} ")


def test_a_second_call_makes_nothing_again(tmp_path, monkeypatch):
    first = hardened(tmp_path, target=0.04)

    def never(*_):
        raise AssertionError

    monkeypatch.setattr(trials, "run_trial", never)
    assert hardened(tmp_path, target=0.04) == first


def test_the_budget_ends_the_search_with_what_there_is(tmp_path):
    found = hardened(tmp_path, target=0.0, budget=1e-6)
    assert (found.answer, found.recommended) == ("not-decided", None)
    assert [run.state for run in found.runs] == ["skipped"]
    assert "1 setting tried; stopped by a limit of time or memory" in found.notes[0]


def test_methods_are_searched_side_by_side(tmp_path):
    seen = []
    found = hardened(
        tmp_path,
        methods=["gather:effort=fast", METHOD],
        taxonomy=TREE,
        target=0.04,
        tell=seen.append,
    )
    ended = [progress for progress in seen if progress.ended is not None]
    assert [progress.ended.method for progress in ended[:2]] == ["gather", "disassociate"]
    assert [progress.done for progress in ended] == list(range(1, len(found.runs) + 1))
    assert all(progress.done <= progress.expected for progress in seen)
    assert ended[-1].best == found.chosen
    assert {run.method for run in found.runs} == {"gather", "disassociate"}


def test_each_method_is_searched_to_its_end_on_demand(tmp_path):
    two = {"methods": ["disassociate:k=5", "gather:k=2|5,effort=fast"], "taxonomy": TREE}
    ends = {
        each: hardened(tmp_path / str(each), **two, target=0.05, each=each)
        for each in (False, True)
    }
    assert {run.name for run in ends[False].runs} <= {run.name for run in ends[True].runs}
    assert not any("given up" in note for note in ends[True].notes)
    assert ends[True].recommended == ends[False].recommended


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ({"methods": ["gather"]}, "gather needs taxonomy"),
        ({"methods": ["token-hashing"]}, "promises nothing"),
        ({"methods": ["coat"], "attacks": None}, "without a source of relatedness"),
        ({"methods": ["disassociate:k=0"]}, "k is 0"),
        ({"methods": ["nothing"]}, "no anonymizer called 'nothing'"),
        ({"target": 2}, "the target is 2"),
    ],
)
def test_what_cannot_be_hardened_is_refused_before_any_work(tmp_path, rest, message):
    with pytest.raises(ParameterError, match=message):
        hardened(tmp_path / "out", **rest)
    assert not (tmp_path / "out").exists()
