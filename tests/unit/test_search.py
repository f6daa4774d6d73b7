"""The search of an audit, on invented risks and losses, against every setting there is."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setveil.audit import Adversary, Criteria, RunRecord
from setveil.audit.results import MIN_K
from setveil.audit.search import (
    DEARER,
    EXHAUSTED,
    REACHED,
    STOPPED,
    UNTESTED,
    Ladders,
    Search,
    ladders_of,
)
from setveil.audit.verdict import conclude
from setveil.core.params import SIZES
from setveil.measure import Rate

LAX = {"max_loss": 9.0, "min_k": 1}


def record(name, risk, loss, *, size=5, **rest):
    """Return a run that is safe where its risk is at or below the target."""
    one = Adversary(attack="linkage", rate=Rate.counted(risk), baseline=Rate.counted(0.0))
    said = {
        "promise": {"name": "x", "params": {}, "says": "x", "group_size": size},
        "holds": True,
        "exact": True,
        "consistent": True,
        "adversaries": (one,),
    }
    return RunRecord(
        id=name, name=name, title=name, method="x", params={}, loss=loss, **{**said, **rest}
    )


def climb(ladders, world, target, *, trials=None, **rest):
    """Search a world of runs, or (risk, loss), by name, some trials at most; return the search."""
    named = ladders if isinstance(ladders, dict) else {"x": ladders}
    search = Search(named, Criteria(target=target, **LAX), **rest)
    made = 0
    while (setting := search.next_setting()) is not None:
        if trials is not None and made >= trials:
            run = record(setting.name, 0.0, 0.0, state="skipped", error="late")
        else:
            there = world[setting.name]
            run = there if isinstance(there, RunRecord) else record(setting.name, *there)
        made += 1
        search.put(run)
    assert search.is_over
    assert search.expected == len(search.runs)
    return search


@st.composite
def worlds(draw, most=3, method="x"):
    """Draw ladders, and for all their settings risks that fall and losses that grow."""
    lengths = draw(st.lists(st.integers(1, 5), min_size=1, max_size=most))
    rungs = {"abc"[i]: tuple(range(1, n + 1)) for i, n in enumerate(lengths)}
    steps = [
        [(draw(st.integers(0, 30)), draw(st.integers(0, 30))) for _ in range(n)] for n in lengths
    ]
    start = tuple(draw(st.integers(0, n - 1)) for n in lengths)
    ladders = Ladders(method=method, rungs=rungs, start=start)
    world, places = {}, {}
    for place in product(*(range(n) for n in lengths)):
        down = sum(steps[i][j][0] for i, end in enumerate(place) for j in range(1, end + 1))
        up = sum(steps[i][j][1] for i, end in enumerate(place) for j in range(1, end + 1))
        name = ladders.at(place).name
        places[name] = place
        world[name] = (max(1 - down / 100, 0.0), up / 100)
    return ladders, world, places


@given(worlds(), st.integers(0, 100))
@settings(max_examples=150)
def test_the_target_is_reached_exactly_when_some_setting_reaches_it(drawn, percent):
    ladders, world, places = drawn
    target = percent / 100
    search = climb(ladders, world, target)
    reachable = any(risk <= target for risk, _ in world.values())
    assert search.ends == {"x": REACHED if reachable else EXHAUSTED}
    assert (search.best is not None) == reachable
    if not reachable:
        return
    # The cheapest that was tried is one from which no single step down stays safe and costs less.
    safe = {name: world[name][1] for name in search.runs if world[name][0] <= target}
    best = places[min(safe, key=lambda name: (safe[name], name))]
    for below in ladders.lowered(best):
        risk, loss = world[ladders.at(below).name]
        assert risk > target or loss >= min(safe.values())


@given(worlds(most=1), st.integers(0, 100))
@settings(max_examples=200)
def test_one_ladder_is_climbed_to_the_best_setting_there_is(drawn, percent):
    ladders, world, _ = drawn
    search = climb(ladders, world, percent / 100)
    everywhere = [loss for risk, loss in world.values() if risk <= percent / 100]
    assert bool(everywhere) == (search.best is not None)
    assert not everywhere or search.best.loss == min(everywhere)


@given(worlds(most=2), worlds(most=2, method="y"), st.integers(0, 100), st.integers(0, 12))
@settings(max_examples=150)
def test_cut_anywhere_the_best_so_far_is_the_best_of_those_tried(one, two, percent, trials):
    world = {**one[1], **two[1]}
    search = climb({"x": one[0], "y": two[0]}, world, percent / 100, trials=trials)
    tried = {run.name: run for run in search.runs.values() if run.state == "done"}
    assert len(tried) <= trials
    losses = [world[name][1] for name in tried if world[name][0] <= percent / 100]
    verdict = conclude(list(search.runs.values()), search.criteria)
    assert (search.best is None) == (not losses)
    if losses:
        assert round(search.best.loss, 3) == round(min(losses), 3)
        assert verdict.recommended == search.best.id
    else:
        assert verdict.recommended is None
    if len(tried) < len(search.runs):
        assert verdict.answer != "do-not-publish"


@given(worlds(most=2), worlds(most=2, method="y"), st.integers(0, 100))
@settings(max_examples=100)
def test_giving_up_dear_methods_loses_no_method_that_could_win_alone(one, two, percent):
    world = {**one[1], **two[1]}
    both = climb({"x": one[0], "y": two[0]}, world, percent / 100)
    ends = climb({"x": one[0], "y": two[0]}, world, percent / 100, each=True)
    assert set(both.runs) <= set(ends.runs)
    assert (both.best is None) == (ends.best is None)
    assert DEARER not in ends.ends.values()
    if ends.best is not None:
        alone = [climb(each[0], world, percent / 100).best for each in (one, two)]
        assert ends.best.loss == min(run.loss for run in alone if run is not None)


def test_what_lowers_the_risk_most_per_loss_is_raised_first():
    ladders = Ladders(method="x", rungs={"a": (1, 2), "b": (1, 2)})
    world = {
        "x-a1-b1": (0.9, 0.0),
        "x-a2-b1": (0.5, 0.4),  # 1 per loss
        "x-a1-b2": (0.7, 0.1),  # 2 per loss
        "x-a2-b2": (0.1, 0.5),
    }
    search = climb(ladders, world, 0.1)
    assert list(search.runs) == ["x-a1-b1", "x-a2-b1", "x-a1-b2", "x-a2-b2"]
    assert search.ends == {"x": REACHED}


SAFE = Ladders(method="y", rungs={"a": (1,)})
CLIMB = Ladders(method="x", rungs={"a": (1, 2, 3)})
WORLD = {"y-a1": (0.0, 0.3), "x-a1": (0.9, 0.1), "x-a2": (0.8, 0.5), "x-a3": (0.0, 0.6)}


def test_a_method_is_given_up_that_loses_more_than_a_safe_one():
    search = climb({"y": SAFE, "x": CLIMB}, WORLD, 0.1)
    assert search.ends == {"y": REACHED, "x": DEARER}
    assert "x-a3" not in search.runs
    assert climb({"y": SAFE, "x": CLIMB}, WORLD, 0.1, each=True).ends["x"] == REACHED


def test_one_that_needs_care_does_not_end_the_search_for_one_that_needs_none():
    world = {**WORLD, "y-a1": record("y-a1", 0.0, 0.3, size=None)}
    search = climb({"y": SAFE, "x": CLIMB}, world, 0.1)
    assert search.best.name == "x-a3"
    assert conclude(list(search.runs.values()), search.criteria).recommended == "x-a3"


@pytest.mark.parametrize(
    ("state", "why"),
    [("skipped", STOPPED), ("failed", "its first setting failed: no records")],
)
def test_a_search_ends_whose_first_run_does_not(state, why):
    ended = record("x-a1", 0.5, 0.5, state=state, error="no records")
    search = climb(CLIMB, {"x-a1": ended}, 0.1)
    assert search.ends == {"x": why}
    assert list(search.runs) == ["x-a1"]


def test_where_the_data_does_not_allow_the_first_setting_a_weaker_one_begins():
    ladders = Ladders(method="x", rungs={"a": (1, 2, 3)}, start=(2,))
    refused = {
        name: record(name, 0, 0, state="inapplicable", error="no") for name in ("x-a2", "x-a3")
    }
    search = climb(ladders, {**refused, "x-a1": (0.05, 0.2)}, 0.1)
    assert list(search.runs) == ["x-a3", "x-a2", "x-a1"]
    assert search.best.name == "x-a1"


def test_steps_that_fail_are_not_taken():
    ladders = Ladders(method="x", rungs={"a": (1, 2), "b": (1, 2)})
    world = {
        "x-a1-b1": (0.5, 0.1),
        "x-a2-b1": record("x-a2-b1", 0.0, 0.0, state="failed"),
        "x-a1-b2": (0.4, 0.3),
        "x-a2-b2": (0.1, 0.4),
    }
    assert list(climb(ladders, world, 0.2).runs) == ["x-a1-b1", "x-a2-b1", "x-a1-b2", "x-a2-b2"]


def test_where_attacks_are_missing_nothing_stronger_is_tried():
    safe = record("x-a1", 0.05, 0.1, missing=("inference",))
    search = climb(CLIMB, {"x-a1": safe}, 0.1)
    assert search.ends == {"x": UNTESTED}
    assert search.best is None


def test_two_texts_with_a_setting_in_common_try_it_once():
    ladders = {"x": CLIMB, "x:a=2|3": Ladders(method="x", rungs={"a": (2, 3)})}
    search = climb(ladders, WORLD, 0.1)
    assert sorted(search.runs) == ["x-a1", "x-a2", "x-a3"]
    assert search.ends == dict.fromkeys(ladders, REACHED)


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("min_k", [1, 2, 5, 7, 60])
@pytest.mark.parametrize("method", ["disassociate", "gather", "coat", "apriori-km"])
def test_no_k_below_the_floor_is_tried_unless_it_is_named(method, min_k, free):
    found = ladders_of(method, records=200, free=free, min_k=min_k)
    sizes = found.rungs["k"]
    assert sizes[0] == min_k
    assert list(sizes) == sorted(set(sizes))
    assert set(sizes) - {min_k} == {size for size in SIZES if min_k < size <= 100}
    assert found.at(found.start).params["k"] >= min_k
    named = ladders_of(f"{method}:k=2", records=200, free=free, min_k=min_k)
    assert named.at(named.start).params["k"] == 2
    searched = ladders_of(f"{method}:k=2|9", records=200, free=free, min_k=min_k)
    assert searched.rungs["k"] == (2, 9)


def test_the_floor_of_an_audit_is_five():
    assert MIN_K == 5
    assert ladders_of("gather", records=200).rungs["k"][0] == 5
