"""The experiments' frame: figures are kept and read again, and each part of the page is its own."""

import doctest
import importlib
import re
from dataclasses import dataclass
from types import SimpleNamespace

import experiments.__main__ as frame
import numpy as np
import pytest
from experiments import (
    baskets,
    calibration,
    claims,
    density,
    density_report,
    distinct_terms,
    distinct_terms_report,
    elimination,
    generalization,
    lengths,
    own_files,
    tables,
    uncertainty,
    wished_density,
)
from experiments.claims import FAILS, HOLDS, OPEN, Claim, judged

from setveil import TransactionTable
from setveil.attack.elimination.elimination_score import AttackedCells
from setveil.core.interval import clustered_share
from setveil.measure.profile import cell_density


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
    own = (baskets, calibration, density, distinct_terms, generalization, lengths, own_files,
           uncertainty, wished_density)  # fmt: skip
    for module in (tables, claims, elimination, *own):
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


# --- stated chances -----------------------------------------------------------------------------


BOUNDS = {
    "≤ .01": lambda p: p <= 0.01,
    ".01–.05": lambda p: 0.01 < p <= 0.05,
    ".05–.95": lambda p: 0.05 < p < 0.95,
    ".95–.99": lambda p: 0.95 <= p < 0.99,
    "≥ .99": lambda p: p >= 0.99,
    "all": lambda p: 0 <= p <= 1,
}


def attacked_cells(seed):
    rng = np.random.default_rng(seed)
    table = np.repeat(np.arange(60), rng.integers(1, 9, 60))
    stated = np.concatenate([[0.01, 0.05, 0.95, 0.99], rng.beta(0.2, 0.2, len(table) - 4)])
    added = rng.random(len(table)) < stated
    return AttackedCells(
        table=table, record=np.arange(len(table)), added=added, eliminated=stated > 0.5,
        scores=stated, probabilities=stated, share=1.0,
    )  # fmt: skip


@pytest.mark.parametrize("name", [*calibration.RANGES, calibration.ALL])
def test_counts_of_a_range_are_those_of_its_cells(name):
    parts, wholes, stated, rows = [], [], [], []
    for seed in (0, 1):
        cells = attacked_cells(seed)
        rows += tables.chosen(list(calibration.count_ranges(cells)), range=name)
        for item in range(60):
            own = [(p, a) for t, p, a in zip(cells.table, cells.scores, cells.added, strict=True)
                   if t == item and BOUNDS[name](p)]  # fmt: skip
            parts.append(sum(a for _, a in own))
            wholes.append(len(own))
            stated += [p for p, _ in own]
    share = calibration.added_share(rows)
    expected = clustered_share(sorted(parts), np.array(wholes)[np.argsort(parts, kind="stable")])
    assert (share.value, share.low, share.high) == pytest.approx(
        (expected.value, expected.low, expected.high), abs=1e-6
    )
    items, cells, added, mean, *_ = calibration._figures(rows)
    assert (items, cells, added) == (
        str(np.count_nonzero(wholes)), str(len(stated)), str(sum(parts))
    )  # fmt: skip
    assert mean == f"{np.mean(stated):.4f}"


def test_report_of_calibration_adds_up_the_runs(tmp_path):
    rows = [
        {"collection": collection, "percent": 10, "seed": seed, "auc": 0.9 + seed / 100, **row}
        for collection in ("Wikipedia", "MedQuAD, 602 records")
        for seed in (0, 1)
        for row in calibration.count_ranges(attacked_cells(seed))
        if row["range"] != "≥ .99"
    ]
    said = calibration.report(rows, tmp_path / "results.md")
    cells = sum(len(attacked_cells(seed).table) for seed in (0, 1))
    assert "4 runs" in said
    assert f"| Wikipedia, 10% constrained | 2 | 120 | {cells:,} |" in said
    assert ".905 ± .064 |" in said
    assert "| Wikipedia, 10% constrained | ≥ .99 | 0 | 0 | 0 | n/a | n/a | n/a |" in said


def test_the_page_on_attacks_says_what_was_measured():
    place = frame.Place.of(small=False)
    rows = frame._read(place.csv(calibration))
    runs = {(row["collection"], row["percent"], row["seed"]) for row in rows}
    assert runs == {("Wikipedia", 10, seed) for seed in range(5, 10)} | {
        ("MedQuAD, 602 records", percent, seed) for percent in (4, 10) for seed in range(6)
    }
    said = place.page.with_name("attacks.md").read_text()
    cells = sum(row["items"] * row["cells"] for row in tables.chosen(rows, range="all"))
    assert f"{len(runs)} runs, {cells:,} cells" in said
    for name, start in (("≤ .01", "at most 0.01"), ("≥ .99", "at least 0.99")):
        _, cells, added, mean, share, ends = calibration._figures(tables.chosen(rows, range=name))
        cells_with = r"Of the [\d,]+ cells with (?:a stated chance of )?"
        (sentence,) = re.findall(rf"{cells_with}{start}, .*?\. ", said)
        assert sentence.startswith(f"Of the {cells} cells")
        assert f", {added} w" in sentence
        assert f"{share} (" in sentence
        assert f"{ends}), where {mean} was stated" in sentence
    for name in (".01–.05", ".05–.95"):
        *_, mean, share, ends = calibration._figures(tables.chosen(rows, range=name))
        assert f"({mean}, where {share} were added; {ends})" in said
    less = []
    for name, percent in {run[:2] for run in runs}:
        own = tables.chosen(rows, collection=name, percent=percent, range="all")
        *_, mean, share, _ = calibration._figures(own)
        less.append(float(share) - float(mean))
    assert f"three settings, by {min(less):.4f} to {max(less):.4f}" in said


# --- sets of a wished density -------------------------------------------------------------------


def sparse_records():
    """Two hundred records of items that mostly occur once or twice, some of them together."""
    rng = np.random.default_rng(3)
    rows = []
    for topic in range(20):
        words = [f"w{topic}-{i}" for i in range(40)]
        rows += [rng.choice(words, 8, replace=False).tolist() for _ in range(10)]
    return TransactionTable.from_rows(rows)


@pytest.mark.parametrize("density", [0.1, 0.2, 0.3, 0.5, 0.6])
@pytest.mark.parametrize("k", [3, 4])
def test_sets_have_the_wished_density_and_keep_their_promise(density, k):
    table = sparse_records()
    method = wished_density.WishedDensity(k=k, density=density)
    made = method.anonymize(table, rng=np.random.default_rng(1))
    groups = [group for group in made.release.groups if len(group) > 1]
    assert groups
    assert cell_density(table, groups) == pytest.approx(density, abs=0.06)
    assert made.promise.check(made.release).holds


def test_a_set_that_cannot_grow_is_not_published():
    table = TransactionTable.from_rows([["a"], ["b"]])
    made = wished_density.WishedDensity(k=5, density=0.5, constrained=1).anonymize(
        table, rng=np.random.default_rng(0)
    )
    assert made.release.groups == ()


# --- claims and pages from invented figures -----------------------------------------------------


def density_rows(precision):
    rows = []
    blank = density._blank()
    for seed in (0, 1, 2):
        few = {"collection": "Wikipedia", "seed": seed}
        for attack in density_report.ORDER:
            own = blank | few | dict.fromkeys(elimination.FIGURES, 0.5)
            own |= {"attack": attack, "recall": 0.8, "members": 4.0,
                    "f1": 0.7 + (attack == "rba") / 10 + seed / 1000}  # fmt: skip
            rows += [
                own | {"part": "k", "k": k, "wished": 0.22, "precision": precision + seed / 1000}
                for k in density_report.KS
            ]
            rows += [
                own | {"part": "density", "k": 4, "wished": wished, "precision": 1 - wished}
                for wished in density_report.DENSITIES
            ]
            rows += [
                own | {"part": "utility", "k": 4, "utility": name} for name in ("any", "consistent")
            ]
        rows += [
            blank | few | {"part": "time", "attack": attack, "cells": cells,
                           "microseconds": cells * 1.0 + seed}
            for attack in density_report.TIMED
            for cells in (100, 400, 1600)
        ]  # fmt: skip
    return rows


def test_claims_on_density_follow_the_figures(tmp_path):
    said = {(c.says, c.data.split(",")[-2].strip()): c.verdict
            for c in density_report.claims(density_rows(0.9))}  # fmt: skip
    verdicts = {}
    for (says, _), verdict in said.items():
        verdicts.setdefault(says, set()).add(verdict)
    assert verdicts["RBA is the best of the six attacks in F"] == {HOLDS}
    assert verdicts["precision falls as cells are denser, recall does not"] == {HOLDS}
    assert verdicts["the time of TBA grows linearly with the cells"] == {HOLDS}
    headline = "about 70% of the added items are found, with a precision above 80%"
    assert verdicts[headline] == {HOLDS}
    worse = [c for c in density_report.claims(density_rows(0.5)) if c.says == headline]
    assert [c.verdict for c in worse] == [FAILS]
    page = density_report.report(density_rows(0.9), tmp_path / "results.md")
    for image in re.findall(r"\]\((img/[^)]+)\)", page):
        assert (tmp_path / image).read_text().startswith("<svg")


def test_attacks_are_timed_on_tables_of_each_size():
    rows = list(density.timed(0, (4, 8)))
    assert {row["cells"] for row in rows} == {16, 64}
    assert {row["attack"] for row in rows} == set(density_report.TIMED)
    assert all(row["microseconds"] >= 0 for row in rows)


def term_rows(slope):
    names = [f + scope for f in distinct_terms_report.FIGURES for scope in ("", "_records")]
    places = [("ttr", (0.2, 0.4)), ("k", (2, 5)), ("size", (4, 64))]
    return [
        {"axis": axis, "collection": "Wikipedia", "seed": seed, "value": value, "ttr": 0.5, "k": 2,
         "size": 4, "attack": attack, "source": source,
         **{name: 0.3 + slope * place + seed / 1000 + (attack in {"aba", "vpa"}) / 100
            for name in names}}
        for seed in (0, 1, 2)
        for axis, values in places
        for place, value in enumerate(values)
        for attack, source in [("random", "none"), ("prior", "none"), ("aba", "ngd"),
                               ("aba", "glove"), ("rga", "ngd"), ("mra", "ngd"), ("vpa", "ngd")]
    ]  # fmt: skip


def test_claims_on_distinct_terms_follow_the_figures(tmp_path):
    rising = {c.says: c for c in distinct_terms_report.claims(term_rows(0.1))}
    falling = {c.says: c for c in distinct_terms_report.claims(term_rows(-0.1))}
    for says in ("accuracy grows as more terms are distinct", "accuracy grows with k"):
        assert (rising[says].verdict, falling[says].verdict) == (HOLDS, FAILS)
        assert "random: -.100 ± .000" in falling[says].why
    says = "accuracy falls as clusters grow"
    assert (rising[says].verdict, falling[says].verdict) == (FAILS, HOLDS)
    page = distinct_terms_report.report(term_rows(0.1), tmp_path / "results.md")
    assert "| accuracy | record chunks | aba | glove |" in page


def test_exchanged_baskets_keep_lengths_and_supports():
    table = sparse_records()
    mixed = baskets.exchanged(table, np.random.default_rng(1))
    assert mixed.lengths.tolist() == table.lengths.tolist()
    by_name = [
        dict(zip(t.vocabulary.names, t.supports().tolist(), strict=True)) for t in (table, mixed)
    ]
    assert by_name[0] == by_name[1]
    assert mixed.to_rows() != table.to_rows()


def test_baskets_are_measured_and_judged(data_dir, monkeypatch, tmp_path):
    monkeypatch.setenv("SETVEIL_DATA", str(data_dir))
    monkeypatch.setattr(baskets, "SMALL", 150)
    rows = [row for unit in baskets.units(2, small=True) for row in baskets.run(unit)]
    assert {row["method"] for row in rows} == set(uncertainty.METHODS)
    assert {claim.verdict for claim in baskets.claims(rows)} <= {HOLDS, FAILS, OPEN}
    assert "| 40% | 2 | exchanged | Simple |" in baskets.report(rows, tmp_path / "results.md")


def test_baskets_by_length_are_measured_and_judged(data_dir, monkeypatch, tmp_path):
    monkeypatch.setenv("SETVEIL_DATA", str(data_dir))
    monkeypatch.setattr(lengths, "SMALL", 60)
    rows = [row for unit in lengths.units(2, small=True) for row in lengths.run(unit)]
    assert [claim.verdict for claim in lengths.claims(rows)].count(FAILS) == 0
    assert "| own | 1 to 2 | Partition |" in lengths.report(rows, tmp_path / "results.md")


# --- files of the user's ------------------------------------------------------------------------


@pytest.fixture
def own_place(tmp_path, monkeypatch):
    monkeypatch.setattr(frame, "HERE", tmp_path / "experiments")
    monkeypatch.setattr(frame, "ProcessPoolExecutor", InOneProcess)
    monkeypatch.setattr(frame, "as_completed", list)
    monkeypatch.setattr(generalization, "RS", (5, 10))
    return tmp_path / "build" / "experiments"


@pytest.mark.parametrize("name", ["generalization", "uncertainty"])
def test_an_experiment_runs_on_a_file_of_the_users(name, own_place, tmp_path):
    file = tmp_path / "my-shop.dat"
    rng = np.random.default_rng(5)
    rows = [rng.choice(30, rng.integers(1, 6), replace=False) for _ in range(240)]
    file.write_text("\n".join(" ".join(map(str, row)) for row in rows) + "\n")
    assert frame.main([name, "--data", str(file), "--small", "--workers", "1"]) == 0
    text = (own_place / "my-shop" / "results.md").read_text()
    assert "my-shop" in text
    assert "look-alike" not in text
    assert (own_place / "my-shop" / f"{name}.csv").exists()
    assert not (tmp_path / "experiments" / "results").exists()


def test_a_file_that_cannot_be_read_is_said(own_place, tmp_path, capsys):
    assert frame.main(["uncertainty", "--data", str(tmp_path / "none.dat")]) == 2
    assert "none.dat" in capsys.readouterr().err
    assert not own_place.exists()


def test_only_some_experiments_take_files(tmp_path, capsys):
    with pytest.raises(SystemExit):
        frame.main(["elimination", "--data", str(tmp_path / "x.dat")])
    assert "--data is for generalization and uncertainty" in capsys.readouterr().err
