"""Equivocation against every partition, and of items under each form of release."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import equivocation as reference

from setveil import Taxonomy, TransactionTable
from setveil.attack import item_chance
from setveil.core.errors import ParameterError
from setveil.measure import (
    conditional_equivocation,
    equivocation,
    equivocation_area,
    equivocation_curve,
    item_equivocation,
)
from setveil.release import (
    ItemChannel,
    Plan,
    publish_disassociated,
    publish_encoded,
    publish_groups,
    publish_perturbed,
    publish_sets,
    publish_suppressed,
)
from setveil.release.grouped import publish_grouped
from setveil.release.split import SplitRelease


@st.composite
def distributions(draw):
    n = draw(st.integers(1, 7))
    values = draw(st.lists(st.integers(-9, 9), min_size=n, max_size=n))
    weights = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n).filter(any))
    scale = draw(st.sampled_from([1, 10]))
    return [f"{v}/{scale}" for v in values], [f"{w}/{sum(weights)}" for w in weights], scale


def floats(texts):
    return [int(a) / int(b) for a, _, b in (text.partition("/") for text in texts)]


@given(distributions(), st.integers(0, 20))
def test_every_partition(case, width):
    values, chances, scale = case
    truth = reference.equivocation(values, chances, f"{width}/{scale}")
    found = equivocation(floats(values), floats(chances), width / scale)
    assert found == pytest.approx(truth, abs=1e-9)


@given(distributions())
def test_the_curve_falls_from_shannons_entropy_to_nothing(case):
    values, chances = floats(case[0]), floats(case[1])
    span = max(values) - min(values)
    curve = equivocation_curve(values, chances, np.linspace(0, span, 9))
    assert (np.diff(curve) <= 1e-12).all()
    assert curve[-1] == pytest.approx(0, abs=1e-12)
    summed = {v: sum(c for w, c in zip(values, chances, strict=True) if w == v) for v in values}
    shannon = -sum(c * np.log2(c) for c in summed.values() if c)
    assert curve[0] == pytest.approx(shannon, abs=1e-9)


@given(distributions())
def test_the_area_is_that_of_a_fine_grid(case):
    values, chances = floats(case[0]), floats(case[1])
    exact = equivocation_area(values, chances)
    span = max(values) - min(values)
    places = (np.arange(4000) + 0.5) / 4000 * span
    assert exact == pytest.approx(
        equivocation_curve(values, chances, places).mean() * span, rel=0.01
    )
    assert equivocation_area(values, chances, [0, 0]) == 0


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=8
    ),
    st.integers(0, 3),
    st.integers(0, 2),
)
def test_who_knows_attributes(records, width, known):
    values = [record[0] for record in records]
    attributes = np.array([record[1:] for record in records])[:, :known]
    truth = reference.conditional(values, attributes.tolist(), width)
    assert conditional_equivocation(values, attributes, width) == pytest.approx(truth, abs=1e-9)


def test_zero_probabilities_and_large_inputs():
    assert equivocation([1, 5, 9], [0.5, 0, 0.5], 4) == 1
    assert equivocation([1, 5, 9], [0.5, 0, 0.5], 8) == 0
    assert equivocation([1, 2, 3, 4], [0.5, 0.5, 1e-300, 5e-324], 0) == pytest.approx(1)
    assert equivocation([1, 2, 3, 4], [1e-300, 0.5, 5e-324, 0.5], 1) == pytest.approx(1)
    many = np.arange(100_000)
    assert equivocation(many, np.full(len(many), 1 / len(many)), 9) == pytest.approx(
        np.log2(10_000), abs=1e-9
    )


@pytest.mark.parametrize(
    ("values", "chances", "epsilon", "message"),
    [
        ([1, 2], [0.5, 0.4], 0, "sum to 0.9"),
        ([1, 2], [1.5, -0.5], 0, "the least is -0.5"),
        ([1, 2], [1.0], 0, "do not fit"),
        ([], [], 0, "do not fit"),
        ([1, float("nan")], [0.5, 0.5], 0, "not a number"),
        ([1], [float("nan")], 0, "sum to nan"),
        ([1], [1], -1, "epsilon"),
        ([1], [1], float("nan"), "epsilon"),
    ],
)
def test_what_is_refused(values, chances, epsilon, message):
    with pytest.raises(ParameterError, match=message):
        equivocation(values, chances, epsilon)


def test_areas_and_attributes_that_are_refused():
    with pytest.raises(ParameterError, match="would take long"):
        equivocation_area(range(201), np.full(201, 1 / 201))
    with pytest.raises(ParameterError, match="ascend"):
        equivocation_area([1], [1], [2, 1])
    with pytest.raises(ParameterError, match="do not fit"):
        conditional_equivocation([1, 2], [[1]])


# --- items ----------------------------------------------------------------------------------------

ROWS = [["flu", "hiv"], ["flu"], ["gout", "hiv"], ["flu", "gout"], ["gout"], ["rash"]]
TABLE = TransactionTable.from_rows(ROWS)
KEEP = np.ones(4, dtype=bool)


def drawn_share(release, item, known, taxonomy=None, draws=3000):
    """Return how many holders of the known items hold the item, over many random originals."""
    rng = np.random.default_rng(5)
    whole = part = 0
    for _ in range(draws):
        for row in release.sample_world(rng, taxonomy):
            if set(known) <= set(row):
                whole += 1
                part += item in row
    return part / whole


def test_items_in_clear():
    release, _ = publish_suppressed(TABLE, KEEP)
    assert item_chance(release, "hiv", ["flu"]) == pytest.approx(1 / 3)
    assert item_chance(release, "hiv") == pytest.approx(1 / 3)
    assert item_equivocation(release, "hiv", ["rash"]) == 0
    assert item_equivocation(release, "hiv", ["hiv", "flu"]) == item_equivocation(
        release, "hiv", ["flu"]
    )


def test_suppressed_items_are_unknown():
    release, _ = publish_suppressed(TABLE, [True, True, False, True])
    assert item_equivocation(release, "hiv", ["flu"]) == 1
    assert item_chance(release, "gout", ["hiv"]) == item_chance(release, "gout")


@pytest.mark.parametrize("known", [[], ["flu"], ["gout"]])
def test_sets_of_items(known):
    release, _ = publish_sets(TABLE, [0, 1, 1, 2])  # flu; gout or hiv; rash
    truth = drawn_share(release, "hiv", [item for item in known if item != "gout"])
    found = item_chance(release, "hiv", known)
    assert found == pytest.approx(0.5 if known == ["gout"] else truth, abs=0.03)


@pytest.mark.parametrize("known", [[], ["flu"], ["rash"]])
def test_generalized_items(known):
    tree = Taxonomy.from_parents(
        {"flu": "mild", "gout": "mild", "hiv": "grave", "rash": "grave", "mild": "any",
         "grave": "any"}
    )  # fmt: skip
    nodes = [tree.node(name) for name in ("flu", "grave", "mild", "grave")]
    release, _ = publish_groups(
        tree, group_offsets=[0, 2, 4], group_nodes=nodes, group_of=[0, 0, 1], hides=False
    )
    truth = 0.0 if known == ["rash"] else drawn_share(release, "hiv", known, tree)
    found = item_chance(release, "hiv", known, taxonomy=tree)
    if known == ["rash"]:  # the draws take one leaf of a node, but a record may hold both
        assert found == pytest.approx(0.5)
    else:
        assert found == pytest.approx(truth, abs=0.03)


def test_chunks():
    number = TABLE.vocabulary.number
    plan = Plan(
        records=range(6), domains=((number("flu"), number("gout")), (number("hiv"),)),
        terms=(number("rash"),),
    )  # fmt: skip
    release, _ = publish_disassociated(TABLE, [plan])
    assert item_chance(release, "gout", ["flu"]) == pytest.approx(1 / 3)  # one chunk: as it was
    assert item_chance(release, "hiv", ["flu"]) == pytest.approx(2 / 6)  # anywhere in the cluster
    assert item_chance(release, "rash", ["flu"]) == pytest.approx(1 / 6)


def test_tags_groups_and_profiles():
    tagged, _ = publish_encoded(
        TABLE, {"flu": "flu", "gout": "1a", "hiv": "2b", "rash": "3c"}, readable={"flu"}
    )
    assert item_equivocation(tagged, "hiv", ["flu"]) == 1
    grouped, _ = publish_grouped(TABLE, [0, 0, 1, 1, 1, 0], ["hiv"])
    assert item_chance(grouped, "hiv", ["flu", "gout"]) == pytest.approx(1 / 3)
    assert item_chance(grouped, "hiv", ["rash"]) == pytest.approx(1 / 3)
    assert item_chance(grouped, "measles", ["rash"]) == 0
    split = SplitRelease(
        vocabulary=TABLE.vocabulary, offsets=[0, 2, 3, 4], items=[0, 2, 1, 3]
    )  # flu and hiv; gout; rash
    assert item_chance(split, "hiv", ["flu"]) == 1
    assert item_chance(split, "hiv", ["gout"]) == pytest.approx(1 / 3)
    assert item_chance(split, "measles", ["gout"]) == 0.5


def test_randomized_items():
    noise, _ = publish_perturbed(TABLE, ItemChannel(beta="1/2", domain=4))
    assert item_equivocation(noise, "hiv", ["flu"]) == 1
    some, _ = publish_perturbed(TABLE, ItemChannel(beta="1/10", domain=4))
    few, _ = publish_perturbed(TABLE, ItemChannel(beta="1/1000", domain=4))
    exact = item_equivocation(publish_suppressed(TABLE, KEEP)[0], "hiv", ["gout"])
    assert item_equivocation(few, "hiv", ["gout"]) == pytest.approx(exact, abs=0.05)
    assert 0 < item_equivocation(some, "hiv", ["rash"]) < 1
    assert item_equivocation(few, "hiv", ["rash"]) < item_equivocation(some, "hiv", ["rash"])
    assert item_chance(some, "measles", ["flu"]) == 0
