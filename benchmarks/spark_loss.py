"""What buckets cost: ``python -m benchmarks.spark_loss RECORDS MOST`` prints one JSON object."""

from __future__ import annotations

import json
import sys
from typing import Any

from setveil.anonymize import Clump, Gather, Partition
from setveil.engine import Spark
from setveil.measure import ggd_share
from setveil.spark import DistributedTable, anonymize
from setveil.synthetic import lookalike

K = 5
METHODS: dict[str, Any] = {"gather": Gather(k=K), "clump": Clump(k=K), "partition": Partition(k=K)}


def main(records: str, most: str) -> None:
    """Print for each method the share of information lost here, and in buckets."""
    engine = Spark(master="local[2]")
    data = lookalike("aol", n=int(records))
    there = DistributedTable.from_table(data.table, engine)
    found = {}
    for name, method in METHODS.items():
        here = method.anonymize(data.table, taxonomy=data.taxonomy).release
        made = anonymize(method, there, taxonomy=data.taxonomy, most=int(most))
        losses = [ggd_share(each, data.table) for each in (here, made.release.collect())]
        found[name] = {"losses": losses, "buckets": made.figures["buckets"]}
    print(json.dumps(found))
    engine.start().stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
