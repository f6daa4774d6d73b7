"""Word vectors from files: GloVe's and word2vec's text, or arrays of NumPy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from setveil.core.errors import InputError, ParameterError
from setveil.core.files import shown_name
from setveil.core.untrusted import TABLE_LIMIT, read_arrays
from setveil.data.problems import shortened
from setveil.data.sources import Source
from setveil.data.table import frozen

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Iterator

Float32Array = npt.NDArray[np.float32]

PARTS = re.compile(r"[\s_-]+")
ZIP_MAGIC = b"PK\x03\x04"


@dataclass(frozen=True, kw_only=True, eq=False)
class Vectors:
    """Words and their vectors; a phrase has the mean of the vectors of its known words.

    Parameters
    ----------
    words
        The words, in any order; of a repeated one the first counts.
    vectors
        One row per word.

    Examples
    --------
    >>> vectors = Vectors(words=("sweet", "pea", "rock"), vectors=[[1, 0], [0, 1], [5, 5]])
    >>> rows, known = vectors.of(["Sweet pea", "rock", "unheard-of"])
    >>> rows.tolist(), known.tolist()
    ([[0.5, 0.5], [5.0, 5.0], [0.0, 0.0]], [True, True, False])
    """

    words: tuple[str, ...]
    vectors: Float32Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "vectors", frozen(self.vectors, np.float32))
        if self.vectors.ndim != 2 or len(self.vectors) != len(self.words):
            raise ParameterError("each word needs one row of numbers")
        if not np.all(np.isfinite(self.vectors)):
            raise InputError("a vector holds something that is no number", fix="check the vectors")

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, terms: Iterable[str] | None = None) -> Vectors:
        r"""Read vectors: text (GloVe, word2vec), plain or compressed, or .npz.

        Text has a word and its numbers on each line; a first line with two numbers, as word2vec
        writes it, is passed over. An .npz holds `words` and `vectors`.

        Parameters
        ----------
        path
            The file.
        terms
            What will be looked up; of a text, only the lines that this needs are kept.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "glove.txt")
        ...     _ = file.write_text("flu 0.5 1\ncold 0.25 1\n")
        ...     Vectors.read(file), Vectors.read(file, terms=["cold"]).words
        (<Vectors: 2 words, 2 dimensions>, ('cold',))
        """
        wanted = None if terms is None else {form.encode() for t in terms for form in _forms(t)}
        with Source(path, waits=False) as source:
            if not source.head.startswith(ZIP_MAGIC):
                source.refuse_foreign()
                return _from_text(source, wanted)
        return _from_npz(path)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: i for i, word in reversed(list(enumerate(self.words)))}

    def of(self, terms: Collection[str]) -> tuple[Float32Array, npt.NDArray[np.bool_]]:
        """Return one row per term, and which terms are known; the others' rows are zero.

        A term is looked for as it is, with underscores, and in lower case; else its words are.
        """
        rows = np.zeros((len(terms), self.vectors.shape[1]), dtype=np.float32)
        known = np.zeros(len(terms), dtype=bool)
        for i, term in enumerate(terms):
            places = self._places(term)
            if places:
                rows[i] = self.vectors[places].mean(axis=0)
                known[i] = True
        return rows, known

    def _places(self, term: str) -> list[int]:
        numbers = self._numbers
        for form in _whole_forms(term):
            if form in numbers:
                return [numbers[form]]
        found = (numbers.get(w, numbers.get(w.lower())) for w in PARTS.split(term))
        return [place for place in found if place is not None]

    def __repr__(self) -> str:
        n, d = self.vectors.shape
        return f"<Vectors: {n:,} words, {d} dimensions>"


def _whole_forms(term: str) -> list[str]:
    joined = "_".join(term.split())
    return list(dict.fromkeys([term, joined, term.lower(), joined.lower()]))


def _forms(term: str) -> Iterator[str]:
    yield from _whole_forms(term)
    for word in PARTS.split(term):
        yield word
        yield word.lower()


def _lines(source: Source) -> Iterator[tuple[int, bytes]]:
    before = 0
    for block in source.blocks():
        lines = block.removesuffix(b"\n").split(b"\n")
        yield from enumerate(map(bytes.strip, lines), before + 1)
        before += len(lines)


def _from_text(source: Source, wanted: set[bytes] | None) -> Vectors:
    words: list[str] = []
    rows: list[Float32Array] = []
    width = 0
    for number, line in _lines(source):
        word, _, rest = line.partition(b" " if b" " in line else b"\t")
        if not line or (number == 1 and word.isdigit() and rest.strip().isdigit()):
            continue
        numbers = rest.split()
        width = width or len(numbers)
        if wanted is not None and word not in wanted and len(numbers) == width:
            continue
        extra = len(numbers) - width  # a word of GloVe's may hold spaces
        if extra > 0:
            word, numbers = b" ".join([word, *numbers[:extra]]), numbers[extra:]
        rows.append(_row(numbers, width, line, f"{source.name}, line {number}"))
        words.append(word.decode(errors="replace"))
    if not width:
        raise InputError("there are no vectors in it", where=source.name, fix="give word vectors")
    matrix = np.array(rows, dtype=np.float32).reshape(len(rows), width)
    return Vectors(words=tuple(words), vectors=matrix)


def _row(numbers: list[bytes], width: int, line: bytes, where: str) -> Float32Array:
    try:
        row = np.array(numbers, dtype=np.bytes_).astype(np.float32)
    except ValueError:
        row = np.empty(0, dtype=np.float32)
    if len(row) != width or not width or not np.all(np.isfinite(row)):
        shown = shortened(line[:200].decode(errors="replace"))
        raise InputError(
            f"{shown} is not a word and {width or 'its'} numbers",
            where=where,
            fix="give vectors as text: a word and its numbers on each line",
        )
    return row


def _from_npz(path: str | os.PathLike[str]) -> Vectors:
    fix = "save it by numpy.savez(file, words=array_of_text, vectors=matrix)"
    try:
        held = read_arrays(path, ["words", "vectors"], limit=TABLE_LIMIT)
        words, vectors = held["words"], held["vectors"]
        shown = words.astype(np.str_).tolist() if words.dtype.kind == "U" else _decoded(words)
    except KeyError as error:
        raise InputError(
            f"no words and vectors can be read from it: there are no {error.args[0]}",
            where=shown_name(path),
            fix=fix,
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(
            f"no words and vectors can be read from it: {error}",
            where=shown_name(path),
            fix=f"copy it again, as it may be damaged; or {fix}",
        ) from None
    if words.ndim != 1 or words.dtype.kind not in "US" or vectors.dtype.kind not in "fiu":
        raise InputError(
            "its words are no list of text, or its vectors no numbers",
            where=shown_name(path),
            fix=fix,
        )
    try:
        return Vectors(words=tuple(shown), vectors=vectors.astype(np.float32))
    except (ParameterError, InputError) as error:
        raise InputError(error.what, where=shown_name(path), fix=fix) from None


def _decoded(words: npt.NDArray[np.bytes_]) -> list[str]:
    given = words.tolist() if words.dtype.kind == "S" and words.ndim == 1 else []
    return [word.decode(errors="replace") for word in given]
