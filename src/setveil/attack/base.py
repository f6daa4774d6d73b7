"""What every attack shares: where it applies, what its attacker must know, how audits judge it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from setveil.core.errors import NotApplicable, ParameterError
from setveil.core.registry import name_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from setveil.attack.guess import Guess
    from setveil.release.base import Release


SINGLING_OUT, LINKAGE, INFERENCE = "singling_out", "linkage", "inference"
RISKS = (SINGLING_OUT, LINKAGE, INFERENCE)
"""The three risks of Opinion 05/2014 of the Article 29 Working Party."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A score of an attack that an audit judges: which risk it shows, and what stands beside it.

    Parameters
    ----------
    risk
        One of :data:`RISKS`.
    figure
        Name of the score: the larger, the more was learned.
    baseline, baseline_name
        Name of the score that guessing gets, and who guesses.
    control
        Name of the score of the attack where there is nothing to find; "" where there is none.
    advantage
        Name of the score that compares the attack with guessing on the same units; "" where
        there is none.
    label
        What the attacker does, in a few words, as "Single out a person's record".
    says
        A sentence for a data owner, with ``{count}`` of 1,000 and ``{knows}``.
    unit
        What the number of tests counts.
    outright
        Whether the original data shows it outright. Otherwise the attack is run on the original,
        too, so that both rates stand on one scale.

    Examples
    --------
    >>> Finding(risk="gossip", figure="named", baseline="named_random", baseline_name="guessing",
    ...         label="Name a person", says="{count} of 1,000 people are named.")
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: an attack shows the risk 'gossip'. To fix: use one of ...
    """

    risk: str
    figure: str
    baseline: str
    baseline_name: str
    control: str = ""
    advantage: str = "advantage"
    label: str
    says: str
    unit: str = "test"
    outright: bool = False

    def __post_init__(self) -> None:
        if self.risk not in RISKS:
            raise ParameterError(
                f"an attack shows the risk {self.risk!r}", fix=f"use one of {', '.join(RISKS)}"
            )


@dataclass(frozen=True, kw_only=True)
class AuditRole:
    """How an audit uses an attack.

    Parameters
    ----------
    family
        Which kind of attacker it is. A release is recommended only after an attack of every
        family that applies to it.
    findings
        The scores that are judged; at least one.
    by_default
        Whether every audit runs it; otherwise it runs when it is named, or with ``all``.
    cost
        Cost class. Attacks run in this order; those above 0 do not run on a release that an
        earlier one has opened.
    params
        Parameters that an audit sets.
    samples
        Sizes of the sample that are tried, one after the other, until the interval is narrow
        enough; empty for an attack without a parameter ``sample``.
    people
        How many people are enough: an audit leaves people of large clusters out, where a release
        has more; 0 for all.
    knows
        What the attacker knows, in a few words; attacks on people say it by their parameters.
    needs_meaning
        Whether it needs a source of relatedness beyond the release itself.

    Examples
    --------
    >>> role = AuditRole(family="gossip", findings=(Finding(risk="linkage", figure="named",
    ...     baseline="named_random", baseline_name="guessing", label="Name a person",
    ...     says="{count} are named."),))
    >>> role.by_default, role.knows
    (True, 'only the release')
    """

    family: str
    findings: tuple[Finding, ...]
    by_default: bool = True
    cost: int = 0
    params: Mapping[str, Any] = field(default_factory=dict)
    samples: tuple[int, ...] = ()
    people: int = 0
    knows: str = "only the release"
    needs_meaning: bool = False


@runtime_checkable
class Attack(Protocol):
    """An attack with its parameters: a frozen dataclass, registered as ``"attack"``.

    `applies_to` names the forms of release it can be run on; `requires` what the adversary must
    know (``"reference"``, a table of records like the originals). :meth:`run` takes these as
    keywords, and ``rng`` where it draws at random. It never sees the original. An attack that
    an audit can run has a `role` (:class:`AuditRole`). With `in_parts`, it attacks releases in
    parts (on Spark) as well: by :meth:`run`, or by a method ``run_in_parts`` of its own.
    """

    applies_to: ClassVar[frozenset[str]]
    requires: ClassVar[frozenset[str]]

    def run(self, release: Release, **knowledge: Any) -> Guess:
        """Return what the adversary believes about `release`."""
        ...


def run_in_parts(attack: Any, release: Release, **known: Any) -> Guess:  # noqa: ANN401
    """Attack a release part by part, as the attack says how; see :func:`check_in_parts`."""
    check_in_parts(attack)
    guess: Guess = getattr(attack, "run_in_parts", attack.run)(release, **known)
    return guess


def check_in_parts(attack: Any) -> None:  # noqa: ANN401  (any attack)
    """Refuse, before any work, an attack that looks at a release as a whole.

    >>> from setveil.attack import TokenFrequency
    >>> check_in_parts(TokenFrequency())
    Traceback (most recent call last):
    setveil.core.errors.NotApplicable: token-frequency does not look at parts of a release by \
themselves. To fix: ...
    """
    if not getattr(attack, "in_parts", False):
        raise NotApplicable(
            f"{name_of(type(attack))} does not look at parts of a release by themselves",
            fix="use --engine local",
        )


def check_applies(name: str, applies_to: frozenset[str], release: Release) -> None:
    """Refuse, before any work, a form of release that an attack says nothing about.

    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> release, _ = publish_suppressed(TransactionTable.from_rows([["flu"]]), [True])
    >>> check_applies("token-frequency", frozenset({"encoded"}), release)
    Traceback (most recent call last):
    setveil.core.errors.NotApplicable: token-frequency does not attack releases of the form ...
    """
    if release.form not in applies_to:
        raise NotApplicable(
            f"{name} does not attack releases of the form {release.form!r}",
            fix=f"it is about the forms {', '.join(sorted(applies_to))}",
        )
