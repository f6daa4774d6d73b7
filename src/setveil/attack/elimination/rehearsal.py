"""Shadow tables: the same anonymizer run on what a release shows, where the truth is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from setveil.attack.elimination.distance_tables import Contexts
from setveil.attack.elimination.evidence import (
    CellRows,
    CellTables,
    Evidence,
    cell_tables,
    double_centred,
)
from setveil.attack.elimination.word_vectors import Shown
from setveil.core.errors import InfeasibleError, InputError, NotApplicable
from setveil.core.table import TransactionTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from setveil.core.arrays import BoolArray, FloatArray
    from setveil.relatedness.base import Relatedness
    from setveil.release.base import Anonymization
    from setveil.release.set_generalized import SetGeneralizedRelease


ENOUGH = 10
"""Shadow tables of one run below which the next one is made with fewer records."""
LEAST = 1 / 16
"""Share of the records that a run is made with, at least."""


class Method(Protocol):
    """An anonymizer, as an adversary has it who runs it on their own."""

    def anonymize(self, table: TransactionTable, **inputs: Any) -> Anonymization:
        """Turn a table into a release, with the key to it."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Described:
    """What is known of the cells of one generalized item.

    Parameters
    ----------
    cells
        The rows and columns.
    features
        One row per cell, in the order of rows and columns.
    """

    cells: CellRows
    features: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Rehearsed(Described):
    """A shadow table: cells of which the truth is known."""

    truth: BoolArray


def described(
    made: CellTables, release: SetGeneralizedRelease, relatedness: Relatedness
) -> list[Described]:
    """Return features of all cells of a release; forms are learned from what it shows in clear.

    Examples
    --------
    >>> from setveil.relatedness import NGD, RecordCounts
    >>> from setveil.release.set_generalized import publish_sets
    >>> table = TransactionTable.from_rows([["fever", "flu"], ["toe", "gout"]])
    >>> release, _ = publish_sets(table, [0, 1, 1, 2])
    >>> ngd = NGD(RecordCounts.from_rows([["fever", "flu"], ["toe", "gout"], ["flu"]]))
    >>> (found,) = described(cell_tables(release, ngd), release, ngd)
    >>> found.cells.members, found.features.shape
    (('flu', 'gout'), (4, 19))
    """
    evidence = Evidence.of(relatedness, Shown.by(release))
    shown = Contexts.of(release)
    taught = {name: vectors.taught(shown) for name, vectors in evidence.vectors.items()}
    evidence = replace(evidence, vectors=taught)
    return [
        Described(cells=table, features=_features(table, made.contexts, evidence))
        for table in made.tables
    ]


def _features(table: CellRows, contexts: Contexts, evidence: Evidence) -> FloatArray:
    rows, columns = table.shape
    found: list[FloatArray] = []
    for _, cells in sorted(evidence.about(table, contexts).items()):
        found += [cells, cells - cells.mean(axis=1, keepdims=True), double_centred(cells)]
    found += [values[None, :] for _, values in sorted(evidence.columns(table.members).items())]
    # Where ties go by name, the place of a member tells for whose sake the others were joined.
    found.append((np.arange(columns) / max(1, columns - 1))[None, :])
    found.append(np.log([len(items) for items in table.contexts])[:, None])
    sizes = (np.log(rows), np.log(columns), 1 / rows, 1 / columns)
    found += [np.full((1, 1), value) for value in sizes]
    return np.column_stack([np.broadcast_to(each, table.shape).ravel() for each in found])


def visible(release: SetGeneralizedRelease) -> TransactionTable:
    """Return the records of a release with the items it shows in clear, empty ones left out.

    >>> from setveil.release.set_generalized import publish_sets
    >>> table = TransactionTable.from_rows([["fever", "flu"], ["gout"]])
    >>> visible(publish_sets(table, [0, 1, 1])[0]).to_rows()
    [['fever']]
    """
    contexts = Contexts.of(release)
    rows = (contexts.terms(record) for record in range(len(contexts)))
    return TransactionTable.from_rows(row for row in rows if row)


def rehearse(
    release: SetGeneralizedRelease,
    method: Method,
    relatedness: Relatedness,
    rng: np.random.Generator,
) -> Iterator[list[Rehearsed]]:
    """Yield the shadow tables of one run after the other; only one if all would be the same.

    What the run joins is hidden from the contexts, as it is in the release that is attacked.
    Where every rare item was protected, those in clear are so frequent that nothing is joined.
    Then runs are made with half of the records, drawn at random, or less: there they are rare.

    Parameters
    ----------
    release
        What is attacked.
    method
        The anonymizer it was made with, with the same parameters.
    relatedness
        What the adversary knows.
    rng
        What the anonymizer draws from.

    Raises
    ------
    NotApplicable
        The anonymizer cannot be run on what the release shows in clear.
    """
    needs: frozenset[str] = getattr(method, "requires", frozenset())
    if needs:
        raise NotApplicable(
            f"shadow runs the anonymizer itself, but this one needs {' and '.join(sorted(needs))}",
            fix="use rba or ec, which need no anonymizer",
        )
    draws = "rng" in getattr(method, "accepts", frozenset())
    table = visible(release)
    share = 1.0
    while share >= LEAST:
        part = table if share == 1 else _drawn(table, share, rng)
        try:
            made = method.anonymize(part, **({"rng": rng} if draws else {}))
        except (InfeasibleError, InputError) as error:
            if share < 1:
                return
            raise NotApplicable(
                f"the anonymizer cannot be run on what the release shows in clear: {error.what}",
                fix="use rba or ec, which need no anonymizer",
            ) from None
        found = _tables(made, part, relatedness)
        yield found
        if len(found) < ENOUGH:
            share /= 2
        elif share == 1 and not draws:
            return


def _drawn(table: TransactionTable, share: float, rng: np.random.Generator) -> TransactionTable:
    chosen = rng.choice(len(table), round(share * len(table)), replace=False)
    return table.take(np.sort(chosen))


def _tables(
    made: Anonymization, original: TransactionTable, relatedness: Relatedness
) -> list[Rehearsed]:
    """Return the tables of a run with their truth; none where the source knows no member."""
    try:
        shown = made.release.as_sets()
    except NotApplicable:
        raise NotApplicable(
            f"the anonymizer makes releases of the form {made.release.form!r}",
            fix="give the one that the attacked release was made with",
        ) from None
    try:
        cells = cell_tables(shown, relatedness)
    except NotApplicable:
        return []
    held = [set(row) for row in original.take(made.key.records).to_rows()]
    found = []
    for table in described(cells, shown, relatedness):
        rows = [held[record] for record in table.cells.records.tolist()]
        truth = np.array([[member in row for member in table.cells.members] for row in rows])
        found.append(Rehearsed(cells=table.cells, features=table.features, truth=truth))
    return found
