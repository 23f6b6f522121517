"""How the engine is compiled: its functions own no arrays, so Numba need not count references to them.

Counting would cost more than serving an event, for ``State`` hands two dozen arrays to every function.
"""

from numba import njit

compiled = njit(_nrt=False, error_model="numpy")
"""A function of its own."""

inlined = njit(_nrt=False, error_model="numpy", forceinline=True)
"""A short function on the way of every packet."""
