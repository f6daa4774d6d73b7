"""How far a release lets others believe, rightly, that a person holds a sensitive item."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.errors import InputError
from setveil.measure.equivocation import item_chance
from setveil.measure.interval import Rate, advantage, mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from setveil.attack.linkage import Targets
    from setveil.data.table import Int64Array, TransactionTable
    from setveil.data.taxonomy import Taxonomy


def holders(table: TransactionTable, items: Iterable[str]) -> Int64Array:
    """Return the records that hold at least one of some items.

    >>> from setveil.data import TransactionTable
    >>> holders(TransactionTable.from_rows([["flu"], ["gout", "hiv"], ["hiv"]]), ["hiv"]).tolist()
    [1, 2]
    """
    wanted = [table.vocabulary.number(item) for item in items if item in table.vocabulary]
    rows = np.repeat(np.arange(len(table)), table.lengths)
    return np.unique(rows[np.isin(table.items, wanted)])


def score_inference(
    release: Any,  # noqa: ANN401  (any form; not all parts of it are in the protocol)
    *,
    original: TransactionTable,
    targets: Targets,
    sensitive: Iterable[str],
    taxonomy: Taxonomy | None = None,
) -> dict[str, Rate | None]:
    """Return what adversaries believe of people's sensitive items who know others of their items.

    They follow the release (:func:`~setveil.measure.equivocation.item_chance`); of a sensitive
    item that it does not show they believe nothing.

    Parameters
    ----------
    release, original
        What is attacked, and what it was made from.
    targets
        Whom the adversaries know (:func:`~setveil.measure.targets.draw_targets`).
    sensitive
        The items in question.
    taxonomy
        The tree of the items; generalized releases may need it.

    Returns
    -------
    dict of str to Rate or None
        ``believed``: the mean chance that is given to a sensitive item that a target holds.
        ``believed_before``: the same by who knows nothing of the target. ``believed_control``:
        the mean chance given to one that the target does not hold. ``advantage``: the share of
        what knowing nothing misses that the adversary gets, target by target. None where no
        target holds a sensitive item. Intervals count targets.

    Examples
    --------
    >>> from setveil.attack import Targets
    >>> from setveil.data import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu", "hiv"], ["flu"], ["gout"], ["gout"]])
    >>> release, _ = publish_suppressed(table, [True, True, True])
    >>> who = Targets(records=(0, 2), known=(("flu",), ("gout",)))
    >>> rates = score_inference(release, original=table, targets=who, sensitive=["hiv"])
    >>> {name: round(rate.value, 3) for name, rate in rates.items()}
    {'believed': 0.5, 'believed_before': 0.25, 'believed_control': 0.0, 'advantage': 0.333}
    """
    items = tuple(dict.fromkeys(sensitive))
    if not items:
        raise InputError("no sensitive item is named", fix="name at least one")
    shown = {each for each in items if release.expected_support([each], taxonomy) > 0}

    @cache
    def chance(item: str, known: frozenset[str]) -> float:
        if item not in shown:
            return 0.0
        return item_chance(release, item, sorted(known), taxonomy=taxonomy)

    believed, before, control = list[float](), list[float](), list[float]()
    nothing = frozenset[str]()
    for place, (target, known) in enumerate(zip(targets.records, targets.known, strict=True)):
        row = set(original[target])
        held = [item for item in items if item in row and item not in known]
        if held:
            believed.append(float(np.mean([chance(item, frozenset(known)) for item in held])))
            before.append(float(np.mean([chance(item, nothing) for item in held])))
        others = [item for item in items if item not in row]
        if others:  # one of them, in turn: all would take as many times longer
            control.append(chance(others[place % len(others)], frozenset(known)))
    return {
        "believed": mean(believed),
        "believed_before": None if not before else Rate.counted(float(np.mean(before))),
        "believed_control": mean(control),
        "advantage": advantage(believed, before, np.ones(len(believed))),
    }
