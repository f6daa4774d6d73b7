"""An index over a corpus, in one file that is mapped into memory and read where it is needed.

The file begins and ends with a mark; between them stand arrays, and a table of where each stands.
For every word there are the documents that hold it and its places in the corpus, both ascending;
phrases are found by places that follow each other. Different spellings (plural and singular) of
a word share one number. Texts and names of documents are not kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import tempfile
import unicodedata
from array import array
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from setveil.core.arrays import offsets_of
from setveil.core.errors import InputError
from setveil.core.files import output_file, shown_name
from setveil.core.untrusted import TABLE_LIMIT, check_size, open_file, parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from setveil.core.threads import Progress
    from setveil.relatedness.base import IntArray

    Array = npt.NDArray[Any]

    Postings = npt.NDArray[np.uint32] | npt.NDArray[np.int32]

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
            raw = _map_file(Path(path))
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
        return pair_counts_of(rows, columns, self.postings, self.total)

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


def _map_file(path: Path) -> npt.NDArray[np.uint8]:
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


# --- Postings: the documents that hold a term ---

BLOCK = 256
"""Terms counted at a time: bounds the memory of their bitsets, whatever is asked for."""


def pair_counts_of(
    rows: Sequence[str],
    columns: Sequence[str],
    postings_of: Callable[[str], Postings],
    total: int,
) -> IntArray:
    """Return for each row term and column term how many documents hold both.

    Parameters
    ----------
    rows, columns
        Terms; repeated ones are counted once.
    postings_of
        Gives the numbers of the documents that hold a term, each once.
    total
        Number of documents.

    Examples
    --------
    >>> lists = {"flu": [0, 2], "cough": [2, 3], "gout": []}
    >>> pair_counts_of(["flu", "gout"], ["cough", "flu"],
    ...      lambda term: np.array(lists[term], dtype=np.int32), 4).tolist()
    [[1, 2], [0, 0]]
    """
    from setveil.relatedness.posting_kernels import pair_counts

    down, rows_at = _distinct(rows)
    across, columns_at = _distinct(columns)
    counts = np.zeros((len(down), len(across)), dtype=np.int64)
    for c in range(0, len(across), BLOCK):
        column_lists = _join_lists([postings_of(term) for term in across[c : c + BLOCK]])
        for r in range(0, len(down), BLOCK):
            row_lists = _join_lists([postings_of(term) for term in down[r : r + BLOCK]])
            counts[r : r + BLOCK, c : c + BLOCK] = pair_counts(*row_lists, *column_lists, total)
    return counts[np.ix_(rows_at, columns_at)]


def _distinct(terms: Sequence[str]) -> tuple[list[str], IntArray]:
    place: dict[str, int] = {}
    at = np.array([place.setdefault(term, len(place)) for term in terms], dtype=np.int64)
    return list(place), at


def _join_lists(lists: list[Postings]) -> tuple[IntArray, npt.NDArray[np.int32]]:
    starts = offsets_of([len(each) for each in lists])
    joined = np.concatenate([np.empty(0, dtype=np.int32), *lists], casting="unsafe", dtype=np.int32)
    return starts, joined


# --- Words: how a text becomes what is counted, in a corpus and in terms looked up ---

END = "\0"
"""Ends a text in a list of the words of many; no word holds it."""

_WORD = re.compile(r"[^\W_]+")
_WORD_OR_END = re.compile(rf"[^\W_]+|{END}")
_POSSESSIVE = re.compile("['\u2019]s\\b")
_ENDINGS = (
    ("ies", "y"),
    ("oses", "osis"),
    ("yses", "ysis"),
    ("s", ""),
    ("es", ""),
    ("ves", "f"),
    ("men", "man"),
)


def words_of(text: str) -> list[str]:
    """Return the words of a text in order: runs of letters and digits, in lower case.

    Punctuation and hyphens only separate, so that "x-ray" and "x ray" are the same two words; a
    possessive 's is dropped.

    >>> words_of("An X-ray of Crohn's disease_2, café.")
    ['an', 'x', 'ray', 'of', 'crohn', 'disease', '2', 'café']
    """
    return _WORD.findall(_plain(text))


def _plain(text: str) -> str:
    """Return a text composed, in lower case and without possessives."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    lower = text.lower()
    if "'s" in lower or "\u2019s" in lower:
        lower = _POSSESSIVE.sub("", lower)
    return lower


def words_of_many(texts: Sequence[str]) -> list[str]:
    """Return the words of several texts in one list, with :data:`END` after each text.

    One pass over all of them: for a million short texts faster than one pass over each.

    >>> words_of_many(["An X-ray.", "", "Flu"]) == ["an", "x", "ray", END, END, "flu", END]
    True
    """
    # Between line breaks the mark touches no word: what is normalized or dropped stays the same.
    joined = "".join(f"{text.replace(END, ' ')}\n{END}\n" for text in texts)
    return _WORD_OR_END.findall(_plain(joined))


def possible_singulars(word: str) -> Iterator[str]:
    """Yield what a word would be the plural of, most likely ones first.

    A corpus is turned to singulars with a lexicon. When a term is looked up, the corpus itself
    tells which of these is a word, so that no lexicon needs to be loaded.

    >>> list(possible_singulars("diagnoses")), list(possible_singulars("flu"))
    (['diagnosis', 'diagnose', 'diagnos'], [])
    """
    if len(word) > 3:
        for ending, base in _ENDINGS:
            if word.endswith(ending) and not word.endswith("ss"):
                yield word.removesuffix(ending) + base


# --- Building an index: documents in, one file out, whole or not at all ---

BATCH = 1 << 22
"""Words that are held in memory before they go to disk."""
NARROW = (1 << 32) - 1
"""Places up to this fit into 32 bits."""


class _Numbers(dict[str, int]):
    """Spellings, numbered as they come."""

    def __missing__(self, form: str) -> int:
        number = self[form] = len(self)
        return number


@dataclass(kw_only=True)
class _Tokens:
    """The corpus as numbers of spellings, in a file without a name that goes when it is closed."""

    file: IO[bytes]
    forms: _Numbers = field(default_factory=_Numbers)
    lengths: array[int] = field(default_factory=lambda: array("q"))
    _waiting: list[npt.NDArray[np.uint32]] = field(default_factory=list)
    _held: int = 0

    def add(self, words: list[str]) -> None:
        self.lengths.append(len(words))
        self._waiting.append(
            np.fromiter(map(self.forms.__getitem__, words), np.uint32, count=len(words))
        )
        self._held += len(words)
        if self._held >= BATCH:
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            self.file.write(np.concatenate(self._waiting).tobytes())
        self._waiting.clear()
        self._held = 0

    def batches(self) -> Iterator[tuple[int, int, IntArray, npt.NDArray[np.uint32]]]:
        """Yield the first document, the first token, the lengths and the tokens of batches."""
        lengths = np.frombuffer(self.lengths, dtype=np.int64)
        ends = np.cumsum(lengths)
        first = begin = 0
        self.file.seek(0)
        while first < len(lengths):
            upto = max(first + 1, int(np.searchsorted(ends, begin + BATCH)))
            end = int(ends[upto - 1])
            raw = self.file.read(4 * (end - begin))
            yield first, begin, lengths[first:upto], np.frombuffer(raw, dtype=np.uint32)
            first, begin = upto, end


def build_index(
    documents: Iterable[Any],
    path: str | os.PathLike[str],
    *,
    singulars: bool = True,
    progress: Progress | None = None,
) -> CorpusIndex:
    """Count the words of a corpus into an index on disk, and open it.

    The corpus may be larger than memory: its words go through a file beside `path` that has no
    name and is gone when the work ends, however it ends. What stays in memory is the list of
    different spellings and one number per document.

    Parameters
    ----------
    documents
        Texts, or objects with a `text` (:class:`setveil.text.documents.Document`).
    path
        The file to write; it appears whole or not at all.
    singulars
        Put English plurals under their singulars; needs ``setveil[text]``.
    progress
        Called with a stage, how much is done and how much there is (0 where nobody knows).

    Raises
    ------
    InputError
        There is no word in any document, or the file cannot be written.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     build_index(["A cold.", "Colds and flu."], Path(folder, "notes.index"))
    <CorpusIndex: 2 documents, 4 words>
    """
    tell = progress or (lambda stage, done, total: None)  # noqa: ARG005
    folder = Path(path).parent
    try:
        with tempfile.TemporaryFile(dir=folder) as kept:
            tokens = _Tokens(file=kept)
            for number, document in enumerate(documents):
                tokens.add(words_of(getattr(document, "text", document)))
                if number % 1000 == 0:
                    tell("reading", number, 0)
            tokens.flush()
            if not tokens.forms:
                raise InputError("there are no words in the corpus", fix="give it texts")
            _write(path, tokens, folder, singulars=singulars, tell=tell)
    except OSError as error:
        raise InputError(
            f"the index cannot be written: {error.strerror or error}",
            where=shown_name(path),
            fix="check that the directory exists, can be written to and has room",
        ) from None
    return CorpusIndex.open(path)


def _write(
    path: str | os.PathLike[str],
    tokens: _Tokens,
    folder: Path,
    *,
    singulars: bool,
    tell: Progress,
) -> None:
    tell("sorting words", 0, 0)
    arrays, word_of = word_forms(tokens.forms, singulars=singulars)
    n_words, n_documents = len(arrays["word_forms"]), len(tokens.lengths)
    lengths = np.frombuffer(tokens.lengths, dtype=np.int64)
    # One place stays empty after each document.
    arrays["document_starts"] = offsets_of(lengths + 1)
    from setveil.relatedness.posting_kernels import count_words, place_words

    occurrences, held = np.zeros(n_words, np.int64), np.zeros(n_words, np.int64)
    last = np.full(n_words, -1, np.int64)
    for first, _, sizes, batch in tokens.batches():
        count_words(batch, sizes, first, word_of, occurrences, held, last)
        tell("counting", first, n_documents)
    arrays["place_starts"] = offsets_of(occurrences)
    arrays["posting_starts"] = offsets_of(held)
    wide = arrays["document_starts"][-1] > NARROW
    with tempfile.TemporaryFile(dir=folder) as spots, tempfile.TemporaryFile(dir=folder) as lists:
        places = file_array(spots, "<i8" if wide else "<u4", int(occurrences.sum()))
        postings = file_array(lists, "<u4", int(held.sum()))
        next_place = arrays["place_starts"][:-1].copy()
        next_posting = arrays["posting_starts"][:-1].copy()
        last[:] = -1
        for first, begin, sizes, batch in tokens.batches():
            place_words(batch, sizes, first, begin + first, word_of, next_place, next_posting,
                        last, places, postings)  # fmt: skip
            tell("placing", first, n_documents)
        arrays["places"], arrays["postings"] = places, postings
        tell("writing", 0, 0)
        with output_file(path) as out:
            write_sections(out, arrays, singulars=singulars)


def file_array(file: IO[bytes], kind: str, length: int) -> Array:
    """Return an array in a file; it goes when the file is closed."""
    file.truncate(length * np.dtype(kind).itemsize)
    return np.memmap(file, dtype=kind, mode="r+", shape=(length,))


def word_forms(
    forms: Iterable[str], *, singulars: bool
) -> tuple[dict[str, Array], npt.NDArray[np.int32]]:
    """Return the arrays of spellings and words, and the word of each spelling by its place.

    >>> arrays, words = word_forms(["tests", "a", "test"], singulars=True)
    >>> words.tolist(), arrays["form_starts"].tolist()
    ([1, 0, 1], [0, 1, 5, 10])
    """
    if singulars:
        word_by_form = {form: _singular(form) for form in forms}
    else:
        word_by_form = {form: form for form in forms}
    words = sorted(set(word_by_form.values()))
    number = {word: i for i, word in enumerate(words)}
    word_of = np.fromiter((number[word] for word in word_by_form.values()), np.int32)
    # A singular can be looked up where only its plural stands in the corpus.
    word_by_form.update((word, word) for word in words if word not in word_by_form)
    # Python sorts by code points, which is the order of their UTF-8 bytes.
    spelt = sorted(word_by_form)
    encoded = [form.encode() for form in spelt]
    place = {form: i for i, form in enumerate(spelt)}
    arrays: dict[str, Array] = {
        "form_text": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        "form_starts": offsets_of([len(each) for each in encoded]),
        "form_words": np.array([number[word_by_form[form]] for form in spelt]),
        "word_forms": np.array([place[word] for word in words]),
    }
    return arrays, word_of


def _singular(form: str) -> str:
    """Return the singular of the singular … until it stays, so that a word stands for itself."""
    from setveil.text.inflection import singular

    word = singular(form)
    while word and word != form:
        form, word = word, singular(word)
    return form


def write_sections(out: IO[bytes], arrays: dict[str, Array], *, singulars: bool) -> None:
    """Write the arrays of an index into an open file, with the table of where they stand."""
    typed = {
        name: arrays[name].astype(kind_of(name, arrays[name]), copy=False) for name in SECTIONS
    }
    sections = {}
    out.write(MAGIC)
    at = len(MAGIC)
    for name, content in typed.items():
        at += out.write(b"\0" * (-at % ALIGNED))
        sections[name] = (at, len(content), kind_of(name, content))
        step = STEP // content.itemsize
        for begin in range(0, len(content), step):
            at += out.write(content[begin : begin + step].tobytes())
    digest = digest_of(typed, singulars=singulars)
    table = {"singulars": singulars, "digest": digest, "sections": sections}
    written = json.dumps(table).encode()
    out.write(written + LENGTH.pack(len(written)) + MAGIC)
