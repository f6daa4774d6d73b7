"""How far apart two terms are: what every source of relatedness offers, and how it is named.

A source is named by a short text: ``corpus:INDEX`` (NGD over an index that ``setveil index``
wrote), ``pmi:INDEX``, ``trained:INDEX`` (word vectors made from that index), ``release`` (the
release that is attacked), ``glove:FILE``, ``wordnet`` or ``wordnet:DIRECTORY``, ``web:CONFIG``,
or a weighted sum such as ``0.5*corpus:INDEX+0.5*glove:FILE``.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from setveil.core.errors import ParameterError
from setveil.core.registry import entries, find

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.core.arrays import BoolArray, FloatArray
    from setveil.release.base import Release

IntArray = npt.NDArray[np.int64]

NAMED = 5
"""How many terms a sentence names before it only counts them."""


@runtime_checkable
class Relatedness(Protocol):
    """A source of relatedness: smaller distances mean closer terms.

    Terms are texts as they stand in data: of one word or several. A term that the source has
    never met is *unknown*; it has no distance, not even to itself, and NaN says so.
    """

    def distances(self, rows: Sequence[str], columns: Sequence[str]) -> FloatArray:
        """Return the distance of each row term to each column term; NaN where there is none."""
        ...

    def known(self, terms: Sequence[str]) -> BoolArray:
        """Tell for each term whether the source knows it."""
        ...

    def fingerprint(self) -> str:
        """Return a text that is the same exactly when all distances are, for caches."""
        ...


@runtime_checkable
class Source(Relatedness, Protocol):
    """A class that is registered as ``"relatedness"`` can be made from the text that names it."""

    @classmethod
    def from_spec(cls, place: str, *, release: Release | None = None) -> Self:
        """Return the source for what follows the colon, which may be nothing."""
        ...


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """What a source could not say about some terms: an attack reports it beside its result.

    Parameters
    ----------
    terms
        How many different terms were asked for.
    unknown
        Those that the source does not know, sorted.
    everywhere
        Those that occur in every document, and so tell nothing; for sources that count.
    pairs
        How many pairs of different known terms there are.
    never_together
        How many of these never occur together, so that their distance is that of terms that
        have nothing to do with each other; None for sources that do not count.
    documents
        How many documents were counted; None for sources that do not count.
    """

    terms: int
    unknown: tuple[str, ...]
    everywhere: tuple[str, ...] = ()
    pairs: int = 0
    never_together: int | None = None
    documents: int | None = None

    def sentences(self) -> list[str]:
        """Return what a reader of distances should know, as sentences; none if all is well.

        >>> Coverage(terms=3, unknown=("flu",), pairs=1, never_together=1).sentences()
        ['1 of 3 terms are unknown: flu', '1 of 1 pairs never occur together']
        """
        said = []
        if self.documents == 1:
            said.append("there is one document only: it cannot tell near from far")
        if self.unknown:
            said.append(f"{len(self.unknown)} of {self.terms} terms are unknown: "
                        f"{_name_terms(self.unknown)}")  # fmt: skip
        if self.everywhere and self.documents != 1:
            said.append(f"{len(self.everywhere)} of {self.terms} terms occur in every document "
                        f"and tell nothing: {_name_terms(self.everywhere)}")  # fmt: skip
        if self.never_together:
            said.append(f"{self.never_together} of {self.pairs} pairs never occur together")
        return said


def _name_terms(terms: tuple[str, ...]) -> str:
    more = len(terms) - NAMED
    return ", ".join(terms[:NAMED]) + (f" and {more} more" if more > 0 else "")


def coverage(source: Relatedness, rows: Sequence[str], columns: Sequence[str]) -> Coverage:
    """Return what a source cannot say about the distances of `rows` to `columns`.

    >>> from setveil.relatedness import NGD, RecordCounts
    >>> ngd = NGD(counts=RecordCounts.from_rows([["flu", "cough"], ["gout"], ["flu"]]))
    >>> coverage(ngd, ["flu"], ["cough", "gout", "mumps"]).sentences()
    ['1 of 4 terms are unknown: mumps', '1 of 2 pairs never occur together']
    """
    terms = sorted({*rows, *columns})
    knows = dict(zip(terms, source.known(terms).tolist(), strict=True))
    unknown = tuple(term for term in terms if not knows[term])
    down = [term for term in dict.fromkeys(rows) if knows[term]]
    across = [term for term in dict.fromkeys(columns) if knows[term]]
    same = len(set(down) & set(across))
    pairs = len(down) * len(across) - same
    counts = getattr(source, "counts", None)
    if not isinstance(counts, Counts):
        return Coverage(terms=len(terms), unknown=unknown, pairs=pairs)
    known_terms = [term for term in terms if knows[term]]
    full = counts.counts(known_terms) >= counts.total
    apart = counts.pair_counts(down, across) == 0
    return Coverage(
        terms=len(terms),
        unknown=unknown,
        everywhere=tuple(
            t for t, all_of_them in zip(known_terms, full, strict=True) if all_of_them
        ),
        pairs=pairs,
        never_together=int(apart.sum()),
        documents=counts.total,
    )


@runtime_checkable
class Counts(Protocol):
    """Whatever counts the documents (records, pages) that hold one term or two."""

    @property
    def total(self) -> int:
        """Number of documents."""
        ...

    def counts(self, terms: Sequence[str]) -> IntArray:
        """Return for each term how many documents hold it; 0 for an unknown one."""
        ...

    def pair_counts(self, rows: Sequence[str], columns: Sequence[str]) -> IntArray:
        """Return for each row term and column term how many documents hold both."""
        ...

    def fingerprint(self) -> str:
        """Return a text that is the same exactly when all counts are."""
        ...


# --- from a text to a source ----------------------------------------------------------------------

_PART = re.compile(r"(?:(?P<weight>[^*:+]+)\*)?(?P<name>[A-Za-z-]+)(?::(?P<place>.*))?", re.DOTALL)


def parse_relatedness(spec: str, *, release: Release | None = None) -> Relatedness:
    """Return the source of relatedness that a text names.

    Parameters
    ----------
    spec
        ``name``, ``name:place``, or several of these, each with or without a weight, joined by
        ``+``. A plus sign inside a place is taken as a part of it unless a name follows.
    release
        The release that is attacked: what ``release`` counts in, and whose terms are all that
        is read of large files of word vectors.

    Raises
    ------
    ParameterError
        The text names nothing that there is.
    InputError
        What it names cannot be read.

    Examples
    --------
    >>> parse_relatedness("corpsu:notes.index")
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: there is no relatedness called 'corpsu'. To fix: use one \
of: ...
    """
    # The plus sign of a weight such as 1e+3 joins nothing.
    plain = re.sub(r"((?:^|\+)\s*[\d.]+[eE])\+(?=\d+\s*\*)", r"\1", spec)
    parts = [_parse(part, spec) for part in _split(plain)]
    made = [
        (1.0 if weight is None else weight, _make(name, place, release))
        for weight, name, place in parts
    ]
    if len(made) == 1 and parts[0][0] is None:
        return made[0][1]

    return Combined(parts=tuple(made))


def named_places(spec: str) -> tuple[str, ...]:
    """Return the places that a text names, which for most sources are files or folders.

    >>> named_places("0.5*corpus:notes.index+wordnet+glove:vectors.txt")
    ('notes.index', 'vectors.txt')
    """
    places = (_parse(part, spec)[2].strip() for part in _split(spec))
    return tuple(place for place in places if place)


def _split(spec: str) -> list[str]:
    names = "|".join(re.escape(entry.name) for entry in entries("relatedness"))
    return re.split(rf"\+(?=\s*(?:[^*:+]+\*)?\s*(?:{names})\s*(?::|\+|$))", spec)


def _parse(part: str, spec: str) -> tuple[float | None, str, str]:
    found = _PART.fullmatch(part.strip())
    if found is None:
        raise ParameterError(
            f"{part.strip()!r} names no source of relatedness" if part.strip() else
            f"there is nothing to the left or right of a plus sign in {spec!r}" if "+" in spec
            else "no source of relatedness is named",
            fix="write a name, a colon and a place, such as corpus:notes.index",
        )  # fmt: skip
    weight = None
    if found["weight"] is not None:
        try:
            weight = float(found["weight"])
        except ValueError:
            raise ParameterError(
                f"the weight {found['weight'].strip()!r} in {part.strip()!r} is no number",
                fix="write it as in 0.5*corpus:notes.index",
            ) from None
    return weight, found["name"].strip(), found["place"] or ""


def _make(name: str, place: str, release: Release | None) -> Relatedness:
    target = find("relatedness", name).target
    if not hasattr(target, "from_spec"):
        raise ParameterError(
            f"{name} cannot be made from a text", fix=f"make it in Python: {target.__name__}(...)"
        )
    made: Relatedness = target.from_spec(place, release=release)
    return made


def place_of(name: str, place: str, what: str) -> str:
    """Return the place that a source needs, or say that it is missing.

    >>> place_of("corpus", "", "INDEX")
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: corpus needs to know where. To fix: write corpus:INDEX.
    """
    if not place.strip():
        raise ParameterError(f"{name} needs to know where", fix=f"write {name}:{what}")
    return place.strip()


def refuse_place(name: str, place: str) -> None:
    """Refuse a place after a source that has none.

    >>> refuse_place("release", "x")
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: nothing follows release, but 'x' does. To fix: write \
release.
    """
    if place.strip():
        raise ParameterError(
            f"nothing follows {name}, but {place.strip()!r} does", fix=f"write {name}"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Combined:
    """The weighted mean of several distances.

    A pair takes the mean over those sources that know both terms, with their weights scaled to
    sum up to 1; it has no distance where none does. So a term that one source lacks is not lost,
    but its distances are on the scale of the others: combine sources of like scale (NGD, cosine
    and Wu-Palmer all call unrelated terms 1; PMI does not).

    Parameters
    ----------
    parts
        Weights above 0, and sources.

    Examples
    --------
    >>> from setveil.relatedness import NGD, Embedding, RecordCounts
    >>> from setveil.io.embeddings import Vectors
    >>> counts = RecordCounts.from_rows([["flu", "cough"], ["flu"], ["gout"]])
    >>> vectors = Vectors(words=("flu", "gout"), vectors=[[1, 0], [1, 1]])
    >>> both = Combined(parts=((3, NGD(counts)), (1, Embedding(vectors))))
    >>> both.distances(["flu"], ["gout", "cough", "x"]).round(3).tolist()
    [[0.823, 0.631, nan]]
    """

    parts: tuple[tuple[float, Relatedness], ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise ParameterError("there is nothing to combine", fix="give at least one source")
        for weight, _ in self.parts:
            if not (weight > 0 and math.isfinite(weight)):
                raise ParameterError(
                    f"the weight {weight} is not a number above 0", fix="leave the source out"
                )

    def distances(self, rows: Sequence[str], columns: Sequence[str]) -> FloatArray:
        """Return the weighted mean distance of each pair; NaN where no source knows both."""
        summed = np.zeros((len(rows), len(columns)))
        weights = np.zeros_like(summed)
        for weight, source in self.parts:
            found = source.distances(rows, columns)
            there = ~np.isnan(found)
            summed += weight * np.where(there, found, 0)
            weights += weight * there
        return np.where(weights > 0, summed / np.where(weights > 0, weights, 1), np.nan)

    def known(self, terms: Sequence[str]) -> BoolArray:
        """Tell for each term whether any source knows it."""
        return np.asarray(np.any([source.known(terms) for _, source in self.parts], axis=0))

    def fingerprint(self) -> str:
        """Return a text that is the same exactly when all distances are."""
        return " + ".join(f"{weight!r}*{source.fingerprint()}" for weight, source in self.parts)
