"""How often people are found by a few known items, and what is learned of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from setveil.attack.intersection import IntersectionGuess
from setveil.attack.linkage import LinkageGuess
from setveil.core.errors import InputError, NotApplicable
from setveil.measure.equivocation import item_equivocation
from setveil.measure.interval import Rate, advantage, mean, mean_error
from setveil.measure.score import must_be_about, score

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from setveil.attack.linkage import Link
    from setveil.core.arrays import Int64Array
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Key, Release


@score.register(LinkageGuess)
def score_linkage(
    guess: LinkageGuess,
    *,
    release: Release,
    original: TransactionTable,
    key: Key,
    sensitive: Iterable[str] = (),
    taxonomy: Taxonomy | None = None,
) -> dict[str, Rate | None]:
    """Return how often people were found, beside naming any record and looking for strangers.

    Parameters
    ----------
    guess
        What was found.
    release, original, key
        What was attacked, what it was made from, and the private link.
    sensitive
        Items of which to say how many bits the adversary still lacks about a target
        (:func:`~setveil.measure.equivocation.item_equivocation`).
    taxonomy
        The tree of the items, for the same.

    Returns
    -------
    dict of str to Rate or None
        ``named``: the chance of naming the right record, the likeliest one, or any of those that
        are equally likely; ``named_random``: of any record named blindly, 1/n. ``advantage``: the
        share of what naming blindly misses that the attack gets. ``singled``: share of the
        targets with one candidate, which is theirs, with ``advantage_singled``. ``below_k``: share
        of the targets with fewer than k candidates, but some; ``single``: with one. ``found``:
        with any. ``sure``: the mean chance that the adversary itself gives to the record it
        names. ``learned``: share of the targets of whom a further item is certain, rightly.
        ``candidates``: their mean number. ``…_control``: the same for strangers, where every
        record named is a wrong one. Of two releases also ``…_first``, by the first alone. With
        sensitive items ``equivocation``: mean bits that are lacking about whether a target
        holds one, and ``equivocation_before``, without anything known of the target.

        All are means over targets, with the interval of :func:`~setveil.measure.interval.mean`;
        ``candidates`` has that of :func:`~setveil.measure.interval.mean_error`.

    Examples
    --------
    >>> from setveil.attack import Linkage
    >>> from setveil import TransactionTable
    >>> from setveil.measure import draw_targets
    >>> from setveil.release import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu", "hiv"], ["flu"], ["flu"]])
    >>> release, key = publish_suppressed(table, [True, True, True])
    >>> targets = draw_targets(table, m=2)
    >>> guess = Linkage(k=2).run(release, targets=targets)
    >>> rates = score(guess, release=release, original=table, key=key)
    >>> rates["named"].value, rates["named_random"].value, rates["below_k"].value
    (0.625, 0.25, 0.5)
    >>> rates["candidates"].value, rates["found_control"].value
    (2.5, 0.0)
    """
    _check(guess, release, original, key)
    rates = link_rates(guess, {t: original[t] for t in guess.targets}, key.records)
    items = tuple(sensitive)
    if items:
        try:
            rates |= _lacking(guess, release, items, taxonomy)
        except NotApplicable:
            rates |= {"equivocation": None, "equivocation_before": None}
    return rates


def link_rates(
    guess: LinkageGuess, held: Mapping[int, Sequence[str]], behind: Int64Array
) -> dict[str, Rate | None]:
    """Return the rates of :func:`score_linkage` that need no release.

    Parameters
    ----------
    guess
        What was found.
    held
        For each target the items that it holds.
    behind
        For each published record its original.

    Examples
    --------
    >>> from setveil.attack.linkage import Link
    >>> links = [Link(("flu",), 2, 0.5, (0, 1), ("gout",))]
    >>> guess = LinkageGuess(attack="linkage", k=5, targets=(7,), links=links, strangers=())
    >>> rates = link_rates(guess, {7: ["flu", "gout"]}, np.array([7, 3, 4, 5]))
    >>> rates["named"].value, rates["named_random"].value, rates["learned"].value
    (0.5, 0.25, 1.0)
    """
    most = max(guess.targets, default=-1) + 1
    copies = np.bincount(behind[behind < most], minlength=most)[list(guess.targets)]
    blind = copies / max(len(behind), 1)
    rates = _of_links(guess.links, guess, held, behind, blind)
    rates["named_random"] = Rate.counted(float(blind.mean()) if len(blind) else 0.0)
    strangers = guess.strangers
    for name in ("found", "below_k", "single", "sure", "candidates"):
        rates[f"{name}_control"] = _figures(strangers, guess.k)[name] if strangers else None
    if isinstance(guess, IntersectionGuess):
        first = _of_links(guess.alone, guess, held, behind, blind)
        rates |= {f"{name}_first": rate for name, rate in first.items()}
    return rates


def _check(guess: LinkageGuess, release: Release, original: TransactionTable, key: Key) -> None:
    """Refuse a guess about other people, or about another release."""
    must_be_about(guess, release)
    rows = [set(original[t]) if t < len(original) else set() for t in guess.targets]
    links = [*guess.links, *guess.strangers]
    links += guess.alone if isinstance(guess, IntersectionGuess) else ()
    named = (record for link in links for record in link.named)
    known = all(row.issuperset(link.known) for row, link in zip(rows, guess.links, strict=True))
    inside = max(guess.targets, default=-1) < len(original)
    if not known or not inside or max(named, default=-1) >= len(release):
        raise InputError(
            "the guess is about other people, or about another release",
            fix="give the data that the targets were drawn from, and the release that was attacked",
        )
    if len(key) != len(release) or (key.records >= len(original)).any():
        raise InputError(
            "the key does not belong to this release and this original",
            fix="give the key that was written with the release",
        )


def _of_links(
    links: Sequence[Link],
    guess: LinkageGuess,
    held: Mapping[int, Sequence[str]],
    behind: Int64Array,
    blind: npt.NDArray[np.float64],
) -> dict[str, Rate | None]:
    """Return what the links of targets are worth, given the truth and each one's blind chance."""
    right, singled, learned = [], [], []
    for link, target in zip(links, guess.targets, strict=True):
        hits = int((behind[list(link.named)] == target).sum()) if link.named else 0
        right.append(min(hits / (max(len(link.named), 1) * link.each), 1.0))
        singled.append(float(link.candidates == 1 and hits > 0))
        learned.append(bool(link.learned) and set(link.learned) <= set(held[target]))
    return {
        "named": mean(right),
        "advantage": advantage(right, blind, np.ones(len(right))),
        "singled": mean(singled),
        "advantage_singled": advantage(singled, blind, np.ones(len(right))),
        **_figures(links, guess.k),
        "learned": mean(learned),
    }


def _figures(links: Sequence[Link], k: int) -> dict[str, Rate | None]:
    """Return what the adversary can say without knowing the truth."""
    candidates = [link.candidates for link in links]
    return {
        "sure": mean([link.chance for link in links]),
        "single": mean([number == 1 for number in candidates]),
        "below_k": mean([0 < number < k for number in candidates]),
        "found": mean([number > 0 for number in candidates]),
        "candidates": mean_error(candidates, usual=k),
    }


def _lacking(
    guess: LinkageGuess, release: Release, sensitive: tuple[str, ...], tree: Taxonomy | None
) -> dict[str, Rate | None]:
    """Return the bits that are lacking about sensitive items that are not known already."""
    seen: dict[frozenset[str], float] = {}
    bits = []
    before = [item_equivocation(release, item, taxonomy=tree) for item in sensitive]
    for link in guess.links:
        known = frozenset(link.known)
        asked = [item for item in sensitive if item not in known]
        if known not in seen and asked:
            own = [item_equivocation(release, item, sorted(known), taxonomy=tree) for item in asked]
            seen[known] = float(np.mean(own))
        if asked:
            bits.append(seen[known])
    return {
        "equivocation": mean(bits),
        "equivocation_before": Rate.counted(float(np.mean(before))),
    }
