"""An index over a corpus, in one file that is mapped into memory and read where it is needed.

The file begins and ends with a mark; between them stand arrays, and a table of where each stands.
For every word there are the documents that hold it and its places in the corpus, both ascending;
phrases are found by places that follow each other. Different spellings (plural and singular) of
a word share one number. Texts and names of documents are not kept.
"""

from __future__ import annotations

import hashlib
import os
import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import InputError
from setveil.core.files import shown_name
from setveil.core.untrusted import TABLE_LIMIT, check_size, open_file, parse_json
from setveil.relatedness.postings import meet
from setveil.relatedness.words import possible_singulars, words_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from setveil.relatedness.base import IntArray

    Array = npt.NDArray[Any]

MAGIC = b"setveil index 1\n"
ALIGNED = 64
LENGTH = struct.Struct("<Q")
SECTIONS = {
    "form_text": ("<u1",),
    "form_starts": ("<i8",),
    "form_words": ("<i4",),
    "word_forms": ("<i4",),
    "posting_starts": ("<i8",),
    "postings": ("<u4",),
    "place_starts": ("<i8",),
    "places": ("<u4", "<i8"),
    "document_starts": ("<i8",),
}
"""The arrays of a file with the types they may have; all are one-dimensional."""

STEP = 1 << 24
"""Bytes that are read at a time."""
CHECKED = 1 << 26
"""Bytes up to which a whole file is read, and its hash compared, when it is opened."""
FIX = "build it again with `setveil index CORPUS -o INDEX`"


@dataclass(frozen=True, kw_only=True, eq=False)
class CorpusIndex:
    """Counts of documents over a corpus on disk: of words, of phrases, and of pairs of these.

    A term of several words is held by a document in which its words stand next to each other.
    Upper and lower case, punctuation and hyphens make no difference; plural and singular are one
    where the index was built so.

    Parameters
    ----------
    path
        The file, for messages.
    arrays
        Its arrays by name.
    singulars
        Whether plurals were put under their singulars.
    digest
        A hash of all arrays.

    Examples
    --------
    >>> import tempfile
    >>> from setveil.relatedness import build_index
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     notes = ["High blood pressure.", "Blood tests; low pressure.", "A test."]
    ...     index = build_index(notes, Path(folder, "notes.index"))
    ...     index.total, index.counts(["blood", "blood pressure", "Tests", "flu"]).tolist()
    ...     index.pair_counts(["blood"], ["test", "high blood-pressure"]).tolist()
    (3, [2, 1, 2, 0])
    [[1, 1]]
    """

    path: str
    arrays: Mapping[str, Array]
    singulars: bool
    digest: str

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> CorpusIndex:
        """Map the index that ``setveil index`` or ``build_index`` wrote.

        A file of up to 64 MB is read once, to compare its hash; of a larger one little is read.

        Raises
        ------
        InputError
            The file cannot be read, is no index, or is damaged.

        Examples
        --------
        >>> CorpusIndex.open("nowhere.index")
        Traceback (most recent call last):
        setveil.core.errors.InputError: nowhere.index: cannot be read: No such file or directory. \
To...
        """
        where = shown_name(path)
        try:
            raw = _mapped(Path(path))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(f"cannot be read: {reason}", where=where, fix=FIX) from None
        try:
            table = _table(raw)
            arrays = {name: _section(raw, table["sections"], name) for name in SECTIONS}
            _check(arrays)
            singulars, digest = bool(table["singulars"]), str(table["digest"])
            if len(raw) <= CHECKED:
                _check_hash(arrays, singulars=singulars, digest=digest)
            return cls(path=where, arrays=arrays, singulars=singulars, digest=digest)
        except InputError as error:
            raise InputError(error.what, where=where, fix=error.fix) from None
        except (KeyError, TypeError, ValueError, RecursionError):
            raise InputError("the index is damaged", where=where, fix=FIX) from None

    @property
    def total(self) -> int:
        """Number of documents, those without words included."""
        return len(self.arrays["document_starts"]) - 1

    @property
    def n_words(self) -> int:
        """Number of different words."""
        return len(self.arrays["word_forms"])

    @property
    def n_tokens(self) -> int:
        """Number of words over all documents."""
        return len(self.arrays["places"])

    def fingerprint(self) -> str:
        """Return the hash of the content."""
        return self.digest

    def counts(self, terms: Sequence[str]) -> IntArray:
        """Return for each term how many documents hold it; 0 for an unknown one."""
        return np.array([len(self.postings(term)) for term in terms], dtype=np.int64)

    def pair_counts(self, rows: Sequence[str], columns: Sequence[str]) -> IntArray:
        """Return for each row term and column term how many documents hold both."""
        return meet(rows, columns, self.postings, self.total)

    # --- words and phrases --------------------------------------------------------------------

    def postings(self, term: str) -> npt.NDArray[np.uint32]:
        """Return the numbers of the documents that hold a term, ascending."""
        found = self._found.get(term)
        if found is None:
            found = self._found[term] = self._looked_up(term)
        return found

    @cached_property
    def _found(self) -> dict[str, npt.NDArray[np.uint32]]:
        """What was looked up before: an attack asks for the same terms again and again."""
        return {}

    def _looked_up(self, term: str) -> npt.NDArray[np.uint32]:
        numbers = [self.word(word) for word in words_of(term)]
        known = [number for number in numbers if number is not None]
        if not known or len(known) < len(numbers):
            return self.arrays["postings"][:0]
        if len(known) == 1:
            return self._run("posting", "postings", known[0])
        return self._of_phrase(known)

    def _of_phrase(self, words: list[int]) -> npt.NDArray[np.uint32]:
        """Return the documents in which these words follow each other."""
        runs = [self._run("place", "places", word) for word in words]
        by_length = sorted(range(len(runs)), key=lambda i: len(runs[i]))
        rarest = by_length[0]
        begins = runs[rarest][runs[rarest] >= rarest] - runs[rarest].dtype.type(rarest)
        for i in by_length[1:]:
            # In the type of the places: a mixed search would copy the whole run.
            wanted = begins + begins.dtype.type(i)
            at = np.searchsorted(runs[i], wanted)
            there = at < len(runs[i])
            there[there] = runs[i][at[there]] == wanted[there]
            begins = begins[there]
        starts = self.arrays["document_starts"]
        documents = np.searchsorted(starts, begins.astype(np.int64), side="right") - 1
        return np.unique(documents).astype(np.uint32)

    def _run(self, kind: str, name: str, word: int) -> npt.NDArray[Any]:
        starts = self.arrays[f"{kind}_starts"]
        return self.arrays[name][starts[word] : starts[word + 1]]

    def word(self, form: str) -> int | None:
        """Return the number of the word that is spelt so, in lower case; None if there is none."""
        forms = [form, *(possible_singulars(form) if self.singulars else ())]
        places = (self._place(spelt.encode()) for spelt in forms)
        found = next((place for place in places if place is not None), None)
        return None if found is None else int(self.arrays["form_words"][found])

    def _place(self, form: bytes) -> int | None:
        low, high = 0, len(self.arrays["form_words"])
        while low < high:
            middle = (low + high) // 2
            if self._form(middle) < form:
                low = middle + 1
            else:
                high = middle
        there = low < len(self.arrays["form_words"]) and self._form(low) == form
        return low if there else None

    def _form(self, place: int) -> bytes:
        starts = self.arrays["form_starts"]
        return self.arrays["form_text"][starts[place] : starts[place + 1]].tobytes()

    def words(self) -> list[str]:
        """Return all words in the form that stands for their spellings, by number.

        >>> import tempfile
        >>> from setveil.relatedness import build_index
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     build_index(["Two tests, one test."], Path(folder, "notes.index")).words()
        ['one', 'test', 'two']
        """
        places = self.arrays["word_forms"].tolist()
        return [self._form(place).decode(errors="replace") for place in places]

    def __repr__(self) -> str:
        return f"<CorpusIndex: {self.total:,} documents, {self.n_words:,} words>"


# --- the file -------------------------------------------------------------------------------------


def _mapped(path: Path) -> npt.NDArray[np.uint8]:
    with open_file(path) as file:
        if os.fstat(file.fileno()).st_size == 0:
            return np.empty(0, dtype=np.uint8)  # an empty file cannot be mapped
        # A plain view: slices of a memmap object cost microseconds each.
        return np.memmap(file, dtype=np.uint8, mode="r").view(np.ndarray)


def kind_of(name: str, array: Array) -> str:
    """Return the type in which a file holds an array, as it is written there."""
    kinds = SECTIONS[name]
    return next((kind for kind in kinds if np.dtype(kind) == array.dtype), kinds[0])


def digest_of(arrays: Mapping[str, Array], *, singulars: bool) -> str:
    """Return the hash of what an index holds; the arrays have the types of the file."""
    digest = hashlib.blake2b(b"singulars" if singulars else b"as written", digest_size=16)
    for name in SECTIONS:
        array = arrays[name]
        digest.update(f"{name} {kind_of(name, array)} {len(array)}\n".encode())
        step = STEP // array.itemsize
        for begin in range(0, len(array), step):
            digest.update(array[begin : begin + step].tobytes())
    return digest.hexdigest()


def _check_hash(arrays: Mapping[str, Array], *, singulars: bool, digest: str) -> None:
    if digest != digest_of(arrays, singulars=singulars):
        raise InputError("the index is damaged: it does not match its hash", fix=FIX)


def _table(raw: npt.NDArray[np.uint8]) -> dict[str, Any]:
    end = len(raw) - len(MAGIC) - LENGTH.size
    if raw[: len(MAGIC)].tobytes() != MAGIC:
        if raw[: len(MAGIC) - 2].tobytes() == MAGIC[:-2]:
            raise InputError("this index is of another version", fix=FIX)
        raise InputError("this is no index", fix="make one with `setveil index CORPUS -o INDEX`")
    if end < 0 or raw[-len(MAGIC) :].tobytes() != MAGIC:
        raise InputError("the index ends too early", fix=FIX)
    (length,) = LENGTH.unpack(raw[end : end + LENGTH.size].tobytes())
    if length > end:
        raise InputError("the index is damaged", fix=FIX)
    table: dict[str, Any] = parse_json(raw[end - length : end].tobytes())
    return table


def _section(raw: npt.NDArray[np.uint8], sections: Mapping[str, Any], name: str) -> Array:
    start, length, kind = sections[name]
    if kind not in SECTIONS[name] or start % ALIGNED or start < 0 or length < 0:
        raise ValueError(name)
    dtype = np.dtype(kind)
    end = start + length * dtype.itemsize
    if end > len(raw):
        raise ValueError(name)
    return raw[start:end].view(dtype)


def _check(arrays: Mapping[str, Array]) -> None:
    """See that every number that is used as a place is one; the lists themselves are not read."""
    read = ("form_starts", "posting_starts", "place_starts", "document_starts")
    size = sum(arrays[name].nbytes for name in (*read, "form_words", "word_forms"))
    check_size(size, TABLE_LIMIT, what="its lists of words and documents take")
    words, forms = len(arrays["word_forms"]), len(arrays["form_words"])
    for name, runs, of in (
        ("form_starts", forms, "form_text"),
        ("posting_starts", words, "postings"),
        ("place_starts", words, "places"),
        ("document_starts", len(arrays["document_starts"]) - 1, ""),
    ):
        starts = arrays[name]
        if len(starts) != runs + 1 or runs < 1 or starts[0] != 0:
            raise ValueError(name)
        if of and starts[-1] != len(arrays[of]):
            raise ValueError(name)
        if np.any(starts[1:] < starts[:-1]):
            raise ValueError(name)
    for name, limit in (("form_words", words), ("word_forms", forms)):
        if arrays[name].min() < 0 or arrays[name].max() >= limit:
            raise ValueError(name)
