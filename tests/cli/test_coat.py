"""Privacy and utility constraints on the command line."""

import json

import pytest

import setveil
from setveil.core.errors import InputError
from setveil.io.item_lists import read_itemsets


@pytest.fixture
def lists(clinic):
    """Write a list of itemsets beside the clinic's data, and return its path."""

    def write(name, text):
        path = clinic.folder / name
        path.write_text(text)
        return path

    return write


def test_named_itemsets_are_protected_and_verified(clinic, lists):
    privacy = lists("privacy.txt", "asthma + cough\n\nflu\n")
    result = clinic.anonymize("coat", "--privacy", privacy, "--key", clinic.key, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["promise"].startswith("every part of 2 protected itemsets")
    assert "drawn at random" not in result.stderr
    manifest = setveil.load_manifest(clinic.release)
    assert manifest.form == "set-generalized"
    assert manifest.promise["params"]["itemsets"] == [["asthma", "cough"], ["flu"]]
    checked = clinic.run(
        "verify", clinic.release, "-g", f"support-constraints:k=2,itemsets=@{privacy}"
    )
    assert checked.exit_code == 0, checked.output
    assert "Traceback" not in checked.output
    measured = clinic.run(
        "measure", clinic.release, "--original", clinic.data, "--key", clinic.key, "--json"
    )
    figures = json.loads(measured.stdout)
    assert figures["ul"] > 0
    assert 0 <= figures["ncp"] < 1


def test_utility_constraints_limit_what_is_joined(clinic, lists):
    privacy = lists("privacy.txt", "asthma\n")
    utility = lists("utility.txt", 'asthma + cold\n["flu", "fever"]\n')
    for method in ("coat", "pcta"):
        result = clinic.anonymize(
            method, "--k", 4, "--privacy", privacy, "--utility", utility, "--force"
        )
        assert result.exit_code == 0, result.output
        assert ("asthma", "cold") in setveil.load_release(clinic.release).groups


def test_constraints_are_drawn_where_none_are_given(clinic):
    def rows(*more):
        result = clinic.anonymize("coat", "--k", 6, "--constrained", 0.5, "--force", *more)
        assert result.exit_code == 0, result.output
        assert "drawn at random" in result.stderr
        return setveil.load_release(clinic.release).to_rows()

    first = rows("--seed", 1)
    manifest = (clinic.release / "manifest.json").read_text()
    assert "seed" not in manifest
    assert rows("--seed", 1) == first
    assert any(rows("--seed", seed) != first for seed in range(2, 8))


def test_every_item_is_protected_on_request(clinic):
    result = clinic.anonymize("pcta", "--constrained", 1)
    assert result.exit_code == 0, result.output
    assert "drawn at random" not in result.stderr
    assert "5 protected items" in result.stdout


def test_wordnet_gives_utility_constraints(clinic, lists, data_dir):
    privacy = lists("privacy.txt", "asthma\n")
    place = f"wordnet:{data_dir / 'wordnet-3.0-dict.tar.gz'}"
    result = clinic.anonymize("coat", "--privacy", privacy, "--utility", place, "--k", 3)
    assert result.exit_code == 0, result.output
    assert "82,115 synsets" in result.stderr
    groups = [group for group in setveil.load_release(clinic.release).groups if len(group) > 1]
    assert groups


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--privacy", "nowhere.txt"], "nowhere.txt"),
        (["--constrained", "none"], "nothing says what to protect"),
        (["--utility", "nowhere.txt"], "nowhere.txt"),
        (["--utility", "wordnet:nowhere"], "no WordNet here"),
        (["--taxonomy", "nowhere.csv"], "uses no tree"),
        (["--constrained", "0"], "constrained is 0"),
        (["--s", "2"], "s is 2"),
        (["--objective", "speed"], "objective"),
    ],
)
def test_what_cannot_be_used_is_refused(clinic, options, message):
    before = clinic.names()
    result = clinic.anonymize("coat", *options)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output
    assert clinic.names() == before


def test_items_that_do_not_occur_are_named(clinic, lists):
    result = clinic.anonymize("coat", "--privacy", lists("privacy.txt", "astma\n"))
    assert result.exit_code == 2
    assert "'astma'" in result.stderr


def test_other_methods_have_no_constraints(clinic):
    result = clinic.anonymize("gather", "--privacy", "x.txt")
    assert result.exit_code == 2
    assert "No such option" in result.output


def test_lists_of_itemsets(lists):
    path = lists("a.txt", 'a + b\n["C++", "d"]\n[odd item\n[1, 2]\n')
    assert read_itemsets(path) == (("a", "b"), ("C++", "d"), ("[odd item",), ("[1, 2]",))
    with pytest.raises(InputError, match="is no itemset"):
        read_itemsets(lists("b.txt", "a + + b\n"))
