"""Random small audits under brute force: what is recommended is safe, by the whole evidence."""

import random
from collections import Counter

import numpy as np
import pytest
from tests.reference import audit as reference

from setveil import Taxonomy, TransactionTable, load_release
from setveil.audit import audit
from setveil.measure import draw_questions, draw_targets
from setveil.release.store import load_key

TREE = Taxonomy.from_parents(
    {"a": "ab", "b": "ab", "c": "cd", "d": "cd", "e": "ef", "f": "ef", "ab": "all", "cd": "all",
     "ef": "all"}
)  # fmt: skip
ABOVE = {item: [(pair, 2), ("all", 6)] for pair in ("ab", "cd", "ef") for item in pair}
FAMILY = {
    **dict.fromkeys(("prior", "semantic-prior", "aba", "vpa"), "re-association"),
    **dict.fromkeys(("rba", "ec", "shadow"), "elimination"),
}
MIN_K = 2
FAST = 12


def drawn(seed):
    """Return a table with few distinct rows, perhaps some secrets, and what an audit asks for."""
    rng = random.Random(seed)
    kinds = [sorted(rng.sample("abcdef", rng.randint(1, 4))) for _ in range(rng.randint(2, 6))]
    rows = [list(rng.choice(kinds)) for _ in range(rng.randint(20, 95))]
    there = sorted({item for row in rows for item in row})
    secrets = rng.sample(there, rng.randint(1, 2)) if rng.random() < 0.5 and len(there) > 3 else []
    methods = ["apriori-km:k=2,m=1", "apriori-km:k=8,m=2", "gather:k=3", "gather:k=10"]
    methods += ["disassociate:k=2,m=2"]
    if secrets:
        methods += ["suppress-control:rho=0.5", "suppress-control:rho=0.2", "coherence:k=2,p=1"]
    return {
        "rows": rows,
        "sensitive": sorted(secrets),
        "methods": rng.sample(methods, 2),
        "target": rng.choice([0.05, 0.1, 0.2, 0.4, 0.8]),
        "max_loss": rng.choice([0.1, 0.25, 1.0]),
    }


def people(case, table, each):
    """Return whom an attacker looked for, with what was known of them."""
    m, which = each.params["m"], each.params["knowledge"]
    secrets = case["sensitive"]
    if which == "rarest":
        hidden = secrets if each.attack == "inference" else ()
        found = list(enumerate(reference.rarest(case["rows"], m, hidden)))
        if each.attack == "inference":
            found = [one for one in found if set(case["rows"][one[0]]) & set(secrets)]
        return found
    rest = {"m": m, "sample": each.params["sample"], "rng": np.random.default_rng([1, m])}
    if each.attack == "inference":
        who = draw_questions(table, sensitive=secrets, **rest)
    else:
        who = draw_targets(table, **rest)
    return list(zip(who.records, who.known, strict=True))


def check_rates(case, table, run, out):
    """Compare every rate of linkage and inference of a run with plain counting."""
    release = load_release(out / run.release)
    published = release.to_rows()
    single = run.form == "generalized" and release.hides and not release.whole
    elsewhere = 1 / len(ABOVE) if single else 0.0
    behind = load_key(out / "private" / "keys" / f"{run.name}.key").records.tolist()
    assert sorted(behind) == list(range(len(table)))
    checked = 0
    for each in run.deciding:
        who = people(case, table, each) if each.attack in {"linkage", "inference"} else []
        assert len(who) == each.tested or not who
        if each.attack == "linkage":
            rates, gains = reference.linkage(published, behind, who, ABOVE, elsewhere)
            rate, gain = rates[each.figure], gains[each.figure]
        elif each.attack == "inference" and run.form == "suppressed":
            rate, gain = reference.inference(published, case["rows"], who, case["sensitive"])
        else:
            continue
        assert each.rate.value == pytest.approx(rate), (each.attack, each.params)
        assert each.gain.value == pytest.approx(gain), (each.attack, each.params)
        assert each.gain.low <= each.gain.value <= each.gain.high
        assert gain <= case["target"] + 1e-9
        checked += 1
    return checked


def check_audit(seed, out):
    """Audit random data, hold what is recommended against brute force, and return the answer."""
    case = drawn(seed)
    table = TransactionTable.from_rows(case["rows"])
    found = audit(
        table,
        out=out,
        taxonomy=TREE,
        sensitive=case["sensitive"],
        methods=case["methods"],
        target=case["target"],
        max_loss=case["max_loss"],
        min_k=MIN_K,
        workers=0,
        seed=1,
    )
    run = found.chosen
    assert (run is not None) == (found.answer in {"publish", "publish-with-care"})
    if run is None:
        return found.answer
    assert run.verified
    # An attack that found nothing of its kind to attack has tried, too.
    tried = {
        FAMILY.get(each.attack, each.attack)
        for each in run.adversaries
        if each.decides and (each.gain is not None or each.note.startswith("does not apply"))
    }
    assert reference.families(run.form, sensitive=bool(case["sensitive"])) <= tried
    for name in {"linkage", "inference"} & tried:
        knowledge = Counter(
            (each.params["m"], each.params["knowledge"])
            for each in run.deciding
            if each.attack == name
        )
        assert set(knowledge) == {(m, which) for m in (1, 2, 3) for which in ("random", "rarest")}
    assert all(each.gain.high <= case["target"] for each in run.deciding)
    assert not [each for each in run.adversaries if each.note.startswith("failed")]
    if found.answer == "publish":
        assert run.group_size >= MIN_K
        assert run.loss <= case["max_loss"]
    else:
        assert run.group_size is None or run.group_size < MIN_K or run.loss > case["max_loss"]
    if run.form in {"suppressed", "generalized"}:
        assert check_rates(case, table, run, out) >= 12
    return found.answer


def test_no_random_audit_recommends_what_is_not_safe(tmp_path):
    answers = Counter(check_audit(seed, tmp_path / str(seed)) for seed in range(FAST))
    assert answers["publish"]
    assert answers["do-not-publish"] + answers["not-decided"]


@pytest.mark.slow
def test_none_of_a_hundred_random_audits_recommends_what_is_not_safe(tmp_path):
    answers = Counter(check_audit(seed, tmp_path / str(seed)) for seed in range(100))
    assert len(answers) == 4
