"""Compiled loops for the CPU. Each has a slower twin in torch, which GPUs and other dtypes use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Bits = NDArray[np.int32]  # floats, read as integers
