"""The kernel that counts secrets, against a plain count."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from setveil.guarantee.coherence_kernels import frequent_secret

WIDTH = 4


@given(st.lists(st.sets(st.integers(0, WIDTH - 1)).map(sorted), max_size=8), st.randoms())
@settings(max_examples=100, deadline=None)
def test_of_equally_frequent_secrets_the_lowest(rows, random):
    offsets = np.cumsum([0, *map(len, rows)])
    secrets = np.array([x for row in rows for x in row], dtype=np.int32)
    holders = random.sample(range(len(rows)), random.randint(0, len(rows)))
    counts = Counter(x for record in holders for x in rows[record])
    expected = min(((-n, x) for x, n in counts.items()), default=(0, -1))
    tally = np.zeros(WIDTH, dtype=np.int64)
    best, most = frequent_secret(np.array(holders, dtype=np.int64), offsets, secrets, tally)
    assert (-most, best) == expected
    assert not tally.any()
