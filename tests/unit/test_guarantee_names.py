"""Guarantees as texts and in manifests: every parameter survives the way there and back."""

import json
from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setveil.core.errors import InputError, ParameterError
from setveil.core.params import params_of
from setveil.core.registry import entries
from setveil.guarantee import from_manifest, parse
from setveil.guarantee.base import written

SPECS = [
    "k-anonymity:k=3",
    "km:k=4,m=3",
    "coherence:h=0.8,k=2,p=3,sensitive=HIV|gout",
    "coherence:h=1/3,k=2,p=3,sensitive=HIV",
    "rho-uncertainty:rho=0.7,sensitive=HIV|gout,prior=true",
    "rho-uncertainty:rho=0.5,sensitive=,prior=true",
    "rho-uncertainty:rho=2/3,sensitive=HIV|gout,prior=false",
    "disassociated:k=3,m=2",
    "privacy-degree:p=4,sensitive=HIV|gout",
    "safe-disassociated:k=3,m=2,max_share=1/3",
    "support-constraints:itemsets=flu+gout|HIV,k=3",
]


def test_every_guarantee_is_tried_here():
    assert {spec.partition(":")[0] for spec in SPECS} == {
        entry.name for entry in entries("guarantee")
    }


@pytest.mark.parametrize("spec", SPECS)
def test_there_and_back(spec):
    promise = parse(spec)
    assert parse(written(promise)) == promise
    kept = json.loads(json.dumps(promise.params()))
    assert from_manifest(spec.partition(":")[0], kept) == promise


@pytest.mark.parametrize("entry", entries("guarantee"), ids=lambda entry: entry.name)
def test_every_type_of_a_parameter_can_be_described_and_read(entry):
    for param in params_of(entry.target):
        assert param.says != "a text"
        assert param.doc


def test_items_from_a_file(tmp_path):
    file = tmp_path / "sensitive.txt"
    file.write_text("gout\n\n  a, b|c  \r\ngout\n", encoding="utf-8")
    promise = parse(f"rho-uncertainty:rho=0.5,sensitive=@{file}")
    assert promise.sensitive == ("a, b|c", "gout")
    sets = tmp_path / "itemsets.txt"
    sets.write_text("flu+gout\nHIV\n")
    constraints = parse(f"support-constraints:k=2,itemsets=@{sets}")
    assert set(constraints.itemsets) == {("HIV",), ("flu", "gout")}


def test_files_that_cannot_be(tmp_path):
    empty, odd = tmp_path / "empty.txt", tmp_path / "odd.txt"
    empty.write_text("\n \n")
    odd.write_bytes(b"\xff\xfe\x00")
    for file, said in [(empty, "no items"), (odd, "UTF-8"), (tmp_path / "no.txt", "No such file")]:
        with pytest.raises(InputError, match=said) as caught:
            parse(f"rho-uncertainty:sensitive=@{file}")
        assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("rho-uncertainty:rho=high", "a number above 0 and at most 1"),
        ("rho-uncertainty:rho=1/0", "a number above 0 and at most 1"),
        ("rho-uncertainty:rho=1.5", "1.5"),
        ("rho-uncertainty:rho=0", "0"),
        ("rho-uncertainty:prior=perhaps", "true or false"),
        ("rho-uncertainty:sensitive=a||b", "items with |"),
        ("rho-uncertainty:sensitive=a,b", "@FILE"),
        ("km:k=2,m=two", "a whole number"),
        ("km:k=2,m=0", "m is 0"),
        ("km:k=2,k=3", "is given twice"),
        ("support-constraints:itemsets=a++b", "itemsets with |"),
        ("support-constraints:k=2", "lacks a parameter: itemsets. To fix: write support-con"),
        ("nothing:k=2", "no guarantee called"),
    ],
)
def test_what_cannot_be_read_is_said(spec, said):
    with pytest.raises(ParameterError) as caught:
        parse(spec)
    assert said in str(caught.value)


def test_a_parameter_of_the_wrong_kind():
    with pytest.raises(ParameterError) as caught:
        from_manifest("coherence", {"k": "x", "sensitive": None})
    assert "object" not in str(caught.value)
    assert "Error" not in str(caught.value)


def test_values():
    @dataclass(frozen=True, kw_only=True)
    class Plain:
        real: float | None = None
        whole: int | None = None
        flag: bool = True
        word: str = ""

    read = {param.name: param.read for param in params_of(Plain)}
    assert read["real"]("None") is None
    assert read["whole"]("7") == 7
    assert read["flag"]("No") is False
    assert read["word"]("word") == "word"


@given(st.fractions(0, 1), st.lists(st.sampled_from(["a", "b b", "c=d"]), min_size=1, unique=True))
def test_any_rho_and_items(rho, items):
    if rho == 0:
        return
    promise = from_manifest("rho-uncertainty", {"rho": str(rho), "sensitive": items})
    assert promise.rho == Fraction(rho)
    assert parse(written(promise)) == promise


def test_long_lists_are_cut_for_people():
    promise = parse("rho-uncertainty:rho=0.5,sensitive=a|b|c|d|e")
    assert written(promise, shown=2) == "rho-uncertainty:rho=0.5,sensitive=a|b|… (5),prior=true"
