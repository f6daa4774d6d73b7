"""Releases on disk: a directory that is there as a whole or not at all, and private keys.

A release is a directory with a data file, whose name carries the hash of its content, and
``manifest.json``. The data file is written and flushed first; renaming the manifest into place
is the commit. A run that is killed leaves the old release or the new one; what belongs to neither
is removed by the next write. A run that fails or is interrupted (Ctrl-C) removes what it wrote
before the commit, and finishes what is left to do after it.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import secrets
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil import __version__
from setveil.core.files import alone_in, replacing
from setveil.core.untrusted import parse_json, read_arrays, read_file
from setveil.errors import InputError, ParameterError, ReleaseError, SetveilError
from setveil.registry import name_of
from setveil.release.base import Key
from setveil.release.chunk_blocks import release_in_parts
from setveil.release.disassociated import DisassociatedRelease
from setveil.release.encoding import decode, encode
from setveil.release.forms import form_of, rebuild
from setveil.release.manifest import Manifest
from setveil.release.parts import content_of, place_parts, remove

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    import numpy.typing as npt

    from setveil.guarantee.base import Guarantee
    from setveil.release.base import Release

MANIFEST = "manifest.json"
NAMES = r"(release-[0-9a-f]{16}\.(parquet|jsonl|csv)|manifest\.json)"
OURS = re.compile(rf"{NAMES}|\.{NAMES}\.[0-9a-f]{{16}}\.part")
TRIES = 3


def save(
    release: Release,
    directory: str | os.PathLike[str],
    *,
    method: str,
    params: Mapping[str, Any],
    promise: Guarantee | None,
    force: bool = False,
    format: str = "parquet",  # noqa: A002  (what the format of a file is called everywhere)
    key: Key | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> Manifest:
    """Write a release to a directory; it appears there as a whole or not at all.

    Parameters
    ----------
    release
        What may be published.
    directory
        Where to; made if need be. Other files in it are left alone.
    method, params
        How the release was made; `params` must be JSON values and public.
    promise
        The guarantee it keeps, or None.
    force
        Replace a release that is already there.
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
        There is a release already, or the directory cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from setveil.data import Taxonomy
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
    with _in_words(directory):
        _check_free(Path(directory), force=force)
        data = encode(form_of(release).records(release), format)
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
    with _in_words(folder), _key_beside(key, key_file, folder) as place_key, alone_in(folder):
        _check_free(folder, force=force)
        _commit(folder, manifest, data, place_key)


@contextmanager
def parts_written(
    directory: str | os.PathLike[str], *, force: bool = False
) -> Iterator[Callable[[Manifest, Path], None]]:
    """Hold a directory while the parts of a data file are written into it.

    What is handed out puts a manifest and a directory of parts in their places. Others who write
    there wait, and after an error a directory that was made for it is removed.
    """
    folder = Path(directory)
    with _in_words(folder), alone_in(folder):
        _check_free(folder, force=force)
        yield lambda manifest, parts: _commit(folder, manifest, parts, lambda: None)


@contextmanager
def _in_words(directory: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ReleaseError(
            f"cannot write the release: {error.strerror or error}",
            where=str(directory),
            fix="check the directory, its permissions and the space left",
        ) from None
    except UnicodeEncodeError as error:
        raise ReleaseError(
            f"a name cannot be written as UTF-8: {error.object!r:.60}", fix="rename it"
        ) from None


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
    form = form_of(release)
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
        occurrences=len(form.records(release).items),
        tool=f"setveil {__version__}",
        file=f"release-{digest[:16]}.{ending}",
        format=ending,
        sha256=digest,
        structure=form.structure(release),
    )


def load_manifest(directory: str | os.PathLike[str]) -> Manifest:
    """Read and check the manifest of a release; the data file is not looked at."""
    folder = Path(directory)
    try:
        text = read_file(folder / MANIFEST, inside=folder)
    except (FileNotFoundError, NotADirectoryError):
        raise ReleaseError(
            f"no release is here: there is no {MANIFEST}",
            where=str(folder),
            fix="name the directory that `setveil anonymize -o` wrote",
        ) from None
    except OSError as error:
        raise ReleaseError(
            f"{MANIFEST} cannot be read: {error.strerror or error}", where=str(folder)
        ) from None
    except InputError as error:
        raise ReleaseError(error.what, where=error.where, fix=error.fix) from None
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
            return manifest, content_of(folder / manifest.file)
        except InputError as error:
            raise ReleaseError(error.what, where=error.where, fix=error.fix) from None
        except FileNotFoundError:
            # Another process may have committed a new release since the manifest was read.
            manifest = load_manifest(folder)
        except OSError as error:
            raise ReleaseError(
                f"{manifest.file} cannot be read: {error.strerror or error}", where=str(folder)
            ) from None
    raise ReleaseError(f"the data file {manifest.file} is missing", where=str(folder))


def _rebuild(manifest: Manifest, data: bytes) -> Release:
    if manifest.form == DisassociatedRelease.form and manifest.structure == {"parts": True}:
        release: Release = release_in_parts(data)
        items = len(form_of(release).records(release).items)
    else:
        records = decode(data, manifest.format)
        release = rebuild(manifest.form, records, manifest.structure)
        items = len(records.items)
    counts = len(release), items
    if counts != (manifest.records, manifest.occurrences):
        raise ReleaseError(
            f"the data holds {counts[0]} records with {counts[1]} items, the manifest says "
            f"{manifest.records} with {manifest.occurrences}"
        )
    return release


def save_key(key: Key, path: str | os.PathLike[str]) -> None:
    """Write a key, readable by its owner only (mode 0600); a file already there is replaced.

    Keys stay private, so a directory that holds a release is refused.
    """
    _save_key(key, Path(path), called=str(path))


def _save_key(key: Key, target: Path, *, called: str) -> None:
    """Write a key; `called` is the place that messages name, where `target` is only on the way."""
    if (target.parent / MANIFEST).exists():
        raise ParameterError(
            "a key must not lie beside a release", where=called, fix="choose another place"
        )
    sink = io.BytesIO()
    arrays: dict[str, npt.NDArray[Any]] = {"records": key.records}
    if key.names:  # as JSON: arrays of texts would pad every name to the longest
        arrays["names"] = np.frombuffer(json.dumps(key.names).encode(), dtype=np.uint8)
    if key.parts:
        arrays["parts"] = np.array([True])
    if key.removed:
        arrays["removed"] = np.frombuffer(json.dumps(key.removed).encode(), dtype=np.uint8)
    np.savez_compressed(sink, allow_pickle=False, **arrays)
    try:
        _write_whole(target, sink.getvalue(), mode=0o600)
    except OSError as error:
        raise ReleaseError(
            f"cannot write the key: {error.strerror or error}",
            where=called,
            fix="check its directory, the permissions and the space left",
        ) from None


def load_key(path: str | os.PathLike[str]) -> Key:
    """Read a key that :func:`save_key` wrote.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_key(Key(records=[1, 0]), Path(folder) / "visits.key")
    ...     load_key(Path(folder) / "visits.key").records.tolist()
    [1, 0]
    """
    fix = "name the file that `setveil anonymize --key` wrote"
    try:
        arrays = read_arrays(path, ["records", "names", "parts", "removed"])
        records = arrays["records"]
        names = parse_json(arrays["names"].tobytes()) if "names" in arrays else []
        parts = "parts" in arrays
        removed = parse_json(arrays["removed"].tobytes()) if "removed" in arrays else []
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
    return Key(records=records, names=tuple(names), parts=parts, removed=tuple(map(tuple, removed)))


def _is_occurrence(value: object) -> bool:
    """Tell whether this is a record's place with an item's name."""
    kinds = [type(part) for part in value] if isinstance(value, list) else []
    return kinds == [int, str] and bool(value[0] >= 0)  # type: ignore[index]


# --- files ----------------------------------------------------------------------------------------


def _check_free(folder: Path, *, force: bool) -> None:
    """Refuse a place that is taken, before any work is done."""
    if folder.exists() and not folder.is_dir():
        raise ReleaseError(
            "this is a file, but a release is a directory", where=str(folder), fix="name another"
        )
    there = folder / MANIFEST
    if not there.exists():
        return
    if not force:
        raise ReleaseError(
            "there is a release already", where=str(folder), fix="pass force=True (--force)"
        )
    if b'"setveil"' not in there.read_bytes():
        raise ReleaseError(
            f"the {MANIFEST} in this directory is not setveil's, so it is not replaced",
            where=str(folder),
            fix="choose another directory",
        )


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
    for path in folder.iterdir():
        if OURS.fullmatch(path.name) and path.name not in {manifest.file, MANIFEST}:
            remove(path)


@contextmanager
def _key_beside(
    key: Key | None, key_file: str | os.PathLike[str] | None, folder: Path
) -> Iterator[Callable[[], None]]:
    """Write a key beside its place; what is handed out moves it there."""
    if key is None or key_file is None:
        yield lambda: None
        return
    target = Path(key_file)
    if folder.resolve() in target.resolve().parents:
        raise ParameterError(
            "a key must not lie in a release", where=str(target), fix="choose another place"
        )
    beside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.part")

    def place() -> None:
        if beside.exists():
            beside.replace(target)

    try:
        _save_key(key, beside, called=str(target))
        yield place
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _write_whole(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    with replacing(path, mode=mode) as out:
        out.write(content)
