"""The report says what the runs say, in full, safely, and the same way each time."""

import re
from dataclasses import dataclass
from fractions import Fraction
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from tests.unit.report_runs import EVIL, make_run, report

from setveil.audit import recommend
from setveil.errors import ParameterError
from setveil.guarantee.base import Verdict, Witness
from setveil.release.base import Step
from setveil.report import charts
from setveil.report.words import about, kept, lost

VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Collects tags, attributes and texts; notes tags that are not closed in order."""

    def __init__(self, html):
        super().__init__()
        self.stack, self.problems, self.elements, self.texts = [], [], [], []
        self.feed(html)
        self.problems += self.stack

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.stack or self.stack.pop() != tag:
            self.problems.append(tag)

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.texts))


def a_page(**rest):
    runs = [
        make_run(method, k=k, share=share, **rest)
        for method, share in [("clump", 0.4), ("gather", 0.2)]
        for k in (2, 5)
    ]
    return report(runs)


@pytest.fixture(scope="module")
def html():
    return a_page()


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


def test_is_well_formed(page):
    assert page.problems == []
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    targets = [a["href"][1:] for tag, a in page.elements if tag == "a"]
    assert targets
    assert set(targets) <= set(ids)


def test_names_from_the_data_are_shown_as_text(html, page):
    assert EVIL not in html
    assert "script" not in {tag for tag, _ in page.elements}
    assert EVIL in page.text


def test_needs_no_network_and_runs_nothing(html, page):
    loads = {"link", "script", "img", "iframe", "object", "embed", "image", "use", "foreignobject"}
    assert not loads & {tag.lower() for tag, _ in page.elements}
    for tag, attrs in page.elements:
        assert not [name for name in attrs if name.startswith("on")], tag
        for name in ("href", "src", "xlink:href", "action"):
            assert attrs.get(name, "#").startswith("#"), tag
    without_namespaces = re.sub(r'xmlns(:\w+)?="[^"]*"', "", html)
    assert "http" not in re.sub("http-equiv", "", without_namespaces)
    assert "url(" not in html
    assert "@import" not in html
    policy = next(a for _, a in page.elements if a.get("http-equiv"))
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'"


def test_says_first_that_it_is_private(page):
    assert page.text.index("do not publish this page") < page.text.index("keep their promise")


def test_first_screen_gives_verdict_recommendation_and_figures(page):
    assert "All 4 releases keep their promise." in page.text
    assert "Recommended for k = 5: gather, k = 5." in page.text
    assert "loses the least detail (20.0%)" in page.text
    assert "about 50 in 100" in page.text
    assert "at least 5" in page.text


def test_every_run_has_a_row_and_a_section(page):
    rows = [a["href"] for tag, a in page.elements if tag == "a" and a["href"].startswith("#run-")]
    sections = [f"#{a['id']}" for tag, a in page.elements if tag == "details"]
    assert (
        rows == sections == ["#run-clump-k2", "#run-clump-k5", "#run-gather-k2", "#run-gather-k5"]
    )


def test_every_picture_has_its_figures_as_text(page):
    pictures = [attrs for tag, attrs in page.elements if tag == "svg"]
    assert len(pictures) == 3
    for figure in ("40.0%", "20.0%", "66.6%", "about 12 in 100", "about 50 in 100"):
        assert figure in page.text


def test_same_runs_give_the_same_bytes(html):
    assert a_page() == html


def test_timings_stand_in_their_column_only(html):
    other = a_page(seconds={"anonymize": 7.77, "verify": 9.99, "measure": 9.99})
    changed = [
        (before, after)
        for before, after in zip(html.splitlines(), other.splitlines(), strict=True)
        if before != after
    ]
    assert len(changed) == 4
    assert all(after == before.replace("0.50</td>", "7.77</td>") for before, after in changed)


def test_a_broken_promise_cannot_be_missed():
    runs = [make_run(k=5), make_run("clump", k=5, share=0.01, holds=False)]
    page = Page(report(runs))
    assert "1 of 2 releases keep their promise." in page.text
    assert "Do not publish clump, k = 5: its promise is not kept." in page.text
    assert "Recommended for k = 5: gather, k = 5." in page.text
    assert f"{EVIL}, gout" in page.text
    assert "at least 2" in page.text
    assert "Hollow: promise not kept." in page.text
    assert ("section", {"class": "verdict broken", "id": "verdict"}) in page.elements


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"promise": False}, "promises nothing"),
        ({"exact": False}, "not decided"),
        ({"consistent": False}, "it says things that are false"),
    ],
)
def test_a_run_that_is_not_certain_is_never_recommended(change, words):
    runs = [make_run("clump", k=5, share=0.01, **change)]
    page = Page(report(runs))
    assert words in page.text
    assert "None of them keeps k = 5" in page.text


def test_what_cannot_be_measured_is_said_so():
    measures = dict.fromkeys(make_run().measures)
    page = Page(report([make_run(k=5, measures=measures)]))
    assert "n/a" in page.text
    assert "None" not in page.text.replace("None of them", "")


def test_a_report_of_nothing_is_refused():
    with pytest.raises(ParameterError, match="at least one run"):
        report([])


def test_recommends_the_least_loss_at_the_wished_k_or_above():
    small, wished, above = make_run(k=2, share=0.1), make_run(k=5, share=0.3), make_run(k=10)
    assert recommend([small, wished], k=5) is wished
    assert recommend([small, wished, above], k=5) is above
    assert recommend([small], k=5) is None


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


# --- other promises -------------------------------------------------------------------------------


@dataclass(frozen=True)
class OtherPromise:
    k: int = 5
    m: int = 2

    def describe(self):
        return f"whoever knows {self.m} items finds <{self.k}> records"

    def params(self):
        return {"k": self.k, "m": self.m}


def other_run(**rest):
    log = [Step(action="suppress", subject=f"item {n}", reason="rare", cost=n) for n in range(30)]
    log.append(Step(action="stop", subject="the search", reason="the budget was used up"))
    return make_run(
        "apriori-km", share=0.01, promise_made=OtherPromise(), k=5, log=tuple(log), **rest
    )


def test_other_promises_do_not_compare():
    other = other_run()
    equal = make_run("gather", k=5, share=0.3)
    assert other.k_alone is None
    assert equal.k_alone == 5
    assert recommend([other, equal], k=5) is equal
    assert recommend([other], k=5) is None
    page = Page(report([equal, other]))
    assert not page.problems
    assert "Whoever knows 2 items finds <5> records." in page.text
    assert "Other worries, other promises" in page.text
    assert "Other worries" not in Page(report([equal])).text


def test_the_log_shows_remarks_first_and_then_the_costliest():
    text = Page(report([make_run("gather", k=5), other_run()])).text
    assert "the budget was used up" in text
    assert "item 29" in text
    assert "item 3 " not in text
    assert "The 12 costliest of 31 steps." in text


def test_a_rule_that_breaks_a_promise_says_what_follows():
    witness = Witness(
        items=("low mood",),
        support=5,
        required="confidence below 0.5, not 1",
        consequent="depression",
        confidence=Fraction(1),
    )
    verdict = Verdict(holds=False, exact=True, reason="a rule", checked=1, witnesses=(witness,))
    text = Page(report([other_run(verdict=verdict)])).text
    assert "low mood → depression" in text
    assert "confidence below 0.5, not 1" in text
