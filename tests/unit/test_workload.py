"""Own count queries, read from files and answered from releases."""

import numpy as np
import pytest

from setveil import Taxonomy, TransactionTable
from setveil.audit import run_method
from setveil.core.errors import InputError
from setveil.measure import average_relative_error
from setveil.measure.workload import read_workload, workload_error

TABLE = TransactionTable.from_rows(
    [["heart failure", "flu"], ["flu", "gout"], ["gout"], ["flu", "a, b"], ["C++", "flu"]] * 4
)
TREE = Taxonomy.from_parents(
    {"heart failure": "heart", "flu": "lung", "gout": "joint", "a, b": "other", "C++": "other"}
    | dict.fromkeys(["heart", "lung", "joint", "other"], "all")
)


@pytest.fixture
def file(tmp_path):
    def write(text, name="questions.txt"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("flu\n\ngout\nflu\n", [("flu",), ("gout",)]),
        ("flu,gout\nheart failure\n", [("flu", "gout"), ("heart failure",)]),
        ("flu;heart failure\r\ngout;flu\r\n", [("flu", "heart failure"), ("flu", "gout")]),
        ("flu + gout\n C++ \n", [("flu", "gout"), ("C++",)]),
        ("flu\tgout\n", [("flu", "gout")]),
        ("gout flu\n", [("flu", "gout")]),
        ('"a, b",flu\na, b\n', [("a, b", "flu"), ("a, b",)]),
        ('["C++", "flu"]\n{"items": ["gout"]}\n', [("C++", "flu"), ("gout",)]),
        (b"\xef\xbb\xbfflu|gout|flu\n", [("flu", "gout")]),
    ],
)
def test_queries_are_read_as_baskets_are_written(file, text, queries):
    assert list(read_workload(file(text), TABLE)) == queries


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("flu\ngut,flu\n", r"txt:2: the item 'gut' is not in the data; did you mean 'gout'"),
        ("\n \n", "no count query"),
        ("[]\n", "names no item"),
        (b"\xff\xfe\x00", "no text in UTF-8"),
    ],
)  # fmt: skip
def test_what_is_no_query_is_refused_with_its_line(file, text, what):
    with pytest.raises(InputError, match=what):
        read_workload(file(text), TABLE)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="questions"):
        read_workload(tmp_path / "questions.txt", TABLE)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("gather", {"k": 2}),
        ("disassociate", {"k": 2, "m": 2}),
        ("coat", {"k": 5, "constrained": 1}),
        ("simple-suppression", {}),
        ("cahd", {"p": 2}),
        ("select-a-size", {}),
        ("token-hashing", {}),
        ("split-personality", {}),
    ],
)
def test_answers_agree_with_a_plain_count_and_with_the_mean_error(method, params):
    run = run_method(method, params, TABLE, TREE, sensitive=["C++"], rng=np.random.default_rng(1))
    queries = [("flu",), ("flu", "gout"), ("C++",), ("flu", "heart failure")]
    answers = workload_error(run.release, TABLE, queries, run.taxonomy)
    for query, answer in zip(queries, answers, strict=True):
        assert answer.items == query
        assert answer.records == sum(set(query) <= set(row) for row in TABLE.to_rows())
        assert answer.low <= answer.records <= answer.high
    mean = average_relative_error(run.release, TABLE, taxonomy=run.taxonomy, queries=queries)
    assert np.mean([answer.error for answer in answers]) == pytest.approx(mean.value)
