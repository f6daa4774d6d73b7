"""Telling true items of randomized records from added ones by which items go together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from setveil.attack.base import INFERENCE, AuditRole, Finding, check_applies
from setveil.attack.guess import Guess
from setveil.attack.spectral import METHODS, Spectrum
from setveil.core.errors import NotApplicable, ParameterError
from setveil.core.params import choice, count
from setveil.core.registry import register

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from setveil.core.arrays import FloatArray, Int64Array
    from setveil.release.item_channel import ItemChannel
    from setveil.release.perturbed import PerturbedRelease

Cells = npt.NDArray[np.bool_]

BLOCK = 2_000_000
"""Cells that are looked at at a time."""


@dataclass(frozen=True, kw_only=True)
class NoiseGuess(Guess):
    """Which items each randomized record is believed to hold.

    Parameters
    ----------
    items
        The names of the attacked items.
    rows
        For each published record the places in `items` of those it is believed to hold.
    method, components, correlated
        How was filtered, how many components were above the noise, whether there was anything to
        filter with.
    notes
        The same in words.
    """

    kind: ClassVar[str] = "noise"
    score_words: ClassVar[dict[str, str]] = {
        "noise_removed": "share of the wrong cells of the release that the guess has right, net",
        "advantage": "share of what judging each item by itself leaves wrong that the guess "
        "has right",
        "precision": "share of the items that records are believed to hold that they do",
        "recall": "share of the items of the records that the guess believes",
        "f1": "harmonic mean of the two",
    }
    beside: ClassVar[tuple[str, ...]] = ("alone", "published", "control")

    items: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]
    method: str
    components: int
    correlated: bool
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "items", tuple(self.items))
        object.__setattr__(self, "rows", tuple(tuple(row) for row in self.rows))
        object.__setattr__(self, "notes", tuple(self.notes))
        if not all(isinstance(name, str) for name in self.items) or self.method not in METHODS:
            raise ParameterError("a guess names its items and its method")
        for row in self.rows:
            if not all(isinstance(i, int) and 0 <= i < len(self.items) for i in row):
                raise ParameterError("a guess holds places of its items")


@register(
    "attack",
    "noise-filter",
    paper="Kargupta, Datta, Wang & Sivakumar 2003; Huang, Du & Chen 2005",
    bibtex="""
    @inproceedings{kargupta2003privacy,
      author    = {Kargupta, Hillol and Datta, Souptik and Wang, Qi and Sivakumar, Krishnamoorthy},
      title     = {On the Privacy Preserving Properties of Random Data Perturbation Techniques},
      booktitle = {Proceedings of the 3rd IEEE International Conference on Data Mining},
      pages     = {99--106}, year = {2003}
    }

    @inproceedings{huang2005deriving,
      author    = {Huang, Zhengli and Du, Wenliang and Chen, Biao},
      title     = {Deriving Private Information from Randomized Data},
      booktitle = {Proceedings of the ACM SIGMOD International Conference on Management of Data},
      pages     = {37--48}, year = {2005}
    }""",
)
@dataclass(frozen=True, kw_only=True)
class NoiseFilter:
    """Take the noise out of randomized records by what goes together.

    A cell of the table, shown or not, is 0 or 1 plus noise whose variance the mechanism gives
    away. The noise of two items is independent, the items are not. So what the columns have in
    common is signal (:class:`~setveil.attack.spectral.Spectrum`), and each cell is estimated
    from the whole record. A record is believed to hold the items estimated above ½. For numeric
    columns with noise see :mod:`setveil.tabular.noise_attacks`.

    Parameters
    ----------
    method
        ``"bayes"``, the best linear estimate, or ``"spectral"``, the projection onto the
        components above the noise.
    most
        How many items are attacked, the most frequent ones first.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release import ItemChannel, publish_perturbed
    >>> kinds = [["a", "b", "c", "d"], ["e", "f", "g", "h"]]
    >>> rng = np.random.default_rng(1)
    >>> flipped = [[name for name in "abcdefgh" if (name in kinds[r % 2]) != (rng.random() < 0.2)]
    ...            for r in range(400)]
    >>> release, key = publish_perturbed(TransactionTable.from_rows(flipped),
    ...                                  ItemChannel(beta="0.2", domain=8))
    >>> guess = NoiseFilter().run(release)
    >>> believed = [[guess.items[i] for i in row] for row in guess.rows]
    >>> sum(row in kinds for row in release.to_rows()) < 100 < 340 < sum(
    ...     row in kinds for row in believed)
    True
    """

    applies_to: ClassVar[frozenset[str]] = frozenset({"perturbed"})
    requires: ClassVar[frozenset[str]] = frozenset()
    role: ClassVar[AuditRole] = AuditRole(
        family="noise filter",
        findings=(
            Finding(
                risk=INFERENCE,
                figure="noise_removed",
                baseline="noise_removed_alone",
                baseline_name="judging each item by itself",
                control="noise_removed_control",
                label="Undo random changes",
                says="An attacker who knows {knows} corrects {count} of 1,000 changes that were "
                "made to the records.",
                outright=True,
            ),
        ),
        cost=1,
    )

    method: str = choice("bayes", METHODS, doc="how to filter")
    most: int = count(500, doc="how many of the frequent items are attacked")

    def run(
        self,
        release: PerturbedRelease,
        *,
        rng: np.random.Generator | None = None,  # nothing is drawn
    ) -> NoiseGuess:
        """Return which items each record is believed to hold."""
        check_applies("noise-filter", self.applies_to, release)
        attacked = self.attacked(release)
        rows: list[tuple[int, ...]] = []

        def cells() -> Iterator[Cells]:
            step = max(1, BLOCK // max(len(release.vocabulary), 1))
            for first in range(0, len(release), step):
                yield release.cells(first, min(first + step, len(release)))[:, attacked]

        spectrum = self.spectrum(cells, release.channel)
        for believed in self.believed(cells, release.channel, spectrum):
            rows += [tuple(np.flatnonzero(row).tolist()) for row in believed]
        return NoiseGuess(
            attack="noise-filter",
            items=tuple(release.vocabulary[i] for i in attacked.tolist()),
            rows=tuple(rows),
            method=self.method,
            components=spectrum.signals,
            correlated=spectrum.correlated,
            notes=spectrum.notes(self.method),
        )

    def attacked(self, release: PerturbedRelease) -> Int64Array:
        """Return the numbers of the items that are attacked, ascending; or say why none can be."""
        if release.channel.sizes is not None:
            raise NotApplicable(
                "with chances of sizes the noise of a cell depends on the length of its record, "
                "which is not published",
                fix="use public-records",
            )
        release.channel.estimator(1)  # says it where nothing can be estimated
        shares = release.estimated_shares()
        if len(release) < 2 or not len(shares):
            raise NotApplicable("there are too few records or items to see what goes together")
        return np.sort(np.argsort(-shares, kind="stable")[: self.most])

    def spectrum(self, cells: Callable[[], Iterator[Cells]], channel: ItemChannel) -> Spectrum:
        """Return what goes together in cells that come block by block."""
        beta = float(channel.beta)
        noise = (beta * (1 - beta)) ** 0.5 / abs(1 - 2 * beta)
        blocks = ((block - beta) / (1 - 2 * beta) for block in cells())
        first = next(cells())
        return Spectrum.of(blocks, np.full(first.shape[1], noise))

    def believed(
        self, cells: Callable[[], Iterator[Cells]], channel: ItemChannel, spectrum: Spectrum
    ) -> Iterator[Cells]:
        """Yield, block by block, which cells are believed to be true."""
        beta = float(channel.beta)
        matrix: FloatArray = spectrum.filter(self.method)
        for block in cells():
            yield spectrum.apply((block - beta) / (1 - 2 * beta), matrix) > 0.5
