"""``setveil measure``."""

import json

import pytest

KEYS = {
    "ggd", "ggd_share", "ncp", "length_mean", "level_mean", "records_kept", "items_kept",
    "items_exact", "items_suppressed", "are", "are_low", "are_high",
}  # fmt: skip


def measured(clinic, *more):
    options = ["--original", clinic.data, "--key", clinic.key, "--taxonomy", clinic.tree, *more]
    result = clinic.run("measure", clinic.release, *options, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_json_is_flat_with_stable_names(clinic):
    clinic.anonymize("gather", "--key", clinic.key)
    told = measured(clinic)
    assert told["schema"] == 2
    assert set(told) >= KEYS
    assert all(value is None or isinstance(value, int | float) for value in told.values())


def test_k_of_one_loses_nothing_and_more_loses_more(clinic):
    losses = []
    for k in (1, 2, 8):
        clinic.anonymize("partition", "--k", k, "--key", clinic.key, "--force")
        losses.append(measured(clinic)["ncp"])
    assert losses[0] == 0
    assert losses[0] < losses[1] < losses[2] <= 1


def test_a_seed_repeats_the_queries(clinic):
    clinic.anonymize("gather", "--key", clinic.key)
    assert measured(clinic, "--seed", "1") == measured(clinic, "--seed", "1")


def test_without_key_and_tree(clinic):
    clinic.anonymize("gather")
    result = clinic.run("measure", clinic.release, "--original", clinic.data, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert set(told) >= KEYS
    assert 0 <= told["ggd_share"] <= 1


def test_the_table_explains_its_lines(clinic):
    clinic.anonymize("gather", "--key", clinic.key)
    options = ["--original", clinic.data, "--key", clinic.key, "--taxonomy", clinic.tree]
    result = clinic.run("measure", clinic.release, *options)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["measure", "value", "meaning"]
    assert {line.split()[0] for line in lines[1:]} >= KEYS
    assert all(len(line.split()) > 2 for line in lines[1:])


def test_original_from_stdin(clinic):
    clinic.anonymize("gather", "--key", clinic.key)
    told = measured(clinic)
    result = clinic.run(
        "measure", clinic.release, "--original", "-", "--format", "jsonl", "--json",
        "--key", clinic.key, "--taxonomy", clinic.tree, stdin=clinic.data.read_text(),
    )  # fmt: skip
    assert json.loads(result.stdout)["ggd"] == told["ggd"]


def test_another_original_is_refused(clinic):
    clinic.anonymize("gather", "--key", clinic.key)
    clinic.data.write_text('["flu"]\n')
    options = ["--original", clinic.data, "--key", clinic.key, "--taxonomy", clinic.tree]
    result = clinic.run("measure", clinic.release, *options)
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("what", ["release", "original", "key", "taxonomy"])
def test_missing_files(clinic, what):
    clinic.anonymize("gather", "--key", clinic.key)
    paths = {
        "release": clinic.release,
        "original": clinic.data,
        "key": clinic.key,
        "taxonomy": clinic.tree,
    }
    paths[what] = clinic.folder / "nowhere"
    options = [
        word for name in ("original", "key", "taxonomy") for word in (f"--{name}", paths[name])
    ]
    result = clinic.run("measure", paths["release"], *options)
    assert result.exit_code == 2
    assert "nowhere" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_file_that_is_no_key(clinic):
    clinic.anonymize("gather")
    clinic.key.write_bytes(b"not a key")
    options = ["--original", clinic.data, "--key", clinic.key]
    result = clinic.run("measure", clinic.release, *options)
    assert result.exit_code == 2
    assert "visits.key" in result.stderr
