"""The manifest of a release: what is public about it beside the records themselves."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import ParameterError, ReleaseError, SetveilError
from setveil.core.taxonomy import Taxonomy
from setveil.core.untrusted import parse_json
from setveil.core.words import json_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from setveil.core.arrays import Int64Array

VERSION = 1
"""Version of the directory's layout; a release of a later version is refused."""

LARGEST = 2**31
"""No count of a release on one machine reaches this."""
NODE = ("id", "name", "parent", "leaves", "pseudo")
"""What is said of each node of a published tree."""
DATA_NAME = re.compile(r"release-([0-9a-f]{16})\.(parquet|jsonl|csv)")


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What ``manifest.json`` says.

    Parameters
    ----------
    form
        The published form.
    method, params
        How the release was made.
    promise
        ``name``, ``params`` and ``says`` of the guarantee, or None where nothing is promised.
    records, occurrences
        Number of published records, and of published items over all records.
    tool
        The program that wrote the release.
    file, format, sha256
        The data file, relative to the manifest, and the hash of its content.
    structure
        What the form needs to be read: for generalized records the tree of the published nodes
        (id, name, parent's id, number of leaves, whether it is an interior item's private leaf),
        whether items may have been left out, and whether then everywhere; for records with
        items removed nothing; for clusters of chunks how the rows of the data file belong to
        them.
    """

    form: str
    method: str
    params: dict[str, Any]
    promise: dict[str, Any] | None
    records: int
    occurrences: int
    tool: str
    file: str
    format: str
    sha256: str
    structure: dict[str, Any]

    @property
    def identity(self) -> str:
        """A hash of what a key depends on: the records and how they belong together."""
        structure = _digest({"form": self.form, "structure": self.structure})
        return hashlib.sha256(f"{self.sha256} {structure}".encode()).hexdigest()

    def to_json(self) -> str:
        """Return the content of ``manifest.json``: the same text for the same release."""
        content = {
            "setveil": "release",
            "version": VERSION,
            "form": self.form,
            "method": self.method,
            "params": self.params,
            "promise": self.promise,
            "counts": {"records": self.records, "occurrences": self.occurrences},
            "tool": self.tool,
            "data": {"file": self.file, "format": self.format, "sha256": self.sha256},
            "structure_sha256": _digest({"form": self.form, "structure": self.structure}),
            "structure": self.structure,
        }
        try:
            return json_text(content, indent=1) + "\n"
        except (TypeError, ValueError) as error:
            raise ParameterError(
                f"the parameters cannot be published as JSON ({error})",
                fix="use numbers, texts, lists and true or false",
            ) from None

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """Read and check the content of ``manifest.json``."""
        try:
            raw = parse_json(text)
        except ValueError:
            raise ReleaseError("manifest.json is damaged: it is not JSON") from None
        if not isinstance(raw, dict) or raw.get("setveil") != "release":
            raise ReleaseError("manifest.json does not describe a release of setveil")
        version = raw.get("version")
        if version != VERSION:
            raise ReleaseError(
                f"the release has format version {version!r}; this setveil reads {VERSION}",
                fix="use the version of setveil that wrote it, or a later one",
            )
        counts, data = _field(raw, "counts", dict), _field(raw, "data", dict)
        structure = _field(raw, "structure", dict)
        form = _field(raw, "form", str)
        # Releases of the first versions have a hash of the structure alone.
        right = _digest({"form": form, "structure": structure}), _digest(structure)
        if _field(raw, "structure_sha256", str) not in right:
            raise ReleaseError(
                "manifest.json is damaged: its form or structure does not match its hash"
            )
        manifest = cls(
            form=form,
            method=_field(raw, "method", str),
            params=_field(raw, "params", dict),
            promise=_promise(raw),
            records=_count(counts, "records"),
            occurrences=_count(counts, "occurrences"),
            tool=_field(raw, "tool", str),
            file=_field(data, "file", str),
            format=_field(data, "format", str),
            sha256=_field(data, "sha256", str),
            structure=structure,
        )
        named = DATA_NAME.fullmatch(manifest.file)
        # The pattern also keeps the name inside the directory: it has no separators.
        if named is None or not manifest.sha256.startswith(named[1]) or named[2] != manifest.format:
            raise ReleaseError(f"manifest.json names an impossible data file: {manifest.file!r}")
        return manifest


def _digest(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _field(raw: Mapping[str, Any], name: str, kind: type) -> Any:  # noqa: ANN401  (as named by kind)
    value = raw.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ReleaseError(f"manifest.json is damaged: {name!r} is missing or no {kind.__name__}")
    return value


def _count(raw: Mapping[str, Any], name: str) -> int:
    value: int = _field(raw, name, int)
    return value


def read_counts(structure: Mapping[str, Any], name: str) -> Int64Array:
    """Return a list of counts from the structure of a release.

    >>> read_counts({"sizes": "many"}, "sizes")
    Traceback (most recent call last):
    setveil.core.errors.ReleaseError: manifest.json is damaged: 'sizes' is no list of counts
    """
    given = structure.get(name)
    if not isinstance(given, list) or not all(
        type(value) is int and 0 <= value < LARGEST for value in given
    ):
        raise ReleaseError(f"manifest.json is damaged: {name!r} is no list of counts")
    return np.array(given, dtype=np.int64)


def _promise(raw: Mapping[str, Any]) -> dict[str, Any] | None:
    if raw.get("promise", ...) is None:
        return None
    promise: dict[str, Any] = _field(raw, "promise", dict)
    _field(promise, "name", str)
    _field(promise, "params", dict)
    return promise


def describe_tree(tree: Taxonomy) -> list[dict[str, Any]]:
    """Return a published tree as JSON values, in preorder.

    >>> describe_tree(Taxonomy.balanced(["a"]))
    [{'id': 'a', 'name': 'a', 'parent': None, 'leaves': 1, 'pseudo': False}]
    """
    return [
        {
            "id": tree.ids[v],
            "name": tree.names[v],
            "parent": None if v == 0 else tree.ids[parent],
            "leaves": leaves,
            "pseudo": pseudo,
        }
        for v, (parent, leaves, pseudo) in enumerate(
            zip(tree.parents.tolist(), tree.leaves.tolist(), tree.pseudo.tolist(), strict=True)
        )
    ]


def rebuild_tree(nodes: object) -> Taxonomy:
    """Return the tree that :func:`describe_tree` described, or say what is wrong with it.

    >>> rebuild_tree(describe_tree(Taxonomy.balanced(["a", "b"]))).names
    ('group 1.1', 'a', 'b')
    """
    if not isinstance(nodes, list) or not all(isinstance(node, dict) for node in nodes):
        raise ReleaseError("the tree of the release is damaged: it is not a list of nodes")
    ids = [_field(node, "id", str) for node in nodes]
    numbers: dict[str | None, int] = {node_id: v for v, node_id in enumerate(ids)}
    above = [node.get("parent") for node in nodes]
    if above[:1] not in ([], [None]) or not all(isinstance(parent, str | None) for parent in above):
        raise ReleaseError("the tree of the release is damaged: a parent is not named by its id")
    parents = [numbers.get(parent, -1) for parent in above]
    leaves = [_count(node, "leaves") for node in nodes]
    if max(leaves, default=0) >= LARGEST:
        raise ReleaseError("the tree of the release is damaged: a count is too large")
    try:
        return Taxonomy(
            ids=tuple(ids),
            names=tuple(_field(node, "name", str) for node in nodes),
            parents=np.array(parents, dtype=np.int32),
            leaves=np.array(leaves, dtype=np.int64),
            pseudo=np.array([_field(node, "pseudo", bool) for node in nodes], dtype=bool),
        )
    except SetveilError as error:
        raise ReleaseError(f"the tree of the release is damaged: {error.what}") from None
