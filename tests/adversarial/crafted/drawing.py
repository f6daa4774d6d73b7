"""Crafted releases, drawn at random: mostly what can be loaded, with the twists of a stranger.

Each function returns the rows of a data file and the structure of a manifest. The same generator
draws the same.
"""

from setveil.release.set_generalized import set_label
from setveil.release.shared import DIGITS, PRIME, blocks_of, value_at

POOL = ("HIV", "flu", "gout", "tea", "rash", "ache")
JUNK = (None, [], {}, "", "HIV", -1, 0, 1.5, True, 2**31, 10**30, [[]], [None], {"id": []})
LEAVES = 6
"""Most leaves of a tree: the brute force goes through all sets of them."""


def draw_rows(rng, items, *, most=6, longest=3):
    """Draw records over some items; equal ones are frequent, and each item occurs."""
    rows = []
    for _ in range(rng.randint(1, most)):
        if rows and rng.random() < 0.4:
            rows.append(list(rng.choice(rows)))
        else:
            rows.append(rng.sample(items, rng.randint(0, min(longest, len(items)))))
    for item in items:
        if not any(item in row for row in rows):
            rng.choice(rows).append(item)
    return rows


def in_order(rng, rows, place):
    """Sort records as a release has them; seldom leave them as they are."""
    if rng.random() < 0.02:
        return rows
    rows = [sorted(row, key=place) for row in rows]
    return sorted(rows, key=lambda row: (-len(row), [place(item) for item in row]))


def spoilt(rng, structure):
    """Put something else in the place of a value of a structure, now and then."""
    if rng.random() < 0.94 or not structure:
        return structure
    name = rng.choice(sorted(structure))
    value = structure[name]
    if isinstance(value, list) and value and rng.random() < 0.8:
        value = list(value)
        at = rng.randrange(len(value))
        if isinstance(value[at], dict):
            field = rng.choice(sorted(value[at]))
            value[at] = {**value[at], field: rng.choice(JUNK)}
        elif isinstance(value[at], int) and rng.random() < 0.5:
            value[at] += rng.choice([-1, 1])
        else:
            value[at] = rng.choice(JUNK)
        return {**structure, name: value}
    if rng.random() < 0.3:
        return {key: value for key, value in structure.items() if key != name}
    return {**structure, name: rng.choice(JUNK)}


# --- trees ----------------------------------------------------------------------------------------


def draw_tree(rng):
    """Draw the nodes of a tree in preorder, with parents as numbers."""
    while True:
        n = rng.randint(2, 7)
        parents = [-1] + [rng.randrange(max(0, v - 3), v) for v in range(1, n)]
        order = _preorder(parents)
        parents = [order.index(parents[v]) if parents[v] >= 0 else -1 for v in order]
        leaves = [0] * n
        for v in reversed(range(n)):
            inner = v in parents
            leaves[v] += rng.choice([0, 0, 0, 1, 2]) if inner else rng.choice([1, 1, 1, 1, 2, 3])
            if v:
                leaves[parents[v]] += leaves[v]
        if leaves[0] <= LEAVES:
            return parents, leaves


def _preorder(parents):
    found, left = [], [0]
    while left:
        v = left.pop()
        found.append(v)
        left += [child for child, parent in enumerate(parents) if parent == v]
    return found


def draw_nodes(rng):
    """Draw a tree as a manifest has it: ids, names, private leaves, and some that are none."""
    parents, leaves = draw_tree(rng)
    ids = rng.sample([*POOL, "*", "7", "a (itself)"], len(parents))
    names = [rng.choice([*POOL, "*"]) if rng.random() < 0.12 else each for each in ids]
    nodes = []
    for v, parent in enumerate(parents):
        bare = v not in parents and leaves[v] == 1
        pseudo = v > 0 and rng.random() < (0.2 if bare else 0.01)
        if pseudo and rng.random() < 0.9:
            names[v] = names[parent]
        above = None if parent < 0 else ids[parent]
        nodes.append(
            {"id": ids[v], "name": names[v], "parent": above, "leaves": leaves[v], "pseudo": pseudo}
        )
    return nodes, parents


def draw_generalized(rng):
    nodes, parents = draw_nodes(rng)
    ids = [each["id"] for each in nodes]
    bare = [v for v in range(len(ids)) if v not in parents]
    hides, whole = rng.choice([(True, False), (True, False), (True, True), (False, False)])
    shown = bare if whole else range(len(ids))
    rows = draw_rows(rng, list(shown))
    if hides and not whole:
        rows = [[*row, *rng.choices(row or [0], k=rng.choice([0, 0, 0, 1, 2]))] for row in rows]
        # Only what lies at the bottom must be published.
        rows = [[v for v in row if v in bare or rng.random() < 0.6] for row in rows]
    elif rng.random() < 0.95:
        rows = [_apart(row, parents) for row in rows]
    for v in bare:
        if not any(v in row for row in rows):
            rows.append([v])
    rows = in_order(rng, rows, int)
    structure = {"hides": hides, "whole": whole, "nodes": nodes}
    return [[ids[v] for v in row] for row in rows], spoilt(rng, structure)


def _apart(row, parents):
    """Return the nodes of a record that lie above no other of it, each once."""
    above = set()
    for v in row:
        while v > 0:
            v = parents[v]  # noqa: PLW2901  (up to the root)
            above.add(v)
    return sorted({v for v in row if v not in above})


# --- records of items -----------------------------------------------------------------------------


def draw_items(rng):
    return list(rng.sample(POOL, rng.randint(1, 5)))


def draw_suppressed(rng):
    rows = in_order(rng, draw_rows(rng, draw_items(rng)), str)
    if rng.random() < 0.02:
        rows[0] = rows[0] * 2
    return rows, {} if rng.random() < 0.97 else {"hides": True}


def draw_sets(rng):
    items = [*draw_items(rng), *rng.sample(["(HIV, flu)", '"', "a, b"], rng.choice([0, 0, 0, 1]))]
    groups = {}
    for item in items:
        groups.setdefault(rng.randint(0, len(items)), []).append(item)
    labels = [set_label(group) for group in groups.values()]
    if rng.random() < 0.05:
        labels.append(rng.choice(["(HIV)", "(flu, HIV)", "()", "(HIV, HIV)", '"HIV"', "(", '"(']))
    return in_order(rng, draw_rows(rng, sorted(set(labels))), str), {}


def draw_encoded(rng):
    items = draw_items(rng)
    rows = in_order(rng, draw_rows(rng, items), str)
    return rows, spoilt(rng, {"readable": [item for item in items if rng.random() < 0.6]})


def draw_shared(rng):
    """Draw shares of items; handles may be called like items, and shares may be wrong."""
    items, k = draw_items(rng), rng.randint(1, 3)
    rows = draw_rows(rng, items, most=4)
    handles = dict(zip(items, rng.sample([*POOL, "7f", "31"], len(items)), strict=True))
    degree = k if rng.random() < 0.95 else k + 1
    named = {item: item if rng.random() < 0.97 else rng.choice(items) for item in items}
    lines = {
        item: [
            [block, *(rng.randrange(PRIME) for _ in range(degree - 1))]
            for block in blocks_of(named[item])
        ]
        for item in items
    }
    published = []
    # Positions are points of the polynomials, so the records are sorted before.
    rows = in_order(rng, rows, shown_names(rows, handles, named, k).__getitem__)
    for x, row in enumerate(rows, 1):
        shares = {i: "".join(f"{value_at(c, x):0{DIGITS}x}" for c in lines[i]) for i in row}
        published.append([f"{handles[item]}:{shares[item]}" for item in row])
    if rng.random() < 0.03 and published[0]:
        published[0][0] = rng.choice(["7f", "7f:", ":0", f"7f:{'g' * DIGITS}"])
    return published, spoilt(rng, {"k": k})


def shown_names(rows, handles, named, k):
    """Return what a reader sees of each item: its name from k shares on, else its handle."""
    supports = {item: sum(item in row for row in rows) for item in handles}
    return {i: named[i] if supports[i] >= k else handle for i, handle in handles.items()}


def draw_perturbed(rng):
    rows, _ = draw_suppressed(rng)
    beta = rng.choice(["1/4", "0.1", 0.25, "1/5", 0, 0.5, "2", -1, "x"])
    sizes = rng.choice([None, None, ["1/2", "1/2"], [1], ["1/3", "1/3", "1/3"], [0.5, 0.6]])
    structure = {"beta": beta, "domain": rng.randint(4, 9), "sizes": sizes}
    return rows, spoilt(rng, structure)


# --- groups and chunks ----------------------------------------------------------------------------


def draw_grouped(rng):
    """Draw groups with listed or dealt sensitive parts; counts and deals are anything."""
    secrets = rng.sample(POOL[:3], rng.randint(1, 2))
    ordinary = [*"abc", *(rng.sample(POOL[:4], 1) if rng.random() < 0.1 else [])]
    dealt, whole = rng.random() < 0.35, rng.random() < 0.5
    groups = []
    for _ in range(rng.randint(1, 3)):
        size = rng.randint(1, 4)
        rows = [sorted(rng.sample(ordinary, rng.randint(0, 2))) for _ in range(size)]
        rows.sort(key=lambda row: (-len(row), row))
        if whole or dealt:
            sets = [sorted(s) for s in ([secrets[0]], secrets[-1:], secrets)]
            parts = [rng.choice(sets) for _ in range(rng.randint(0, size))]
            counted = [[part, parts.count(part)] for part in {tuple(part) for part in parts}]
            counted = [[part, parts.count(list(part))] for part, _ in counted]
        else:
            counted = [[(s,), rng.randint(1, size)] for s in secrets if rng.random() < 0.7]
        counted.sort(key=lambda each: (-len(each[0]), each[0]))
        if counted and rng.random() < 0.02:
            counted[0][1] += rng.choice([-1, 1, 5])
        groups.append((rows, counted))
    groups.sort(key=lambda group: _group_key(*group))
    sizes = [len(rows) for rows, _ in groups]
    if not dealt:
        data = [row for rows, _ in groups for row in rows]
        data += [list(part) for _, counted in groups for part, _ in counted]
        structure = {
            "sizes": sizes,
            "parts": [len(counted) for _, counted in groups],
            "counts": [count for _, counted in groups for _, count in counted],
            "whole": whole,
        }
        return data, spoilt(rng, structure)
    data = []
    for rows, counted in groups:
        parts = [list(part) for part, count in counted for _ in range(count)][: len(rows)]
        parts += [[]] * (len(rows) - len(parts))
        if rng.random() < 0.7:
            rng.shuffle(parts)
        data += [sorted({*row, *part}) for row, part in zip(rows, parts, strict=True)]
    named = [s for s in secrets if any(s in row for row in data)]
    return data, spoilt(rng, {"sizes": sizes, "sensitive": named})


def _group_key(rows, counted):
    return (
        -len(rows),
        [(-len(row), row) for row in rows],
        [(-len(part), list(part), count) for part, count in counted],
    )


def draw_chunks(rng):
    """Draw clusters of chunks from nothing: no records need stand behind them."""
    letters = "abcdef"
    clusters = []
    for _ in range(rng.choice([1, 1, 2, 2, 3])):
        size = rng.randint(1, 4)
        left = rng.sample(letters, rng.randint(1, 4))
        chunks = []
        while left and rng.random() < 0.8:
            domain = [left.pop() for _ in range(min(len(left), rng.randint(1, 2)))]
            rows = [sorted(rng.sample(domain, rng.randint(1, len(domain))))
                    for _ in range(rng.randint(1, size))]  # fmt: skip
            chunks.append(sorted(rows, key=lambda row: (-len(row), row)))
        terms = sorted(left) if rng.random() < 0.5 else []
        clusters.append((size, sorted(chunks, key=_chunk_key), terms))
    clusters.sort(key=_cluster_key)
    shared = []
    if len(clusters) > 1 and rng.random() < 0.5:
        first = rng.randrange(len(clusters) - 1)
        last = rng.randint(first + 2, len(clusters))
        domain = ["x", "y"][: rng.randint(1, 2)]
        most = sum(size for size, _, _ in clusters[first:last])
        rows = [sorted(rng.sample(domain, rng.randint(1, len(domain))))
                for _ in range(rng.randint(1, min(most, 4)))]  # fmt: skip
        shared.append((first, last, sorted(rows, key=lambda row: (-len(row), row))))
    data = [row for _, chunks, _ in clusters for chunk in chunks for row in chunk]
    data += [row for *_, rows in shared for row in rows]
    data += [terms for *_, terms in clusters if terms]
    structure = {
        "sizes": [size for size, _, _ in clusters],
        "chunks": [len(chunks) for _, chunks, _ in clusters],
        "rows": [len(chunk) for _, chunks, _ in clusters for chunk in chunks]
        + [len(rows) for *_, rows in shared],
        "shared": [number for first, last, _ in shared for number in (first, last)],
        "with_terms": [c for c, (*_, terms) in enumerate(clusters) if terms],
    }
    return data, spoilt(rng, structure)


def _chunk_key(rows):
    flat = [item for row in rows for item in row]
    return -len(rows), -len(flat), [len(row) for row in rows], flat


def _cluster_key(cluster):
    size, chunks, terms = cluster
    return -size, len(chunks), [_chunk_key(chunk) for chunk in chunks], terms
