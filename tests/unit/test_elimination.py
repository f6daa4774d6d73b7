"""Elimination attacks: what they say, how it is kept, explained and scored."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setveil import TransactionTable
from setveil.attack import (
    GBA,
    MDA,
    RA,
    RBA,
    TBA,
    WBA,
    EliminationGuess,
    Reason,
    TableGuess,
    load_guess,
    reasons,
    save_guess,
)
from setveil.core.errors import InputError, NotApplicable, ParameterError
from setveil.measure import (
    calibration_error,
    reliability,
    score,
    score_items,
    score_records,
)
from setveil.relatedness import NGD, RecordCounts
from setveil.release import Key, publish_suppressed
from setveil.release.set_generalized import publish_sets

ATTACKS = [RA(), MDA(), TBA(), WBA(), GBA(), RBA()]


@pytest.fixture(scope="module")
def clinic():
    """Records of two topics whose rare items are published as sets across topics."""
    rng = np.random.default_rng(0)
    topics = (["fever", "cough", "flu", "cold", "mucus"], ["toe", "joint", "gout", "limp", "uric"])
    rows = [sorted(rng.choice(topics[i % 2], size=3, replace=False)) for i in range(40)]
    table = TransactionTable.from_rows(rows)
    pairs = {"flu": 50, "gout": 50, "cold": 51, "limp": 51}
    groups = [pairs.get(name, place) for place, name in enumerate(table.vocabulary.names)]
    release, key = publish_sets(table, groups)
    corpus = [sorted(rng.choice(topics[i % 2], size=3, replace=False)) for i in range(200)]
    return table, release, key, NGD(RecordCounts.from_rows(corpus))


def run(attack, release, source, **more):
    knowledge = {"relatedness": source} if attack.requires else {}
    return attack.run(release, **knowledge, **more)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: type(a).__name__)
def test_never_empties_a_row_or_column_and_can_be_kept(attack, clinic, tmp_path):
    table, release, key, source = clinic
    guess = run(attack, release, source)
    for each in guess.tables:
        left = ~each.is_eliminated
        assert left.any(axis=0).all()
        assert left.any(axis=1).all()
        if each.threshold is not None:
            assert (each.decided > each.threshold).all()
        if len(each.decided):
            out, kept = each.scores[~left], each.scores[left]
            assert out.min() >= kept.max() or attack == RA()
    assert (guess.control is None) == (attack == RA())
    save_guess(guess, tmp_path / "guess.json")
    loaded = load_guess(tmp_path / "guess.json")
    assert loaded.to_json() == guess.to_json()
    assert score(loaded, release=release, original=table, key=key) == score(
        guess, release=release, original=table, key=key
    )


def test_contexts_tell_and_exchanged_ones_do_not(clinic):
    table, release, key, source = clinic
    rates = score(run(RBA(), release, source), release=release, original=table, key=key)
    assert rates["auc"].value > 0.95
    assert rates["kept_f1"].value > 0.9
    assert abs(rates["auc_control"].value - 0.5) < 0.2
    assert rates["kept_f1_control"].value < rates["kept_f1"].value
    for name in ("auc", "f1", "kept_f1", "precision", "recall"):
        assert rates[name].low <= rates[name].value <= rates[name].high
    assert rates["recall_all"].value == 1.0
    assert rates["kept_recall_all"].value == 0.0
    assert rates["kept_precision_all"] is None
    assert rates["ece"] is rates["sure_precision"] is None
    assert rates["attacked"].value == pytest.approx(
        sum(t.scores.size for t in run(RBA(), release, source).tables)
        / sum(t.scores.size for t in RA().run(release).tables)
    )


def test_the_same_seed_says_the_same(clinic):
    _, release, _, source = clinic
    for attack in ATTACKS:
        one, two = (run(attack, release, source, rng=np.random.default_rng(7)) for _ in range(2))
        assert one.to_json() == two.to_json()
    assert (
        RA().run(release, rng=np.random.default_rng(1)).to_json()
        != RA().run(release, rng=np.random.default_rng(2)).to_json()
    )


def test_ra_eliminates_about_half(clinic):
    _, release, _, _ = clinic
    table = TransactionTable.from_rows([[str(i % 20)] for i in range(200)])
    release, _ = publish_sets(table, np.zeros(20, dtype=int))
    (made,) = RA().run(release).tables
    assert 0.45 < made.is_eliminated.mean() < 0.55


def test_distances_below_zero_are_shifted():
    table = np.array([[-3.0, 1.0], [0.5, -2.0]])
    for attack in (WBA(), GBA(), RBA()):
        shifted = attack.eliminate(table + 3).cells
        np.testing.assert_array_equal(attack.eliminate(table).cells, shifted)


def test_one_row_loses_nothing():
    for attack in ATTACKS[1:]:
        assert not len(attack.eliminate(np.array([[0.1, 0.9, 0.5]])).cells)


@pytest.mark.parametrize("attack", [MDA, TBA, WBA, GBA, RBA])
@pytest.mark.parametrize("context", [0, -2, 1.5, True, "all"])
def test_wrong_contexts_are_refused(attack, context):
    with pytest.raises(ParameterError, match="context is"):
        attack(context=context)


@pytest.mark.parametrize("threshold", [float("nan"), float("inf")])
def test_wrong_thresholds_are_refused(threshold):
    with pytest.raises(ParameterError, match="threshold is"):
        TBA(threshold=threshold)


def test_other_forms_are_refused():
    release, _ = publish_suppressed(TransactionTable.from_rows([["a"]]), [True])
    with pytest.raises(NotApplicable, match="gba does not attack"):
        GBA().run(release, relatedness=None)


# --- scoring ----------------------------------------------------------------------------------


@st.composite
def guesses(draw):
    """A release and any guess about it, sensible or not."""
    rows = draw(st.lists(st.sets(st.sampled_from("abcdef"), min_size=1), min_size=2, max_size=8))
    table = TransactionTable.from_rows(map(sorted, rows))
    group = draw(st.lists(st.integers(0, 2), min_size=table.n_items, max_size=table.n_items))
    release, key = publish_sets(table, group)
    made = []
    for each in RA().run(release).tables:
        shape = each.scores.shape
        n = shape[0] * shape[1]
        scores = draw(st.lists(st.sampled_from([0.0, 0.2, 0.5, 1.0]), min_size=n, max_size=n))
        gone = draw(st.lists(st.integers(0, n - 1), unique=True))
        made.append(
            TableGuess(
                group=each.group,
                members=each.members,
                records=each.records,
                scores=np.reshape(scores, shape),
                eliminated=[divmod(cell, shape[1]) for cell in gone],
                decided=np.zeros(len(gone)),
                probabilities=np.reshape(scores, shape),
            )
        )
    return table, release, key, EliminationGuess(attack="any", tables=tuple(made))


def area(truth, scores):
    """Over all pairs of an added and an original cell: how often the added one scores higher."""
    above = [score for true, score in zip(truth, scores, strict=True) if true]
    below = [score for true, score in zip(truth, scores, strict=True) if not true]
    return np.mean([(a > b) + (a == b) / 2 for a in above for b in below])


def ratio(part, whole):
    return part / whole if whole else None


@settings(max_examples=60)
@given(case=guesses())
def test_scores_as_counted_by_hand(case):
    table, release, key, guess = case
    rows = [set(row) for row in table.to_rows()]
    cells = [
        (member not in rows[key.records[record]], bool(gone), value, each.group, int(record))
        for each in guess.tables
        for record, gones, values in zip(each.records, each.is_eliminated, each.scores, strict=True)
        for member, gone, value in zip(each.members, gones, values, strict=True)
    ]
    rates = score(guess, release=release, original=table, key=key)
    value = {name: None if rate is None else rate.value for name, rate in rates.items()}
    added = sum(a for a, *_ in cells)
    gone = sum(g for _, g, *_ in cells)
    found = sum(a and g for a, g, *_ in cells)
    held = sum(not a and not g for a, g, *_ in cells)
    n = len(cells)
    expected = {
        "precision": ratio(found, gone),
        "recall": ratio(found, added),
        "f1": ratio(2 * found, gone + added),
        "kept_precision": ratio(held, n - gone),
        "kept_recall": ratio(held, n - added),
        "kept_f1": ratio(2 * held, n - gone + n - added),
        "cell_density": ratio(n - added, n),
        "precision_all": ratio(added, n),
        "sure_precision": ratio(
            sum(a for a, _, p, *_ in cells if p >= 0.95), sum(p >= 0.95 for _, _, p, *_ in cells)
        ),
    }
    for name, want in expected.items():
        assert value[name] == (None if want is None else pytest.approx(want)), name
    if 0 < added < n:
        truth, scores = [a for a, *_ in cells], [s for _, _, s, *_ in cells]
        assert value["auc"] == pytest.approx(area(truth, scores))
        units = [group for *_, group, _ in cells]
        assert rates["ece"] == calibration_error(scores, truth, unit=units)
    else:
        assert value["auc"] is None
    items = score_items(guess, release=release, original=table, key=key)
    records = score_records(guess, release=release, original=table, key=key)
    for parts in (items, records):
        assert sum(part.cells for part in parts) == n
        assert sum(part.found for part in parts) == found
    for part in records:
        own = [(a, g) for a, g, _, _, record in cells if record == part.name]
        assert part.added == sum(a for a, _ in own)
        assert part.precision == ratio(sum(a and g for a, g in own), sum(g for _, g in own))
        assert part.kept_recall == ratio(
            sum(not a and not g for a, g in own), sum(not a for a, _ in own)
        )


def test_one_generalized_item_says_nothing_about_others():
    table = TransactionTable.from_rows([["a"], ["b"], ["a"]])
    release, key = publish_sets(table, [0, 0])
    rates = score(RA().run(release), release=release, original=table, key=key)
    assert rates["f1"].low < 0.04
    assert rates["f1"].high > 0.96


def test_nothing_attacked():
    table = TransactionTable.from_rows([["a", "b"]])
    release, key = publish_sets(table, [0, 1])
    rates = score(RA().run(release), release=release, original=table, key=key)
    assert rates["f1"] is rates["auc"] is rates["cell_density"] is None


def test_what_does_not_belong_together_is_refused(clinic):
    table, release, key, source = clinic
    guess = run(MDA(), release, source)
    with pytest.raises(InputError, match="cannot come from"):
        score(guess, release=release, original=table, key=Key(records=key.records[::-1]))
    other = TransactionTable.from_rows([["a"], ["b"]])
    elsewhere, its_key = publish_sets(other, [0, 0])
    with pytest.raises(InputError, match="about another release"):
        score(guess, release=elsewhere, original=other, key=its_key)
    suppressed, its_key = publish_suppressed(other, [True, True])
    with pytest.raises(NotApplicable, match="no generalized items"):
        score(guess, release=suppressed, original=other, key=its_key)


# --- explanations -----------------------------------------------------------------------------


def test_reasons_are_the_items_that_are_nearer_to_what_was_kept(clinic):
    _, release, _, source = clinic
    guess = run(RBA(), release, source)
    cell = next(guess.eliminations())
    context = {g[0] for g in map(release.members, row_of(release, cell.record)) if len(g) == 1}
    found = reasons(guess, release, cell.record, relatedness=source)
    assert found
    assert {reason.context for reason in found} <= context
    assert all(reason.distance > reason.others for reason in found)
    assert cell.member in {reason.member for reason in found}
    assert RBA().explain(guess, release, cell.record, relatedness=source) == found


class Told:
    """Distances as told for pairs; the terms of all others are unknown."""

    def __init__(self, far):
        self.far = far

    def distances(self, rows, columns):
        found = [[self.far.get(row + column, np.nan) for column in columns] for row in rows]
        return np.array(found).reshape(len(rows), len(columns))

    def known(self, terms):
        return np.array([any(term in pair for pair in self.far) for term in terms], dtype=bool)


@pytest.fixture
def one_gone():
    """Publish a and b as one, in two records that show c and d; b is eliminated from the first."""
    table = TransactionTable.from_rows([["a", "c", "d"], ["b", "c", "d"]])
    release, _ = publish_sets(table, [0, 0, 1, 2])
    (drawn,) = RA().run(release).tables
    said = TableGuess(
        group=drawn.group,
        members=("a", "b"),
        records=[0, 1],
        scores=np.full((2, 2), 0.5),
        eliminated=[[0, 1]],
        decided=[0.5],
    )
    return EliminationGuess(attack="mda", tables=(said,)), release


@pytest.mark.parametrize(
    ("far", "known"),
    [({"ca": 0.5}, False), ({"ca": 0.5, "cb": 0.5}, True), ({"ca": 0.5, "cb": 0.4}, True)],
)
def test_what_nothing_spoke_against_is_told_too(one_gone, far, known):
    guess, release = one_gone
    found = reasons(guess, release, 0, relatedness=Told(far))
    group = guess.tables[0].group
    assert found == (
        Reason(
            group=group,
            member="b",
            score=0.5,
            context=None,
            distance=None,
            others=None,
            known=known,
        ),
    )
    assert reasons(guess, release, 1, relatedness=Told(far)) == ()


def test_only_the_context_that_was_used_speaks(one_gone):
    guess, release = one_gone
    source = Told({"ca": 0.4, "cb": 0.6, "da": 0.0, "db": 1.0})
    named = [
        [reason.context for reason in attack.explain(guess, release, 0, relatedness=source)]
        for attack in (TBA(), TBA(context=1), MDA(context=2))
    ]
    assert named == [["d", "c"], ["d"], ["d", "c"]]


@pytest.mark.parametrize("record", [-1, 40, True])
def test_records_that_are_not_there(clinic, record):
    _, release, _, source = clinic
    with pytest.raises(ParameterError, match="there is no record"):
        reasons(run(MDA(), release, source), release, record, relatedness=source)


def row_of(release, record):
    return release.items[release.offsets[record] : release.offsets[record + 1]].tolist()


# --- calibration ------------------------------------------------------------------------------


def test_a_calibrated_source_has_no_error():
    rng = np.random.default_rng(0)
    chances = rng.random(200_000)
    right = calibration_error(chances, rng.random(200_000) < chances)
    assert right.low == 0
    assert right.value <= right.high < 0.01
    assert calibration_error(chances, rng.random(200_000) < chances**2).low > 0.1
    assert calibration_error([], []) is None
    assert sum(each.chances for each in reliability(chances, chances > 0.5)) == 200_000


@pytest.mark.parametrize(("chances", "happened"), [([0.5], []), ([1.5], [True])])
def test_chances_that_are_none(chances, happened):
    with pytest.raises(ParameterError, match="do not fit"):
        reliability(chances, happened)
    with pytest.raises(ParameterError, match="bins is"):
        reliability([0.5], [True], bins=0)
