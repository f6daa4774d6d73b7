"""Figures of the tests come from the reports that they left."""

import json

import pytest
from benchmarks import suite

REPORT = """<testsuites><testsuite tests="3" time="150">
<testcase classname="tests.unit.test_a" name="test_one" time="1"/>
<testcase classname="tests.unit.test_a" name="test_two[x]" time="9"/>
<testcase classname="tests.unit.test_b" name="test_one" time="2"/>
</testsuite></testsuites>"""


@pytest.fixture
def build(tmp_path, monkeypatch):
    monkeypatch.setattr(suite, "BUILD", tmp_path)
    return tmp_path


def test_without_reports_there_are_no_figures(build):
    assert suite.run(small=False) == []


def test_figures_of_reports(build):
    for name in ("test.xml", "test-ci.xml"):
        (build / name).write_text(REPORT)
    (build / "coverage.json").write_text(json.dumps({"totals": {"percent_covered": 91.5}}))
    rows = suite.run(small=False)
    assert [(row.name, row.value, row.holds) for row in rows] == [
        ("`make test`, 3 tests", 2.5, True),
        ("`make test-ci`, 3 tests", 2.5, True),
        ("lines of src that `make test` runs", 91.5, True),
        ("unit.test_a: test_two[x]", 9, None),
        ("unit.test_b: test_one", 2, None),
        ("unit.test_a: test_one", 1, None),
    ]
    assert suite.run(small=True) == []
