"""Scores of re-association attacks, against the definitions taken literally."""

import builtins
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.reference import reassociation as plain

from setveil import TransactionTable
from setveil.attack.reassociation import rebuilt_records as protected_itemsets
from setveil.attack.reassociation.reassociation_guess import ClusterGuess, ReassociationGuess
from setveil.attack.reassociation.reassociation_score import largest_matching
from setveil.core.errors import InputError, NotApplicable, ParameterError
from setveil.measure import flat, score, score_reassociation
from setveil.release import publish_suppressed
from setveil.release.chunk_plan import Plan, publish_disassociated

PARTS = ("", "records", "terms")
ITEMS = "abcdefg"


class Letters:
    """Letters are as far apart as in the alphabet; z is unknown."""

    def distances(self, rows, columns):
        return np.array(
            [[np.nan if "z" in (a, b) else abs(ord(a) - ord(b)) / 7 for b in columns] for a in rows]
        )


@dataclass
class Case:
    rows: list
    release: object
    key: object
    guess: ReassociationGuess
    clusters: list  # (true, said) as the reference takes them, in the order of the guess

    @property
    def table(self):
        return TransactionTable.from_rows(self.rows)

    def rates(self, **more):
        return score_reassociation(
            self.guess, release=self.release, original=self.table, key=self.key, **more
        )


def homes_of(release, number):
    """Return for each term of a cluster where it is published: a chunk, "shared", or "term"."""
    cluster = release.cluster(number)
    homes = {
        t: q for q, chunk in enumerate(cluster.chunks) for row in chunk.subrecords for t in row
    }
    homes |= dict.fromkeys(cluster.terms, "term")
    for chunk in release.shared:
        if chunk.first <= number < chunk.last:
            homes |= {t: "shared" for row in chunk.subrecords for t in row}
    return homes


@st.composite
def cases(draw):
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    n = sum(sizes)
    row = st.lists(st.sampled_from(ITEMS), min_size=1, max_size=5, unique=True)
    rows = draw(st.lists(row, min_size=n, max_size=n))
    table = TransactionTable.from_rows(rows)
    present = table.vocabulary.names
    joint = len(sizes) > 1 and draw(st.booleans())
    shared = set(draw(st.lists(st.sampled_from(present), max_size=2))) if joint else set()
    plans, removed, start = [], [], 0
    for place, size in enumerate(sizes):
        homes = [
            -2 if joint and place < 2 and name in shared else draw(st.integers(-1, 2))
            for name in present
        ]
        domains = tuple(
            tuple(i for i, home in enumerate(homes) if home == chunk) for chunk in range(3)
        )
        here = {present.index(name) for row in rows[start : start + size] for name in row}
        terms = tuple(i for i, home in enumerate(homes) if home == -1 and i in here)
        plans.append(Plan(records=range(start, start + size), domains=domains, terms=terms))
        for record in range(start, start + size):
            held = [present.index(name) for name in rows[record] if homes[present.index(name)] >= 0]
            if len(rows[record]) > 1 and held and draw(st.integers(0, 4)) == 0:
                removed.append((record, draw(st.sampled_from(held))))
        start += size
    joints = [(0, 2, tuple(present.index(name) for name in sorted(shared)))] if shared else []
    release, key = publish_disassociated(table, plans, joints, removed)
    said, clusters, pairs = draw(guesses(release, key, rows))
    guess = ReassociationGuess(attack="aba", clusters=tuple(said), pairs=tuple(pairs))
    other, *_ = draw(guesses(release, key, rows))
    prior = ReassociationGuess(attack="prior", clusters=tuple(other))
    return Case(rows, release, key, replace(guess, baselines={"prior": prior}), clusters)


@st.composite
def guesses(draw, release, key, rows):
    gone = set(key.removed)
    said, clusters, pairs = [], [], []
    for number, cluster in enumerate(release.clusters):
        homes = homes_of(release, number)
        anchor = draw(st.integers(0, len(cluster.chunks) - 1)) if cluster.chunks else None
        own = cluster.chunks[anchor].subrecords if cluster.chunks else ()
        anchors = [*own, *((),) * (cluster.size - len(own))]
        free = sorted(t for t, home in homes.items() if home != anchor)
        chosen = [
            draw(st.lists(st.sampled_from(free), max_size=3, unique=True)) if free else []
            for _ in anchors
        ]
        kinds = {t: home if isinstance(home, str) else "record" for t, home in homes.items()}
        attached = [[(kinds[t], t) for t in row] for row in chosen]
        said.append(ClusterGuess(cluster=number, anchors=tuple(anchors), attached=tuple(attached)))
        start, end = release.cluster_starts[number : number + 2].tolist()
        true = [[t for t in rows[r] if (r, t) not in gone] for r in key.records[start:end].tolist()]
        parts = ([[*a, *c] for a, c in zip(anchors, chosen, strict=True)], true)
        split = [
            [
                (
                    frozenset(t for t in row if homes[t] == anchor),
                    frozenset(t for t in row if homes[t] not in (anchor, "term")),
                    frozenset(t for t in row if homes[t] == "term"),
                )
                for row in side
            ]
            for side in parts
        ]
        clusters.append((split[1], split[0]))
        if len(cluster.terms) > 1 and draw(st.booleans()):
            pairs.append((number, *sorted(cluster.terms)[:2]))
    return said, clusters, pairs


def value(rate):
    return None if rate is None else rate.value


def agrees(rate, expected):
    if expected is None:
        return rate is None
    return rate.value == pytest.approx(float(expected)) and rate.low <= rate.value <= rate.high


@settings(max_examples=150, deadline=None)
@given(cases(), st.integers(2, 4), st.integers(1, 3))
def test_scores_are_those_of_the_definitions(case, k, m):
    rates = case.rates(k=k, m=m)
    subrecords = [
        row
        for q in range(len(case.release.chunk_first))
        for row in case.release.chunk(q).subrecords
    ]
    for part in PARTS:
        end = f"_{part}" if part else ""
        assert agrees(rates[f"accuracy{end}"], plain.accuracy(case.clusters, part))
        assert agrees(rates[f"precision{end}"], plain.precision(case.clusters, part))
        expected = plain.transaction_breakage(case.clusters, part)
        assert agrees(rates[f"transaction_breakage{end}"], expected)
        expected = plain.km_breakage(case.clusters, part, case.rows, subrecords, k=k, m=m)
        assert agrees(rates[f"km_breakage{end}"], expected)
        assert rates[f"wmd{end}"] is None
    expected = plain.term_pair_precision(case.clusters, case.guess.pairs)
    assert agrees(rates["term_pair_precision"], expected)


@settings(max_examples=60, deadline=None)
@given(cases())
def test_word_movers_distance_is_that_of_a_pairing_that_shares_most(case):
    rates = case.rates(relatedness=Letters())
    for part in PARTS:
        expected = plain.word_mover_range(
            case.clusters, part, lambda a, b: abs(ord(a) - ord(b)) / 7
        )
        assume(expected is not None)
        rate = rates[f"wmd_{part}" if part else "wmd"]
        assert expected[0] - 1e-9 <= rate.value <= expected[1] + 1e-9


@settings(max_examples=60, deadline=None)
@given(cases(), st.randoms(use_true_random=False))
def test_rows_with_equal_anchors_are_interchangeable(case, random):
    before = case.rates(k=3, m=2, relatedness=Letters())
    shuffled = []
    for cluster in case.guess.clusters:
        order = list(range(len(cluster.anchors)))
        random.shuffle(order)
        shuffled.append(
            replace(
                cluster,
                anchors=tuple(cluster.anchors[i] for i in order),
                attached=tuple(cluster.attached[i] for i in order),
            )
        )
    case.guess = replace(case.guess, clusters=tuple(shuffled))
    after = case.rates(k=3, m=2, relatedness=Letters())
    assert flat(after) == pytest.approx(flat(before))


@settings(max_examples=40, deadline=None)
@given(cases())
def test_baselines_and_gain(case):
    rates = case.rates(k=2, m=2)
    alone = score_reassociation(
        case.guess.baselines["prior"],
        release=case.release, original=case.table, key=case.key, k=2, m=2,
    )  # fmt: skip
    for name, rate in alone.items():
        if not name.endswith(("_random", "_prior")) and not name.startswith(("gain", "adv")):
            assert rates[f"{name}_prior"] == rate
    assert all(rates[name] is None for name in rates if name.endswith("_random"))
    for part in PARTS:
        end = f"_{part}" if part else ""
        own, prior = value(rates[f"accuracy{end}"]), value(rates[f"accuracy{end}_prior"])
        if own is None:
            assert rates[f"gain{end}"] is None
        else:
            assert rates[f"gain{end}"].value == pytest.approx(own - prior)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.integers(0, 4), max_size=4, unique=True), max_size=6))
def test_the_largest_matching(choices):
    def most(rows, taken):
        if not rows:
            return 0
        left = most(rows[1:], taken)
        return max([left, *(1 + most(rows[1:], taken | {c}) for c in rows[0] if c not in taken)])

    assert largest_matching(choices) == most(choices, frozenset())


def worked(*, attached, pairs=()):
    """Table 1 of the paper with its clusters: see tests/golden/disassociation.json."""
    rows = [
        ["Diabetes", "Arthritis", "Osteoporosis", "Schizophrenia"],
        ["Hypertension", "Arthritis", "Osteoporosis", "Calcium"],
        ["Hypertension", "Diabetes", "Osteoporosis", "Obesity", "Bulimia", "Depression"],
        ["Hypertension", "Diabetes", "Arthritis", "Obesity", "Bulimia", "Epilepsy"],
    ]
    table = TransactionTable.from_rows(rows)
    number = table.vocabulary.number
    domains = (("Arthritis", "Diabetes", "Hypertension", "Osteoporosis"), ("Bulimia", "Obesity"))
    terms = ("Calcium", "Depression", "Epilepsy", "Schizophrenia")
    plan = Plan(
        records=range(4),
        domains=tuple(tuple(map(number, domain)) for domain in domains),
        terms=tuple(map(number, terms)),
    )
    release, key = publish_disassociated(table, [plan])
    anchors = [tuple(t for t in row if t in domains[0]) for row in rows]
    said = ClusterGuess(cluster=0, anchors=anchors, attached=attached)
    guess = ReassociationGuess(attack="aba", clusters=(said,), pairs=pairs)
    return Case(rows, release, key, guess, [])


def test_the_papers_table_put_together_rightly():
    both = [["record", "Bulimia"], ["record", "Obesity"]]
    case = worked(
        attached=[
            [["term", "Schizophrenia"]],
            [["term", "Calcium"]],
            [*both, ["term", "Depression"]],
            [*both, ["term", "Epilepsy"]],
        ]
    )
    rates = case.rates(k=2, m=2)
    full = ("accuracy", "precision", "accuracy_records", "accuracy_terms", "km_breakage")
    assert [rates[name].value for name in full] == [1] * 5
    assert rates["transaction_breakage"].value == 1
    assert rates["transaction_breakage_records"].value == 0.5
    # One cluster is one trial.
    assert (rates["accuracy"].low, rates["accuracy"].high) == (pytest.approx(0.035), 1)
    assert rates["term_pair_precision"] is None


def test_the_papers_table_put_together_wrongly():
    both = [["record", "Bulimia"], ["record", "Obesity"]]
    case = worked(
        attached=[
            [*both, ["term", "Calcium"], ["term", "Epilepsy"]],
            [["term", "Schizophrenia"]],
            [*both, ["term", "Depression"]],
            [],
        ],
        pairs=((0, "Calcium", "Epilepsy"),),
    )
    rates = case.rates(k=2, m=2)
    assert rates["accuracy"].value == 3 / 8
    assert rates["precision"].value == 3 / 8
    assert rates["accuracy_records"].value == 0.5
    assert rates["accuracy_terms"].value == 0.25
    assert rates["transaction_breakage"].value == 0.25
    assert rates["term_pair_precision"].value == 0
    # Rare pairs: three anchor terms with the own term in each record, and in records 3 and 4 the
    # two shared ones with it; Bulimia and Obesity each with one anchor term twice, so not below 2
    # except with Osteoporosis (record 3) and Arthritis (record 4).
    protected = 3 * 4 + 2 * 2 + 2 * 2
    broken = 3 + 2 + 2  # all of record 3
    assert rates["km_breakage"].value == pytest.approx(broken / protected)


def test_scores_through_the_generic_function_and_as_numbers():
    case = worked(attached=[[["term", "Schizophrenia"]], [], [], []])
    told = score(case.guess, release=case.release, original=case.table, key=case.key)
    assert told["accuracy"].value == 1 / 8
    assert told["km_breakage"] is None  # k and m were not given
    names = flat(told)
    assert {"accuracy_low", "accuracy_records_high", "wmd_prior", "gain"} <= set(names)


def test_what_does_not_belong_together_is_refused():
    case = worked(attached=[[], [], [], []])
    other, other_key = publish_disassociated(
        case.table, [Plan(records=range(4), domains=((1,),), terms=(0, *range(2, 10)))]
    )
    with pytest.raises(InputError, match="another release"):
        score_reassociation(case.guess, release=other, original=case.table, key=other_key)
    with pytest.raises(InputError, match="cannot come from"):
        score_reassociation(
            case.guess,
            release=case.release,
            original=TransactionTable.from_rows([["a"]] * 4),
            key=case.key,
        )
    plain_release, key = publish_suppressed(case.table, [True] * 10)
    with pytest.raises(NotApplicable, match="no chunks"):
        score_reassociation(case.guess, release=plain_release, original=case.table, key=key)
    wrong = worked(attached=[[["record", "Calcium"]], [], [], []])
    with pytest.raises(InputError, match="another release"):
        wrong.rates()
    far = replace(case.guess, clusters=(replace(case.guess.clusters[0], cluster=7),))
    with pytest.raises(InputError, match="another release"):
        score_reassociation(far, release=case.release, original=case.table, key=case.key)
    nothing = ReassociationGuess(attack="prior", clusters=())
    odd = replace(case.guess, baselines={"prior": nothing})
    with pytest.raises(InputError, match="different clusters"):
        score_reassociation(odd, release=case.release, original=case.table, key=case.key)
    with pytest.raises(ParameterError, match="k is 0"):
        case.rates(k=0, m=2)


def test_too_many_itemsets_are_not_looked_at(monkeypatch):
    case = worked(attached=[[], [], [], []])
    monkeypatch.setattr(protected_itemsets, "MOST", 10)
    assert case.rates(k=2, m=2)["km_breakage"] is None


def test_too_many_itemsets_of_rebuilt_records_are_not_looked_at(monkeypatch):
    both = [["record", "Bulimia"], ["record", "Obesity"]]
    terms = [["term", name] for name in ("Calcium", "Depression", "Epilepsy", "Schizophrenia")]
    case = worked(attached=[[], [], [*both, *terms], both])
    # The records hold 6 + 6 + 15 + 15 pairs, the rebuilt ones 3 + 3 + 36 + 10.
    monkeypatch.setattr(protected_itemsets, "MOST", 42)
    rates = case.rates(k=2, m=2)
    assert rates["km_breakage"] is None
    assert rates["km_breakage_records"] is not None
    assert rates["accuracy"] is not None


def test_unknown_terms_are_left_out_of_the_distance():
    rows = [["a", "z"], ["a", "b"]]
    table = TransactionTable.from_rows(rows)
    release, key = publish_disassociated(
        table, [Plan(records=range(2), domains=((0,),), terms=(1, 2))]
    )
    said = ClusterGuess(
        cluster=0, anchors=[("a",), ("a",)], attached=[[["term", "b"], ["term", "z"]], []]
    )
    guess = ReassociationGuess(attack="aba", clusters=(said,))
    rates = score_reassociation(
        guess, release=release, original=table, key=key, relatedness=Letters()
    )
    # {a, b, z} is {a, b} and {a} is {a} where z is unknown, or {a, b} stands against {a} twice.
    assert rates["wmd"].value in (0, pytest.approx(1 / 14))
    assert rates["wmd"].value < 0.95 / 7 < rates["wmd"].high <= 1 / 7


def test_word_movers_distance_says_what_to_install(monkeypatch):
    def without_pot(name, *args, **kwargs):
        if name == "ot":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    real = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", without_pot)
    case = worked(attached=[[], [], [], []])
    with pytest.raises(ParameterError, match=r"setveil\[attack\]"):
        case.rates(relatedness=Letters())


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    """Many clusters of two records, each put together rightly with chance 0.6."""
    rng = np.random.default_rng(3)
    inside, trials, clusters = 0, 40, 60
    rows = [row for c in range(clusters) for row in ([f"a{c:02}", "x"], [f"b{c:02}", "y"])]
    table = TransactionTable.from_rows(rows)
    number = table.vocabulary.number
    plans = [
        Plan(
            records=(2 * c, 2 * c + 1),
            domains=((number(f"a{c:02}"), number(f"b{c:02}")),),
            terms=(number("x"), number("y")),
        )
        for c in range(clusters)
    ]
    release, key = publish_disassociated(table, plans)
    for _ in range(trials):
        said = []
        for c, cluster in enumerate(release.clusters):
            anchors = cluster.chunks[0].subrecords
            right = rng.random() < 0.6
            own = {"a": "x", "b": "y"} if right else {"a": "y", "b": "x"}
            attached = [[("term", own[row[0][0]])] for row in anchors]
            said.append(ClusterGuess(cluster=c, anchors=anchors, attached=attached))
        guess = ReassociationGuess(attack="aba", clusters=tuple(said))
        rate = score_reassociation(guess, release=release, original=table, key=key)["accuracy"]
        inside += rate.low <= 0.6 <= rate.high
    assert inside >= 0.85 * trials


def test_shared_chunks_are_counted_by_cluster():
    rows = [["a", "s"], ["a"], ["b", "s"], ["b", "s"]]
    table = TransactionTable.from_rows(rows)
    plans = [
        Plan(records=(0, 1), domains=((0,),), terms=()),
        Plan(records=(2, 3), domains=((1,),), terms=()),
    ]
    release, key = publish_disassociated(table, plans, [(0, 2, (2,))])
    anchors = [cluster.chunks[0].subrecords for cluster in release.clusters]
    here = Counter(rows[0][0] for rows in anchors)
    assert here == Counter("ab")
    said = [
        ClusterGuess(cluster=c, anchors=rows, attached=[[("shared", "s")], []])
        for c, rows in enumerate(anchors)
    ]
    guess = ReassociationGuess(attack="aba", clusters=tuple(said))
    rates = score_reassociation(guess, release=release, original=table, key=key)
    assert rates["accuracy_records"].value == pytest.approx(2 / 3)
    assert rates["accuracy_terms"] is None
    assert rates["accuracy"].high - rates["accuracy"].low > 0.8  # two clusters say little
