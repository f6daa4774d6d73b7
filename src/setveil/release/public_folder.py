"""Folders for recipients: written whole or not at all, and checked against their certificate.

A folder of this kind holds ``certificate.json``, which names every other file with its hash, the
release itself in ``release/`` and whatever stands beside it. It is built beside its place and
renamed; a run that is killed leaves the old folder, the new one or none, never a part.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from collections import Counter
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setveil.core.errors import InputError, ParameterError, ReleaseError
from setveil.core.files import ENDING, locked_if_free, shown_name
from setveil.core.params import params_of
from setveil.core.registry import find
from setveil.core.untrusted import open_file, parse_json, read_file
from setveil.release.base import FORMS
from setveil.release.manifest import Manifest
from setveil.release.store import MANIFEST, is_key, list_names, load_manifest, write_errors

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

CERTIFICATE = "certificate.json"
RELEASE = "release"
"""Where the release lies in a folder for recipients."""
MARK = "certificate"
"""What the field ``setveil`` of a certificate says."""
BLOCK = 1 << 20


def find_release(folder: str | os.PathLike[str]) -> Path:
    """Return the release of a folder for recipients; any other directory is its own release.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "release").mkdir()
    ...     Path(folder, "certificate.json").touch()
    ...     Path(folder, "release", "manifest.json").touch()
    ...     find_release(folder).name
    'release'
    """
    path = Path(folder)
    return path / RELEASE if is_public_folder(path) else path


def is_public_folder(folder: Path) -> bool:
    """Tell whether this is a folder for recipients, and not a release by itself.

    >>> is_public_folder(Path("nowhere"))
    False
    """
    inner = folder / RELEASE / MANIFEST
    return not (folder / MANIFEST).exists() and (folder / CERTIFICATE).exists() and inner.exists()


def read_certificate(folder: Path) -> dict[str, Any]:
    """Return the certificate of a folder, with its list of files checked for its shape."""
    where = str(folder / CERTIFICATE)
    fix = "ask the owner of the data for the whole folder again"
    try:
        found = parse_json(read_file(folder / CERTIFICATE, inside=folder))
    except (OSError, ValueError, RecursionError):
        raise ReleaseError("the certificate cannot be read", where=where, fix=fix) from None
    except InputError as error:
        raise ReleaseError(error.what, where=where, fix=error.fix) from None
    files = found.get("files") if isinstance(found, dict) else None
    if not isinstance(found, dict) or found.get("setveil") != MARK or not isinstance(files, dict):
        raise ReleaseError("this is no certificate of setveil", where=where, fix=fix)
    if not all(isinstance(digest, str) for digest in files.values()):
        raise ReleaseError("the certificate is damaged at 'files'", where=where, fix=fix)
    return found


def folder_faults(folder: Path) -> tuple[list[str], list[str]]:
    """Compare a folder for recipients with its certificate.

    Returns
    -------
    tuple of two lists of str
        The files that the certificate does not name, and those that are missing or differ from
        what it says.
    """
    hashes = read_certificate(folder)["files"]
    there = {name for name in _names(folder) if name != CERTIFICATE}
    changed = [name for name in hashes if name not in there]
    changed += [name for name in there & set(hashes) if _hash_of(folder, name) != hashes[name]]
    return sorted(there - set(hashes)), sorted(changed)


def _names(folder: Path) -> Iterator[str]:
    """Yield the names of all files below a folder; links and other special files too."""
    for path in folder.rglob("*") if folder.is_dir() else ():
        if path.is_symlink() or not path.is_dir():
            yield path.relative_to(folder).as_posix()


def _hash_of(folder: Path, name: str) -> str:
    digest = hashlib.sha256()
    try:
        with open_file(folder / name, inside=folder) as file:
            while block := file.read(BLOCK):
                digest.update(block)
    except (OSError, InputError):  # a link, a pipe, not to be read: not what the certificate means
        return ""
    return digest.hexdigest()


def release_files(folder: Path) -> dict[str, bytes]:
    """Return the files of a release by name, and nothing else that lies in its directory."""
    file = load_manifest(folder).file
    data = folder / file
    names = [MANIFEST]
    names += [f"{file}/{part.name}" for part in data.iterdir()] if data.is_dir() else [file]
    return {name: read_file(folder / name, inside=folder) for name in sorted(names)}


def file_hashes(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 of each file, by name.

    >>> file_hashes({"a.csv": b""})["a.csv"][:8]
    'e3b0c442'
    """
    return {name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)}


def write_folder(target: str | os.PathLike[str], files: Mapping[str, bytes]) -> None:
    """Write a folder of files; it appears whole or not at all.

    Parameters
    ----------
    target
        Where to. What is there is replaced: ask :func:`check_replaceable` first.
    files
        The content of each file, by its path inside the folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     write_folder(Path(place, "out"), {"data/a.csv": b"x", "README.md": b"y"})
    ...     sorted(path.name for path in Path(place).rglob("*"))
    ['README.md', 'a.csv', 'data', 'out']
    """
    place = Path(os.path.realpath(target))
    with _write_errors(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(place)
        with _staged_folder(place) as staged:
            for name, content in files.items():
                file = staged / name
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("xb") as out:
                    out.write(content)
                    out.flush()
                    os.fsync(out.fileno())
            _move(staged, place)


def check_replaceable(folder: Path, known: Collection[str] = ()) -> None:
    """Refuse to replace a folder that holds anything but an earlier output.

    That is what its certificate names, or files of the names in `known`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "visits.csv").touch()
    ...     check_replaceable(Path(folder))
    Traceback (most recent call last):
    setveil.core.errors.ReleaseError: ...: the folder holds other files (visits.csv)...
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise ReleaseError("this is not a folder", where=str(folder), fix="name another place")
    others = unknown_files(folder, known)
    if others:
        raise ReleaseError(
            f"the folder holds other files ({list_names(others)}), which would be lost",
            where=str(folder),
            fix="move them elsewhere, or name a new folder",
        )


def unknown_files(folder: Path, known: Collection[str] = ()) -> list[str]:
    """Return the files below a folder that neither its certificate nor `known` names, sorted.

    >>> unknown_files(Path("nowhere"))
    []
    """
    if (folder / CERTIFICATE).is_file():
        with suppress(ReleaseError):
            known = {CERTIFICATE, *read_certificate(folder)["files"], *known}
    return sorted(name for name in _names(folder) if name not in known)


def remove_folder(folder: Path) -> None:
    """Remove a folder that :func:`write_folder` wrote; it goes whole, in one step."""
    check_replaceable(folder)
    with _write_errors(folder):
        aside = _hidden_beside(folder)
        folder.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)


def _write_errors(folder: Path) -> AbstractContextManager[None]:
    return write_errors("the folder", shown_name(folder), check="the place, its permissions")


def _hidden_beside(place: Path) -> Path:
    """Return a new name beside a place, by which the next run knows what was left behind."""
    return place.with_name(f".{place.name}.{secrets.token_hex(8)}.part")


@contextmanager
def _staged_folder(place: Path) -> Iterator[Path]:
    """Make a folder beside its place, locked while it is filled; what is left of it is removed."""
    staged = _hidden_beside(place)
    staged.mkdir()
    try:
        with locked_if_free(staged):
            yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _move(staged: Path, place: Path) -> None:
    """Rename a folder to its place; one that is there goes aside first, and back on an error."""
    aside = _hidden_beside(place)
    replaced = place.exists()
    if replaced:
        place.rename(aside)
    try:
        staged.rename(place)
    except BaseException:
        if replaced:
            aside.rename(place)
        raise
    if replaced:
        shutil.rmtree(aside, ignore_errors=True)


def _remove_leftovers(place: Path) -> None:
    """Remove the folders that killed processes left beside a place."""
    pattern = re.compile(rf"\.{re.escape(place.name)}{ENDING}", re.DOTALL)
    for path in list(place.parent.iterdir()):
        if pattern.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
            with locked_if_free(path) as free:
                if free:
                    shutil.rmtree(path, ignore_errors=True)


def certificate_hash(folder: Path) -> str:
    """Return the SHA-256 of the certificate of a folder: it stands for all its files."""
    return _hash_of(folder, CERTIFICATE)


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
        known_names = FORMS[manifest.form].structure_fields
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
