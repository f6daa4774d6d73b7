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
from tests.unit.chromium import brightness, look

from setveil.report import render_audit
from setveil.report.summary import first_screen

RISKS = ".risk:last-of-type .cell:last-child"

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


# A page around the report looks into it, and does what a reader does.
AROUND = """<!doctype html><iframe src="report.html" width="WIDTH" height="HEIGHT"></iframe>
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
    first: Object.fromEntries([".answer", ".lead", "RISKS", ".said"]
      .map(what => [what, page.querySelector(what).getBoundingClientRect().bottom])),
    screen: page.querySelector("#verdict").innerText,
    hidden: all(".risk p").filter(p => p.innerText).length,
    requests: view.performance.getEntriesByType("resource").map(each => each.name),
    rows: rows().length,
  };
  page.querySelector(".risk summary").click();
  found.details = all(".risk p").map(p => p.innerText).filter(Boolean);
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
  box_of("[data-only=passes]").click();
  found.none = rows();
  box_of("[data-method=coat]").click();
  found.passes = rows();
  found.said = page.getElementById("shown").textContent;
  page.querySelector(".reset").click();
  found.reset = rows().length;
  const heads = all("#all th button");
  heads[5].click();
  found.cheapest = rows()[0];
  found.last = rows().at(-1);
  heads[5].click();
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


@pytest.mark.parametrize(("width", "height", "dark"), [(1280, 800, False), (390, 844, True)])
def test_reads_well_and_answers(browser, folder, width, height, dark):
    around = folder / f"around-{width}.html"
    page = AROUND.replace("WIDTH", str(width)).replace("HEIGHT", str(height))
    page = page.replace("RISKS", RISKS)
    around.write_text(page, encoding="utf-8")
    body = run(browser, folder, f"profile-{width}", scheme(dark), around.as_uri())
    seen = json.loads(html.unescape(re.search(r"<body>(.*)</body>", body, re.DOTALL)[1]))
    assert seen["title"] == ""
    assert seen["requests"] == []
    assert seen["overflow"] == 0
    assert (brightness(seen["paper"]) < 60) == dark
    for colour in ("ink", "chart"):
        assert abs(brightness(seen[colour]) - brightness(seen["paper"])) > 150, colour
    assert len(seen["widths"]) == 2  # one of the two frontiers, uniqueness
    assert all(250 <= drawn <= width for drawn in seen["widths"])
    assert seen["letters"] >= 10  # pixels, also on a phone
    assert seen["banner"] == 0
    # Without scrolling: the answer, what is in it, and the three risks before and after.
    ends = [seen["first"][what] for what in (".answer", ".lead", RISKS)]
    assert ends == sorted(ends)
    assert ends[-1] < height
    if width == 1280:
        assert seen["first"][".said"] < height  # and all else that the first screen says
    told = re.sub(r"\s+", " ", seen["screen"])
    screen = first_screen(made.result())
    assert told.startswith(screen.answer)
    assert screen.headline in told
    for row in screen.risks:
        for part in (row.label, row.original, row.release):
            assert part in told
    assert seen["hidden"] == 0
    assert seen["details"] == [f"This release: {screen.risks[0].details}."]
    assert EVIL in seen["text"]
    runs = made.runs()
    assert seen["rows"] == seen["reset"] == len(runs)
    for card in ("tip", "focused"):
        assert seen[card].startswith("gather, k = 10"), card
        assert "singling out 1.7%, linkage 8.7%, inference 5.6%" in seen[card]
        assert "loss 21.9%" in seen[card]
    assert seen["inside"]
    assert seen["gone"]
    assert seen["lit"] == ["run-gather-k10"]
    assert sorted(seen["coat"]) == sorted(f"run-coat-k{k}" for k in (2, 5, 10, 25))
    drawn = [each for each in runs if each.loss is not None and each.risk is not None]
    assert seen["faded"] == len(drawn) - 4
    assert seen["none"] == []
    fit = [f"run-{each.name}" for each in drawn if each.verified and each.risk <= 0.1]
    assert sorted(seen["passes"]) == sorted(fit)
    assert seen["said"] == f"{len(fit)} of {len(runs)} shown"
    by_loss = sorted(drawn, key=lambda each: each.loss)
    assert seen["cheapest"] == f"run-{by_loss[0].name}"
    assert seen["dearest"] == f"run-{by_loss[-1].name}"
    assert seen["last"] in {"run-cahd-p4", "run-lra-k5", "run-optimal-km-k5"}
    assert not seen["closed"]
    assert seen["open"]


LOOK = """<!doctype html><iframe src="plain.html" width="1280" height="800"></iframe>
<script>
onload = () => {
  const page = document.querySelector("iframe").contentDocument;
  const all = what => [...page.querySelectorAll(what)];
  all(".risk summary")[1].click();
  const seen = all(".risk p").map(p => p.innerText).filter(Boolean);
  const told = {seen, text: page.body.innerText, rows: all("#all tbody tr").length};
  document.body.textContent = JSON.stringify(told);
};
</script>"""


def test_works_without_its_script(folder):
    around = folder / "without.html"
    around.write_text(LOOK, encoding="utf-8")
    seen = look(around)
    screen = first_screen(made.result())
    assert seen["seen"] == [f"This release: {screen.risks[1].details}."]  # a click opens it
    assert seen["rows"] == len(made.runs())
    assert screen.headline in seen["text"]


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
