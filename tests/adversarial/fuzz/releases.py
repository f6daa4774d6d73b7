"""Releases: every form in every format, with what the manifest says changed and its hashes right.

A change of the manifest that leaves its hash wrong tests the hash and nothing behind it. So hashes
are put right after most changes, and the counts too.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from tests.adversarial.fuzz.campaign import Case, Target
from tests.adversarial.fuzz.mutation import VALUES, change_bytes, change_tree, flip, json_text

from setveil import Taxonomy, TransactionTable
from setveil.core.errors import SetveilError
from setveil.core.registry import find
from setveil.guarantee import from_manifest
from setveil.measure.summary import measure_all
from setveil.release.manifest import _digest
from setveil.release.store import MANIFEST, load_manifest, load_release, save

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from setveil.release.base import Anonymization

ROWS = [
    *(["flu", "gout"], ["flu", "rash"], ["flu", "gout", "hiv"], ["gout", "rash"], ["gout"]),
    *(["flu", "hiv", "rash"], ["flu"], ["flu", "gout", "rash"], ["cough", "flu"], ["cough"]),
]
TABLE = TransactionTable.from_rows(ROWS)
TREE = Taxonomy.from_parents(
    dict(
        pair.split("/")
        for pair in (
            *("flu/airways", "cough/airways", "rash/skin", "gout/joints", "hiv/other"),
            *("airways/all", "skin/all", "joints/all", "other/all"),
        )
    )
)
METHODS: dict[str, dict[str, Any]] = {
    "partition": {"k": 2},
    "direct-km": {"k": 2},
    "coat": {"k": 2, "constrained": 1},
    "coherence": {"k": 2},
    "disassociate": {"k": 2},
    "safe-disassociate": {"k": 2},
    "anatomy": {"l": 2},
    "permutation": {"p": 2},
    "secret-sharing": {"k": 2},
    "select-a-size": {},
    "split-personality": {},
    "token-hashing": {},
    "td-control": {},
    "suppress-control": {},
}
PARTS = {  # a release in parts, as Spark writes it
    "items": pl.List(pl.String),
}


@cache
def anonymized(method: str) -> Anonymization:
    """Return what a method makes of the table; the same in every process."""
    target = find("anonymizer", method).target
    given: dict[str, Any] = {}
    secret = "sensitive" in target.requires
    if "taxonomy" in target.requires:
        given["taxonomy"] = TREE.without(["hiv"]) if secret else TREE
    if secret:
        given["sensitive"] = ["hiv"]
    accepts = getattr(target, "accepts", ())
    if "rng" in accepts:
        given["rng"] = np.random.default_rng(0)
    if "secret" in accepts:
        given["secret"] = b"setveil" * 8
    made: Anonymization = target(**METHODS[method]).anonymize(TABLE, **given)
    return made


def seeds(folder: Path) -> list[Case]:
    """Return a release of every method in every format, and one in parts."""
    found = []
    for method in METHODS:
        made = anonymized(method)
        for form in ("parquet", "jsonl", "csv"):
            place = folder / f"{method}-{form}"
            save(made.release, place, method=method, params={}, promise=made.promise, format=form)
            files = {path.name: path.read_bytes() for path in place.iterdir()}
            options = {"method": method, "deep": True}
            found.append(Case(files=files, options=options))
            if form == "parquet" and method == "coherence":
                rows = made.release.to_rows()
                manifest = json.loads(files[MANIFEST])
                found.append(put(manifest, {"part-00000.parquet": parts_of(rows)}, options))
    return found


def parts_of(rows: list[list[str]]) -> bytes:
    """Return a part of a data file."""
    held = io.BytesIO()
    pl.DataFrame({"items": rows}, schema=PARTS).write_parquet(held)
    return held.getvalue()


def put(manifest: Any, data: bytes | dict[str, bytes], options: dict[str, Any]) -> Case:
    """Return a release of a manifest, with the hashes of what it holds, and of its data."""
    whole = data if isinstance(data, bytes) else _joined(data)
    digest = hashlib.sha256(whole).hexdigest()
    form = manifest["data"]["format"] if _has_data(manifest) else "jsonl"
    name = f"release-{digest[:16]}.{form}"
    if _has_data(manifest):
        manifest["data"] |= {"sha256": digest, "file": name}
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    parts = {name: data} if isinstance(data, bytes) else {f"{name}/{p}": d for p, d in data.items()}
    return Case(files={MANIFEST: text, **parts}, options=options)


def _has_data(manifest: Any) -> bool:
    return (
        isinstance(manifest, dict)
        and isinstance(manifest.get("data"), dict)
        and manifest["data"].get("format") in ["parquet", "jsonl", "csv"]
    )


def _joined(parts: dict[str, bytes]) -> bytes:
    sizes = (len(part).to_bytes(8, "big") + part for _, part in sorted(parts.items()))
    return b"setveil parts\n" + b"".join(sizes)


# --- Changes -------------------------------------------------------------------------------------


def change(draw: random.Random, known: list[Case]) -> Case:
    """Return a release with its manifest, its records or its bytes changed."""
    seed = draw.choice(known)
    manifest = json.loads(seed.files[MANIFEST])
    data: Any = {name: content for name, content in seed.files.items() if name != MANIFEST}
    data = (
        next(iter(data.values()))
        if len(data) == 1 and "/" not in next(iter(data))
        else {name.partition("/")[2]: content for name, content in data.items()}
    )
    options = {**seed.options, "deep": draw.random() < 0.02}
    kind = draw.random()
    if kind < 0.45:
        manifest = _changed_manifest(manifest, draw)
    elif kind < 0.75 and isinstance(data, bytes):
        manifest, data = _changed_rows(manifest, data, draw)
        if draw.random() < 0.3:
            manifest = _changed_manifest(manifest, draw)
    elif kind < 0.95:
        if isinstance(data, bytes):
            data = flip(data, draw) if draw.random() < 0.5 else change_bytes(data, draw, ())
        else:
            data = {name: change_bytes(each, draw, ()) for name, each in data.items()}
            if draw.random() < 0.2:
                data["part-00001.parquet"] = draw.choice(list(data.values()))
    case = put(manifest, data, options)
    text = json_text(manifest, draw)
    if draw.random() < 0.95:
        text = _right_hashes(text)
    if kind >= 0.95:
        text = change_bytes(text, draw, [draw.choice(known).files[MANIFEST]])
    return Case(files={**case.files, MANIFEST: text}, options=options)


def _changed_manifest(manifest: dict[str, Any], draw: random.Random) -> Any:
    part = draw.choice(("structure", "structure", "structure", "promise", "params", ""))
    if part and manifest[part]:
        return manifest | {part: change_tree(manifest[part], draw)}
    if part == "structure":
        return manifest | {part: draw.choice((*VALUES, {"parts": True}))}
    return change_tree(manifest, draw)


def _right_hashes(text: bytes) -> bytes:
    """Return a manifest with the hash of its structure, if it has one."""
    try:
        found = json.loads(text)
        right = _digest({"form": found["form"], "structure": found["structure"]})
        return text.replace(found["structure_sha256"].encode(), right.encode())
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError):
        return text


def _changed_rows(manifest: Any, data: bytes, draw: random.Random) -> tuple[Any, bytes]:
    """Return the release with other records, and counts that mostly fit."""
    form = manifest["data"]["format"]
    rows = _rows(data, form)
    changed = change_tree(rows, draw)
    if draw.random() < 0.7:
        manifest["counts"] = _counts(manifest, changed)
    return manifest, _written(changed, form, draw)


def _rows(data: bytes, form: str) -> list[list[Any]]:
    if form == "jsonl":
        return [json.loads(line) for line in data.decode().splitlines()]
    if form == "csv":
        return list(csv.reader(io.StringIO(data.decode())))
    rows: list[list[Any]] = []
    for record, item in pl.read_parquet(io.BytesIO(data)).rows():
        rows += [[] for _ in range(record + 1 - len(rows))]
        rows[record] += [] if item is None else [item]
    return rows


def _counts(manifest: Any, rows: Any) -> dict[str, Any]:
    if not isinstance(rows, list):
        return dict(manifest["counts"])
    items = sum(len(row) for row in rows if isinstance(row, list))
    grouped = manifest["form"] in {"disassociated", "grouped"}
    return {
        "records": manifest["counts"]["records"] if grouped else len(rows),
        "occurrences": items,
    }


def _written(rows: Any, form: str, draw: random.Random) -> bytes:
    rows = rows if isinstance(rows, list) else [rows]
    if form == "jsonl":
        return b"".join(json_text(row, draw) + b"\n" for row in rows)
    texts = [[str(item)[:9999] for item in row] if isinstance(row, list) else [] for row in rows]
    texts = [[item.encode("utf-8", "replace").decode() for item in row] for row in texts]
    if form == "csv":
        sink = io.StringIO(newline="")
        csv.writer(sink, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(texts)
        return sink.getvalue().encode()
    pairs = [(i, item) for i, row in enumerate(texts) for item in (row or [None])]
    if draw.random() < 0.2:
        pairs = [(i + draw.choice((0, 0, 1, -1, 2**40)), item) for i, item in pairs]
    kinds = draw.choice(({"record": pl.Int64, "item": pl.String},) * 9 + ODD)
    frame = pl.DataFrame(pairs, {"record": pl.Int64, "item": pl.String}, orient="row")
    held = io.BytesIO()
    with suppress(pl.exceptions.PolarsError):
        frame = frame.cast(kinds)
    frame.write_parquet(held, compression=draw.choice(("zstd", "uncompressed", "snappy")))
    return held.getvalue()


ODD: tuple[dict[str, Any], ...] = (
    {"record": pl.Int32, "item": pl.String},
    {"record": pl.Float64, "item": pl.String},
    {"record": pl.Int64, "item": pl.Categorical},
    {"record": pl.Int64, "item": pl.Binary},
    {"record": pl.String, "item": pl.String},
)


# --- Use -----------------------------------------------------------------------------------------


def use(folder: Path, case: Case) -> None:
    """Load a release, check its promise, and ask it what every release can answer."""
    release = load_release(folder)
    manifest = load_manifest(folder)
    rows = release.to_rows()
    "".join(item for row in rows for item in row).encode()
    release.to_frame()
    repr(release).encode()
    release.fingerprint()
    json.dumps(release.content().as_dict(), allow_nan=False).encode()
    if manifest.promise is not None:
        _refusable(lambda: _checked(manifest, release))
    made = anonymized(case.options["method"])
    item = next((item for row in rows for item in row), "flu")
    for ask in (
        lambda: release.support_bounds([item]),
        lambda: release.matches(["flu"], TREE),
        lambda: release.sample_world(np.random.default_rng(0)),
        lambda: release.is_consistent_with(TABLE, made.key, TREE),
    ):
        _refusable(ask)
    if case.options["deep"]:
        _refusable(lambda: measure_all(release, TABLE, key=made.key, taxonomy=TREE, k=2))


def _checked(manifest: Any, release: Any) -> None:
    """Check the promise, and show the verdict as `setveil verify` does."""
    from setveil.cli.verify import _as_json

    promise = from_manifest(manifest.promise["name"], manifest.promise["params"])
    verdict = promise.check(release)
    json.dumps(_as_json(promise, verdict), allow_nan=False).encode()


def _refusable(ask: Any) -> None:
    """Ask; a refusal is an answer, and what was loaded is asked on."""
    try:
        ask()
    except SetveilError as error:
        str(error).encode()


RELEASES = Target(name="releases", inputs=150_000, seeds=seeds, change=change, use=use)
