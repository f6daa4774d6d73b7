"""(ρ1, ρ2)-privacy: whether a randomizer can turn a faint suspicion into a strong one."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from setveil.core.errors import ParameterError
from setveil.core.words import written_fraction
from setveil.guarantee.base import Verdict, Witness

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from setveil.release.item_channel import ItemChannel


def check_randomizer(
    matrix: Sequence[Sequence[object]] | Mapping[str, Mapping[str, object]],
    rho1: object,
    rho2: object,
) -> Verdict:
    """Tell whether a randomizer keeps (ρ1, ρ2)-privacy, whatever was believed before.

    Who holds some property of a person's value to be at most as likely as ρ1 must not find it as
    likely as ρ2 or more, whatever is published, and whatever the beliefs about the values were.
    That is so just where no published value y is γ = ρ2 (1 - ρ1) / (ρ1 (1 - ρ2)) times as likely
    for one value as for another: the worst beliefs are about two values only. (The paper calls
    such a ratio amplification, and proves that one below γ suffices.) The same bound rules out
    that a belief of ρ2 and more falls to ρ1 or less.

    It is about the mechanism, not about a release: whether a release was made by it, nobody can
    tell from the release. So it is a function, and no promise that a manifest could carry.

    Parameters
    ----------
    matrix
        The chance that each value (row) is published as each other one (column); each row adds up
        to 1. A mapping of mappings names them.
    rho1, rho2
        The two beliefs, 0 < ρ1 < ρ2 < 1.

    Examples
    --------
    Randomized response that tells the truth with chance ¾ has the ratio 3:

    >>> matrix = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> check_randomizer(matrix, 0.1, 0.3).holds, check_randomizer(matrix, 0.1, 0.2).holds
    (True, False)
    >>> check_randomizer(matrix, 0.1, 0.2).reason
    'published as 0, a belief of 1/10 in 0 against 1 becomes 1/4'

    References
    ----------
    A. Evfimievski, J. Gehrke, R. Srikant: Limiting privacy breaches in privacy preserving data
    mining, PODS 2003.

    Departures: a posterior of just ρ2 counts as a breach, as in the paper's definition 1.
    """
    low, high = beliefs(rho1, rho2)
    rows = named_chances(matrix)
    outcomes = list(dict.fromkeys(y for row in rows.values() for y in row))
    worst: tuple[Fraction, str, str, str] | None = None
    for y in outcomes:
        chances = {value: row.get(y, Fraction(0)) for value, row in rows.items()}
        most = max(chances, key=lambda value: chances[value])
        least = min(chances, key=lambda value: chances[value])
        if not chances[most] or len(rows) < 2:
            continue
        believed = low * chances[most]
        after = believed / (believed + (1 - low) * chances[least])
        if worst is None or after > worst[0]:
            worst = (after, y, most, least)
    if worst is None:
        return Verdict(holds=True, exact=True, reason="there is only one value", checked=len(rows))
    after, y, most, least = worst
    holds = after < high
    reason = f"published as {y}, a belief of {low} in {most} against {least} becomes {after}"
    if holds:
        reason = f"no belief of {low} becomes more than {after}, which is below {high}"
    witness = Witness(
        items=(most, least), support=0, required=f"below {high}", consequent=y, confidence=after
    )
    return Verdict(
        holds=holds,
        exact=True,
        reason=reason,
        checked=len(rows) * len(outcomes),
        witnesses=() if holds else (witness,),
    )


def item_randomizer(channel: ItemChannel) -> dict[str, dict[str, Fraction]]:
    """Return what select-a-size does to one item of a record, as a matrix of chances.

    It covers beliefs about one item that have nothing to do with the others. About whole records
    the ratio is raised to the power of the number of items, and no useful bound is left.

    >>> from setveil.release import ItemChannel
    >>> check_randomizer(item_randomizer(ItemChannel(beta="1/4", domain=9)), 0.1, 0.3).holds
    True
    """
    if channel.sizes is not None:
        raise ParameterError(
            "with chances of sizes an item is not kept or lost by itself",
            fix="ask for a mechanism without sizes",
        )
    beta = channel.beta
    return {
        "held": {"shown": 1 - beta, "not shown": beta},
        "not held": {"shown": beta, "not shown": 1 - beta},
    }


def beliefs(rho1: object, rho2: object) -> tuple[Fraction, Fraction]:
    """Return two beliefs as they are written, or say what is wrong with them.

    >>> beliefs(0.1, "1/2")
    (Fraction(1, 10), Fraction(1, 2))
    """
    low, high = written_fraction(rho1), written_fraction(rho2)
    if low is None or high is None or not 0 < low < high < 1:
        raise ParameterError(
            f"rho1 is {rho1!r} and rho2 is {rho2!r}", fix="use numbers with 0 < rho1 < rho2 < 1"
        )
    return low, high


def named_chances(
    matrix: Sequence[Sequence[object]] | Mapping[str, Mapping[str, object]],
) -> dict[str, dict[str, Fraction]]:
    """Return the matrix as fractions by name, or say what is wrong with it.

    >>> named_chances([["1/2", 0.5]])
    {'0': {'0': Fraction(1, 2), '1': Fraction(1, 2)}}
    """
    if hasattr(matrix, "items"):
        given = {str(value): dict(row) for value, row in matrix.items()}
    else:
        given = {
            str(i): {str(j): chance for j, chance in enumerate(row)} for i, row in enumerate(matrix)
        }
    rows: dict[str, dict[str, Fraction]] = {}
    for value, row in given.items():
        chances = {
            str(y): chance if isinstance(chance, Fraction) else written_fraction(chance)
            for y, chance in row.items()
        }
        known = {y: chance for y, chance in chances.items() if chance is not None}
        if len(known) < len(chances) or min(known.values(), default=Fraction(0)) < 0:
            raise ParameterError(f"a chance of {value} is no number of at least 0")
        if sum(known.values()) != 1:
            raise ParameterError(
                f"the chances of {value} add up to {sum(known.values())}",
                fix="each row must add up to 1; write fractions such as 1/3",
            )
        rows[value] = known
    if not rows:
        raise ParameterError("the randomizer has no values", fix="give a row for each value")
    return rows
