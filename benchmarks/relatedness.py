"""Relatedness: building an index, its size and memory, counting pairs, training vectors."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import relatedness_ranking
from benchmarks.row import Row, timed
from setveil.relatedness import NGD, CorpusIndex, build_index
from setveil.text.documents import Documents

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = 50_000
LENGTH = 150
TERMS = 200

# In a process of its own, so that the greatest memory is that of building and nothing else.
BUILD = """
import resource, sys, time
from benchmarks.relatedness import generated
from setveil.relatedness import build_index
build_index(generated(100), sys.argv[1])  # compiles the kernels, loads the lexicon
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start, busy = time.perf_counter(), time.process_time()
build_index(generated(int(sys.argv[2])), sys.argv[1])
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(time.perf_counter() - start, time.process_time() - busy, (after - before) / 1024)
"""


def generated(n: int, seed: int = 1) -> Iterator[str]:
    """Yield documents of about 150 words that are as unevenly frequent as those of a language."""
    rng = np.random.default_rng(seed)
    names = np.array([f"w{i}" for i in range(WORDS)])
    chances = 1 / np.arange(1, WORDS + 1)
    upto = np.cumsum(chances / chances.sum())
    for _ in range(n):
        length = int(rng.integers(LENGTH // 2, LENGTH * 3 // 2))
        yield " ".join(names[np.searchsorted(upto, rng.random(length))])


def building(*, small: bool) -> list[Row]:
    """Time, memory and size for generated documents, four times as many, and for a real corpus."""
    rows = []
    sizes = (1_000, 4_000) if small else (25_000, 100_000)
    work = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "made.index")
        for n in sizes:
            done = subprocess.run(  # noqa: S603
                [sys.executable, "-c", BUILD, str(path), str(n)],
                capture_output=True,
                text=True,
                check=True,
            )
            took, busy, memory = map(float, done.stdout.split())
            work.append(busy)
        tokens = CorpusIndex.open(path).n_tokens
        size = path.stat().st_size
        name = f"index of {sizes[-1]:,} generated documents ({tokens / 1e6:.1f} million words)"
        rows += [
            Row(name=name, value=took, unit="s", most=180),
            Row(name=f"{name}: processor time", value=work[-1], unit="s"),
            Row(name=f"{name}: size of the file", value=size / 1e6, unit="MB"),
            Row(name=f"{name}: bytes per word", value=size / tokens, unit="bytes", most=10),
            Row(name=f"{name}: memory beyond the program", value=memory, unit="MB", most=1000),
            Row(
                name=f"index: processor time from {sizes[0]:,} to {sizes[-1]:,} documents",
                value=work[-1] / work[0],
                unit="×",
                most=5.5,
            ),
        ]
        rows += counting(CorpusIndex.open(path), f"{sizes[-1]:,} generated documents")
    return rows


def counting(index: CorpusIndex, name: str) -> list[Row]:
    """Pairs of the most frequent words, and of words drawn by chance, against Python's sets."""
    held = np.diff(index.arrays["posting_starts"])
    words = index.words()
    common = [words[i] for i in np.argsort(-held, kind="stable")[: 2 * TERMS]]
    drawn = np.random.default_rng(1).choice(len(words), size=2 * TERMS, replace=False)
    rows = []
    for kind, terms in (("most frequent", common), ("drawn", [words[i] for i in drawn])):
        # A fresh one each time: what was looked up before is remembered.
        took, _ = timed(
            lambda t=terms: CorpusIndex.open(index.path).pair_counts(t[:TERMS], t[TERMS:])
        )
        rows.append(
            Row(name=f"{name}: 200 × 200 pairs, {kind} words", value=took, unit="s", most=1)
        )
    sets = [set(index.postings(term).tolist()) for term in common]
    some, plain = timed(lambda: [[len(a & b) for b in sets[TERMS : TERMS + 20]] for a in sets[:20]])
    slow = some * (TERMS / 20) ** 2
    fast, found = timed(lambda: index.pair_counts(common[:TERMS], common[TERMS:]))
    if found[:20, :20].tolist() != plain:
        raise AssertionError("the index and plain sets count differently")
    rows.append(
        Row(name=f"{name}: pairs against Python's sets", value=slow / fast, unit="×", least=20)
    )
    phrases = [f"{a} {b}" for a, b in zip(common[:100], common[100:200], strict=True)]
    took, _ = timed(lambda: CorpusIndex.open(index.path).counts(phrases))
    rows.append(Row(name=f"{name}: 100 phrases of frequent words", value=took, unit="s", most=1))
    return rows


def real(*, small: bool) -> list[Row]:
    """WordNet's glosses and MedQuAD, where SETVEIL_DATA names them."""
    folder = os.environ.get("SETVEIL_DATA")
    if small or not folder:
        return []
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for name, file in (("glosses", "wordnet30_glosses"), ("MedQuAD", "medquad")):
            path = Path(place, f"{file}.index")
            corpus = Path(folder, f"{file}.jsonl.gz")
            took, index = timed(
                lambda c=corpus, p=path: build_index(Documents(path=c), p), repeat=1
            )
            words = f"{index.total:,} {'documents of ' * (name == 'MedQuAD')}{name}"
            rows += [
                Row(name=f"index of {words}", value=took, unit="s", most=180),
                Row(
                    name=f"index of {words}: size of the file",
                    value=path.stat().st_size / 1e6,
                    unit="MB",
                ),
            ]
            rows += counting(index, words)
            terms = index.words()[-4000:]
            took, _ = timed(lambda i=index, t=terms: NGD(i).distances(t[:3700], t[3700:]), repeat=1)
            rows.append(
                Row(name=f"{words}: NGD of 3,700 × 300 terms", value=took, unit="s", most=3)
            )
    return rows


def run(*, small: bool) -> list[Row]:
    """Return all rows of this group."""
    return [
        *building(small=small),
        *real(small=small),
        *relatedness_ranking.run(small=small),
    ]
