"""What reports and pictures share: drawings that carry no code, and numbers that never flatter."""

from xml.etree import ElementTree as ET

import pytest

from setveil.core import charts
from setveil.core.words import about, kept, lost

EVIL = "<script>alert(1)</script>"


def test_drawings_are_well_formed_and_carry_no_code():
    points = [{"x": 2, "y": 0.1, "series": f'{EVIL}" onload="x', "ok": True}]
    svg = charts.draw(charts.curves(points, x_title=EVIL, y_title="&"))
    tree = ET.fromstring(svg)
    assert not [e for e in tree.iter() if e.tag.endswith("script")]
    assert not [name for e in tree.iter() for name in e.attrib if name.startswith("on")]
    assert not [e for e in tree.iter() if "id" in e.attrib]  # several drawings share a page
    assert EVIL in "".join(tree.itertext())


def test_more_series_than_colours_are_drawn_all():
    points = [{"x": 2, "y": n / 10, "series": f"s{n}", "ok": True} for n in range(8)]
    svg = charts.draw(charts.curves(points, x_title="k", y_title="loss"))
    assert all(f">s{n}<" in svg for n in range(8))


@pytest.mark.parametrize("share", [0.0, 0.07, 0.29, 0.2231, 0.5, 0.99999, 1.0, 1e-9, 1 / 3])
def test_rounding_never_flatters(share):
    assert float(lost(share)[:-1]) >= share * 100 - 1e-9
    assert float(kept(share)[:-1]) <= share * 100 + 1e-9
    assert float(lost(share)[:-1]) - float(kept(share)[:-1]) <= 0.1 + 1e-9


def test_about_never_says_none_or_all_of_a_part():
    assert about(0.001) not in {"none", "all"}
    assert about(0.9999) not in {"none", "all"}
