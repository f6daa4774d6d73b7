"""Building an index over a corpus: documents in, one file out, whole or not at all."""

from __future__ import annotations

import json
import tempfile
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import InputError
from setveil.core.files import output_file, shown_name
from setveil.relatedness.index import (
    ALIGNED,
    LENGTH,
    MAGIC,
    SECTIONS,
    STEP,
    CorpusIndex,
    digest_of,
    kind_of,
)
from setveil.relatedness.words import words_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator

    import numpy.typing as npt

    from setveil.relatedness.base import IntArray

    Array = npt.NDArray[Any]

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
    progress: Callable[[str, int, int], None] | None = None,
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
    tell: Callable[[str, int, int], None],
) -> None:
    tell("sorting words", 0, 0)
    arrays, word_of = word_forms(tokens.forms, singulars=singulars)
    n_words, n_documents = len(arrays["word_forms"]), len(tokens.lengths)
    lengths = np.frombuffer(tokens.lengths, dtype=np.int64)
    # One place stays empty after each document.
    arrays["document_starts"] = np.concatenate([[0], np.cumsum(lengths + 1)])
    from setveil.kernels.postings import count_words, place_words

    occurrences, held = np.zeros(n_words, np.int64), np.zeros(n_words, np.int64)
    last = np.full(n_words, -1, np.int64)
    for first, _, sizes, batch in tokens.batches():
        count_words(batch, sizes, first, word_of, occurrences, held, last)
        tell("counting", first, n_documents)
    arrays["place_starts"] = np.concatenate([[0], np.cumsum(occurrences)])
    arrays["posting_starts"] = np.concatenate([[0], np.cumsum(held)])
    wide = arrays["document_starts"][-1] > NARROW
    with tempfile.TemporaryFile(dir=folder) as spots, tempfile.TemporaryFile(dir=folder) as lists:
        places = on_disk(spots, "<i8" if wide else "<u4", int(occurrences.sum()))
        postings = on_disk(lists, "<u4", int(held.sum()))
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


def on_disk(file: IO[bytes], kind: str, length: int) -> Array:
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
        "form_starts": np.concatenate([[0], np.cumsum([len(each) for each in encoded])]),
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


def write_sections(out: Any, arrays: dict[str, Array], *, singulars: bool) -> None:  # noqa: ANN401
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
