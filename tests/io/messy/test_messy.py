"""Messy files are read as an expert would read them, or refused; identities are never published.

The files and what is expected of each stand in ``cases.py``.
"""

import codecs
import json
import re
from collections import Counter

import pytest
from tests.io.messy.cases import CASES, EVERY_METHOD
from typer.testing import CliRunner

import setveil
from setveil.cli import app
from setveil.core.errors import InputError, ParameterError
from setveil.core.params import usual_values
from setveil.core.registry import entries

BY_NAME = {case.name: case for case in CASES}
WITH_IDENTITIES = [case for case in CASES if case.ids]
COAT = (
    "wide-german-latin1-many-columns",
    "long-name-is-the-only-id",
    "cells-semicolon",
    "flags-pandas-index-and-label",
    "parquet-lists",
    "sqlite-one-table",
)
GATHER = (
    *COAT[:3],
    "wide-no-header-names",
    "json-lines-other-field-names",
    "excel-wide-with-dates",
)
SENSITIVE = "asthma"  # two of the clinic's eight patients have it
HASH = re.compile(rb"[0-9a-f]{16,}")


def by_name(names):
    return pytest.mark.parametrize("case", [BY_NAME[name] for name in names], ids=names)


def each(cases):
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])


# --- The table of cases itself -------------------------------------------------------------------


def test_cases_are_well_formed():
    counts = Counter(case.name for case in CASES)
    assert [name for name, count in counts.items() if count > 1] == []
    assert len(CASES) >= 75
    for case in CASES:
        re.compile(case.message)
        assert (case.kind == "refused") == (not case.rows), case.name
        # Short texts would be found by chance among the bytes of a release.
        assert all(len(text) >= 5 for text in case.ids), case.name
        published = {item for row in case.rows for item in row}
        for text in case.ids:
            assert not any(text in item for item in published), (case.name, text)


@each(CASES)
def test_file_is_written(case, tmp_path):
    assert case.write(tmp_path).exists()


# --- Reading -------------------------------------------------------------------------------------


def read_or_refusal(path, options):
    """Return the table and None, or None and the message of the refusal."""
    try:
        return setveil.read(path, **options), None
    except (InputError, ParameterError) as error:
        return None, str(error)


@each(CASES)
def test_reading(case, tmp_path):
    path = case.write(tmp_path)
    before = path.read_bytes()
    table, refusal = read_or_refusal(path, case.options)
    assert path.read_bytes() == before
    if refusal is not None:
        assert case.kind != "clear", f"must be read, but was refused: {refusal}"
        assert re.search(case.message, refusal, re.IGNORECASE | re.DOTALL), refusal
        return
    rows = table.to_rows()
    check_no_identity_in(rows, case)
    assert case.kind != "refused", f"must be refused, but was read: {rows}"
    assert [sorted(row) for row in rows] == [list(row) for row in case.rows]
    check_layout(table.reading.layout, case)


def check_no_identity_in(rows, case):
    """Fail if an item, a label or a part of one is a text of an identity column."""
    found = {(text, item) for row in rows for item in row for text in case.ids if text in item}
    assert not found, f"identities among the items: {sorted(found)}"


def check_layout(layout, case):
    """Compare what is said of the layout with what the case says about it."""
    assert layout.format in case.formats
    for key, expected in case.layout.items():
        said = getattr(layout, key)
        if key == "encoding":
            known = {codecs.lookup(name).name for name in expected}
            assert codecs.lookup(said).name in known, said
        else:
            assert said == expected, key
    if not (case.roles or case.separators):
        return
    columns = {column.name.strip(): column for column in layout.columns}
    for name, roles in case.roles.items():
        assert name in columns, f"{name!r} is not among {sorted(columns)}"
        assert columns[name].role in roles, f"{name!r}: {columns[name].role!r}"
    for name, separator in case.separators.items():
        assert columns[name].separator.strip() == separator, name


# --- Publishing ----------------------------------------------------------------------------------


def command_options(case):
    """Return the options of a case as the command line spells them."""
    args = []
    for name, value in case.options.items():
        args += [f"--{name.replace('_', '-')}", str(value)]
    return args


def can_be_published(case):
    """Tell whether disassociation with k = 2 must succeed: it takes two records, none empty.

    Without this, a command that lacks an option would refuse every file and pass the test.
    """
    return case.kind == "clear" and len(case.rows) >= 2 and all(case.rows)


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


def check_outcome(result, release, case, *, must_succeed):
    """Fail unless the command refused, or succeeded and published no identity."""
    assert result.exit_code in {0, 2}, result.output
    if result.exit_code == 2:
        assert not must_succeed, result.output
        assert not release.exists() or not any(release.iterdir())
        return
    assert case.kind != "refused", "published a file that must be refused"
    check_no_identity_in(setveil.load_release(release).to_rows(), case)
    files = [path for path in release.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".json", ".jsonl"}
    for path in files:
        check_no_identity_in_bytes(path.read_bytes(), case)


def check_no_identity_in_bytes(content, case):
    """Search raw bytes, as text and as JSON escapes it; hashes may hold digits by chance."""
    content = HASH.sub(b"", content)
    for text in case.ids:
        for spelling in {text, json.dumps(text)[1:-1]}:
            assert spelling.encode() not in content, f"{text!r} is in the published bytes"


@each(WITH_IDENTITIES)
def test_no_identity_is_published(case, tmp_path):
    release = tmp_path / "release"
    result = run(
        "anonymize", "disassociate", case.write(tmp_path), *command_options(case), "--k", 2,
        "-o", release, "--quiet", "--release-format", "jsonl",
    )  # fmt: skip
    check_outcome(result, release, case, must_succeed=can_be_published(case))


@by_name(COAT)
def test_no_identity_is_published_by_coat(case, tmp_path):
    release = tmp_path / "release"
    result = run(
        "anonymize", "coat", case.write(tmp_path), *command_options(case), "--k", 2,
        "--constrained", 1,
        "-o", release, "--quiet", "--release-format", "jsonl",
    )  # fmt: skip
    check_outcome(result, release, case, must_succeed=case.kind == "clear")


@by_name(GATHER)
def test_no_identity_is_published_along_a_tree(case, tmp_path):
    path, tree, release = case.write(tmp_path), tmp_path / "tree.csv", tmp_path / "release"
    built = run("taxonomy", "build", path, *command_options(case), "-o", tree, "--quiet")
    if built.exit_code == 2:
        assert case.kind != "clear", built.output
        assert not tree.exists()
        return
    assert built.exit_code == 0, built.output
    check_no_identity_in_bytes(tree.read_bytes(), case)
    result = run(
        "anonymize", "gather", path, *command_options(case), "--taxonomy", tree, "--k", 2,
        "-o", release, "--quiet", "--release-format", "jsonl",
    )  # fmt: skip
    check_outcome(result, release, case, must_succeed=case.kind == "clear")


@pytest.mark.parametrize("method", entries("anonymizer"), ids=lambda entry: entry.name)
@by_name(EVERY_METHOD)
def test_no_identity_is_published_by_any_method(case, method, tmp_path):
    path, release = case.write(tmp_path), tmp_path / "release"
    options = []
    letter = next((name for name in "kpl" if hasattr(method.target, name)), None)
    if letter is not None:
        options += [f"--{letter}", 2]
    for name, value in usual_values(method.target).items():
        options += [f"--{name}", value]
    if "taxonomy" in method.target.requires:
        tree = tmp_path / "tree.csv"
        built = run("taxonomy", "build", path, "-o", tree, "--quiet")
        assert built.exit_code == 0, built.output
        options += ["--taxonomy", tree]
    if "sensitive" in method.target.requires:
        sensitive = tmp_path / "sensitive.txt"
        sensitive.write_text(f"{SENSITIVE}\n")
        options += ["--sensitive", sensitive, "--sensitive-in-tree", "take-out"]
    result = run(
        "anonymize", method.name, path, *options,
        "-o", release, "--quiet", "--release-format", "jsonl",
    )  # fmt: skip
    check_outcome(result, release, case, must_succeed=True)
    if method.name == "token-hashing":
        # A hash hides its text from the search, so the hashes are counted.
        published = setveil.load_release(release).to_rows()
        assert sum(map(len, published)) == sum(map(len, case.rows))
