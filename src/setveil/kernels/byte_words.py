"""Eight bytes at a time: what loops over text need, and Python has no words for.

A loop that looks at one byte after the other stops for each at a branch, and where cells or
numbers end cannot be foreseen. These functions find the end within eight bytes without one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from setveil.kernels.compiling import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

ONES = np.uint64(0x0101010101010101)
HIGHS = np.uint64(0x8080808080808080)


def _word_at(_typing: Any, text: Any, _place: Any) -> tuple[Any, Callable[..., Any]]:  # noqa: ANN401
    """Load the eight bytes from a place on, aligned or not, as one number.

    A view of 64-bit numbers begins at multiples of eight; this does not.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        first = builder.gep(array.data, [arguments[1]])
        return builder.load(builder.bitcast(first, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(text, types.int64), code


def _first_mark(_typing: Any, _marks: Any) -> tuple[Any, Callable[..., Any]]:  # noqa: ANN401
    """Return which of eight bytes is the first that is not zero; there must be one."""

    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        zeros = builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))
        return builder.lshr(zeros, ir.Constant(ir.IntType(64), 3))

    return types.int64(types.uint64), code


word_at: Any = intrinsic(_word_at)
first_mark: Any = intrinsic(_first_mark)


@compiled
def marks_of(word: np.uint64, pattern: np.uint64) -> np.uint64:
    """Mark the bytes of a word that equal those of a pattern, by their highest bits.

    The first mark is right; marks above it may be wrong, because subtracting borrows.

    >>> hex(marks_of(np.uint64(0x2C61), np.uint64(0x2C) * ONES))
    '0x8000'
    """
    differing = word ^ pattern
    return (differing - ONES) & ~differing & HIGHS
