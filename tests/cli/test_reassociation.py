"""``setveil attack aba`` and its family, from a disassociated release to the score."""

import json

import pytest

RECORDS = [
    ["diabetes", "arthritis", "osteoporosis", "schizophrenia"],
    ["hypertension", "arthritis", "osteoporosis", "calcium"],
    ["hypertension", "diabetes", "osteoporosis", "obesity", "bulimia", "depression"],
    ["hypertension", "diabetes", "arthritis", "obesity", "bulimia", "epilepsy"],
]
TEXTS = [
    "diabetes and obesity",
    "obesity with hypertension and diabetes",
    "calcium against osteoporosis",
    "arthritis, osteoporosis: calcium",
    "depression",
    "bulimia and depression in diabetes",
    "epilepsy",
]


@pytest.fixture
def published(clinic):
    """Publish the paper's records, and index some texts."""
    folder = clinic.folder
    clinic.data = folder / "records.jsonl"
    clinic.data.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    (folder / "texts.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in TEXTS))
    made = clinic.run(
        "anonymize", "disassociate", clinic.data, "-o", clinic.release, "--key", clinic.key,
        "--k", "2", "--m", "2", "--max-cluster-size", "5",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    indexed = clinic.run("index", folder / "texts.jsonl", "-o", folder / "texts.index")
    assert indexed.exit_code == 0, indexed.output
    clinic.source = f"corpus:{folder / 'texts.index'}"
    clinic.guess = folder / "guess.json"
    return clinic


def attack(clinic, name, *more):
    return clinic.run("attack", name, clinic.release, "-o", clinic.guess, "--seed", "1", *more)


@pytest.mark.parametrize("name", ["random", "prior", "aba", "rga", "mra", "vpa", "semantic-prior"])
def test_from_release_to_score(published, name):
    known = [] if name in {"random", "prior"} else ["--relatedness", published.source]
    result = attack(published, name, *known, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["attack"] == name
    assert any("unknown: schizophrenia" in note for note in told["notes"]) == bool(known)
    options = ["--original", published.data, "--key", published.key, "--guess", published.guess]
    scored = published.run("measure", published.release, *options, "--json")
    assert scored.exit_code == 0, scored.output
    figures = json.loads(scored.stdout)
    for figure in ("accuracy", "transaction_breakage", "accuracy_random", "accuracy_prior"):
        assert 0 <= figures[f"{figure}_low"] <= figures[figure] <= figures[f"{figure}_high"] <= 1


def test_the_same_seed_gives_the_same_guess(published):
    attack(published, "random")
    first = published.guess.read_bytes()
    attack(published, "random", "--force")
    assert published.guess.read_bytes() == first


def test_what_is_missing_or_wrong(published):
    result = attack(published, "aba")
    assert result.exit_code == 2
    assert "--relatedness" in result.stderr
    result = attack(published, "aba", "--relatedness", published.source, "--term-copies", "0")
    assert result.exit_code == 2
    assert "term_copies is 0" in result.stderr
    result = attack(published, "aba", "--relatedness", "release")
    assert result.exit_code == 2
    assert "equally related to all rows" in result.stderr
    result = attack(published, "vpa", "--relatedness", published.source, "--terms", "no")
    assert result.exit_code == 2
    assert not published.guess.exists()


def test_only_disassociated_releases(published):
    other = published.folder / "other"
    made = published.run(
        "anonymize", "coat", published.data, "-o", other, "--k", "2", "--constrained", "1"
    )
    assert made.exit_code == 0, made.output
    result = published.run("attack", "prior", other, "-o", published.guess)
    assert result.exit_code == 2
    assert "does not attack releases of the form 'set-generalized'" in result.stderr


def test_a_guess_about_another_release_is_not_scored(published):
    assert attack(published, "prior").exit_code == 0
    other = published.folder / "other"
    made = published.run(
        "anonymize", "disassociate", published.data, "-o", other, "--key", published.key,
        "--k", "2", "--m", "1", "--max-cluster-size", "5", "--force",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    scored = published.run(
        "measure", other, "--original", published.data, "--key", published.key, "--guess",
        published.guess,
    )  # fmt: skip
    assert scored.exit_code == 2
    assert "another release" in scored.output
