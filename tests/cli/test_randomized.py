"""Select-a-size and the attacks on it, on the command line."""

import json

import numpy as np
import pytest


@pytest.fixture
def setveil(clinic):
    """Return how to run a command."""
    return clinic.run


@pytest.fixture
def made(setveil, tmp_path):
    """Publish records of three topics, and return where everything is."""
    rng = np.random.default_rng(1)
    topics = [[f"{topic}{i}" for i in range(5)] for topic in "abc"]
    rows = [rng.choice(topics[r % 3], 4, replace=False).tolist() for r in range(300)]
    data = tmp_path / "visits.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    release, key = tmp_path / "release", tmp_path / "key"
    done = setveil(
        "anonymize",
        "select-a-size",
        data,
        "--beta",
        "0.1",
        "--seed",
        "1",
        "-o",
        release,
        "--key",
        key,
    )
    assert done.exit_code == 0, done.stderr
    return data, release, key, done


def test_it_says_that_nothing_is_promised(made):
    *_, done = made
    assert "promise: none; this method promises nothing" in done.stdout
    assert "public-records" in done.stderr


def test_pure_noise_is_refused_before_anything_is_read(setveil, tmp_path):
    done = setveil(
        "anonymize", "select-a-size", "nowhere.csv", "--beta", "1/2", "-o", tmp_path / "r"
    )
    assert done.exit_code == 2
    assert "pure noise" in done.stderr


def test_sizes(setveil, made, tmp_path):
    data, *_ = made
    done = setveil(
        "anonymize", "select-a-size", data, "--sizes", "0,0,0,1/2,1/2", "-o", tmp_path / "sized"
    )
    assert done.exit_code == 0, done.stderr
    manifest = json.loads((tmp_path / "sized" / "manifest.json").read_text())
    assert manifest["params"] == {"beta": 0.1, "sizes": "0,0,0,1/2,1/2"}
    assert manifest["structure"] == {"beta": 0.1, "domain": 15, "sizes": [0.0, 0.0, 0.0, 0.5, 0.5]}
    done = setveil("anonymize", "select-a-size", data, "--sizes", "1/2,1/2", "-o", tmp_path / "no")
    assert done.exit_code == 2
    assert "has 4 items" in done.stderr


def test_measure(setveil, made):
    data, release, key, _ = made
    done = setveil("measure", release, "--original", data, "--key", key, "--json")
    assert done.exit_code == 0, done.stderr
    figures = json.loads(done.stdout)
    assert 0.85 < figures["items_exact"] < 0.95
    assert 0.7 < figures["items_true"] < 0.85
    assert figures["perturbation_loss"] is None
    assert figures["are"] is not None


def test_verify_has_nothing_to_check(setveil, made):
    _, release, *_ = made
    done = setveil("verify", release, "--guarantee", "k-anonymity:k=2")
    assert done.exit_code == 2
    assert "only by chance" in done.stderr


def test_the_noise_filter(setveil, made, tmp_path):
    data, release, key, _ = made
    guess = tmp_path / "guess.json"
    done = setveil("attack", "noise-filter", release, "-o", guess)
    assert done.exit_code == 0, done.stderr
    assert "components are above the noise" in done.stderr
    shown = setveil("measure", release, "--original", data, "--key", key, "--guess", guess)
    lines = shown.stdout.splitlines()
    assert lines[0].split() == [
        "score", "value", "low", "high", "alone", "published", "control", "meaning",
    ]  # fmt: skip
    names = [line.split()[0] for line in lines[1:]]
    assert names == ["noise_removed", "advantage", "precision", "recall", "f1"]
    done = setveil("measure", release, "--original", data, "--key", key, "--guess", guess, "--json")
    rates = json.loads(done.stdout)
    assert rates["noise_removed"] > rates["noise_removed_alone"] + 0.2


def test_public_records(setveil, made, tmp_path):
    data, release, key, _ = made
    guess = tmp_path / "guess.json"
    done = setveil("attack", "public-records", release, "-o", guess)
    assert done.exit_code == 2
    assert "--candidates DATA" in done.stderr
    done = setveil("attack", "public-records", release, "--candidates", data, "-o", guess)
    assert done.exit_code == 0, done.stderr
    shown = setveil("measure", release, "--original", data, "--key", key, "--guess", guess)
    lines = shown.stdout.splitlines()
    assert lines[0].split() == ["score", "value", "low", "high", "random", "control", "meaning"]
    done = setveil("measure", release, "--original", data, "--key", key, "--guess", guess, "--json")
    rates = json.loads(done.stdout)
    assert rates["first_low"] > 3 * rates["first_random"]
    assert rates["among"] == 1
