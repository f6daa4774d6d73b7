"""Names from strangers are shown as what they are: they neither redraw the terminal nor hide.

One table, tree, list and folder full of spoofs goes through every command; nothing that a person
reads may hold a raw control, bidi or zero-width character.
"""

import html
import json
import re
import shutil
import subprocess
import unicodedata

import pytest
from markdown_it import MarkdownIt
from tests.conftest import missing_component
from tests.unit import audit_results as made
from typer.testing import CliRunner

import setveil
from setveil import TransactionTable
from setveil.cli import app
from setveil.cli.output import _keep_details
from setveil.core.charts import bars, draw
from setveil.core.errors import InputError
from setveil.core.words import is_formula, visible
from setveil.guarantee import KAnonymity
from setveil.release import publish_suppressed
from setveil.release.store import save
from setveil.report import markdown_audit

SPOOFS = (
    "flu\x1b[2K\x1b[1A",  # wipes the line before
    "flu\nk-anonymity:k=2  holds: all",  # looks like another verdict
    "flu\r",
    "flu\u202eVIH",  # turned round
    "flu\u2066x\u2069",
    "flu\u200f",
    "flu\u061c",
    "flu\u200b",  # looks like flu
    "flu\u200dx",
    "flu\ufeff",
    "flu\u00ad",
    "flu\u00a0",
    "flu\u3164",
    "flu\ufe0f",
    "flu\u2028k-anonymity:k=2  holds: all",
    "flu\x85x",
    "\u0301flu",  # an accent that stands on what comes before
    "flu\U000e0001\U000e0041",  # tags
    "flu\x9b2J",  # the same as an escape, in one character
    "flu\x7f",
    "\x1b]8;;https://evil.example\x1b\\flu\x1b]8;;\x1b\\",  # a link, in a terminal
    "=cmd|' /C calc'!A0",
    "<img src=x onerror=alert(1)>",
    "[flu](https://evil.example) `x` | *y* | https://evil.example www.evil.example",
)
INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe0e\ufe0f\uffa0\u180b")
"""Characters without a look that Unicode does not call control or format characters."""
FAKE = "k-anonymity:k=2  holds: all"


def hidden_in(text):
    """Return the hidden characters of a text other than line ends; no code of setveil's decides."""
    return {
        sign
        for sign in text.replace("\n", "")
        if unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
        or (unicodedata.category(sign) == "Zs" and sign != " ")
        or sign in INVISIBLE
    } | set(re.findall("(?:^|[^\\w])([\u0300-\u036f])", text))


def assert_clean(text, what):
    assert hidden_in(text) == set(), f"{what}: {ascii(text)[:2000]}"
    assert not any(line.startswith(FAKE) for line in text.split("\n")), what


def run(*args, codes=(0,)):
    found = CliRunner().invoke(app, list(map(str, args)))
    assert found.exit_code in codes, (args, found.output)
    assert_clean(found.stdout, args)
    assert_clean(found.stderr, args)
    return found


# --- one place ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SPOOFS, ids=ascii)
def test_names_are_written_out_once_and_json_stays_exact(name):
    assert_clean(visible(name), name)
    assert visible(visible(name)) == visible(name)
    assert json.loads(setveil.core.words.json_text([name])) == [name]


@pytest.mark.parametrize(
    "name", ["café", "naïve e\u0301", "हिन्दी", "ไทย", "Ωμέγα", "→ × ≥ … ★", "👍🏽"]
)
def test_letters_stay_letters(name):
    assert visible(name) == name


@pytest.mark.parametrize("name", SPOOFS, ids=ascii)
def test_a_violated_release_looks_violated(name, tmp_path):
    table = TransactionTable.from_rows([[name], ["gout"], ["gout"]])
    release, _ = publish_suppressed(table, [True, True])
    save(release, tmp_path / "release", method="coat", params={}, promise=None)
    asked = ["verify", tmp_path / "release", "-g", "k-anonymity:k=2"]
    found = run(*asked, codes=[1])
    assert "VIOLATED" in found.output
    exact = run(*asked, "--json", codes=[1])
    assert name in json.loads(exact.stdout)["checks"][0]["witnesses"][0]["items"]
    assert_clean((tmp_path / "release" / "manifest.json").read_text(encoding="utf-8"), "manifest")


@pytest.mark.parametrize("name", SPOOFS, ids=ascii)
def test_errors_keep_names_on_their_line(name):
    error = InputError(f"{name} is wrong", where=name, fix=f"do not write {name}", lines=[name])
    assert_clean(str(error), name)
    assert str(error).count("\n") == 2
    assert error.what == f"{name} is wrong"


def test_details_of_faults_are_written_out(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in SPOOFS:
        assert_clean(_keep_details(ValueError(name)), name)
    files = list(tmp_path.iterdir())
    assert len(files) == len(SPOOFS)
    for file in files:
        kept = file.read_text(encoding="utf-8")
        assert hidden_in(kept) == set()


# --- every command --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a spoof for a name, and every kind of file in it full of spoofs."""
    place = tmp_path_factory.mktemp("spoofs") / "a\x1b[2K\u202e\u200b b\nsetveil: all is well"
    place.mkdir()
    names = [*SPOOFS, "flu", "gout"]
    rows = [[name, names[-1 - number % 2]] for number, name in enumerate(names)] * 2
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (place / "visits\u202e.jsonl").write_text(lines, encoding="utf-8")
    tree = "id\tname\tparent\nroot\tall\u202e\t\nx\tx\u200b\troot\ny\ty\x1b[2K\troot\n"
    for number, name in enumerate(names):
        quoted = '"' + name.replace('"', '""') + '"'
        tree += f"{quoted}\t{quoted}\t{'xy'[number % 2]}\n"
    (place / "tree\u202e.tsv").write_bytes(tree.encode())
    one_line = [name for name in SPOOFS if len(name.splitlines()) == 1 and name == name.strip()]
    (place / "secret\u202e.txt").write_text("\n".join(one_line[:6]) + "\n", encoding="utf-8")
    (place / "missing\u202e.txt").write_text("no\u202esuch\n", encoding="utf-8")
    return place


@pytest.fixture
def files(folder):
    return {
        "data": folder / "visits\u202e.jsonl",
        "tree": folder / "tree\u202e.tsv",
        "secret": folder / "secret\u202e.txt",
        "missing": folder / "missing\u202e.txt",
    }


def test_reading_commands(folder, files):
    run("inspect", files["data"])
    run("inspect", files["data"], "--json")
    run("inspect", folder / "none\x1b[2K\n.csv", codes=[2])
    run("inspect", files["data"], "--item", "no\u202e\x1b[2K", codes=[0, 2])
    run("taxonomy", "check", files["tree"], "--data", files["data"])
    run("taxonomy", "check", files["tree"], "--data", files["data"], "--json")
    run("taxonomy", "check", files["data"], codes=[2])
    run("taxonomy", "build", files["data"], "-o", folder / "built\u202e.csv", codes=[0, 2])
    run("topics", files["data"], "-n", "2", codes=[0, 2])
    (folder / "notes\u202e.txt").write_text("\n".join(SPOOFS), encoding="utf-8")
    run("extract", folder / "notes\u202e.txt", "-o", folder / "notes\u202e.jsonl")
    run("index", folder / "notes\u202e.txt", "-o", folder / "notes\u202e.index")


@pytest.mark.parametrize("spoof", SPOOFS, ids=ascii)
def test_wrong_use(spoof, files, folder):
    for args in (
        [spoof],
        ["verify", spoof],
        ["verify", folder / "none", f"--{spoof}"],
        ["verify", spoof, "-g", spoof],
        ["anonymize", spoof],
        ["anonymize", "clump", files["data"], "--k", spoof, "-o", folder / "never"],
        ["anonymize", "clump", files["data"], "--release-format", spoof, "-o", folder / "never"],
        ["methods", spoof],
        ["report", spoof],
        ["audit", spoof + ".toml", "-o", folder / "never"],
        ["harden", files["data"], "--budget", spoof, "-o", folder / "never"],
        ["table", "check", "k-anonymity", spoof, "--quasi", spoof],
    ):
        run(*args, codes=[2])


def test_releases(folder, files):
    tree = ["--taxonomy", files["tree"]]
    data = files["data"]
    key = folder / "a\u202e.key"
    out = folder / "release\u202e\n"
    made_by = run("anonymize", "gather", data, *tree, "--k", 3, "-o", out, "--key", key)
    assert "\\u202e" in made_by.stdout
    run("anonymize", "gather", data, *tree, "--k", 3, "-o", out, codes=[2])
    run("verify", out)
    run("verify", out, "--json")
    run("verify", out, "-g", "k-anonymity:k=100", codes=[1])
    run("measure", out, "--original", data, "--key", key, *tree)
    run("attack", "linkage", out, "--targets", data, *tree, "-o", folder / "g\u202e.json")
    other = folder / "chunks\u202e"
    run("anonymize", "disassociate", data, "--k", 2, "-o", other, "--release-format", "csv")
    run("verify", other, "--json")
    for file in (out / "manifest.json", other / "manifest.json"):
        assert hidden_in(file.read_text(encoding="utf-8")) == set()
    manifest = json.loads((out / "manifest.json").read_text())
    for field in ("form", "method"):
        broken = folder / f"broken-{field}"
        shutil.copytree(out, broken)
        (broken / "manifest.json").write_text(json.dumps({**manifest, field: SPOOFS[1] + "\x1b"}))
        run("verify", broken, codes=[0, 2])


def test_sensitive_items(folder, files):
    asked = ["anonymize", "suppress-control", files["data"], "--rho", 0.9]
    stopped = run(*asked, "--sensitive", files["secret"], "-o", folder / "s1", codes=[2])
    assert "almost like a sensitive one" in stopped.stderr
    run(*asked, "--sensitive", files["missing"], "-o", folder / "s1", codes=[2])
    secret = [*asked, "--sensitive", files["secret"]]
    run(*secret, "--variants", "include", "-o", folder / "s1\u202e")
    run(*secret, "--variants", "distinct", "-o", folder / "s2\u202e", "--json")
    run("verify", folder / "s2\u202e")
    promise = f"rho-uncertainty:rho=0.9,sensitive=@{files['secret']}"
    warned = run("verify", folder / "s1\u202e", "-g", promise, codes=[0, 1])
    assert "written almost like a sensitive one" in warned.stderr


def test_tables(folder):
    rows = "".join(f'"{name}",{number % 2}\n' for number, name in enumerate(SPOOFS))
    file = folder / "people\u202e.csv"
    file.write_bytes(f'"Job\u202e\x1b[2K",Sex\n{rows}'.encode())
    out = folder / "public\u202e.csv"
    column = "Job\u202e\x1b[2K"
    run("table", "check", "k-anonymity", file, "--quasi", column, "--k", 2, codes=[0, 1])
    run("table", "check", "k-anonymity", file, "--quasi", "Job\u202e", "--k", 2, codes=[2])
    swapped = run("table", "swap", file, "--column", column, "--share", 0.3, "-o", out)
    assert "begins like a formula" in swapped.stderr


@pytest.fixture(scope="module")
def audited(folder):
    """An audit whose names are spoofs, from a file that is one, too."""
    settings = {
        "data": "visits\u202e.jsonl",
        "taxonomy": "tree\u202e.tsv",
        "sensitive": ["flu\u202eVIH"],
        "title": f"Visits {SPOOFS[0]}{SPOOFS[3]} <b>",
        "description": f"Of a clinic {SPOOFS[7]}",
        "methods": ["gather:k=3", "suppress-control:rho=0.9"],
        "attacks": ["linkage"],
        "variants": "distinct",
        "workers": 0,
        "seed": 1,
    }
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    (folder / "audit.toml").write_text(lines, encoding="utf-8")
    out = folder / "audit\u202e"
    run("audit", folder / "audit.toml", "-o", out, codes=[0, 1, 3, 4])
    return out


def test_reports(folder, audited):
    private = audited / "private"
    page = (private / "report.html").read_text(encoding="utf-8")
    assert_clean(page, "report.html")
    assert "\\u202e" in page
    run("report", audited, "--show-records")
    assert_clean((private / "report.html").read_text(encoding="utf-8"), "report.html")
    assert_clean((private / "audit.json").read_text(encoding="utf-8"), "audit.json")
    text = run("report", audited, "--format", "md").stdout
    assert "<b>" not in text
    assert json.loads(run("report", audited, "--format", "json").stdout)["title"].endswith("<b>")
    run("report", audited, "--figures", folder / "figures\u202e")
    for file in (folder / "figures\u202e").glob("*.svg"):
        assert_clean(file.read_text(encoding="utf-8"), file.name)
    result = setveil.audit.store.load_audit(audited)
    assert_clean(result._repr_html_(), "notebook")
    assert_clean(result.plot().svg(), "picture")


def test_the_page_in_a_browser(audited, tmp_path):
    browser = shutil.which("chromium")
    if browser is None:
        missing_component("chromium is not installed")
    run("report", audited, "--show-records", "-o", tmp_path / "report.html")
    around = tmp_path / "around.html"
    around.write_text(
        '<!doctype html><iframe src="report.html"></iframe><script>\n'
        "onload = () => { const page = document.querySelector('iframe').contentDocument;\n"
        "document.body.textContent = page.title + page.body.innerText; };</script>"
    )
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    flags += ["--virtual-time-budget=5000", "--dump-dom", f"--user-data-dir={tmp_path / 'p'}"]
    done = subprocess.run(
        [browser, *flags, around.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    body = re.search(r"<body>(.*)</body>", done.stdout, re.DOTALL)[1]
    text = html.unescape(body).replace("\t", " ")  # innerText puts tabs between cells
    assert "flu\\u202eVIH" in text
    assert "<img src=x onerror=alert(1)>" in text
    assert_clean(text, "page")


# --- Markdown, pictures, notebooks ----------------------------------------------------------------


def test_markdown_shows_names_and_nothing_else():
    plain = markdown_audit(made.result([made.run(title="gather")], recommended=None))
    reader = MarkdownIt("commonmark").enable("table")

    def tags(text):
        return re.findall("<(?:/?[a-z0-9]+|!)", reader.render(text))

    for name in (
        *SPOOFS,
        "- a",
        "1. a",
        "> a",
        "# a",
        "===",
        "a\n\n# b",
        "$x$",
        "<!-- x",
        "@user",
        "\t x",
    ):
        evil = made.run(title=name)
        text = markdown_audit(made.result([evil], recommended=None, notes=(name,)))
        base = markdown_audit(made.result([made.run(title="a")], recommended=None, notes=("a",)))
        assert_clean(text, name)
        assert tags(text) == tags(base), name
        assert "https://evil" not in text
        assert "www.evil" not in text
        shown = html.unescape(reader.render(text))
        assert visible(name).strip() in shown
    assert tags(plain)


def test_pictures_and_notebooks():
    for name in SPOOFS:
        drawn = draw(bars([{"x": name, "y": 0.5, "label": name}], x_title="x", y_title="y"))
        assert_clean(drawn, name)
        table = TransactionTable.from_rows([[name], ["gout"], ["gout"]])
        release, _ = publish_suppressed(table, [True, True])
        for shown in (table, release, KAnonymity(k=2).check(release)):
            page = shown._repr_html_()
            assert_clean(page, name)
            assert "<img" not in page


# --- files of data --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["=1+1", "+x", "-x", "@x", "\t=1", "\r=1", "\uff1d1", "-1+cmd|x"])
def test_formulas(name):
    assert is_formula(name)


@pytest.mark.parametrize("name", ["flu", "-5", "+3.5", "-1,000", "a=b", " =1", "", "-7%"])
def test_no_formulas(name):
    assert not is_formula(name)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_data_is_written_as_it_is_and_formulas_are_warned_of(ending, tmp_path):
    rows = [["=cmd|' /C calc'!A0", "flu"], ["-5", "gout"], ["flu", "@x"]]
    data = tmp_path / "visits.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / f"chosen.{ending}"
    done = run("select", data, "--size", 3, "-o", out, "--quiet")
    assert ("2 names in" in done.stderr) == (ending in {"csv", "tsv"})
    read = setveil.read(out, id="id", item="item") if ending == "parquet" else setveil.read(out)
    assert sorted(map(sorted, read.to_rows())) == sorted(map(sorted, rows))


def test_a_release_in_csv_is_exact_and_warned_of(tmp_path):
    rows = [["=cmd|' /C calc'!A0", "flu"]] * 3
    data = tmp_path / "visits.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = ["anonymize", "disassociate", data, "--k", 2, "-o", tmp_path / "release"]
    done = run(*asked, "--release-format", "csv", "--quiet")
    assert "1 name in" in done.stderr
    assert "begins like a formula" in done.stderr
    loaded = setveil.load_release(tmp_path / "release")
    assert "=cmd|' /C calc'!A0" in loaded.vocabulary.names
    assert "begins like" not in run(*asked, "--force").stderr
