"""Records in groups on the command line: made, verified, measured, refused."""

import json

import pytest


@pytest.mark.parametrize("method", ["cahd", "anatomy", "permutation"])
def test_made_verified_measured(clinic, method):
    letter = "--l" if method == "anatomy" else "--p"
    done = clinic.anonymize(method, letter, "4", "--key", clinic.key)
    assert done.exit_code == 0, done.output
    assert "promise: in every group at most one record in 4 holds any one of 1" in done.stdout
    done = clinic.run("verify", clinic.release)
    assert done.exit_code == 0
    assert "privacy-degree:p=4,sensitive=asthma  holds" in done.stdout
    spec = "privacy-degree:p=9,sensitive=asthma"
    assert clinic.run("verify", clinic.release, "-g", spec).exit_code == 1
    done = clinic.run(
        "measure", clinic.release, "--original", clinic.data, "--key", clinic.key, "--json", "-q"
    )
    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout)
    assert figures["items_exact"] == 1
    assert 0 <= figures["kl_low"] <= figures["kl"] <= figures["kl_high"]


def test_what_cannot_be_is_said(clinic):
    done = clinic.anonymize("cahd", "--p", "5")
    assert done.exit_code != 0
    said = str(done.output) + str(done.exception)
    assert "p is 5, but more than one in 5 of the 8 records hold 'asthma'" in said
    assert "p of at most 4" in said
    assert not clinic.release.exists()


def test_other_guarantees_are_refused_in_words(clinic):
    clinic.anonymize("cahd", "--p", "2")
    done = clinic.run("verify", clinic.release, "-g", "k-anonymity:k=2")
    assert done.exit_code != 0
    assert "ask for privacy-degree" in str(done.output) + str(done.exception)
