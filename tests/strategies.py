"""Hypothesis strategies for tables, taxonomies, and both together.

All of them draw what real data brings: empty records, equal records, items that are interior
nodes, names with commas, quotes, newlines and letters beyond ASCII.
"""

from hypothesis import strategies as st

from setveil import Taxonomy, TransactionTable

AWKWARD = ["a,b", 'q"t', "new\nline", "tab\t", " space ", "it's", "e\u0301", "été", "日本", "c\rr"]


def names(*, min_size=1, max_size=12):
    """Draw distinct item names, in random order; some are awkward."""
    plain = st.sampled_from([f"i{n}" for n in range(40)])
    awkward = st.sampled_from(AWKWARD)
    free = st.text(st.characters(blacklist_categories=("Cs",)), min_size=1, max_size=4).filter(
        lambda s: s.strip("*")
    )
    return st.lists(
        st.one_of(plain, plain, plain, awkward, free),
        min_size=min_size,
        max_size=max_size,
        unique=True,
    )


@st.composite
def taxonomies(draw, *, min_nodes=2, max_nodes=14):
    """Draw a tree of any shape: chains, stars, single children."""
    ids = draw(names(min_size=min_nodes, max_size=max_nodes))
    parents = [-1] + [draw(st.integers(0, i - 1)) for i in range(1, len(ids))]
    return Taxonomy.from_nodes(ids, ids, parents)


@st.composite
def rows_over(draw, items, *, min_rows=0, max_rows=12, max_length=6):
    """Draw records over `items`; some are drawn again, as whole records repeat in real data."""
    row = st.lists(st.sampled_from(items), max_size=max_length, unique=True)
    rows = draw(st.lists(row, min_size=min_rows, max_size=max_rows))
    if rows and len(rows) < max_rows:
        again = st.sampled_from(rows)
        rows = rows + draw(st.lists(again, max_size=max_rows - len(rows)))
    return rows


@st.composite
def tables(draw, *, min_rows=0, max_rows=12, max_length=6, max_items=10):
    """Draw a table of sets."""
    items = draw(names(max_size=max_items))
    rows = draw(rows_over(items, min_rows=min_rows, max_rows=max_rows, max_length=max_length))
    return TransactionTable.from_rows(rows)


@st.composite
def tables_with_taxonomy(draw, *, min_rows=0, max_rows=12, max_length=6, max_nodes=14):
    """Draw a table and a tree that holds all its items, some of them as interior nodes.

    The tree is as a user gives it: call ``taxonomy.for_items`` for the private leaves.
    """
    tree = draw(taxonomies(max_nodes=max_nodes))
    leaves = [tree.ids[v] for v in range(len(tree)) if tree.is_leaf[v]]
    items = list(tree.ids) if draw(st.booleans()) else leaves
    rows = draw(rows_over(items, min_rows=min_rows, max_rows=max_rows, max_length=max_length))
    return TransactionTable.from_rows(rows), tree


def occurring(table):
    """Return the names of the items that some record holds."""
    return [table.vocabulary[i] for i, n in enumerate(table.supports().tolist()) if n]


@st.composite
def published(draw, *, max_groups=3, max_nodes=7, max_bag=3):
    """Draw groups of published nodes that sets can stand behind.

    Returns a tree with its leaves, the groups' nodes, the group of each record, and whether
    items may have been left out.
    """
    tree = draw(taxonomies(max_nodes=max_nodes))
    hides = draw(st.booleans())
    groups = []
    for _ in range(draw(st.integers(1, max_groups))):
        drawn = draw(st.lists(st.integers(0, len(tree) - 1), max_size=max_bag))
        group = []
        for v in drawn:
            if _fits(tree, [*group, v], hides=hides):
                group.append(v)
        groups.append(group)
    group_of = draw(st.lists(st.integers(0, len(groups) - 1), max_size=5))
    return tree, groups, group_of, hides


def _fits(tree, group, *, hides):
    below = {v: sum(v <= u < tree.ends[v] for u in group) for v in range(len(tree))}
    if hides:
        return all(count <= tree.leaves[v] for v, count in below.items())
    return all(below[v] == 1 for v in group)
