"""Tables of the size and shape of well-known benchmarks that may not be passed on.

Nothing of the real data is in here but published figures: the number of records and items, the
mean and the greatest length. The rest is a plain model. Lengths are log-normal. Item popularity
follows Zipf and Mandelbrot's law, and popular items gather in parts of the tree. Each record has
a few topics, small subtrees; it draws some items from them and the others from everywhere.

The tree and the popularity of items are fixed for each look-alike; the seed draws the records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cache

import numpy as np

from setveil.core.arrays import FloatArray, Int64Array, offsets_of
from setveil.core.errors import ParameterError
from setveil.core.table import TransactionTable
from setveil.core.taxonomy import Taxonomy
from setveil.synthetic.dataset import Synthetic, check_size_and_seed

TOPICS = 3  # per record; the first is drawn from most often
PATIENCE = 20  # rounds of redrawing repeated items before popularity is set aside


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The published figures of a benchmark, and how its look-alike is drawn.

    Parameters
    ----------
    title
        The benchmark's name, as people write it.
    rows, items, mean, longest
        Published figures; `longest` is None where none was published.
    source
        Who published them.
    spread
        Standard deviation of the logarithm of a record's length.
    zipf, flat
        Popularity of the item of rank r is proportional to (r + flat) ** -zipf.
    focus
        Share of a record's items that come from its topics.
    topic_items
        Greatest number of items of a topic.
    """

    title: str
    rows: int
    items: int
    mean: float
    longest: int | None
    source: str
    spread: float
    zipf: float
    flat: float
    focus: float
    topic_items: int


_CAO = "Cao, Karras, Raïssi, Tan 2010"
_AOL = "Milani Fard & Wang 2010"
_NAMES = tuple(each.name for each in fields(Shape))
# In the order of the fields: what was published, then how the look-alike is drawn. The number of
# items of AOL follows from the published density, 0.11% at full size.
_FIGURES: dict[str, tuple[object, ...]] = {
    "bms-pos": ("BMS-POS", 515_597, 1_657, 6.5, 164, _CAO, 0.88, 1.1, 4.0, 0.6, 64),
    "bms-webview-1": ("BMS-WebView-1", 59_602, 497, 2.5, 267, _CAO, 1.2, 0.9, 6.0, 0.75, 16),
    "bms-webview-2": ("BMS-WebView-2", 77_512, 3_340, 5.0, 161, _CAO, 0.95, 0.9, 10.0, 0.75, 16),
    "aol": (
        *("AOL query log, first subset", 53_058, 19_027, 20.93, None, _AOL),
        *(1.1, 1.3, 20.0, 0.5, 256),
    ),
}
LOOKALIKES: dict[str, Shape] = {
    name: Shape(**dict(zip(_NAMES, figures, strict=True)))  # type: ignore[arg-type]
    for name, figures in _FIGURES.items()
}


@dataclass(frozen=True, kw_only=True)
class World:
    """What a look-alike's records are drawn from; items are numbered in the tree's preorder.

    `bounds[i] .. bounds[i + 1]` is item i's part of the unit interval (its popularity), and
    `topic_low[i] .. topic_high[i]` that of the topic it lies in.
    """

    taxonomy: Taxonomy
    names: tuple[str, ...]
    bounds: FloatArray
    topic_low: FloatArray
    topic_high: FloatArray


def lookalike(name: str, n: int | None = None, seed: int = 0) -> Synthetic:
    """Generate a table that resembles a benchmark.

    Parameters
    ----------
    name
        One of `LOOKALIKES`: ``bms-pos``, ``bms-webview-1``, ``bms-webview-2``, ``aol``.
    n
        Number of records; by default the published one. From that size on, every item occurs and
        the longest record has the published length; smaller tables hold what the draw gives.
    seed
        Draws the records; the tree and the popularity of items do not depend on it.

    Returns
    -------
    Synthetic
        For ``aol`` with a tree of 25,645 nouns, some items being interior nodes; for the others
        with a balanced tree of fan-out 4 over the items.

    Examples
    --------
    >>> shop = lookalike("bms-pos", n=1000, seed=7)
    >>> len(shop.table), shop.taxonomy.n_leaves
    (1000, 1657)
    """
    if name not in LOOKALIKES:
        raise ParameterError(
            f"there is no look-alike called {name!r}", fix=f"use one of: {', '.join(LOOKALIKES)}"
        )
    shape = LOOKALIKES[name]
    n = shape.rows if n is None else n
    check_size_and_seed(n, seed)
    world = _world(name)
    rng = np.random.default_rng([seed, *name.encode()])
    lengths = record_lengths(n, shape)
    rng.shuffle(lengths)
    keys = _draw_sets(rng, lengths, world, shape.focus)
    width = len(world.names)
    if n >= shape.rows:
        keys = _plant_missing(rng, keys, width)
    offsets = offsets_of(lengths)
    items = keys % width
    occurs = np.bincount(items, minlength=width) > 0
    names = [world.names[i] for i in np.flatnonzero(occurs).tolist()]
    table = TransactionTable.from_csr(offsets, (np.cumsum(occurs) - 1)[items], names)
    return Synthetic(
        table=table,
        taxonomy=world.taxonomy,
        sensitive=(),
        description=f"{n:,} generated records shaped like {shape.title}",
    )


def record_lengths(n: int, shape: Shape) -> Int64Array:
    """Return `n` lengths, ascending: the quantiles of a log-normal with the published mean.

    Quantiles rather than draws, so that the mean is the published one at every size and seed.

    >>> lengths = record_lengths(515_597, LOOKALIKES["bms-pos"])
    >>> round(float(lengths.mean()), 1), int(lengths.max())
    (6.5, 164)
    """
    limit = shape.longest or shape.items // 10
    low, high = -5.0, math.log(limit)
    for _ in range(50):
        centre = (low + high) / 2
        cumulative = _length_distribution(centre, shape.spread, limit)
        # The mean of a number >= 1 is the sum of its chances to reach 1, 2, 3, ...
        if limit - cumulative[:-1].sum() < shape.mean:
            low = centre
        else:
            high = centre
    ranks = np.rint(cumulative * n).astype(np.int64)
    lengths = np.repeat(np.arange(1, limit + 1), np.diff(ranks, prepend=0))
    if shape.longest is not None and n >= shape.rows:
        lengths[-1] = shape.longest
    return lengths


def _length_distribution(centre: float, spread: float, limit: int) -> FloatArray:
    """Return the chances of at most 1, 2, .. `limit` of a rounded, truncated log-normal."""
    scale = spread * math.sqrt(2)
    edges = [(math.log(length + 0.5) - centre) / scale for length in range(1, limit + 1)]
    chances: FloatArray = np.array([1 + math.erf(edge) for edge in edges])
    chances /= chances[-1]
    return chances


@cache
def _world(name: str) -> World:
    """Build the tree, the items' popularity and their topics: the same for every seed."""
    shape = LOOKALIKES[name]
    rng = np.random.default_rng([*name.encode()])
    if name == "aol":
        taxonomy = noun_tree()
        leaves = np.flatnonzero(taxonomy.is_leaf)
        inner = np.flatnonzero(~taxonomy.is_leaf[1:]) + 1
        some = rng.choice(inner, shape.items - len(leaves), replace=False)
        nodes = np.sort(np.concatenate([leaves, some]))
    else:
        digits = len(str(shape.items))
        taxonomy = Taxonomy.balanced(f"item-{i:0{digits}d}" for i in range(1, shape.items + 1))
        nodes = np.flatnonzero(taxonomy.is_leaf)
    popularity = _popularity(rng, taxonomy, nodes, shape)
    bounds = np.concatenate([[0.0], np.cumsum(popularity)])
    bounds /= bounds[-1]
    low, high = _topics(taxonomy, nodes, shape.topic_items)
    return World(
        taxonomy=taxonomy,
        names=tuple(taxonomy.ids[v] for v in nodes.tolist()),
        bounds=bounds,
        topic_low=bounds[low],
        topic_high=bounds[high],
    )


def _popularity(
    rng: np.random.Generator, taxonomy: Taxonomy, nodes: Int64Array, shape: Shape
) -> FloatArray:
    """Return a weight for each item: Zipf and Mandelbrot's law over ranks that relatives share."""
    score = rng.standard_normal(len(taxonomy))
    for node in range(1, len(taxonomy)):
        score[node] += 0.6 * score[taxonomy.parents[node]]
    ranks = np.empty(len(nodes), dtype=np.int64)
    ranks[np.argsort(-score[nodes], kind="stable")] = np.arange(1, len(nodes) + 1)
    return np.asarray((ranks + shape.flat) ** -shape.zipf)


def _topics(taxonomy: Taxonomy, nodes: Int64Array, most: int) -> tuple[Int64Array, Int64Array]:
    """Return for each item the first and one past the last item of its topic.

    The topic is the largest subtree around the item that holds at most `most` items (an item
    whose own subtree is larger is a topic of its own kind: all that lies below it).
    """
    before = np.zeros(len(taxonomy) + 1, dtype=np.int64)  # items among the nodes before each node
    before[nodes + 1] = 1
    np.cumsum(before, out=before)
    low, high = before[:-1], before[taxonomy.ends]
    small = high - low <= most
    topic = np.arange(len(taxonomy))
    for node in range(1, len(taxonomy)):
        parent = taxonomy.parents[node]
        if small[parent]:
            topic[node] = topic[parent]
    return low[topic[nodes]], high[topic[nodes]]


def _draw_sets(
    rng: np.random.Generator, lengths: Int64Array, world: World, focus: float
) -> Int64Array:
    """Return sorted keys (record * number of items + item): `lengths[i]` items for record i.

    Repeated items are redrawn, round by round, with less and less focus on the record's topics,
    so that long records spread; the few that are still short then take any item.
    """
    width = len(world.names)
    seeds = np.searchsorted(world.bounds, rng.random((len(lengths), TOPICS)), side="right") - 1
    low, high = world.topic_low[seeds], world.topic_high[seeds]
    done: list[Int64Array] = []
    open_keys = np.empty(0, dtype=np.int64)
    lacking = lengths.copy()
    rounds = 0
    while lacking.any():
        rows = np.repeat(np.arange(len(lengths)), lacking)
        point = rng.random(len(rows))
        if rounds < PATIENCE:
            slot = (TOPICS * rng.random(len(rows)) ** 2).astype(np.int64)
            local = rng.random(len(rows)) < focus * 0.8**rounds
            start = np.where(local, low[rows, slot], 0.0)
            end = np.where(local, high[rows, slot], 1.0)
            spot = start + point * (end - start)
            items = np.searchsorted(world.bounds, spot, side="right") - 1
            items = np.minimum(items, width - 1)  # rounding may bring a spot to 1
        else:
            items = (point * width).astype(np.int64)
        keys = _distinct(np.concatenate([open_keys, rows * width + items]))
        held = np.bincount(keys // width, minlength=len(lengths))
        lacking = np.where(held > 0, lengths - held, 0)
        is_open = lacking[keys // width] > 0
        done.append(keys[~is_open])
        open_keys = keys[is_open]
        rounds += 1
    return np.sort(np.concatenate(done))


def _distinct(keys: Int64Array) -> Int64Array:
    """Return the keys sorted, without repetitions (ten times faster here than np.unique)."""
    keys.sort()
    fresh = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
    return keys[fresh]


def _plant_missing(rng: np.random.Generator, keys: Int64Array, width: int) -> Int64Array:
    """Let every item occur: those that were never drawn take the place of a repeated one."""
    items = keys % width
    some_place = np.full(width, -1, dtype=np.int64)
    some_place[items] = np.arange(len(items))
    missing = np.flatnonzero(some_place < 0)
    spare = np.ones(len(keys), dtype=bool)
    spare[some_place[some_place >= 0]] = False
    places = rng.choice(np.flatnonzero(spare), len(missing), replace=False)
    keys = keys.copy()
    keys[places] += missing - items[places]
    return np.sort(keys)


# Nodes at each distance from the root, and how many of them have children: the outline of the
# tree that WordNet's is-a-kind-of links form over some 19,000 common nouns. Together 25,645
# nodes and height 18, as the thesis reports for the nouns of its query log.
NODES = (
    1,
    2,
    11,
    140,
    882,
    2290,
    3752,
    4860,
    4158,
    4112,
    2758,
    1342,
    670,
    297,
    140,
    124,
    74,
    24,
    8,
)
PARENTS = (1, 2, 11, 115, 538, 1085, 1530, 1560, 1385, 1105, 655, 302, 170, 80, 46, 44, 17, 4, 0)

# A parent's chance of each further child is Pareto distributed: half of the parents end with one
# child, the largest family has some hundred. The tail is heavier near the top, where in WordNet
# a few branches (artifacts, persons, ...) hold most of the nouns.
TOP_LEVELS = 4
TOP_TAIL = 0.8
TAIL = 1.5
# Of some forty trees that these figures give, the one whose largest branches at the first five
# levels come closest to WordNet's: 56% and 44% of the leaves, then 43%, 37%, 24%.
TREE = 2


@cache
def noun_tree() -> Taxonomy:
    """Return the tree; nodes are named ``noun-00000`` (the root) onwards, in preorder.

    >>> tree = noun_tree()
    >>> len(tree), tree.height
    (25645, 18)
    """
    rng = np.random.default_rng(TREE)
    above = _grow(rng)
    order = _preorder(above)
    place = np.empty(len(above), dtype=np.int64)
    place[order] = np.arange(len(above))
    parents = [-1, *place[above[order[1:]]].tolist()]
    names = [f"noun-{i:05d}" for i in range(len(above))]
    return Taxonomy.from_nodes(names, names, parents)


def _grow(rng: np.random.Generator) -> Int64Array:
    """Return each node's parent, level by level: one child for each parent, the rest by chance."""
    above = [np.array([-1])]
    first = 0
    for level, below in enumerate(NODES[1:]):
        here, with_children = NODES[level], PARENTS[level]
        able = first + rng.choice(here, with_children, replace=False)
        luck = rng.pareto(TOP_TAIL if level < TOP_LEVELS else TAIL, with_children)
        more = rng.choice(able, below - with_children, p=luck / luck.sum())
        above.append(np.concatenate([able, more]))
        first += here
    return np.concatenate(above)


def _preorder(above: Int64Array) -> Int64Array:
    """Return the nodes in preorder, siblings in the order they have."""
    sizes = np.ones(len(above), dtype=np.int64)
    for node in range(len(above) - 1, 0, -1):
        sizes[above[node]] += sizes[node]
    place = np.zeros(len(above), dtype=np.int64)
    free = np.ones(len(above), dtype=np.int64)  # next place below each node, from its own
    for node in range(1, len(above)):
        parent = above[node]
        place[node] = place[parent] + free[parent]
        free[parent] += sizes[node]
    return np.argsort(place)
