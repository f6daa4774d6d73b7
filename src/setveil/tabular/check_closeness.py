"""Checks of tables: t-closeness by the earth mover's distance."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from setveil.core.errors import InputError, ParameterError
from setveil.guarantee.thresholds import exact_share, share_as_json
from setveil.tabular.check_anonymity import QUASI, SENSITIVE
from setveil.tabular.classes import (
    answered,
    class_values,
    many,
    named_columns,
    plain_columns,
    sensitive_column,
    shown,
    witness,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from setveil.core.taxonomy import Taxonomy
    from setveil.guarantee.base import Verdict

DISTANCES = ("equal", "ordered", "hierarchical")
"""How far two sensitive values are apart, by name."""


@dataclass(frozen=True, kw_only=True)
class TCloseness:
    """In every class the sensitive values are spread as in the whole table, up to t.

    The measure is the earth mover's distance: the least share of rows times the distance they
    must be moved to turn one distribution into the other. Distances of values are between 0 and
    1: ``"equal"``: 1 for different values; ``"ordered"``: |i - j| / (m - 1) for the i-th and j-th
    of m values of the table in order; ``"hierarchical"``: the height of their lowest common
    ancestor in a tree by the height of the tree. All are computed in whole numbers.

    Parameters
    ----------
    quasi
        The columns that somebody may know of a person.
    sensitive
        The column that must not be inferred.
    t
        Greatest distance, held as it is written.
    distance
        ``"equal"``, ``"ordered"`` or ``"hierarchical"``; if None: with a tree hierarchical, for
        numbers and times ordered, otherwise equal.
    taxonomy
        The tree of the values, for ``"hierarchical"``.

    Examples
    --------
    Salaries of 3 to 11 thousand, of which one class holds the three lowest:

    >>> import polars as pl
    >>> salaries = [3, 4, 5, 6, 11, 8, 7, 9, 10]
    >>> people = pl.DataFrame({"zip": ["476"] * 3 + ["479"] * 6, "pay": salaries})
    >>> verdict = TCloseness(quasi=["zip"], sensitive="pay", t=0.3).check(people)
    >>> verdict.reason
    '1 of 2 classes is farther than 3/10 from the whole table, the farthest 3/8'
    >>> TCloseness(quasi=["zip"], sensitive="pay", t="3/8").check(people).holds
    True

    Notes
    -----
    In an unbalanced tree the height of a node is that of its highest leaf, so distances only grow
    on the way up; moving within the lowest subtrees first is then cheapest.

    References
    ----------
    N. Li, T. Li, S. Venkatasubramanian: t-closeness: privacy beyond k-anonymity and l-diversity,
    ICDE 2007.
    """

    quasi: tuple[str, ...] = QUASI
    sensitive: str = SENSITIVE
    t: Fraction = field(default=Fraction(1, 5), metadata={"doc": "greatest distance, 0 to 1"})
    distance: str | None = field(
        default=None, metadata={"doc": "equal, ordered or hierarchical; by the column if none"}
    )
    taxonomy: Taxonomy | None = field(default=None, metadata={"doc": "tree of the values"})

    def __post_init__(self) -> None:
        object.__setattr__(self, "quasi", named_columns("quasi", self.quasi))
        sensitive_column(self.sensitive, self.quasi)
        object.__setattr__(self, "t", exact_share("t", self.t))
        if self.distance is not None and self.distance not in DISTANCES:
            raise ParameterError(
                f"distance is {self.distance!r}", fix=f"use one of {', '.join(DISTANCES)}"
            )
        if (self.distance == "hierarchical") != (self.taxonomy is not None) and (
            self.distance is not None
        ):
            raise ParameterError(
                f"distance is {self.distance!r}, {'with' if self.taxonomy else 'without'} a tree",
                fix="give a tree with the hierarchical distance, and only then",
            )

    def check(self, frame: Any) -> Verdict:  # noqa: ANN401  (polars, pandas or pyarrow)
        """Compute the distance of each class; witnesses are the farthest ones."""
        kind, table = self._measured(frame)
        found = class_values(table, self.quasi, self.sensitive)
        whole: dict[object, int] = {}
        for counts in found.values():
            for value, count in counts.items():
                whole[value] = whole.get(value, 0) + count
        values, moved, stretch = self._ground(kind, list(whole))
        total = [whole[value] for value in values]
        n = sum(total)
        bad, farthest = [], Fraction(0)
        for row, counts in found.items():
            rows = sum(counts.values())
            own = [counts.get(value, 0) for value in values]
            # What the class has too much of each value, times n and the class's number of rows.
            much = _whole_numbers(own, n, total, rows, stretch)
            distance = moved(much) / (n * rows)
            farthest = max(farthest, distance)
            if distance > self.t:
                required = f"a distance of at most {self.t}, not {distance}"
                bad.append((-distance, witness(shown(self.quasi, row), rows, required)))
        classes = many(len(found), "class", "classes")
        return answered(
            rows=n,
            kept=f"none of {classes} is farther than {farthest} from the whole table",
            broken=f"{len(bad):,} of {classes} {'is' if len(bad) == 1 else 'are'} farther than "
            f"{self.t} from the whole table, the farthest {farthest}",
            bad=bad,
        )

    def _measured(self, frame: Any) -> tuple[str, pl.DataFrame]:  # noqa: ANN401
        """Return the distance, and the columns; times as numbers where their order counts."""
        table = plain_columns(frame, [*self.quasi, self.sensitive])
        column = table[self.sensitive]
        in_order = column.dtype.is_numeric() or column.dtype.is_temporal()
        distance = self.distance
        if distance is None:
            distance = "hierarchical" if self.taxonomy else "ordered" if in_order else "equal"
        if distance == "ordered":
            if not in_order or (column.dtype.is_float() and column.is_nan().any()):
                raise InputError(
                    f"the column {self.sensitive!r} holds no numbers, so its values have no order",
                    fix="use another distance, or convert the column",
                )
            if column.dtype.is_temporal():
                table = table.with_columns(column.to_physical())
        return distance, table

    def _ground(
        self, distance: str, values: list[Any]
    ) -> tuple[list[Any], Callable[[Any], Fraction], int]:
        """Return the values in a fitting order, how an excess is moved, and how much that grows."""
        if distance == "equal":
            return sorted(values, key=str), _equal, len(values)
        if distance == "ordered":
            return sorted(values), _ordered, len(values)
        assert self.taxonomy is not None
        tree = self.taxonomy.for_items(list(map(str, values)))
        climb = _Climb(tree, tree.leaf_of(list(map(str, values))))
        return values, climb, len(values) + (tree.height + 1) ** 2

    def describe(self) -> str:
        """Return the promise in one plain sentence.

        >>> TCloseness(quasi=["zip"], sensitive="pay").describe()
        'in every class on zip the values of pay are spread as in the whole table, up to 1/5'
        """
        return (
            f"in every class on {', '.join(self.quasi)} the values of {self.sensitive} are spread "
            f"as in the whole table, up to {self.t}"
        )

    def params(self) -> dict[str, Any]:
        """Return the parameters as JSON values; of a tree only that there is one."""
        return {
            "quasi": list(self.quasi),
            "sensitive": self.sensitive,
            "t": share_as_json(self.t),
            "distance": self.distance or ("hierarchical" if self.taxonomy else None),
        }


def _whole_numbers(own: list[int], n: int, total: list[int], rows: int, stretch: int) -> Any:  # noqa: ANN401
    """Return own · n - total · rows, in 64 bits where no sum of them can overflow."""
    kind: Any = np.int64 if n * rows * (stretch + 1) < 2**61 else object
    much: Any = np.array(own, dtype=kind) * n - np.array(total, dtype=kind) * rows
    return much


def _equal(much: Any) -> Fraction:  # noqa: ANN401
    return Fraction(int(np.abs(much).sum()), 2)


def _ordered(much: Any) -> Fraction:  # noqa: ANN401
    return Fraction(int(np.abs(np.cumsum(much)).sum()), max(len(much) - 1, 1))


class _Climb:
    """Moves an excess within the lowest subtrees first: what is left over climbs on."""

    def __init__(self, tree: Taxonomy, leaves: Any) -> None:  # noqa: ANN401
        self.leaves = leaves
        self.parents = tree.parents[1:]
        self.ends = tree.ends
        self.heights = np.zeros(len(tree), dtype=np.int64)
        for node in range(len(tree) - 1, 0, -1):
            above = int(tree.parents[node])
            self.heights[above] = max(self.heights[above], self.heights[node] + 1)

    def __call__(self, much: Any) -> Fraction:  # noqa: ANN401
        at = np.zeros(len(self.heights), dtype=much.dtype)
        np.add.at(at, self.leaves, much)
        sums = np.concatenate([np.zeros(1, dtype=much.dtype), np.cumsum(at)])
        below = sums[self.ends] - sums[:-1]
        more, less = np.zeros_like(at), np.zeros_like(at)
        np.add.at(more, self.parents, np.maximum(below[1:], 0))
        np.add.at(less, self.parents, np.maximum(-below[1:], 0))
        moved = (np.minimum(more, less) * self.heights).sum()
        return Fraction(int(moved), max(int(self.heights[0]), 1))
