"""Whether the directory of a release is fit to be published: nothing but the release is in it.

A promise is about the records. A file beside them, or a field of the manifest that no release has,
may tell what the records keep secret.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setveil.core.errors import ParameterError
from setveil.core.files import shown_name
from setveil.core.params import params_of
from setveil.core.registry import find
from setveil.core.untrusted import read_file
from setveil.release.forms import FORMS
from setveil.release.manifest import Manifest
from setveil.release.public_folder import (
    CERTIFICATE,
    RELEASE,
    find_release,
    folder_faults,
    read_certificate,
)
from setveil.release.store import MANIFEST, is_key, load_manifest

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

PART_NAME = re.compile(r"part-[0-9]{5,}\.parquet")
BLANK = Manifest(
    form="",
    method="",
    params={},
    promise={"name": "", "params": {}, "says": ""},
    records=0,
    occurrences=0,
    tool="",
    file="",
    format="",
    sha256="",
    structure={},
)
"""A manifest with all the fields that there are."""


@dataclass(frozen=True, kw_only=True)
class Fitness:
    """What keeps the directory of a release from being published.

    Parameters
    ----------
    foreign_files
        Files and directories that are not part of the release, relative to its directory.
    keys
        Those of them that are private keys.
    unknown_fields
        Fields of the manifest that no release has, with the fields around them.
    changed_files
        Of a folder for recipients: files that are missing, or not as its certificate says.
    """

    foreign_files: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    unknown_fields: tuple[str, ...] = ()
    changed_files: tuple[str, ...] = ()

    @property
    def fit(self) -> bool:
        """Whether nothing was found."""
        return not (self.foreign_files or self.unknown_fields or self.changed_files)

    def sentences(self) -> list[str]:
        """Return what is wrong and what to do, for people.

        >>> Fitness(foreign_files=("visits.csv",)).sentences()[1]
        'This is not part of the release: visits.csv. Move it elsewhere.'
        """
        said = []
        if self.foreign_files or self.unknown_fields:
            said.append("NOT FIT TO PUBLISH: the directory holds more than the release.")
        if self.foreign_files:
            names = [
                f"{name} (a private key)" if name in self.keys else name
                for name in self.foreign_files
            ]
            it = "it" if len(names) == 1 else "them"
            this = "This is" if len(names) == 1 else "These are"
            said.append(f"{this} not part of the release: {', '.join(names)}. Move {it} elsewhere.")
        if self.unknown_fields:
            said.append(
                f"No release has these fields of {MANIFEST}: {', '.join(self.unknown_fields)}. "
                "Write the release again."
            )
        if self.changed_files:
            said.append(
                "CHANGED: not as the certificate says, or missing: "
                f"{', '.join(self.changed_files)}. Ask the owner of the data for the whole folder."
            )
        return said


def fitness_of(directory: str | os.PathLike[str]) -> Fitness:
    """Return what in a directory is not part of the release that it holds.

    A folder for recipients is also compared with its certificate.

    >>> import tempfile
    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> from setveil.release.store import save
    >>> release, _ = publish_suppressed(TransactionTable.from_rows([["flu"]]), [True])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = save(release, folder, method="coat", params={}, promise=None)
    ...     Path(folder, ".visits.csv.swp").touch()
    ...     fitness_of(folder).foreign_files
    ('.visits.csv.swp',)
    """
    outer = Path(directory)
    folder = find_release(outer)
    manifest = load_manifest(folder)
    text = read_file(folder / MANIFEST, inside=folder)
    foreign = sorted(_foreign_files(folder, manifest))
    changed: list[str] = []
    if folder != outer:
        beside, changed = folder_faults(outer)
        if not _agrees(read_certificate(outer), manifest):
            changed = sorted({*changed, CERTIFICATE})
        foreign = sorted({*beside, *(f"{RELEASE}/{name}" for name in foreign)})
    return Fitness(
        foreign_files=tuple(map(shown_name, foreign)),
        keys=tuple(shown_name(name) for name in foreign if is_key(outer / name)),
        unknown_fields=tuple(_unknown_fields(text, manifest)),
        changed_files=tuple(map(shown_name, changed)),
    )


def _agrees(certificate: Mapping[str, Any], manifest: Manifest) -> bool:
    """Tell whether a certificate says of the release what the release says of itself."""
    data, promise = certificate.get("data"), certificate.get("promise")
    own = {
        "form": manifest.form,
        "records": manifest.records,
        "method": manifest.method,
        "params": manifest.params,
    }
    if not isinstance(data, dict) or any(data.get(name) != own[name] for name in own):
        return False
    if manifest.promise is None or not isinstance(promise, dict):
        return promise is None and manifest.promise is None
    return all(promise.get(name) == manifest.promise[name] for name in ("name", "params"))


def _foreign_files(folder: Path, manifest: Manifest) -> Iterator[str]:
    for path in folder.iterdir():
        if path.name == manifest.file and path.is_dir():
            for part in path.iterdir():
                if not PART_NAME.fullmatch(part.name):
                    yield f"{path.name}/{part.name}"
        elif path.name not in {MANIFEST, manifest.file}:
            yield path.name


def _unknown_fields(text: bytes, manifest: Manifest) -> Iterator[str]:
    repeated: dict[str, None] = {}

    def noting_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            repeated.update((name, None) for name, times in counts.items() if times > 1)
        return found

    raw = json.loads(text, object_pairs_hook=noting_repeats)
    known = json.loads(BLANK.to_json())
    known["params"] = _known_params(manifest)
    known["promise"]["params"] = (manifest.promise or {}).get("params")
    structure = raw.pop("structure")
    yield from _fields_beyond(raw, known)
    if manifest.form in FORMS:  # else nobody can load it
        names = dict.fromkeys(_field_names(structure))
        known_names = FORMS[manifest.form].fields
        yield from (f"structure: {name}" for name in names if name not in known_names)
    yield from (f"{name} (twice)" for name in repeated)


def _known_params(manifest: Manifest) -> dict[str, Any]:
    """Return the parameters that a method has; all where the method is not installed here."""
    try:
        target = find("anonymizer", manifest.method).target
    except ParameterError:
        return manifest.params
    names = {param.name for param in params_of(target)} | getattr(target, "accepts", frozenset())
    return {name: value for name, value in manifest.params.items() if name in names}


def _fields_beyond(raw: Mapping[str, Any], known: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields that only the first of two JSON objects has, at any depth."""
    for name, value in raw.items():
        if name not in known:
            yield name
        elif isinstance(value, dict) and isinstance(known[name], dict):
            yield from (f"{name}: {inner}" for inner in _fields_beyond(value, known[name]))


def _field_names(value: object) -> Iterator[str]:
    """Yield the names of the fields of a JSON value; lists are of objects, or have none."""
    if isinstance(value, dict):
        yield from value
        for inner in value.values():
            yield from _field_names(inner)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for inner in value:
            yield from _field_names(inner)
