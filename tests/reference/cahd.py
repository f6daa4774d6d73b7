"""CAHD's groups in plain Python, with the sound acceptance rule and with the printed one."""


def groups(rows, sensitive, p, *, alpha, printed=False):
    """Return groups of places in `rows`, which stand in the order in which they are neighbours.

    `printed` accepts a group by the records that were there before it, which is unsound.
    """
    secret = [set(row) & set(sensitive) for row in rows]
    ordinary = [set(row) - set(sensitive) for row in rows]
    left = {s: sum(s in row for row in secret) for s in sensitive}
    free = list(range(len(rows)))
    made = []
    for t in range(len(rows)):
        if t not in free or not secret[t]:
            continue
        here = free.index(t)
        before = [c for c in reversed(free[:here]) if not secret[c] & secret[t]]
        after = [c for c in free[here + 1 :] if not secret[c] & secret[t]]
        near = before[: alpha * p] + after[: alpha * p]
        near.sort(
            key=lambda c, t=t: (
                -len(ordinary[c] & ordinary[t]), len(ordinary[c]), sorted(ordinary[c]), c,
            )
        )  # fmt: skip
        group, taken = [t], set(secret[t])
        for c in near:
            if len(group) < p and not secret[c] & taken:
                group.append(c)
                taken |= secret[c]
        if len(group) < p:
            continue
        after_it = {s: count - (s in taken) for s, count in left.items()}
        rest = len(free) if printed else len(free) - p
        if any(count * p > rest for count in after_it.values()):
            continue
        left = after_it
        free = [c for c in free if c not in group]
        made.append(sorted(group))
    return made + ([free] if free else [])


def has_degree(groups_of_rows, sensitive, p):
    """Tell whether in every group at most one record in p holds any one sensitive item."""
    return all(
        p * sum(s in row for row in group) <= len(group)
        for group in groups_of_rows
        for s in sensitive
    )
