"""Telling which members of a generalized item were added: six attacks on distance tables.

References
----------
.. [1] J. Shao, H. Ong: Exploiting contextual information in attacking set-generalized
   transactions. ACM Transactions on Internet Technology 17 (4), 2017.
.. [2] H. Ong, J. Shao: De-anonymising set-generalised transactions based on semantic
   relationships. Future Data and Security Engineering, 2014.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from setveil.attack.base import check_applies
from setveil.attack.elimination_guess import EliminationGuess, TableGuess
from setveil.attack.explain import Reason, reasons
from setveil.attack.tables import Contexts, DistanceTable, distance_tables, targets
from setveil.errors import ParameterError
from setveil.kernels.elimination import (
    ROUNDING,
    eliminate_by_groups,
    eliminate_by_weight,
    eliminate_in_order,
)
from setveil.registry import name_of, register

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from setveil.data.table import Int64Array
    from setveil.relatedness.base import Relatedness
    from setveil.release.set_generalized import SetGeneralizedRelease

    Floats = npt.NDArray[np.float64]
    Progress = Callable[[str, int, int], None]

SET_GENERALIZED = frozenset({"set-generalized"})

PAPER_2014 = """
    @inproceedings{ong2014deanonymising,
      author    = {Ong, Hoang and Shao, Jianhua},
      title     = {De-anonymising Set-Generalised Transactions Based on Semantic Relationships},
      booktitle = {Future Data and Security Engineering},
      pages     = {107--121}, year = {2014}
    }"""
PAPER_2017 = """
    @article{shao2017exploiting,
      author  = {Shao, Jianhua and Ong, Hoang},
      title   = {Exploiting Contextual Information in Attacking Set-Generalized Transactions},
      journal = {ACM Transactions on Internet Technology},
      volume  = {17}, number = {4}, year = {2017}
    }"""


class Eliminated(NamedTuple):
    """What became of one distance table.

    Parameters
    ----------
    cells
        Rows and columns of the eliminated cells, in order.
    decided
        The number that decided each.
    threshold
        What it had to exceed; None where there is no threshold.
    scores
        For each cell how much speaks for its having been added.
    """

    cells: Int64Array
    decided: Floats
    threshold: float | None
    scores: Floats


def eliminate_above(values: Floats, threshold: float, *, most: int | None = None) -> Eliminated:
    """Eliminate the cells above a threshold, greatest first.

    The last cell of a row or a column always stays.

    >>> eliminate_above(np.array([[0.1, 0.9], [0.8, 0.7]]), 0.5).cells.tolist()
    [[0, 1], [1, 0]]
    """
    rows, columns = np.indices(values.shape).reshape(2, -1)
    flat = values.ravel()
    order = np.lexsort((columns, rows, -flat))
    order = order[flat[order] > threshold]
    gone = order[eliminate_in_order(rows[order], columns[order], values.shape)][:most]
    return Eliminated(np.stack([rows[gone], columns[gone]], axis=1), flat[gone], threshold, values)
