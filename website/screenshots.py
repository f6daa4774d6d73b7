"""The picture of the report in README and docs: ``python -m website.screenshots DIR`` takes it.

DIR is what ``setveil demo`` wrote. Chromium must be installed; nothing is loaded from a network.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from setveil.audit import load_audit
from setveil.core.errors import ParameterError
from setveil.report import render_audit
from website.pages import ROOT

FILE = ROOT / "docs" / "img" / "report.png"
WIDTH, HEIGHT = 1280, 800
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--blink-settings=preferredColorScheme=1",
]  # fmt: skip


def take(audit: Path, file: Path = FILE) -> Path:
    """Write the first screen of an audit's report as a picture, and return its file."""
    browser = shutil.which("chromium")
    if browser is None:
        raise ParameterError("there is no chromium", fix="install it")
    with TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        page.write_text(render_audit(load_audit(audit), audit), encoding="utf-8")
        subprocess.run(  # noqa: S603  (our own page, in a browser of the system)
            [
                browser,
                *FLAGS,
                f"--user-data-dir={folder}/profile",
                f"--window-size={WIDTH},{HEIGHT}",
                f"--screenshot={file.resolve()}",
                page.as_uri(),
            ],
            check=True,
            capture_output=True,
            timeout=120,
        )
    return file


def main() -> None:
    """Take the picture of the report."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("audit", type=Path, help="what setveil demo wrote")
    parser.add_argument("--out", type=Path, default=FILE)
    given = parser.parse_args()
    print(take(given.audit, given.out))


if __name__ == "__main__":
    main()
