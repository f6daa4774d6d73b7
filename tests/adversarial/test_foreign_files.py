"""A release is published as a whole directory: nothing else may be in it, and `verify` says so."""

import json

import pytest
from typer.testing import CliRunner

from setveil import TransactionTable, audit
from setveil.cli import app
from setveil.core.errors import ReleaseError
from setveil.guarantee import KAnonymity
from setveil.release import Key, publish_suppressed
from setveil.release.base import FORMS
from setveil.release.public_folder import fitness_of
from setveil.release.store import save, save_key

TABLE = TransactionTable.from_rows([["flu"], ["flu"], ["gout", "flu"], ["gout", "flu"]])


def put(folder, **options):
    release, _ = publish_suppressed(TABLE, [True, True])
    save(
        release, folder, method="simple-suppression", params={}, promise=KAnonymity(k=2), **options
    )


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.fixture
def project(tmp_path):
    """Return a folder with the original in it."""
    folder = tmp_path / "proj"
    folder.mkdir()
    (folder / "visits.csv").write_text("flu\nflu\ngout,flu\ngout,flu\n")
    return folder


# --- writing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("force", [False, True])
def test_a_release_never_lies_beside_the_original(project, force):
    with pytest.raises(ReleaseError, match=r"visits\.csv"):
        put(project, force=force)
    assert [path.name for path in project.iterdir()] == ["visits.csv"]


@pytest.mark.parametrize(
    "command",
    [
        ["anonymize", "gather", "{data}", "--k", "2", "-o", "{out}"],
        ["anonymize", "gather", "{data}", "--k", "2", "--force", "-o", "{out}"],
        ["audit", "{data}", "-o", "{out}"],
        ["harden", "{data}", "-o", "{out}"],
        ["demo", "--out", "{out}"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("there", ["visits.csv", "private/thesis.tex", ".git/HEAD"])
def test_commands_refuse_a_folder_of_others_before_they_read(tmp_path, command, there):
    folder = tmp_path / "proj"
    file = folder / there
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    before = sorted(folder.rglob("*"))
    said = run(*(each.format(data=tmp_path / "nowhere.csv", out=folder) for each in command))
    assert said.exit_code == 2
    assert "no such file" not in said.output
    assert str(folder) in said.output
    assert sorted(folder.rglob("*")) == before


def test_nothing_is_lost_where_only_leftovers_are(tmp_path):
    (tmp_path / ".manifest.json.0123456789abcdef.part").write_text("{")
    (tmp_path / "release-0123456789abcdef.csv").write_text("half")
    put(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_an_audit_refuses_what_lies_among_its_releases(tmp_path):
    def again():
        return audit.audit(
            TABLE, out=tmp_path, methods=["disassociate:k=2,m=1"], workers=0, seed=1,
            attacks=["linkage"], known=[1],
        )  # fmt: skip

    name = again().runs[0].name
    candidate = tmp_path / "private" / "candidates" / name
    for stray in (tmp_path / "publish" / "visits.csv", candidate / "notes.txt"):
        stray.parent.mkdir(exist_ok=True)
        stray.write_text("mine")
        with pytest.raises(ReleaseError, match=stray.name):
            again()
        stray.unlink()
    (tmp_path / "private" / "notes.txt").write_text("mine")  # nobody publishes these
    again()


# --- verify ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["visits.csv", ".visits.csv.swp", "manifest.json~", "release-0123456789abcdef.csv", "keys/a"],
)
def test_verify_names_files_that_are_not_part_of_the_release(tmp_path, name):
    folder = tmp_path / "release"
    put(folder)
    fine = run("verify", folder, "--json")
    assert fine.exit_code == 0
    assert json.loads(fine.stdout)["fit_to_publish"] is True
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("x")
    if name.startswith("release-"):  # as an interrupted run leaves it
        assert "removed" in run("verify", folder).stderr
        assert not (folder / name).exists()
        return
    said = run("verify", folder)
    assert said.exit_code == 2
    assert "NOT FIT TO PUBLISH" in said.stdout
    assert name.split("/")[0] in said.stdout
    found = json.loads(run("verify", folder, "--json").stdout)
    assert (found["holds"], found["fit_to_publish"]) == (True, False)
    assert found["foreign_files"] == [name.split("/")[0]]


def test_verify_knows_a_key_when_it_sees_one(tmp_path):
    put(tmp_path / "release")
    save_key(Key(records=[0, 1, 2, 3]), tmp_path / "visits.key")
    (tmp_path / "visits.key").rename(tmp_path / "release" / "photo.png")
    said = run("verify", tmp_path / "release")
    assert said.exit_code == 2
    assert "photo.png (a private key)" in said.stdout


def test_a_broken_promise_stays_the_verdict(tmp_path):
    put(tmp_path / "release")
    (tmp_path / "release" / "visits.csv").touch()
    said = run("verify", tmp_path / "release", "-g", "k-anonymity:k=3")
    assert said.exit_code == 1
    assert "visits.csv" in said.stdout


@pytest.mark.parametrize(
    "place", [(), ("data",), ("counts",), ("promise",), ("params",)], ids=":".join
)
def test_verify_names_fields_that_no_manifest_has(tmp_path, place):
    put(tmp_path / "release")
    manifest = tmp_path / "release" / "manifest.json"
    raw = json.loads(manifest.read_text())
    inner = raw
    for name in place:
        inner = inner[name]
    inner["original"] = "visits.csv"
    manifest.write_text(json.dumps(raw))
    said = run("verify", tmp_path / "release", "--json")
    assert said.exit_code == 2, said.output
    assert json.loads(said.stdout)["unknown_fields"] == [": ".join((*place, "original"))]


def test_a_field_that_stands_twice_is_named(tmp_path):
    put(tmp_path / "release")
    manifest = tmp_path / "release" / "manifest.json"
    text = manifest.read_text().replace('"tool"', '"tool": "seed 7",\n "tool"')
    manifest.write_text(text)
    assert fitness_of(tmp_path / "release").unknown_fields == ("tool (twice)",)


def test_the_structure_of_a_tree_is_looked_at_as_well(tmp_path, clinic_tree):
    clinic_tree(tmp_path / "release")
    assert fitness_of(tmp_path / "release").fit
    manifest = tmp_path / "release" / "manifest.json"
    raw = json.loads(manifest.read_text())
    raw["structure"]["nodes"][-1]["patients"] = ["Ann"]
    manifest.write_text(json.dumps(raw))
    with pytest.raises(ReleaseError, match="hash"):
        fitness_of(tmp_path / "release")
    raw["structure_sha256"] = digest(raw)
    manifest.write_text(json.dumps(raw))
    assert fitness_of(tmp_path / "release").unknown_fields == ("structure: patients",)


def digest(raw):
    from setveil.release.manifest import _digest

    return _digest({"form": raw["form"], "structure": raw["structure"]})


@pytest.fixture
def clinic_tree():
    from setveil import Taxonomy
    from setveil.release import publish_groups

    def write(folder):
        release, _ = publish_groups(
            Taxonomy.balanced(["a", "b"]), group_offsets=[0, 1], group_nodes=[1], group_of=[0, 0],
            hides=True,
        )  # fmt: skip
        save(release, folder, method="clump", params={"k": 2}, promise=KAnonymity(k=2))

    return write


def test_every_form_knows_its_fields():
    bare = {name for name, form in FORMS.items() if form.structure_fields == {"parts"}}
    assert bare == {"suppressed", "set-generalized", "split"}
