"""`setveil report` writes what an audit found, for its owner, in the form that is wished."""

import json

import pytest
from tests.unit import audit_results as made
from typer.testing import CliRunner

from setveil.audit.store import Store
from setveil.cli import app


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit") / "out"
    store = Store.open(folder)
    made.write_releases(folder)
    store.keep_result(made.result())
    return folder


def report(*words):
    return CliRunner().invoke(app, ["report", *map(str, words)])


def test_a_page_by_default(audit):
    done = report(audit)
    assert done.exit_code == 0, done.output
    page = audit / "private" / "report.html"
    assert f"report: {page} (do not publish it)" in done.stderr
    assert done.stdout == ""
    assert page.stat().st_mode & 0o777 == 0o600
    text = page.read_text(encoding="utf-8")
    assert "PUBLISH" in text
    assert "gather, k = 10" in text
    assert "guessed" not in text
    assert str(audit) not in text
    assert report(audit, "--quiet").stderr == ""  # and a second time


def test_records_on_request(audit, tmp_path):
    done = report(audit, "--show-records", "-o", tmp_path / "page.html")
    assert done.exit_code == 0, done.output
    assert "guessed" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_markdown_goes_to_stdout(audit):
    done = report(audit, "--format", "md")
    assert done.exit_code == 0
    assert done.stdout.startswith("# PUBLISH: A clinic &lt;script&gt;")
    assert report(audit, "--format", "md", "--show-records").exit_code == 2


def test_json_is_the_result_without_records(audit):
    said = json.loads(report(audit, "--format", "json").stdout)
    assert said["schema"] == 2
    assert said["recommended"] == "id-gather-k10"
    assert not [each for run in said["runs"] for each in run["adversaries"] if "examples" in each]
    assert not [run for run in said["runs"] if "story" in run["figures"]]
    whole = json.loads(report(audit, "--format", "json", "--show-records").stdout)
    assert [each for run in whole["runs"] for each in run["adversaries"] if each["examples"]]


def test_pictures(audit, tmp_path):
    done = report(audit, "--format", "md", "--figures", tmp_path / "pictures")
    assert done.exit_code == 0
    assert len(list((tmp_path / "pictures").iterdir())) == 6
    assert "figure: " in done.stderr


def test_nothing_private_goes_among_the_releases(audit):
    for words in (
        ["-o", audit / "publish" / "x.html"],
        ["--figures", audit / "publish" / "gather"],
    ):
        done = report(audit, *words)
        assert done.exit_code == 2
        assert "must not be among the releases" in done.stderr


def test_a_file_is_not_replaced_unasked(audit, tmp_path):
    file = tmp_path / "there.html"
    file.write_text("mine")
    assert report(audit, "-o", file).exit_code == 2
    assert file.read_text() == "mine"
    assert report(audit, "-o", file, "--force").exit_code == 0
    done = report(audit, "-o", audit / "private" / "audit.json", "--force")
    assert done.exit_code == 2


@pytest.mark.parametrize("content", [None, "{", "[]", '{"setveil": "audit", "version": 2}'])
def test_what_is_no_audit_is_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "private").mkdir()
        (tmp_path / "private" / "audit.json").write_text(content)
    done = report(tmp_path)
    assert done.exit_code == 2
    assert "audit" in done.stderr
    assert "Traceback" not in done.output
