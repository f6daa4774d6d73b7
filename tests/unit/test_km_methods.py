"""What holds for every method for k^m-anonymity: what it refuses, what it leaves alone."""

import numpy as np
import pytest
from tests.unit.km_instances import TREE, instances, published

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import LRA, AprioriKm, DirectKm, OptimalKm, VPAKm
from setveil.core.errors import InfeasibleError, InputError, ParameterError
from setveil.core.params import params_of
from setveil.core.registry import find
from setveil.engine import Loopback

METHODS = {
    "optimal-km": OptimalKm,
    "direct-km": DirectKm,
    "apriori-km": AprioriKm,
    "lra": LRA,
    "vpa-km": VPAKm,
}

every_method = pytest.mark.parametrize("method", METHODS.values())


def run(method, rows, k, m=2, taxonomy=TREE, **inputs):
    table = TransactionTable.from_rows(rows)
    return method(k=k, m=m).anonymize(table, taxonomy=taxonomy, **inputs)


@every_method
@pytest.mark.parametrize("name", ["k", "m"])
@pytest.mark.parametrize("value", [0, -1, 2.5, True, "5", None])
def test_parameters_that_mean_nothing(method, name, value):
    with pytest.raises(ParameterError, match=f"{name} is "):
        method(**{name: value})


@every_method
def test_too_few_records(method):
    with pytest.raises(InputError, match="no records"):
        run(method, [], 1)
    with pytest.raises(InfeasibleError, match="only 1 records"):
        run(method, [["a"]], 2)
    with pytest.raises(InfeasibleError, match="only 1 records have items, but k is 2") as caught:
        run(method, [["a"], [], []], 2)
    assert "at most 1" in caught.value.fix


@every_method
def test_items_outside_the_tree_are_named(method):
    with pytest.raises(InputError, match="'x'"):
        run(method, [["a"], ["x"]], 1)


@every_method
def test_empty_records_stay_empty(method):
    assert published(run(method, [["a"], [], ["b"]], 2)) == [["A"], [], ["A"]]
    assert published(run(method, [[], []], 2)) == [[], []]


@every_method
@pytest.mark.parametrize("engine", [None, Loopback(seed=1)])
def test_the_order_of_records_and_the_engine_change_nothing(method, engine):
    rng = np.random.default_rng(5)
    for rows, parents, k, m in instances(50, seed=4):
        taxonomy = Taxonomy.from_parents(parents)
        first = run(method, rows, k, m, taxonomy)
        permuted = [rows[i] for i in rng.permutation(len(rows))]
        again = run(method, permuted, k, m, taxonomy, engine=engine)
        assert first.release.to_rows() == again.release.to_rows()
        assert first.log == again.log


@pytest.mark.parametrize("name", METHODS)
def test_registered_with_its_parameters_and_paper(name):
    entry = find("anonymizer", name)
    assert entry.target is METHODS[name]
    assert "Terrovitis" in entry.paper
    assert [(p.name, p.default) for p in params_of(entry.target)][:2] == [("k", 5), ("m", 2)]
