"""Variants of a sensitive item in other spellings are never published without a word."""

import csv
import gzip
import json
import random
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from setveil import TransactionTable
from setveil.cli import app
from setveil.core.spelling import variants
from setveil.release import publish_suppressed
from setveil.release.store import save

VARIANTS = (
    "hiv",
    "HIV\u200b",  # a space without a width
    "HIV\u00a0",
    "\u2060HIV",
    "HI\u00adV",  # a soft hyphen
    "\uff28\uff29\uff36",  # full width
    "\u041dIV",  # a Cyrillic letter
    "H\u0399V",  # a Greek one
    "HIV.",
    "'HIV'",
    "H.I.V.",
    "(HIV)",
    "HIVs",
)
OTHERS = ("HCV", "HIV-2", "HIV 1", "HI", "HPV", "HIVE", "VIH")


def run(*args):
    return CliRunner().invoke(app, list(map(str, args)))


@pytest.fixture
def folder(tmp_path):
    """Records in which HIV is also written as hiv, and a list that names HIV only."""
    rows = [["HIV", "flu"], ["hiv", "flu"], ["gout", "flu"], ["gout", "rash"], ["flu", "rash"]]
    tmp_path.joinpath("visits.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows * 4)
    )
    tmp_path.joinpath("sensitive.txt").write_text("HIV\n")
    tmp_path.joinpath("tree.csv").write_text("flu,all\ngout,all\nrash,all\nhiv,all\n")
    return tmp_path


def anonymized(folder, *more):
    return run(
        "anonymize", "suppress-control", folder / "visits.jsonl", "--rho", "0.5",
        "--sensitive", folder / "sensitive.txt", "-o", folder / "release", *more,
    )  # fmt: skip


# --- what is near, and what is not ----------------------------------------------------------------


@pytest.mark.parametrize("name", VARIANTS, ids=ascii)
def test_variants_are_found(name):
    assert variants(["HIV"], [name]) == {name: "HIV"}


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("caf\u00e9", "cafe\u0301"),
        ("heart failure", "Heart  failure"),
        ("heart failure", "heart\u2003failure"),
        ("drug-induced parkinsonism", "drug induced Parkinsonism"),
        ("allergy", "Allergies"),
        ("\u0397\u03a0\u0391\u03a1", "\u03b7\u03c0\u03b1\u03c1"),  # in Greek capitals, and small
        ("\u0412\u0418\u0427", "\u0432\u0438\u0447"),  # in Cyrillic capitals, and small
        ("Alzheimer's disease", "alzheimer\u2019s disease"),
        ("Stra\u00dfe", "STRASSE"),
    ],
    ids=ascii,
)  # fmt: skip
def test_other_spellings_are_found(item, name):
    assert variants([item], [name]) == {name: item}
    assert variants([name], [item]) == {item: name}


@pytest.mark.parametrize("name", OTHERS)
def test_other_names_are_not(name):
    assert variants(["HIV"], [name]) == {}


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("hepatitis A", "hepatitis B"),
        ("C50.1", "C50.11"),
        ("A01.1", "A011"),
        ("5 \u00b5g", "5 mg"),
        ("1.5 mg", "15 mg"),
        ("1,5 mg", "15 mg"),
        ("ER+", "ER-"),
        ("type 1", "type 2"),
        ("M80.011", "M80.011S"),
        ("gas", "ga"),
    ],
)
def test_near_names_of_other_things_are_not(item, name):
    assert variants([item], [name]) == {}
    assert variants([name], [item]) == {}


def without_plurals(name):
    """Return the letters and digits of a name, without the ends of words that plurals change."""
    return re.sub("(ies|es?|s|y)?(?![a-z])|[^a-z0-9]", "", name.lower())


def test_no_false_alarms_on_real_names(data_dir):
    def column(file, name, delimiter="\t"):
        path = Path(data_dir, file)
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8", newline="") as lines:
            return sorted({row[name] for row in csv.DictReader(lines, delimiter=delimiter)})

    with Path(data_dir, "groceries.basket.csv").open(encoding="utf-8") as lines:
        groceries = sorted({item for row in csv.reader(lines) for item in row})
    sources = {
        "groceries": groceries,
        "disease ontology": column("disease_ontology.tsv.gz", "name"),
        "ICD-10 codes": column("icd10cm_2026.tsv.gz", "code"),
        "ICD-10 names": column("icd10cm_2026.tsv.gz", "description"),
        "retail": column("online_retail_items.csv", "description", ","),
    }
    alarms = 0
    for source, names in sources.items():
        drawn = random.Random(1).sample(names, len(names) // 50)
        for name, item in variants(drawn, names).items():
            # The same letters and digits, but for plurals: what is found is one thing.
            assert without_plurals(name) == without_plurals(item), source
            alarms += 1
    assert alarms <= 6  # measured: 3 of 3,975 drawn names, all of them variants


# --- the commands ---------------------------------------------------------------------------------


def test_a_variant_stops_the_run(folder):
    done = anonymized(folder)
    assert done.exit_code == 2, done.output
    assert "1 item of the data is written almost like a sensitive one" in done.stderr
    assert "'hiv' is like 'HIV'" in done.stderr
    assert "--variants include" in done.stderr
    assert "--variants distinct" in done.stderr
    assert not (folder / "release").exists()


def test_included_variants_are_protected_and_promised(folder):
    done = anonymized(folder, "--variants", "include")
    assert done.exit_code == 0, done.output
    assert "Also treated as sensitive (--variants include): 'hiv'" in done.stderr
    manifest = json.loads((folder / "release" / "manifest.json").read_text())
    assert sorted(manifest["promise"]["params"]["sensitive"]) == ["HIV", "hiv"]
    checked = run("verify", folder / "release", "--json")
    assert checked.exit_code == 0, checked.output
    assert json.loads(checked.stdout)["variants"] == []


def test_distinct_variants_stay_ordinary_and_verify_warns(folder):
    done = anonymized(folder, "--variants", "distinct")
    assert done.exit_code == 0, done.output
    manifest = json.loads((folder / "release" / "manifest.json").read_text())
    assert manifest["promise"]["params"]["sensitive"] == ["HIV"]
    checked = run("verify", folder / "release", "--json", "--quiet")
    assert json.loads(checked.stdout)["variants"] == [{"name": "hiv", "like": "HIV"}]
    assert "1 published name is written almost like a sensitive one" in checked.stderr
    assert "'hiv' is like 'HIV'" in checked.stderr


def test_an_item_that_only_occurs_in_another_spelling(folder):
    (folder / "sensitive.txt").write_text("Gout\n")
    assert "'gout' is like 'Gout'" in anonymized(folder).stderr
    missing = anonymized(folder, "--variants", "distinct")
    assert missing.exit_code == 2
    assert "1 of 1 sensitive items do not occur in the data: 'Gout'" in missing.stderr
    assert anonymized(folder, "--variants", "include", "--rho", "0.9").exit_code == 0
    manifest = json.loads((folder / "release" / "manifest.json").read_text())
    assert manifest["promise"]["params"]["sensitive"] == ["gout"]


def test_an_item_that_does_not_occur_is_said_with_every_choice(folder):
    (folder / "sensitive.txt").write_text("HIV\nleprosy\n")
    for choice in ("include", "distinct"):
        done = anonymized(folder, "--variants", choice)
        assert done.exit_code == 2
        assert "1 of 2 sensitive items do not occur in the data: 'leprosy'" in done.stderr


def test_hidden_differences_are_written_out(folder):
    rows = [["HIV"], ["HIV\u200b"], ["\u041dIV"], ["flu"]]
    (folder / "visits.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows * 3))
    done = anonymized(folder)
    assert done.exit_code == 2
    assert "\\u200b" in done.stderr
    assert "(written '\\u041dIV')" in done.stderr


def test_choices_about_nothing_are_refused(folder):
    done = run(
        "anonymize", "suppress-control", folder / "visits.jsonl", "--rho", "0.5",
        "--sensitive-share", "0.2", "--variants", "distinct", "-o", folder / "release",
    )  # fmt: skip
    assert done.exit_code == 2
    assert "--variants is about sensitive items that are named" in done.stderr


@pytest.mark.parametrize("command", ["audit", "harden"])
@pytest.mark.parametrize("listed", [True, False])
def test_audits_stop_as_well(command, listed, folder):
    named = '["HIV"]' if listed else '"sensitive.txt"'
    (folder / "audit.toml").write_text(f'data = "visits.jsonl"\nsensitive = {named}\n')
    done = run(command, folder / "audit.toml", "-o", folder / "out")
    assert done.exit_code == 2, done.output
    assert "'hiv' is like 'HIV'" in done.stderr
    wrong = run(command, folder / "audit.toml", "-o", folder / "out", "--variants", "maybe")
    assert wrong.exit_code == 2
    assert "variants is 'maybe'" in wrong.stderr
    assert not (folder / "out").exists()


def test_an_audit_says_what_counts_as_different(folder):
    settings = 'data = "visits.jsonl"\nsensitive = ["HIV"]\nvariants = "distinct"\n'
    (folder / "audit.toml").write_text(settings + 'methods = ["suppress-control:rho=0.5"]\n')
    done = run("audit", folder / "audit.toml", "-o", folder / "out", "--workers", "0", "--seed", 1)
    assert done.exit_code in {0, 1}, done.output
    notes = json.loads((folder / "out" / "private" / "audit.json").read_text())["notes"]
    assert "1 item written almost like a sensitive one counts as different: 'hiv'." in notes


def test_measures_ask_the_same(folder):
    assert anonymized(folder, "--variants", "include").exit_code == 0
    asked = ["measure", folder / "release", "--original", folder / "visits.jsonl"]
    asked += ["--sensitive", folder / "sensitive.txt"]
    assert "'hiv' is like 'HIV'" in run(*asked).stderr
    assert run(*asked, "--variants", "include").exit_code == 0


# --- verify ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("named", ["HIV", "@FILE"])
def test_verify_warns_of_variants_among_published_items(named, tmp_path):
    table = TransactionTable.from_rows([["flu", "HIV\u200b"], ["flu"], ["gout", "h.i.v."]])
    release, _ = publish_suppressed(table, [True] * table.n_items)
    save(release, tmp_path / "release", method="coat", params={}, promise=None)
    (tmp_path / "list.txt").write_text("HIV\n")
    spec = f"rho-uncertainty:rho=0.9,sensitive={named.replace('FILE', str(tmp_path / 'list.txt'))}"
    done = run("verify", tmp_path / "release", "-g", spec, "--json")
    found = json.loads(done.stdout)["variants"]
    assert found == [{"name": "HIV\u200b", "like": "HIV"}, {"name": "h.i.v.", "like": "HIV"}]
    assert "2 published names are written almost like a sensitive one" in done.stderr


def test_verify_warns_of_variants_in_the_tree(folder):
    (folder / "tree.csv").write_text("flu,hivs,all\ngout,hivs,all\nrash,other,all\nhiv,other,all\n")
    done = run(
        "anonymize", "td-control", folder / "visits.jsonl", "--rho", "0.9",
        "--sensitive", folder / "sensitive.txt", "--taxonomy", folder / "tree.csv",
        "--variants", "distinct", "-o", folder / "release",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    shown = json.loads((folder / "release" / "manifest.json").read_text())["structure"]["nodes"]
    checked = run("verify", folder / "release", "--json")
    found = {each["name"] for each in json.loads(checked.stdout)["variants"]}
    names = {node["name"] for node in shown}
    assert found == names & {"hiv", "hivs"} != set()


def test_checks_of_tables_warn_of_variants(tmp_path):
    file = tmp_path / "people.csv"
    file.write_text("Job,Disease\nnurse,HIV\nnurse,flu\nnurse,hiv\nclerk,flu\nclerk,gout\n")
    asked = ["table", "check", "confidence-bounding", file, "--quasi", "Job"]
    asked += ["--sensitive", "Disease"]
    done = run(*asked, "--value", "HIV", "--h", "0.5")
    assert done.exit_code in {0, 1}, done.output
    assert "1 value is written almost like a sensitive one" in done.stderr
    assert "'hiv' is like 'HIV'" in done.stderr
    assert "almost" not in run(*asked, "--value", "flu", "--h", "0.5").stderr
