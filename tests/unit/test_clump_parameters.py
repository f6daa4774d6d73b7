"""What Clump refuses, and what Gather does with equal records."""

from fractions import Fraction

import pytest

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import Clump, Gather
from setveil.core.errors import ParameterError
from setveil.measure import ggd


@pytest.mark.parametrize(
    "wrong",
    [{"r": float("nan")}, {"r": True}, {"r": 2.5}, {"r": "x"}, {"r": 0}, {"distinct": "yes"},
     {"objective": "least"}, {"k": 0}, {"k": 2.0}],
    ids=str,
)  # fmt: skip
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        Clump(**wrong)


@pytest.mark.parametrize("method", [Clump(k=1), Gather(k=1)])
def test_something_else_than_a_taxonomy_is_refused(method):
    with pytest.raises(ParameterError, match="taxonomy is None"):
        method.anonymize(TransactionTable.from_rows([["a"]]), taxonomy=None)


@pytest.mark.parametrize("fanout", [1, 2.5, float("nan"), "4", True])
def test_fanout_is_a_whole_number(fanout):
    with pytest.raises(ParameterError, match="fanout"):
        Taxonomy.balanced(["a", "b"], fanout=fanout)


def test_gather_keeps_equal_records_together():
    rows = [["bread", "milk"]] * 2 + [["beer", "milk"]] * 2 + [["aaa", "milk"], ["zzz", "milk"]]
    table = TransactionTable.from_rows(rows)
    tree = Taxonomy.balanced(sorted({item for row in rows for item in row}), fanout=2)
    release = Gather(k=2).anonymize(table, taxonomy=tree).release
    assert Fraction(ggd(release, table)) == 2
