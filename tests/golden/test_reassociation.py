"""The scores of AlShuhail & Shao's example, and the example attacked."""

import json
from pathlib import Path

import numpy as np
import pytest

from setveil.attack.reassociation.piece_scores import average, most_related, related_group

FACTS = json.loads((Path(__file__).parent / "disassociation.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "merge"), [("aba", average), ("rga", related_group), ("mra", most_related)]
)
def test_the_papers_scores(name, merge):
    values = np.array(FACTS["scores"]["values"])[:, None]
    assert merge(values)[0] == pytest.approx(FACTS["scores"][name])
