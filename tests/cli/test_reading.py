"""Reading on the command line: inspected, saved, used or refused; identities stop publishing."""

import json

import pytest

HOSPITAL = "PatientID,Name,Age,Sex,Dx1,Dx2,Dx3\n" + "".join(
    f"P{n:03},{name},{30 + n},{'FM'[n % 2]},{a},{b},\n"
    for n, (name, a, b) in enumerate(
        [
            ("Anna Huber", "flu", "asthma"),
            ("Bruno Maier", "flu", "HIV infection"),
            ("Clara Stein", "gout", "asthma"),
            ("David Vogel", "gout", "flu"),
            ("Maria Lopez", "flu", "asthma"),
            ("Peter Novak", "gout", "HIV infection"),
        ]
    )
)


@pytest.fixture
def hospital(tmp_path):
    path = tmp_path / "clinic.csv"
    path.write_text(HOSPITAL)
    return path


def test_inspect_shows_the_layout(clinic, hospital):
    done = clinic.run("inspect", hospital)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == "layout: wide, delimiter ',', with a header, utf-8"
    roles = {line.split()[0]: line for line in lines[2:9]}
    assert "record id" in roles["PatientID"]
    assert "identifier" in roles["Name"]
    assert "A*** H****" in roles["Name"]
    assert "Anna" not in done.output
    assert "item" in roles["Dx1"]
    assert "record 1: asthma, flu" in lines
    assert "Set aside, because it looks like an identity: Name." in done.stderr


def test_inspect_json_has_all_of_it(clinic, hospital):
    found = json.loads(clinic.run("inspect", hospital, "--json", "--quiet").stdout)
    assert found["records"] == 6
    assert [column["role"] for column in found["columns"]][:2] == ["record id", "identifier"]
    assert found["first_records"][0] == ["asthma", "flu"]
    assert found["reading"]["set_aside"] == ["Name", "Age", "Sex"]
    assert found["candidates"][0]["option"] == "--id PatientID --items 'Dx*'"
    assert found["identifiers"] == []


def test_a_layout_is_saved_and_used(clinic, hospital, tmp_path):
    layout = tmp_path / "layout.toml"
    done = clinic.run("inspect", hospital, "--save-layout", layout, "--quiet")
    assert done.exit_code == 0, done.output
    again = clinic.run("inspect", hospital, "--save-layout", layout)
    assert again.exit_code == 2
    assert "--force" in again.output
    out = tmp_path / "release"
    done = clinic.run(
        "anonymize", "disassociate", hospital, "--layout", layout, "--k", 2, "-o", out, "--json"
    )
    assert done.exit_code == 0, done.output
    reading = json.loads(done.stdout)["reading"]
    assert reading["layout"]["format"] == "wide"
    assert not reading["guessed"]


def test_identities_never_reach_a_release(clinic, hospital, tmp_path):
    out = tmp_path / "release"
    done = clinic.run(
        "anonymize", "coat", hospital, "--k", 2, "--constrained", 1, "-o", out,
        "--release-format", "jsonl", "--quiet",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    published = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    for secret in (b"Huber", b"Anna", b"P001", b"PatientID"):
        assert secret not in published


@pytest.mark.parametrize("command", ["anonymize", "audit", "harden"])
def test_the_guard_stops_publishing(clinic, hospital, tmp_path, command):
    out = tmp_path / "out"
    start = ["anonymize", "disassociate"] if command == "anonymize" else [command]
    done = clinic.run(*start, hospital, "--items", "Name,Dx1,Dx2", "-o", out)
    assert done.exit_code == 2
    assert not out.exists()
    said = done.stderr
    assert "looks like identities" in said
    assert "Anna Huber" not in said
    for way in ("--ignore", "--id", "--allow-identifiers"):
        assert way in said


@pytest.mark.parametrize("options", [["--format", "basket"], ["--items", "*"]])
def test_a_table_is_not_published_whole_by_a_pattern(clinic, hospital, tmp_path, options):
    """What would be private if nothing were said stays private, or stops."""
    out = tmp_path / "out"
    done = clinic.run("anonymize", "disassociate", hospital, *options, "--k", 2, "-o", out)
    assert done.exit_code == 2
    assert not out.exists()
    done = clinic.run(
        "anonymize", "disassociate", hospital, *options, "--no-header", "--k", 2, "-o", out
    )
    assert done.exit_code == 2
    assert "--allow-identifiers" in done.stderr
    assert not out.exists()


def test_research_may_go_on(clinic, hospital, tmp_path):
    out = tmp_path / "out"
    done = clinic.run(
        "anonymize", "disassociate", hospital, "--format", "basket", "--no-header",
        "--allow-identifiers", "--k", 2, "-o", out,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "--allow-identifiers" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--id", "patientid"], "did you mean 'PatientID'"),
        (["--item", "Dx1,Dx2"], "no column 'Dx1,Dx2'"),
        (["--items", "Dx9"], "no column 'Dx9'"),
        (["--query", "SELECT 1"], "--query is for workbooks"),
        (["--layout", "missing.toml"], "cannot be read"),
    ],
)
def test_what_does_not_fit_is_refused(clinic, hospital, tmp_path, options, said):
    out = tmp_path / "out"
    done = clinic.run("anonymize", "disassociate", hospital, *options, "-o", out)
    assert done.exit_code == 2
    assert said in done.stderr
    assert not out.exists()


def test_empty_records_can_be_dropped(clinic, tmp_path):
    data = tmp_path / "a.csv"
    data.write_text("PatientID,Dx1,Dx2\nP1,flu,gout\nP2,,\nP3,flu,gout\nP4,flu,\nP5,gout,\n")
    out = tmp_path / "out"
    done = clinic.run("anonymize", "disassociate", data, "--k", 2, "-o", out)
    assert done.exit_code == 2
    assert "--empty drop" in done.stderr
    done = clinic.run("anonymize", "disassociate", data, "--k", 2, "--empty", "drop", "-o", out)
    assert done.exit_code == 0, done.output
    assert "1 record without items was left out." in done.stderr


def test_an_audit_file_carries_the_layout(clinic, hospital, tmp_path):
    audit = tmp_path / "audit.toml"
    audit.write_text(
        'data = "clinic.csv"\nmethods = ["disassociate:k=2"]\nattacks = ["linkage"]\n'
        'workers = 0\n[layout]\nformat = "wide"\nencoding = "utf-8"\ndelimiter = ","\n'
        "header = true\ncolumns = [\n"
        + "".join(
            f'{{name = "{name}", role = "{role}"}},\n'
            for name, role in [
                ("PatientID", "record id"),
                *((name, "ignore") for name in ("Name", "Age", "Sex")),
                *((f"Dx{n}", "item") for n in (1, 2, 3)),
            ]
        )
        + "]\n"
    )
    out = tmp_path / "out"
    done = clinic.run("audit", audit, "-o", out, "--json", "--quiet")
    assert done.exit_code == 3, done.output  # linkage alone decides nothing
    kept = json.loads((out / "private" / "audit.json").read_text())
    assert kept["settings"]["reading"]["layout"]["format"] == "wide"
    saved = tmp_path / "layout.toml"
    clinic.run("inspect", hospital, "--save-layout", saved, "--quiet")
    audit.write_text(
        'data = "clinic.csv"\nlayout = "layout.toml"\nmethods = ["disassociate:k=2"]\n'
        'attacks = ["linkage"]\nworkers = 0\n'
    )
    done = clinic.run("audit", audit, "-o", tmp_path / "again", "--json", "--quiet")
    assert done.exit_code == 3, done.output  # linkage alone decides nothing
