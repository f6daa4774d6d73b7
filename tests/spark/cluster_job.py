"""What the test of a cluster runs: ``python -m tests.spark.cluster_job MASTER DATA OUT MOST``.

Lines on stdout say what it is at, and how many tasks of the running stage have ended.
"""

import json
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np

from setveil.anonymize import Gather
from setveil.engine import Spark
from setveil.guarantee import KAnonymity, KmAnonymity
from setveil.spark import anonymize, check, read_distributed
from setveil.spark.publish import save_distributed
from setveil.synthetic import lookalike


def tell(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def watch(context):
    tracker = context.statusTracker()
    while True:
        for stage in tracker.getActiveStageIds():
            info = tracker.getStageInfo(stage)
            if info is not None:
                tell("stage", stage, info.numCompletedTasks, info.numTasks)
        time.sleep(0.05)


def main(master, data, out, most):
    engine = Spark(master=master)
    threading.Thread(target=watch, args=(engine.start().sparkContext,), daemon=True).start()
    tell("at reading")
    table = read_distributed(data, engine)
    tell("at pairs")
    table.pair_counts().write.parquet(f"{out}/pairs")
    tell("at checks")
    verdicts = [check(each, table) for each in (KAnonymity(k=3), KmAnonymity(k=5, m=2))]
    tell("at buckets")
    tree = lookalike("bms-pos", n=1).taxonomy
    made = anonymize(Gather(k=5, effort="fast"), table, taxonomy=tree, most=int(most))
    tell("at judging")
    verdicts.append(made.check())
    save_distributed(made, Path(out, "release"), method="gather", params={"k": 5})
    np.save(Path(out, "supports.npy"), table.supports())
    said = {
        "names": table.vocabulary.names,
        "records": table.n_records,
        "longest": table.longest,
        "verdicts": [asdict(verdict) for verdict in verdicts],
    }
    Path(out, "found.json").write_text(json.dumps(said))
    tell("at end")


if __name__ == "__main__":
    main(*sys.argv[1:])
