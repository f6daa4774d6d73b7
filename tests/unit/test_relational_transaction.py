"""Tables with a set-valued column: one promise, checked by plain counting."""

import random

import polars as pl
import pytest
from tests.reference import tabular_checks as reference

from setveil import Taxonomy
from setveil.anonymize import AprioriKm, Clump
from setveil.core.errors import InfeasibleError, InputError, ParameterError
from setveil.tabular import KKmAnonymity
from setveil.tabular.columns import item_sets, join_items
from setveil.tabular.relational_transaction import relational_transaction

TREE = {"a": "A", "b": "A", "c": "B", "d": "B", "e": "B", "A": "R", "B": "R"}


def some_people(draw: random.Random, rows: int, *, narrow: bool = False) -> pl.DataFrame:
    ages = [30, 40] if narrow else range(20, 90)
    return pl.DataFrame(
        {
            "age": [draw.choice(ages) for _ in range(rows)],
            "job": [draw.choice(["cook", "nurse", None]) for _ in range(rows)],
            "pay": [draw.randint(1, 9) for _ in range(rows)],
            "visits": [
                draw.sample("abcde", draw.choice([0, 1, 1, 2, 3])) if draw.random() < 0.95 else None
                for _ in range(rows)
            ],
        },
        schema_overrides={"visits": pl.List(pl.String)},
    )


def plain(frame: pl.DataFrame) -> list[dict]:
    return [{**row, "visits": row["visits"] or []} for row in frame.to_dicts()]


def test_the_check_agrees_with_counting_in_2000_tables():
    draw, found = random.Random(3), set()
    for _ in range(2000):
        frame = some_people(draw, draw.randint(1, 12), narrow=True)
        k, m = draw.randint(1, 3), draw.randint(1, 3)
        columns = draw.choice([["job"], ["age"], ["age", "job"]])
        expected = reference.k_km_anonymous(plain(frame), columns, "visits", k, m)
        verdict = KKmAnonymity(quasi=columns, items="visits", k=k, m=m).check(frame)
        assert verdict.exact
        assert verdict.holds is expected, verdict.reason
        assert bool(verdict.witnesses) is not expected
        found.add(expected)
    assert found == {True, False}


@pytest.mark.parametrize("tree", [None, TREE], ids=["no tree", "a tree"])
def test_releases_keep_the_promise(tree):
    draw = random.Random(4)
    taxonomy = None if tree is None else Taxonomy.from_parents(tree)
    for _ in range(40):
        frame = some_people(draw, draw.randint(8, 40))
        k, m = draw.randint(2, 4), draw.randint(1, 3)
        done = relational_transaction(
            frame,
            quasi=["age", "job"],
            items="visits",
            k=k,
            m=m,
            rows=draw.choice([None, k]),
            taxonomy=taxonomy,
        )
        rows = plain(done.frame)
        assert reference.k_km_anonymous(rows, ["age", "job"], "visits", k, m)
        assert done.promise.check(done.frame).holds
        assert sorted(done.key.tolist()) == list(range(len(frame)))


def test_what_is_published_stems_from_the_row_behind_it():
    frame = some_people(random.Random(5), 60)
    tree = Taxonomy.from_parents(TREE)
    done = relational_transaction(frame, quasi=["age"], items="visits", k=3, m=2, taxonomy=tree)
    general = gone = 0
    for shown, place in zip(done.frame.to_dicts(), done.key.tolist(), strict=True):
        own = frame.row(place, named=True)
        items = own["visits"] or []
        assert shown["pay"] == own["pay"]
        for item in items:
            way = reference.way_up(item, TREE)
            hidden = set(way[1:]) & set(shown["visits"])
            general += item not in shown["visits"] and bool(hidden)
            gone += item not in shown["visits"] and not hidden
        for label in shown["visits"]:
            assert any(label in reference.way_up(item, TREE) for item in items)
    assert done.occurrences["generalized"] == general
    assert done.occurrences["suppressed"] == gone


@pytest.mark.parametrize("method", [None, AprioriKm(k=2, m=2)])
def test_the_order_of_the_rows_leaves_no_trace(method):
    frame = some_people(random.Random(6), 50).filter(pl.col("visits").list.len() > 0)
    made = [
        relational_transaction(
            mixed,
            quasi=["age", "job"],
            items="visits",
            k=2,
            taxonomy=Taxonomy.from_parents(TREE),
            method=method,
        )
        for mixed in (frame, frame.reverse(), frame.sample(fraction=1, shuffle=True, seed=1))
    ]
    assert made[0].frame.equals(made[1].frame)
    assert made[0].frame.equals(made[2].frame)


def test_texts_lists_and_pandas_are_alike():
    frame = some_people(random.Random(7), 30).with_columns(
        pl.col("visits").fill_null([]).list.sort()
    )
    texts = frame.with_columns(pl.Series("visits", join_items(item_sets(frame["visits"]))))
    one, two, three = (
        relational_transaction(each, quasi=["age"], items="visits", k=3).frame
        for each in (frame, texts, texts.to_pandas())
    )
    assert one.equals(two)
    assert one.equals(three)


def test_rows_without_items():
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "visits": [""] * 4})
    done = relational_transaction(frame, quasi=["age"], items="visits", k=2, m=2)
    assert done.frame["visits"].to_list() == [[]] * 4


def test_an_item_may_be_called_like_the_root():
    frame = pl.DataFrame({"age": [1, 1, 1, 1], "visits": ["*", "*|a", "*|b", "*"]})
    done = relational_transaction(frame, quasi=["age"], items="visits", k=2, m=1)
    assert done.promise.check(done.frame).holds


def test_refusals():
    frame = pl.DataFrame({"age": [1, 2, 3], "visits": ["a", "b", "a|b"]})
    ask = {"quasi": ["age"], "items": "visits", "k": 2}
    with pytest.raises(InfeasibleError, match="only 3 records"):
        relational_transaction(frame, **{**ask, "k": 4})
    with pytest.raises(InfeasibleError, match="only 3 records"):
        relational_transaction(frame, **ask, rows=4)
    with pytest.raises(ParameterError, match="rows is 1"):
        relational_transaction(frame, **ask, rows=1)
    with pytest.raises(ParameterError, match="promises less"):
        relational_transaction(frame, **ask, method=Clump(k=2))
    with pytest.raises(ParameterError, match="promises less"):
        relational_transaction(frame, **ask, m=2, method=AprioriKm(k=2, m=1))
    with pytest.raises(ParameterError, match="among the columns"):
        relational_transaction(frame, quasi=["age"], items="age", k=2)
    with pytest.raises(InputError, match="no columns are called 'drugs'"):
        relational_transaction(frame, quasi=["age"], items="drugs", k=2)
    with pytest.raises(InputError, match="separates items"):
        join_items([["a|b"]])
