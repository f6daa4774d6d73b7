"""``setveil inspect``."""

import json

import pytest
from hypothesis import given
from tests.cli.conftest import VISITS
from tests.reference import uniqueness as reference
from tests.strategies import tables

from setveil import TransactionTable
from setveil.core.errors import ParameterError
from setveil.measure.profile import profile


def test_says_what_the_file_holds_in_plain_words(clinic):
    result = clinic.run("inspect", clinic.data)
    assert result.exit_code == 0
    for line in [
        "records                      8",
        "different items              5",
        "items over all records       16",
        "items per record             1 to 3, median 2, mean 2.00",
        "density                      40.000%",
        "type-token ratio (ttr)       0.3125",
    ]:
        assert f"{line}\n" in result.stdout
    assert "cough (50.0%), flu (50.0%), cold (37.5%)" in result.stdout
    assert "Of 1,000 people who know two items of a record, about 417 could" in result.stdout
    assert "visits.jsonl" in result.stderr


def test_json_holds_the_figures_and_nothing_else(clinic):
    result = clinic.run("inspect", clinic.data, "--json", "--quiet")
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert found["schema"] == 2
    assert (found["records"], found["items"], found["occurrences"]) == (8, 5, 16)
    assert found["ttr"] == 5 / 16
    for m in (1, 2, 3):
        expected = pytest.approx(float(reference.uniqueness(VISITS, m)))
        assert found[f"unique_{m}"] == found[f"unique_{m}_low"] == expected
        assert found[f"unique_{m}_exact"] is True
    assert found["top_items"][0] == {"item": "cough", "records": 4}


@pytest.mark.parametrize(("m", "known"), [(0, []), (1, ["one item "]), (2, ["one ", "two items "])])
def test_m_bounds_the_curve(clinic, m, known):
    lines = clinic.run("inspect", clinic.data, "--m", m).stdout.splitlines()
    said = [line for line in lines if line.startswith("Of 1,000")]
    assert len(said) == len(known)
    assert all(word in line for word, line in zip(known, said, strict=True))


def test_reads_the_standard_input(clinic):
    from_file = json.loads(clinic.run("inspect", clinic.data, "--json").stdout)
    text = clinic.data.read_text()
    done = clinic.run("inspect", "-", "--format", "jsonl", "--json", stdin=text)
    from_stdin = json.loads(done.stdout)
    assert from_stdin["first_records"]
    for how in ("reading", "candidates"):  # given there, found out here
        assert from_stdin.pop(how) != from_file.pop(how)
    assert from_stdin == from_file


def test_empty_and_equal_records_are_counted_and_said(clinic):
    clinic.data.write_text('["a"]\n[]\n[]\n["a"]\n["b"]\n')
    result = clinic.run("inspect", clinic.data)
    assert "2 records hold no item at all." in result.stdout
    assert "2 records equal an earlier one: equal records hide each other." in result.stdout
    assert "1 item occurs in a single record" in result.stdout


@pytest.mark.parametrize(
    "args",
    [
        ["no-such-file.csv"],
        ["DATA", "--m", "-1"],
        ["DATA", "--samples", "0"],
        ["DATA", "--format", "x"],
    ],
)
def test_wrong_use_exits_with_2_and_prints_no_result(clinic, args):
    result = clinic.run("inspect", *[clinic.data if arg == "DATA" else arg for arg in args])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_groceries(clinic, data_dir):
    found = json.loads(clinic.run("inspect", data_dir / "groceries.basket.csv", "--json").stdout)
    assert (found["records"], found["items"], found["length_max"]) == (9835, 169, 32)
    assert found["length_mean"] == pytest.approx(4.41, abs=0.005)
    assert found["top_items"][0] == {"item": "whole milk", "records": 2513}


# --- the profile behind it --------------------------------------------------------------------


@given(tables())
def test_profile_agrees_with_plain_counting(table):
    rows = table.to_rows()
    found = profile(table, m=2)
    held = [item for row in rows for item in row]
    assert found.records == len(rows)
    assert found.items == len(set(held))
    assert found.occurrences == len(held)
    assert found.empty_records == rows.count([])
    assert found.duplicate_records == len(rows) - len({tuple(row) for row in rows})
    assert found.length_max == max(map(len, rows), default=0)
    assert found.rare_items == sum(held.count(item) == 1 for item in set(held))
    assert [records for _, records in found.top_items] == sorted(
        (held.count(item) for item in set(held)), reverse=True
    )[:5]
    assert len(found.uniqueness) == (2 if rows else 0)
    assert all(sentence.endswith(".") for sentence in found.sentences())


def test_an_empty_table_has_a_profile():
    found = profile(TransactionTable.from_rows([]))
    assert found.uniqueness == ()
    assert found.density == 0.0
    assert found.ttr == 0.0
    assert found.sentences() == []


def test_none_and_all_are_said_as_such():
    none = profile(TransactionTable.from_rows([["a"], ["a"]]), m=1).sentences()
    assert none[-1] == "Of 1,000 people who know one item of a record, none could single it out."
    everyone = profile(TransactionTable.from_rows([["a"], ["b"]]), m=1).sentences()
    assert everyone[-1] == "Of 1,000 people who know one item of a record, all could single it out."


def test_an_estimate_says_how_sure_it_is():
    rows = [[f"i{n}" for n in range(40)], [f"i{n}" for n in range(39)], ["i1"]]
    said = profile(TransactionTable.from_rows(rows), m=14, samples=50).sentences()[-1]
    assert said.startswith("Of 1,000 people who know 14 items of a record, about ")
    assert said.endswith("estimated from 50 draws).")


def test_a_negative_m_is_refused():
    with pytest.raises(ParameterError):
        profile(TransactionTable.from_rows([["a"]]), m=-1)
