"""Methods of an outside module: an audit runs them in workers, and needs their attacks."""

import importlib.util
import sys

import pytest

from setveil import TransactionTable
from setveil.audit import audit
from setveil.audit.adversaries import families_missing
from setveil.core import registry

MODULE = '''
from dataclasses import dataclass, field
from typing import ClassVar

from setveil.anonymize import Disassociate
from setveil.attack import Linkage
from setveil.attack.base import AuditRole, Finding
from setveil.core.registry import register


@register("anonymizer", "outside-pieces", paper="none")
@dataclass(frozen=True, kw_only=True)
class OutsidePieces:
    """Cut records into pieces, as disassociation does."""

    requires: ClassVar[frozenset] = frozenset()
    k: int = field(default=5, metadata={"doc": "how many records are alike"})
    m: int = field(default=2, metadata={"doc": "for those who know so many items"})

    def anonymize(self, table, **given):
        return Disassociate(k=self.k, m=self.m).anonymize(table, **given)


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
'''
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
    usual = ["linkage", "prior", "aba", "semantic-prior", "vpa"]
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
