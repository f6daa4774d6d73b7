"""All measures of a release at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from setveil.errors import NotApplicable
from setveil.measure import generalization as of
from setveil.measure.queries import average_relative_error

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from setveil.data.table import TransactionTable
    from setveil.data.taxonomy import Taxonomy
    from setveil.release.base import Key, Release


def measure_all(
    release: Release,
    original: TransactionTable,
    *,
    key: Key | None = None,
    taxonomy: Taxonomy | None = None,
    rng: np.random.Generator | None = None,
) -> dict[str, float | int | None]:
    """Return every measure by name; None where one cannot be said.

    Parameters
    ----------
    release, original
        What is compared.
    key
        Which original stands behind which record; NCP of releases without hidden items needs it.
    taxonomy
        The tree the release was made with, as it was given to the method; the query error
        needs it.
    rng
        Draws the queries; without it always the same ones are drawn.

    Examples
    --------
    >>> from setveil.data import Taxonomy, TransactionTable
    >>> from setveil.release import publish_groups
    >>> tree = Taxonomy.balanced(["a", "b"])
    >>> table = TransactionTable.from_rows([["a"], ["b"]])
    >>> release, key = publish_groups(tree, group_offsets=[0, 1], group_nodes=[0],
    ...                               group_of=[0, 0], hides=True)
    >>> figures = measure_all(release, table, taxonomy=tree)
    >>> figures["ggd"], figures["items_exact"], figures["are"]
    (2.0, 0.0, 0.0)
    """
    tree = None
    if taxonomy is not None:
        occurring = original.supports().nonzero()[0].tolist()
        # A method that was told to attach unknown items to the root made the same tree; if it was
        # not told so, it has refused them, and there are none.
        tree = taxonomy.for_items(
            [original.vocabulary[i] for i in occurring], missing="attach-to-root"
        )
    figures = {
        "ggd": _or_none(lambda: of.ggd(release, original)),
        "ggd_share": _or_none(lambda: of.ggd_share(release, original)),
        "ncp": _or_none(lambda: of.ncp(release, original, key=key, taxonomy=tree)),
        "length_mean": _or_none(lambda: of.length_mean(release)),
        "level_mean": _or_none(lambda: of.level_mean(release)),
        "records_kept": _or_none(lambda: of.records_kept(release, original)),
        "items_kept": _or_none(lambda: of.items_kept(release, original)),
        "items_exact": _or_none(lambda: of.items_exact(release, original)),
        "items_suppressed": _or_none(lambda: of.items_suppressed(release, original)),
        "are": None,
        "are_low": None,
        "are_high": None,
    }
    if tree is not None:
        try:
            error = average_relative_error(release, original, taxonomy=tree, rng=rng)
        except NotApplicable:
            return figures
        figures |= {"are": error.value, "are_low": error.low, "are_high": error.high}
    return figures


def _or_none(measure: Callable[[], float]) -> float | None:
    try:
        return measure()
    except NotApplicable:
        return None
