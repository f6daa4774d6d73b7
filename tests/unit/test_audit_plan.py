"""What an audit tries follows from what there is, and a budget cuts settings, not methods."""

import pytest

from setveil.audit.attacks import INFERENCE, SUCCESS, attackers, check_attacks, check_known
from setveil.audit.plan import PROMISELESS, plan
from setveil.audit.run import applicable, build
from setveil.errors import ParameterError
from setveil.registry import entries


def names(**there):
    return [setting.name for setting in plan(**there)]


def test_methods_need_what_they_need():
    bare = {one.method for one in plan(taxonomy=False, sensitive=False)}
    assert bare == {"disassociate", "safe-disassociate"}
    with_tree = {one.method for one in plan(taxonomy=True, sensitive=False)}
    assert with_tree == bare | {"gather", "apriori-km"}
    full = {one.method for one in plan(taxonomy=True, sensitive=True, meaning=True)}
    assert full >= with_tree | {"coat", "cahd", "td-control", "coherence"}


def test_one_setting_of_every_method_comes_first():
    settings = plan(taxonomy=True, sensitive=True, meaning=True)
    methods = {one.method for one in settings}
    assert {one.method for one in settings[: len(methods)]} == methods
    assert len({one.name for one in settings}) == len(settings)


def test_every_setting_can_be_built():
    for setting in plan(taxonomy=True, sensitive=True, methods=["all"]):
        build(setting.method, setting.params)


def test_all_are_the_methods_that_promise_something():
    found = {one.method for one in plan(taxonomy=True, sensitive=True, methods=["all"])}
    every = {entry.name for entry in applicable(taxonomy=True, sensitive=True)}
    assert found == every - PROMISELESS
    assert {entry.name for entry in entries("anonymizer")} >= PROMISELESS


def test_methods_can_be_named_with_their_parameters():
    assert names(taxonomy=True, sensitive=False, methods=["gather:k=3", "token-hashing"]) == [
        "gather-k3",
        "token-hashing",
    ]
    setting = plan(taxonomy=True, sensitive=False, methods=["gather:k=3,effort=fast"])[0]
    assert setting.params == {"k": 3, "effort": "fast"}


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ("gossip", "no anonymizer called 'gossip'"),
        ("gather", "gather needs taxonomy"),
        ("disassociate:k", "no setting"),
        ("disassociate:q=3", "no parameter"),
        ("disassociate:k=0", "k is 0"),
        ("disassociate:k=many", "."),
    ],
)
def test_wishes_that_cannot_be_are_refused_before_any_work(wish, message):
    with pytest.raises(ParameterError, match=message):
        plan(taxonomy=False, sensitive=False, methods=[wish])


def test_who_attacks_which_form():
    def tried(form, *specs):
        found = attackers(form, relatedness=specs or ("release",))
        return {one.attack for one in found} - {"linkage"}

    assert len(attackers("generalized")) == 6
    assert tried("generalized") == set()
    assert tried("set-generalized") == set()
    assert tried("set-generalized", "release", "wordnet") == {"rba", "ec", "shadow"}
    assert tried("disassociated") == {"prior", "aba", "vpa", "semantic-prior"}
    assert tried("perturbed") == {"noise-filter", "public-records"}
    assert tried("encoded") == {"token-frequency"}
    assert [one.params["m"] for one in attackers("grouped", known=[5])] == [5, 5]
    assert attackers("disassociated", only=["aba"])[0].attack == "aba"


def test_every_attack_of_an_audit_is_registered():
    assert set(SUCCESS) - {INFERENCE} <= {entry.name for entry in entries("attack")}
    assert check_attacks(["aba", "aba"]) == ("aba",)


@pytest.mark.parametrize("wrong", [[], [0], [-1, 2]])
def test_knowledge_that_cannot_be_is_refused(wrong):
    with pytest.raises(ParameterError):
        check_known(wrong)
