"""Items outside the tree and releases of nothing but roots: what every command says of them."""

import json

import polars as pl
import pytest
from tests.cli.conftest import VISITS

import setveil

RARE = ["gout", "cold sore"]
ROOTS = (
    "This release shows only which records have items: every item is replaced by the root of the "
    "taxonomy ('finding'), which stands for any of 7 items."
)


@pytest.fixture
def odd(clinic):
    """Give the clinic more visits, two of them with items that the tree lacks."""
    visits = [*(VISITS * 3), ["gout", "flu"], ["cold sore"]]
    clinic.data.write_text("".join(json.dumps(visit) + "\n" for visit in visits))
    clinic.count = len(visits)
    return clinic


def km(clinic, *more):
    return clinic.anonymize("apriori-km", "--k", 3, "--m", 2, "--key", clinic.key, *more)


def measure(clinic, missing, *more):
    options = ["--original", clinic.data, "--taxonomy", clinic.tree, "--missing", missing]
    return clinic.run("measure", clinic.release, *options, "--key", clinic.key, *more)


def test_refused_with_what_is_at_stake(odd):
    refused = km(odd)
    assert refused.exit_code == 2
    assert "2 of 7 items are not in the taxonomy (2 of 51 occurrences): 'cold sore', 'gout'." in (
        refused.stderr
    )
    assert "attach-to-root" not in refused.stderr
    assert not odd.release.exists()


def test_attach_to_root_warns_and_every_command_says_what_is_left(odd):
    result = km(odd, "--missing", "attach-to-root", "--quiet")
    assert result.exit_code == 0, result.output
    assert result.stderr == (
        "Warning: 2 items with fewer than 3 records (k = 3) hang directly under the root. A "
        "method that generalizes an item alike in all records and deletes none, such as "
        "apriori-km, then publishes the root for every item. Use --missing nearest, or --missing "
        "drop (it costs 2 of 51 occurrences).\n"
    )
    assert ROOTS in result.stdout.splitlines()
    assert set(map(tuple, setveil.load_release(odd.release).to_rows())) == {("finding",)}
    checked = odd.run("verify", odd.release)
    assert (checked.exit_code, checked.stdout.splitlines()[-1]) == (0, ROOTS)
    told = json.loads(odd.run("verify", odd.release, "--json").stdout)["content"]
    assert told == {"sentence": ROOTS, "bare": True, "root_share": 1.0}
    measured = measure(odd, "attach-to-root")
    assert measured.stdout.splitlines()[-1] == ROOTS
    assert "Warning" not in measured.stderr
    told = json.loads(measure(odd, "attach-to-root", "--json").stdout)
    assert (told["root_share"], told["bare"]) == (1.0, True)


def test_nearest(odd):
    # "gout" shares "  g" with nothing: it needs something to be similar to.
    refused = km(odd, "--missing", "nearest")
    assert refused.exit_code == 2
    assert "1 of 2 items that are not in the taxonomy are similar to no item of it: 'gout'" in (
        refused.stderr
    )
    odd.data.write_text(odd.data.read_text().replace("gout", "colds"))
    result = km(odd, "--missing", "nearest")
    assert result.exit_code == 0, result.output
    lines = result.stderr.splitlines()
    # "cold sore" has 10 groups of letters, "colds" 6, "cold" 5, of which they have 5 and 4.
    start = lines.index(
        "  'cold sore': below 'infection', beside 'cold' (similarity of the names 0.50)"
    )
    assert lines[start + 1] == (
        "  'colds': below 'infection', beside 'cold' (similarity of the names 0.57)"
    )
    assert "Warning" not in result.stderr
    assert "This release shows only" not in result.stdout
    assert measure(odd, "nearest").exit_code == 0
    told = json.loads(km(odd, "--missing", "nearest", "--force", "--json").stdout)
    assert told["missing"]["placements"][0] == {
        "item": "cold sore",
        "like": "cold",
        "parent": "infection",
        "similarity": 0.5,
        "by": "name",
        "root": False,
    }
    assert (told["content"]["bare"], told["content"]["sentence"]) == (False, None)


def test_drop(odd):
    result = km(odd, "--missing", "drop")
    assert result.exit_code == 0, result.output
    said = (
        "2 items are not in the taxonomy ('cold sore', 'gout'), with 2 of 51 occurrences. They "
        "are left out. 1 record is left without items."
    )
    assert said in result.stderr.splitlines()
    release = setveil.load_release(odd.release)
    assert len(release) == odd.count
    assert release.to_rows().count([]) == 1
    shown = {item for row in release.to_rows() for item in row}
    assert "finding" not in shown
    assert setveil.load_key(odd.key).records.max() == odd.count - 1
    measured = measure(odd, "drop")
    assert measured.exit_code == 0, measured.output
    assert said in measured.stderr
    assert "All figures are about the records without these items." in measured.stderr
    asked = ["--targets", odd.data, "--taxonomy", odd.tree, "--missing", "drop", "--seed", 1]
    found = odd.run("attack", "linkage", odd.release, *asked, "-o", odd.folder / "guess")
    assert found.exit_code == 0, found.output
    links = json.loads((odd.folder / "guess").read_text())["links"]
    known = {item for link in links for item in link[0]}
    assert known
    assert not known & set(RARE)


def test_the_tree_alone_says_what_can_be_done(odd):
    result = odd.run("taxonomy", "check", odd.tree, "--data", odd.data)
    assert result.exit_code == 1
    assert "2 of 51 occurrences are of items that are not in the tree." in result.stderr
    assert "--missing nearest" in result.stderr
    assert "attach-to-root" not in result.stderr


# --- audits ---------------------------------------------------------------------------------------


def audit(clinic, *more):
    options = ["--taxonomy", clinic.tree, "--methods", "apriori-km:k=3,m=2", "--min-k", 3]
    out = ["--target", 1, "--workers", 0, "--seed", 1, "-o", clinic.folder / "audit"]
    return clinic.run("audit", clinic.data, *options, *out, *more)


def test_an_audit_does_not_recommend_roots(odd):
    result = audit(odd, "--missing", "attach-to-root")
    assert result.exit_code == 1, result.output
    assert "hang directly under the root" in result.stderr
    assert ROOTS in result.stderr
    assert "it says nothing about which items a record has" in result.stdout
    assert "To publish" not in result.stdout
    page = (odd.folder / "audit" / "private" / "report.html").read_text()
    assert "This release shows only which records have items" in page


def test_an_audit_after_dropping_says_so(odd):
    result = audit(odd, "--missing", "drop")
    assert result.exit_code == 0, result.output
    assert "nothing about which items" not in result.stdout
    page = (odd.folder / "audit" / "private" / "report.html").read_text()
    assert "with 2 of 51 occurrences. They are left out." in page
    assert "All figures are about the records without these items." in page


def test_rare_sensitive_items_outside_the_tree_are_warned_of(odd):
    (odd.folder / "secret.txt").write_text("gout\ncold sore\n")
    result = audit(odd, "--sensitive", odd.folder / "secret.txt")
    assert "2 items, the rarest in 1 record, hang directly under the root" in result.stderr
    assert "it says nothing about which items a record has" in result.stdout
    odd.data.write_text(odd.data.read_text().replace("gout", "colds"))
    (odd.folder / "secret.txt").write_text("colds\ncold sore\n")
    result = audit(
        odd, "--sensitive", odd.folder / "secret.txt", "--missing", "nearest", "-o",
        odd.folder / "nearest",
    )  # fmt: skip
    assert "Warning" not in result.stderr
    assert "nothing about which items" not in result.stdout


# --- on Spark -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.spark
def test_on_spark(odd, spark):  # commands find the session that all tests share
    folder = odd.folder / "visits"
    folder.mkdir()
    setveil.read(odd.data).to_frame().write_parquet(folder / "a.parquet")
    assert pl.read_parquet(folder / "a.parquet").height > odd.count
    options = ["--taxonomy", odd.tree, "--k", 3, "--m", 2, "-o", odd.release, "--engine", "spark"]

    def made(*more):
        return odd.run("anonymize", "apriori-km", folder, *options, "--force", *more)

    refused = made()
    assert refused.exit_code == 2
    assert "2 of 7 items are not in the taxonomy (2 of 51 occurrences)" in refused.stderr
    roots = made("--missing", "attach-to-root")
    assert "2 items with fewer than 3 records (k = 3) hang directly under" in roots.stderr
    assert ROOTS in roots.stdout.splitlines()
    for engine in ("local", "spark"):
        found = odd.run("verify", odd.release, "--engine", engine)
        assert (found.exit_code, found.stdout.splitlines()[-1]) == (0, ROOTS)
    asked = ["--original", odd.data, "--taxonomy", odd.tree, "--engine", "spark"]
    found = odd.run("measure", odd.release, *asked, "--missing", "attach-to-root")
    assert found.stdout.splitlines()[-1] == ROOTS
    left = made("--missing", "drop")
    assert left.exit_code == 0, left.output
    assert "with 2 of 51 occurrences. They are left out." in left.stderr
    there = sorted(setveil.load_release(odd.release).to_rows())
    km(odd, "--missing", "drop", "--force")
    assert there == sorted(setveil.load_release(odd.release).to_rows())
    here = measure(odd, "drop", "--json")
    spark_too = measure(odd, "drop", "--json", "--engine", "spark")
    assert spark_too.exit_code == 0, spark_too.output
    expected, found = json.loads(here.stdout), json.loads(spark_too.stdout)
    assert found["ncp"] == pytest.approx(expected["ncp"], rel=1e-12)
