"""What Spark starts on a machine to fork its Python workers from: setveil is loaded once, for all.

Spark collects garbage in a worker after every task. With Numba loaded that takes a quarter of a
second, which is more than most tasks take; so what is loaded here is taken out of the collector's
sight. Workers share its memory, too.
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

import numpy as np

from setveil.kernels.rows import row_pairs

if TYPE_CHECKING:
    from typing import TextIO

CALLED_OFF = "PySpark daemon failed to flush the output"


class Quiet:
    """Standard error without what workers say whose task was called off.

    >>> import io
    >>> into = io.StringIO()
    >>> print(f"{CALLED_OFF} to the worker process", file=Quiet(into))
    >>> print("something else", file=Quiet(into))
    >>> into.getvalue().strip()
    'something else'
    """

    def __init__(self, into: TextIO) -> None:
        self.into = into

    def write(self, text: str) -> int:
        """Write a text unless it is about a task that was called off."""
        return len(text) if text.startswith(CALLED_OFF) else self.into.write(text)

    def flush(self) -> None:
        """Hand on what was written."""
        self.into.flush()


def prepare() -> None:
    """Load what workers need, and keep it out of the garbage collector's sight.

    >>> prepare()
    >>> gc.get_freeze_count() > 0
    True
    """
    row_pairs(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32), 1)  # numba gets ready
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    from pyspark.daemon import manager

    prepare()
    sys.stderr = Quiet(sys.stderr)
    manager()
