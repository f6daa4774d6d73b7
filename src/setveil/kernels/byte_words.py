"""Eight bytes at a time: what loops over text need, and Python has no words for.

A loop that looks at one byte after the other stops for each at a branch, and where cells or
numbers end cannot be foreseen. These functions find the end within eight bytes without one. They
take the first byte of a word for its lowest, as on all processors that numba supports.
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


def _word_at(_typing: Any, text: Any, _place: Any) -> tuple[Any, Callable[..., Any]]:
    """Load the eight bytes from a place on, aligned or not, as one number.

    A view of 64-bit numbers begins at multiples of eight; this does not.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        first = builder.gep(array.data, [arguments[1]])
        return builder.load(builder.bitcast(first, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(text, types.int64), code


def _lowest_bit(_typing: Any, _word: Any) -> tuple[Any, Callable[..., Any]]:
    """Return which bit of a word is the lowest that is set; there must be one."""

    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), code


def _fetch_ahead(_typing: Any, array: Any, _place: Any) -> tuple[Any, Callable[..., Any]]:
    """Ask for an entry of an array that will be needed soon, without waiting for it."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        entry = builder.bitcast(builder.gep(array.data, [arguments[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        # To read, to be kept in all caches, data.
        builder.call(prefetch, [entry, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.uint64), code


word_at: Any = intrinsic(_word_at)
lowest_bit: Any = intrinsic(_lowest_bit)
fetch_ahead: Any = intrinsic(_fetch_ahead)


@compiled
def first_mark(marks: np.uint64) -> int:
    """Return which of eight bytes is the first that is not zero; there must be one.

    >>> first_mark(np.uint64(0x8000))
    1
    """
    return np.int64(lowest_bit(marks) >> np.uint64(3))


@compiled
def marks_of(word: np.uint64, pattern: np.uint64) -> np.uint64:
    """Mark the bytes of a word that equal those of a pattern, by their highest bits.

    The first mark is right; marks above it may be wrong, because subtracting borrows.

    >>> hex(marks_of(np.uint64(0x2C61), np.uint64(0x2C) * ONES))
    '0x8000'
    """
    differing = word ^ pattern
    return (differing - ONES) & ~differing & HIGHS
