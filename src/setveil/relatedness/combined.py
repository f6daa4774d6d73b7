"""Several sources of relatedness as one, each with a weight."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.relatedness.base import BoolArray, FloatArray, Relatedness


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
