"""k^m-anonymity: AprioriKm's time and loss beside the plain count-tree's, growth, variants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.reference.km import apriori_reference
from tests.reference.lcg import Tree

from benchmarks.row import Row, timed
from setveil.anonymize import LRA, AprioriKm, VPAKm
from setveil.measure import ncp
from setveil.synthetic import lookalike

if TYPE_CHECKING:
    from setveil.anonymize import Anonymizer
    from setveil.release.base import Anonymization
    from setveil.synthetic import Synthetic

DATA = "bms-webview-2"
K = 5


def made(n: int | None) -> Synthetic:
    """Return the look-alike, whole or of `n` records."""
    return lookalike(DATA) if n is None else lookalike(DATA, n=n)


def run_of(
    method: Anonymizer, data: Synthetic, *, repeat: int = 3
) -> tuple[float, Anonymization, float]:
    """Return the time, the result and the loss of one method, after a warm-up."""
    warm = lookalike(DATA, n=300)
    method.anonymize(warm.table, taxonomy=warm.taxonomy)
    seconds, result = timed(
        lambda: method.anonymize(data.table, taxonomy=data.taxonomy), repeat=repeat
    )
    lost = ncp(result.release, data.table, key=result.key, taxonomy=data.taxonomy)
    return seconds, result, lost


def against_the_count_tree(*, small: bool) -> list[Row]:
    """AprioriKm beside the count-tree in plain Python, both on all records there are."""
    data = made(10_000 if small else None)
    seconds, result, lost = run_of(AprioriKm(k=K, m=2), data)
    rows, tree = data.table.to_rows(), Tree.of(data.taxonomy)
    plain, reference = timed(lambda: apriori_reference(rows, tree, K, 2), repeat=1)
    checking, verdict = timed(lambda: result.promise.check(result.release))
    if not verdict.holds:
        raise AssertionError(verdict.reason)
    what = f"AprioriKm, {len(data.table):,} records, {data.taxonomy.n_leaves:,} items, k = 5, m = 2"
    return [
        Row(name=what, value=seconds, unit="s", most=10),
        Row(name="the same: the count-tree's time over it", value=plain / seconds, unit="×",
            least=30),
        Row(name="the same: loss", value=100 * lost, unit="% NCP"),
        Row(name="the same: loss over the count-tree's", value=lost / float(reference.ncp),
            unit="×", most=1),
        Row(name="the same: the check of its promise over its time", value=checking / seconds,
            unit="×"),
    ]  # fmt: skip


def growth(*, small: bool) -> list[Row]:
    """How time grows with the records, and with what someone may know."""
    sizes = (5_000, 10_000) if small else (19_378, 38_756, 77_512)
    times = [run_of(AprioriKm(k=K, m=2), made(n))[0] for n in sizes]
    found = [
        Row(
            name=f"AprioriKm: time from {before:,} to {after:,} records, m = 2",
            value=late / early,
            unit="×",
            most=2.5,
        )
        for before, after, early, late in zip(
            sizes[:-1], sizes[1:], times[:-1], times[1:], strict=True
        )
    ]
    data = made(5_000 if small else None)
    longest = int(data.table.lengths.max())
    for m in (3, 4):
        seconds, _, lost = run_of(AprioriKm(k=K, m=m), data, repeat=1)
        name = f"AprioriKm, m = {m}, records of up to {longest} items"
        found.append(Row(name=name, value=seconds, unit="s", most=10))
        found.append(Row(name=f"AprioriKm, m = {m}: loss", value=100 * lost, unit="% NCP"))
    return found


def variants(*, small: bool) -> list[Row]:
    """Compare the local and the vertical variant with AprioriKm."""
    data = made(3_000 if small else None)
    _, _, whole = run_of(AprioriKm(k=K, m=2), data, repeat=1)
    found = []
    for name, method, most in (
        ("LRA", LRA(k=K, m=2), 1.0),
        ("LRA in 8 slices", LRA(k=K, m=2, parts=8), None),
        ("VPAKm", VPAKm(k=K, m=2), None),
    ):
        seconds, _, lost = run_of(method, data)
        found.append(Row(name=f"{name}: time", value=seconds, unit="s"))
        found.append(
            Row(name=f"{name}: loss over AprioriKm's", value=lost / whole, unit="×", most=most)
        )
    return found


def run(*, small: bool) -> list[Row]:
    """Run everything of this file."""
    return [
        *against_the_count_tree(small=small),
        *growth(small=small),
        *variants(small=small),
    ]
