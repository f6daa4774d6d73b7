"""A million inputs from strangers: each is accepted or refused, soon, small and in a sentence.

What counts as a traceback, a hang or a blow-up of memory is said in ``campaign.py``.
"""

# ruff: noqa: T201  (figures, which pytest shows on demand)
import sys

import pytest
from tests.adversarial.fuzz import campaign
from tests.adversarial.fuzz.targets import TARGETS

FEW = {"readers": 1_000, "audits": 200}
"""Inputs of each target in `make test-ci`; 300 of the others."""


def check(figures, target, count):
    print(figures.line())
    said = [text for alike in figures.failures.values() for text in alike]
    assert not said, "\n\n".join([figures.line(), *said])
    assert figures.outcomes.total() == count
    assert min(figures.outcomes[outcome] for outcome in campaign.GOOD) > target.least * count


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_some_inputs(tmp_path, target):
    count = FEW.get(target.name, 300)
    check(campaign.run(target, count, tmp_path, workers=1), target, count)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_a_million_inputs(tmp_path, target):
    check(campaign.run(target, target.inputs, tmp_path, workers=1), target, target.inputs)


def test_they_are_a_million():
    assert sum(target.inputs for target in TARGETS.values()) >= 1_000_000


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_inputs_are_made_of_their_numbers(tmp_path, target):
    known = []
    for name in "ab":
        (tmp_path / name).mkdir()
        known.append(target.seeds(tmp_path / name))
    one, other = known
    # Workbooks and databases hold the time at which they were written.
    same = [i for i, seed in enumerate(one) if seed == other[i]]
    assert len(same) > 0.8 * len(one)
    made = [target.made(number, one) for number in range(200)]
    assert made == [target.made(number, one) for number in range(200)]
    assert len({repr(each) for each in made}) > 150


DEADLY = """
import os, random, sys, time
from tests.adversarial.fuzz import __main__ as main, campaign

def change(draw, known):
    change.calls += 1
    return campaign.Case(files={"a": b"%d" % change.calls})

def use(folder, case):
    number = int((folder / "a").read_bytes()) + int(sys.argv[4])
    if number == 1:
        raise ValueError("a traceback")
    if number == 2:
        os.abort()
    if number == 3:
        while True:
            pass
    if number == 4:
        time.sleep(60)
    if number == 5:
        bytearray(2 * campaign.MEMORY)
    if number == 6:
        held = b"x" * (campaign.GROWTH + (20 << 20))
    if number == 7:
        raise campaign.SetveilError("no", lines=["no"] * campaign.LONGEST)
    if number == 8:
        raise campaign.SetveilError("no")

change.calls = -1
campaign.SECONDS, campaign.WALL, campaign.GROWTH = 1, 12, 50 << 20
seeds = lambda folder: [campaign.Case(files={"a": b"-999"})]
main.TARGETS["deadly"] = campaign.Target(
    name="deadly", inputs=9, seeds=seeds, change=change, use=use
)
main.main(sys.argv[1:])
"""


def test_failures_are_noticed(tmp_path, monkeypatch):
    """What the campaign looks for is found: it would be worth nothing otherwise."""
    (tmp_path / "deadly.py").write_text(DEADLY)
    monkeypatch.setattr(campaign, "COMMAND", [sys.executable, tmp_path / "deadly.py"])
    monkeypatch.setenv("PYTHONPATH", ".")
    deadly = campaign.Target(name="deadly", inputs=9, seeds=None, change=None, use=None)
    figures = campaign.run(deadly, 9, tmp_path, workers=1)
    assert figures.outcomes == {
        "accepted": 1,
        "refused": 1,
        "traceback": 3,
        "abort": 1,
        "hang": 2,
        "memory": 1,
    }
    said = "".join(text for alike in figures.failures.values() for text in alike)
    for words in ("ValueError: a traceback", "SIGABRT", "SIGPROF", "SIGALRM", "MemoryError"):
        assert words in said
    assert "bytes more" in said
    assert "a message of 30,002 characters" in said
    # Where a process ended, its last input is still there.
    assert len(list(tmp_path.glob("0/*/case/a"))) == 3


def test_seeds_that_are_refused_are_noticed(tmp_path):
    def refuse(*_):
        raise campaign.SetveilError("no")

    case = campaign.Case(files={"a": b""})
    target = campaign.Target(name="a", inputs=1, seeds=None, change=None, use=refuse)
    with pytest.raises(AssertionError, match="no"):
        campaign.warm_up(target, [case], tmp_path)
