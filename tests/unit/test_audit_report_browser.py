"""The audit's page in a real browser: it reads well everywhere, and hover, filter and links work.

With the environment variable SETVEIL_SCREENSHOTS the pictures of the page are kept in that folder.
"""

import html
import json
import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from tests.conftest import missing_component
from tests.unit import audit_results as made
from tests.unit.audit_results import EVIL

from setveil.report import render_audit

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


@pytest.fixture(scope="module")
def browser():
    found = shutil.which("chromium")
    if found is None:
        missing_component("chromium is not installed")
    return found


def brightness(rgb):
    return sum(rgb[:3]) / 3


# A page around the report looks into it, and does what a reader does.
AROUND = """<!doctype html><iframe src="report.html" width="WIDTH" height="900"></iframe>
<script>
window.alert = () => { document.title = "a script ran"; };
onload = () => {
  const frame = document.querySelector("iframe");
  const page = frame.contentDocument, view = frame.contentWindow;
  view.alert = window.alert;
  const root = page.documentElement;
  const all = what => [...page.querySelectorAll(what)];
  const seen = element => element.getClientRects().length > 0;
  const rgb = (element, what) => getComputedStyle(element)[what].match(/\\d+/g).map(Number);
  const rows = () => all("#all tbody tr").filter(seen).map(row => row.dataset.run);
  const drawings = all("figure svg").filter(seen);
  const text = drawings[0].querySelector("text");
  const found = {
    overflow: root.scrollWidth - root.clientWidth,
    paper: rgb(page.body, "backgroundColor"),
    ink: rgb(page.body, "color"),
    chart: rgb(text, "fill"),
    widths: drawings.map(svg => svg.getBoundingClientRect().width),
    letters: Math.min(...drawings.map(
      svg => svg.querySelector("text").getBoundingClientRect().height)),
    banner: page.querySelector(".banner").getBoundingClientRect().top,
    verdict: page.querySelector("#verdict").getBoundingClientRect().bottom,
    figures: page.querySelector(".figures").getBoundingClientRect().bottom,
    requests: view.performance.getEntriesByType("resource").map(each => each.name),
    rows: rows().length,
  };
  const link = all("#picture a[href='#run-gather-k10']").find(seen);
  const tip = page.getElementById("tip");
  link.dispatchEvent(new view.PointerEvent("pointerenter"));
  found.tip = tip.innerText;
  found.lit = all("tr.lit").map(row => row.dataset.run);
  const box = tip.getBoundingClientRect();
  found.inside = box.left >= 0 && box.right <= root.clientWidth && box.top >= 0;
  link.dispatchEvent(new view.PointerEvent("pointerleave"));
  found.gone = !seen(tip);
  link.dispatchEvent(new view.FocusEvent("focus"));
  found.focused = tip.innerText;
  link.dispatchEvent(new view.FocusEvent("blur"));
  const box_of = what => page.querySelector(`.filter input${what}`);
  box_of("[data-method=coat]").click();
  found.coat = rows();
  found.faded = all("#picture a.faded").filter(seen).length;
  box_of("[data-only=meets]").click();
  found.none = rows();
  box_of("[data-method=coat]").click();
  found.meets = rows();
  found.said = page.getElementById("shown").textContent;
  page.querySelector(".reset").click();
  found.reset = rows().length;
  const heads = all("#all th button");
  heads[3].click();
  found.cheapest = rows()[0];
  found.last = rows().at(-1);
  heads[3].click();
  found.dearest = rows()[0];
  found.closed = page.getElementById("run-coat-k5").closest("details").open;
  view.location.hash = "#run-coat-k5";
  setTimeout(() => {
    const run = page.getElementById("run-coat-k5");
    found.open = run.closest("details").open && page.activeElement === run;
    found.text = page.body.innerText;
    found.title = document.title;
    document.body.textContent = JSON.stringify(found);
  }, 500);
};
</script>"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit-page")
    made.write_releases(folder)
    page = render_audit(made.result(), folder, show_records=True)
    (folder / "report.html").write_text(page, encoding="utf-8")
    plain = re.sub(r"<script>.*</script>", "", page, flags=re.DOTALL)
    (folder / "plain.html").write_text(plain, encoding="utf-8")
    return folder


def run(browser, folder, name, *more):
    done = subprocess.run(
        [browser, *FLAGS, "--enable-logging=stderr", f"--user-data-dir={folder / name}", *more],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "CONSOLE" not in done.stderr, [
        line for line in done.stderr.splitlines() if "CONSOLE" in line
    ]
    return done.stdout


def scheme(dark):
    return f"--blink-settings=preferredColorScheme={0 if dark else 1}"


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (390, True)])
def test_reads_well_and_answers(browser, folder, width, dark):
    around = folder / f"around-{width}.html"
    around.write_text(AROUND.replace("WIDTH", str(width)), encoding="utf-8")
    body = run(browser, folder, f"profile-{width}", scheme(dark), around.as_uri())
    seen = json.loads(html.unescape(re.search(r"<body>(.*)</body>", body, re.DOTALL)[1]))
    assert seen["title"] == ""
    assert seen["requests"] == []
    assert seen["overflow"] == 0
    assert (brightness(seen["paper"]) < 60) == dark
    for colour in ("ink", "chart"):
        assert abs(brightness(seen[colour]) - brightness(seen["paper"])) > 150, colour
    # One of the two frontiers, attacks (as bars in their table on a phone), uniqueness.
    assert len(seen["widths"]) == (3 if width == 1200 else 2)
    assert all(250 <= drawn <= width for drawn in seen["widths"])
    assert seen["letters"] >= 10  # pixels, also on a phone
    assert seen["banner"] == 0
    assert seen["verdict"] < 900
    if width == 1200:
        assert seen["figures"] < 800  # all of it on the first screen
    assert EVIL in seen["text"]
    runs = made.runs()
    assert seen["rows"] == seen["reset"] == len(runs)
    for card in ("tip", "focused"):
        assert seen[card].startswith("gather, k = 10"), card
        assert "risk 8.7%, loss 21.9%" in seen[card]
    assert seen["inside"]
    assert seen["gone"]
    assert seen["lit"] == ["run-gather-k10"] * 2
    assert seen["coat"] == [f"run-coat-k{k}" for k in (2, 5, 10, 25)]
    drawn = [each for each in runs if each.loss is not None and each.risk is not None]
    assert seen["faded"] == len(drawn) - 4
    assert seen["none"] == []
    fit = [f"run-{each.name}" for each in drawn if each.verified and each.risk <= 0.1]
    assert seen["meets"] == fit
    assert seen["said"] == f"{len(fit)} of {len(runs)} shown"
    by_loss = sorted(drawn, key=lambda each: each.loss)
    assert seen["cheapest"] == f"run-{by_loss[0].name}"
    assert seen["dearest"] == f"run-{by_loss[-1].name}"
    assert seen["last"] in {"run-cahd-p4", "run-lra-k5", "run-optimal-km-k5"}
    assert not seen["closed"]
    assert seen["open"]


@pytest.mark.parametrize(
    ("name", "width"),
    [("light", 1200), ("dark", 1200), ("phone", 500), ("no-script", 1200)],
)
def test_screenshots(browser, folder, name, width):
    page = "plain" if name == "no-script" else "report"
    kept = Path(os.environ.get("SETVEIL_SCREENSHOTS", folder))
    kept.mkdir(parents=True, exist_ok=True)
    picture = kept / f"audit-{name}.png"
    run(
        browser,
        folder,
        f"profile-{name}",
        scheme(name == "dark"),
        f"--window-size={width},2000",
        f"--screenshot={picture}",
        (folder / f"{page}.html").as_uri(),
    )
    content = picture.read_bytes()
    assert struct.unpack(">II", content[16:24]) == (width, 2000)
    assert len(content) > 50_000  # not an empty page
