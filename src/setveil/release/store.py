"""Releases on disk: a directory that is there as a whole or not at all, and private keys.

A release is a directory with a data file, whose name carries the hash of its content, and
``manifest.json``. The data file is written and flushed first; renaming the manifest into place
is the commit. A run that is killed leaves the old release or the new one; what belongs to neither
is removed by the next write. A run that fails or is interrupted (Ctrl-C) removes what it wrote
before the commit, and finishes what is left to do after it.

A key is written and flushed beside its place before the commit, and moved there after it. It names
its release, so that whoever next reads or writes it can finish what a killed run began: the key
takes its place if its release was committed, and is removed if not.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from setveil import __version__
from setveil.core.errors import InputError, ParameterError, ReleaseError, SetveilError
from setveil.core.files import (
    alone_in,
    dead_parts,
    locked_if_free,
    replacing,
    shown_name,
    staged_file,
)
from setveil.core.registry import name_of
from setveil.core.untrusted import parse_json, read_arrays, read_file
from setveil.release.base import Key, form_named
from setveil.release.data_file import encode, file_content, place_parts, remove
from setveil.release.manifest import Manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from setveil.guarantee.base import Guarantee
    from setveil.release.base import Release

MANIFEST = "manifest.json"
NAMES = r"(release-[0-9a-f]{16}\.(parquet|jsonl|csv)|manifest\.json)"
OURS = re.compile(rf"{NAMES}|\.{NAMES}\.[0-9a-f]{{16}}\.part")
TRIES = 3
LISTED = 3
"""How many names of files a message lists."""


def save(
    release: Release,
    directory: str | os.PathLike[str],
    *,
    method: str,
    params: Mapping[str, Any],
    promise: Guarantee | None,
    force: bool = False,
    format: str = "parquet",
    key: Key | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> Manifest:
    """Write a release to a directory; it appears there as a whole or not at all.

    Parameters
    ----------
    release
        What may be published.
    directory
        Where to; made if need be. A directory with anything else in it is refused: a release is
        published as a whole directory.
    method, params
        How the release was made; `params` must be JSON values and public.
    promise
        The guarantee it keeps, or None.
    force
        Replace a release, and a key, that is already there.
    format
        ``"parquet"``, ``"jsonl"`` or ``"csv"``.
    key, key_file
        The private key and its place, as for :func:`save_key`: it is there when the release is.

    Returns
    -------
    Manifest
        What was written into ``manifest.json``.

    Raises
    ------
    ReleaseError
        There is a release already, or other files are, or the directory cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from setveil import Taxonomy
    >>> from setveil.guarantee import KAnonymity
    >>> from setveil.release import publish_groups
    >>> release, key = publish_groups(Taxonomy.balanced(["a", "b"]), group_offsets=[0, 1],
    ...                               group_nodes=[1], group_of=[0, 0], hides=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     manifest = save(release, folder, method="clump", params={"k": 2},
    ...                     promise=KAnonymity(k=2))
    ...     load_release(folder).to_rows()
    [['a'], ['a']]
    >>> manifest.promise["name"], manifest.records
    ('k-anonymity', 2)
    """
    with _release_errors(directory):
        check_place(Path(directory), force=force)
        check_key_place(key_file, Path(directory), force=force)
        data = encode(release.data_rows(), format)
        manifest = _describe(release, data, format, method=method, params=params, promise=promise)
        write(directory, manifest, data, force=force, key=key, key_file=key_file)
    return manifest


def write(
    directory: str | os.PathLike[str],
    manifest: Manifest,
    data: bytes,
    *,
    force: bool = False,
    key: Key | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> None:
    """Write a release from its manifest and its data file's content."""
    folder = Path(directory)
    with _release_errors(folder), alone_in(folder):
        check_place(folder, force=force)
        check_key_place(key_file, folder, force=force)
        with _key_beside(key, key_file, folder, manifest) as place_key:
            _commit(folder, manifest, data, place_key)


@contextmanager
def write_parts(
    directory: str | os.PathLike[str], *, force: bool = False
) -> Iterator[Callable[[Manifest, Path], None]]:
    """Hold a directory while the parts of a data file are written into it.

    What is handed out puts a manifest and a directory of parts in their places. Others who write
    there wait, and after an error a directory that was made for it is removed.
    """
    folder = Path(directory)
    with _release_errors(folder), alone_in(folder):
        check_place(folder, force=force)
        yield lambda manifest, parts: _commit(folder, manifest, parts, lambda: None)


@contextmanager
def write_errors(what: str, where: str, *, check: str) -> Iterator[None]:
    """Say in words what keeps something from being written, and what to check."""
    try:
        yield
    except OSError as error:
        raise ReleaseError(
            f"cannot write {what}: {error.strerror or error}",
            where=where,
            fix=f"check {check} and the space left",
        ) from None
    except UnicodeEncodeError as error:
        raise ReleaseError(
            f"a name cannot be written as UTF-8: {error.object!r:.60}", fix="rename it"
        ) from None


@contextmanager
def read_errors(what: str, where: str) -> Iterator[None]:
    """Say in words what keeps something from being read; files that are missing are passed on."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise ReleaseError(
            f"{what} cannot be read: {error.strerror or error}", where=where
        ) from None
    except InputError as error:
        raise ReleaseError(error.what, where=error.where, fix=error.fix) from None


def _release_errors(directory: str | os.PathLike[str]) -> AbstractContextManager[None]:
    return write_errors("the release", str(directory), check="the directory, its permissions")


def _key_errors(path: Path) -> AbstractContextManager[None]:
    return write_errors("the key", str(path), check="its directory, the permissions")


def _describe(
    release: Release,
    data: bytes,
    ending: str,
    *,
    method: str,
    params: Mapping[str, Any],
    promise: Guarantee | None,
) -> Manifest:
    digest = hashlib.sha256(data).hexdigest()
    says = None
    if promise is not None:
        name = name_of(type(promise))
        says = {"name": name, "params": promise.params(), "says": promise.describe()}
    return Manifest(
        form=release.form,
        method=method,
        params=dict(params),
        promise=says,
        records=len(release),
        occurrences=len(release.data_rows().items),
        tool=f"setveil {__version__}",
        file=f"release-{digest[:16]}.{ending}",
        format=ending,
        sha256=digest,
        structure=release.structure(),
    )


def load_manifest(directory: str | os.PathLike[str]) -> Manifest:
    """Read and check the manifest of a release; the data file is not looked at."""
    folder = Path(directory)
    try:
        with read_errors(MANIFEST, str(folder)):
            text = read_file(folder / MANIFEST, inside=folder)
    except (FileNotFoundError, NotADirectoryError):
        raise ReleaseError(
            f"no release is here: there is no {MANIFEST}",
            where=str(folder),
            fix="name the directory that `setveil anonymize -o` wrote",
        ) from None
    try:
        return Manifest.from_json(text.decode())
    except UnicodeDecodeError:
        raise ReleaseError(f"{MANIFEST} is damaged: it is not UTF-8", where=str(folder)) from None
    except SetveilError as error:
        raise ReleaseError(error.what, where=str(folder), fix=error.fix) from None


def load_release(directory: str | os.PathLike[str]) -> Release:
    """Load a release, checking the hash, the counts and the structure of what is on disk."""
    folder = Path(directory)
    manifest, data = _read(folder)
    if hashlib.sha256(data).hexdigest() != manifest.sha256:
        raise ReleaseError(
            f"{manifest.file} is damaged: its content does not match its hash",
            where=str(folder),
            fix="copy or write the release again",
        )
    try:
        return _rebuild(manifest, data)
    except SetveilError as error:
        fix = error.fix or "copy or write the release again"
        raise ReleaseError(error.what, where=str(folder), fix=fix) from None


def _read(folder: Path) -> tuple[Manifest, bytes]:
    """Return the manifest and the content of the data file it names."""
    manifest = load_manifest(folder)
    for _ in range(TRIES):
        try:
            with read_errors(manifest.file, str(folder)):
                return manifest, file_content(folder / manifest.file)
        except (FileNotFoundError, NotADirectoryError):
            # Another process may have committed a new release since the manifest was read.
            manifest = load_manifest(folder)
    raise ReleaseError(f"the data file {manifest.file} is missing", where=str(folder))


def _rebuild(manifest: Manifest, data: bytes) -> Release:
    form = form_named(manifest.form)
    release, items = form.of_data(data, manifest.format, manifest.structure)
    counts = len(release), items
    if counts != (manifest.records, manifest.occurrences):
        raise ReleaseError(
            f"the data holds {counts[0]} records with {counts[1]} items, the manifest says "
            f"{manifest.records} with {manifest.occurrences}"
        )
    return release


def save_key(key: Key, path: str | os.PathLike[str]) -> None:
    """Write a key alone, readable by its owner only (mode 0600); a key already there is replaced.

    Keys stay private, so a directory that holds a release is refused. :func:`save` writes a key
    together with its release: that one is refused where another release is measured with it.
    """
    target = Path(path)
    check_key_place(target, force=True)
    with _key_errors(target), replacing(target, mode=0o600) as out:
        out.write(_key_content(key))


def _key_content(key: Key, place: Path | None = None) -> bytes:
    """Return the content of a key's file; `place` is the directory of its release."""
    arrays: dict[str, npt.NDArray[Any]] = {"records": key.records}
    # As bytes: arrays of texts would pad every name to the longest.
    texts = {
        "names": json.dumps(key.names).encode() if key.names else b"",
        "removed": json.dumps(key.removed).encode() if key.removed else b"",
        "release": key.release.encode(),
        "place": b"" if place is None else os.fsencode(place),
    }
    for name, text in texts.items():
        if text:
            arrays[name] = np.frombuffer(text, dtype=np.uint8)
    if key.parts:
        arrays["parts"] = np.array([True])
    sink = io.BytesIO()
    np.savez_compressed(sink, allow_pickle=False, **arrays)
    return sink.getvalue()


def load_key(path: str | os.PathLike[str], release: str | os.PathLike[str] | None = None) -> Key:
    """Read a key that :func:`save_key` or :func:`save` wrote.

    With the directory of a release a key that was saved with another one is refused.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_key(Key(records=[1, 0]), Path(folder) / "visits.key")
    ...     load_key(Path(folder) / "visits.key").records.tolist()
    [1, 0]
    """
    finish_key(path)
    key = _read_key(path)
    if release is not None and key.release not in {"", load_manifest(release).identity}:
        raise ReleaseError(
            "the key belongs to another release",
            where=str(path),
            fix="name the key that `setveil anonymize --key` wrote with this release",
        )
    return key


def _read_key(path: str | os.PathLike[str]) -> Key:
    fix = "name the file that `setveil anonymize --key` wrote"
    try:
        arrays = read_arrays(path, ["records", "names", "parts", "removed", "release"])
        records = arrays["records"]
        names = parse_json(arrays["names"].tobytes()) if "names" in arrays else []
        parts = "parts" in arrays
        removed = parse_json(arrays["removed"].tobytes()) if "removed" in arrays else []
        release = arrays["release"].tobytes().decode("ascii") if "release" in arrays else ""
    except OSError as error:
        raise ReleaseError(
            f"the key cannot be read: {error.strerror or error}", where=str(path)
        ) from None
    except InputError as error:
        raise ReleaseError(error.what, where=str(path), fix=error.fix) from None
    except (ValueError, KeyError):
        raise ReleaseError("the key is damaged or no key", where=str(path), fix=fix) from None
    whole = records.ndim == 1 and records.dtype == np.int64 and records.min(initial=0) >= 0
    named = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not (whole and named and isinstance(removed, list) and all(map(_is_occurrence, removed))):
        raise ReleaseError("the key is damaged or no key", where=str(path), fix=fix)
    return Key(
        records=records,
        names=tuple(names),
        parts=parts,
        removed=tuple(map(tuple, removed)),
        release=release,
    )


def _is_occurrence(value: object) -> bool:
    """Tell whether this is a record's place with an item's name."""
    kinds = [type(part) for part in value] if isinstance(value, list) else []
    return kinds == [int, str] and bool(value[0] >= 0)  # type: ignore[index]


# --- files ----------------------------------------------------------------------------------------


def check_place(folder: Path, *, force: bool) -> None:
    """Refuse a place for a release that is taken, before any work is done.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "visits.csv").touch()
    ...     check_place(Path(folder), force=True)
    Traceback (most recent call last):
    setveil.core.errors.ReleaseError: ...: the directory holds other files (visits.csv)...
    """
    if folder.exists() and not folder.is_dir():
        raise ReleaseError(
            "this is a file, but a release is a directory", where=str(folder), fix="name another"
        )
    there = folder / MANIFEST
    if there.exists() and b'"setveil"' not in read_file(there, inside=folder):
        raise ReleaseError(
            f"the {MANIFEST} in this directory is not setveil's, so it is not replaced",
            where=str(folder),
            fix="choose another directory",
        )
    others = foreign_names(folder)
    if others:
        raise ReleaseError(
            f"the directory holds other files ({list_names(others)}), and a release is published "
            "as a whole directory",
            where=str(folder),
            fix="name a new or an empty directory",
        )
    if there.exists() and not force:
        raise ReleaseError(
            "there is a release already", where=str(folder), fix="pass force=True (--force)"
        )


def foreign_names(folder: Path) -> list[str]:
    """Return the names in a directory that no write of a release gives to a file, sorted."""
    there = folder.iterdir() if folder.is_dir() else ()
    return sorted(path.name for path in there if not OURS.fullmatch(path.name))


def list_names(names: Sequence[str]) -> str:
    """Return the first names of a list as a message says them.

    >>> list_names(["a.csv", "b.csv", "c.csv", "d.csv"])
    'a.csv, b.csv, c.csv and 1 more'
    """
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return ", ".join(map(shown_name, names[:LISTED])) + more


def check_key_place(
    key_file: str | os.PathLike[str] | None, folder: Path | None = None, *, force: bool
) -> None:
    """Refuse a place for a key that would publish it or cost a file that is no key."""
    if key_file is None:
        return
    target = Path(key_file)
    if folder is not None and folder.resolve() in target.resolve().parents:
        raise ParameterError(
            "a key must not lie in a release", where=str(target), fix="choose another place"
        )
    if (target.parent / MANIFEST).exists():
        raise ParameterError(
            "a key must not lie beside a release", where=str(target), fix="choose another place"
        )
    if not target.exists():
        return
    if target.is_dir():
        raise ReleaseError(
            "this is a directory, but a key is a file", where=str(target), fix="name another"
        )
    if not force:
        raise ReleaseError(
            "there is a file already", where=str(target), fix="pass force=True (--force)"
        )
    if not is_key(target) and not (target.is_file() and target.stat().st_size == 0):
        raise ReleaseError(
            "this is not a key, so it is not replaced",
            where=str(target),
            fix="name another file, or remove this one first",
        )


def is_key(path: Path) -> bool:
    """Tell by its first bytes whether a file is a key, whole or not.

    >>> is_key(Path("nowhere"))
    False
    """
    if not path.is_file():  # a pipe must not be read
        return False
    with suppress(OSError), path.open("rb") as file:
        head = file.read(64)
        return head.startswith(b"PK\x03\x04") and head.startswith(b"records.npy", 30)
    return False


def _commit(
    folder: Path, manifest: Manifest, data: bytes | Path, place_key: Callable[[], None]
) -> None:
    """Write the files of a release; when that fails or is interrupted, undo it or finish it."""
    text = manifest.to_json().encode()
    there, named = folder / MANIFEST, folder / manifest.file
    shared = named.exists()  # the same data in the release that is being replaced
    try:
        _write_whole(named, data) if isinstance(data, bytes) else place_parts(data, named)
        _write_whole(there, text)
        _finish(folder, manifest, place_key)
    except BaseException:
        if there.exists() and there.read_bytes() == text:
            with suppress(OSError):
                _finish(folder, manifest, place_key)
        elif not shared:
            with suppress(OSError):
                remove(named)
        raise


def _finish(folder: Path, manifest: Manifest, place_key: Callable[[], None]) -> None:
    """Do what is left to do after the commit; doing it twice does no harm."""
    place_key()
    _remove_leftovers(folder, {manifest.file, MANIFEST})


def _remove_leftovers(folder: Path, kept: set[str]) -> list[str]:
    """Remove what writes of a release left in a directory; return the names."""
    gone = [
        path
        for path in sorted(folder.iterdir())
        if OURS.fullmatch(path.name) and path.name not in kept
    ]
    for path in gone:
        remove(path)
    return [path.name for path in gone]


def remove_leftovers(directory: str | os.PathLike[str]) -> list[str]:
    """Remove what a killed run left in the directory of a release; return the names.

    Nothing is touched while another process writes there, or where it may not be. A directory
    that then holds no release is removed if it is empty.
    """
    folder = Path(directory).resolve()
    gone: list[str] = []
    with locked_if_free(folder) as free, suppress(OSError, ReleaseError):
        if not free:
            return []
        if (folder / MANIFEST).exists():
            gone = _remove_leftovers(folder, {load_manifest(folder).file, MANIFEST})
        else:
            gone = _remove_leftovers(folder, set())
            folder.rmdir()
    return gone


@contextmanager
def _key_beside(
    key: Key | None, key_file: str | os.PathLike[str] | None, folder: Path, manifest: Manifest
) -> Iterator[Callable[[], None]]:
    """Write a key beside its place; what is handed out moves it there."""
    if key is None or key_file is None:
        yield lambda: None
        return
    target = Path(key_file)
    finish_key(target)
    content = _key_content(replace(key, release=manifest.identity), folder.resolve())
    with ExitStack() as stack:
        with _key_errors(target):
            staged = stack.enter_context(staged_file(target, mode=0o600))
            staged.out.write(content)
            staged.flush()
        yield staged.place


def finish_key(path: str | os.PathLike[str]) -> None:
    """Finish what a run began that was killed while it wrote a key.

    The key takes its place if the release that it names was committed, and is removed if not. It
    stays where it is as long as that cannot be told, because there is no such directory any more.
    """
    target = Path(path)
    for part in dead_parts(target):
        with suppress(OSError, InputError):
            named = _named_release(part)
            if named is None:
                part.unlink()
            elif named.place.is_dir():
                _settle_key(part, target, named)


class _NamedRelease(NamedTuple):
    place: Path
    identity: str


def _named_release(part: Path) -> _NamedRelease | None:
    """Return the release that a key names; None if it is no key, or not whole."""
    try:
        arrays = read_arrays(part, ["records", "release", "place"])
        place, identity = (arrays[name].tobytes() for name in ("place", "release"))
    except (ValueError, KeyError):
        return None
    return _NamedRelease(Path(os.fsdecode(place)), identity.decode("ascii", "replace"))


def _settle_key(part: Path, target: Path, named: _NamedRelease) -> None:
    try:
        committed = load_manifest(named.place).identity == named.identity
    except ReleaseError:  # there is none, or one that nobody can read
        committed = False
    if committed:
        part.replace(target)
    else:
        part.unlink()


def _write_whole(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    with replacing(path, mode=mode) as out:
        out.write(content)
