"""Numbers beyond all bounds: refused in a sentence, or harmless; never a traceback or a wait."""

import pytest
from typer.testing import CliRunner

from setveil.cli import app

LIMITS = ("9" * 400, "9" * 5000, "nan", "inf", "-5", "1e400", "5 parsecs", "0", "", "٣s")
"""Not a time, not a size, or more of it than there is."""


@pytest.fixture
def data(tmp_path):
    """Return a small file of records."""
    file = tmp_path / "visits.csv"
    file.write_text("flu,gout\nflu,rash\nflu\ngout,rash\n" * 3)
    return file


def invoke(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.mark.parametrize("value", LIMITS)
@pytest.mark.parametrize("option", ["--budget", "--memory"])
@pytest.mark.parametrize("command", ["audit", "harden"])
def test_limits_of_audits(command, option, value, data, tmp_path):
    found = invoke(command, data, "--format", "basket", f"{option}={value}", "-o", tmp_path / "out")
    assert found.exit_code == 2, found.output
    assert f"{option} is {value[:60]!r}" in found.output
    assert len(found.output) < 400
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("value", LIMITS)
def test_limits_of_methods(value, data, tmp_path):
    method = ("anonymize", "suppress-control", data, "--format", "basket", "--sensitive-share", 0.5)
    found = invoke(*method, f"--budget={value}", "-o", tmp_path / "out")
    assert found.exit_code == 2, found.output
    assert "is not a duration" in found.output
    assert len(found.output) < 600


@pytest.mark.parametrize("value", ['"' + "9" * 400 + '"', "9" * 400, "inf", "nan", "-5"])
def test_limits_in_a_file(value, tmp_path):
    file = tmp_path / "audit.toml"
    file.write_text(f'data = "visits.csv"\nbudget = {value}\n')
    found = invoke("audit", file, "-o", tmp_path / "out")
    assert found.exit_code == 2, found.output
    assert "budget is" in found.output
    assert len(found.output) < 600
