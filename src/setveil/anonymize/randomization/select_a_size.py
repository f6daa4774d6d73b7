"""Select-a-size: keep a random part of each record and add random other items."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.anonymize.base import MethodRole, as_sets, check_enough
from setveil.core.arrays import Int64Array, offsets_of
from setveil.core.errors import InfeasibleError, ParameterError
from setveil.core.literature import EVFIMIEVSKI_2002
from setveil.core.params import share, text
from setveil.core.registry import register
from setveil.core.table import TransactionTable
from setveil.core.words import some, written_fraction
from setveil.release.base import Anonymization, Key, Step
from setveil.release.item_channel import ItemChannel
from setveil.release.perturbed import publish_perturbed

if TYPE_CHECKING:
    import numpy.typing as npt

    from setveil.core.threads import Progress
    from setveil.engine.local import Engine

MOST = 200_000_000
"""Published items that are too many to hold."""
CELLS = 4_000_000
"""Cells that are drawn at a time."""

WARNING = Step(
    action="warn",
    subject="select-a-size promises nothing",
    reason="whoever has a list of records that may be the originals can tell which one is behind a "
    "published one (setveil attack public-records), and items that go together give away which "
    "ones were added (setveil attack noise-filter)",
)


@register(
    "anonymizer",
    "select-a-size",
    paper="Evfimievski, Srikant, Agrawal & Gehrke 2002",
    bibtex=EVFIMIEVSKI_2002,
)
@dataclass(frozen=True, kw_only=True)
class SelectASize:
    """Keep a random part of each record, add every other item by chance; promises nothing.

    How many items of a record are kept is drawn first, then which; every item that the record
    does not hold is added with chance β. Single records say little then, but the mechanism is
    public, so that the supports of items and itemsets can be estimated without bias
    (:meth:`~setveil.release.perturbed.PerturbedRelease.expected_support`).

    Parameters
    ----------
    beta
        The chance that an item is added. By default each item that is there is kept with chance
        1 - β. At ½ the release would then have nothing to do with the data, and is refused.
    sizes
        The chances of keeping 0, 1, 2, … items of a record, separated by commas; a shorter record
        keeps all. There must be one for the longest record.

    Examples
    --------
    >>> table = TransactionTable.from_rows([["flu"], ["flu", "gout"], ["gout", "hiv"]] * 100)
    >>> made = SelectASize(beta=0.1).anonymize(table, rng=np.random.default_rng(1))
    >>> made.release.to_rows()[-2:], made.promise
    ([[], []], None)
    >>> made.release.supports().tolist()
    [196, 194, 103]
    >>> [round(made.release.expected_support([item])) for item in ("flu", "gout", "hiv")]
    [208, 205, 91]

    References
    ----------
    A. Evfimievski, R. Srikant, R. Agrawal, J. Gehrke: Privacy preserving mining of association
    rules. KDD 2002. In the form of J. Cao, P. Karras, C. Raïssi, K.-L. Tan: ρ-uncertainty, PVLDB
    3(1), 2010, section 6.

    Departures: the second paper runs it at β = ½, where what is published is noise whatever the
    data are. The first paper has chances of sizes for each length of a record; here one list
    serves all, cut at the length, as in its cut-and-paste operator. The domain of what may be
    added is the items that occur; their number is published, and the names of those that some
    published record shows.
    """

    called: ClassVar[str] = "random noise"
    role: ClassVar[MethodRole] = MethodRole(only_named=True)
    requires: ClassVar[frozenset[str]] = frozenset()
    accepts: ClassVar[frozenset[str]] = frozenset({"rng"})

    beta: Fraction = share(Fraction(1, 10), doc="chance that an item is added; not 0.5")
    sizes: str | None = text(None, doc="chances of keeping 0, 1, 2, ... items, such as 0,1/4,3/4")

    def __post_init__(self) -> None:
        if self.sizes is not None:
            given = self.sizes.split(",") if isinstance(self.sizes, str) else list(self.sizes)
            shares = [written_fraction(part) for part in given]
            wrong = [part for part, share in zip(given, shares, strict=True) if share is None]
            if wrong:
                raise ParameterError(
                    f"sizes hold {some(wrong)}",
                    fix="give numbers separated by commas, such as 0,1/4,3/4",
                )
            object.__setattr__(self, "sizes", ",".join(map(str, shares)))
        if self._channel(1).is_noise:
            raise ParameterError(
                f"with a beta of {self.beta} what is published is pure noise",
                fix="use a smaller beta; 1/2 has nothing to do with the data",
            )

    def _channel(self, domain: int) -> ItemChannel:
        sizes = None if self.sizes is None else tuple(map(Fraction, self.sizes.split(",")))
        return ItemChannel(beta=self.beta, domain=domain, sizes=sizes)

    def anonymize(
        self,
        table: TransactionTable,
        *,
        rng: np.random.Generator | None = None,
        engine: Engine | None = None,  # drawing is fast
        progress: Progress | None = None,
    ) -> Anonymization:
        """Return the randomized records and the key that says whose they are.

        Parameters
        ----------
        table
            The original records.
        rng
            Draws what is kept and added, for research; otherwise the operating system's chance.
        engine, progress
            As for every method.
        """
        check_enough(table, 1)
        order = table.canonical_order()
        rows = as_sets(table.take(order))
        channel = self._channel(rows.n_items)
        self._check_possible(rows)
        rng = np.random.default_rng() if rng is None else rng
        perturbed = _perturb(rows, channel, rng, progress)
        release, key = publish_perturbed(perturbed, channel)
        return Anonymization(
            release=release,
            key=Key(records=order[key.records]),
            promise=None,
            log=(WARNING,),
            figures={
                "domain": rows.n_items,
                "length_before": len(rows.items) / len(rows),
                "length_after": len(release.items) / len(rows),
            },
        )

    def _check_possible(self, rows: TransactionTable) -> None:
        """Say before any work that the release would be too large, or a record is too long."""
        longest = int(rows.lengths.max(initial=0))
        if self.sizes is not None and longest > self.sizes.count(","):
            raise InfeasibleError(
                f"a record has {longest} items, and there are chances of keeping up to "
                f"{self.sizes.count(',')}",
                fix=f"give {longest + 1} chances, or none",
            )
        expected = float(self.beta) * len(rows) * rows.n_items
        if expected > MOST:
            raise InfeasibleError(
                f"about {expected / 1e6:,.0f} million items would be added to the records",
                fix=f"use a beta of at most {MOST * float(self.beta) / expected:.2g}",
            )


def _perturb(
    rows: TransactionTable,
    channel: ItemChannel,
    rng: np.random.Generator,
    progress: Progress | None,
) -> TransactionTable:
    """Return the records with items left out and added by chance."""
    kept = _draw_kept(rows, channel, rng)
    step = max(1, CELLS // max(rows.n_items, 1))
    lengths, drawn = [], []
    for first in range(0, len(rows), step):
        last = min(first + step, len(rows))
        if progress:
            progress("randomizing", first, len(rows))
        part = slice(rows.offsets[first], rows.offsets[last])
        shown = rng.random((last - first, rows.n_items)) < float(channel.beta)
        place = np.repeat(np.arange(last - first), rows.lengths[first:last])
        shown[place, rows.items[part]] = kept[part]
        lengths.append(shown.sum(axis=1))
        drawn.append(np.nonzero(shown)[1].astype(np.int32))
    offsets = offsets_of(np.concatenate(lengths))
    return TransactionTable(
        offsets=offsets, items=np.concatenate(drawn), vocabulary=rows.vocabulary
    )


def _draw_kept(
    rows: TransactionTable, channel: ItemChannel, rng: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """Draw for each item of each record whether it is kept."""
    if channel.sizes is None:
        return rng.random(len(rows.items)) >= float(channel.beta)
    chances = np.array([float(chance) for chance in channel.sizes])
    sizes: Int64Array = rng.choice(len(chances), len(rows), p=chances / chances.sum())
    # The items of each record in random order: the first ones are kept.
    record = np.repeat(np.arange(len(rows)), rows.lengths)
    order = np.lexsort((rng.random(len(rows.items)), record))
    rank = np.empty(len(rows.items), dtype=np.int64)
    rank[order] = np.arange(len(order)) - rows.offsets[record[order]]
    return rank < sizes[record]
