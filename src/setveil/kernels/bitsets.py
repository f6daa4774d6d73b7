"""Primitives over bitsets of 64-bit words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from setveil.core.arrays import Int32Array, SignArray


def _lowest_bit(_typing: Any, _word: Any) -> tuple[Any, Callable[..., Any]]:
    """Return which bit of a word is the lowest that is set; there must be one."""

    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), code


lowest_bit: Any = intrinsic(_lowest_bit)


@compiled
def ones(bits: np.uint64) -> int:
    """Return how many bits are set.

    >>> ones(np.uint64(11))
    3
    """
    # Sums of pairs, of fours and of eights of bits, side by side in one word; the product adds the
    # eight bytes up into the highest.
    x = bits - ((bits >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled
def set_bits(bits: SignArray, numbers: Int32Array, total: int) -> None:
    """Set the bits of these numbers; a number outside is passed over, as files may be damaged.

    >>> bits = np.zeros(1, np.uint64)
    >>> set_bits(bits, np.array([0, 2, 99], np.int32), 3)
    >>> bits.tolist()
    [5]
    """
    for x in numbers:
        if 0 <= x < total:
            bits[x >> 6] |= np.uint64(1) << np.uint64(x & 63)
