"""How the engine is compiled: its functions own no arrays, so Numba need not count references to them.

Nothing calls them but the engine, so they need no entry from Python either. Counting would cost more than serving an event, for ``State`` hands two dozen arrays to every function.
"""

from numba import njit

compiled = njit(_nrt=False, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""A function of its own."""

inlined = njit(
    _nrt=False, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True
)
"""A short function on the way of every packet."""
