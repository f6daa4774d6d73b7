"""Frequent itemsets and rules: those of the original, and how many a release still shows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setveil.core.arrays import BoolArray, Int64Array, kept_offsets, offsets_of
from setveil.core.errors import NotApplicable, ParameterError
from setveil.core.table import TransactionTable
from setveil.measure.generalization import tree_for
from setveil.release.views import leaf_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy.typing as npt

    from setveil.core.records import Parts, Records, Rows
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Release

    Bits = npt.NDArray[np.uint8]
    Numbers = tuple[int, ...]
    Entries = list[tuple[int, int, Numbers]]


TOP = 100
"""How many itemsets count as the most frequent ones unless told otherwise."""

LARGEST = 3
"""Size of the largest itemsets that are looked at."""

MANY = 300
"""From how many itemsets on the package pyfim finds them, where it is installed. It looks at all
itemsets above a support, we at the most frequent so far. Of 515,597 records the first 100 take us
1 s and it 3, the first 300 both 2.5 s, the first 1,000 7 s and 3, the first 5,000 88 s and 3."""


def top_itemsets(
    table: Records, k: int = TOP, *, largest: int = LARGEST
) -> dict[tuple[str, ...], int]:
    """Return the `k` itemsets that most records hold, with their supports, most frequent first.

    Ties go to the smaller itemset, then to the one whose names come first: the same records give
    the same answer. Fewer are returned where fewer occur.

    An itemset comes after each of its subsets in that order, so only the first `k` items matter,
    and larger itemsets are made of those that are among the first `k` so far. Supports are
    counted on bitsets; for many itemsets by Borgelt's eclat, where the package pyfim (the extra
    ``setveil[mining]``) is installed. The answer is the same.

    Parameters
    ----------
    table
        The records.
    k
        How many itemsets.
    largest
        Greatest size of an itemset.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "cough"], ["flu", "cough"], ["flu"]])
    >>> top_itemsets(table, 2)
    {('flu',): 3, ('cough',): 2}
    """
    return apart_itemsets(table, k, largest=largest)


def apart_itemsets(
    table: Records,
    k: int,
    *,
    largest: int,
    related: Callable[[Int64Array], BoolArray] | None = None,
) -> dict[tuple[str, ...], int]:
    """Return the most frequent itemsets as :func:`top_itemsets`, without two related items.

    Parameters
    ----------
    table, k, largest
        As there.
    related
        For item numbers in any order which of them may not stand together: a square of truth
        values. None where all may.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["pug", "dog"], ["pug", "dog"]])
    >>> apart_itemsets(table, 5, largest=2, related=lambda items: np.ones((2, 2), dtype=bool))
    {('dog',): 2, ('pug',): 2}
    """
    if k < 1 or largest < 1:
        raise ParameterError(
            f"the {k} most frequent itemsets of up to {largest} items cannot be found",
            fix="ask for at least one of at least one item",
        )
    supports = table.supports()
    # The vocabulary is sorted by name, so a stable sort breaks ties by name.
    order = np.argsort(-supports, kind="stable")[:k]
    items = order[supports[order] > 0]
    entries = None
    if related is None and k >= MANY and largest > 1 and isinstance(table, TransactionTable):
        entries = _mined(table, items, supports, k, largest)
    if entries is None:
        best = _Best(k=k, entries=[(-int(supports[i]), 1, (int(i),)) for i in items])
        if largest > 1 and len(items) > 1:
            free = None if related is None else ~related(items)
            # In memory the bitsets are made once; elsewhere each part makes them for each count.
            covers = table.parts.map(partial(_bitsets, items=items))
            _grow(best, covers, items, supports[items], largest=largest, free=free)
        entries = best.entries
    names = table.vocabulary.names
    return {tuple(names[i] for i in found): -count for count, _, found in entries}


def _mined(
    table: TransactionTable, items: Int64Array, supports: Int64Array, k: int, largest: int
) -> Entries | None:
    """Return the first `k` entries by pyfim, or None where it is not installed.

    `items` are the first `k` by support. No itemset among the first `k` is rarer than the last
    of these; half of them mostly suffice, and whatever is more frequent is found faster.
    """
    try:
        from fim import eclat
    except ImportError:
        return None
    for last in (len(items) // 2, len(items)):
        # All that occurs, where there are fewer items than itemsets are asked for.
        least = int(supports[items[last - 1]]) if last < len(items) or last == k else 1
        held = supports[table.items] >= least
        ends = kept_offsets(table.offsets, held)
        flat = table.items[held].tolist()
        rows = [flat[a:b] for a, b in pairwise(ends.tolist()) if a < b]
        # Of an item that all rows hold pyfim 6.28 may say nothing: one row holds none of them.
        rows.append([table.n_items])
        found = eclat(rows, target="s", supp=-least, zmin=1, zmax=largest, report="a")
        entries = [(-count, len(found_set), tuple(sorted(found_set))) for found_set, count in found]
        entries = sorted(entry for entry in entries if entry[2] != (table.n_items,))
        if len(entries) >= k:
            break
    return entries[:k]


@dataclass
class _Best:
    """The first `k` itemsets so far: (-support, size, item numbers), ascending."""

    k: int
    entries: Entries

    def add(self, entries: Iterable[tuple[int, int, Numbers]]) -> None:
        self.entries = sorted([*self.entries, *entries])[: self.k]

    @property
    def least(self) -> int:
        """The support below which nothing gets in."""
        return -self.entries[-1][0] if len(self.entries) == self.k else 1


def _bitsets(rows: Rows, items: Int64Array) -> Bits:
    """Return for each of the items the rows that hold it, one bit each."""
    n = len(rows.offsets) - 1
    bits = np.zeros((len(items), (n + 7) // 8), dtype=np.uint8)
    record = np.repeat(np.arange(n), np.diff(rows.offsets))
    by_item = np.argsort(rows.items, kind="stable")
    starts = np.searchsorted(rows.items[by_item], items)
    ends = np.searchsorted(rows.items[by_item], items, side="right")
    held = np.zeros(bits.shape[1] * 8, dtype=bool)
    for place in range(len(items)):
        records = record[by_item[starts[place] : ends[place]]]
        held[records] = True
        bits[place] = np.packbits(held)
        held[records] = False
    return bits


class _Asked(NamedTuple):
    """An itemset, and the run of items with each of which it is to be counted."""

    prefix: Numbers
    first: int
    stop: int


def _extended(bits: Bits, asked: Sequence[_Asked]) -> Int64Array:
    """Return how many rows hold each prefix with each item of its run, one run after the other."""
    counts = [np.zeros(0, dtype=np.int64)]
    for prefix, first, stop in asked:
        cover = np.bitwise_and.reduce(bits[list(prefix)], axis=0)
        counts.append(np.bitwise_count(bits[first:stop] & cover).sum(axis=1, dtype=np.int64))
    return np.concatenate(counts)


def _grow(
    best: _Best,
    covers: Parts[Bits],
    items: Int64Array,
    supports: Int64Array,
    *,
    largest: int,
    free: BoolArray | None,
) -> None:
    """Add the itemsets of two and more items; `items` come by descending support.

    Of each size the prefixes are counted 1, 2, 4 and so on at a time: the first ones raise the
    support below which nothing gets in. Where records are elsewhere, a pass over them costs more
    than counts, and all are counted at once. `free` tells which items may stand together; None
    where all may.
    """
    level: list[Numbers] = [(place,) for place in range(len(items))]
    place_of = {item: place for place, item in enumerate(items.tolist())}
    for size in range(2, largest + 1):
        done, step = 0, 1 if covers.room is None else len(level)
        while done < len(level):
            stop = int(np.searchsorted(-supports, -best.least, side="right"))
            several = [_Asked(prefix, prefix[-1] + 1, stop) for prefix in level[done : done + step]]
            asked = [each for each in several if each.first < each.stop]
            done, step = done + step, step * 2
            if not asked:
                continue
            runs = offsets_of([each.stop - each.first for each in asked])
            counted = covers.fold(
                partial(_extended, asked=asked), np.add, np.zeros(int(runs[-1]), dtype=np.int64)
            )
            for (prefix, first, stop), counts in zip(
                asked, np.split(counted, runs[1:-1]), strict=True
            ):
                frequent = counts >= best.least
                if free is not None:
                    frequent &= free[list(prefix), first:stop].all(axis=0)
                chosen = items[list(prefix)].tolist()
                best.add(
                    (-int(counts[g]), size, tuple(sorted([*chosen, int(items[first + g])])))
                    for g in np.flatnonzero(frequent).tolist()
                )
        level = [
            tuple(sorted(place_of[item] for item in found))
            for _, length, found in best.entries
            if length == size
        ]


def top_k_itemset_loss(
    release: Release,
    original: Records,
    *,
    taxonomy: Taxonomy | None = None,
    sensitive: Iterable[str] = (),
    k: int = TOP,
    largest: int = LARGEST,
    rng: np.random.Generator | None = None,
) -> float:
    """Return the share of the `k` most frequent itemsets that the release no longer shows.

    1 - |FI ∩ FI'| / |FI|, where FI are the most frequent itemsets of the original (see
    :func:`top_itemsets`) and FI' those of the release. In a disassociated release they are
    counted in one random reconstruction, as its paper does, and so in a perturbed one; in all
    others by what is certain
    (:func:`certain_itemset_loss`), and nothing is drawn at random.

    Parameters
    ----------
    release, original
        What is compared.
    taxonomy
        The tree the release was made with; a generalized release needs it.
    sensitive
        The sensitive items; those that the taxonomy lacks stand beside it.
    k, largest
        How many itemsets, of up to how many items.
    rng
        Draws the reconstruction; without it always the same one is drawn.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu", "hiv"], ["flu", "hiv"], ["flu"], ["gout"]])
    >>> release, _ = publish_suppressed(table, [True, True, False])
    >>> top_k_itemset_loss(release, table, k=2)  # flu and hiv were, flu and gout are
    0.5

    References
    ----------
    M. Terrovitis, N. Mamoulis, J. Liagouris, S. Skiadopoulos: Privacy preservation by
    disassociation, PVLDB 5(10), 2012.
    """
    if not release.counted_in_worlds:
        return certain_itemset_loss(
            release, original, taxonomy=taxonomy, sensitive=sensitive, k=k, largest=largest
        )
    world = release.sample_world(np.random.default_rng(0) if rng is None else rng)
    return share_lost(top_itemsets(original, k, largest=largest),
                      top_itemsets(world, k, largest=largest))  # fmt: skip


def certain_itemset_loss(
    release: Release,
    original: Records,
    *,
    taxonomy: Taxonomy | None = None,
    sensitive: Iterable[str] = (),
    k: int = TOP,
    largest: int = LARGEST,
) -> float:
    """Return the share of the `k` most frequent itemsets that are no longer frequent for certain.

    As :func:`top_k_itemset_loss`, but an itemset's support in the release is what can be relied
    on in every original it allows. An item that is published as a more general term counts for
    nothing. In a disassociated release that is what stands in one chunk together, and one
    occurrence of each term of a term chunk: the paper's tKd-a.

    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu", "hiv"], ["flu", "hiv"], ["flu"], ["gout"]])
    >>> release, _ = publish_suppressed(table, [True, True, False])
    >>> certain_itemset_loss(release, table, k=3)  # of flu, hiv and both, flu is left
    0.6666666666666667
    """
    before = top_itemsets(original, k, largest=largest)
    tree = None if taxonomy is None else tree_for(taxonomy, original, sensitive)
    certain = release.certain_table(original, tree)
    return share_lost(before, top_itemsets(certain, k, largest=largest))


def share_lost(before: Iterable[tuple[str, ...]], after: Iterable[tuple[str, ...]]) -> float:
    """Return the share of some itemsets that are not among others.

    >>> share_lost([("flu",), ("flu", "hiv")], [("flu",)])
    0.5
    """
    had = set(before)
    if not had:
        raise NotApplicable("the original has no itemsets")
    return 1 - len(had & set(after)) / len(had)


# --- itemsets of items and of general terms -------------------------------------------------------


def multilevel_itemset_loss(
    release: Release,
    original: TransactionTable,
    *,
    taxonomy: Taxonomy,
    sensitive: Iterable[str] = (),
    k: int = TOP,
    largest: int = LARGEST,
    rng: np.random.Generator | None = None,
) -> float:
    """Return the share of the most frequent itemsets of all levels that the release lost.

    tKd-ML2: as :func:`~setveil.measure.top_k_itemset_loss`, but a record also holds every node
    above its items, and itemsets are sets of nodes, none above another. The root, which says
    nothing, is left out. A generalized release so keeps what it says in general terms, and
    compares with one that keeps the items and hides which stand together.

    Parameters
    ----------
    release, original
        What is compared. A disassociated release is counted in one reconstruction, all others
        by what they show: the published nodes and those above them; of a generalized item that
        is a set, the lowest node above all its members.
    taxonomy
        The tree whose nodes count.
    sensitive
        The sensitive items; those that the taxonomy lacks stand beside it.
    k, largest
        How many itemsets, of up to how many nodes.
    rng
        Draws the reconstruction; without it always the same one is drawn.

    Examples
    --------
    >>> from setveil import Taxonomy
    >>> from setveil.release import publish_recoded
    >>> food = Taxonomy.from_parents({"apple": "fruit", "pear": "fruit", "beef": "meat",
    ...                               "fruit": "food", "meat": "food"})
    >>> table = TransactionTable.from_rows([["apple"], ["pear"], ["beef"]])
    >>> fruit = food.node("fruit")
    >>> release, _ = publish_recoded(food, table, [fruit, food.node("beef"), fruit])
    >>> multilevel_itemset_loss(release, table, taxonomy=food)  # of five nodes, apple and pear
    0.4

    References
    ----------
    M. Terrovitis, N. Mamoulis, J. Liagouris, S. Skiadopoulos: Privacy preservation by
    disassociation, PVLDB 5(10), 2012.
    """
    tree = tree_for(taxonomy, original, sensitive)
    rng = np.random.default_rng(0) if rng is None else rng
    before, after = leaf_rows(original, tree), release.nodes_published(tree, rng)
    return share_lost(
        *(_top(offsets, nodes, tree, k, largest) for offsets, nodes in (before, after))
    )


def _top(
    offsets: Int64Array, nodes: Int64Array, tree: Taxonomy, k: int, largest: int
) -> dict[tuple[str, ...], int]:
    """Return the most frequent sets of nodes, none above another, by their ids."""
    starts, above = _ways(nodes, tree)
    counts = np.diff(starts)[nodes]
    ends = offsets_of(counts)
    places = np.arange(ends[-1]) - np.repeat(ends[:-1] - starts[nodes], counts)
    table = TransactionTable.from_csr(ends[offsets], above[places], tree.ids)
    node_of = np.array(sorted(range(len(tree)), key=tree.ids.__getitem__), dtype=np.int64)

    def related(items: Int64Array) -> BoolArray:
        node = node_of[items]
        below = (node[:, None] <= node) & (node < tree.ends[node][:, None])
        return np.asarray(below | below.T)

    return apart_itemsets(table, k, largest=largest, related=related)


def _ways(nodes: Int64Array, tree: Taxonomy) -> tuple[Int64Array, Int64Array]:
    """Return for each node of `nodes` itself and all above it but the root, as compressed rows."""
    ways: dict[int, list[int]] = {
        v: [w for w in tree.ancestors(v) if w] for v in np.unique(nodes).tolist()
    }
    lengths = np.zeros(len(tree), dtype=np.int64)
    for v, way in ways.items():
        lengths[v] = len(way)
    flat = [w for v in sorted(ways) for w in ways[v]]
    return offsets_of(lengths), np.array(flat, dtype=np.int64)


# --- rules ----------------------------------------------------------------------------------------

CONFIDENCE = 0.5
"""Least confidence of a rule that counts, unless told otherwise."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """An association rule: of the records that hold `antecedent`, many hold `consequent` too.

    >>> Rule(antecedent=("hiv",), consequent="zidovudine", support=9, confidence=Fraction(9, 10))
    Rule(antecedent=('hiv',), consequent='zidovudine', support=9, confidence=Fraction(9, 10))
    """

    antecedent: tuple[str, ...]
    consequent: str
    support: int
    confidence: Fraction


@dataclass(frozen=True, kw_only=True)
class RulesKept:
    """How many rules of the original a release can still state.

    Parameters
    ----------
    value
        Share of the rules that it states, as they were or with more general terms.
    exact
        Share that it states as they were.
    rules
        Number of rules of the original.
    """

    value: float
    exact: float
    rules: int


def rules_of(
    table: Records,
    *,
    confidence: float | Fraction = CONFIDENCE,
    k: int = TOP,
    largest: int = LARGEST,
) -> list[Rule]:
    """Return the rules with one consequent that the `k` most frequent itemsets give.

    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["flu", "cough"], ["flu", "cough"], ["cough"]])
    >>> for rule in rules_of(table, confidence=0.9):
    ...     print(rule.antecedent, "→", rule.consequent, rule.confidence)
    ('flu',) → cough 1
    """
    least = Fraction(str(confidence))
    if not 0 < least <= 1:
        raise ParameterError(
            f"the confidence is {confidence}", fix="use a number above 0 and at most 1"
        )
    frequent = top_itemsets(table, k, largest=largest)
    found = []
    for itemset, support in frequent.items():
        for place, consequent in enumerate(itemset):
            antecedent = itemset[:place] + itemset[place + 1 :]
            # Every subset of one of the most frequent itemsets is one of them too.
            if antecedent and support >= least * frequent[antecedent]:
                found.append(
                    Rule(
                        antecedent=antecedent,
                        consequent=consequent,
                        support=support,
                        confidence=Fraction(support, frequent[antecedent]),
                    )
                )
    return found


def rules_kept(
    release: Release,
    original: Records,
    *,
    taxonomy: Taxonomy | None = None,
    sensitive: Iterable[str] = (),
    confidence: float | Fraction = CONFIDENCE,
    k: int = TOP,
    largest: int = LARGEST,
) -> RulesKept:
    """Return the share of the original's rules that the release still states for certain.

    The rules are those of :func:`rules_of`. In a rule each item is replaced by the highest term
    that the release publishes for it; the release states the rule when no item of it is
    suppressed, the consequent's term is none of the antecedent's, and the general rule has the
    confidence for certain: at least (least support of all its terms) / (greatest support of its
    antecedent). These bounds are equal where a record that does not show a term certainly has
    nothing below it, that is, in suppressed and globally recoded releases and under Partition.
    Where any record may have lost any item, the greatest support is the number of records.

    A general rule is true, but says less than the rule it came from; `exact` counts the rules
    whose items are all published as they were.

    Parameters
    ----------
    release, original
        What is compared.
    taxonomy
        The tree the release was made with; a generalized release needs it.
    sensitive
        The sensitive items; those that the taxonomy lacks stand beside it.
    confidence, k, largest
        Which rules count: their least confidence, and the itemsets they are made of.

    Raises
    ------
    NotApplicable
        The original has no such rule, or the release does not say where its items belong.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu", "cough"], ["flu", "cough"], ["hiv", "cough"]])
    >>> release, _ = publish_suppressed(table, [True, True, False])
    >>> rules_kept(release, table)  # lost: hiv → cough
    RulesKept(value=0.6666666666666666, exact=0.6666666666666666, rules=3)
    """
    rules = rules_of(original, confidence=confidence, k=k, largest=largest)
    if not rules:
        raise NotApplicable("no rule of the original has this confidence")
    tree = None if taxonomy is None else tree_for(taxonomy, original, sensitive)
    shown = release.shown_classes(original, tree)
    number = original.vocabulary.number
    general = {}
    for place, rule in enumerate(rules):
        terms = [shown.names[number(item)] for item in (*rule.antecedent, rule.consequent)]
        known = [term for term in terms if term is not None]
        if len(known) == len(terms) and known[-1] not in known[:-1]:
            general[place] = tuple(dict.fromkeys(known))
    whole, antecedents = list(general.values()), [known[:-1] for known in general.values()]
    counts = shown.table.itemset_supports([*whole, *antecedents]).tolist()
    least = Fraction(str(confidence))
    stated = []
    for place, both, most in zip(general, counts, counts[len(whole) :], strict=False):
        greatest = most if shown.complete else shown.table.n_records
        if greatest > 0 and both >= least * greatest:
            stated.append(rules[place])
    exact = sum(
        all(shown.exact[number(item)] for item in (*rule.antecedent, rule.consequent))
        for rule in stated
    )
    return RulesKept(value=len(stated) / len(rules), exact=exact / len(rules), rules=len(rules))
