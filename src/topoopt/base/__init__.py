"""The ground: errors, units, limits, arrays, compiled kernels, worker processes, provenance."""
