"""The report in a real browser: chromium lays it out, and a page around it measures the result."""

import html
import json
import re
import shutil
import subprocess

import pytest
from tests.conftest import missing_component
from tests.unit.report_runs import EVIL, make_run, report

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--allow-file-access-from-files",
    "--virtual-time-budget=5000",
    "--dump-dom",
]

# The report itself runs no script, so a page around it looks in from outside.
AROUND = """<!doctype html><iframe src="report.html" width="WIDTH" height="900"></iframe>
<script>
window.alert = () => { document.title = "a script ran"; };
onload = () => {
  const page = document.querySelector("iframe").contentDocument;
  const root = page.documentElement;
  const rgb = (element, what) => getComputedStyle(element)[what].match(/\\d+/g).map(Number);
  const text = page.querySelector("svg text");
  const measured = {
    title: document.title,
    overflow: root.scrollWidth - root.clientWidth,
    scripts: page.scripts.length,
    paper: rgb(page.body, "backgroundColor"),
    ink: rgb(page.body, "color"),
    chart: rgb(text, "fill"),
    drawings: [...page.querySelectorAll("svg")].map(svg => svg.getBoundingClientRect().width),
    banner: page.querySelector(".banner").getBoundingClientRect().top,
    verdict: page.querySelector("#verdict").getBoundingClientRect().bottom,
    figures: page.querySelector(".figures").getBoundingClientRect().bottom,
    letters: text.getBoundingClientRect().height,
    text: page.body.innerText,
  };
  document.body.textContent = JSON.stringify(measured);
};
</script>"""


@pytest.fixture(scope="module")
def browser():
    found = shutil.which("chromium")
    if found is None:
        missing_component("chromium is not installed")
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    variants = [{}, {"effort": "fast"}, {"effort": "balanced"}, {"r": 20}]
    runs = [
        make_run("gather", k=k, share=0.1 + k / 50 + n / 20, params={"k": k, **variant})
        for n, variant in enumerate(variants)
        for k in (2, 5, 10)
    ]
    (folder / "report.html").write_text(report(runs), encoding="utf-8")
    return folder


def measure(browser, folder, *, width, dark):
    around = folder / f"around-{width}-{dark}.html"
    around.write_text(AROUND.replace("WIDTH", str(width)), encoding="utf-8")
    profile = folder / f"profile-{width}-{dark}"
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    done = subprocess.run(
        [browser, *FLAGS, scheme, f"--user-data-dir={profile}", around.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    body = re.search(r"<body>(.*)</body>", done.stdout, re.DOTALL)
    return json.loads(html.unescape(body[1]))


def brightness(rgb):
    return sum(rgb[:3]) / 3


@pytest.mark.parametrize(
    ("width", "dark"), [(1200, False), (1200, True), (360, False), (360, True)]
)
def test_reads_well(browser, folder, width, dark):
    seen = measure(browser, folder, width=width, dark=dark)
    assert seen["overflow"] == 0
    assert (brightness(seen["paper"]) < 60) == dark
    for colour in ("ink", "chart"):
        assert abs(brightness(seen[colour]) - brightness(seen["paper"])) > 150, colour
    assert len(seen["drawings"]) == 3
    assert all(300 <= drawn <= width for drawn in seen["drawings"])
    assert seen["letters"] >= 10  # pixels, also on a phone
    assert seen["banner"] == 0
    assert seen["verdict"] < 900
    if width == 1200:
        assert seen["figures"] < 700  # all of it on the first screen
    assert seen["scripts"] == 0
    assert seen["title"] == ""
    assert EVIL in seen["text"]
