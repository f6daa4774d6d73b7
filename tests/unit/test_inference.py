"""What is believed of sensitive items, against plain counting in the published records."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setveil import TransactionTable
from setveil.anonymize import Disassociate
from setveil.attack import Inference, Targets
from setveil.audit import audit
from setveil.core.errors import InputError
from setveil.measure import draw_questions, score
from setveil.release import Plan, publish_disassociated, publish_suppressed

ITEMS = "abcde"
ROWS = st.lists(st.sets(st.sampled_from(ITEMS), min_size=1), min_size=2, max_size=12)


def published(table):
    return publish_suppressed(table, [True] * table.n_items)


def scores(made, table, who):
    """Return what an attacker rightly believes of some people, by a release with its key."""
    release, key = made
    guess = Inference().run(release, targets=who)
    return score(guess, release=release, original=table, key=key)


@given(rows=ROWS, m=st.integers(1, 3), seed=st.integers(0, 99))
@settings(max_examples=80, deadline=None)
def test_belief_is_the_share_of_the_records_with_what_is_known(rows, m, seed):
    table = TransactionTable.from_rows([sorted(row) for row in rows])
    secret = ["a", "b"]
    held = [n for n, row in enumerate(rows) if row & {*secret}]
    if not held:
        with pytest.raises(InputError, match="nobody holds a sensitive item"):
            draw_questions(table, sensitive=secret)
        return
    who = draw_questions(table, sensitive=secret, m=m, rng=np.random.default_rng(seed))
    assert sorted(who.records) == held
    found = scores(published(table), table, who)
    beliefs, before = [], []
    for target, known in zip(who.records, who.known, strict=True):
        assert set(known) <= rows[target] - {*secret}
        assert len(known) == min(m, len(rows[target] - {*secret}))
        alike = [row for row in rows if row >= set(known)]
        held = rows[target] & {*secret}
        beliefs.append(np.mean([sum(s in row for row in alike) / len(alike) for s in held]))
        before.append(np.mean([sum(s in row for row in rows) / len(rows) for s in held]))
    assert found["believed"].value == pytest.approx(np.mean(beliefs))
    assert found["believed_before"].value == pytest.approx(np.mean(before))
    assert found["believed"].low <= found["believed"].value <= found["believed"].high


def test_what_is_not_shown_is_not_believed():
    table = TransactionTable.from_rows([["a", "c"], ["a", "c"], ["d"]])
    who = Targets(records=(0, 1), known=(("c",), ("c",)), asked=(("a",), ("a",)))
    found = scores(publish_suppressed(table, [False, True, True]), table, who)
    assert found["believed"].value == 0
    with pytest.raises(InputError, match="nobody holds a sensitive item"):
        draw_questions(table, sensitive=[])


LEAK = TransactionTable.from_rows([["ward7", "hiv"]] * 50 + [["ward3", "flu"]] * 50)


def test_certain_secrets_of_a_kept_promise_are_seen():
    made = Disassociate(k=10, m=2).anonymize(LEAK)
    who = draw_questions(LEAK, sensitive=["hiv"], m=1)
    found = scores((made.release, made.key), LEAK, who)
    assert found["believed"].value == 1
    assert found["believed_before"].value == pytest.approx(0.5)
    assert found["believed_control"] is None  # every target holds it


def test_an_audit_does_not_recommend_what_tells_a_secret(tmp_path):
    found = audit(
        LEAK,
        out=tmp_path,
        sensitive=["hiv"],
        methods=["disassociate:k=10,m=2", "suppress-control:rho=0.3"],
        workers=0,
        seed=1,
    )
    risky, safe = found.runs
    assert risky.verified
    assert (risky.worst.attack, risky.risk) == ("inference", 1.0)
    assert found.recommended == safe.id
    assert safe.missing == ()
    assert {each.attack for each in safe.deciding} == {"linkage", "inference"}
    assert any("inference is above the target of 10%" in each for each in found.reasons)


def test_clusters_in_which_no_world_has_the_items_together_count_for_nothing():
    # The second cluster has as many sub-records as records: a and b are never in one of them.
    rows = [list("aby")] * 5 + [["a"]] * 45 + [["b"]] * 45
    table = TransactionTable.from_rows(rows)
    plans = [
        Plan(records=list(range(5)), domains=((0, 1, 2),), terms=()),
        Plan(records=list(range(5, 95)), domains=((0,), (1,)), terms=()),
    ]
    who = Targets(records=range(5), known=[("a", "b")] * 5, asked=[("y",)] * 5)
    found = scores(publish_disassociated(table, plans), table, who)
    assert found["believed"].value == pytest.approx(1.0)
    assert found["advantage"].value == pytest.approx(1.0)
