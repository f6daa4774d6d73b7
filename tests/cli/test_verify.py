"""``setveil verify``."""

import json

import pytest

from setveil.cli import verify as command
from setveil.guarantee.base import Verdict


def test_the_promise_holds(clinic):
    clinic.anonymize("gather", "--k", "3")
    result = clinic.run("verify", clinic.release)
    assert result.exit_code == 0, result.output
    assert "k-anonymity:k=3  holds" in result.stdout


def test_a_violation_exits_with_1_and_prints_witnesses(clinic):
    clinic.anonymize("gather", "--k", "2")
    result = clinic.run("verify", clinic.release, "--guarantee", "k-anonymity:k=6")
    assert result.exit_code == 1
    assert "k-anonymity:k=6  VIOLATED" in result.stdout
    assert "required" in result.stdout


def test_json(clinic):
    clinic.anonymize("gather", "--k", "2")
    options = ["-g", "k-anonymity:k=2", "-g", "k-anonymity:k=8", "--json"]
    result = clinic.run("verify", clinic.release, *options)
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert (told["schema"], told["holds"], told["exact"]) == (2, False, True)
    first, second = told["checks"]
    assert (first["guarantee"], first["params"], first["holds"]) == ("k-anonymity", {"k": 2}, True)
    assert first["witnesses"] == []
    assert not second["holds"]
    witness = second["witnesses"][0]
    assert set(witness) == {"items", "support", "required", "consequent", "confidence"}
    assert witness["support"] < 8


def test_only_the_data_is_trusted(clinic):
    clinic.anonymize("gather", "--release-format", "jsonl", "--k", "4")
    manifest = clinic.release / "manifest.json"
    told = json.loads(manifest.read_text())
    told["promise"]["params"]["k"] = 8
    manifest.write_text(json.dumps(told))
    assert clinic.run("verify", clinic.release).exit_code == 1


def test_damage_is_found(clinic):
    clinic.anonymize("gather", "--release-format", "jsonl")
    (data,) = clinic.release.glob("release-*")
    data.write_text("\n".join(reversed(data.read_text().splitlines())) + "\n")
    result = clinic.run("verify", clinic.release)
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


def verdict(*, holds, exact):
    return Verdict(holds=holds, exact=exact, reason="so", checked=1)


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([verdict(holds=True, exact=True)], 0),
        ([verdict(holds=False, exact=True)], 1),
        ([verdict(holds=True, exact=False)], 3),
        ([verdict(holds=False, exact=False)], 3),
        ([verdict(holds=True, exact=False), verdict(holds=False, exact=True)], 1),
    ],
)
def test_exit_codes(verdicts, code):
    assert command.exit_code(verdicts) == code


def test_not_decided_exactly_exits_with_3(clinic, monkeypatch):
    from setveil.guarantee import KAnonymity

    clinic.anonymize("gather")
    open_question = verdict(holds=True, exact=False)
    monkeypatch.setattr(KAnonymity, "check", lambda _self, _published: open_question)
    result = clinic.run("verify", clinic.release)
    assert result.exit_code == 3
    assert "not decided exactly" in result.stdout


@pytest.mark.parametrize(
    ("spec", "said"),
    [("k-anon:k=5", "k-anonymity"), ("k-anonymity:k=x", "k"), ("k-anonymity:k=0", "k is 0")],
)
def test_wrong_guarantees(clinic, spec, said):
    clinic.anonymize("gather")
    result = clinic.run("verify", clinic.release, "--guarantee", spec)
    assert result.exit_code == 2
    assert said in result.stderr


def test_no_release(clinic):
    result = clinic.run("verify", clinic.folder / "nowhere")
    assert result.exit_code == 2
    assert "no such directory" in result.stderr
    assert clinic.run("verify", clinic.data).exit_code == 2
    assert clinic.run("verify", clinic.folder).exit_code == 2


def test_quiet_says_nothing_when_all_is_well(clinic):
    clinic.anonymize("gather")
    result = clinic.run("verify", clinic.release, "--quiet")
    assert (result.exit_code, result.output) == (0, "")
