"""Several processes that save into one directory at the same time."""

import subprocess
import sys

from setveil.release.store import load_release

WRITER = """
import sys
import numpy as np
from setveil import Taxonomy
from setveil.core.errors import ReleaseError
from setveil.guarantee import KAnonymity
from setveil.release import publish_groups
from setveil.release.store import load_release, save
tree = Taxonomy.balanced([f"i{n}" for n in range(8)], fanout=2)
folder, mine = sys.argv[1], int(sys.argv[2])
for turn in range(25):
    node = (5 * turn + mine) % len(tree)
    release, _ = publish_groups(
        tree, group_offsets=[0, 1], group_nodes=[node], group_of=[0, 0], hides=True
    )
    save(release, folder, method="clump", params={"k": 2}, promise=KAnonymity(k=2), force=True)
"""


def test_concurrent_saves_leave_a_whole_release(tmp_path):
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(n)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(3)
    ]
    for writer in writers:
        _, complaint = writer.communicate(timeout=120)
        assert writer.returncode == 0, complaint
    assert len(load_release(tmp_path)) == 2
    assert len(list(tmp_path.iterdir())) == 2
