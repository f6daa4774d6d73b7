"""What the methods for ρ-uncertainty share: their parameters, and a budget of work and time."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Self

import numpy as np

from setveil.anonymize.rho.rule_kernels import LIMIT, STOP, WORK
from setveil.core.params import checked, duration, flag, share

if TYPE_CHECKING:
    from types import TracebackType


@checked
@dataclass(frozen=True, kw_only=True)
class RhoMethod:
    """A method whose release lets no rule about a sensitive item reach ρ.

    >>> RhoMethod(rho=0.7).rho
    Fraction(7, 10)
    """

    rho: Fraction = share(
        Fraction(1, 2),
        above=0,
        doc="confidence that no rule may reach, in (0, 1]",
        symbol="ρ",
        ladder=(0.7, 0.5, 0.3, 0.1, 0.05),
        main=True,
        begin=0.3,
    )
    prior: bool = flag(True, doc="count the share of all records as a rule too")


@checked
@dataclass(frozen=True, kw_only=True)
class BudgetedRhoMethod(RhoMethod):
    """One that can be cut short, and then publishes less.

    >>> BudgetedRhoMethod(budget=60).budget
    60
    """

    budget: float | None = duration(doc="seconds the run may take; then it suppresses what is open")


UNLIMITED = np.iinfo(np.int64).max


class OutOfTimeError(Exception):
    """The time is used up; caught inside the method, which then publishes what is safe."""


class TimeBudget:
    """Seconds a run may take, as a context: a timer sets a flag that kernels look at.

    What does not depend on the clock does not depend on the budget either: a run that ends in
    time gives the same result as one without a limit.

    Examples
    --------
    >>> with TimeBudget(None) as budget:
    ...     budget.expired
    False
    >>> with TimeBudget(1e-9) as budget:
    ...     budget.expired
    True
    """

    def __init__(self, seconds: float | None) -> None:
        # No timer can wait longer than this; it is some 290 years.
        self.seconds = None if seconds is None else min(seconds, threading.TIMEOUT_MAX)
        self.started = time.monotonic()
        self.meter = np.zeros(4, dtype=np.int64)
        self.meter[LIMIT] = UNLIMITED
        self._aside = 0.0
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _start(self) -> None:
        if self.seconds is None:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(max(self.left, 0.0), self._stop)
        self._timer.daemon = True
        self._timer.start()

    def _stop(self) -> None:
        self.meter[STOP] = 1

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    @property
    def left(self) -> float:
        """Seconds until the flag is set; infinite without a limit."""
        return float("inf") if self.seconds is None else self.seconds - self._aside - self.spent

    @property
    def expired(self) -> bool:
        """Whether the time is used up."""
        return bool(self.meter[STOP]) or self.left <= 0

    def set_aside(self, seconds: float) -> None:
        """Stop this much earlier, so that the release can still be written in time."""
        self._aside = seconds
        self._start()

    def allow(self, work: int = UNLIMITED) -> None:
        """Give the next kernel this much work; what it does in it does not depend on the clock."""
        self.meter[WORK] = 0
        self.meter[LIMIT] = work

    def check(self) -> None:
        """Raise where the time is used up."""
        if self.expired:
            raise OutOfTimeError

    def in_words(self) -> str:
        """Return what the log says about a run that was cut short."""
        return f"the budget of {self.seconds:g} s was used up after {self.spent:.3g} s"
