"""Runs made by hand for the tests of the report: no method and no measure is involved."""

from dataclasses import dataclass

from setveil import Taxonomy, TransactionTable
from setveil.audit import Run
from setveil.guarantee.base import Verdict, Witness
from setveil.release.base import Step
from setveil.release.generalized import publish_groups
from setveil.report import render

EVIL = "<script>alert(1)</script>"
TREE = Taxonomy.from_parents(
    {"flu": "airways", EVIL: "airways", "gout": "joints", "airways": "all", "joints": "all"}
)
TABLE = TransactionTable.from_rows([["flu", "gout"], [EVIL, "gout"], ["flu"], ["flu"]])


@dataclass(frozen=True)
class Promise:
    k: int

    def check(self, published):
        raise AssertionError(f"the report must not check {published} itself")

    def describe(self):
        return f"Each record is published {self.k} times & more."

    def params(self):
        return {"k": self.k}


def make_run(
    method="gather",
    *,
    k=2,
    share=0.25,
    holds=True,
    exact=True,
    promise=True,
    promise_made=None,
    **rest,
):
    release, key = publish_groups(
        TREE,
        group_offsets=[0, 2, 3],
        group_nodes=[TREE.node("airways"), TREE.node("gout"), TREE.node("flu")],
        group_of=[0, 0, 1, 1],
        hides=True,
    )
    witnesses = () if holds else (Witness(items=(EVIL, "gout"), support=1, required="at least 2"),)
    verdict = Verdict(
        holds=holds, exact=exact, reason="2 groups counted.", checked=2, witnesses=witnesses
    )
    measures = {
        "ggd": 1.0,
        "ggd_share": share,
        "ncp": 0.1,
        "length_mean": 1.5,
        "level_mean": 2.5,
        "records_kept": 1.0,
        "items_kept": 1.0,
        "items_exact": 0.66666,
        "items_suppressed": 0.0,
        "are": 0.12341,
        "are_low": 0.1,
        "are_high": 0.2,
    }
    run = {
        "method": method,
        "params": {"k": k},
        "release": release,
        "key": key,
        "promise": (promise_made or Promise(k)) if promise else None,
        "verdict": verdict if promise else None,
        "consistent": True,
        "measures": measures,
        "log": (Step(action="split", subject=EVIL, reason="it paid", cost=1.5),),
        "figures": {"clusters": 2},
        "seconds": {"anonymize": 0.5, "verify": 0.1, "measure": 0.1},
    }
    return Run(**{**run, **rest})


def report(runs, *, wished_k=5):
    return render(
        runs,
        table=TABLE,
        taxonomy=TREE,
        title=f"A clinic {EVIL}",
        description="Four & a half patients",
        wished_k=wished_k,
    )
