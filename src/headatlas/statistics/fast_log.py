"""A logarithm for compiled loops over attention weights, eight numbers at a time.

It works on the bits of a float32 (relative error about 1e-7): only without a call or a branch does the compiler turn a
loop into vector instructions.
"""

from __future__ import annotations

import numpy as np
from numba import njit

REORDER = {"reassoc", "contract", "nsz", "arcp"}  # fast mathematics that may reorder sums, but NaN stays NaN

# log m = 2 artanh s = s P(s^2), s = (m - 1) / (m + 1), for m from sqrt(1/2) to sqrt(2); P is off by 3e-9 at most
_P = tuple(np.float32(c) for c in (0.29925354, 0.39974082, 0.66666837, 2.0))
_SQRT_HALF_BITS = np.int32(0x3F3504F3)
_MANTISSA_BITS = np.int32(23)
_LOG2 = np.float32(0.69314718056)
_ONE = np.float32(1.0)


@njit(fastmath=REORDER, error_model="numpy")  # type: ignore[untyped-decorator]
def fast_log(x: np.float32) -> np.float32:
    """Natural logarithm; finite (about -88) at 0, so that 0 log 0 = 0."""
    bits = np.float32(x).view(np.int32)
    exponent = np.int32(np.int32(bits - _SQRT_HALF_BITS) >> _MANTISSA_BITS)
    mantissa = np.int32(bits - np.int32(exponent << _MANTISSA_BITS)).view(np.float32)
    s = (mantissa - _ONE) / (mantissa + _ONE)
    square = s * s
    p = _P[0]
    p = p * square + _P[1]
    p = p * square + _P[2]
    p = p * square + _P[3]
    return s * p + np.float32(exponent) * _LOG2
