"""Settings in TOML: of an audit, of a counter on the web, and layouts of data files."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from tests.adversarial.fuzz.campaign import Case, Target
from tests.adversarial.fuzz.mutation import change_bytes, change_toml, change_tree, json_text

import setveil
from setveil.audit.request import KINDS, read_config
from setveil.core.errors import SetveilError
from setveil.io.layout import Layout, read_layout
from setveil.relatedness.web import WebConfig, WebCounts

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

FILE = "settings.toml"
DATA = b"id;Dx1;note\n1;flu;a\n1;gout;b\n2;flu;\n"
TEXTS = {
    "audit": b'data = "data.csv"\nbudget = "30m"\nmemory = "2G"\nsensitive = ["hiv"]\n'
    b'relatedness = ["release"]\nknown = [1, 2]\ntarget = 0.1\nseed = 7\nmethods = ["gather"]\n',
    "web": b'url = "https://a.org/?q={query}"\ncount = "hits[0].total"\ntotal = 1000\nrate = 2.0\n'
    b'retries = 1\ntimeout = 5\nterm = "{a}"\npair = "{a} {b}"\n[headers]\nKey = "x"\n',
    "layout": b'format = "long"\nencoding = "utf-8"\ndelimiter = ";"\nheader = true\ncolumns = [\n'
    b'  {name = "id", role = "record id"},\n  {name = "Dx1", role = "item"},\n'
    b'  {name = "note", role = "ignore"},\n]\n',
}
NAMES = {
    "audit": tuple(KINDS),
    "web": tuple(field.name for field in fields(WebConfig)),
    "layout": (*(field.name for field in fields(Layout)), "name", "role", "separator"),
}
ANSWER: Any = {"hits": [{"total": 12}]}


def seeds(_: Path) -> list[Case]:
    """Return settings of each kind."""
    return [
        Case(
            files={FILE: text, "data.csv": DATA, "answer.json": b'{"hits": [{"total": 12}]}'},
            options={"kind": kind},
        )
        for kind, text in TEXTS.items()
    ]


def change(draw: random.Random, known: list[Case]) -> Case:
    """Return settings with some of them changed; of a counter on the web at times its answer."""
    seed = draw.choice(known)
    kind = seed.options["kind"]
    if kind == "web" and draw.random() < 0.4:
        text = json_text(change_tree(ANSWER, draw), draw)
        text = change_bytes(text, draw, ()) if draw.random() < 0.2 else text
        return Case(files={**seed.files, "answer.json": text}, options=seed.options)
    text = change_toml(seed.files[FILE], NAMES[kind], draw)
    return Case(files={**seed.files, FILE: text}, options=seed.options)


def _use_audit(file: Path, _: Path) -> None:
    read_config(file)


def _use_web(file: Path, folder: Path) -> None:
    counts = WebCounts(config=WebConfig.read(file))
    counts.config.address(counts.config.query("flu", 'a "b'))
    counts.config.sent_headers({})
    counts.fingerprint()
    counts._count((folder / "answer.json").read_bytes())


def _use_layout(file: Path, folder: Path) -> None:
    layout = read_layout(file)
    layout.as_toml().encode()
    try:
        setveil.read(folder / "data.csv", layout=layout)
    except SetveilError as error:
        str(error).encode()


USES: dict[str, Callable[[Path, Path], None]] = {
    "audit": _use_audit,
    "web": _use_web,
    "layout": _use_layout,
}


def use(folder: Path, case: Case) -> None:
    """Read settings, and do with them what is done without running anything."""
    USES[case.options["kind"]](folder / FILE, folder)


SETTINGS = Target(name="settings", inputs=130_000, seeds=seeds, change=change, use=use)
