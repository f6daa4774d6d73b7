"""Commands with ``--engine spark``: what they print and write is what they do without it."""

import json

import pytest

from setveil.guarantee import RhoUncertainty

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def session(spark):
    """Commands find the session that all tests share."""
    return spark


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("method", ["gather", "disassociate"])
def test_the_release_is_the_same(clinic, method):
    assert clinic.anonymize(method).exit_code == 0
    here = contents(clinic.release)
    found = clinic.anonymize(method, "--engine", "spark", "--force")
    assert found.exit_code == 0, found.output
    assert contents(clinic.release) == here


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("gather", []),
        ("gather", ["--guarantee", "k-anonymity:k=5"]),
        ("gather", ["--guarantee", "km:k=2,m=2"]),
        ("disassociate", []),
    ],
)
def test_the_verdict_is_the_same(clinic, method, options):
    clinic.anonymize(method)
    here = clinic.run("verify", clinic.release, *options, "--json")
    there = clinic.run("verify", clinic.release, *options, "--json", "--engine", "spark")
    assert there.exit_code == here.exit_code
    assert said(there) == said(here)


def said(result):
    """Return verdicts without the order in which witnesses of equal support are shown."""
    found = json.loads(result.stdout)
    for check in found["checks"]:
        check["witnesses"].sort(key=lambda w: (w["support"], w["items"]))
    return found


def test_what_spark_cannot_check_is_said(clinic, monkeypatch):
    monkeypatch.setattr(RhoUncertainty, "in_parts", False)
    clinic.anonymize("gather")
    asked = ["--guarantee", "rho-uncertainty:rho=0.5,sensitive=flu", "--engine", "spark"]
    found = clinic.run("verify", clinic.release, *asked)
    assert found.exit_code == 2
    assert "check it with --engine local" in " ".join(found.output.split())


def test_an_audit_on_spark_finds_the_same(clinic):
    def audited(out, *more):
        options = ["--taxonomy", clinic.tree, "--methods", "gather:k=2", "--target", 1, *more]
        options += ["--min-k", 2, "--max-loss", 1]
        found = clinic.run(
            "audit", clinic.data, *options, "--seed", 1, "-o", clinic.folder / out, "--json"
        )
        assert found.exit_code == 0, found.output
        return clinic.folder / out / "private" / "candidates" / "gather-k2"

    here = audited("here", "--workers", 0)
    assert contents(audited("there", "--engine", "spark")) == contents(here)


@pytest.mark.parametrize("command", ["verify", "audit", "harden"])
def test_loopback_is_refused_where_it_would_do_nothing(clinic, command):
    clinic.anonymize("gather")
    place = [clinic.release] if command == "verify" else [clinic.data, "-o", clinic.folder / "new"]
    found = clinic.run(command, *place, "--engine", "loopback")
    assert found.exit_code == 2
    assert "engine of `setveil anonymize` only" in " ".join(found.output.split())
    assert not (clinic.folder / "new").exists()
