"""EC and Shadow: planted structure is found, chances are right, and nothing hangs on order."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.conditioning import enumerated

from setveil import TransactionTable
from setveil.anonymize import Coat
from setveil.attack import EC, Shadow
from setveil.attack.elimination.calibration import BetaCalibration
from setveil.attack.elimination.distance_attacks import best_cells
from setveil.attack.elimination.distance_tables import CellRows, cell_tables
from setveil.attack.elimination.shadow import (
    Learned,
    Rehearsed,
    conditioned,
    rehearse,
    usual_crowding,
    visible,
)
from setveil.attack.logistic import Logistic
from setveil.core.errors import NotApplicable, ParameterError, ReleaseError
from setveil.io.embeddings import Vectors
from setveil.measure import score
from setveil.relatedness import NGD, Combined, Embedding, RecordCounts
from setveil.release.set_generalized import publish_sets

TOPICS = 4
WORDS = 40


def planted(seed, records=120):
    """Return records about one topic each, a corpus of the same kind, and vectors by topic."""
    rng = np.random.default_rng(seed)
    names = [[f"t{t}w{w:02}" for w in range(WORDS)] for t in range(TOPICS)]
    chances = np.linspace(3, 1, WORDS) / np.linspace(3, 1, WORDS).sum()

    def rows(n):
        topics = rng.integers(TOPICS, size=n)
        return [
            [names[t][w] for w in rng.choice(WORDS, 6, replace=False, p=chances)] for t in topics
        ]

    words = tuple(name for each in names for name in each)
    centres = np.eye(TOPICS)[np.repeat(np.arange(TOPICS), WORDS)]
    vectors = Vectors(
        words=words, vectors=centres + 0.3 * rng.standard_normal((len(words), TOPICS))
    )
    counts = RecordCounts.from_rows(rows(600))
    source = Combined(parts=((1.0, NGD(counts)), (1.0, Embedding(vectors))))
    return TransactionTable.from_rows(rows(records)), source


@pytest.fixture(scope="module")
def case():
    table, source = planted(1)
    method = Coat(k=12, constrained=Fraction(1, 10), s=1)
    return table, source, method, method.anonymize(table, rng=np.random.default_rng(2))


@pytest.fixture(scope="module")
def shadow(case):
    _, source, method, made = case
    rng = np.random.default_rng(3)
    return Shadow(tables=40).run(made.release, relatedness=source, anonymizer=method, rng=rng)


def figures(guess, table, made):
    rates = score(guess, release=made.release, original=table, key=made.key)
    return {name: rate.value for name, rate in rates.items() if rate is not None}


# --- what is planted is found ---------------------------------------------------------------------


def test_ec_finds_topics(case):
    table, source, _, made = case
    found = figures(EC().run(made.release, relatedness=source), table, made)
    assert found["auc"] > 0.8
    assert found["kept_f1"] > found["kept_f1_ra"] + 0.1
    assert abs(found["auc_control"] - 0.5) < 0.15


def test_shadow_finds_topics_and_knows_how_well(case, shadow):
    table, _, _, made = case
    found = figures(shadow, table, made)
    assert found["auc"] > 0.85
    assert found["kept_f1"] > found["kept_f1_ra"] + 0.1
    assert found["ece"] < 0.15
    assert found["auc_control"] < found["auc"] - 0.1


def test_shadow_leaves_one_of_each_row_and_column(shadow):
    for table in shadow.tables:
        kept = ~table.is_eliminated
        assert kept.any(axis=0).all()
        assert kept.any(axis=1).all()


def test_the_same_seed_gives_the_same_guess(case, shadow):
    _, source, method, made = case
    again = Shadow(tables=40).run(
        made.release, relatedness=source, anonymizer=method, rng=np.random.default_rng(3)
    )
    assert again.to_json() == shadow.to_json()


def test_the_order_of_records_changes_nothing(case):
    table, source, method, made = case
    order = np.random.default_rng(5).permutation(len(table))
    shuffled = method.anonymize(table.take(order), rng=np.random.default_rng(2))
    for attack, known in ((EC(), {}), (Shadow(tables=10), {"anonymizer": method})):
        one, other = (
            attack.run(each.release, relatedness=source, rng=np.random.default_rng(4), **known)
            for each in (made, shuffled)
        )
        assert one.to_json() == other.to_json()


def test_shadow_tells_what_it_learned_from(shadow):
    assert shadow.notes[0].startswith("learned from ")


# --- shadow tables --------------------------------------------------------------------------------


def test_shadow_tables_tell_the_truth_and_hide_their_members(case):
    _, source, method, made = case
    shown = visible(made.release)
    tables = next(rehearse(made.release, method, source, np.random.default_rng(1)))
    assert tables
    for table in tables:
        assert table.truth.shape == table.cells.shape
        assert table.truth.any(axis=0).any()
        # A record shows a generalized item exactly if it held a member.
        assert table.truth.any(axis=1).all()
        assert set(table.cells.members) <= set(shown.vocabulary.names)
        assert len(table.features) == table.truth.size
        assert np.isfinite(table.features).all()


def test_where_all_rare_items_are_protected_fewer_records_are_rehearsed():
    table, source = planted(1, records=600)
    method = Coat(k=12, constrained=1, s=1)
    made = method.anonymize(table)
    runs = rehearse(made.release, method, source, np.random.default_rng(1))
    assert next(runs) == []  # all that is in clear is frequent enough
    assert any(len(tables) >= 10 for tables in runs)


def test_nothing_hidden_is_seen():
    table = TransactionTable.from_rows([["fever", "flu"], ["gout", "toe"], ["flu"]])
    release, _ = publish_sets(table, [0, 1, 1, 2])
    assert visible(release).to_rows() == [["fever"], ["toe"]]


# --- what cannot be done is said ------------------------------------------------------------------


@dataclass(frozen=True)
class Needy:
    requires: ClassVar[frozenset[str]] = frozenset({"taxonomy"})

    def anonymize(self, *_, **__):
        raise AssertionError


@dataclass(frozen=True)
class Idle:
    def anonymize(self, table, **_):
        from types import SimpleNamespace

        release, key = publish_sets(table, np.arange(table.n_items))
        return SimpleNamespace(release=release, key=key)


@pytest.mark.parametrize(("method", "says"), [(Needy(), "needs taxonomy"), (Idle(), "too few")])
def test_a_method_that_cannot_be_rehearsed(case, method, says):
    _, source, _, made = case
    with pytest.raises(NotApplicable, match=says):
        Shadow(tables=10).run(made.release, relatedness=source, anonymizer=method)


def test_a_source_that_knows_no_member(case):
    _, _, method, made = case
    within = NGD(RecordCounts.of(made.release))
    for attack, known in ((EC(), {}), (Shadow(), {"anonymizer": method})):
        with pytest.raises(NotApplicable, match="knows no member"):
            attack.run(made.release, relatedness=within, **known)


def test_bad_parameters():
    with pytest.raises(ParameterError, match="tables is 9"):
        Shadow(tables=9)
    with pytest.raises(ParameterError, match="threshold"):
        Shadow(threshold=1.5)


def test_members_and_contexts_unknown_to_one_source_take_part(case):
    _, source, _, made = case
    members = [name for group in made.release.groups if len(group) > 1 for name in group]
    partly = Vectors(words=(members[0],), vectors=[[1.0, 0.5]])
    both = Combined(parts=(source.parts[0], (1.0, Embedding(partly))))
    guess = EC().run(made.release, relatedness=both)
    assert len(guess.tables) == len(cell_tables(made.release, both).tables)


def test_a_release_of_an_unknown_method_is_refused(tmp_path, case):
    from setveil.cli.attack import anonymizer_of
    from setveil.release.store import save

    _, _, method, made = case
    params = {"k": 12, "s": 1, "objective": "ul_per_gain", "constrained": 0.1}
    save(made.release, tmp_path / "ours", method="coat", params=params, promise=made.promise)
    assert anonymizer_of(tmp_path / "ours") == method
    save(made.release, tmp_path / "alien", method="alien", params={}, promise=None)
    with pytest.raises(ReleaseError, match="alien"):
        anonymizer_of(tmp_path / "alien")
    save(made.release, tmp_path / "newer", method="coat", params={"z": 1}, promise=None)
    with pytest.raises(ReleaseError, match="parameters are not ours"):
        anonymizer_of(tmp_path / "newer")


# --- chances --------------------------------------------------------------------------------------

SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 3))


@given(shape=SHAPES, seed=st.integers(0, 10**6), crowded=st.floats(-3, 1))
@settings(max_examples=50, deadline=None)
def test_sampling_agrees_with_all_possibilities(shape, seed, crowded):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2, shape)
    crowding = np.array([0.0, 0.0, crowded, crowded * 2, crowded * 2])
    chances, rows = enumerated(logits, crowding)
    drawn = conditioned(logits, crowding, seed=seed, sweeps=6_000)
    assert np.abs(drawn.chances - chances).max() < 0.06
    assert np.abs(drawn.rows - rows).max() < 0.06 * shape[0] + 0.05


def test_crowding_makes_expected_numbers_right():
    rng = np.random.default_rng(1)
    logits = [rng.normal(0, 1, (3, 3)) for _ in range(60)]
    truth = [rng.permutation(np.eye(3, dtype=bool)) for _ in range(60)]
    crowding = usual_crowding(logits, truth, seed=1)
    rows = sum(conditioned(table, crowding, seed=7).rows for table in logits)
    assert rows[1] > 170


@given(seed=st.integers(0, 10**6), trust=st.floats(0.01, 10))
@settings(max_examples=25, deadline=None)
def test_the_regression_is_that_of_scikit_learn(seed, trust):
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(seed)
    features = rng.normal(3, 2, (60, 4))
    truth = rng.random(60) < 1 / (1 + np.exp(3 - features[:, 0]))
    if truth.all() or not truth.any():
        return
    ours = Logistic.fit(features, truth, trust=trust)
    scaled = (features - features.mean(axis=0)) / features.std(axis=0)
    theirs = linear_model.LogisticRegression(C=trust, tol=1e-10, max_iter=10_000)
    theirs.fit(scaled, truth)
    assert np.allclose(ours.logits(features), theirs.decision_function(scaled), atol=1e-3)


def test_a_regression_of_cells_that_are_all_alike_stays_finite():
    model = Logistic.fit(np.zeros((5, 2)), np.ones(5, dtype=bool), trust=1.0)
    assert np.isfinite(model.logits(np.zeros((1, 2)))).all()


@pytest.mark.parametrize("sharpness", [0.5, 1.0, 3.0])
def test_calibration_undoes_too_much_and_too_little_confidence(sharpness):
    rng = np.random.default_rng(1)
    right = [rng.normal(0, 2, (4, 3)) for _ in range(2_000)]
    truth = [rng.random((4, 3)) < 1 / (1 + np.exp(-table)) for table in right]
    said = [1 / (1 + np.exp(-sharpness * table)) for table in right]
    made = BetaCalibration.fit(said, truth)
    given_back = np.array([made.applied(table) for table in said])
    assert np.abs(given_back - 1 / (1 + np.exp(-np.array(right)))).max() < 0.05


def simulated(rng, tables):
    """Return what was said of cells, and their truth: one in a hundred is a slip, whatever is said.

    That is how evidence errs about rare words: mostly it is as good as its log-odds, but a few
    cells have nothing to do with them.
    """
    logits = rng.normal(0, 4, (tables, 4, 2))
    said = 1 / (1 + np.exp(-logits))
    slip = rng.random(said.shape) < 0.01
    truth = np.where(slip, rng.random(said.shape) < 0.5, rng.random(said.shape) < said)
    return list(said), list(truth)


def errors_at_the_ends(seed):
    """Return, of fresh tables, how many errors both ends led one to expect and how many came."""
    rng = np.random.default_rng(seed)
    made = BetaCalibration.fit(*simulated(rng, 250))
    said, truth = (np.array(each) for each in simulated(rng, 250))
    chances = np.array([made.applied(table) for table in said])
    low, high = chances <= 0.01, chances >= 0.99
    expected = chances[low].sum() + (1 - chances[high]).sum()
    return expected, truth[low].sum() + (~truth[high]).sum()


def test_the_ends_of_the_scale_hold_what_they_say():
    expected, came = np.array([errors_at_the_ends(seed) for seed in range(40)]).T
    assert expected.sum() > 20  # the ends are not deserted
    # Fresh tables are independent, so the errors of all runs are at most about Poisson.
    assert came.sum() <= expected.sum() + 2.33 * np.sqrt(expected.sum())


def test_no_error_among_few_cells_is_no_certainty():
    said = [np.array([[0.999, 0.001]])] * 50
    made = BetaCalibration.fit(said, [np.array([[True, False]])] * 50)
    assert 0.005 < made.applied(np.array([[0.999, 0.001]]))[0, 1] < 0.1


@given(seed=st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_calibration_keeps_the_order(seed):
    rng = np.random.default_rng(seed)
    said = [rng.random((3, 2)) ** 4 for _ in range(20)]
    truth = [rng.random((3, 2)) < rng.random() for _ in said]
    line = np.linspace(0, 1, 21)[:, None].repeat(2, axis=1)
    assert (np.diff(BetaCalibration.fit(said, truth).applied(line), axis=0) >= -1e-12).all()


def worthless(pair, seed):
    """Return a shadow table of two members, with evidence that has nothing to do with the truth."""
    rng = np.random.default_rng([seed, pair])
    members = (f"m{pair}a", f"m{pair}b")
    cells = CellRows(group=0, members=members, records=np.arange(6), contexts=((),) * 6)
    return Rehearsed(
        cells=cells, features=rng.normal(size=(12, 60)), truth=rng.random((6, 2)) < 0.5
    )


def test_what_is_calibrated_comes_from_other_members():
    # Each pair comes back in ten runs of the anonymizer: with folds of tables, a model knows the
    # cells that it is judged by, and worthless evidence looks good.
    seen = [worthless(number % 12, seed=1) for number in range(120)]
    learned = Learned.fit(seen, np.random.default_rng(2))
    fresh = [learned.added(worthless(number, seed=2), number) for number in range(50)]
    assert np.abs(np.array(fresh) - 0.5).mean() < 0.1


# --- assignment -----------------------------------------------------------------------------------


@given(shape=SHAPES, seed=st.integers(0, 10**6))
@settings(max_examples=100, deadline=None)
def test_best_cells_cover_and_hold_a_best_assignment(shape, seed):
    from itertools import permutations

    values = np.random.default_rng(seed).normal(size=shape)
    kept = best_cells(values)
    assert kept.any(axis=0).all()
    assert kept.any(axis=1).all()
    wide = values if shape[0] <= shape[1] else values.T
    own = kept if shape[0] <= shape[1] else kept.T
    ways = list(permutations(range(wide.shape[1]), wide.shape[0]))
    best = max(ways, key=lambda way: sum(wide[i, j] for i, j in enumerate(way)))
    assert all(own[i, j] for i, j in enumerate(best))
    # What is kept beyond the assignment is there for a row or column that has nothing else.
    assert kept.sum() == max(shape)
