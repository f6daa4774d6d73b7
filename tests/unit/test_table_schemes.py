"""Each scheme keeps k and is minimal, as brute force over all alternatives says."""

import random
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import table_schemes as brute

from setveil.core.errors import InfeasibleError, InputError, ParameterError
from setveil.tabular import (
    Intervals,
    cell,
    full_domain,
    mondrian,
    sibling,
    subtree,
    suppress_cells,
    suppress_records,
    suppress_values,
)
from setveil.tabular.generalization import _Lattice
from setveil.tabular.hierarchies import value_trees

GENERALIZING = [full_domain, subtree, sibling, cell, mondrian]
SUPPRESSING = [suppress_records, suppress_values, suppress_cells]
CITIES = "abcde"


@st.composite
def instances(draw, *, flat=False):
    """Draw rows of a city and an age, a tree with uneven depths and lone children, and a k."""
    groups = draw(st.fixed_dictionaries({city: st.sampled_from("ABCR") for city in CITIES}))
    tops = draw(st.fixed_dictionaries({group: st.sampled_from("XR") for group in "ABC"}))
    edges = {**groups, **tops, "X": "R"}
    rows = draw(
        st.lists(st.tuples(st.sampled_from(CITIES), st.integers(0, 6)), min_size=1, max_size=7)
    )
    k = draw(st.integers(1, min(4, len(rows))))
    return instance(rows, edges, k, flat=flat)


def instance(rows, edges, k, *, flat=False):
    def path(city):
        way = [city]
        while way[-1] in edges:
            way.append(edges[way[-1]])
        return way[::-1]

    def interval(age, width):
        return f"[{age // width * width}-{age // width * width + width})"

    if flat:
        trees = [{c: ["*", c] for c in CITIES}, {a: ["*", str(a)] for a in range(7)}]
    else:
        trees = [
            {city: path(city) for city in CITIES},
            {a: ["*", interval(a, 6), interval(a, 2), str(a)] for a in range(7)},
        ]
    frame = pl.DataFrame(
        {"city": [r[0] for r in rows], "age": [r[1] for r in rows], "row": range(len(rows))}
    )
    used = {child: parent for child, parent in edges.items() if child != parent}
    return frame, rows, trees, {"city": used, "age": Intervals(2, 6)}, k


def as_shown(done):
    """Return what is published, in the order of the original rows."""
    by_row = done.frame.sort("row")
    return by_row.select("city", "age").rows()


QUASI = ["city", "age"]
many = settings(max_examples=120, deadline=None)


@many
@given(instances())
def test_full_domain_is_minimal(drawn):
    frame, rows, trees, hierarchies, k = drawn
    shown = as_shown(full_domain(frame, quasi=QUASI, k=k, hierarchies=hierarchies))
    assert brute.minimal_full_domain(rows, trees, shown, k)


@many
@given(instances())
def test_descending_a_large_lattice_ends_at_a_minimal_node_too(drawn):
    frame, rows, trees, hierarchies, k = drawn
    lattice = _Lattice(trees=value_trees(frame, QUASI, hierarchies), k=k)
    shown = brute.at_levels(rows, trees, lattice.descend())
    assert brute.minimal_full_domain(rows, trees, shown, k)


@many
@given(instances())
def test_subtree_is_minimal(drawn):
    frame, rows, trees, hierarchies, k = drawn
    shown = as_shown(subtree(frame, quasi=QUASI, k=k, hierarchies=hierarchies))
    assert brute.minimal_global(rows, trees, shown, k, cuts=True)


@settings(max_examples=60, deadline=None)
@given(instances())
def test_sibling_is_minimal(drawn):
    frame, rows, trees, hierarchies, k = drawn
    shown = as_shown(sibling(frame, quasi=QUASI, k=k, hierarchies=hierarchies))
    assert brute.minimal_global(rows, trees, shown, k, cuts=False)


@settings(max_examples=40, deadline=None)
@given(instances())
def test_sibling_tells_whatever_subtree_tells(drawn):
    frame, rows, trees, hierarchies, k = drawn
    coarse = as_shown(subtree(frame, quasi=QUASI, k=k, hierarchies=hierarchies))
    fine = as_shown(sibling(frame, quasi=QUASI, k=k, hierarchies=hierarchies))
    for row, low, high in zip(rows, fine, coarse, strict=True):
        for c, tree in enumerate(trees):
            assert tree[row[c]].index(low[c]) >= tree[row[c]].index(high[c])


def test_the_judges_can_say_no():
    frame, rows, trees, _, _ = instance([("a", 1), ("a", 1), ("b", 1), ("b", 1)], {}, 2, flat=True)
    hidden = [("*", "*")] * 4
    assert not brute.minimal_full_domain(rows, trees, hidden, 2)
    assert not brute.minimal_global(rows, trees, hidden, 2, cuts=True)
    assert not brute.minimal_global(rows, trees, [("*", "1")] * 4, 2, cuts=False)
    assert not brute.minimal_cells(rows, trees, hidden, 2)
    assert not brute.minimal_mondrian(rows, trees, [0] * 4, 2)
    assert not brute.minimal_cells(rows, trees, [("a", "1"), *[("*", "1")] * 3], 2)
    told = [(city, str(age)) for city, age in frame.select(QUASI).iter_rows()]
    assert brute.minimal_cells(rows, trees, told, 2)


@many
@given(instances())
def test_cell_is_minimal(drawn):
    frame, rows, trees, hierarchies, k = drawn
    shown = as_shown(cell(frame, quasi=QUASI, k=k, hierarchies=hierarchies))
    assert brute.minimal_cells(rows, trees, shown, k)


@many
@given(instances(), st.booleans())
def test_mondrian_is_minimal(drawn, with_tree):
    frame, rows, trees, hierarchies, k = drawn
    given_trees = hierarchies if with_tree else {}
    done = mondrian(frame, quasi=QUASI, k=k, hierarchies=given_trees)
    classes = [c for _, c in sorted(zip(done.frame["row"], done.classes.tolist(), strict=True))]
    assert brute.minimal_mondrian(rows, trees if with_tree else [None, None], classes, k)
    if with_tree:  # and no class shows less than it must
        for number in set(classes):
            members = [row for row, c in zip(rows, classes, strict=True) if c == number]
            shown = [row for row, c in zip(as_shown(done), classes, strict=True) if c == number]
            wanted = tuple(brute.lowest(brute.column(members, c), trees[c]) for c in range(2))
            assert set(shown) == {wanted}


@many
@given(instances(flat=True))
def test_suppressed_values_are_minimal(drawn):
    frame, rows, trees, _, k = drawn
    shown = as_shown(suppress_values(frame, quasi=QUASI, k=k))
    assert brute.minimal_global(rows, trees, shown, k, cuts=False)


@many
@given(instances(flat=True))
def test_suppressed_cells_are_minimal(drawn):
    frame, rows, trees, _, k = drawn
    shown = as_shown(suppress_cells(frame, quasi=QUASI, k=k))
    assert brute.minimal_cells(rows, trees, shown, k)


@many
@given(instances(flat=True))
def test_suppressed_records_are_exactly_those_that_few_are_like(drawn):
    frame, rows, _, _, k = drawn
    counts = Counter(rows)
    kept = [i for i, row in enumerate(rows) if counts[row] >= k]
    if not kept:
        with pytest.raises(InfeasibleError, match="every row would be left out"):
            suppress_records(frame, quasi=QUASI, k=k)
        return
    done = suppress_records(frame, quasi=QUASI, k=k)
    assert done.key.tolist() == done.frame["row"].to_list()
    assert sorted(done.key.tolist()) == kept


# --- many larger tables -----------------------------------------------------------------------


def larger(seed):
    rng = random.Random(seed)
    rows = [(rng.choice(CITIES), int(rng.triangular(0, 6, 2))) for _ in range(rng.randrange(4, 60))]
    edges = {city: rng.choice("ABCR") for city in CITIES} | {"A": "X", "B": "X", "C": "R", "X": "R"}
    return instance(rows, edges, rng.randrange(1, 5), flat=False)


@pytest.mark.parametrize("method", [*GENERALIZING, *SUPPRESSING], ids=lambda m: m.__name__)
def test_k_is_kept_on_250_random_tables(method):
    for seed in range(250):
        frame, rows, _, hierarchies, k = larger(seed)
        trees = {} if method in SUPPRESSING else {"hierarchies": hierarchies}
        try:
            done = method(frame, quasi=QUASI, k=k, **trees)
        except InfeasibleError:
            assert max(Counter(rows).values()) < k
            continue
        assert min(Counter(done.frame.select(QUASI).rows()).values()) >= k
        assert done.key.tolist() == done.frame["row"].to_list()
        _, counts = np.unique(done.classes, return_counts=True)
        assert counts.min() >= k


@pytest.mark.parametrize("method", [*GENERALIZING, *SUPPRESSING], ids=lambda m: m.__name__)
def test_order_and_library_of_the_input_leave_no_trace(method):
    frame, *_ = larger(3)
    frame = frame.with_columns(row=pl.col("row") // 3)

    def made(each):
        drawn = {"rng": np.random.default_rng(5)} if method in {cell, suppress_cells} else {}
        return method(each, quasi=QUASI, k=2, **drawn).frame

    wanted = made(frame)
    mixed = frame.sample(fraction=1, shuffle=True, seed=1)
    assert made(mixed).equals(wanted)
    assert made(mixed.to_pandas()).equals(wanted)
    assert made(mixed.to_arrow()).equals(wanted)


@pytest.mark.parametrize("method", [*GENERALIZING, *SUPPRESSING], ids=lambda m: m.__name__)
def test_missing_values_are_values(method):
    frame = pl.DataFrame({"city": ["a", None] * 4, "age": [1.5, None, 1.5, float("nan")] * 2})
    done = method(frame, quasi=QUASI, k=2)
    assert Counter(done.frame.rows()) == {("a", "1.5"): 4, (None, None): 4}


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize("method", [*GENERALIZING, *SUPPRESSING], ids=lambda m: m.__name__)
def test_bad_requests_are_refused(method):
    frame = pl.DataFrame({"city": ["a", "b"], "list": [[1], [2]]})
    with pytest.raises(InfeasibleError, match="k is 3, but the data has only 2 records"):
        method(frame, quasi=["city"], k=3)
    for k in (0, True, 1.5):
        with pytest.raises(ParameterError, match="k is"):
            method(frame, quasi=["city"], k=k)
    with pytest.raises(InputError, match="no columns are called 'town'"):
        method(frame, quasi=["town"], k=1)
    with pytest.raises(InputError, match="'list' holds lists"):
        method(frame, quasi=["list"], k=1)
    for quasi in ([], "city"):
        with pytest.raises(ParameterError, match="no quasi-identifying columns"):
            method(frame, quasi=quasi, k=1)
    with pytest.raises(InputError, match="no records"):
        method(frame.clear(), quasi=["city"], k=1)


@pytest.mark.parametrize("method", GENERALIZING, ids=lambda m: m.__name__)
def test_bad_hierarchies_are_refused(method):
    frame = pl.DataFrame({"city": ["a", "b"], "age": [1, 2]})

    def run(**trees):
        method(frame, quasi=["city"], k=1, hierarchies=trees)

    with pytest.raises(ParameterError, match="'age', which is no quasi-identifying column"):
        run(age=Intervals(5))
    with pytest.raises(InputError, match="1 of 2 values of the column 'city' are not in its tree"):
        run(city={"a": "X"})
    with pytest.raises(InputError, match="holds no numbers"):
        run(city=Intervals(5))


@pytest.mark.parametrize("widths", [(), (0,), (-1,), (5, 5), (5, 12), ("x",), (float("nan"),)])
def test_bad_widths_are_refused(widths):
    with pytest.raises(ParameterError):
        Intervals(*widths)


def test_intervals_are_exact_in_decimals():
    frame = pl.DataFrame({"age": [0.3, 0.3, 0.7, 0.7, -0.1, -0.1]})
    done = full_domain(frame, quasi=["age"], k=1, hierarchies={"age": Intervals(0.1)})
    assert set(done.frame["age"]) == {"0.3", "0.7", "-0.1"}
    tree = value_trees(frame, ["age"], {"age": Intervals(0.1)})[0]
    assert {"[0.3-0.4)", "[0.7-0.8)", "[-0.1 to 0)"} <= set(tree.labels)


def test_numbers_without_a_hierarchy_get_intervals():
    frame = pl.DataFrame({"age": list(range(20, 80))})
    done = subtree(frame, quasi=["age"], k=10)
    assert set(done.frame["age"]) == {f"[{low}-{low + 10})" for low in range(20, 80, 10)}
