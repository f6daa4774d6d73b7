"""An attack as a story: what the attacker knew, which records were left, what followed.

Stories are about real records. They are for the owner's private report and must not be published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.attack.linkage import TIE
from setveil.core.words import join_names, number, one_or_many, plural
from setveil.measure.queries import Holders
from setveil.measure.targets import draw_targets

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from setveil.audit.run import Run
    from setveil.core.table import TransactionTable
    from setveil.release.base import Matches

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
    holders = Holders(table)
    drawn = [
        (holders.support(known), place)
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
    """Tell what an attack said of one record (:func:`setveil.measure.examples.examples_of`).

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
