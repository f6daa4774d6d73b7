"""The report of an audit says what the audit found, in full, safely, and the same way each time."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from tests.unit import audit_results as made
from tests.unit.audit_results import EVIL
from tests.unit.html_page import Page

from setveil.audit import AuditResult, figures
from setveil.core import charts
from setveil.core.errors import ParameterError
from setveil.core.interval import Rate
from setveil.core.words import in_thousand, won
from setveil.report import markdown_audit, render_audit, save_figures, summary
from setveil.report import page as audit_page
from setveil.report.summary import first_screen


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return made.write_releases(tmp_path_factory.mktemp("audit"))


@pytest.fixture(scope="module")
def html(folder):
    return render_audit(made.result(), folder)


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


def rendered(folder, found, **rest):
    return Page(render_audit(made.result(found, **rest), folder))


def test_is_well_formed(page):
    assert page.problems == []
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    targets = [a["href"][1:] for tag, a in page.elements if tag == "a"]
    assert targets
    assert set(targets) <= set(ids)


def test_names_from_the_data_are_shown_as_text(folder):
    shown = render_audit(made.result(), folder, show_records=True)
    page = Page(shown)
    assert EVIL not in shown
    assert [tag for tag, _ in page.elements].count("script") == 1
    # title, setting, item, promise's witness, error, attack's knowledge, example, reason
    assert page.text.count(EVIL) > 20


def test_needs_no_network_and_runs_its_own_script_only(html, page):
    loads = {"link", "img", "iframe", "object", "embed", "image", "use", "foreignobject"}
    assert not loads & {tag.lower() for tag, _ in page.elements}
    for tag, attrs in page.elements:
        assert not [name for name in attrs if name.startswith("on")], tag
        for name in ("href", "src", "xlink:href", "action"):
            assert attrs.get(name, "#").startswith("#"), tag
    without_namespaces = re.sub(r'xmlns(:\w+)?="[^"]*"', "", html)
    assert "http" not in re.sub("http-equiv", "", without_namespaces)
    assert "url(" not in html
    assert "@import" not in html
    script = re.search(r"<script>(.*?)</script>", html, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(a for _, a in page.elements if a.get("http-equiv"))
    assert policy["content"] == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    )
    for word in ("innerHTML", "eval", "fetch", "XMLHttpRequest", "localStorage"):
        assert word not in script


def test_says_first_that_it_is_private(page):
    assert page.text.index("do not publish this page") < page.text.index("PUBLISH")


def test_the_first_screen_says_what_the_terminal_says(page):
    start = page.text[: page.text.index("One record before and after")]
    screen = first_screen(made.result())
    assert f"{screen.answer} {screen.about}" in start
    assert screen.headline in start
    assert len(screen.risks) == 3
    for row in screen.risks:
        before = f"original data {row.original} this release {row.release}"
        assert f"{row.label} {before} guessing {row.guessing} This release: {row.details}." in start
    for title, sentences in screen.paragraphs:
        assert f"{title} {' '.join(sentences)}" in start


def test_numbers_of_the_first_screen_by_hand(page):
    # 70 of 1,000 named with three items; Wilson's upper end over guessing 1 of 1,000.
    row = next(row for row in first_screen(made.result()).risks if row.risk == "linkage")
    assert (row.original, row.release, row.guessing) == ("240 of 1,000", "70 of 1,000", "1")
    high = (Rate.sampled(70, 1000).high - 0.001) / 0.999
    assert f"at most {(int(high * 1000) + 1) / 10}%" in row.details
    assert "105 of 1,000 people (original data: 400)" in page.text  # five known items


def test_bars_share_one_scale(html):
    widths = [float(w) for w in re.findall(r'class="bar"[^>]*><i style="width:([\d.]+)%"', html)]
    screen = first_screen(made.result())
    shares = [share for row in screen.risks for share in row.shares]
    assert widths == pytest.approx([100 * share / max(shares) for share in shares], abs=0.05)


@pytest.mark.parametrize(
    "answer", ["publish", "publish-with-care", "do-not-publish", "not-decided"]
)
def test_every_answer_has_its_colour_and_words(folder, answer):
    chosen = "id-gather-k10" if answer.startswith("publish") else None
    reasons = ("Too few.", "gather, k = 25 comes nearest.")
    page = rendered(folder, None, recommended=chosen, answer=answer, reasons=reasons)
    looks = [a["class"] for tag, a in page.elements if tag == "section"]
    assert looks == [f"verdict is-{audit_page.LOOKS[answer]}"]
    assert answer.replace("-", " ").upper() in page.text
    assert "gather, k = 25 comes nearest." in page.text  # names keep their letters
    assert ("★" in page.text.replace("(★: recommended)", "")) == (chosen is not None)
    assert ("No release passes. The closest:" in page.text) == (chosen is None)


def test_every_trial_has_a_row_and_a_section_best_first(page):
    ordered = [f"run-{run.name}" for run in summary.best_first(made.result())]
    rows = [a["data-run"] for tag, a in page.elements if tag == "tr" and "data-method" in a]
    sections = [a["data-run"] for tag, a in page.elements if tag == "details" and "data-run" in a]
    assert rows == sections == ordered
    assert sorted(rows) == sorted(f"run-{run.name}" for run in made.runs())
    assert rows[0] == "run-gather-k10"
    passes = ["data-passes" in a for tag, a in page.elements if tag == "tr" and "data-method" in a]
    assert passes == sorted(passes, reverse=True)
    links = [a["href"][1:] for tag, a in page.elements if tag == "a" and "class" not in a]
    drawn = [f"run-{run.name}" for run in made.runs() if run.loss is not None and run.risk]
    for name in drawn:
        assert links.count(name) == 3  # two drawings, a table
    assert links.count("run-cahd-p4") == 1


def test_each_trial_has_its_verdict_and_three_risks(page):
    assert "gather, k = 10 ★ publish 1.7% 8.7% 5.6% 21.9%" in page.text
    assert "clump, k = 10 with care 1.8% 9.4% 5.8% 26.9% Counts of one and two items" in page.text
    assert "apriori-km (m 2), k = 5 do not publish" in page.text
    assert "Its promise is broken." in page.text


def test_what_is_in_it_for_its_owner(page):
    text = page.text
    assert "Before flu " + EVIL in text
    assert "After flu airways" in text
    assert f"{EVIL} 1 removed" in text
    assert "Counts of one item are off by 3.1% on average." in text
    assert f"Whoever knows {EVIL} knows the rest." in text


def test_an_attack_is_told_and_items_of_a_person_are_named_on_request(folder, page):
    assert "An attacker knows 2 items of a person, the rarest ones." in page.text
    assert "In the original data, 1 record has all of them." in page.text
    assert "In the release, 7 records may be the person's." in page.text
    assert f"An attacker knows {EVIL} and gout." not in page.text
    shown = Page(render_audit(made.result(), folder, show_records=True))
    assert f"An attacker knows {EVIL} and gout." in shown.text


def test_own_counts(page):
    assert f"flu, {EVIL} 2 3.0 50.0%" in page.text


def test_sections_stand_in_the_order_of_a_readers_questions(page):
    ids = [a["id"] for _, a in page.elements if "id" in a]
    first = ["verdict", "example", "story", "attacks"]
    wanted = [*first, "frontier", "changed", "runs", "limits", "computed"]
    assert [each for each in ids if each in wanted] == wanted


def test_how_the_file_was_read(page):
    assert f"column {EVIL} item" in page.text
    assert "why two columns" in page.text


def test_what_is_not_in_the_picture_is_said(page):
    assert "cahd, p = 4: the loss cannot be measured on the common scale" in page.text
    assert "2 trials did not finish" in page.text
    assert f"The tree has no {EVIL}." in page.text
    assert "The time budget of 30 minutes was used up." in page.text


def test_states_are_told_apart(folder):
    runs = [
        made.run(),
        made.run("clump", promise=None, holds=None),
        made.run("lra", exact=False),
        made.run("coat", consistent=False),
        made.broken(),
        made.failed(),
        made.skipped(),
        made.failed(id="id-x", name="x", title="x", state="inapplicable"),
    ]
    page = rendered(folder, runs, recommended="id-gather-k5")
    for word in ("Kept.", "None made.", "Not decided.", "Untrue.", "Broken."):
        assert f"Check. {word}" in page.text, word
    for words in (
        "gather, k = 5 ★: publish",
        "clump, k = 5: do not publish",
        "lra, k = 5: not decided",
        "lra, k = 5: failed",
        "optimal-km, k = 5: not run",
        "x: does not apply",
    ):
        assert words in page.text, words
    assert "It says things that are false." in page.text


def test_witnesses_are_shown(page):
    assert f"{EVIL}, gout" in page.text
    assert "low mood → depression" in page.text
    assert "confidence below 0.5, not 1" in page.text


def test_attacks_stand_beside_original_guessing_and_control(page):
    assert "160 (138 to 184) 35 (24 to 49) named 1 naming any record" in page.text
    wilson = Rate.sampled(35, 1000)
    low, high = ((each - 0.001) / 0.999 for each in (wilson.low, wilson.high))
    gain = f"{int(low * 1000) / 10} to {(int(high * 1000) + 1) / 10}"
    assert f"20 (12 to 31) 1,000 3.5% ({gain})" in page.text  # control, tests, gain
    assert "Left out: too long for the budget." in page.text


def test_records_are_shown_on_request_only(folder, page):
    assert "Some published records" not in page.text
    assert "guessed" not in page.text
    shown = rendered(folder, None)
    assert "Some published records" not in shown.text
    shown = Page(render_audit(made.result(), folder, show_records=True))
    assert "Some published records airways; gout" in shown.text
    assert f"guessed flu, {EVIL}" in re.sub(r"\s+", " ", shown.text)
    assert "0.91" in shown.text


def test_what_became_of_the_items(page):
    assert "1 general term in all." in page.text  # read from the release
    assert "generalized item in all" in page.text  # that of coat
    assert "Each stands for any of several items." in page.text  # what the audit noted
    assert "suppress" in page.text
    assert "Its files cannot be read: no release is here" in page.text


def test_same_audit_gives_the_same_bytes(html, folder):
    assert render_audit(made.result(), folder) == html


def test_timings_stand_apart(html, folder):
    slower = [replace(run, seconds={"anonymize": 77.7}) for run in made.runs()]
    other = render_audit(made.result(slower), folder)
    pairs = zip(html.splitlines(), other.splitlines(), strict=False)
    changed = [(old, new) for old, new in pairs if old != new][: len(slower)]
    assert changed
    assert all("4.9</td>" in old or "n/a</td>" in old or "Time:" in old for old, _ in changed)


def test_numbers_that_are_missing_are_said_so(folder):
    bare = made.run(measures={}, figures={}, adversaries=(), seconds={}, loss=None)
    page = rendered(folder, [bare], recommended=None, profile={}, settings={}, notes=())
    assert page.problems == []
    assert "n/a" in page.text
    assert "None" not in page.text
    assert "no attack was measured" in page.text


def test_an_audit_of_nothing_is_refused():
    with pytest.raises(ParameterError, match="without runs"):
        render_audit(AuditResult(title="a", runs=()), ".")


def test_a_result_read_again_gives_the_same_page(html, folder):
    again = AuditResult.from_json(json.loads(json.dumps(made.result().to_json())))
    assert render_audit(again, folder) == html


# --- the pictures ---------------------------------------------------------------------------------


def test_the_frontier_is_the_verified_runs_that_no_other_beats():
    runs = made.runs()
    front = figures.on_frontier(runs)
    fit = [run for run in runs if run.verified and run.loss is not None]
    beaten = [
        run
        for run in fit
        if any(
            other.loss <= run.loss
            and other.risk <= run.risk
            and (other.loss, other.risk) != (run.loss, run.risk)
            for other in fit
        )
    ]
    assert {run.id for run in front} == {run.id for run in fit} - {run.id for run in beaten}
    assert [run.loss for run in front] == sorted(run.loss for run in front)


def test_drawings_are_well_formed_and_carry_no_code():
    result = made.result([made.run(title=f'{EVIL}" onload="x')], recommended="id-gather-k5")
    for spec in (
        figures.frontier(result),
        figures.successes(made.runs()[-8].adversaries),
    ):
        svg = charts.draw(spec)
        tree = ET.fromstring(svg)
        assert not [e for e in tree.iter() if e.tag.endswith("script")]
        assert not [name for e in tree.iter() for name in e.attrib if name.startswith("on")]
        assert not [e for e in tree.iter() if "id" in e.attrib]  # several drawings share a page
        assert EVIL in "".join(tree.itertext())


def test_many_methods_are_told_apart():
    series = figures.series_of([made.run(f"m{n}") for n in range(36)])
    assert len(set(series.values())) == 36


def test_figures_are_written_as_svg_and_png(tmp_path):
    files = save_figures(made.result(), tmp_path / "pictures")
    names = [
        f"{name}.{end}" for name in ("frontier", "attacks", "unique") for end in ("svg", "png")
    ]
    assert [file.name for file in files] == names
    for file in files:
        content = file.read_bytes()
        if file.suffix == ".png":
            assert content.startswith(b"\x89PNG")
        else:
            text = content.decode()
            assert "var(--" not in text
            assert "href" not in text.replace("xmlns:xlink", "")
            assert "select-a-size" in text or file.stem != "frontier"  # with a list of methods


# --- other forms ----------------------------------------------------------------------------------


def test_markdown_shows_names_as_text():
    text = markdown_audit(made.result())
    assert text.startswith("# PUBLISH: A clinic &lt;script&gt;alert(1)&lt;/script&gt; · 4 records")
    assert "<" not in text
    assert "do not publish this text" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    widths = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
    assert widths == {3, 5, 7, 8}
    assert "| gather, k = 10 ★ | publish | 1.7% | 8.7% | 5.6% | 21.9% |  |" in text


def test_markdown_says_what_the_first_screen_says():
    text = markdown_audit(made.result())
    for row in first_screen(made.result()).risks:
        assert f"| {row.original} | {row.release} | {row.guessing} |" in text


def test_markdown_survives_what_tables_cannot_hold():
    evil = made.run(title="a|b\n# c `d` *e* [f](g)")
    text = markdown_audit(made.result([evil], recommended=None))
    assert "a\\|b\\\\n\\# c \\`d\\` \\*e\\* \\[f\\](g)" in text


@pytest.mark.parametrize("share", [0.0, 0.0171, 0.001, 0.5, 1.0, 1e-9])
def test_what_adversaries_get_is_never_rounded_down(share):
    assert share == 0 or not in_thousand(share).startswith("0 ")
    rate = Rate(value=share, low=share / 2, high=min(share * 2, 1), exact=False)
    shown = won(rate)
    assert float(shown.split("%")[0]) >= share * 100 - 1e-9
