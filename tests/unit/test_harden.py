"""Hardening: the search against every setting there is, and what it says when it ends."""

import math
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setveil import Taxonomy, TransactionTable, load_release
from setveil.audit import Adversary, RunRecord, audit, harden, load_audit, working
from setveil.audit.climbing import DEARER, EXHAUSTED, REACHED, STOPPED, climbing
from setveil.audit.ladder import Ladders, ladders_of
from setveil.audit.run import build, run_method
from setveil.audit.utility import utility_of
from setveil.errors import ParameterError
from setveil.measure import Rate
from setveil.registry import entries

ROWS = [["flu", "gout"], ["flu", "rash"], ["flu"], ["gout", "rash", "mumps"], ["flu", "mumps"]]
TABLE = TransactionTable.from_rows(ROWS * 8)
TREE = Taxonomy.from_parents(
    {"flu": "virus", "mumps": "virus", "gout": "joints", "virus": "any", "joints": "any",
     "rash": "skin", "skin": "any"}
)  # fmt: skip
METHOD = "disassociate:m=2"


def hardened(out, **rest):
    said = {"methods": [METHOD], "attacks": ["linkage"], "known": [2], "workers": 0, "seed": 1}
    return harden(TABLE, out=out, **{**said, **rest})


# --- the search alone, on invented risks ----------------------------------------------------------


def record(name, risk, loss, **rest):
    one = Adversary(attack="linkage", rate=Rate.counted(risk), baseline=Rate.counted(0.0))
    return RunRecord(
        id=name, name=name, title=name, method="x", params={}, loss=loss, adversaries=(one,), **rest
    )


def climbed(ladders, world, target, least=math.inf):
    """Drive a search over a world of (risk, loss) by name; return what was tried, and its end."""
    tried = {}
    climb = climbing(ladders, lambda run: run.risk <= target, lambda: least)
    asked = next(climb)
    while True:
        found = {each.name: record(each.name, *world[each.name]) for each in asked}
        tried |= found
        try:
            asked = climb.send(found)
        except StopIteration as end:
            return tried, end.value


@st.composite
def worlds(draw):
    """Draw ladders, and for all their settings risks that fall and losses that grow."""
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    rungs = {"abc"[i]: tuple(range(1, n + 1)) for i, n in enumerate(lengths)}
    steps = [
        [(draw(st.integers(0, 30)), draw(st.integers(0, 30))) for _ in range(n)] for n in lengths
    ]
    ladders = Ladders(method="x", rungs=rungs)
    world, places = {}, {}
    for place in product(*(range(n) for n in lengths)):
        down = sum(steps[i][j][0] for i, end in enumerate(place) for j in range(1, end + 1))
        up = sum(steps[i][j][1] for i, end in enumerate(place) for j in range(1, end + 1))
        name = ladders.at(place).name
        places[name] = place
        world[name] = (max(1 - down / 100, 0.0), up / 100)
    return ladders, world, places


@given(worlds(), st.integers(0, 100))
@settings(max_examples=150, deadline=None)
def test_the_target_is_reached_exactly_when_some_setting_reaches_it(drawn, percent):
    ladders, world, places = drawn
    target = percent / 100
    tried, why = climbed(ladders, world, target)
    assert set(tried) <= set(world)
    reachable = any(risk <= target for risk, _ in world.values())
    assert why == (REACHED if reachable else EXHAUSTED)
    if not reachable:
        return
    # The cheapest that was tried is one from which no single step down stays safe and costs less.
    safe = {name: world[name][1] for name in tried if world[name][0] <= target}
    best = places[min(safe, key=lambda name: (safe[name], name))]
    for below in ladders.lowered(best):
        risk, loss = world[ladders.at(below).name]
        assert risk > target or loss >= min(safe.values())


@given(worlds(), st.integers(0, 100))
@settings(max_examples=50, deadline=None)
def test_one_ladder_is_climbed_to_the_best_setting_there_is(drawn, percent):
    ladders, world, _ = drawn
    alone = Ladders(method="x", rungs=dict([next(iter(ladders.rungs.items()))]))
    inner = {
        alone.at((place,)).name: world[ladders.at((place, *ladders.start[1:])).name]
        for place in range(len(next(iter(alone.rungs.values()))))
    }
    tried, _ = climbed(alone, inner, percent / 100)
    everywhere = [loss for risk, loss in inner.values() if risk <= percent / 100]
    found = [inner[name][1] for name in tried if inner[name][0] <= percent / 100]
    assert bool(everywhere) == bool(found)
    assert not everywhere or min(found) == min(everywhere)


def test_what_lowers_the_risk_most_per_loss_is_raised_first():
    ladders = Ladders(method="x", rungs={"a": (1, 2), "b": (1, 2)})
    world = {
        "x-a1-b1": (0.9, 0.0),
        "x-a2-b1": (0.5, 0.4),  # 1 per loss
        "x-a1-b2": (0.7, 0.1),  # 2 per loss
        "x-a2-b2": (0.1, 0.5),
    }
    tried, why = climbed(ladders, world, 0.1)
    assert list(tried) == ["x-a1-b1", "x-a2-b1", "x-a1-b2", "x-a2-b2"]
    assert why == REACHED


def test_a_method_is_given_up_that_loses_more_than_a_safe_one():
    ladders = Ladders(method="x", rungs={"a": (1, 2, 3)})
    world = {"x-a1": (0.9, 0.1), "x-a2": (0.8, 0.5), "x-a3": (0.0, 0.6)}
    tried, why = climbed(ladders, world, 0.1, least=0.3)
    assert why == DEARER
    assert "x-a3" not in tried


@pytest.mark.parametrize(("state", "why"), [("skipped", STOPPED), ("failed", "no records")])
def test_a_search_ends_whose_first_run_does_not(state, why):
    climb = climbing(Ladders(method="x", rungs={"a": (1, 2)}), lambda _: False, lambda: math.inf)
    next(climb)
    ended = record("x-a1", 0.5, 0.5, state=state, error="no records")
    with pytest.raises(StopIteration) as end:
        climb.send({"x-a1": ended})
    assert why in end.value.value


def test_steps_that_fail_are_not_taken():
    climb = climbing(
        Ladders(method="x", rungs={"a": (1, 2), "b": (1, 2)}), lambda run: run.risk < 0.2, lambda: 9
    )
    next(climb)
    climb.send({"x-a1-b1": record("x-a1-b1", 0.5, 0.1)})
    failed = record("x-a2-b1", 0.0, 0.0, state="failed")
    asked = climb.send({"x-a2-b1": failed, "x-a1-b2": record("x-a1-b2", 0.4, 0.3)})
    assert [each.name for each in asked] == ["x-a2-b2"]


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
    assert ladders_of("gather", records=40).rungs["k"] == (2, 5, 10)


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
    ladders = ladders_of(METHOD, records=len(TABLE))
    every = product(*(range(len(rungs)) for rungs in ladders.rungs.values()))
    texts = []
    for position in every:
        params = ladders.at(position).params
        listed = ",".join(f"{name}={str(value).lower()}" for name, value in params.items())
        texts.append(f"disassociate:{listed}")
    found = audit(
        TABLE, out=tmp_path_factory.mktemp("grid") / "out", methods=texts, attacks=["linkage"],
        known=[2], workers=0, seed=1,
    )  # fmt: skip
    assert len(found.runs) == len(texts)
    return {run.name: run for run in found.runs}


def worst(run):
    """Return the risk of a run from its scores alone."""
    gains = []
    for each in run.adversaries:
        high, low = each.scores["named_high"], each.scores["named_random"]
        gains.append(max((high - low) / (1 - low), 0.0))
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
    assert "no stronger setting is left" in found.notes[0]
    assert "None of the" in found.reasons[0]


def test_a_second_call_makes_nothing_again(tmp_path, monkeypatch):
    first = hardened(tmp_path, target=0.04)

    def never(*_):
        raise AssertionError

    monkeypatch.setattr(working, "perform", never)
    assert hardened(tmp_path, target=0.04) == first


def test_the_budget_ends_the_search_with_what_there_is(tmp_path):
    found = hardened(tmp_path, target=0.0, budget=1e-6)
    assert found.recommended is None
    assert [run.state for run in found.runs] == ["skipped"]
    assert "1 setting tried; stopped by the budget" in found.notes[0]


def test_methods_are_searched_side_by_side(tmp_path):
    seen = []
    found = hardened(
        tmp_path,
        methods=["gather:effort=fast", METHOD],
        taxonomy=TREE,
        target=0.04,
        told=lambda run, done, total: seen.append((run.method, done, total)),
    )
    assert [method for method, _, _ in seen[:2]] == ["gather", "disassociate"]
    assert [done for _, done, _ in seen] == list(range(1, len(found.runs) + 1))
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
