"""Worked examples of the papers, copied as facts into JSON files beside this one."""

import json
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def clump_facts():
    """Return the worked examples for Clump and Partition."""
    return json.loads((Path(__file__).parent / "clump.json").read_text(encoding="utf-8"))
