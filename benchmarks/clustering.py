"""Clump, Gather and Partition: time, loss, growth, memory, and distance from the optimum."""

from __future__ import annotations

import csv
import os
import resource
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
from tests.reference.clump import clump_reference
from tests.reference.lcg import Tree, ggd, lcg
from tests.reference.optimum import optimum

import setveil
from benchmarks.nouns import TEXTS, noun_datasets
from benchmarks.row import Row, timed
from setveil import Taxonomy, TransactionTable
from setveil.anonymize import Clump, Gather, Partition
from setveil.anonymize.base import leaf_rows
from setveil.anonymize.k_anonymity.clusters import node_vectors
from setveil.anonymize.k_anonymity.vector_kernels import clump
from setveil.measure import ggd as measured_ggd
from setveil.synthetic import lookalike


def datasets(*, small: bool) -> dict[str, tuple[TransactionTable, Taxonomy]]:
    """Return the look-alike, and the real data where SETVEIL_DATA names it."""
    made = lookalike("aol", n=4_000 if small else 53_058)
    found = {"query-log look-alike": (made.table, made.taxonomy)}
    folder = os.environ.get("SETVEIL_DATA")
    if folder:
        data = Path(folder)
        groceries = Taxonomy.read(data / "groceries_taxonomy.csv")
        found["groceries"] = (setveil.read(data / "groceries.basket.csv"), groceries)
        retail = setveil.read(data / "online_retail.dat.gz")
        with (data / "online_retail_items.csv").open(encoding="utf-8", newline="") as file:
            described = {row["id"]: row["description"] for row in csv.DictReader(file)}
        items = sorted(retail.vocabulary.names, key=lambda item: (described.get(item, ""), item))
        found["online retail"] = (retail, Taxonomy.balanced(items, fanout=4))
        found |= noun_datasets(data, small=small)
    return found


def losses(*, small: bool) -> list[Row]:
    """Loss of every method on every data set, and the time of Gather beside Clump's."""
    rows = []
    for name, (table, taxonomy) in datasets(small=small).items():
        whole = len(table.items)
        share, seconds = {}, {}
        methods = {
            "Clump": Clump(k=5),
            "Clump by increment": Clump(k=5, objective="increment"),
            "Partition": Partition(k=5),
            "Gather fast": Gather(k=5, effort="fast"),
            "Gather": Gather(k=5),
        }
        for method, anonymizer in methods.items():
            seconds[method], result = timed(
                lambda a=anonymizer, t=table, x=taxonomy: a.anonymize(t, taxonomy=x), repeat=2
            )
            share[method] = float(measured_ggd(result.release, table)) / whole
            rows.append(
                Row(name=f"{name}: loss of {method}", value=share[method], unit="GGD share")
            )
        for method, least, most in (("Gather fast", 30, 2.5), ("Gather", 38, 15)):
            rows.append(
                Row(
                    name=f"{name}: {method} loses less than Clump by",
                    value=100 * (1 - share[method] / share["Clump"]),
                    unit="%",
                    least=least,
                )
            )
            rows.append(
                Row(
                    name=f"{name}: {method}'s time over Clump's",
                    value=seconds[method] / seconds["Clump"],
                    unit="×",
                    most=most,
                )
            )
        rows.append(
            Row(
                name=f"{name}: Gather's time per record",
                value=seconds["Gather"] / len(table) * 1e6,
                unit="µs",
                most=None if name in TEXTS else 70,  # set for baskets; documents are far longer
            )
        )
    return rows


def against_plain_python(*, small: bool) -> list[Row]:
    """Clump's kernel against the plain sparse reference, per record-candidate pair."""
    made = lookalike("aol", n=1_000 if small else 10_000)
    rows = leaf_rows(made.table, made.taxonomy)
    vectors = node_vectors(rows)
    fast, label = timed(
        lambda: clump(
            vectors.starts, vectors.nodes, vectors.weights, vectors.lengths,
            vectors.whole, vectors.n_nodes, 5, 10, False,
        )
    )  # fmt: skip
    tree = rows.taxonomy
    named = [
        [tree.ids[v] for v in rows.leaves[a:b]]
        for a, b in zip(rows.offsets[:-1], rows.offsets[1:], strict=True)
    ]
    parents = {tree.ids[v]: tree.ids[tree.parents[v]] for v in range(1, len(tree))}
    plain_tree = Tree({**parents, tree.ids[0]: None})
    slow, reference = timed(lambda: clump_reference(named, plain_tree, 5, 10), repeat=1)
    clusters = sorted(sorted(cluster) for cluster in reference.clusters)
    same = sorted(np.flatnonzero(label == c).tolist() for c in range(int(label.max()) + 1))
    if clusters != same:
        raise AssertionError("the kernel and the reference cluster differently")
    return [
        Row(
            name=f"Clump against plain Python, {len(vectors):,} records, same pairs",
            value=slow / fast,
            unit="×",
            least=40,
        )
    ]


def growth(*, small: bool) -> list[Row]:
    """How time grows when records become four times as many."""
    sizes = (2_500, 10_000) if small else (10_000, 40_000)
    times: dict[str, list[float]] = {}
    for n in sizes:
        made = lookalike("aol", n=n)
        for name, method in (("Clump", Clump()), ("Gather fast", Gather(effort="fast")),
                             ("Gather", Gather())):  # fmt: skip
            seconds, _ = timed(lambda m=method, d=made: m.anonymize(d.table, taxonomy=d.taxonomy))
            times.setdefault(name, []).append(seconds)
    return [
        Row(
            name=f"{name}: time from {sizes[0]:,} to {sizes[1]:,} records",
            value=after / before,
            unit="×",
            most=5.5,
        )
        for name, (before, after) in times.items()
    ]


def tiny_instance(seed: int) -> tuple[list[list[str]], dict[str, str], int]:
    """Return random rows, a random tree and k, small enough for the optimum."""
    rng = np.random.default_rng(seed)
    n_nodes = int(rng.integers(8, 20))
    parents = {f"n{i}": f"n{rng.integers(max(0, i - 6), i)}" for i in range(1, n_nodes)}
    leaves = sorted(set(parents) - set(parents.values()))
    rows = [
        rng.choice(leaves, size=min(len(leaves), int(rng.integers(1, 5))), replace=False).tolist()
        for _ in range(int(rng.integers(6, 13)))
    ]
    return rows, parents, int(rng.integers(2, 4))


def against_optimum(*, small: bool) -> list[Row]:
    """Mean ratio to the least possible loss over tiny instances (an integer program)."""
    ratios: dict[str, list[float]] = {"Clump": [], "Gather fast": [], "Gather": []}
    for seed in range(20 if small else 100):
        rows, parents, k = tiny_instance(seed)
        tree = Tree({**parents, "n0": None})
        least = optimum(rows, tree, k)
        if least == 0:
            continue
        table, taxonomy = TransactionTable.from_rows(rows), Taxonomy.from_parents(parents)
        methods = zip(ratios, (Clump(k=k), Gather(k=k, effort="fast"), Gather(k=k)), strict=True)
        for name, method in methods:
            label = method.anonymize(table, taxonomy=taxonomy).figures["clusters"]
            cost = Fraction(0)
            for c in range(int(label.max()) + 1):
                part = [rows[i] for i in np.flatnonzero(label == c)]
                cost += ggd(part, lcg(part, tree), tree)
            ratios[name].append(float(cost / least))
    return [
        Row(
            name=f"{name}: loss over the optimum, mean of {len(values)} tiny instances",
            value=float(np.mean(values)),
            unit="×",
            most=1.05 if name == "Gather" else None,
        )
        for name, values in ratios.items()
    ]


def peak_of_gather(n: int) -> float:
    """Return peak memory of one run above the loaded data, over (table + vectors); own process."""
    made = lookalike("aol", n=n)
    warm = lookalike("aol", n=200)
    Gather(k=5).anonymize(warm.table, taxonomy=warm.taxonomy)
    vectors = node_vectors(leaf_rows(made.table, made.taxonomy)).nbytes
    held = made.table.items.nbytes + made.table.offsets.nbytes + vectors
    before = resident()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    Gather(k=5).anonymize(made.table, taxonomy=made.taxonomy)
    peak = resident("VmHWM")
    return (peak - before) / held


def resident(field: str = "VmRSS") -> int:
    """Return a memory figure of this process in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def memory(*, small: bool) -> list[Row]:
    """Peak memory of Gather in a process of its own."""
    n = 10_000 if small else 53_058
    code = f"from benchmarks.clustering import peak_of_gather; print(peak_of_gather({n}))"
    done = subprocess.run(  # noqa: S603  (our own code)
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return [
        Row(
            name=f"Gather's peak memory over table and vectors, {n:,} records",
            value=float(done.stdout),
            unit="×",
            most=6,
        )
    ]


def run(*, small: bool) -> list[Row]:
    """Run everything of this file."""
    return [
        *losses(small=small),
        *against_plain_python(small=small),
        *growth(small=small),
        *against_optimum(small=small),
        *memory(small=small),
    ]
