"""Where a key may not go, data that does not belong to a release, a closed standard output."""

import json
import os
import subprocess

import numpy as np
import pytest

from setveil.release import Key
from setveil.release.store import load_key, save_key


def test_the_key_may_not_lie_in_the_release_by_any_name(clinic):
    clinic.release.mkdir()
    (clinic.folder / "link").symlink_to(clinic.release)
    for place in (clinic.release, clinic.release / "k.key", clinic.folder / "link" / "k.key"):
        result = clinic.anonymize("gather", "--key", place)
        assert result.exit_code == 2
        assert "inside the release" in result.output
    assert list(clinic.release.iterdir()) == []


def test_the_key_may_not_replace_an_input_even_with_force(clinic):
    for place in (clinic.data, clinic.tree):
        before = place.read_bytes()
        result = clinic.anonymize("gather", "--key", place, "--force")
        assert result.exit_code == 2
        assert "would replace a file" in result.output
        assert place.read_bytes() == before
    assert not clinic.release.exists()


@pytest.mark.parametrize(
    "command",
    [
        ["index", "DATA", "-o", "DATA"],
        ["index", "FOLDER", "-o", "DATA"],
        ["select", "DATA", "--size", "2", "-o", "DATA"],
        ["topics", "DATA", "--topic", "1", "-o", "DATA"],
        ["extract", "DATA", "-o", "DATA"],
        ["taxonomy", "build", "DATA", "-o", "DATA"],
        ["taxonomy", "export", "DATA", "-o", "DATA"],
    ],
)
def test_no_command_replaces_what_it_reads_even_with_force(clinic, command):
    places = {"DATA": clinic.data, "FOLDER": clinic.folder}
    before = clinic.data.read_bytes()
    result = clinic.run(*(places.get(word, word) for word in command), "--force")
    assert result.exit_code == 2
    assert "would replace a file that this command reads" in result.output
    assert clinic.data.read_bytes() == before


def test_a_key_is_replaced_by_a_key_only(clinic):
    assert clinic.anonymize("gather", "--key", clinic.key).exit_code == 0
    before = clinic.key.read_bytes()
    for command in (
        ["select", clinic.data, "--size", "2", "--to", "jsonl"],
        ["index", clinic.data],
    ):
        result = clinic.run(*command, "-o", clinic.key, "--force")
        assert result.exit_code == 2
        assert "this is a private key" in result.output
        assert clinic.key.read_bytes() == before
    assert clinic.anonymize("gather", "--key", clinic.key, "--force").exit_code == 0


def test_measuring_against_other_data_is_refused(clinic):
    clinic.anonymize("gather", "--key", clinic.key)
    shorter = clinic.folder / "shorter.jsonl"
    shorter.write_text('["flu"]\n' * 8)
    result = clinic.run("measure", clinic.release, "--original", shorter)
    assert result.exit_code == 2
    assert "cannot come from this original" in result.output


def test_measuring_by_another_key_is_refused(clinic):
    clinic.anonymize("gather", "--key", clinic.key)
    wrong = clinic.folder / "wrong.key"
    save_key(Key(records=np.roll(load_key(clinic.key).records, 3)), wrong)
    options = ("--original", clinic.data, "--taxonomy", clinic.tree, "--key")
    assert clinic.run("measure", clinic.release, *options, clinic.key).exit_code == 0
    result = clinic.run("measure", clinic.release, *options, wrong)
    assert result.exit_code == 2
    assert "by this key" in result.output


def test_a_closed_standard_output_does_not_look_like_a_violation(clinic, script):
    clinic.anonymize("gather")
    command = [*script, "verify", str(clinic.release)]
    done = subprocess.run(
        command,
        check=False,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.close(1),
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_items_that_are_categories_are_pointed_out(clinic):
    rows = [["flu"], ["infection"], ["flu"], ["cold"]]
    clinic.data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = clinic.anonymize("gather")
    assert "leaf counts of the release grow by 1" in result.stderr


def test_a_built_tree_names_no_item(clinic):
    rows = [["bread", "milk"]] * 2 + [["beer", "milk"]] * 2 + [["aaa", "milk"], ["zzz", "milk"]]
    clinic.data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    clinic.tree.unlink()
    built = clinic.run("taxonomy", "build", clinic.data, "--fanout", "2", "-o", clinic.tree)
    assert built.exit_code == 0
    assert clinic.anonymize("gather", "--release-format", "jsonl").exit_code == 0
    text = "".join(path.read_text() for path in clinic.release.iterdir())
    assert "milk" in text
    assert "aaa" not in text
    assert "zzz" not in text


def test_a_huge_number_of_candidates_means_all(clinic):
    assert clinic.anonymize("clump", "--r", str(2**31 - 1)).exit_code == 0
