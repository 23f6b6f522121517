"""What the entries of an array are, by name: the types that signatures say; shapes and units are in docstrings."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
"""Indices, counts and bytes."""
Ints32 = NDArray[np.int32]
"""Indices of nodes and links, of which there are many."""
Flags = NDArray[np.bool_]
