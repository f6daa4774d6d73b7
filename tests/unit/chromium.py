"""A page looked at in Chromium: what a script around it sees, as JSON."""

import html
import json
import re
import shutil
import subprocess

from tests.conftest import missing_component

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--hide-scrollbars", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--allow-file-access-from-files", "--virtual-time-budget=5000",
    "--enable-logging=stderr", "--dump-dom",
]  # fmt: skip


def look(page, *, dark=False):
    """Open a page that writes JSON into its body, and return it; the console must stay empty."""
    browser = shutil.which("chromium")
    if browser is None:
        missing_component("chromium is not installed")
    profile = page.with_suffix(".profile")
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    done = subprocess.run(
        [browser, *FLAGS, f"--user-data-dir={profile}", scheme, page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "CONSOLE" not in done.stderr, done.stderr
    return json.loads(html.unescape(re.search(r"<body>(.*)</body>", done.stdout, re.DOTALL)[1]))


def brightness(rgb):
    """Return how bright a colour is, from 0 to 255."""
    return sum(rgb[:3]) / 3
