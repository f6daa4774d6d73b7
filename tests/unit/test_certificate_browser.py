"""The certificate in a real browser: the first screen says it all, and nothing leaves the page."""

import pytest
from tests.contract.test_publication import CERTIFICATE, publish
from tests.unit.chromium import brightness, look

# A page around the certificate looks into it.
AROUND = """<!doctype html>
<iframe src="publish/certificate.html" width="WIDTH" height="844"></iframe>
<script>
window.alert = () => { document.title = "a script ran"; };
onload = () => {
  const frame = document.querySelector("iframe");
  const page = frame.contentDocument, view = frame.contentWindow;
  const root = page.documentElement;
  const rgb = (element, what) => getComputedStyle(element)[what].match(/\\d+/g).map(Number);
  const cards = [...page.querySelectorAll(".figure")];
  const found = {
    overflow: root.scrollWidth - root.clientWidth,
    paper: rgb(page.body, "backgroundColor"),
    ink: rgb(page.body, "color"),
    answer: page.querySelector("#answer").innerText,
    answer_end: page.querySelector("#answer").getBoundingClientRect().bottom,
    cards: cards.map(card => card.innerText),
    cards_end: Math.max(...cards.map(card => card.getBoundingClientRect().bottom)),
    requests: view.performance.getEntriesByType("resource").map(each => each.name),
    links: [...page.querySelectorAll("[src], [href]")].length,
    scripts: page.scripts.length,
    text: page.body.innerText,
    title: document.title,
  };
  document.body.textContent = JSON.stringify(found);
};
</script>"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificate")
    publish("sets", folder)
    return folder


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_the_first_screen_says_answer_promise_and_risks(folder, width, dark):
    around = folder / f"around-{width}.html"
    around.write_text(AROUND.replace("WIDTH", str(width)), encoding="utf-8")
    seen = look(around, dark=dark)
    assert seen["title"] == ""
    assert seen["requests"] == []
    assert seen["links"] == seen["scripts"] == 0
    assert seen["overflow"] == 0
    assert (brightness(seen["paper"]) < 60) == dark
    assert abs(brightness(seen["ink"]) - brightness(seen["paper"])) > 150
    assert seen["answer"].startswith("Published with care: 8 records")
    assert "Promise. Every published record occurs at least 1 times." in seen["answer"]
    assert CERTIFICATE.cares[0] in seen["answer"]
    assert [card.split("\n")[0] for card in seen["cards"]] == [
        "Singling out",
        "Linkage",
        "Inference",
    ]
    assert "18 of 1,000" in seen["cards"][0]
    assert "11 to 27" in seen["cards"][0]
    assert "not measured" in seen["cards"][1]
    assert seen["answer_end"] < seen["cards_end"] < 844  # pixels of a phone's screen
    for part in (
        CERTIFICATE.untested[0],
        CERTIFICATE.title,
        "setveil verify .",
        "Nobody signed it",
    ):
        assert part in seen["text"], part
