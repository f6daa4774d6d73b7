"""Attacks on noise: what they must find where there is something, and where there is nothing."""

import numpy as np
import polars as pl
import pytest

from setveil import TransactionTable
from setveil.anonymize import SelectASize
from setveil.attack import NoiseFilter, NoiseGuess, PublicRecords, PublicRecordsGuess, Spectrum
from setveil.attack.guess import load_guess, save_guess
from setveil.attack.randomized.public_records import likelihoods, place_of_truth
from setveil.attack.randomized.spectral import noise_bounds
from setveil.core.errors import InputError, NotApplicable, ParameterError
from setveil.measure import noise_removed, score, score_filter, score_ranks
from setveil.release import ItemChannel, publish_perturbed, publish_suppressed
from setveil.tabular.noise_attacks import filter_noise, match_public_records, public_ranks
from setveil.tabular.perturbation import add_noise


def low_rank(rng, n=1000, rank=3, columns=20):
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, columns))


# --- the spectrum ---------------------------------------------------------------------------------


def test_the_bound_holds_for_noise():
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(2000, 100))
    low, high = noise_bounds(2000, 100)
    values = np.linalg.eigvalsh(noise.T @ noise / 2000)
    assert low * 0.9 < values[0]
    assert values[-1] < high * 1.1


@pytest.mark.parametrize("method", ["spectral", "bayes"])
@pytest.mark.parametrize("seed", range(5))
def test_three_causes_of_twenty_columns_lose_most_of_their_noise(method, seed):
    rng = np.random.default_rng(seed)
    truth = low_rank(rng)
    noise = np.full(20, truth.std())  # as much noise as signal
    shown = truth + rng.normal(size=truth.shape) * noise
    rates = score_filter(truth, shown, noise, method=method)
    assert rates["noise_removed"].low > 0.5
    assert rates["noise_removed"].value > 0.8
    assert rates["noise_removed_alone"].value < 0.7
    assert rates["rmse"].value < 0.5 * rates["rmse_published"].value


@pytest.mark.parametrize("seed", range(5))
def test_of_uncorrelated_columns_nothing_is_learned_and_it_says_so(seed):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(1000, 20)) * rng.uniform(0.5, 2, size=20)
    noise = truth.std(axis=0)
    shown = truth + rng.normal(size=truth.shape) * noise
    spectrum = Spectrum.of([shown], noise)
    assert not spectrum.correlated
    assert "not correlated beyond chance: nothing to filter" in spectrum.notes("spectral")[0]
    rates = score_filter(truth, shown, noise)
    assert rates["noise_removed"].value == 0
    assert rates["noise_removed_control"].value == 0
    # Shrinking to the mean needs no correlation: Bayes has no more than that.
    rates = score_filter(truth, shown, noise, method="bayes")
    assert rates["noise_removed"].value == pytest.approx(rates["noise_removed_alone"].value)


def test_a_false_alarm_is_rare():
    rng = np.random.default_rng(7)
    alarms = sum(
        Spectrum.of([rng.normal(size=(300, 15))], np.full(15, 0.7)).correlated for _ in range(200)
    )
    assert alarms <= 8  # 1% expected


def test_the_control_removes_nothing_of_correlated_columns():
    rng = np.random.default_rng(1)
    truth = low_rank(rng)
    noise = truth.std(axis=0)
    shown = truth + rng.normal(size=truth.shape) * noise
    rates = score_filter(truth, shown, noise)
    assert rates["noise_removed_control"].value == 0


def test_unequal_noise_is_weighed():
    rng = np.random.default_rng(2)
    truth = low_rank(rng, columns=10)
    noise = np.linspace(0.2, 4, 10)
    shown = truth + rng.normal(size=truth.shape) * noise
    assert score_filter(truth, shown, noise)["noise_removed"].value > 0.6


def test_the_bayes_estimate_is_the_conditional_mean():
    # Two columns, known covariances: E[x | y] = S (S + N)^-1 y.
    signal, noise = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, 0.5])
    spectrum = Spectrum(
        rows=10_000, mean=np.zeros(2), covariance=signal + np.diag(noise**2), deviations=noise
    )
    expected = np.linalg.solve(signal + np.diag(noise**2), signal)
    assert np.allclose(spectrum.filter("bayes"), expected)


def test_blocks_give_what_the_whole_gives():
    rng = np.random.default_rng(1)
    values = 1e6 + rng.normal(size=(100, 4))
    whole = Spectrum.of([values], np.ones(4))
    parts = Spectrum.of([values[:30], values[30:30], values[30:]], np.ones(4))
    assert np.allclose(whole.covariance, np.cov(values.T, bias=True))
    assert np.allclose(parts.covariance, whole.covariance, atol=1e-8)
    assert np.allclose(parts.mean, whole.mean)


@pytest.mark.parametrize(
    ("values", "noise"),
    [
        ([[1.0, 2.0]], [1, 1]),
        ([[1.0], [2.0]], [1, 1]),
        ([[1.0, float("nan")], [2.0, 1.0]], [1, 1]),
        ([[1.0], [2.0]], [0]),
        ([[1.0], [2.0]], []),
    ],
)
def test_values_that_cannot_be_filtered(values, noise):
    with pytest.raises((InputError, ParameterError)):
        Spectrum.of([np.array(values)], noise)


def test_ways_to_filter_that_there_are_not():
    spectrum = Spectrum.of([np.eye(3)], np.ones(3))
    with pytest.raises(ParameterError, match="method is"):
        spectrum.filter("magic")
    with pytest.raises(ParameterError, match="components is"):
        spectrum.filter("spectral", 4)


def test_no_noise_cannot_be_removed():
    with pytest.raises(NotApplicable, match="no noise"):
        noise_removed([[1.0]], [[1.0]], [[1.0]])


# --- tables ---------------------------------------------------------------------------------------


def test_noise_in_a_table_is_what_it_says_and_leaves_no_order():
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"who": ["x", "y"] * 2000, "age": rng.normal(40, 10, 4000)})
    noisy = add_noise(table, share=0.5, rng=np.random.default_rng(2))
    apart = noisy.frame["age"].to_numpy() - table["age"].to_numpy()[noisy.key]
    assert noisy.deviations["age"] == pytest.approx(table["age"].std(ddof=0) / 2)
    assert apart.std() == pytest.approx(noisy.deviations["age"], rel=0.05)
    assert noisy.frame["who"].to_list() == table["who"].gather(noisy.key.tolist()).to_list()
    turned = add_noise(table.reverse(), share=0.5, rng=np.random.default_rng(2))
    assert turned.frame.equals(noisy.frame)


@pytest.mark.parametrize("distribution", ["gaussian", "laplace", "uniform"])
def test_kinds_of_noise_have_the_variance_they_should(distribution):
    table = pl.DataFrame({"x": [0.0] * 20_000})
    noisy = add_noise(
        table, deviations={"x": 3.0}, distribution=distribution, rng=np.random.default_rng(1)
    )
    assert noisy.frame["x"].std() == pytest.approx(3, rel=0.03)


@pytest.mark.parametrize(
    "wrong",
    [
        {"share": 0},
        {"share": -1},
        {"distribution": "funny"},
        {"deviations": {"y": 1.0}},
        {"deviations": {"x": 0.0}},
        {"columns": ["job"]},
        {"columns": ["nothing"]},
        {"columns": []},
    ],
)
def test_noise_that_cannot_be_added(wrong):
    table = pl.DataFrame({"x": [1.0, 2.0], "job": ["a", "b"]})
    with pytest.raises((InputError, ParameterError)):
        add_noise(table, **wrong)


@pytest.mark.parametrize("values", [[1.0, None], [1.0, float("nan")], []])
def test_values_that_get_no_noise(values):
    with pytest.raises(InputError):
        add_noise(pl.DataFrame({"x": values}, schema={"x": pl.Float64}))


def test_a_column_of_one_value_gets_no_noise_by_share():
    with pytest.raises(ParameterError, match="one value only"):
        add_noise(pl.DataFrame({"x": [1.0, 1.0]}))


def test_pandas_and_arrow_frames():
    pd = pytest.importorskip("pandas")
    table = pl.DataFrame({"x": [1.0, 2.0, 3.0]})
    frames = [table, pd.DataFrame({"x": [1.0, 2.0, 3.0]}), table.to_arrow()]
    made = [add_noise(frame, rng=np.random.default_rng(1)).frame for frame in frames]
    assert made[0].equals(made[1])
    assert made[0].equals(made[2])


def test_a_table_without_correlation_is_left_as_it_is():
    rng = np.random.default_rng(1)
    table = pl.DataFrame({name: rng.normal(size=500) for name in "abc"})
    noisy = add_noise(table, rng=rng)
    filtered = filter_noise(noisy.frame, noisy.deviations)
    assert not filtered.correlated
    assert "nothing to filter" in filtered.notes[0]
    assert np.allclose(filtered.frame.to_numpy(), noisy.frame.to_numpy())


@pytest.mark.parametrize("distribution", ["gaussian", "laplace", "uniform"])
def test_public_rows_are_found_the_better_the_more_columns(distribution):
    rng = np.random.default_rng(1)
    table = pl.DataFrame({f"c{i}": rng.normal(size=300) for i in range(12)})
    noisy = add_noise(table, share=1, distribution=distribution, rng=rng)
    first = {}
    for width in (1, 12):
        noise = dict(list(noisy.deviations.items())[:width])
        ranks, firsts = public_ranks(
            noisy.frame, table, noise, noisy.key, distribution=distribution
        )
        control = public_ranks(
            noisy.frame, table, noise, rng.permutation(noisy.key), distribution=distribution
        )[1]
        first[width] = score_ranks(ranks, firsts, len(table), control=control)
    assert first[12]["first"].low > 10 * first[1]["first"].value
    assert first[12]["first"].value > 0.3
    assert first[12]["first_random"].value == 1 / 300
    assert first[12]["first_control"].low <= 1 / 300 <= first[12]["first_control"].high
    assert first[12]["rank"].value < 0.05
    match = match_public_records(noisy.frame, table, noisy.deviations, distribution=distribution)
    assert (match.named == noisy.key).mean() == pytest.approx(first[12]["first"].value, abs=0.06)
    if distribution != "uniform":  # chances mean what they say
        assert match.chances.mean() == pytest.approx((match.named == noisy.key).mean(), abs=0.08)


def test_public_rows_that_cannot_be_compared():
    table = pl.DataFrame({"x": [1.0]})
    with pytest.raises(ParameterError, match="distribution"):
        match_public_records(table, table, {"x": 1.0}, distribution="funny")
    with pytest.raises(ParameterError, match="deviation"):
        match_public_records(table, table, {"x": 0.0})
    with pytest.raises(InputError, match="no rows"):
        match_public_records(table, table.clear(), {"x": 1.0})
    with pytest.raises(InputError, match="truth"):
        public_ranks(table, table, {"x": 1.0}, [7])


# --- randomized records ---------------------------------------------------------------------------


def grouped_rows(rng, n=1500):
    """Records about one of five topics: four of six items each."""
    topics = [[f"{topic}{i}" for i in range(6)] for topic in "abcde"]
    return [list(rng.choice(topics[int(rng.integers(5))], 4, replace=False)) for _ in range(n)]


def test_items_that_go_together_are_told_from_added_ones():
    rng = np.random.default_rng(1)
    table = TransactionTable.from_rows(grouped_rows(rng))
    made = SelectASize(beta=0.2).anonymize(table, rng=rng)
    guess = NoiseFilter().run(made.release)
    assert guess.correlated
    rates = score(guess, release=made.release, original=table, key=made.key)
    assert rates["noise_removed"].low > 0.5
    assert rates["noise_removed"].low > rates["noise_removed_alone"].high
    assert rates["f1"].low > rates["f1_published"].high
    assert rates["f1"].low > rates["f1_alone"].high
    control = rates["noise_removed_control"]
    assert control.low <= rates["noise_removed_alone"].high + 0.02


def test_items_that_do_not_go_together_say_so():
    rng = np.random.default_rng(1)
    rows = [[name for name in "abcdefgh" if rng.random() < 0.4] for _ in range(1500)]
    table = TransactionTable.from_rows(rows)
    made = SelectASize(beta=0.2).anonymize(table, rng=rng)
    guess = NoiseFilter().run(made.release)
    assert not guess.correlated
    assert "nothing to filter" in guess.notes[0]
    rates = score(guess, release=made.release, original=table, key=made.key)
    assert rates["noise_removed"].value <= rates["noise_removed_alone"].high + 0.01


def test_the_filter_is_refused_where_it_knows_nothing():
    table = TransactionTable.from_rows([["a"], ["b"]])
    noise, _ = publish_perturbed(table, ItemChannel(beta="1/2", domain=2))
    with pytest.raises(NotApplicable, match="pure noise"):
        NoiseFilter().run(noise)
    sized, _ = publish_perturbed(table, ItemChannel(beta="1/3", domain=2, sizes=(0, 1)))
    with pytest.raises(NotApplicable, match="length of its record"):
        NoiseFilter().run(sized)
    plain, _ = publish_suppressed(table, [True, True])
    for attack in (NoiseFilter(), PublicRecords()):
        with pytest.raises(NotApplicable, match="does not attack"):
            attack.run(plain, **({"candidates": table} if attack.requires else {}))
    with pytest.raises(ParameterError):
        NoiseFilter(method="magic")
    with pytest.raises(ParameterError):
        NoiseFilter(most=0)


def test_only_the_frequent_items_are_attacked():
    rng = np.random.default_rng(1)
    table = TransactionTable.from_rows([[*row, "common"] for row in grouped_rows(rng, 300)])
    made = SelectASize(beta=0.1).anonymize(table, rng=rng)
    guess = NoiseFilter(most=5).run(made.release)
    assert len(guess.items) == 5
    assert "common" in guess.items
    rates = score(guess, release=made.release, original=table, key=made.key)
    assert 0 <= rates["recall"].value <= 1


def test_likelihoods_of_candidates_against_plain_counting():
    rng = np.random.default_rng(1)
    rows = grouped_rows(rng, 30)
    table = TransactionTable.from_rows(rows)
    for sizes in (None, ",".join(["1/5"] * 5)):
        method = SelectASize(beta="0.1", sizes=sizes)
        release = method.anonymize(table, rng=rng).release
        channel = release.channel
        candidates = [tuple(sorted(row)) for row in rows]
        [logs] = likelihoods(release, candidates, np.arange(30))
        for r, shown in enumerate(release.to_rows()):
            for c, row in enumerate(candidates):
                both = len(set(row) & set(shown))
                expected = channel.log_likelihood([len(row)], [len(shown)], [both])[0]
                assert logs[r, c] == pytest.approx(expected)


@pytest.mark.parametrize("sizes", [None, "0,0,1/10,2/10,7/10"])
def test_originals_are_found_among_public_records(sizes):
    rng = np.random.default_rng(1)
    rows = grouped_rows(rng, 400)
    table = TransactionTable.from_rows(rows)
    made = SelectASize(beta="0.02", sizes=sizes).anonymize(table, rng=rng)
    public = TransactionTable.from_rows(rows[:300])
    guess = PublicRecords().run(made.release, candidates=public)
    rates = score(guess, release=made.release, original=table, key=made.key)
    assert rates["first"].low > 10 * rates["first_random"].value
    assert rates["rank"].value < 0.1
    assert rates["first_control"].value < 0.05
    assert rates["among"].value >= 0.75
    # Chances mean what they say: the mean chance is the share of right names.
    known = [r for r, t in enumerate(made.key.records.tolist()) if t < 300]
    chances = np.mean([guess.chances[r] for r in known])
    contents = [tuple(sorted(table[t])) for t in made.key.records.tolist()]
    right = np.mean([guess.candidates[guess.named[r]] == contents[r] for r in known])
    assert chances == pytest.approx(right, abs=0.1)


def test_more_records_than_are_attacked_are_drawn_from():
    table = TransactionTable.from_rows([["a"], ["b"], ["c"]] * 20)
    made = SelectASize().anonymize(table, rng=np.random.default_rng(1))
    guess = PublicRecords(most=7).run(made.release, candidates=table)
    assert len(guess.records) == 7
    assert guess.copies == (20, 20, 20)
    with pytest.raises(InputError, match="no candidates"):
        PublicRecords().run(made.release, candidates=TransactionTable.from_rows([]))
    with pytest.raises(ParameterError):
        PublicRecords(most=True)


def test_records_that_can_come_from_no_candidate():
    table = TransactionTable.from_rows([["a"], ["b"]])
    release, key = publish_perturbed(table, ItemChannel(beta="1/5", domain=2))
    strange = TransactionTable.from_rows([["z"]])
    guess = PublicRecords().run(release, candidates=strange)
    assert guess.chances == (0.0, 0.0)
    assert guess.notes == ("2 of 2 records can come from no candidate",)
    rates = score(guess, release=release, original=table, key=key)
    assert rates["first"] is None
    assert rates["sure_absent"].value == 0


def test_ranks_with_ties_and_copies():
    logs = np.array([[-1.0, -2.0, -2.0, -3.0]])
    copies = np.array([2, 1, 3, 1])
    ranks, firsts = place_of_truth(logs, np.array([1]), copies)
    assert ranks.tolist() == [1 + 2 + (4 - 1) / 2]
    assert firsts.tolist() == [0.0]
    ranks, firsts = place_of_truth(logs, np.array([0]), copies)
    assert (ranks.tolist(), firsts.tolist()) == ([1.5], [0.5])


# --- guesses on disk, and of other releases -------------------------------------------------------


def test_guesses_are_saved_and_loaded(tmp_path):
    table = TransactionTable.from_rows([["a", "b"], ["c"]] * 10)
    made = SelectASize().anonymize(table, rng=np.random.default_rng(1))
    for guess in (
        NoiseFilter().run(made.release),
        PublicRecords().run(made.release, candidates=table),
    ):
        save_guess(guess, tmp_path / "guess.json")
        assert load_guess(tmp_path / "guess.json") == guess


@pytest.mark.parametrize(
    "wrong",
    [{"rows": [[9]]}, {"rows": [["a"]]}, {"items": [3]}, {"method": "magic"}],
)
def test_damaged_guesses_about_noise(wrong):
    good = {"attack": "noise-filter", "items": ["a"], "rows": [[0]], "method": "bayes",
            "components": 1, "correlated": True}  # fmt: skip
    with pytest.raises((ParameterError, TypeError)):
        NoiseGuess.from_json(good | wrong)


@pytest.mark.parametrize(
    "wrong",
    [{"named": [3]}, {"named": []}, {"chances": [2.0]}, {"copies": [0]}, {"candidates": [[1]]}],
)
def test_damaged_guesses_about_public_records(wrong):
    good = {"attack": "public-records", "candidates": [["a"]], "copies": [1], "records": [0],
            "named": [0], "chances": [0.5]}  # fmt: skip
    with pytest.raises((ParameterError, TypeError)):
        PublicRecordsGuess.from_json(good | wrong)


def test_a_guess_about_another_release_is_not_scored():
    table = TransactionTable.from_rows([["a"], ["b"], ["a"]])
    release, key = publish_perturbed(table, ItemChannel(beta="1/5", domain=2))
    short, other = publish_perturbed(table.take([0, 1]), ItemChannel(beta="1/5", domain=2))
    guess = NoiseFilter().run(release)
    with pytest.raises(InputError, match="another release"):
        score(guess, release=short, original=table.take([0, 1]), key=other)
    with pytest.raises(InputError, match="key does not belong"):
        score(guess, release=release, original=table.take([0, 1]), key=key)
    plain, _ = publish_suppressed(table, [True, True])
    with pytest.raises(NotApplicable):
        score(guess, release=plain, original=table, key=key)
