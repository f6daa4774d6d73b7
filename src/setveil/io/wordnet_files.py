"""WordNet's noun files: where they are found, and what stands in them."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
import re
import sys
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setveil.core.errors import InputError
from setveil.core.files import shown_name
from setveil.core.untrusted import open_archive, read_file, read_member

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILES = ("data.noun", "index.noun", "noun.exc")
LARGEST = 1 << 28  # bytes of one file in an archive: data.noun has 15 million
NLTK_CORPORA = ("wordnet", "wordnet31")
HOW_TO_GET = (
    "install Debian's package wordnet-base, or run `python -m nltk.downloader wordnet`, or fetch "
    "the database files from wordnet.princeton.edu, and name their folder or .tar.gz"
)

# Only the first hypernym counts: it makes the graph of synsets a tree.
SYNSET = re.compile(
    rb"^(\d{8}) \d\d n [0-9a-fA-F]{2} (\S+) (?:[^|\n]*? @i? (\d{8}) n )?", re.MULTILINE
)
LEMMA = re.compile(rb"^(\S+) n .*?((?: \d{8})+)[ \r]*$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class NounFiles:
    """The bytes of WordNet's noun files, and a key that changes when they do.

    >>> NounFiles(name="dict", key="0", data=b"", index=b"", exceptions=b"").name
    'dict'
    """

    name: str
    key: str
    data: bytes
    index: bytes
    exceptions: bytes


# --- finding ----------------------------------------------------------------------------------


def places(environment: Mapping[str, str] = os.environ) -> Iterator[Path]:
    """Yield where WordNet may lie: its own variables, Debian's folder, NLTK's data.

    >>> next(places({"WNSEARCHDIR": "/opt/wordnet/dict"})).as_posix()
    '/opt/wordnet/dict'
    """
    if environment.get("WNSEARCHDIR"):
        yield Path(environment["WNSEARCHDIR"])
    if environment.get("WNHOME"):
        yield Path(environment["WNHOME"]) / "dict"
    yield Path("/usr/share/wordnet")
    roots = [Path(part) for part in environment.get("NLTK_DATA", "").split(os.pathsep) if part]
    if environment.get("HOME"):
        roots.append(Path(environment["HOME"]) / "nltk_data")
    roots += [Path(sys.prefix, *inner) for inner in (["nltk_data"], ["share", "nltk_data"])]
    system = ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib")
    roots += [Path(folder) / "nltk_data" for folder in system]
    for root in roots:
        for corpus in NLTK_CORPORA:
            yield root / "corpora" / corpus
            yield root / "corpora" / f"{corpus}.zip"  # NLTK does not unpack it


def find_place(given: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder or archive of WordNet: the given one, or the first that is found.

    >>> find_place("nowhere")
    Traceback (most recent call last):
    setveil.core.errors.InputError: nowhere: there is no WordNet here. To fix: name the folder \
with data.noun, index.noun and noun.exc, or a .tar.gz or .zip of it.
    """
    if given is not None:
        place = Path(given)
        inner = next((p for p in (place, place / "dict") if (p / FILES[0]).is_file()), None)
        if inner is None and not place.is_file():
            raise InputError(
                "there is no WordNet here",
                where=shown_name(given),
                fix=f"name the folder with {FILES[0]}, {FILES[1]} and {FILES[2]}, "
                "or a .tar.gz or .zip of it",
            )
        return inner or place
    for place in places():
        if (place / FILES[0]).is_file() or place.is_file():
            return place
    raise InputError(
        "WordNet was not found in WNSEARCHDIR, in WNHOME, in Debian's /usr/share/wordnet "
        "or in NLTK's data",
        fix=HOW_TO_GET,
    )


# --- reading ----------------------------------------------------------------------------------


def content_key(place: Path) -> str:
    """Return a key of what lies in a folder or an archive: equal content has an equal key."""
    digest = hashlib.sha256()
    files = [place] if place.is_file() else [place / name for name in FILES]
    for file in files:
        content = _bytes_of(file)
        digest.update(len(content).to_bytes(8, "big") + content)
    return digest.hexdigest()[:32]


def read_files(place: Path, key: str) -> NounFiles:
    """Return the noun files of a folder or of an archive, which is not unpacked to the disk."""
    if place.is_file():
        parts = _from_archive(place)
    else:
        parts = {name: _bytes_of(place / name) for name in FILES}
    lacking = [name for name in FILES[:2] if not parts.get(name)]
    if lacking:
        raise InputError(
            f"{' and '.join(lacking)} cannot be found in it", where=str(place), fix=HOW_TO_GET
        )
    data, index, exceptions = (parts.get(name, b"") for name in FILES)
    return NounFiles(name=shown_name(place), key=key, data=data, index=index, exceptions=exceptions)


def _bytes_of(file: Path) -> bytes:
    try:
        return read_file(file)
    except FileNotFoundError:  # noun.exc may be absent; the others are asked for later
        return b""
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror or error}",
            where=str(file),
            fix="check the path and its permissions",
        ) from None


def _from_archive(place: Path) -> dict[str, bytes]:
    content = _bytes_of(place)
    reader = _from_zip if content.startswith(b"PK") else _from_tar
    try:
        return dict(reader(content))
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, ValueError, zlib.error) as e:
        raise InputError(
            f"this is no archive that can be read: {e}",
            where=str(place),
            fix=f"copy it again, as a part may be missing; or {HOW_TO_GET}",
        ) from None


def _from_tar(content: bytes) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=BytesIO(_unpack(content)), mode="r:") as archive:
        for member in archive:
            name = member.name.rpartition("/")[2]
            if name in FILES and member.isfile():
                _must_be_bounded(member.size)
                file = archive.extractfile(member)
                assert file is not None
                yield name, file.read()


def _unpack(content: bytes) -> bytes:
    """Return a plain archive; reading on in a packed one would unpack whatever is in it."""
    openers: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
    for magic, opener in openers.items():
        if content.startswith(magic):
            with opener(BytesIO(content)) as file:
                plain: bytes = file.read(LARGEST + 1)
            _must_be_bounded(len(plain))
            return plain
    return content


def _from_zip(content: bytes) -> Iterator[tuple[str, bytes]]:
    with open_archive(BytesIO(content)) as archive:
        for info in archive.infolist():
            name = info.filename.rpartition("/")[2]
            if name in FILES:
                _must_be_bounded(info.file_size)
                yield name, read_member(archive, info.filename)


def _must_be_bounded(size: int) -> None:
    if size > LARGEST:
        raise ValueError("it holds more than any WordNet")


# --- what stands in them ----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Nouns:
    """What the files say: synsets with a name and a parent, lemmas with their synsets.

    Parameters
    ----------
    ids
        WordNet's usual names of synsets: first word, part of speech, number of the sense.
    names
        The first word of each synset.
    parents
        Place of each synset's first hypernym; -1 for a top.
    senses
        Lemma → places of its synsets, most frequent first.
    exceptions
        Irregular plural → singulars.
    """

    ids: list[str]
    names: list[str]
    parents: list[int]
    senses: dict[str, list[int]]
    exceptions: dict[str, tuple[str, ...]]


def parse(files: NounFiles) -> Nouns:
    r"""Parse the noun files.

    >>> nouns = parse(NounFiles(name="dict", key="", exceptions=b"oxen ox\n",
    ...     data=b"00000001 03 n 01 entity 0 000 | all\n"
    ...          b"00000037 05 n 02 ox 0 wild_ox 0 001 @ 00000001 n 0000 | a bovine\n",
    ...     index=b"entity n 1 0 1 0 00000001  \nox n 1 1 @ 1 1 00000037  \n"))
    >>> nouns.ids, nouns.parents, nouns.senses
    (['entity.n.01', 'ox.n.01'], [-1, 0], {'entity': [0], 'ox': [1]})
    """
    found = SYNSET.findall(files.data)
    _must_be_all(files.data, found, SYNSET, f"{files.name}, {FILES[0]}")
    place = {offset: i for i, (offset, _, _) in enumerate(found)}
    names = [_text(word).replace("_", " ") for _, word, _ in found]
    entries = LEMMA.findall(files.index)
    _must_be_all(files.index, entries, LEMMA, f"{files.name}, {FILES[1]}")
    try:
        parents = [place[above] if above else -1 for _, _, above in found]
        senses = {_text(lemma): [place[o] for o in offsets.split()] for lemma, offsets in entries}
    except KeyError as error:
        raise InputError(
            f"the synset {_text(error.args[0])} is named but not there",
            where=files.name,
            fix="take data.noun and index.noun from one version of WordNet",
        ) from None
    return Nouns(
        ids=_ids(names, senses),
        names=names,
        parents=parents,
        senses=senses,
        exceptions=_exceptions(files.exceptions),
    )


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _must_be_all(
    content: bytes, found: list[tuple[bytes, ...]], pattern: re.Pattern[bytes], where: str
) -> None:
    """Say which line is damaged; the licence at the top is indented."""
    if found and len(found) == len(re.findall(rb"^[^ \r\n]", content, re.MULTILINE)):
        return
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip() and not line.startswith(b" ") and not pattern.match(line):
            raise InputError(
                f"this is no line of WordNet: {_text(line[:60])!r}",
                where=f"{where}, line {number}",
                fix=HOW_TO_GET,
            )
    raise InputError("there is no noun in it", where=where, fix=HOW_TO_GET)


def _ids(names: list[str], senses: dict[str, list[int]]) -> list[str]:
    """Name each synset by its first word and by the number of that word's sense."""
    rank = {
        (lemma, synset): i for lemma, nodes in senses.items() for i, synset in enumerate(nodes, 1)
    }
    firsts = [name.lower().replace(" ", "_") for name in names]
    return [
        f"{first}.n.{number:02}" if (number := rank.get((first, i), 0)) else f"{first}.n.00.{i}"
        for i, first in enumerate(firsts)
    ]


def _exceptions(content: bytes) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for form, *bases in filter(None, map(str.split, _text(content).splitlines())):
        found[form] = tuple(dict.fromkeys((*found.get(form, ()), *bases)))  # some stand twice
    return found
