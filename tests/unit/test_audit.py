"""One run of any method: it gets what it needs, and is judged on the tree it was made with."""

from fractions import Fraction

import pytest

from setveil import Taxonomy, TransactionTable, audit, load_manifest
from setveil.core import registry
from setveil.core.errors import InputError, ParameterError
from setveil.core.params import usual_values

TREE = Taxonomy.from_parents(
    {"flu": "virus", "HIV": "virus", "gout": "joints", "virus": "illness", "joints": "illness"}
)
TABLE = TransactionTable.from_rows(
    [["flu", "gout"], ["flu", "HIV"], ["gout"], ["flu"], ["gout", "flu"], ["flu", "gout", "HIV"]]
)


@pytest.mark.parametrize("entry", registry.entries("anonymizer"), ids=lambda entry: entry.name)
def test_every_method_runs_on_the_same_data(entry, tmp_path):
    fields = entry.target.__dataclass_fields__
    letter = next((name for name in "kpl" if name in fields), None)
    params = {letter: 2} if letter else {"rho": Fraction(1, 3)} if "rho" in fields else {}
    params |= usual_values(entry.target)
    run = audit.run_method(entry.name, params, TABLE, TREE, sensitive=["HIV"])
    assert run.keeps_promise == (run.promise is not None)
    assert run.consistent
    if run.release.form not in {"disassociated", "perturbed"}:  # no item stands for another
        assert 0 <= run.measures["average_loss"] <= 1
    assert run.measures["are"] is not None
    saved = audit.save_run(run, tmp_path / "release", tmp_path / "key")
    assert saved.keeps_promise == (run.promise is not None)
    told = {name: "1/3" if name == "rho" else value for name, value in params.items()}
    assert load_manifest(tmp_path / "release").params == told


def test_a_method_with_both_generalizes_only_the_others():
    run = audit.run_method("td-control", {"rho": 0.9}, TABLE, TREE, sensitive=["HIV"])
    assert "HIV" not in audit.tree_over(TABLE, TREE, ["HIV"]).ids
    assert run.taxonomy.ids[0] == "*"
    both = audit.run_method("gather", {"k": 2}, TABLE, TREE, sensitive=["HIV"])
    assert both.taxonomy.ids == TREE.ids


def test_what_is_applicable():
    def names(**there):
        return {entry.name for entry in audit.applicable(**there)}

    assert "gather" in names(taxonomy=True)
    assert {"secret-sharing", "split-personality", "token-hashing"} <= names(taxonomy=False)
    assert "gather" not in names(taxonomy=False)
    assert "coherence" in names(taxonomy=False, sensitive=True)
    assert "td-control" in names(taxonomy=True, sensitive=True) - names(taxonomy=True)


def test_what_is_missing_is_said():
    with pytest.raises(ParameterError, match="needs a taxonomy"):
        audit.run_method("gather", {"k": 2}, TABLE)
    with pytest.raises(ParameterError, match="needs sensitive items"):
        audit.run_method("coherence", {"k": 2}, TABLE)
    with pytest.raises(InputError, match="do not occur"):
        audit.run_method("coherence", {"k": 2}, TABLE, sensitive=["zinc"])
    with pytest.raises(ParameterError, match="no parameter"):
        audit.run_method("td-control", {"k": 2}, TABLE, TREE, sensitive=["HIV"])
