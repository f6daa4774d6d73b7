"""``setveil measure`` of disassociated releases and of guesses about them."""

import json

import pytest

from setveil import TransactionTable
from setveil.attack.guess import save_guess
from setveil.attack.reassociation.reassociation_guess import ClusterGuess, ReassociationGuess
from setveil.guarantee.disassociated import Disassociated
from setveil.release.chunk_plan import Plan, publish_disassociated
from setveil.release.store import save

NOTES = [
    ["Diabetes", "Arthritis", "Osteoporosis", "Schizophrenia"],
    ["Hypertension", "Arthritis", "Osteoporosis", "Calcium"],
    ["Hypertension", "Diabetes", "Osteoporosis", "Obesity", "Bulimia", "Depression"],
    ["Hypertension", "Diabetes", "Arthritis", "Obesity", "Bulimia", "Epilepsy"],
]
ANCHOR = ("Arthritis", "Diabetes", "Hypertension", "Osteoporosis")
TERMS = ("Calcium", "Depression", "Epilepsy", "Schizophrenia")


@pytest.fixture
def published(clinic):
    """Publish the paper's notes as it does, and keep a guess that has half of them right."""
    clinic.data.write_text("".join(json.dumps(row) + "\n" for row in NOTES))
    table = TransactionTable.from_rows(NOTES)
    number = table.vocabulary.number
    domains = (tuple(map(number, ANCHOR)), tuple(map(number, ("Bulimia", "Obesity"))))
    plan = Plan(records=range(4), domains=domains, terms=tuple(map(number, TERMS)))
    release, key = publish_disassociated(table, [plan])
    save(
        release,
        clinic.release,
        method="disassociate",
        params={"k": 2, "m": 2},
        promise=Disassociated(k=2, m=2),
        key=key,
        key_file=clinic.key,
    )
    anchors = [tuple(t for t in row if t in ANCHOR) for row in NOTES]
    both = [("record", "Bulimia"), ("record", "Obesity")]
    right = ClusterGuess(
        cluster=0, anchors=anchors, attached=[[("term", "Schizophrenia")], [], both, both]
    )
    nothing = ClusterGuess(cluster=0, anchors=anchors, attached=[[], both, both, []])
    prior = ReassociationGuess(attack="prior", clusters=(nothing,))
    clinic.guess = clinic.folder / "guess.json"
    baselines = {"random": prior, "prior": prior}
    save_guess(ReassociationGuess(attack="aba", clusters=(right,), baselines=baselines),
               clinic.guess)  # fmt: skip
    return clinic


def run(clinic, *more):
    return clinic.run("measure", clinic.release, "--original", clinic.data, *more)


def test_losses(published):
    result = run(published, "--key", published.key, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert {"tkd", "tkd_a", "tkd_ml2", "re", "tlost", "are", "items_suppressed"} <= set(told)
    assert (told["tlost"], told["items_suppressed"], told["tkd_ml2"]) == (0, 0, None)
    assert 0 <= told["tkd_a"] <= 1
    again = run(published, "--json", "--seed", "1")
    assert json.loads(again.stdout) == json.loads(run(published, "--json", "--seed", "1").stdout)


def test_what_the_figures_mean_is_printed(published):
    text = run(published).stdout
    assert "one reconstruction does not show" in text
    assert "term chunks only" in text


def test_scores_of_a_guess_beside_its_baselines(published):
    result = run(published, "--key", published.key, "--guess", published.guess, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["accuracy"] == 5 / 8
    assert told["accuracy_records"] == 1
    assert told["accuracy_prior"] == told["accuracy_random"] == 2 / 8
    assert told["gain"] == 3 / 8
    assert told["transaction_breakage"] == 3 / 4
    assert told["km_breakage"] > told["km_breakage_prior"]
    assert told["wmd"] is None
    assert {"accuracy_low", "accuracy_high", "accuracy_terms_prior_low"} <= set(told)


def test_scores_are_printed_with_baselines_in_columns(published):
    result = run(published, "--key", published.key, "--guess", published.guess)
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["score", "value", "low", "high", "random", "prior", "meaning"]
    assert [line.split()[0] for line in lines[1:]] == [
        f"{name}{part}"
        for name in ("accuracy", "precision", "transaction_breakage", "km_breakage", "wmd")
        for part in ("", "_records", "_terms")
    ] + ["term_pair_precision", "gain", "gain_records", "gain_terms", "advantage"]
    assert "record and shared chunks" in result.stdout


def test_word_movers_distance(published):
    texts = published.folder / "texts.jsonl"
    words = ["Obesity Bulimia", "Calcium Osteoporosis", "Diabetes Obesity", "Epilepsy Depression"]
    texts.write_text("".join(json.dumps({"text": text}) + "\n" for text in words))
    index = published.folder / "texts.index"
    assert published.run("index", texts, "-o", index).exit_code == 0
    given = ["--key", published.key, "--guess", published.guess, "--json"]
    result = run(published, *given, "--relatedness", f"corpus:{index}")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert 0 < told["wmd"] < told["wmd_prior"]
    assert told["wmd_records"] == 0


def test_wrong_use_is_said(published):
    result = run(published, "--relatedness", "release")
    assert result.exit_code == 2
    assert "--relatedness is about scoring a guess" in result.stderr
    published.data.write_text('["Diabetes"]\n')
    result = run(published)
    assert result.exit_code == 2
    assert "cannot come from this original" in result.stderr
