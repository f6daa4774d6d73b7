"""The list of long tests names tests that there are; every tier runs what the one before runs."""

import ast
import re
from pathlib import Path

from tests import tiers

ROOT = Path(__file__).parents[2]


def functions_of(path):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_listed_test_is_there():
    missing = []
    for line in tiers.listed():
        path, _, name = line.partition("::")
        test = name.partition("[")[0].rpartition("::")[2]
        if not (ROOT / path).is_file() or (test and test not in functions_of(path)):
            missing.append(line)
    assert not missing, "measure again as tests/tiers.py says, or take these lines out"


def test_the_list_is_sorted_and_names_nothing_twice():
    lines = tiers.listed()
    assert lines == sorted(set(lines))
    assert not [line for line in lines if tiers.is_long(line, set(lines) - {line})]


def test_a_file_a_test_or_a_case_may_be_listed():
    lines = {"tests/a.py", "tests/b.py::test_x", "tests/c.py::test_y[one]"}
    assert tiers.is_long("tests/a.py::test_any", lines)
    assert tiers.is_long("tests/b.py::test_x[case]", lines)
    assert tiers.is_long("tests/c.py::test_y[one]", lines)
    assert not tiers.is_long("tests/b.py::test_y", lines)
    assert not tiers.is_long("tests/c.py::test_y[two]", lines)


def test_long_tests_leave_a_representative():
    times = {
        "tests/a.py::test_cases[fast]": 0.1,
        "tests/a.py::test_cases[long]": 2,
        "tests/a.py::test_near[one]": 2,
        "tests/a.py::test_near[two]": 1.5,
        "tests/a.py::test_far[one]": 9,
        "tests/a.py::test_far[two]": 9,
        "tests/a.py::test_alone": 2,
        "tests/a.py::test_fast": 1.9,
        "tests/b.py::test_any": 5,
    }
    assert tiers.choose(times, {"tests/b.py"}) == [
        "tests/a.py::test_alone",
        "tests/a.py::test_cases[long]",
        "tests/a.py::test_far",
        "tests/a.py::test_near[one]",
        "tests/b.py",
    ]


def test_tiers_hold_each_other():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    chosen = dict(
        re.findall(
            r"^(test[a-z-]*):.*\n\t@\$\(PYTEST\)(?: -m \"([^\"]*)\")?", makefile, re.MULTILINE
        )
    )
    assert chosen == {"test": "not slow and not long", "test-ci": "not slow", "test-all": ""}
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").endswith("make test-ci\n")
