"""What an outside module registers is at once everywhere: no list of names has to know it."""

import importlib.util
import json
import sys

import pytest
from typer.testing import CliRunner

from setveil import TransactionTable
from setveil.audit import audit, harden
from setveil.audit.adversaries import families_missing
from setveil.audit.contents import title_of
from setveil.audit.search import ladders_of, methods_for
from setveil.cli import app
from setveil.core import registry
from setveil.report import render_audit

MODULE = '''
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from setveil.anonymize import Disassociate
from setveil.anonymize.base import MethodRole
from setveil.attack import Linkage
from setveil.attack.base import AuditRole, Finding
from setveil.attack.guess import Guess
from setveil.core.params import count, group_size
from setveil.core.registry import register
from setveil.guarantee.base import Verdict
from setveil.measure import Rate


@register("guarantee", "outside-promise", paper="none")
@dataclass(frozen=True, kw_only=True)
class Promise:
    """There are enough records."""

    k: int = count(5, doc="how many there must be")

    def check(self, published):
        enough = len(published) >= self.k
        return Verdict(holds=enough, exact=True, reason="counted", checked=len(published))

    def describe(self):
        return f"There are at least {self.k} records."

    def params(self):
        return {"k": self.k}


@register("anonymizer", "outside-pieces", paper="none")
@dataclass(frozen=True, kw_only=True)
class OutsidePieces:
    """Cut records into pieces, as disassociation does."""

    called: ClassVar[str] = "records cut by somebody else"
    requires: ClassVar[frozenset] = frozenset()
    role: ClassVar[MethodRole] = MethodRole(place=0)
    k: int = group_size(doc="how many records are alike")
    m: int = count(2, doc="for those who know so many items", ladder=(1, 2), audited=2)

    def anonymize(self, table, **given):
        made = Disassociate(k=self.k, m=self.m).anonymize(table, **given)
        return replace(made, promise=Promise(k=self.k))


@register("attack", "outside-gossip", paper="none")
@dataclass(frozen=True, kw_only=True)
class Gossip(Linkage):
    """Name people by what neighbours say: linkage by another name."""

    role: ClassVar[AuditRole] = AuditRole(
        family="gossip",
        findings=(
            Finding(
                label="Ask the neighbours",
                risk="linkage",
                figure="named",
                baseline="named_random",
                baseline_name="naming any record",
                says="Neighbours who know {knows} name {count} of 1,000 people.",
            ),
        ),
        samples=(1000,),
    )


@dataclass(frozen=True, kw_only=True)
class Suspicion(Guess):
    """The item that everybody is suspected of."""

    kind: ClassVar[str] = "outside-suspicion"
    item: str

    def rates(self, *, release, original, key):
        right = sum(self.item in row for row in original.to_rows())
        rate = Rate.sampled(right, len(original))
        return {"suspected": rate, "suspected_random": rate, "advantage": Rate.counted(0.0)}


@register("attack", "outside-suspicion", paper="none")
@dataclass(frozen=True, kw_only=True)
class Suspect:
    """Suspect everybody of what is first in the alphabet."""

    applies_to: ClassVar[frozenset] = frozenset({"disassociated"})
    requires: ClassVar[frozenset] = frozenset()
    role: ClassVar[AuditRole] = AuditRole(
        family="suspicion",
        findings=(
            Finding(
                label="Suspect everybody",
                risk="inference",
                figure="suspected",
                baseline="suspected_random",
                baseline_name="suspecting at random",
                says="Who suspects everybody is right about {count} of 1,000 people.",
            ),
        ),
    )
    times: int = count(1, doc="how often")

    def run(self, release, *, rng=None, progress=None):
        return Suspicion(attack="outside-suspicion", item=min(release.vocabulary.names))


@register("relatedness", "outside-words", paper="none")
@dataclass(frozen=True, kw_only=True)
class Words:
    """Every word is as near as every other."""

    @classmethod
    def from_spec(cls, place, *, release=None):
        return cls()

    def distances(self, rows, columns):
        return np.ones((len(rows), len(columns)))

    def known(self, terms):
        return np.ones(len(terms), dtype=bool)

    def fingerprint(self):
        return "outside-words"
'''
NAMES = {
    "guarantee": {"outside-promise"},
    "anonymizer": {"outside-pieces"},
    "attack": {"outside-gossip", "outside-suspicion"},
    "relatedness": {"outside-words"},
}
TABLE = TransactionTable.from_rows([["flu", "gout"], ["flu", "rash"], ["flu"]] * 60)
ASKED = {"methods": ["outside-pieces:k=5"], "seed": 1, "target": 0.5, "max_loss": 9}


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """Import a module that registers a method and an attack, and forget it afterwards."""
    file = tmp_path / "outside_setveil_methods.py"
    file.write_text(MODULE)
    for kind in registry.KINDS:
        registry.entries(kind)
    shared = registry._shared
    monkeypatch.setattr(shared, "_entries", dict(shared._entries))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, file.stem, module)
    spec.loader.exec_module(module)
    return module


def call(*args):
    found = CliRunner().invoke(app, [str(each) for each in args])
    assert found.exit_code == 0, found.output
    return found.stdout


def test_they_are_listed(outside):
    del outside
    listed = json.loads(call("methods", "--json"))["methods"]
    for kind, names in NAMES.items():
        assert names <= {entry["name"] for entry in listed if entry["kind"] == kind}
    for name in NAMES["anonymizer"] | NAMES["attack"]:
        assert f"\n  {name}  (none)" in call("methods")


def test_they_are_commands(outside, tmp_path):
    del outside
    data, release, key = (tmp_path / name for name in ("data.jsonl", "release", "key"))
    data.write_text("".join(json.dumps(row) + "\n" for row in TABLE.to_rows()))
    assert "How many records are alike" in call("anonymize", "outside-pieces", "--help")
    made = call(
        *("anonymize", "outside-pieces", data, "--k", 3, "-o", release, "--key", key, "--json")
    )
    assert json.loads(made)["promise"] == "There are at least 3 records."
    assert json.loads(call("verify", release, "--json"))["holds"]
    call("verify", release, "--guarantee", "outside-promise:k=100")
    call("attack", "aba", release, "--relatedness", "outside-words", "-o", tmp_path / "aba")
    call("attack", "outside-suspicion", release, "--times", 2, "-o", tmp_path / "guess")
    options = ("--original", data, "--key", key, "--guess", tmp_path / "guess", "--json")
    assert json.loads(call("measure", release, *options))["suspected"] == 1.0


def test_an_audit_tries_the_method_by_default_and_a_search_its_parameters(outside):
    del outside
    given = {"taxonomy": True, "sensitive": True, "meaning": True}
    assert methods_for([], **given)[0] == "outside-pieces"
    assert "outside-pieces" in methods_for(["all"], **given)
    audited = ladders_of("outside-pieces", records=60, free=False)
    assert audited.at(audited.start).params == {"k": 10, "m": 2}
    assert ladders_of("outside-pieces", records=60).rungs == {"k": (5, 10, 25), "m": (1, 2)}
    assert title_of("outside-pieces", {"k": 7}) == "records cut by somebody else, k = 7"


def test_a_report_shows_them(outside, tmp_path):
    del outside
    out = tmp_path / "out"
    found = audit(TABLE, out=out, workers=0, relatedness=["outside-words"], **ASKED)
    page = render_audit(found, out)
    assert "records cut by somebody else" in page
    assert "Suspect everybody" in page
    kept = "".join(path.read_text() for path in out.rglob("*.json"))
    assert "outside-suspicion" in kept
    assert "outside-words" in kept


def test_harden_searches_them(outside, tmp_path):
    del outside
    found = harden(
        TABLE, out=tmp_path / "out", workers=0, **{**ASKED, "methods": ["outside-pieces"]}
    )
    assert found.runs
    assert {run.method for run in found.runs} == {"outside-pieces"}
    assert any(each.attack == "outside-suspicion" for each in found.runs[0].adversaries)


def gossip(run):
    return [each for each in run.adversaries if each.attack == "outside-gossip"]


@pytest.mark.parametrize("workers", [0, 2])
def test_an_audit_runs_them_by_default_here_and_in_workers(outside, tmp_path, workers):
    del outside
    found = audit(TABLE, out=tmp_path / "out", workers=workers, **ASKED)
    (run,) = found.runs
    assert run.state == "done", run.error
    assert run.verified
    assert run.missing == ()
    assert [each.rate.value for each in run.adversaries if each.figure == "suspected"] == [1.0]
    deciding = [each for each in gossip(run) if each.decides]
    assert len(deciding) == 6
    named = {
        (each.params["m"], each.params["knowledge"]): each.rate
        for each in run.adversaries
        if (each.attack, each.figure) == ("linkage", "named")
    }
    for each in deciding:
        # The same but for which of many equally likely records are named, and how many people.
        alike = named[each.params["m"], each.params["knowledge"]]
        assert each.rate.value == pytest.approx(alike.value, abs=0.02)
        assert each.risk == "linkage"
        assert each.says.startswith("Neighbours who know")
    assert found.recommended == run.id


def test_a_release_that_their_attacks_did_not_try_is_not_recommended(outside, tmp_path):
    del outside
    assert "gossip" in families_missing("disassociated", [], sensitive=False)
    usual = ["linkage", "prior", "aba", "semantic-prior", "vpa", "outside-suspicion"]
    found = audit(TABLE, out=tmp_path / "out", workers=0, attacks=usual, **ASKED)
    (run,) = found.runs
    assert run.missing == ("gossip",)
    assert not [each.note for each in run.adversaries if each.note.startswith("failed")]
    assert (found.answer, found.recommended) == ("not-decided", None)
    assert any("were not run: gossip" in said for said in found.reasons), found.reasons


def test_their_attacks_can_rule_a_release_out(outside, tmp_path, monkeypatch):
    monkeypatch.setattr(
        outside.Gossip, "run", lambda *_, **__: (_ for _ in ()).throw(RuntimeError("oh"))
    )
    found = audit(TABLE, out=tmp_path / "out", workers=0, **ASKED)
    assert found.answer == "not-decided"
    assert any("an attack on it failed: outside-gossip" in said for said in found.reasons)


def test_all_attacks_are_theirs_too(outside, tmp_path):
    del outside
    found = audit(TABLE, out=tmp_path / "out", workers=0, attacks=["all"], known=[1], **ASKED)
    assert gossip(found.runs[0])
