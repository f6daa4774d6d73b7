"""``setveil table check`` and ``setveil table relational-transaction``."""

import json

import polars as pl
import pytest

from setveil.cli import table
from setveil.guarantee.base import Verdict
from setveil.tabular import CHECKS

PEOPLE = """age,job,ill,visits
30-39,cook,flu,a|b
30-39,cook,gout,a|b
30-39,cook,flu,a
40-49,nurse,flu,c
40-49,nurse,flu,c
"""


@pytest.fixture
def people(tmp_path):
    file = tmp_path / "people.csv"
    file.write_text(PEOPLE)
    return file


@pytest.fixture
def check(clinic, people):
    def run(name, *options, data=people):
        return clinic.run("table", "check", name, data, *options)

    return run


@pytest.mark.parametrize(
    ("name", "holds", "broken"),
    [
        (
            "k-anonymity",
            ["--quasi", "age", "--quasi", "job", "--k", "2"],
            ["--quasi", "age", "--quasi", "job", "--k", "3"],
        ),
        (
            "xy-anonymity",
            ["--x", "age", "--y", "ill", "--k", "1"],
            ["--x", "age", "--y", "ill", "--k", "2"],
        ),
        ("alpha-k-anonymity", ["--alpha", "1", "--k", "2"], ["--alpha", "2/3", "--k", "2"]),
        ("distinct-diversity", ["--l", "1"], ["--l", "2"]),
        ("entropy-diversity", ["--l", "1"], ["--l", "1.5"]),
        ("recursive-diversity", ["--l", "1", "--c", "2"], ["--l", "2", "--c", "2"]),
        ("confidence-bounding", ["--h", "1/2", "--value", "gout"], ["--h", "1/2"]),
        ("t-closeness", ["--t", "1/5"], ["--t", "0.1"]),
    ],
)
def test_checks_hold_and_break(check, name, holds, broken):
    known = [] if "anonymity" in name[:12] and "alpha" not in name else ["--quasi", "age"]
    if known:
        known += ["--sensitive", "ill"]
    fine = check(name, *known, *holds)
    assert fine.exit_code == 0, fine.output
    assert f"{name}  holds: " in fine.stdout
    bad = check(name, *known, *broken)
    assert bad.exit_code == 1, bad.output
    assert f"{name}  VIOLATED: " in bad.stdout
    assert "required" in bad.stdout


def test_every_name_is_known_without_importing_the_checks():
    assert set(table.NAMES) == set(CHECKS)


def test_presence(check, people, tmp_path):
    public = tmp_path / "public.csv"
    public.write_text(PEOPLE + PEOPLE.partition("\n")[2])
    options = ["--quasi", "age", "--public", public]
    assert check("delta-presence", *options, "--high", "1/2").exit_code == 0
    assert check("delta-presence", *options, "--high", "0.4").exit_code == 1
    assert "needs --public" in check("delta-presence", "--quasi", "age").stderr
    assert people.exists()


def test_mechanisms(check, tmp_path):
    file = tmp_path / "mechanism.csv"
    file.write_text("count,0,1\n0,2/3,1/3\n1,1/3,2/3\n")
    assert check("differential-privacy", "--epsilon", "0.7", data=file).exit_code == 0
    bad = check("differential-privacy", "--epsilon", "0.69", data=file)
    assert bad.exit_code == 1
    assert "told apart by 2 > e^(69/100)" in bad.stdout
    assert check("rho1-rho2", "--rho1", "0.1", "--rho2", "0.2", data=file).exit_code == 0
    assert check("rho1-rho2", "--rho1", "0.1", "--rho2", "0.15", data=file).exit_code == 1
    file.write_text("count,0,1\n0,1,\n0,1,0\n")
    assert "two rows are called" in check("rho1-rho2", data=file).stderr


def test_a_tree(check, tmp_path):
    tree = tmp_path / "tree.csv"
    tree.write_text("flu,infection\ngout,chronic\ninfection,any\nchronic,any\n")
    options = ["--quasi", "age", "--sensitive", "ill", "--taxonomy", tree]
    assert check("t-closeness", *options, "--t", "1/5").exit_code == 0


def test_json(check):
    told = json.loads(check("k-anonymity", "--quasi", "age", "--k", "3", "--json").stdout)
    assert told["schema"] == 2
    assert (told["check"], told["params"]) == ("k-anonymity", {"quasi": ["age"], "k": 3})
    assert (told["holds"], told["exact"], told["checked"]) == (False, True, 5)
    assert told["witnesses"][0]["items"] == ["age=40-49"]


def test_quiet_says_nothing_where_it_holds(check):
    assert check("k-anonymity", "--quasi", "age", "--k", "2", "--quiet").stdout == ""
    assert "VIOLATED" in check("k-anonymity", "--quasi", "age", "--k", "3", "--quiet").stdout


def test_what_is_not_decided_exits_with_3(check, monkeypatch):
    open_verdict = Verdict(holds=True, exact=False, reason="too long", checked=1)
    monkeypatch.setattr(CHECKS["entropy-diversity"], "check", lambda *_: open_verdict)
    result = check("entropy-diversity", "--quasi", "age", "--sensitive", "ill")
    assert result.exit_code == 3
    assert "not decided exactly: too long" in result.stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["l-diversity"], "there is no check 'l-diversity'"),
        (["k-anonymity"], "needs --quasi"),
        (["k-anonymity", "--quasi", "age", "--t", "0.1"], "takes no --t"),
        (["k-anonymity", "--quasi", "zip"], "no columns are called 'zip'"),
        (["distinct-diversity", "--quasi", "age", "--sensitive", "ill", "--l", "1.5"], "l is"),
    ],
)
def test_wrong_use_exits_with_2(check, args, message):
    result = check(*args)
    assert result.exit_code == 2
    assert message in result.stderr


def test_relational_transaction(clinic, people, check, tmp_path):
    out = tmp_path / "out.csv"
    ask = [
        "table",
        "relational-transaction",
        people,
        "--quasi",
        "age",
        "--quasi",
        "job",
        "--items",
        "visits",
    ]
    result = clinic.run(*ask, "--k", "2", "--rows", "2", "-o", out)
    assert result.exit_code == 0, result.output
    assert "checked: each of 2 classes" in result.stdout
    options = ["--quasi", "age", "--quasi", "job", "--items", "visits", "--k", "2"]
    assert check("k-km-anonymity", *options, data=out).exit_code == 0
    assert check("k-km-anonymity", *options[:-1], "3", data=people).exit_code == 1
    assert clinic.run(*ask, "-o", out).exit_code == 2  # it exists
    lists = tmp_path / "out.parquet"
    told = clinic.run(*ask, "--k", "2", "--rows", "2", "-o", lists, "--json")
    assert json.loads(told.stdout)["occurrences"]["original"] == 7
    assert pl.read_parquet(lists).schema["visits"] == pl.List(pl.String)
    assert "only 5 records" in clinic.run(*ask, "--k", "6", "-o", tmp_path / "x.csv").stderr
    shown = clinic.run(*ask, "--k", "2", "-o", "-")
    assert shown.stdout.startswith("age,job,ill,visits\n")
