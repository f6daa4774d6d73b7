"""``setveil attack`` and scoring its guess with ``setveil measure --guess``."""

import json
import stat

import pytest
from tests.cli.conftest import VISITS


@pytest.fixture
def hashed(clinic):
    assert clinic.anonymize("token-hashing", "--key", clinic.key).exit_code == 0
    return clinic


def attack(clinic, *more):
    guess = clinic.folder / "guess.json"
    options = ["--reference", clinic.data, "-o", guess, *more]
    return clinic.run("attack", "token-frequency", clinic.release, *options), guess


def test_from_release_to_score(hashed):
    result, guess = attack(hashed)
    assert result.exit_code == 0, result.output
    assert "guess.json" in result.stdout
    options = ["--original", hashed.data, "--key", hashed.key, "--guess", guess]
    scored = hashed.run("measure", hashed.release, *options, "--json")
    assert scored.exit_code == 0, scored.output
    told = json.loads(scored.stdout)
    for name in ("accuracy", "accuracy_frequency", "occurrences_read"):
        assert told[f"{name}_low"] <= told[name] <= told[f"{name}_high"]
    shown = hashed.run("measure", hashed.release, *options)
    lines = shown.stdout.splitlines()
    assert lines[0].split() == ["score", "value", "low", "high", "meaning"]
    assert all(len(line.split()) > 5 for line in lines[1:])


def test_json(hashed):
    result, guess = attack(hashed, "--most", "3", "--json", "--quiet", "--seed", "1")
    told = json.loads(result.stdout)
    assert told["attack"] == "token-frequency"
    assert told["params"] == {"most": 3, "rounds": 20}
    assert told["guess"] == str(guess)
    assert len(json.loads(guess.read_text())["names"]) == 3


def test_what_is_missing_or_wrong_is_said_before_any_work(hashed):
    guess = hashed.folder / "guess.json"
    result = hashed.run("attack", "token-frequency", hashed.release, "-o", guess)
    assert result.exit_code == 2
    assert "--reference" in result.stderr
    result = hashed.run("attack", "nothing", hashed.release, "-o", guess)
    assert result.exit_code == 2
    assert "token-frequency" in result.stderr
    guess.write_text("mine")
    result, _ = attack(hashed)
    assert result.exit_code == 2
    assert guess.read_text() == "mine"
    assert attack(hashed, "--force")[0].exit_code == 0


def test_a_release_it_says_nothing_about(clinic):
    clinic.anonymize("gather")
    result, guess = attack(clinic)
    assert result.exit_code == 2
    assert "does not attack releases of the form 'generalized'" in result.stderr
    assert not guess.exists()


def test_a_guess_needs_a_key(hashed):
    _, guess = attack(hashed)
    result = hashed.run("measure", hashed.release, "--original", hashed.data, "--guess", guess)
    assert result.exit_code == 2
    assert "--key" in result.stderr


# --- methods with a secret ------------------------------------------------------------------------


def test_the_same_secret_gives_the_same_tags(clinic):
    secret = clinic.folder / "secret"
    secret.write_bytes(b"\x07" * 32)
    files = []
    for name in ("one", "two"):
        made = clinic.anonymize(
            "token-hashing", "--secret-file", secret, "-o", clinic.folder / name
        )
        assert made.exit_code == 0, made.output
        files.append(sorted(path.name for path in (clinic.folder / name).iterdir()))
        text = b"".join(path.read_bytes() for path in (clinic.folder / name).iterdir())
        assert b"\x07" * 16 not in text
        assert ("07" * 16).encode() not in text
        assert b"secret" not in text
    assert files[0] == files[1]


def test_a_seed_repeats_what_is_drawn_and_says_what_that_means(clinic):
    files = []
    for name, seed in (("one", 5), ("two", 5), ("three", 6)):
        options = ["--seed", seed, "--quiet", "-o", clinic.folder / name]
        made = clinic.anonymize("secret-sharing", *options)
        assert "Do not publish" in made.stderr
        files.append(sorted(path.name for path in (clinic.folder / name).iterdir()))
    assert files[0] == files[1] != files[2]


def test_secrets_that_cannot_be_used(clinic):
    short = clinic.folder / "short"
    short.write_bytes(b"x")
    result = clinic.anonymize("token-hashing", "--secret-file", short)
    assert result.exit_code == 2
    assert "at least 16" in result.stderr
    result = clinic.anonymize("token-hashing", "--secret-file", clinic.folder / "nowhere")
    assert result.exit_code == 2
    assert "nowhere" in result.stderr
    result = clinic.anonymize("gather", "--secret-file", short)
    assert result.exit_code == 2
    assert "has no secret" in result.stderr
    assert not clinic.release.exists()


@pytest.mark.parametrize("method", ["token-hashing", "secret-sharing", "split-personality"])
def test_what_is_not_promised_is_said_everywhere(clinic, method):
    made = clinic.anonymize(method, "--key", clinic.key)
    assert "promise: none; this method promises nothing" in made.stdout
    assert "promises" in made.stderr
    verified = clinic.run("verify", clinic.release)
    assert verified.exit_code == 2
    assert "promises nothing" in verified.stderr
    assert json.loads((clinic.release / "manifest.json").read_text())["promise"] is None
    assert stat.S_IMODE(clinic.key.stat().st_mode) == 0o600
    options = ["--original", clinic.data, "--key", clinic.key, "--json"]
    told = json.loads(clinic.run("measure", clinic.release, *options).stdout)
    assert 0 <= told["items_exact"] <= 1
    other = clinic.folder / "other.jsonl"
    other.write_text("".join(json.dumps(row[:1]) + "\n" for row in VISITS))
    wrong = clinic.run("measure", clinic.release, "--original", other, "--key", clinic.key)
    assert wrong.exit_code == 2
