"""What a release contains, in the words of the person who owns the data.

Everything here is for the owner: counts of original items stand in it, and must not be published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.audit.utility import UTILITY, utility_in_words
from setveil.core.errors import NotApplicable
from setveil.core.params import main_param, params_of
from setveil.core.registry import find
from setveil.core.words import join_parts, lost, number, plural
from setveil.measure.queries import errors_by_size
from setveil.release.account import account_of
from setveil.release.content import content_of
from setveil.release.rows import distinct_in_rows
from setveil.release.views import published_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from setveil.audit.run import Run
    from setveil.core.table import Int64Array, TransactionTable
    from setveil.release.account import Account

MOST_AFFECTED = 10
"""Parameters that say how strong a setting is, and how they are written."""
TRIES = 50
"""How often a record is invented before it is given up that one is nobody's."""
PATIENCE = 10
"""After how many of these tries the record gets an item more."""
ITEM_WORDS = {1: "one item", 2: "two items", 3: "three items"}
NO_PROMISE = (
    "The method promises nothing. What an attacker can do is known only from the attacks that were "
    "tried."
)


def describe_contents(
    run: Run, table: TransactionTable, sensitive: Iterable[str] = ()
) -> dict[str, Any]:
    """Return what a release keeps, coarsens and removes, in sentences for the owner, as JSON.

    Parameters
    ----------
    run
        A method that was run, with its release and its key.
    table
        The original records.
    sensitive
        The sensitive items.

    Returns
    -------
    dict
        ``headline``: one sentence. ``stays``, ``coarser``, ``gone``: sentences, "" where there is
        nothing of the kind. ``affected``: up to ten items that changed in most records, each
        ``[item, records, what became of it]``. ``computable``: sentences about what the recipient
        can still count. ``errors``: mean relative error of counts of one, two and three items,
        ``{"1": 0.03, …}``, null where they cannot be counted. ``unprotected``: sentences about
        what the promise does not cover. ``example``: an invented record with the shape of the
        data, ``before`` and ``after``.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.audit import run_method
    >>> table = TransactionTable.from_rows([["flu", "hiv"], ["flu"], ["flu", "gout"], ["gout"]])
    >>> run = run_method("simple-suppression", {}, table, sensitive=["hiv"])
    >>> said = describe_contents(run, table, ["hiv"])
    >>> said["headline"]
    'Keeps the 2 items that at least 2 records share as they are and removes the other one.'
    >>> said["affected"], said["computable"][-1]
    ([['hiv', 1, 'removed']], 'Counts of one item are off by ...')
    """
    secret = tuple(sensitive)
    promised = {} if run.promise is None else run.promise.params()
    try:
        account = account_of(run.release, table, run.key, run.taxonomy, k=promised.get("k"))
    except NotApplicable as error:
        return _unknown(run, error)
    errors = errors_by_size(run.release, table, taxonomy=run.taxonomy)
    return {
        "headline": account.headline,
        "stays": account.stays,
        "coarser": _joined(account.coarse, content_of(run.release).sentence),
        "gone": _joined(account.lost, _sensitive_gone(account, secret)),
        "affected": [list(each) for each in account.affected(MOST_AFFECTED)],
        "computable": [*account.computable, *_errors_in_words(errors)],
        "errors": {str(size): value for size, value in errors.items()},
        "unprotected": _unprotected(run, account, table),
        "example": _example(account, table),
    }


def _unknown(run: Run, error: NotApplicable) -> dict[str, Any]:
    """Return what can be said of a form that came with an outside package."""
    return {
        "headline": f"Publishes {plural(len(run.release), 'record')} in the form "
        f"{run.release.form!r}.",
        "stays": "",
        "coarser": "",
        "gone": "",
        "affected": [],
        "computable": [f"Not known: {error.what}."],
        "errors": {},
        "unprotected": list(_left_open(run, (), None)),
        "example": {"before": [], "after": []},
    }


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _sensitive_gone(account: Account, sensitive: Sequence[str]) -> str:
    """Tell how many sensitive items are among those that the release shows nothing of."""
    wanted = set(sensitive)
    gone = [
        name
        for name, records, lost_in in zip(
            account.names, account.records.tolist(), account.gone.tolist(), strict=True
        )
        if name in wanted and lost_in == records
    ]
    if not gone:
        return ""
    if len(gone) == len(wanted):
        return "No sensitive item is left." if len(wanted) > 1 else "The sensitive item is gone."
    return f"{number(len(gone))} of the {plural(len(wanted), 'sensitive item')} are gone."


def _errors_in_words(errors: Mapping[int, float | None]) -> list[str]:
    """Return one sentence about how far off counts are.

    >>> _errors_in_words({1: 0.0, 2: 0.0, 3: None})
    ['Counts of one and two items were exact wherever they were tried.']
    >>> _errors_in_words({1: 0.031, 2: 0.124, 3: None})
    ['Counts of one item are off by 3.1% on average, counts of two items by 12.4%.']
    """
    known = {size: value for size, value in errors.items() if value is not None}
    if not known:
        return []
    if not any(known.values()):
        sizes = join_parts([ITEM_WORDS[size].partition(" ")[0] for size in known])
        items = "item" if list(known) == [1] else "items"
        return [f"Counts of {sizes} {items} were exact wherever they were tried."]
    parts = [
        f"counts of {ITEM_WORDS[size]} {'are off by' if not place else 'by'} {lost(value)}"
        + ("" if place else " on average")
        for place, (size, value) in enumerate(known.items())
    ]
    text = ", ".join(parts)
    return [f"{text[0].upper()}{text[1:]}."]


# --- what is not protected --------------------------------------------------------------------


def _unprotected(run: Run, account: Account, table: TransactionTable) -> list[str]:
    shown = [
        name
        for name, kept in zip(account.names, (account.kept + account.coarser).tolist(), strict=True)
        if kept
    ]
    try:
        lengths = published_rows(run.release).lengths
    except NotApplicable:  # the release does not show whole records
        lengths = table.lengths
    return list(_left_open(run, shown, int(lengths.max(initial=0))))


def _left_open(run: Run, shown: Sequence[str], longest: int | None) -> tuple[str, ...]:
    """Return what the promise leaves open; a promise of an outside package may not say."""
    if run.promise is None:
        return (NO_PROMISE,)
    say = getattr(run.promise, "unprotected", None)
    return () if say is None else tuple(say(shown, longest))


# --- one invented record ----------------------------------------------------------------------


def _example(account: Account, table: TransactionTable) -> dict[str, list[str]]:
    """Return an invented record before and after, as the release treats such a record.

    Where the release changes some items and leaves others, the record has one of each.
    """
    changed = account.affected(MOST_AFFECTED)
    same = account.kept == account.records
    before = invent_record(table)
    include = []
    if changed and not {item for item, _, _ in account.affected(len(account.names))} & {*before}:
        include.append(changed[0][0])
    unchanged = [name for name, flag in zip(account.names, same.tolist(), strict=True) if flag]
    if unchanged and not {*unchanged} & {*before}:
        include.append(account.names[int(np.argmax(np.where(same, account.records, -1)))])
    if include:
        before = invent_record(table, include=include)
    return {"before": list(before), "after": account.treat(before) if before else []}


def invent_record(
    table: TransactionTable,
    *,
    include: Sequence[str] = (),
    rng: np.random.Generator | None = None,
) -> tuple[str, ...]:
    """Return a made-up record: as long as the middle one, common items likelier than rare ones.

    Items are drawn by how many records hold them, independently of each other. A record that is
    somebody's is drawn again, longer in the end; where all are somebody's, nothing is returned.

    Parameters
    ----------
    table
        The original records.
    include
        Items that it has in any case.
    rng
        Draws; without it always the same.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu", "rash"], ["flu"]])
    >>> sorted(invent_record(table)) in [sorted(row) for row in table.to_rows()]
    False
    """
    rng = np.random.default_rng(0) if rng is None else rng
    supports = table.supports()
    items = np.flatnonzero(supports)
    if not len(items):
        return ()
    size = max(int(np.median(table.lengths[table.lengths > 0])), 1)
    fixed = np.array([table.vocabulary.number(item) for item in include], dtype=np.int64)
    others = items[~np.isin(items, fixed)]
    shares = supports[others] / supports[others].sum()
    for attempt in range(TRIES):
        # Short records are soon all somebody's: after some tries a longer one is made.
        more = min(max(size + attempt // PATIENCE - len(fixed), 0), len(others))
        drawn = rng.choice(others, more, replace=False, p=shares) if more else others[:0]
        record = np.concatenate([fixed, drawn])
        if len(record) and not _is_real(table, record):
            ordered = record[np.lexsort((record, -supports[record]))]
            return tuple(table.vocabulary[i] for i in ordered.tolist())
    return ()


def _is_real(table: TransactionTable, items: Int64Array) -> bool:
    """Tell whether some record of a table has exactly these items."""
    offsets, held = distinct_in_rows(table.offsets, table.items)
    met = np.concatenate([[0], np.cumsum(np.isin(held, items))])
    same = (np.diff(met[offsets]) == len(items)) & (np.diff(offsets) == len(items))
    return bool(same.any())


# --- what a method is called ------------------------------------------------------------------


def title_of(method: str, params: Mapping[str, Any] | None = None) -> str:
    """Return what an owner calls a setting: what is done to the data, and how strongly.

    >>> title_of("gather", {"k": 5})
    'similar records made equal, k = 5'
    >>> title_of("coat", {"k": 100, "s": 1, "constrained": 1, "utility": "alone"})
    'common items only, k = 100'
    """
    given = dict(params or {})
    target = find("anonymizer", method).target
    called = getattr(target, "called", method)
    for other, when in getattr(target, "called_if", ()):
        if when.items() <= given.items():
            called = other
            break
    main = main_param(target)
    size = None if main is None else given.get(main.name)
    return called if main is None or size is None else f"{called}, {main.symbol} = {size}"


def setting_in_words(method: str, params: Mapping[str, Any]) -> str:
    """Return the method's name and its parameters, in words where the method has some.

    >>> setting_in_words("coat", {"k": 100, "s": 1, "constrained": 1, "utility": "alone"})
    'coat, k = 100, any number of items may be removed, every item is protected, nothing may be \
joined'
    """
    target = find("anonymizer", method).target
    known = {param.name: param for param in params_of(target)}
    said = [
        utility_in_words(value)
        if name == UTILITY
        else known[name].in_words(value)
        if name in known
        else f"{name} = {value}"
        for name, value in params.items()
    ]
    return ", ".join([method, *said])
