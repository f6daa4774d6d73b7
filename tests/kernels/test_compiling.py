"""Machine code is shared by processes, and none runs what another compiled for other types."""

import os
import select
import subprocess
import sys

import pytest

LOOP = (
    "from setveil.kernels.compiling import compiled\n\n@compiled\ndef twice(x):\n    return x + x\n"
)
COMPILE = """
from numba.core.caching import IndexDataCacheFile
plain = IndexDataCacheFile._save_index
def late(self, overloads):
    print("saving", flush=True)
    input()  # whoever saves meanwhile has read the same index
    plain(self, overloads)
IndexDataCacheFile._save_index = late
from loop import twice
print(twice({value}), flush=True)
"""
LOAD = """
from loop import twice
print(twice(3), twice(1.5), dict(twice.stats.cache_hits))
"""


@pytest.fixture
def start(tmp_path):
    """Start Python on a script; all share one directory of machine code."""
    (tmp_path / "loop.py").write_text(LOOP)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": path}
    started = []

    def one(script):
        started.append(
            subprocess.Popen(
                [sys.executable, "-c", script],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
            )
        )
        return started[-1]

    yield one
    for process in started:
        process.kill()
        process.communicate()


def test_who_saves_is_alone(start):
    first = start(COMPILE.format(value=3))
    assert first.stdout.readline() == "saving\n"
    second = start(COMPILE.format(value=1.5))
    assert select.select([second.stdout], [], [], 6)[0] == []  # it waits for the first, and us
    assert first.communicate("\n")[0] == "6\n"
    assert second.communicate("\n")[0] == "saving\n3.0\n"
    found = start(LOAD).communicate()[0].split(maxsplit=2)
    assert found[:2] == ["6", "3.0"]
    assert found[2].count(": 1") == 2  # both were loaded, neither compiled again
