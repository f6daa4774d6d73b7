"""Names for the arrays that kernels take and give."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
Weights = npt.NDArray[Any]
"""Integers of 32 or 64 bits, as large as the data needs."""
BoolArray = npt.NDArray[np.bool_]
SignArray = npt.NDArray[np.uint64]
