"""Cleaning records on request: spellings joined, rare items and empty records left out.

Nothing is changed unless it was asked for, and what was changed is said.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from setveil.core.arrays import offsets_of
from setveil.core.errors import InputError, ParameterError
from setveil.core.spelling import spelling_key, tidy
from setveil.core.table import TransactionTable

EMPTY = ("keep", "drop", "error")
SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class Cleaning:
    """What to do with records once they are read.

    Parameters
    ----------
    normalize
        Join items that differ only in case, spaces, punctuation at their end, characters that
        nobody sees or the way Unicode spells them. The most frequent spelling stays.
    min_support
        Leave out items that fewer records hold.
    empty
        What to do with records without items: ``"keep"``, ``"drop"`` or ``"error"``.

    Examples
    --------
    >>> table = TransactionTable.from_rows([["Flu", "gout"], ["flu"], ["flu."], ["rare"]])
    >>> cleaned, said = Cleaning(normalize=True, min_support=2, empty="drop").apply(table)
    >>> cleaned.to_rows()
    [['Flu'], ['Flu'], ['Flu']]
    >>> for sentence in said:
    ...     print(sentence)
    3 spellings became 1 item: 'flu', 'flu.' → 'Flu'.
    2 items that fewer than 2 records hold were left out, 2 occurrences in all.
    1 record without items was left out.
    """

    normalize: bool = False
    min_support: int = 1
    empty: str = "keep"

    def __post_init__(self) -> None:
        if self.empty not in EMPTY:
            raise ParameterError(f"empty is {self.empty!r}", fix=f"use {', '.join(EMPTY)}")
        if self.min_support < 1:
            raise ParameterError(f"min_support is {self.min_support}", fix="use 1 or more")

    def apply(self, table: TransactionTable, where: str = "") -> tuple[TransactionTable, list[str]]:
        """Return the cleaned table, and what was changed as sentences."""
        said: list[str] = []
        if self.normalize:
            table = _normalized(table, said)
        if self.min_support > 1:
            table = _frequent(table, self.min_support, said)
        empty = table.lengths == 0
        n = int(empty.sum())
        if n and self.empty == "error":
            raise InputError(
                f"{n:,} of {len(table):,} records hold no item",
                where=where,
                fix="leave them out with --empty drop, or keep them with --empty keep",
            )
        if n and self.empty == "drop":
            table = table.take(np.flatnonzero(~empty))
            verb = "was" if n == 1 else "were"
            said.append(f"{n:,} record{'s' * (n != 1)} without items {verb} left out.")
        return table, said


def _normalized(table: TransactionTable, said: list[str]) -> TransactionTable:
    names = table.vocabulary.names
    supports = table.supports().tolist()
    groups: dict[str, list[int]] = defaultdict(list)
    for number, name in enumerate(names):
        groups[spelling_key(name)].append(number)
    numbers = np.empty(len(names), dtype=np.int64)
    spellings: list[str] = []
    joined: list[str] = []
    before = 0
    for members in groups.values():
        # The most frequent spelling stays; of equally frequent ones the first in the alphabet.
        chosen = max(members, key=lambda number: (supports[number], -number))
        numbers[members] = len(spellings)
        spellings.append(tidy(unicodedata.normalize("NFC", names[chosen])))
        others = [names[number] for number in members if names[number] != spellings[-1]]
        if others:
            before += len(members)
            shown = ", ".join(map(repr, others[:SHOWN]))
            joined.append(f"{shown} → {spellings[-1]!r}")
    if not joined:
        return table
    after = len(joined)
    shown = "; ".join(joined[:SHOWN]) + (f" and {after - SHOWN:,} more" if after > SHOWN else "")
    said.append(
        f"{before:,} spelling{'s' * (before != 1)} became {after:,} item{'s' * (after != 1)}: "
        f"{shown}."
    )
    return TransactionTable.from_csr(table.offsets, numbers[table.items], spellings)


def _frequent(table: TransactionTable, least: int, said: list[str]) -> TransactionTable:
    supports = table.supports()
    keep = supports >= least
    n = int((~keep).sum())
    if not n:
        return table
    kept = keep[table.items]
    lost = int((~kept).sum())
    said.append(
        f"{n:,} item{'s' * (n != 1)} that fewer than {least:,} records hold "
        f"{'was' if n == 1 else 'were'} left out, {lost:,} occurrence{'s' * (lost != 1)} in all."
    )
    record_of = np.repeat(np.arange(len(table)), table.lengths)[kept]
    offsets = offsets_of(np.bincount(record_of, minlength=len(table)))
    number = np.cumsum(keep) - 1
    names = [
        name for name, stays in zip(table.vocabulary.names, keep.tolist(), strict=True) if stays
    ]
    return TransactionTable.from_csr(offsets, number[table.items[kept]], names)
