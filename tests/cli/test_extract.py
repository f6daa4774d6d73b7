"""``setveil extract``."""

import json

import pytest

import setveil

NOTES = [
    {"id": "p1", "text": "A long history of vascular disease."},
    {"id": "p2", "text": "<p>Fever and</p><p>a cough.</p>"},
    {"id": "p3", "text": ""},
]


@pytest.fixture
def notes(tmp_path):
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(json.dumps(note) + "\n" for note in NOTES))
    return path


def test_records_are_written_and_counted(clinic, notes):
    out = clinic.folder / "out.csv"
    result = clinic.run("extract", notes, "-o", out)
    assert result.exit_code == 0
    assert out.read_text() == "cough,fever\nlong history,vascular disease\n"
    assert "records                 2" in result.stdout
    assert "1 document is empty." in result.stderr
    assert "1 document was HTML." in result.stderr


def test_json_and_ways_to_extract(clinic, notes):
    for method, items in [("nouns", 4), ("tokens", 6), ("noun-phrases", 4)]:
        out = clinic.folder / f"{method}.jsonl"
        result = clinic.run("extract", notes, "--as", method, "-o", out, "--json", "--quiet")
        found = json.loads(result.stdout)
        assert result.stderr == ""
        assert (found["schema"], found["documents"], found["empty"]) == (2, 3, 1)
        assert (found["records"], found["items"], found["method"]) == (2, items, method)
        assert found["ttr"] == found["items"] / found["occurrences"]
        assert len(setveil.read(out)) == 2


def test_standard_input_and_output_and_order(clinic, notes):
    text = notes.read_text()
    kept = clinic.run("extract", "-", "-o", "-", "--keep-order", stdin=text)
    assert kept.stdout == '["long history", "vascular disease"]\n["cough", "fever"]\n'
    sorted_by_content = clinic.run("extract", "-", "-o", "-", "--to", "basket", stdin=text)
    assert sorted_by_content.stdout == "cough,fever\nlong history,vascular disease\n"


def test_patterns_stop_words_and_fields(clinic):
    table = clinic.folder / "letters.tsv"
    table.write_text("note\tx\nDear patient: a high fever. Regards, a doctor\t1\n")
    words = clinic.folder / "words.txt"
    words.write_text("fever\n")
    result = clinic.run(
        "extract", table, "--text-field", "note", "--header-pattern", "^Dear .*?:",
        "--footer-pattern", "Regards", "--stop-words", words, "-o", "-", "--to", "jsonl",
        "--as", "tokens",
    )  # fmt: skip
    assert result.stdout == '["high"]\n'
    assert "1 header was cut." in result.stderr


def test_nothing_of_a_document_but_its_items_is_written(clinic, notes):
    out = clinic.folder / "out.jsonl"
    clinic.run("extract", notes, "-o", out)
    content = out.read_text()
    assert not any(word in content for word in ("p1", "p2", "notes", str(clinic.folder)))


def test_a_query_log(clinic):
    log = clinic.folder / "log.txt"
    log.write_text(
        "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"
        "13508\tgood wine\t2006-03-01 21:29:00\t7\thttp://www.wines.com\n"
        "13508\taccent marks\t2006-03-01 22:04:00\t1\thttp://faculty.weber.edu\n"
        "13508\tbody mass index\t2006-03-02 20:34:00\t2\thttp://www.halls.md\n"
        "77\tbody mass index\t2006-03-02 20:34:00\t\t\n"
    )
    out = clinic.folder / "out.jsonl"
    result = clinic.run("extract", log, "--kind", "queries", "-o", out)
    assert result.exit_code == 0
    assert out.read_text().splitlines() == [
        '["accent mark", "body mass", "good wine", "index"]',
        '["body mass", "index"]',
    ]
    assert "users                   2" in result.stdout
    words = clinic.folder / "words.txt"
    words.write_text("index\ngood wine\n")
    args = ["--per", "session", "--gap-minutes", 40, "--words", words, "--short", 2, "--json"]
    args += ["--user-column", "AnonID", "--query-column", "Query", "--time-column", "QueryTime"]
    result = clinic.run("extract", log, "--kind", "queries", "-o", out, "--force", *args)
    assert out.read_text() == '["good wine"]\n["index"]\n["index"]\n'
    assert json.loads(result.stdout)["lines"] == 4


@pytest.mark.parametrize(
    "args",
    [
        ["NOTES", "-o", "out.csv", "--per", "user"],
        ["NOTES", "-o", "out.csv", "--kind", "queries", "--keep-order"],
        ["LOG", "-o", "out.csv", "--kind", "queries", "--gap-minutes", "5"],
        ["LOG", "-o", "out.csv", "--kind", "queries", "--gap-minutes", "5", "--per", "user"],
        ["NOTES", "-o", "out.csv", "--kind", "queries", "--on-error", "skip"],
        ["NOTES", "-o", "out.csv", "--as", "queries"],
        ["NOTES", "NOTES", "-o", "out.csv"],
        ["NOTES", "-o", "out.dat"],
        ["NOTES", "-o", "out.unknown"],
        ["NOTES", "-o", "out.csv", "--as", "verbs"],
        ["NOTES", "-o", "out.csv", "--header-pattern", "("],
        ["NOTES", "-o", "out.csv", "--text-field", "nothing"],
        ["NOTES", "-o", "out.csv", "--tagger", "no_such_model"],
        ["NOTES", "-o", "out.csv", "--stop-words", "nowhere"],
        ["NOTES", "-o", "visits.jsonl"],
        ["nowhere", "-o", "out.csv"],
        ["NOTES", "-o", "-", "--json"],
        ["NOTES", "-o", "out.csv", "--workers", "0"],
    ],
)
def test_wrong_use_exits_with_2_and_writes_nothing(clinic, notes, monkeypatch, args):
    monkeypatch.chdir(clinic.folder)
    (clinic.folder / "LOG").write_text("AnonID\tQuery\n7\tgood wine\n")
    before = clinic.names()
    result = clinic.run("extract", *[notes if arg == "NOTES" else arg for arg in args])
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr
    assert clinic.names() == before


def test_malformed_lines_can_be_skipped(clinic, notes):
    notes.write_text(notes.read_text() + "broken\n")
    out = clinic.folder / "out.csv"
    stopped = clinic.run("extract", notes, "-o", out)
    assert stopped.exit_code == 2
    assert "line 4" in stopped.stderr
    assert not out.exists()
    skipped = clinic.run("extract", notes, "-o", out, "--on-error", "skip")
    assert skipped.exit_code == 0
    assert "1 malformed line skipped." in skipped.stderr
