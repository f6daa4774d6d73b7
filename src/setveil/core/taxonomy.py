"""The tree of item generalizations."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Literal

import numpy as np

from setveil.core.errors import InputError, ParameterError
from setveil.core.tree import (
    NamedTree,
    balanced_nodes,
    find_cycle,
    preorder_places,
    sums_below,
    sums_to_root,
)
from setveil.core.words import fresh_id, some, way

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from setveil.core.arrays import Int32Array
    from setveil.io.embeddings import Vectors
    from setveil.io.wordnet import WordNet

ADDED_ROOT = "*"
ITSELF = " (itself)"


@dataclass(frozen=True, kw_only=True, eq=False)
class Taxonomy(NamedTree):
    """A rooted tree over items, its nodes numbered in preorder (the root is 0).

    The nodes below `v`, itself included, are ``v .. ends[v] - 1``. Siblings stand in the order of
    their names, so the numbering does not depend on the order of a file. A node is identified by
    its id and shown by its name; ids are distinct, names need not be.

    An item that is an interior node gets a private leaf below it (``pseudo``), so that an item
    published as it is costs nothing and differs from the category of the same name.

    Parameters
    ----------
    ids
        Distinct identifiers, in preorder.
    names
        What a reader sees.
    parents, leaves
        The shape: see :class:`~setveil.core.tree.Tree`.
    pseudo
        Which nodes are private leaves of interior items.

    Examples
    --------
    >>> food = Taxonomy.from_parents({"apple": "fruit", "pear": "fruit", "beef": "meat",
    ...                               "fruit": "food", "meat": "food"})
    >>> food.names
    ('food', 'fruit', 'apple', 'pear', 'meat', 'beef')
    >>> food.leaves.tolist()
    [3, 2, 1, 1, 1, 1]
    >>> float(food.loss_metric()[food.node("fruit")])
    0.5
    """

    @classmethod
    def from_parents(cls, parents: Mapping[str, str | None]) -> Taxonomy:
        """Build a tree from child → parent; a top has the parent None, or is nobody's child.

        >>> Taxonomy.from_parents({"poodle": "dog", "tabby": "cat"}).names
        ('*', 'cat', 'tabby', 'dog', 'poodle')
        """
        ids = list(dict.fromkeys([*parents, *(p for p in parents.values() if p is not None)]))
        place = {name: i for i, name in enumerate(ids)}
        above = [place[p] if (p := parents.get(i)) is not None else -1 for i in ids]
        return cls.from_nodes(ids, ids, above)

    @classmethod
    def from_nodes(
        cls,
        ids: Sequence[str],
        names: Sequence[str],
        parents: Sequence[int],
        *,
        pseudo: Iterable[int] = (),
    ) -> Taxonomy:
        """Build a tree from nodes in any order; `parents` holds places in `ids`, -1 for a top.

        Several tops get an added root. A cycle is an error. `pseudo` are places of private leaves.

        >>> Taxonomy.from_nodes(["1", "2", "3"], ["pear", "fruit", "apple"], [1, -1, 1]).names
        ('fruit', 'apple', 'pear')
        """
        ids, names = list(ids), list(names)
        above = np.array(parents, dtype=np.int64)
        if not len(ids) == len(names) == len(above) or np.any(above >= len(ids)):
            raise ParameterError("each node needs an id, a name and a place of its parent")
        n_tops = np.count_nonzero(above < 0)
        if n_tops > 1:
            above = np.append(np.where(above < 0, len(ids), above), -1)
            ids.append(fresh_id(ADDED_ROOT, set(ids), ADDED_ROOT))
            names.append(ADDED_ROOT)
        n = len(ids)
        if n == 0:
            raise InputError("a taxonomy needs at least one node", fix="give it a root")
        depths = sums_to_root(above, np.ones(n, dtype=np.int64)) if n_tops else None
        if depths is None:
            loop = [ids[v] for v in find_cycle(above.tolist())]
            raise InputError(
                f"the taxonomy has a cycle: {way([*loop, loop[0]])}",
                fix="remove one of these edges",
            )
        rank = np.empty(n, dtype=np.int64)
        rank[sorted(range(n), key=lambda i: (names[i], ids[i]))] = np.arange(n)
        place = preorder_places(above, sums_below(above, depths, np.ones(n)), rank)
        order = np.argsort(place)
        childless = np.ones(n, dtype=bool)
        childless[above[above >= 0]] = False
        is_pseudo = np.zeros(n, dtype=bool)
        is_pseudo[list(pseudo)] = True
        visited = order.tolist()
        return cls(
            ids=tuple(ids[i] for i in visited),
            names=tuple(names[i] for i in visited),
            parents=np.append(place, -1)[above][order],
            leaves=sums_below(above, depths, childless)[order],
            pseudo=is_pseudo[order],
        )

    @classmethod
    def balanced(cls, items: Iterable[str], *, fanout: int = 4) -> Taxonomy:
        """Build a tree over `items`, in their order, with up to `fanout` children per node.

        A node that would have one child is left out, so that every category joins something.

        >>> Taxonomy.balanced(["a", "b", "c"], fanout=2).names
        ('group 2.1', 'c', 'group 1.1', 'a', 'b')
        """
        ids, parents = balanced_nodes(items, fanout)
        return cls.from_nodes(ids, ids, parents)

    @classmethod
    def from_wordnet(
        cls,
        items: Iterable[str],
        wordnet: WordNet | None = None,
        *,
        missing: str = "error",
        heads: bool = False,
    ) -> Taxonomy:
        """Build the tree of WordNet's first senses over `items`; see ``word_tree`` for details.

        >>> from setveil.io.wordnet import WordNet
        >>> tiny = WordNet.from_senses({"dog": ["dog.n.01"]}, parents={"dog.n.01": "animal.n.01"})
        >>> Taxonomy.from_wordnet(["dogs"], tiny).ids
        ('animal.n.01', 'dogs')
        """
        from setveil.io.wordnet import word_tree

        return word_tree(items, wordnet, missing=missing, heads=heads)[0]

    @classmethod
    def from_embeddings(
        cls,
        items: Iterable[str],
        vectors: Vectors,
        *,
        fanout: int = 4,
        named: Collection[str] = (),
        missing: str = "error",
    ) -> Taxonomy:
        """Build a tree that joins items with like vectors; see ``embedding_tree`` for details.

        >>> from setveil.io.embeddings import Vectors
        >>> vectors = Vectors(words=("cat", "dog", "oak"), vectors=[[1, 0.1], [1, 0.2], [0, 1]])
        >>> Taxonomy.from_embeddings(["cat", "dog", "oak"], vectors, fanout=2).ids
        ('group 1', 'group 2', 'cat', 'dog', 'oak')
        """
        from setveil.io.embeddings import embedding_tree

        return embedding_tree(items, vectors, fanout=fanout, named=named, missing=missing)[0]

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        format: Literal["edges", "paths", "nodes", "obo", "amnesia"] | None = None,
        id: str | None = None,
        name: str | None = None,
        parent: str | None = None,
        parents: Literal["error", "first"] = "error",
        separator: str = "|",
        delimiter: str | None = None,
        header: bool | None = None,
    ) -> Taxonomy:
        r"""Read a tree from a text file, plain or compressed (.gz, .zst); ``-`` is stdin.

        The formats and the options are those of :func:`setveil.io.taxonomy_files.read_taxonomy`,
        which also reports what was guessed, added and dropped.

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "food.csv")
        ...     _ = file.write_text("apple,fruit,food\nbeef,meat,food\n")
        ...     Taxonomy.read(file).names
        ('food', 'fruit', 'apple', 'meat', 'beef')
        """
        from setveil.io.taxonomy_files import read_taxonomy

        return read_taxonomy(
            path,
            format=format,
            id=id,
            name=name,
            parent=parent,
            parents=parents,
            separator=separator,
            delimiter=delimiter,
            header=header,
        )[0]

    def for_items(
        self, items: Iterable[str], *, missing: str = "error", vectors: Vectors | None = None
    ) -> Taxonomy:
        """Return this tree with a leaf for every item: interior items get their private leaf.

        Parameters
        ----------
        items
            Item names (ids, or names that only one node bears).
        missing
            What to do with items that are not in the tree: ``"error"`` names them, ``"nearest"``
            puts each beside the most similar item, ``"drop"`` leaves them out,
            ``"attach-to-root"`` puts them below the root. :mod:`setveil.core.missing_items` also
            says what was done, and takes dropped items out of the records.
        vectors
            Vectors of items, to look for the most similar one by meaning and not by name.

        Examples
        --------
        >>> tree = Taxonomy.from_parents({"poodle": "dog", "dog": "animal"})
        >>> tree.for_items(["dog", "poodle"]).ids
        ('animal', 'dog', 'dog (itself)', 'poodle')
        >>> tree.for_items(["toy poodle"], missing="nearest").ids
        ('animal', 'dog', 'poodle', 'toy poodle')
        """
        from setveil.core.missing_items import complete

        return complete(self, items, missing=missing, vectors=vectors)[0]

    def with_leaves(
        self, found: Iterable[int], added: Sequence[str], above: Sequence[int]
    ) -> Taxonomy:
        """Return the tree with private leaves of interior nodes, and new leaves below nodes.

        Parameters
        ----------
        found
            Nodes that are items; those that are interior get a private leaf.
        added
            New items, one leaf each.
        above
            The node above each of them, an interior one or the root.

        Examples
        --------
        >>> tree = Taxonomy.from_parents({"poodle": "dog", "dog": "animal"})
        >>> tree.with_leaves([], ["pug"], [tree.node("dog")]).ids
        ('animal', 'dog', 'poodle', 'pug')
        """
        wanted = np.array(sorted(found), dtype=np.int64)
        # What is attached below a tree of one node makes that node interior.
        interior = ~self.is_leaf[wanted] | (bool(added) & (wanted == 0))
        inner = wanted[interior & (self._private[wanted] < 0)].tolist()
        if not inner and not added:
            return self
        taken = set(chain(self.ids, added))
        private = [fresh_id(self.ids[v] + ITSELF, taken, ITSELF) for v in inner]
        # Only the id of another item's private leaf can stand in the way of a new item's own.
        own = [fresh_id(item, taken, ITSELF) if item in self._numbers else item for item in added]
        return Taxonomy.from_nodes(
            [*self.ids, *private, *own],
            [*self.names, *(self.names[v] for v in inner), *added],
            [*self.parents.tolist(), *inner, *above],
            pseudo=[
                *np.flatnonzero(self.pseudo).tolist(),
                *range(len(self), len(self) + len(inner)),
            ],
        )

    def beside(self, items: Iterable[str]) -> Taxonomy:
        """Return a tree with a new root above this one and, beside it, a leaf for each item.

        For releases that generalize some items by this tree and publish others, the sensitive
        ones, as they are: no node of this tree ever stands for one of those.

        >>> pets = Taxonomy.from_parents({"pug": "dog", "tabby": "cat", "dog": "pet", "cat": "pet"})
        >>> pets.beside(["rabies"]).names
        ('*', 'pet', 'cat', 'tabby', 'dog', 'pug', 'rabies')
        """
        found, absent = self.resolve(items)
        if found:
            raise InputError(
                f"{len(found)} of the items that are to stand beside the taxonomy are in it: "
                f"{some(list(found.values()))}",
                fix="take them out of the taxonomy, or do not call them sensitive",
            )
        if not absent:
            return self
        # Only the id of an item's private leaf can stand in the way of another item's name.
        taken = set(self.ids)
        return Taxonomy.from_nodes(
            [*self.ids, *(fresh_id(item, taken, ITSELF) for item in absent)],
            [*self.names, *absent],
            [*self.parents.tolist(), *([-1] * len(absent))],
            pseudo=np.flatnonzero(self.pseudo).tolist(),
        )

    def without(self, items: Iterable[str]) -> Taxonomy:
        """Return the tree without these items; what lay below one now lies below its parent.

        Categories that are left with nothing below them go too (call :meth:`for_items` first, so
        that those that are items themselves stay). Items that are not in the tree are passed
        over. For methods that generalize ordinary items only: see :meth:`beside`.

        >>> tree = Taxonomy.from_parents({"HIV": "virus", "flu": "virus", "gout": "joints",
        ...                               "virus": "illness", "joints": "illness"})
        >>> tree.without(["HIV", "gout"]).names
        ('illness', 'virus', 'flu')
        """
        found, _ = self.resolve(items)
        if not found:
            return self
        gone = np.zeros(len(self), dtype=bool)
        gone[list(found)] = True
        gone[self.pseudo & gone[self.parents]] = True  # the private leaf of an item that goes
        parents = self.parents.tolist()
        # From the last node up: a category whose children are all gone goes before its parent.
        filled = (self.is_leaf & ~gone).tolist()
        for v in range(len(self) - 1, 0, -1):
            filled[parents[v]] |= filled[v]
        kept = np.flatnonzero(np.array(filled) & ~gone)
        if not len(kept):
            raise InputError(
                "nothing is left of the taxonomy without these items",
                fix="leave at least one item in it",
            )
        place = {v: i for i, v in enumerate(kept.tolist())}
        above = []
        for v in kept.tolist():
            up = parents[v]
            while up >= 0 and up not in place:
                up = parents[up]
            above.append(place.get(up, -1))
        return Taxonomy.from_nodes(
            [self.ids[v] for v in kept.tolist()],
            [self.names[v] for v in kept.tolist()],
            above,
            pseudo=np.flatnonzero(self.pseudo[kept]).tolist(),
        )

    def write(self, path: str | Path) -> None:
        """Write an edge list (or a table of nodes, if names differ from ids) that `read` reads.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     Taxonomy.from_parents({"pug": "dog", "dog": "pet"}).write(f"{folder}/pets.csv")
        ...     Taxonomy.read(f"{folder}/pets.csv").ids
        ('pet', 'dog', 'pug')
        """
        from setveil.io.taxonomy_files import write_edges

        write_edges(self, path)

    def write_arx(self, path: str | Path, *, names: bool = False) -> None:
        """Write ARX's hierarchy: per leaf one line, leaf to root, all of one length.

        A shorter way repeats its leaf. Nodes are shown by their ids; with `names` by their names,
        where a name belongs to one node only.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     Taxonomy.from_parents({"pug": "dog", "dog": "pet"}).write_arx(f"{folder}/pets.csv")
        ...     Taxonomy.read(f"{folder}/pets.csv").ids
        ('pet', 'dog', 'pug')
        """
        from setveil.io.taxonomy_files import write_paths

        write_paths(self, path, names=names)

    def pruned(self, nodes: npt.ArrayLike) -> tuple[Taxonomy, Int32Array]:
        """Return the tree of these nodes and their ancestors, and each old node's new number.

        Leaf counts stay those of the whole tree; nodes that are left out get the number -1.

        >>> tree = Taxonomy.from_parents({"poodle": "dog", "dog": "animal", "cat": "animal"})
        >>> part, numbers = tree.pruned([tree.node("dog")])
        >>> part.names, part.leaves.tolist(), numbers.tolist()
        (('animal', 'dog'), [2, 1], [0, -1, 1, -1])
        """
        keep = np.zeros(len(self), dtype=bool)
        keep[0] = True
        fresh = np.unique(np.asarray(nodes, dtype=np.int32))
        while len(fresh):
            keep[fresh] = True
            above = np.unique(self.parents[fresh[fresh > 0]])
            fresh = above[~keep[above]]
        kept = np.flatnonzero(keep)
        place = np.full(len(self) + 1, -1, dtype=np.int32)
        place[kept] = np.arange(len(kept), dtype=np.int32)
        part = Taxonomy(
            ids=tuple(self.ids[i] for i in kept.tolist()),
            names=tuple(self.names[i] for i in kept.tolist()),
            parents=place[self.parents[kept]],
            leaves=self.leaves[kept],
            pseudo=self.pseudo[kept],
        )
        return part, place[:-1]

    def __repr__(self) -> str:
        return f"<Taxonomy: {len(self):,} nodes, {self.n_leaves:,} leaves, height {self.height}>"
