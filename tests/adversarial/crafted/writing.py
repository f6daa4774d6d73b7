"""Releases as a stranger may write them: any rows, any structure, with the right hashes."""

import hashlib
import json

from setveil.release.base import rebuild
from setveil.release.data_file import LabelledRows, decode, encode
from setveil.release.manifest import Manifest
from setveil.release.store import write


def crafted(form, rows, structure, *, promise=None, records=None, ending="jsonl"):
    """Return a manifest and the content of a data file that belong together."""
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    if ending != "jsonl":
        data = encode(LabelledRows.of(rows), ending)
    digest = hashlib.sha256(data).hexdigest()
    manifest = Manifest(
        form=form,
        method="by hand",
        params={},
        promise=promise,
        records=len(rows) if records is None else records,
        occurrences=sum(map(len, rows)),
        tool="a stranger",
        file=f"release-{digest[:16]}.{ending}",
        format=ending,
        sha256=digest,
        structure=structure,
    )
    return manifest, data


def write_crafted(folder, form, rows, structure, **more):
    """Write a crafted release to a directory."""
    write(folder, *crafted(form, rows, structure, **more))


def load_crafted(form, rows, structure):
    """Load a crafted release by way of its manifest and its data, without a disk."""
    manifest, data = crafted(form, rows, structure)
    manifest = Manifest.from_json(manifest.to_json())
    return rebuild(manifest.form, decode(data, manifest.format), manifest.structure)


def node(node_id, parent=None, leaves=1, *, name=None, pseudo=False):
    """Return a node of a tree as a manifest has it."""
    shown = node_id if name is None else name
    return {"id": node_id, "name": shown, "parent": parent, "leaves": leaves, "pseudo": pseudo}


def generalized(*nodes, hides=True, whole=False):
    """Return the structure of a generalized release."""
    return {"hides": hides, "whole": whole, "nodes": list(nodes)}
