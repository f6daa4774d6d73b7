"""What disassociation costs: pairs whose support is misjudged, terms that stand nowhere together.

References
----------
.. [1] M. Terrovitis, N. Mamoulis, J. Liagouris, S. Skiadopoulos: Privacy preservation by
   disassociation, PVLDB 5(10), 2012.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from setveil.core.errors import NotApplicable, ParameterError
from setveil.core.params import is_whole
from setveil.measure.queries import Holders

if TYPE_CHECKING:
    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.release.base import Release

BAND = (200, 220)
"""The ranks by support of the terms whose pairs are compared: from the first to before the last."""


def pair_support_error(
    release: Release,
    original: TransactionTable,
    *,
    taxonomy: Taxonomy | None = None,
    band: tuple[int, int] = BAND,
    rng: np.random.Generator | None = None,
) -> float:
    """Return the mean relative error of the supports of pairs of terms of middling frequency.

    |so - sp| / ((so + sp) / 2), where so is the support of a pair in the original and sp that in
    one reconstruction; 0 where both are 0, so at most 2. The mean is over all pairs of the terms
    of some ranks by support in the original; ties go by name. Where there are fewer terms, as
    many from the middle of the ranks take their place.

    Parameters
    ----------
    release, original
        What is compared.
    taxonomy
        The tree the release was made with; a generalized release needs it.
    band
        The ranks, counted from 0; the last is not included.
    rng
        Draws the reconstruction; without it always the same one is drawn.

    Raises
    ------
    NotApplicable
        There are no two terms.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release import publish_suppressed
    >>> table = TransactionTable.from_rows([["flu", "gout"], ["flu", "hiv"], ["gout"]])
    >>> release, _ = publish_suppressed(table, [True, True, False])
    >>> pair_support_error(release, table)  # flu and hiv are lost, the two other pairs right
    0.6666666666666666
    """
    first, last = band
    if not 0 <= first < last - 1:
        raise ParameterError(
            f"the ranks {first} to {last} hold no two terms", fix="use a wider band, such as 0, 20"
        )
    supports = original.supports()
    order = np.argsort(-supports, kind="stable")[: np.count_nonzero(supports)]
    if len(order) < last:
        width = min(last - first, len(order))
        first = (len(order) - width) // 2
        last = first + width
    if last - first < 2:
        raise NotApplicable("the original has no two terms to count together")
    terms = [original.vocabulary[i] for i in sorted(order[first:last].tolist())]
    world = release.sample_world(np.random.default_rng(0) if rng is None else rng, taxonomy)
    before, after = Holders(original), Holders(world)
    errors = []
    for pair in combinations(terms, 2):
        had, has = before.support(pair), after.support(pair)
        errors.append(2 * abs(had - has) / max(had + has, 1))
    return sum(errors) / len(errors)


def terms_lost(release: Release, original: TransactionTable, *, k: int) -> float:
    """Return the share of the terms that many hold which stand in term chunks only.

    Many are `k` records and more: what fewer hold cannot stand in a chunk. A term chunk does not
    say how many hold a term, and with what.

    Raises
    ------
    NotApplicable
        The release has no chunks, or no term is held by `k` records.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> from setveil.release.chunk_plan import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a"], ["a", "b"], ["b"]])
    >>> plan = Plan(records=[0, 1, 2], domains=((0,),), terms=(1,))
    >>> release, _ = publish_disassociated(table, [plan])
    >>> terms_lost(release, table, k=2)
    0.5
    """
    chunks = release.as_chunks()
    if not is_whole(k, 1):
        raise ParameterError(f"k is {k!r}", fix="use a whole number of at least 1")
    held = np.flatnonzero(original.supports() >= k)
    if not len(held):
        raise NotApplicable(f"no term of the original is held by {k} records")
    in_chunks = {chunks.vocabulary[i] for i in np.unique(chunks.items).tolist()}
    return sum(original.vocabulary[i] not in in_chunks for i in held.tolist()) / len(held)
