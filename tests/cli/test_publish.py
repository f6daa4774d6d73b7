"""``setveil publish``: only what its audit lets pass, whole, and nothing of the owner's."""

import json
from dataclasses import replace

import pytest
from tests.published_forms import HIDDEN, TABLE, releases
from typer.testing import CliRunner

from setveil.audit import Adversary, AuditResult, RunRecord
from setveil.audit.results import Criteria
from setveil.audit.store import Store, load_audit
from setveil.cli import app
from setveil.core.errors import ReleaseError
from setveil.core.interval import Rate
from setveil.guarantee import KAnonymity
from setveil.release import Key
from setveil.release.store import save
from setveil.report.publication import publish_recommended, publish_run

SECRETS = (HIDDEN, "secret-note", "4711", "/home/owner")


def adversary(rate, **rest):
    said = {
        "attack": "linkage",
        "params": {"m": 2, "path": "/home/owner/corpus"},
        "knows": "how words are related:/home/owner/secret-notes.index",
        "risk": "linkage",
        "figure": "named",
        "rate": Rate(value=rate, low=rate * 0.9, high=rate * 1.1, exact=False),
        "baseline": Rate.counted(0.001),
        "raw": Rate.counted(0.4711),
        "tested": 1000,
        "says": "An attacker who knows {knows} names the right record for {count} of 1,000 people.",
        "note": f"secret-note about {HIDDEN}",
        "examples": [{"known": [f"{HIDDEN}-1"], "original": [f"{HIDDEN}-2"]}],
    }
    return Adversary(**{**said, **rest})


def record(name, *, rate=0.01, k=5, loss=0.1, **rest):
    said = {
        "id": f"id-{name}",
        "name": name,
        "title": f"suppression, {name}",
        "method": "suppress-control",
        "params": {"seed": 4711},
        "form": "suppressed",
        "release": f"private/candidates/{name}",
        "promise": {"name": "k-anonymity", "params": {"k": 1}, "says": "…", "group_size": k},
        "holds": True,
        "exact": True,
        "reason": "each of 5 distinct records occurs at least 1 times",
        "consistent": True,
        "loss": loss,
        "measures": {"are": loss, "items_exact": 0.9, HIDDEN: 1.0},
        "figures": {"items": [[f"{HIDDEN}-1", 2, 0, 2]]},
        "adversaries": (adversary(rate), adversary(0.2, decides=False)),
        "error": "secret-note",
    }
    return RunRecord(**{**said, **rest})


RUNS = (
    record("best"),
    record("careful", loss=0.6),
    record("weak", k=2),
    record("open", rate=0.5),
    record("untested", missing=("inference",)),
    record("late", state="skipped"),
)


@pytest.fixture
def folder(tmp_path):
    store = Store.open(tmp_path / "audit")
    release = releases()["suppressed"]
    for run in RUNS:
        if run.state == "done":
            save(
                release,
                store.candidates / run.name,
                method=run.method,
                params={},
                promise=KAnonymity(k=1),
                key=Key(records=list(range(len(TABLE)))),
                key_file=store.key_file(run.name),
            )
        store.keep(run)
    store.keep_result(
        AuditResult(
            title=f"{HIDDEN} patients",
            description="secret-note",
            criteria=Criteria(target=0.1),
            runs=RUNS,
            answer="publish",
            recommended="id-best",
            reasons=("secret-note",),
            cares=("secret-note",),
            untested=("Somebody with free text (--relatedness).",),
            settings={"seed": 4711},
        )
    )
    return tmp_path / "audit"


def run(*args):
    return CliRunner().invoke(app, [*map(str, args)])


def published(folder):
    out = folder / "publish"
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file()
    }


def test_the_recommended_run_is_published(folder):
    result = run("publish", folder, "--title", "Visits")
    assert result.exit_code == 0, result.output
    assert "suppression, best is in" in result.stdout
    assert run("verify", folder / "publish").exit_code == 0
    told = json.loads(published(folder)["certificate.json"])
    assert (told["answer"], told["title"], told["cares"]) == ("publish", "Visits", [])
    assert told["untested"] == ["Somebody with free text."]
    assert [each["right"]["of_1000"] for each in told["attacks"]] == [10, 200]
    assert told["losses"][0]["says"] == "10.0%"
    assert run("publish", folder / "private").exit_code == 2


def test_nothing_of_the_owner_is_published(folder):
    assert run("publish", folder, "careful").exit_code == 4
    for name, content in published(folder).items():
        for secret in SECRETS:
            assert secret.encode() not in content, (name, secret)
    assert b"how words are related" in published(folder)["certificate.json"]


def test_a_changed_audit_publishes_nothing(folder):
    file = folder / "private" / "audit.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, "answer": "do-not-publish"}))
    assert run("publish", folder).exit_code == 1
    opened = next(each for each in content["runs"] if each["name"] == "open")
    opened["adversaries"] = []
    file.write_text(json.dumps(content))
    assert run("publish", folder, "open").exit_code != 0
    opened["adversaries"] = [adversary(0.01).to_json()]
    file.write_text(json.dumps(content))
    told = run("publish", folder, "open")
    assert told.exit_code == 2
    assert "not the one that the audit judged" in told.stderr
    assert not (folder / "publish").exists()


def test_a_folder_for_recipients_is_no_place_for_an_export(folder):
    assert run("publish", folder).exit_code == 0
    before = published(folder)
    out = folder / "publish"
    told = run("export", folder / "private" / "candidates" / "open", "-o", out, "--force")
    assert told.exit_code == 2
    assert published(folder) == before


@pytest.mark.parametrize(
    "change",
    [
        {"promise": None},
        {"promise": {"name": "k-anonymity", "params": {"k": 500}}},
        {"data": {}},
    ],
)
def test_a_certificate_that_contradicts_its_release_is_found(folder, change):
    assert run("publish", folder).exit_code == 0
    file = folder / "publish" / "certificate.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    told = json.loads(run("verify", folder / "publish", "--json").stdout)
    assert told["changed_files"] == ["certificate.json"]


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("open", 1, "linkage is above the target of 10%"),
        ("untested", 3, "attacks on it were not run: inference"),
        ("late", 3, "its trial did not finish"),
    ],
)
def test_what_may_not_be_published_is_not(folder, name, code, reason):
    assert run("publish", folder).exit_code == 0
    before = published(folder)
    result = run("publish", folder, name)
    assert result.exit_code == code
    assert reason[1:] in result.stdout
    assert published(folder) == before
    told = json.loads(run("publish", folder, name, "--json").stdout)
    assert told["publish"] is None
    assert told["reasons"] == [reason]


@pytest.mark.parametrize(
    ("name", "care"),
    [("careful", "the owner had allowed 25.0%"), ("weak", "hides each person among 2 people")],
)
def test_with_care_says_why(folder, name, care):
    assert run("publish", folder).exit_code == 0
    result = run("publish", folder, name)
    assert result.exit_code == 4
    assert "With care" in result.stdout
    told = json.loads(published(folder)["certificate.json"])
    assert told["answer"] == "publish-with-care"
    assert care in told["cares"][0]
    assert care in published(folder)["README.md"].decode()


def test_wrong_use(folder):
    result = run("publish", folder, "bset")
    assert result.exit_code == 2
    assert "such as best" in result.stderr
    assert not (folder / "publish").exists()
    (folder / "publish").mkdir()
    (folder / "publish" / "notes.txt").write_text("mine")
    result = run("publish", folder)
    assert result.exit_code == 2
    assert "notes.txt" in result.stderr


def test_without_a_recommendation_the_answer_of_the_audit_counts(folder):
    store, result = Store(folder), load_audit(folder)
    assert publish_recommended(store, result) == folder / "publish"
    for answer, code in (("do-not-publish", 1), ("not-decided", 3)):
        negative = replace(result, answer=answer, recommended=None, reasons=("None passes.",))
        store.keep_result(negative)
        told = run("publish", folder)
        assert told.exit_code == code
        assert "The audit recommends no release" in told.stdout
        assert publish_recommended(store, negative) is None
        assert not (folder / "publish").exists()  # the earlier verdict no longer holds


def test_a_candidate_that_was_changed_is_not_published(folder):
    store, result = Store(folder), load_audit(folder)
    save(
        releases()["sets"],
        store.candidates / "best",
        method="coat",
        params={},
        promise=KAnonymity(k=1),
        force=True,
    )
    assert run("publish", folder).exit_code == 2
    with pytest.raises(ReleaseError, match="not the one that the audit judged"):
        publish_run(store, result, result.chosen)
    with pytest.raises(ReleaseError, match="may not be published"):
        publish_run(store, result, next(each for each in result.runs if each.name == "open"))
    assert not (folder / "publish").exists()


def test_an_audit_goes_on_beside_its_publication(folder):
    assert run("publish", folder).exit_code == 0
    Store.open(folder)
    (folder / "publish" / "notes.txt").write_text("mine")
    with pytest.raises(ReleaseError, match=r"publish/notes\.txt"):
        Store.open(folder)
