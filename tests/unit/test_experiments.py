"""The experiments' frame: figures are kept and read again, and each part of the page is its own."""

import doctest
import importlib
import re
from dataclasses import dataclass
from types import SimpleNamespace

import experiments.__main__ as frame
import pytest
from experiments import claims, elimination, tables
from experiments.claims import FAILS, HOLDS, OPEN, Claim, judged


@dataclass(frozen=True)
class Unit:
    seed: int


def result(seed):
    return [
        {"collection": "a, b", "seed": seed, "auc": 0.5 + seed / 10, "ece": None, "source": "x"}
    ]


@pytest.fixture
def place(tmp_path):
    return frame.Place(results=tmp_path / "results", page=tmp_path / "docs" / "results.md")


@pytest.fixture
def small():
    def claims(rows):
        mean = tables.over_seeds(rows, "auc")
        return [
            Claim(paper="000", says="more than half", data="some", ours=mean.text(),
                  verdict=judged(mean, least=0.5))
        ]  # fmt: skip

    return SimpleNamespace(
        NAME="small",
        TITLE="A small one",
        units=lambda seeds: [Unit(seed) for seed in range(seeds)],
        report=lambda rows, _: f"{len(rows)} rows, AUC {tables.over_seeds(rows, 'auc').value:.2f}",
        claims=claims,
    )


def test_figures_are_kept_and_read_again(tmp_path):
    kept = tmp_path / "results" / "small.csv"
    rows = [{"unit": f"seed={seed}", **row} for seed in (1, 0) for row in result(seed)]
    frame._keep(rows, kept)
    assert frame._read(kept) == sorted(rows, key=lambda row: row["seed"])
    assert frame._read(tmp_path / "none.csv") == []


def test_what_was_measured_is_not_measured_again(small, tmp_path, monkeypatch):
    monkeypatch.setattr(frame, "ProcessPoolExecutor", InOneProcess)
    small.run = lambda unit: result(unit.seed)
    kept = tmp_path / "small.csv"
    first = frame._measure(small, [], small.units(2), 1, kept)
    small.run = lambda unit: pytest.fail("measured again") if unit.seed < 2 else result(unit.seed)
    assert len(frame._measure(small, first, small.units(3), 1, kept)) == 3
    assert len(frame._read(kept)) == 3


class InOneProcess:
    def __init__(self, *args, **kwargs):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return False

    def submit(self, function, argument):
        from concurrent.futures import Future

        done = Future()
        done.set_result(function(argument))
        return done


def test_the_page_holds_every_experiment_that_was_measured(small, place):
    other = SimpleNamespace(**{**vars(small), "NAME": "other", "TITLE": "Another"})
    absent = SimpleNamespace(**{**vars(small), "NAME": "absent", "TITLE": "Not yet"})
    for experiment, seeds in ((small, (0, 1)), (other, (2,))):
        rows = [{"unit": f"seed={seed}", **row} for seed in seeds for row in result(seed)]
        frame._keep(rows, place.csv(experiment))
    frame.write_page([small, other, absent], place)
    text = place.page.read_text()
    assert text.count("## A small one") == text.count("## Another") == 1
    assert "Not yet" not in text
    assert "2 rows, AUC 0.55" in text
    assert text.count("| 000 | more than half |") == 2
    assert text.index("## Claims") < text.index("## A small one")


@pytest.mark.parametrize("name", frame.EXPERIMENTS)
def test_every_experiment_fits_the_frame(name):
    experiment = importlib.import_module(f"experiments.{name}")
    assert name == experiment.NAME
    labels = [frame._label(unit) for unit in experiment.units(2, small=True)]
    assert len(set(labels)) == len(labels) > 0
    assert not set(labels) & {frame._label(unit) for unit in experiment.units(0)}


@pytest.mark.parametrize("name", ["generalization", "uncertainty", "equivocation"])
def test_an_experiment_gives_figures_claims_and_a_page(name, place, monkeypatch):
    monkeypatch.delenv("SETVEIL_DATA", raising=False)
    experiment = importlib.import_module(f"experiments.{name}")
    if name == "generalization":
        monkeypatch.setattr(experiment, "SMALL_SIZES", (300, 600))
        monkeypatch.setattr(experiment, "RS", (5, 10))
    if name == "uncertainty":
        monkeypatch.setattr(experiment, "SMALL", 400)
    if name == "equivocation":
        monkeypatch.setattr(experiment, "TARGETS", 10)
    units = experiment.units(2, small=True)
    rows = [
        {"unit": frame._label(unit), **row} for unit in units for row in experiment.run(unit)
    ]  # fmt: skip
    frame._keep(rows, place.csv(experiment))
    frame.write_page([experiment], place)
    text = place.page.read_text()
    assert f"## {experiment.TITLE}" in text
    verdicts = {claim.verdict for claim in experiment.claims(frame._read(place.csv(experiment)))}
    assert verdicts <= {HOLDS, FAILS, OPEN}
    for image in re.findall(r"\]\((img/[^)]+)\)", text):
        assert (place.page.parent / image).read_text().startswith("<svg")


def test_examples_run():
    for module in (tables, claims, elimination):
        assert doctest.testmod(module).failed == 0


def test_report_of_elimination_says_what_is_not_reached(tmp_path):
    row = {
        "collection": "Wikipedia", "objective": "ul_per_gain", "seed": 0, "share": 0.04, "k": 4,
        "corpus": "near", "attack": "shadow", "source": "corpus, glove and trained",
    }  # fmt: skip
    figures = dict.fromkeys(elimination.FIGURES, 0.5) | {"auc": 0.96, "ece": None}
    said = elimination.report([row | figures], tmp_path / "results.md")
    assert "| Wikipedia | 4% | Shadow: AUC | ≥ 0.95 | .960 | reached |" in said
    assert "| Wikipedia | 4% | Shadow: F on kept | ≥ 0.80 | .500 | not reached |" in said
    assert "| Wikipedia | 4% | Shadow: calibration error | ≤ 0.02 | n/a | not measured |" in said
