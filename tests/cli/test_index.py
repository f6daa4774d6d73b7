"""``setveil index``."""

import json

import pytest

from setveil.relatedness import CorpusIndex

NOTES = ["High blood pressure.", "", "Blood tests."]


@pytest.fixture
def notes(tmp_path):
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(json.dumps({"text": note}) + "\n" for note in NOTES))
    return path


def test_it_is_written_and_counted(clinic, notes):
    out = clinic.folder / "notes.index"
    result = clinic.run("index", notes, "-o", out)
    assert result.exit_code == 0
    assert "documents                 3\n" in result.stdout
    assert "empty documents: 1" in result.stderr
    assert CorpusIndex.open(out).counts(["test", "blood pressure"]).tolist() == [1, 1]


def test_several_corpora_json_and_standard_input(clinic, notes):
    folder = clinic.folder / "letters"
    folder.mkdir()
    (folder / "a.txt").write_text("A letter on blood.")
    (folder / "b.bin").write_bytes(b"\0\1\2")
    out = clinic.folder / "all.index"
    more = json.dumps({"note": "More blood"}) + "\n"
    result = clinic.run("index", notes, folder, "-o", out, "--json")
    found = json.loads(result.stdout)
    assert (found["documents"], found["empty"], found["occurrences"]) == (4, 1, 9)
    assert found["bytes"] == out.stat().st_size
    assert found["fingerprint"] == CorpusIndex.open(out).fingerprint()
    assert "files that are no text: 1" in result.stderr
    quiet = clinic.run("index", "-", "-o", out, "--text-field", "note", "--force", "--quiet",
                       "--as-written", stdin=more)  # fmt: skip
    assert (quiet.exit_code, quiet.stderr) == (0, "")
    assert CorpusIndex.open(out).counts(["blood"]).tolist() == [1]


def test_nothing_is_overwritten_and_nothing_left(clinic, notes):
    out = clinic.folder / "notes.index"
    assert clinic.run("index", notes, "-o", out).exit_code == 0
    before = clinic.names()
    refused = clinic.run("index", notes, "-o", out)
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    notes.write_text('{"text": "fine"}\nnot json\n')
    broken = clinic.run("index", notes, "-o", out, "--force")
    assert broken.exit_code == 2
    assert "line 2" in broken.stderr
    assert clinic.names() == before
    skipped = clinic.run("index", notes, "-o", out, "--force", "--on-error", "skip")
    assert skipped.exit_code == 0
    assert "malformed lines, skipped: 1" in skipped.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["nowhere.txt", "-o", "x.index"], "no such file"),
        (["{notes}", "-o", "-"], "an index is not a stream"),
        (["-", "-", "-o", "x.index"], "only one input can be -"),
        (["{notes}", "-o", "nowhere/x.index"], "no such directory"),
        (["{notes}", "-o", "x.index", "--text-field", "body"], "has no field 'body'"),
    ],
)
def test_wrong_use(clinic, notes, monkeypatch, options, message):
    monkeypatch.chdir(clinic.folder)
    result = clinic.run("index", *(option.format(notes=notes) for option in options))
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_corpus_without_words(clinic):
    path = clinic.folder / "empty.jsonl"
    path.write_text('{"text": "..."}\n')
    result = clinic.run("index", path, "-o", clinic.folder / "x.index")
    assert result.exit_code == 2
    assert "no words" in result.stderr
    assert not (clinic.folder / "x.index").exists()
