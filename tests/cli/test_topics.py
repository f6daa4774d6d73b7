"""``setveil topics``."""

import json

import pytest

from setveil.io.readers import read

NOTES = [
    ["fever", "cough", "flu"],
    ["fever", "cough"],
    ["flu", "fever"],
    ["rash", "itch"],
    ["itch", "rash", "eczema"],
    [],
]


@pytest.fixture
def notes(clinic):
    clinic.data.write_text("".join(json.dumps(note) + "\n" for note in NOTES))
    return clinic


def test_topics_are_listed(notes):
    result = notes.run("topics", notes.data, "-n", 2, "--quiet")
    assert result.exit_code == 0
    assert result.stdout == (
        "topic  records  words\n"
        "    1        3  fever, cough, flu\n"
        "    2        2  itch, rash\n"
        "records without a topic: 1\n"
    )


def test_records_of_a_topic_are_written_and_nothing_else(notes):
    out = notes.folder / "skin.jsonl"
    result = notes.run("topics", notes.data, "-n", 2, "--topic", 2, "-o", out, "--quiet")
    assert result.exit_code == 0
    assert read(out).to_rows() == [["eczema", "itch", "rash"], ["itch", "rash"]]
    assert "fever" not in out.read_text()
    assert f"{out}: 2 records" in result.stdout


def test_json(notes):
    out = notes.folder / "typical.csv"
    result = notes.run(
        "topics", notes.data, "-n", 2, "--words", 1, "--per-topic", 1, "-o", out, "--json"
    )
    found = json.loads(result.stdout)
    assert [each["records"] for each in found["topics"]] == [3, 2]
    assert [len(each["words"]) for each in found["topics"]] == [1, 1]
    assert (found["without_topic"], found["converged"]) == (1, True)
    assert (found["file"], found["written"]) == (str(out), 2)


def test_records_can_go_to_the_standard_output(notes):
    result = notes.run(
        "topics", notes.data, "-n", 2, "--topic", 2, "-o", "-", "--to", "jsonl", "--quiet"
    )
    assert result.stdout == '["eczema", "itch", "rash"]\n["itch", "rash"]\n'


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-n", 0], "--number"),
        (["-n", 9], "9 topics cannot be told apart"),
        (["--topic", 1], "name a file with -o"),
        (["--per-topic", 1], "name a file with -o"),
        (["-n", 2, "--topic", 3, "-o", "out.csv"], "there is no topic 3"),
        (["-n", 2, "-o", "out"], "does not say which format"),
        (["-n", 2, "-o", "-", "--to", "jsonl", "--json"], "cannot both go to standard output"),
        (["-n", 2, "-o", "tree.csv"], "it exists already"),
        (["-n", 4, "--topic", 4, "-o", "out.csv"], "no record is about"),
    ],
)
def test_wrong_use_exits_with_2_and_writes_nothing(notes, monkeypatch, options, said):
    monkeypatch.chdir(notes.folder)
    before = notes.names()
    result = notes.run("topics", notes.data, *options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    if "--json" in options:
        assert said in json.loads(result.stdout)["error"]["what"]
    else:
        assert result.stdout == ""
    assert notes.names() == before
