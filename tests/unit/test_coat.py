from fractions import Fraction

import numpy as np
import pytest
from tests.reference import coat as reference
from tests.reference.support_constraints import rare_parts

from setveil import TransactionTable
from setveil.anonymize import PCTA, Coat
from setveil.anonymize.set_generalization.coat import consistent_sets, draw_privacy
from setveil.core.errors import InfeasibleError, InputError, ParameterError
from setveil.guarantee import SupportConstraints
from setveil.io.wordnet import WordNet

LETTERS = list("abcdefgh")
OBJECTIVES = ["ul_per_gain", "ul_gaining", "ul"]


def instance(seed):
    """Draw records, privacy constraints, utility constraints (or None), k and an objective."""
    rng = np.random.default_rng(seed)
    letters = LETTERS[: rng.integers(1, len(LETTERS) + 1)]
    share = rng.uniform(0.1, 0.8)
    rows = [[i for i in letters if rng.random() < share] for _ in range(rng.integers(1, 13))]
    items = sorted({item for row in rows for item in row})
    k = int(rng.integers(1, min(len(rows), 6) + 1))
    privacy = [
        rng.choice(items, rng.integers(1, min(len(items), 4) + 1), replace=False).tolist()
        for _ in range(rng.integers(0, 5))
        if items
    ]
    utility = None
    if rng.random() < 0.6:
        set_of = rng.integers(0, 4, len(items)).tolist()  # 3 stands for none
        utility = [[i for i, u in zip(items, set_of, strict=True) if u == n] for n in range(3)]
        utility = [members for members in utility if members]
    return rows, privacy, utility, k, OBJECTIVES[int(rng.integers(3))]


def groups_of(release):
    return {frozenset(group) for group in release.groups}


def check_release(made, rows, privacy, utility, k):
    """Count everything again: all parts, containment in the utility constraints, the promise."""
    groups = groups_of(made.release)
    images = {item: "+".join(sorted(group)) for group in groups for item in group}
    published = [{images[item] for item in row if item in images} for row in rows]
    assert not rare_parts(published, images, privacy, k)
    if utility is not None:
        assert all(len(g) == 1 or any(g <= set(u) for u in utility) for g in groups)
    promise = SupportConstraints(itemsets=privacy, k=k)
    assert promise.check(made.release).holds
    said = made.promise.params()
    assert made.promise.check(made.release).holds
    assert {i for p in said["itemsets"] for i in p} == {
        item for p in privacy for item in p if item in images
    }
    assert made.release.is_consistent_with(TransactionTable.from_rows(rows), made.key)


def compare_random_instances(seeds):
    for seed in seeds:
        rows, privacy, utility, k, objective = instance(seed)
        table = TransactionTable.from_rows(rows)
        made = Coat(k=k, s=1, objective=objective).anonymize(
            table, privacy=privacy, utility=utility
        )
        groups, gone = reference.coat(rows, privacy, utility, k, objective)
        assert groups_of(made.release) == groups, seed
        assert made.figures["suppressed"] == len(gone)
        check_release(made, rows, privacy, utility, k)
        clusters = reference.pcta(rows, privacy, utility, k, objective)
        method = PCTA(k=k, objective=objective)
        try:
            made = method.anonymize(table, privacy=privacy, utility=utility)
        except InfeasibleError:
            assert clusters is None, seed
            continue
        assert clusters in (None, groups_of(made.release)), seed
        check_release(made, rows, privacy, utility, k)
        assert made.figures["suppressed"] == 0


def test_random_instances_against_plain_sets():
    compare_random_instances(range(2_000))


@pytest.mark.slow
def test_many_more_random_instances():
    compare_random_instances(range(2_000, 8_000))


# --- what is infeasible, and what is not ----------------------------------------------------------


def tiny_instance(seed):
    """Draw up to five items in up to seven records, so that all recodings can be tried."""
    rng = np.random.default_rng([seed, 13])
    letters = LETTERS[: rng.integers(1, 6)]
    share = rng.uniform(0.1, 0.8)
    rows = [[i for i in letters if rng.random() < share] for _ in range(rng.integers(2, 8))]
    items = sorted({item for row in rows for item in row}) or ["a"]
    rows[0] = rows[0] or items[:1]
    privacy = [
        rng.choice(items, rng.integers(1, min(len(items), 3) + 1), replace=False).tolist()
        for _ in range(rng.integers(1, 4))
    ]
    utility = None
    if rng.random() < 0.7:
        set_of = rng.integers(0, 3, len(items)).tolist()  # 2 stands for none
        utility = [[i for i, u in zip(items, set_of, strict=True) if u == n] for n in range(2)]
        utility = [members for members in utility if members]
    k = int(rng.integers(2, min(len(rows), 4) + 1))
    return rows, privacy, utility, k, OBJECTIVES[int(rng.integers(3))]


def refusals(seeds):
    """Run both methods with the least possible suppression; return how often each refuses.

    Also: how many items COAT suppresses in all where any number may be, and how few it could.
    """
    counts = dict.fromkeys(("cases", "coat", "pcta cases", "pcta", "suppressed", "least"), 0)
    for seed in seeds:
        rows, privacy, utility, k, objective = tiny_instance(seed)
        table = TransactionTable.from_rows(rows)
        given = {"privacy": privacy, "utility": utility}
        least = reference.least_suppressed(rows, privacy, utility, k)
        free = Coat(k=k, s=1, objective=objective).anonymize(table, **given)
        check_release(free, rows, privacy, utility, k)
        counts["cases"] += 1
        counts["suppressed"] += free.figures["suppressed"]
        counts["least"] += least
        items = len({item for row in rows for item in row})
        methods = {"coat": Coat(k=k, s=Fraction(least, items), objective=objective)}
        if least:
            short = Coat(k=k, s=Fraction(least - 1, items), objective=objective)
            with pytest.raises(InfeasibleError, match=f"{least} of {items} items would have to be"):
                short.anonymize(table, **given)
        else:
            methods["pcta"] = PCTA(k=k, objective=objective)
            counts["pcta cases"] += 1
        for name, method in methods.items():
            try:
                made = method.anonymize(table, **given)
            except InfeasibleError:
                counts[name] += 1
            else:
                assert made.figures["suppressed"] == least
                check_release(made, rows, privacy, utility, k)
    return counts


def test_nothing_is_infeasible_that_some_recoding_allows():
    counts = refusals(range(600))
    assert counts["cases"] == 600
    assert counts["pcta cases"] > 250
    assert (counts["coat"], counts["pcta"]) == (0, 0)
    assert counts["suppressed"] < 1.03 * counts["least"]


@pytest.mark.slow
def test_nothing_is_infeasible_in_ten_thousand_cases():
    counts = refusals(range(600, 10_600))
    assert (counts["coat"], counts["pcta"]) == (0, 0)
    assert counts["suppressed"] < 1.03 * counts["least"]


def test_a_set_that_stays_rare_is_not_dropped_as_a_whole():
    """All items together are in two records: only the one that is named must go."""
    table = TransactionTable.from_rows([["d"], [], ["c", "a"], []])
    made = Coat(k=3, s="0.7").anonymize(table, privacy=[["a"]])
    assert sorted(made.release.to_rows()) == [[], [], ["c"], ["d"]]
    assert made.figures["suppressed"] == 1
    assert [step.action for step in made.log] == ["join", "join", "dissolve", "suppress"]


def test_another_union_is_tried_where_the_cheapest_leads_nowhere():
    """Joining a with b, the cheapest, puts the set beside c once, which nothing mends."""
    rows = [["a"], ["e"], ["e"], ["e"], ["e"], ["b", "c"], ["c"], ["b"]]
    given = {"privacy": [["a", "c"]], "utility": [["a", "b", "e"]]}
    assert reference.pcta(rows, given["privacy"], given["utility"], 2, "ul_per_gain") is None
    for method in (PCTA(k=2), Coat(k=2, s=0)):
        made = method.anonymize(TransactionTable.from_rows(rows), **given)
        assert ("a", "e") in made.release.groups
        assert made.promise.check(made.release).holds


def test_a_search_that_was_cut_short_claims_no_proof(monkeypatch):
    monkeypatch.setattr("setveil.anonymize.set_generalization.set_recoding.STATES", 1)
    given = {"privacy": [["hiv"], ["gout"]], "utility": [["flu", "fever"]]}
    with pytest.raises(InfeasibleError, match="the best release found suppresses 2 of 5 items"):
        Coat(k=2, s=0.3).anonymize(VISITS, **given)
    with pytest.raises(InfeasibleError, match="other ways to join items were not all tried"):
        PCTA(k=2).anonymize(VISITS, **given)


# --- what is drawn, and what is not ---------------------------------------------------------------

VISITS = TransactionTable.from_rows(
    [["flu", "cough"], ["flu", "fever"], ["gout", "flu"], ["hiv", "cough"], ["cough"]]
)


def test_constraints_are_drawn_where_none_are_given():
    made = Coat(k=2, constrained="1/2").anonymize(VISITS, rng=np.random.default_rng(3))
    again = Coat(k=2, constrained=0.5).anonymize(VISITS, rng=np.random.default_rng(3))
    assert made.release.to_rows() == again.release.to_rows()
    assert made.figures["constraints"] == 2
    assert made.log[0].action == "warn"
    assert "only 2 of the items" in made.log[0].subject
    every = Coat(k=2, constrained=1).anonymize(VISITS)
    assert every.figures["constraints"] == 5
    assert not [step for step in every.log if step.action == "warn"]
    assert len(draw_privacy(VISITS, 0.01)) == 1
    assert draw_privacy(TransactionTable.from_rows([[]]), 0.5) == ()


def test_the_draw_does_not_depend_on_the_order_of_records():
    order = [3, 1, 4, 0, 2]
    first, second = (
        draw_privacy(table, 0.4, np.random.default_rng(8)) for table in (VISITS, VISITS.take(order))
    )
    assert first == second


def test_given_constraints_may_be_none_and_then_nothing_changes():
    for method in (Coat(k=3), PCTA(k=3)):
        made = method.anonymize(VISITS, privacy=[])
        assert made.promise.itemsets == ()
        assert sorted(made.release.to_rows()) == sorted(map(sorted, VISITS.to_rows()))


def test_a_promise_names_no_suppressed_item():
    made = Coat(k=2, s=1).anonymize(VISITS, privacy=[["hiv", "flu"], ["gout"]], utility=[["flu"]])
    assert made.promise.itemsets == (("flu",),)
    assert not {"hiv", "gout"} & {i for row in made.release.to_rows() for i in row}
    assert {step.subject for step in made.log if step.action == "suppress"} == {"gout", "hiv"}


def test_the_limit_of_suppression():
    given = {"privacy": [["hiv"], ["gout"]], "utility": [["flu", "fever"]]}
    with pytest.raises(InfeasibleError, match="2 of 5 items would have to be") as caught:
        Coat(k=2, s=0.3).anonymize(VISITS, **given)
    assert "s of at least 0.4" in caught.value.fix
    assert Coat(k=2, s="2/5").anonymize(VISITS, **given).figures["suppressed"] == 2


def test_zero_support_of_the_whole_does_not_excuse_its_parts():
    """No record holds gout and hiv together, but each alone is in one."""
    made = Coat(k=2).anonymize(VISITS, privacy=[["gout", "hiv"]])
    supports = [made.release.support_bounds([item]).high for item in ("gout", "hiv")]
    assert min(supports) >= 2


def test_frequent_items_are_left_alone():
    rows = [["common", f"rare {n}"] for n in range(40)] + [["common"]] * 200
    made = Coat(k=4, constrained=1).anonymize(TransactionTable.from_rows(rows))
    assert ("common",) in made.release.groups
    assert made.figures == {"constraints": 41, "generalized": 10, "largest": 4, "suppressed": 0}


def test_literal_utility_loss_joins_what_occurs_together():
    """With all items in one utility constraint unions that gain no record are the cheapest."""
    rows = [["a", "b", "c"], ["d"], ["e"]]
    table = TransactionTable.from_rows(rows)
    literal = Coat(k=2, objective="ul").anonymize(table, privacy=[["a"]])
    assert literal.figures["largest"] == 4
    assert Coat(k=2).anonymize(table, privacy=[["a"]]).figures["largest"] == 2


def test_more_than_64_members_and_long_constraints():
    rows = [[f"i{n:03}"] for n in range(200)]
    table = TransactionTable.from_rows(rows)
    made = Coat(k=150, constrained=1).anonymize(table)
    assert made.figures["largest"] == 200
    assert "… (200)" in made.log[-1].subject
    names = table.vocabulary.names
    assert Coat(k=1).anonymize(table, privacy=[names[:64]]).promise is not None
    with pytest.raises(ParameterError, match="65 items"):
        Coat(k=1).anonymize(table, privacy=[names[:65]])


def test_bags_count_once():
    table = TransactionTable.from_rows([["a", "a"], ["a", "b"], ["c"]], bags=True)
    made = Coat(k=2).anonymize(table, privacy=[["a"]])
    assert made.release.to_rows() == [["a", "b"], ["a"], ["c"]]


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [Coat, PCTA])
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"objective": "speed"}, "objective is 'speed'"),
        ({"constrained": 0}, "constrained is 0. To fix: use a number above 0"),
        ({"constrained": 1.5}, "constrained is 1.5"),
        ({"constrained": "many"}, "constrained is 'many'"),
    ],
)
def test_parameters_that_mean_nothing(method, params, message):
    with pytest.raises(ParameterError, match=message):
        method(**params)


@pytest.mark.parametrize("s", [-0.1, 1.1, "all", None, True])
def test_a_limit_that_means_nothing(s):
    with pytest.raises(ParameterError, match="s is"):
        Coat(s=s)


@pytest.mark.parametrize("method", [Coat(k=2, constrained=1), PCTA(k=2, constrained=1)])
@pytest.mark.parametrize(
    ("inputs", "kind", "message"),
    [
        ({"privacy": "flu"}, ParameterError, "privacy is the text 'flu'"),
        ({"privacy": ["flu"]}, ParameterError, "'flu' is no privacy constraint"),
        ({"privacy": [[]]}, ParameterError, "no privacy constraint"),
        ({"privacy": [["flu", 3]]}, ParameterError, "no privacy constraint"),
        ({"privacy": [["flue"]]}, InputError, "1 of 1 items in the privacy constraints do not"),
        ({"utility": "all"}, ParameterError, "utility is the text"),
        ({"utility": [["flue"]]}, InputError, "utility constraints do not occur"),
        ({"utility": [["flu", "hiv"], ["hiv"]]}, ParameterError, "'hiv' stands in two"),
    ],
)
def test_constraints_that_mean_nothing(method, inputs, kind, message):
    with pytest.raises(kind, match=message):
        method.anonymize(VISITS, **inputs)


def test_too_much_for_memory_is_said_before_it_is_tried(monkeypatch):
    monkeypatch.setattr("setveil.anonymize.set_generalization.set_recoding.MOST_BYTES", 10)
    with pytest.raises(InfeasibleError, match="as bits"):
        Coat(k=2, constrained=1).anonymize(VISITS)


@pytest.mark.parametrize("method", [Coat(k=2), PCTA(k=2)])
def test_nothing_is_protected_that_nobody_asked_for(method):
    with pytest.raises(ParameterError, match=r"nothing says what to protect.*--constrained 1"):
        method.anonymize(VISITS)
    with pytest.raises(ParameterError, match="what to protect"):
        method.anonymize(VISITS, utility=[["flu"]])


# --- utility constraints from WordNet -------------------------------------------------------------

ANIMALS = WordNet.from_senses(
    {
        "dog": ["dog.n.01"],
        "pug": ["pug.n.01"],
        "cat": ["cat.n.01"],
        "rock": ["rock.n.01"],
        "pebble": ["pebble.n.01"],
    },
    parents={
        "pug.n.01": "dog.n.01",
        "dog.n.01": "animal.n.01",
        "cat.n.01": "animal.n.01",
        "animal.n.01": "thing.n.01",
        "pebble.n.01": "rock.n.01",
        "rock.n.01": "thing.n.01",
    },
)


def test_sets_of_things_that_are_alike():
    items = ["big dog", "cat", "pebble", "pug", "rock", "xyzzy"]
    sets = consistent_sets(items, (("pug",), ("rock", "xyzzy")), ANIMALS)
    # cat is like pug (2·2 / (4+3) > 0.5), nothing is like xyzzy.
    assert sorted(map(sorted, sets)) == [["big dog", "cat", "pug"], ["pebble", "rock"], ["xyzzy"]]
    assert consistent_sets(items, (), ANIMALS) == ()
    # Both are protected and alike: one set.
    both = consistent_sets(["cat", "pug"], (("cat",), ("pug",)), ANIMALS)
    assert both == (frozenset({"cat", "pug"}),)


def test_only_things_that_are_alike_are_published_together():
    rows = [["pug", "rock"], ["cat"], ["big dog"], ["pebble"], ["xyzzy", "rock"]]
    table = TransactionTable.from_rows(rows)
    made = Coat(k=2, s=1).anonymize(table, privacy=[["pug"], ["pebble"]], utility=ANIMALS)
    assert {g for g in made.release.groups if len(g) > 1} <= {
        ("cat", "pug"), ("big dog", "pug"), ("big dog", "cat", "pug"), ("pebble", "rock"),
    }  # fmt: skip
    assert made.promise.check(made.release).holds


def test_wordnet_itself(data_dir):
    wordnet = WordNet.find(data_dir / "wordnet-3.0-dict.tar.gz")
    items = ["surgeon", "nurse", "knee", "elbow", "sonata", "symphony"]
    sets = consistent_sets(items, (("surgeon",), ("knee",), ("sonata",)), wordnet)
    assert sorted(map(sorted, sets)) == [
        ["elbow", "knee"], ["nurse", "surgeon"], ["sonata", "symphony"],
    ]  # fmt: skip
