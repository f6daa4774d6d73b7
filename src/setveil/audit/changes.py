"""What a release says about the items that most records hold, and what its method did."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import NotApplicable
from setveil.release.content import content_of
from setveil.release.views import published_rows

if TYPE_CHECKING:
    from setveil.audit.run import Run
    from setveil.core.table import TransactionTable

SHOWN = 10
REMARKS = ("note", "stop", "warn")


def changes(run: Run, table: TransactionTable) -> dict[str, Any]:
    """Return what became of items, as JSON values.

    Returns
    -------
    dict
        ``items``: for the most frequent items ``[name, records, low, high]``, where low and high
        bound how many records hold it by what the release says. ``terms``: for the published
        terms that stand for several items ``[name, records]``, the most frequent first.
        ``steps``: what the method did, ``[action, subject, reason, cost]``, remarks first, then
        the costliest. ``content``: whether it shows items at all
        (:func:`setveil.release.content.content_of`).

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.audit import run_method
    >>> table = TransactionTable.from_rows([["flu"], ["flu"], ["gout"], ["flu", "gout"]])
    >>> found = changes(run_method("disassociate", {"k": 2}, table), table)
    >>> found["items"]
    [['flu', 3, 3, 3], ['gout', 2, 1, 4]]
    """
    supports = table.supports()
    common = np.argsort(-supports, kind="stable")[:SHOWN].tolist()
    items: list[list[Any]] = []
    for number in common:
        name = table.vocabulary[number]
        try:
            bounds = run.release.support_bounds([name], run.taxonomy)
        except NotApplicable:
            continue
        if supports[number]:
            items.append([name, int(supports[number]), int(bounds.low), int(bounds.high)])
    first = [step for step in run.log if step.action in REMARKS]
    rest = sorted((s for s in run.log if s.action not in REMARKS), key=lambda s: -s.cost)
    steps = [[s.action, s.subject, s.reason, float(s.cost)] for s in [*first, *rest][:SHOWN]]
    content = content_of(run.release).as_dict()
    return {"items": items, "terms": _terms(run), "steps": steps, "content": content}


def _terms(run: Run) -> list[list[Any]]:
    """Return the published terms that stand for several items."""
    if run.release.form not in {"generalized", "set-generalized"}:
        return []
    rows = published_rows(run.release)
    times = np.bincount(rows.items, minlength=len(rows.names))
    general = np.flatnonzero((times > 0) & ~np.asarray(rows.exact))
    most = general[np.argsort(-times[general], kind="stable")][:SHOWN].tolist()
    return [[rows.names[node], int(times[node])] for node in most]


def plain(value: Any) -> Any:  # noqa: ANN401  (whatever a method counts)
    """Return a value as JSON holds it: no NumPy, no infinite numbers, the rest as text.

    >>> plain({"a": np.int64(3), "b": float("inf"), "c": (1, {2})})
    {'a': 3, 'b': None, 'c': [1, '{2}']}
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)
