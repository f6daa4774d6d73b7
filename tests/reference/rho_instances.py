"""Small random tables with sensitive items and a tree over the others, for brute force."""

from fractions import Fraction

from setveil import Taxonomy, TransactionTable


def rho_instance(rng, *, n_others=7, n_sensitive=3, n_inner=3):
    """Draw (table, sensitive items, taxonomy of the others, ρ, prior), all small.

    Half of the tables repeat their records, which lets sensitive items survive.
    """
    others = [f"i{j}" for j in range(int(rng.integers(1, n_others + 1)))]
    sensitive = [f"s{j}" for j in range(int(rng.integers(1, n_sensitive + 1)))]
    density = rng.uniform(0.15, 0.7)
    rows = [
        [x for x in others + sensitive if rng.random() < density]
        for _ in range(int(rng.integers(1, 14)))
    ]
    if rng.random() < 0.5:
        again = rng.integers(len(rows), size=int(rng.integers(1, 30)))
        rows += [rows[i] for i in again.tolist()]
    rows.append([sensitive[0]] if rng.random() < 0.5 else [sensitive[0], others[0]])
    inner = ["T"] + [f"n{j}" for j in range(int(rng.integers(0, n_inner + 1)))]
    parents = {node: inner[int(rng.integers(0, j + 1))] for j, node in enumerate(inner[1:])}
    parents |= {x: inner[int(rng.integers(len(inner)))] for x in others}
    table = TransactionTable.from_rows(rows)
    return (
        table,
        [a for a in sensitive if a in table.vocabulary],
        Taxonomy.from_parents({**parents, "elsewhere": "T"}),
        Fraction(int(rng.integers(1, 21)), 20),
        bool(rng.random() < 0.6),
    )
