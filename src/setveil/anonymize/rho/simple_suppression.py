"""SimpleSuppression: ρ-uncertainty by leaving out every sensitive item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.anonymize.base import check_sensitive
from setveil.anonymize.rho.rho_method import RhoMethod
from setveil.anonymize.rho.rule_suppression import shown
from setveil.core.literature import CAO_2010
from setveil.core.registry import register
from setveil.guarantee.rho_uncertainty import RhoUncertainty
from setveil.release.base import Anonymization, Step
from setveil.release.suppressed import publish_suppressed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from setveil.core.table import TransactionTable
    from setveil.engine.local import Engine


@register(
    "anonymizer",
    "simple-suppression",
    paper="Cao, Karras, Raïssi & Tan 2010",
    bibtex=CAO_2010,
)
@dataclass(frozen=True, kw_only=True)
class SimpleSuppression(RhoMethod):
    """Suppress every sensitive item everywhere, and touch nothing else.

    The baseline of the paper on ρ-uncertainty ("Simple"). Without sensitive items nothing about
    them can be inferred, so the promise holds for any ρ. What is lost is everything about them,
    which is why the other methods exist; yet several of them lose more.

    Parameters
    ----------
    rho
        The confidence that no rule may reach; it only goes into the promise.
    prior
        Whether the promise includes the empty antecedent.

    Examples
    --------
    >>> from setveil import TransactionTable
    >>> table = TransactionTable.from_rows([["milk", "test"], ["milk"], ["test"]])
    >>> result = SimpleSuppression(rho=0.5).anonymize(table, sensitive=["test"])
    >>> result.release.to_rows(), result.figures["average_loss"]
    ([['milk'], ['milk'], []], 0.5)

    References
    ----------
    J. Cao, P. Karras, C. Raïssi, K.-L. Tan: ρ-uncertainty: Inference-Proof Transaction
    Anonymization. PVLDB 3(1), 2010, section 6.
    """

    called: ClassVar[str] = "all sensitive items removed"
    requires: ClassVar[frozenset[str]] = frozenset({"sensitive"})

    def anonymize(
        self,
        table: TransactionTable,
        *,
        sensitive: Iterable[str],
        engine: Engine | None = None,  # there is nothing to distribute
        progress: Callable[[str, int, int], None] | None = None,
    ) -> Anonymization:
        """Return `table` without its sensitive items, its key and its promise."""
        names = check_sensitive(table, sensitive)
        supports = table.supports()
        keep = np.ones(table.n_items, dtype=bool)
        keep[[table.vocabulary.number(name) for name in names]] = False
        release, key = publish_suppressed(table, keep)
        if progress:
            progress("suppressing", len(names), len(names))
        total = int(supports.sum())
        lost = int(supports[~keep].sum())
        log = [
            Step(
                action="suppress",
                subject=name,
                reason="it is sensitive",
                cost=float(supports[table.vocabulary.number(name)]),
            )
            for name in names
        ]
        return Anonymization(
            release=release,
            key=key,
            promise=RhoUncertainty(rho=self.rho, sensitive=(), prior=self.prior),
            log=shown(log),
            figures={"average_loss": lost / total if total else 0.0},
        )
