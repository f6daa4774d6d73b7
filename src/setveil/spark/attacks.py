"""Re-association attacks on distributed clusters: each block is put together on a worker.

Clusters that share no chunk have nothing to do with each other. What an attack knows besides (how
related terms are, what the whole release teaches) is sent to the workers once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from setveil.attack.reassociation.pieces import DISASSOCIATED
from setveil.attack.reassociation.reassociation_guess import ReassociationGuess
from setveil.attack.reassociation.relatedness_attacks import Random
from setveil.attack.reassociation.semantic_prior import SemanticPrior, study
from setveil.core.arrays import offsets_of
from setveil.core.errors import NotApplicable
from setveil.core.registry import name_of
from setveil.engine.spark import spoken_errors
from setveil.relatedness.base import Coverage
from setveil.release.chunk_blocks import canonical_blocks
from setveil.spark.batches import map_batches
from setveil.spark.chunks import SCHEMA, DistributedChunks, assembled, lists_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

    from setveil.release.disassociated import DisassociatedRelease

STUDIED = 100_000
"""Blocks of clusters that semantic-prior can study: it does so here."""
GUESS, REFUSED, NOTED = "guess", "refused", "noted"
BLOCKS = 256
"""How many blocks a worker takes at a time."""


class Knowledge(NamedTuple):
    """What every worker knows: the attack, the names of terms, what its adversary knows."""

    attack: Any
    names: tuple[str, ...]
    known: Mapping[str, Any]
    seed: int


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DistributedGuess:
    """What an attack says about each block of clusters, over many machines.

    Parameters
    ----------
    frame
        The blocks as :class:`~setveil.spark.DistributedChunks` has them, and for each a column
        ``guess``: the :class:`~setveil.attack.ReassociationGuess` about it as JSON, clusters
        counted from the block's first. ``refused`` tells that nothing was known of its terms,
        and that it was put together at random; ``noted`` that the attack had something to say.
    attack
        Its name.
    notes
        What a reader should know.
    """

    frame: DataFrame
    attack: str
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<DistributedGuess of {self.attack}>"

    def collect(self) -> ReassociationGuess:
        """Return the guess here, clusters in canonical order; for releases that fit."""
        with spoken_errors():
            table = self.frame.toArrow()
        columns = lists_in(table)
        starts = columns["sizes"].offsets
        order = canonical_blocks(columns) if len(table) else np.zeros(0, dtype=np.int64)
        texts = table[GUESS].to_pylist()
        guesses = [
            ReassociationGuess.from_json(json.loads(texts[place])) for place in order.tolist()
        ]
        firsts = offsets_of(np.diff(starts)[order])[:-1].tolist()
        notes = [*self.notes, *_said(table[REFUSED], table[NOTED], self.attack)]
        whole = joined_guess(self.attack, guesses, firsts)
        names = sorted({name for guess in guesses for name in guess.baselines})
        baselines = {
            name: joined_guess(name, (guess.baselines[name] for guess in guesses), firsts)
            for name in names
        }
        return replace(whole, baselines=baselines, notes=tuple(notes))


def _said(refused: pa.ChunkedArray, noted: pa.ChunkedArray, attack: str) -> list[str]:
    blind, odd, blocks = sum(refused.to_pylist()), sum(noted.to_pylist()), len(refused)
    if blocks and blind == blocks:
        raise NotApplicable(
            "the source of relatedness cannot tell any row from another, in any cluster",
            fix="name a source that knows the terms of the release",
        )
    said = []
    if blind:
        said.append(f"{blind:,} of {blocks:,} blocks of clusters were put together at random")
    if odd and attack == "vpa":
        said.append(f"in {odd:,} of {blocks:,} blocks a chunk fits in no way that was tried")
    return said


def reassociate(
    attack: Any,  # noqa: ANN401  (any attack on disassociated releases)
    chunks: DistributedChunks,
    *,
    seed: int = 0,
    **known: Any,
) -> DistributedGuess:
    """Put the records of distributed clusters together again, block by block.

    Parameters
    ----------
    attack
        ``random``, ``prior``, ``aba``, ``rga``, ``mra``, ``vpa`` or ``semantic-prior``. All
        clusters are attacked, whatever its ``sample``.
    chunks
        What is attacked.
    seed
        Every block has a generator of its own, by its content and this number
        (:func:`block_rng`), wherever and beside whatever it is attacked.
    known
        What the attack is told: ``relatedness``, ``anonymizer``. It is sent to the workers.

    Returns
    -------
    DistributedGuess
        For each block what ``attack.run(block, rng=block_rng(block, seed))`` says here.

    Raises
    ------
    NotApplicable
        The attack is about another form, or ``semantic-prior`` cannot study so many clusters.
    """
    name = name_of(type(attack))
    if attack.applies_to != DISASSOCIATED:
        raise NotApplicable(f"{name} does not attack clusters", fix="use --engine local")
    attack = replace(attack, sample=None)
    names = chunks.vocabulary.names
    notes: tuple[str, ...] = ()
    if "relatedness" in known:
        knows = np.asarray(known["relatedness"].known(names), dtype=bool)
        unknown = tuple(names[i] for i in np.flatnonzero(~knows).tolist())
        notes = tuple(Coverage(terms=len(names), unknown=unknown).sentences())
    if isinstance(attack, SemanticPrior):
        with spoken_errors():
            blocks = chunks.frame.count()
        if blocks > STUDIED:
            raise NotApplicable(
                f"semantic-prior studies the whole release here, and {blocks:,} blocks of "
                "clusters are too many",
                fix="use another attack, or --engine local",
            )
        known = {**known, "studied": study(chunks.collect(), known["relatedness"])}
        notes = known["studied"].notes
    knowledge = Knowledge(attack, names, known, seed)
    shared = chunks.frame.sparkSession.sparkContext.broadcast(knowledge)
    schema = f"{SCHEMA}, {GUESS} string, {REFUSED} boolean, {NOTED} boolean"
    frame = map_batches(chunks.frame, partial(attack_blocks, shared=shared), schema, rows=BLOCKS)
    return DistributedGuess(frame=frame, attack=name, notes=notes)


def attack_blocks(table: pa.Table, shared: Broadcast[Knowledge]) -> pa.Table:
    """Attack some blocks one after the other (on a worker)."""
    import pyarrow as pa

    found, refused, noted = [], [], []
    for place in range(len(table)):
        block = assembled(table.slice(place, 1), shared.value.names)
        guess, blind = attack_block(shared.value, block)
        noted.append(bool(guess.notes))
        refused.append(blind)
        found.append(json.dumps(replace(guess, notes=()).to_json()))
    for name, column in ((GUESS, pa.array(found, pa.string())), (REFUSED, pa.array(refused)),
                         (NOTED, pa.array(noted))):  # fmt: skip
        table = table.append_column(name, column)
    return table


def attack_block(
    knowledge: Knowledge, block: DisassociatedRelease
) -> tuple[ReassociationGuess, bool]:
    """Return what an attack says about a block, and whether it had to be left to chance."""
    rng = block_rng(block, knowledge.seed)
    try:
        return knowledge.attack.run(block, rng=rng, **knowledge.known), False
    except NotApplicable:
        # Of the terms of this block nothing is known; of others there may be.
        by_chance = Random(term_copies=knowledge.attack.term_copies).run(block, rng=rng)
        return replace(by_chance, attack=name_of(type(knowledge.attack))), True


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
