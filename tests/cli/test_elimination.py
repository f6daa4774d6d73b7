"""``setveil attack rba`` and its family, from a release to the score."""

import json

import pytest

NOTES = """\
["heart disease", "blood pressure", "icd", "weakness", "dizziness"]
["anesthesia", "icd", "pain", "diabetes"]
["gangrene", "limbs", "injury"]
["knee", "injury"]
"""
TEXTS = [
    "heart disease and blood pressure",
    "blood pressure in heart disease",
    "gangrene of the limbs",
    "the injury led to gangrene of the limbs",
    "a knee injury",
    "an icd after anesthesia",
    "heart disease: an icd",
    "diabetes with pain",
    "injury of the knee",
    "an icd",
]


@pytest.fixture
def published(clinic):
    """Publish the paper's notes by its utility constraint, and index some texts."""
    folder = clinic.folder
    clinic.data = folder / "notes.jsonl"
    clinic.data.write_text(NOTES)
    (folder / "privacy.txt").write_text("blood pressure\nicd\n")
    (folder / "utility.txt").write_text("blood pressure + icd + limbs + injury\n")
    (folder / "texts.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in TEXTS))
    made = clinic.run(
        "anonymize", "coat", clinic.data, "-o", clinic.release, "--key", clinic.key, "--k", "4",
        "--privacy", folder / "privacy.txt", "--utility", folder / "utility.txt",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    indexed = clinic.run("index", folder / "texts.jsonl", "-o", folder / "texts.index")
    assert indexed.exit_code == 0, indexed.output
    clinic.source = f"corpus:{folder / 'texts.index'}"
    clinic.guess = folder / "guess.json"
    return clinic


def attack(clinic, name, *more, source=True):
    known = ["--relatedness", clinic.source] if source else []
    return clinic.run("attack", name, clinic.release, "-o", clinic.guess, *known, *more)


def measured(clinic, *more):
    options = ["--original", clinic.data, "--key", clinic.key, "--guess", clinic.guess]
    return clinic.run("measure", clinic.release, *options, *more)


@pytest.mark.parametrize("name", ["mda", "tba", "wba", "gba", "rba"])
def test_from_release_to_score(published, name):
    result = attack(published, name, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["attack"] == name
    assert any("unknown" in note for note in told["notes"])
    scored = measured(published, "--json")
    assert scored.exit_code == 0, scored.output
    figures = json.loads(scored.stdout)
    for figure in ("auc", "kept_f1", "f1", "precision", "recall", "auc_control", "f1_ra"):
        assert figures[f"{figure}_low"] <= figures[figure] <= figures[f"{figure}_high"]
    assert figures["auc"] > 0.7
    assert figures["ece"] is None


def test_scores_stand_beside_baselines_and_control(published):
    attack(published, "rba")
    lines = measured(published).stdout.splitlines()
    assert lines[0].split() == ["score", "value", "low", "high", "ra", "all", "control", "meaning"]
    assert [line.split()[0] for line in lines[1:3]] == ["auc", "kept_f1"]


def test_one_by_one(published):
    attack(published, "rba")
    items = json.loads(measured(published, "--by", "item", "--json").stdout)["items"]
    assert [item["item"] for item in items] == ["(blood pressure, icd, injury, limbs)"]
    lines = measured(published, "--by", "record").stdout.splitlines()
    assert lines[0].split()[:3] == ["record", "cells", "added"]
    assert [line.split()[0] for line in lines[1:]] == ["1", "2", "3", "4"]
    options = ["--original", published.data, "--key", published.key]
    result = published.run("measure", published.release, *options, "--by", "item")
    assert result.exit_code == 2
    assert "--guess" in result.stderr


def test_explanations(published):
    explained = attack(published, "rba", "--explain", "1")
    assert explained.exit_code == 0, explained.output
    lines = explained.stdout.splitlines()
    assert "spoke against it" in lines[1]
    assert any("anesthesia" in line for line in lines[2:])
    told = json.loads(attack(published, "rba", "--explain", "1", "--force", "--json").stdout)
    assert told["record"] == 1
    assert {"member", "context", "distance", "others"} <= set(told["reasons"][0])
    for record in ("0", "5"):
        wrong = attack(published, "rba", "--explain", record, "--force")
        assert wrong.exit_code == 2
        assert "name one from 1 to 4" in wrong.stderr


def test_nothing_to_explain(published):
    result = attack(published, "tba", "--threshold", "9", "--explain", "2")
    assert result.exit_code == 0, result.output
    assert "nothing was eliminated from record 2" in result.stdout


def index_others(clinic, texts):
    """Let later attacks draw on other texts."""
    file, index = clinic.folder / "others.jsonl", clinic.folder / "others.index"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    assert clinic.run("index", file, "-o", index).exit_code == 0
    clinic.source = f"corpus:{index}"


def test_what_the_source_does_not_know_is_explained_too(published):
    index_others(published, [text for text in TEXTS if "limbs" not in text])
    result = attack(published, "tba", "--threshold", "0", "--explain", "1")
    assert result.exit_code == 0, result.output
    (line,) = (line for line in result.stdout.splitlines() if line.startswith("limbs"))
    assert "(unknown to the source: took its row's mean)" in line
    assert "nothing was eliminated" not in result.stdout


def test_where_no_single_item_speaks(published):
    rows = map(json.loads, NOTES.splitlines())
    index_others(published, [term for row in rows for term in row])  # no two stand together
    result = attack(published, "tba", "--threshold", "0", "--explain", "1")
    assert result.exit_code == 0, result.output
    assert "(no single item)" in result.stdout


def test_a_guess_on_standard_output_is_all_that_is_there(published):
    options = ["--relatedness", published.source, "--explain", "1"]
    result = published.run("attack", "rba", published.release, "-o", "-", *options)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["attack"] == "rba"
    assert "what rba makes of" in result.stderr
    assert "spoke against it" in result.stderr
    refused = published.run("attack", "rba", published.release, "-o", "-", *options, "--json")
    assert refused.exit_code == 2
    assert "cannot both go to standard output" in refused.stderr
    assert json.loads(refused.stdout)["error"]["exit_code"] == 2


def test_a_guess_about_another_release_is_refused(published):
    attack(published, "rba")
    content = json.loads(published.guess.read_text())
    published.guess.write_text(json.dumps({**content, "about": "0" * 64}))
    for more in ((), ("--by", "item")):
        result = measured(published, *more)
        assert result.exit_code == 2
        assert "the guess is about another release" in result.stderr


def test_force_costs_neither_an_input_nor_a_key(published):
    index = published.folder / "texts.index"
    for place, says in (
        (index, "a file that this command reads"),
        (published.release / "manifest.json", "a file that this command reads"),
        (published.key, "a private key"),
    ):
        before = place.read_bytes()
        published.guess = place
        result = attack(published, "rba", "--force")
        assert result.exit_code == 2
        assert says in result.stderr
        assert place.read_bytes() == before


def test_nothing_attacked_one_by_one(published):
    (published.folder / "all.txt").write_text("knee\n")
    made = published.run(
        "anonymize", "coat", published.data, "-o", published.release, "--key", published.key,
        "--k", "1", "--privacy", published.folder / "all.txt", "--force",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    attack(published, "ra", source=False)
    for by in ("item", "record"):
        result = measured(published, "--by", by)
        assert result.exit_code == 0, result.output
        assert result.stdout == f"no {by} was attacked\n"
    assert json.loads(measured(published, "--by", "item", "--json").stdout)["items"] == []


def test_ra_needs_no_source(published):
    result = attack(published, "ra", "--seed", "1", source=False)
    assert result.exit_code == 0, result.output
    assert json.loads(measured(published, "--json").stdout)["auc_control"] is None


def test_what_is_missing_or_cannot_be_said(published):
    result = attack(published, "gba", source=False)
    assert result.exit_code == 2
    assert "--relatedness" in result.stderr
    result = published.run(
        "attack", "gba", published.release, "-o", published.guess, "--relatedness", "release"
    )
    assert result.exit_code == 2
    assert "within the release all members are alike" in result.stderr
    assert not published.guess.exists()
    result = attack(published, "gba", "--context", "0")
    assert result.exit_code == 2
    assert "context is 0" in result.stderr
