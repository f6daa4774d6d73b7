"""The attack on hashed items: it reads them, and what it is compared with does not."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setveil import TransactionTable
from setveil.anonymize import SecretSharing, SplitPersonality, TokenHashing
from setveil.attack import Guess, TokenFrequency, TokenGuess, load_guess, save_guess
from setveil.attack.token_frequency import Side, match
from setveil.core.errors import InputError, NotApplicable, ParameterError
from setveil.measure import Rate, flat, score
from setveil.release import publish_encoded


def world(seed, n=1500):
    """Draw records over 40 words that have their own frequencies and neighbours."""
    fixed = np.random.default_rng(0)
    usual = fixed.dirichlet(np.full(40, 0.5))
    follows = fixed.dirichlet(np.full(40, 0.1), 40)
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        first = int(rng.choice(40, p=usual))
        second = int(rng.choice(40, p=follows[first]))
        rows.append([f"word {first:02}", f"word {second:02}"])
    return TransactionTable.from_rows(rows)


@pytest.fixture(scope="module")
def attacked():
    table = world(1)
    made = TokenHashing().anonymize(table, secret=b"a secret of sixteen")
    guess = TokenFrequency().run(made.release, reference=world(2))
    rates = score(guess, release=made.release, original=table, key=made.key)
    return table, made, guess, rates


def test_most_tags_are_read_and_by_guessing_few(attacked):
    *_, rates = attacked
    assert rates["accuracy"].low > 0.5
    assert rates["accuracy"].low > rates["accuracy_frequency"].high
    assert rates["accuracy_random"].value == pytest.approx(1 / 40, abs=0.01)
    assert rates["accuracy_control"].value < 0.2
    assert rates["occurrences_read"].value >= rates["accuracy"].value
    assert rates["precision"].value >= rates["accuracy"].value
    for rate in rates.values():
        assert 0 <= rate.low <= rate.value <= rate.high <= 1


def independent(seed, n, items=40):
    """Draw records whose items know nothing of each other: frequencies are all there is."""
    rng = np.random.default_rng(seed)
    shares = 1 / (np.arange(items) + 1.5) ** 0.8
    rows = (
        [f"w{i}" for i in np.flatnonzero(rng.random(items) < shares)] or ["w0"] for _ in range(n)
    )
    return TransactionTable.from_rows(rows)


@pytest.mark.parametrize("n", [400, 2000])
def test_where_neighbours_say_nothing_it_is_as_good_as_frequency_and_knows_it(n):
    found = []
    for seed in range(4):
        table = independent(seed, n)
        made = TokenHashing().anonymize(table, secret=b"a secret of sixteen")
        guess = TokenFrequency().run(made.release, reference=independent(seed + 100, n))
        found.append(score(guess, release=made.release, original=table, key=made.key))
    rates = {
        name: [0.0 if each[name] is None else each[name].value for each in found]
        for name in ("accuracy", "accuracy_frequency", "sure", "precision")
    }
    assert sum(rates["accuracy"]) >= sum(rates["accuracy_frequency"]) - 0.1
    sure = sum(rates["sure"])
    right = np.dot(rates["sure"], rates["precision"])
    assert sure < 0.5
    assert right >= 0.8 * sure


def test_scores_count_what_they_say(attacked):
    table, made, guess, rates = attacked
    truth = dict(zip(made.release.vocabulary.names, made.key.names, strict=True))
    right = [tag for tag, name in guess.names.items() if truth[tag] == name]
    assert rates["accuracy"] == Rate.sampled(len(right), len(guess.names))
    supports = dict(zip(table.vocabulary.names, table.supports().tolist(), strict=True))
    share = sum(supports[truth[tag]] for tag in right) / len(table.items)
    assert rates["occurrences_read"].value == pytest.approx(share)
    sure = [tag for tag in guess.names if guess.chances[tag] >= 0.9]
    assert rates["sure"].value == len(sure) / len(guess.names)


def test_each_name_is_given_once(attacked):
    _, _, guess, _ = attacked
    for said in (guess.names, guess.by_frequency, guess.control):
        assert len(set(said.values())) == len(said)


def test_the_guess_does_not_depend_on_names_or_order():
    table, other = world(3, n=300), world(4, n=300)
    release = TokenHashing().anonymize(table, secret=b"a secret of sixteen").release
    names = TokenFrequency(rounds=5).run(release, reference=other).names
    turned = other.take(np.arange(len(other))[::-1])
    assert TokenFrequency(rounds=5).run(release, reference=turned).names == names


def test_readable_items_are_fixed_points():
    table, other = world(1), world(2)
    made = SecretSharing(k=60).anonymize(table)
    assert made.figures["readable"] > 5
    assert made.figures["unreadable"] > 5
    guess = TokenFrequency().run(made.release, reference=other)
    readable = set(made.release.legible.vocabulary.names)
    assert not readable & set(guess.names.values())
    rates = score(guess, release=made.release, original=table, key=made.key)
    assert rates["accuracy"].value > 2 * rates["accuracy_frequency"].value


@settings(max_examples=50)
@given(st.integers(0, 10**6))
def test_a_clear_enough_case_is_matched_exactly(seed):
    rng = np.random.default_rng(seed)
    # Every item has a frequency of its own, far from all others.
    rows = [[f"i{i}" for i in range(6) if r % (i + 2) == 0] for r in range(4200)]
    table = TransactionTable.from_rows(rows)
    order = rng.permutation(6)
    side = Side.of(table, np.arange(6), [])
    found, chances = match(Side.of(table, order, []), side, rounds=10)
    assert found.tolist() == order.tolist()
    assert (chances > 0.5).all()


def test_pairs_are_counted(attacked):
    table = attacked[0]
    side = Side.of(table, np.array([3, 7]), [11])
    rows = [set(row) for row in table]
    names = [table.vocabulary[i] for i in (3, 7, 11)]
    both = sum({names[0], names[1]} <= row for row in rows) / len(rows)
    assert side.pairs[0, 1] == pytest.approx(both)
    assert side.fixed[1, 0] == pytest.approx(sum({names[1], names[2]} <= r for r in rows) / 1500)


def test_fewer_names_than_tags():
    table = TransactionTable.from_rows([["a", "b"], ["b", "c"], ["b"]])
    release = TokenHashing().anonymize(table).release
    guess = TokenFrequency().run(release, reference=TransactionTable.from_rows([["x"], ["x"]]))
    assert list(guess.names.values()) == ["x"]


def test_where_nothing_is_hidden_nothing_is_scored():
    table = TransactionTable.from_rows([["a"], ["a"]])
    made = SecretSharing(k=2).anonymize(table)
    guess = TokenFrequency().run(made.release, reference=table)
    rates = score(guess, release=made.release, original=table, key=made.key)
    assert set(rates.values()) == {None}
    assert set(flat(rates).values()) == {None}


def test_what_it_does_not_apply_to():
    table = world(1, n=50)
    split = SplitPersonality().anonymize(table)
    with pytest.raises(NotApplicable, match="does not attack"):
        TokenFrequency().run(split.release, reference=table)
    release = TokenHashing().anonymize(table).release
    with pytest.raises(InputError, match="no items"):
        TokenFrequency().run(release, reference=TransactionTable.from_rows([[]]))


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "3"])
@pytest.mark.parametrize("name", ["most", "rounds"])
def test_parameters_that_mean_nothing(name, value):
    with pytest.raises(ParameterError, match=f"{name} is"):
        TokenFrequency(**{name: value})


def test_scores_refuse_what_does_not_belong_together(attacked):
    table, made, guess, _ = attacked
    other = TokenHashing().anonymize(table)
    with pytest.raises(InputError, match="not in this release"):
        score(guess, release=other.release, original=table, key=other.key)
    with pytest.raises(InputError, match="the key does not say"):
        score(guess, release=made.release, original=table, key=other.key)
    split = SplitPersonality().anonymize(table)
    with pytest.raises(NotApplicable, match="no tags"):
        score(guess, release=split.release, original=table, key=split.key)


def test_a_saved_guess_is_scored_with_its_own_release_only(tmp_path):
    tags = {"flu": "4a", "hiv": "c1"}
    tables = [TransactionTable.from_rows([["flu", "hiv"], [name]]) for name in tags]
    (release, key), (other, its_key) = (publish_encoded(table, tags) for table in tables)
    guess = TokenFrequency().run(release, reference=tables[0])
    save_guess(guess, tmp_path / "guess.json", release=release)
    loaded = load_guess(tmp_path / "guess.json")
    assert score(loaded, release=release, original=tables[0], key=key)["accuracy"]
    with pytest.raises(InputError, match="about another release"):
        score(loaded, release=other, original=tables[1], key=its_key)


# --- guesses on disk ------------------------------------------------------------------------------


def test_saved_and_loaded(attacked, tmp_path):
    guess = attacked[2]
    save_guess(guess, tmp_path / "guess.json")
    assert load_guess(tmp_path / "guess.json") == guess
    assert isinstance(load_guess(tmp_path / "guess.json"), Guess)


GOOD = {
    "setveil": "guess",
    "version": 2,
    "kind": "tokens",
    "attack": "token-frequency",
    "names": {"t": "a"},
    "chances": {"t": 0.5},
    "by_frequency": {},
    "control": {},
    "candidates": 1,
}


@pytest.mark.parametrize(
    "change",
    [
        {"setveil": "release"},
        {"version": 1},
        {"kind": "nothing"},
        {"names": {"t": 3}},
        {"names": ["t"]},
        {"chances": {}},
        {"chances": {"t": 2}},
        {"chances": {"t": "x"}},
        {"chances": {"t": "0.5"}},
        {"chances": {"t": 10**400}},
        {"chances": {"t": True}},
        {"kind": []},
        {"attack": 5},
        {"candidates": None},
        {"candidates": "1"},
        {"candidates": 1.5},
        {"more": 1},
    ],
)
def test_files_that_are_no_guess(change, tmp_path):
    file = tmp_path / "guess.json"
    file.write_text(json.dumps(GOOD))
    assert isinstance(load_guess(file), TokenGuess)
    file.write_text(json.dumps({**GOOD, **change}))
    with pytest.raises(InputError):
        load_guess(file)


@pytest.mark.parametrize("text", ["", "[]", "{", "\0", "[" * 5000])
def test_files_that_are_no_json_object(text, tmp_path):
    (tmp_path / "guess.json").write_text(text)
    with pytest.raises(InputError, match="no guess"):
        load_guess(tmp_path / "guess.json")
    with pytest.raises(InputError, match="cannot be read"):
        load_guess(tmp_path / "nowhere.json")
