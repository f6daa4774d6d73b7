"""How select-a-size turns a record into a published one: chances, likelihoods, estimates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import NotApplicable, ParameterError
from setveil.core.params import is_whole
from setveil.core.words import written_fraction

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from setveil.core.arrays import FloatArray, Int64Array


LARGEST = 4_000_000
"""Numbers in a matrix that is inverted for an estimate; more take too long."""
INEXACT = 1e-7
"""How far an estimate may be from being unbiased before it counts as impossible."""


MOST_ITEMS = 2**31 - 1
"""Items are numbered in 32 bits."""


def _fraction(name: str, value: object) -> Fraction:
    fraction = written_fraction(value)
    if fraction is None:
        raise ParameterError(f"{name} is {value!r}", fix="use a number such as 0.1 or 1/3")
    return fraction


@dataclass(frozen=True, kw_only=True)
class ItemChannel:
    """Select-a-size: keep a random part of a record, add each other item with chance β.

    How many items are kept is drawn first. By default each item is kept with chance 1 - β on its
    own. With `sizes` the number j is drawn with chance ``sizes[j]``, a shorter record keeps all,
    and any j items are equally likely; no record may then be longer than ``len(sizes) - 1``.

    Parameters
    ----------
    beta
        The chance that an item which a record does not hold is added; above 0 and below 1.
    domain
        Number of items that there are, shown or not.
    sizes
        The chances of keeping 0, 1, 2, … items; None for the default.

    Examples
    --------
    >>> channel = ItemChannel(beta="1/10", domain=50)
    >>> channel.size_chances(1).round(3).tolist()
    [0.1, 0.9]
    >>> ItemChannel(beta="1/10", domain=50, sizes=("0.2", "0.8")).size_chances(0).tolist()
    [1.0]
    """

    beta: Fraction
    domain: int
    sizes: tuple[Fraction, ...] | None = None

    def __post_init__(self) -> None:
        beta = _fraction("beta", self.beta)
        if not 0 < beta < 1:
            raise ParameterError(f"beta is {self.beta}", fix="use a number between 0 and 1")
        object.__setattr__(self, "beta", beta)
        if not is_whole(self.domain, 0):
            raise ParameterError(f"domain is {self.domain!r}", fix="say how many items there are")
        if self.domain > MOST_ITEMS:
            raise ParameterError("domain is too large", fix=f"use at most {MOST_ITEMS:,}")
        if self.sizes is not None:
            sizes = tuple(_fraction("sizes", chance) for chance in self.sizes)
            if not sizes or min(sizes) < 0 or sum(sizes) != 1:
                raise ParameterError(
                    f"sizes are {', '.join(map(str, sizes)) or 'empty'}",
                    fix="give chances of keeping 0, 1, 2, … items that add up to 1",
                )
            object.__setattr__(self, "sizes", sizes)

    @property
    def is_noise(self) -> bool:
        """Whether what is published has nothing to do with what was there."""
        return self.sizes is None and 2 * self.beta == 1

    @property
    def longest(self) -> int:
        """The greatest length of a record that can be published."""
        return self.domain if self.sizes is None else min(len(self.sizes) - 1, self.domain)

    # --- chances ----------------------------------------------------------------------------------

    def size_chances(self, length: int) -> FloatArray:
        """Return the chances that 0, 1, …, `length` items of a record of this length are kept."""
        if self.sizes is None:
            return binomial(length, 1 - float(self.beta))
        given = np.array([float(chance) for chance in self.sizes])
        chances = np.zeros(length + 1)
        chances[: len(given)] = given[: length + 1]
        chances[length] += given[length + 1 :].sum()
        return chances

    def log_likelihood(
        self, lengths: Int64Array, shown: Int64Array, common: Int64Array
    ) -> FloatArray:
        """Return the logarithm of the chance that a record is published as another.

        Parameters
        ----------
        lengths
            Items of the original; an impossible length has the chance 0.
        shown
            Items of the published record.
        common
            Items that both hold.

        Examples
        --------
        >>> channel = ItemChannel(beta="1/4", domain=3)
        >>> np.exp(channel.log_likelihood([2], [1], [1])).round(6).tolist()  # ¾ · ¼ · ¾
        [0.140625]
        """
        lengths, shown, common = np.broadcast_arrays(lengths, shown, common)
        beta = float(self.beta)
        if self.sizes is None:
            kept = common * math.log1p(-beta) + (lengths - common) * math.log(beta)
        else:
            inside = lengths <= self.longest
            kept = self._log_kept[np.where(inside, lengths, 0), np.where(inside, common, 0)]
            kept = np.where(inside, kept, -np.inf)
        added = (shown - common) * math.log(beta)
        absent = self.domain - lengths - shown + common
        said: FloatArray = kept + added + absent * math.log1p(-beta)
        return np.where(absent >= 0, said, -np.inf)

    @cached_property
    def _log_kept(self) -> FloatArray:
        """The logarithm of the chance that just these j of N items are kept, by N and j."""
        table = np.full((self.longest + 1, self.longest + 1), -np.inf)
        for length in range(self.longest + 1):
            chances = self.size_chances(length)
            for kept in np.flatnonzero(chances).tolist():
                table[length, kept] = math.log(chances[kept]) - _log_choose(length, kept)
        return table

    def pattern_chances(self, known: int) -> FloatArray:
        """Return the chance that of `known` items which a record holds, just q given ones show.

        One number for each q; with `sizes` (first) also by how many items the record then shows
        at all, since that depends on how many are kept. The length of the record is not published:
        all lengths from `known` on count alike.

        >>> ItemChannel(beta="1/4", domain=3).pattern_chances(2).round(4).tolist()
        [0.0625, 0.1875, 0.5625]
        """
        q = np.arange(known + 1)
        if self.sizes is None:
            beta = float(self.beta)
            return (1 - beta) ** q * beta ** (known - q)
        lengths = range(known, self.longest + 1)
        total = sum((self._shown_chances(length, known, known) for length in lengths), np.zeros(()))
        ways = np.array([math.comb(known, shown) for shown in q.tolist()])
        chances: FloatArray = total / (len(lengths) * ways)
        return chances

    def may_hold(self, shown: int, common: int, known: int) -> bool:
        """Tell whether a record that shows `common` of `known` items may have held all of them.

        >>> ItemChannel(beta="1/4", domain=3, sizes=(0, 0, 1)).may_hold(2, 1, 2)  # all are kept
        False
        """
        if self.sizes is None:
            return True
        others, hidden = shown - common, self.domain - shown - (known - common)
        return any(
            self.size_chances(known + more + unseen)[common + more] > 0
            for more in range(min(others, self.longest - known) + 1)
            for unseen in range(min(hidden, self.longest - known - more) + 1)
        )

    # --- estimates --------------------------------------------------------------------------------

    def estimator(self, m: int) -> FloatArray:
        """Return what each published record adds to the unbiased estimate of a support.

        By how many of the `m` items it shows, and with `sizes` (first) by how many items it shows
        at all. The numbers are a row of the inverse of the matrix that gives the chances of what
        is published for what was there.

        Raises
        ------
        NotApplicable
            The matrix has no inverse: what is published tells nothing of the support.

        Examples
        --------
        >>> ItemChannel(beta="1/4", domain=3).estimator(1).tolist()  # (s' - n/4) / (1 - 2/4)
        [-0.5, 1.5]
        """
        if self.is_noise:
            raise NotApplicable(
                "with these chances what is published is pure noise, and no support can be "
                "estimated",
                fix="use another beta than 1/2",
            )
        if self.sizes is not None:
            return self._inverted(m)
        scale = 1 - 2 * self.beta
        try:
            return np.array(
                [float((1 - self.beta) ** q * (-self.beta) ** (m - q) / scale**m)
                 for q in range(m + 1)]
            )  # fmt: skip
        except OverflowError:
            raise NotApplicable(f"the estimate for {m} items has no bounds to speak of") from None

    def _inverted(self, m: int) -> FloatArray:
        states = [
            (length, held)
            for length in range(self.longest + 1)
            for held in range(min(m, length) + 1)
            if self.domain - length >= m - held
        ]
        shape = (self.domain + 1, m + 1)
        if len(states) * shape[0] * shape[1] > LARGEST:
            raise NotApplicable(
                f"the estimate for {m} items takes a matrix that is too large",
                fix="ask for fewer items, or use no sizes",
            )
        matrix = np.stack([self._shown_chances(length, held, m) for length, held in states])
        wanted = np.array([float(held == m) for _, held in states])
        flat = matrix.reshape(len(states), -1)
        said = np.linalg.lstsq(flat, wanted, rcond=1e-12)[0]
        if np.abs(flat @ said - wanted).max(initial=0.0) > INEXACT:
            raise NotApplicable(
                f"with these chances of sizes the support of {m} items cannot be estimated",
                fix="give sizes that keep more items",
            )
        gains: FloatArray = said.reshape(shape)
        return gains

    def _shown_chances(self, length: int, held: int, m: int) -> FloatArray:
        """Return how a record of this length with `held` of `m` items is published.

        The chances by how many items are shown, and how many of the m.
        """
        chances = np.zeros((self.domain + 1, m + 1))
        others = binomial(self.domain - length - (m - held), float(self.beta))
        for kept, common, added, chance in self._outcomes(length, held, m):
            start = kept + added
            chances[start : start + len(others), common + added] += chance * others
        return chances

    def _outcomes(self, length: int, held: int, m: int) -> Iterator[tuple[int, int, int, float]]:
        """Yield what may happen to a record with `held` of `m` items, and its chance.

        How many items are kept, how many of the m are among them, how many of the m are added.
        """
        fresh = binomial(m - held, float(self.beta))
        for kept, chance in enumerate(self.size_chances(length).tolist()):
            for common in range(max(0, kept - (length - held)), min(kept, held) + 1):
                ways = math.comb(held, common) * math.comb(length - held, kept - common)
                share = chance * (ways / math.comb(length, kept))
                for added, gain in enumerate(fresh.tolist()):
                    yield kept, common, added, share * gain


def binomial(n: int, chance: float) -> FloatArray:
    """Return the chances of 0, 1, …, n successes.

    >>> binomial(2, 0.5).round(12).tolist()
    [0.25, 0.5, 0.25]
    """
    if not 0 < chance < 1:
        certain: FloatArray = np.eye(n + 1)[n if chance >= 1 else 0]
        return certain
    q = np.arange(n + 1)
    logs = np.array([_log_choose(n, k) for k in range(n + 1)])
    chances: FloatArray = np.exp(logs + q * math.log(chance) + (n - q) * math.log1p(-chance))
    return chances


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
