"""``setveil measure``, ``attack`` and ``index`` with ``--engine spark``: as without it."""

import json

import pytest

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def session(spark):
    """Commands find the session that all tests share."""
    return spark


def test_measures(clinic):
    clinic.anonymize("partition", "--key", clinic.key)
    options = ["--original", clinic.data, "--key", clinic.key, "--taxonomy", clinic.tree]
    here = clinic.run("measure", clinic.release, *options, "--json")
    there = clinic.run("measure", clinic.release, *options, "--json", "--engine", "spark")
    assert there.exit_code == 0, there.output
    found, expected = json.loads(there.stdout), json.loads(here.stdout)
    assert found.keys() == expected.keys()
    for name in expected:
        assert found[name] == pytest.approx(expected[name], rel=1e-12), name


def test_people_are_found(clinic):
    clinic.anonymize("gather", "--key", clinic.key)
    asked = ["--targets", clinic.data, "--taxonomy", clinic.tree, "--seed", "3"]
    told = []
    for name, engine in (("here", "local"), ("there", "spark")):
        out = clinic.folder / name
        found = clinic.run(
            "attack", "linkage", clinic.release, *asked, "-o", out, "--engine", engine
        )
        assert found.exit_code == 0, found.output
        told.append(json.loads(out.read_text()))
    for each in told:
        for link in each["links"] + each["strangers"]:
            link[2] = round(link[2], 12)
    assert told[0] == told[1]


def test_clusters_are_attacked_and_scored(clinic):
    clinic.anonymize("disassociate", "--key", clinic.key)
    out = clinic.folder / "guess"
    found = clinic.run("attack", "prior", clinic.release, "-o", out, "--engine", "spark")
    assert found.exit_code == 0, found.output
    options = ["--original", clinic.data, "--key", clinic.key, "--guess", out, "--json"]
    here = clinic.run("measure", clinic.release, *options)
    there = clinic.run("measure", clinic.release, *options, "--engine", "spark")
    assert here.exit_code == there.exit_code == 0
    assert json.loads(here.stdout) == json.loads(there.stdout)


def test_what_looks_at_a_whole_release_says_so(clinic):
    clinic.anonymize("gather")
    out = clinic.folder / "guess"
    found = clinic.run("attack", "noise-filter", clinic.release, "-o", out, "--engine", "spark")
    assert found.exit_code == 2
    assert "use --engine local" in " ".join(found.output.split())


def test_groups_are_verified_but_not_measured_there(clinic):
    clinic.anonymize("cahd")
    assert clinic.run("verify", clinic.release, "--engine", "spark").exit_code == 0
    options = ["--original", clinic.data, "--engine", "spark"]
    found = clinic.run("measure", clinic.release, *options)
    assert found.exit_code == 2
    assert "not cut into parts" in " ".join(found.output.split())


def test_index(clinic):
    texts = clinic.folder / "texts.jsonl"
    texts.write_text('{"text": "High fever."}\n{"text": "Fevers, colds"}\n')
    for name, engine in (("here", "local"), ("there", "spark")):
        out = clinic.folder / name
        found = clinic.run("index", texts, "-o", out, "--engine", engine, "--json")
        assert found.exit_code == 0, found.output
    assert (clinic.folder / "here").read_bytes() == (clinic.folder / "there").read_bytes()


@pytest.mark.parametrize("method", ["gather", "disassociate"])
def test_an_original_that_it_cannot_come_from(clinic, method):
    clinic.anonymize(method)
    other = clinic.folder / "other.basket"
    other.write_text("flu\ngout\n")
    for engine in ("local", "spark"):
        found = clinic.run("measure", clinic.release, "--original", other, "--engine", engine)
        assert found.exit_code == 2
        assert "the release cannot come from this original" in " ".join(found.output.split())
