"""Of rows that are alike in what is known, nothing sensitive decides what is shown of which."""

from collections import Counter
from itertools import product
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from setveil.guarantee.km_anonymity import KmAnonymity
from setveil.tabular import anatomize, cell, permute, suppress_cells
from setveil.tabular.generalization import JOBS
from setveil.tabular.relational_transaction import relational_transaction

ILLS = ["Flu", "Flu", "HIV", "HIV"]


def published(method, frame, rng):
    done = method(frame, sensitive="ill", l=2, rng=rng)
    return (done.quasi if method is anatomize else done.frame), done.key


@pytest.mark.parametrize("tied", [30.0, None, float("nan")])
@pytest.mark.parametrize("method", [anatomize, permute])
def test_the_number_of_a_group_does_not_tell_whose_value_is_smaller(method, tied):
    rng, found = np.random.default_rng(1), Counter()
    for seed in range(500):
        ills = np.random.default_rng(seed).permutation(ILLS).tolist()
        frame = pl.DataFrame({"age": [tied, tied, 40.0, 50.0], "ill": ills})
        shown, key = published(method, frame, rng)
        truth = shown.with_columns(pl.Series("truth", [ills[row] for row in key]))
        alike = truth.filter(~pl.col("age").is_in([40.0, 50.0]).fill_null(value=False))
        first, second = alike.sort("group").select("group", "truth").rows()
        if first[0] != second[0] and first[1] != second[1]:
            found[first[1]] += 1
    assert found.total() > 100
    assert 0.4 < found["Flu"] / found.total() < 0.6


@pytest.mark.parametrize("method", [anatomize, permute])
def test_groups_are_numbered_by_what_is_published_of_them(method):
    rng = np.random.default_rng(2)
    for seed in range(60):
        draw = np.random.default_rng(seed)
        columns = {"age": draw.integers(0, 2, 12), "zip": draw.integers(0, 2, 12)}
        ills = {"ill": draw.permutation(list("abcabcabcabc"))}
        frame = pl.DataFrame({**columns, **ills})
        done = method(frame, sensitive="ill", l=2, rng=rng)
        shown = done.quasi if method is anatomize else done.frame
        said = done.sensitive if method is anatomize else done.frame
        keys = []
        for group in range(shown["group"].n_unique()):
            own, told = (each.filter(pl.col("group") == group) for each in (shown, said))
            last = sorted(told.select(pl.exclude("group")).rows())
            keys.append((sorted(own.select("age", "zip").rows()), last))
        assert keys == sorted(keys)


def engineers(ills):
    return pl.DataFrame({"job": ["Engineer"] * 3 + ["Lawyer"], "ill": ills})


SCHEMES = [
    lambda frame, rng=None: cell(frame, quasi=["job"], k=2, hierarchies={"job": JOBS}, rng=rng),
    lambda frame, rng=None: suppress_cells(frame, quasi=["job"], k=2, rng=rng),
]


@pytest.mark.parametrize("scheme", SCHEMES, ids=["cell", "suppress_cells"])
def test_which_of_equal_rows_is_told_is_drawn(scheme):
    rng, kept = np.random.default_rng(4), Counter()
    for _ in range(600):
        done = scheme(engineers(["a", "b", "c", "z"]), rng)
        behind = done.frame.filter(pl.col("job") != "Engineer")["ill"].to_list()
        kept[min(behind)] += 1
    assert set(kept) == {"a", "b", "c"}
    assert min(kept.values()) > 150  # 200 each, if it is chance


@pytest.mark.parametrize("scheme", SCHEMES, ids=["cell", "suppress_cells"])
def test_without_a_seed_chance_decides_and_with_one_the_seed(scheme):
    frame = engineers(["a", "b", "c", "z"])
    drawn = {tuple(scheme(frame).frame.rows()) for _ in range(60)}
    assert len(drawn) == 3
    for seed, mixed in product(range(5), (frame.reverse(), frame.to_pandas())):
        one = scheme(frame, np.random.default_rng(seed)).frame
        assert scheme(mixed, np.random.default_rng(seed)).frame.equals(one)


class Cutting:
    """Promises 2^1-anonymity, and empties the first two records that it is given."""

    requires = ("taxonomy",)

    def anonymize(self, table, *, taxonomy):
        del taxonomy
        rows = [[], [], *table.to_rows()[2:]]
        return SimpleNamespace(
            promise=KmAnonymity(k=2, m=1),
            release=SimpleNamespace(to_rows=lambda *, ids: rows if ids else None),
            key=SimpleNamespace(records=np.arange(len(rows))),
        )


def test_a_method_that_treats_equal_records_differently_sees_no_other_column():
    frame = pl.DataFrame({"age": [30] * 6, "visits": ["a"] * 6, "ill": list("klmnop")})
    seen = Counter()
    for seed in range(90):
        done, again = (
            relational_transaction(
                each,
                quasi=["age"],
                items="visits",
                k=2,
                m=1,
                method=Cutting(),
                rng=np.random.default_rng(seed),
            )
            for each in (frame, frame.reverse())
        )
        assert done.frame.equals(again.frame)
        seen.update(done.frame.filter(pl.col("visits").list.len() == 0)["ill"])
    assert set(seen) == set("klmnop")
    assert min(seen.values()) > 15  # 30 each, if it is chance
