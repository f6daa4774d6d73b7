"""Sensitive items, shares and budgets on the command line."""

import json

import pytest

import setveil
from setveil.core.params import Duration, Share
from setveil.guarantee import KAnonymity
from setveil.guarantee.base import Verdict


def told(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refused(clinic, *args):
    before = clinic.names()
    result = clinic.run(*args)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.stderr
    assert clinic.names() == before
    return result.stderr


def td_control(clinic, *more):
    return clinic.anonymize("td-control", "--rho", "0.5", *more)


# --- naming and drawing ---------------------------------------------------------------------------


def test_named_items_are_protected_and_verified(clinic):
    result = td_control(clinic, "--key", clinic.key)
    assert result.exit_code == 0, result.output
    assert "taken out of the tree" in result.stderr
    manifest = setveil.load_manifest(clinic.release)
    assert manifest.params["rho"] == 0.5
    assert manifest.promise["name"] == "rho-uncertainty"
    checked = clinic.run("verify", clinic.release)
    assert checked.exit_code == 0, checked.output
    assert "rho-uncertainty:rho=0.5" in checked.stdout
    asked = clinic.run(
        "verify", clinic.release, "-g", f"rho-uncertainty:rho=1/2,sensitive=@{clinic.sensitive}"
    )
    assert asked.exit_code == 0, asked.output


def test_measuring_with_sensitive_items(clinic):
    td_control(clinic, "--key", clinic.key)
    options = ["--original", clinic.data, "--key", clinic.key, "--taxonomy", clinic.tree]
    secret = ["--sensitive", clinic.sensitive, "--sensitive-in-tree", "take-out"]
    figures = told(clinic.run("measure", clinic.release, *options, *secret, "--json"))
    for name in ("average_loss", "ncp", "tkd", "rules_kept"):
        assert 0 <= figures[name] <= 1


def test_a_share_is_drawn_and_told_and_repeats_with_the_seed(clinic):
    def drawn(*more):
        options = ["--taxonomy", clinic.tree, "-o", clinic.release, "--force", "--json", *more]
        found = told(clinic.run("anonymize", "td-control", clinic.data, *options))
        return found["sensitive_drawn"]

    first = drawn("--sensitive-share", "0.4", "--seed", "7")
    assert len(first) == 2
    assert first == drawn("--sensitive-share", "0.4", "--seed", "7")
    others = {tuple(drawn("--sensitive-share", "0.4")) for _ in range(12)}
    assert len(others) > 1
    manifest = (clinic.release / "manifest.json").read_text()
    assert "seed" not in manifest


def test_drawn_items_are_printed(clinic):
    options = ["--sensitive-share", "0.2", "--seed", "1", "-o", clinic.release, "--quiet"]
    result = clinic.run("anonymize", "simple-suppression", clinic.data, *options)
    assert result.exit_code == 0, result.output
    assert "sensitive items drawn: " in result.stdout
    assert "changes nothing" not in result.stderr


# --- what is refused ------------------------------------------------------------------------------


def test_a_method_without_a_tree_takes_none(clinic):
    result = clinic.anonymize("simple-suppression", "--taxonomy", clinic.tree)
    assert result.exit_code == 2
    assert "simple-suppression uses no tree" in result.stderr
    assert not clinic.release.exists()


def test_unknown_items_are_named_with_similar_ones(clinic):
    clinic.sensitive.write_text("astma\nflu\n")
    options = ["--sensitive", clinic.sensitive, "-o", clinic.release]
    said = refused(clinic, "anonymize", "simple-suppression", clinic.data, *options)
    assert "1 of 2 sensitive items do not occur" in said
    assert "similar to 'astma': 'asthma'" in said


def test_a_method_that_takes_none(clinic):
    for more in (["--sensitive", clinic.sensitive], ["--sensitive-share", "0.5"]):
        options = ["--taxonomy", clinic.tree, "-o", clinic.release, *more]
        said = refused(clinic, "anonymize", "gather", clinic.data, *options)
        assert "takes no sensitive" in said


def test_a_method_that_needs_some(clinic):
    options = ["--taxonomy", clinic.tree, "-o", clinic.release]
    said = refused(clinic, "anonymize", "td-control", clinic.data, *options)
    assert "--sensitive FILE" in said
    both = ["--sensitive", clinic.sensitive, "--sensitive-share", "0.5"]
    said = refused(clinic, "anonymize", "td-control", clinic.data, *options, *both)
    assert "exclude each other" in said


def test_items_in_the_tree_of_the_others(clinic):
    options = ["--taxonomy", clinic.tree, "-o", clinic.release, "--sensitive", clinic.sensitive]
    said = refused(clinic, "anonymize", "td-control", clinic.data, *options)
    assert "'asthma'" in said
    assert "--sensitive-in-tree take-out" in said


@pytest.mark.parametrize("share", ["0", "-1", "1.5"])
def test_shares_that_cannot_be(clinic, share):
    options = ["--sensitive-share", share, "-o", clinic.release]
    said = refused(clinic, "anonymize", "simple-suppression", clinic.data, *options)
    assert "share of sensitive items" in said


def test_lists_that_cannot_be_read(clinic):
    for file in (clinic.folder / "nowhere", clinic.folder):
        options = ["--sensitive", file, "-o", clinic.release]
        assert str(file) in refused(clinic, "anonymize", "coherence", clinic.data, *options)


# --- shares and budgets as options ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--rho", "0"], "rho is"),
        (["--rho", "1.5"], "rho is 1.5"),
        (["--rho", "high"], "not a number"),
        (["--rho", "1/0"], "not a number"),
        (["--budget", "soon"], "not a duration"),
        (["--budget", "0"], "not a duration"),
    ],
)
def test_values_that_cannot_be(clinic, options, said):
    before = clinic.names()
    result = td_control(clinic, *options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert clinic.names() == before


def test_fractions_are_exact_in_the_manifest(clinic):
    td_control(clinic, "--rho", "1/3", "--budget", "10m")
    params = setveil.load_manifest(clinic.release).params
    assert params["rho"] == "1/3"
    assert params["budget"] == 600
    td_control(clinic, "--rho", "0.70", "--force", "--budget", "none")
    params = setveil.load_manifest(clinic.release).params
    assert (params["rho"], params["budget"]) == (0.7, None)


def test_durations_and_shares():
    assert [Duration().read(text) for text in ("45", "90s", "1.5m", "2h")] == [45, 90, 90, 7200]
    assert Share().read("0.25") == 0.25


def test_no_limit_is_none(clinic):
    assert told(clinic.anonymize("hghs", "--m", "none", "--json"))["params"]["m"] is None


def test_the_log_is_in_the_json(clinic):
    clinic.sensitive.write_text("asthma\n")
    found = told(clinic.anonymize("simple-suppression", "--json"))
    assert found["log"] == [
        {"action": "suppress", "subject": "asthma", "reason": "it is sensitive", "cost": 2.0}
    ]


# --- verifying the new promises -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ("km:k=1,m=3", 0),
        ("km:k=8,m=1", 1),
        ("coherence:h=1,k=1,p=2,sensitive=flu", 0),
        ("coherence:h=0,k=1,p=1,sensitive=flu", 1),
        ("rho-uncertainty:rho=0.2,sensitive=flu", 1),
        ("rho-uncertainty:rho=0.2,sensitive=nobody's", 0),
        ("support-constraints:itemsets=flu+cough|cold,k=1", 0),
        ("support-constraints:itemsets=flu+cough|cold,k=8", 1),
        ("rho-uncertainty:rho=2,sensitive=flu", 2),
    ],
)
def test_other_guarantees_of_a_release(clinic, spec, code):
    clinic.sensitive.write_text("asthma\n")
    clinic.anonymize("simple-suppression")
    result = clinic.run("verify", clinic.release, "--guarantee", spec)
    assert result.exit_code == code, result.output
    assert ("required" in result.stdout) == (code == 1)


def test_the_witness_of_a_rule_names_what_follows(clinic):
    clinic.anonymize("simple-suppression")
    spec = "rho-uncertainty:rho=0.2,sensitive=flu"
    result = clinic.run("verify", clinic.release, "-g", spec, "--json")
    witness = json.loads(result.stdout)["checks"][0]["witnesses"][0]
    assert witness["consequent"] == "flu"
    assert 0.2 <= witness["confidence"] <= 1
    assert " → flu: " in clinic.run("verify", clinic.release, "-g", spec).stdout


def test_long_lists_are_cut(clinic, monkeypatch):
    open_question = Verdict(holds=True, exact=False, reason="out of time", checked=1)
    monkeypatch.setattr(KAnonymity, "check", lambda _self, _published: open_question)
    clinic.anonymize("gather")
    assert clinic.run("verify", clinic.release).exit_code == 3
    spec = "rho-uncertainty:rho=1,sensitive=a|b|c|d|e"
    assert "sensitive=a|b|c|… (5)" in clinic.run("verify", clinic.release, "-g", spec).stdout
