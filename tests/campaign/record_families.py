"""Families whose records say something one by one: recodings, suppressions, sets of items."""

from fractions import Fraction
from math import floor

import numpy as np
from tests.campaign.drawing import draw_itemsets, draw_table
from tests.reference import coat, record_worlds
from tests.reference.coherence import is_coherent
from tests.reference.k_anonymity import is_k_anonymous
from tests.reference.km import is_km_anonymous
from tests.reference.rho import violations
from tests.reference.support_constraints import rare_parts

from setveil import anonymize
from setveil.core.errors import InfeasibleError
from setveil.guarantee import (
    Coherence,
    KAnonymity,
    KmAnonymity,
    RhoUncertainty,
    SupportConstraints,
)
from setveil.release import (
    GeneralizedRelease,
    publish_groups,
    publish_recoded,
    publish_sets,
    publish_suppressed,
)
from setveil.release.set_generalized import members_of

SECRETS = ("x", "y", "z")
SHARES = ("0.2", "1/3", "0.4", "0.5", "0.6", "2/3", "0.7", "0.8", "0.9", "1")


# --- what a release shows -------------------------------------------------------------------------


class Shown:
    """A release, its records as lists of ids, and the originals that each of them allows."""

    def __init__(self, release, domain, items=()):
        self.release = release
        self.tree = domain.whole if isinstance(release, GeneralizedRelease) else None
        if self.tree is not None:
            self.rows = release.to_rows(ids=True)
            self.bit = domain.bit
            self.worlds = self._of_nodes(domain)
        else:
            self.rows = release.to_rows()
            self.bit = {item: 1 << i for i, item in enumerate(items)}
            self.worlds = self._of_sets()

    def _of_nodes(self, domain):
        every = {v for row in self.rows for v in row}
        found = []
        for row in self.rows:
            others = tuple(sorted(domain.below[v] for v in every.difference(row)))
            found.append(
                record_worlds.generalized(
                    tuple(domain.below[v] for v in row),
                    domain.n_leaves,
                    hides=self.release.hides,
                    elsewhere=others if self.release.whole else None,
                )
            )
        return found

    def _of_sets(self):
        masks = [
            tuple(sum(self.bit[item] for item in members_of(label)) for label in row)
            for row in self.rows
        ]
        groups = tuple(sorted({group for row in masks for group in row}))
        return [record_worlds.in_sets(groups, row, len(self.bit)) for row in masks]

    def compare(self, tally, itemsets, where, originals=None):
        """Compare the bounds of supports, and who may hold the items, with all worlds."""
        for names in itemsets:
            itemset = sum(self.bit[name] for name in names)
            bounds = self.release.support_bounds(names, self.tree)
            truth = (*record_worlds.support_range(self.worlds, itemset), True)
            found = (bounds.low, bounds.high, bounds.tight)
            tally.answer(found, truth, f"bounds of {names}", where)
            places = self.release.matches(names, self.tree).records.tolist()
            holders = record_worlds.holders(self.worlds, itemset)
            tally.answer(places, holders, f"who may hold {names}", where)
            if originals is not None:
                true = sum(set(names) <= set(row) for row in originals)
                tally.expect(bounds.low <= true <= bounds.high, True, f"truth of {names}", where)


# --- releases at random ---------------------------------------------------------------------------


def draw_cut(rng, domain):
    """Draw nodes that have each leaf below one of them; sensitive items stay as they are."""
    tree, share = domain.whole, rng.choice([0.15, 0.4, 0.7])
    below = [[] for _ in tree.ids]
    for v, parent in enumerate(tree.parents.tolist()):
        if parent >= 0:
            below[parent].append(v)
    secret = sum(domain.bit[item] for item in domain.secrets)
    cut, left = [], [0]
    while left:
        v = left.pop()
        mixed = domain.below[tree.ids[v]] & secret and below[v]
        if below[v] and (mixed or rng.random() > share):
            left += below[v]
        else:
            cut.append(v)
    return cut


def draw_recoded(rng, domain, table):
    """Publish a table by a cut of which some nodes are left out."""
    hidden = rng.choice([0, 0, 0.2, 0.5])
    cut = [v for v in draw_cut(rng, domain) if rng.random() >= hidden]
    ids = domain.whole.ids
    names = table.vocabulary.names
    image = [
        next((v for v in cut if domain.below[ids[v]] & domain.bit[item]), -1) for item in names
    ]
    return publish_recoded(domain.whole, table, image)[0]


def draw_groups(rng, domain, n):
    """Publish n records in groups, each group as a bag of nodes that some set can stand behind."""
    tree, hides = domain.whole, rng.random() < 0.5
    groups = []
    for _ in range(rng.randint(1, min(n, 3))):
        group = []
        for v in rng.choices(range(len(tree.ids)), k=rng.randint(0, 4)):
            below = [domain.below[tree.ids[u]] for u in [*group, v]]
            apart = all(not a & b for i, a in enumerate(below) for b in below[:i])
            if apart or (hides and record_worlds.can_match(below, (1 << domain.n_leaves) - 1)):
                group.append(v)
        groups.append(group)
    return publish_groups(
        tree,
        group_offsets=np.cumsum([0, *map(len, groups)]),
        group_nodes=[v for group in groups for v in group],
        group_of=[rng.randrange(len(groups)) for _ in range(n)],
        hides=hides,
    )[0]


def draw_suppressed(rng, table):
    share = rng.choice([0, 0.2, 0.5])
    return publish_suppressed(table, [rng.random() >= share for _ in table.vocabulary.names])[0]


def draw_sets(rng, table):
    n = table.n_items
    return publish_sets(table, [rng.randint(-1, n) if rng.random() < 0.6 else n + i
                                for i in range(n)])[0]  # fmt: skip


def held_in(rows):
    return sorted({item for row in rows for item in row})


# --- one release of each family -------------------------------------------------------------------


def run_method(tally, rng, choices, table, *, where, may_refuse, **inputs):
    """Draw a method and anonymize; None where it refuses, which it must be allowed to."""
    target, params = rng.choice(choices)
    method = target(**params)
    where = f"{method} on {where}"
    if "rng" in getattr(target, "accepts", ()):
        inputs["rng"] = np.random.default_rng(rng.randrange(1 << 30))
    given = {
        name: value
        for name, value in inputs.items()
        if name in target.requires or name in getattr(target, "accepts", ())
    }
    try:
        made = method.anonymize(table, **given)
    except InfeasibleError as error:
        tally.refused += 1
        tally.expect(True, may_refuse(method), f"refuses ({error})", where)
        return None, where
    return made, where


def never(_method):
    return False


def least_filled(method):
    """Return how many records with items a method needs, if there are any."""
    if isinstance(method, anonymize.HgHs):
        return 0
    slices = method.parts or 1 if isinstance(method, anonymize.LRA) else 1
    return method.k * slices


def conclude(tally, rng, shown, *, promise, truth, rows, items, by_method, where, **given):
    """Judge a release, and compare some of its answers with all worlds."""
    where = f"{where} -> {shown.rows}"
    tally.judge(truth, promise.check(shown.release, **given), promised=by_method, where=where)
    shown.compare(tally, draw_itemsets(rng, items), where, rows if by_method else None)


def k_anonymity(rng, tally, *, by_method):
    rows, domain, table = draw_table(rng)
    k = rng.randint(1, min(len(rows), 4))
    where = f"{rows}, k={k}, {dict(domain.below)}"
    if by_method:
        choices = [
            (anonymize.Gather, {"k": k, "effort": rng.choice(["fast", "balanced"])}),
            (anonymize.Clump, {"k": k, "distinct": rng.random() < 0.3, "r": rng.choice([None, 1])}),
            (anonymize.Partition, {"k": k}),
        ]
        some_empty = not all(rows) and any(rows) and k > 1
        made, where = run_method(
            tally, rng, choices, table, where=where, taxonomy=domain.tree,
            may_refuse=lambda method: some_empty and isinstance(method, anonymize.Partition),
        )  # fmt: skip
        if made is None:
            return
        release, promise = made.release, made.promise
    else:
        alike = rng.random() < 0.6
        release = draw_groups(rng, domain, len(rows)) if alike else draw_recoded(rng, domain, table)
        promise = KAnonymity(k=k)
    shown = Shown(release, domain)
    conclude(
        tally, rng, shown, promise=promise, truth=is_k_anonymous(shown.rows, k), rows=rows,
        items=list(domain.items), by_method=by_method, where=where,
    )  # fmt: skip


def km(rng, tally, *, by_method):
    rows, domain, table = draw_table(rng)
    k, m = rng.randint(1, min(len(rows), 4)), rng.randint(1, 3)
    where = f"{rows}, k={k}, m={m}, {dict(domain.below)}"
    if by_method:
        both = {"k": k, "m": m}
        choices = [
            (anonymize.AprioriKm, both),
            (anonymize.DirectKm, both),
            (anonymize.OptimalKm, both),
            (anonymize.LRA, {**both, "parts": rng.choice([None, 1, 2])}),
            (anonymize.VPAKm, {**both, "parts": rng.choice([1, 2, 8])}),
            (anonymize.HgHs, {"k": k, "m": rng.choice([m, None])}),
        ]
        filled = sum(map(bool, rows))
        made, where = run_method(
            tally, rng, choices, table, where=where, taxonomy=domain.tree,
            may_refuse=lambda method: 0 < filled < least_filled(method),
        )  # fmt: skip
        if made is None:
            return
        release, promise = made.release, made.promise
        longest = max(map(len, release.to_rows()))
        tally.expect((promise.k, promise.m >= min(m, longest)), (k, True), "the promise", where)
    else:
        draws = [
            lambda: draw_groups(rng, domain, len(rows)),
            lambda: draw_recoded(rng, domain, table),
            lambda: draw_recoded(rng, domain, table),
            lambda: draw_suppressed(rng, table),
            lambda: draw_sets(rng, table),
        ]
        release, promise = rng.choice(draws)(), KmAnonymity(k=k, m=m)
    shown = Shown(release, domain, table.vocabulary.names)
    truth = is_km_anonymous(shown.rows, k, max(m, promise.m))
    conclude(
        tally, rng, shown, promise=promise, truth=truth, rows=rows,
        items=list(domain.items), by_method=by_method, where=where,
    )  # fmt: skip


def shown_secrets(release, domain):
    """Return the sensitive items that a release names; others may stand behind its categories.

    What it may then say of those is judged in tests/adversarial/crafted.
    """
    return [item for item in domain.secrets if item in held_in(release.to_rows())]


def coherence(rng, tally, *, by_method):
    rows, domain, table = draw_table(rng, secrets=SECRETS[: rng.randint(1, 3)])
    k, p, h = rng.randint(1, min(len(rows), 4)), rng.randint(1, 3), rng.choice(SHARES)
    where = f"{rows}, h={h}, k={k}, p={p}, {domain.secrets}"
    if by_method:
        choices = [(anonymize.Coherence, {"h": h, "k": k, "p": p})]
        made, where = run_method(
            tally, rng, choices, table, where=where, may_refuse=never, sensitive=domain.secrets
        )
        if made is None:
            return
        release, promise = made.release, made.promise
    else:
        plain = rng.random() < 0.6
        release = draw_suppressed(rng, table) if plain else draw_recoded(rng, domain, table)
        promise = Coherence(h=h, k=k, p=p, sensitive=shown_secrets(release, domain))
    shown = Shown(release, domain, table.vocabulary.names)
    truth = is_coherent(shown.rows, domain.secrets, Fraction(h), k, p)
    conclude(
        tally, rng, shown, promise=promise, truth=truth, rows=rows,
        items=held_in(rows), by_method=by_method, where=where,
    )  # fmt: skip


def rho(rng, tally, *, by_method):
    rows, domain, table = draw_table(rng, secrets=SECRETS[: rng.randint(1, 3)])
    share, prior = rng.choice(SHARES), rng.random() < 0.5
    where = f"{rows}, rho={share}, prior={prior}, {domain.secrets}, {dict(domain.below)}"
    if by_method:
        params = {"rho": share, "prior": prior}
        choices = [
            (anonymize.TDControl, params),
            (anonymize.SuppressControl, params),
            (anonymize.RhoFamily, params),
            (anonymize.SimpleSuppression, params),
        ]
        made, where = run_method(
            tally, rng, choices, table, where=where, may_refuse=never,
            sensitive=domain.secrets, taxonomy=domain.tree,
        )  # fmt: skip
        if made is None:
            return
        release, promise = made.release, made.promise
    else:
        plain = rng.random() < 0.4
        release = draw_suppressed(rng, table) if plain else draw_recoded(rng, domain, table)
        promise = RhoUncertainty(rho=share, sensitive=shown_secrets(release, domain), prior=prior)
    shown = Shown(release, domain, table.vocabulary.names)
    truth = not violations(shown.rows, Fraction(share), domain.secrets, prior=prior)
    conclude(
        tally, rng, shown, promise=promise, truth=truth, rows=rows,
        items=held_in(rows), by_method=by_method, where=where,
    )  # fmt: skip


def support_constraints(rng, tally, *, by_method):
    rows, domain, table = draw_table(rng)
    k = rng.randint(1, min(len(rows), 4))
    items = held_in(rows)
    itemsets = [
        sorted(rng.sample(items, rng.randint(1, min(3, len(items)))))
        for _ in range(rng.randint(1, 3))
    ]
    where = f"{rows}, k={k}, itemsets={itemsets}"
    if by_method:
        made, where = run_constrained(tally, rng, table, rows, itemsets=itemsets, k=k, where=where)
        if made is None:
            return
        release, promise = made.release, made.promise
        named = {item for itemset in promise.itemsets for item in itemset}
        expected = {i for itemset in itemsets for i in itemset} & set(images_in(release.to_rows()))
        tally.expect(named, expected, "items of the promise", where)
    else:
        draws = [
            lambda: draw_sets(rng, table),
            lambda: draw_sets(rng, table),
            lambda: draw_suppressed(rng, table),
            lambda: draw_recoded(rng, domain, table),
        ]
        release, promise = rng.choice(draws)(), SupportConstraints(itemsets=itemsets, k=k)
    shown = Shown(release, domain, table.vocabulary.names)
    if shown.tree is None:
        images, given = images_in(shown.rows), {}
    else:
        images = {
            item: next((v for v in held_in(shown.rows) if domain.below[v] & domain.bit[item]), None)
            for item in items
        }
        given = {"taxonomy": shown.tree}
    truth = not rare_parts(shown.rows, images, itemsets, k)
    conclude(
        tally, rng, shown, promise=promise, truth=truth, rows=rows,
        items=items, by_method=by_method, where=where, **given,
    )  # fmt: skip


def images_in(rows):
    """Return for each item the generalized item that it is published with."""
    return {item: label for row in rows for label in row for item in members_of(label)}


def run_constrained(tally, rng, table, rows, *, itemsets, k, where):
    """Run COAT or PCTA; where it refuses, all recodings are tried."""
    items, utility = held_in(rows), None
    if rng.random() < 0.6:
        parts = [[], [], []]
        for item in items:
            rng.choice(parts).append(item)
        utility = [part for part in parts[:2] if part]
    objective = rng.choice(["ul", "ul_per_gain", "ul_gaining"])
    choices = [
        (anonymize.Coat, {"k": k, "s": rng.choice(["0", "0.3", "1"]), "objective": objective}),
        (anonymize.PCTA, {"k": k, "objective": objective}),
    ]

    def is_infeasible(method):
        least = coat.least_suppressed(rows, itemsets, utility, k)
        return least > floor(getattr(method, "s", 0) * len(items))

    return run_method(
        tally, rng, choices, table, where=f"{where}, utility={utility}", may_refuse=is_infeasible,
        privacy=itemsets, utility=utility,
    )  # fmt: skip
