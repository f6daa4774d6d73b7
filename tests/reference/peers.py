"""What pycanon and OpenDP say, computed in an environment of their own.

Reads one JSON object from standard input and prints one; run by the interpreter that
SETVEIL_PEERS names. It imports nothing of setveil.
"""

import json
import sys


def pycanon_says(tables):
    import pandas as pd
    from pycanon import anonymity

    found = []
    for rows in tables:
        frame, quasi = pd.DataFrame(rows, columns=["a", "b", "s", "n"]), ["a", "b"]
        alpha, k = anonymity.alpha_k_anonymity(frame, quasi, ["s"])
        found.append(
            {
                "k": int(anonymity.k_anonymity(frame, quasi)),
                "alpha": float(alpha),
                "alpha_k": int(k),
                "l": int(anonymity.l_diversity(frame, quasi, ["s"])),
                "entropy_l": int(anonymity.entropy_l_diversity(frame, quasi, ["s"])),
                "t_equal": float(anonymity.t_closeness(frame, quasi, ["s"])),
                "t_ordered": float(anonymity.t_closeness(frame, quasi, ["n"])),
            }
        )
    return found


def opendp_says(scales, largest, count, draws):
    import opendp.prelude as dp

    dp.enable_features("contrib")
    found = []
    for scale in scales:
        space = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")
        noise = dp.m.make_geometric(*space, scale, bounds=(0, largest))
        drawn = [noise(count) for _ in range(draws)]
        found.append(
            {
                "epsilon": float(noise.map(1)),
                "drawn": [drawn.count(y) for y in range(largest + 1)],
            }
        )
    return found


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    json.dump(
        {"pycanon": pycanon_says(asked["tables"]), "opendp": opendp_says(**asked["opendp"])},
        sys.stdout,
    )
