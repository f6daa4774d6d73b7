"""Topics of records and documents."""

import gzip
import json
import re
import sys
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setveil import TransactionTable
from setveil.core.errors import InputError, ParameterError
from setveil.text.topics import Topics, topics

PLANTED = {
    "fever": ["fever", "cough", "flu", "cold", "throat"],
    "skin": ["rash", "itch", "eczema", "acne"],
    "bone": ["fracture", "cast", "plaster", "hip"],
}


def planted(sizes=(12, 9, 7)):
    """Return records that hold words of one vocabulary only, and which that is, from 1 on."""
    rng = np.random.default_rng(1)
    rows, truth = [], []
    for topic, (words, size) in enumerate(zip(PLANTED.values(), sizes, strict=True), 1):
        rows += [rng.choice(words, size=3, replace=False).tolist() for _ in range(size)]
        truth += [topic] * size
    return rows, truth


def test_planted_topics_are_found_the_largest_first():
    rows, truth = planted()
    found = topics(TransactionTable.from_rows(rows), 3)
    assert found.topic_of.tolist() == truth
    assert found.sizes.tolist() == [12, 9, 7]
    for topic, words in enumerate(PLANTED.values(), 1):
        assert set(found.top_words(topic)) == set(words)
    assert found.converged
    assert repr(found) == "<Topics: 3 over 28 records>"


@settings(max_examples=20)
@given(st.randoms(use_true_random=False))
def test_the_order_of_the_records_changes_nothing(random):
    rows, _ = planted()
    places = list(range(len(rows)))
    random.shuffle(places)
    one = topics(TransactionTable.from_rows(rows), 3, 7)
    other = topics(TransactionTable.from_rows([rows[i] for i in places]), 3, 7)
    assert np.array_equal(one.terms, other.terms)
    assert np.array_equal(one.weights[places], other.weights)


def test_rows_sum_to_one_or_are_empty():
    rows, _ = planted()
    found = topics(TransactionTable.from_rows([*rows, [], ["only here"]]), 4)
    sums = found.weights.sum(axis=1)
    assert sums[:-2] == pytest.approx(1)
    assert sums[-2:].tolist() == [0, 0]
    assert found.topic_of[-2:].tolist() == [0, 0]
    assert found.terms.sum(axis=1) == pytest.approx(1)
    assert (found.weights >= 0).all()
    assert (found.terms >= 0).all()
    assert "only here" not in found.names


def test_bags_weigh_by_how_often():
    rows = [["a"] * 9 + ["b"], ["a"] * 9 + ["b"], ["b"] * 9 + ["a"], ["b"] * 9 + ["a"]]
    found = topics(TransactionTable.from_rows(rows, bags=True), 2)
    first, second, third, fourth = found.topic_of.tolist()
    assert first == second != third == fourth


def test_it_says_when_it_had_not_settled(monkeypatch):
    monkeypatch.setattr("setveil.text.topics.PASSES", 1)
    assert not topics(TransactionTable.from_rows(planted()[0]), 3).converged


# --- choosing records by topic ------------------------------------------------------------------


@given(
    st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=1, max_size=8),
    st.sets(st.integers(1, 3)),
    st.none() | st.integers(1, 3),
    st.sampled_from([0.0, 0.4, 1.0]),
)
def test_records_of_topics(rows, wanted, per_topic, least):
    weights = np.array([[w / sum(row) if sum(row) else 0 for w in row] for row in rows])
    found = Topics(weights=weights, terms=np.eye(3), names=("a", "b", "c"), converged=True)
    expected = []
    for topic in wanted:
        about = [
            (-weight[topic - 1], i)
            for i, weight in enumerate(weights.tolist())
            if sum(weight) and weight.index(max(weight)) == topic - 1 and max(weight) >= least
        ]
        expected += [i for _, i in sorted(about)[:per_topic]]
    chosen = found.records(wanted, per_topic=per_topic, least=least)
    assert chosen.tolist() == sorted(expected)
    assert chosen.dtype == np.int64


def test_all_topics_together_are_all_records_with_one():
    found = topics(TransactionTable.from_rows([*planted()[0], []]), 3)
    assert found.records().tolist() == list(range(28))


# --- documents ----------------------------------------------------------------------------------


@dataclass
class Note:
    text: str


def test_documents_and_texts_are_tokenised():
    pytest.importorskip("textblob")
    texts = ["The fever and the coughs.", "A cough with fever.", "An itching rash", "Rashes, itch"]
    found = topics([Note(text) if i % 2 else text for i, text in enumerate(texts)], 2)
    first, second, third, fourth = found.topic_of.tolist()
    assert first == second != third == fourth
    assert "cough" in found.names


# --- wrong use ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "seed", "said"),
    [
        (0, 0, "number of topics is 0"),
        (5, 0, "5 topics cannot be told apart in 3 records with 2 items"),
        (1, -1, "the seed is -1"),
        (1, 2**32, "the seed is 4294967296"),
    ],
)
def test_wrong_numbers_are_refused(n, seed, said):
    table = TransactionTable.from_rows([["a", "b"], ["a", "b"], ["c"]])
    with pytest.raises(ParameterError, match=said):
        topics(table, n, seed)


def test_records_that_share_nothing_have_no_topics():
    with pytest.raises(ParameterError, match="give more records"):
        topics(TransactionTable.from_rows([["a"], ["b"]]), 1)


def test_one_text_is_no_list_of_texts():
    with pytest.raises(InputError, match="one text"):
        topics("fever and cough", 1)


@pytest.mark.parametrize(
    "wrong", [{"topics": [0]}, {"topics": [3]}, {"per_topic": 0}, {"least": 1.5}]
)
def test_wrong_choices_are_refused(wrong):
    found = Topics(weights=np.eye(2), terms=np.eye(2), names=("a", "b"), converged=True)
    with pytest.raises(ParameterError):
        found.records(**wrong)


def test_without_scikit_learn_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.decomposition", None)
    with pytest.raises(ParameterError, match=r"pip install 'setveil\[text\]'"):
        topics(TransactionTable.from_rows(planted()[0]), 2)


# --- real data ----------------------------------------------------------------------------------


def rand_index(one, other):
    """Return the Rand index adjusted for chance, by its definition over all pairs."""
    pairs = list(combinations(range(len(one)), 2))
    together = [(one[i] == one[j], other[i] == other[j]) for i, j in pairs]
    both = sum(a and b for a, b in together)
    first, second = (sum(column) for column in zip(*together, strict=True))
    expected = first * second / len(pairs)
    return (both - expected) / ((first + second) / 2 - expected)


def test_the_35_topics_of_wikipedia(data_dir):
    with gzip.open(data_dir / "wikipedia_squad2_dev_35topics.jsonl.gz", "rt") as lines:
        documents = [json.loads(line) for line in lines]
    words = [re.findall("[a-z]{3,}", each["text"].lower()) for each in documents]
    found = topics(TransactionTable.from_rows(words), 35)
    assert rand_index(found.topic_of.tolist(), [each["topic"] for each in documents]) > 0.75
