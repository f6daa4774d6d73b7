"""What a release contains, in the words of the person who owns the data.

Everything here is for the owner: counts of original items stand in it, and must not be published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.attack.linkage.linkage import TIE
from setveil.audit.run import UTILITY, utility_in_words
from setveil.core.arrays import Int64Array, distinct_in_rows, offsets_of
from setveil.core.errors import NotApplicable
from setveil.core.params import main_param, params_of
from setveil.core.registry import find
from setveil.core.words import join_names, join_parts, lost, number, one_or_many, plural
from setveil.measure.queries import errors_by_size
from setveil.measure.targets import draw_targets
from setveil.release.views import published_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from setveil.audit.run import Run
    from setveil.core.table import TransactionTable
    from setveil.release.account import Account
    from setveil.release.base import Matches

MOST_AFFECTED = 10
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
        account = run.release.account(table, run.key, run.taxonomy, k=promised.get("k"))
    except NotApplicable as error:
        return _unknown(run, error)
    errors = errors_by_size(run.release, table, taxonomy=run.taxonomy)
    return {
        "headline": account.headline,
        "stays": account.stays,
        "coarser": _join_sentences(account.coarse, run.release.content().sentence),
        "gone": _join_sentences(account.lost, _sensitive_gone(account, secret)),
        "affected": [list(each) for each in account.affected(MOST_AFFECTED)],
        "computable": [*account.computable, *_errors_in_words(errors)],
        "errors": {str(size): value for size, value in errors.items()},
        "unprotected": _open_risks(run, account, table),
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


def _join_sentences(*sentences: str) -> str:
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


def _open_risks(run: Run, account: Account, table: TransactionTable) -> list[str]:
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
    met = offsets_of(np.isin(held, items))
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


# --- what became of items, and what the method did ------------------------------------------------

SHOWN = 10
REMARKS = ("note", "stop", "warn")


def item_changes(run: Run, table: TransactionTable) -> dict[str, Any]:
    """Return what became of items, as JSON values.

    Returns
    -------
    dict
        ``items``: for the most frequent items ``[name, records, low, high]``, where low and high
        bound how many records hold it by what the release says. ``terms``: for the published
        terms that stand for several items ``[name, records]``, the most frequent first.
        ``steps``: what the method did, ``[action, subject, reason, cost]``, remarks first, then
        the costliest. ``content``: whether it shows items at all
        (:class:`setveil.release.account.Content`).

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.audit import run_method
    >>> table = TransactionTable.from_rows([["flu"], ["flu"], ["gout"], ["flu", "gout"]])
    >>> found = item_changes(run_method("disassociate", {"k": 2}, table), table)
    >>> found["items"]
    [['flu', 3, 3, 3], ['gout', 2, 1, 4]]
    """
    supports = table.supports()
    common = np.argsort(-supports, kind="stable")[:SHOWN].tolist()
    items: list[list[Any]] = []
    for item in common:
        name = table.vocabulary[item]
        try:
            bounds = run.release.support_bounds([name], run.taxonomy)
        except NotApplicable:
            continue
        if supports[item]:
            items.append([name, int(supports[item]), int(bounds.low), int(bounds.high)])
    first = [step for step in run.log if step.action in REMARKS]
    rest = sorted((s for s in run.log if s.action not in REMARKS), key=lambda s: -s.cost)
    steps = [[s.action, s.subject, s.reason, float(s.cost)] for s in [*first, *rest][:SHOWN]]
    content = run.release.content().as_dict()
    return {"items": items, "terms": _terms(run), "steps": steps, "content": content}


def _terms(run: Run) -> list[list[Any]]:
    """Return the published terms that stand for several items."""
    if not run.release.generalizes:
        return []
    rows = published_rows(run.release)
    times = np.bincount(rows.items, minlength=len(rows.names))
    general = np.flatnonzero((times > 0) & ~np.asarray(rows.exact))
    most = general[np.argsort(-times[general], kind="stable")][:SHOWN].tolist()
    return [[rows.names[node], int(times[node])] for node in most]


# --- an attack as a story: about a real record, for the owner's private report --------------------

PEOPLE = 200
"""How many people are drawn, of whom the story is about one."""
CLOSEST = 20
"""How many of them are looked for in the release."""
NAMED = 6
"""Items that a sentence names."""


def tell_story(
    run: Run,
    table: TransactionTable,
    params: Mapping[str, Any],
    rng: np.random.Generator | None = None,
) -> dict[str, Any]:
    """Tell how someone who knows a few items looks for one person, before and after.

    Of some people drawn at random, the story takes one who is easiest to find in the original
    data, and among these one who is easiest to find in the release: it shows what can happen, not
    what happens on average.

    Parameters
    ----------
    run, table
        What was published, and from what.
    params
        Of the attack ``linkage``: ``m``, how many items are known, and ``knowledge``, which ones
        ("random", "rarest", "common").
    rng
        Draws the people; without it always the same.

    Returns
    -------
    dict
        JSON values. ``known``: the items that the attacker knows. ``before``, ``after``: how many
        records are left in the original data and in the release. ``learned``: further items that
        are then certain in the release. ``sentences``: the story. Empty lists and zeros where
        nobody can be drawn.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.audit import run_method
    >>> table = TransactionTable.from_rows(
    ...     [["flu", "gout"], ["flu", "hiv"], ["flu", "gout"], ["flu"]])
    >>> run = run_method("simple-suppression", {}, table, sensitive=["hiv"])
    >>> for sentence in tell_story(run, table, {"m": 2, "knowledge": "random"})["sentences"]:
    ...     print(sentence)
    An attacker knows two items of a person: 'flu' and 'hiv'.
    In the original data, one record holds both. It is the person's, and it has no other item.
    In the release, 4 records may be the person's. Nothing else is certain about the person.
    The attacker can only pick one of these 4.
    """
    if not len(table) or not len(table.items):
        return {"known": [], "before": 0, "after": 0, "learned": [], "sentences": []}
    rng = np.random.default_rng(0) if rng is None else rng
    who = draw_targets(
        table,
        m=int(params["m"]),
        knowledge=str(params.get("knowledge", "random")),
        sample=PEOPLE,
        rng=rng,
    )
    supports = table.itemset_supports(who.known).tolist()
    drawn = [
        (supports[place], place)
        for place, known in enumerate(who.known)
        if known  # who holds no item cannot be known by one
    ]
    if not drawn:
        return {"known": [], "before": 0, "after": 0, "learned": [], "sentences": []}
    easiest = sorted(drawn)[:CLOSEST]
    fewest = easiest[0][0]
    found = [
        (run.release.matches(who.known[place], run.taxonomy), place)
        for records, place in easiest
        if records == fewest
    ]
    matches, place = min(found, key=lambda each: (each[0].candidates, each[1]))
    known, target = who.known[place], who.records[place]
    certain = run.release.certain_items(run.taxonomy)
    learned = sorted(certain.held_by_all(matches.records, known))
    own = [item for item in dict.fromkeys(table[target]) if item not in known]
    return {
        "known": list(known),
        "before": fewest,
        "after": matches.candidates,
        "learned": learned,
        "sentences": [
            f"An attacker knows {_count_items(len(known))} of a person: {join_names(known)}.",
            _in_original(fewest, len(known), own),
            _in_release(matches.candidates, learned),
            _outcome(run, matches, target),
        ],
    }


def _count_items(count: int) -> str:
    return f"{_in_letters(count)} {one_or_many(count, 'item', 'items')}"


def _in_letters(count: int) -> str:
    return {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}.get(count, number(count))


def _in_original(records: int, known: int, own: list[str]) -> str:
    what = {1: "it", 2: "both"}.get(known, f"all {_in_letters(known)}")
    if records > 1:
        return (
            f"In the original data, {number(records)} records hold {what}. One of them is the "
            "person's."
        )
    more = "has no other item" if not own else f"also shows {_some(own)}"
    return f"In the original data, one record holds {what}. It is the person's, and it {more}."


def _in_release(candidates: int, learned: list[str]) -> str:
    left = (
        "In the release, no record fits what the attacker knows."
        if not candidates
        else f"In the release, {plural(candidates, 'record')} may be the person's."
    )
    if not candidates:
        return left
    if not learned:
        return f"{left} Nothing else is certain about the person."
    return f"{left} It is certain that the person also has {_some(learned)}."


def _outcome(run: Run, found: Matches, target: int) -> str:
    """Tell what naming the likeliest record comes to."""
    if not found.candidates:
        return "The attacker finds nobody."
    chances = found.weights / found.counts  # of one candidate
    best = np.flatnonzero(chances >= chances.max() * (1 - TIE))
    named = max(round(float(found.counts[best].sum())), 1)
    right = bool(np.any(run.key.records[found.records[best]] == target))
    if not right:
        return "The record that looks likeliest is somebody else's: the attacker is misled."
    if named == 1:
        return "The attacker names the right record."
    likeliest = "" if named == found.candidates else " that look likeliest"
    return f"The attacker can only pick one of these {number(named)}{likeliest}."


def tell_example(example: Mapping[str, Any]) -> list[str]:
    """Tell what an attack said of one record (:meth:`setveil.attack.guess.Guess.examples`).

    Parameters
    ----------
    example
        With the lists ``known``, ``published``, ``guessed`` and ``original``, those that there are.

    Returns
    -------
    list of str
        What the attacker saw, what the attacker concluded, and what was true.

    Examples
    --------
    >>> for sentence in tell_example({"published": ["flu"], "guessed": ["flu", "gout", "rash"],
    ...                               "original": ["flu", "gout"]}):
    ...     print(sentence)
    The release shows 'flu'.
    The attacker concludes that this person has 'flu', 'gout' and 'rash'.
    The person's record holds 'flu' and 'gout': 2 of the 3 items are right.
    """
    said = []
    known, published = example.get("known") or [], example.get("published") or []
    guessed, original = example.get("guessed") or [], example.get("original") or []
    if known:
        said.append(f"The attacker knows that a person has {_some(known)}.")
    if published:
        shows = "The attacker finds the record" if known else "The release shows"
        said.append(f"{shows} {_some(published)}.")
    if guessed:
        said.append(f"The attacker concludes that this person has {_some(guessed)}.")
    if original:
        truth = f"The person's record holds {_some(original)}"
        right = len(set(guessed) & set(original))
        if guessed:
            are = one_or_many(right, "is", "are")
            truth += f": {number(right)} of the {plural(len(guessed), 'item')} {are} right"
        said.append(f"{truth}.")
    return said


def _some(items: Iterable[str]) -> str:
    every = list(items)
    more = len(every) - NAMED
    if more <= 0:
        return join_names(every)
    return f"{', '.join(map(repr, every[:NAMED]))} and {number(more)} more"
