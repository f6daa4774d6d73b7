"""The worked example of the band matrix approach, and the printed acceptance rule that fails."""

import json
import math
from itertools import pairwise
from pathlib import Path

import pytest
from tests.reference import cahd as reference

from setveil import TransactionTable
from setveil.anonymize import CAHD
from setveil.core.errors import InfeasibleError
from setveil.measure import reconstruction_error

FACTS = json.loads((Path(__file__).parent / "cahd.json").read_text(encoding="utf-8"))
PEOPLE = list(FACTS["rows"])
TABLE = TransactionTable.from_rows(FACTS["rows"].values())
UNSOUND = FACTS["unsound_as_printed"]


def test_the_groups():
    method = CAHD(p=FACTS["degree"], alpha=FACTS["alpha"])
    made = method.anonymize(TABLE, sensitive=FACTS["sensitive"])
    starts = made.release.starts.tolist()
    groups = [{PEOPLE[record] for record in made.key.records[a:b]} for a, b in pairwise(starts)]
    assert sorted(map(sorted, groups)) == sorted(map(sorted, FACTS["groups"]))
    assert made.promise.check(made.release).holds


def test_the_reconstruction_error():
    made = CAHD(p=2).anonymize(TABLE, sensitive=FACTS["sensitive"])
    error = reconstruction_error(
        made.release, TABLE, sensitive="pregnancy test", items=["cream", "meat"]
    )
    assert error == pytest.approx(math.log(2))


def test_the_printed_rule_breaks_the_degree_and_ours_does_not():
    rows, sensitive, p = UNSOUND["rows"], set(UNSOUND["sensitive"]), UNSOUND["degree"]
    printed = reference.groups(rows, sensitive, p, alpha=3, printed=True)
    assert printed == [[0, 1], [2]]
    assert not reference.has_degree([[rows[r] for r in g] for g in printed], sensitive, p)
    assert reference.groups(rows, sensitive, p, alpha=3) == [[0, 2], [1]]
    made = CAHD(p=p).anonymize(TransactionTable.from_rows(rows), sensitive=sensitive)
    assert made.promise.check(made.release).holds


def test_a_degree_that_no_grouping_has():
    with pytest.raises(InfeasibleError, match="more than one in 6 of the 5 records"):
        CAHD(p=6).anonymize(TABLE, sensitive=FACTS["sensitive"])
