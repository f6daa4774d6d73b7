"""The lecture's algorithm on worked numbers."""

import json
from pathlib import Path

import pytest

from setveil.measure import equivocation

GOLDEN = json.loads((Path(__file__).parent / "equivocation.json").read_text())


@pytest.mark.parametrize(("epsilon", "bits"), GOLDEN["equivocation"].items())
def test_equivocation(epsilon, bits):
    found = equivocation(GOLDEN["values"], GOLDEN["probabilities"], float(epsilon))
    assert found == pytest.approx(bits, abs=1e-6)
    backwards = [GOLDEN["values"][::-1], GOLDEN["probabilities"][::-1]]
    assert equivocation(*backwards, float(epsilon)) == pytest.approx(found)
