"""RhoFamily: ρ-uncertainty by trying several cuts and giving back sensitive items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from setveil.anonymize.rho.association_rules import TokenView, odds
from setveil.anonymize.rho.rule_kernels import SAFE
from setveil.anonymize.rho.suppress_control import OutOfTimeError, TimeBudget
from setveil.anonymize.rho.td_control import Domain, Recoding, RecodingRhoMethod, particularize
from setveil.core.literature import CAO_2010
from setveil.core.registry import register
from setveil.release.base import Step

if TYPE_CHECKING:
    from fractions import Fraction

    from setveil.core.arrays import Int32Array, Int64Array
    from setveil.core.threads import Progress


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidate:
    """A safe image with its name, what it loses, and how it came about."""

    name: str
    image: Int32Array
    loss: int
    log: tuple[Step, ...] = ()


@register(
    "anonymizer",
    "rho-family",
    paper="setveil, after Cao, Karras, Raïssi & Tan 2010",
    bibtex=CAO_2010,
)
@dataclass(frozen=True, kw_only=True)
class RhoFamily(RecodingRhoMethod):
    """Try several cuts of the taxonomy, give back what sensitive items each allows, keep the best.

    The cuts are the items as they are (all sensitive items suppressed, which is SimpleSuppression),
    every level of the taxonomy, and the result of TDControl. On each, suppressed sensitive items
    are given back, the most frequent first, wherever an exact search shows that neither the item
    itself nor, through it, one given back before can be inferred. The release of least average
    loss is published, the first of equals: so it never loses more than SimpleSuppression does.

    Parameters
    ----------
    rho
        The confidence that no rule may reach.
    prior
        Whether the empty antecedent counts too: the share of all records that hold the item.
    budget
        Seconds the run may take. When they are used up, the best release so far is published;
        the log says so.

    Notes
    -----
    This method is ours. SuppressControl and TDControl often lose more than suppressing all
    sensitive items does; this one cannot.

    Examples
    --------
    Two of five hold the test, and beer alone says nothing about it:

    >>> from setveil import Taxonomy, TransactionTable
    >>> table = TransactionTable.from_rows(
    ...     [["beer", "test"], ["beer"], ["beer"], ["wine"], ["wine"]])
    >>> drinks = Taxonomy.from_parents({"beer": "drink", "wine": "drink"})
    >>> result = RhoFamily(rho=0.5).anonymize(table, taxonomy=drinks, sensitive=["test"])
    >>> result.release.to_rows(), result.figures["average_loss"]
    ([['beer', 'test'], ['beer'], ['beer'], ['wine'], ['wine']], 0.0)

    References
    ----------
    J. Cao, P. Karras, C. Raïssi, K.-L. Tan: ρ-uncertainty: Inference-Proof Transaction
    Anonymization. PVLDB 3(1), 2010.
    """

    called: ClassVar[str] = "broader terms against inference, best of several"

    def _recode(self, domain: Domain, budget: TimeBudget, progress: Progress) -> Recoding:
        """Try the cuts; what is given back depends on the rest."""
        tried = self._candidates(domain, budget, progress)
        best = min(tried, key=lambda candidate: candidate.loss)
        log = [
            Step(
                action="try",
                subject=candidate.name,
                reason=f"average loss {domain.share(candidate.loss):.4g}",
                cost=domain.units(candidate.loss),
            )
            for candidate in tried
        ]
        if budget.expired:
            log.append(Step(action="stop", subject="the search", reason=budget.in_words()))
        log.append(Step(action="choose", subject=best.name, reason="it loses least"))
        losses = {candidate.name: domain.share(candidate.loss) for candidate in tried}
        return Recoding(best.image, [*log, *best.log], {"average_losses": losses})

    def _candidates(
        self, domain: Domain, budget: TimeBudget, progress: Progress
    ) -> list[Candidate]:
        """Return what was tried, SimpleSuppression first."""
        simple = domain.uniform(domain.tree.height)
        tried = [Candidate(name="all sensitive items suppressed", image=simple,
                           loss=domain.loss(simple))]  # fmt: skip
        stages = domain.tree.height + 2
        for stage in range(stages):
            if budget.expired:
                break
            progress("trying cuts", stage, stages)
            if stage == 1:
                run = particularize(domain, self.rho, budget, prior=self.prior)
                image, name, log = run.image, "top down", tuple(run.log)
            else:
                depth = domain.tree.height - max(stage - 1, 0)
                name = f"the cut at depth {depth}" if stage else "the items as they are"
                image, log = domain.uniform(depth), ()
            generalized = np.where(image[: domain.n_others] < 0, domain.unit,
                                   domain.lost[image[: domain.n_others]])  # fmt: skip
            least = int(generalized @ domain.records.supports[: domain.n_others])
            if least >= min(candidate.loss for candidate in tried):
                continue  # even with every sensitive item given back it would lose more
            image, given = give_back(domain, image, self.rho, budget, prior=self.prior)
            tried.append(
                Candidate(
                    name=f"{name}, sensitive items given back",
                    image=image,
                    loss=domain.loss(image),
                    log=(*log, *given),
                )
            )
        return tried


def give_back(
    domain: Domain, image: Int32Array, rho: Fraction, budget: TimeBudget, *, prior: bool
) -> tuple[Int32Array, list[Step]]:
    """Give back suppressed sensitive items, most frequent first, as long as all stays safe.

    An item a may return if no rule χ → a is too sure, and none χ with a → b with a sensitive item b
    that is published already: other rules do not change. When the time is used up, what was given
    back by then stays.
    """
    supports = domain.records.supports[domain.n_others :]
    n, first = domain.records.n_records, domain.sensitive_from
    yes, no = odds(rho, n)
    rare = no * (n - supports) > yes * supports
    published = image[domain.n_others :] >= 0
    missing = np.flatnonzero(~published & (supports > 0) & (rare if prior else True))
    view = TokenView.of(domain.records, image, domain.n_tokens, rho)
    steps = []
    try:
        for j in missing[np.lexsort((missing, -supports[missing]))].tolist():
            item, token = domain.n_others + j, first + j
            low, high = domain.records.starts[[item, item + 1]]
            holders = domain.records.posts[low:high].astype(np.int64)
            if not _stays_safe(domain, image, rho, holders, budget):
                continue
            if not _is_safe(view, domain.records.weights, holders, budget):
                continue
            image = image.copy()
            image[item] = token
            view = view.with_token(token, holders, domain.records.weights)
            steps.append(
                Step(
                    action="give back",
                    subject=domain.sensitive[j],
                    reason="no rule with it is too sure",
                    cost=-float(supports[j]),
                )
            )
    except OutOfTimeError:
        pass
    return image, steps


def _stays_safe(
    domain: Domain, image: Int32Array, rho: Fraction, holders: Int64Array, budget: TimeBudget
) -> bool:
    """Tell whether no published sensitive item is too sure among the records `holders`."""
    if not np.any(image >= domain.sensitive_from):
        return True
    view = TokenView.of(domain.records, image, domain.n_tokens, rho, among=holders)
    whole = int(view.rows.weights.sum())
    for b in np.flatnonzero(view.tokens >= domain.sensitive_from).tolist():
        inside = int(
            view.rows.weights[view.rows.posts[view.rows.starts[b] : view.rows.starts[b + 1]]].sum()
        )
        if view.no * (whole - inside) <= view.yes * inside:
            return False
        if view.decide(b, -1, budget).verdict != SAFE:
            return False
    return True


def _is_safe(view: TokenView, weights: Int64Array, holders: Int64Array, budget: TimeBudget) -> bool:
    """Tell whether no rule is too sure whose consequent is what the records `holders` hold."""
    rows, place = np.unique(view.kind_of[holders], return_inverse=True)
    given = np.bincount(place, weights=weights[holders]).astype(np.int64)
    return view.decide(-1, -1, budget, holders=rows, given=given).verdict == SAFE
