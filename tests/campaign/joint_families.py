"""Families whose records say something only together: chunks, and groups."""

from fractions import Fraction
from itertools import combinations
from math import comb, factorial, prod

import numpy as np
from tests.campaign.drawing import draw_itemsets, draw_rows
from tests.campaign.record_families import SECRETS, held_in, run_method
from tests.reference.block_worlds import TooManyWorldsError, Worlds
from tests.reference.cahd import has_degree
from tests.reference.grouped import group_worlds

from setveil import TransactionTable, anonymize
from setveil.guarantee import Disassociated, PrivacyDegree, SafeDisassociated
from setveil.release import Plan, publish_disassociated, publish_grouped
from setveil.release.chunk_worlds import ChunkCertainty

SHARES = ("0.3", "0.4", "1/2", "0.6", "2/3", "3/4", "1", "1")


# --- chunks ---------------------------------------------------------------------------------------


def draw_chunks(rng):
    """Draw a release of one to three clusters, joint or not; also return what describes it."""
    clusters = rng.choice([1, 1, 2, 2, 3])
    rows, members = [], []
    for _ in range(clusters):
        first = len(rows)
        rows += draw_rows(rng, "abcde"[: rng.randint(2, 5)], least=1, most=6 - clusters, empty=0)
        members.append(range(first, len(rows)))
    table = TransactionTable.from_rows(rows)
    number = table.vocabulary.number
    held = [sorted({number(item) for r in run for item in rows[r]}) for run in members]
    joints = []
    for a, b in draw_ranges(rng, clusters):
        # What an inner range shares is no longer there for outer ones.
        inner = {item for *_, domain in joints for item in domain}
        there = sorted({item for left in held[a:b] for item in left} - inner)
        domain = tuple(item for item in there if rng.random() < 0.4)
        held[a:b] = [[i for i in left if i not in domain] for left in held[a:b]]
        if domain:
            joints.append((a, b, domain))
    plans = []
    for run, left in zip(members, held, strict=True):
        parts = [[], [], [], []]  # the first is the term chunk
        few = rng.random() < 0.5
        for item in left:
            rng.choice(parts[1:] if few else parts).append(item)
        domains = tuple(tuple(part) for part in parts[1:] if part)
        plans.append(Plan(records=list(run), domains=domains, terms=tuple(parts[0])))
    release, _ = publish_disassociated(table, plans, joints)
    return rows, release, f"{rows}, {plans}, {joints}"


def draw_ranges(rng, clusters):
    """Draw the ranges of clusters that share chunks, inner ones first."""
    if clusters == 1 or rng.random() < 0.3:
        return []
    choices = [[(0, clusters)], [(0, clusters), (0, clusters)]]
    if clusters > 2:
        choices += [[(0, 2)], [(0, 2), (0, clusters)], [(1, clusters), (0, clusters)]]
    return rng.choice(choices)


def compare_chunks(tally, rng, release, worlds, where):
    """Compare bounds, candidates and what is certain with all worlds."""
    names = list(release.vocabulary.names)
    certainty = ChunkCertainty(release)
    for known in draw_itemsets(rng, names, 3):
        mask = worlds.mask(known)
        low, high = worlds.supports(mask)
        bounds = release.support_bounds(known)
        inside = bounds.low <= low <= high <= bounds.high
        found = (bounds.low, bounds.high) if bounds.tight else inside
        truth = (low, high) if bounds.tight else True
        tally.answer(found, truth, f"bounds of {known}", where)
        matches = release.matches(known)
        slots = release.cluster_starts
        possible = [s for c in sorted(worlds.clusters(mask)) for s in range(slots[c], slots[c + 1])]
        tally.answer(matches.records.tolist(), possible, f"who may hold {known}", where)
        if bounds.tight:
            tally.answer(matches.candidates, high, f"candidates for {known}", where)
        found = certainty.certain(known)
        truth = worlds.certain(mask)
        said = worlds.mask(found.items) if found.possible else None
        tally.answer(said, truth, f"certain with {known}", where)
    sets = [s for size in (1, 2) for s in combinations(range(len(names)), size)]
    found = certainty.certain_sets(np.cumsum([0, *map(len, sets)]), np.concatenate(sets))
    said, truth = [], []
    for place, known in enumerate(sets):
        items = found.items[found.offsets[place] : found.offsets[place + 1]].tolist()
        said.append(sum(1 << i for i in items) if found.possible[place] else None)
        truth.append(worlds.certain(sum(1 << i for i in known)))
    tally.answer(said, truth, "certain sets", where)


def chunks_of_method(rng, tally, choices, k):
    """Draw a table and anonymize it; None where it was refused."""
    rows = draw_rows(rng, "abcdef"[: rng.randint(3, 6)], least=k, empty=0.02)
    table = TransactionTable.from_rows(rows)
    made = run_method(
        tally, rng, choices, table, where=f"{rows}", may_refuse=lambda _: not all(rows)
    )
    return made, rows


def is_true_support(release, rows, removed, known):
    """Tell whether the true support lies within the bounds, without what was removed."""
    kept = [{item for item in row if (r, item) not in removed} for r, row in enumerate(rows)]
    bounds = release.support_bounds(known)
    return bounds.low <= sum(set(known) <= row for row in kept) <= bounds.high


def draw_chunked(rng, tally, target, *, by_method, **params):
    """Draw a release of a method or at random, with its worlds; None where there are too many."""
    if by_method:
        k = params["k"]
        size = rng.choice([None, k, k + 1, k + 2])
        more = {"max_cluster_size": size, "refine": rng.random() < 0.7}
        (made, where), rows = chunks_of_method(rng, tally, [(target, {**params, **more})], k)
        if made is None:
            return None
        release = made.release
    else:
        made = None
        rows, release, where = draw_chunks(rng)
        where = f"{params} {where}"
    try:
        worlds = Worlds(release)
    except TooManyWorldsError:
        tally.skipped += 1
        return None
    if made is not None:
        for known in draw_itemsets(rng, list(release.vocabulary.names), 1):
            inside = is_true_support(release, rows, set(made.key.removed), known)
            tally.expect(inside, True, f"truth of {known}", where)
    return made, release, worlds, where


def disassociated(rng, tally, *, by_method):
    k, m = rng.choice([1, 2, 2, 3]), rng.randint(1, 3)
    drawn = draw_chunked(rng, tally, anonymize.Disassociate, by_method=by_method, k=k, m=m)
    if drawn is None:
        return
    made, release, worlds, where = drawn
    promise = made.promise if made else Disassociated(k=k, m=m)
    truth = not worlds.is_narrowed(k, m)
    tally.judge(truth, promise.check(release), promised=by_method, where=where)
    compare_chunks(tally, rng, release, worlds, where)


def too_likely(release, worlds, m, share):
    """Tell whether some item of another chunk has a chance above a share; None if nobody knows.

    Where no cluster of a block has terms, all placements are alike likely. Where all have some,
    everything is placed independently, and an item's chance is its share of the records. Where
    some have and some have not, the share is a bound. What a term's chance is nobody can tell.
    """
    unknown = False
    for block in worlds.blocks:
        if all(block.bare):
            if worlds.greatest_chance(block, m) > share:
                return True
        elif not any(block.bare):
            if greatest_share(release, block) > share:
                return True
        else:
            unknown |= greatest_share(release, block) > share
    return None if unknown else False


def greatest_share(release, block):
    """Return the greatest share of records that hold an item of a chunk, of all it lies over."""
    clusters = range(block.first, block.first + len(block.spans))
    chunks = [chunk for c in clusters for chunk in release.cluster(c).chunks]
    chunks += [chunk for chunk in release.shared if chunk.first in clusters]
    return max(
        (
            Fraction(sum(item in row for row in chunk.subrecords),
                     sum(release.sizes[chunk.first : chunk.last].tolist()))
            for chunk in chunks
            for item in held_in(chunk.subrecords)
        ),
        default=Fraction(0),
    )  # fmt: skip


def safe_disassociated(rng, tally, *, by_method):
    k, m, share = rng.choice([1, 2, 2, 3]), rng.randint(1, 3), rng.choice(SHARES)
    drawn = draw_chunked(
        rng, tally, anonymize.SafeDisassociate, by_method=by_method, k=k, m=m, max_share=share
    )
    if drawn is None:
        return
    made, release, worlds, where = drawn
    promise = made.promise if made else SafeDisassociated(k=k, m=m, max_share=share)
    likely = False
    broken = worlds.is_narrowed(k, m) or worlds.gives_away()
    if not broken:
        likely = too_likely(release, worlds, m, Fraction(share))
    if likely is None:
        tally.skipped += 1
        return
    truth = not (broken or likely)
    tally.judge(truth, promise.check(release), promised=by_method, where=where)
    compare_chunks(tally, rng, release, worlds, where)


# --- groups ---------------------------------------------------------------------------------------

WAYS = 1_500
"""Most originals of one group that are gone through."""


def count_ways(group, *, whole):
    if whole:
        return factorial(len(group.rows))
    return prod(comb(len(group.rows), count) for _, count in group.parts)


def draw_patients(rng, p):
    """Draw records with sensitive items that mostly are rare enough for a degree of p."""
    secrets = SECRETS[: rng.randint(1, 3)]
    rows = draw_rows(rng, [*"abc", *secrets], most=6)
    for item in secrets:
        holders = [row for row in rows if item in row]
        while len(holders) * p > len(rows) and rng.random() < 0.8:
            holders.pop(rng.randrange(len(holders))).remove(item)
    return rows, [item for item in secrets if any(item in row for row in rows)]


def privacy_degree(rng, tally, *, by_method):
    p = rng.randint(2 if by_method else 1, 4)
    rows, secrets = draw_patients(rng, p)
    if not secrets:
        return
    table = TransactionTable.from_rows(rows)
    where = f"{rows}, p={p}, {secrets}"
    if by_method:
        choices = [
            (anonymize.Anatomy, {"l": p}),
            (anonymize.CAHD, {"p": p, "alpha": rng.randint(1, 3)}),
            (anonymize.Permutation, {"p": p}),
        ]
        made, where = run_method(
            tally, rng, choices, table, where=where, sensitive=secrets,
            may_refuse=lambda _: not has_degree([rows], secrets, p),
        )  # fmt: skip
        if made is None:
            return
        release, promise = made.release, made.promise
    else:
        group_of = [rng.randrange(rng.randint(1, 3)) for _ in rows]
        apart = [item for item in secrets if rng.random() < 0.9]
        release, _ = publish_grouped(table, group_of, apart, whole=rng.random() < 0.5)
        promise = PrivacyDegree(p=p, sensitive=secrets)
    groups = list(release.groups)
    if any(count_ways(group, whole=release.whole) > WAYS for group in groups):
        tally.skipped += 1
        return
    where = f"{where} -> {groups}"
    each = [group_worlds(group, whole=release.whole) for group in groups]
    # All originals are alike likely: the chance is a share of them, slot by slot.
    truth = all(
        p * sum(item in world[slot] for world in worlds) <= len(worlds)
        for worlds in each
        for slot in range(len(worlds[0]))
        for item in secrets
    )
    tally.judge(truth, promise.check(release), promised=by_method, where=where)
    compare_groups(tally, rng, release, each, rows, where=where)


def compare_groups(tally, rng, release, each, rows, *, where):
    """Compare bounds and who may hold some items with all worlds of each group."""
    for known in draw_itemsets(rng, held_in(rows)):
        asked = set(known)
        found = [[sum(asked <= r for r in world) for world in worlds] for worlds in each]
        bounds = release.support_bounds(known)
        expected = (sum(map(min, found)), sum(map(max, found)), True)
        tally.answer((bounds.low, bounds.high, bounds.tight), expected, f"bounds of {known}", where)
        slots = [
            any(asked <= world[slot] for world in worlds)
            for worlds in each
            for slot in range(len(worlds[0]))
        ]
        matches = release.matches(known).records.tolist()
        tally.answer(matches, np.flatnonzero(slots).tolist(), f"who may hold {known}", where)
        true = sum(asked <= set(row) for row in rows)
        tally.expect(bounds.low <= true <= bounds.high, True, f"truth of {known}", where)
