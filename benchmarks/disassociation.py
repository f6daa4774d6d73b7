"""Disassociation: large data, memory, growth, against plain sets, and what sharing saves."""

from __future__ import annotations

import os
import resource
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tests.reference import disassociation as reference

from benchmarks.nouns import noun_datasets
from benchmarks.row import Row, timed
from setveil.anonymize import Disassociate, SafeDisassociate
from setveil.anonymize.base import silent
from setveil.anonymize.disassociation.cluster_chunks import chunk_clusters
from setveil.attack import ABA, Prior, SemanticPrior
from setveil.engine import Local
from setveil.io.embeddings import Vectors
from setveil.relatedness import Embedding
from setveil.synthetic import lookalike

if TYPE_CHECKING:
    from setveil import TransactionTable
    from setveil.release.base import Anonymization

K = 5
M = 2


@cache
def case(n: int | None) -> TransactionTable:
    """Return records shaped like those of BMS-POS, all of them for None."""
    return lookalike("bms-pos", n=n).table


def made(table: TransactionTable, method: Disassociate | SafeDisassociate) -> Anonymization:
    """Anonymize, and fail unless the guarantee, which shares no code, finds the promise kept."""
    result = method.anonymize(table)
    if result.promise is None or not result.promise.check(result.release).holds:
        raise AssertionError("the promise is broken")
    return result


def large(*, small: bool) -> list[Row]:
    """Time and memory at the size of BMS-POS, with the check."""
    table = case(5_000 if small else None)
    what = f"POS look-alike, {len(table):,} records, k = {K}, m = {M}"
    rows = []
    for title, method in (
        ("disassociate", Disassociate(k=K, m=M)),
        ("disassociate, refine off", Disassociate(k=K, m=M, refine=False)),
        ("safe-disassociate", SafeDisassociate(k=K, m=M)),
    ):
        seconds, result = timed(partial(made, table, method), repeat=1)
        terms = len(result.release.terms)
        rows += [
            Row(name=f"{title}, with its check: {what}", value=seconds, unit="s", most=60),
            Row(name="the same", value=terms / len(table.items),
                unit="entries of term chunks for each occurrence"),
        ]  # fmt: skip
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return [*rows, Row(name="peak memory so far", value=peak, unit="GB", most=4)]


def growth(*, small: bool) -> list[Row]:
    """Time when the records become twice as many."""
    sizes = (2_000, 4_000) if small else (50_000, 100_000, 200_000)
    taken = [timed(partial(Disassociate(k=K).anonymize, case(n)), repeat=2)[0] for n in sizes]
    return [
        Row(name=f"disassociate: time from {before:,} to {after:,} records", value=late / early,
            unit="×", most=2.5)
        for (before, early), (after, late) in pairwise(zip(sizes, taken, strict=True))
    ]  # fmt: skip


def against_plain_python(*, small: bool) -> list[Row]:
    """Clusters and chunks by bits in kernels against plain sets, with the same result."""
    table = case(1_000 if small else 5_000)
    ordered = table.take(table.canonical_order())
    most = 2 * K * K

    def plain() -> list[tuple[list[list[str]], set[str]]]:
        records = [frozenset(row) for row in ordered]
        clusters = reference.horizontal(records, K, most, lambda size: size >= 2 * most)
        found = []
        for places in clusters:
            some = [records[place] for place in places]
            found.append(reference.repaired(some, *reference.vertical(some, K, M), K, M))
        return found

    fast, chunks = timed(
        lambda: chunk_clusters(
            table, k=K, m=M, most=most, share=None, engine=Local(), progress=silent
        )
    )
    slow, parts = timed(plain, repeat=1)
    if int(np.count_nonzero(chunks.chunk < 0)) != sum(len(terms) for _, terms in parts):
        raise AssertionError("the kernels and the plain sets differ")
    name = f"clusters and chunks against plain sets, {len(table):,} records"
    return [Row(name=name, value=slow / fast, unit="×", least=None if small else 10)]


def attacks(*, small: bool) -> list[Row]:
    """Time of attacks on 1,000 Wikipedia paragraphs, once the vectors are loaded."""
    folder = os.environ.get("SETVEIL_DATA")
    if small or not folder:
        return []
    data = Path(folder)
    table, _ = noun_datasets(data, small=True)["Wikipedia nouns"]
    glove = Embedding(Vectors.read(data / "glove_100d_small_f16.npz"))
    release = Disassociate(k=K, m=M, refine=False).anonymize(table.take(np.arange(1_000))).release
    found = []
    for title, attack, most in (
        ("Random and Prior", Prior(), None),
        ("ABA, GloVe, with both baselines", ABA(), 10.0),
        ("semantic-prior, GloVe, with both baselines", SemanticPrior(), None),
    ):
        known = {} if isinstance(attack, Prior) else {"relatedness": glove}
        seconds, _ = timed(partial(attack.run, release, **known), repeat=1)
        what = f"1,000 Wikipedia paragraphs, k = {K}, m = {M}: {title}"
        found.append(Row(name=what, value=seconds, unit="s", most=most))
    return found


def run(*, small: bool) -> list[Row]:
    """Run everything of this file."""
    made(case(1_000), Disassociate(k=K))  # compiles
    made(case(1_000), SafeDisassociate(k=K))
    return [
        *large(small=small),
        *growth(small=small),
        *against_plain_python(small=small),
        *attacks(small=small),
    ]
