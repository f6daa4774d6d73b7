"""Audits: ``audit.json`` and the other private files, then shown as a report in every form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.adversarial.fuzz.campaign import Case, Target
from tests.adversarial.fuzz.mutation import change_bytes, change_tree, json_text
from tests.unit import audit_results

from setveil.audit.store import VERSION, Store, load_audit
from setveil.cli.publish import _text
from setveil.core.errors import SetveilError

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from setveil.audit import AuditResult

FILE = "private/audit.json"
RUN = "private/runs/{}.json"
OTHERS = ("private/seed.json", "private/records.json")


def seeds(_: Path) -> list[Case]:
    """Return an audit with a recommendation, and one of runs that failed."""
    semantic = (audit_results.semantic("aba", 0.5, base=0.1),)
    good = [audit_results.run(attacks=semantic), audit_results.broken(), audit_results.failed()]
    results = [
        audit_results.result(tuple(good)),
        audit_results.result((audit_results.failed(), audit_results.skipped())),
    ]
    return [_stored(result) for result in results]


def _stored(result: AuditResult) -> Case:
    run = result.runs[0]
    contents: dict[str, Any] = {
        FILE: {"setveil": "audit", "version": VERSION, **result.to_json()},
        RUN.format(run.id): {
            "setveil": "run",
            "version": VERSION,
            "release": None,
            "run": run.to_json(),
        },
        "private/seed.json": {"seed": 7},
        "private/records.json": {"records": "9f3c"},
    }
    files = {name: json.dumps(content).encode() for name, content in contents.items()}
    return Case(files=files, options={"id": run.id, "name": run.name, "draw": True})


def change(draw: random.Random, known: list[Case]) -> Case:
    """Return an audit with some values of a file changed."""
    seed = draw.choice(known)
    run = RUN.format(seed.options["id"])
    name = draw.choice((FILE, FILE, FILE, FILE, run, *OTHERS))
    content = json.loads(seed.files[name])
    if draw.random() < 0.93:
        head = {key: content.pop(key) for key in ("setveil", "version") if key in content}
        changed = change_tree(content, draw)
        if isinstance(changed, dict) and draw.random() < 0.95:
            changed = {**head, **changed}
        text = json_text(changed, draw)
    else:
        text = change_bytes(seed.files[name], draw, ())
    # Pages and pictures take long.
    options = {**seed.options, "draw": draw.random() < 0.02}
    return Case(files={**seed.files, name: text}, options=options)


def use(folder: Path, case: Case) -> None:
    """Read all that an audit kept, and write its reports."""
    store = Store.open(folder)
    store.finished(case.options["id"], case.options["name"])
    store.seed(None)
    try:
        store.claim("9f3c")
    except SetveilError as error:
        str(error).encode()
    result = load_audit(folder)
    repr(result).encode()
    result.to_frame()
    result._repr_html_().encode()
    for form in ("md", "json", *(["html"] if case.options["draw"] else [])):
        _text(result, folder, format=form, show_records=form != "md").encode()


AUDITS = Target(name="audits", inputs=40_000, seeds=seeds, change=change, use=use)
