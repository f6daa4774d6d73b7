"""Where an audit keeps what it made: what may be published, and what stays private."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import secrets
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from setveil import __version__
from setveil.audit.results import DONE, AuditResult, RunRecord
from setveil.core.errors import InputError, ReleaseError
from setveil.core.files import remove_dead_parts, write_whole
from setveil.core.untrusted import read_file, read_json
from setveil.core.words import json_text
from setveil.release.public_folder import unknown_files
from setveil.release.store import finish_key, foreign_names, list_names, remove_leftovers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy

VERSION = 3
"""Version of the files' layout; files of another version are not used."""
SEED_BITS = 128
MARKS = ("lock", "records.json", "audit.json")
"""Files by which a directory is known as that of an audit."""


@dataclass(frozen=True)
class Store:
    """The directory of an audit.

    ``private/`` holds ``candidates/NAME/`` (the release of each trial), ``keys/``,
    ``runs/ID.json`` (each run that ended, with the hash of its release), ``seed.json``,
    ``records.json``, ``audit.json`` and ``lock``. ``publish/`` holds the one release that may be
    published, after a verdict says so.

    Parameters
    ----------
    folder
        The directory.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store.open(folder)
    ...     store.seed(7), Store.open(folder).seed(None), store.names()
    (7, 7, ())
    """

    folder: Path

    @classmethod
    def check_place(cls, folder: str | os.PathLike[str]) -> Store:
        """Refuse, before any work is done, a directory that holds anything else than an audit.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Path(folder, "visits.csv").touch()
        ...     Store.check_place(folder)
        Traceback (most recent call last):
        setveil.core.errors.ReleaseError: ...: the directory holds something else than an audit...
        """
        path = Path(folder)
        store = cls(path)
        if path.exists() and not path.is_dir():
            raise ReleaseError("this is a file", where=str(path), fix="name a directory")
        if not any((store.private / mark).exists() for mark in MARKS) and any(
            not each.is_dir() or each.relative_to(path).parts[0] not in {"publish", "private"}
            for each in path.rglob("*")
        ):
            raise ReleaseError(
                "the directory holds something else than an audit",
                where=str(path),
                fix="name a new or an empty directory",
            )
        link = next((each for each in path.rglob("*") if each.is_symlink()), None)
        if link is not None:  # what is written there would end up where it leads
            raise ReleaseError(
                "this is a link, and an audit has none",
                where=str(link),
                fix="remove it, or name another directory",
            )
        strays = store.foreign_files()
        if strays:
            raise ReleaseError(
                "files that are not part of a release lie among the audit's own: "
                f"{list_names(strays)}",
                where=str(store.folder),
                fix="move them elsewhere",
            )
        return store

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Store:
        """Make the directory, or use that of an earlier audit; anything else is refused."""
        store = cls.check_place(folder)
        try:
            for private in (store.private, *store.private_folders):
                private.mkdir(parents=True, exist_ok=True)
                private.chmod(0o700)  # keys, and how they are found again, are the owner's
            (store.private / "lock").touch(mode=0o600)
        except OSError as error:
            raise ReleaseError(
                f"cannot be made: {error.strerror or error}",
                where=error.filename or str(folder),
                fix="check the permissions and the space left",
            ) from None
        return store

    def foreign_files(self) -> list[str]:
        """Return what lies among the releases without being part of one."""
        found = [f"{self.publish.name}/{name}" for name in unknown_files(self.publish)]
        candidates = sorted(self.candidates.iterdir()) if self.candidates.is_dir() else []
        for each in candidates:
            inside = each.relative_to(self.folder)
            if each.is_dir() and not each.is_symlink():
                found += [str(inside / name) for name in foreign_names(each)]
            else:
                found.append(str(inside))
        return found

    @contextmanager
    def lock(self) -> Iterator[Self]:
        """Keep other audits out of the directory for as long as this one works in it.

        The lock goes with the process that holds it, however that ends.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Store.open(folder).lock():
        ...     with Store.open(folder).lock():
        ...         pass
        Traceback (most recent call last):
        setveil.core.errors.ReleaseError: ...: another audit is at work here. To fix: ...
        """
        try:
            import fcntl  # not on every system
        except ImportError:
            yield self
            return
        # Neither through a link, which may lead to anything, nor waiting for a pipe's reader.
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        with os.fdopen(os.open(self.private / "lock", flags, 0o600), "wb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ReleaseError(
                    "another audit is at work here",
                    where=str(self.folder),
                    fix="wait until it has ended, or name another directory",
                ) from None
            yield self

    def claim(self, records: str) -> None:
        """Refuse the directory of an audit of other records, and clear what a kill left behind."""
        file = self.private / "records.json"
        found = self._read(file.name)
        if found is not None and found.get("records") != records:
            raise ReleaseError(
                "the directory holds the audit of other records",
                where=str(self.folder),
                fix="name another directory, or delete this one",
            )
        _write_private(file, json.dumps({"records": records}) + "\n")
        for name in self.names():
            remove_leftovers(self.candidates / name)
            finish_key(self.key_file(name))
        for folder in (self.private, *self.private_folders):
            remove_dead_parts(folder)

    @property
    def publish(self) -> Path:
        """Where the one release is that may be published; it need not exist."""
        return self.folder / "publish"

    @property
    def candidates(self) -> Path:
        """Where the releases of all trials are."""
        return self.private / "candidates"

    @property
    def private_folders(self) -> tuple[Path, ...]:
        """The folders of what is private."""
        return self.candidates, self.private / "runs", self.private / "keys"

    @property
    def private(self) -> Path:
        """Where everything else is."""
        return self.folder / "private"

    def key_file(self, name: str) -> Path:
        """Return where the key of a run is."""
        return self.private / "keys" / f"{name}.key"

    def names(self) -> tuple[str, ...]:
        """Return the names of the releases that are there, sorted."""
        return tuple(sorted(each.name for each in self.candidates.iterdir() if each.is_dir()))

    def seed(self, given: int | None) -> int:
        """Return the audit's seed: the one that is given, else that of the first call, else drawn.

        A drawn one comes from the operating system: nobody can guess what was drawn from it.
        """
        file = self.private / "seed.json"
        if given is None:
            found = self._read(file.name)
            seed = None if found is None else found.get("seed")
            if type(seed) is int and 0 <= seed < 1 << SEED_BITS:
                return seed
            given = secrets.randbits(SEED_BITS)
        _write_private(file, json.dumps({"seed": given}) + "\n")
        return given

    def finished(self, run_id: str, name: str) -> RunRecord | None:
        """Return a run that ended before, if its release is still the one it made."""
        found = self._read(f"runs/{run_id}.json")
        if found is None or found.get("version") != VERSION:
            return None
        if found.get("release") != self._hash_of(name):
            return None
        run = found.get("run")
        try:
            record = RunRecord.from_json(run if isinstance(run, dict) else {})
        except InputError:
            return None  # damaged: it is made again
        return record if record.state == DONE and record.id == run_id else None

    def keep(self, record: RunRecord) -> None:
        """Write a run that ended; it counts as finished from here on."""
        content = {
            "setveil": "run",
            "version": VERSION,
            "release": self._hash_of(record.name),
            "run": record.to_json(),
        }
        _write_private(self.private / "runs" / f"{record.id}.json", _text(content))

    def _hash_of(self, name: str) -> str | None:
        """Return a hash of all files of a release and of its key."""
        digest = hashlib.sha256()
        try:
            for file in (*sorted((self.candidates / name).iterdir()), self.key_file(name)):
                digest.update(hashlib.sha256(read_file(file, inside=self.folder)).digest())
        except (OSError, InputError):
            return None
        return digest.hexdigest()

    def _read(self, name: str) -> dict[str, Any] | None:
        """Return what a private file says; None where it is missing or damaged."""
        try:
            found = read_json(self.private / name, inside=self.folder)
        except (OSError, ValueError, InputError):
            return None
        return found if isinstance(found, dict) else None

    def keep_result(self, result: AuditResult) -> Path:
        """Write what the audit found."""
        file = self.private / "audit.json"
        _write_private(file, _text({"setveil": "audit", "version": VERSION, **result.to_json()}))
        return file


def load_audit(folder: str | os.PathLike[str]) -> AuditResult:
    """Read what an audit found from its directory, or from ``audit.json`` itself.

    >>> load_audit("nowhere")
    Traceback (most recent call last):
    setveil.core.errors.InputError: nowhere/private/audit.json: no audit is here. To fix: ...
    """
    path = Path(folder)
    file = path if path.is_file() else path / "private" / "audit.json"
    fix = "name the directory that `setveil audit -o` wrote"
    if not file.is_file():
        raise InputError("no audit is here", where=str(file), fix=fix)
    try:
        found = read_json(file, inside=None if file is path else path)
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict) or found.pop("setveil", None) != "audit":
        raise InputError("this is no audit", where=str(file), fix=fix)
    if found.pop("version", None) != VERSION:
        raise InputError("the audit is of another version", where=str(file), fix="audit again")
    try:
        return AuditResult.from_json(found)
    except InputError as error:
        raise InputError(error.what, where=str(file), fix=error.fix) from None


def records_hash(table: TransactionTable) -> str:
    """Return a hash of the records, in whatever order they stand.

    >>> from setveil import TransactionTable
    >>> one = TransactionTable.from_rows([["flu"], ["gout", "hiv"]])
    >>> records_hash(one) == records_hash(TransactionTable.from_rows([["hiv", "gout"], ["flu"]]))
    True
    """
    digest = hashlib.sha256()
    numbers = table.items.tolist()
    names = [json.dumps(name) for name in table.vocabulary.names]
    ends = table.offsets.tolist()
    rows = (
        ",".join(sorted(names[item] for item in numbers[low:high]))
        for low, high in itertools.pairwise(ends)
    )
    for row in sorted(rows):
        digest.update(row.encode() + b"\n")
    return digest.hexdigest()


def data_hash(records: str, taxonomy: Taxonomy | None, sensitive: Iterable[str]) -> str:
    """Return a hash of all that is audited; that of the records is given.

    >>> data_hash("1f", None, []) == data_hash("1f", None, ["flu"])
    False
    """
    content: list[Any] = [records, sorted(sensitive)]
    if taxonomy is not None:
        content += [list(taxonomy.ids), list(taxonomy.names), taxonomy.parents.tolist()]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def run_id(content: Mapping[str, Any]) -> str:
    """Return the id of a run that depends on these JSON values, and on the version of setveil.

    >>> len(run_id({"method": "gather"})), run_id({"k": 1}) == run_id({"k": 2})
    (16, False)
    """
    text = json.dumps({"version": __version__, **content}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def number_of(content: list[Any]) -> int:
    """Return a number that depends on these JSON values, on every machine and in every version.

    >>> number_of(["gather", {"k": 5}]) == number_of(["gather", {"k": 6}])
    False
    """
    text = json.dumps(content, sort_keys=True, default=str)
    return int(hashlib.sha256(text.encode()).hexdigest()[:16], 16)


def _text(content: Mapping[str, Any]) -> str:
    return json_text(content, indent=1) + "\n"


def _write_private(file: Path, text: str) -> None:
    write_whole(file, text, mode=0o600)
