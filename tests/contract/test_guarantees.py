"""What every registered guarantee owes, whatever it checks; a new one is tested at once."""

import inspect

import pytest
from tests.contract.releases import ORDER, SENSITIVE, TABLE, one_of_each_form, published

from setveil.core import registry
from setveil.core.errors import NotApplicable, ParameterError
from setveil.core.params import Count, params_of
from setveil.guarantee import from_manifest, parse
from setveil.guarantee.base import Guarantee, written
from setveil.release.base import FORMS

ENTRIES = registry.entries("guarantee")
every_guarantee = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
NEEDED = {"sensitive": SENSITIVE, "itemsets": (("asthma", "flu"), ("gout",))}


def promise_of(entry, **given):
    names = {param.name for param in params_of(entry.target)}
    return entry.target(**{name: NEEDED[name] for name in NEEDED if name in names}, **given)


def verdict(promise, data):
    try:
        return promise.check(data)
    except NotApplicable as reason:
        return str(reason)


@every_guarantee
def test_it_is_a_guarantee_that_sees_only_what_is_published(entry):
    promise = promise_of(entry)
    assert isinstance(promise, Guarantee)
    assert set(inspect.signature(promise.check).parameters) <= {"published", "taxonomy"}
    assert promise.describe().strip()
    assert entry.summary


@every_guarantee
def test_it_is_written_and_read(entry):
    promise = promise_of(entry)
    assert from_manifest(entry.name, promise.params()) == promise
    assert parse(written(promise)) == promise


@every_guarantee
def test_values_that_mean_nothing_are_refused(entry):
    for param in params_of(entry.target):
        if isinstance(param.rule, Count):
            for wrong in (param.rule.least - 1, True, 1.5, "many", param.rule.most + 1):
                with pytest.raises(ParameterError, match=f"^{param.name} is "):
                    promise_of(entry, **{param.name: wrong})


@every_guarantee
@pytest.mark.parametrize("form", sorted(FORMS))
def test_every_form_is_judged_or_refused_clearly_and_the_same_again(entry, form):
    case = one_of_each_form()[form]
    found = verdict(promise_of(entry), case.run.release)
    assert found == verdict(promise_of(entry), case.run.release)
    assert found == verdict(promise_of(entry), case.permuted.release)
    if isinstance(found, str):
        assert found.strip()
        return
    assert found.reason.strip()
    assert found.checked >= 0
    assert len(set(found.witnesses)) == len(found.witnesses)
    assert not (found.holds and found.witnesses)


@every_guarantee
def test_the_order_of_a_table_changes_nothing(entry):
    promise = promise_of(entry)
    assert verdict(promise, TABLE) == verdict(promise, TABLE.take(ORDER))


def test_what_methods_promise_is_kept():
    promised = {}
    for case in published():
        if case.run.promise is not None:
            assert case.run.keeps_promise, case.name
            promised.setdefault(type(case.run.promise), case.name)
    assert set(promised) == {entry.target for entry in ENTRIES}
