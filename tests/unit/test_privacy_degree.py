import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import grouped as reference
from tests.reference.cahd import has_degree
from tests.unit.test_grouped import grouped, published

from setveil import TransactionTable
from setveil.anonymize import CAHD, Anatomy
from setveil.core.errors import InfeasibleError, NotApplicable, ParameterError
from setveil.guarantee import PrivacyDegree, parse
from setveil.release import deal, publish_grouped

ROWS = [["wine", "flu"], ["cream", "flu"], ["meat", "hiv"], ["beer"]]
TABLE = TransactionTable.from_rows(ROWS)


@settings(max_examples=100, deadline=None)
@given(grouped(), st.integers(1, 4))
def test_it_holds_where_no_chance_over_all_worlds_is_greater(case, p):
    sensitive = case[2]
    release, _ = published(case)
    verdict = PrivacyDegree(p=p, sensitive=sensitive).check(release)
    chances = [
        reference.chance(release, slot, item) for slot in range(len(release)) for item in sensitive
    ]
    assert verdict.exact
    assert verdict.holds == all(chance * p <= 1 for chance in chances)
    worst = [w.confidence for w in verdict.witnesses]
    assert verdict.holds == (not worst)
    if worst:
        assert worst[0] == max(chances)


def test_it_agrees_with_plain_counts_on_random_releases():
    rng = random.Random(0)
    answers = []
    for _ in range(2_000):
        n = rng.randint(1, 15)
        secrets = ["".join(rng.sample("STU", rng.choice([0, 0, 1, 2]))) for _ in range(n)]
        group_of = np.array([rng.randrange(max(n // 5, 1)) for _ in range(n)])
        table = TransactionTable.from_rows([[f"o{i % 4}", *s] for i, s in enumerate(secrets)])
        release, _ = publish_grouped(table, group_of, "STU", whole=rng.random() < 0.5)
        p = rng.randint(1, 3)
        groups = [[secrets[i] for i in np.flatnonzero(group_of == g)] for g in set(group_of)]
        expected = has_degree(groups, "STU", p)
        assert PrivacyDegree(p=p, sensitive=tuple("STU")).check(release).holds == expected
        answers.append(expected)
    assert 400 < sum(answers) < 1_600  # both answers are common


def test_witnesses_and_words():
    release, _ = publish_grouped(TABLE, [0, 0, 0, 1], ["flu", "hiv"])
    verdict = parse("privacy-degree:p=2,sensitive=flu|hiv").check(release)
    assert not verdict.holds
    assert verdict.reason == (
        "1 of 2 groups has a degree below 2, the worst 3/2: 2 of 3 records hold flu"
    )
    (witness,) = verdict.witnesses
    assert (witness.items, witness.support, witness.consequent) == ((), 3, "flu")
    assert witness.required == "at most 1 with it in group 0, not 2"
    assert witness.confidence == Fraction(2, 3)
    whole, _ = publish_grouped(TABLE, [0] * 4, ["flu", "hiv"], whole=True)
    for shown in (whole, deal(whole)):
        verdict = PrivacyDegree(p=2, sensitive=("flu", "hiv", "zinc")).check(shown)
        assert verdict.holds
        assert "(2 of 3 occur; not in the release: zinc)" in verdict.reason


def test_a_sensitive_item_in_a_record_is_certain():
    release, _ = publish_grouped(TABLE, [0] * 4, ["hiv"])
    verdict = PrivacyDegree(p=2, sensitive=("flu", "hiv")).check(release)
    assert (verdict.holds, verdict.exact) == (False, True)
    assert verdict.witnesses[0].items == ("flu",)
    assert verdict.witnesses[0].support == 2
    assert PrivacyDegree(p=1, sensitive=("flu", "hiv")).check(release).holds


def test_no_more_witnesses_than_a_reader_takes():
    release, _ = publish_grouped(
        TransactionTable.from_rows([[f"o{i}", "flu"] for i in range(50)]), range(50), ["flu"]
    )
    verdict = PrivacyDegree(p=2, sensitive=("flu",)).check(release)
    assert len(verdict.witnesses) == 20
    assert verdict.reason.startswith("50 of 50 groups have")


def test_other_forms_are_refused():
    with pytest.raises(NotApplicable, match="records in groups"):
        PrivacyDegree(p=2, sensitive=("flu",)).check(TABLE)


@pytest.mark.parametrize("p", [0, -1, 1.5, "2", True, None])
def test_p_that_means_nothing(p):
    with pytest.raises(ParameterError, match="p is"):
        PrivacyDegree(p=p, sensitive=("flu",))


def test_nothing_sensitive():
    release, _ = publish_grouped(TABLE, [0] * 4, [])
    promise = PrivacyDegree(p=3, sensitive=())
    assert promise.check(release).holds
    assert "no sensitive item" in promise.describe()


def test_without_names_every_item_that_stands_apart_is_meant():
    table = TransactionTable.from_rows([["wine", "flu"], ["cream", "flu"], ["meat"]])
    release, _ = publish_grouped(table, [0, 0, 0], ["flu"])
    assert not PrivacyDegree(p=2).check(release).holds
    assert PrivacyDegree(p=1).check(release).holds


def test_items_that_do_not_occur_are_named():
    table = TransactionTable.from_rows([["wine", "flu"], ["cream"], ["meat"]])
    release, _ = publish_grouped(table, [0, 0, 0], ["flu"])
    verdict = PrivacyDegree(p=2, sensitive=("Flu",)).check(release)
    assert verdict.holds
    assert "not in the release: Flu" in verdict.reason


@pytest.mark.parametrize("p", [2**30, 2**31 - 1])
def test_degrees_beyond_all_records_are_not_kept(p):
    table = TransactionTable.from_rows([["wine", "flu"]] * 4 + [["meat"]] * 4)
    release, _ = publish_grouped(table, [0] * 8, ["flu"])
    assert not PrivacyDegree(p=p, sensitive=("flu",)).check(release).holds
    for method in (CAHD(p=p), Anatomy(l=p)):
        with pytest.raises(InfeasibleError, match="but more than one in"):
            method.anonymize(table, sensitive=["flu"])
