"""How far what a grouped release suggests about a sensitive item is from the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import InputError, NotApplicable, ParameterError
from setveil.core.interval import mean_error
from setveil.core.params import is_whole
from setveil.core.table import TransactionTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from setveil.core.arrays import FloatArray, Int64Array
    from setveil.release.base import Release
    from setveil.release.grouped import GroupedRelease


CELLS = 4
"""With how many ordinary items a sensitive one is compared, unless told otherwise."""

DRAWS = 100
"""Over how many drawn sets of items the error is averaged, unless told otherwise."""

WIDEST = 20
"""Most ordinary items: there are twice as many cells with each."""


@dataclass(frozen=True, kw_only=True)
class ReconstructionError:
    """The mean divergence over drawn sets of items, with its 95% interval.

    For `low` and `high` see :func:`~setveil.core.interval.mean_error`.
    """

    value: float
    low: float
    high: float
    draws: int


def reconstruction_error(
    release: Release, original: TransactionTable, *, sensitive: str, items: Sequence[str]
) -> float:
    """Return the divergence of a sensitive item's reconstructed spread from its true one, in nats.

    Some ordinary items cut the records into cells: one for each way to hold some of them and lack
    the others. Act is the share of the sensitive item's occurrences in each cell of the original,
    Est that in the release, where every record of a group holds the item equally likely. The
    error is the Kullback–Leibler divergence Σ Act ln(Act / Est) over the cells with Act > 0, in
    natural logarithms. It is 0 where the release suggests the truth, and always finite: a record
    with the item in a cell makes its own group contribute to it.

    Parameters
    ----------
    release, original
        What is compared; no key is needed.
    sensitive
        The sensitive item.
    items
        The ordinary items.

    Raises
    ------
    NotApplicable
        The release is not one of groups.

    Examples
    --------
    Who buys the test also buys cream, but no meat; of the group's two records one has meat:

    >>> from setveil.release import publish_grouped
    >>> table = TransactionTable.from_rows([["cream", "test"], ["cream", "meat"]])
    >>> release, _ = publish_grouped(table, [0, 0], ["test"])
    >>> error = reconstruction_error(release, table, sensitive="test", items=["cream", "meat"])
    >>> bool(np.isclose(error, np.log(2)))
    True

    References
    ----------
    G. Ghinita, Y. Tao, P. Kalnis: On the Anonymization of Sparse High-Dimensional Data. ICDE 2008.
    """
    groups = release.as_groups()
    cut = _Cells(groups, original)
    if sensitive not in groups.sensitive:
        raise ParameterError(
            f"the release publishes no sensitive item {sensitive!r}",
            fix="name an item that it counts in groups",
        )
    asked = list(dict.fromkeys(items))
    hidden = [name for name in asked if name in groups.sensitive]
    if hidden or len(asked) > WIDEST:
        raise ParameterError(
            f"{hidden[0]!r} is sensitive" if hidden else f"{len(asked)} items are too many",
            fix=f"compare with at most {WIDEST} ordinary items",
        )
    return cut.divergence(sensitive, asked)


def mean_reconstruction_error(
    release: Release,
    original: TransactionTable,
    *,
    r: int = CELLS,
    draws: int = DRAWS,
    rng: np.random.Generator | None = None,
) -> ReconstructionError:
    """Return the mean error over drawn sensitive items, each with `r` drawn ordinary items.

    Sensitive items are drawn with equal chances. Ordinary ones are drawn with chances as their
    supports: of equally likely ones most are so rare that nothing could be reconstructed wrongly.
    Where there are fewer than `r`, all are taken.

    Parameters
    ----------
    release, original
        What is compared.
    r
        Number of ordinary items.
    draws
        How many sets are drawn.
    rng
        Draws them; without it always the same ones are drawn.

    Raises
    ------
    NotApplicable
        The release is not one of groups, or has no ordinary or no sensitive items.

    Examples
    --------
    >>> from setveil.release import publish_grouped
    >>> table = TransactionTable.from_rows([["cream", "test"], ["meat"]])
    >>> release, _ = publish_grouped(table, [0, 1], ["test"])
    >>> mean_reconstruction_error(release, table, draws=5).value  # every record is a group
    0.0
    """
    groups = release.as_groups()
    for name, value, most in (("r", r, WIDEST), ("draws", draws, None)):
        whole = is_whole(value)
        if not whole or value < 1 or (most is not None and value > most):
            limit = "" if most is None else f" and at most {most}"
            raise ParameterError(
                f"{name} is {value!r}", fix=f"use a whole number of at least 1{limit}"
            )
    supports = np.bincount(groups.items, minlength=len(groups.vocabulary))
    ordinary = np.flatnonzero(supports)
    if not len(ordinary) or not len(groups.part_items):
        raise NotApplicable("the release has no sensitive or no ordinary items to compare")
    rng = np.random.default_rng(0) if rng is None else rng
    cut = _Cells(groups, original)
    names, chances = groups.vocabulary.names, supports[ordinary] / supports.sum()
    size = min(r, len(ordinary))
    errors = np.empty(draws)
    for place in range(draws):
        secret = groups.sensitive[rng.integers(len(groups.sensitive))]
        chosen = rng.choice(ordinary, size, replace=False, p=chances)
        errors[place] = cut.divergence(secret, [names[i] for i in chosen.tolist()])
    rate = mean_error(errors, usual=1.0)
    assert rate is not None  # there is at least one draw
    return ReconstructionError(value=rate.value, low=rate.low, high=rate.high, draws=draws)


class _Cells:
    """Postings of the original and of the release's records, to count cells without passes."""

    def __init__(self, release: GroupedRelease, original: TransactionTable) -> None:
        if len(release) != len(original):
            raise InputError(
                f"the release has {len(release):,} records, the original {len(original):,}",
                fix="compare a release with the data it was made from",
            )
        self.release, self.original = release, original
        self.published = TransactionTable(
            offsets=release.offsets, items=release.items, vocabulary=release.vocabulary
        )
        self.by_item = {id(table): _postings(table) for table in (original, self.published)}

    def divergence(self, sensitive: str, items: Sequence[str]) -> float:
        """Return the Kullback–Leibler divergence for one sensitive item, in nats."""
        release, n_cells = self.release, 1 << len(items)
        holders = self._holders(self.original, sensitive)
        cells = self._cells(self.original, items)
        actual = np.bincount(cells[holders], minlength=n_cells) / max(len(holders), 1)
        number = release.vocabulary.number(sensitive)
        part = np.repeat(np.arange(len(release.counts)), np.diff(release.part_offsets))
        part = part[release.part_items == number]
        held = np.zeros(len(release.sizes))
        np.add.at(held, release.group_of_part[part], release.counts[part])
        chance = (held / release.sizes)[release.group_of]
        shown = self._cells(self.published, items)
        expected = np.bincount(shown, weights=chance, minlength=n_cells) / held.sum()
        met = actual > 0
        if not len(holders) or np.any(expected[met] <= 0):
            raise InputError(
                "the release cannot come from this original",
                fix="compare a release with the data it was made from",
            )
        terms: FloatArray = actual[met] * np.log(actual[met] / expected[met])
        # Rounding may leave -1e-17 where both are equal.
        return max(float(terms.sum()), 0.0)

    def _holders(self, table: TransactionTable, name: str) -> Int64Array:
        if name not in table.vocabulary:
            return np.zeros(0, dtype=np.int64)
        starts, records = self.by_item[id(table)]
        item = table.vocabulary.number(name)
        return np.unique(records[starts[item] : starts[item + 1]])

    def _cells(self, table: TransactionTable, items: Sequence[str]) -> Int64Array:
        """Return for each record its cell: a bit for each item that it holds."""
        cells = np.zeros(len(table), dtype=np.int64)
        for bit, name in enumerate(items):
            cells[self._holders(table, name)] += 1 << bit
        return cells


def _postings(table: TransactionTable) -> tuple[Int64Array, Int64Array]:
    order = np.argsort(table.items, kind="stable")
    record = np.repeat(np.arange(len(table), dtype=np.int64), table.lengths)
    return np.searchsorted(table.items[order], np.arange(table.n_items + 1)), record[order]
