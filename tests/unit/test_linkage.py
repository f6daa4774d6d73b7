"""Linkage and intersection against plain sets, and on every form of release."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.conftest import TREE, VISITS
from tests.reference import linkage as reference

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import Disassociate
from setveil.attack import (
    Intersection,
    IntersectionGuess,
    Linkage,
    LinkageGuess,
    Targets,
    load_guess,
    save_guess,
)
from setveil.core.errors import InputError, NotApplicable, ParameterError, SetveilError
from setveil.core.params import usual_values
from setveil.core.registry import entries
from setveil.measure import draw_targets, score, score_linkage
from setveil.release import publish_groups, publish_suppressed

ITEMS = "abcdef"
rows_of = st.lists(st.sets(st.sampled_from(ITEMS), max_size=4), min_size=1, max_size=8)
kept_of = st.lists(st.booleans(), min_size=6, max_size=6)


def suppressed(rows, kept):
    """Publish rows without some items; also return what is published."""
    table = TransactionTable.from_rows(rows)
    gone = {name for name, stays in zip(ITEMS, kept, strict=True) if not stays}
    release, key = publish_suppressed(table, [n not in gone for n in table.vocabulary.names])
    return table, release, key, set(release.vocabulary.names)


# --- linkage --------------------------------------------------------------------------------------


@given(rows_of, kept_of, st.integers(0, 3), st.sampled_from(["random", "rarest", "common"]))
def test_linkage_in_clear(rows, kept, m, knowledge):
    table, release, key, published = suppressed(rows, kept)
    targets = draw_targets(table, m=m, knowledge=knowledge)
    guess = Linkage(k=3).run(release, targets=targets)
    rates = score(guess, release=release, original=table, key=key)
    shown = release.to_rows()
    chances, numbers, found = [], [], []
    for target, known, link in zip(targets.records, targets.known, guess.links, strict=True):
        places = reference.candidates(shown, published, known)
        assert link.candidates == len(places)
        assert link.named == tuple(places)
        assert link.chance == pytest.approx(1 / len(places))
        assert key.records.tolist().index(target) in places
        learned = reference.learned(shown, places, known)
        assert set(link.learned) == learned
        chances.append(1 / len(places))
        numbers.append(len(places))
        found.append(bool(learned))
    assert rates["named"].value == pytest.approx(np.mean(chances))
    assert rates["named_random"].value == pytest.approx(1 / len(table))
    assert rates["below_k"].value == pytest.approx(np.mean([n < 3 for n in numbers]))
    assert rates["single"].value == pytest.approx(np.mean([n == 1 for n in numbers]))
    assert rates["candidates"].value == pytest.approx(np.mean(numbers))
    assert rates["learned"].value == pytest.approx(np.mean(found))
    for rate in rates.values():
        assert rate is None or rate.low <= rate.value <= rate.high


@given(rows_of, st.integers(1, 3), st.sampled_from(["random", "rarest", "common"]))
def test_targets_and_strangers(rows, m, knowledge):
    table = TransactionTable.from_rows(rows)
    targets = draw_targets(table, m=m, knowledge=knowledge)
    support = {item: sum(item in row for row in rows) for item in ITEMS}
    for target, known in zip(targets.records, targets.known, strict=True):
        assert set(known) <= rows[target]
        assert len(known) == min(m, len(rows[target]))
        others = rows[target] - set(known)
        if knowledge == "rarest":
            assert all(support[a] <= support[b] for a in known for b in others)
        elif knowledge == "common":
            assert all(support[a] >= support[b] for a in known for b in others)
    for items in targets.strangers:
        assert len(set(items)) == len(items) > 1
        assert not any(set(items) <= row for row in rows)


def test_draws():
    table = TransactionTable.from_rows([[f"i{n % 7}", f"j{n % 5}"] for n in range(200)])
    some = draw_targets(table, sample=20, rng=np.random.default_rng(1))
    assert len(set(some.records)) == 20
    assert some == draw_targets(table, sample=20, rng=np.random.default_rng(1))
    assert some != draw_targets(table, sample=20, rng=np.random.default_rng(2))
    assert draw_targets(table, m=1).strangers == ()
    with pytest.raises(InputError, match="without records"):
        draw_targets(TransactionTable.from_rows([]))


def test_many_equally_likely_records_are_named_by_a_sample():
    table = TransactionTable.from_rows([["flu"]] * 400 + [["gout", "flu"]])
    release, key = publish_suppressed(table, [True, True])
    targets = Targets(records=range(400), known=[["flu"]] * 400)
    guess = Linkage().run(release, targets=targets)
    assert all(len(link.named) == 100 for link in guess.links)
    rates = score(guess, release=release, original=table, key=key)
    # Each of 401 records is equally likely: a hundred of them stand for all.
    assert rates["named"].value == pytest.approx(1 / 401, rel=0.01)


def test_the_control_finds_nobody_where_everything_is_published():
    table = TransactionTable.from_rows([["a", "b"], ["c", "d"], ["a", "c"], ["e", "f"]] * 3)
    release, key = publish_suppressed(table, np.ones(6, dtype=bool))
    targets = draw_targets(table, m=2)
    assert targets.strangers
    rates = score(Linkage().run(release, targets=targets), release=release, original=table, key=key)
    assert rates["found"].value == 1
    for name in ("found", "below_k", "single", "sure", "candidates"):
        assert rates[f"{name}_control"].value == 0


# --- every form -----------------------------------------------------------------------------------

TABLE = TransactionTable.from_rows(VISITS)
GIVEN = Taxonomy.from_parents(dict(TREE))
SECRET = ("asthma",)


def made_by(entry):
    """Return a release of the visits, its key, and the tree that it is about."""
    target = entry.target
    has = target.__dataclass_fields__
    params = {name: value for name, value in {"k": 2, "p": 2, "l": 2}.items() if name in has}
    params |= usual_values(target)
    secret = SECRET if "sensitive" in target.requires else ()
    ordinary = [name for name in TABLE.vocabulary.names if name not in secret]
    tree = GIVEN.for_items(ordinary).without(secret)
    given_to = {"taxonomy": tree, "sensitive": secret}
    given_to = {name: value for name, value in given_to.items() if name in target.requires}
    if "rng" in getattr(target, "accepts", ()):
        given_to["rng"] = np.random.default_rng(3)
    made = target(**params).anonymize(TABLE, **given_to)
    return made, tree.beside(sorted(secret))


ANONYMIZERS = {entry.name: entry for entry in entries("anonymizer")}


@pytest.mark.parametrize("name", ANONYMIZERS)
def test_every_method_can_be_attacked_and_the_true_record_is_a_candidate(name):
    made, tree = made_by(ANONYMIZERS[name])
    targets = draw_targets(TABLE, m=2)
    guess = Linkage(k=2).run(made.release, targets=targets, taxonomy=tree)
    own = {}
    for slot, record in enumerate(made.key.records.tolist()):
        own.setdefault(record, set()).add(slot)
    chances = []
    for target, known, link in zip(targets.records, targets.known, guess.links, strict=True):
        found = made.release.matches(known, tree)
        assert link.candidates == pytest.approx(found.counts.sum())
        assert link.candidates >= sum(set(known) <= set(row) for row in TABLE) or made.key.removed
        if target in own:
            assert own[target] & set(found.records.tolist())
        likely = found.weights / found.counts
        best = np.isclose(likely, likely.max(), rtol=1e-9)
        hits = len(own.get(target, set()) & set(found.records[best].tolist()))
        chances.append(hits / found.counts[best].sum())
        assert set(link.learned) <= set(TABLE[target])
    rates = score_linkage(
        guess, release=made.release, original=TABLE, key=made.key, sensitive=["asthma"],
        taxonomy=tree,
    )  # fmt: skip
    assert rates["named"].value == pytest.approx(np.mean(chances))
    bits = rates["equivocation"]
    assert bits is None or 0 <= bits.value <= 1


def forty_records():
    """Return forty records of four items, each five times: k^m-anonymous as they are."""
    rng = np.random.default_rng(1)
    rows = [sorted(rng.choice(30, 4, replace=False).astype(str)) for _ in range(40)]
    return TransactionTable.from_rows(rows * 5)


def test_a_node_that_takes_all_its_leaves_tells_them():
    parents = {"apple": "fruit", "pear": "fruit", "fruit": "food", "beef": "food"}
    tree = Taxonomy.from_parents(parents)
    fruit = tree.ids.index("fruit")
    release, _ = publish_groups(
        tree, group_offsets=[0, 2], group_nodes=[fruit, fruit], group_of=[0, 0], hides=True
    )
    targets = Targets(records=[0], known=[["apple"]])
    [link] = Linkage().run(release, targets=targets, taxonomy=tree).links
    assert link.candidates == 2
    assert link.learned == ("pear",)


@pytest.mark.parametrize("most", [10, 50, 1000])
def test_records_that_chunks_publish_whole_are_found_as_in_the_original(most):
    table = forty_records()
    made = Disassociate(k=5, m=2, max_cluster_size=most).anonymize(table)
    assert sorted(made.release.to_rows()) == sorted(map(sorted, table))
    targets = draw_targets(table, m=3)
    supports = [sum(set(known) <= set(row) for row in table) for known in targets.known]
    guess = Linkage(m=3).run(made.release, targets=targets)
    rates = score(guess, release=made.release, original=table, key=made.key)
    assert [link.candidates for link in guess.links] == supports
    assert rates["named"].value == pytest.approx(np.mean([1 / n for n in supports]))
    assert rates["learned"].value > 0.9


PAIRS = ["gather", "coat", "apriori-km", "disassociate", "simple-suppression", "token-hashing"]


@pytest.mark.parametrize("second", PAIRS)
@pytest.mark.parametrize("first", PAIRS)
def test_two_releases_of_any_forms(first, second):
    made, _ = made_by(ANONYMIZERS[first])
    other, _ = made_by(ANONYMIZERS[second])
    tree = GIVEN.for_items(list(TABLE.vocabulary.names))
    targets = draw_targets(TABLE, m=1)
    guess = Intersection().run(made.release, second=other.release, targets=targets, taxonomy=tree)
    slot = {record: place for place, record in enumerate(made.key.records.tolist())}
    for target, both, alone in zip(targets.records, guess.links, guess.alone, strict=True):
        assert both.candidates <= alone.candidates
        assert both.candidates > 0
        assert set(both.learned) <= set(TABLE[target])
        if both.candidates == len(both.named):
            assert slot[target] in both.named
    rates = score(guess, release=made.release, original=TABLE, key=made.key)
    assert rates["candidates"].value <= rates["candidates_first"].value


# --- intersection ---------------------------------------------------------------------------------


@settings(max_examples=200)
@given(rows_of, kept_of, kept_of, st.integers(0, 2))
def test_intersection_in_clear(rows, kept, other_kept, m):
    table, release, key, published = suppressed(rows, kept)
    _, second, _, also = suppressed(rows, other_kept)
    targets = draw_targets(table, m=m)
    guess = Intersection().run(release, second=second, targets=targets)
    shown, others = release.to_rows(), second.to_rows()
    for target, known, link in zip(targets.records, targets.known, guess.links, strict=True):
        places = reference.surviving(shown, published, others, also, known)
        assert link.named == tuple(places)
        assert key.records.tolist().index(target) in places
        assert set(link.learned) <= rows[target]


def test_too_many_candidates_are_left_as_they_are():
    table = TransactionTable.from_rows([["flu", f"i{n}"] for n in range(9)])
    release, _ = publish_suppressed(table, np.ones(10, dtype=bool))
    targets = Targets(records=[0], known=[["flu"]])
    guess = Intersection(most=5).run(release, second=release, targets=targets)
    assert guess.links[0].candidates == 9
    assert any("1 of 1 targets have too many candidates" in note for note in guess.notes)


# --- what is refused, and files -------------------------------------------------------------------


@pytest.mark.parametrize(
    "params", [{"m": -1}, {"m": True}, {"k": 0}, {"sample": 0}, {"knowledge": "all"}, {"k": 1.5}]
)
@pytest.mark.parametrize("attack", [Linkage, Intersection])
def test_parameters_that_are_refused(attack, params):
    with pytest.raises(ParameterError, match=next(iter(params))):
        attack(**params)


def test_other_people_and_other_releases_are_refused():
    table = TransactionTable.from_rows([["a", "b"], ["b", "c"], ["c"]])
    release, key = publish_suppressed(table, np.ones(3, dtype=bool))
    guess = Linkage().run(release, targets=draw_targets(table))
    other = TransactionTable.from_rows([["x"], ["y"], ["z"]])
    with pytest.raises(InputError, match="other people"):
        score(guess, release=release, original=other, key=key)
    with pytest.raises(InputError, match="other people"):
        score(guess, release=release, original=TransactionTable.from_rows([["a", "b"]]), key=key)
    shorter, short_key = publish_suppressed(
        TransactionTable.from_rows([["a", "b"], ["b", "c"]]), np.ones(3, dtype=bool)
    )
    with pytest.raises(InputError, match=r"another release|key does not belong"):
        score(guess, release=shorter, original=table, key=short_key)
    with pytest.raises(ParameterError, match="1 targets"):
        Targets(records=[1], known=[])


def test_a_generalized_release_without_its_tree_says_what_is_missing():
    tree = Taxonomy.balanced(["a", "b"])
    release, _ = publish_groups(
        tree, group_offsets=[0, 1], group_nodes=[0], group_of=[0, 0], hides=True
    )
    with pytest.raises(NotApplicable, match="taxonomy"):
        Linkage().run(release, targets=Targets(records=[0], known=[["a"]]))


@pytest.mark.parametrize("attack", [Linkage(), Intersection()])
def test_guesses_on_disk(tmp_path, attack):
    table = TransactionTable.from_rows([["a", "b"], ["b", "c"], ["c"]])
    release, _ = publish_suppressed(table, np.ones(3, dtype=bool))
    more = {"second": release} if isinstance(attack, Intersection) else {}
    guess = attack.run(release, targets=draw_targets(table), **more)
    save_guess(guess, tmp_path / "guess.json")
    again = load_guess(tmp_path / "guess.json")
    assert again == guess
    assert type(again) is (IntersectionGuess if more else LinkageGuess)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"k": 5', '"k": 0'),
        ("[[[", "[[[["),
        ('"targets": [0', '"targets": [-1'),
        (", 1.0,", ", 7,"),
    ],
)
def test_damaged_guesses(tmp_path, old, new):
    table = TransactionTable.from_rows([["a", "b"], ["b", "c"], ["c"]])
    release, _ = publish_suppressed(table, np.ones(3, dtype=bool))
    path = tmp_path / "guess.json"
    save_guess(Linkage().run(release, targets=draw_targets(table)), path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(SetveilError):
        load_guess(path)
