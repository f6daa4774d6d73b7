"""k-anonymity by comparing every published record with every other."""


def rare_rows(rows, k):
    """Return the distinct records that occur fewer than k times, as sorted tuples."""
    plain = [tuple(sorted(row)) for row in rows]
    return {row for row in plain if sum(row == other for other in plain) < k}


def is_k_anonymous(rows, k):
    return not rare_rows(rows, k)
