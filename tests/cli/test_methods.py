"""``setveil methods``."""

import json
import re

from setveil.core.params import params_of
from setveil.core.registry import entries


def test_lists_every_method_with_its_parameters_and_paper(clinic):
    result = clinic.run("methods")
    assert result.exit_code == 0
    for entry in [*entries("anonymizer"), *entries("guarantee")]:
        assert f"  {entry.name}  ({entry.paper})\n    {entry.summary}\n" in result.stdout
        for param in params_of(entry.target):
            assert f"--{param.name.replace('_', '-')}  {param.doc}" in result.stdout


def test_json(clinic):
    result = json.loads(clinic.run("methods", "--json").stdout)
    assert result["schema"] == 2
    by_name = {method["name"]: method for method in result["methods"]}
    assert {"clump", "gather", "partition", "k-anonymity"} <= set(by_name)
    clump = by_name["clump"]
    assert clump["kind"] == "anonymizer"
    assert clump["requires"] == ["taxonomy"]
    defaults = {param["name"]: param["default"] for param in clump["params"]}
    assert defaults == {"k": 5, "r": 10, "objective": "total", "distinct": False}


def test_bibtex_is_well_formed(clinic):
    text = clinic.run("methods", "--bibtex").stdout
    keys = re.findall(r"^@\w+\{([\w:-]+),$", text, re.MULTILINE)
    assert keys
    assert len(keys) == len(set(keys))
    assert text.count("{") == text.count("}")
    listed = "\n".join(
        entry.bibtex for kind in ("anonymizer", "guarantee", "attack") for entry in entries(kind)
    )
    assert set(keys) == set(re.findall(r"^@\w+\{([\w:-]+),$", listed, re.MULTILINE))


def test_json_and_bibtex_exclude_each_other(clinic):
    result = clinic.run("methods", "--json", "--bibtex")
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr


def test_json_tells_the_bounds_of_every_parameter(clinic):
    methods = json.loads(clinic.run("methods", "--json").stdout)["methods"]
    by_name = {
        (method["name"], param["name"]): (param["least"], param["above"], param["most"])
        for method in methods
        for param in method["params"]
        if method["kind"] == "anonymizer"
    }
    assert by_name["clump", "k"] == (1, None, 2**31 - 1)
    assert by_name["coherence", "h"] == (0, None, 1)
    assert by_name["suppress-control", "rho"] == (None, 0, 1)
    assert by_name["suppress-control", "budget"] == (None, 0, None)
    assert by_name["clump", "objective"] == (None, None, None)
