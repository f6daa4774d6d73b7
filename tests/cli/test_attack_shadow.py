"""``setveil attack ec`` and ``shadow``: from texts to a score, on the command line alone."""

import json

import numpy as np
import pytest


@pytest.fixture
def published(clinic):
    """Write records about four topics, an index of texts like them, and a release."""
    rng = np.random.default_rng(1)
    chances = np.linspace(3, 1, 30) / np.linspace(3, 1, 30).sum()

    def texts(n):
        topics = rng.integers(4, size=n)
        return [[f"t{t}w{w}x" for w in rng.choice(30, 6, replace=False, p=chances)] for t in topics]

    (clinic.folder / "data.basket").write_text("\n".join(",".join(row) for row in texts(90)))
    lines = [json.dumps({"text": " ".join(row)}) for row in texts(400)]
    (clinic.folder / "corpus.jsonl").write_text("\n".join(lines))
    index = clinic.folder / "corpus.index"
    result = clinic.run("index", clinic.folder / "corpus.jsonl", "-o", index)
    assert result.exit_code == 0, result.output
    data = clinic.folder / "data.basket"
    options = ["--k", "10", "--constrained", "0.15", "--s", "1", "--seed", "2"]
    result = clinic.run(
        "anonymize", "coat", data, "-o", clinic.release, "--key", clinic.key, *options
    )
    assert result.exit_code == 0, result.output
    return clinic, data, f"corpus:{index}"


@pytest.mark.parametrize(("attack", "more"), [("ec", []), ("shadow", ["--tables", "20"])])
def test_from_release_to_score(published, attack, more):
    clinic, data, spec = published
    guess = clinic.folder / "guess.json"
    options = ["--relatedness", spec, "-o", guess, "--seed", "1", *more]
    result = clinic.run("attack", attack, clinic.release, *options)
    assert result.exit_code == 0, result.output
    options = ["--original", data, "--key", clinic.key, "--guess", guess, "--json"]
    scored = clinic.run("measure", clinic.release, *options)
    assert scored.exit_code == 0, scored.output
    told = json.loads(scored.stdout)
    assert told["auc"] > 0.6
    assert (told["ece"] is not None) == (attack == "shadow")


def test_a_source_is_needed(published):
    clinic, _, _ = published
    result = clinic.run("attack", "shadow", clinic.release, "-o", clinic.folder / "guess.json")
    assert result.exit_code == 2
    assert "--relatedness" in result.stderr
