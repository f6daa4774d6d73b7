"""What an audit tries follows from what there is: methods, where each begins, and who attacks."""

import pytest

from setveil.attack.base import RISKS
from setveil.audit.adversaries import (
    attackers,
    check_attacks,
    check_known,
    families_missing,
    role_of,
)
from setveil.audit.results import Adversary
from setveil.audit.run import applicable
from setveil.audit.search import ladders_of, methods_for
from setveil.core.errors import ParameterError
from setveil.core.registry import entries
from setveil.release.base import FORMS


def methods(*named, taxonomy=False, sensitive=False, meaning=False):
    return methods_for(named, taxonomy=taxonomy, sensitive=sensitive, meaning=meaning)


def test_methods_need_what_they_need():
    bare = set(methods())
    assert bare == {"disassociate", "safe-disassociate"}
    with_tree = set(methods(taxonomy=True))
    assert with_tree == bare | {"gather", "apriori-km"}
    full = set(methods(taxonomy=True, sensitive=True, meaning=True))
    assert full >= with_tree | {"coat", "cahd", "td-control", "coherence"}


@pytest.mark.parametrize("name", methods("all", taxonomy=True, sensitive=True, meaning=True))
def test_an_audit_searches_the_main_parameter_of_every_method_from_a_middle_value(name):
    ladders = ladders_of(name, records=1000, free=False)
    assert len(ladders.rungs) == 1
    ((letter, values),) = ladders.rungs.items()
    begin = ladders.at(ladders.start).params[letter]
    usual = {"k": 10, "rho": 0.3, "l": 10, "p": 10}
    assert begin == (usual[letter] if usual[letter] in values else values[0])


def test_all_are_the_methods_that_promise_something():
    found = set(methods("all", taxonomy=True, sensitive=True, meaning=True))
    every = {entry.name for entry in applicable(taxonomy=True, sensitive=True)}
    promiseless = {"select-a-size", "secret-sharing", "split-personality", "token-hashing"}
    assert found == every - promiseless
    assert {entry.name for entry in entries("anonymizer")} >= promiseless


def test_methods_can_be_named_with_their_parameters():
    texts = methods(
        "gather:k=3,effort=fast", "token-hashing", "gather:k=3,effort=fast", taxonomy=True
    )
    assert texts == ("gather:k=3,effort=fast", "token-hashing")
    setting = ladders_of(texts[0], records=40, free=False)
    assert setting.rungs == {}
    assert setting.at(()).params == {"k": 3, "effort": "fast"}


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ("gossip", "no anonymizer called 'gossip'"),
        ("gather", "gather needs taxonomy"),
        ("disassociate:k", "no parameter with its value"),
        ("disassociate:q=3", "no parameter"),
        ("disassociate:k=0", "k is 0"),
        ("disassociate:k=many", "."),
    ],
)
def test_wishes_that_cannot_be_are_refused_before_any_work(wish, message):
    with pytest.raises(ParameterError, match=message):
        [ladders_of(text, records=40, free=False) for text in methods(wish)]


def tried(form, *specs, **rest):
    return {one.attack for one in attackers(form, relatedness=specs or ("release",), **rest)}


def test_who_attacks_which_form():
    assert tried("generalized") == {"linkage"}
    assert tried("generalized", sensitive=True) == {"linkage", "inference"}
    assert tried("set-generalized") == {"linkage"}
    assert tried("set-generalized", "release", "wordnet") == {"linkage", "rba", "ec", "shadow"}
    assert tried("disassociated") == {"linkage", "prior", "aba", "vpa", "semantic-prior"}
    assert tried("perturbed") == {"linkage", "noise-filter", "public-records"}
    assert tried("encoded") == {"linkage", "token-frequency"}
    assert tried("disassociated", only=["aba"]) == {"aba"}


def test_who_knows_more_does_not_decide():
    found = [one for one in attackers("generalized", longest=9) if one.attack == "linkage"]
    deciding = [(one.params["m"], one.params["knowledge"]) for one in found if one.decides]
    assert sorted(deciding) == [(m, which) for m in (1, 2, 3) for which in ("random", "rarest")]
    beside = {one.params["m"]: one.knows for one in found if not one.decides}
    assert beside == {5: "five items of a person", 9: "all items of a person"}
    known = attackers("generalized", known=[5], longest=5)
    assert [(one.params["m"], one.decides) for one in known] == [(5, True), (5, True)]


def test_cheap_attackers_come_first():
    costs = [one.role.cost for one in attackers("disassociated", sensitive=True)]
    assert costs == sorted(costs)
    assert costs[0] == 0 < costs[-1]


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("sensitive", [False, True])
def test_the_families_of_those_who_attack_by_default_are_needed(form, sensitive):
    needed = set(families_missing(form, [], sensitive=sensitive))
    found = attackers(form, relatedness=("release", "wordnet"), sensitive=sensitive)
    assert needed == {one.role.family for one in found} >= {"linkage"}
    assert ("inference" in needed) == sensitive
    for family in needed:
        others = [Adversary(attack=one.attack) for one in found if one.role.family != family]
        assert families_missing(form, others, sensitive=sensitive) == (family,)
    beside = [Adversary(attack=one.attack, decides=False) for one in found]
    assert set(families_missing(form, beside, sensitive=sensitive)) == needed


def test_every_attack_with_a_role_shows_a_risk_and_says_it():
    roles = {entry.name: role_of(entry.target) for entry in entries("attack")}
    able = {name: role for name, role in roles.items() if role is not None}
    assert {"linkage", "inference", "intersection", "prior", "vpa"} <= set(able)
    for role in able.values():
        assert role.findings
        for finding in role.findings:
            assert finding.risk in RISKS
            assert "{count}" in finding.says
    assert check_attacks(["aba", "aba", "all"]) == ("aba", "all")


def test_all_attacks_include_those_that_are_not_run_by_default():
    assert "intersection" not in tried("generalized")
    assert "intersection" in tried("generalized", only=["all"])
    assert tried("disassociated", only=["all"]) >= tried("disassociated")


@pytest.mark.parametrize("wrong", [[], [0], [-1, 2]])
def test_knowledge_that_cannot_be_is_refused(wrong):
    with pytest.raises(ParameterError):
        check_known(wrong)
