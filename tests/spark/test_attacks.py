"""Attacks on distributed releases guess what the attacks here guess, part by part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from setveil import TransactionTable
from setveil.anonymize import Disassociate
from setveil.attack import (
    ABA,
    EC,
    GBA,
    MDA,
    MRA,
    RA,
    RBA,
    RGA,
    TBA,
    VPA,
    WBA,
    Prior,
    Random,
    SemanticPrior,
    TokenFrequency,
)
from setveil.attack.base import run_in_parts
from setveil.attack.reassociation.blocks import SEEDS, block_rng, joined_guess
from setveil.attack.reassociation.semantic_prior import study
from setveil.core.errors import NotApplicable
from setveil.core.registry import name_of
from setveil.io.embeddings import Vectors
from setveil.relatedness import NGD, Combined, Embedding, RecordCounts
from setveil.release import publish_sets
from setveil.spark import DistributedChunks, DistributedRelease
from setveil.spark.chunks import assembled

pytestmark = pytest.mark.spark

K, M = 3, 2


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(8)
    rows = []
    for _ in range(90):
        topic = rng.integers(3)
        names = [f"t{topic}{n}" for n in range(6)] + ["x", "y"]
        chosen = rng.choice(len(names), size=rng.integers(1, 5), replace=False)
        rows.append([names[i] for i in chosen])
    return TransactionTable.from_rows(rows)


@pytest.fixture(scope="module")
def source(table):
    # Knows nothing of one topic: some clusters have to be left to chance.
    return NGD(RecordCounts.from_rows([r for r in table.to_rows() if not {"x"} & set(r)][:50]))


@pytest.fixture(scope="module")
def release(table):
    return Disassociate(k=K, m=M).anonymize(table).release


@pytest.fixture(scope="module")
def chunks(spark, release):
    return DistributedChunks.from_release(release, spark)


def by_blocks(attack, release, chunks, **known):
    """Attack one block after the other, here."""
    seed = int(np.random.default_rng(5).integers(SEEDS))
    rows = chunks.frame.toArrow()
    firsts = [first for first, _ in release.blocks]
    assert len(firsts) > 2
    said = []
    for place in range(len(rows)):  # the rows of a small frame stand in the order given
        block = assembled(rows.slice(place, 1), release.vocabulary.names)
        rng = block_rng(block, seed)
        try:
            guess = attack.run(block, rng=rng, **known)
        except NotApplicable:
            guess = Random(term_copies=attack.term_copies).run(block, rng=rng)
        said.append(guess)
    name = name_of(type(attack))
    baselines = {
        each: joined_guess(each, [guess.baselines[each] for guess in said], firsts)
        for each in ("random", "prior")
    }
    return replace(joined_guess(name, said, firsts), baselines=baselines)


@pytest.mark.parametrize(
    "attack",
    [Random(), Prior(term_copies=2), ABA(), RGA(everywhere=True), MRA(), VPA()],
    ids=lambda attack: type(attack).__name__,
)
def test_clusters(release, chunks, source, attack):
    known = {"relatedness": source} if "relatedness" in attack.requires else {}
    if "anonymizer" in attack.requires:
        known["anonymizer"] = Disassociate(k=K, m=M)
    there = DistributedRelease.of_chunks(chunks)
    found = run_in_parts(attack, there, rng=np.random.default_rng(5), **known)
    assert replace(found, notes=()) == by_blocks(attack, release, chunks, **known)
    assert [each.cluster for each in found.clusters] == list(range(len(release.sizes)))
    here = attack.run(release, rng=np.random.default_rng(5), **known)
    assert [each.anchors for each in found.clusters] == [each.anchors for each in here.clusters]


def test_semantic_prior_studies_the_whole_release(release, chunks, source):
    attack = SemanticPrior()
    there = DistributedRelease.of_chunks(chunks)
    found = run_in_parts(attack, there, rng=np.random.default_rng(5), relatedness=source)
    known = {"relatedness": source, "studied": study(release, source)}
    assert replace(found, notes=()) == by_blocks(attack, release, chunks, **known)
    assert found.notes == attack.run(release, relatedness=source).notes


def test_what_no_source_can_tell(chunks):
    nothing = NGD(RecordCounts.from_rows([["else"]]))
    with pytest.raises(NotApplicable, match="in any cluster"):
        run_in_parts(ABA(), DistributedRelease.of_chunks(chunks), relatedness=nothing)
    with pytest.raises(NotApplicable, match="does not look at parts"):
        run_in_parts(TokenFrequency(), DistributedRelease.of_chunks(chunks))


@pytest.fixture(scope="module")
def sets(table):
    group = [i // 3 if i < 15 else i for i in range(table.n_items)]
    return publish_sets(table, group)[0]


@pytest.mark.parametrize(
    "attack",
    [MDA(), TBA(), WBA(), GBA(context=2), RBA(), EC()],
    ids=lambda attack: type(attack).__name__,
)
def test_tables(spark, sets, source, attack):
    there = DistributedRelease.from_release(sets, spark)
    found = run_in_parts(attack, there, relatedness=source, rng=np.random.default_rng(2))
    expected = attack.run(sets, relatedness=source, rng=np.random.default_rng(2))
    assert found.to_json() == expected.to_json()
    assert found.tables


def test_tables_at_random(spark, sets):
    there = DistributedRelease.from_release(sets, spark)
    assert run_in_parts(RA(), there).to_json() == RA().run(sets).to_json()


def test_tables_by_several_sources(spark, table, sets, source):
    rng = np.random.default_rng(4)
    words = table.vocabulary.names[:-2]
    vectors = Vectors(words=words, vectors=rng.normal(size=(len(words), 5)))
    several = Combined(parts=((1.0, source), (1.0, Embedding(vectors))))
    there = DistributedRelease.from_release(sets, spark)
    found = run_in_parts(EC(), there, relatedness=several)
    assert found.to_json() == EC().run(sets, relatedness=several).to_json()


def test_wrong_tables(spark, sets, chunks, source):
    there = DistributedRelease.from_release(sets, spark)
    nothing = NGD(RecordCounts.from_rows([["else"]]))
    with pytest.raises(NotApplicable, match="knows no member"):
        run_in_parts(GBA(), there, relatedness=nothing)
    with pytest.raises(NotApplicable, match="does not attack releases of the form"):
        run_in_parts(GBA(), DistributedRelease.of_chunks(chunks), relatedness=source)
