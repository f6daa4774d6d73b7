"""Re-association block by block, wherever the clusters are.

Clusters that share no chunk have nothing to do with each other. Of a release in parts, each block
of clusters is attacked by itself, with a generator of its own.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from hashlib import blake2b
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from setveil.attack.base import check_applies
from setveil.attack.reassociation.pieces import DISASSOCIATED
from setveil.attack.reassociation.reassociation_guess import ReassociationGuess
from setveil.core.arrays import offsets_of
from setveil.core.errors import NotApplicable
from setveil.core.registry import name_of
from setveil.relatedness.base import Coverage
from setveil.release.chunk_blocks import (
    COLUMNS,
    Lists,
    block_lists,
    canonical_blocks,
    release_of_blocks,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from setveil.core.records import Shared
    from setveil.release.base import Part, Release
    from setveil.release.disassociated import DisassociatedRelease

STUDIED = 100_000
"""Blocks of clusters that are studied in one place, at most."""
SEEDS = 1 << 62


class BlockAttack:
    """An attack on clusters that can look at one block of them at a time."""

    applies_to: ClassVar[frozenset[str]] = DISASSOCIATED
    in_parts: ClassVar[bool] = True
    noted: ClassVar[str] = ""
    """What it means that the attack has something to say about so many blocks."""

    def learn(self, release: Release, known: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Return what every block is attacked with, and what a reader should know."""
        notes = []
        if "relatedness" in known:
            names = release.in_parts().sample.release.as_chunks().vocabulary.names
            knows = np.asarray(known["relatedness"].known(names), dtype=bool)
            unknown = tuple(names[i] for i in np.flatnonzero(~knows).tolist())
            notes += Coverage(terms=len(names), unknown=unknown).sentences()
        return dict(known), notes

    def by_chance(self) -> Any:  # noqa: ANN401  (an attack on blocks)
        """Return what attacks a block of whose terms nothing is known."""
        from setveil.attack.reassociation.relatedness_attacks import Random

        return Random(term_copies=self.term_copies)  # type: ignore[attr-defined]

    def run_in_parts(
        self, release: Release, *, rng: np.random.Generator | None = None, **known: Any
    ) -> ReassociationGuess:
        """Put the records of a release in parts together again, block by block.

        All clusters are attacked, whatever `sample`.

        Parameters
        ----------
        release
            What is attacked.
        rng
            Draws a seed. Every block has a generator of its own, by its content and this seed
            (:func:`block_rng`), wherever and beside whatever it is attacked.
        known
            What the attack is told; it is sent to the workers.

        Returns
        -------
        ReassociationGuess
            What ``attack.run(block, rng=block_rng(block, seed))`` says of each block, clusters in
            canonical order.

        Raises
        ------
        NotApplicable
            Nothing is known of the terms of any block.
        """
        name = name_of(type(self))
        check_applies(name, self.applies_to, release)
        seed = int((np.random.default_rng(0) if rng is None else rng).integers(SEEDS))
        parts = release.in_parts()
        told, notes = self.learn(release, known)
        whole = replace(self, sample=None)  # type: ignore[type-var]
        shared = parts.share((whole, told, seed))
        nothing: list[AttackedBlock] = []
        found = parts.fold(partial(attack_part, shared=shared), add, nothing)
        blind, odd = sum(each.blind for each in found), sum(each.noted for each in found)
        if found and blind == len(found):
            raise NotApplicable(
                "the source of relatedness cannot tell any row from another, in any cluster",
                fix="name a source that knows the terms of the release",
            )
        if blind:
            notes.append(
                f"{blind:,} of {len(found):,} blocks of clusters were put together at random"
            )
        if odd and self.noted:
            notes.append(f"in {odd:,} of {len(found):,} blocks {self.noted}")
        return replace(joined_blocks(name, found), notes=tuple(notes))


class AttackedBlock(NamedTuple):
    """A block of clusters, what was said of it, whether by chance, and whether with notes."""

    columns: tuple[list[int], ...]
    guess: ReassociationGuess
    blind: bool
    noted: bool


def attack_part(part: Part, shared: Shared[tuple[BlockAttack, Any, int]]) -> list[AttackedBlock]:
    """Attack the blocks of a part one after the other."""
    attack, known, seed = shared.value
    names = part.release.as_chunks().vocabulary.names
    found = []
    for columns in blocks_of(part):
        block = release_of_blocks(_columns([columns]), names)
        guess, blind = attack_block(attack, block, known, seed)
        said = AttackedBlock(columns, replace(guess, notes=()), blind, bool(guess.notes))
        found.append(said)
    return found


def blocks_of(part: Part) -> list[tuple[list[int], ...]]:
    """Return the blocks of a part, each as a list for each column."""
    lists = block_lists(part.release.as_chunks())
    return list(zip(*(lists[name] for name in COLUMNS), strict=True))


def _columns(blocks: Sequence[tuple[list[int], ...]]) -> dict[str, Lists]:
    columns = {}
    for place, name in enumerate(COLUMNS):
        rows = [block[place] for block in blocks]
        flat = [number for row in rows for number in row]
        columns[name] = Lists(
            offsets_of([len(row) for row in rows]), np.array(flat, dtype=np.int32)
        )
    return columns


def gathered(release: Release) -> DisassociatedRelease:
    """Return a release in parts as one that is here, if it has not too many blocks.

    Raises
    ------
    NotApplicable
        There are more than :data:`STUDIED`.
    """
    parts = release.in_parts()
    blocks = parts.fold(_count_blocks, int.__add__, 0)
    if blocks > STUDIED:
        raise NotApplicable(
            f"the whole release is studied here, and {blocks:,} blocks of clusters are too many",
            fix="use another attack, or --engine local",
        )
    names = parts.sample.release.as_chunks().vocabulary.names
    return release_of_blocks(_columns(parts.fold(blocks_of, add, [])), names)


def _count_blocks(part: Part) -> int:
    return len(part.release.as_chunks().blocks)


def attack_block(
    attack: Any,  # noqa: ANN401  (an attack on blocks)
    block: DisassociatedRelease,
    known: Mapping[str, Any],
    seed: int,
) -> tuple[ReassociationGuess, bool]:
    """Return what an attack says about a block, and whether it had to be left to chance."""
    rng = block_rng(block, seed)
    try:
        return attack.run(block, rng=rng, **known), False
    except NotApplicable:
        # Of the terms of this block nothing is known; of others there may be.
        guess = attack.by_chance().run(block, rng=rng)
        return replace(guess, attack=name_of(type(attack))), True


def block_rng(block: DisassociatedRelease, seed: int) -> np.random.Generator:
    """Return the generator of a block: by its content, so that nothing else matters.

    >>> from setveil import TransactionTable
    >>> from setveil.release.chunk_plan import Plan, publish_disassociated
    >>> table = TransactionTable.from_rows([["a", "t"], ["a"]])
    >>> block, _ = publish_disassociated(
    ...     table, [Plan(records=[0, 1], domains=((0,),), terms=(1,))])
    >>> block_rng(block, 7).random() == block_rng(block, 7).random()
    True
    """
    digest = blake2b("\0".join(block.vocabulary.names).encode(), digest_size=16)
    for array in (
        block.sizes, block.chunk_first, block.chunk_last, block.chunk_offsets,
        block.row_offsets, block.items, block.term_offsets, block.terms,
    ):  # fmt: skip
        digest.update(np.asarray(array, dtype="<i8").tobytes() + b"\0")
    words = np.frombuffer(digest.digest(), dtype="<u4").tolist()
    return np.random.default_rng([seed, *words])


def joined_blocks(attack: str, found: Sequence[AttackedBlock]) -> ReassociationGuess:
    """Return what was said of blocks as one guess, clusters in canonical order."""
    columns = _columns([each.columns for each in found])
    order = canonical_blocks(columns) if found else np.zeros(0, dtype=np.int64)
    guesses = [found[place].guess for place in order.tolist()]
    firsts = offsets_of(np.diff(columns["sizes"].offsets)[order])[:-1].tolist()
    names = sorted({name for guess in guesses for name in guess.baselines})
    baselines = {
        name: joined_guess(name, (guess.baselines[name] for guess in guesses), firsts)
        for name in names
    }
    return replace(joined_guess(attack, guesses, firsts), baselines=baselines)


def joined_guess(
    attack: str, guesses: Iterable[ReassociationGuess], firsts: Iterable[int]
) -> ReassociationGuess:
    """Return the guesses about blocks as one, with clusters counted on.

    >>> from setveil.attack import ClusterGuess
    >>> said = ReassociationGuess(attack="aba", clusters=(
    ...     ClusterGuess(cluster=0, anchors=[["flu"]], attached=[[]]),))
    >>> [each.cluster for each in joined_guess("aba", [said, said], [0, 1]).clusters]
    [0, 1]
    """
    clusters, pairs = [], []
    for guess, first in zip(guesses, firsts, strict=True):
        clusters += [replace(each, cluster=each.cluster + first) for each in guess.clusters]
        pairs += [(cluster + first, one, other) for cluster, one, other in guess.pairs]
    return ReassociationGuess(attack=attack, clusters=tuple(clusters), pairs=tuple(pairs))
