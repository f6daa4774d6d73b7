"""An audit in a stranger's directory writes nothing through links that lie there."""

import pytest
from typer.testing import CliRunner

from setveil.cli import app


@pytest.mark.parametrize(
    "place", ["private/seed.json", "private/audit.json", "private/runs", "private/keys", "publish"]
)
def test_nothing_is_written_where_a_link_leads(tmp_path, place):
    (tmp_path / "visits.csv").write_text("flu,gout\nflu,rash\n" * 10)
    precious = tmp_path / "precious"
    if "." in place:
        precious.write_text("precious")
    else:
        precious.mkdir()
    audit = tmp_path / "audit"
    (audit / "private").mkdir(parents=True)
    (audit / "private" / "lock").touch()
    (audit / place).symlink_to(precious)
    found = CliRunner().invoke(
        app,
        [
            *("audit", str(tmp_path / "visits.csv"), "--format", "basket", "-o", str(audit)),
            *("--methods", "disassociate:k=2", "--attacks", "linkage", "--workers", "0"),
        ],
    )
    assert found.exit_code == 2, found.output
    assert "link" in found.stderr
    assert (
        precious.read_text() == "precious" if precious.is_file() else not list(precious.iterdir())
    )
