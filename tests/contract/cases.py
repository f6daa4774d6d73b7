"""What a method is given in the contract tests, and what its release may mean, form by form."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from tests.reference import worlds
from tests.reference.select_a_size import subsets
from tests.strategies import occurring, tables_with_taxonomy

from setveil import Taxonomy, TransactionTable
from setveil.release import (
    DisassociatedRelease,
    EncodedRelease,
    GeneralizedRelease,
    GroupedRelease,
    PerturbedRelease,
    SetGeneralizedRelease,
    SplitRelease,
)
from setveil.release.set_generalized import members_of

JOINT = (DisassociatedRelease, EncodedRelease, GroupedRelease, SplitRelease)
"""Forms whose records say something only together; each has its own comparison with all worlds."""


@dataclass(frozen=True)
class Case:
    """A table, its tree as a user gives it, a k that fits, and some sensitive items."""

    table: TransactionTable
    tree: Taxonomy
    k: int
    sensitive: tuple[str, ...] = ()

    def method(self, target, params):
        """Build the method; k is ours where it has one."""
        has_k = "k" in target.__dataclass_fields__
        return target(**({"k": self.k} if has_k else {}), **params)

    def secret(self, target):
        """Return the sensitive items if the method takes some."""
        return self.sensitive if "sensitive" in target.requires else ()

    def given_tree(self, target):
        """Return the tree the method gets: without the sensitive items that it also gets."""
        secret = self.secret(target)
        if not secret:
            return self.tree
        ordinary = [item for item in occurring(self.table) if item not in secret]
        return self.tree.for_items(ordinary).without(secret)

    def inputs(self, target):
        """Return what the method requires, and what makes its draws repeatable."""
        there = {"taxonomy": self.given_tree(target), "sensitive": self.sensitive}
        assert target.requires <= set(there), f"say here how to make {target.requires}"
        given = {name: value for name, value in there.items() if name in target.requires}
        if "rng" in getattr(target, "accepts", ()):
            given["rng"] = np.random.default_rng(0)  # what is drawn is always the same
        return given

    def whole_tree(self, target):
        """Return the tree that the release is about: a leaf for every item of the table."""
        secret = set(self.secret(target))
        ordinary = [item for item in occurring(self.table) if item not in secret]
        return self.given_tree(target).for_items(ordinary).beside(sorted(secret))

    def suits(self, target):
        """Tell whether the case has what the method requires."""
        return "sensitive" not in target.requires or bool(self.sensitive)


@st.composite
def cases(draw, **sizes):
    """Draw a case; where there are two items and more, some of them are sensitive, some not."""
    table, tree = draw(tables_with_taxonomy(min_rows=1, **sizes))
    k = draw(st.integers(1, min(len(table), 5)))
    items = occurring(table)
    sensitive = ()
    if len(items) > 1:
        most = max(1, len(items) // 2)
        drawn = draw(st.sets(st.sampled_from(items), min_size=1, max_size=most))
        # A tree of sensitive items only would have nothing left to generalize.
        leaves = {tree.ids[v] for v in range(len(tree)) if tree.is_leaf[v]}
        if leaves - drawn:
            sensitive = tuple(sorted(drawn))
    return Case(table, tree, k, sensitive)


class Meaning:
    """The originals that each record of a release allows, by the definitions of its form.

    Items are leaf numbers of the whole tree under generalized releases, and names elsewhere.
    """

    def __init__(self, release, case, target):
        self.release = release
        self.generalized = isinstance(release, GeneralizedRelease)
        self.tree = case.whole_tree(target) if "taxonomy" in target.requires else None
        if self.generalized:
            place = {node_id: v for v, node_id in enumerate(self.tree.ids)}
            self.rows = [[place[i] for i in row] for row in release.to_rows(ids=True)]
            self.domain = worlds.all_leaves(self.tree)
            everywhere = {v for row in self.rows for v in row}
            self.anywhere = everywhere if release.whole else None
        else:
            self.rows = release.to_rows()
            self.domain = sorted(occurring(case.table))
            self.groups = None
            if isinstance(release, SetGeneralizedRelease):
                self.rows = [[members_of(label) for label in row] for row in self.rows]
                self.groups = {group for row in self.rows for group in row}
            self.vocabulary = {item for row in self.rows for item in row}
        self.originals = self.items_of(case.table)

    def items_of(self, table):
        """Return the records of a table as sets of items of this meaning."""
        if self.generalized:
            return [frozenset(self.tree.leaf_of(row).tolist()) for row in table]
        return [frozenset(row) for row in table]

    def allows(self, place, original):
        """Tell whether a published record may stand for an original."""
        if isinstance(self.release, PerturbedRelease):  # anything is possible
            return original <= set(self.domain)
        if not self.generalized:
            if self.groups is not None:
                return worlds.sets_allow(self.groups, self.rows[place], original)
            return worlds.suppressed_allows(self.vocabulary, self.rows[place], original)
        return worlds.allows(
            self.tree,
            self.rows[place],
            original,
            hides=self.release.hides,
            anywhere=self.anywhere,
        )

    def worlds(self, place):
        """Return all originals that a published record may stand for."""
        if isinstance(self.release, PerturbedRelease):
            return subsets(self.domain)
        if not self.generalized:
            if self.groups is not None:
                return worlds.sets_worlds(self.groups, self.rows[place], self.domain)
            return worlds.suppressed_worlds(self.vocabulary, self.rows[place], self.domain)
        return worlds.worlds(
            self.tree, self.rows[place], hides=self.release.hides, anywhere=self.anywhere
        )

    def names(self, itemset):
        """Return the names by which items are asked for; a private leaf has that of its item."""
        if not self.generalized:
            return sorted(itemset)
        tree = self.tree
        return [tree.ids[tree.parents[v] if tree.pseudo[v] else v] for v in sorted(itemset)]


def published_ids(release):
    """Return the published records as lists of ids."""
    if isinstance(release, GeneralizedRelease):
        return release.to_rows(ids=True)
    return release.to_rows()
