"""Gather's stages in plain Python: vectors are dicts, every common weight is computed anew."""

from __future__ import annotations


def total(vector):
    return sum(vector.values())


def meet(vectors):
    """Pointwise minimum of dict vectors."""
    first, *rest = vectors
    common = dict(first)
    for other in rest:
        common = {v: min(w, other[v]) for v, w in common.items() if v in other}
    return common


def shared(vectors):
    return total(meet(vectors))


def value(vectors, clusters):
    return sum(len(c) * shared([vectors[t] for t in c]) for c in clusters)


def split(heavy, records, k, limit, piece):
    """Cells of `records`, split by the node and threshold that gain most, upper part first."""
    if len(records) <= limit:
        return [records]
    n = len(records)
    best = None
    for node in range(len(heavy[0])):
        column = [heavy[t][node] for t in records]
        low = min(column)
        for at in sorted(set(column)):
            above = sum(w >= at for w in column)
            gain = (at - low) * above
            if above >= k and n - above >= k and (best is None or gain > best[0]):
                best = (gain, node, at)
    if best is None or best[0] <= 0:
        cells = []
        while len(records) > limit:
            cut = min(piece, len(records) - k)
            cells.append(records[:cut])
            records = records[cut:]
        return [*cells, records]
    _, node, at = best
    upper = [t for t in records if heavy[t][node] >= at]
    lower = [t for t in records if heavy[t][node] < at]
    return split(heavy, upper, k, limit, piece) + split(heavy, lower, k, limit, piece)


def split_gain(heavy, records, k):
    """The best gain of one split of `records`, or 0."""
    best = 0
    for node in range(len(heavy[0])):
        column = [heavy[t][node] for t in records]
        for at in set(column):
            above = sum(w >= at for w in column)
            if k <= above <= len(records) - k:
                best = max(best, (at - min(column)) * above)
    return best


def grow(vectors, heavy, block, k, width):
    """Clusters grown around the longest record left; leftovers join where they cost least."""
    own = [total(v) for v in vectors]
    left = sorted(block)
    clusters = []
    while len(left) >= k:
        seed, *others = left
        score = {
            t: 4 * sum(min(a, b) for a, b in zip(heavy[seed], heavy[t], strict=True)) - own[t]
            for t in others
        }
        near = sorted(sorted(others, key=lambda t: -score[t])[:width])
        cluster = [seed]
        for _ in range(k - 1):
            size = len(cluster) + 1
            gain = {
                t: 4 * size * shared([vectors[i] for i in [*cluster, t]]) - own[t] for t in near
            }
            best = max(near, key=gain.__getitem__)
            near.remove(best)
            cluster.append(best)
        clusters.append(cluster)
        left = [t for t in left if t not in cluster]
    full = [list(c) for c in clusters]
    for t in left:
        loss = [
            k * shared([vectors[i] for i in c]) - (k + 1) * shared([vectors[i] for i in [*c, t]])
            for c in full
        ]
        clusters[loss.index(min(loss))].append(t)
    return clusters


def shuffled(order, state):
    """The fixed pseudo-random order: xorshift 13/7/17, Fisher-Yates from the end."""
    order = list(order)
    mask = 2**64 - 1
    for i in range(len(order) - 1, 0, -1):
        state ^= (state << 13) & mask
        state ^= state >> 7
        state ^= (state << 17) & mask
        j = state % (i + 1)
        order[i], order[j] = order[j], order[i]
    return order, state


class Exchange:
    """Swaps and moves between clusters, each candidate computed from scratch."""

    def __init__(self, vectors, heavy, clusters, *, k, window, tries):
        self.vectors, self.heavy, self.k = vectors, heavy, k
        self.window, self.tries = window, tries
        self.clusters = [list(c) for c in clusters]
        self.version = [1] * len(clusters)
        self.failed = {}

    def common(self, cluster):
        return shared([self.vectors[t] for t in cluster])

    def heads(self, cluster):
        return [min(column) for column in zip(*(self.heavy[t] for t in cluster), strict=True)]

    def worst(self, cluster):
        without = [self.common(cluster[:j] + cluster[j + 1 :]) for j in range(len(cluster))]
        return without.index(max(without))

    def promise(self, t, here, c):
        """What the heavy weights promise of exchanging t with the worst member of c."""
        cluster, own = self.clusters[c], self.clusters[here]
        bad = self.worst(cluster)
        rest = self.heads(cluster[:bad] + cluster[bad + 1 :])
        ours = self.heads([x for x in own if x != t])
        worst = self.heavy[cluster[bad]]
        gained = sum(map(min, rest, self.heavy[t]))
        given = sum(map(min, worst, ours))
        kept = len(cluster) * sum(map(min, rest, worst))
        return len(cluster) * gained + len(own) * given - kept

    def visit(self, t):
        here = next(c for c, cluster in enumerate(self.clusters) if t in cluster)
        if self.failed.get(t) == (here, self.version[here]):
            return
        own = self.clusters[here]
        low = max(here - self.window, 0)
        near = [c for c in range(low, here + self.window + 1) if c < len(self.clusters)]
        near.remove(here)
        near.sort(key=lambda c: -self.promise(t, here, c))
        slot = own.index(t)
        rest = own[:slot] + own[slot + 1 :]
        best = (0, None, None)
        for c in near[: self.tries]:
            cluster = self.clusters[c]
            before = len(own) * self.common(own) + len(cluster) * self.common(cluster)
            if len(own) > self.k and len(cluster) < 4 * self.k:
                after = len(rest) * self.common(rest)
                after += (len(cluster) + 1) * self.common([*cluster, t])
                if after - before > best[0]:
                    best = (after - before, c, None)
            for j, x in enumerate(cluster):
                others = cluster[:j] + cluster[j + 1 :]
                after = len(own) * self.common([*rest, x])
                after += len(cluster) * self.common([*others, t])
                if after - before > best[0]:
                    best = (after - before, c, j)
        _, c, j = best
        if c is None:
            self.failed[t] = (here, self.version[here])
            return
        if j is None:
            own[slot] = own[-1]
            own.pop()
            self.clusters[c].append(t)
        else:
            own[slot], self.clusters[c][j] = self.clusters[c][j], t
        self.version[here] += 1
        self.version[c] += 1

    def run(self, passes):
        order = list(range(len(self.vectors)))
        state = 88172645463325252
        for _ in range(passes):
            order, state = shuffled(order, state)
            for t in order:
                self.visit(t)
        return self.clusters
