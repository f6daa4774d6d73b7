"""Audits made by hand for the tests of the report: no method, attack or measure is involved."""

import math

from setveil import Taxonomy, TransactionTable
from setveil.audit import Adversary, AuditResult, RunRecord
from setveil.audit.results import DO_NOT, PUBLISH
from setveil.core.interval import Rate
from setveil.release import publish_suppressed
from setveil.release.generalized import publish_groups
from setveil.release.set_generalized import publish_sets
from setveil.release.store import save

EVIL = "<script>alert(1)</script>"
TREE = Taxonomy.from_parents(
    {"flu": "airways", EVIL: "airways", "gout": "joints", "airways": "all", "joints": "all"}
)
TABLE = TransactionTable.from_rows([["flu", "gout"], [EVIL, "gout"], ["flu"], ["flu"]])


def linkage(named, *, m=2, knowledge="random", n=1000, blind=0.001, **rest):
    said = {
        "attack": "linkage",
        "params": {"m": m, "knowledge": knowledge},
        "knows": f"{m} {knowledge} items of a person",
        "figure": "named",
        "risk": "linkage",
        "says": "An attacker who knows {knows} names {count} of 1,000 people.",
        "raw": Rate.sampled(min(0.08 * m, 1) * n, n),
        "tested": n,
        "rate": Rate.sampled(named * n, n),
        "baseline": Rate.counted(blind),
        "baseline_name": "naming any record",
        "control": Rate.sampled(0.02 * n, n) if m > 1 else None,
        "scores": {"named": named, "found": 1.0},
        "seconds": 0.4,
    }
    return Adversary(**{**said, **rest})


def singled(share, **rest):
    """Return the attacker who looks for exactly one candidate."""
    said = {
        "figure": "singled",
        "risk": "singling_out",
        "says": "An attacker who knows {knows} singles out {count} of 1,000 people.",
        "baseline": Rate.counted(0.0),
    }
    return linkage(share, **{**said, **rest})


def inference(believed, *, m=2, n=500, **rest):
    said = {
        "attack": "inference",
        "params": {"m": m},
        "knows": f"{m} items of a person",
        "figure": "believed",
        "risk": "inference",
        "says": "An attacker who knows {knows} learns a sensitive item of {count} of 1,000 people.",
        "rate": Rate.sampled(believed * n, n),
        "baseline": Rate.sampled(0.027 * n, n),
        "baseline_name": "knowing nothing",
        "raw": Rate.sampled(0.21 * n, n),
        "tested": n,
        "seconds": 0.2,
    }
    return Adversary(**{**said, **rest})


def semantic(attack, rate, *, base, n=400, **rest):
    said = {
        "attack": attack,
        "params": {},
        "knows": f"corpus: {EVIL}",
        "figure": "accuracy" if attack != "rba" else "auc",
        "risk": "linkage" if attack != "rba" else "inference",
        "says": "An attacker who knows {knows} is right {count} times of 1,000.",
        "tested": n,
        "rate": Rate.sampled(rate * n, n),
        "baseline": Rate.sampled(base * n, n),
        "baseline_name": "random",
        "control": Rate.sampled((base + 0.01) * n, n),
        "scores": {"accuracy": rate, "wmd": None},
        "seconds": 3.2,
        "examples": [
            {
                "published": ["flu", f"({EVIL}, gout)"],
                "guessed": ["flu", EVIL],
                "original": ["flu", EVIL],
                "why": [["gout", "flu", 0.91, 0.4]],
            }
        ],
    }
    return Adversary(**{**said, **rest})


def run(method="gather", *, k=5, loss=0.2, named=0.01, attacks=(), **rest):
    name = rest.pop("name", f"{method}-k{k}")
    said = {
        "id": f"id-{name}",
        "name": name,
        "title": f"{method}, k = {k}",
        "method": method,
        "params": {"k": k},
        "form": "generalized",
        "release": f"private/candidates/{name}",
        "promise": {
            "name": "k-anonymity",
            "params": {"k": k},
            "says": f"every published record occurs at least {k} times",
            "group_size": k,
        },
        "holds": True,
        "exact": True,
        "reason": f"each of 40 distinct records occurs at least {k} times",
        "consistent": True,
        "loss": loss,
        "measures": {
            "ggd_share": 0.31, "ncp": 0.2, "items_exact": 0.62, "items_suppressed": 0.07,
            "are": loss, "are_low": None if loss is None else loss * 0.9,
            "are_high": None if loss is None else loss * 1.1, "tkd": 0.4, "rules_kept": None,
        },
        "figures": {
            "clusters": 40,
            "items": [["flu", 3, 0, 4], [EVIL, 1, 1, 1]],
            "terms": [["airways", 2]],
            "steps": [["suppress", EVIL, "too rare", 3.0]],
            "story": {
                "known": [EVIL, "gout"], "before": 1, "after": 7, "learned": [],
                "sentences": [f"An attacker knows {EVIL} and gout."],
            },
            "workload": [
                {"items": ["flu", EVIL], "records": 2, "estimate": 3.0, "low": 0, "high": 4,
                 "error": 0.5},
            ],
            "contents": {
                "headline": f"Keeps the 2 items that {k} or more records share, removes {EVIL}.",
                "stays": "2 items stay as they are.",
                "coarser": "",
                "gone": f"{EVIL} is gone.",
                "affected": [[EVIL, 1, "removed"]],
                "computable": ["Counts of one item are off by 3.1% on average."],
                "errors": {"1": 0.031, "2": None, "3": None},
                "unprotected": [f"Whoever knows {EVIL} knows the rest."],
                "example": {"before": ["flu", EVIL], "after": ["flu", "airways"]},
            },
        },
        "adversaries": (
            singled(named / 4, m=3),
            linkage(named / 3, m=1),
            linkage(named),
            linkage(min(named * 1.6, 1), knowledge="rarest"),
            linkage(min(named * 2, 1), m=3),
            inference(min(0.03 + named / 2, 1)),
            singled(min(named * 3, 1), m=5, decides=False),
            *attacks,
        ),
        "seconds": {"anonymize": 0.5, "verify": 0.1, "measure": 0.2, "attack": 4.1},
    }  # fmt: skip
    return RunRecord(**{**said, **rest})


def broken(**rest):
    said = {
        "name": "apriori-km-k5-m2", "title": "apriori-km (m 2), k = 5", "holds": False,
        "reason": "2 itemsets occur too rarely",
        "witnesses": [
            {"items": [EVIL, "gout"], "support": 1, "required": "at least 5",
             "consequent": None, "confidence": None},
            {"items": ["low mood"], "support": 5, "required": "confidence below 0.5, not 1",
             "consequent": "depression", "confidence": 1.0},
        ],
    }  # fmt: skip
    return run("apriori-km", k=5, loss=0.05, named=0.3, **{**said, **rest})


def failed(**rest):
    said = {
        "id": "id-lra", "name": "lra-k5", "title": "lra, k = 5", "method": "lra",
        "params": {"k": 5}, "state": "failed", "error": f"the tree has no {EVIL}",
    }  # fmt: skip
    return RunRecord(**{**said, **rest})


def skipped():
    return failed(
        id="id-optimal", name="optimal-km-k5", title="optimal-km, k = 5", method="optimal-km",
        state="skipped", error="the time budget of 30 minutes was used up",
    )  # fmt: skip


def runs():
    """Return some forty runs of ten methods, as an audit of real data has them."""
    methods = ("gather", "clump", "partition", "apriori-km", "coherence")
    found = [
        run(
            method,
            k=k,
            loss=0.06 + 0.05 * place + 0.05 * math.sqrt(k),
            named=(0.35 + place / 30) / k,
        )
        for place, method in enumerate(methods)
        for k in (2, 5, 10, 25)
    ]
    for k in (2, 5, 10, 25):
        attacks = (
            semantic("aba", 0.75 - k / 60, base=0.12),
            semantic("prior", 0.5 - k / 70, base=0.12),
            semantic("semantic-prior", 0.81 - k / 60, base=0.12),
        )
        found.append(
            run("disassociate", k=k, loss=0.03 + k / 150, named=0.6 / k, attacks=attacks,
                form="disassociated")
        )  # fmt: skip
        attacks = (
            semantic("rba", 0.7 - k / 80, base=0.4),
            Adversary(
                attack="shadow", knows="the method", note="left out: too long for the budget"
            ),
        )
        found.append(
            run("coat", k=k, loss=0.04 + k / 180, named=0.4 / k, attacks=attacks,
                form="set-generalized")
        )  # fmt: skip
    found.append(
        run("select-a-size", k=0, title="select-a-size", name="select-a-size", promise=None,
            holds=None, exact=False, reason="", loss=1.7, named=0.1, form="perturbed")
    )  # fmt: skip
    found.append(run("cahd", k=4, title="cahd, p = 4", name="cahd-p4", loss=None, form="grouped"))
    return [*found, broken(), failed(), skipped()]


PROFILE = {
    "records": 4, "items": 3, "occurrences": 6, "empty_records": 0, "duplicate_records": 1,
    "length_min": 1, "length_median": 1.5, "length_mean": 1.5, "length_max": 2, "density": 0.5,
    "ttr": 0.5, "rare_items": 1,
    "unique_1": 0.25, "unique_1_low": 0.25, "unique_1_high": 0.25, "unique_1_exact": True,
    "unique_2": 0.613, "unique_2_low": 0.582, "unique_2_high": 0.643, "unique_2_exact": False,
    "top_items": [{"item": "flu", "records": 3}, {"item": EVIL, "records": 1}],
}  # fmt: skip


def result(found=None, *, recommended="id-gather-k10", **rest):
    said = {
        "title": f"A clinic {EVIL}",
        "description": "Four & a half patients.",
        "answer": PUBLISH if recommended else DO_NOT,
        "untested": ("An attacker who has a second release of the same people.",),
        "next_steps": (),
        "runs": tuple(runs() if found is None else found),
        "recommended": recommended,
        "reasons": (
            "4 of 35 trials pass every attack. This one loses the least.",
            f"Promise, checked in its files: every published record occurs 10 times ({EVIL}).",
        ),
        "profile": PROFILE,
        "settings": {
            "seed": 1,
            "budget": "30m",
            "methods": ["gather", EVIL],
            "sensitive": [EVIL],
            "reading": {
                "layout": {"format": "long", "columns": [{"name": EVIL, "role": "item"}]},
                "why": "two columns",
            },
        },
        "notes": ("shadow was left out: it would have taken longer than the budget",),
    }
    return AuditResult(**{**said, **rest})


def write_releases(folder):
    """Write a release of three forms below `folder`, for three of the runs."""
    made = {
        "gather-k10": publish_groups(
            TREE, group_offsets=[0, 2, 3],
            group_nodes=[TREE.node("airways"), TREE.node("gout"), TREE.node("flu")],
            group_of=[0, 0, 1, 1], hides=True,
        ),
        "coat-k5": publish_sets(TABLE, [0, 0, 1]),
        "clump-k2": publish_suppressed(TABLE, [True, False, True]),
    }  # fmt: skip
    for name, (release, key) in made.items():
        candidates = folder / "private" / "candidates"
        candidates.mkdir(parents=True, exist_ok=True)
        save(
            release, candidates / name, method="gather", params={"k": 2}, promise=None,
            key=key, key_file=folder / f"{name}.key",
        )  # fmt: skip
    return folder
