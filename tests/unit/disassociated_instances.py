"""Small disassociated releases drawn at random: lone clusters, joint ones, nested ones."""

import numpy as np
from hypothesis import strategies as st

from setveil import TransactionTable
from setveil.release import Plan, publish_disassociated

ARRAYS = (
    "sizes", "chunk_first", "chunk_last", "chunk_offsets", "row_offsets", "items",
    "term_offsets", "terms",
)  # fmt: skip


FEW = 5_000
"""Most ways to place everything that a test goes through."""


@st.composite
def instances(
    draw, *, clusters=1, min_size=1, max_size=4, items="abcde", joint=False, removing=False
):
    """Draw a table, plans, joints and removed occurrences that fit each other."""
    rows, plans = [], []
    sizes = draw(st.lists(st.integers(min_size, max_size), min_size=clusters, max_size=clusters))
    members = []
    for size in sizes:
        first = len(rows)
        row = st.lists(st.sampled_from(items), min_size=1, max_size=4, unique=True)
        rows += [draw(row) for _ in range(size)]
        members.append(range(first, len(rows)))
    table = TransactionTable.from_rows(rows)
    names = table.vocabulary.names
    removed = _removed(draw, rows, names) if removing else []
    held = [
        sorted(
            {
                names.index(item)
                for r in run
                for item in rows[r]
                if (r, names.index(item)) not in removed
            }
        )
        for run in members
    ]
    # Inner ranges come first: what they share is then no longer there for outer ones.
    ranges = _ranges(draw, clusters) if joint else []
    domains = [[] for _ in ranges]
    for j, (a, b) in enumerate(ranges):
        inner = {item for domain in domains for item in domain}
        for item in sorted({item for run in held[a:b] for item in run} - inner):
            if draw(st.booleans()):
                domains[j].append(item)
                for run in held[a:b]:
                    if item in run:
                        run.remove(item)
    for run, left in zip(members, held, strict=True):
        chunks = [[], [], []]
        terms = []
        for item in left:
            place = draw(st.integers(0, 3))  # 0 is the term chunk
            (chunks[place - 1] if place else terms).append(item)
        chunks = tuple(tuple(chunk) for chunk in chunks if chunk)
        plans.append(Plan(records=list(run), domains=chunks, terms=tuple(terms)))
    joints = [(a, b, tuple(d)) for (a, b), d in zip(ranges, domains, strict=True) if d]
    return table, plans, joints, removed


def _removed(draw, rows, names):
    gone = []
    for r, row in enumerate(rows):
        gone += [(r, names.index(item)) for item in row[1:] if draw(st.integers(0, 3)) == 0]
    return gone


def _ranges(draw, clusters):
    choices = [[(0, clusters)]]
    if clusters > 2:
        choices += [[(0, 2)], [(0, 2), (0, clusters)], [(1, clusters), (0, clusters)]]
    choices.append([(0, clusters), (0, clusters)])
    return draw(st.sampled_from(choices))


@st.composite
def releases(draw, **kwargs):
    """Draw a release; what was removed does not matter."""
    return publish_disassociated(*draw(instances(**kwargs)))[0]


def same(one, other):
    return one.vocabulary == other.vocabulary and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ARRAYS
    )


def publish(rows, *plans, joints=(), removed=()):
    """Publish rows with plans that speak of names."""
    table = TransactionTable.from_rows(rows)
    number = table.vocabulary.number
    as_numbers = [
        Plan(
            records=records,
            domains=tuple(tuple(map(number, domain)) for domain in domains),
            terms=tuple(map(number, terms)),
        )
        for records, domains, terms in plans
    ]
    shared = [(a, b, tuple(map(number, domain))) for a, b, domain in joints]
    gone = [(record, number(item)) for record, item in removed]
    return publish_disassociated(table, as_numbers, shared, gone)
