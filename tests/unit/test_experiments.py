"""The experiments' frame: figures are kept and read again, and each part of the page is its own."""

import doctest
from dataclasses import dataclass
from types import SimpleNamespace

import experiments.__main__ as frame
import pytest
from experiments import elimination, tables


@dataclass(frozen=True)
class Unit:
    seed: int


def result(seed):
    return [
        {"collection": "a, b", "seed": seed, "auc": 0.5 + seed / 10, "ece": None, "source": "x"}
    ]


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.setattr(frame, "PAGE", tmp_path / "results.md")
    return SimpleNamespace(
        NAME="small",
        TITLE="A small one",
        units=lambda seeds: [Unit(seed) for seed in range(seeds)],
        report=lambda rows: f"{len(rows)} rows, AUC {tables.over_seeds(rows, 'auc').value:.2f}",
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
    first = frame._measure(small, [], 2, 1, kept)
    small.run = lambda unit: pytest.fail("measured again") if unit.seed < 2 else result(unit.seed)
    assert len(frame._measure(small, first, 3, 1, kept)) == 3
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


def test_each_experiment_has_its_part_of_the_page(small):
    other = SimpleNamespace(**{**vars(small), "NAME": "other", "TITLE": "Another"})
    frame._write_part(small, result(0))
    frame._write_part(other, result(1))
    frame._write_part(small, result(2))
    text = frame.PAGE.read_text()
    assert text.count("## A small one") == text.count("## Another") == 1
    assert "1 rows, AUC 0.70" in text
    assert "1 rows, AUC 0.60" in text
    assert "0.50" not in text


def test_examples_run():
    for module in (tables, elimination):
        assert doctest.testmod(module).failed == 0


def test_report_of_elimination_says_what_is_not_reached():
    row = {
        "collection": "Wikipedia", "objective": "ul_per_gain", "seed": 0, "share": 0.04, "k": 4,
        "corpus": "near", "attack": "shadow", "source": "corpus, glove and trained",
    }  # fmt: skip
    figures = dict.fromkeys(elimination.FIGURES, 0.5) | {"auc": 0.96, "ece": None}
    said = elimination.report([row | figures])
    assert "| Wikipedia | 4% | Shadow: AUC | ≥ 0.95 | .960 | reached |" in said
    assert "| Wikipedia | 4% | Shadow: F on kept | ≥ 0.80 | .500 | not reached |" in said
    assert "| Wikipedia | 4% | Shadow: calibration error | ≤ 0.02 | n/a | not measured |" in said
