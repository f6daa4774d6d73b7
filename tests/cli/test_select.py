"""``setveil select``."""

import json

import pytest

from setveil.io.readers import read
from setveil.measure.profile import cell_density, ttr


def test_a_wished_ttr(clinic):
    out = clinic.folder / "chosen.csv"
    result = clinic.run(
        "select", clinic.data, "--ttr", 0.5, "--size", 4, "--seed", 1, "-o", out, "--quiet"
    )
    assert result.exit_code == 0
    chosen = read(out)
    assert len(chosen) == 4
    assert ttr(chosen) == pytest.approx(0.5, abs=0.01)
    assert "type-token ratio (ttr)    0.5" in result.stdout
    assert "ttr of as many at random" in result.stdout


def test_a_wished_cell_density(clinic):
    out = clinic.folder / "chosen.jsonl"
    groups = clinic.folder / "groups.csv"
    groups.write_text("flu,cold\ncough,fever,asthma\n")
    result = clinic.run(
        *["select", clinic.data, "--cell-density", 0.5, "--groups", groups, "--size", 3],
        *["--seed", 1, "-o", out, "--json", "--quiet"],
    )
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert found["records"] == len(lines) == 3
    density = cell_density(read(out), [["flu", "cold"], ["cough", "fever", "asthma"]])
    assert found["cell_density"] == density == pytest.approx(0.5, abs=0.01)
    assert found["wished"] == 0.5
    assert 0 < found["at_random"] < 1


def test_without_a_wish_records_are_drawn_at_random(clinic):
    out = clinic.folder / "some.jsonl"
    result = clinic.run("select", clinic.data, "--size", 8, "-o", out, "--json", "--quiet")
    found = json.loads(result.stdout)
    assert (found["records"], found["items"], found["occurrences"]) == (8, 5, 16)
    assert (found["cell_density"], found["wished"], found["at_random"]) == (None, None, None)
    assert sorted(map(sorted, read(out))) == sorted(map(sorted, read(clinic.data)))


def test_the_same_seed_gives_the_same_file_whatever_the_order(clinic):
    files = []
    for turn in (1, 2):
        out = clinic.folder / f"{turn}.csv"
        options = ["--ttr", 0.5, "--size", 4, "--length", 2, "--seed", 3, "-o", out]
        assert clinic.run("select", clinic.data, *options).exit_code == 0
        files.append(out.read_bytes())
        clinic.data.write_text("".join(sorted(clinic.data.read_text().splitlines(keepends=True))))
    assert files[0] == files[1]


def test_records_can_go_to_the_standard_output(clinic):
    result = clinic.run("select", clinic.data, "--size", 2, "-o", "-", "--to", "jsonl", "--quiet")
    assert len([json.loads(line) for line in result.stdout.splitlines()]) == 2


def test_what_cannot_be_is_said_with_the_range(clinic):
    out = clinic.folder / "out.csv"
    result = clinic.run("select", clinic.data, "--ttr", 0.1, "--size", 4, "-o", out, "--quiet")
    assert result.exit_code == 2
    assert "no 4 of the 8 records have a ttr of 0.1 (±0.01): they have 0.4" in result.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--ttr", 0.5, "--cell-density", 0.5], "cannot be given together"),
        (["--cell-density", 0.5], "go together"),
        (["--groups", "tree.csv"], "go together"),
        (["--length", 3], "--length is for --ttr"),
        (["--ttr", 1.5], "the wished value is 1.5"),
        (["--ttr", 0.5, "--tolerance", -1], "the tolerance is -1"),
        (["--ttr", 0.5, "--size", 9], "9 records cannot be chosen from 8"),
        (["--size", 0], "'--size'"),
        (["-o", "tree.csv"], "it exists already"),
        (["-o", "visits.jsonl"], "would replace a file that this command reads"),
        (["-o", "out"], "does not say which format"),
        (["--cell-density", 0.5, "--groups", "nowhere.csv"], "there is no such file"),
        (["--cell-density", 0.5, "--groups", "sensitive.txt"], "no record holds a member"),
    ],
)
def test_wrong_use_exits_with_2_and_writes_nothing(clinic, monkeypatch, options, said):
    monkeypatch.chdir(clinic.folder)
    before = clinic.names()
    result = clinic.run("select", clinic.data, "--size", 2, "-o", "out.csv", *options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert clinic.names() == before
