"""TDControl: ρ-uncertainty by generalizing from the top down, and suppressing on the way."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from setveil.anonymize.base import MethodRole, check_sensitive, price_of_nodes, shorten_log, silent
from setveil.anonymize.rho.association_rules import ItemRows
from setveil.anonymize.rho.suppress_control import (
    BudgetedRhoMethod,
    OutOfTimeError,
    Pick,
    RuleSuppression,
    TimeBudget,
    TooDearError,
)
from setveil.core.arrays import Int32Array, Int64Array, offsets_of
from setveil.core.errors import InputError
from setveil.core.literature import CAO_2010
from setveil.core.registry import register
from setveil.core.words import some
from setveil.release.base import Anonymization, Step
from setveil.release.generalized import publish_recoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

    from setveil.core.table import TransactionTable
    from setveil.core.taxonomy import Taxonomy
    from setveil.core.threads import Progress
    from setveil.engine.local import Engine
    from setveil.release.base import Key
    from setveil.release.generalized import GeneralizedRelease


@dataclass(frozen=True, kw_only=True, eq=False)
class Domain:
    """The items of a table, numbered as the leaves stand in the taxonomy, then the sensitive ones.

    Tokens are the nodes of the taxonomy by their numbers, then the sensitive items: token
    ``len(tree) + j`` is the item numbered ``n_others + j``. An *image* gives each item its token,
    or -1 where it is suppressed. Losses are counted in units of 1 / (all leaves), so that they are
    whole numbers: a suppressed occurrence loses `unit`, one published as node v `lost[v]`.
    """

    table: TransactionTable
    tree: Taxonomy
    sensitive: tuple[str, ...]
    vocabulary: Int64Array
    leaf: Int32Array
    records: ItemRows

    @classmethod
    def of(cls, table: TransactionTable, taxonomy: Taxonomy, sensitive: Iterable[str]) -> Domain:
        """Check the inputs and number the items."""
        names = check_sensitive(table, sensitive)
        inside = sorted(set(names) - set(taxonomy.missing(names)))
        if inside:
            raise InputError(
                f"{len(inside)} of {len(names)} sensitive items are in the taxonomy of the others: "
                f"{some(inside)}",
                fix="take them out of the taxonomy; sensitive items are never generalized",
            )
        hidden = np.array([table.vocabulary.number(name) for name in names], dtype=np.int64)
        supports = table.supports()
        supports[hidden] = 0
        others = np.flatnonzero(supports)
        other_names = [table.vocabulary[i] for i in others.tolist()]
        tree = taxonomy.for_items(other_names)
        leaf = tree.leaf_of(other_names)
        order = np.argsort(leaf)
        vocabulary = np.concatenate([others[order], hidden])
        number = np.full(table.n_items, -1, dtype=np.int32)
        number[vocabulary] = np.arange(len(vocabulary), dtype=np.int32)
        return cls(
            table=table,
            tree=tree,
            sensitive=names,
            vocabulary=vocabulary,
            leaf=leaf[order],
            records=ItemRows.of(table, number, len(vocabulary)),
        )

    @property
    def n_others(self) -> int:
        """Number of items that are not sensitive."""
        return len(self.leaf)

    @property
    def sensitive_from(self) -> int:
        """The first token that is a sensitive item."""
        return len(self.tree)

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return len(self.tree) + len(self.sensitive)

    @property
    def unit(self) -> int:
        """What a suppressed occurrence loses."""
        return self.tree.n_leaves

    @cached_property
    def lost(self) -> Int64Array:
        """What an occurrence loses that is published as each token."""
        return np.concatenate(
            [price_of_nodes(self.tree), np.zeros(len(self.sensitive), dtype=np.int64)]
        )

    @cached_property
    def occurrences(self) -> Int64Array:
        """Occurrences of items at or below each token."""
        supports = self.records.supports
        before = offsets_of(supports[: self.n_others])
        low = np.searchsorted(self.leaf, np.arange(len(self.tree)))
        high = np.searchsorted(self.leaf, self.tree.ends)
        return np.concatenate([before[high] - before[low], supports[self.n_others :]])

    @cached_property
    def cost(self) -> Int64Array:
        """What suppressing each token loses beyond what its generalization has lost already."""
        return self.occurrences * (self.unit - self.lost)

    @cached_property
    def children(self) -> dict[int, Int64Array]:
        """The children of each inner node."""
        order = np.argsort(self.tree.parents[1:], kind="stable") + 1
        above = self.tree.parents[order]
        starts = np.flatnonzero(np.diff(above, prepend=-1))
        if not len(order):  # a tree of one node
            return {}
        return dict(zip(above[starts].tolist(), np.split(order, starts[1:]), strict=True))

    def narrow(self, node: int) -> int:
        """Go down while a node has a single child that is no leaf: both stand for the same."""
        while not self.tree.is_leaf[node]:
            below = self.children[node]
            if len(below) > 1 or self.tree.is_leaf[below[0]]:
                break
            node = int(below[0])
        return node

    def below(self, node: int) -> slice:
        """Return the items at or below a node."""
        low, high = np.searchsorted(self.leaf, [node, self.tree.ends[node]])
        return slice(int(low), int(high))

    def uniform(self, depth: int) -> Int32Array:
        """Return the image that publishes every item as its ancestor at this depth.

        An item that is less deep is published as itself, a sensitive item not at all.
        """
        nodes = self.tree.image(self.tree.cut_at(depth + 1))[self.leaf]
        return np.concatenate([nodes, np.full(len(self.sensitive), -1, dtype=np.int32)])

    def loss(self, image: Int32Array) -> int:
        """Return what all records together lose."""
        each = np.where(image < 0, self.unit, self.lost[image])
        return int(self.records.supports @ each)

    def share(self, loss: int) -> float:
        """Return a loss as the average over all occurrences."""
        whole = self.unit * int(self.records.supports.sum())
        return loss / whole if whole else 0.0

    def units(self, loss: int) -> float:
        """Return a loss as the paper counts it: one for an occurrence that is suppressed."""
        return loss / self.unit

    def name(self, token: int) -> str:
        """Return what a reader calls a token."""
        if token < len(self.tree):
            return self.tree.names[token]
        return self.sensitive[token - len(self.tree)]

    def publish(self, image: Int32Array) -> tuple[GeneralizedRelease, Key, tuple[str, ...]]:
        """Return the release, its key, and the sensitive items that are still in it."""
        occurs = self.records.supports[self.n_others :] > 0
        kept = np.flatnonzero((image[self.n_others :] >= 0) & occurs)
        names = tuple(self.sensitive[j] for j in kept.tolist())
        beside = self.tree.beside(self.sensitive)
        place = np.empty(self.n_tokens + 1, dtype=np.int32)
        moved = {node_id: v for v, node_id in enumerate(beside.ids)}
        place[: len(self.tree)] = [moved[node_id] for node_id in self.tree.ids]
        place[len(self.tree) : -1] = beside.leaf_of(self.sensitive)
        place[-1] = -1
        whole = np.full(self.table.n_items, -1, dtype=np.int32)
        whole[self.vocabulary] = place[image]
        release, key = publish_recoded(beside, self.table, whole)
        return release, key, names

    def generalization_steps(self, image: Int32Array) -> list[Step]:
        """Return one step for each inner node that is published, with what it loses."""
        used = np.unique(image[: self.n_others])
        used = used[used >= 0]
        return [
            Step(
                action="generalize",
                subject=self.tree.names[v],
                reason=f"{self.occurrences[v]:,} occurrences are published as this node",
                cost=self.units(int(self.occurrences[v] * self.lost[v])),
            )
            for v in used[~self.tree.is_leaf[used]].tolist()
        ]


class Recoding(NamedTuple):
    """What each item is published as (see :class:`Domain`), and how that was found."""

    image: Int32Array
    log: Sequence[Step]
    figures: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class RecodingRhoMethod(BudgetedRhoMethod):
    """A method for ρ-uncertainty that generalizes items along a taxonomy, or suppresses them."""

    requires: ClassVar[frozenset[str]] = frozenset({"taxonomy", "sensitive"})

    def anonymize(
        self,
        table: TransactionTable,
        *,
        taxonomy: Taxonomy,
        sensitive: Iterable[str],
        engine: Engine | None = None,  # each choice depends on the ones before
        progress: Progress | None = None,
    ) -> Anonymization:
        """Return the ρ-uncertain release of `table`, its key and its promise."""
        with TimeBudget(self.budget) as budget:
            domain = Domain.of(table, taxonomy, sensitive)
            # Writing the release takes about as long as this did.
            budget.set_aside(budget.spent)
            recoding = self._recode(domain, budget, progress or silent)
            release, key, left = domain.publish(recoding.image)
        return Anonymization(
            release=release,
            key=key,
            promise=self.promise_about(left),
            log=shorten_log([*recoding.log, *domain.generalization_steps(recoding.image)]),
            figures={
                "average_loss": domain.share(domain.loss(recoding.image)),
                **recoding.figures,
                "in_time": not budget.expired,
            },
        )

    def _recode(self, domain: Domain, budget: TimeBudget, progress: Progress) -> Recoding:
        """Find what the items are published as, within the budget."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True, eq=False)
class Trial:
    """What a split would bring: its net gain (a bound, unless exact) and what it suppresses."""

    net: int
    exact: bool
    picks: tuple[Pick, ...]
    when: int


@dataclass(kw_only=True, eq=False)
class TopDown:
    """The state of a run: the cut, what is suppressed, and what is known about each split."""

    domain: Domain
    rho: Fraction
    budget: TimeBudget
    image: Int32Array = field(init=False)
    log: list[Step] = field(default_factory=list)
    net_gains: dict[str, float] = field(default_factory=dict)
    _rows: dict[int, Int64Array] = field(default_factory=dict)
    _trials: dict[int, Trial] = field(default_factory=dict)
    _open: list[tuple[int, int]] = field(default_factory=list)
    _splits: int = 0

    def __post_init__(self) -> None:
        self.image = self.domain.uniform(0)
        self.image[: self.domain.n_others] = self.domain.narrow(0)
        sensitive = np.arange(self.domain.sensitive_from, self.domain.n_tokens, dtype=np.int32)
        self.image[self.domain.n_others :] = sensitive
        self._touched = np.zeros(len(self.domain.records.weights), dtype=np.int64)

    def suppress_among_sensitive(self, *, prior: bool) -> None:
        """Suppress until no rule over sensitive items alone is too sure."""
        image = self.image.copy()
        image[: self.domain.n_others] = -1
        work = self._suppression(image)
        if prior:
            work.suppress_frequent()
        work.run()
        for pick in work.picks:
            self._suppress(pick)

    def split_all(self, progress: Progress) -> None:
        """Split the node of greatest net gain, and again, while one gains anything."""
        if self.domain.n_others:
            self._add(self.domain.narrow(0))
        while self._open:
            progress("splitting", self._splits, self._splits + len(self._open))
            if not np.any(self.image[self.domain.n_others :] >= 0):
                self._split_rest()
                return
            best = self._best()
            if best is None:
                return
            self._split(*best)

    def check_root(self) -> None:
        """Suppress what is too sure where all is one node: a state that no split has tested."""
        root = self.domain.narrow(0)
        if not np.any(self.image == root):
            return
        among = self.domain.records.holding(0, self.domain.n_others)
        work = self._suppression(self.image, first=np.array([root]), among=among)
        work.run()
        for pick in work.picks:
            self._suppress(pick)

    @property
    def has_split(self) -> bool:
        """Whether the cut is below the root, and so every rule of it was tested."""
        return self._splits > 0

    def _suppression(
        self,
        image: Int32Array,
        *,
        first: Int64Array | None = None,
        among: Int64Array | None = None,
        allowed: int | None = None,
    ) -> RuleSuppression:
        return RuleSuppression(
            records=self.domain.records,
            image=image,
            n_tokens=self.domain.n_tokens,
            rho=self.rho,
            sensitive_from=self.domain.sensitive_from,
            cost=self.domain.cost,
            budget=self.budget,
            first=first,
            among=among,
            allowed=allowed,
        )

    def _add(self, node: int) -> None:
        """Put a node into the cut, with the records that hold it."""
        items = self.domain.below(node)
        if items.start == items.stop or self.domain.tree.is_leaf[node]:
            return
        self._rows[node] = self.domain.records.holding(items.start, items.stop)
        insort(self._open, (-self._gain(node), node))

    def _gain(self, node: int) -> int:
        """Return what a split gains before suppression."""
        below, domain = self.domain.children[node], self.domain
        narrow = np.array([domain.narrow(int(child)) for child in below])
        kept = domain.occurrences[narrow] * domain.lost[narrow]
        return int(domain.occurrences[node] * domain.lost[node] - kept.sum())

    def _best(self) -> tuple[int, int, Trial] | None:
        """Return the node of greatest net gain above 0, the first of equals.

        A split gains at most what it gains before suppression, so nodes are tried in that order
        and no further than the best found; a trial ends when its losses pass what could win. A
        trial stays true as long as no record with the node has changed.
        """
        best: tuple[int, int, Trial] | None = None
        least = 1
        for negative, node in self._open:
            gain = -negative
            if gain < least:
                break
            trial = self._trials.get(node)
            if trial is None or self._touched[self._rows[node]].max(initial=0) > trial.when:
                trial = None
            if trial is None or (not trial.exact and trial.net >= least):
                trial = self._try(node, gain, gain - least)
            if trial.exact and (
                trial.net > least or (trial.net == least and (best is None or node < best[0]))
            ):
                best, least = (node, gain, trial), trial.net
        return best

    def _split_image(self, node: int) -> tuple[Int32Array, Int64Array]:
        """Return the image after a split, and the nodes that are new in it."""
        items = self.domain.below(node)
        below = self.domain.children[node]
        which = np.searchsorted(below, self.domain.leaf[items], side="right") - 1
        image = self.image.copy()
        for place in np.unique(which).tolist():
            image[items][which == place] = self.domain.narrow(int(below[place]))
        return image, np.unique(image[items]).astype(np.int64)

    def _try(self, node: int, gain: int, allowed: int) -> Trial:
        """Find out what a split would suppress; stop once that costs more than `allowed`."""
        image, fresh = self._split_image(node)
        work = self._suppression(image, first=fresh, among=self._rows[node], allowed=allowed)
        exact = True
        try:
            work.run()
        except TooDearError:
            exact = False
        trial = Trial(net=gain - work.loss, exact=exact, picks=tuple(work.picks), when=self._splits)
        self._trials[node] = trial
        return trial

    def _split(self, node: int, gain: int, trial: Trial) -> None:
        domain = self.domain
        self._splits += 1
        self._touched[self._rows[node]] = self._splits
        self.image, fresh = self._split_image(node)
        self._drop(node, gain)
        for child in fresh.tolist():
            self._add(child)
        loss = gain - trial.net
        self.net_gains[domain.tree.ids[node]] = domain.units(trial.net)
        self.log.append(
            Step(
                action="split",
                subject=domain.tree.names[node],
                reason=f"net gain {domain.units(trial.net):g}: its children lose "
                f"{domain.units(gain):g} less, suppression loses {domain.units(loss):g}",
                cost=-domain.units(trial.net),
            )
        )
        for pick in trial.picks:
            self._suppress(pick)

    def _drop(self, node: int, gain: int) -> None:
        self._open.remove((-gain, node))
        self._trials.pop(node, None)
        del self._rows[node]

    def _suppress(self, pick: Pick) -> None:
        token, domain = pick.token, self.domain
        if token >= domain.sensitive_from:
            item = domain.n_others + token - domain.sensitive_from
            low, high = domain.records.starts[[item, item + 1]]
            self._touched[domain.records.posts[low:high]] = self._splits
        else:
            items = domain.below(token)
            self._touched[domain.records.holding(items.start, items.stop)] = self._splits
            if token in self._rows:
                self._drop(token, self._gain(token))
        self.image = np.where(self.image == token, np.int32(-1), self.image)
        self.log.append(
            Step(
                action="suppress",
                subject=domain.name(token),
                reason=pick.reason,
                cost=domain.units(pick.cost),
            )
        )

    def _split_rest(self) -> None:
        """Publish all items as they are: no sensitive item is left that could be inferred."""
        for _, node in self._open:
            items = self.domain.below(node)
            self.image[items] = self.domain.leaf[items]
        self._splits += 1
        self.log.append(
            Step(
                action="split",
                subject="all other nodes, down to the items",
                reason="no sensitive item is left that could be inferred",
            )
        )


@register(
    "anonymizer",
    "td-control",
    paper="Cao, Karras, Raïssi & Tan 2010",
    bibtex=CAO_2010,
)
@dataclass(frozen=True, kw_only=True)
class TDControl(RecodingRhoMethod):
    """Generalize all other items to the root, then split nodes while that gains more than it costs.

    First, sensitive items that follow from sensitive ones are suppressed. Then every item that is
    not sensitive is published as the root of the taxonomy. A split replaces a node by its children
    everywhere. It gains detail, and may bring rules that reach ρ; what must be suppressed to break
    those (as in :class:`~setveil.anonymize.SuppressControl`) is subtracted. The split of greatest
    net gain is done, again and again, until none gains anything.

    Parameters
    ----------
    rho
        The confidence that no rule may reach.
    prior
        Whether the empty antecedent counts too: the share of all records that hold the item.
    budget
        Seconds the run may take. When they are used up, the cut reached so far is published, or
        all sensitive items are suppressed where that loses less; the log says so.

    Notes
    -----
    Departures from print. Print takes for granted that the root alone is safe; it need not be, so
    it is tested when it was never split. A node that is suppressed by another's split leaves the
    cut. The empty antecedent is checked first unless `prior` is off. A node whose only child is an
    inner node counts as that child: splitting it gains nothing, and print would stop there. A
    trial split is not repeated while no record with the node has changed, and is broken off when it
    cannot win: same choices, less work. Ties go to the node that comes first in the taxonomy.

    Examples
    --------
    Table 1 of the paper, where the root, A and B are split with net gains 5.5, 3 and 1.5:

    >>> from setveil import Taxonomy, TransactionTable
    >>> table = TransactionTable.from_rows([
    ...     ["a1", "b1", "b2", "α", "γ"], ["a1", "a2", "b2"], ["a2", "b2"], ["a2", "γ"],
    ...     ["a1", "b2", "α", "γ"]])
    >>> tree = Taxonomy.from_parents({"a1": "A", "a2": "A", "b1": "B", "b2": "B",
    ...                               "A": "ALL", "B": "ALL"})
    >>> result = TDControl(rho=0.7).anonymize(table, taxonomy=tree, sensitive=["α", "γ"])
    >>> [(step.action, step.subject, step.cost) for step in result.log][:3]
    [('suppress', 'α', 2.0), ('split', 'ALL', -5.5), ('split', 'A', -3.0)]
    >>> [(step.action, step.subject, step.cost) for step in result.log][3:]
    [('split', 'B', -1.5), ('suppress', 'b1', 1.0)]
    >>> result.release.to_rows()
    [['a1', 'a2', 'b2'], ['a1', 'b2', 'γ'], ['a1', 'b2', 'γ'], ['a2', 'b2'], ['a2', 'γ']]

    References
    ----------
    J. Cao, P. Karras, C. Raïssi, K.-L. Tan: ρ-uncertainty: Inference-Proof Transaction
    Anonymization. PVLDB 3(1), 2010, section 5 and algorithm 3.
    """

    called: ClassVar[str] = "broader terms against inference"
    role: ClassVar[MethodRole] = MethodRole(place=7)

    def _recode(self, domain: Domain, budget: TimeBudget, progress: Progress) -> Recoding:
        """Split nodes; each choice depends on the ones before."""
        run = particularize(domain, self.rho, budget, prior=self.prior, progress=progress)
        return Recoding(run.image, run.log, {"net_gains": run.net_gains})


def particularize(
    domain: Domain,
    rho: Fraction,
    budget: TimeBudget,
    *,
    prior: bool,
    progress: Progress = silent,
) -> TopDown:
    """Run TDControl on prepared records; what comes back is safe, whether in time or not."""
    run = TopDown(domain=domain, rho=rho, budget=budget)
    try:
        run.suppress_among_sensitive(prior=prior)
        run.split_all(progress)
        run.check_root()
    except OutOfTimeError:
        simple = domain.uniform(domain.tree.height)
        run.log.append(Step(action="stop", subject="the search", reason=budget.in_words()))
        if not run.has_split or domain.loss(simple) < domain.loss(run.image):
            run.image = simple
            run.log.append(
                Step(
                    action="suppress",
                    subject="all sensitive items",
                    reason="nothing else is generalized: this loses less than the cut so far",
                )
            )
    return run
