"""``setveil taxonomy``."""

import json

import pytest

from setveil import Taxonomy
from setveil.cli.taxonomy import scientific


def test_check_prints_facts(clinic):
    result = clinic.run("taxonomy", "check", clinic.tree)
    assert result.exit_code == 0, result.output
    rows = dict(line.rsplit(maxsplit=1) for line in result.stdout.splitlines())
    assert rows["nodes"] == "10"
    assert rows["leaves"] == "5"
    assert rows["height"] == "3"
    # infection: 2, chronic: 2, condition: 2 x 2 + 1, symptom: 2, finding: 5 x 2 + 1
    assert rows["number of cuts"] == "11"
    assert "items missing" not in rows
    assert "read as edges (guessed: " in result.stderr
    assert "Traceback" not in result.output


def test_check_against_data(clinic):
    result = clinic.run("taxonomy", "check", clinic.tree, "--data", clinic.data, "--json", "-q")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    told = json.loads(result.stdout)
    assert (told["schema"], told["items"], told["items_missing"], told["missing"]) == (2, 5, 0, [])
    assert (told["format"], told["number_of_cuts"]) == ("edges", "11")


def test_missing_items_exit_with_1(clinic):
    clinic.tree.write_text("flu,infection\ncold,infection\ninfection,finding\n")
    result = clinic.run("taxonomy", "check", clinic.tree, "--data", clinic.data)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[-3:] == ["missing: asthma", "missing: cough", "missing: fever"]
    told = clinic.run("taxonomy", "check", clinic.tree, "--data", clinic.data, "--json").stdout
    assert json.loads(told)["missing"] == ["asthma", "cough", "fever"]


def test_several_parents(clinic):
    clinic.tree.write_text(clinic.tree.read_text() + "asthma,infection\n")
    result = clinic.run("taxonomy", "check", clinic.tree)
    assert result.exit_code == 2
    assert "tree.csv, line 10: 'asthma' has several parents" in result.stderr
    assert "--parents first" in result.stderr
    result = clinic.run("taxonomy", "check", clinic.tree, "--parents", "first", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["several_parents"] == 1
    assert "asthma → infection" in result.stderr


def test_build(clinic):
    out = clinic.folder / "built.csv"
    options = ["--fanout", "2", "-o", out, "--json"]
    result = clinic.run("taxonomy", "build", clinic.data, *options)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["file"], told["nodes"], told["leaves"], told["height"]) == (str(out), 9, 5, 3)
    tree = Taxonomy.read(out)
    wanted = Taxonomy.balanced(["asthma", "cold", "cough", "fever", "flu"], fanout=2)
    assert tree.ids == wanted.ids
    again = clinic.run("taxonomy", "build", clinic.data, *options)
    assert again.exit_code == 2
    assert "--force" in again.stderr
    assert clinic.run("taxonomy", "build", clinic.data, *options, "--force").exit_code == 0
    assert clinic.run("taxonomy", "check", out, "--data", clinic.data).exit_code == 0


def test_pipes(clinic):
    result = clinic.run("taxonomy", "build", "-", "-o", "-", stdin=clinic.data.read_text())
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == "child,parent"
    checked = clinic.run("taxonomy", "check", "-", "--json", stdin=result.stdout)
    assert json.loads(checked.stdout)["leaves"] == 5


def test_export(clinic):
    out = clinic.folder / "hierarchy.csv"
    result = clinic.run("taxonomy", "export", clinic.tree, "-o", out)
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert out.read_text().splitlines() == [
        "asthma;chronic;condition;finding",
        "cold;infection;condition;finding",
        "flu;infection;condition;finding",
        "cough;cough;symptom;finding",
        "fever;fever;symptom;finding",
    ]
    assert Taxonomy.read(out).ids == Taxonomy.read(clinic.tree).ids


def test_export_of_a_table(clinic):
    table = clinic.folder / "table.tsv"
    table.write_text("no\twhat\tabove\n1\tfood\t\n2\tjam\t1\n3\ttea\t1\n")
    columns = ["--id", "no", "--name", "what", "--parent", "above", "--delimiter", "tab"]
    shown = clinic.run("taxonomy", "export", table, "-o", "-", "--names", *columns)
    assert shown.stdout.splitlines() == ["jam;food", "tea;food"]
    edges = clinic.run("taxonomy", "export", table, "-o", "-", "--to", "edges", *columns)
    assert edges.stdout.splitlines() == ["id,name,parent", "1,food,", "2,jam,1", "3,tea,1"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["check", "none.csv"], "no such file"),
        (["check", "-", "--data", "-"], "only one input"),
        (["check", "tree.csv", "--id", "code"], "no column 'code'"),
        (["check", "tree.csv", "--delimiter", "ab"], "one character"),
        (["check", "tree.csv", "--format", "paths", "--id", "x"], "columns can be named only"),
        (["export", "tree.csv", "-o", "none/out.csv"], "no such directory"),
        (["export", "tree.csv", "-o", "-", "--json"], "cannot both go"),
        (["export", "tree.csv", "-o", "-", "--to", "edges", "--names"], "--names is for ARX"),
        (["build", "visits.jsonl", "-o", "tree.csv"], "exists already"),
        (["build", "visits.jsonl", "-o", "new.csv", "--fanout", "1"], "fanout"),
    ],
)
def test_wrong_use(clinic, monkeypatch, args, message):
    monkeypatch.chdir(clinic.folder)
    before = clinic.names()
    result = clinic.run("taxonomy", *args, stdin="")
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    if "--json" in args:
        assert message in json.loads(result.stdout)["error"]["what"]
    else:
        assert result.stdout == ""
    assert clinic.names() == before


def test_scientific():
    assert [scientific(n) for n in (1, 999_999, 10**6, 9_999_999)] == [
        "1", "999999", "1.000e+6", "1.000e+7",
    ]  # fmt: skip
    assert scientific(123456 * 10**10000) == "1.235e+10005"  # more digits than str() takes
